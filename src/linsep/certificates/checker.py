"""Check certificates exactly. This imports `kernel_replay.py`, `replay.py`, `schema.py`, `tails.py`, no more of linsep.

A certificate holds witnesses (vectors of integers times a power of two, updates of runs) and claims. Each claim is
computed here from witnesses and data, and compared with what is stated; `replay.py` decides every round of a run.
Floats are integers times powers of two, so sums
of products are exact; roots, logarithms and exponentials are rounded outwards, and so is each number stated, to nine
digits. Rows are z_i = y_i [x_i, beta], or, for pairs, [x_i, beta] in its class's columns and its negative in a rival's.
"""

import copy
import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from .kernel_replay import KernelReplay, kernel_work
from .replay import ROUNDING, STEPPED, Image, Replay, Replayed, epochs_of
from .schema import VERSION, FormError, bits_of, check_form, integers, size_of_mixes
from .tails import GRID, binomial_limit, doubt_of, doubt_of_compression, pac_bayes_limit

Array = np.ndarray[Any, Any]
Facts = dict[str, Any]
LARGEST_EXPONENT, MOST_WORK = 1e6, 1 << 37
"""Exponentials of larger numbers would be too long to compute, and more operations would take hours."""
BLOCK_ENTRIES, WIDE, HALF = 1 << 20, 4096, Fraction(1, 2)
CHECKED_THEOREMS = "perceptron", "passive_aggressive", "romma", "winnow", "kernel_perceptron"
UP, DOWN = [Context(50, r, MIN_EMIN, MAX_EMAX) for r in (ROUND_CEILING, ROUND_FLOOR)]
NOT_IN_TIME, NEEDS_ROWS = "not in time", "needs rows"
"""Status of a claim that was not checked within the time limit, or for which all rows must be in memory."""
NORMS = {"l2": "perceptron's", "simplex": "Winnow's", "l1": "balanced Winnow's"}


class OutOfTimeError(Exception):
    """Raised at the time limit of a check."""


class NotStreamedError(Exception):
    """Raised for a claim that can't be checked block by block."""


def clock(time_limit: float | None) -> Callable[[], None]:
    """Return a function that raises an OutOfTimeError from so many seconds after now."""
    end = math.inf if time_limit is None else time.monotonic() + time_limit

    def tick() -> None:
        if time.monotonic() > end:
            raise OutOfTimeError

    return tick


def beside(name: str, q: Fraction, way: Context) -> Fraction:
    """Return ln or exp of q from above or below; decimal's is the number of 50 digits that is nearest."""
    near = getattr(way, name)(way.divide(Decimal(q.numerator), Decimal(q.denominator)))
    return Fraction(way.next_plus(near) if way is UP else way.next_minus(near)) if near else Fraction()


def power(a: Any, way: Context, e: Fraction = HALF) -> Fraction:
    """Return a^e, by default the root, from above or below; exactly where e is whole or the root is rational."""
    exact = Fraction(math.isqrt((a := Fraction(a)).numerator), math.isqrt(a.denominator)) if e == HALF else a ** int(e)
    whole = e.denominator == 1 or (e == HALF and exact**2 == a)
    return a if not a else exact if whole else beside("exp", e * beside("ln", a, way), way)


def stated(q: Fraction, way: Context) -> str:
    """Return a number as certificates state it."""
    return f"{(c := Context(9, way.rounding)).divide(Decimal(q.numerator), Decimal(q.denominator)).normalize(c):f}"


def vector(witness: Facts, size: int) -> Array:
    """Return a witness in full, as Python's integers."""
    full = np.zeros(size, object)
    full[witness.get("at", range(size))] = integers(witness)
    return full


def digests_of(n: int, p: int, classes: list[str]) -> list[Any]:
    """Return the digests of labels, counts, columns and values, which begin with the size of the data."""
    return [hashlib.sha256(json.dumps([n, p, n, classes]).encode()) for _ in range(4)]


def sha256_of(digests: list[Any]) -> str:
    """Return the SHA-256 of rows and labels that digests have taken in."""
    return hashlib.sha256(b"".join(d.digest() for d in digests)).hexdigest()


def mantissas(values: Array) -> tuple[Array, Array]:
    """Return integers m and exponents e with values = m 2^e."""
    m, e = np.frexp(values)
    return (m * 2.0**53).astype(np.int64), e.astype(np.int64) - 53


def cosine_down(score: int, length2: int) -> int:
    """Return score / sqrt(length2), or 0 if that is no number, rounded down to a multiple of 1 / GRID."""
    if not length2:
        return 0
    part = math.isqrt(score * score * GRID * GRID // length2)
    return part if score >= 0 else -part - (part * part * length2 != score * score * GRID * GRID)


def limbs(vector: Array, width: int) -> list[tuple[int, Array]]:
    """Return Python's integers as sums of short ones: (shift, float array)."""
    size, sign, longest = abs(vector), np.where(vector < 0, -1, 1), int(abs(vector).max()).bit_length()
    return [(k, (size // (1 << k) % (1 << width)).astype(np.float64) * sign) for k in range(0, longest, width)]


def windows(values: Array, low: int, width: int) -> Iterator[tuple[int, Array]]:
    """Return floats as sums of short integers, in units of 2^low: (shift, int64 array)."""
    m, e = mantissas(values)
    for k in range(0, int((e - low).max(initial=-54)) + 54, width):
        up, down = np.clip(e - low - k, 0, 63), np.clip(low + k - e, 0, 63)
        yield k, np.sign(m) * (np.right_shift(np.left_shift(np.abs(m), up), down) & ((1 << width) - 1))


class CheckedRows:
    """The rows in one form: columns ascending, those named twice added up, zeros dropped, dense and sparse alike."""

    def __init__(
        self, X: Any, y: Any, classes: list[str], tick: Callable[[], None] = lambda: None, block: bool = False
    ) -> None:
        """Read rows and labels; if `block` is true, they are a part of the data, and are not measured."""
        self.tick, self.classes = tick, classes
        self.scale: Array | None = None
        self.X: Any = np.asarray(X) if not hasattr(X, "tocsr") else X.tocsr()
        self.n, self.p = (int(s) for s in self.X.shape)
        if not getattr(self.X, "has_canonical_format", True) and all(self.blocks(BLOCK_ENTRIES)):  # blocks may raise
            self.X = self.X.astype(np.float64, copy=True)
            self.X.sum_duplicates()
        names = [str(v + 0.0).removesuffix(".0") if isinstance(v, float) else str(v) for v in np.asarray(y).tolist()]
        self.codes = np.array([*map(lru_cache(None)(classes.index), names)], np.int64)
        if len(self.codes) != self.n:
            raise ValueError(f"{len(self.codes)} labels for {self.n} rows")
        self.sparse, self.lengths = hasattr(self.X, "indptr"), np.zeros(self.n)
        self.counts = np.bincount(self.codes, minlength=len(classes))
        if not block:
            digests = digests_of(self.n, self.p, classes)
            self.measure(digests)
            self.sha256 = sha256_of(digests)

    def measure(self, digests: list[Any]) -> None:
        """Note the sizes of the entries, and let digests take in all rows."""
        self.nonzeros, self.low, self.entry, self.used = 0, 0, 0.0, np.zeros(self.p, bool)
        self.exponents = 0, 0
        for first, stop, r, c, v in self.blocks(BLOCK_ENTRIES):
            m, e = mantissas(v)
            self.low = min(self.low, int((e + np.frexp((m & -m).astype(np.float64))[1] - 1).min(initial=0)))
            self.nonzeros, self.used[c] = self.nonzeros + len(v), True
            lowest, highest = int(e.min(initial=0)) + 53, int(e.max(initial=-53)) + 53
            self.exponents = min(self.exponents[0], lowest), max(self.exponents[1], highest)
            self.entry = max(self.entry, float(np.abs(v).max(initial=0.0)))
            counts = np.bincount(r - first, minlength=stop - first)
            for digest, part in zip(digests, (self.codes[first:stop], counts, c, v), strict=bool(digests)):
                digest.update(part.astype("<f8" if part is v else "<i8").tobytes())
        self.lengths = np.zeros(self.n)

    @property
    def span(self) -> int:
        """The binary orders of magnitude between the entries."""
        return self.exponents[1] - self.exponents[0]

    def scaled(self, scale: Facts) -> "CheckedRows":
        """Return the same rows with column j times 2^scale_j, which must be exact in floats."""
        other, exponents = copy.copy(self), vector(scale, self.p).astype(np.int64)
        other.scale = exponents
        other.measure([])
        return other

    @np.errstate(over="ignore", under="ignore")
    def norms(self, beta: float) -> Array:
        """Return the norm of each row as a float, a constant feature included; entries may be of any size."""
        if not self.lengths.any():
            for first, stop, r, _, v in self.blocks(BLOCK_ENTRIES):
                most, starts = np.zeros(stop - first), np.flatnonzero(np.diff(r, prepend=-1))
                most[r[starts] - first] = np.maximum.reduceat(np.abs(v), starts) if len(v) else 0.0
                squares = np.bincount(r - first, np.square(v / most[r - first]), stop - first)
                self.lengths[first:stop] = most * np.sqrt(squares)
        return np.hypot(self.lengths, beta)

    def blocks(self, size: int, wanted: Array | None = None) -> Iterator[tuple[int, int, Array, Array, Array]]:
        """Return (first row, row after the last, row numbers, columns, values), some rows at a time.

        With `wanted`, the sorted numbers of rows, first and last count among these.
        """
        sparse, first, n = hasattr(self.X, "indptr"), 0, self.n if wanted is None else len(wanted)
        counts = np.diff(self.X.indptr).astype(np.int64) if sparse else np.full(self.n, max(self.p, 1))
        ends = np.append(0, np.cumsum(counts if wanted is None else counts[wanted]))
        while first < n:
            self.tick()
            stop = max(int(np.searchsorted(ends, ends[first] + size, side="right")) - 1, first + 1)
            rows: Any = slice(first, stop) if wanted is None else wanted[first:stop]
            block, numbers = self.X[rows], np.arange(first, stop) if wanted is None else wanted[first:stop]
            if sparse:
                r, c, v = np.repeat(numbers, np.diff(block.indptr)), block.indices, block.data
            else:
                r, c = np.nonzero(block != 0)
                r, v = numbers[r], block[r, c]
            r, c, v, floats = r[v != 0], c[v != 0].astype(np.int64), v[v != 0], v[v != 0].astype(np.float64)
            if not (good := np.isfinite(floats) & (floats.astype(v.dtype) == v)).all():
                raise ValueError(f"row {r[~good][0]} holds a number that is no finite float")
            if self.scale is not None:
                given, floats = floats, np.ldexp(floats, self.scale[c])
                if not (np.isfinite(floats) & (np.ldexp(floats, -self.scale[c]) == given)).all():
                    raise ValueError("an entry that is scaled is no float")
            yield first, stop, r, c, floats
            first = stop


class SignedProblem:
    """Signed rows z, the bias in their last column, and what the witnesses make of them, in units of 2^low."""

    mixing = False
    """True if runs with shards are checked."""

    def __init__(
        self, rows: CheckedRows, known: Facts, classes: list[str], orders: Iterable[Any] | None = None
    ) -> None:
        rows = rows.scaled(known["scale"]) if "scale" in known else rows
        self.orders, self.replayed, self.rounding = orders, dict[str, Replayed](), [0, 0]
        self.rows, self.known, self.beta, self.pairs = rows, known, float(known["bias"]), known["positive"] is None
        self.own = classes.index(classes[0] if self.pairs else known["positive"])
        self.rivals = len(classes) - 1 if self.pairs else 1
        self.tick, self.features, self.kept = rows.tick, rows.p + 1, self.columns_kept()
        self.columns, self.places = len(self.kept) - 1, None
        if len(self.kept) < self.features:
            self.places = np.zeros(self.features, np.int64)
            self.places[self.kept] = np.arange(len(self.kept))
        self.p = len(self.kept) * (len(classes) if self.pairs else 1)
        self.low = min(rows.low, 1 - Fraction(self.beta).denominator.bit_length())
        self.entry = max(rows.entry, self.beta)
        self.unit, biases = Fraction(2) ** self.low, 2 * bool(self.beta)
        self.weights = {} if self.pairs else {"simplex": Fraction(rows.p + biases), "l1": Fraction(2 * rows.p + biases)}
        self.w = {k: vector(self.narrowed(v), self.p) for k, v in known["w"].items()}
        self.point = {k: np.zeros(self.p, object) for k in known["lambda"]}
        self.used, self.cancelled = dict[int, tuple[int, int]](), dict[tuple[int, int], int]()
        for place, of in enumerate(known.get("combinations", ())):
            self.used |= {i: (place, factor) for i, factor in zip(of["at"], integers(of), strict=True)}
        self.measure()

    def measure(self) -> None:
        """Compute what the claims need of all rows."""
        self.take(self.rows, self.known["lambda"])

    def take(self, rows: CheckedRows, mixtures: Facts, first: int = 0) -> None:
        """Compute the norms and scores of rows, and add their shares of each sum; the number of the first is given."""
        self.rows, self.n = rows, rows.n * self.rivals
        self.sign = np.where((rows.codes == self.own) | self.pairs, 1, -1)
        self.radius2 = self.longest(Fraction(2), UP)
        self.dual = {k: vector(v, self.n) for k, v in mixtures.items()}
        self.scores = {k: np.zeros(self.n, object) for k in self.w}
        self.add_products()
        self.add_combinations(first * self.rivals)

    def add_products(self) -> None:
        """Compute the scores of each w, and the sum of the rows of each lambda: products of digits, exact in floats."""
        width = (53 - max(self.n, self.p).bit_length()) // 2  # no sum has more terms
        weights, shares = ({k: limbs(w, width) for k, w in of.items()} for of in (self.w, self.dual))
        points, added = {k: dict[int, Array]() for k in shares}, 0
        for r, c, v in self.blocks():
            first, last = (int(r.min()), int(r.max()) + 1) if len(r) else (0, 0)
            for shift, part in windows(v, self.low, width):
                for k, pieces in weights.items():
                    for more, piece in pieces:
                        self.tick()
                        found = np.bincount(r - first, part * piece[c], last - first).astype(np.int64)
                        self.scores[k][first:last] += found.astype(object) << (shift + more)
                for k, pieces in shares.items():
                    for more, piece in pieces:
                        self.tick()
                        found = np.bincount(c, part * piece[r], self.p).astype(np.int64)
                        points[k][shift + more] = points[k].get(shift + more, 0) + found
                added += 1
                if added % 512 == 0:
                    self.carry_points(points)  # before sums of 512 numbers below 2^53 are beyond int64
        self.carry_points(points)

    def carry_points(self, points: dict[str, dict[int, Array]]) -> None:
        """Add sums of short integers to the long ones."""
        for k, sums in points.items():
            for shift, total in sums.items():
                hit = np.flatnonzero(total)
                self.point[k][hit] += total[hit].astype(object) << shift
            sums.clear()

    def columns_kept(self) -> Array:
        """Return the columns that count: all, or of wide rows those with an entry or a weight, an empty one, the bias.

        Other columns are empty, and add nothing to any sum; one of them stays, on which all rows score 0.
        """
        rows, weights = self.rows, self.known["w"].values()
        if rows.p <= WIDE or not rows.sparse or not all("at" in vector for vector in weights):
            return np.arange(rows.p + 1)
        kept = np.append(rows.used, True)
        for vector in weights:
            kept[np.array(vector["at"], np.int64) % (rows.p + 1)] = True
        kept[np.argmin(kept)] = True
        return np.flatnonzero(kept)

    def narrowed(self, witness: Facts) -> Facts:
        """Return a witness w on the columns that count."""
        if self.places is None:
            return witness
        block, column = np.divmod(np.array(witness["at"], np.int64), self.features)
        return witness | {"at": (block * len(self.kept) + self.places[column]).tolist()}

    def blocks(self, wanted: Array | None = None) -> Iterator[tuple[Array, Array, Array]]:
        """Return (row numbers, columns, values) of signed rows, some at a time; of some rows if these are wanted."""
        p, rivals = self.columns, self.n // self.rows.n
        for first, stop, r, c, v in self.rows.blocks(BLOCK_ENTRIES // (2 * rivals), wanted):
            c = c if self.places is None else self.places[c]
            if self.beta:
                more = np.arange(first, stop) if wanted is None else wanted[first:stop]
                extra = more, np.full(stop - first, p), np.full(stop - first, self.beta)
                r, c, v = (np.concatenate(a) for a in zip((r, c, v), extra, strict=True))
            v = v * self.sign[r]
            if self.pairs:
                own, other = self.rows.codes[r][:, None], np.arange(rivals)
                c = np.hstack([(k * (p + 1) + c[:, None]).ravel() for k in (own + 0 * other, other + (other >= own))])
                r = np.tile((r[:, None] * rivals + other).ravel(), 2)
                v = np.outer([1, -1], np.repeat(v, rivals)).ravel()
            yield r, c, v

    def cached(self, compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a function of exact numbers with a cache, which watches the time limit."""

        def ticked(number: Any) -> Any:
            self.tick()
            return compute(number)

        return lru_cache(1 << 16)(ticked)

    def each(self, wanted: Array) -> Iterator[tuple[int, list[int], list[int]]]:
        """Return (row, columns, integers) of the signed rows that are wanted and not 0."""
        rivals = self.n // self.rows.n
        for r, c, v in self.blocks(np.unique(np.flatnonzero(wanted) // rivals)):
            r, c, v = (a[wanted[r]][np.argsort(r[wanted[r]], kind="stable")] for a in (r, c, v))
            m, e = mantissas(v)
            z = np.left_shift(m.astype(object), np.maximum(e - self.low, 0)) >> np.maximum(self.low - e, 0)
            starts = np.flatnonzero(np.diff(r, prepend=-1)).tolist()
            for a, b in zip(starts, [*starts, len(r)][1:], strict=True):
                yield int(r[a]), c[a:b].tolist(), z[a:b].tolist()

    def longest(self, P: Fraction, way: Context) -> Fraction:
        """Return the largest ||z||_P²: floats find the rows that come near it, exact numbers decide."""
        loss, rivals = 1e-8 + self.features * 2.0**-50, self.n // self.rows.n  # 2^-53 for each addition
        sums, size = np.repeat(self.rows.norms(self.beta), rivals), math.frexp(self.entry)[1]
        if P != 2:
            sums = np.zeros(self.n)
            for r, _, v in self.blocks():
                np.add.at(sums, r, np.ldexp(np.abs(v), -size) ** float(P))
        near, term = self.each(sums >= (1 - loss) * sums.max()), self.cached(lambda a: power(a, way, P))
        square = P == 2  # of integers, without fractions
        most = max((sum(x * x if square else term(abs(x)) for x in z) for _, _, z in near), default=0)
        return power(most, way, 2 / P) * self.unit**2

    def least(self, k: str) -> int:
        """Return the least score of a witness w."""
        return int(self.scores[k].min())

    def errors(self, k: str) -> int:
        """Return the rows with z_i·w <= 0, for pairs with a rival for which it is."""
        return len({*(np.flatnonzero((self.scores[k] <= 0).astype(bool)) // self.rivals).tolist()})

    def margin2(self, k: str, norm: str) -> Fraction:
        """Return the square of the margin, in a norm, that a witness w proves; 0 if it does not separate."""
        least, w = max(self.least(k), 0), self.w[k]
        least = 0 if norm == "simplex" and (w[:-1] < 0).any() else least
        return (least * self.unit) ** 2 / (((w**2).sum() if norm == "l2" else abs(w).sum() ** 2) or 1)

    def fit(self, k: str, rows: Any = slice(None)) -> list[Any]:
        """Return ||w||² of a witness w, and the sums of (1 - z_i·w)+ and of its square over rows."""
        unit = self.unit * (scale := Fraction(2) ** max(min(int(self.known["w"][k]["exponent"]), 9999), -9999))
        misses = np.maximum((int(1 / unit) if unit <= 1 else 1 / unit) - self.scores[k][rows], 0)
        return [Fraction((self.w[k] ** 2).sum()) * scale**2, misses.sum() * unit, (misses**2).sum() * unit**2]

    def claims(self) -> Facts:
        """Return the verdict, the margins, and the bounds on the mistakes in any order of the rows."""
        out: Facts = {"verdict": "separable" if any(self.least(k) > 0 for k in self.w) else "open"}
        out |= {"verdict": "not separable"} if any(not q.any() for q in self.point.values()) else {}
        out |= {"R at most": stated(power(self.radius2, UP), UP), "X at most": stated(Fraction(self.entry), UP)}
        if any((a < 0).any() or not a.any() for a in self.dual.values()):
            raise ValueError("a witness lambda is no mixture of rows")
        for norm, whose in [*NORMS.items()][: 3 if self.known["games"] else 1]:
            sizes = [q if norm == "simplex" else abs(q) for q in self.point.values()]
            tops = [power((q**2).sum(), UP) if norm == "l2" else max(q[:-1].max(), abs(q[-1])) for q in sizes]
            most = min(t * self.unit / int(a.sum()) for t, a in zip(tops, self.dual.values(), strict=True))
            out[f"{whose} margin at most"], m2 = stated(most, UP), max(self.margin2(k, norm) for k in self.w)
            if m2:
                out[f"{whose} margin at least"] = stated(power(m2, DOWN), DOWN)
                r = power(m2, DOWN) / Fraction(self.entry)
                fall = max(sum((q * beside("ln", q, DOWN) for q in (1 + r, 1 - r) if q > 0), Fraction()), r * r) / 2
                bound = beside("ln", self.weights[norm], UP) / fall if norm != "l2" else self.radius2 / m2
                out[f"{whose} mistakes at most"] = stated(bound, UP)
        for k in (k for k in self.w if k.startswith("delta ")):
            passes, a, q, (ww, _, misses) = int(k[6:]), self.dual[k], self.point[k], self.fit(k)
            square, slack = self.radius2 * ww, passes * misses
            bound, tight = square + slack + 2 * power(square * slack, UP), [Fraction(passes, (a**2).sum())]
            tight += [self.radius2 / ((q**2).sum() * self.unit**2)] if q.any() else []
            out[f"perceptron's mistakes (T = {passes}) at most"] = stated(bound, UP)
            out[f"the least such bound (T = {passes}) at least"] = stated(min(tight) * int(a.sum()) ** 2, DOWN)
        out |= self.fewest_errors() if "combinations" in self.known else {}
        out |= self.risks() if "model" in self.known["w"] else {}
        if not self.pairs:
            e, d = (Fraction(self.known[k]) for k in ("epsilon", "delta"))
            logs = [beside("ln", q, UP) / beside("ln", Fraction(2), DOWN) / e for q in (2 / d, 13 / e)]
            out["VC dimension"] = self.rows.p + bool(self.beta)
            out["sample size"] = math.ceil(max(4 * logs[0], 8 * out["VC dimension"] * logs[1]))
        return out

    def fewest_errors(self) -> Facts:
        """Return bounds of the fewest rows with z_i·w <= 0 that any w has, from both sides.

        Every w errs in each combination of rows that cancels, sum a_i z_i = 0 with a_i > 0, and no two share a row.
        """
        if any(self.cancelled.values()):
            raise ValueError("rows of a combination do not cancel")
        least = max(len(self.known["combinations"]), int(any(not q.any() for q in self.point.values())))
        return {"fewest errors at least": least, "fewest errors at most": min(map(self.errors, self.w))}

    def add_combinations(self, first: int) -> None:
        """Add the rows, each times its factor, to the sums of the combinations that they are in."""
        inside = [i - first for i in self.used if 0 <= i - first < self.n]
        for i, columns, values in self.each(np.isin(np.arange(self.n), inside)) if inside else ():
            self.tick()
            k, a = self.used[first + i]
            for j, z in zip(columns, values, strict=True):
                self.cancelled[k, j] = self.cancelled.get((k, j), 0) + a * z

    def risks(self) -> Facts:
        """Return the errors of the model, and bounds on its risk if the rows are independent draws."""
        errors, n = self.errors("model"), self.rows.n
        out: Facts = {"errors of the model": errors}
        if "held out" in self.known:
            limit = binomial_limit(errors, n, doubt_of(self.known["held out"]))
            out["risk of the model on held-out rows at most"] = stated(limit, UP)
            out["risk on held-out rows is for"] = f"confidence {float(self.known['held out'])!r}"
        if "PAC-Bayes" in self.known:
            of = self.known["PAC-Bayes"]
            counts = self.rounded_margins("model")
            rest = n - sum(counts.values())
            limit = pac_bayes_limit(sorted(counts.items()), rest, of["confidence"], of["scale"], self.beta)
            out["risk of the model by PAC-Bayes at most"] = stated(limit, UP)
            out["risk by PAC-Bayes is for"] = f"confidence {float(of['confidence'])!r}, scale {of['scale']}"
        return out

    def rounded_margins(self, k: str) -> Counter[int]:
        """Return how many rows have each z_i·w / (||z_i|| ||w||), rounded down to multiples of 1 / GRID; 0 has none."""
        lengths2, width = np.zeros(self.n, object), (62 - self.features.bit_length()) // 2
        for r, _, v in self.blocks():
            pieces = [*windows(v, self.low, width)]
            for shift, part in pieces:
                for more, other in pieces:
                    self.tick()
                    total = np.zeros(self.n, np.int64)
                    np.add.at(total, r, part * other)
                    hit = np.flatnonzero(total)
                    lengths2[hit] += total[hit].astype(object) << (shift + more)
        w2 = int((self.w[k] ** 2).sum())
        pairs = zip(self.scores[k].tolist(), lengths2.tolist(), strict=True)
        return Counter(cosine_down(score, w2 * z2) for score, z2 in pairs if z2)

    def replay(self, run: Facts, image: Callable[[Array], Image] | None = None) -> Replayed:
        """Replay every round of a run; `image` is what its sums mean."""
        if "shards" in run and not self.mixing:
            raise ValueError("the shards of a run were mixed: the checker of mixed runs checks it")
        self.replayed[run["theorem"]] = found = Replay(self, run, image).all(self.orders)
        return found

    def entries(self, rows: Iterable[int], mirrored: range) -> dict[int, list[tuple[int, int]]]:
        """Return (column, integer) of each entry of some rows, and of -z where mirrored."""
        found = {i: list[Any]() for i in rows}
        for i, c, z in self.each(np.isin(np.arange(self.n), [*found])):
            found[i] = [*zip(c, z, strict=True), *((~j, -x) for j, x in zip(c, z, strict=True) if j in mirrored)]
        return found

    def decide(self, terms: list[Fraction], columns: list[int], listed: bool) -> None:
        """Raise a ValueError unless a round is a mistake if and only if it is listed, or next to 0: count that."""
        if listed == (sum(terms) <= 0):
            return
        together = dict[int, Fraction]()
        for j, term in zip(columns, terms, strict=True):
            together[j] = together.get(j, Fraction()) + term
        if abs(sum(terms, Fraction())) * ROUNDING >= sum(map(abs, together.values())):
            raise ValueError(f"an update of a run was {'no' if listed else 'left out, which was a'} mistake")
        self.rounding[0] += 1
        self.rounding[1] += not listed

    def play(
        self, run: Facts, image: Callable[[int], Any], mirrored: range = range(0), found: Replayed | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """Play s += step z again, -z where mirrored: (row, score before, growth of the images' sum: down, up; s).

        Rounds of a replay whose scores the floats left open are computed, too: they must be mistakes if listed.
        """
        s, low, high = dict[int, int](), 0, 0
        moves = [(e.row, 1, e.listed) for e in found.events] if found else []
        if found is None:
            if "mixes" in run or np.bincount(np.array(run["rows"]) // (self.n // self.rows.n)).max() > run["passes"]:
                raise ValueError("a run is mixed, or has more updates by a row than it has passes")
            steps = run.get("steps", [1] * len(run["rows"]))
            moves = [(i, step, True) for i, step in zip(run["rows"], steps, strict=True)]
        rows = self.entries((i for i, _, _ in moves), mirrored)
        for i, step, listed in moves:
            self.tick()
            terms = [image(v := s.get(j, 0))[1] * x / Fraction(1 if mirrored else v or 1) for j, x in rows[i]]
            if "steps" not in run:  # the terms of x and -x are one, but in version 1
                self.decide(terms, [j if found is None else max(j, ~j) for j, _ in rows[i]], listed)
            for j, x in rows[i] if listed else ():
                before, s[j] = image(s.get(j, 0)), s.get(j, 0) + step * x
                low, high = low + image(s[j])[0] - before[1], high + image(s[j])[1] - before[0]
            if listed:
                yield i, sum(terms), low, high, s

    def perceptron(self, run: Facts) -> Facts:
        """Return both lemmas at every mistake, s_k·u against k gamma and ||s_k||_p² against (p - 1) k X_p²."""
        P, w = Fraction(run["p"]), run["witness"]
        image = self.cached(lambda s: [power(abs(s), way, P) for way in (DOWN, UP)])
        if "updates" in run and P == 2:
            found = self.replay(run)
            rows, X2 = [event.row for event in found.events if event.listed], self.radius2
            worst, last = found.ratio * self.unit**2, found.norm2 * self.unit**2
        else:
            powers = partial(Image, plain=0, rate=0.0, power=float(P))
            played = [*self.play(run, image, found=self.replay(run, powers) if "updates" in run else None)]
            rows = [i for i, *_ in played]
            powers2 = [power(s, UP, 2 / P) * self.unit**2 for _, _, _, s, _ in played]
            worst, last, X2 = max(q / j for j, q in enumerate(powers2, 1)), powers2[-1], self.longest(P, UP)
        k, worst = len(rows), worst / (P - 1) / (X2 if P == 2 else self.longest(P, DOWN))
        out: Facts = {"mistakes": k, "lemma 2, ratio at most": stated(worst, UP)}
        out["margin at most"] = stated(power(last, UP) / k, UP)
        if (least := self.scores[w].min()) > 0:
            lemma = min(Fraction(s, j * least) for j, s in enumerate(np.cumsum(self.scores[w][rows]), 1))
            norm2 = power(sum(map(self.cached(lambda x: power(abs(x), UP, P / (P - 1))), self.w[w])), UP, 2 - 2 / P)
            bound = (P - 1) * norm2 * X2 / (least * self.unit) ** 2
            out |= {"lemma 1, ratio at least": stated(lemma, DOWN), "mistakes at most": stated(bound, UP)}
            out["mistakes within the bound"] = k <= bound * max(worst, 1)
        out |= self.shifting(run, max(worst, Fraction(1))) if "pieces" in run else {}
        ww, hinge, _ = self.fit(f"delta {run['passes']}", rows)
        regret = power(self.radius2 * ww, UP) + power(self.radius2 * ww + 4 * hinge, UP)
        return out | ({"mistakes at most, by the regret": stated(regret**2 / 4, UP)} if P == 2 else {})

    def shifting(self, run: Facts, worst: Fraction) -> Facts:
        """Return the bound against weights u_t that are constant on each piece of the rounds, whatever was a mistake.

        sqrt(k) <= R B + D and k <= R B sqrt(k) + L, B = ||u_n|| + sum of ||u_t - u_{t-1}||, L and D the sum and the
        norm of the losses (1 - z_t·u_t)+ of all rounds. `worst` is the largest ||v||² / k R², where rounding raised it.
        """
        pieces, low = run["pieces"], min(piece["exponent"] for piece in run["pieces"])
        full = [vector(of, self.features) << (of["exponent"] - low) for of in pieces]
        if any(np.delete(of, self.kept).any() for of in full):
            raise ValueError("a piece has weights on columns without an entry")
        u = [of[self.kept] for of in full]
        path = power((u[-1] ** 2).sum(), UP) + sum(power(((b - a) ** 2).sum(), UP) for a, b in pairwise(u))
        unit, epochs, rows = self.unit * Fraction(2) ** low, epochs_of(run, self.rows.n, self.orders), np.zeros(0, int)
        one, losses, squares = (int(1 / unit) if unit <= 1 else 1 / unit), 0, 0
        for piece, of in zip(pieces, u, strict=True):
            left = piece["rounds"]
            while left:
                rows = rows if len(rows) else next(epochs)
                now, rows = rows[:left], rows[left:]
                missed = np.maximum(one - self.scores_of(of, now), 0)
                losses, squares, left = losses + missed.sum(), squares + (missed**2).sum(), left - len(now)
        reach = power(self.radius2 * worst, UP) * path * Fraction(2) ** low
        by_sum = (reach + power(reach**2 + 4 * losses * unit, UP)) / 2
        bound = min(by_sum**2, reach**2 + squares * unit**2 + 2 * power(reach**2 * squares * unit**2, UP))
        return {"pieces": len(pieces), "mistakes at most, by weights that shift": stated(Fraction(bound), UP)}

    def scores_of(self, w: Array, rows: Array) -> Array:
        """Return z_i·w of some rows, in units of 2^low, for a vector of integers."""
        wanted, places = np.unique(rows, return_inverse=True)
        scores, width = np.zeros(self.n, object), (62 - (2 * (BLOCK_ENTRIES + self.features)).bit_length()) // 2
        pieces = limbs(w, width)
        for r, c, v in self.blocks(wanted):
            for shift, part in windows(v, self.low, width):
                for more, piece in pieces:
                    self.tick()
                    total = np.zeros(self.n, np.int64)
                    np.add.at(total, r, part * piece[c])
                    hit = np.flatnonzero(total)
                    scores[hit] += total[hit].astype(object) << (shift + more)
        return np.asarray(scores[wanted][places])

    def passive_aggressive(self, run: Facts) -> Facts:
        """Return the hinge bounds of Crammer et al. 2006: PA-I's mistakes, PA-II's losses, PA's where C is null."""
        if "updates" in run:
            found = self.replay(run)
            losses = [1 - Fraction(event.score, found.one) for event in found.events]
        else:
            unit = self.unit**2 * Fraction(2) ** max(min(int(run["exponent"]), 9999), -9999)
            losses = [1 - score * unit for _, score, *_ in self.play(run, lambda s: (s * s, s * s))]
        soft = 1 / Fraction(run["C"]) / 2 if run["C"] else Fraction()
        zero = Fraction()
        k, total, (ww, *sums) = sum(q >= 1 for q in losses), sum(max(q, zero) ** 2 for q in losses), self.fit("hinge")
        first, second = (ww + (run["passes"] * q / soft if q else 0) for q in sums)
        bound = max(self.radius2, 2 * soft) * first if run["first"] else (self.radius2 + soft) * second
        out, what = {"mistakes": k, "losses² at most": stated(Fraction(total), UP)}, k if run["first"] else total
        return out | {"bound at most": stated(Fraction(bound), UP), "within the bound": what <= bound}

    def romma(self, run: Facts) -> Facts:
        """Return both lemmas of Li and Long 2002 at every update: k / R² <= ||w||² <= ||u||²."""
        events = self.replay(run).events
        updates, k = [event for event in events if event.listed], sum(event.score <= 0 for event in events)
        begun = [n for n, event in enumerate(updates) if event.norm2 == event.step * event.after]
        total = sum(event.step for event in updates[begun[-1] :])
        out: Facts = {"mistakes": k, "margin at most": stated(power(updates[-1].norm2, UP) * self.unit / total, UP)}
        if not (m2 := self.margin2(run["witness"], "l2")):
            return out
        lengths: list[Fraction] = [Fraction(event.norm2, event.after**2) / self.unit**2 for event in updates]
        made = np.cumsum([event.score <= 0 for event in updates]).tolist()
        ratios: list[Fraction] = [q * self.radius2 / j for q, j in zip(lengths, made, strict=True)]
        bound, first, second = self.radius2 / m2, min(ratios), max(lengths) * m2
        out |= {"lemma 1, ratio at least": stated(first, DOWN), "lemma 2, ratio at most": stated(second, UP)}
        within = k * min(first, Fraction(1)) <= bound * max(second, Fraction(1))
        return out | {"mistakes at most": stated(bound, UP), "mistakes within the bound": within}

    def kernel_perceptron(self, run: Facts) -> Facts:
        """Return Novikoff's bound and both lemmas in the feature space of a polynomial kernel."""
        played = KernelReplay(self, run)
        self.replayed[run["theorem"]] = found = played.all(self.orders)
        rows, unit, radius2 = [event.row for event in found.events], played.kernel.unit, int(played.diagonal.max())
        k, worst = len(rows), found.ratio / max(radius2, 1)
        out: Facts = {"mistakes": k, "verdict in the feature space": "open"}
        out |= {"K(x, x) at most": stated(radius2 * unit, UP), "lemma 2, ratio at most": stated(worst, UP)}
        out["margin at most"] = stated(power(found.norm2 * unit, UP) / k, UP)
        if run["cancelling"] is not None:
            if played.combined(run["cancelling"])[1]:
                raise ValueError("the rows of a combination do not cancel in the feature space")
            return out | {"verdict in the feature space": "not separable"}
        if run["separator"] is None:
            return out
        scores, norm2 = played.combined(run["separator"])
        if (least := int(scores.min())) <= 0:
            raise ValueError("the weights of rows do not separate in the feature space")
        bound = Fraction(radius2 * norm2, least**2)
        lemma = min(Fraction(int(s), j * least) for j, s in enumerate(np.cumsum(scores[rows]), 1))
        out |= {"verdict in the feature space": "separable", "lemma 1, ratio at least": stated(lemma, DOWN)}
        out["margin at least"] = stated(power(least**2 * unit / norm2, DOWN), DOWN)
        return out | {
            "mistakes at most": stated(bound, UP),
            "mistakes within the bound": k <= bound * max(worst, Fraction(1)),
        }

    def winnow(self, run: Facts) -> Facts:
        """Return by how much each mistake lowers KL(u || w), and L, by which it must."""
        k, X, eta, start = run["witness"], Fraction(self.entry), Fraction(run["rate"]), self.weights[run["norm"]]
        image = self.cached(lambda s: [beside("exp", eta * self.unit * s, way) for way in (DOWN, UP)])
        flat, total = beside("ln", (1 + beside("exp", -2 * eta * X, UP)) / 2, UP) + eta * X, int(abs(self.w[k]).sum())
        L, falls, before = eta * power(self.margin2(k, run["norm"]), DOWN) - flat, list[Fraction](), start
        mirrored = range(0 if run["norm"] == "l1" else self.columns, self.p)
        weights = partial(Image, plain=mirrored.start, rate=float(eta))
        found = self.replay(run, weights) if "updates" in run else None
        for i, _, low, high, s in self.play(run, image, mirrored, found):
            falls.append(eta * self.unit * self.scores[k][i] / total - beside("ln", (start + high) / before, UP))
            before, sums = start + low, s
        out: Facts = {"L at least": stated(L, DOWN), "each fall of the potential at least": stated(min(falls), DOWN)}
        out["each fall is at least L"] = min(falls) >= Fraction(out["L at least"])
        out["mistakes at most"] = stated(beside("ln", start, UP) / (L or 1), UP)
        out["margin at most"] = stated(max(0, *sums.values()) * self.unit / len(falls), UP)
        return {"mistakes": len(falls)} | (out if L > 0 else {})

    def run(self, run: Facts) -> Facts:
        """Return the claims about a run: those of its theorem and, if its rounds were replayed, what they were."""
        self.replayed, self.rounding = {}, [0, 0]
        out: Facts = getattr(self, CHECKED_THEOREMS[CHECKED_THEOREMS.index(run["theorem"])])(run)
        if "updates" not in run:
            return out
        (found,) = self.replayed.values()
        rounded, missed = found.rounded + self.rounding[0], found.missed + self.rounding[1]
        out |= {"rounds": run["rounds"], "updates": len(run["updates"]), "rounds decided by rounding": rounded}
        out["no other round was an update"] = True if not missed else f"but {missed} whose scores are next to 0"
        out |= {"classes compete from their first row on": True} if "arrive" in run else {}
        out["order, sha256"] = found.order
        if found.others is not None:
            n, passes = self.rows.n, -(-sum(run["updates"]) // self.rows.n)
            kept, errors = found.others
            errors = min(
                errors + (self.rounding[1] if run["theorem"] == "winnow" or run.get("p", 2) != 2 else 0), n - kept
            )
            doubt = doubt_of_compression(run["compression"], n, kept, passes, self.beta)
            out |= {"rows updated": kept, "errors on the other rows": errors}
            out["risk of the last weights at most"] = stated(binomial_limit(errors, n - kept, doubt), UP)
            out["risk of the last weights is for"] = f"confidence {float(run['compression'])!r}"
        return out | ({} if run["theorem"] in STEPPED else {"final sums, sha256": found.sums})


def scale_of(problem: Facts) -> int:
    """Return by how many bits the columns of a problem may have moved apart."""
    return 2 * max(map(abs, problem.get("scale", {}).get("values", ())), default=0)


def refuse_costly(certificate: Facts, rows: CheckedRows) -> None:
    """Raise a FormError before any arithmetic if a certificate would take more than MOST_WORK operations to check."""
    many, work, problems = len(certificate["data"]["classes"]), 0, certificate["problems"]
    entries, windows = (
        dict[str, int](),
        {k: (rows.span + 53 + abs(math.frexp(p["bias"])[1]) + scale_of(p)) // 21 for k, p in problems.items()},
    )
    for name, problem in problems.items():
        entries[name] = (rows.nonzeros + rows.n) * (2 * (many - 1) if problem["positive"] is None else 1)
        bits = [
            max(map(abs, integers(w)), default=0).bit_length()
            for side in ("w", "lambda")
            for w in problem[side].values()
        ]
        work += entries[name] * (windows[name] + 1) * sum(b // 16 + 1 for b in bits)
        each = entries[name] // rows.n + 1
        for of in problem.get("combinations", ()):
            work += 100 * len(of["at"]) * each * (windows[name] + 1 + max(map(int.bit_length, integers(of))) // 64)
    for run in certificate["runs"].values():
        updates, each = len(run.get("updates", run.get("rows", ()))), entries[run["problem"]] // rows.n + 1
        size, long = max(rows.entry, problems[run["problem"]]["bias"]), windows[run["problem"]] + 1
        work += min(run["passes"], updates + 1) * entries[run["problem"]] if "updates" in run else 0
        longest = max((v.bit_length() for of in run.get("pieces", ()) for v in integers(of)), default=0)
        parts = run["passes"] + len(run["pieces"]) if "pieces" in run else 0
        work += parts * entries[run["problem"]] * long * (longest // 16 + 1)
        mixes, finest = size_of_mixes(run, rows.n) if "shards" in run else (0, bits_of(run.get("mixes", [])))
        sums = (min(rows.p, rows.nonzeros) + 1) * (many if "rivals" in run else 1)
        work += 100 * (updates * each + mixes * sums) * long * (1 + finest // 64)
        if run["theorem"] == "kernel_perceptron":
            more = kernel_work(run, rows, problems[run["problem"]]["bias"])
            if isinstance(more, str):
                raise FormError(f"a run of a kernel perceptron can't be checked: {more}")
            work += more
        if run["theorem"] == "winnow" and not run["rate"] * size * updates <= LARGEST_EXPONENT:
            raise FormError("a run of Winnow spans too many orders of magnitude to be checked")
    if work > MOST_WORK:
        raise FormError(f"it would take {work:.3g} operations to check it, more than {MOST_WORK:.3g}")


def claims(
    certificate: Facts, rows: CheckedRows, kind: type[SignedProblem] = SignedProblem, orders: Any = None,
    unfinished: dict[str, Exception] | None = None,
) -> Facts:  # fmt: skip
    """Return all claims, computed from the witnesses and the rows; one is that the witnesses were not touched.

    The problems and runs that can't be checked, or not in time, are added to `unfinished`, if given, with the reason.
    """
    problems, runs, found = certificate["problems"], certificate["runs"], dict[str, Facts]()
    for name, facts in problems.items():
        own = {k: run for k, run in runs.items() if run["problem"] == name}
        try:
            problem = kind(rows, facts, certificate["data"]["classes"], orders)
            found[name] = problem.claims()
            for k, run in own.items():
                found[k] = problem.run(run)
        except (OutOfTimeError, NotStreamedError) as error:
            if unfinished is None:
                raise
            unfinished |= {k: error for k in (name, *own) if k not in found}
        if certificate.get("version") == VERSION and "sample size" in found.get(name, ()):
            found[name]["sample size is for"] = "epsilon {epsilon}, delta {delta}".format_map(facts)
    for k in (k for k, run in runs.items() if certificate.get("version") == VERSION and "confidence" in run):
        found.get(k, {})["confidence"] = repr(float(runs[k]["confidence"]))
    whole = json.dumps([certificate[k] for k in ("data", "problems", "runs")], sort_keys=True)
    found["witnesses"] = {"sha256": hashlib.sha256(whole.encode()).hexdigest()}
    return {f"{k}: {claim}": v for k in (*problems, *runs, "witnesses") for claim, v in found.get(k, {}).items()}


def check(
    certificate: Facts, X: Any, y: Any, kind: type[SignedProblem] = SignedProblem, orders: Any = None,
    time_limit: float | None = None,
) -> list[tuple[str, str, str]]:  # fmt: skip
    """Return (claim, status, what is stated and what the data give) for each claim; it never raises.

    The status is "holds", "fails", or, if a time limit in seconds is given and was reached, "not in time". The orders
    of epochs that were shuffled are drawn with numpy; if numpy draws others, give them as `orders`.
    """
    return check_rows(certificate, partial(CheckedRows, X, y), kind, orders, time_limit)


def check_rows(
    certificate: Facts, read: Callable[..., CheckedRows], kind: type[SignedProblem], orders: Any = None,
    time_limit: float | None = None,
) -> list[tuple[str, str, str]]:  # fmt: skip
    """Return what `check` does, of the rows that `read(classes, tick)` returns."""
    late = f"not checked within the time limit of {time_limit} seconds"
    try:
        check_form(certificate)
        known, unfinished = certificate["claims"], dict[str, Exception]()
        try:
            rows = read(certificate["data"]["classes"], clock(time_limit))
        except OutOfTimeError:
            return [(k, NOT_IN_TIME, late) for k in known]
        if [rows.n, rows.p, rows.sha256] != [certificate["data"][k] for k in ("rows", "features", "sha256")]:
            return [("data", "fails", f"these are other rows or labels: their SHA-256 is {rows.sha256}")]
        if certificate["version"] == VERSION and not rows.counts.all():
            return [("data", "fails", "the certificate has a class that no row has")]
        refuse_costly(certificate, rows)
        found = claims(certificate, rows, kind, orders, unfinished)
        same = {k: repr(found.get(k)) == repr(known.get(k)) not in ("None", "False") for k in found | known}
        checks = {k: ("holds" if same[k] else "fails", f"stated {known.get(k)}, found {found.get(k)}") for k in same}
        for name, error in unfinished.items():
            why = (NEEDS_ROWS, str(error)) if isinstance(error, NotStreamedError) else (NOT_IN_TIME, late)
            checks |= {k: why for k in known.keys() - found.keys() if k.startswith(f"{name}: ")} or {name: why}
        return [(k, *of) for k, of in checks.items()]
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError, StopIteration) as error:
        return [("certificate", "fails", f"the certificate does not fit these data: {error!r}")]
