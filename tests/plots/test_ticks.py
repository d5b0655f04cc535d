"""Ticks: round numbers whose labels never touch, whatever the size of the numbers and of the figure."""

import itertools

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from linsep import plots
from linsep.plots import ticks
from tests.plots.drawing import place


class Scores(ClassifierMixin, BaseEstimator):
    """A classifier with given scores."""

    classes_ = np.array([0, 1])

    def __init__(self, scores=None):
        self.scores = scores

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def decision_function(self, X):
        return self.scores


def labels(axis):
    """Return the texts of an axis' ticks, and where each begins and ends in pixels, once the figure is drawn."""
    shown = [tick.label1 for tick in axis._update_ticks() if tick.label1.get_text()]
    boxes = [label.get_window_extent() for label in shown]
    upright = axis.axis_name == "y"
    spans = sorted((box.intervaly if upright else box.intervalx).tolist() for box in boxes)
    return [label.get_text() for label in shown], spans


def check(ax):
    ax.figure.draw_without_rendering()
    for axis in (ax.xaxis, ax.yaxis):
        texts, spans = labels(axis)
        assert len(texts) >= 2
        assert len(set(texts)) == len(texts)
        gap = 3 if axis.axis_name == "x" else 0
        assert all(one[1] + gap <= other[0] for one, other in itertools.pairwise(spans)), texts
        assert max(map(len, texts)) <= 12


@pytest.mark.slow
@pytest.mark.parametrize("width", [4.6, 5.2, 7.2])
@pytest.mark.parametrize(("scale", "shift"), [(1e-9, 0), (4e-4, 0), (1, 1e4), (3e5, 0), (2e6, 40), (1e12, 0)])
def test_labels_of_margins_do_not_touch(scale, shift, width):
    scores = scale * (np.random.default_rng(0).normal(1, 1.5, 300) + shift)
    check(plots.margins(Scores(scores), np.zeros((300, 1)), np.ones(300, int), ax=place(width, 3.6)))


@pytest.mark.slow
@pytest.mark.parametrize("width", [4.6, 5.2, 8.4])
@pytest.mark.parametrize("scale", [1e-9, 1, 4e7])
@pytest.mark.parametrize("bound", [9, 3e5, 1e9, 1e40])
def test_labels_of_lemmas_do_not_touch(scale, bound, width):
    k, margin = np.arange(9), scale / np.sqrt(bound)
    check(plots.squeeze(1.2 * margin * k, 0.8 * scale**2 * k, radius=scale, margin=margin, ax=place(width, 3.6)))


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [7, 4_000_000, 10**12])
@pytest.mark.parametrize("bound", [30, 3e9, 1e30])
def test_labels_of_bounds_do_not_touch(rounds, bound):
    check(plots.bounds([1, 3, 7], rounds, {"bound": bound}, ax=place(5.2, 3.6)))


@pytest.mark.slow
@pytest.mark.parametrize("rows", [(1, 2), (1, 50), (1, 10**6), (10**6, 3 * 10**6), (10**6, 1.1e6), (1, 10**15)])
def test_labels_of_logarithmic_axes_do_not_touch(rows):
    check(plots.progress(np.geomspace(*rows, 40), np.linspace(0.5, 0.1, 40), ax=place(5.2, 3.6)))


def test_numbers_have_exponents_where_they_are_long():
    write = ticks.Numbers().format_ticks
    assert write([0, 0.25, 0.5]) == ["0", "0.25", "0.5"]
    assert write([-200_000, 0, 200_000]) == ["−200,000", "0", "200,000"]
    assert write([1, 1e5, 1e10]) == ["1", "10⁵", "10¹⁰"]
    assert write([-4e-5, 0, 1.5e-4]) == ["−4·10⁻⁵", "0", "1.5·10⁻⁴"]
