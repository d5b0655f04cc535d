"""Replay a run, every round of it: which rows were updated follows from the order, the rule and the data.

A run in a file is an order of the rows and the numbers of the rounds with an update. The sums of updates v are exact:
integers times a power of two, as digits of `width` bits (of either sign), which floats multiply and add without
rounding. A block of rounds is one product with the nearest floats of v at its start, and one with the rows that are
added within it. With n terms, a float product differs from the exact one by less than
(n + 4) 2^-53 sum |x||v| <= (n + 4) 2^-53 ||x|| ||v||: scores beyond that are decided, and all others are computed
exactly, with those of all listed rounds of their block. A listed round must be an update of the rule, and no other
round may be one; a round whose score is next to 0, up to 1e-9 of the sum of its terms' sizes, may be either, as the
training's floats are rounded: such rounds are counted, and a claim states how many they are.

The largest ||v||² / k after k updates is exact: a block in which floats show that it stays below the largest so far
needs no more. The steps of passive-aggressive and of ROMMA follow from exact scores, so that all their rounds are
computed exactly.

Where shards were mixed, all shards of an epoch begin with the same v, and v becomes the mean of theirs, weighted by
their shares; v is then a fraction, whose denominator is `scale`.
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
Digits = dict[int, Any]
"""Integers by the digits that are not all 0, each as floats; 0 is the lowest."""
MOST_ROUNDS, MOST_PRODUCTS = 256, 1 << 18
"""Rounds in a block, and the entries of its rows."""
FEWER_ROUNDS = 64
"""Rounds in a block of passive-aggressive or ROMMA, whose steps are computed one after the other."""
BLOCKED = 64
"""Rows that shuffle="blocks" keeps together."""
ROUNDING = 10**9
"""A score is next to 0 if it is less than the sum of its terms' sizes divided by this."""
STEP_BITS = 80
"""Steps of passive-aggressive and ROMMA are rounded to multiples of 2^-80 / R², or less."""
STEPPED = ("passive_aggressive", "romma")
"""Theorems of rules whose steps are not all 1."""


class Event(NamedTuple):
    """A round that counts: an update, or one whose score is next to 0.

    The score and what follows are 0 where floats decided the round.
    """

    row: int
    """The signed row."""
    listed: bool
    """True for an update of the run."""
    score: int
    """Its score before the round."""
    after: int
    """Its score after the round, if no shards were mixed."""
    step: int
    """The factor of the row when it was added; 0 if it was not added."""
    norm2: int
    """||v||² after the round, if no shards were mixed."""


class Replayed(NamedTuple):
    """A run, replayed."""

    events: list[Event]
    mixes: list[list[tuple[int, int]]]
    """For each epoch with an event, the number of the events of each shard, and its share."""
    rounded: int
    """Rounds whose score is within rounding of 0."""
    missed: int
    """Rounds of `rounded` that are not listed."""
    one: int
    """The number 1 in units of the scores; 0 if all steps are 1."""
    sums: str
    """The SHA-256 of the sums of the updates, in float64 as the training adds them."""
    order: str
    """The SHA-256 of the orders of all epochs until one without an update."""
    ratio: Fraction
    """The largest ||v||² / k after k updates, if no shards were mixed."""
    norm2: int
    """||v||² at the end, if no shards were mixed."""
    others: tuple[int, int] | None = None
    """If a risk is stated: the rows that were updated, and the errors of the last sums on all others."""


def permutation(order: Facts, epoch: int, n: int) -> Array:
    """Return the order of an epoch as the training draws it, with numpy's generator."""
    rng = np.random.default_rng([order["seed"], 0 if order["shuffle"] == "once" else epoch])
    if order["shuffle"] != "blocks":
        return rng.permutation(n)
    starts = BLOCKED * rng.permutation(-(-n // BLOCKED))
    rows = np.add.outer(starts, rng.permutation(BLOCKED)).ravel()
    return rows[rows < n]


def epochs_of(run: Facts, n: int, given: Iterable[Any] | None) -> Iterator[Array]:
    """Return the rows of each epoch in order: those given, or else those of the run's order."""
    order, left = run["order"], iter(given) if given is not None else None
    if isinstance(order, list):
        yield np.array(order, np.int64)
        return
    for epoch in range(run["passes"]):
        rows = np.arange(n)
        if order != "rows" and epoch < order["epochs"]:
            rows = permutation(order, epoch, n) if left is None else np.array(next(left, ()), np.int64)
            if not np.array_equal(np.bincount(rows, minlength=n), np.ones(n)):
                raise ValueError("an order that was given is no permutation of the rows")
        yield rows[: run["rounds"] - epoch * n]


def spans_of(run: Facts, epoch: int, rows: int) -> list[tuple[int, int]]:
    """Return the spans of the rows of an epoch that shards learned from: nearly equal ones, in order."""
    count = 1
    for shards, epochs in run.get("shards", ()):
        count, epoch = (shards if 0 <= epoch < epochs else count), epoch - epochs
    count = max(1, min(count, rows))
    return list(pairwise(rows * k // count for k in range(count + 1)))


def length(values: Array) -> float:
    """Return the Euclidean norm, wherever its square may lie."""
    most = float(np.abs(values).max(initial=0.0))
    return math.sqrt(float(np.square(values / most).sum())) * most if most else 0.0


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
            self.weights[columns], self.slack = np.sign(s) * self.sizes[columns], 12 * self.power
            return
        if self.rate * most > self.origin + 300:
            self.origin, columns, s = self.rate * most, np.arange(len(self.near)), self.near[:, 0]
        up, down = np.exp(self.rate * s - self.origin), np.exp(-self.rate * s - self.origin)
        down[columns < self.plain] = 0.0
        self.weights[columns], self.sizes[columns] = up - down, up + down
        self.slack = 16 * (self.origin + 300)


class Replay:
    """A run on the signed rows of a problem, between two of its blocks."""

    def __init__(self, problem: "SignedProblem", run: Facts, image: Callable[[Array], Image] | None = None) -> None:
        self.problem, self.run, self.X, self.rivals = problem, run, problem.rows.X, problem.n // problem.rows.n
        self.classes, self.p = self.rivals + 1 if problem.pairs else 1, problem.columns
        self.norms, self.sparse = problem.rows.norms(problem.beta), hasattr(problem.rows.X, "indptr")
        self.longest = 1 + (int(np.diff(self.X.indptr).max(initial=0)) if self.sparse else self.p)
        bits = max(math.frexp(problem.entry)[1] - problem.low, 1)
        spare = self.longest.bit_length() + MOST_ROUNDS.bit_length()
        more = next(k for k in range(53) if bits <= (53 - spare - k) // 2 << k)
        self.width = (53 - spare - more) // 2  # sums of products of two digits are below 2^53, and floats are exact
        self.digits = -(-bits // self.width)
        self.seen = np.zeros(self.p + 1, bool)
        self.v, self.scale = np.zeros((self.p + 1, self.classes)), 1
        self.near, self.floats = np.zeros((self.p + 1, self.classes)), np.zeros((self.classes, self.p + 1))
        self.image = None if image is None else image(self.near)
        self.events, self.rounded, self.missed, self.mistakes = list[Event](), 0, 0, 0
        self.norm2: int | None = 0  # None after updates that floats decided
        self.updates, self.ratio, self.least_ratio, self.mixed_run = 0, Fraction(), 0.0, "shards" in run
        self.reach, self.reach_before = 0.0, 0.0
        self.first, self.alone = np.zeros(self.classes, np.int64), 0
        if run.get("arrive"):  # rows before a second class arrives have no rival, and are no mistakes
            self.first = np.unique(problem.rows.codes, return_index=True)[1]
            self.alone = int(np.sort(self.first)[1]) if len(self.first) > 1 else problem.rows.n
        self.small, self.one, self.soft, self.top = 0, 0, Fraction(), 0
        self.stepped, self.passive = run["theorem"] in STEPPED, run["theorem"] == "passive_aggressive"
        self.last, self.fresh = 0, False
        if self.stepped:
            self.set_steps(run.get("C"), run.get("first", False))

    def set_steps(self, C: float | None, first: bool) -> None:
        """Let steps be in units of 2^small; passive-aggressive's are loss / ||x||², or less by C."""
        low, most = self.problem.low, math.frexp(self.problem.entry * math.sqrt(self.problem.features))[1]
        self.small = -STEP_BITS - 2 * most
        self.one = 1 << -(2 * low + self.small)
        if C is not None and first:
            self.top = int(Fraction(C) / Fraction(2) ** self.small)
        elif C is not None:
            self.soft = Fraction(2) ** (-2 * low) / (2 * Fraction(C))

    def bar(self) -> int:
        """Return the score below which a round is an update; one of 0 is an update where the bar is 0."""
        return self.scale * self.one if self.passive else self.last if self.run.get("aggressive") else 0

    def due(self, score: int, row: int) -> bool:
        """Return whether the rule makes an update at a score."""
        bar = self.bar()
        return bool(score < bar or score <= 0 == bar) and (not self.stepped or bool(self.norms[row] > 0))

    def step(self, score: int, norm2: int, length2: int) -> int:
        """Return the step of passive-aggressive or ROMMA; `length2` is ||v||², and `last` the last row's score.

        ROMMA's w is v / last. Its first step is 1 / ||x||²; a later one is

            ||v||² (last - score) / (||x||² ||v||² - score last).
        """
        if not self.passive and length2 and not self.fresh:
            part = norm2 * length2 - score * self.last
            if part <= 0:
                raise ValueError("an update of ROMMA is parallel to its weights")
            return (2 * length2 * (self.last - score) + part) // (2 * part)
        loss, part = max(self.scale * self.one - (score if self.passive else 0), 0), self.scale * norm2
        step = round(loss / (part + self.scale * self.soft)) if self.soft else (2 * loss + part) // (2 * part)
        return min(step, self.top) if self.top else step

    def block(self, rows: Array) -> Any:
        """Return signed rows as floats, with their constant feature, which comes last."""
        problem, n = self.problem, len(rows)
        if not self.sparse:
            Z, signs = np.empty((n, self.p + 1)), problem.sign[rows].astype(np.float64)
            np.multiply(self.X[rows], signs[:, None], out=Z[:, :-1])
            Z[:, -1] = problem.beta * signs
            return Z
        starts, counts = self.X.indptr[rows], self.X.indptr[rows + 1] - self.X.indptr[rows] + 1
        ends = np.cumsum(counts, dtype=np.int64)
        at = np.arange(ends[-1] if n else 0) + np.repeat(starts - (ends - counts), counts)
        at[ends - 1] = 0  # in the place of the constant feature
        values = np.take(self.X.data if self.X.nnz else np.zeros(1), at).astype(np.float64)
        columns = np.take(self.X.indices if self.X.nnz else np.zeros(1, np.int32), at)
        columns = columns if problem.places is None else problem.places[columns]
        values[ends - 1], columns[ends - 1] = problem.beta, self.p
        values = values if problem.pairs else values * np.repeat(problem.sign[rows], counts)
        return type(self.X)((values, columns, np.append(0, ends)), shape=(n, self.p + 1))

    def split(self, Z: Any) -> Digits:
        """Return rows in units of 2^low as digits that are not all 0; each is a float that is an integer."""
        left, found = Z.data if self.sparse else Z, Digits()
        for k in range(self.digits - 1, -1, -1):
            part = np.trunc(np.ldexp(left, -self.problem.low - k * self.width))
            if part.any():
                left = left - np.ldexp(part, self.problem.low + k * self.width) if k else left
                found[k] = type(Z)((part, Z.indices, Z.indptr), shape=Z.shape) if self.sparse else part
        return found

    def whole(self, sums: Digits, shape: Any) -> Array:
        """Return integers of which digits are given."""
        total = np.zeros(shape, object)
        for k, digit in sums.items():
            total += digit.astype(np.int64).astype(object) << (k * self.width)
        return total

    def scores(self, parts: Digits, count: int) -> Array:
        """Return the exact products of rows with v, class by class."""
        sums = Digits()
        for a, part in parts.items():
            found = part @ self.v
            for b in range(found.shape[1] // self.classes):
                sums[a + b] = sums.get(a + b, 0.0) + found[:, b * self.classes : (b + 1) * self.classes]
        return self.whole(sums, (count, self.classes))

    def products(self, parts: Digits, others: Digits) -> Digits:
        """Return the products of rows with others."""
        sums = Digits()
        for a, part in parts.items():
            for b, other in others.items():
                found = part @ other.T
                sums[a + b] = sums.get(a + b, 0.0) + (found.toarray() if self.sparse else found)
        return sums

    def add(self, Z: Any, parts: Digits, amounts: Array) -> None:
        """Let v += amounts * rows, exactly; amounts are integers, a column for each class."""
        most = max(int(abs(amounts).max(initial=0)), 1)
        signs, sizes = np.where(amounts < 0, -1, 1), np.abs(amounts)
        for t in range(-(-most.bit_length() // self.width)):
            digit = ((sizes >> (t * self.width)) % (1 << self.width) * signs).astype(np.float64)
            for a, part in parts.items():
                self.add_digits(a + t, part, digit)
        columns = np.arange(self.p + 1)
        if self.sparse:
            self.seen[Z.indices] = True
            columns = np.flatnonzero(self.seen)
            self.seen[columns] = False
        self.carry(columns)
        self.set_near(columns)

    def digit(self, k: int) -> slice:
        """Return the columns of a digit of v, for which there is room then."""
        missing = (k + 1) * self.classes - self.v.shape[1]
        if missing > 0:
            self.v = np.hstack([self.v, np.zeros((len(self.v), missing))])
        return slice(k * self.classes, (k + 1) * self.classes)

    def add_digits(self, k: int, part: Any, digit: Array) -> None:
        """Add products of digits to a digit of v."""
        columns = self.digit(k)
        if not self.sparse:
            self.v[:, columns] += part.T @ digit
            return
        counts = np.diff(part.indptr)
        for c in np.flatnonzero(digit.any(axis=0)).tolist():
            np.add.at(self.v[:, columns.start + c], part.indices, part.data * np.repeat(digit[:, c], counts))

    def carry(self, columns: Array) -> None:
        """Let the digits of v be short again: at most 2^(width - 1), so that the highest one has the sign."""
        k, base = 0, 2.0**self.width
        while k * self.classes < self.v.shape[1]:
            here = self.digit(k)
            more = np.rint(self.v[columns, here] / base)
            if more.any():
                above = self.digit(k + 1)  # v may be another array from here on
                self.v[columns, above] += more
                self.v[columns, here] -= more * base
            k += 1

    def set_near(self, columns: Array) -> None:
        """Compute the floats next to v."""
        bits = self.scale.bit_length()
        below, low = float(Fraction(self.scale, 1 << bits)), self.problem.low + self.small - bits
        near = np.zeros((len(columns), self.classes))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for k in range(self.v.shape[1] // self.classes - 1, -1, -1):
                near += np.ldexp(self.v[columns, self.digit(k)], low + k * self.width)
            self.near[columns] = near / below
        if self.image is not None:
            self.image.refresh(columns)

    def fraction(self, v: Array) -> Array:
        """Return digits of v as integers, in units of the scale."""
        digits = {k: v[:, self.digit(k)] for k in range(v.shape[1] // self.classes)}
        return self.whole(digits, (len(v), self.classes))

    def set_fraction(self, values: Array, scale: int) -> None:
        """Let v be integers in units of a scale."""
        self.v, self.scale, k = np.zeros((len(values), self.classes)), scale, 0
        signs, sizes = np.where(values < 0, -1, 1), np.abs(values)
        while sizes.any():
            here = self.digit(k)  # v may be another array from here on
            self.v[:, here] = (sizes % (1 << self.width) * signs).astype(np.float64)
            sizes, k = sizes >> self.width, k + 1
        self.carry(np.arange(len(values)))
        self.set_near(np.arange(len(values)))
        self.reach = self.reach_before = length(self.near)

    @np.errstate(over="ignore", under="ignore", invalid="ignore")
    def undecided(self, Z: Any, U: Any, rows: Array, places: Array, rivals: Array) -> Array:
        """Return whether the floats leave open that a round is an update where listed, and none elsewhere.

        v is that of the block's start, and U are the rows at `places`. All rounds are open if ||v||² / k may grow.
        """
        if self.image is not None:
            scores, sizes = Z @ self.image.weights, abs(Z) @ self.image.sizes
            terms = self.longest + 32 + self.image.slack
            slack = terms * 2.0**-53 * sizes + self.longest * self.problem.entry * 2.0**-1000
            return ~(np.isfinite(scores) & (scores > 3 * slack))
        at, norms = np.arange(len(rows)), self.norms[rows]
        scores, reach = Z @ self.near, self.reach + 2 * float(norms[places].sum())
        if len(places):
            products = Z @ U.T
            products = products.toarray() if self.sparse else products
            earlier = np.where(places < at[:, None], products, 0.0)
            scores = scores + earlier @ self.signs(rows[places], rivals).astype(np.float64)
        terms = self.longest + len(places) + 32
        slack = 3 * terms * (2.0**-52 * norms * reach + 2.0**-1060 * (1 + len(places)))
        margins = scores[:, 0].copy()
        sure = np.ones(len(rows), bool)
        if self.problem.pairs:
            own = self.problem.rows.codes[rows]
            right = scores[at, own]
            scores[rows[:, None] < self.first] = -np.inf
            scores[at, own] = -np.inf
            margins = right - scores.max(axis=1)
            rival = scores[places, rivals]
            scores[places, rivals] = -np.inf
            sure[places] = rival - scores[places].max(axis=1) > slack[places]
        margins[places] *= -1
        sure &= np.isfinite(margins) & (margins > slack)
        sure[rows < self.alone] = True
        sure[places[rows[places] < self.alone]] = False
        if not self.mixed_run and sure.all() and len(places):
            square, more = float(np.square(self.near).sum()), norms[places] ** 2 * (1 + self.problem.pairs)
            off = (self.p * self.classes + terms) * 2.0**-50 * (square + more + 2 * np.abs(margins[places])).sum()
            most = square + np.cumsum(more - 2 * margins[places]) + off + 6 * slack[places].sum()
            return np.full(len(rows), not (most / (self.updates + 1 + np.arange(len(places))) < self.least_ratio).all())
        return ~sure

    def signs(self, rows: Array, rivals: Array) -> Array:
        """Return what a step adds of a signed row to the sums of each class."""
        steps = np.zeros((len(rows), self.classes), np.int64)
        if not self.problem.pairs:
            return steps + 1
        steps[np.arange(len(rows)), self.problem.rows.codes[rows]] = 1
        steps[np.arange(len(rows)), rivals] = -1
        return steps

    def play(self, rows: Array, places: Array, rivals: Array) -> None:
        """Play a block: the updates are at `places` of its rows."""
        self.problem.tick()
        listed = np.full(len(rows), -1)
        listed[places] = rivals
        chosen = np.ones(len(rows), bool)
        if not self.stepped:
            Z = self.block(rows)
            U = self.block(rows[places]) if self.sparse else Z[places]
            chosen = self.undecided(Z, U, rows, places, rivals)
            if self.image is None and not chosen.any():
                self.move(rows[places], U, self.split(U), self.signs(rows[places], rivals).astype(object))
                self.events += [Event(row, True, 0, 0, 1, 0) for row in self.signed(rows[places], rivals).tolist()]
                self.updates, self.mistakes = self.updates + len(places), self.mistakes + len(places)
                self.norm2 = self.norm2 if self.mixed_run or not len(places) else None
                return
            chosen[places] = True
        rows, listed, checked = rows[chosen], listed[chosen], False
        while len(rows):  # up to a round that exact numbers do not decide; then that one is the first
            done = self.play_exactly(rows, listed, checked)
            rows, listed, checked = rows[done:], listed[done:], not done
            if checked:
                self.refuse_unless_next_to_0(int(rows[0]), int(listed[0]))

    def signed(self, rows: Array, rivals: Array) -> Array:
        """Return the numbers of the signed rows of updates."""
        return rows * self.rivals + (rivals - (rivals > self.problem.rows.codes[rows]) if self.problem.pairs else 0)

    def move(self, rows: Array, Z: Any, parts: Digits, amounts: Array) -> None:
        """Let v += amounts * rows, in floats, too."""
        if not len(rows):
            return
        self.add(Z, parts, self.scale * amounts)
        if not self.stepped:
            self.add_floats(Z, amounts.astype(np.int64))
        self.reach += 2 * float(self.norms[rows].sum())
        if self.reach > 2 * self.reach_before:
            self.reach = self.reach_before = length(self.near)

    def square(self) -> int:
        """Return ||v||², which is known up to updates that floats decided."""
        if self.norm2 is None:
            digits = self.v.astype(np.int64).reshape(len(self.v), -1, self.classes)
            starts = range(0, len(self.v) * self.classes, 1 << 16)  # sums of so many products are below 2^63
            products = {
                (a, b): np.add.reduceat((digits[:, a] * digits[:, b]).ravel(), starts).astype(object).sum()
                for a in range(digits.shape[1])
                for b in range(digits.shape[1])
            }
            self.norm2 = sum(int(of) << ((a + b) * self.width) for (a, b), of in products.items())
        return self.norm2

    def play_exactly(self, rows: Array, rivals: Array, checked: bool) -> int:
        """Play rounds exactly, and return how many; `rivals` are -1 where no update is listed, else 0 in two classes.

        The first round is not decided again if it was checked.
        """
        which, count = np.flatnonzero(rivals >= 0), len(rows)
        Z = self.block(rows)
        parts = self.split(Z)
        if len(which) == count:
            added, more = Z, parts
        else:
            added = self.block(rows[which])
            more = self.split(added)
        scores, steps = np.zeros(count, object), np.ones(len(which), object)
        signs, norms = self.signs(rows[which], rivals[which]), np.zeros(len(which), object)
        if self.image is None:
            earlier = np.arange(len(which)) < np.searchsorted(which, np.arange(count))[:, None]
            products = self.products(parts, more)
            norms = self.whole({k: of[which, np.arange(len(which))] for k, of in products.items()}, len(which))
            found = self.scores(parts, count)
            if self.stepped:
                inner = self.whole({k: of * earlier for k, of in products.items()}, earlier.shape)
                scores, steps, done = self.stepped_rounds(found[:, 0], rows, rivals, inner, norms, checked)
            else:
                inner = self.whole({k: (of * earlier) @ signs for k, of in products.items()}, found.shape)
                found = found + self.scale * inner
                scores, done = self.decided(found, rows, rivals, checked)
        else:
            done = count
        last = int(np.searchsorted(which, done))
        steps, signs, norms = steps[:last], signs[:last], norms[:last]
        self.record(rows[:done], rivals[:done], scores, steps, norms)
        if self.fresh:
            self.v[:], self.near[:], self.fresh = 0.0, 0.0, False
        if last < len(which):
            added = self.block(rows[which[:last]])
            more = self.split(added)
        self.move(rows[which[:last]], added, more, steps[:, None] * signs.astype(object))
        return done

    def decided(self, found: Array, rows: Array, rivals: Array, checked: bool) -> tuple[Array, int]:
        """Return the score of each round, and how many rounds are decided as listed, up to the first that is not."""
        listed, scores = rivals >= 0, found[:, 0]
        odd = np.zeros(len(rows), bool)
        if self.problem.pairs:
            at, own = np.arange(len(rows)), self.problem.rows.codes[rows]
            others = self.first <= rows[:, None]
            others[at, own] = False
            each = zip(others, found, strict=True)
            best = np.array([max(np.flatnonzero(those), key=of.item, default=-1) for those, of in each])
            rival = np.where(listed, rivals, best)
            odd = listed & (~others[at, rival] | (found[at, rival] < found[at, best]).astype(bool))
            scores = found[at, own] - found[at, rival]
        scores = np.where(rows < self.alone, 1, scores)
        odd |= (scores <= 0).astype(bool) != listed
        odd[0] &= not checked
        return scores, int(np.argmax(odd)) if odd.any() else len(rows)

    def stepped_rounds(
        self, found: Array, rows: Array, rivals: Array, inner: Array, norms: Array, checked: bool
    ) -> tuple[Array, Array, int]:
        """Return scores as `decided` does, with the steps, which follow from them one after the other."""
        scores, steps, k, length2 = found.copy(), np.zeros(len(norms), object), 0, self.square()
        for j, listed in enumerate((rivals >= 0).tolist()):
            scores[j] += self.scale * sum((inner[j, :k] * steps[:k]).tolist())
            if self.due(scores[j], rows[j]) != listed and (j or not checked):
                return scores, steps, j
            if listed:
                # Aggressive ROMMA forgets all rows before where the new one alone meets their constraint.
                self.fresh = not self.passive and 0 < length2 * norms[k] <= scores[j] * self.last
                if self.fresh and j:
                    self.fresh = False
                    return scores, steps, j
                steps[k] = self.step(scores[j], norms[k], length2)
                self.last = (0 if self.fresh else scores[j]) + steps[k] * norms[k]
                if self.fresh:
                    return scores, steps, 1
                length2, k = length2 + steps[k] * (scores[j] + self.last), k + 1
        return scores, steps, len(rows)

    def refuse_unless_next_to_0(self, row: int, rival: int) -> None:
        """Raise a ValueError unless a round is next to 0, which the exact score decides otherwise; count it."""
        Z, codes, listed = self.block(np.array([row])), self.problem.rows.codes, rival >= 0
        if row < self.alone:
            raise ValueError(f"row {row} was no update of the rule, as its class had no rival then")
        columns = Z.indices if self.sparse else np.flatnonzero(Z[0])
        parts = self.split(Z).items()
        z = self.whole({k: of.data if self.sparse else of[0, columns] for k, of in parts}, len(columns))
        v, bar = self.fraction(self.v[columns]), self.bar()
        scores, sizes = (np.zeros(self.classes, object) + np.dot(of.T, x) for of, x in ((v, z), (abs(v), abs(z))))
        score, size = scores[0], sizes[0]
        if self.problem.pairs:
            own, others = int(codes[row]), self.first <= row
            others[own] = False
            best = rival if listed else max(np.flatnonzero(others).tolist(), key=scores.item, default=own)
            higher = ((scores - scores[best]) * ROUNDING > sizes + sizes[best]).astype(bool)
            if not others[best] or (higher & others).any():
                raise ValueError("the rival of an update was not the best")
            score, size = scores[own] - scores[best], sizes[own] + sizes[best]
        if self.due(score, row) != listed:
            if abs(bar - score) * ROUNDING >= size + bar:
                raise ValueError(f"row {row} was {'no update' if listed else 'an update'} of the rule")
            self.rounded, self.missed = self.rounded + 1, self.missed + (not listed)

    def record(self, rows: Array, rivals: Array, scores: Array, steps: Array, norms: Array) -> None:
        """Note the rounds that were played."""
        pairs, k, limit = self.problem.pairs, 0, self.scale * self.one if self.passive else 1
        numbers, norm2 = self.signed(rows, rivals).tolist(), self.square() if self.image is None else 0
        for row, number, rival, score in zip(rows.tolist(), numbers, rivals.tolist(), scores.tolist(), strict=False):
            if rival >= 0:
                before, own = (0, 0) if self.fresh else (norm2, score)
                after = own + steps[k] * norms[k] * (1 + pairs)
                norm2 = before + steps[k] * (own + after)
                self.events.append(Event(number, True, score, after, steps[k], norm2))
                k, self.updates = k + 1, self.updates + 1
                if norm2 * self.ratio.denominator > self.ratio.numerator * self.updates:
                    self.set_ratio(Fraction(norm2, self.updates))
            elif self.image is not None or (self.stepped and score < limit):
                self.events.append(Event(row, False, score, score, 0, norm2))
            self.mistakes += score <= 0 if self.stepped else rival >= 0
        self.norm2 = norm2

    def set_ratio(self, ratio: Fraction) -> None:
        """Set the largest ||v||² / k, and a float below it; 0 if squares of floats would leave their range."""
        self.ratio = ratio
        value = ratio * self.problem.unit**2
        self.least_ratio = float(value) * (1 - 1e-12) if Fraction(10) ** -200 < value < Fraction(10) ** 200 else 0.0

    def add_floats(self, Z: Any, signs: Array) -> None:
        """Add rows to the sums in float64, one after the other, as the training does."""
        for c in np.flatnonzero(signs.any(axis=0)).tolist():
            sums, which = self.floats[c], np.flatnonzero(signs[:, c])
            if self.sparse:
                np.add.at(sums, Z.indices, Z.data * np.repeat(signs[:, c], np.diff(Z.indptr)))
                continue
            for i in which.tolist():
                (np.add if signs[i, c] > 0 else np.subtract)(sums, Z[i], out=sums)

    def span(self, rows: Array, first: int, rounds: Array, rivals: Array) -> None:
        """Play consecutive rounds, the first of which has that number; `rounds` are those of all updates."""
        most = min(FEWER_ROUNDS if self.stepped else MOST_ROUNDS, MOST_PRODUCTS // (self.longest * self.digits))
        start, done = 0, int(np.searchsorted(rounds, first))
        while start < len(rows):
            stop = min(start + max(most, 1), len(rows))
            if self.image is not None and done < len(rounds):
                stop = min(stop, int(rounds[done]) - first + 1)
            end = int(np.searchsorted(rounds, first + stop))
            self.play(rows[start:stop], rounds[done:end] - first - start, rivals[done:end])
            start, done = stop, end

    def mixed(self, rows: Array, spans: list[tuple[int, int]], first: int, rounds: Array, rivals: Array) -> list[Any]:
        """Play the shards of an epoch, each from the same sums, and mix them; return the events and share of each."""
        begin, start, floats = self.v, self.fraction(self.v), self.floats
        near, reach = self.near.copy(), self.reach
        moved, evenly = [[np.zeros_like(start), np.zeros_like(floats)] for _ in range(2)]
        found, done = list[tuple[int, int]](), len(self.events)
        for lo, hi in spans:
            self.v, self.floats, self.near[:], self.mistakes, self.reach = begin.copy(), floats.copy(), near, 0, reach
            if self.image is not None:
                self.image.refresh(np.arange(len(near)))
            self.span(rows[lo:hi], first + lo, rounds, rivals)
            share = {"uniform": 1, "rows": hi - lo, "mistakes": self.mistakes}[self.run["mixing"]]
            gains = self.fraction(self.v) - start, self.floats - floats
            for k, gain in enumerate(gains):
                moved[k], evenly[k] = moved[k] + share * gain, evenly[k] + gain
            found.append((len(self.events) - done, share))
            done = len(self.events)
        if not sum(share for _, share in found):
            moved, found = evenly, [(events, 1) for events, _ in found]
        total, common = sum(share for _, share in found), math.gcd(*(share for _, share in found))
        self.floats = moved[1] / total + floats
        self.set_fraction(start * (total // common) + moved[0] // common, self.scale * (total // common))
        return found

    def all(self, orders: Iterable[Any] | None) -> Replayed:
        """Play all rounds."""
        run, n, mixes, digest = self.run, self.problem.rows.n, list[Any](), hashlib.sha256()
        rounds, done = np.cumsum(np.array(run["updates"], np.int64)) - 1, 0
        rivals = np.array(run["rivals"], np.int64) if self.problem.pairs else np.zeros(len(rounds), np.int64)
        for epoch, rows in enumerate(epochs_of(run, n, orders)):
            digest.update(rows.astype("<i8").tobytes())
            last, spans = len(self.events), spans_of(run, epoch, len(rows))
            if len(spans) > 1:
                mixes.append(self.mixed(rows, spans, epoch * n, rounds, rivals))
            else:
                self.span(rows, epoch * n, rounds, rivals)
                mixes.append([(len(self.events) - last, 1)])
            done = int(np.searchsorted(rounds, epoch * n + len(rows)))
            if last == len(self.events) or not any(event.listed for event in self.events[last:]):
                if self.stepped and not self.problem.beta and len(self.events) > last:
                    continue
                break
        if done < len(rounds):
            raise ValueError("a run has updates after an epoch without any")
        sums = np.zeros((self.problem.features, self.classes))
        sums[self.problem.kept] = self.floats.T
        final = hashlib.sha256(sums.astype("<f8").tobytes()).hexdigest()
        mixes = [mix for mix in mixes if any(count for count, _ in mix)]
        found = (
            self.events,
            mixes,
            self.rounded,
            self.missed,
            self.one,
            final,
            digest.hexdigest(),
            self.ratio,
            self.square(),
        )
        return Replayed(*found, self.errors_on_others(rounds) if "compression" in run else None)

    def errors_on_others(self, rounds: Array) -> tuple[int, int]:
        """Return how many rows were updated, and how many of the others the last sums get wrong; 0 counts as wrong.

        Winnow's and the p-norm's scores are not exact: their last pass must have no update, and then all others are
        right, but for rounds next to 0, which the checker counts.
        """
        n, kept = self.problem.rows.n, np.unique([e.row // self.rivals for e in self.events if e.listed])
        if self.image is not None:
            if rounds[-1] >= self.run["rounds"] - n:
                raise ValueError("the risk by compression needs a last pass without an update")
            return len(kept), 0
        errors, others = 0, np.setdiff1d(np.arange(n), kept)
        size = max(1, MOST_PRODUCTS // (self.longest * self.digits))
        for start in range(0, len(others), size):
            self.problem.tick()
            rows = others[start : start + size]
            scores = self.scores(self.split(self.block(rows)), len(rows))
            if self.problem.pairs:
                at, own = np.arange(len(rows)), self.problem.rows.codes[rows]
                right = scores[at, own].copy()
                scores[at, own] = scores.min(axis=1) - 1
                scores = (right - scores.max(axis=1))[:, None]
            errors += int((scores[:, 0] <= 0).astype(bool).sum())
        return len(kept), errors
