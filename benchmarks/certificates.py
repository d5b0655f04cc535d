"""Certificates: what `certify` proves of large data and of known ones, how fast, and how fast anyone can check it.

Two sparse sets of 200,000 rows, one with a share of wrong labels and one that is separable by a hair. The time of
`certify` is held against one run of LIBLINEAR -s 1 at its own tolerance of 0.1 (through scikit-learn's LinearSVC), of
which it may take 20; the note tells the verdict and the margins' brackets. The gap of a bound is how much less another
witness could prove, and may be 1 %; the note lists the bounds. A margin is followed down to where its bound says no
more than that every round may be a mistake, so that bounds beyond that do not count. Memory is what `certify` takes
beyond the data, against a number of bytes for each row and each feature, and for a block of rows. `verify` has a
minute; the note tells the certificate's size.

Real sets: what `certify` takes, in seconds of those that it may, and the verdict that is known. Then one pass of the
perceptron over the rows as they stand, with a bias of 1, and MNIST's pixels from 0 to 255: its mistakes, against the
least bound of the Delta trick, in a certificate that is verified.

`python -m benchmarks.certificates runs [name]` prints a table of whole runs of several epochs: sizes, and the processor
time of the training, of its certificate (with 20 s of search), of `verify`, and of the replay in it. PYTHONPATH chooses
the sources measured.
"""

import gc
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from time import process_time
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import linsep
from benchmarks import data
from benchmarks.batch import svc
from benchmarks.data import Array, DataMissing
from benchmarks.memory import CLEAR, bytes_of, resident
from benchmarks.timing import Line, Row, Skip, clock, in_child
from linsep.certificates.replay import Replay
from linsep.certificates.schema import ProblemKey
from linsep.theory.bounds import fall

MADE: dict[str, dict[str, float]] = {
    "zipf, noise 2 %": {"noise": 0.02},
    "zipf, gap 0.001": {"noise": 0.0, "gap": 0.001},
}
"""The sparse sets, by what they are made with."""
TIMES, MINUTE, GAP = 20, 60.0, 1.0
"""Runs of LIBLINEAR that `certify` may take, seconds that `verify` may, and per cent that a bound may be too large."""
A_ROW, A_BLOCK = 1024, 1 << 26
"""Bytes that a row or a feature may take, and the rows that are at hand at one time."""
TOL = 0.1
"""LIBLINEAR's own tolerance for -s 1."""
PASSES = 10
"""Passes for which `certify` states a bound beside that for one."""
SURE = "separable"


class Known(NamedTuple):
    """A real set: where it comes from, the verdict, seconds that `certify` may take; mistakes and bound if known."""

    rows: Callable[[], tuple[Any, Array]]
    verdict: str
    seconds: float
    mistakes: int | None = None
    bound: float | None = None


def digits(one: int, other: int) -> tuple[Array, Array]:
    """Return two of MNIST's digits as they are stored, in the order of the file."""
    X, y, _, _ = data.mnist()
    chosen = (y == one) | (y == other)
    return np.rint(255.0 * X[chosen].astype(np.float64)), y[chosen]


REAL = {
    "a9a": Known(partial(data.two_classes, "a9a"), "not separable", 10.0),
    "agaricus": Known(partial(data.two_classes, "agaricus"), SURE, 10.0),
    "rcv1_small_vw": Known(partial(data.two_classes, "rcv1_small_vw"), SURE, 10.0),
    "MNIST 0 v 1": Known(partial(digits, 0, 1), SURE, 60.0, 42, 331.7),
    "MNIST 4 v 9": Known(partial(digits, 4, 9), "not separable", 60.0, 727, 3143.7),
}
"""The real sets."""


def parity() -> tuple[Array, Array]:
    """Return all of MNIST's digits as they are stored, and whether each is odd."""
    X, y, _, _ = data.mnist()
    return np.rint(255.0 * X.astype(np.float64)), y % 2


RUNS: dict[str, tuple[Callable[[], tuple[Any, Array]], int]] = {
    "agaricus": (partial(data.two_classes, "agaricus"), 10),
    "a9a": (partial(data.two_classes, "a9a"), 10),
    "MNIST, odd or even": (parity, 10),
    "zipf, noise 2 %": (partial(data.zipf, noise=0.02), 5),
}
"""The runs of the table, and their epochs."""
SEARCH = 20.0
"""Seconds of search for the witnesses of a run."""


def runs(names: list[str]) -> Iterator[str]:
    """Yield the lines of the table of runs."""
    times = "training | certificate | verify | of it replay | verify / training | replay / training"
    yield f"| rows | size | rounds | updates | {times} | file |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for name, (rows, epochs) in RUNS.items():
        if names and name not in names:
            continue
        X, y = rows()
        clf = linsep.Perceptron(max_iter=epochs, tol=None, random_state=0, log=True)
        clf.fit(X[:500], y[:500])
        training = min(clock(partial(clf.fit, X, y), process_time)[0] for _ in range(3))
        making, cert = clock(partial(clf.certificate, X, y, time_limit=SEARCH), process_time)
        (checking, result), replaying = clocked_replay(partial(linsep.verify, cert, X, y))
        run = cert.facts["runs"].get("run", {"rounds": 0, "updates": []})
        proof = f"{checking:.1f} s{'' if result and cert.runs else ', NOT verified'}"
        counts = f"{X.shape[0]:,} x {X.shape[1]:,} | {run['rounds']:,} | {len(run['updates']):,}"
        ratios = f"{checking / training:.1f} | {replaying / training:.1f}"
        times = f"{training:.3f} s | {making:.1f} s | {proof} | {replaying:.1f} s | {ratios}"
        yield f"| {name} | {counts} | {times} | {len(cert.text()) / 1e6:.2f} MB |"


def clocked_replay(call: Callable[[], Any]) -> tuple[tuple[float, Any], float]:
    """Return (processor time of a call, its result), and the processor time of the replays in it."""
    took, play = list[float](), Replay.all

    def timed(self: Replay, orders: Any) -> Any:
        seconds, found = clock(partial(play, self, orders), process_time)
        took.append(seconds)
        return found

    with patch.object(Replay, "all", timed):
        return clock(call, process_time), sum(took)


@cache
def made(name: str) -> tuple[Any, Array]:
    """Return a sparse set, made once a run."""
    return data.zipf(**MADE[name])  # type: ignore[arg-type]


class Bound(NamedTuple):
    """A bound that is proved, by how many per cent it may exceed the least one, and whether that counts."""

    value: float
    gap: float
    counts: bool


def gaps(cert: Any, problem: str, entries: float) -> dict[str, Bound]:
    """Return the bounds of a problem; one above the number of rounds, which are ten passes, is of no use.

    The best bias is the perceptron's: Winnow's bounds with it follow from other witnesses, and are not counted either.
    """
    found, rounds = {}, PASSES * cert.facts["data"]["rows"]
    for name, value in cert.bounds(problem).items():
        if name.startswith("perceptron ("):
            passes = name.removeprefix("perceptron ")
            ratio = value / cert.number(f"the least such bound {passes} at least", problem)
        else:
            low, high = (cert.number(f"{name}'s margin at {side}", problem) for side in ("least", "most"))
            ratio = (high / low) ** 2 if name == "perceptron" else fall(high, entries) / fall(low, entries)
        sought = name.startswith("perceptron") or ProblemKey.parse(problem).kind != "best bias"
        found[name] = Bound(value, 100 * (ratio - 1), value <= rounds and sought)
    return found


def all_gaps(cert: Any, X: Any) -> dict[str, dict[str, Bound]]:
    """Return the bounds of all problems."""
    largest = float(np.abs(X.data if hasattr(X, "indptr") else X).max())
    problems = cert.facts["problems"]
    return {name: gaps(cert, name, max(largest, known["bias"])) for name, known in problems.items()}


def bracket(cert: Any) -> str:
    """Return the verdict and the brackets of the margins, with the bias."""
    margins = [
        f"{cert.number(f'{whose} margin at least'):.4g}..{cert.number(f'{whose} margin at most'):.4g}"
        for whose in ("perceptron's", "Winnow's", "balanced Winnow's")
    ]
    return f"{cert.verdict}; margins L2 {margins[0]}, simplex {margins[1]}, L1 {margins[2]}"


def widest(work: str, found: dict[str, Bound]) -> Row:
    """Return the row of the widest gap of a problem's bounds."""
    texts = [
        f"{name} {bound.value:,.1f} ({bound.gap:.2f} %{'' if bound.counts else ', not counted'})"
        for name, bound in found.items()
    ]
    gap = max(bound.gap for bound in found.values() if bound.counts)
    return Row(f"bounds of {work}: the widest gap", f"{GAP:g} %", gap, GAP, 1.0, "; ".join(texts), unit="%")


def certified(name: str) -> Iterator[Line]:
    """Yield the rows of a sparse set."""
    X, y = made(name)
    X64 = X.astype(np.float64)  # LIBLINEAR takes no other
    linsep.certify(X[:20_000], y[:20_000], passes=1)  # compiled code is loaded
    peer = partial(svc("squared_hinge", TOL).fit, X64, y)
    before, _ = clock(peer, process_time)
    ours, cert = clock(partial(linsep.certify, X, y, passes=PASSES), process_time)
    theirs = min(before, *(clock(peer, process_time)[0] for _ in range(2)))
    yield Row(f"certify {name}", f"LIBLINEAR -s 1, {TIMES} runs", ours, theirs, 1 / TIMES, bracket(cert))
    for problem, found in all_gaps(cert, X).items():
        yield widest(f"{name}, {problem}", found)
    checking, result = clock(partial(linsep.verify, cert, X, y), process_time)
    size = len(json.dumps(cert.facts)) / 1e6
    note = f"certificate of {size:.1f} MB, {len(result.checks)} claims"
    yield Row(f"verify {name}", "a minute", checking, MINUTE, 1.0, note, bool(result))


def memory(name: str) -> Line:
    """Return the row of memory, measured in a process of its own."""
    if not CLEAR.exists():
        return Skip(f"peak memory: certify {name}", "this system does not tell the peak")
    sizes = in_child("benchmarks.certificates", name)
    note = f"data {sizes['data'] / 1e6:.0f} MB"
    against = f"{A_BLOCK >> 20} MiB, and {A_ROW:,} bytes a row and feature"
    return Row(f"peak memory: certify {name}", against, sizes["peak"], sizes["allowed"], 1.0, note, unit="B")


def measure(name: str) -> dict[str, int]:
    """Return what `certify` takes beyond the data, as the system counts it, and what it may.

    To trace what Python allocates, as other groups do, would take ten times as long: the checker's integers are many.
    """
    X, y = made(name)
    linsep.certify(X[:20_000], y[:20_000], passes=1)
    gc.collect()
    CLEAR.write_text("5")
    before = resident("VmRSS")
    linsep.certify(X, y, passes=PASSES)
    peak = resident("VmHWM") - before
    return {"peak": peak, "allowed": A_BLOCK + A_ROW * sum(X.shape), "data": bytes_of(X.data, X.indices, X.indptr)}


def known(name: str) -> Iterator[Line]:
    """Yield the rows of a real set: its certificate, and that of one pass of the perceptron."""
    real = REAL[name]
    X, y = real.rows()
    linsep.certify(X[:500], y[:500], passes=1)
    seconds, cert = clock(partial(linsep.certify, X, y, passes=PASSES), process_time)
    right = cert.verdict == real.verdict and bool(linsep.verify(cert, X, y))
    against = f"{real.seconds:g} seconds"
    yield Row(f"certify {name}", against, seconds, real.seconds, 1.0, bracket(cert), right)
    for problem, found in all_gaps(cert, X).items():
        yield widest(f"{name}, {problem}", found)
    clf = linsep.Perceptron(max_iter=1, shuffle=False).fit(X, y)
    seconds, run = clock(partial(clf.certificate, X, y), process_time)
    k, bound = run.claims["run: mistakes"], run.number("perceptron's mistakes (T = 1) at most")
    checked = bool(linsep.verify(run, X, y))
    right = checked and k == clf.mistakes_
    if real.mistakes is not None and real.bound is not None:
        right = right and k == real.mistakes and abs(bound / real.bound - 1) <= GAP / 100
    proof = "verified" if checked else "NOT verified"
    note = f"k = {k:,} <= {bound:,.1f}, {proof}; certified in {seconds:.1f} s"
    yield Row(f"mistakes of a pass over {name}", "the Delta trick", k, bound, 1.0, note, right, unit="")


def lines(repeats: int) -> Iterator[Line]:
    """Yield the rows of this group; each certificate is made once, whatever the repeats."""
    for name in MADE:
        yield from certified(name)
        yield memory(name)
    for name in REAL:
        try:
            yield from known(name)
        except DataMissing as missing:
            yield Skip(f"certify {name}", str(missing))


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if sys.argv[1] == "runs":
            for line in runs(sys.argv[2:]):
                print(line, flush=True)
        else:
            print(json.dumps(measure(sys.argv[1])))
