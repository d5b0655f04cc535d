"""Runs and questions large enough for several blocks in every direction: mistakes, rows that are kept, rows asked."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from linsep import KernelPerceptron, VotedPerceptron
from tests import voted_references as ref
from tests.estimators.readouts import agree, all_answers, naive, near_answers
from tests.fits import fit, learner_order


def noisy(classes, n=1400):
    """Labels of which every third is chance; a third of the entries are 0."""
    rng = np.random.default_rng(14)
    X = rng.integers(-2, 3, (n, 6)) * (rng.random((n, 6)) < 0.7)
    codes = np.argmax(X[:, :classes] + 0.1 * rng.random((n, classes)), axis=1)
    return X.astype(float), np.where(rng.random(n) < 0.33, rng.integers(0, classes, n), codes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "classes", "multi_class"),
    [(np.array, 2, "ovr"), (csr_array, 2, "ovr"), (csr_array, 3, "ovr"), (np.array, 3, "joint")],
    ids=["two, dense", "two, sparse", "three, sparse", "pairs, dense"],
)
def test_a_long_run_against_many_rows(form, classes, multi_class):
    X, codes = noisy(classes)
    learner = fit(
        VotedPerceptron(max_iter=2, random_state=0, intercept_scaling=1.0, multi_class=multi_class), form(X), codes
    )
    machines = naive(learner, X, codes)
    assert min(len(state.mistakes) for state in machines) > 900
    assert learner.n_support_ > 600
    agree(learner, machines, form(X), ref.with_bias(X, 1.0).T, normalized=1e-10)


def mapped(X):
    """Features whose products are (1 + x.y)²: a constant, all features twice, all products of two."""
    return np.hstack([np.ones((len(X), 1)), X, X, (X[:, :, None] * X[:, None, :]).reshape(len(X), -1)])


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "multi_class"), [(2, "ovr"), (3, "joint")])
def test_a_long_run_in_the_kernels_space(classes, multi_class):
    X, codes = noisy(classes)
    own = {"max_iter": 2, "random_state": 0, "multi_class": multi_class}
    learner = fit(KernelPerceptron(**own), X, codes)
    assert learner.n_support_ > 600
    agree(learner, naive(learner, mapped(X), codes), X, mapped(X).T, normalized=1e-10)
    stream = KernelPerceptron(**own)
    for part in np.array_split(learner_order(learner, len(X)), 3):
        stream.partial_fit(X[part], codes[part], classes=range(classes))
    near_answers(all_answers(stream, X), all_answers(learner, X))
