"""The contracts of one run, for a learner whose weights are those of rows: however it is driven, the same bits."""

from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from linsep import KernelPerceptron
from linsep.engine import passes, votes
from linsep.kernels import functions as kernels
from linsep.training import dual_weights as dual
from linsep.training import state as state
from linsep.training import votes as ballots
from tests.contracts.table import bits, build, log, problem, quiet
from tests.contracts.test_contracts import each_kind, several, streamed
from tests.estimators.readouts import all_answers, near_answers, portrait

kernel_learner = partial(build, "kernel-perceptron")
every_kernel = pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
COUNTS = ("mistakes_", "updates_", "skipped_", "t_")


def trace(learner, X):
    """All that a run leaves for its user, to the last bit: counts, rows that were kept, all answers, the log."""
    counts = {name: bits(getattr(learner, name)) for name in COUNTS}
    return counts | {name: bits(value) for name, value in portrait(learner, X).items()} | log(learner)


@several
@each_kind
def test_compiled_is_plain_python(classes, multi_class, kind, monkeypatch):
    X, y = problem(classes, reals=True, n=25)
    X = kind(X)
    compiled = trace(quiet(kernel_learner(multi_class=multi_class, shuffle=True).fit, X, y), X)
    used = set()

    def plain(name, function):
        def call(*args):
            used.add(name)
            return function(*args)

        return call

    for name in ("learn_rows", "learn_classes", "learn_pairs"):
        make = getattr(passes, name)
        monkeypatch.setattr(state, name, lambda *kinds, name=name, make=make: plain(name, make(*kinds).run_in_python))
    for name in ("_walk", "_poll", "_recurrence"):
        monkeypatch.setattr(votes, name, plain(name, getattr(votes, name).run_in_python))
    interpreted = quiet(kernel_learner(multi_class=multi_class, shuffle=True).fit, X, y)
    assert trace(interpreted, X) == compiled
    needed = {
        2: {"learn_rows", "_walk"},
        3: {"learn_classes", "_poll", "_walk"} if multi_class == "ovr" else {"learn_pairs", "_poll"},
    }
    assert used == needed[classes] | {"_recurrence"}


@several
@every_kernel
def test_dense_is_csr(classes, multi_class, kernel):
    X, y = problem(classes)
    dense, sparse = (kernel_learner(multi_class=multi_class, kernel=kernel) for _ in range(2))
    expected = trace(quiet(dense.fit, X, y), X)
    assert trace(quiet(sparse.fit, csr_array(X), y), csr_array(X)) == expected
    assert trace(dense, csr_array(X)) == trace(sparse, X) == expected


@several
@each_kind
def test_the_linear_kernel_is_the_voted_perceptron(classes, multi_class, kind):
    """In epochs and then in a stream, of rows that weigh differently."""
    X, y = problem(classes)
    X, weights = kind(X), np.arange(len(y)) % 4 / 2
    own = {"multi_class": multi_class, "fit_intercept": True, "intercept_scaling": 2.0}
    primal = build("voted-perceptron", **own)
    in_dual = kernel_learner(kernel="linear", **own)
    for learner in (primal, in_dual):
        quiet(learner.fit, X, y, sample_weight=weights).partial_fit(X[:9], y[:9])
    assert log(in_dual) == log(primal)
    assert [bits(getattr(in_dual, n)) for n in COUNTS] == [bits(getattr(primal, n)) for n in COUNTS]
    assert bits(in_dual.support_) == bits(primal.support_)
    for readout in ("vote", "plurality", "last", "longest", "random"):
        scores = [learner.set_params(readout=readout).decision_function(X) for learner in (in_dual, primal)]
        assert bits(scores[0]) == bits(scores[1])
    answers = all_answers(in_dual, X)
    for name, expected in all_answers(primal, X).items():
        np.testing.assert_allclose(answers[name], expected, rtol=0, atol=1e-13 * np.abs(expected).max())


@each_kind
def test_two_columns_are_the_binary_learner(kind):
    """partial_fit without classes trains a column for each class and one for those still to come."""
    X, y = problem()
    X = kind(X)
    columns, binary = kernel_learner().partial_fit(X, y), kernel_learner().partial_fit(X, y, classes=[0, 1])
    assert (columns._state.columns, binary._state.columns) == (3, 1)
    near_answers(all_answers(columns, X), all_answers(binary, X))
    assert bits(columns.survival_) == bits(binary.survival_)
    assert [bits(getattr(columns, n)) for n in COUNTS] == [bits(getattr(binary, n)) for n in COUNTS]
    assert columns.predict(X).tolist() == binary.predict(X).tolist()


@each_kind
def test_a_pair_of_two_is_the_binary_learner(kind):
    """Each weight moves twice as far apart: the signs and so the mistakes are the same."""
    X, y = problem()
    pair = quiet(kernel_learner(multi_class="joint").fit, kind(X), y)
    binary = quiet(kernel_learner().fit, kind(X), y)
    assert pair.mistakes_ == binary.mistakes_ > 0
    assert bits(pair.log_.rounds) == bits(binary.log_.rounds)
    found, expected = all_answers(pair, kind(X)), all_answers(binary, kind(X))
    for name in [("last", False), ("longest", False), ("average", False)]:
        assert bits(found[name]) == bits(2 * expected[name])
    assert bits(found["vote", False] > 0) == bits(expected["vote", False] > 0)


@several
@each_kind
def test_chunks_are_one_fit_in_order(classes, multi_class, kind):
    X, y = problem(classes)
    X = kind(X)
    whole = quiet(kernel_learner(multi_class=multi_class, max_iter=1).fit, X, y)
    chunks = streamed(kernel_learner(multi_class=multi_class), X, y, [1, 7, 20, 21], classes=range(classes))
    assert trace(chunks, X) == trace(whole, X)


@pytest.mark.slow
@several
@pytest.mark.parametrize("block", [1, 7, 16])
def test_blocks_and_tiles_of_any_size_leave_the_same_bits(classes, multi_class, block, monkeypatch):
    X, y = problem(classes)
    expected = trace(quiet(kernel_learner(multi_class=multi_class, shuffle=True).fit, X, y), X)
    monkeypatch.setattr(dual, "KERNEL_ROWS", block)
    monkeypatch.setattr(kernels, "TILE", 5)
    for cache_size in (0.0, 0.003, 1.0):
        learner = kernel_learner(multi_class=multi_class, shuffle=True, cache_size=cache_size)
        assert trace(quiet(learner.fit, X, y), X) == expected


@pytest.mark.usefixtures("types_as_they_are")
@each_kind
def test_single_precision_in_many_blocks(kind, monkeypatch):
    """The rows that are kept are converted as they come, in a stream and in epochs."""
    X, y = problem(3)
    rows = kind(X.astype(np.float32))
    expected = trace(streamed(quiet(kernel_learner().fit, X, y), X, y, [13]), X)
    monkeypatch.setattr(dual, "KERNEL_ROWS", 7)
    single = quiet(kernel_learner(cache_size=0.003).fit, rows, y)
    assert single._state.history.support.data.values.dtype == np.float32
    assert trace(streamed(single, rows, y, [13]), X) == expected


@pytest.mark.slow
@several
@every_kernel
@pytest.mark.parametrize("block", [16, 512])
def test_threads_change_no_bit(classes, multi_class, kernel, block, monkeypatch):
    monkeypatch.setattr(dual, "KERNEL_ROWS", block)
    monkeypatch.setattr(kernels, "TILE", 8)
    monkeypatch.setattr(ballots, "MOST", 16)
    X, y = problem(classes, reals=True)
    runs = [quiet(kernel_learner(multi_class=multi_class, kernel=kernel, n_jobs=n).fit, X, y) for n in (1, 2, 3)]
    one, *others = (trace(learner, X) for learner in runs)
    assert all(other == one for other in others)


@pytest.mark.parametrize("order", [(2, 0, 1), (0, 1, 2), (1, 2, 0)])
def test_late_labels_are_labels_known_from_the_start(order):
    """First one label only, then two, then all; rows are kept for labels still to come, too."""
    X, y = problem(3)
    rows = np.concatenate([np.flatnonzero(y == label)[:5] for label in order])
    rows = np.concatenate([rows, np.setdiff1d(np.arange(len(y)), rows)])
    X, y = X[rows], y[rows]
    known = streamed(kernel_learner(), X, y, [5, 10, 12], classes=[0, 1, 2])
    arriving = streamed(kernel_learner(), X, y, [5, 10, 12])
    found, expected = trace(arriving, X), trace(known, X)
    assert set(arriving.support_) >= set(known.support_)
    assert found | {"support": None} == expected | {"support": None}


def test_learn_one_is_partial_fit_is_fit():
    X, y = problem(3)
    fitted = quiet(kernel_learner(max_iter=1).fit, X, y)
    by_row, by_one = (kernel_learner().grow(6) for _ in range(2))
    for x, label in zip(X, y, strict=True):
        by_row.partial_fit(x[None], [label], classes=[0, 1, 2] if x is X[0] else None)
        by_one.learn_one(x, label)
    found, expected = trace(by_one, X), trace(fitted, X)
    assert trace(streamed(kernel_learner(), X, y, [3, 4], classes=[0, 1, 2]), X) == expected
    assert found | {"support": None} == expected | {"support": None}
    assert trace(by_row, X) | {"support": None} == expected | {"support": None}
    assert [by_one.predict_one(x) for x in X] == fitted.predict(X).tolist()


@pytest.mark.slow
@several
@each_kind
@pytest.mark.parametrize("kernel", ["poly", "precomputed"])
def test_epochs_in_two_fits_are_epochs_in_one(classes, multi_class, kind, kernel):
    X, y = problem(classes)
    X = kind((1 + X @ X.T) ** 2 if kernel == "precomputed" else X)
    own = {"multi_class": multi_class, "kernel": kernel, "shuffle": True}
    at_once = quiet(kernel_learner(max_iter=5, **own).fit, X, y)
    resumed = quiet(kernel_learner(max_iter=2, warm_start=True, **own).fit, X, y)
    assert trace(resumed, X) != trace(at_once, X)
    assert trace(quiet(resumed.set_params(max_iter=3).fit, X, y), X) == trace(at_once, X)


@several
def test_weight_zero_is_an_absent_row(classes, multi_class):
    X, y = problem(classes)
    keep = np.arange(len(y)) % 4 != 3
    own = {"multi_class": multi_class}
    present = trace(quiet(kernel_learner(**own).fit, X[keep], y[keep], sample_weight=np.full(keep.sum(), 0.5)), X)
    weighted = trace(quiet(kernel_learner(**own).fit, X, y, sample_weight=0.5 * keep), X)
    for name in ("rows", "support"):
        present[name] = bits(np.flatnonzero(keep)[present[name]])
    assert weighted == present


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_of_one_are_none_and_class_weights_are_those_of_rows(classes):
    X, y = problem(classes)
    plain = trace(quiet(kernel_learner().fit, X, y), X)
    assert trace(quiet(kernel_learner().fit, X, y, sample_weight=np.ones(len(y))), X) == plain
    by_class = trace(quiet(kernel_learner(class_weight={0: 2.0, 1: 0.25}).fit, X, y), X)
    by_row = trace(quiet(kernel_learner().fit, X, y, sample_weight=np.array([2.0, 0.25, 1.0])[y]), X)
    assert by_class == by_row != plain


@every_kernel
def test_a_zero_row_is_harmless(kernel):
    """Of a linear kernel it is a mistake that adds nothing: the weights are the others'."""
    X, y = problem()
    at = len(y) // 2
    rows, labels = np.insert(X, at, 0.0, axis=0), np.insert(y, at, 1)
    own = {"kernel": kernel, "max_iter": 1, "readout": "last"}
    dense, empty = (quiet(kernel_learner(**own).fit, kind(rows), labels) for kind in (np.array, csr_array))
    assert trace(empty, X) == trace(dense, X)
    assert all(np.isfinite(scores).all() for scores in all_answers(dense, rows).values())
    if kernel == "linear":
        plain = quiet(kernel_learner(**own).fit, X, y)
        assert dense.mistakes_ == plain.mistakes_ + 1
        assert bits(dense.set_params(readout="last").decision_function(X)) == bits(plain.decision_function(X))


@pytest.mark.slow
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_its_mistakes_are_within_the_bound_in_the_feature_space(seed):
    """sign(x'Qx + b.x + c) is <u, phi(x)> with ||u||² = c² + ||b||²/2 + ||Q||² for the kernel (1 + x.y)²."""
    rng = np.random.default_rng(seed)
    X = np.unique(rng.integers(-4, 5, (60, 3)), axis=0).astype(float)
    Q, b, c = rng.integers(-2, 3, (3, 3)), rng.integers(-3, 4, 3), rng.integers(-5, 6)
    Q = Q + Q.T
    values = np.einsum("ij,jk,ik->i", X, Q, X) + X @ b + c
    far = np.abs(values) >= np.median(np.abs(values))
    X, values, norm = X[far], values[far], c**2 + np.sum(b**2) / 2 + np.sum(Q**2)
    y = (values > 0).astype(int)
    assume(len(set(y)) == 2)
    learner = KernelPerceptron(degree=2, max_iter=3000, random_state=seed, log=True, readout="last").fit(X, y)
    margin, radius = np.abs(values).min(), np.max((1 + np.sum(X**2, axis=1)) ** 2)
    k, a = learner.mistakes_, learner.dual_coef_[0]
    gram = (1 + X @ X.T)[np.ix_(learner.support_, learner.support_)] ** 2
    assert 0 < k <= radius * norm / margin**2
    assert a @ values[learner.support_] >= k * margin
    assert a @ gram @ a <= k * radius
    assert learner.score(X, y) == 1.0
    assert learner.n_iter_ < 3000
