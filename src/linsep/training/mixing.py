"""Iterative parameter mixing: train shards apart and average their weights.

With s the sums that all set out from, s_i those of shard i, and its share 1, or its rows, or its mistakes,

    s' = s + sum_i share_i (s_i - s) / sum_i share_i.

For links with an image (Winnow, the p-norm) s is what the weights are a function of; for rules that shrink, the weights
themselves. The potentials of the mistake bounds are convex in s, so that a mix is never worse than its shards: each
bound holds for the mistakes weighted by mu_i = share_i / sum of the shares (McDonald, Hall and Mann, 2010).
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.links import STALE, Additive, Imaged, Scaled
from linsep.engine.readouts import MISTAKES, Average, Tally
from linsep.engine.runtime import in_order, split
from linsep.training.state import TrainingState
from linsep.training.update_log import MixLog, UpdateLog
from linsep.training.weights import copied, start_readout, start_tally, with_own_image

MIXINGS = ("uniform", "rows", "mistakes")
"""Kinds of a shard's share in a mix."""
CACHED_NUMBERS = 1 << 14
"""Numbers that stay near the processor from one operation on them to the next."""


class Gain(NamedTuple):
    """Difference between a shard's state and the state that it started from."""

    s: Array
    """s_i - s."""
    u: Array | None
    """For an average: minus what its rounds add to the sum of the weights before each, beyond s in each of them."""
    clock: float
    """The weight of its rounds."""
    tally: Tally
    log: UpdateLog


def weights_of(link: Any) -> Array:
    """Return what is mixed: the weights in training, or the sums that they are a function of."""
    return link.s * link.scale if isinstance(link, Scaled) else link.s


def link_of(like: Any, s: Array, pair: bool) -> Any:
    """Return a link of the same kind with these sums; an image is stale until :func:`compute_image` or a pass."""
    if isinstance(like, Scaled):
        norm2 = np.einsum("jc,jc->c", s, s)
        if pair:
            norm2 = np.append(norm2.sum(), np.zeros(len(norm2) - 1))
        return like._replace(s=s, scale=np.ones_like(like.scale), norm2=norm2, age=np.zeros_like(like.age))
    if isinstance(like, Imaged):
        return like._replace(s=s, image=np.zeros_like(s), debt=np.full_like(like.debt, STALE))
    return Additive(s)


def compute_image(state: TrainingState) -> None:
    """Compute the image of the sums of a mixed state; passes would do so themselves, readers do not."""
    link = state.link
    if isinstance(link, Imaged) and (link.debt == STALE).all():
        state.link = with_own_image(link, state.pair, state.bias != 0.0)


def minus_total(readout: Any, s: Array) -> Array:
    """Return minus the sum of the weights of all rounds so far; as the u of an average it must have a mass of 0."""
    return readout.u - readout.mass * s if readout.mass.any() else readout.u


def fork(state: TrainingState) -> TrainingState:
    """Return a state with the same weights and round, which counts its own rounds and mistakes only."""
    tally = start_tally(state.columns)
    tally.rounds[:] = state.tally.rounds
    readout = start_readout(type(state.readout), state.features + 1, state.columns)
    return replace(
        state, link=copied(state.link), readout=readout, tally=tally, log=state.log.emptied(), mixed=None,
        watch=None, progressive=None, _scorer=None,
    )  # fmt: skip


def gain_of(shard: TrainingState, start: TrainingState) -> Gain:
    """Return what a fork has changed since its start. The fork's arrays become those of the gain."""
    before, moved = weights_of(start.link), weights_of(shard.link)
    moved -= before
    u, clock, readout = None, 0.0, shard.readout
    if isinstance(readout, Average):
        u, clock = readout.u, float(readout.clock[0])
        if isinstance(shard.link, Scaled):
            u -= readout.mass * shard.link.s
            take(u, -clock, before)
        else:  # mass is the clock, and s has become what it has moved by
            take(u, clock, moved)
    tally = shard.tally._replace(rounds=shard.tally.rounds - start.tally.rounds)
    return Gain(moved, u, clock, tally, shard.log)


def take(sums: Array, factor: float, array: Array) -> None:
    """Let sums -= factor * array, without another array of that size."""
    step = -(-CACHED_NUMBERS // sums.shape[1])
    for begin in range(0, len(sums), step):
        sums[begin : begin + step] -= factor * array[begin : begin + step]


class ShardMix:
    """A mix that adds gains in the order of the shards and stores none of them."""

    def __init__(self, state: TrainingState, mixing: str) -> None:
        self.state, self.mixing = state, mixing
        self.start = replace(state, tally=copied(state.tally))
        """The state from which shards start; the state itself counts the finished shards."""
        shape = state.link.s.shape
        self.moved, self.evenly = np.zeros(shape), np.zeros(shape) if mixing == "mistakes" else None
        self.u, self.clock = np.zeros(shape) if isinstance(state.readout, Average) else None, 0.0
        self.numbers: list[tuple[int, int, int, int]] = []
        self.mistakes: list[Array] = []
        self.shares: list[Array] = []

    def add(self, gain: Gain) -> None:
        """Add what the next shard has done; rounds count as if the shards came one after the other."""
        state, tally = self.state, self.state.tally
        before, rows = int(tally.rounds[0]), int(gain.tally.rounds[0])
        made = gain.tally.counts[MISTAKES, : 1 if state.pair else None]
        share = {"uniform": np.ones_like(made), "rows": np.full_like(made, rows), "mistakes": made}[self.mixing]
        self.moved += gain.s if (share == 1).all() else share * gain.s
        if self.evenly is not None:
            self.evenly += gain.s
        if self.u is not None and gain.u is not None:
            self.u += gain.u
            self.clock += gain.clock
        self.numbers.append((state.epochs + 1, len(self.numbers), before, rows))
        self.mistakes.append(made)
        self.shares.append(share)
        self._take_log(gain, before - int(self.start.tally.rounds[0]))
        tally.rounds[:] += rows
        tally.counts[:] += gain.tally.counts
        tally.errors[:] = -1 if min(tally.errors[0], gain.tally.errors[0]) < 0 else tally.errors + gain.tally.errors

    def end(self) -> None:
        """Let the state have the mixed weights."""
        state, shares = self.state, np.array(self.shares)
        total = shares.sum(axis=0)
        if self.evenly is not None and not total.all():  # no mistake was made in any shard
            self.moved, shares = np.where(total, self.moved, self.evenly), np.where(total, shares, 1)
            total = shares.sum(axis=0)
        start = weights_of(state.link)
        if self.u is not None:
            readout, u = state.readout, self.u
            u += minus_total(readout, state.link.s)
            take(u, self.clock, start)
            state.readout = Average(u, np.zeros_like(readout.mass), readout.clock + self.clock)
        self.moved /= total
        self.moved += start
        state.link = link_of(state.link, self.moved, state.pair)
        more = MixLog(np.array(self.numbers), np.array(self.mistakes), shares)
        state.mixed = more if state.mixed is None else state.mixed.then(more)
        state._scorer = None

    def _take_log(self, gain: Gain, earlier: int) -> None:
        """Add a shard's updates to the log, unless one of the two was discarded."""
        state = self.state
        if not state.log.is_open:
            return
        if gain.log.reason:
            state.log = state.log.closed(gain.log.reason)
            return
        gain.log.numbers[:, 1] += earlier
        state.log = state.log.appended(gain.log).within_limit()


class Shards:
    """A state for as many passes as wanted, each over shards of the pass's order and with a mix at its end.

    Threads share the shards; the weights do not depend on how many there are. One shard is a pass like any other.
    """

    def __init__(self, state: TrainingState, count: int, mixing: str, jobs: int) -> None:
        self.state, self.count, self.mixing, self.jobs = state, count, mixing, jobs

    def run(self, data: Any, codes: Array, weights: Array, order: Array, first: int) -> None:
        """Make one pass over the rows."""
        state = self.state
        spans = split(len(order) if len(order) else data.n_rows, self.count)
        if len(spans) == 1:
            state.run(data, codes, weights, order, first)
            return

        mix = ShardMix(state, self.mixing)

        def learned(span: tuple[int, int]) -> Gain:
            shard = fork(mix.start)
            shard.run(data, codes, weights, order, first, span=span)
            return gain_of(shard, mix.start)

        self._look()
        for gain in in_order(learned, spans, self.jobs):
            mix.add(gain)
            self._look()
        mix.end()

    def _look(self) -> None:
        if self.state.watch is not None:
            self.state.watch(self.state)

    def totals(self) -> Array:
        """Return the sums over all columns of mistakes, updates and mistakes without a step."""
        return np.asarray(self.state.tally.counts.sum(axis=1))

    def join(self) -> None:
        """Compute the image of imaged weights after the last pass."""
        compute_image(self.state)
