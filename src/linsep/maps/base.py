"""What all feature maps share: they read rows, learn in a first pass what they need, and map them."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.core.arrays import Array
from linsep.maps.rows import canonical, refuse_not_finite, refuse_overflow

MOST_COLUMNS = 1 << 48
"""Columns of rows that are mapped."""


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
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        return self.partial_fit(X)

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
        checked = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False,
            accept_large_sparse=True, ensure_min_samples=int(reset), reset=reset,
        )  # fmt: skip
        rows = canonical(checked)
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
