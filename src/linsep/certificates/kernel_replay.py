"""Replay a perceptron in the feature space of a polynomial kernel, every round of it, in integers.

    K(x, z) = (coef0 + gamma x·z)^degree + beta²

The parameters are floats, so that every value of the kernel is an integer times one power of two. The weights are
v = sum of y_j phi(x_j) over the updates j, known by the score y_i v·phi(x_i) of each row i: an update by row j adds
G_ij = y_i y_j K(x_i, x_j) to each. A listed round must have a score of at most 0, and no other round may have one; a
round whose score is next to 0, as for the other runs, is counted. A separator is w = sum of alpha_j y_j phi(x_j), whose
scores are G alpha and whose ||w||² is alpha·G alpha; rows cancel if ||sum of lambda_i y_i phi(x_i)||² = lambda·G lambda
is 0, and then every w errs on one of them. Both need gamma > 0 and coef0 >= 0, for which K is an inner product.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .replay import ROUNDING, Event, Replayed, epochs_of
from .schema import integers

if TYPE_CHECKING:
    from .checker import CheckedRows, SignedProblem

Array = np.ndarray[Any, Any]
Facts = dict[str, Any]
MOST_VALUES = 1 << 26
"""The most words of 64 bits in kernel values that are kept, with four for each value itself."""
LONGEST_VALUE = 1 << 16
"""The most bits of a kernel value."""
COLUMNS = 64
"""Columns of kernel values that are computed at once."""


class KernelUnits:
    """The parameters of a kernel as integers: K = (A x·z + B)^degree factor + bias, in units of `unit`.

    The entries of x and z are integers in units of 2^low.
    """

    def __init__(self, run: Facts, low: int, beta: float) -> None:
        gamma, coef0, bias = Fraction(run["gamma"]) * Fraction(4) ** low, Fraction(run["coef0"]), Fraction(beta) ** 2
        one = max(gamma.denominator, coef0.denominator)  # powers of two, as of all floats
        self.degree = int(run["degree"])
        whole = max(one**self.degree, bias.denominator)
        self.A, self.B = int(gamma * one), int(coef0 * one)
        self.factor, self.bias, self.unit = whole // one**self.degree, int(bias * whole), Fraction(1, whole)

    def values(self, products: Array) -> Array:
        """Return the values of the kernel from x·z."""
        return np.asarray((products * self.A + self.B) ** self.degree * self.factor + self.bias)

    def bits(self, entry: int, columns: int) -> int:
        """Return the most bits of a value, for entries of so many bits."""
        base = max(self.A.bit_length() + 2 * entry + columns.bit_length(), self.B.bit_length()) + 1
        return max(self.degree * base + self.factor.bit_length(), self.bias.bit_length()) + 1


def columns_of(run: Facts, n: int) -> int:
    """Return the most rows whose kernel values with all rows are needed."""
    return min(n, len(run["updates"]) + sum(len(run[k]["at"]) for k in ("separator", "cancelling") if run[k]))


def kernel_work(run: Facts, rows: "CheckedRows", beta: float, columns: int | None = None) -> int | str:
    """Return about how many operations a replay takes, or why it would take too many or too much memory."""
    m, p = columns or columns_of(run, rows.n), int(rows.used.sum())
    low = min(rows.low, 1 - Fraction(beta).denominator.bit_length())
    entry = max(math.frexp(rows.entry)[1] - low, 1)
    bits = KernelUnits(run, low, beta).bits(entry, p)
    words, digits = bits // 64 + 1, entry // ((53 - p.bit_length()) // 2) + 1
    if bits > LONGEST_VALUE:
        return f"its kernel values have {bits:,} bits, more than {LONGEST_VALUE:,}"
    if max(rows.n * m * (words + 4), rows.n * p * (entry // 64 + 5)) > MOST_VALUES:
        return f"it would take {rows.n:,} x {m:,} kernel values of {bits:,} bits each, too many for the exact check"
    witnesses = [v for k in ("separator", "cancelling") if run[k] for v in integers(run[k])]
    longest = max(map(int.bit_length, witnesses), default=0)
    work = rows.n * m * (p * digits**2 + 100 * (digits**2 + words * words // 16 + 1 + words * longest // 1024))
    return work + 100 * rows.n * (len(run["updates"]) * (1 + words // 16) + p * digits)


class KernelReplay:
    """A run of a kernel perceptron on the signed rows of a problem."""

    def __init__(self, problem: "SignedProblem", run: Facts) -> None:
        self.problem, self.run, self.n = problem, run, problem.n
        self.rounded, self.missed = 0, 0
        self.kernel = KernelUnits(run, problem.low, problem.beta)
        columns = np.flatnonzero(problem.rows.used)
        self.X = np.zeros((self.n, len(columns)), object)
        kept = problem.kept[:-1] if problem.places is not None else np.arange(problem.columns)
        for i, c, z in problem.each(np.ones(self.n, bool)):
            own = [(kept[j], x) for j, x in zip(c, z, strict=True) if j < problem.columns]
            if own:
                self.X[i, np.searchsorted(columns, [j for j, _ in own])] = [x for _, x in own]
        self.diagonal = self.kernel.values((self.X * self.X).sum(axis=1))
        longest = int(abs(self.X).max(initial=0)).bit_length()
        self.width = (53 - len(columns).bit_length()) // 2  # sums of products of two digits are below 2^53
        sizes, signs = abs(self.X), np.where(self.X < 0, -1, 1)
        shifts = range(0, longest, self.width)
        self.digits = [(sizes // (1 << k) % (1 << self.width)).astype(np.float64) * signs.astype(float) for k in shifts]

    def gram(self, rows: Array) -> Array:
        """Return G_ij for all rows i and some rows j."""
        G, sign = np.zeros((self.n, len(rows)), object), self.problem.sign
        for start in range(0, len(rows), COLUMNS):
            self.problem.tick()
            chosen = rows[start : start + COLUMNS]
            products = np.zeros((self.n, len(chosen)), object)
            for a, part in enumerate(self.digits):
                for b, other in enumerate(self.digits):
                    products += (part @ other[chosen].T).astype(np.int64).astype(object) << ((a + b) * self.width)
            signs = np.outer(sign, sign[chosen]).astype(object)
            G[:, start : start + COLUMNS] = self.kernel.values(products * signs) * signs
        return G

    def epochs(self, orders: Iterable[Any] | None, digest: Any = None) -> Iterator[tuple[Array, Array]]:
        """Return the rows of each epoch and the places of its updates, up to the first epoch without one."""
        rounds, done = np.cumsum(np.array(self.run["updates"], np.int64)) - 1, 0
        for epoch, rows in enumerate(epochs_of(self.run, self.n, orders)):
            self.problem.tick()
            if digest is not None:
                digest.update(rows.astype("<i8").tobytes())
            end = int(np.searchsorted(rounds, epoch * self.n + len(rows)))
            yield rows, rounds[done:end] - epoch * self.n
            if end == done:
                break
            done = end
        if done < len(rounds):
            raise ValueError("a run has updates after an epoch without any")

    def all(self, orders: Iterable[Any] | None) -> Replayed:
        """Play all rounds."""
        digest = hashlib.sha256()
        updated = [rows[places] for rows, places in self.epochs(orders, digest)]
        witnesses = [np.array(self.run[k]["at"], np.int64) for k in ("separator", "cancelling") if self.run[k]]
        self.known = np.unique(np.concatenate([*updated, *witnesses]))
        self.G = self.gram(self.known)
        self.scores, self.counts = np.zeros(self.n, object), np.zeros(self.n, np.int64)
        norm2, ratio, events = 0, Fraction(), list[Event]()
        for rows, places in self.epochs(orders):
            begin = 0
            for place in [*places.tolist(), len(rows)]:
                self.problem.tick()
                between = rows[begin:place]
                for i in between[(self.scores[between] <= 0).astype(bool)].tolist():
                    self.refuse_unless_next_to_0(i, listed=False)
                begin = place + 1
                if place == len(rows):
                    break
                i = int(rows[place])
                score = self.scores[i]
                if score > 0:
                    self.refuse_unless_next_to_0(i, listed=True)
                norm2 += 2 * score + self.diagonal[i]
                self.scores += self.G[:, np.searchsorted(self.known, i)]
                self.counts[i] += 1
                events.append(Event(i, True, score, score + self.diagonal[i], 1, norm2))
                ratio = max(ratio, Fraction(norm2, len(events)))
        sums = hashlib.sha256(self.counts.astype("<i8").tobytes()).hexdigest()
        return Replayed(events, [], self.rounded, self.missed, 0, sums, digest.hexdigest(), ratio, norm2)

    def refuse_unless_next_to_0(self, row: int, listed: bool) -> None:
        """Raise a ValueError unless the score of a row is next to 0; count the round if it is."""
        size = sum(int(self.counts[j]) * abs(K) for j, K in zip(self.known.tolist(), self.G[row].tolist(), strict=True))
        if abs(self.scores[row]) * ROUNDING >= size:
            raise ValueError(f"an update of a run was {'no' if listed else 'left out, which was a'} mistake")
        self.rounded, self.missed = self.rounded + 1, self.missed + (not listed)

    def combined(self, witness: Facts) -> tuple[Array, int]:
        """Return the scores of w = sum of a_j y_j phi(x_j), and ||w||²."""
        at, values = np.array(witness["at"], np.int64), np.array([*integers(witness), None], object)[:-1]
        scores = self.G[:, np.searchsorted(self.known, at)] @ values
        return scores, int((scores[at] * values).sum())
