"""Replay a run, every round of it: which rows were updated follows from the order, the rule and the data.

A run in a file is an order of the rows and the numbers of the rounds with an update. Where labels arrived one by one,
a class competes from its first row on. Sums of updates v are kept as
integers times a power of two, beside their nearest floats. A block of rounds is one product with the floats at its
start, and one with the rows that are added within it. With n terms, a float product differs from the exact one by less
than (n + 4) 2^-53 sum |x||v| <= (n + 4) 2^-53 ||x|| ||v||: scores beyond that are decided, all others are computed in
integers, and so are the scores of all listed rounds. A listed round must be an update of the rule, and no other round
may be one; a round whose score is next to 0, up to 1e-9 of the sum of its terms' sizes, may be either, as the
training's floats are rounded: such rounds are counted, and a claim states how many they are.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .checker import SignedProblem

Array = np.ndarray[Any, Any]
Facts = dict[str, Any]
MOST_ROUNDS, MOST_PRODUCTS = 256, 1 << 18
"""Rounds in a block, and the entries of its rows."""
BLOCKED = 64
"""Rows that shuffle="blocks" keeps together."""
ROUNDING = 10**9
"""A score is next to 0 if it is less than the sum of its terms' sizes divided by this."""
STEP_BITS = 80
"""Steps of passive-aggressive are rounded to multiples of 2^-80 / R², or less."""


class Exact(NamedTuple):
    """A row in integers, times its sign where classes have signs."""

    columns: Array
    z: Array
    norm2: int


class Event(NamedTuple):
    """A round that was computed exactly: an update, or one whose score is next to 0."""

    row: int
    """The signed row."""
    listed: bool
    """True for an update of the run."""
    score: int
    """Its score before the round."""
    step: int
    """The factor of the row when it was added; 0 if it was not added."""
    norm2: int
    """||v||² after the round."""


class Replayed(NamedTuple):
    """A run, replayed."""

    events: list[Event]
    rounded: int
    """The rounds that were decided by rounding, and no other way."""
    missed: int
    """Those of them that are not listed."""
    one: int
    """The number 1 in units of the scores; 0 if all steps are 1."""
    sums: str
    """The SHA-256 of the sums of the updates, in float64 as the training adds them."""
    order: str
    """The SHA-256 of the orders of all epochs until one without an update."""


def permutation(order: Facts, epoch: int, n: int) -> Array:
    """Return the order of an epoch as the training draws it, with numpy's generator."""
    rng = np.random.default_rng([order["seed"], 0 if order["shuffle"] == "once" else epoch])
    if order["shuffle"] != "blocks":
        return rng.permutation(n)
    starts = BLOCKED * rng.permutation(-(-n // BLOCKED))
    rows = np.add.outer(starts, rng.permutation(BLOCKED)).ravel()
    return rows[rows < n]


def epochs_of(run: Facts, n: int, given: Iterable[Any] | None) -> Iterator[Array]:
    """Return the rows of each epoch in order: those given, or else those that the run's order says."""
    order, left = run["order"], iter(given) if given is not None else None
    for epoch in range(run["passes"]):
        rows = np.arange(n)
        if order != "rows" and epoch < order["epochs"]:
            rows = permutation(order, epoch, n) if left is None else np.array(next(left, ()), np.int64)
            if not np.array_equal(np.bincount(rows, minlength=n), np.ones(n)):
                raise ValueError("an order that was given is no permutation of the rows")
        yield rows[: run["rounds"] - epoch * n]


def nearest(values: Array, exponent: int) -> Array:
    """Return the floats that are nearest to integers times a power of two."""
    try:
        return np.ldexp(values.astype(np.float64), exponent)
    except OverflowError:
        flat = [float(int(v) * Fraction(2) ** exponent) for v in values.ravel()]
        return np.array(flat).reshape(values.shape)


def length(values: Array, axis: int | None = None) -> Any:
    """Return the Euclidean norm, wherever its square may lie."""
    most = np.abs(values).max(axis=axis, keepdims=True, initial=0.0)
    sizes = np.sqrt(np.square(values / np.where(most, most, 1.0)).sum(axis=axis, keepdims=True)) * most
    return sizes.squeeze(axis) if axis is not None else float(sizes.ravel()[0])


class Image:
    """The weights that sums mean, up to a factor, in floats: e^(rate s), its difference with e^(-rate s), |s|^(P-1).

    `plain` columns have no weight for -x. `slack` is how far a weight may be off, in units of `sizes` and 2^-53.
    """

    def __init__(self, near: Array, rate: float, plain: int, power: float = 0.0) -> None:
        self.near, self.rate, self.plain, self.power, self.origin = near, rate, plain, power, 0.0
        self.weights, self.sizes, self.slack = np.zeros(len(near)), np.zeros(len(near)), 0.0
        self.refresh(np.arange(len(near)))

    def refresh(self, columns: Array) -> None:
        """Compute the weights of columns whose sums have changed; of all where the factor must change."""
        s = self.near[columns, 0]
        most = float(np.abs(s).max(initial=0.0))
        if self.power:
            if most > self.origin:
                self.origin, columns, s = 2 * most, np.arange(len(self.near)), self.near[:, 0]
            self.sizes[columns] = (np.abs(s) / (self.origin or 1.0)) ** (self.power - 1)
            self.weights[columns], self.slack = np.sign(s) * self.sizes[columns], 6 * self.power
            return
        if self.rate * most > self.origin + 300:
            self.origin, columns, s = self.rate * most, np.arange(len(self.near)), self.near[:, 0]
        up, down = np.exp(self.rate * s - self.origin), np.exp(-self.rate * s - self.origin)
        down[columns < self.plain] = 0.0
        self.weights[columns], self.sizes[columns] = up - down, up + down
        self.slack = 12 * (self.origin + 300)


class Replay:
    """A run on the signed rows of a problem, between two of its blocks."""

    def __init__(self, problem: "SignedProblem", run: Facts, image: Callable[[Array], Image] | None = None) -> None:
        self.problem, self.run, self.rivals = problem, run, problem.n // problem.rows.n
        self.X, self.p, self.beta, columns = problem.rows.X, problem.rows.p, problem.beta, 1
        columns = self.rivals + 1 if problem.pairs else 1
        self.norms = problem.rows.norms(self.beta)
        self.sparse = hasattr(self.X, "indptr")
        self.longest = int(np.diff(self.X.indptr).max(initial=0)) if self.sparse else self.p
        self.v = np.zeros((self.p + 1, columns), object)
        self.near, self.floats = np.zeros((self.p + 1, columns)), np.zeros((self.p + 1, columns))
        self.image = None if image is None else image(self.near)
        self.norm2, self.rounded, self.missed = 0, 0, 0
        self.first = np.zeros(max(columns, 2), np.int64)
        if run.get("arrive"):
            self.first = np.unique(problem.rows.codes, return_index=True)[1]
        self.passive, self.small, self.one, self.soft, self.top = False, 0, 0, Fraction(), 0
        if run["theorem"] == "passive_aggressive":
            self.set_steps(run["C"], run["first"])

    def set_steps(self, C: float | None, first: bool) -> None:
        """Let steps be those of passive-aggressive, in units of 2^small: loss / ||x||², or less where C says so."""
        low, most = self.problem.low, math.frexp(self.problem.entry * math.sqrt(self.problem.p))[1]
        self.passive, self.small = True, -STEP_BITS - 2 * most
        self.one = 1 << -(2 * low + self.small)
        if C is not None and first:
            self.top = int(Fraction(C) / Fraction(2) ** self.small)
        elif C is not None:
            self.soft = Fraction(2) ** (-2 * low) / (2 * Fraction(C))

    def step(self, score: int, norm2: int) -> int:
        """Return what a row is multiplied by in an update: 1, or passive-aggressive's tau."""
        if not self.passive or not norm2:
            return 1
        loss = max(self.one - score, 0)
        step = round(loss / (norm2 + self.soft)) if self.soft else (2 * loss + norm2) // (2 * norm2)
        return min(step, self.top) if self.top else step

    def integers(self, X: Any, rows: Array) -> list[Exact]:
        """Return rows in integers, their signs and their constant feature included."""
        if self.sparse:
            counts, columns, values = np.diff(X.indptr), X.indices, X.data
        else:
            which, columns = np.nonzero(X)
            counts, values = np.bincount(which, minlength=len(rows)), X[which, columns]
        if self.beta:  # the constant feature is a row's last entry
            ends = np.cumsum(counts)
            columns, values = np.insert(columns, ends, self.p), np.insert(values, ends, self.beta)
            counts = counts + 1
        m, e = np.frexp(values if self.problem.pairs else values * np.repeat(self.problem.sign[rows], counts))
        e, m = e.astype(np.int64) - 53 - self.problem.low, (m * 2.0**53).astype(np.int64)
        if len(e) and e.max() <= 9:
            z = (np.left_shift(m, np.clip(e, 0, 9)) >> np.clip(-e, 0, 63)).astype(object)
        else:
            z = (m.astype(object) << np.maximum(e, 0)) >> np.maximum(-e, 0)
        cuts, sums = [0, *np.cumsum(counts).tolist()], [0, *np.cumsum(z * z).tolist()]
        return [Exact(columns[a:b], z[a:b], sums[b] - sums[a]) for a, b in pairwise(cuts)]

    def score(self, row: int, x: Exact, rival: int) -> tuple[int, int]:
        """Return the exact score of a row, in pairs of classes the difference to its rival, and its terms' sizes."""
        v, others = self.v[x.columns], self.first <= row
        if others.sum() == 1:
            return 1, 1  # the only class so far has no rival
        if not self.problem.pairs:
            return int(np.dot(v[:, 0], x.z)), int(np.dot(abs(v[:, 0]), abs(x.z)))
        scores, sizes, own = np.dot(v.T, x.z), np.dot(abs(v.T), abs(x.z)), int(self.problem.rows.codes[row])
        others[own] = False
        best = rival if rival >= 0 else max(np.flatnonzero(others).tolist(), key=lambda c: int(scores[c]))
        higher = (scores - scores[best]) * ROUNDING > sizes + sizes[best]
        if best == own or (higher.astype(bool) & others).any():
            raise ValueError("the rival of an update was not the best")
        return int(scores[own] - scores[best]), int(sizes[own] + sizes[best])

    def decide(self, row: int, x: Exact, rival: int) -> tuple[int, int]:
        """Return the exact score of a round and its step, 0 if it is not listed; count it if rounding decided it."""
        listed, norm2 = rival >= 0, x.norm2 * (1 + self.problem.pairs)
        score, sizes = self.score(row, x, rival)
        beyond = self.one - score
        due = beyond > 0 and norm2 > 0 if self.passive else beyond >= 0
        if due != listed:
            if abs(beyond) * ROUNDING >= sizes + self.one:
                raise ValueError(f"row {row} was {'no update' if listed else 'an update'} of the rule")
            self.rounded, self.missed = self.rounded + 1, self.missed + (not listed)
        return score, self.step(score, norm2) if listed else 0

    def walk(self, rows: Array, rivals: Array, exact: list[Exact]) -> list[Event]:
        """Play rounds exactly; `rivals` are those of updates, in two classes 0, and -1 where no update is listed."""
        events, pairs, v = list[Event](), self.problem.pairs, self.v[:, 0]
        quick = self.image is None and not pairs and not self.passive and not self.first.any()
        for row, rival, x in zip(rows.tolist(), rivals.tolist(), exact, strict=True):
            signed, score, step, before = row, 0, int(rival >= 0), v[x.columns]
            if quick and step and (score := np.dot(before, x.z) if x.norm2 else 0) <= 0:  # an update, beyond doubt
                v[x.columns] = before + x.z
                self.norm2 += 2 * score + x.norm2
                events.append(Event(row, True, score, 1, self.norm2))
                continue
            if self.image is None:
                score, step = self.decide(row, x, rival)
                self.norm2 += step * (2 * score + step * x.norm2 * (1 + pairs))
            if pairs:
                own = int(self.problem.rows.codes[row])
                signed = row * self.rivals + rival - (rival > own)
                if rival >= 0:
                    self.v[x.columns, own] += step * x.z
                    self.v[x.columns, rival] -= step * x.z
            elif rival >= 0:
                v[x.columns] = before + step * x.z
            events.append(Event(signed, rival >= 0, score, step, self.norm2))
        return events

    def undecided(self, X: Any, rows: Array, near: Array, places: Array, steps: Array) -> Array:
        """Return whether the floats leave open that a round is no update; `near` are the sums at the block's start.

        `steps` has the multiples of the rows at `places` that were added to each class.
        """
        floats, terms = self.near, self.longest + 1
        if self.image is not None:
            sides = self.image.weights, self.image.sizes
            scores, sizes = ((a @ w[:-1])[:, None] + self.beta * w[-1] for a, w in zip((X, abs(X)), sides, strict=True))
            slack = (terms + 32 + self.image.slack) * 2.0**-53 * sizes[:, 0] + terms * self.problem.entry * 2.0**-1000
        else:
            floats = near
            scores = X @ floats[:-1] + self.beta * floats[-1]
            reach = length(floats) + float(np.abs(steps).sum(axis=1) @ self.norms[rows[places]])
            if len(places):
                products = X @ X[places].T
                products = (products.toarray() if self.sparse else products) + self.beta**2
                scores = scores + np.where(places < np.arange(len(rows))[:, None], products, 0.0) @ steps
            terms += len(places) + 16
            slack = terms * (2.0**-52 * self.norms[rows] * reach + 2.0**-1060 * (1 + np.abs(steps).sum()))
        if self.problem.pairs:
            own = self.problem.rows.codes[rows]
            right = scores[np.arange(len(rows)), own]
            scores[rows[:, None] < self.first] = -np.inf
            scores[np.arange(len(rows)), own] = -np.inf
            margins = right - scores.max(axis=1)
        else:
            margins = self.problem.sign[rows] * scores[:, 0] - float(self.passive)
        return ~(np.isfinite(margins) & (margins > 3 * slack + float(self.passive) * 2.0**-50))

    def play(self, rows: Array, places: Array, rivals: Array) -> list[Event]:
        """Play a block: the updates are at `places` of its rows."""
        X, near = self.X[rows].astype(np.float64), self.near
        exact = self.integers(X[places], rows[places])
        touched = np.zeros(len(near), bool)
        for x in exact:
            touched[x.columns] = True
        columns = np.flatnonzero(touched)
        before, counts = self.v[columns].copy(), (self.norm2, self.rounded, self.missed)
        events = self.walk(rows[places], rivals, exact)
        steps = np.zeros((len(places), self.v.shape[1]))
        own = self.problem.rows.codes[rows[places]] if self.problem.pairs else 0 * places
        sizes = nearest(np.array([event.step for event in events], object), self.small)
        steps[np.arange(len(places)), own] = sizes if self.problem.pairs else sizes * self.problem.sign[rows[places]]
        if self.problem.pairs:
            steps[np.arange(len(places)), rivals] = -sizes
        open_rounds = self.undecided(X, rows, near, places, steps)
        open_rounds[places] = False
        if open_rounds.any():
            self.v[columns] = before
            self.norm2, self.rounded, self.missed = counts
            found = np.full(len(rows), -1)
            found[places] = rivals
            chosen = np.flatnonzero(open_rounds | (found >= 0))
            events = self.walk(rows[chosen], found[chosen], self.integers(X[chosen], rows[chosen]))
        if len(places):
            self.near[columns] = nearest(self.v[columns], self.problem.low + self.small)
            self.add_floats(X[places], steps)
        if self.image is not None and len(places):
            self.image.refresh(columns)
        return events

    def add_floats(self, X: Any, steps: Array) -> None:
        """Add rows to the sums in float64, one after the other, as the training does."""
        for c in range(steps.shape[1]):
            chosen = np.flatnonzero(steps[:, c])
            rows = X[chosen]
            which, columns = rows.nonzero()
            values = np.asarray(rows[which, columns]).ravel() * steps[chosen[which], c]
            np.add.at(self.floats[:, c], columns, values)
            if self.beta:
                np.add.at(self.floats[:, c], np.full(len(chosen), self.p), steps[chosen, c] * self.beta)

    def all(self, orders: Iterable[Any] | None) -> Replayed:
        """Play all rounds."""
        run, n, events, digest = self.run, self.problem.rows.n, list[Event](), hashlib.sha256()
        rounds = np.cumsum(np.array(run["updates"], np.int64)) - 1
        rivals = np.array(run["rivals"], np.int64) if self.problem.pairs else np.zeros(len(rounds), np.int64)
        size, done = max(1, min(MOST_ROUNDS, MOST_PRODUCTS // max(self.longest, 1))), 0
        for epoch, rows in enumerate(epochs_of(run, n, orders)):
            digest.update(rows.astype("<i8").tobytes())
            start, last, first = 0, len(events), epoch * n
            while start < len(rows):
                stop = min(start + size, len(rows))
                if self.image is not None and done < len(rounds):
                    stop = min(stop, int(rounds[done]) - first + 1)
                end = int(np.searchsorted(rounds, first + stop))
                events += self.play(rows[start:stop], rounds[done:end] - first - start, rivals[done:end])
                start, done = stop, end
            if last == len(events) or not any(event.listed for event in events[last:]):
                if self.passive and not self.beta and len(events) > last:
                    continue
                break
        if done < len(rounds):
            raise ValueError("a run has updates after an epoch without any")
        sums = hashlib.sha256(self.floats.astype("<f8").tobytes()).hexdigest()
        return Replayed(events, self.rounded, self.missed, self.one, sums, digest.hexdigest())
