"""The pictures of a certificate: what is drawn against the formulas, and what can't be drawn."""

import math

import numpy as np
import pytest
from matplotlib import colors
from scipy.optimize import minimize

from linsep.plots import style
from linsep.plots.experiment_curves import crossing, noise, noisy_runs
from linsep.plots.experiment_curves import versus as draw_versus
from linsep.plots.run_curves import bounds, potential, squeeze
from linsep.theory.majority import versus
from linsep.theory.paths import perceptron_path, winnow_path
from tests.plots.drawing import in_legend, overhang, place, svg, title


def tightest(X, signs):
    """The least (R||w|| + ||(1 - Yw)+||)² that a plain descent finds from a few starts, w = 0 among them."""
    Z, R = signs[:, None] * X, np.linalg.norm(X, axis=1).max()

    def value(w):
        length, lacks = np.sqrt(w @ w + 1e-18), np.maximum(0, 1 - Z @ w)
        size = np.sqrt(lacks @ lacks + 1e-18)
        return R * length + size, R * w / length - Z.T @ lacks / size

    starts = [scale * Z.mean(axis=0) for scale in (0.1, 3.0, 10.0)]
    found = [minimize(value, w, jac=True, method="L-BFGS-B").fun for w in starts]
    return min(*found, math.sqrt(len(X))) ** 2


def drawn_with(ax, colour):
    """The data of the one line that has this colour."""
    (line,) = [
        line for line in ax.lines if colors.to_hex(line.get_color()) == colour.lower() and len(line.get_xdata()) > 2
    ]
    return line.get_data()


def level(ax, value):
    """The lines drawn across the picture at this height."""
    return [line for line in ax.lines if len(line.get_ydata()) == 2 and set(line.get_ydata()) == {value}]


PICTURES = {
    "bounds": lambda **more: bounds([1, 2, 5, 9], 12, {"(R/γ)²": 30.25, "Winnow": 6.5, "none": math.inf}, **more),
    "squeeze": lambda **more: squeeze([0, 1, 1.5], [0, 2, 4], radius=1.5, margin=0.5, **more),
    "squeeze far": lambda **more: squeeze([0, 1, 1.5], [0, 2, 4], radius=1.5, margin=0.001, **more),
    "potential": lambda **more: potential([0.69, 0.31, 0.13], progress=0.1, start=math.log(2), **more),
    "versus": lambda **more: draw_versus(
        [32, 1e3, 1e5], [60, 2e3, 9e3], [40, 99, 220], relevant=5, rounds=9**5, **more
    ),
    "noise": lambda **more: noise([0, 0.1, 0.2], [5, 90, 150], [40, 400, 700], rows=1000, **more),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_fits_its_figure_tells_what_it_shows_and_has_its_legend_beside_it(name):
    ax = PICTURES[name](ax=place(8.4, 4.2))
    assert title(ax)
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert len(in_legend(ax)) >= 3
    assert overhang(ax) <= 0.02
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_narrow_picture_has_its_legend_below(name):
    ax = PICTURES[name](ax=place(5.2, 4.2))
    assert overhang(ax) <= 0.02
    assert ax.get_legend().get_window_extent().y1 <= ax.xaxis.label.get_window_extent().y0
    assert ax.get_window_extent().width > 0.75 * ax.figure.bbox.width


def test_mistakes_are_steps_under_their_bounds():
    ax = bounds([1, 2, 2, 7], 10, {"one": 20.0, "two": 5.5, "void": math.inf}, ax=place())
    x, y = drawn_with(ax, style.WRONG)
    counts = y[np.searchsorted(x, np.arange(11), side="right") - 1]
    assert counts.tolist() == [0, 1, 3, 3, 3, 3, 3, 4, 4, 4, 4]
    assert len(level(ax, 20.0)) == len(level(ax, 5.5)) == 1
    assert title(ax) == "4 mistakes in 10 rounds, 5.5 allowed"
    assert in_legend(ax) == ["void: none", "one: 20", "two: 5.5", "mistakes: 4"]
    assert ax.get_yscale() == "linear"
    assert ax.get_ylim()[1] > 20


def test_a_bound_far_above_makes_the_axis_logarithmic():
    assert bounds([1, 2], 10, {"a": 39.0}, ax=place()).get_yscale() == "linear"
    far = bounds([1, 2], 10, {"a": 41.0, "b": 1e9}, ax=place())
    assert far.get_yscale() == "log"
    assert far.get_ylim()[1] > 1e9
    assert in_legend(far)[0] == "b: 1e+09"
    assert title(bounds([], 5, {}, ax=place())) == "0 mistakes in 5 rounds"
    assert title(bounds([], 1, {"a": 0.0}, ax=place())) == "0 mistakes in 1 round, 0 allowed"


@pytest.mark.parametrize("gamma", [0.5, 0.01])
def test_the_lemmas_squeeze_a_run(gamma):
    rng = np.random.default_rng(0)
    path = perceptron_path(rng.normal([2.0, 0.0, 0.0, 0.0], size=(30, 4)), [1.0, 0.0, 0.0, 0.0])
    ax = squeeze(path.dots, path.squares, radius=3.0, margin=gamma, ax=place())
    k, lengths = drawn_with(ax, style.colour_of(0))
    np.testing.assert_array_equal(k, np.arange(31))
    np.testing.assert_allclose(lengths, np.sqrt(path.squares))
    np.testing.assert_array_equal(drawn_with(ax, style.colour_of(2))[1], path.dots)
    dashed, dotted = (next(line for line in ax.lines if line.get_linestyle() == look) for look in ("--", ":"))
    np.testing.assert_allclose(dashed.get_ydata(), 3 * np.sqrt(dashed.get_xdata()))
    np.testing.assert_allclose(dotted.get_ydata(), gamma * dotted.get_xdata())
    (meeting,) = [line for line in ax.lines if len(line.get_xdata()) == 1]
    assert meeting.get_xydata()[0] == pytest.approx([(3 / gamma) ** 2, 9 / gamma])
    assert ax.get_xlim()[1] > (3 / gamma) ** 2
    assert (ax.get_xscale(), ax.get_yscale()) == (("log", "log") if gamma == 0.01 else ("linear", "linear"))


def test_a_run_without_a_mistake_is_squeezed_too():
    ax = squeeze([0.0], [0.0], radius=1.0, margin=0.5, ax=place())
    assert title(ax) == "0 mistakes, squeezed below (R/γ)² = 4"
    svg(ax)
    svg(squeeze([0.0], [0.0], radius=1.0, margin=0.001, ax=place()))


def test_the_potential_is_a_staircase_under_its_line():
    rng = np.random.default_rng(0)
    rows = rng.choice([-1.0, 1.0], (40, 20))
    rows[:, 0] = 1.0
    values = winnow_path(rows, np.eye(20)[0], 0.2)
    L = 0.2 - math.log(math.cosh(0.2))
    ax = potential(values, progress=L, start=math.log(20), ax=place())
    x, y = drawn_with(ax, style.colour_of(0))
    np.testing.assert_array_equal(x, [*range(41), 40])
    np.testing.assert_array_equal(y, [*values, values[-1]])
    line = next(line for line in ax.lines if line.get_linestyle() == "--")
    np.testing.assert_allclose(line.get_ydata(), math.log(20) - L * line.get_xdata(), atol=1e-12)
    assert len(level(ax, math.log(20))) == 1
    assert title(ax) == f"Winnow: 40 mistakes, {math.log(20) / L:.4g} allowed"


def test_a_line_that_ends_far_beyond_the_run_leaves_the_frame():
    near = potential([1.0, 0.5], progress=0.25, start=1.0, ax=place())
    far = potential([1.0, 0.5], progress=0.001, start=1.0, ax=place())
    assert near.get_xlim()[1] > 4
    assert far.get_xlim()[1] < 10
    assert title(far) == "Winnow: 1 mistake, 1,000 allowed"
    assert title(potential([1.0], progress=0.5, start=1.0, ax=place())) == "Winnow: 0 mistakes, 2 allowed"


def test_both_learners_are_drawn_with_their_bounds():
    sizes = np.array([32, 100, 316, 1000])
    races = [versus(int(N), 5, 2000) for N in sizes]
    made = [[getattr(race, name) for race in races] for name in ("perceptron", "winnow")]
    ax = draw_versus(sizes, *made, relevant=5, rounds=2000, ax=place())
    N, kN = ax.lines[0].get_data()
    np.testing.assert_allclose(kN, 5 * N)
    np.testing.assert_array_equal(ax.lines[1].get_data(), [sizes, made[0]])
    N, bound = ax.lines[2].get_data()
    np.testing.assert_allclose(bound, 50 * np.log(N))
    np.testing.assert_array_equal(ax.lines[3].get_data(), [sizes, made[1]])
    assert len(level(ax, 2000)) == 1
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert in_legend(ax)[-1] == "k = N / (2 ln N): N = 35.77"
    assert ax.lines[-1].get_xydata()[0] == pytest.approx([crossing(5), 5 * crossing(5)])


@pytest.mark.parametrize("k", [2, 3, 5, 101, 10**6])
def test_the_bounds_cross_once_above_k(k):
    N = crossing(k)
    assert k * N == pytest.approx(2 * k**2 * math.log(N))
    assert k * 1.01 * N > 2 * k**2 * math.log(1.01 * N)
    assert crossing(1) is None


def test_no_crossing_is_marked_where_there_is_none():
    for sizes, k in (([100, 1000], 5), ([2, 1000], 1)):
        ax = draw_versus(sizes, [1, 2], [0, 2], relevant=k, ax=place())
        assert len(in_legend(ax)) == 4
        svg(ax)


def test_noise_raises_the_bound_and_the_mistakes():
    runs = noisy_runs(tightest, [0, 0.02, 0.1, 0.2], rows=400, seed=1)
    assert (runs.mistakes <= runs.bounds).all()
    assert (runs.bounds <= 400).all()
    assert runs.bounds[0] <= 25 * (1 + 1e-6)
    assert (np.diff(runs.bounds) > 0).all()
    ax = noise(*runs[:3], rows=runs.rows, ax=place())
    np.testing.assert_array_equal(drawn_with(ax, style.WRONG), [runs.shares, runs.mistakes])
    np.testing.assert_array_equal(drawn_with(ax, style.colour_of(0)), [runs.shares, runs.bounds])
    assert len(level(ax, 400)) == 1
    assert title(ax) == "One pass over 400 rows, some labels wrong"


def test_noisy_rows_are_what_they_are_said_to_be():
    seen = []
    noisy_runs(lambda X, signs: seen.append((X, signs)) or 1.0, [0, 0.1, 0.3], rows=200, features=3, gap=0.25)
    (X, clean), *others = seen
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    assert (clean * X[:, 0] >= 0.25).all()
    turned = [set(np.flatnonzero(signs != clean)) for _, signs in others]
    assert [len(rows) for rows in turned] == [20, 60]
    assert turned[0] < turned[1]


def test_few_mistakes_among_many_rows_make_the_axis_logarithmic():
    assert noise([0, 0.1], [4, 20], [50, 90], rows=100, ax=place()).get_yscale() == "linear"
    assert noise([0, 0.1], [3, 20], [50, 90], rows=100, ax=place()).get_yscale() == "log"
    svg(noise([0.0], [0], [0], rows=100, ax=place()))


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: bounds([1, 3, 2], 5, {}), "rounds has 2 at place 2"),
        (lambda: bounds([0, 3], 5, {}), "rounds has 0 at place 0"),
        (lambda: bounds([1, 6], 5, {}), "rounds has 6 at place 1: rounds are from 1 to total=5"),
        (lambda: bounds([1, np.nan], 5, {}), "rounds has nan"),
        (lambda: bounds([], 0, {}), "total=0"),
        (lambda: bounds([1], 5, {"a": -1}), "the bound 'a' is -1"),
        (lambda: bounds([1], 5, {"a": np.nan}), "the bound 'a' is nan"),
        (lambda: squeeze([0, 1], [0], radius=1, margin=1), "dots has 2 entries and squares has 1"),
        (lambda: squeeze([0, 1], [0, -1], radius=1, margin=1), "squares has -1 at place 1"),
        (lambda: squeeze([], [], radius=1, margin=1), "is empty"),
        (lambda: squeeze([0, np.inf], [0, 1], radius=1, margin=1), "dots has inf at place 1"),
        (lambda: squeeze([0], [0], radius=0, margin=1), "radius=0"),
        (lambda: squeeze([0], [0], radius=1, margin=-0.5), "margin=-0.5"),
        (lambda: squeeze([0], [0], radius=1e200, margin=1e-200), "too much to be drawn"),
        (lambda: potential([], progress=1, start=1), "values is empty"),
        (lambda: potential([1], progress=0, start=1), "progress=0"),
        (lambda: potential([1], progress=1, start=np.nan), "start=nan"),
        (lambda: draw_versus([10, 5], [1, 1], [1, 1], relevant=3), "features has 5 at place 1"),
        (lambda: draw_versus([10, 20], [1], [1, 1], relevant=3), "features has 2 entries and perceptron has 1"),
        (lambda: draw_versus([10, 20], [1, 1], [1, 1], relevant=11), "relevant=11"),
        (lambda: noise([0.1, 0.1], [1, 1], [1, 1], rows=9), "shares has 0.1 at place 1"),
        (lambda: noise([0.1, 1.5], [1, 1], [1, 1], rows=9), "shares has 1.5 at place 1"),
        (lambda: noise([0.1], [-1], [1], rows=9), "mistakes has -1 at place 0"),
        (lambda: noise([0.1], [1], [1], rows=0), "rows=0"),
        (lambda: noisy_runs(tightest, [0.1], features=1), "features=1"),
    ],
)
def test_what_is_no_picture_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
