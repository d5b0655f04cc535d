"""Rows and labels as read: what `read` returns, and a stream yields."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.data.format import Format
from linsep.engine.arrays import Array


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows and their labels; unpacks as `X, y`.

    Attributes
    ----------
    X : csr_array or array, (rows, features)
        The examples.
    y : array, (rows,)
        Their labels.
    feature_names : sequence of str, or None
        The names of the features, where the data tell.
    label_names : sequence of str, or None
        The distinct labels in order, where they are words.
    weights : array, (rows,), or None
        The importance of each row, where the data tell: a learner's `sample_weight`.
    rejected : int
        Rows that were malformed, and left out because `on_error` says so; in blocks of a stream, so far.
    unseen : int
        Entries of features that the data these were read `like` did not have; they count for nothing.
    form : Format, or None
        How the data were read, so that others can be read like them.
    block : bool
        Whether these are only some rows of a stream.
    """

    X: Any
    y: Array
    feature_names: Sequence[str] | None = None
    weights: Array | None = None
    rejected: int = 0
    unseen: int = 0
    form: Format | None = None
    block: bool = False

    def __iter__(self) -> Iterator[Any]:
        yield self.X
        yield self.y

    @cached_property
    def label_names(self) -> Sequence[str] | None:
        """The distinct labels in order, where they are words."""
        return np.unique(self.y).tolist() if self.y.dtype.kind == "U" else None

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("this is a data set, which unpacks as X, y: give its X")

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        kind = "" if self.form is None else f", {self.form.name}"
        return f"<Dataset of {len(self):,} rows, {self.X.shape[1]:,} features{kind}>"


def as_labels(numbers: Array) -> Array:
    """Return labels that are all whole numbers as integers, and words as they are."""
    if numbers.dtype.kind != "f":
        return numbers
    whole = numbers.astype(np.int64) if np.all(np.abs(numbers) < 2.0**53) else None
    return whole if whole is not None and np.array_equal(whole, numbers) else numbers


def as_csr(values: Array, indices: Array, indptr: Array, width: int) -> sp.csr_array:
    """Return sparse rows without a copy, but for indptr, whose type must be that of the indices."""
    small = len(values) < 2**31 and width <= 2**31
    kind = np.dtype(np.int32 if small and indices.dtype == np.int32 else np.int64)
    parts = (values, indices.astype(kind, copy=False), indptr.astype(kind, copy=False))
    X = sp.csr_array((len(indptr) - 1, width), dtype=values.dtype)
    X.data, X.indices, X.indptr = parts
    return X
