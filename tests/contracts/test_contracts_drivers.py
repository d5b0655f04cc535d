"""Contracts of the drivers: when a run stops, what it says then, which log it keeps."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from linsep import LEARNERS, AveragedPerceptron, LogisticRegression, Pegasos, Perceptron
from linsep.engine.step import settles
from linsep.training import epochs as drivers
from tests.contracts.table import ONLINE, OWN, bits, build, every_learner, problem, quiet, trace

SETTLED = [name for name in ONLINE if settles(type(LEARNERS[name].learner()._parts(2, 2).rule))]

CONTRADICTION = np.ones((2, 1)), [0, 1]


def rows_apart(classes):
    """Rows that Winnow can separate too: each class has a feature of its own, beside some that mean nothing."""
    rng = np.random.default_rng(0)
    y = np.arange(30) % classes
    X = np.hstack([np.eye(classes)[y], rng.integers(0, 2, (30, 4))])
    return X, y


@every_learner
def test_the_table_says_how_a_learner_goes_row_by_row(name):
    X, y = problem()
    entry = LEARNERS[name]
    assert quiet(entry.make_online(x_max=None, max_iter=1).fit, X, y).t_ == len(y)
    assert bool(entry.row_by_row) == entry.make()._sees_all_rows


@pytest.mark.parametrize("name", SETTLED)
def test_a_run_stops_after_an_epoch_without_an_update(name):
    X, y = rows_apart(2)
    learner = build(name, max_iter=200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.fit(X, y)
    assert learner.n_iter_ < 200
    last = learner.log_.rounds > (learner.n_iter_ - 1) * len(y)
    assert not last.any()
    assert (learner.log_.rounds > (learner.n_iter_ - 2) * len(y)).any()


@pytest.mark.parametrize("name", SETTLED)
def test_running_out_of_epochs_says_what_to_do(name):
    kind = LEARNERS[name].learner.__name__
    words = rf"{kind} still made mistakes after max_iter=1 epochs: raise max_iter .*no max_iter is enough: set tol"
    if name not in ("averaged-perceptron", "moving-average", "voted-perceptron"):
        words += ".*AveragedPerceptron"
    with pytest.warns(ConvergenceWarning, match=words) as caught:
        build(name, max_iter=1).fit(*CONTRADICTION)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("name", SETTLED)
def test_where_more_epochs_would_not_help_nothing_is_said(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(name, max_iter=4).fit(*CONTRADICTION)
        build(name, max_iter=10, random_state=1).fit(*problem(noise=1.0))


def test_mistakes_that_fall_are_warned_of():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 60))
    y = (X @ rng.normal(size=60) > 0).astype(int)
    learner = Perceptron(max_iter=5, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"after max_iter=5 epochs \(and ever fewer\): raise max_iter"):
        learner.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert learner.set_params(max_iter=500).fit(X, y).score(X, y) == 1


@pytest.mark.parametrize(("readout", "words"), [("last", 'choose readout="vote"'), ("vote", "stop earlier$")])
def test_a_voter_that_runs_out_of_epochs_is_told_of_better_readouts(readout, words):
    with pytest.warns(ConvergenceWarning, match=words):
        build("voted-perceptron", readout=readout, max_iter=1).fit(*CONTRADICTION)


@pytest.mark.parametrize("learner", [LogisticRegression(), Pegasos()])
def test_a_rule_that_never_settles_says_nothing(learner):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.fit(*CONTRADICTION)


@pytest.mark.parametrize("patience", [1, 2, 5])
def test_tol_stops_when_the_mistakes_no_longer_fall(patience):
    """The contradiction costs two mistakes in every epoch, so that only the first is an improvement."""
    learner = Perceptron(tol=0.0, n_iter_no_change=patience, max_iter=50, shuffle=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.fit(*CONTRADICTION)
    assert learner.n_iter_ == 1 + patience
    assert learner.mistakes_ == 2 * learner.n_iter_


@every_learner
@pytest.mark.parametrize("tol", [0.0, 0.1])
def test_tol_stops_at_the_first_epochs_without_progress(name, tol):
    """Replayed from the mistakes of runs of 1, 2, 3, ... epochs."""
    X, y = problem(noise=0.4)
    learner = quiet(build(name, tol=tol, n_iter_no_change=3, max_iter=40).fit, X, y)
    total = [0, *(quiet(build(name, max_iter=k).fit, X, y).mistakes_ for k in range(1, learner.n_iter_ + 1))]
    best, patience, stop = np.inf, 3, None
    for epoch, share in enumerate(np.diff(total) / len(y), start=1):
        patience = 3 if share < best - tol else patience - 1
        best = min(best, share)
        if patience == 0:
            stop = epoch
            break
    assert learner.n_iter_ == stop < 40


# A parameter of each learner that has numbers of its own, to be changed in the middle of a stream.
CHANGED = {
    "winnow": {"eta": 3.0},
    "balanced-winnow": {"eta": 3.0},
    "p-norm-perceptron": {"p": 3.0},
    "passive-aggressive": {"C": 0.01},
    "romma": {"aggressive": True},
    "logistic-regression": {"eta0": 1.0},
    "pegasos": {"alpha": 0.5},
}


@pytest.mark.parametrize("name", CHANGED)
def test_training_goes_on_with_changed_parameters(name):
    """Row by row or in chunks, with the same bits; and it makes a difference."""
    X, y = problem(3)
    chunks, by_one, unchanged = (build(name).partial_fit(X[:20], y[:20]) for _ in range(3))
    by_one.learn_one(X[20], y[20])
    chunks.partial_fit(X[20:21], y[20:21])
    chunks.set_params(**CHANGED[name]).partial_fit(X[21:], y[21:])
    by_one.set_params(**CHANGED[name])
    for x, label in zip(X[21:], y[21:], strict=True):
        by_one.learn_one(x, label)
    assert trace(chunks) != trace(unchanged.partial_fit(X[20:], y[20:]))
    assert trace(by_one) == trace(chunks)


@pytest.mark.parametrize("name", [name for name in ONLINE if name not in OWN])
def test_log_false_keeps_none_and_says_so(name):
    learner = build(name, log=False).partial_fit(*problem())
    with pytest.raises(AttributeError, match="no log was kept: log=False"):
        learner.log_  # noqa: B018
    assert not hasattr(learner, "log_")


@pytest.mark.parametrize("name", SETTLED)
def test_log_auto_keeps_a_log_of_rules_that_step_on_few_rows(name):
    assert len(build(name, log="auto").partial_fit(*problem()).log_) > 0


@pytest.mark.parametrize("name", sorted(set(ONLINE) - set(SETTLED)))
def test_log_auto_leaves_out_rules_that_step_on_nearly_every_row(name):
    learner = build(name, log="auto").partial_fit(*problem())
    with pytest.raises(AttributeError, match="steps on nearly every row; log=True keeps a log"):
        learner.log_  # noqa: B018
    assert len(build(name, log=True).partial_fit(*problem()).log_) == 40


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("classes", [2, 4])
def test_log_auto_stops_when_it_outgrows_the_data(classes, jobs):
    """1 MiB of log for some bytes of data: a contradiction is a mistake in every round."""
    X, y = np.ones((20_000, 1)), np.arange(20_000) % classes
    learner = AveragedPerceptron(max_iter=20, n_jobs=jobs, shuffle=False)
    with pytest.raises(AttributeError, match=r"outgrew 1 MiB; log=True keeps a log of any size"):
        quiet(learner.fit, X, y).log_  # noqa: B018
    whole = quiet(AveragedPerceptron(max_iter=20, n_jobs=jobs, shuffle=False, log=True).fit, X, y)
    assert len(whole.log_) == np.sum(whole.updates_)
    assert bits(whole.coef_) == bits(learner.coef_)


def test_log_holds_what_the_design_says():
    X, y = problem(3)
    ovr, pair = (quiet(build("perceptron", multi_class=m).fit, X, y).log_ for m in ("ovr", "joint"))
    assert ovr.classes.shape == (len(ovr),)
    assert pair.classes.shape == (len(pair), 2)
    assert bits(pair.classes[:, 0]) == bits(y[pair.rows])
    assert (pair.classes[:, 0] != pair.classes[:, 1]).all()
    assert ovr.amounts is ovr.keeps is pair.amounts is None
    assert ovr.rows.dtype == ovr.rounds.dtype == np.int64
    assert bits(ovr.rows) == bits((ovr.rounds - 1) % len(y))
    weighted = quiet(build("perceptron").fit, X, y, sample_weight=np.full(len(y), 2.0)).log_
    assert bits(np.abs(weighted.amounts)) == bits(np.full(len(weighted), 2.0))
    romma = quiet(build("romma").fit, *problem()).log_
    assert romma.classes is None
    assert romma.keeps.shape == romma.amounts.shape == (len(romma),)


def order_of(n, epoch, seed=3):
    how = Perceptron(shuffle="blocks")
    how.seed_ = seed
    return drivers.order_of(how, epoch, n)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
def test_blocks_are_shuffled_whole(n):
    """Every row once; a block's rows follow one another; another order in another epoch."""
    order = order_of(n, 0)
    assert sorted(order.tolist()) == list(range(n))
    blocks = order // drivers.SHUFFLED_TOGETHER
    assert np.count_nonzero(np.diff(blocks)) == len(set(blocks.tolist())) - 1
    assert order_of(n, 0).tolist() == order.tolist()
    if n > 1:
        assert order.tolist() not in (order_of(n, 1).tolist(), order_of(n, 0, seed=4).tolist(), list(range(n)))


def test_the_blocks_are_the_order_that_is_walked():
    X, y = problem(n=200, noise=0.3)
    learner = build("perceptron", shuffle="blocks", random_state=3, max_iter=2)
    log = quiet(learner.fit, X, y).log_
    walk = np.concatenate([order_of(200, 0), order_of(200, 1)])
    assert log.rows.tolist() == walk[log.rounds - 1].tolist()


def test_a_rule_that_shrinks_goes_on_though_nothing_is_added():
    """The optimum of 0.01 w²/2 + hinge on ±10 is w = 0.1; after the first rows w is far beyond the margin."""
    learner = Pegasos(alpha=0.01, max_iter=20_000, fit_intercept=False, shuffle=False).fit([[10.0], [-10.0]], [1, -1])
    assert learner.n_iter_ == 20_000
    assert learner.coef_[0, 0] == pytest.approx(0.1, rel=0.1)


def test_the_log_of_a_stream_may_grow_with_the_stream():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50_000, 100)), rng.integers(0, 2, 50_000)
    learner = Perceptron()
    for k in range(0, len(X), 1000):
        learner.partial_fit(X[k : k + 1000], y[k : k + 1000])
    assert len(learner.log_) == learner.updates_ > 20_000


def test_log_false_ends_a_log():
    X, y = problem()
    learner = Perceptron().partial_fit(X, y).set_params(log=False).partial_fit(X, y)
    with pytest.raises(AttributeError, match="log=False"):
        _ = learner.log_
