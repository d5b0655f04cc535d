"""Errors of the ways to answer: what is drawn of each, its scale, and what can't be drawn."""

import numpy as np
import pytest
from matplotlib import colors, pyplot

from linsep.plots import style, votes
from linsep.plots.experiment_curves import READOUTS, name_of, vote_panels
from tests.plots.drawing import in_legend, overhang, place, svg, title, written

EPOCHS = [0.1, 1, 2, 3, 4, 10]
ERRORS = {
    ("vote", False): [0.107, 0.085, 0.083, 0.082, 0.082, 0.081],
    ("average", False): [0.109, 0.087, 0.085, 0.084, 0.083, 0.083],
    ("average", True): [0.11, 0.088, 0.084, 0.085, 0.083, 0.082],
    ("last", False): [0.16, 0.147, 0.136, 0.139, 0.137, 0.135],
    ("last", True): [0.161, 0.145, 0.135, 0.14, 0.136, 0.134],
    ("random", False): [0.22, 0.157, 0.147, 0.143, 0.141, 0.138],
    ("random", True): [0.21, 0.158, 0.146, 0.142, 0.14, 0.139],
}
LOWER = {method: np.array(shares[:5]) / 8 for method, shares in ERRORS.items()}


def ticks(axis):
    return [text.get_text() for text in axis.get_ticklabels() if text.get_text()]


def test_every_method_has_its_line():
    ax = votes(EPOCHS, ERRORS, ax=place(8.4))
    for line, (method, shares) in zip(ax.lines, ERRORS.items(), strict=True):
        np.testing.assert_array_equal(line.get_data(), [EPOCHS, shares])
        assert line.get_linestyle() == ("--" if method[1] else "-")
        assert colors.to_hex(line.get_color()) == style.colour_of(READOUTS.index(method[0])).lower()
        assert line.get_marker() == style.marker_of(READOUTS.index(method[0]))
    assert in_legend(ax) == [name_of(method) for method in ERRORS]
    assert title(ax) == "vote: 8.1 % of predictions wrong after 10 epochs"
    assert title(votes([1], {("last", True): [0.25]}, heading="degree 2", ax=place())) == (
        "degree 2, last, normalised: 25.0 % of predictions wrong after 1 epoch"
    )


def test_epochs_are_ticks_where_there_is_room():
    ax = votes(EPOCHS, ERRORS, ax=place(8.4))
    assert ax.get_xscale() == "log"
    assert ticks(ax.xaxis) == ["0.1", "1", "2", "3", "4", "10"]
    crowd = votes(range(1, 1001), {("vote", False): np.full(1000, 0.1)}, ax=place())
    assert (ticks(crowd.xaxis)[0], ticks(crowd.xaxis)[-1]) == ("1", "1,000")
    assert len(ticks(crowd.xaxis)) < 25


def test_errors_far_apart_have_a_logarithmic_axis():
    def scale(*shares):
        return votes([1, 2], {("vote", False): shares}, ax=place()).get_yscale()

    assert [scale(0.1, 0.39), scale(0.1, 0.41), scale(0.0, 0.41), scale(0.0, 0.0)] == [
        "linear", "log", "linear", "linear",
    ]  # fmt: skip
    assert votes([1, 2], {("vote", False): [0.9, 1.0]}, ax=place()).get_ylim()[0] == 0


def test_all_shares_are_inside_the_frame():
    for shares in ([0.0, 0.0], [1.0, 1.0], [0.001, 1.0], [0.5, 0.4]):
        ax = votes([0.5, 1], {("last", False): shares}, ax=place())
        low, high = ax.get_ylim()
        assert low <= min(shares) <= max(shares) <= high


def test_a_panel_for_each_with_one_scale_and_one_legend():
    given = {
        "degree 1": (EPOCHS, ERRORS),
        "degree 2": (EPOCHS[:5], LOWER),
        "degree 3": ([1], {("vote", False): [0.02]}),
    }
    figure = vote_panels(given)
    assert [title(ax) for ax in figure.axes] == list(given)
    for ax, (epochs, errors) in zip(figure.axes, given.values(), strict=True):
        assert [line.get_ydata().tolist() for line in ax.lines] == [list(shares) for shares in errors.values()]
        assert all(line.get_xdata().tolist() == list(epochs) for line in ax.lines)
        assert ax.get_ylim() == figure.axes[0].get_ylim()
        assert ax.get_xlim() == figure.axes[0].get_xlim()
        assert overhang(ax) <= 0.02
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [name_of(method) for method in ERRORS]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("many", "shape"), [(1, (1, 1)), (2, (1, 2)), (3, (1, 3)), (4, (2, 2)), (5, (3, 2)), (6, (2, 3))]
)
def test_panels_stand_in_rows(many, shape):
    figure = vote_panels({f"degree {k}": (EPOCHS[:5], LOWER) for k in range(many)})
    assert len(figure.axes) == many
    assert figure.axes[0].get_gridspec().get_geometry() == shape
    svg(figure.axes[0])
    _, across = shape
    for k, ax in enumerate(figure.axes):
        lowest = k + across >= many
        assert ax.get_xlabel() == ("epochs" if lowest else "")
        assert any(label.get_visible() and label.get_text() for label in ax.get_xticklabels()) == lowest
        assert ax.get_ylabel() == ("" if k % across else "test error")


def test_a_dark_style_has_light_ink():
    with pyplot.style.context("dark_background"):
        dark = svg(vote_panels({"degree 1": (EPOCHS, ERRORS)}).axes[0])
    assert style.INK not in dark
    assert "#ffffff" in dark


def test_names_with_marks_are_written_as_they_are():
    figure = vote_panels({"a $ b_ $ c^": (EPOCHS, ERRORS)})
    svg(figure.axes[0])
    assert "a $ b_ $ c^" in written(votes(EPOCHS, ERRORS, heading="a $ b_ $ c^", ax=place()))[0]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: votes([], {("vote", False): []}), "epochs is empty"),
        (lambda: votes([1], {}), "errors is empty"),
        (lambda: votes([0, 1], {("vote", False): [0.1, 0.1]}), "epochs has 0 at place 0"),
        (lambda: votes([1, 1], {("vote", False): [0.1, 0.1]}), "epochs has 1 at place 1"),
        (lambda: votes([1, 2], {("vote", False): [0.1]}), "epochs has 2 entries and errors of vote has 1"),
        (lambda: votes([1], {("vote", False): [8.5]}), "errors of vote has 8.5 at place 0: they are shares"),
        (lambda: votes([1], {("last", True): [-0.1]}), "errors of last, normalised has -0.1 at place 0"),
        (lambda: votes([1], {("last", True): [np.nan]}), "errors of last, normalised has nan at place 0"),
        (lambda: votes([1], {"vote": [0.1]}), "there is no method 'vote'"),
        (lambda: votes([1], {("best", False): [0.1]}), r"there is no method \('best', False\)"),
        (lambda: vote_panels({}), "panels is empty"),
    ],
)
def test_what_is_no_picture_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
