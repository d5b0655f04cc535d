"""What holds for every picture: its colours, its text, its figure, and when matplotlib is loaded."""

import io
import re
import subprocess
import sys
from functools import cache

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.datasets import load_iris

from linsep import Perceptron, plots
from linsep.plots import style
from tests.plots.drawing import overhang, place, svg, written

iris = load_iris()
TWO = iris.target < 2
NAMES = np.array(["a $ sign_ in^ one's name of forty letters", "the other name $ has forty letters, too"])
X2, X4, LABELS = iris.data[TWO][:, [1, 3]], iris.data, NAMES[iris.target[TWO]]
FEATURES = [f"feature {k} with $ and \\ and a name of forty letters"[:40] for k in range(4)]


@cache
def flat():
    return Perceptron(random_state=15, max_iter=100).fit(X2, LABELS)


@cache
def deep():
    return Perceptron(random_state=15, max_iter=100).fit(X4[TWO], LABELS)


PICTURES = {
    "boundary_path": lambda ax: plots.boundary_path(flat(), X2, LABELS, feature_names=FEATURES[:2], ax=ax),
    "calibration": lambda ax: plots.calibration(LABELS, np.linspace(0, 1, 100), ax=ax),
    "comparison": lambda ax: plots.comparison([plots.Result(n, k / 9, k, k) for k, n in enumerate(NAMES)], ax=ax),
    "confusion": lambda ax: plots.confusion(LABELS, LABELS[::-1], ax=ax),
    "decision_boundary": lambda ax: plots.decision_boundary(flat(), X2, LABELS, feature_names=FEATURES[:2], ax=ax),
    "decision_boundary, principal": lambda ax: plots.decision_boundary(deep(), X4[TWO], LABELS, ax=ax),
    "margins": lambda ax: plots.margins(deep(), X4[TWO], LABELS, ax=ax),
    "mistakes": lambda ax: plots.mistakes(flat(), bound=40, ax=ax),
    "precision_recall": lambda ax: plots.precision_recall(LABELS, np.linspace(0, 1, 100), threshold=0.6, ax=ax),
    "roc": lambda ax: plots.roc(LABELS, np.linspace(0, 1, 100), threshold=0.6, ax=ax),
    "progress": lambda ax: plots.progress([1, 10, 100], [1, 0.5, 0.2], ax=ax),
    "windows": lambda ax: plots.windows([100, 200, 300], [20, 30, 80], rises=[200], ax=ax),
    "weights": lambda ax: plots.weights(deep(), names=FEATURES, ax=ax),
    "ascent": lambda ax: plots.ascent([-2.8, -2.1, -1.96, -1.95], ax=ax),
    "bounds": lambda ax: plots.bounds([1, 3, 8, 20], 100, {"in any order": 40.0, "in 1 pass": 12.0}, ax=ax),
    "squeeze": lambda ax: plots.squeeze([0, 1.2, 2.1, 3.5], [0, 1, 1.5, 2.5], radius=1.0, margin=0.4, ax=ax),
    "potential": lambda ax: plots.potential([2.3, 1.9, 1.2, 0.8], progress=0.3, start=2.3, ax=ax),
    "versus": lambda ax: plots.versus([10, 100, 1000], [12, 80, 600], [9, 30, 60], relevant=3, rounds=2000, ax=ax),
    "noise": lambda ax: plots.noise([0, 0.05, 0.1], [12, 90, 160], [60, 480, 700], rows=1000, ax=ax),
    "votes": lambda ax: plots.votes([0.1, 1], {("vote", False): [0.1, 0.08], ("last", True): [0.2, 0.1]}, ax=ax),
}
every_picture = pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)


@cache
def drawn(draw):
    """A picture, and what it is in a file: drawn once for all who only look at it."""
    ax = draw(place())
    return ax, svg(ax)


def test_every_picture_is_here():
    assert {name.split(",")[0] for name in PICTURES} == set(plots.__all__) - {"Result"}


@pytest.mark.slow
@every_picture
def test_all_colours_are_ink_paper_or_those_of_data(draw):
    found = set(re.findall(r"#[0-9a-f]{6}\b", drawn(draw)[1]))
    assert found <= {style.INK, style.PAPER, *(colour.lower() for colour in style.COLOURS)}
    assert style.INK in found


@every_picture
def test_there_is_no_background(draw):
    ax, file = drawn(draw)
    assert not ax.patch.get_visible()
    assert not re.search(rf"fill: {style.PAPER}\b", file.split("axes_1")[0])


@pytest.mark.slow
@every_picture
def test_in_a_dark_style_nothing_is_drawn_in_black(draw):
    with mpl.rc_context({"text.color": "white", "figure.facecolor": "black"}):
        found = set(re.findall(r"#[0-9a-f]{6}\b", svg(draw(place()))))
    assert style.INK not in found
    assert "#ffffff" in found


@pytest.mark.slow
@every_picture
def test_the_picture_fits_its_figure(draw):
    assert overhang(draw(place(8.2, 5.0))) < 0.02


@pytest.mark.slow
@every_picture
def test_matplotlib_has_nothing_to_say(draw, caplog):
    draw(place()).figure.savefig(io.BytesIO())
    assert not caplog.records


@every_picture
def test_only_without_axes_is_a_figure_opened(draw):
    before = plt.get_fignums()
    ax = place()
    assert draw(ax) is ax
    assert plt.get_fignums() == before
    own = draw(None)
    assert plt.get_fignums() != before
    plt.close(own.figure)
    assert plt.get_fignums() == before


@every_picture
def test_titles_and_axes_say_something(draw):
    ax, _ = drawn(draw)
    assert ax.get_title(loc="left")
    assert ax.get_xlabel()
    assert all("nan" not in text for text in written(ax))


@pytest.mark.slow
def test_matplotlib_waits_until_it_is_needed():
    code = """if True:
        import sys, linsep, linsep.plots
        dir(linsep.plots)
        assert "matplotlib" not in sys.modules
        from linsep.plots import progress
        assert "matplotlib" in sys.modules and callable(progress)
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_error_says_what_to_install():
    code = "import sys; sys.modules['matplotlib'] = None; import linsep.plots; linsep.plots.margins"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'linsep[plot]'" in result.stderr


def test_functions_stay_functions_when_their_files_are_imported():

    assert callable(plots.margins)
    assert callable(plots.mistakes)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = plots.nothing


@pytest.mark.parametrize(("k", "other"), [(0, 1), (0, 6), (0, 7), (5, 11), (3, 41)])
def test_forty_two_classes_look_different(k, other):
    assert (style.colour_of(k), style.marker_of(k)) != (style.colour_of(other), style.marker_of(other))


def test_names_are_cut_in_the_middle_and_stay_on_one_line():
    assert style.shorten("x" * 40) == "x" * 40
    assert style.shorten("a" * 30 + "b" * 30, 11) == "aaaaaa…bbbb"
    assert style.shorten("two\nlines\tand a bell\a") == "two lines and a bell "
