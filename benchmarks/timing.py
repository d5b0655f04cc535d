"""How two sides are timed, and what a row of the table holds.

All ratios are read the same way: peer / ours, so that more is better and a goal is the least ratio that
will do ("within 1.5 x" is a goal of 1 / 1.5).
"""

import gc
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Generic, TypeVar

Ours = TypeVar("Ours")
Peer = TypeVar("Peer")
Timer = Callable[[], float]

ROOT = Path(__file__).resolve().parent.parent
ENOUGH = 45.0
"""Seconds after which a race ends although it has not had all its rounds."""
FEWEST = 3
"""Rounds that every race has, the one that warms up included."""
LEAST = 0.4
"""Seconds of racing for each repeat asked for: short works, which noise hurts most, get more rounds."""


@dataclass(frozen=True)
class Row:
    """One line of the table: two measurements of the same work and the ratio that is wanted.

    `holds` is false where a condition beside the ratio is broken, such as equal mistakes; `note` shows what
    was compared. `unit` is "s", "B", "%" or "" (a count).
    """

    work: str
    against: str
    ours: float
    peer: float
    goal: float
    note: str = ""
    holds: bool = True
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """How many times less than the peer we need."""
        return self.peer / self.ours

    @property
    def reached(self) -> bool:
        """Whether the goal and the conditions beside it are met."""
        return self.holds and self.ratio >= self.goal


@dataclass(frozen=True)
class Skip:
    """A line of the table that could not be measured, and why."""

    work: str
    why: str


Line = Row | Skip


@dataclass(frozen=True)
class Race(Generic[Ours, Peer]):
    """The best times of the two sides in seconds, and what each returned in its last round."""

    ours: float
    peer: float
    our_result: Ours
    peer_result: Peer


def clock(work: Callable[[], Any], timer: Timer) -> tuple[float, Any]:
    """Return the seconds that a call takes and its result; garbage is collected before it begins."""
    gc.collect()
    begin = timer()
    result = work()
    return timer() - begin, result


def in_child(module: str, *arguments: str) -> Any:
    """Return what a module of the benchmarks prints as JSON when it runs in a process of its own."""
    child = [sys.executable, "-m", module, *arguments]
    return json.loads(subprocess.run(child, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


def amount(value: float, unit: str) -> str:
    """Return a measurement for the eye.

    >>> amount(0.0123, "s"), amount(2.5e6, "B"), amount(1.234, "%"), amount(1234, "")
    ('12.3 ms', '2.5 MB', '1.23 %', '1,234')
    """
    if unit != "s":
        return f"{value / 1e6:.1f} MB" if unit == "B" else f"{value:.2f} %" if unit == "%" else f"{value:,.0f}"
    scale, name = next(((k, n) for k, n in ((1.0, "s"), (1e3, "ms")) if value * k >= 1), (1e6, "µs"))
    return f"{value * scale:.3g} {name}"


def goes_on(rounds: int, repeats: int, elapsed: float) -> bool:
    """Tell whether a race has another round."""
    return elapsed < LEAST * repeats or (rounds <= repeats and elapsed < ENOUGH)


def race(
    ours: Callable[[], Ours], peer: Callable[[], Peer], repeats: int, timer: Timer = process_time
) -> Race[Ours, Peer]:
    """Time the two sides in turns, so that a noisy moment hits both, and keep the best of each.

    The timer is the processor time of all threads unless told otherwise. For one thread on a quiet machine
    that is the time on the wall; on a busy one the wall favours the shorter work, which finds a free moment
    more often. One round more than asked for is run: the first compiles, loads and fills caches on both
    sides, and as the slowest it does not count unless it was a side's best all the same.
    """
    began = perf_counter()
    best_ours = best_peer = inf
    rounds = 0
    while rounds < FEWEST or goes_on(rounds, repeats, perf_counter() - began):
        seconds, our_result = clock(ours, timer)
        best_ours = min(best_ours, seconds)
        seconds, peer_result = clock(peer, timer)
        best_peer = min(best_peer, seconds)
        rounds += 1
    return Race(best_ours, best_peer, our_result, peer_result)
