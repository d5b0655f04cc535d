"""The Delta trick: a feature of its own for each training row makes any data separable."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval

from linsep.transforms.base import (
    MOST_COLUMNS,
    FeatureMap,
    as_entry,
    check_count,
    csr_like,
    is_sparse,
    with_last_entries,
)
from linsep.validation.errors import ParameterError


class DeltaTrick(FeatureMap):
    """A column for each training row, with delta in that row alone: X -> [X | delta I].

    For any unit u and gamma > 0 let d_i = (gamma - y_i u·x_i)+, D = ||d||, Z² = 1 + D²/delta². The extended rows have
    margin gamma/Z, by u' = (u, y_1 d_1/delta, ..., y_n d_n/delta)/Z, and norms of R² + delta² at most: over all epochs
    the perceptron makes k <= (R² + delta²)(1 + D²/delta²)/gamma² mistakes on them and then no more. In the first pass a
    row's own weight is still 0 when the row comes, so that the pass is the plain one for any delta: with
    delta² = R D, k <= ((R + D)/gamma)² holds for it without any trick.

    `fit_transform` extends all training rows, `extend` the next block of a stream of them; `restart` begins the next
    epoch, in which rows must come in the same order. `transform` is for rows to be predicted: they have zeros in the
    new columns. The result is always sparse, since it has as many columns as rows.

    Parameters
    ----------
    delta : float, default=1.0
        The entry, above 0.
    n_rows : int or None, default=None
        The training rows in all, so that the blocks of a stream are of one width. None counts them: `fit` and
        `partial_fit` do beforehand; otherwise the blocks grow wider: call the learner's `grow` before each.

    Attributes
    ----------
    n_rows_ : int
        The columns for rows.
    next_row_, next_counted_ : int
        The numbers of the rows that `extend` and `partial_fit` will take for the first of their next blocks. Both go
        through the same training rows, each at its own pace: a row that both have seen has one column.

    References
    ----------
    Freund and Schapire, Large margin classification using the perceptron algorithm, 1999, theorem 2.

    Examples
    --------
    >>> trick = DeltaTrick(0.5)
    >>> trick.fit_transform([[1.0, 2.0], [3.0, 4.0]]).toarray()
    array([[1. , 2. , 0.5, 0. ],
           [3. , 4. , 0. , 0.5]])
    >>> trick.transform([[5.0, 6.0]]).toarray()
    array([[5., 6., 0., 0.]])
    """

    _facts: ClassVar[frozenset[str]] = FeatureMap._facts | {"n_rows_", "next_row_", "next_counted_"}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "delta": [Interval(Real, 0, None, closed="neither")],
        "n_rows": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, delta: float = 1.0, n_rows: int | None = None) -> None:
        self.delta = delta
        self.n_rows = n_rows

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Return all training rows, extended."""
        return self.fit(X).extend(X)

    def extend(self, X: Any) -> Any:
        """Return the next training rows, extended."""
        self._validate_params()
        rows = self._read(X, reset=not self.__sklearn_is_fitted__())
        first = getattr(self, "next_row_", 0)
        last = first + rows.shape[0]
        if self.n_rows is not None and last > self.n_rows:
            raise ParameterError(
                f"row {self.n_rows} is beyond n_rows={self.n_rows}: call restart() before the next epoch"
            )
        self._make_room(max(last, getattr(self, "n_rows_", 0)))
        self.next_row_ = last
        new = int(self.n_features_in_) + np.arange(first, last)
        return with_last_entries(_sparse(rows), new, self.delta, self.n_features_out_)

    def restart(self) -> Self:
        """Let the next block, to be extended or counted, be the first of an epoch."""
        self.next_row_ = self.next_counted_ = 0
        return self

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the features: those of the input, then row0, row1, ..."""
        rows = [f"row{i}" for i in range(self.n_rows_)]
        return np.append(super().get_feature_names_out(input_features), rows).astype(object)

    def _learn(self, X: Any) -> None:
        self.next_counted_ = getattr(self, "next_counted_", 0) + X.shape[0]
        self._make_room(max(self.next_counted_, getattr(self, "n_rows_", 0)))
        self.next_row_ = getattr(self, "next_row_", 0)

    def _make_room(self, n: int) -> None:
        self.n_rows_ = n if self.n_rows is None else int(self.n_rows)
        self.n_features_out_ = self._columns()

    def _columns(self) -> int:
        return int(self.n_features_in_) + self.n_rows_

    def _name(self, column: int, before: Callable[[int], str]) -> str:
        return before(column) if column < self.n_features_in_ else f"row{column - self.n_features_in_}"

    def _check_facts(self) -> None:
        rows = check_count(self, "n_rows_", MOST_COLUMNS)
        super()._check_facts()
        as_entry(self.delta, np.float64)
        if self.n_rows is not None and rows != self.n_rows:
            raise ValueError(f"its DeltaTrick has columns for {rows:,} rows, not for n_rows={self.n_rows!r:.20}")
        if check_count(self, "next_row_", MOST_COLUMNS) > rows:
            raise ValueError(f"its DeltaTrick has columns for {rows:,} rows, and has extended more")
        if hasattr(self, "next_counted_"):
            check_count(self, "next_counted_", MOST_COLUMNS)

    def _mapped(self, X: Any) -> Any:
        X = _sparse(X)
        return csr_like(X, X.data.copy(), X.indices.copy(), X.indptr.copy(), self.n_features_out_)


def _sparse(X: Any) -> Any:
    return X if is_sparse(X) else sp.csr_array(X)
