"""A machine whose rows are shared among shards, which are mixed at the end of each pass."""

from typing import Any

import numpy as np

from linsep.core.arrays import Array
from linsep.core.threads import split
from linsep.data.inputs import rows_of
from linsep.data.lines import in_order
from linsep.learners.machine import Machine
from linsep.learners.mixing import Gain, Mix, fork, gained, settle


class Shards:
    """A machine for as many passes as wanted, each over shards of the pass's order and with a mix at its end.

    Threads share the shards; the weights do not depend on how many there are. One shard is a pass like any other.
    """

    def __init__(self, machine: Machine, count: int, mixing: str, jobs: int) -> None:
        self.machine, self.count, self.mixing, self.jobs = machine, count, mixing, jobs

    def run(self, data: Any, codes: Array, weights: Array, order: Array, first: int) -> None:
        """Make one pass over the rows."""
        machine = self.machine
        spans = split(len(order) if len(order) else rows_of(data), self.count)
        if len(spans) == 1:
            machine.run(data, codes, weights, order, first)
            return

        mix = Mix(machine, self.mixing)

        def learned(span: tuple[int, int]) -> Gain:
            shard = fork(mix.start)
            shard.run(data, codes, weights, order, first, span=span)
            return gained(shard, mix.start)

        self._look()
        for gain in in_order(learned, spans, self.jobs):
            mix.add(gain)
            self._look()
        mix.end()

    def _look(self) -> None:
        if self.machine.watch is not None:
            self.machine.watch(self.machine)

    def totals(self) -> Array:
        """Return the sums over all columns of mistakes, updates and mistakes without a step."""
        return np.asarray(self.machine.tally.counts.sum(axis=1))

    def join(self) -> None:
        """Let the machine be fit for questions; after each pass it is up to date but for that."""
        settle(self.machine)
