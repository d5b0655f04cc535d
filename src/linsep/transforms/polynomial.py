"""Polynomial and interaction features.

Columns are numbered as scikit-learn's PolynomialFeatures numbers them: by degree, then in the order of the factors,
(0,) (1,) ... (0, 0) (0, 1) ... (1, 1) ...
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement, zip_longest
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from linsep.engine.arrays import Array, frozen
from linsep.engine.tiers import tiered
from linsep.transforms.base import FeatureMap, check_array, csr_like, index_type, is_sparse
from linsep.validation.errors import InvalidDataError, ParameterError

Term = tuple[int, ...]
"""The columns of a term's factors, in rising order."""
MOST_FACTORS = 1 << 16
"""Factors of one term."""
AT_ONCE = 1 << 16
"""Products per block, so that a block is still in the cache when it is copied."""
MOST = np.iinfo(np.int64).max
BYTES = 16
"""Largest number of bytes of an entry."""
MOST_OF_A_ROW = 1 << 31
"""Products of one row: 16 GB as float64."""
MOST_DEGREE = 1 << 16
"""The highest degree: the powers beyond are 0, 1 or infinite for all but a few numbers."""
MOST_NAMES = 10**7
"""Names that are written out; wider results have `name_of`."""


def _work(values: Array, columns: Array, indptr: Array, *others: Any) -> int:
    return 4 * (len(values) + len(others[-2]))


@tiered(_work)
def expand(
    values: Array, columns: Array, indptr: Array, width: int, ends: Array, repeats: bool,
    here: Array, after: Array, place: Array, base: Array, product: Array, products: Array, numbers: Array,
) -> None:  # fmt: skip
    """Write all monomials of each sparse row, and their columns, in rising order.

    Those of degree m end before column ends[m]; -1 leaves that degree out. From the end back, the monomial
    j_1 <= ... <= j_m has the column end - N(j_1, m) + N(j_1, m-1) - N(j_2, m-1) + ... - N(j_m, 1), where N(j, r) counts
    the monomials of r factors from j on; without repeats, each + N(j, r) is N(j + 1, r). Since N(j, 1) = width - j, the
    inner loop only multiplies and adds.

    Scratch arrays: `here` and `after`, (factors + 1, entries of the longest row); `place` and `base`, integers, and
    `product`, all (factors + 1,).
    """
    top = len(ends) - 1
    numbered = len(numbers) > 0
    out = 0
    for i in range(len(indptr) - 1):
        start, k = indptr[i], indptr[i + 1] - indptr[i]
        for q in range(k):
            here[0, q] = after[0, q] = 1
            for r in range(1, top + 1):
                factor = width - columns[start + q] + (r - 1 if repeats else 1 - r)
                whole, rest = divmod(here[r - 1, q], r)
                here[r, q] = whole * factor + rest * factor // r
                after[r, q] = here[r, q] - (0 if repeats else after[r - 1, q])
        if ends[0] >= 0:
            products[out] = 1.0
            if numbered:
                numbers[out] = ends[0] - 1
            out += 1
        for degree in range(1, top + 1):
            level = 0 if ends[degree] >= 0 else -1
            place[0], product[0], base[0] = 0, 1.0, ends[degree]
            while level >= 0:
                q, left = place[level], degree - level
                if left > 1 and q + (1 if repeats else left) <= k:
                    place[level + 1] = q if repeats else q + 1
                    product[level + 1] = product[level] * values[start + q]
                    base[level + 1] = base[level] - here[left, q] + after[left - 1, q]
                    level += 1
                    continue
                if left == 1:
                    p, b = product[level], base[level] - width
                    for q in range(place[level], k):
                        products[out] = p * values[start + q]
                        if numbered:
                            numbers[out] = b + columns[start + q]
                        out += 1
                level -= 1
                if level >= 0:
                    place[level] += 1


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
            raise ParameterError(f"terms: {term!r} has the factor {factor!r}, neither a column of X nor a power of one")
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
            known = f"a text such as 'x0^2' nor a tuple of columns up to {width - 1}"
            raise ValueError(f"terms: {term!r} is neither {known}")
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


@dataclass(frozen=True)
class Monomials:
    """The monomials of `width` columns, of degree `low` to `high`; `repeats` allows a factor more than once.

    >>> list(Monomials(3, 2, 2, constant=True, repeats=False))
    [(), (0, 1), (0, 2), (1, 2)]
    """

    width: int
    low: int
    high: int
    constant: bool
    repeats: bool

    def count(self, symbols: int, degree: int) -> int:
        """Return the number of monomials of a degree that have some columns only."""
        return math.comb(symbols + degree - 1, degree) if self.repeats and symbols else math.comb(symbols, degree)

    @cached_property
    def ends(self) -> list[int]:
        """For each degree the column after its last one, -1 where there are none."""
        ends = [1 if self.constant else -1] + [-1] * self.high
        end = int(self.constant)
        for degree in range(max(1, self.low), self.high + 1):
            end += self.count(self.width, degree)
            ends[degree] = end
            if end > MOST:
                cure = "lower the degree, or hash X to fewer columns"
                raise ParameterError(
                    f"{self.width:,} columns have 2^63 products up to degree {degree}, too many: {cure}"
                )
        return ends

    @property
    def columns(self) -> int:
        """The columns of the result."""
        return max(self.ends)

    def __iter__(self) -> Iterator[Term]:
        choose = combinations_with_replacement if self.repeats else combinations
        for degree, end in enumerate(self.ends):
            if end >= 0:
                yield from choose(range(self.width), degree)

    def term(self, column: int) -> Term:
        """Return the monomial of one column."""
        degree, end = next((m, end) for m, end in enumerate(self.ends) if column < end)
        found: list[int] = []
        lowest, beyond = 0, end - column
        for left in range(degree, 0, -1):
            low, high = lowest, self.width - 1
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if self.count(self.width - middle, left) >= beyond else (low, middle - 1)
            found.append(low)
            lowest = low if self.repeats else low + 1
            beyond -= self.count(self.width - low, left) - self.count(self.width - lowest, left - 1)
        return tuple(found)

    def of(self, X: Any) -> Any:
        """Return the monomials of each row."""
        return self._of_sparse(X) if is_sparse(X) else self._of_dense(X)

    def _of_dense(self, X: Array) -> Array:
        n, width = X.shape
        if self.columns > MOST_OF_A_ROW:
            raise ParameterError(
                f"degree={self.high} makes {self.columns:,} columns of {width:,}, too many for a dense row "
                f"({MOST_OF_A_ROW:,} at most): lower the degree, or give sparse rows with few entries"
            )
        result = np.empty((n, self.columns), X.dtype)
        step = max(1, AT_ONCE // self.columns)
        columns, bounds = np.tile(np.arange(width), step), np.arange(step + 1) * width
        no_room, scratch = np.empty(0, np.int64), self._scratch(width)
        for start in range(0, n, step):
            rows, new = X[start : start + step], result[start : start + step]
            self._expand(rows.ravel(), columns, bounds[: len(rows) + 1], scratch, new.reshape(-1), no_room)
        return result

    def _of_sparse(self, X: Any) -> Any:
        lengths = np.diff(X.indptr)
        indptr, scratch = self._row_ends(lengths), self._scratch(int(lengths.max(initial=0)))
        values = np.empty(indptr[-1], X.dtype)
        indices = np.empty(indptr[-1], index_type(self.columns, len(values)))
        start = 0
        while start < X.shape[0]:
            stop = max(start + 1, int(np.searchsorted(indptr, indptr[start] + AT_ONCE, side="right")) - 1)
            old, new = slice(X.indptr[start], X.indptr[stop]), slice(indptr[start], indptr[stop])
            bounds = X.indptr[start : stop + 1] - old.start
            self._expand(X.data[old], X.indices[old], bounds, scratch, values[new], indices[new])
            start = stop
        return csr_like(X, values, indices, indptr, self.columns)

    def _row_ends(self, lengths: Array) -> Array:
        """Return where rows with so many entries begin and end in the result."""
        distinct, place = np.unique(lengths, return_inverse=True)
        made = [sum(self.count(k, m) for m, end in enumerate(self.ends) if end >= 0) for k in distinct.tolist()]
        if made and made[-1] > min(MOST_OF_A_ROW, MOST // BYTES // len(lengths)):
            row = int(np.argmax(lengths))
            raise InvalidDataError(f"row {row} has {lengths[row]:,} entries, {made[-1]:,} products: lower the degree")
        return np.append(0, np.cumsum(np.array(made, np.int64)[place]))

    def _scratch(self, longest: int) -> tuple[Array, ...]:
        """Return the scratch arrays of :func:`expand` for rows of so many entries."""
        levels = len(self.ends)
        return (*np.empty((2, levels, longest), np.int64), *np.empty((2, levels), np.int64), np.empty(levels))

    def _expand(
        self, values: Array, columns: Array, indptr: Array, scratch: tuple[Array, ...], products: Array, numbers: Array
    ) -> None:
        """Write the products of some rows, computed in float64, and their columns unless there is no room for them."""
        whole = [part.astype(np.int64, copy=False) for part in (columns, indptr, np.array(self.ends))]
        columns, indptr, ends = map(frozen, whole)
        values = frozen(values.astype(np.float64, copy=False))
        wide = _room_like(products, np.float64), _room_like(numbers, np.int64)
        expand(values, columns, indptr, self.width, ends, self.repeats, *scratch, *wide)
        for narrow, result in zip((products, numbers), wide, strict=True):
            if result is not narrow:
                narrow[:] = result


def _room_like(array: Array, dtype: Any) -> Array:
    """Return the array itself if it has this type, else room for as many numbers of it."""
    return array if array.dtype == dtype else np.empty(array.shape, dtype)


class Polynomial(FeatureMap):
    """Products of features: all up to a degree, or those named in a list.

    A separator that is linear in these features is a polynomial in the old ones. Columns are in the order of
    scikit-learn's PolynomialFeatures: by degree, then x0 x0, x0 x1, ..., x1 x1, ... From sparse rows only products of
    stored entries are made, however many columns there are: they may be more than 2^31. Products are computed in
    float64 for rows of any type.

    Parameters
    ----------
    degree : int or (int, int), default=2
        The highest degree, or the lowest and the highest.
    interaction_only : bool, default=False
        If True, omit powers of a feature.
    include_bias : bool, default=False
        If True, the first column is 1; a learner with `fit_intercept=True` has a bias already.
    terms : list or None, default=None
        The products themselves, instead of all up to a degree: texts such as "x0 x3^2", with the names of the columns
        (x0, x1, ... where they have none), or tuples of column numbers such as (0, 3, 3). "1" or () is the constant.

    Attributes
    ----------
    term_factors_, term_lengths_ : arrays of int
        If terms are given: the columns of all of their factors, one after another, and how many each has.

    Examples
    --------
    >>> Polynomial().fit_transform([[2.0, 3.0]])
    array([[2., 3., 4., 6., 9.]])

    The feature map of the lecture, [x1, x2] -> [x1, x2, x1^5]:

    >>> Polynomial(terms=["x0", "x1", "x0^5"]).fit_transform([[2.0, 3.0]])
    array([[ 2.,  3., 32.]])
    """

    _facts: ClassVar[frozenset[str]] = FeatureMap._facts | {"term_factors_", "term_lengths_"}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "interaction_only": ["boolean"],
        "include_bias": ["boolean"],
        "terms": [None, "array-like"],
    }

    def __init__(
        self, degree: int | tuple[int, int] = 2, interaction_only: bool = False, include_bias: bool = False,
        terms: Iterable[str | Term] | None = None,
    ) -> None:  # fmt: skip
        self.degree = degree
        self.interaction_only = interaction_only
        self.include_bias = include_bias
        self.terms = terms

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the features, such as "x0 x3^2"."""
        names = super().get_feature_names_out(input_features)
        if self.n_features_out_ > MOST_NAMES:
            raise ValueError(f"{self.n_features_out_:,} names are too many: ask name_of(column) for single ones")
        return np.array([spelled(term, names.__getitem__) for term in self._products()], dtype=object)

    def name_of(self, column: int) -> str:
        """Return the name of one feature, however many there are."""
        check_is_fitted(self)
        if not 0 <= column < self.n_features_out_:
            raise ValueError(f"column {column} is not one of the {self.n_features_out_:,} columns")
        names = getattr(self, "feature_names_in_", None)
        return self._name(column, "x{}".format if names is None else names.__getitem__)

    def _name(self, column: int, before: Callable[[int], str]) -> str:
        return spelled(self._products().term(column), before)

    def _learn(self, X: Any) -> None:
        if self.terms is None:
            return
        if (self.degree, self.interaction_only, self.include_bias) != (2, False, False):
            raise ParameterError("terms name all products: leave degree, interaction_only and include_bias out")
        terms = list(parsed(self.terms, self.n_features_in_, getattr(self, "feature_names_in_", None)))
        self.term_factors_ = np.array([j for term in terms for j in term], np.int64)
        self.term_lengths_ = np.array([len(term) for term in terms], np.int64)

    def _columns(self) -> int:
        columns = self._products().columns
        if columns <= 0:
            what = f"degree={self.degree!r}" if self.terms is None else "terms=[]"
            raise ParameterError(f"{what} makes no product of {self.n_features_in_} columns")
        return columns

    def _mapped(self, X: Any) -> Any:
        return self._products().of(X)

    def _products(self) -> Monomials | Terms:
        """Return the products, one for each column."""
        if self.terms is not None:
            parts = np.split(self.term_factors_, np.cumsum(self.term_lengths_))[:-1]
            return Terms([tuple(part.tolist()) for part in parts])
        low, high = self._degrees()
        return Monomials(self.n_features_in_, low, high, bool(self.include_bias), not self.interaction_only)

    def _degrees(self) -> tuple[int, int]:
        """Return the lowest and the highest degree."""
        degree: Any = self.degree
        bounds = [1, degree] if isinstance(degree, Integral) else list(degree)
        whole = [int(bound) for bound in bounds if isinstance(bound, Integral)]
        if not len(whole) == len(bounds) == 2 or not 0 <= whole[0] <= whole[1] or whole[1] < 1:
            raise ParameterError(f"degree={degree!r} must be a number from 1 on, or the lowest and the highest degree")
        if whole[1] > MOST_DEGREE:
            raise ParameterError(f"degree={degree!r:.40} is too high: the highest degree is {MOST_DEGREE:,}")
        return whole[0], whole[1]

    def _check_facts(self) -> None:
        if self.terms is None:
            super()._check_facts()
            return
        lengths, factors = (check_array(self, name, np.int64) for name in ("term_lengths_", "term_factors_"))
        if np.any((lengths < 0) | (lengths > len(factors))) or lengths.sum() != len(factors):
            raise ValueError("its terms have another number of factors than stated")
        super()._check_facts()
        begin, names = 0, getattr(self, "feature_names_in_", None)
        for term, length in zip_longest(parsed(self.terms, self.n_features_in_, names), lengths.tolist()):
            if term is None or length is None or list(term) != factors[begin : begin + length].tolist():
                raise ValueError("its terms are not those that it was fitted with")
            begin += length
