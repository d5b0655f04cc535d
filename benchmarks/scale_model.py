"""A model on paper: what an epoch over 1 TB takes on 10, 100, 1,000 workers, from costs measured on two cores.

An epoch is reading, parsing and learning, shared by W workers; then weights to all, gains from all, and a task for each
of W shards, at the one client. The first part falls with W, the second grows with it:

    T(W) = work / W + down log2(W + 1) + (gain + task) W.

At the knee, about W = sqrt(work / (gain + task)), both are equal; more workers make an epoch longer. A tree of mixes,
in which every worker mixes two and hands on one, would replace W gains by 2 log2 W.
"""

from dataclasses import dataclass, replace
from math import ceil, log2
from typing import NamedTuple

TERABYTE = 1e12


@dataclass(frozen=True)
class Costs:
    """What was measured, on one core."""

    row_bytes: float
    """Bytes of a row in the file."""
    kept_bytes: float
    """Bytes of a row in memory."""
    parse: float
    """Seconds to parse a row."""
    learn: float
    """Seconds to learn from a row in memory."""
    byte: float
    """Seconds that a byte of a gain takes beside the network: packed, handed over, unpacked, mixed."""
    task: float
    """Seconds that a task takes at the client and the scheduler."""


@dataclass(frozen=True)
class Place:
    """What is assumed of a cluster."""

    cores: int = 8
    """Workers of a machine, a core each."""
    memory: float = 8e9
    """Bytes of a worker."""
    share: float = 0.4
    """Of them, what rows may take."""
    network: float = 1.25e9
    """Bytes a second of a machine: 10 Gbit/s."""
    store: float = 1e9
    """Bytes a second at which a machine reads rows, from its disks or from an object store."""


@dataclass(frozen=True)
class Plan:
    """What is trained."""

    weights: float = 1e6
    averaged: bool = True
    """Whether shards send the sum of their weights, too."""
    filled: float = 1.0
    """The share of weights that a shard changes in an epoch."""
    tree: bool = False
    """Whether workers mix in a tree, rather than all at the client."""
    size: float = TERABYTE

    @property
    def down(self) -> float:
        """Bytes of the weights that all shards set out from."""
        return 8 * self.weights

    @property
    def gain(self) -> float:
        """Bytes of what a shard sends back: numbers, with their places where fewer than half are filled.

        >>> Plan(1e6).gain, Plan(1e6, averaged=False).gain, Plan(1e6, filled=0.01).gain
        (16000000.0, 8000000.0, 240000.0)
        """
        each = 8 * self.weights if self.filled >= 0.5 else 12 * self.weights * self.filled
        return (1 + self.averaged) * each


class Epoch(NamedTuple):
    """Seconds of an epoch, by what they go to."""

    read: float
    """Beyond parsing and learning, during which reading goes on."""
    parse: float
    learn: float
    send: float
    gather: float
    tasks: float

    @property
    def total(self) -> float:
        """All of them."""
        return sum(self)

    @property
    def shared(self) -> float:
        """Those that more workers shorten."""
        return self.read + self.parse + self.learn

    @property
    def bottleneck(self) -> str:
        """What takes longest; where rows come in more slowly than they are worked on, that is reading them."""
        slow = self.read > 0 and self.shared >= max(self.send, self.gather, self.tasks)
        return "read" if slow else self._fields[self.index(max(self))]


def kept(workers: int, plan: Plan, costs: Costs, place: Place) -> bool:
    """Tell whether all rows fit into the memory of the workers, so that only the first epoch reads and parses."""
    return plan.size / costs.row_bytes * costs.kept_bytes <= workers * place.share * place.memory


def epoch(
    workers: int, plan: Plan, costs: Costs, place: Place | None = None, *, in_memory: bool | None = None
) -> Epoch:
    """Return what an epoch takes on so many workers.

    Parameters
    ----------
    workers : int
        Of one core and with one shard each.
    plan, costs, place
        What is trained, what was measured, what is assumed.
    in_memory : bool, optional
        Whether the rows are parsed and in memory; by default as in a later epoch, if they fit.

    Examples
    --------
    >>> costs = Costs(row_bytes=1600, kept_bytes=800, parse=4e-6, learn=1e-6, byte=1e-9, task=1e-3)
    >>> [round(epoch(w, Plan(), costs).total) for w in (10, 100, 1000)]
    [800, 83, 30]
    >>> epoch(1000, Plan(), costs).bottleneck, epoch(10, Plan(), costs).bottleneck
    ('gather', 'read')
    >>> round(epoch(1000, Plan(tree=True), costs).total)
    2
    """
    place = place or Place()
    if in_memory is None:
        in_memory = kept(workers, plan, costs, place)
    rows = plan.size / costs.row_bytes / workers
    parse, learn = 0.0 if in_memory else rows * costs.parse, rows * costs.learn
    read = 0.0 if in_memory else rows * costs.row_bytes / (place.store / place.cores)
    steps = ceil(log2(workers + 1))
    each = plan.gain * (1 / place.network + costs.byte)
    return Epoch(
        read=max(0.0, read - parse - learn), parse=parse, learn=learn, send=steps * plan.down / place.network,
        gather=each * (2 * steps if plan.tree else workers), tasks=workers * costs.task,
    )  # fmt: skip


def knee(plan: Plan, costs: Costs, place: Place | None = None, *, in_memory: bool | None = False) -> int:
    """Return the number of workers with the shortest epoch, to one in a hundred, up to a million.

    >>> costs = Costs(row_bytes=1600, kept_bytes=800, parse=4e-6, learn=1e-6, byte=1e-9, task=1e-3)
    >>> knee(Plan(weights=1e6), costs), knee(Plan(weights=1e8), costs)
    (517, 53)
    """
    counts = sorted({round(1.01**k) for k in range(1390)})
    return min(counts, key=lambda count: epoch(count, plan, costs, place, in_memory=in_memory).total)


def variants(plan: Plan, filled: float) -> dict[str, Plan]:
    """Return a plan as it is, one in which a shard changes few weights, and one with a tree of mixes.

    >>> list(variants(Plan(), 0.01))
    ['dense gains', 'sparse gains', 'tree of mixes']
    """
    return {
        "dense gains": plan,
        "sparse gains": replace(plan, filled=filled),
        "tree of mixes": replace(plan, tree=True),
    }
