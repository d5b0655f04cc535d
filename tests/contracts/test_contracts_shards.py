"""Contracts of shards, on every learner of the table that mixes: no bit depends on threads, and nothing is lost."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import linsep
from linsep import LEARNERS, AveragedPerceptron, MovingAveragePerceptron, OnlineClassifier, Perceptron, Winnow
from linsep.engine.runtime import split
from linsep.estimators.base.online import OnlineLearner
from linsep.estimators.base.voter import Voter
from linsep.training.mixing import MIXINGS
from tests.contracts.table import bits, build, problem, quiet, state, trace
from tests.sklearn_checks import cases, name_of

MIXED = [name for name, entry in LEARNERS.items() if entry.online and not entry.no_mixing]
every_mixed = pytest.mark.parametrize("name", MIXED)
FORMS = {"binary": (2, "ovr"), "one-vs-rest": (3, "ovr"), "pairs": (3, "joint")}
forms = pytest.mark.parametrize(("classes", "multi_class"), FORMS.values(), ids=FORMS)
carried = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda learner: pickle.loads(pickle.dumps(learner))}


def trained(name, X, y, **more):
    return quiet(build(name, **more).fit, X, y)


def mixes(learner):
    """What the learner tells of its mixes, to the last bit."""
    return {of: bits(a) for of, a in vars(learner.mixes_).items()}


def told(learner):
    """All that a mixed run leaves for its user."""
    return trace(learner) | mixes(learner) | {"errors": getattr(learner, "errors_", None)}


def steps(log):
    """The updates that added a row; those of a rule that shrinks are in its log, too."""
    return len(log) if log.amounts is None else np.count_nonzero(log.amounts)


@every_mixed
@forms
def test_single_rows_are_answered_alike_after_features_have_come(name, classes, multi_class):
    """A mix leaves an image of its sums behind that is true, also where rows of it are made anew."""
    X, y = problem(classes)
    wide = np.hstack([X, np.ones((len(X), 3))])
    own = {"intercept_scaling": 1.0} | ({"p": 3.0} if name == "p-norm-perceptron" else {})
    mixed = trained(name, X, y, shards=4, multi_class=multi_class, **own)
    alone = [trained(name, X[k::2], y[k::2], multi_class=multi_class, **own) for k in (0, 1)]
    for learner in (mixed, linsep.merge(alone)):
        learner.grow(X.shape[1] + 3)
        assert [learner.predict_one(x) for x in wide] == learner.predict(wide).tolist()


def test_the_table_says_who_mixes():
    """Learners that count, and online learners but for voters and the moving average; each says why not."""
    kinds = {name: entry.learner for name, entry in LEARNERS.items()}
    mixed = {
        name
        for name, kind in kinds.items()
        if kind._traits.counts_rows
        or (issubclass(kind, OnlineLearner) and not issubclass(kind, (Voter, MovingAveragePerceptron)))
    }
    assert mixed == {name for name, entry in LEARNERS.items() if not entry.no_mixing}
    assert mixed.isdisjoint({"voted-perceptron", "kernel-perceptron", "linear-program", "max-margin", "least-squares"})
    assert all(len(entry.mixes) > len("no: ") for entry in LEARNERS.values())


@every_mixed
@forms
def test_threads_change_no_bit(name, classes, multi_class):
    """1, 2 and 8 threads, also where there are more shards than rows, on dense and sparse rows."""
    X, y = problem(classes, reals=True)
    for shards, mixing, rows in zip((3, 2, 8, 50), (*MIXINGS, "mistakes"), (X, csr_array(X)) * 2, strict=True):
        how = {"shards": shards, "mixing": mixing, "multi_class": multi_class, "shuffle": True, "max_iter": 2}
        one, *others = (told(trained(name, rows, y, n_jobs=jobs, **how)) for jobs in (1, 2, 8))
        assert all(other == one for other in others)


@every_mixed
@forms
def test_one_shard_is_a_serial_run(name, classes, multi_class):
    X, y = problem(classes, reals=True)
    serial = trained(name, X, y, multi_class=multi_class, shuffle=True)
    for jobs in (1, 2, 8):
        alone = trained(name, X, y, multi_class=multi_class, shuffle=True, shards=1, n_jobs=jobs, mixing="mistakes")
        assert trace(alone) == trace(serial)
        assert getattr(alone, "errors_", None) == getattr(serial, "errors_", None)
        assert not hasattr(alone, "mixes_")
    assert trace(trained(name, X, y, multi_class=multi_class, shuffle=True, shards=2)) != trace(serial)


@every_mixed
@forms
@pytest.mark.parametrize("mixing", MIXINGS)
def test_the_log_and_the_counts_fit_together(name, classes, multi_class, mixing):
    """Rounds rise over the shards one after the other, rows are those of the order, and mistakes are all counted."""
    X, y = problem(classes, noise=0.3)
    learner = trained(name, X, y, multi_class=multi_class, shards=7, mixing=mixing, n_jobs=2)
    log, mixed, n, epochs = learner.log_, learner.mixes_, len(y), learner.n_iter_
    assert learner.t_ == n * epochs
    assert np.all(np.diff(log.rounds) >= (multi_class == "ovr" and classes == 3) * -1 + 1)
    assert bits(log.rows) == bits((log.rounds - 1) % n)
    assert steps(log) == np.sum(learner.updates_)
    spans = [hi - lo for lo, hi in split(n, 7)]
    assert mixed.rows.tolist() == spans * epochs
    assert mixed.epochs.tolist() == np.repeat(np.arange(1, epochs + 1), 7).tolist()
    assert mixed.shards.tolist() == list(range(7)) * epochs
    assert len(mixed) == 7 * epochs
    assert bits(mixed.mistakes.sum(axis=0)) == bits(learner.mistakes_)
    sums = mixed.weights.reshape(epochs, 7, -1).sum(axis=1)
    np.testing.assert_allclose(sums, 1.0, rtol=1e-15)
    weighted = (mixed.weights * mixed.mistakes).reshape(epochs, 7, -1).sum(axis=1).cumsum(axis=0)
    np.testing.assert_allclose(mixed.mixed_mistakes.reshape(epochs, -1), weighted, rtol=1e-12)
    if mixing == "mistakes":
        assert len(set(mixed.weights.ravel().tolist())) > 3


def test_the_log_is_strictly_ordered_where_there_is_one_machine():
    X, y = problem(3, noise=0.5)
    for multi_class, labels in (("joint", y), ("ovr", np.minimum(y, 1))):
        learner = trained("perceptron", X, labels, multi_class=multi_class, shards=5, shuffle=True)
        assert np.all(np.diff(learner.log_.rounds) > 0)
        orders = [np.random.default_rng([0, e]).permutation(len(y)) for e in range(learner.n_iter_)]
        assert bits(learner.log_.rows) == bits(np.concatenate(orders)[learner.log_.rounds - 1])


def test_errors_are_counted_whatever_the_threads():
    """One thread sees all scores of a row: the true class's is not above all others in so many rounds of all shards."""
    X, y = problem(3, noise=0.3)
    learner = trained("perceptron", X, y, shards=4, n_jobs=2, max_iter=1, intercept_scaling=1.0)
    errors = 0
    for lo, hi in split(len(y), 4):
        errors += build("perceptron", intercept_scaling=1.0).partial_fit(X[lo:hi], y[lo:hi], classes=[0, 1, 2]).errors_
    assert learner.errors_ == errors > 0
    assert trained("perceptron", X, y, n_jobs=2).errors_ == trained("perceptron", X, y).errors_ > 0


@every_mixed
@forms
@pytest.mark.parametrize("mixing", ["uniform", "mistakes"])
def test_epochs_and_then_more_are_one_run(name, classes, multi_class, mixing):
    X, y = problem(classes, reals=True, noise=0.3)
    how = {"shards": 3, "mixing": mixing, "multi_class": multi_class, "shuffle": True}
    whole = trained(name, X, y, max_iter=5, **how)
    parts = build(name, max_iter=2, warm_start=True, **how)
    quiet(parts.fit, X, y)
    quiet(parts.set_params(max_iter=3).fit, X, y)
    assert told(parts) == told(whole)
    quiet(parts.set_params(warm_start=False, max_iter=5).fit, X, y)
    assert told(parts) == told(whole)


@every_mixed
@pytest.mark.parametrize("carry", carried)
def test_a_carried_learner_goes_on(name, carry):
    X, y = problem(3, noise=0.3)
    learner = trained(name, X, y, shards=4, warm_start=True, max_iter=2)
    twin = carried[carry](learner)
    assert told(twin) == told(learner)
    before = state(twin)
    quiet(learner.fit, X, y)
    assert state(twin) == before
    quiet(twin.fit, X, y)
    assert told(twin) == told(learner)


@every_mixed
def test_clone_knows_the_shards_and_not_the_mixes(name):
    X, y = problem()
    learner = trained(name, X, y, shards=3, mixing="rows", n_jobs=2)
    twin = clone(learner)
    assert (twin.shards, twin.mixing) == (3, "rows")
    assert not hasattr(twin, "mixes_")
    assert told(quiet(twin.fit, X, y)) == told(learner)


@every_mixed
def test_shards_may_be_set_on_the_way(name):
    """Serial, mixed, otherwise mixed, serial again: what is told of mixes is about the epochs that had any."""
    X, y = problem(3, reals=True, noise=0.4)
    learner = build(name, warm_start=True, max_iter=1, shuffle=True)
    for shards, mixing in ((None, "uniform"), (4, "rows"), (3, "mistakes"), (1, "rows"), (4, "uniform")):
        quiet(learner.set_params(shards=shards, mixing=mixing).fit, X, y)
    mixed = learner.mixes_
    assert mixed.epochs.tolist() == [2] * 4 + [3] * 3 + [5] * 4
    assert mixed.shards.tolist() == [*range(4), *range(3), *range(4)]
    assert mixed.weights[:4, 0].tolist() == [0.25] * 4
    assert learner.t_ == 5 * len(y)
    assert np.all(np.diff(learner.log_.rounds) >= 0)
    assert steps(learner.log_) == np.sum(learner.updates_)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_stream_goes_on_after_a_mix_and_may_bring_labels(classes):
    """What `mixes_` tells is about the labels known, as `mistakes_` does; a mix may follow a label that came late."""
    X, y = problem(4, n=60)
    early = np.minimum(y, classes - 1)
    learner = Perceptron(warm_start=True, random_state=0, max_iter=2, log=True)
    learner.partial_fit(X, early)
    before = np.copy(learner.mistakes_)
    quiet(learner.set_params(shards=3).fit, X, early)
    shape = (6,) if classes == 2 else (6, 3)
    assert learner.mixes_.mistakes.shape == learner.mixes_.weights.shape == shape
    assert bits(learner.mixes_.mistakes.sum(axis=0)) == bits(learner.mistakes_ - before)
    learner.set_params(shards=None).partial_fit(X, y)
    assert learner.mixes_.mistakes.shape == (6, 4)
    quiet(learner.set_params(shards=3).fit, X, y)
    assert learner.mixes_.mistakes.shape == learner.mixes_.mixed_mistakes.repeat(3, axis=0).shape == (12, 4)


def test_what_is_told_is_no_way_into_the_learner():
    for X, y in (problem(), problem(3)):
        learner = trained("perceptron", X, y, shards=3)
        before = state(learner)
        for array in vars(learner.mixes_).values():
            if array.flags.writeable:
                array[...] = 7
        assert state(learner) == before


@pytest.mark.parametrize("shards", [2, 5])
def test_logs_are_kept_as_asked(shards):
    X, y = problem(3, noise=0.3)
    full, auto, none = (trained("averaged-perceptron", X, y, shards=shards, log=m) for m in (True, "auto", False))
    assert {of: bits(a) for of, a in vars(full.log_).items() if a is not None} == {
        of: bits(a) for of, a in vars(auto.log_).items() if a is not None
    }
    assert mixes(full) == mixes(auto) == mixes(none)
    assert bits(full.coef_) == bits(none.coef_)
    with pytest.raises(AttributeError, match="no log was kept: log=False"):
        none.log_  # noqa: B018
    with pytest.raises(AttributeError, match="steps on nearly every row"):
        trained("pegasos", X, y, shards=shards, log="auto").log_  # noqa: B018


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("rows", "epochs", "classes", "shards"), [(140_000, 1, 2, 2), (20_000, 4, 2, 90), (20_000, 4, 4, 2)]
)
def test_a_log_that_outgrows_the_data_is_given_up(rows, epochs, classes, shards, jobs):
    """In the middle of a shard, or as the shards come back: the weights are the same."""
    X, y = np.ones((rows, 1)), np.arange(rows) % classes
    how = {"max_iter": epochs, "n_jobs": jobs, "shuffle": False, "shards": shards}
    learner = quiet(AveragedPerceptron(**how).fit, X, y)
    with pytest.raises(AttributeError, match=r"outgrew 1 MiB; log=True keeps a log of any size"):
        learner.log_  # noqa: B018
    whole = quiet(AveragedPerceptron(**how, log=True).fit, X, y)
    assert len(whole.log_) == np.sum(whole.updates_) > (1 << 20) // 24
    assert bits(whole.coef_) == bits(learner.coef_)
    assert mixes(whole) == mixes(learner)


@every_mixed
@pytest.mark.parametrize("tol", [0.0, 0.1])
def test_tol_looks_at_the_mistakes_of_all_shards(name, tol):
    """Replayed from the mistakes of each epoch: those of all shards, unweighted, over the rows."""
    X, y = problem(noise=0.4)
    learner = trained(name, X, y, tol=tol, n_iter_no_change=3, max_iter=40, shards=4, mixing="rows")
    made = learner.mixes_.mistakes.reshape(-1, 4).sum(axis=1) / len(y)
    best, patience = np.inf, 3
    for epoch, share in enumerate(made, start=1):  # noqa: B007  (how far it came is the answer)
        patience = 3 if share < best - tol else patience - 1
        best = min(best, share)
        if patience == 0:
            break
    assert learner.n_iter_ == epoch == len(made) < 40
    assert patience == 0


def test_a_rule_of_ones_own_mixes_too():
    X, y = problem(3)
    own, plain = OnlineClassifier(linsep.rules.Perceptron()), Perceptron()
    how = {"shards": 3, "random_state": 0, "mixing": "mistakes", "log": True}
    assert told(quiet(own.set_params(**how).fit, X, y)) == told(quiet(plain.set_params(**how).fit, X, y))


def test_features_that_come_later_are_as_if_they_had_been_zero():
    X, y = problem(3)
    wide = np.hstack([X, np.zeros((len(X), 2))])
    how = {"shards": 3, "warm_start": True}
    grown, always = trained("averaged-perceptron", X, y, **how), trained("averaged-perceptron", wide, y, **how)
    assert told(quiet(grown.grow(8).fit, wide, y)) == told(quiet(always.fit, wide, y))


STREAMS = "shards cut all rows of a fit, and a stream has a few of them: partial_fit is refused"
NOT_REPETITION = "a sample weight multiplies the step of a mistake-driven rule, which is not repetition of the row"
FAILS = {
    "check_sample_weight_equivalence_on_dense_data": NOT_REPETITION,
    "check_sample_weight_equivalence_on_sparse_data": NOT_REPETITION,
    "check_fit_score_takes_y": STREAMS,
    "check_n_features_in_after_fitting": STREAMS,
    "check_estimators_partial_fit_n_features": STREAMS,
}


def checks():
    """scikit-learn's checks on two of the learners."""
    for learner in (Perceptron(shards=3, random_state=0), Winnow(shards=3, random_state=0, x_max=None)):
        yield from cases(learner, FAILS)


def name_it(value):
    return name_of(value) if hasattr(value, "func") else type(value).__name__


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "check"), list(checks()), ids=name_it)
def test_scikit_learn(learner, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(learner)
