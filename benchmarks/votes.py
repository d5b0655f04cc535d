"""Votes of many hypotheses against a loop over all of them, and kernel perceptrons against one kernel row at a time.

20,000 mistakes on rows of 784 integers vote on 10,000 rows: once all on different rows, once on some 4,000 that are
mistaken five times each, on average. The loop has every v_k in memory, 125 MB, and adds up c_k sign(v_k.x); we have the
distinct rows alone, and what a vote takes beyond them is measured in a process of its own. Then one epoch of degree 2
on MNIST, as it stands and with ten machines, against the kernel perceptron as it is written down: a row of the kernel
for each example, against all rows that were mistaken so far. One thread on both sides, and the answers must be the
same. The slower side runs once.
"""

import gc
import json
import sys
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.data import Array, DataMissing
from benchmarks.freund_schapire import mnist
from benchmarks.memory import CLEAR, resident
from benchmarks.timing import Line, Row, Skip, clock, in_child
from linsep.estimators.kernel_perceptron import KernelPerceptron
from linsep.estimators.voted_perceptron import VotedPerceptron

MISTAKES, FEATURES, TESTS = 20_000, 784, 10_000
BEST_OF = 3
"""Timed rounds of our side."""


class Case(NamedTuple):
    """How many rows there are to be mistaken about, whether again and again, and the least ratio that will do."""

    rows: int
    recurring: bool
    goal: float


CASES = {
    "distinct rows": Case(60_000, recurring=False, goal=5.0),
    "rows mistaken five times": Case(5_500, recurring=True, goal=20.0),
}
"""Labels mean nothing, so that half of new rows are mistaken, and less of those that were seen."""


@cache
def rows(many: int) -> tuple[Array, Array]:
    """Return rows of small integers, whose sums are exact in any order, with labels that mean nothing."""
    rng = np.random.default_rng(0)
    return rng.integers(-128, 128, (many, FEATURES)).astype(np.float64), rng.choice([-1, 1], many)


@cache
def tests() -> Array:
    """Return the rows to be voted on."""
    return np.random.default_rng(1).integers(-128, 128, (TESTS, FEATURES)).astype(np.float64)


@cache
def trained(name: str) -> VotedPerceptron:
    """Return a perceptron after 20,000 mistakes: exactly so many on distinct rows, at least so many on recurring ones.

    On distinct rows it stops, in the first epoch, at the last of them. Recurring ones, which no hyperplane separates,
    are learned for as many epochs as it takes.
    """
    X, y = rows(CASES[name].rows)
    shared: dict[str, Any] = {"shuffle": False, "fit_intercept": False, "log": True}
    if not CASES[name].recurring:
        whole = VotedPerceptron(max_iter=1, **shared).fit(X, y)
        last = int(whole.log_.rows[MISTAKES - 1])
        return VotedPerceptron(max_iter=1, **shared).fit(X[: last + 1], y[: last + 1])
    for epochs in range(5, 50):
        clf = VotedPerceptron(max_iter=epochs, **shared).fit(X, y)
        if clf.mistakes_ >= MISTAKES:
            return clf
    raise ValueError(f"{len(X)} rows of {FEATURES} features are learned too soon: take more rows")


def hypotheses(clf: VotedPerceptron, X: Array, y: Array) -> tuple[Array, Array]:
    """Return every v_k and its c_k, from the log alone."""
    steps = y[clf.log_.rows, None] * X[clf.log_.rows]
    V = np.vstack([np.zeros((1, X.shape[1])), np.cumsum(steps, axis=0)])
    return V, np.diff([0, *clf.log_.rounds, clf.t_])


def naive_vote(V: Array, counts: Array, X: Array) -> Array:
    """Return the votes of all hypotheses, one after the other."""
    votes = np.zeros(len(X))
    for v, c in zip(V, counts, strict=True):
        votes += c * np.where(X @ v > 0, 1, -1)
    return votes


def vote_row(name: str) -> Row:
    """Return the line of a vote: the loop once, ours several times around it."""
    clf, X_test = trained(name), tests()
    V, counts = hypotheses(clf, *rows(CASES[name].rows))
    clf.decision_function(X_test[:500])  # compiled code is loaded
    ours, scores = best_of(partial(clf.decision_function, X_test))
    peer, votes = clock(partial(naive_vote, V, counts, X_test), process_time)
    same = np.array_equal(np.rint(scores * clf.t_), votes)
    note = (
        f"{len(counts) - 1:,} mistakes on {clf.n_support_:,} distinct rows, {clf.t_:,} rounds; "
        f"{'all votes the same' if same else 'votes DIFFER'}"
    )
    work = f"vote on {TESTS:,} rows, {name}"
    return Row(work, "a loop over stored v_k", ours, peer, CASES[name].goal, note, same)


def best_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the best time of a few calls, and the last result."""
    timed = [clock(work, process_time) for _ in range(BEST_OF)]
    return min(seconds for seconds, _ in timed), timed[-1][1]


def memory_row(name: str) -> Row:
    """Return the line of memory: the rows kept and what the vote takes beyond them, against all v_k."""
    sizes = in_child("benchmarks.votes", name)
    note = f"rows kept {sizes['kept'] / 1e6:.1f} MB, beyond them at most {sizes['peak'] / 1e6:.1f} MB"
    # Distinct rows are as many as the hypotheses, so that there only what a vote takes beyond them can be less.
    ours = sizes["peak"] + (sizes["kept"] if CASES[name].recurring else 0)
    return Row(f"memory of a vote, {name}", "all v_k, k x p", ours, sizes["hypotheses"], 1.0, note, unit="B")


def measure(name: str) -> dict[str, int]:
    """Return the bytes of the rows kept, the most that a vote takes beyond them, and those of all v_k."""
    clf, X_test = trained(name), tests()
    clf.decision_function(X_test[:500])
    gc.collect()
    tracemalloc.start()
    if CLEAR.exists():
        CLEAR.write_text("5")
    before = resident("VmRSS")
    clf.decision_function(X_test)
    grown = resident("VmHWM") - before
    traced = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    hypotheses = 8 * FEATURES * (len(clf.log_.rows) + 1)
    return {"kept": int(clf.support_bytes_), "peak": max(grown, traced), "hypotheses": hypotheses}


def naive_epoch(X: Array, y: Array, classes: int) -> tuple[Array, int]:
    """Return each machine's mistakes in one epoch of degree 2, and how many rows were mistaken.

    For each row: its kernel with all rows mistaken so far, at once, and the scores of all machines, at once.
    """
    support, dual = np.empty_like(X), np.empty((len(X), classes))
    mistakes, kept = np.zeros(classes, np.int64), 0
    for x, label in zip(X, y, strict=True):
        scores = (1.0 + support[:kept] @ x) ** 2 @ dual[:kept]
        signs = np.where(np.arange(classes) == label, 1.0, -1.0)
        wrong = signs * scores <= 0
        if wrong.any():
            support[kept], dual[kept] = x, wrong * signs
            kept += 1
            mistakes += wrong
    return mistakes, kept


def epoch_row(size: int | None = None) -> Row:
    """Return the line of one epoch on MNIST, both sides on the same rows."""
    X, y, _, _ = mnist()
    X, y = X[:size], y[:size]
    clf = KernelPerceptron(kernel="poly", degree=2, gamma=1.0, coef0=1.0, max_iter=1, shuffle=False)
    clf.fit(X[:500], y[:500])  # compiled code is loaded
    ours, _ = best_of(partial(clf.fit, X, y))
    peer, (mistakes, kept) = clock(partial(naive_epoch, X, y, len(clf.classes_)), process_time)
    same = np.array_equal(mistakes, clf.mistakes_) and kept == clf.n_support_
    note = f"{mistakes.sum():,} mistakes on {kept:,} rows, {'the same' if same else 'NOT the same'} on both sides"
    work = f"one epoch of degree 2, {len(X):,} x {X.shape[1]}, {len(clf.classes_)} classes"
    return Row(work, "numpy, a kernel row each", ours, peer, 4.0, note, same)


def lines(repeats: int) -> Iterator[Line]:
    """Yield the rows of this group; our side runs a few times, the other once, whatever the repeats."""
    for name in CASES:
        yield vote_row(name)
        yield memory_row(name)
        trained.cache_clear()
        rows.cache_clear()
    tests.cache_clear()
    try:
        yield epoch_row()
    except DataMissing as missing:
        yield Skip("one epoch of degree 2 on MNIST", str(missing))


if __name__ == "__main__":
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        print(json.dumps(measure(sys.argv[1])))
