"""Every learner against its plain reference: the same mistakes, the same weights."""

import itertools
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from scipy.sparse import csr_array

from linsep import (
    ROMMA,
    AveragedPerceptron,
    BalancedWinnow,
    LogisticRegression,
    PassiveAggressive,
    Pegasos,
    Perceptron,
    PNormPerceptron,
    Winnow,
)
from tests import references as ref
from tests.contracts.table import is_weighted, named
from tests.exact import exact_winnow, fractions
from tests.fits import close, fit, learner_order, logged, weights
from tests.problems import KINDS, epochs, float_rows, integer_rows, scattered_rows

# Name: estimator, its own parameters, its reference (given the number of rows, which share a prior).
TABLE = {
    "perceptron": (Perceptron, {}, lambda n: ref.perceptron),
    "averaged": (AveragedPerceptron, {}, lambda n: ref.perceptron),
    "winnow": (Winnow, {"eta": 0.3, "x_max": None}, lambda n: ref.winnow_inside(0.3)),
    "balanced-winnow": (BalancedWinnow, {"eta": 0.3, "x_max": None}, lambda n: ref.balanced(0.3)),
    "p-norm": (PNormPerceptron, {"p": 3.5}, lambda n: ref.p_norm(3.5)),
    "PA": (PassiveAggressive, {"variant": "PA"}, lambda n: ref.passive_aggressive()),
    "PA-I": (PassiveAggressive, {"variant": "PA-I", "C": 0.2}, lambda n: ref.passive_aggressive(0.2)),
    "PA-II": (PassiveAggressive, {"variant": "PA-II", "C": 0.2}, lambda n: ref.passive_aggressive(0.2, True)),
    "PA-I-averaged": (PassiveAggressive, {"readout": "average"}, lambda n: ref.passive_aggressive(1.0)),
    "ROMMA": (ROMMA, {}, lambda n: ref.romma()),
    "ROMMA-averaged": (ROMMA, {"readout": "average"}, lambda n: ref.romma()),
    "aggressive-ROMMA": (ROMMA, {"aggressive": True}, lambda n: ref.romma(aggressive=True)),
    "logistic": (LogisticRegression, {"solver": "sgd", "power_t": 0.5}, lambda n: ref.logistic(0.1, 0.5)),
    "MAP": (LogisticRegression, {"solver": "sgd", "prior_variance": 0.7}, lambda n: ref.logistic(0.1, 0.0, n, 0.7)),
    "MAP-averaged": (
        LogisticRegression,
        {"solver": "sgd", "prior_variance": 0.7, "readout": "average"},
        lambda n: ref.logistic(0.1, 0.0, n, 0.7),
    ),
    "Pegasos": (Pegasos, {"alpha": 0.1, "readout": "last"}, lambda n: ref.pegasos(0.1)),
    "Pegasos-averaged": (Pegasos, {"alpha": 0.1, "readout": "average"}, lambda n: ref.pegasos(0.1)),
}
AVERAGED = {"averaged", "PA-I-averaged", "ROMMA-averaged", "MAP-averaged", "Pegasos-averaged"}
# Each of their updates is a mistake, so that the log is the list of mistakes and a clean epoch ends the run.
MISTAKE_DRIVEN = ("perceptron", "averaged", "winnow", "balanced-winnow", "p-norm", "ROMMA", "ROMMA-averaged")

few = settings(max_examples=20)
seeds = st.integers(0, 1000)
betas = st.sampled_from([0.0, 1.0, 0.5])


def build(name, beta=0.0, **more):
    estimator, own, _ = TABLE[name]
    shared = {"max_iter": 3, "log": True, "fit_intercept": beta != 0, "intercept_scaling": beta or 1.0}
    return estimator(**{**own, **shared, **more})


def reference(name, n):
    return TABLE[name][2](n)


def answer(name, run):
    return run.average() if name in AVERAGED else run.w


def compare(name, learner, run, tolerance=1e-12):
    """The same mistakes up to the first round that floats can't decide; without one, the same weights."""
    if name in MISTAKE_DRIVEN:
        early = [found for found in logged(learner) if found[0] < run.tie]
        assert early == [found for found in run.updates if found[0] < run.tie]
    if run.tie == np.inf:
        assert learner.mistakes_ == len(run.mistakes)
        close(weights(learner), answer(name, run), tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TABLE)
@few
@given(problem=float_rows(), seed=seeds, beta=betas)
def test_floats(name, kind, problem, seed, beta):
    X, y = problem
    learner = fit(build(name, beta, random_state=seed), KINDS[kind](X), y)
    assert learner.t_ == len(X) * learner.n_iter_
    run = ref.online(reference(name, len(X)), X, y, epochs(seed, len(X), learner.n_iter_), beta)
    compare(name, learner, run)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["perceptron", "averaged"])
@few
@given(
    problem=integer_rows(),
    seed=seeds,
    beta=st.sampled_from([0.0, 1.0]),
    scale=st.sampled_from([1.0, 2.0**300, 2.0**-300]),
)
def test_integers_to_the_last_bit(name, kind, problem, seed, beta, scale):
    """Sums of integers are exact in any order, and so are they at any power of two."""
    X, y = problem
    learner = fit(build(name, beta * scale, random_state=seed), KINDS[kind](X * scale), y)
    run = ref.online(ref.perceptron, X, y, epochs(seed, len(X), learner.n_iter_), beta)
    assert logged(learner) == run.mistakes
    assert learner.mistakes_ == learner.updates_ == len(run.mistakes)
    if name == "perceptron":
        assert np.array_equal(weights(learner), scale * run.w)
    else:
        # The mean is rounded; the sum it comes from is the integer next to m times it.
        assert np.array_equal(np.rint(weights(learner) / scale * learner.t_), sum(run.before))
        close(weights(learner) / scale, run.average(), 4e-16 * learner.t_)


@pytest.mark.parametrize("kind", KINDS)
@few
@given(problem=integer_rows(span=1, max_rows=6), seed=seeds)
def test_passive_aggressive_is_exact_where_floats_are(kind, problem, seed):
    """Rows of one, two or four entries +-1 divide by 1, 2 or 4 only: no step is rounded."""
    X, y = problem
    X = X[:, :4] * np.isin(np.abs(X[:, :4]).sum(axis=1, keepdims=True), [1, 2, 4])
    learner = fit(build("PA", random_state=seed), KINDS[kind](X), y)
    run = ref.online(ref.passive_aggressive(), fractions(X), y, epochs(seed, len(X), learner.n_iter_))
    assert learner.mistakes_ == len(run.mistakes)
    assert logged(learner) == run.updates
    assert list(map(Fraction, weights(learner))) == list(run.w)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["balanced-winnow", "p-norm", "PA", "PA-I", "PA-II"])
@few
@given(problem=scattered_rows() | integer_rows(), seed=seeds, beta=betas)
def test_integers(name, kind, problem, seed, beta):
    X, y = problem
    learner = fit(build(name, beta, random_state=seed), KINDS[kind](X), y)
    run = ref.online(reference(name, len(X)), X, y, epochs(seed, len(X), learner.n_iter_), beta)
    compare(name, learner, run)


@pytest.mark.parametrize("kind", KINDS)
@few
@given(problem=scattered_rows() | integer_rows(), seed=seeds, beta=st.sampled_from([0.0, 1.0, 2.0]))
def test_integers_for_winnow(kind, problem, seed, beta):
    """Winnow's state is a sum of integers, and its signs are compared with as many digits as they need."""
    X, y = problem
    learner = fit(build("winnow", beta, random_state=seed), KINDS[kind](X), y)
    run = exact_winnow(0.3, ref.two_biases(X, beta), y, epochs(seed, len(X), learner.n_iter_))
    assert [found for found in logged(learner) if found[0] < run.tie] == [
        found for found in run.mistakes if found[0] < run.tie
    ]
    if run.tie == np.inf:
        close(weights(learner), ref.fold_two(ref.softmax(0.3 * run.w), X.shape[1]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["ROMMA", "aggressive-ROMMA"])
@few
@given(problem=integer_rows(max_rows=6), seed=seeds, beta=st.sampled_from([0.0, 1.0]))
def test_integers_for_romma(name, kind, problem, seed, beta):
    """Also where a row lies on the line of w: there den is 0, rounding must not divide by it."""
    X, y = problem
    learner = fit(build(name, beta, random_state=seed, max_iter=2), KINDS[kind](X), y)
    run = ref.online(reference(name, len(X)), fractions(X), y, epochs(seed, len(X), learner.n_iter_), Fraction(beta))
    assume(run.tie == np.inf)
    assert learner.mistakes_ == len(run.mistakes)
    close(weights(learner), run.w.astype(float))


# Under X -> aX: the parameters that go with it, and the power of a that the weights are multiplied with.
SCALED = {
    "perceptron": (lambda a: {}, 1),
    "averaged": (lambda a: {}, 1),
    "winnow": (lambda a: {"eta": 0.3 / a}, 0),
    "balanced-winnow": (lambda a: {"eta": 0.3 / a}, 0),
    "PA": (lambda a: {}, -1),
    "PA-I": (lambda a: {"C": 0.2 / a**2}, -1),
    "PA-II": (lambda a: {"C": 0.2 / a**2}, -1),
    "ROMMA": (lambda a: {}, -1),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SCALED)
@few
@given(problem=float_rows(), beta=betas, a=st.sampled_from([2.0**-60, 0.5, 2.0**60]))
def test_a_power_of_two_changes_no_mistake(name, kind, problem, beta, a):
    """Nothing is rounded differently when every entry is multiplied with a power of two: not a bit changes."""
    X, y = problem
    also, power = SCALED[name]
    plain = fit(build(name, beta, random_state=0), KINDS[kind](X), y)
    other = fit(build(name, beta * a, random_state=0, **also(a)), KINDS[kind](X * a), y)
    assert logged(other) == logged(plain)
    assert np.array_equal(weights(other), weights(plain) * a**power)


HOSTILE = {
    "zero rows": ([[0, 0], [1, 2], [0, 0], [-2, 1]], [1, 1, -1, -1]),
    "contradiction": ([[2, 0], [2, 0], [0, 4], [0, 4]], [1, -1, -1, 1]),
    "huge": ([[1e140, 2e140], [3e140, -1e140], [1e139, 1e140]], [1, -1, -1]),
    "tiny": ([[1e-140, 2e-140], [3e-140, -1e-140], [1e-141, 1e-140]], [1, -1, -1]),
    "huge beside tiny": ([[1e100, 1e-100], [-1e-100, 1e100], [1.0, 1.0]], [1, -1, 1]),
    "one feature": ([[4.0], [-2.0], [1.0], [8.0]], [1, -1, -1, 1]),
    "one row a class": ([[1.0, 0.5, 0.25], [-1.0, 0.5, 2.0]], [1, -1]),
    "all the same": ([[1.0, -1.0]] * 4, [1, -1, 1, -1]),
}


VARIANTS = ("PA", "PA-II", "PA-I-averaged", "ROMMA-averaged", "aggressive-ROMMA", "MAP-averaged", "Pegasos-averaged")
"""What no other contract compiles: each is compiled for one kind of rows, as its step is the same in both."""


def hostile_rows(name, kind):
    for case, (rows, y) in HOSTILE.items():
        with named(case):
            X, y = np.array(rows, float), np.array(y)
            learner = fit(build(name, shuffle=False), KINDS[kind](X), y)
            assert np.isfinite(weights(learner)).all()
            with np.errstate(over="ignore", under="ignore"):
                run = ref.online(reference(name, len(X)), X, y, learner_order(learner, len(X)))
            compare(name, learner, run)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TABLE)
def test_hostile_rows(name, kind):
    hostile_rows(name, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in TABLE if name not in VARIANTS])
def test_hostile_rows_compiled(name, kind):
    hostile_rows(name, kind)


@pytest.mark.parametrize(("name", "kind"), [*zip(VARIANTS, itertools.cycle(KINDS), strict=False)])
def test_hostile_rows_of_variants_compiled(name, kind):
    hostile_rows(name, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TABLE)
@few
@given(problem=float_rows(), seed=seeds, beta=betas, draws=st.lists(st.integers(0, 4), min_size=16, max_size=16))
def test_sample_weights(name, kind, problem, seed, beta, draws):
    """A weight multiplies the amount and counts in the average; 0 is as good as absent."""
    X, y = problem
    learner = build(name, beta, random_state=seed)
    c = np.array(draws[: len(X)]) / 2
    c = c if is_weighted(learner) else np.sign(c)
    assume(len(np.unique(y[c > 0])) == 2)
    fit(learner, KINDS[kind](X), y, sample_weight=c)
    n = np.count_nonzero(c)
    run = ref.online(reference(name, n), X, y, epochs(seed, len(X), learner.n_iter_), beta, c)
    compare(name, learner, run)


@pytest.mark.parametrize("name", MISTAKE_DRIVEN)
@few
@given(problem=float_rows(), seed=seeds)
def test_a_clean_epoch_ends_training(name, problem, seed):
    X, y = problem
    run = ref.online(reference(name, len(X)), X, y, epochs(seed, len(X), 6), 1.0)
    assume(run.tie == np.inf)
    busy = {(t - 1) // len(X) for t, _ in run.updates}
    learner = fit(build(name, 1.0, max_iter=6, random_state=seed), X, y)
    assert learner.n_iter_ == next((e + 1 for e in range(6) if e not in busy), 6)


@pytest.mark.usefixtures("types_as_they_are")
@pytest.mark.parametrize("kind", ["dense", "csr", "csr, int64 indices"])
@given(problem=float_rows(), seed=seeds)
@settings(few, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_single_precision_and_long_indices(kind, problem, seed):
    """Rows of float32 are the numbers they are; the weights are float64 all the same."""
    X, y = problem[0].astype(np.float32), problem[1]
    rows = X if kind == "dense" else csr_array(X)
    if kind == "csr, int64 indices":
        rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    learner = fit(build("perceptron", 1.0, random_state=seed), rows, y)
    run = ref.online(ref.perceptron, X.astype(float), y, epochs(seed, len(X), learner.n_iter_), 1.0)
    compare("perceptron", learner, run)
