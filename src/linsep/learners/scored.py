"""Rows and weights to scores, shared among threads."""

from functools import partial
from typing import Any

import numpy as np

from linsep.core.arrays import Array, frozen
from linsep.core.examples import Csr, Dense
from linsep.core.links import Additive
from linsep.core.passes import score_classes, score_rows
from linsep.core.threads import share, split
from linsep.data.inputs import rows_of


def for_reading(part: Any) -> Any:
    """Return a link or readout with read-only arrays, so that one kernel scores memory maps and plain arrays alike.

    The debt is a copy, as scoring writes to it.
    """
    arrays = {f: v for f, v in part._asdict().items() if isinstance(v, np.ndarray)}
    return part._replace(**{f: np.array(v) if f == "debt" else frozen(v) for f, v in arrays.items()})


def scored(link: Any, divisor: Array, data: Dense | Csr, pair: bool, jobs: int) -> Array:
    """Return the scores of all rows under a link's columns, divided by each column's divisor."""
    n, columns = rows_of(data), link.s.shape[1]
    kinds: Any = type(link), type(data)
    out = np.empty((n, columns))
    cuts = split(n, jobs) if n else []
    links = [for_reading(link) for _ in cuts]
    if columns == 1:
        kernel, flat = score_rows(*kinds), out.reshape(n)
        tasks = [partial(kernel, tuple(w), tuple(data), a, b, flat) for w, (a, b) in zip(links, cuts, strict=True)]
    else:
        kernel = score_classes(*kinds)
        tasks = [partial(kernel, tuple(w), tuple(data), a, b, out, pair) for w, (a, b) in zip(links, cuts, strict=True)]
    share(tasks, jobs)
    if not isinstance(link, Additive):
        whole = out / divisor
        lost = (whole == 0) & (out != 0)
        out = np.where(lost, np.copysign(5e-324, out), whole)
    return out
