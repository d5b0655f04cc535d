"""Rows and weights to scores, shared among threads."""

from functools import partial
from typing import Any

import numpy as np

from linsep.core.examples import Array, Csr, Dense
from linsep.core.links import Additive, Imaged
from linsep.core.passes import score_classes, score_rows
from linsep.core.threads import share, split
from linsep.data.inputs import frozen, rows_of


def scored(link: Any, divisor: Array, data: Dense | Csr, pair: bool, jobs: int) -> Array:
    """Return the scores of all rows under a link's columns, divided by each column's divisor."""
    n, columns = rows_of(data), link.s.shape[1]
    link = link._replace(s=frozen(link.s))  # as weights from a memory map are: one kernel for both
    kinds: Any = type(link), type(data)
    out = np.empty((n, columns))
    # Throw-away debts: scoring must not write to the weights.
    debts = [link._replace(debt=link.debt.copy()) if isinstance(link, Imaged) else link for _ in range(jobs)]
    cuts = split(n, jobs) if n else []
    if columns == 1:
        kernel, flat = score_rows(*kinds), out.reshape(n)
        tasks = [partial(kernel, tuple(w), tuple(data), a, b, flat) for w, (a, b) in zip(debts, cuts, strict=False)]
    else:
        kernel = score_classes(*kinds)
        tasks = [
            partial(kernel, tuple(w), tuple(data), a, b, out, pair) for w, (a, b) in zip(debts, cuts, strict=False)
        ]
    share(tasks, jobs)
    if not isinstance(link, Additive):
        whole = out / divisor
        lost = (whole == 0) & (out != 0)
        out = np.where(lost, np.copysign(5e-324, out), whole)
    return out
