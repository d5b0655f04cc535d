"""Two methods for the point of a convex hull nearest to the origin, and the bracket that they narrow.

Coordinate descent is quick where many rows bear weight, and slow to finish; Wolfe's algorithm finishes, to rounding,
and is slow where many rows bear weight.
"""

import math
import time
from collections.abc import Callable

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers import BracketWatch
from linsep.solvers.margin.coordinate_descent import GONE, NEIGHBOURS, one_pass, pull_of
from linsep.solvers.margin.hull import EPS, Corral, Points
from linsep.solvers.products import freeze

MOST, FULL = 2048, 1536
"""Rows of the largest working set, whose two square tables take 64 MiB; and how many of them may bear weight."""
FEWEST = 16
"""Rows that are taken in at a step, at least; a quarter of the corral if that is more."""
BURST = 8
"""Passes of coordinate descent between two proofs; twice as many once a w separates."""
SWIFT = 100
"""The bias moves in a pass as if so many rows moved it at once."""
KEPT = 0.25
"""Rows without weight leave the passes of a burst if their slope is above this share of the largest violation."""
IDLE, PROGRESS = 20, 1e-3
"""After so many proofs that did not narrow the bracket by this share, rounding is taken to be in the way."""
PATIENCE = 32
"""Passes in which the rows on the wrong side are to become half as many, once the margin is known to be too small."""
TIGHT, DRIFT = 1e-4, 1e-13
"""The share of the largest row below which a point is summed with care, and how far lambda's sum may be from 1."""
TAME = 1e-100
"""Rows shorter than this or longer than its inverse are left to Wolfe's algorithm, which has a unit of its own."""


class MarginBracket:
    """The bounds of the margin so far, in the points' unit, and the budget."""

    def __init__(
        self, points: Points, tol: float, zero: float, budget: int, *, enough: float = 0.0, lasting: bool = True,
        deadline: float | None = None, watch: BracketWatch | None = None,
    ) -> None:  # fmt: skip
        self.points, self.tol, self.zero, self.budget = points, tol, zero, budget
        self.enough, self.lasting = enough * points.scale, lasting
        self.deadline, self.watch = math.inf if deadline is None else deadline, watch
        self.wrong, self.hoped = math.inf, 0
        self.lower, self.upper, self.before = -points.radius, np.inf, np.inf
        self.rounding = points.rounding()
        self.dual = np.zeros(len(points.signs))
        self.unit = np.zeros(points.data.n_features + 1)
        self.nearest = np.zeros(points.groups)
        self.passes = self.idle = 0
        self.apart, self.shortest, self.stuck = np.inf, np.inf, False
        self.history: list[tuple[float, float]] = []

    def prove(self, dual: Array, rest: Array | None = None) -> tuple[Array, float]:
        """Sum v again and pass over all rows to see what it proves; return the slopes z_i·v and ||v||.

        `rest` is what rounding took from lambda: where rows nearly cancel out, it is not little beside v.
        """
        points = self.points
        v = points.point(dual)
        if rest is not None and np.sum(np.square(v)) < (TIGHT * points.radius) ** 2:
            v += points.point(rest)
        length = math.sqrt(np.sum(np.square(v)))
        slopes = points.slopes(v)
        self.before = self.upper
        if length < self.upper * points.groups:
            self.upper, self.dual = length / points.groups, dual.copy()
        if length > 0.0:
            nearest = np.array([slopes[points.group == c].min() for c in range(points.groups)]) / length
            if nearest.mean() > self.lower:
                self.lower, self.nearest, self.unit = float(nearest.mean()), nearest, v / length
        now, then = (self.upper - self.lower, length), (self.apart, self.shortest)
        self.idle = self.idle + 1 if all(np.greater_equal(now, (1.0 - PROGRESS) * np.array(then))) else 0
        self.apart, self.shortest = then if self.idle else now
        self.passes += 1
        wrong = int(np.count_nonzero(slopes <= 0.0))
        if 2 * wrong <= self.wrong or self.upper > self.enough:
            self.wrong, self.hoped = wrong, self.passes
        if self.watch is not None and (self.lower, self.upper) != (self.history or [(0.0, 0.0)])[-1]:
            self.watch(self.lower / points.scale, self.upper / points.scale)
        self.history.append((self.lower, self.upper))
        return slopes, length

    def begin(self, passes: int = 0) -> Callable[[], bool]:
        """Return whether a turn that begins now is over: all is done, it made no progress, or so many passes."""
        self.idle, self.shortest = 0, np.inf
        last = self.passes + passes if passes else self.budget
        return lambda: self.done() or self.idle >= IDLE or self.passes >= last

    @property
    def separates(self) -> bool:
        """Return whether the w of the lower bound separates by more than rounding."""
        return self.lower > self.rounding

    @property
    def vanished(self) -> bool:
        """Return whether v is 0, up to the tolerance."""
        return not self.separates and self.upper <= self.zero * self.points.radius

    def proved(self) -> bool:
        """Return whether the bracket is as narrow as asked, or v is 0 and no longer halved."""
        if self.separates:
            return self.upper - self.lower <= self.tol * self.upper or self.upper <= self.enough
        return self.vanished and (self.upper > self.before / 2 or self.upper <= EPS * self.points.radius)

    def done(self) -> bool:
        """Return whether there is nothing left to do, or to do it with."""
        over = self.passes >= self.budget or self.stuck or self.proved()
        return over or self.hopeless() or time.monotonic() >= self.deadline

    def hopeless(self) -> bool:
        """Return whether no larger margin is useful, no w separates, and the best w has long not improved."""
        return not self.lasting and not self.separates and self.passes - self.hoped >= PATIENCE


class HardDescent:
    """Dual coordinate descent without a bound on the variables: a few passes bring most of the way.

    a_i >= 0 maximises sum of a_i - ½ ||sum of a_i z_i||², which is largest at a multiple of the best lambda. The bias
    moves little within a pass and catches up after it: as a feature like all others, common to all rows, it would slow
    down all of them. A free bias is the multiplier of sum of a_i y_i = 0.
    """

    def __init__(self, bracket: MarginBracket, data: Dense | Csr, seed: int) -> None:
        points = self.points = bracket.points
        self.bracket, self.data, self.rng = bracket, data, np.random.default_rng(seed)
        self.tame = TAME <= points.radius / points.scale <= 1.0 / TAME
        self.free = points.groups == 2
        squares = np.square(points.norms / points.scale) if self.tame else points.norms
        squares = squares - (0.0 if self.free else data.bias**2)
        present, bias = squares[points.present], data.bias
        self.pull = pull_of(bias, float(np.mean(present)), len(present), SWIFT, self.free) if bias else 0.0
        self.squares = freeze(squares + self.pull * data.bias)
        self.signs, self.costs = freeze(points.signs), freeze(np.full(len(squares), np.inf))
        self.dual, self.weights = np.zeros(len(squares)), np.zeros(data.n_features + 1)
        self.length = np.inf

    def begin_with(self, start: Array) -> None:
        """Begin with a multiple of some lambda, at the scale that is best for it."""
        v = self.points.point(start) / self.points.scale
        if self.tame and (square := float(v @ v)) > 0.0:
            scale = float(np.sum(start)) / square
            self.dual, self.weights = start * scale, v * scale
            if self.free:
                self.weights[-1] = 0.0
            self.length = self.bracket.prove(self.shares())[1]

    @property
    def support(self) -> int:
        """The number of rows with a weight."""
        return int(np.count_nonzero(self.dual))

    def take_turn(self, passes: int) -> None:
        """Make so many passes, or fewer if that is enough."""
        over = self.bracket.begin(passes)
        while self.tame and not over():
            length = 2 * BURST if self.bracket.separates else BURST
            self._burst(min(length, self.bracket.budget - self.bracket.passes))
            self.length = self.bracket.prove(self.shares())[1]

    def shares(self) -> Array:
        """Return lambda, each group's sum 1."""
        return self.dual / np.bincount(self.points.group, self.dual)[self.points.group]

    def _burst(self, passes: int) -> None:
        """Pass over the rows that are still in play."""
        kernel = one_pass(Csr if isinstance(self.data, Csr) else Dense)
        rows, high = np.flatnonzero(self.points.present), np.inf
        for _ in range(passes):
            blocks = self.rng.permutation(-(-len(rows) // NEIGHBOURS))
            _, _, most, _ = kernel(
                tuple(self.data), self.signs, self.costs, self.squares, self.dual, self.weights, rows, blocks, False,
                self.pull, -np.inf, high,
            )  # fmt: skip
            rows, high = rows[rows != GONE], KEPT * most if most > 0.0 else np.inf
            wanted = self.data.bias * float(self.dual @ self.signs)
            if self.free:
                self.weights[-1] += self.pull / self.data.bias * wanted
            elif self.pull != self.data.bias:
                self.weights[-1] += self.pull / self.data.bias * (wanted - self.weights[-1])
        self.bracket.passes += passes


class WolfeSearch:
    """Wolfe's algorithm on a working set: exact in the end, where few rows bear weight."""

    def __init__(self, bracket: MarginBracket) -> None:
        self.bracket, self.points = bracket, bracket.points
        norms = np.where(self.points.present, self.points.norms, np.inf)
        groups = range(self.points.groups)
        shortest = [np.argmin(np.where(self.points.group == c, norms, np.inf)) for c in groups]
        self._start(np.array(shortest), np.ones(len(groups)))

    def _start(self, rows: Array, weights: Array) -> None:
        self.corral = Corral(self.points.groups, self.points.radius**2, MOST)
        self.corral.take(rows, self.points.group[rows], self.points.products)
        self.dual = np.zeros(len(self.points.signs))
        self.dual[rows] = weights
        self.rest = np.zeros(len(self.dual))
        self.length, self.small = np.inf, True

    def restart_from(self, descent: HardDescent) -> None:
        """Restart from the dual variables of `descent` if they are closer and their weights separate."""
        if self.bracket.separates and descent.length < self.length:
            shares = descent.shares()
            rows = np.flatnonzero(shares)
            self._start(rows, shares[rows])

    def take_turn(self, passes: int = 0, room: int = MOST) -> None:
        """Run Wolfe's algorithm until it converges, the corral exceeds `room`, or `passes` are used up.

        If a step makes no progress, rounding prevents it, unless rows had to be released.
        """
        over, in_time = self.bracket.begin(), self.bracket.begin(passes)
        while True:
            slopes, self.length = self.bracket.prove(self.dual, self.rest)
            if over() or self.corral.size > room or (not self.small and in_time()):
                break
            self._step(slopes)
        self.bracket.stuck = self.small and self.bracket.idle >= IDLE

    def _step(self, slopes: Array) -> None:
        """Take rows in and go down to the best point of the working set."""
        points, corral, length = self.points, self.corral, self.length
        slack = max(0.1 * self.bracket.tol * length**2 / points.groups, 4 * EPS * points.radius * length)
        rows = self._entering(slopes, max(FEWEST, corral.size // 4), slack)
        if len(corral.rows) + len(rows) > MOST:
            self._make_room()
        if len(rows):
            corral.take(rows, points.group[rows], points.products)
        inside = corral.rows
        self.dual[inside], lost = corral.descend(self.dual[inside], slopes[inside], slack, 100 + 20 * len(inside))
        self.rest[inside] = np.where(self.dual[inside] > 0.0, self.rest[inside] + lost, 0.0)
        sums = np.bincount(points.group, self.dual)
        if np.abs(sums - 1.0).max() > DRIFT:
            self.dual /= sums[points.group]

    def _entering(self, slopes: Array, most: int, slack: float) -> Array:
        """Return rows outside of the working set: in each group the lowest, and the highest of those with a weight."""
        inside, held = np.zeros(len(self.dual), np.bool_), self.dual > 0.0
        inside[self.corral.rows] = True
        found = []
        for c in range(self.points.groups):
            ours = self.points.group == c
            level = self.dual[held & ours] @ slopes[held & ours]
            low = np.where(ours & ~inside, level - slopes, 0.0)
            high = np.where(ours & ~inside & held, -low, 0.0)
            found += [_largest(off, most // self.points.groups, slack) for off in (low, high)]
        return np.sort(np.concatenate(found))

    def _make_room(self) -> None:
        """Drop rows without weight; if too many have weight, also every second row: dropped rows keep their weights."""
        held = np.flatnonzero(self.dual[self.corral.rows])
        if len(held) <= FULL:
            self.corral.keep(held)
            return
        self.small = False
        group = self.corral.group[held]
        self.corral.keep(np.concatenate([held[group == c][::2] for c in np.unique(group)]))


def _largest(amounts: Array, most: int, above: float) -> Array:
    """Return the places of the largest amounts, all of them above a bound."""
    places = np.flatnonzero(amounts > above)
    return places[np.argpartition(amounts[places], -most)[-most:]] if len(places) > most else places
