"""Shards against the plain reference: the same mistakes, the same weights, the same mixes."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings

from linsep.training.mixing import MIXINGS
from tests import mixing_references as mix
from tests.contracts.table import is_weighted
from tests.contracts.test_references import AVERAGED, MISTAKE_DRIVEN, TABLE, answer, build, reference
from tests.docs.pages import established
from tests.exact import fractions
from tests.fits import close, fit, logged, weights
from tests.mixing_references import orders
from tests.problems import KINDS, float_rows, integer_rows

NAMES = np.array(["ant", "bee", "cat"])
few = settings(max_examples=4)
kinds = st.sampled_from(list(KINDS))
seeds = st.integers(0, 1000)
betas = st.sampled_from([0.0, 1.0, 0.5])
shuffles = st.sampled_from([True, False, "once", "blocks"])
counts = st.integers(2, 20)
mixings = st.sampled_from(MIXINGS)
SHARDED = [name for name in TABLE if not build(name, 0.0)._no_mixing]
MIXED = {entry.learner for entry in established().values() if entry.online and not entry.no_mixing}


def same_mixes(learner, *runs):
    """What the learner tells of its shards is what the reference has found."""
    told = learner.mixes_
    for k, run in enumerate(runs):
        mistakes, mu = (a if len(runs) == 1 else a[:, k] for a in (told.mistakes, told.weights))
        found = list(zip(told.epochs, told.shards, told.rows, mistakes, strict=True))
        assert found == [line[:4] for line in run.mixes]
        assert mu.tolist() == list(map(float, run.shares()))


def test_every_learner_that_mixes_has_a_reference():
    assert {TABLE[name][0] for name in SHARDED} == MIXED
    assert set(TABLE) - set(SHARDED) == {"aggressive-ROMMA"}


@pytest.mark.parametrize("name", SHARDED)
@few
@given(problem=float_rows(), kind=kinds, seed=seeds, beta=betas, shuffle=shuffles, shards=counts, mixing=mixings)
def test_floats(name, problem, kind, seed, beta, shuffle, shards, mixing):
    X, y = problem
    how = {"random_state": seed, "shuffle": shuffle, "shards": shards, "mixing": mixing}
    learner = fit(build(name, beta, **how), KINDS[kind](X), y)
    run = mix.mixed(reference(name, len(X)), X, y, orders(learner, len(X)), shards, mixing, beta)
    if name in MISTAKE_DRIVEN:
        early = [found for found in logged(learner) if found[0] < run.tie]
        assert early == [found for found in run.updates if found[0] < run.tie]
    assume(run.tie == np.inf)
    assert learner.t_ == len(X) * learner.n_iter_
    assert learner.mistakes_ == len(run.mistakes)
    same_mixes(learner, run)
    close(weights(learner), answer(name, run))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["perceptron", "averaged"])
@few
@given(
    problem=integer_rows(),
    seed=seeds,
    beta=st.sampled_from([0.0, 1.0]),
    shuffle=shuffles,
    shards=st.sampled_from([2, 4, 8]),
    mixing=st.sampled_from(["uniform", "rows"]),
    scale=st.sampled_from([1.0, 2.0**300, 2.0**-300]),
)
def test_integers_to_the_last_bit(name, kind, problem, seed, beta, shuffle, shards, mixing, scale):
    """A quarter of an integer has all its bits; so have a few more of them, at any power of two."""
    X, y = problem
    X, y = np.resize(X, (8, X.shape[1])), np.append(np.resize(y, 7), -y[0])  # all shards of one length
    how = {"random_state": seed, "shuffle": shuffle, "shards": shards, "mixing": mixing}
    learner = fit(build(name, beta * scale, **how), KINDS[kind](X * scale), y)
    run = mix.mixed(ref_perceptron(), fractions(X), y, orders(learner, 8), shards, mixing, int(beta))
    assert logged(learner) == run.mistakes
    same_mixes(learner, run)
    if name == "perceptron":
        assert np.array_equal(weights(learner), scale * run.w.astype(float))
    else:
        mean = sum(run.before) / len(run.before)
        assert np.array_equal(weights(learner), scale * mean.astype(float))


def ref_perceptron():
    return reference("perceptron", 0)


@pytest.mark.parametrize("mixing", MIXINGS)
@few
@given(problem=integer_rows(), seed=seeds, shards=counts)
def test_any_shares_of_integers(mixing, problem, seed, shards):
    """Ties are common here. Thirds are rounded, so that a tie after a mix may go either way: up to there, all agree."""
    X, y = problem
    learner = fit(build("perceptron", 1.0, random_state=seed, shards=shards, mixing=mixing), X, y)
    run = mix.mixed(ref_perceptron(), fractions(X), y, orders(learner, len(X)), shards, mixing, 1)
    clear = min([t for t, told in enumerate(run.before, 1) if unclear(told, run, t)], default=np.inf)
    assert [found for found in logged(learner) if found[0] < clear] == [f for f in run.mistakes if f[0] < clear]
    if clear == np.inf:
        same_mixes(learner, run)
        close(weights(learner), run.w.astype(float))


def unclear(w, run, t):
    """Whether a round's weights are not floats, and the exact run calls it a tie or nearly one."""
    return run.tie <= t and any(float(v) != v for v in w)


@pytest.mark.parametrize("name", SHARDED)
@few
@given(problem=float_rows(classes=3), seed=seeds, beta=st.sampled_from([0.0, 0.5]), shards=counts, mixing=mixings)
def test_one_vs_rest(name, problem, seed, beta, shards, mixing):
    """Each class is a machine of its own; by mistakes, also in the mix."""
    X, codes = problem
    learner = fit(
        build(name, beta, random_state=seed, shards=shards, mixing=mixing, multi_class="ovr"), X, NAMES[codes]
    )
    runs = mix.one_vs_rest(reference(name, len(X)), X, codes, orders(learner, len(X)), shards, mixing, beta)
    assume(all(run.tie == np.inf for run in runs))
    assert learner.mistakes_.tolist() == [len(run.mistakes) for run in runs]
    same_mixes(learner, *runs)
    for w, run in zip(weights(learner), runs, strict=True):
        close(w, answer(name, run))


@pytest.mark.parametrize("name", SHARDED)
@few
@given(problem=float_rows(classes=3), seed=seeds, beta=st.sampled_from([0.0, 0.5]), shards=counts, mixing=mixings)
def test_pairs(name, problem, seed, beta, shards, mixing):
    X, codes = problem
    how = {"random_state": seed, "multi_class": "joint", "shards": shards, "mixing": mixing}
    learner = fit(build(name, beta, **how), X, NAMES[codes])
    run = mix.mixed(reference(name, len(X)), X, codes, orders(learner, len(X)), shards, mixing, beta, pair=True)
    assume(run.tie == np.inf)
    assert learner.mistakes_ == len(run.mistakes)
    same_mixes(learner, run)
    close(weights(learner), answer(name, run))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["ovr", "joint"])
@few
@given(problem=integer_rows(classes=3), seed=seeds, shards=st.sampled_from([2, 4]), shuffle=shuffles)
def test_classes_of_integers_to_the_last_bit(form, kind, problem, seed, shards, shuffle):
    """The log too: its rows, rounds and classes, in the order of the shards."""
    X, codes = problem
    how = {"random_state": seed, "multi_class": form, "shards": shards, "shuffle": shuffle}
    learner = fit(build("perceptron", 1.0, **how), KINDS[kind](X), NAMES[codes])
    assume(len(X) >= shards)
    rounds = orders(learner, len(X))
    log, exact = learner.log_, fractions(X)
    if form == "joint":
        run = mix.mixed(ref_perceptron(), exact, codes, rounds, shards, beta=1, pair=True)
        found = np.column_stack([log.rounds, log.rows, log.classes.reshape(-1, 2)])
        assert list(map(tuple, found.tolist())) == run.updates
        runs = [run]
    else:
        runs = mix.one_vs_rest(ref_perceptron(), exact, codes, rounds, shards, beta=1)
        told = list(zip(log.rounds.tolist(), log.classes.tolist(), log.rows.tolist(), strict=True))
        assert told == sorted((t, k, i) for k, run in enumerate(runs) for t, i in run.updates)
    same_mixes(learner, *runs)
    expected = runs[0].w if form == "joint" else np.array([run.w for run in runs])
    assert np.array_equal(weights(learner), expected.astype(float))


@pytest.mark.parametrize("name", SHARDED)
@few
@given(
    problem=float_rows(),
    kind=kinds,
    seed=seeds,
    shards=counts,
    mixing=mixings,
    draws=st.lists(st.integers(0, 4), min_size=16, max_size=16),
    factor=st.sampled_from([1.0, 0.5]),
)
def test_sample_and_class_weights(name, problem, kind, seed, shards, mixing, draws, factor):
    """A weight multiplies steps and counts in the average; one of 0 is no round, though shards are cut by it."""
    X, y = problem
    c = np.array(draws[: len(X)]) / 2
    if not is_weighted(build(name, 1.0)):
        c, factor = np.sign(c), 1.0
    assume(len(np.unique(y[c > 0])) == 2)
    how = {"random_state": seed, "shards": shards, "mixing": mixing, "class_weight": {1: factor}}
    learner = fit(build(name, 1.0, **how), KINDS[kind](X), y, sample_weight=c)
    both = np.where(y == 1, factor * c, c)
    n = np.count_nonzero(c)
    run = mix.mixed(reference(name, n), X, y, orders(learner, len(X)), shards, mixing, 1.0, both)
    assume(run.tie == np.inf)
    assert learner.t_ == n * learner.n_iter_
    assert learner.mistakes_ == len(run.mistakes)
    same_mixes(learner, run)
    close(weights(learner), answer(name, run))


def test_a_shard_of_rows_that_count_nothing_stays_where_it_began():
    """Uniformly, it holds the others back; by rows and by mistakes it has no say."""
    X, y, c = np.eye(4)[[0, 1, 2, 3, 0]], np.array([1, 1, -1, -1, 1]), np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    told = {}
    for mixing in MIXINGS:
        learner = build("perceptron", max_iter=1, shuffle=False, shards=2, mixing=mixing)
        fit(learner, X, y, sample_weight=c)
        assert learner.mixes_.rows.tolist() == [0, 3]
        told[mixing] = learner.coef_.tolist()[0]
    assert told == {"uniform": [0.5, 0, -0.5, -0.5], "rows": [1, 0, -1, -1], "mistakes": [1, 0, -1, -1]}


@pytest.mark.parametrize("name", sorted(AVERAGED))
@pytest.mark.parametrize("mixing", MIXINGS)
def test_the_average_is_over_all_rounds_of_all_shards(name, mixing):
    """The plain mean of the weights before each round, whatever the shares; and neither the last nor a serial one."""
    rng = np.random.default_rng(4)
    X, y, c = rng.normal(size=(50, 4)), rng.choice([-1, 1], 50), rng.choice([0.0, 1.0, 2.5], 50)
    c = c if is_weighted(build(name, 0.5)) else np.sign(c)
    for sample in (None, c):
        learner = fit(build(name, 0.5, random_state=1, shards=6, mixing=mixing), X, y, sample_weight=sample)
        n = 50 if sample is None else np.count_nonzero(c)
        run = mix.mixed(reference(name, n), X, y, orders(learner, 50), 6, mixing, 0.5, sample)
        assert len(run.before) == learner.t_
        counted = np.ones(n * learner.n_iter_) if sample is None else np.array(run.counts)
        mean = np.einsum("t,tj->j", counted, np.array(run.before)) / counted.sum()
        close(weights(learner), mean)
        serial = fit(build(name, 0.5, random_state=1), X, y, sample_weight=sample)
        for other in (run.w, weights(serial)):
            assert np.max(np.abs(weights(learner) - other)) > 1e-3 * np.max(np.abs(mean))


def test_winnow_mixes_by_geometric_means():
    """Of weights e^(eta s), a mean of the s is the product of powers mu, normalised: not the mean of the weights."""
    rng = np.random.default_rng(2)
    X, y = rng.choice([0.0, 1.0], (24, 5)), np.append(rng.choice([-1, 1], 22), [1, -1])
    how = {"fit_intercept": False, "shuffle": False, "max_iter": 1}
    parts = [fit(build("winnow", **how), X[k : k + 8], y[k : k + 8]) for k in (0, 8, 16)]
    learner = fit(build("winnow", shards=3, mixing="mistakes", **how), X, y)
    mu = learner.mixes_.weights
    assert learner.mixes_.mistakes.tolist() == [part.mistakes_ for part in parts]
    product = np.prod([part.coef_[0] ** m for part, m in zip(parts, mu, strict=True)], axis=0)
    close(learner.coef_[0], product / product.sum())
    assert np.abs(learner.coef_[0] - sum(m * part.coef_[0] for part, m in zip(parts, mu, strict=True))).max() > 1e-3
