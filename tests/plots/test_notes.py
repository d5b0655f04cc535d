"""The figures of the notes: what is drawn is what the formulas and the library say."""

import math
import re
import subprocess
import sys
from html import unescape
from io import StringIO

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist

from linsep.plots import notes, style
from linsep.plots.notes import note_002, note_003, note_004
from linsep.plots.notes.catalogue import FIGURES, NOTES, words
from linsep.plots.notes.gallery import page
from linsep.theory.vc import cover_fraction

QUICK = {
    "dichotomies": {"dimensions": (3,), "draws": 4},
    "feature_race": {"sizes": (10, 30, 100), "rounds": 400},
    "turned_labels": {"rows": 60},
}
"""What makes a figure quick enough to be drawn again and again."""


def draw(name, **more):
    """Draw a figure as the gallery does; return its axes and itself."""
    entry = FIGURES[name]
    figure = Figure(figsize=entry.size, layout=None if entry.panels else "constrained")
    more = QUICK.get(name, {}) | more
    if entry.panels:
        return getattr(notes, name)(figure=figure, **more), figure
    ax = figure.add_subplot(projection="3d" if entry.solid else None)
    assert getattr(notes, name)(ax=ax, **more) is ax
    return (ax,), figure


@pytest.fixture(scope="module")
def drawn():
    return {name: draw(name) for name in FIGURES}


def overhang(figure):
    """By how many inches what is drawn, once laid out, is larger than its figure."""
    figure.draw_without_rendering()
    boxes = [ax.get_tightbbox() for ax in figure.axes] + [text.get_window_extent() for text in figure.texts]
    width, height = figure.get_size_inches() * figure.dpi
    return max(max(-box.x0, -box.y0, box.x1 - width, box.y1 - height) for box in boxes) / figure.dpi


every_figure = pytest.mark.parametrize("name", FIGURES)


def texts(figure):
    found = [text.get_text() for text in figure.texts]
    for ax in figure.axes:
        found += [ax.get_title(loc="left"), *(text.get_text() for text in ax.texts)]
    return " ".join(found).replace("\n", " ")


def test_every_function_has_a_place_in_a_note_and_every_note_a_figure():
    assert set(FIGURES) == set(notes.__all__)
    assert all(callable(getattr(notes, name)) for name in FIGURES)
    assert {entry.note for entry in FIGURES.values()} == set(NOTES)
    assert [entry.note for entry in FIGURES.values()] == sorted(entry.note for entry in FIGURES.values())


@every_figure
def test_a_figure_says_its_note_and_what_to_see(name, drawn):
    _, figure = drawn[name]
    assert FIGURES[name].title in texts(figure)
    assert words(name) in texts(figure)
    assert words(name).startswith(f"Note {FIGURES[name].note}, ")
    assert FIGURES[name].caption.count(". ") == 0


@every_figure
def test_axes_are_named(name, drawn):
    for ax in drawn[name][1].axes:
        assert ax.get_xlabel() or name in ("guess_table", "cosines")


@pytest.fixture(scope="module")
def report(drawn):
    return page({name: figure for name, (_, figure) in drawn.items()})


@pytest.fixture(scope="module")
def html(report):
    return unescape(report.html())


@pytest.mark.slow
def test_colours_are_ink_paper_or_those_of_data(html):
    found = {f"#{digits}" for digits in re.findall(r"var\(--c([0-9a-f]{6})\)", html)}
    assert found == {colour.lower() for colour in style.COLOURS[:5]}


@every_figure
def test_there_is_no_background(name, drawn):
    assert not any(ax.patch.get_visible() for ax in drawn[name][1].axes)


@pytest.mark.parametrize("name", ["chord", "update", "guess_table", "constant_dimension"])
def test_in_a_dark_style_nothing_is_drawn_in_black(name):
    with mpl.rc_context({"text.color": "white", "figure.facecolor": "black"}):
        file = StringIO()
        draw(name)[1].savefig(file, format="svg")
    assert style.INK not in file.getvalue()


@pytest.mark.slow
@every_figure
def test_the_picture_fits_its_figure(name):
    _, figure = draw(name)
    assert overhang(figure) < (0.3 if FIGURES[name].solid else 0.04)


@pytest.mark.parametrize("name", ["chord", "cosines", "sigmoid_surface"])
def test_without_a_place_a_figure_is_opened(name):
    before = plt.get_fignums()
    made = getattr(notes, name)()
    figure = (made[0] if isinstance(made, tuple) else made).figure
    assert len(plt.get_fignums()) == len(before) + 1
    assert tuple(figure.get_size_inches()) == FIGURES[name].size
    plt.close(figure)


@pytest.mark.parametrize("eta", [0.05, 1.0, 3.0])
def test_the_chord_is_above_within_and_below_beyond(eta):
    (ax,), _ = draw("chord", eta=eta)
    (A, curve), (inner, line), (wide, longer) = (part.get_data() for part in ax.lines[:3])
    np.testing.assert_allclose(curve, [math.exp(eta * a) for a in A])
    np.testing.assert_allclose(line, [math.cosh(eta) + a * math.sinh(eta) for a in inner])
    assert (inner.min(), inner.max()) == (-1, 1)
    assert (np.exp(eta * inner) <= line + 1e-12).all()
    assert (np.exp(eta * wide) >= longer)[np.abs(wide) > 1].all()


@pytest.mark.parametrize(("delta", "p"), [(0.2, 1000), (0.05, 50), (0.9, 2)])
def test_the_rate_of_the_dot_is_the_best_one(delta, p):
    (ax,), _ = draw("winnow_bound", delta=delta, features=p)
    eta, bound = ax.lines[0].get_data()
    (best,), (least,) = ax.lines[1].get_data()
    expected = [math.log(p) / (e * delta - math.log(math.cosh(e))) for e in eta.tolist()]
    np.testing.assert_allclose(bound, expected, rtol=1e-6)
    assert best == pytest.approx(math.atanh(delta))
    assert least <= bound.min() * (1 + 1e-12)
    L = ((1 + delta) * math.log(1 + delta) + (1 - delta) * math.log(1 - delta)) / 2
    assert least == pytest.approx(math.log(p) / L)
    assert least <= 2 * math.log(p) / delta**2 == pytest.approx(ax.lines[3].get_ydata()[0])
    end = min(patch.get_x() for patch in ax.patches)
    assert end * delta == pytest.approx(math.log(math.cosh(end)))
    assert eta.max() < end


@pytest.mark.parametrize("wrong", [{"delta": 0}, {"delta": 1}, {"delta": math.nan}, {"features": 1}])
def test_a_bound_needs_a_margin_and_features(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        draw("winnow_bound", **wrong)


@pytest.mark.parametrize("eta", [0, -1, math.inf, math.nan])
def test_a_rate_is_above_0(eta):
    with pytest.raises(ValueError, match="eta"):
        draw("chord", eta=eta)


def test_losses_are_their_formulas_and_by_ln_2_none_is_below_the_first(drawn):
    (ax,), _ = drawn["losses"]
    jump, logistic, scaled, hinge = ax.lines
    assert jump.get_xydata()[[0, 1, 3, 4]].tolist() == [[-3, 1], [0, 1], [0, 0], [3, 0]]
    z = logistic.get_xdata()
    np.testing.assert_allclose(logistic.get_ydata(), [math.log(1 + math.exp(-v)) for v in z])
    np.testing.assert_allclose(hinge.get_ydata(), [max(0, 1 - v) for v in z])
    for line in (scaled, hinge):
        assert (line.get_ydata() >= (z <= 0) - 1e-12).all()


def area(corners):
    x, y = np.asarray(corners)[:, :2].T
    return abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2


def test_the_surface_is_the_sigmoid_of_the_likeliest_weights(monkeypatch):
    made, kept = note_002.Poly3DCollection, []
    monkeypatch.setattr(
        note_002, "Poly3DCollection", lambda strips, **look: kept.extend(strips) or made(strips, **look)
    )
    (ax,), _ = draw("sigmoid_surface")
    X, y = note_002.flowers()
    w, rows, t = np.zeros(3), np.column_stack([X, np.ones(len(X))]), y > 0
    for _ in range(30):
        p = 1 / (1 + np.exp(-rows @ w))
        w += np.linalg.solve((rows * (p * (1 - p))[:, None]).T @ rows, rows.T @ (t - p))
    corners = np.vstack(kept)
    np.testing.assert_allclose(corners[:, 2], 1 / (1 + np.exp(-corners[:, :2] @ w[:2] - w[2])), atol=1e-4)
    assert sum(map(area, kept)) == pytest.approx(np.ptp(ax.get_xlim()) * np.ptp(ax.get_ylim()))
    across, up, height = ax.lines[0].get_data_3d()
    np.testing.assert_allclose(np.column_stack([across, up, [1, 1]]) @ w, 0, atol=1e-4)
    assert height == pytest.approx([0.5, 0.5])


def test_a_surface_needs_three_dimensions():
    with pytest.raises(ValueError, match='projection="3d"'):
        notes.sigmoid_surface(ax=Figure().add_subplot())


def test_the_paths_are_gradient_steps(drawn):
    (ax,), _ = drawn["ascent_paths"]
    batch, walk = (line.get_xydata() for line in ax.lines[:2])
    best = ax.lines[2].get_xydata()[0]
    X, y = (part for part in note_002.run_both()[:2])

    def gradient(w, rows):
        return X[rows].T @ ((y[rows] > 0) - 1 / (1 + np.exp(-X[rows] @ w)))

    everything = np.arange(len(X))
    steps = np.diff(batch, axis=0)
    for at, step in zip(batch, steps, strict=False):
        way = gradient(at, everything)
        assert np.cross([*step, 0], [*way, 0])[2] == pytest.approx(0, abs=1e-9)
        assert step @ way > 0
    np.testing.assert_allclose(gradient(best, everything), 0, atol=1e-4)
    assert batch[0].tolist() == walk[0].tolist() == [0, 0]
    for at, step in zip(walk[:-1], np.diff(walk, axis=0), strict=True):
        own = [note_002.RATE * gradient(at, np.array([i])) for i in everything]
        assert np.abs(own - step).max(axis=1).min() < 1e-9
    heights = note_002.likelihood(note_002.run_both(), batch)
    assert (np.diff(heights) > 0).all()


def test_lifted_points_are_separated_through_the_origin_and_flat_ones_cannot_be():
    for X, y in ((note_003.LINE, note_003.OF_LINE), (note_003.FLAT, note_003.OF_FLAT)):
        assert (y * (np.column_stack([X, np.ones(len(X))]) @ note_003.normal(X, y)) > 0).all()
        assert (note_003.verdict(X, y), note_003.verdict(X, y, 1.0)) == ("not separable", "separable")
    angle = np.linspace(0, 2 * np.pi, 3601)
    turned = note_003.OF_FLAT[:, None] * (note_003.FLAT @ [np.cos(angle), np.sin(angle)])
    assert turned.min(axis=0).max() <= 0
    assert min(note_003.LINE) > 0  # both signs of w have one class on the wrong side


@pytest.mark.parametrize("sign", [1, -1])
def test_the_second_example_follows_the_rules_and_is_a_mistake(sign):
    for lean in (0, note_002.LEAN):
        case = note_002.case(sign, lean)
        assert np.linalg.norm(case.u) == pytest.approx(1)
        for x, y in ((case.v1, 1), (case.x2, sign)):
            assert np.linalg.norm(x) <= 1
            assert y * (case.u @ x) >= note_002.GAMMA
        assert sign * (case.v1 @ case.x2) <= 0
        np.testing.assert_allclose(case.v2, case.v1 + sign * case.x2)
        assert case.u @ case.v2 >= 2 * note_002.GAMMA
        assert case.v2 @ case.v2 <= 2
    assert note_002.case(sign).u.tolist() == [0, 1]


@pytest.mark.parametrize(("panel", "sign"), [(0, 1), (3, -1)])
def test_the_shaded_region_has_mistakes_alone_and_all_of_them(panel, sign, drawn):
    ax = drawn["mistake_regions"][0][panel]
    case = note_002.case(sign, note_002.LEAN)
    shade = ax.collections[-1]
    grid = np.linspace(-1.2, 1.2, 61)
    x = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    slack = np.column_stack(
        [1 - np.linalg.norm(x, axis=1), sign * (x @ case.u) - note_002.GAMMA, -sign * (x @ case.v1)]
    ).min(axis=1)
    inside = shade.get_paths()[0].contains_points(x)
    clear = np.abs(slack) > 0.02
    np.testing.assert_array_equal(inside[clear], slack[clear] > 0)
    assert inside.any()


def test_the_run_goes_up_by_the_margin_while_its_cosine_falls_at_times(drawn):
    (up, nearer), _ = drawn["cosines"]
    run = note_002.run()
    heights, lowest = up.lines[0].get_ydata(), up.lines[1].get_ydata()
    assert (np.diff([0, *heights]) >= run.gamma - 1e-9).all()
    np.testing.assert_allclose(lowest, run.gamma * np.arange(1, len(heights) + 1))
    cosine, below = nearer.lines[0].get_ydata(), nearer.lines[2].get_ydata()
    expected = [v @ run.u / math.hypot(*v) for v in run.guesses]
    np.testing.assert_allclose(cosine, expected)
    assert (cosine >= below - 1e-12).all()
    fell = nearer.lines[1].get_xydata()
    assert len(fell) == np.count_nonzero(np.diff(cosine) < 0) > 0
    assert len(heights) <= (run.radius / run.gamma) ** 2


def test_the_unit_sphere_holds_all_points_and_no_direction_has_more_margin():
    X, y, u, gamma = note_003.setting()
    assert np.linalg.norm(X, axis=1).max() == pytest.approx(1)
    assert np.linalg.norm(u) == pytest.approx(1)
    angle = np.linspace(0, 2 * np.pi, 20001)
    best = (y[:, None] * (X @ [np.cos(angle), np.sin(angle)])).min(axis=0).max()
    assert gamma == pytest.approx(best, rel=1e-3)
    assert {-1, 1} == set(y.tolist())


def test_the_sphere_says_its_margin(drawn):
    gamma = note_003.setting()[3]
    assert f"γ = {gamma:.3f}, 1/γ² = {1 / gamma**2:.1f}" in texts(drawn["unit_sphere"][1])


def test_one_update_repairs_one_square_and_one_circle(drawn):
    panels, _ = drawn["update"]
    missed = note_003.wrong(note_003.BEFORE)
    assert sorted(note_003.LABELS[missed].tolist()) == [-1, 1]
    x = note_003.choose()
    assert note_003.BEFORE @ x >= 0
    assert len(note_003.wrong(note_003.BEFORE - x)) == 0
    assert "after: 0 mistakes" in panels[2].get_title(loc="left")


def test_the_line_is_that_of_least_squares(drawn):
    (ax,), figure = drawn["line_fit"]
    x, y = note_004.data()
    (_, start), (end, height) = ax.lines[0].get_xydata()
    w = sum(x * y) / sum(x * x)
    assert start == 0
    assert height / end == pytest.approx(w)
    assert f"w = {w:.3f}" in texts(figure)
    assert f"{np.sum((w * x - y) ** 2):.2f}" in texts(figure)


@pytest.mark.parametrize(("n", "p"), [(2, 1), (3, 2), (5, 2), (5, 3)])
def test_covers_share_is_that_of_the_signs_that_directions_give(n, p):
    rng = np.random.default_rng(n)
    found = np.unique(np.sign(rng.normal(size=(200_000, p)) @ rng.normal(size=(p, n))), axis=0)
    assert cover_fraction(n, p) == len(found) / 2**n


def test_covers_shares_follow_from_one_point_less():
    for n in range(1, 20):
        for p in range(1, 20):
            assert n > p or cover_fraction(n, p) == 1
            if n > 1 and p > 1:
                assert cover_fraction(n, p) == (cover_fraction(n - 1, p) + cover_fraction(n - 1, p - 1)) / 2


def test_dots_are_where_linear_programs_put_them_and_near_the_line():
    (ax,), _ = draw("dichotomies", dimensions=(4,), draws=50)
    line, dots = ax.lines[0].get_xydata(), ax.containers[0][0].get_xydata()
    exact = dict(np.round(line, 9).tolist())
    for load, found in np.round(dots, 9).tolist():
        share = exact[load]
        assert abs(found - share) <= 4 * math.sqrt(max(share * (1 - share), 1e-3) / 50)
    assert exact[2.0] == 0.5


def test_nothing_is_drawn_without_dimensions_or_labellings():
    with pytest.raises(ValueError, match="dimensions=\\[\\]"):
        draw("dichotomies", dimensions=())
    with pytest.raises(ValueError, match="draws=0"):
        draw("dichotomies", draws=0)


def test_the_ten_rows_have_the_guesses_and_results_of_the_note(drawn):
    v, used, missed = np.zeros(2), [], []
    for i, (x, y) in enumerate(zip(note_002.ROWS, note_002.LABELS, strict=True), 1):
        used.append(len(missed))
        if y * (v @ x) <= 0:
            v, missed = v + y * x, [*missed, i]
    assert missed == [1, 4, 8, 10]
    table = note_002.play()
    assert table.used.tolist() == used == [0, 1, 1, 1, 2, 2, 2, 2, 3, 3]
    assert table.survival.tolist() == [1, 3, 4, 2, 0]
    np.testing.assert_array_equal(table.guesses[-1], v)
    (ax,), figure = drawn["guess_table"]
    marks = [text.get_text() for text in ax.texts if text.get_text() in "✓✗"]
    assert "".join(marks) == "✗✓✓✗✓✓✓✗✓✗"
    assert "k/m = 4/10" in texts(figure)
    assert "reconstruction" in words("guess_table")


def test_rows_of_the_table_differ_and_none_is_0():
    assert cdist(note_002.ROWS, [[0, 0]]).min() > 0
    assert len(np.unique(note_002.ROWS, axis=0)) == 10


def test_the_page_has_every_figure_under_its_note(report, html):
    for name, entry in FIGURES.items():
        assert f"linsep.plots.notes.{name}()" in html
        assert f'aria-label="{entry.title}. {entry.caption}"' in html
    assert [section.heading.split(":")[0] for section in report.sections[:-1]] == [f"Note {note}" for note in NOTES]
    assert "<script" not in html
    assert len(html) < 2_000_000


@pytest.mark.slow
def test_matplotlib_waits_until_it_is_needed():
    code = """if True:
        import sys, linsep.plots.notes, linsep.plots.notes.catalogue
        assert "chord" in dir(linsep.plots.notes)
        assert not {"matplotlib", "numba", "numpy"} & set(sys.modules)
        from linsep.plots.notes import chord
        assert "matplotlib" in sys.modules and callable(chord)
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_error_says_what_to_install():
    code = "import sys; sys.modules['matplotlib'] = None; import linsep.plots.notes; linsep.plots.notes.chord"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'linsep[plot]'" in result.stderr
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = notes.nothing
