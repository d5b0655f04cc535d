"""Pictures of mixed runs: weighted mistakes under their bounds, the lemmas at every mix, and what is refused."""

import math

import numpy as np
import pytest

from linsep import Perceptron, Winnow
from linsep.plots import style
from linsep.plots.boundary import boundary_path, replay
from linsep.plots.run_curves import mistakes, mixes, potential, squeeze
from tests.certified import three_classes, two_classes
from tests.fits import fit
from tests.plots.drawing import in_legend, overhang, place, svg, title

COUNTS = [0, 2.25, 3.5, 3.5]


def ends(curve):
    """Where a line of steps ends."""
    return curve.get_ydata()[-1]


def test_weighted_mistakes_are_drawn_mix_by_mix_under_their_bounds():
    ax = mixes(COUNTS, {"(R/γ)²": 8.25, "regret": 5.5, "none": math.inf}, ax=place())
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), np.column_stack([range(4), COUNTS]))
    assert [line.get_ydata()[0] for line in ax.lines[1:]] == [8.25, 5.5]
    assert title(ax) == "3.5 weighted mistakes in 3 mixes, 5.5 allowed"
    assert in_legend(ax) == ["none: none", "(R/γ)²: 8.25", "regret: 5.5", "weighted mistakes: 3.5"]
    assert (ax.get_yscale(), ax.get_xlabel(), ax.get_ylabel()) == ("linear", "mix", "weighted mistakes so far")


def test_a_bound_far_above_makes_the_axis_logarithmic():
    ax = mixes([0, 0, 0.25, 1], {"a": 1e4}, ax=place())
    assert ax.get_yscale() == "log"
    assert ax.lines[0].get_xdata().tolist() == [2, 3]
    assert ax.get_ylim()[0] < 0.25
    assert title(ax) == "1 weighted mistake in 3 mixes, 10,000 allowed"
    assert title(mixes([0, 0], {}, ax=place())) == "0 weighted mistakes in 1 mix"


PICTURES = {
    "mixes": lambda ax: mixes(COUNTS, {"(R/γ)²": 8.25, "none": math.inf}, ax=ax),
    "squeeze": lambda ax: squeeze([0, 1, 1.5, 1.5], [0, 2, 4, 4], radius=1.5, margin=0.25, counts=COUNTS, ax=ax),
    "far": lambda ax: squeeze([0, 1, 1.5], [0, 2, 4], radius=1.5, margin=1e-3, counts=[0, 0.1, 0.5], ax=ax),
    "potential": lambda ax: potential([0.69, 0.4, 0.2, 0.2], progress=0.1, start=0.7, counts=COUNTS, ax=ax),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("width", [8.4, 5.2])
def test_a_picture_fits_its_figure(name, width):
    ax = PICTURES[name](place(width, 4.2))
    assert overhang(ax) <= 0.02
    assert "weighted mistakes" in title(ax) + ax.get_xlabel()
    svg(ax)


def test_the_lemmas_are_drawn_over_weighted_mistakes():
    ax = PICTURES["squeeze"](place())
    drawn = {line.get_color(): line.get_xydata() for line in ax.lines if len(line.get_xdata()) == 4}
    np.testing.assert_array_equal(drawn[style.colour_of(0)], np.column_stack([COUNTS, np.sqrt([0, 2, 4, 4])]))
    np.testing.assert_array_equal(drawn[style.colour_of(2)], np.column_stack([COUNTS, [0, 1, 1.5, 1.5]]))
    assert title(ax) == "3.5 weighted mistakes, below (R/γ)² = 36"
    assert in_legend(ax) == ["R√k", "‖v‖ at each mix", "v·u at each mix", "kγ"]
    assert PICTURES["far"](place()).get_xlim()[0] == pytest.approx(0.1)


def test_the_potential_is_drawn_over_weighted_mistakes():
    ax = PICTURES["potential"](place())
    drawn = [line for line in ax.lines if len(line.get_xdata()) == 5]
    np.testing.assert_array_equal(drawn[0].get_xdata(), [*COUNTS, 3.5])
    assert title(ax) == "Winnow: 3.5 weighted mistakes, 7 allowed"
    assert in_legend(ax)[1] == "KL(u‖w) at each mix"


@pytest.mark.parametrize("mixing", ["uniform", "rows", "mistakes"])
def test_below_a_bound_mistakes_of_shards_are_weighted(mixing):
    X, y = two_classes()
    clf = fit(Perceptron(max_iter=4, shards=3, mixing=mixing, random_state=0, fit_intercept=False), X, y)
    K = clf.mixes_.mixed_mistakes[-1]
    ax = mistakes(clf, bound=40.0, ax=place())
    assert ends(ax.lines[0]) == pytest.approx(K)
    assert title(ax) == f"Perceptron: {K:.4g} weighted mistakes in {clf.t_} rounds"
    assert ax.get_ylabel() == "weighted mistakes so far"
    for n, K in enumerate(clf.mixes_.mixed_mistakes, 1):
        x, heights = ax.lines[0].get_data()
        assert heights[np.searchsorted(x, n * len(X), side="right") - 1] == pytest.approx(K)
    plain = mistakes(clf, ax=place())
    assert ends(plain.lines[0]) == clf.mistakes_
    assert title(plain) == f"Perceptron: {clf.mistakes_} mistakes in {clf.t_} rounds"


def test_each_class_has_its_own_weights():
    X, y = three_classes()
    clf = fit(Perceptron(max_iter=4, shards=3, mixing="mistakes", random_state=0, multi_class="ovr"), X, y)
    ax = mistakes(clf, bound=40.0, ax=place())
    assert [ends(line) for line in ax.lines[:3]] == pytest.approx(clf.mixes_.mixed_mistakes[-1].tolist())
    pair = fit(Perceptron(max_iter=4, shards=3, random_state=0, multi_class="joint"), X, y)
    assert ends(mistakes(pair, bound=40.0, ax=place()).lines[0]) == pytest.approx(pair.mixes_.mixed_mistakes[-1])


def test_passes_without_shards_count_in_full():
    X, y = two_classes()
    clf = fit(Perceptron(max_iter=1, random_state=0, warm_start=True, fit_intercept=False), X, y)
    first = clf.mistakes_
    fit(clf.set_params(shards=3), X, y)
    K = first + clf.mixes_.mixed_mistakes[-1]
    assert first > 0
    assert ends(mistakes(clf, bound=40.0, ax=place()).lines[0]) == pytest.approx(K)


def test_weights_that_went_no_single_way_are_not_played_again():
    X, y = two_classes()
    clf = fit(Perceptron(shards=3, random_state=0), X[:, :2], y)
    for draw in (lambda: replay(clf, X[:, :2], y), lambda: boundary_path(clf, X[:, :2], y, ax=place())):
        with pytest.raises(ValueError, match=r"has mixed shards \(shards=3\).*fit it with shards=None"):
            draw()


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: mixes([1, 2], {}), "counts has 1 at place 0: before the first mix"),
        (lambda: mixes([0, 2, 1], {}), "counts falls to 1 at place 2"),
        (lambda: mixes([], {}), "is empty"),
        (lambda: mixes([0, np.nan], {}), "counts has nan"),
        (lambda: mixes([0, 1], {"a": -1}), "the bound 'a' is -1"),
        (lambda: squeeze([0, 1], [0, 1], radius=1, margin=1, counts=[0]), "dots has 2 entries and counts has 1"),
        (lambda: squeeze([0, 1], [0, 1], radius=1, margin=1, counts=[0.5, 1]), "counts has 0.5 at place 0"),
        (lambda: potential([1, 1], progress=1, start=1, counts=[0, 1, 2]), "values has 2 entries and counts has 3"),
    ],
)
def test_what_is_no_picture_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_a_learner_that_was_not_mixed_is_drawn_as_ever():
    X, y = two_classes()
    clf = fit(Winnow(eta=0.1, random_state=0), X, y)
    assert title(mistakes(clf, bound=500.0, ax=place())).startswith(f"Winnow: {clf.mistakes_} mistake")
