"""Monomials that are named one by one: "x0", "x0 x3", "x0^5", or the columns of the factors, (0, 3)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.core.arrays import Array
from linsep.maps.rows import csr_like, is_sparse

Term = tuple[int, ...]
"""The columns of a term's factors, in rising order."""


MOST_FACTORS = 1 << 16
"""Factors of one term."""


def parsed(terms: Iterable[Any], width: int, names: Iterable[str] | None = None) -> Iterator[Term]:
    """Yield the terms, given the number of columns and their names: None is x0, x1, ...

    >>> list(parsed(["x0", "x1", "x0^5", (1, 0), "1"], width=2))
    [(0,), (1,), (0, 0, 0, 0, 0), (0, 1), ()]
    """
    numbers = None if names is None else {name: j for j, name in enumerate(names)}

    def number(name: str) -> int | None:
        if numbers is not None:
            return numbers.get(name)
        j = _whole(name[1:]) if name.startswith("x") else None
        return j if j is not None and j < width else None

    for term in terms:
        yield tuple(sorted(_spelt(term, number) if isinstance(term, str) else _numbered(term, width)))


def _whole(digits: str) -> int | None:
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 20 else None


def _spelt(term: str, number: Callable[[str], int | None]) -> list[int]:
    if term.strip() == "1":
        return []
    columns: list[int] = []
    for factor in term.split():
        name, _, power = (factor, "", "1") if number(factor) is not None else factor.rpartition("^")
        j, times = number(name), _whole(power)
        if j is None or not times:
            raise ValueError(f"terms: {term!r} has the factor {factor!r}, neither a column of X nor a power of one")
        if len(columns) + times > MOST_FACTORS:
            raise ValueError(f"terms: {term!r:.60} has more than {MOST_FACTORS:,} factors: lower the powers")
        columns += [j] * times
    if not columns:
        raise ValueError(f"terms: {term!r} has no factor: write '1' for the constant")
    return columns


def _numbered(term: Any, width: int) -> list[int]:
    columns: list[Any] = list(term) if isinstance(term, Iterable) else [None]
    for column in columns:
        if not isinstance(column, Integral) or not 0 <= int(column) < width:
            raise ValueError(
                f"terms: {term!r} is neither a text such as 'x0^2' nor a tuple of columns up to {width - 1}"
            )
    return [int(column) for column in columns]


def spelled(term: Term, name: Callable[[int], str]) -> str:
    """Return a term's name, given those of the columns.

    >>> spelled((0, 0, 2), "x{}".format)
    'x0^2 x2'
    """
    powers = {j: term.count(j) for j in term}
    return " ".join(name(j) if power == 1 else f"{name(j)}^{power}" for j, power in powers.items()) or "1"


@dataclass(frozen=True)
class Terms:
    """Monomials in the order in which they were named."""

    terms: list[Term]

    @property
    def columns(self) -> int:
        """The columns of the result."""
        return len(self.terms)

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms)

    def term(self, column: int) -> Term:
        """Return the monomial of one column."""
        return self.terms[column]

    def of(self, X: Any) -> Any:
        """Return the monomials of each row."""
        return self._of_sparse(X) if is_sparse(X) else self._of_dense(X)

    def _of_dense(self, X: Array) -> Array:
        result = np.empty((len(X), self.columns), X.dtype)
        for k, term in enumerate(self.terms):
            column = np.ones(len(X))
            for j in term:
                column *= X[:, j]
            result[:, k] = column
        return result

    def _of_sparse(self, X: Any) -> Any:
        used = np.unique(np.array([j for term in self.terms for j in term], np.int64))
        wanted = np.flatnonzero(np.isin(X.indices, used))
        wanted = wanted[np.argsort(X.indices[wanted], kind="stable")]
        rows, values = np.searchsorted(X.indptr, wanted, side="right") - 1, X.data[wanted].astype(np.float64)
        cuts = np.searchsorted(X.indices[wanted], [used, used + 1]).T
        stored = {j: (rows[a:b], values[a:b]) for j, (a, b) in zip(used.tolist(), cuts.tolist(), strict=True)}
        constant = np.arange(X.shape[0]), np.ones(X.shape[0])
        parts = [_product([stored[j] for j in term]) if term else constant for term in self.terms]
        where, products = (np.concatenate(each) for each in zip(*parts, strict=True))
        ends = np.cumsum([0, *(len(rows) for rows, _ in parts)])
        by_column = sp.csc_array((products.astype(X.dtype), where, ends), shape=(X.shape[0], self.columns))
        result: Any = by_column.tocsr()
        return csr_like(X, result.data, result.indices, result.indptr, self.columns)


def _product(columns: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the rows that all of some sparse columns have, and the products there."""
    rows, values = columns[0]
    for more, factors in columns[1:]:
        if more is rows:
            values = values * factors
        else:
            rows, here, there = np.intersect1d(rows, more, assume_unique=True, return_indices=True)
            values = values[here] * factors[there]
    return rows, values
