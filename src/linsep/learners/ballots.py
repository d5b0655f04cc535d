"""All the hypotheses of a run asked about points: the vote, and what else can be made of their answers.

Points are asked in blocks whose size depends on the rows that were kept alone, each on one thread and one BLAS thread:
the same bits for any number of threads, in memory for a block of kernel values for each.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from linsep.core.blas import one_blas_thread
from linsep.core.examples import Array, Csr, Dense
from linsep.core.threads import share
from linsep.core.votes import poll, walk
from linsep.data.inputs import rows_of
from linsep.learners.hypotheses import Hypotheses
from linsep.learners.voting import Voting

BLOCK_BYTES = 1 << 26
"""Kernel values that are at hand for one block of points."""
FEWEST, MOST = 16, 256
"""Points in a block."""
NONE, NO_PICKS = np.empty((0, 0)), np.empty(0, np.int64)

Ask = Callable[[Array, Array, int, int], None]
"""Called with kernel values, first scores, and where the block of points begins and ends."""


def in_blocks(machine: Voting, data: Dense | Csr, jobs: int, ask: Ask) -> None:
    """Ask about all points, block by block."""
    kept, n = machine.supporting(), rows_of(data)
    rows = 0 if machine.support is None else len(machine.support)
    size = min(max(BLOCK_BYTES // (8 * max(rows, 1)), FEWEST), MOST)

    def block(lo: int) -> None:
        hi = min(lo + size, n)
        ask(machine.against(kept, data, lo, hi), machine.at_first(data, lo, hi), lo, hi)

    with one_blas_thread():
        share([partial(block, lo) for lo in range(0, n, size)], jobs)


def linear(machine: Voting, data: Dense | Csr, readout: str, normalize: bool, jobs: int) -> Array:
    """Return the scores of a readout that is a sum of hypotheses: last, average, longest."""
    shares, firsts, divisors = machine.dual(readout, normalize)
    out = np.empty((rows_of(data), machine.columns))

    def ask(kernels: Array, first: Array, lo: int, hi: int) -> None:
        out[lo:hi] = (kernels.T @ shares + first.T * firsts) / divisors

    in_blocks(machine, data, jobs, ask)
    return out


def vote(machine: Voting, data: Dense | Csr, jobs: int) -> Array:
    """Return sum_k c_k sign(v_k.x) / m of each column."""
    told = [(h, h.counts, h.scales) for h in machine.hypotheses()]
    out = np.empty((rows_of(data), machine.columns))

    def ask(kernels: Array, first: Array, lo: int, hi: int) -> None:
        for c, (h, counts, scales) in enumerate(told):
            marks, votes = np.array([len(counts) - 1]), np.empty((1, hi - lo))
            walk(
                kernels, h.places, h.amounts, h.keeps, counts, scales, marks, NO_PICKS, NO_PICKS, first[c].copy(),
                votes, NONE, NONE, NONE, np.empty(0),
            )  # fmt: skip
            out[lo:hi, c] = votes[0]

    in_blocks(machine, data, jobs, ask)
    begin, end = machine.span()
    return out / (end - begin if end > begin else 1.0)


def plurality(
    machine: Voting, data: Dense | Csr, normalize: bool, jobs: int, known: int, until: float | None = None
) -> Array:
    """Return the share of rounds whose classifier was for each of the first `known` columns; the others stay 0."""
    begin, end = machine.span()
    end = end if until is None else until
    updates = machine.updates()
    scale, scales = np.ones(known), np.ones(len(updates[0]))
    if normalize and not machine.pair:
        for c, told in enumerate(machine.hypotheses()[:known]):
            scale[c], scales[updates[1] == c] = told.scales[0], told.scales[1:]
    among = (updates[1] < known) & (updates[-1] <= end)
    places, columns, rivals, amounts, keeps, times, scales = (a[among] for a in (*updates, scales))
    counts = np.diff(times, prepend=begin, append=end)
    out = np.zeros((rows_of(data), machine.columns))

    def ask(kernels: Array, first: Array, lo: int, hi: int) -> None:
        votes = np.zeros((known, hi - lo))
        start = first[:known].copy()
        poll(kernels, places, columns, rivals, amounts, keeps, scales, counts, start, scale.copy(), votes)
        out[lo:hi, :known] = votes.T

    in_blocks(machine, data, jobs, ask)
    return out / (end - begin if end > begin else 1.0)


def drawn(machine: Voting, data: Dense | Csr, draws: Array, normalize: bool, jobs: int) -> Array:
    """Return the scores of the hypotheses that were there at a time drawn for each point, as a share of the run."""
    told = [(h, h.counts, h.scales) for h in machine.hypotheses()]
    begin, end = machine.span()
    out = np.empty((rows_of(data), machine.columns))

    def ask(kernels: Array, first: Array, lo: int, hi: int) -> None:
        moments = begin + draws[lo:hi] * (end - begin)
        for c, (h, counts, scales) in enumerate(told):
            which = np.searchsorted(h.times, moments, side="right")
            points = np.argsort(which, kind="stable")
            picked = np.empty(hi - lo)
            walk(
                kernels, h.places, h.amounts, h.keeps, counts, scales, NO_PICKS, which[points], points, first[c].copy(),
                NONE, NONE, NONE, NONE, picked,
            )  # fmt: skip
            out[lo + points, c] = picked * scales[which[points]] if normalize else picked

    in_blocks(machine, data, jobs, ask)
    return out


def every_readout(
    machine: Voting, data: Dense | Csr, times: Array, draws: Array, jobs: int
) -> dict[tuple[str, bool], Array]:
    """Return the scores of all readouts as they were at each of these times, (times, points, columns), in one walk.

    `draws`, (times, points), are the moments of the random one, as shares of the time until then.
    """
    shape = len(times), rows_of(data), machine.columns
    plain = ["vote", "average", "last", "random", "longest"]
    out = {(name, False): np.empty(shape) for name in plain}
    out |= {(name, True): np.empty(shape) for name in plain[1:]}
    begin, _ = machine.span()
    told = [(h, *h.paused(times), _longest(h, times)) for h in machine.hypotheses()]
    prepared = [(h, marks, p.counts, p.scales, p, starts) for h, p, marks, starts in told]

    def ask(kernels: Array, first: Array, lo: int, hi: int) -> None:
        B, M = hi - lo, len(times)
        moments = begin + draws[:, lo:hi] * (times - begin)[:, None]
        for c, (_, marks, counts, scales, h, starts) in enumerate(prepared):
            asked = np.concatenate([moments.ravel(), np.repeat(starts, B)])
            which = np.searchsorted(h.times, asked, side="right")
            order = np.argsort(which, kind="stable")
            picked, votes, sums, units, lasts = np.empty(len(asked)), *(np.empty((M, B)) for _ in range(4))
            walk(
                kernels, h.places, h.amounts, h.keeps, counts, scales, marks, which[order], order % B, first[c].copy(),
                votes, sums, units, lasts, picked,
            )  # fmt: skip
            scores = np.empty(len(asked))
            scores[order] = picked
            singled = (scores.reshape(2, M, B), (scores * scales[which]).reshape(2, M, B))
            lengths = np.where(times > begin, times - begin, 1.0)[:, None]
            for name, raw, unit in (
                ("vote", votes / lengths, None),
                ("average", sums / lengths, units / lengths),
                ("last", lasts, lasts * scales[marks][:, None]),
                ("random", singled[0][0], singled[1][0]),
                ("longest", singled[0][1], singled[1][1]),
            ):
                out[name, False][:, lo:hi, c] = raw
                if unit is not None:
                    out[name, True][:, lo:hi, c] = unit

    in_blocks(machine, data, jobs, ask)
    return out


def _longest(told: Hypotheses, times: Array) -> Array:
    """Return when the hypothesis began that was used the longest until each of these times."""
    return np.array([np.append(told.begin, told.times)[told.until(time).longest()] for time in times])
