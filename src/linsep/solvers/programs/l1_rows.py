"""Signed rows z_i = y_i [x_i, beta] for games in the L1 norm: scores and sums of all rows, and a few rows as a matrix.

Nothing is copied but the rows that are asked for. All is in the unit 2^exponent, which brings the largest entry near 1.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.core.arrays import Array
from linsep.core.examples import Csr, Dense
from linsep.solvers.products import features_of, rows_of, times, times_transposed
from linsep.solvers.programs.linear_program import mixture
from linsep.solvers.programs.signed_rows import beside, column, exponents

FAR = 1000
"""The largest power of two that vectors are multiplied by: what lies beyond is left to the result."""


class L1Rows:
    """The rows of one game: `signed` weights are of any sign, others are >= 0, and the constant one is of any sign."""

    def __init__(self, data: Dense | Csr, signs: Array, signed: bool) -> None:
        self.data, self.signs, self.signed = data, signs, signed
        self.count, self.features = rows_of(data), features_of(data)
        self.width = self.features + (data.bias != 0.0)
        """Features, and the constant one if there is a bias."""
        values = data.values
        largest = max(np.max(values, initial=0.0), -np.min(values, initial=0.0), abs(data.bias))
        self.exponent = int(exponents(float(largest)))
        self.mirrored = np.arange(0 if signed else self.features, self.width)
        """The features whose weights may be below 0."""

    def scores(self, w: Array) -> Array:
        """Return z_i·w for all rows."""
        whole = np.zeros((self.features + 1, 1))
        whole[: self.width, 0] = w
        return self._scaled(times, whole)[:, 0] * self.signs

    def sums(self, dual: Array) -> Array:
        """Return the sum of lambda_i z_i over all rows."""
        return self._scaled(times_transposed, (dual * self.signs)[:, None])[: self.width, 0]

    def _scaled(self, product: Any, vector: Array) -> Array:
        power = min(max(self.exponent, -FAR), FAR)
        return np.ldexp(product(self.data, np.ldexp(vector, -power)), power - self.exponent)

    def pays(self, sums: Array) -> Array:
        """Return what a weight of sum 1 gains on each feature: s_j, or |s_j| where the weight may be below 0."""
        pays = sums.copy()
        pays[self.mirrored] = np.abs(pays[self.mirrored])
        return pays

    def allowed(self, weights: Array) -> Array:
        """Return weights made >= 0 where they must be, with sum |w_j| = 1; all 0 where nothing is left of them."""
        w = np.where(np.isfinite(weights), weights, 0.0)[: self.width]
        if not self.signed:
            w[: self.features] = np.maximum(w[: self.features], 0.0)
        w = np.ldexp(w, -exponents(np.max(np.abs(w), initial=0.0)))
        return w / (np.abs(w).sum() or 1.0)

    def shares(self, dual: Array) -> Array:
        """Return the lambda with these shares; those that are not above 0 do not count."""
        finite = np.where(np.isfinite(dual), dual, 0.0)
        return mixture(np.ldexp(finite, -exponents(np.max(np.abs(finite), initial=0.0))))

    def balanced(self, rows: Array) -> Array:
        """Return the lambda that has half its weight on either class, on these rows."""
        positive = self.signs[rows] > 0
        counts = np.array([np.count_nonzero(~positive), np.count_nonzero(positive)])
        return mixture(1.0 / counts[positive.astype(np.int64)])

    def chosen(self, rows: Array) -> Any:
        """Return these rows as a csr_array."""
        data, signs = self.data, self.signs[rows]
        Z: Any
        if isinstance(data, Csr):
            starts = np.asarray(data.indptr)[rows].astype(np.int64)
            counts = np.asarray(data.indptr)[rows + 1] - starts
            ends = np.cumsum(counts)
            places = np.repeat(starts - ends + counts, counts) + np.arange(ends[-1])
            parts = self._in_unit(data.values[places]), data.indices[places], np.append(0, ends)
            Z = sp.csr_array(parts, shape=(len(rows), self.features))
            Z.sum_duplicates()
        else:
            Z = sp.csr_array(self._in_unit(data.values[rows]))
        if data.bias:
            Z = beside(Z, column(len(rows), float(np.ldexp(data.bias, -self.exponent))))
        Z.data *= np.repeat(signs, np.diff(Z.indptr))
        Z.eliminate_zeros()
        return Z

    def _in_unit(self, values: Array) -> Array:
        return np.ldexp(values.astype(np.float64), -self.exponent)

    def lowest(self) -> int:
        """Return the row whose best feature pays least: alone it proves the most."""
        values, signs = self.data.values, self.signs
        high, low = np.zeros(self.count), np.zeros(self.count)
        if isinstance(self.data, Csr):
            counts = np.diff(self.data.indptr)
            filled = np.flatnonzero(counts)
            if len(filled):
                high[filled] = np.maximum.reduceat(values, self.data.indptr[filled])
                low[filled] = np.minimum.reduceat(values, self.data.indptr[filled])
            partly = counts < self.features
            high[partly], low[partly] = np.maximum(high[partly], 0.0), np.minimum(low[partly], 0.0)
        elif self.features:
            high, low = values.max(axis=1), values.min(axis=1)
        best = np.maximum(high, -low) if self.signed else np.where(signs > 0, high, -low)
        return int(np.argmin(best))
