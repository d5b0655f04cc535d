"""Rows and labels as read: what `read` returns, and a stream yields."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from linsep.data.errors import DataError, ErrorPolicy
from linsep.data.format import Format, LineFormat
from linsep.data.rows import Rows, join_rows
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
        The names of the features, if the data have them.
    label_names : sequence of str, or None
        The distinct labels in order, where they are words.
    weights : array, (rows,), or None
        The importance of each row, if the data have it: a learner's `sample_weight`.
    rejected : int
        Rows that were malformed, and left out as `on_error` asks; in blocks of a stream, so far.
    unseen : int
        Entries of features that the data these were read `like` did not have; they count for nothing.
    form : Format, or None
        Format of the data, for reading other data with `like=`.
    block : bool
        True if these are only some rows of a stream.
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

    def seen_columns(self) -> Array:
        """Return a mask of the columns with an entry; of a dense table, all columns."""
        seen = np.zeros(self.X.shape[1], bool)
        seen[self.X.indices if hasattr(self.X, "indices") else slice(None)] = True
        return seen

    def some(self, rows: Array) -> "Dataset":
        """Return some rows, by their numbers."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], weights=weights)

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


def assemble(
    parts: list[Rows], form: Format, dtype: Any, *, jobs: int = 1, rejected: int = 0, unseen: int = 0,
    block: bool = False,
) -> Dataset:  # fmt: skip
    """Return the rows of some parts as a data set, with columns and values as learners see them."""
    rows = form.finish(join_rows(parts or [form.none(dtype)], jobs))
    return Dataset(
        rows.matrix(form.width), as_labels(rows.labels), feature_names=form.feature_names, weights=rows.weights,
        rejected=rejected, unseen=unseen, form=form, block=block,
    )  # fmt: skip


class AlignedPart(NamedTuple):
    """Rows of a part, and their places among its lines; or among the rows of a table, malformed ones included.

    Attributes
    ----------
    X : csr_array or array
        The rows that are sound; if `error` is not None, those before the malformed row.
    places : array
        The place of each row, from 0.
    n_lines : int
        The number of places: blank lines, and malformed rows that are skipped, have one, too.
    error : DataError or None
        The malformed row that ends the reading, which comes after the last place.
    """

    X: Any
    places: Array
    n_lines: int
    error: DataError | None


def align(rows: Rows, form: Format, policy: ErrorPolicy) -> AlignedPart:
    """Return the rows of a part, finished, with their places; the policy has just handled the part's malformed rows."""
    places, n_lines = rows.places, rows.lines
    if policy.error is not None:
        end = policy.lines[0]
        rows = rows.between(0, int(np.searchsorted(rows.places, end)))
        places, n_lines = rows.places, end
    if not isinstance(form, LineFormat):
        wrong = [] if policy.error is not None else policy.lines
        order = np.argsort(np.concatenate([places, np.array(wrong, np.int64)]), kind="stable")
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        places, n_lines = ranks[: len(places)], len(order)
    return AlignedPart(form.finish(rows).matrix(form.width), places, n_lines, policy.error)
