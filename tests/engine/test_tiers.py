"""The tiers of a kernel: which one runs, and that Python gives way where it can't compute."""

import signal
import sys
import threading
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_iris

from linsep import (
    ROMMA,
    AveragedPerceptron,
    BalancedWinnow,
    LogisticRegression,
    Perceptron,
    PNormPerceptron,
    rules,
)
from linsep.engine import kernel_cache, tiers
from linsep.engine.arrays import UnalignedError, views
from linsep.engine.data_kinds import Dense, first_beyond, highest_index
from linsep.engine.kernel_cache import notice
from linsep.engine.links import Additive, Clipped
from linsep.engine.passes import learn_classes, learn_pairs, learn_rows, score_classes, score_rows
from linsep.engine.readouts import AverageWithLosses, Last, LastWithLosses
from linsep.engine.tiers import CALL, COMPILE, LOAD, START, Tiered, compiling, tiered

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X, Y = load_iris(return_X_y=True)


class Counted(Tiered):
    """Counts the calls of each tier."""

    def __init__(self, on_disk=False):
        super().__init__(lambda work: None, lambda work: work - CALL, name="counted")
        self.calls, self.on_disk = [], on_disk

    def plain(self, work):
        self.calls.append("python")

    def compiled(self, work):
        self.calls.append("compiled")

    def _on_disk(self, args):
        return self.on_disk


@pytest.mark.parametrize(
    ("started", "on_disk", "works", "expected"),
    [
        (True, False, [COMPILE - 1, 1, 1, 1], ["python", "python", "compiled", "compiled"]),
        (False, False, [COMPILE + 1], ["compiled"]),
        (True, True, [LOAD, 1, 1], ["python", "compiled", "compiled"]),
        (False, True, [LOAD, START - LOAD, 1, 1], ["python", "python", "compiled", "compiled"]),
        (False, True, [START + 1], ["compiled"]),
    ],
)
def test_a_kernel_leaves_python_when_its_work_is_worth_it(monkeypatch, started, on_disk, works, expected):
    monkeypatch.setattr(Tiered, "started", started)
    monkeypatch.setattr(Tiered, "spent", 0)
    kernel = Counted(on_disk)
    with compiling("auto"):
        for work in works:
            kernel(work)
    assert kernel.calls == expected


def test_calls_are_work(monkeypatch):
    monkeypatch.setattr(Tiered, "started", True)
    monkeypatch.setattr(tiers, "COMPILE", 3 * CALL)
    monkeypatch.setattr(tiers, "LOAD", 0)
    kernel = Counted()
    monkeypatch.setattr(kernel, "work", lambda work: 0)
    with compiling("auto"):
        for _ in range(5):
            kernel(0)
    assert kernel.calls == ["python"] * 3 + ["compiled"] * 2


def test_many_kernels_of_little_work_start_the_compiler_together(monkeypatch):
    monkeypatch.setattr(Tiered, "started", False)
    monkeypatch.setattr(Tiered, "spent", 0)
    kernels = [Counted(on_disk=True) for _ in range(START // LOAD + 1)]
    with compiling("auto"):
        for kernel in kernels:
            kernel(LOAD)
        kernels[0](1)
        kernels[1](1)
    assert [kernel.calls for kernel in kernels[:3]] == [["python", "compiled"], ["python", "compiled"], ["python"]]


def test_the_choice_can_be_made_for_all_kernels():
    kernel = Counted()
    with compiling("always"):
        kernel(1)
    with compiling("never"):
        kernel(10 * COMPILE)
    assert kernel.calls == ["compiled", "python"]


@pytest.fixture
def uncompiled(monkeypatch):
    """No pass may be compiled."""

    def refuse(kernel):
        raise AssertionError(f"{kernel.name} is compiled")

    monkeypatch.setattr(Tiered, "compiled", property(refuse))


def test_a_first_fit_and_prediction_of_small_data_compile_nothing(uncompiled, monkeypatch):
    for make in (learn_rows, learn_classes, learn_pairs, score_rows, score_classes):
        make.cache_clear()  # the work of other tests counts
    for shared in (first_beyond, highest_index):
        monkeypatch.setattr(shared, "done", 0)
        monkeypatch.setattr(shared, "loaded", False)
    with compiling("auto"):
        AveragedPerceptron(max_iter=3, tol=None).fit(X, Y).predict(X)
        Perceptron(max_iter=3, tol=None).fit(X[:100], Y[:100]).predict(X)


@pytest.mark.parametrize("kinds", [(Clipped, Last), (Additive, LastWithLosses), (Additive, AverageWithLosses)])
def test_a_pass_over_pairs_refuses_what_it_would_not_do(kinds):
    with pytest.raises(TypeError, match="no pass over pairs of classes"):
        learn_pairs(rules.Perceptron, *kinds, Dense)


def unaligned(array):
    """A copy that begins at an odd address."""
    memory = np.empty(array.nbytes + 1, np.uint8)[1:]
    copy = np.ndarray(array.shape, array.dtype, memory)
    copy[...] = array
    assert not copy.flags.aligned
    return copy


def test_arrays_that_python_has_no_view_of_run_compiled():
    with pytest.raises(UnalignedError):
        views((1, (unaligned(X),)))
    for classes in (2, 3):
        rows = classes > Y
        with compiling("never"):
            expected, odd = (
                Perceptron(max_iter=3, tol=None, shuffle=False).fit(data, Y[rows])
                for data in (X[rows], unaligned(X[rows]))
            )
            assert (expected.coef_ == odd.coef_).all(), classes
            assert (expected.predict(unaligned(X)) == odd.predict(X)).all(), classes


def test_a_single_row_that_python_has_no_view_of_is_learned():
    learned = []
    for choice in ("always", "never"):
        with compiling(choice):
            clf = Perceptron().partial_fit(X[:2], Y[:2], classes=[0, 1])
            clf.learn_one((np.arange(4), unaligned(X[60])), 1)
            learned.append([*clf.coef_.tolist(), clf.predict_one((np.arange(4), unaligned(X[60])))])
    assert learned[0] == learned[1]


TINY = [0.0, -0.0, 5e-324, 1e-310, 2.0**-1022, 1e-160, 1e-8, 0.25, 1.0]
"""Entries between which sums cancel, and quotients underflow."""


@pytest.mark.parametrize(
    ("make", "classes"),
    [
        (partial(PNormPerceptron, p=3), 2),
        (partial(PNormPerceptron, p=30), 3),
        (partial(BalancedWinnow, eta=700.0), 2),
        (ROMMA, 2),
        (partial(LogisticRegression, solver="sgd"), 3),
    ],
    ids=["3-norm", "30-norm", "balanced winnow", "romma", "logistic"],
)
def test_rows_that_cancel_and_underflow_have_the_same_bits_in_both_tiers(make, classes):
    """Where compiled code computes infinity or NaN, Python neither raises nor applies an update twice."""
    for seed in range(12):
        rng = np.random.default_rng([seed, classes])
        data = rng.choice(TINY, (9, 3)) * rng.choice([-1.0, 1.0], (9, 3))
        labels = np.concatenate([np.arange(classes), rng.integers(0, classes, 9 - classes)])
        outcomes = []
        for choice in ("always", "never"):
            with compiling(choice):
                clf = make(max_iter=3, shuffle=False, fit_intercept=bool(seed % 2))
                try:
                    clf.fit(data, labels)
                    counts = np.append(clf.mistakes_, clf.updates_).tolist()
                    outcomes.append((clf._state.link.s.tobytes(), counts, clf.t_))
                except ValueError as error:
                    outcomes.append(str(error))
        assert outcomes[0] == outcomes[1], (seed, data.tolist(), labels.tolist())


def test_signals_wait_for_the_end_of_a_single_row():
    """An exception of a handler comes after the whole update, never in the middle of it."""
    torn = 0

    class Alarm(Exception):
        pass

    def ring(*args):
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with compiling("never"):
            clf = Perceptron().partial_fit(np.zeros((2, 3000)), [0, 1], classes=[0, 1])
            row = np.arange(3000), np.ones(3000)
            clf.learn_one(row, 1)
            for k in range(40):
                signal.setitimer(signal.ITIMER_REAL, 1e-4 * (1 + k % 10))
                try:
                    for i in range(8):
                        clf.learn_one(row, i % 2)
                except Alarm:
                    pass
                signal.setitimer(signal.ITIMER_REAL, 0)
                torn += len(set(clf._state.link.s[:-1, 0].tolist())) != 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert torn == 0


def test_no_single_row_runs_in_python_beside_other_threads(monkeypatch):
    kernel = Counted()
    kernel.nogil = False
    with compiling("never"):
        for count in (2, 1):
            monkeypatch.setattr(threading, "active_count", lambda count=count: count)
            kernel(1)
    assert kernel.calls == ["compiled", "python"]


def test_an_overflow_is_the_same_error_in_both_tiers():
    """A score that overflows is an error of the learner in both tiers, not of Python."""
    big = np.array([[1e200, 1.0], [-1e200, 1.0], [1e200, -1.0]])
    for choice in ("always", "never"):
        with compiling(choice), pytest.raises(ValueError, match="too large for float64"):
            Perceptron(max_iter=50, tol=None).fit(big * 1e108, [0, 1, 1])


def test_a_function_runs_in_both_tiers_with_the_same_result():
    @tiered(lambda values, out: len(values))
    def doubled(values, out):
        for k in range(values.shape[0]):
            out[k] = 2.0 * values[k]

    for choice in ("always", "never"):
        out = np.zeros(4)
        with compiling(choice):
            doubled(unaligned(np.arange(4.0)) if choice == "never" else np.arange(4.0), out)
        assert out.tolist() == [0.0, 2.0, 4.0, 6.0], choice


class Terminal:
    """A stderr that a person reads."""

    def __init__(self):
        self.lines = []

    def isatty(self):
        return True

    def write(self, text):
        self.lines.append(text)

    def flush(self):
        pass


def test_long_compiling_is_named_once_to_a_person(monkeypatch):
    monkeypatch.setattr(kernel_cache, "PATIENCE", 0.01)
    monkeypatch.setattr(sys, "stderr", Terminal())
    short, long = notice(views), notice(views)
    short.cancel()
    long.join()
    assert "".join(sys.stderr.lines) == "linsep: compiling views; later runs load it from a cache on disk\n"


def test_nothing_is_printed_to_a_file(capsys):
    assert notice(views) is None
    assert capsys.readouterr().err == ""
