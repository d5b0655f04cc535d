"""The bias feature's value that the first row chooses."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from linsep import LEARNERS, KernelPerceptron, LogisticRegression, Perceptron, Winnow, load, save, verify
from linsep.estimators.base.bias import typical_size
from linsep.models.merge import merge
from tests.contracts.table import bits, build, problem, quiet

ROW_BY_ROW = [name for name, entry in LEARNERS.items() if entry.online and name != "kernel-perceptron"]
X, y = problem(2, reals=True)
X /= np.abs(X).max()


def plain_size(row):
    """The least of the largest sizes whose sum is half of the total or more."""
    sizes = sorted((abs(v) for v in row if v), reverse=True)
    return next(size for k, size in enumerate(sizes) if sum(sizes[: k + 1]) >= sum(sizes) / 2)


@pytest.mark.parametrize("seed", range(20))
def test_the_size_is_the_plain_one(seed):
    rng = np.random.default_rng(seed)
    row = rng.integers(-9, 10, rng.integers(1, 30)) * 1.0
    row[0] = row[0] or 1.0
    assert typical_size(row) == plain_size(row) == typical_size(row[rng.permutation(len(row))])
    for factor in (0.25, 3.0, -1.0):
        assert typical_size(factor * row) == abs(factor) * typical_size(row)


def test_a_row_without_finite_entries_has_no_size():
    assert typical_size(np.zeros(3)) is None
    assert typical_size(np.array([np.nan, np.inf])) is None
    assert typical_size(np.full(4, 1.7e308)) == 1.7e308


@pytest.mark.parametrize("name", ROW_BY_ROW)
def test_one_value_for_all_ways_to_train(name):
    """Dense, sparse, in chunks, row by row, saved and resumed: the first row decides, and its bits are the value."""
    beta = plain_size(X[0])
    whole = quiet(build(name, max_iter=1).fit, X, y)
    assert whole.intercept_scaling_ == beta
    assert bits(quiet(build(name, max_iter=1, intercept_scaling=beta).fit, X, y).coef_) == bits(whole.coef_)
    chunks, rows = build(name), build(name).grow(X.shape[1])
    for part in np.split(np.arange(len(y)), [1, 7, 20]):
        chunks.partial_fit(csr_array(X[part]), y[part], classes=[0, 1])
    for x, label in zip(X, y, strict=True):
        rows.learn_one(x, label)
    assert chunks.intercept_scaling_ == rows.intercept_scaling_ == beta
    assert bits(chunks.coef_) == bits(quiet(build(name, max_iter=1).fit, csr_array(X), y).coef_)
    np.testing.assert_allclose(rows.coef_, whole.coef_, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["perceptron", "averaged-perceptron", "romma"])
def test_a_power_of_two_changes_no_mistake(name):
    one, other = (quiet(build(name).fit, X * size, y) for size in (1.0, 2.0**-20))
    assert one.intercept_scaling_ == other.intercept_scaling_ * 2.0**20
    assert one.log_.rows.tolist() == other.log_.rows.tolist()


def test_rows_of_weight_0_and_zeros():
    weights = np.append(0.0, np.ones(len(y) - 1))
    assert Perceptron().partial_fit(X, y, sample_weight=weights).intercept_scaling_ == plain_size(X[1])
    assert Perceptron(class_weight={int(y[0]): 0.0}).partial_fit(X, y).intercept_scaling_ == plain_size(
        X[np.flatnonzero(y != y[0])[0]]
    )
    zeros = np.vstack([np.zeros(X.shape[1]), X])
    assert Perceptron().partial_fit(zeros, np.append(0, y)).intercept_scaling_ == 1.0
    assert Winnow(x_max=0.1).partial_fit(zeros / 10, np.append(0, y)).intercept_scaling_ == 0.1
    repeated = csr_array((np.array([1.0, 2.0, 1.0]), [1, 1, 0], [0, 3]), shape=(1, 2))
    assert Perceptron().partial_fit(repeated, [0]).intercept_scaling_ == 3.0


def test_learners_that_no_first_row_speaks_for():
    assert quiet(KernelPerceptron(fit_intercept=True).fit, X, y).intercept_scaling_ == 1.0
    assert LogisticRegression().fit(X, y).intercept_scaling_ == 1.0
    assert quiet(Perceptron(fit_intercept=False).fit, X, y).intercept_scaling_ == 0.0


def test_a_model_file_keeps_the_value(tmp_path):
    clf = quiet(Perceptron(random_state=0).fit, X, y)
    save(clf, tmp_path / "m.linsep")
    again = load(tmp_path / "m.linsep")
    assert again.get_params()["intercept_scaling"] == "auto"
    resumed = again.partial_fit(X[::-1], y[::-1])
    assert resumed.intercept_scaling_ == clf.intercept_scaling_ == plain_size(X[0])
    assert bits(resumed.coef_) == bits(clf.partial_fit(X[::-1], y[::-1]).coef_)
    with pytest.raises(ValueError, match="can't resume with the bias feature 7"):
        clf.set_params(intercept_scaling=7.0).partial_fit(X, y)


def test_the_certificate_is_about_the_value():
    clf = quiet(Perceptron(random_state=0, log=True).fit, X, y)
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    assert cert.keys[0].bias == plain_size(X[0])
    assert cert.claims["run: mistakes"] == clf.mistakes_


@pytest.mark.parametrize("name", ["perceptron", "averaged-perceptron", "pegasos"])
def test_merged_models_have_the_mean_intercept(name):
    models = [quiet(build(name).fit, X[part], y[part]) for part in np.split(np.arange(40), 2)]
    assert models[0].intercept_scaling_ != models[1].intercept_scaling_
    both = merge(models)
    assert both.intercept_scaling_ == models[0].intercept_scaling_
    np.testing.assert_allclose(both.intercept_, np.mean([clf.intercept_ for clf in models], axis=0), rtol=1e-12)
    np.testing.assert_allclose(both.coef_, np.mean([clf.coef_ for clf in models], axis=0), rtol=1e-12)
    with pytest.raises(ValueError, match="a bias feature of"):
        merge([quiet(build("winnow").fit, abs(X[part]), y[part]) for part in np.split(np.arange(40), 2)])
