"""Rows as the points of a hull: sums of them, their slopes and their products, without a copy of the data."""

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.core.arrays import Array
from linsep.core.examples import Csr, Dense
from linsep.core.threads import split
from linsep.solvers.margin.hull import EPS
from linsep.solvers.products import features_of, rows_of, times, times_transposed

AT_ONCE = 1 << 17
"""Entries of the data that are copied together, at most."""


class Points:
    """The rows z_i = y_i x_i, times a power of two that brings the largest entry near 1; never copied as a whole."""

    def __init__(self, data: Dense | Csr, signs: Array, row_weights: Array, apart: bool, jobs: int) -> None:
        self.data = data._replace(bias=0.0) if apart else data
        self.signs, self.jobs = signs, jobs
        self.groups = 2 if apart else 1
        self.group = (signs > 0).astype(np.int64) if apart else np.zeros(len(signs), np.int64)
        self.present = row_weights > 0 if len(row_weights) else np.ones(len(signs), np.bool_)
        if len(np.unique(self.group[self.present])) < self.groups:
            raise ValueError("a margin needs rows, and with a free bias rows of both signs: some are missing")
        values = data.values
        largest = max(float(np.max(values, initial=self.data.bias)), -float(np.min(values, initial=0.0)))
        self.scale = math.ldexp(1.0, -max(math.frexp(largest)[1], -1000))
        self.norms = self._norms()
        self.radius = float(self.norms[self.present].max())

    def point(self, dual: Array) -> Array:
        """Return v, the sum of dual_i z_i."""
        return times_transposed(self.data, (dual * self.signs * self.scale)[:, None], self.jobs)[:, 0]

    def slopes(self, v: Array) -> Array:
        """Return z_i·v for each row; infinity for those that are absent."""
        slopes = times(self.data, (v * self.scale)[:, None], self.jobs)[:, 0]
        slopes *= self.signs
        slopes[~self.present] = np.inf
        return slopes

    def products(self, a: Array, b: Array) -> Array:
        """Return z_i·z_j for the rows a and the rows b."""
        out = np.empty((len(a), len(b)))
        for to in self._parts(len(b)):
            right = self._copied(b[to]).T
            for at in self._parts(len(a)):
                product = self._copied(a[at]) @ right
                out[at, to] = product if isinstance(self.data, Dense) else product.toarray()
        out += (self.data.bias * self.scale) ** 2
        out *= self.signs[a][:, None] * self.signs[b]
        return out

    def rounding(self) -> float:
        """Return the most by which rounding may change z·w for a unit w."""
        return rounding_of(self.data, self.radius)

    def _norms(self) -> Array:
        norms = np.empty(len(self.signs))
        for part in self._parts(len(norms)):
            rows = self._copied(np.arange(part.start, part.stop))
            if isinstance(self.data, Dense):
                squares = np.einsum("ij,ij->i", rows, rows)
            else:
                rows.sum_duplicates()
                squares = rows.power(2).sum(axis=1)
            norms[part] = np.sqrt(squares + (self.data.bias * self.scale) ** 2)
        return norms

    def _parts(self, count: int) -> list[slice]:
        """Cut `count` rows so that copies of them stay small."""
        data = self.data
        width = features_of(data) if isinstance(data, Dense) else -(-len(data.values) // rows_of(data))
        return [slice(lo, hi) for lo, hi in split(count, -(-count * width // AT_ONCE))]

    def _copied(self, rows: Array) -> Any:
        """Return these rows, scaled, without signs and constant feature."""
        if isinstance(self.data, Dense):
            return np.multiply(self.data.values[rows], self.scale, dtype=np.float64)
        starts = self.data.indptr[rows].astype(np.int64)
        ends = np.cumsum(self.data.indptr[rows + 1] - starts)
        where = np.arange(ends[-1]) + np.repeat(starts - np.append(0, ends[:-1]), np.diff(ends, prepend=0))
        values = np.multiply(self.data.values[where], self.scale, dtype=np.float64)
        return sp.csr_array((values, self.data.indices[where], np.append(0, ends)), (len(rows), self.data.features))


def rounding_of(data: Dense | Csr, radius: float) -> float:
    """Return the most by which rounding may change x·w for a unit w, `radius` being the largest ||x||.

    Examples
    --------
    >>> rounding_of(Dense(np.ones((1, 2)), bias=0.0), 1.0) == 4 * EPS
    True
    """
    longest = int(np.diff(data.indptr).max(initial=0)) if isinstance(data, Csr) else features_of(data)
    return (longest + 2) * EPS * radius
