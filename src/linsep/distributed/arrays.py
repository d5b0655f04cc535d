"""Dask arrays as where rows come from."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linsep.data.parts import Profile
from linsep.distributed import work
from linsep.distributed.array_pieces import ArrayRows, AsTheyAre, array_rows
from linsep.distributed.engines import Engine
from linsep.distributed.partitions import Partitions, refuse_lost


class Arrays:
    """A Dask array with its rows in chunks, and its labels."""

    form: None = None
    settled = True
    reading = AsTheyAre()

    def __init__(self, X: Any, y: Any, engine: Engine) -> None:
        from dask import delayed
        from dask.base import tokenize

        _check_array(X)
        labels = [None] * X.numblocks[0] if y is None else _labels(X, y)
        refuse_lost([X, *([y] if hasattr(y, "__dask_graph__") else [])], engine)
        rows = delayed(array_rows, pure=False, traverse=False)
        blocks = X.to_delayed().ravel().tolist()
        pieces = [rows(block, label, k) for k, (block, label) in enumerate(zip(blocks, labels, strict=True))]
        known = [0 if np.isnan(c * X.shape[1]) else int(c * X.shape[1] * X.dtype.itemsize) for c in X.chunks[0]]
        self._partitions, self._surveys = Partitions(pieces, ArrayRows, engine, known), list[Profile]()
        self.name, self.labelled, self.token = "the Dask array", y is not None, str(tokenize(X, y))
        self.width = 0 if np.isnan(X.shape[1]) else int(X.shape[1])

    def parts(self, count: int) -> list[Any]:
        """Return at most so many shards."""
        return self._partitions.parts(count)

    @property
    def pieces(self) -> int:
        """The number of parts in which rows are counted."""
        return len(self._partitions)

    def tasks(self) -> Sequence[work.Task]:
        """Return the partitions, to be answered."""
        return self._partitions.tasks()

    def settle(self, surveys: list[Profile]) -> Profile:
        """Settle what all shards together tell."""
        self._surveys, found = surveys, ArrayRows.merged(surveys)
        self.width = found.high + 1
        return found

    def release(self) -> None:
        """Let workers forget the shards that they keep."""
        self._partitions.release()

    def identity(self, tasks: list[work.Task]) -> list[Any]:
        """Return what tells these shards from others, as plain values."""
        return self._partitions.identity(self.token, self._surveys)


def _check_array(X: Any) -> None:
    """Raise a ValueError unless a Dask array is a table of numbers, cut between rows."""
    if X.ndim != 2:
        cure = "X[:, None] has one feature" if X.ndim == 1 else "reshape it to (rows, features)"
        raise ValueError(f"X has {X.ndim} dimension{'s' * (X.ndim != 1)}, and must have 2: {cure}")
    if X.numblocks[1] > 1:
        raise ValueError(
            f"X is cut between its columns, into {X.numblocks[1]} chunks: X.rechunk({{1: -1}}) keeps rows in one"
        )
    if X.dtype is None or X.dtype.kind not in "biuf":
        raise ValueError(f"X holds {X.dtype}, and no numbers: X.astype(float) if it can be; words are read from tables")


def _labels(X: Any, y: Any) -> list[Any]:
    """Return the labels of each partition."""
    import dask.array as da

    chunks = X.chunks[0]
    if type(y).__name__ == "Series" and hasattr(y, "to_delayed"):  # a column of a Dask dataframe
        if y.npartitions != len(chunks):
            raise ValueError(f"X has {len(chunks)} partitions and y has {y.npartitions}: cut both at the same rows")
        return y.to_delayed()
    if not isinstance(y, da.Array):
        if hasattr(y, "__dask_graph__"):
            raise TypeError(f"y is a {type(y).__name__}: it is a Dask array, a column of a dataframe, or an array")
        y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y has {y.ndim} dimensions, and must have 1: a label for each row; y[:, 0] is a column")
    unknown = bool(np.isnan([sum(chunks), y.shape[0]]).any())
    if unknown and (not isinstance(y, da.Array) or y.numblocks[0] != len(chunks)):
        raise ValueError(
            "how many rows the chunks of X or y have is not known, so that y can't be cut as X is: "
            "X.compute_chunk_sizes() and y.compute_chunk_sizes() find out"
        )
    if not unknown and y.shape[0] != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows and y has {y.shape[0]} labels: inconsistent numbers of samples")
    if isinstance(y, da.Array):
        return (y if unknown else y.rechunk((chunks,))).to_delayed().ravel().tolist()
    return np.split(y, np.cumsum(chunks)[:-1])
