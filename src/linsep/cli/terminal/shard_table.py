"""The mistakes of each shard in each epoch with their weights, as a table: in full, or of many shards in short."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linsep.certificates.words import outward
from linsep.engine.arrays import Array

if TYPE_CHECKING:
    from linsep.training.update_log import Mixes

MOST_SHARDS, MOST_EPOCHS, LAST = 6, 12, 4
"""Shards that have a column each, epochs that have a row each, and how many of them are the last where some are left
out."""


class ShardTable(NamedTuple):
    """Columns by their names, and a row for each epoch."""

    columns: list[str]
    rows: list[list[str]]


def mixes_of(learner: Any) -> "Mixes | None":
    """Return what a learner's shards did; None if it had none."""
    return getattr(learner, "mixes_", None)


def as_json(mixes: "Mixes | None") -> dict[str, Any] | None:
    """Return all shards, a line each, for machines."""
    return None if mixes is None else {name: getattr(mixes, name) for name in mixes.__dataclass_fields__}


def in_full(mixes: "Mixes", state: int = 0) -> ShardTable:
    """Return a column for each shard: its mistakes times its weight mu in the mix.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]
    >>> told = in_full(Perceptron(shuffle=False, shards=2, mixing="rows").fit(X, y).mixes_)
    >>> told.columns, told.rows[0]
    (['epoch', 'shard 0', 'shard 1', 'weighted', 'so far'], ['1', '1 × 0.3333', '1 × 0.6667', '1', '1'])
    """
    mistakes, weights, cuts, sums = _state(mixes, state)
    shards = max(np.diff(cuts))
    rows = []
    for k in _shown(len(cuts) - 1):
        if k is None:
            rows.append(["…"] * (shards + 3))
            continue
        cells = [f"{mistakes[i]:,} × {weights[i]:.4g}" for i in range(cuts[k], cuts[k + 1])]
        cells += ["–"] * (shards - len(cells))
        rows.append([_epoch(mixes, cuts[k]), *cells, *_sums(sums[k], sums[k + 1])])
    return ShardTable(["epoch", *(f"shard {i}" for i in range(shards)), "weighted", "so far"], rows)


def in_short(mixes: "Mixes", state: int = 0) -> ShardTable:
    """Return the mistakes of all shards of an epoch, and the least and the most of a shard.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]
    >>> told = in_short(Perceptron(shuffle=False, shards=2, mixing="rows").fit(X, y).mixes_)
    >>> dict(zip(told.columns, told.rows[0]))
    {'epoch': '1', 'shards': '2', 'mistakes': '2', 'of a shard': '1', 'weight mu': '0.3333–0.6667', 'weighted': '1',
    'so far': '1'}
    """
    mistakes, weights, cuts, sums = _state(mixes, state)
    columns = ["epoch", "shards", "mistakes", "of a shard", "weight mu", "weighted", "so far"]
    rows = []
    for k in _shown(len(cuts) - 1):
        if k is None:
            rows.append(["…"] * len(columns))
            continue
        own = slice(cuts[k], cuts[k + 1])
        counts = [f"{cuts[k + 1] - cuts[k]:,}", f"{mistakes[own].sum():,}"]
        spans = [_span(mistakes[own], ","), _span(weights[own], ".4g")]
        rows.append([_epoch(mixes, cuts[k]), *counts, *spans, *_sums(sums[k], sums[k + 1])])
    return ShardTable(columns, rows)


def few(mixes: "Mixes") -> bool:
    """Return whether each shard can have a column."""
    return int(mixes.shards.max(initial=0)) < MOST_SHARDS


def _state(mixes: "Mixes", state: int) -> tuple[Array, Array, Array, Array]:
    """Return the mistakes and weights of one machine, where epochs begin and end, and their weighted sums so far."""
    mistakes, weights = (a if a.ndim == 1 else a[:, state] for a in (mixes.mistakes, mixes.weights))
    cuts = np.append(np.flatnonzero(mixes.shards == 0), len(mixes))
    return mistakes, weights, cuts, np.append(0.0, np.cumsum(mistakes * weights))[cuts]


def _shown(epochs: int) -> list[int | None]:
    """Return the epochs that are shown, None for those that are left out."""
    if epochs <= MOST_EPOCHS:
        return [*range(epochs)]
    return [*range(MOST_EPOCHS - LAST), None, *range(epochs - LAST, epochs)]


def _epoch(mixes: "Mixes", line: int) -> str:
    return f"{mixes.epochs[line]:,}"


def _sums(before: float, after: float) -> list[str]:
    """Return what an epoch adds, and the sum so far, rounded up as certificates do it, but not by what floats err."""
    return [f"{after - before:,.4g}", outward(Decimal(repr(round(float(after), 9))), up=True)]


def _span(values: Array, form: str) -> str:
    """Return the least and the most, or what all are."""
    least, most = format(values.min(), form), format(values.max(), form)
    return least if least == most else f"{least}–{most}"
