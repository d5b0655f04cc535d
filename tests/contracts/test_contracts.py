"""Contracts of every learner in the table: one run, however it is driven, leaves the same bits."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from linsep.engine import tiers
from linsep.engine.links import image_of
from linsep.engine.tiers import compiling
from linsep.training import single_rows
from tests.contracts.table import (
    WEIGHTED,
    agree,
    answers,
    bits,
    build,
    close,
    every_learner,
    log,
    problem,
    quiet,
    trace,
)

MANY = {"binary": (2, "ovr"), "one-vs-rest": (3, "ovr"), "pairs": (3, "joint")}
KINDS = {"dense": np.ascontiguousarray, "csr": csr_array}

several = pytest.mark.parametrize(("classes", "multi_class"), MANY.values(), ids=MANY)
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def streamed(learner, X, y, cuts, **more):
    """Make one pass over the rows in chunks that end at `cuts`."""
    for a, b in zip([0, *cuts], [*cuts, len(y)], strict=True):
        learner.partial_fit(X[a:b], y[a:b], **more)
    return learner


def whole_run(name, multi_class, X, y):
    """Learn in epochs, in a weighted batch and row by row; return all that this leaves, to the last bit."""
    left = []
    weights = np.arange(len(y)) % 4 / 2 if name in WEIGHTED else np.arange(len(y)) % 2.0
    rows = X.toarray() if issparse(X) else X
    fitted, weighted = (build(name, multi_class=multi_class, shuffle=True) for _ in range(2))
    for learner in (quiet(fitted.fit, X, y), weighted.partial_fit(X, y, sample_weight=weights)):
        left += [trace(learner), bits(learner.decision_function(X))]
        for x, label in zip(rows, y, strict=True):
            learner.learn_one((np.flatnonzero(x), x[x != 0]), label)
        left += [trace(learner), [learner.predict_one(x) for x in rows]]
    return left


@every_learner
@several
@each_kind
def test_compiled_is_plain_python(name, classes, multi_class, kind, monkeypatch):
    """Kernels of epochs, of batches, of single rows and of scores, none of which leaves its tier."""
    X, y = problem(classes, reals=True)
    used = []
    interpret, one_by_one = tiers.Tiered.run_in_python, single_rows.entry_point
    monkeypatch.setattr(single_rows, "entry_point", lambda *args: used.append("compiled") or one_by_one(*args))
    monkeypatch.setattr(
        tiers.Tiered, "run_in_python", lambda kernel, *args: used.append(kernel.name) or interpret(kernel, *args)
    )
    with compiling("always"):
        compiled = whole_run(name, multi_class, kind(X), y)
    assert set(used) == {"compiled"}
    used.clear()
    monkeypatch.setattr(tiers.Tiered, "compiled", property(lambda kernel: pytest.fail(f"{kernel.name} was compiled")))
    with compiling("never"):
        interpreted = whole_run(name, multi_class, kind(X), y)
    assert interpreted == compiled
    assert len(set(used)) >= 3
    assert "compiled" not in used


@every_learner
@several
def test_dense_is_csr(name, classes, multi_class):
    X, y = problem(classes)
    dense = quiet(build(name, multi_class=multi_class).fit, X, y)
    sparse = quiet(build(name, multi_class=multi_class).fit, csr_array(X), y)
    agree(sparse, dense)
    np.testing.assert_array_equal(sparse.predict(csr_array(X)), dense.predict(X))


@every_learner
@several
def test_dense_is_csr_on_reals(name, classes, multi_class):
    X, y = problem(classes, reals=True)
    dense = quiet(build(name, multi_class=multi_class).fit, X, y)
    close(quiet(build(name, multi_class=multi_class).fit, csr_array(X), y), dense)


@every_learner
@each_kind
def test_two_columns_are_the_binary_learner(name, kind):
    """partial_fit without classes trains a column for each class and one for those still to come."""
    X, y = problem()
    X = kind(X)
    columns = build(name).partial_fit(X, y)
    binary = build(name).partial_fit(X, y, classes=[0, 1])
    assert columns._state.columns == 3
    assert binary._state.columns == 1
    agree(columns, binary)
    assert columns.coef_.shape == binary.coef_.shape == (1, 6)
    assert bits(columns.log_.rounds) == bits(binary.log_.rounds)
    assert columns.log_.classes is None
    np.testing.assert_array_equal(columns.predict(X), binary.predict(X))


@pytest.mark.parametrize("name", ["perceptron", "averaged-perceptron"])
@each_kind
def test_a_pair_of_two_is_the_binary_perceptron(name, kind):
    """Each weight moves twice as far apart: the signs and so the mistakes are the same."""
    X, y = problem()
    pair = quiet(build(name, multi_class="joint").fit, kind(X), y)
    binary = quiet(build(name).fit, kind(X), y)
    assert pair.mistakes_ == binary.mistakes_ > 0
    assert bits(pair.log_.rounds) == bits(binary.log_.rounds)
    assert bits(pair.coef_) == bits(2 * binary.coef_)
    assert bits(pair.intercept_) == bits(2 * binary.intercept_)


@every_learner
@several
def test_chunks_are_one_fit_in_order(name, classes, multi_class):
    X, y = problem(classes, reals=True)
    whole = quiet(build(name, multi_class=multi_class, max_iter=1).fit, X, y)
    chunks = streamed(build(name, multi_class=multi_class), X, y, [1, 7, 20, 21], classes=range(classes))
    assert trace(chunks) == trace(whole)


@every_learner
@pytest.mark.parametrize("order", [(2, 0, 1), (0, 1, 2), (1, 2, 0)])
def test_late_labels_are_labels_known_from_the_start(name, order):
    """The first rows have one label only, then two; the third arrives in the middle of a chunk."""
    X, y = problem(3, reals=True)
    late = np.flatnonzero(y == order[2])
    first, second = np.flatnonzero(y == order[0])[:5], np.flatnonzero(y == order[1])[:5]
    early = np.concatenate([first, second])
    rows = np.concatenate([early, np.setdiff1d(np.arange(len(y)), [*early, *late]), late])
    rows[15:] = np.random.default_rng(0).permutation(rows[15:])
    X, y = X[rows], y[rows]
    known = streamed(build(name), X, y, [5, 10, 20], classes=[0, 1, 2])
    arriving = streamed(build(name), X, y, [5, 10, 20])
    assert trace(arriving) == trace(known)
    assert known.log_.classes is not None


@every_learner
def test_a_second_label_that_comes_late_is_the_binary_learner(name):
    X, y = problem()
    rows = np.argsort(y, kind="stable")
    X, y = X[rows], y[rows]
    agree(
        streamed(build(name), X, y, [3, np.sum(y == 0), 30]),
        streamed(build(name), X, y, [3, np.sum(y == 0), 30], classes=[0, 1]),
    )


@every_learner
def test_a_class_of_pairs_that_comes_late_begins_at_zero(name):
    X, y = problem(3)
    early = y < 2
    trained = build(name, multi_class="joint").partial_fit(X[early], y[early])._state
    admitted = trained.copy()
    admitted.admit(0)
    assert bits(admitted.link.s[:, 0]) == bits(np.zeros(7))
    assert bits(admitted.link.s[:, 1:]) == bits(trained.link.s)
    if hasattr(admitted.link, "image"):
        fresh = [image_of(admitted.link, j, 0.0, admitted.link.origin[0]) for j in range(7)]
        assert admitted.link.image[:, 0].tolist() == fresh
    if hasattr(admitted.readout, "u"):
        assert bits(admitted.readout.u[:, 0]) == bits(np.zeros(7))


@every_learner
@pytest.mark.parametrize("by_one", [False, True])
def test_a_pair_of_one_class_has_no_rival(name, by_one):
    """Nothing can be learned from it; the rounds count."""
    X, _ = problem()
    learner = build(name, multi_class="joint")
    for x in X[:5]:
        learner.learn_one(x, 7) if by_one else learner.partial_fit(x[None], [7])
    assert (learner.mistakes_, learner.updates_, learner.t_, len(learner.log_)) == (0, 0, 5, 0)
    assert not learner._state.link.s.any()


def test_late_classes_of_pairs_compete_from_then_on():
    """The perceptron, written out: the rivals of a row are the labels seen so far, its own chunk's among them."""
    X, y = problem(3)
    order = np.argsort(y, kind="stable")
    W, known, mistakes = np.zeros((3, 7)), [], 0
    learner = build("perceptron", multi_class="joint", intercept_scaling=1.0)
    for rows in np.array_split(order, 6):
        learner.partial_fit(X[rows], y[rows])
        known = sorted({*known, *y[rows]})
        for i in rows[: len(rows) * (len(known) > 1)]:
            x = np.append(X[i], 1.0)
            scores = {k: W[k] @ x for k in known}
            rival = max((k for k in known if k != y[i]), key=lambda k: (scores[k], -k))
            if scores[y[i]] <= scores[rival]:
                mistakes += 1
                W[y[i]] += x
                W[rival] -= x
    assert learner.mistakes_ == mistakes > 5
    assert bits(learner.coef_ + 0.0) == bits(W[:, :6] + 0.0)
    assert bits(learner.intercept_ + 0.0) == bits(W[:, 6] + 0.0)


@every_learner
def test_learn_one_is_partial_fit_is_fit(name):
    X, y = problem(3, reals=True)
    fitted = quiet(build(name, max_iter=1).fit, X, y)
    by_row, by_one = build(name), build(name)
    for x, label in zip(X, y, strict=True):
        by_row.partial_fit(x[None], [label])
        by_one.learn_one(x, label)
    assert trace(by_one) == trace(by_row) == trace(fitted)
    assert [by_one.predict_one(x) for x in X] == fitted.predict(X).tolist()


@every_learner
@several
def test_questions_in_mid_stream(name, classes, multi_class):
    """After each row, predict_one gives the label that predict does, and asking changes nothing of what is learned."""
    X, y = problem(classes, reals=True)
    rows = [(np.flatnonzero(x), x[x != 0]) for x in X]
    silent, asked = (build(name, multi_class=multi_class).grow(6) for _ in range(2))
    for row, label in zip(rows, y, strict=True):
        silent.learn_one(row, label)
        asked.learn_one(row, label)
        assert [asked.predict_one(other) for other in rows[:5]] == asked.predict(X[:5]).tolist()
    assert trace(asked) == trace(silent)


@every_learner
def test_learn_one_goes_on_from_partial_fit(name):
    """Two classes, named at the start: the binary pass, here over sparse rows."""
    X, y = problem(reals=True)
    learner = build(name).partial_fit(csr_array(X[:9]), y[:9], classes=[0, 1])
    for x, label in zip(X[9:30], y[9:30], strict=True):
        learner.learn_one((np.flatnonzero(x), x[x != 0]), label)
    learner.partial_fit(csr_array(X[30:]), y[30:])
    assert trace(learner) == trace(quiet(build(name, max_iter=1).fit, csr_array(X), y))


@every_learner
@pytest.mark.parametrize("classes", [3, 5])
def test_threads_change_no_bit(name, classes):
    X, y = problem(classes, reals=True)
    runs = [quiet(build(name, shuffle=True, n_jobs=jobs).fit, X, y) for jobs in (1, 2, 3)]
    assert trace(runs[1]) == trace(runs[0])
    assert trace(runs[2]) == trace(runs[0])
    assert bits(runs[2].decision_function(X)) == bits(runs[0].decision_function(X))
    late = [streamed(build(name, n_jobs=jobs), X, y, [1, 9]) for jobs in (1, 3)]
    assert trace(late[1]) == trace(late[0])


@every_learner
@several
def test_warm_start_goes_on_where_it_stopped(name, classes, multi_class):
    X, y = problem(classes, reals=True, noise=0.3)
    at_once = quiet(build(name, multi_class=multi_class, shuffle=True, max_iter=5).fit, X, y)
    resumed = build(name, multi_class=multi_class, shuffle=True, max_iter=2, warm_start=True)
    quiet(resumed.fit, X, y)
    assert answers(resumed) != answers(at_once)
    quiet(resumed.set_params(max_iter=3).fit, X, y)
    assert trace(resumed) == trace(at_once)


@every_learner
@each_kind
def test_shuffle_once_is_a_shuffled_file(name, kind):
    X, y = problem(reals=True)
    order = np.random.default_rng([7, 0]).permutation(len(y))
    once = quiet(build(name, intercept_scaling=1.0, shuffle="once", random_state=7).fit, kind(X), y)
    in_order = quiet(build(name, intercept_scaling=1.0).fit, kind(X[order]), y[order])
    assert answers(once) == answers(in_order)
    assert bits(once.log_.rows) == bits(order[in_order.log_.rows])
    again = quiet(build(name, intercept_scaling=1.0, shuffle=True, random_state=7).fit, kind(X), y)
    assert log(again) != log(once)
