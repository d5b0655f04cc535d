"""A machine whose classes are shared among threads."""

from functools import partial
from typing import Any

import numpy as np

from linsep.core.arrays import Array
from linsep.core.threads import share, split
from linsep.learners.machine import Machine


class Team:
    """A machine for as many passes as wanted, its classes shared among threads where it has a column for each.

    :meth:`join` puts the columns together again; only then is the machine up to date.
    """

    def __init__(self, machine: Machine, jobs: int) -> None:
        alone = jobs == 1 or machine.columns == 1 or machine.pair or not machine.divisible
        cuts = [] if alone else split(machine.columns, jobs)
        self.machine, self.jobs = machine, jobs
        self.blocks = [(lo, machine.block(lo, hi)) for lo, hi in cuts]

    def run(self, data: Any, codes: Array, weights: Array, order: Array, first: int) -> None:
        """Make one pass over the rows."""
        if self.blocks:
            share([partial(b.run, data, codes - lo, weights, order, first, lo) for lo, b in self.blocks], self.jobs)
        else:
            self.machine.run(data, codes, weights, order, first)

    def totals(self) -> Array:
        """Return the sums over all columns of mistakes, updates and mistakes without a step."""
        members = [block for _, block in self.blocks] or [self.machine]
        return np.sum([m.tally.counts.sum(axis=1) for m in members], axis=0)

    def join(self) -> None:
        """Bring the machine up to date."""
        if self.blocks:
            self.machine.join([block for _, block in self.blocks])
