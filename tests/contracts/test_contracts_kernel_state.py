"""The contracts about what a learner holds, for one whose weights are those of rows; and about machine code."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from linsep import KernelPerceptron, rules
from linsep.engine import passes
from linsep.training import dual_weights as dual
from linsep.training import state as machine
from tests.contracts import test_contracts_compile as compiling
from tests.contracts.table import every_carry, named, problem, quiet, state
from tests.contracts.test_contracts_kernel import kernel_learner, trace
from tests.contracts.test_contracts_state import REFUSED, REFUSED_ROWS
from tests.contracts.test_sklearn_checks import FAILS_ONLINE
from tests.kernel_count import count
from tests.sklearn_checks import cases, name_of

NO_STREAM = "a precomputed kernel knows all rows, so that there is a method partial_fit, which refuses them"
NO_BIAS = "the check's RBF kernel is nearly the identity: without a bias the nearest row decides, whatever it weighs"
NOT_SQUARE = "the check asks about rows of 3 features where the kernel has 10 columns, and expects to hear of NaN"
NO_KERNEL = "the check's matrix is not symmetric, or has lengths below 0: no feature space has such a kernel"
FAILS = {
    "check_estimators_nan_inf": NOT_SQUARE,
    "check_fit_score_takes_y": NO_STREAM,
    "check_n_features_in_after_fitting": NO_STREAM,
    "check_estimators_partial_fit_n_features": NO_STREAM,
    "check_class_weight_classifiers": NO_BIAS,
    "check_positive_only_tag_during_fit": NO_KERNEL,
    "check_classifiers_one_label_sample_weights": NO_KERNEL,
}

X, y = problem(3)
OTHER = [
    {"kernel": "linear"}, {"kernel": "rbf"}, {"kernel": lambda A, B: A @ B.T}, {"degree": 3}, {"gamma": 2},
    {"coef0": 0}, {"rule": rules.Perceptron()}, {"normalize": True}, {"max_support": 100}, {"cache_size": 0},
    {"log": "auto"}, {"n_jobs": 2}, {"fit_intercept": True, "intercept_scaling": 2},
]  # fmt: skip


def trained(**more):
    return kernel_learner(**more).partial_fit(X, y, classes=[0, 1, 2])


def spoilt_by(row):
    """A kernel that is NaN for one row with itself."""

    def kernel(A, B):
        A, B = (rows.toarray() if hasattr(rows, "toarray") else rows for rows in (A, B))
        bad = np.outer(*(np.all(rows == row, axis=1) for rows in (A, B)))
        return np.where(bad, np.nan, (1 + A @ B.T) ** 2)

    return kernel


def test_a_refused_batch_changes_nothing():
    expected = trace(trained().partial_fit(X[:4], y[:4]), X)
    for case, (batch, reason) in REFUSED.items():
        learner = trained()
        before = state(learner)
        with named(case), pytest.raises(ValueError, match=reason):
            learner.partial_fit(*batch)
        assert state(learner) == before, case
        assert trace(learner.partial_fit(X[:4], y[:4]), X) == expected, case


@pytest.mark.parametrize("warm_start", [False, True])
def test_a_refused_fit_leaves_the_learner_as_it_was(warm_start):
    learner = trained(warm_start=warm_start)
    before = state(learner)
    for case in ("NaN", "sparse NaN", "labels too few", "negative weight", "weights all 0", "no rows"):
        (rows, labels, *rest), reason = REFUSED[case]
        with named(case), pytest.raises(ValueError, match=reason):
            learner.fit(rows, labels, sample_weight=rest[1] if rest else None)
        assert state(learner) == before, case
        learner.predict(X)


def test_a_refused_row_changes_nothing():
    learner = trained().learn_one(X[0], y[0])
    before = state(learner)
    for case, (row, reason) in REFUSED_ROWS.items():
        with named(case), pytest.raises(ValueError, match="(?i)" + reason.replace(" at ", ".*")):
            learner.learn_one(*row)
        assert state(learner) == before, case


@pytest.mark.usefixtures("types_as_they_are")
@pytest.mark.parametrize("why", ["max_support", "kernel", "interrupt"])
@pytest.mark.parametrize("train", ["fit", "partial_fit"])
@pytest.mark.parametrize("kind", [np.array, csr_array, np.float32])
def test_what_stops_a_run_in_a_late_block_leaves_nothing_behind(why, train, kind, monkeypatch):
    """By then rows of earlier blocks have been kept."""
    monkeypatch.setattr(dual, "KERNEL_ROWS", 5)
    odd, rounds = np.full((1, 6), 9.0), []

    def watch(machine):
        rounds.append(int(machine.tally.rounds[0]))
        if why == "interrupt" and rounds[-1] >= rounds[0] + 15:
            raise KeyboardInterrupt
        return 2

    own = {"kernel": spoilt_by(odd[0])}
    learner, twin = (kernel_learner(**own).partial_fit(kind(X[:10]), y[:10], classes=[0, 1, 2]) for _ in range(2))
    if why == "max_support":
        learner.set_params(max_support=twin.n_support_ + 5)
    before = state(learner)
    rows = np.vstack([X[10:], odd]) if why == "kernel" else X[10:]
    stopped = {
        "max_support": pytest.raises(ValueError, match="more than max_support"),
        "kernel": pytest.raises(ValueError, match=r"the kernel of row 30: .* returned nan"),
        "interrupt": pytest.raises(KeyboardInterrupt),
    }
    with stopped[why], learner._watched(watch):
        getattr(learner, train)(kind(rows), np.append(y[10:], 1)[: len(rows)])
    assert rounds[-1] >= rounds[0] + 10
    assert state(learner) == before
    learner.set_params(max_support=None).partial_fit(kind(X[:9:-1]), y[:9:-1])
    assert trace(learner, X) == trace(twin.partial_fit(kind(X[:9:-1]), y[:9:-1]), X)


@pytest.mark.parametrize("cache_size", [0.0, 1.0])
def test_a_bad_value_is_named_by_its_row_in_later_epochs_too(cache_size, monkeypatch):
    """Row 7 meets the last one, which is kept at the end of the first epoch, in the second."""
    monkeypatch.setattr(dual, "KERNEL_ROWS", 5)
    rows, labels = np.vstack([X, 9.0 - X[:1]]), np.append(y, 0)
    early, late = rows[7], rows[-1]

    def kernel(A, B):
        bad = np.outer(np.all(early == A, axis=1), np.all(late == B, axis=1))
        return np.where(bad, np.nan, A @ B.T)

    learner = kernel_learner(kernel=kernel, cache_size=cache_size, max_iter=1)
    assert quiet(learner.fit, rows, labels).support_[-1] == 40
    with pytest.raises(ValueError, match=r"the kernel of row 7: .* returned nan"):
        learner.set_params(max_iter=2).fit(rows, labels)


@pytest.mark.parametrize("kernel", ["poly", "precomputed"])
def test_a_run_is_watched_block_by_block(kernel, monkeypatch):
    monkeypatch.setattr(dual, "KERNEL_ROWS", 9)
    seen = []

    def watch(machine):
        seen.append(int(machine.tally.rounds[0]))
        return 4

    learner, rows = kernel_learner(kernel=kernel, max_iter=2), (1 + X @ X.T) ** 2 if kernel == "precomputed" else X
    with learner._watched(watch):
        quiet(learner.fit, rows, y)
    assert seen == sorted(seen)
    assert {0, 4, 8, 9, 13, 17, 18, 40, 49} <= set(seen)
    assert max(np.diff(seen)) <= 4
    assert learner._state.watch is None
    assert trace(learner, rows) == trace(quiet(kernel_learner(kernel=kernel, max_iter=2).fit, rows, y), rows)


def test_asking_changes_nothing():
    learner = trained().set_params(readout="vote")
    before = state(learner)
    for readout in ("vote", "plurality", "average", "last", "longest"):
        learner.set_params(readout=readout)
        for ask in (learner.predict, learner.decision_function):
            ask(X)
            ask(csr_array(X))
    learner.predict_one(([1, 4], [1.0, 2.0]))
    assert learner.dual_coef_.shape == (3, learner.n_support_)
    assert len(learner.survival_) == 3
    assert learner.support_bytes_ > learner.n_support_ * 48
    assert str(learner)
    assert state(learner.set_params(readout="vote")) == before


@every_carry
@pytest.mark.parametrize("by_one", [False, True])
def test_a_carried_learner_goes_on(carry, by_one):
    """Rows that are kept are shared with no copy that would notice."""
    learner = trained()
    for x, label in zip(X[: by_one * 3], y, strict=False):
        learner.learn_one(x, label)
    twin = carry(learner)
    assert state(twin) == state(learner)
    learner.partial_fit(-X, y)
    assert state(twin) != state(learner)
    assert trace(twin.partial_fit(-X, y), X) == trace(learner, X)


def test_clone_and_set_params_round_trip():
    learner = kernel_learner(
        kernel="rbf", gamma=0.5, max_iter=7, class_weight={0: 2.0}, multi_class="joint", readout="last"
    )
    params = learner.get_params()
    assert clone(quiet(learner.fit, X, y)).get_params() == params
    assert not hasattr(clone(learner), "classes_")
    fresh = KernelPerceptron()
    assert fresh.get_params() != params
    assert trace(quiet(fresh.set_params(**params).fit, X, y), X) == trace(learner, X)


@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
@pytest.mark.parametrize("own", [{}, {"kernel": "linear"}, {"kernel": "rbf", "gamma": 0.1}], ids=str)
@pytest.mark.parametrize("kind", [np.array, csr_array])
def test_grow_is_features_that_were_always_zero(multi_class, own, kind):
    """An RBF kernel's own gamma depends on the number of features, so that it is stated here."""
    wide, later = kind(np.hstack([X, np.zeros((len(X), 3))])), kind(np.hstack([X, X[:, :3]]))
    own = {"multi_class": multi_class, **own}
    grown = kernel_learner(**own).partial_fit(kind(X), y).grow(9).partial_fit(later, y)
    always = kernel_learner(**own).partial_fit(wide, y).partial_fit(later, y)
    assert trace(grown, later) == trace(always, later)
    assert grown.n_features_in_ == 9
    with pytest.raises(ValueError, match=r"grow\(4\).*9 features"):
        grown.grow(4)


@pytest.mark.parametrize("classes", [2, 3])
def test_other_parameters_need_no_compiler(classes, monkeypatch):
    """Neither here nor, by the types of the arguments, in a process that has not compiled much yet."""
    rows, labels = problem(classes)
    seen = set()
    for name in ("learn_rows", "learn_classes", "learn_pairs"):
        make = getattr(passes, name)
        monkeypatch.setattr(machine, name, lambda *kinds, make=make: compiling.watched(make(*kinds), seen))
    quiet(kernel_learner().fit, rows, labels).predict(rows)
    before, types = count(), set(seen)
    for other in compiling.SHARED + OTHER:
        learner = kernel_learner(**other)
        quiet(learner.fit, rows, labels).predict(rows)
        learner.partial_fit(rows[:5], labels[:5])
        assert seen == types, other
    assert count() == before


def test_a_second_process_loads_all_it_needs(pytestconfig):
    compiling.trained(["kernel-perceptron"])
    child = [sys.executable, "-c", compiling.CHILD, "kernel-perceptron"]
    done = subprocess.run(child, cwd=pytestconfig.rootpath, capture_output=True, text=True, check=True)
    hits, misses = json.loads(done.stdout)
    assert misses == 0
    assert hits >= 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "check"),
    list(cases(KernelPerceptron(kernel="precomputed", random_state=0), FAILS_ONLINE | FAILS)),
    ids=lambda value: name_of(value) if hasattr(value, "func") else "",
)
def test_scikit_learn_of_a_precomputed_kernel(learner, check):
    quiet(check, learner)


def test_a_precomputed_kernel_is_pairwise():
    """So that scikit-learn's cross-validation takes the columns, too, of the rows it trains on."""
    assert KernelPerceptron(kernel="precomputed").__sklearn_tags__().input_tags.pairwise
    assert not KernelPerceptron().__sklearn_tags__().input_tags.pairwise
