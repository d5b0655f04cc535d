"""Base class of feature maps, and the rows that they read and write."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import ColumnIndexError, place_of
from linsep.validation.errors import InvalidDataError
from linsep.validation.inputs import refuse_bad_indptr, validated

AT_ONCE = 1 << 20
"""Entries of one block, so that temporary arrays stay small."""
MOST_COLUMNS = 1 << 48
"""Columns of rows that are mapped."""


def is_sparse(X: Any) -> bool:
    """Return whether rows are sparse."""
    return bool(sp.issparse(X))


def sorted_rows(X: Any) -> Any:
    """Return CSR rows whose columns rise, each stored once, as a copy if X is not so; return dense rows as they are."""
    if not is_sparse(X):
        return X
    refuse_bad_indptr(X)
    width, indices, indptr = X.shape[1], X.indices, X.indptr
    used = indices[: indptr[-1]]
    if len(used) and not 0 <= used.min() <= used.max() < width:
        k = int(np.flatnonzero((used < 0) | (used >= width))[0])
        row, column = place_of(k, width, indices, indptr)
        raise ColumnIndexError(f"X has a column index {column} in row {row}, but only {width} columns")
    if X.has_canonical_format and len(used) == len(X.data) == len(indices):
        return X
    X = X.copy()
    X.prune()
    X.sum_duplicates()
    return X


def _first_not_finite(X: Any) -> tuple[str, float] | None:
    """Return where the first entry is that is not a finite number, and that entry; None if there is none."""
    values = X.data if is_sparse(X) else X
    fine = np.isfinite(values)
    if fine.all():
        return None
    k = int(np.argmin(fine))
    row, column = place_of(k, X.shape[1], *((X.indices, X.indptr) if is_sparse(X) else ()))
    return f"row {row}, column {column}", float(values[k] if is_sparse(X) else values[row, column])


def refuse_not_finite(X: Any) -> None:
    """Raise where an entry of the input is NaN or infinite."""
    if (found := _first_not_finite(X)) is not None:
        where, value = found
        what = "NaN" if np.isnan(value) else f"infinity or a value too large for {X.dtype}"
        raise InvalidDataError(f"Input X contains {what} ({where}): fill missing values in, or drop the row")


def refuse_overflow(result: Any) -> None:
    """Raise where an entry of a result is beyond what its type holds."""
    if (found := _first_not_finite(result)) is not None:
        what = f"{found[0]} of the result is too large for {result.dtype}"
        raise InvalidDataError(f"{what}: scale X first (linsep.transforms.Scale)")


def pieces(X: Any) -> Iterator[Any]:
    """Yield the rows of X some at a time, in order, none of them empty."""
    n, width = X.shape
    if is_sparse(X):
        marks = np.arange(0, X.nnz, max(AT_ONCE, width))
        cuts = np.unique(np.append(np.searchsorted(X.indptr, marks, side="right") - 1, [0, n]))
    else:
        cuts = np.append(np.arange(0, n, max(1, AT_ONCE // width)), n)
    for start, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        yield X[start:stop]


def index_type(*largest: int) -> type[np.int32 | np.int64]:
    """Return the type of indices that reach up to the largest of these numbers."""
    return np.int32 if max(largest) <= np.iinfo(np.int32).max else np.int64


def csr_like(X: Any, values: Array, indices: Array, indptr: Array, width: int) -> Any:
    """Return canonical CSR rows, a matrix or an array as X is (an array where X is dense); copies nothing that fits."""
    kind = index_type(width, len(values), len(indptr))
    make: Any = sp.csr_matrix if sp.isspmatrix(X) else sp.csr_array
    parts = (values, indices.astype(kind, copy=False), indptr.astype(kind, copy=False))
    result = make(parts, shape=(len(indptr) - 1, width))
    result.has_canonical_format = True
    return result


def as_entry(value: float, dtype: Any) -> Any:
    """Return a positive number as an entry of this type; raises where it is too large or too small for it."""
    with np.errstate(over="ignore", under="ignore"):
        entry = np.asarray(value, dtype=dtype)
    if not 0 < entry < np.inf:
        raise InvalidDataError(f"{value!r} is out of the range of {dtype}: give rows of float64")
    return entry


def with_last_entries(X: Any, columns: Any, value: float, width: int) -> Any:
    """Return CSR rows with one more entry at the end of each: `value`, in the columns given."""
    ends, entry = X.indptr[1:], as_entry(value, X.dtype)
    indices = np.insert(X.indices.astype(index_type(width, X.nnz + len(ends)), copy=False), ends, columns)
    return csr_like(X, np.insert(X.data, ends, entry), indices, X.indptr + np.arange(len(ends) + 1), width)


def check_count(owner: Any, name: str, most: int, least: int = 0) -> int:
    """Return an attribute that must be a count; raise a ValueError where it is none."""
    value = getattr(owner, name, None)
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} of its {type(owner).__name__} is {value!r:.20}, not a count")
    return value


def check_array(owner: Any, name: str, dtype: Any, length: int | None = None) -> Array:
    """Return an attribute that must be an array of one dimension, and of a length; raise a ValueError otherwise."""
    value = getattr(owner, name, None)
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != 1:
        raise ValueError(f"{name} of its {type(owner).__name__} is not an array of {np.dtype(dtype)}")
    if length is not None and len(value) != length:
        raise ValueError(f"{name} of its {type(owner).__name__} has {len(value)} numbers, not {length}")
    return value


class FeatureMap(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Rows to rows of other features, for scikit-learn's pipelines and for streams.

    Sparse rows stay sparse; float32 stays float32. What is learned is plain numbers and arrays in attributes that end
    in "_". Blocks of rows may come one after another: `partial_fit` on each learns what `fit` learns on all of them,
    and `transform` of each, one below the other, is `transform` of all.

    Attributes
    ----------
    n_features_in_, n_features_out_ : int
        The columns before and after.
    """

    _facts: ClassVar[frozenset[str]] = frozenset({"n_features_in_", "n_features_out_", "feature_names_in_"})
    """Attributes that fit sets; they are saved with the model."""
    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from all rows at once, and forget what was learned before."""
        before = vars(self).copy()
        for name in [name for name in before if name.endswith("_")]:
            delattr(self, name)
        try:
            return self.partial_fit(X)
        except BaseException:
            self.__dict__ = before
            raise

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from one more block of rows."""
        self._validate_params()
        rows = self._read(X, reset=not self.__sklearn_is_fitted__())
        with np.errstate(over="ignore", invalid="ignore"):
            self._learn(rows)
        self.n_features_out_ = self._columns()
        return self

    def transform(self, X: Any) -> Any:
        """Return the rows of X, mapped."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        with np.errstate(over="ignore"):
            result = self._mapped(rows)
        refuse_overflow(result)
        return result

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Return X, checked: a dense array or canonical CSR rows of float64 or float32, finite."""
        checked = validated(self, X, ensure_min_samples=int(reset), reset=reset)
        rows = sorted_rows(checked)
        refuse_not_finite(rows)
        return rows

    @abstractmethod
    def _mapped(self, X: Any) -> Any:
        """Return rows that have been read, mapped."""

    def _learn(self, X: Any) -> None:
        """Learn from rows that have been read."""

    def _columns(self) -> int:
        """Return the columns of a result."""
        return int(self.n_features_in_)

    def _name(self, column: int, before: Callable[[int], str]) -> str:
        """Return the name of a column of the result, given what names the columns before."""
        return before(column)

    def _check_facts(self) -> None:
        """Raise a ValueError where the attributes can't have been learned with these parameters."""
        self._validate_params()
        width = check_count(self, "n_features_in_", MOST_COLUMNS, least=1)
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            check_array(self, "feature_names_in_", object, width)
            if not all(isinstance(name, str) for name in names):
                raise ValueError(f"feature_names_in_ of its {type(self).__name__} are not words")
        if check_count(self, "n_features_out_", MOST_COLUMNS, least=1) != self._columns():
            made, name = self._columns(), type(self).__name__
            raise ValueError(f"its {name} makes {made:,} columns of {width:,}, not {self.n_features_out_:,}")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_out_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
