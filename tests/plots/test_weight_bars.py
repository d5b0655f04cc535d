"""Weights by name: the strongest ones, and no name asked for in vain."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from linsep import LogisticRegression, Perceptron
from linsep.plots import weights
from linsep.plots.weight_bars import MOST_BARS, figure_size
from linsep.transforms import Scale
from tests.fits import fit
from tests.plots.drawing import place, svg, title, written

iris = load_iris()
rng = np.random.default_rng(0)


class Weighted(BaseEstimator):
    """A learner with the weights given."""

    def __init__(self, coef=None, classes=None):
        self.coef_, self.classes_ = coef, np.array([0, 1]) if classes is None else classes

    def fit(self):
        """Is what makes it an estimator."""


def bars(ax):
    names = [text.get_text() for text in ax.get_yticklabels()]
    return list(zip(names, [float(bar.get_width()) for bar in ax.patches], strict=True))


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_the_largest_weights_are_drawn_from_high_to_low(form):
    coef = rng.permutation(np.arange(-50.0, 51) + 0.25)
    chosen = sorted(range(101), key=lambda j: -abs(coef[j]))[:7]
    expected = [(f"feature {j}", coef[j]) for j in sorted(chosen, key=lambda j: -coef[j])]
    ax = weights(Weighted(form(coef[None])), top=7, ax=place())
    assert bars(ax) == expected
    assert title(ax) == "7 strongest of 101 weights"
    assert ax.get_xlabel() == "weight: ← for 0 | for 1 →"


def test_a_sparsified_learner_has_the_same_bars():
    clf = fit(Perceptron(max_iter=3, random_state=0), iris.data, iris.target)
    expected = bars(weights(clf, ax=place()))
    assert bars(weights(clf.sparsify(), ax=place())) == expected


def test_zeros_are_left_out():
    coef = np.zeros((1, 100))
    coef[0, 5] = -2.0
    assert bars(weights(Weighted(coef), names=np.arange(100), ax=place())) == [("5", -2.0)]
    assert "All weights are 0." in written(weights(Weighted(np.zeros((1, 9))), ax=place()))


def test_names_are_looked_up_one_by_one():
    class Lazy(Sequence):
        asked = 0

        def __len__(self):
            return 1 << 20

        def __getitem__(self, j):
            assert type(j) is int
            self.asked += 1
            return f"$word_{j}^$"

    names, coef = Lazy(), rng.normal(size=(1, 1 << 20))
    ax = weights(Weighted(coef), names=names, top=5, ax=place())
    assert names.asked == 5
    best = np.argmax(np.abs(coef))
    assert f"$word_{best}^$" in dict(bars(ax))
    assert "$word_" in svg(ax)


def test_names_come_from_the_learner_where_it_has_them():
    frame = pd.DataFrame(iris.data, columns=iris.feature_names)
    clf = fit(Perceptron(max_iter=2), frame, iris.target == 1)
    assert set(dict(bars(weights(clf, ax=place())))) == set(iris.feature_names)


def test_each_class_has_its_bars():
    clf = fit(LogisticRegression(max_iter=2, random_state=0), iris.data, iris.target_names[iris.target])
    ax = weights(clf, top=2, ax=place())
    expected = []
    for row in clf.coef_:
        two = sorted(np.argsort(-np.abs(row))[:2], key=lambda j: -row[j])
        expected += [(f"feature {j}", row[j]) for j in two]
    assert bars(ax) == expected
    assert [text.get_text() for text in ax.texts if text.get_weight() == "bold"] == clf.classes_.tolist()
    one = weights(clf, label="versicolor", top=2, ax=place())
    assert bars(one) == expected[2:4]
    assert one.get_xlabel() == "weight: above 0 for versicolor"


def test_many_classes_share_the_room():
    clf = Weighted(rng.normal(size=(25, 40)), np.arange(25))
    assert len(bars(weights(clf, ax=place()))) == 25 * (MOST_BARS // 25)
    assert figure_size(clf)[1] > figure_size(clf, label=3)[1]
    with pytest.raises(ValueError, match=r"61 classes are too many.*label="):
        weights(Weighted(rng.normal(size=(61, 4)), np.arange(61)))


def test_what_can_not_be_drawn_is_refused():
    clf = fit(Perceptron(max_iter=2), iris.data, iris.target)
    with pytest.raises(NotFittedError):
        weights(Perceptron())
    with pytest.raises(ValueError, match="2 names for 4 features"):
        weights(clf, names=["a", "b"])
    with pytest.raises(ValueError, match="top=0"):
        weights(clf, top=0)
    with pytest.raises(ValueError, match="label 9, which is not among"):
        weights(clf, label=9)
    with pytest.raises(ValueError, match="omit label"):
        weights(fit(Perceptron(max_iter=2), iris.data, iris.target == 1), label=True)
    with pytest.raises(TypeError, match="not a pipeline around it"):
        weights(fit(make_pipeline(Scale(), Perceptron(max_iter=2)), iris.data, iris.target))
