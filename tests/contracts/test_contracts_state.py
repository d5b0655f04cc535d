"""Contracts about what a learner holds: only training changes it, a refused batch does not, a copy goes on."""

import copy
import pickle
import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from tests.contracts.table import (
    WEIGHTED,
    agree,
    answers,
    bits,
    build,
    every_carry,
    every_learner,
    mapped,
    named,
    problem,
    quiet,
    state,
    trace,
)
from tests.kernel_count import names as kernels

X, y = problem(3)


def with_entry(value, row=2, column=1):
    rows = X[:4].copy()
    rows[row, column] = value
    return rows


def with_index(index):
    """Four sparse rows, one of which has a column that is not there."""
    rows = csr_array(X[:4])
    rows.indices[-1] = index
    return rows


# What partial_fit(X, y, sample_weight=...) refuses, with words of the reason.
REFUSED = {
    "NaN": ((with_entry(np.nan), y[:4]), "NaN .row 2, column 1"),
    "infinity": ((with_entry(-np.inf), y[:4]), "infinity .*row 2, column 1"),
    "sparse NaN": ((csr_array(with_entry(np.nan)), y[:4]), "NaN .row 2, column 1"),
    "one feature more": ((np.ones((4, 7)), y[:4]), "7 features.* 6 features"),
    "unknown label": ((X[:4], [0, 1, 2, 9]), "9"),
    "labels of mixed types": ((X[:4], np.array([0, 1, "a", 2], object)), "mixes"),
    "labels too few": ((X[:4], y[:3]), "4 rows .*3 labels"),
    "negative weight": ((X[:4], y[:4], None, [1, 1, -1, 1]), "[Nn]egative"),
    "weight NaN": ((X[:4], y[:4], None, [1, 1, np.nan, 1]), "NaN"),
    "weights all 0": ((X[:4], y[:4], None, np.zeros(4)), "non-zero|nothing to learn"),
    "NaN in a row of weight 0": ((with_entry(np.nan), y[:4], None, [1, 1, 0, 1]), "NaN .row 2, column 1"),
    "other classes": ((X[:4], y[:4], [0, 1, 2, 3]), "differ"),
    "negative index": ((with_index(-1), y[:4]), "column index -1"),
    "index too high": ((with_index(6), y[:4]), "column index 6"),
    "no rows": ((X[:0], y[:0]), "0 sample"),
}
# What learn_one(x, y) refuses.
REFUSED_ROWS = {
    "NaN": ((with_entry(np.nan)[2], 0), "nan at column 1"),
    "infinity": (([3, 1], [1.0, np.inf]), 0),
    "unknown label": ((X[0], 9), "9"),
    "index too high": ((([6], [1.0]), 0), "column 6"),
    "too many features": ((np.ones(7), 0), "7 features"),
    "values too few": ((([0, 1], [1.0]), 0), "2 indices and 1 values"),
}
REFUSED_ROWS["infinity"] = ((REFUSED_ROWS["infinity"][0], 0), "inf at column 1")


def trained(name, **more):
    return build(name, **more).partial_fit(X, y, classes=[0, 1, 2])


@every_learner
def test_a_refused_batch_changes_nothing(name):
    expected = trace(trained(name).partial_fit(X[:4], y[:4]))
    for case, (batch, reason) in REFUSED.items():
        learner = trained(name)
        before = state(learner)
        with named(case), pytest.raises(ValueError, match=reason):
            learner.partial_fit(*batch)
        assert state(learner) == before, case
        assert trace(learner.partial_fit(X[:4], y[:4])) == expected, case


@every_learner
@pytest.mark.parametrize("warm_start", [False, True])
def test_a_refused_fit_leaves_the_learner_as_it_was(name, warm_start):
    cases = "NaN", "sparse NaN", "labels too few", "negative weight", "weights all 0", "no rows"
    fits = {case: REFUSED[case] for case in cases}
    fits["other width"] = (np.full((4, 2), np.nan), y[:4]), "expecting 6 features" if warm_start else "NaN"
    learner = trained(name, warm_start=warm_start)
    before = state(learner)
    for case, ((rows, labels, *rest), reason) in fits.items():
        with named(case), pytest.raises(ValueError, match=reason):
            learner.fit(rows, labels, sample_weight=rest[1] if rest else None)
        assert state(learner) == before, case
        learner.predict(X)


@every_learner
def test_a_refused_first_batch_leaves_no_trace(name):
    """Not even its number of features or its labels."""
    expected = trace(build(name).partial_fit(X[:, :2], y))
    for case in ("NaN", "labels too few", "negative weight", "weights all 0"):
        batch, reason = REFUSED[case]
        learner = build(name)
        before = state(learner)
        with named(case), pytest.raises(ValueError, match=reason):
            learner.partial_fit(*batch)
        assert state(learner) == before, case
        assert trace(learner.partial_fit(X[:, :2], y)) == expected, case


@every_learner
@pytest.mark.parametrize("used", [False, True])
def test_a_refused_row_changes_nothing(name, used):
    learner = trained(name)
    if used:
        learner.learn_one(X[0], y[0])
    before = state(learner)
    for case, (row, reason) in REFUSED_ROWS.items():
        with named(case), pytest.raises(ValueError, match=reason):
            learner.learn_one(*row)
        assert state(learner) == before, case


@every_learner
def test_a_refused_row_brings_no_label_and_no_feature(name):
    learner = build(name, **({"p": 3.0} if name == "p-norm-perceptron" else {}))
    for a, label in (({"a": 1.0}, 0), ({"b": -1.0}, 1)):
        learner.learn_one(a, label)
    before = state(learner)
    with pytest.raises(ValueError, match="nan"):
        learner.learn_one({"a": np.nan}, 2)
    assert state(learner) == before
    with pytest.raises(ValueError, match="nan"):
        learner.learn_one({"c": np.nan}, 1)
    assert state(learner) == before


@every_learner
def test_asking_changes_nothing(name):
    learner = trained(name)
    before = state(learner)
    for ask in (learner.predict, learner.decision_function, getattr(learner, "predict_proba", learner.predict)):
        ask(X)
        ask(csr_array(X))
    learner.score(X, y)
    learner.predict_one(X[0])
    learner.predict_one(([1, 4], [1.0, 2.0]))
    assert learner.coef_.shape == (3, 6)
    assert len(learner.log_) > 0
    assert str(learner)
    assert state(learner) == before


@every_learner
@every_carry
@pytest.mark.parametrize("by_one", [False, True])
def test_a_carried_learner_goes_on(name, carry, by_one):
    """Rows learned one by one leave buffers behind that a copy must not share, nor lose."""
    learner = trained(name)
    for x, label in zip(X[: by_one * 3], y, strict=False):
        learner.learn_one(x, label)
    twin = carry(learner)
    assert state(twin) == state(learner)
    for x, label in zip(X[3:9], y[3:9], strict=True):
        learner.learn_one(x, label)
    assert state(twin) != state(learner)
    for x, label in zip(X[3:9], y[3:9], strict=True):
        twin.learn_one(x, label)
    assert trace(twin) == trace(learner)
    assert bits(twin.predict(X)) == bits(learner.predict(X))


PAIR = np.array([0, 2]), np.array([1.0, -2.0])


@every_learner
@pytest.mark.parametrize("sparse", [False, True])
def test_a_memory_mapped_learner_needs_no_kernel_of_its_own(name, sparse):
    """It predicts and trains by every method as the learner in memory does."""
    learner = trained(name).sparsify() if sparse and hasattr(trained(name), "sparsify") else trained(name)
    uses = {
        "predict_one": lambda clf: bits(clf.predict_one(PAIR)),
        "predict": lambda clf: bits(clf.decision_function(X)),
        "learn_one": lambda clf: trace(clf.learn_one(PAIR, 1)),
        "partial_fit": lambda clf: trace(clf.partial_fit(X[:5], y[:5])),
        "in place": lambda clf: trace(in_place(clf)),
        "fit": lambda clf: trace(quiet(clf.fit, X, y)),
        "warm fit": lambda clf: trace(quiet(clf.set_params(warm_start=True).fit, X, y)),
        "grow": lambda clf: bits(clf.grow(8).learn_one(([7], [2.0]), 0).predict(np.pad(X, ((0, 0), (0, 2))))),
    }
    expected = {use: do(copy.deepcopy(learner)) for use, do in uses.items()}
    before = kernels()
    for use, do in uses.items():
        assert do(mapped(learner)) == expected[use], use
    assert kernels() == before


def in_place(learner):
    with learner._training_in_place():
        return learner.set_params(n_jobs=2).partial_fit(X[:5], y[:5])


@every_learner
def test_clone_and_set_params_round_trip(name):
    learner = build(
        name, max_iter=7, shuffle="once", class_weight={0: 2.0 if name in WEIGHTED else 1.0}, multi_class="joint"
    )
    params = learner.get_params()
    assert clone(quiet(learner.fit, X, y)).get_params() == params
    assert not hasattr(clone(learner), "classes_")
    fresh = type(learner)()
    assert fresh.get_params() != params
    assert fresh.set_params(**params).get_params() == params
    assert answers(quiet(fresh.fit, X, y)) == answers(learner)
    with pytest.raises(ValueError, match="Invalid parameter 'speed'"):
        fresh.set_params(speed=1)


@every_learner
def test_a_zero_row_is_harmless(name):
    """Without a bias it is a mistake, and adds nothing; for Pegasos and for an average it is a round more."""
    rows, labels = problem()
    at = len(labels) // 2
    with_zero = np.insert(rows, at, 0.0, axis=0), np.insert(labels, at, 1)
    plain = quiet(build(name, fit_intercept=False, max_iter=1).fit, rows, labels)
    zero = quiet(build(name, fit_intercept=False, max_iter=1).fit, *with_zero)
    empty = quiet(build(name, fit_intercept=False, max_iter=1).fit, csr_array(with_zero[0]), with_zero[1])
    assert zero.mistakes_ == empty.mistakes_
    assert np.isfinite(zero.coef_).all()
    agree(empty, zero)
    if name not in ("pegasos", "averaged-perceptron", "moving-average", "voted-perceptron"):
        assert zero.mistakes_ == plain.mistakes_ + 1
        assert bits(zero.coef_) == bits(plain.coef_)


NEW_NUMBERS = {"winnow": {"eta": 4.0}, "balanced-winnow": {"eta": 4.0}, "p-norm-perceptron": {"p": 9.0}}


@pytest.mark.parametrize("name", NEW_NUMBERS)
@pytest.mark.parametrize("by_one", [False, True])
def test_single_rows_are_predicted_with_a_new_rate_as_others_are(name, by_one):
    """The rate is taken over by a pass that updates nothing, as all its rows weigh 0."""
    rows, labels = problem(reals=True, n=200)
    learner = quiet(build(name, log="auto").fit, rows[:100], labels[:100])
    rate_before = learner.predict(rows)
    learner.set_params(**NEW_NUMBERS[name], class_weight={0: 0.0, 1: 0.0})
    if by_one:
        learner.learn_one(rows[0], labels[0])
    else:
        learner.partial_fit(rows[:2], labels[:2])
    carried = pickle.loads(pickle.dumps(learner))
    assert np.any(learner.predict(rows) != rate_before)
    for each in (learner, carried):
        assert [each.predict_one(row) for row in rows] == each.predict(rows).tolist()


@every_learner
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_grow_is_features_that_were_always_zero(name, multi_class):
    """p-norm's own p depends on the number of features, so that it is stated here."""
    own = {"p": 3.0} if re.match("p-norm", name) else {}
    wide = np.hstack([X, np.zeros((len(X), 3))])
    later = np.hstack([X, X[:, :3]])
    grown = build(name, multi_class=multi_class, **own).partial_fit(X, y).grow(9).partial_fit(later, y)
    always = build(name, multi_class=multi_class, **own).partial_fit(wide, y).partial_fit(later, y)
    agree(grown, always)
    assert grown.coef_.shape == (3, 9)
    assert grown.n_features_in_ == 9
    with pytest.raises(ValueError, match=r"grow\(4\).*9 features"):
        grown.grow(4)
