"""Test whether rows may have come in random order, by the order of their labels (exchangeability).

A bound on risk (:mod:`linsep.theory.risk`) assumes independent rows, so that every order of them was as probable. That
can't be proved, but labels can refute it. Given how often a label occurs, n₁ times in n rows, both of these are
hypergeometric if all orders are equally probable:

- the runs of the label (rows of it that stand together): n₁ draws from n, of which n - n₁ + 1 count;
- its rows among the first h: h draws from n, of which n₁ count.

A count of k in m draws with mean m p is as far from it, on one side, with probability e^(-m KL(k/m || p)) at most
(Hoeffding, 1963). The least of these bounds over labels, tests and sides, times their number, is a p-value.
"""

from typing import NamedTuple

import numpy as np

from linsep.engine.arrays import Array

LEVEL = 1e-3
"""The order of exchangeable rows is refuted with this probability at most."""
TESTED = "runs of each label, and its share of the first rows against the rest"
"""Descriptions of the tests."""
TESTS = 4
"""Tests of each label: two counts, both sides."""


class OrderTest(NamedTuple):
    """The result of the tests."""

    p_value: float
    """An upper bound on the probability that a random order is so uneven."""
    label: int
    """The code of the label that is the most uneven."""
    what: str
    """Description of the unevenness."""

    @property
    def refuted(self) -> bool:
        """Return whether the labels refute a random order of the rows."""
        return self.p_value <= LEVEL


class LabelOrder:
    """Counts of labels in the order of a stream, in memory for 64 numbers a label.

    >>> order = LabelOrder()
    >>> order.add(np.repeat([0, 1], 40))
    >>> order.test().what, order.test().refuted
    ('1 run, where a random order has about 20.5', True)
    >>> shuffled = LabelOrder()
    >>> shuffled.add(np.random.default_rng(0).permutation(np.repeat([0, 1], 40)))
    >>> shuffled.test().refuted
    False
    """

    def __init__(self) -> None:
        self.rows = 0
        self._counts, self._runs = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._last = -1
        self._until: dict[int, Array] = {}
        """The counts of labels in the first 1, 2, 4, ... rows."""

    def add(self, codes: Array) -> None:
        """Add the codes of the next rows, 0 and above; a code not seen before is a new label."""
        codes = np.asarray(codes, np.intp)
        if not len(codes):
            return
        more = max(int(codes.max()) + 1 - len(self._counts), 0)
        self._counts, self._runs = np.pad(self._counts, (0, more)), np.pad(self._runs, (0, more))
        size, start = len(self._counts), 0
        while (power := 1 << self.rows.bit_length()) <= self.rows + len(codes) - start:
            stop = start + power - self.rows
            self._count(codes[start:stop], size)
            self._until[power], start = self._counts.copy(), stop
        self._count(codes[start:], size)

    def _count(self, codes: Array, size: int) -> None:
        if len(codes):
            self._runs += np.bincount(codes[np.diff(codes, prepend=self._last) != 0], minlength=size)
            self._counts += np.bincount(codes, minlength=size)
            self.rows, self._last = self.rows + len(codes), int(codes[-1])

    def test(self) -> OrderTest:
        """Test whether all orders of the rows were equally probable."""
        n, counts = self.rows, self._counts
        if n < 2 or np.count_nonzero(counts) < 2:
            return OrderTest(1.0, 0, "")
        first = 1 << (2 * n // 3).bit_length() - 1
        early = np.pad(self._until[first], (0, len(counts) - len(self._until[first])))
        with np.errstate(invalid="ignore", divide="ignore"):
            runs = counts * divergence(self._runs / counts, (n - counts + 1) / n)
            parts = first * divergence(early / first, counts / n)
        exponents = np.where(counts > 0, [runs, parts], 0.0)
        which, label = np.unravel_index(np.argmax(exponents), exponents.shape)
        p = TESTS * np.count_nonzero(counts) * np.exp(-exponents[which, label])
        return OrderTest(min(float(p), 1.0), int(label), self._words(int(which), int(label), first, int(early[label])))

    def _words(self, which: int, label: int, first: int, early: int) -> str:
        n, count, runs = self.rows, int(self._counts[label]), int(self._runs[label])
        if which == 0:
            expected = (
                f"{count * (n - count + 1) / n:,.3g}" if count * n < 1000 * n else f"{count * (n - count + 1) / n:,.0f}"
            )
            return f"{runs:,} run{'s' * (runs != 1)}, where a random order has about {expected}"
        return f"{early:,} rows among the first {first:,}, and {count - early:,} among the other {n - first:,}"


def divergence(a: Array, p: Array) -> Array:
    """Return KL(a || p) of coins that fall with probability a and p.

    >>> divergence(np.array([0.0, 0.5]), np.array([0.5, 0.5])).round(3)
    array([0.693, 0.   ])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(a > 0, a * np.log(a / p), 0.0)
        down = np.where(a < 1, (1 - a) * np.log((1 - a) / (1 - p)), 0.0)
    return np.asarray(up + down)
