"""Predict with all hypotheses of a run: vote, average, longest, random.

Points are scored in blocks whose size depends on the rows that were kept alone, each on one thread and one BLAS thread:
the same bits for any number of threads, in memory for a block of kernel values for each.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.runtime import one_blas_thread, share
from linsep.engine.votes import poll, walk
from linsep.training.history import Hypotheses, RunHypotheses
from linsep.training.state import TOO_LARGE
from linsep.validation.errors import InvalidDataError
from linsep.validation.labels import predicted_labels

POINT_BYTES = 1 << 26
"""Kernel values in memory for one block of points."""
FEWEST, MOST = 16, 256
"""Points in a block."""
NONE, NO_PICKS = np.empty((0, 0)), np.empty(0, np.int64)

Ask = Callable[[Array, Array, int, int], bool]
"""Called with kernel values, first scores, and the span of a block of points; returns whether all scores are finite."""


def reading_name(readout: str, normalize: bool) -> str:
    """Return what a readout is called, of weights divided by their lengths or not.

    >>> reading_name("average", True), reading_name("vote", False)
    ('average, normalised', 'vote')
    """
    return f"{readout}, normalised" if normalize else readout


@dataclass(frozen=True)
class Readings:
    """Every readout at once, at each checkpoint as if training had stopped there.

    Attributes
    ----------
    rounds : (checkpoints,)
    scores : dict from (readout, normalize) to (checkpoints, rows, columns)
        One column for two classes, else one for each.
    classes : array
        The labels.
    mistakes : (checkpoints,)
        Updates so far, of all binary classifiers together.
    support : (checkpoints,)
        Distinct rows among them.
    """

    rounds: Array
    scores: dict[tuple[str, bool], Array]
    classes: Array
    mistakes: Array
    support: Array

    def predict(self, readout: str, normalize: bool = False) -> Array:
        """Return the labels, (checkpoints, rows): a score of 0 is the negative class, ties go to the lower one."""
        if (readout, normalize) not in self.scores:
            raise ValueError(f"there is no reading {(readout, normalize)}; there are {sorted(self.scores)}")
        scores = self.scores[readout, normalize]
        checkpoints, rows, columns = scores.shape
        flat = scores.reshape(checkpoints * rows, columns)
        flat = flat[:, 0] if columns == 1 else flat
        return predicted_labels(flat, self.classes).reshape(checkpoints, rows)


def in_blocks(run: RunHypotheses, data: Dense | Csr, jobs: int, ask: Ask) -> None:
    """Call `ask` for all points, block by block; raise a ValueError if a hypothesis has a score that is not finite."""
    kept, n = run.supporting(), data.n_rows
    rows = 0 if run.history.support is None else len(run.history.support)
    size = min(max(POINT_BYTES // (8 * max(rows, 1)), FEWEST), MOST)

    def block(lo: int) -> bool:
        hi = min(lo + size, n)
        return ask(run.against(kept, data, lo, hi), run.at_first(data, lo, hi), lo, hi)

    with one_blas_thread():
        if not all(share([partial(block, lo) for lo in range(0, n, size)], jobs)):
            raise InvalidDataError(TOO_LARGE)


def linear(run: RunHypotheses, data: Dense | Csr, readout: str, normalize: bool, jobs: int) -> Array:
    """Return the scores of a readout that is a sum of hypotheses: last, average, longest."""
    shares, firsts, divisors = run.dual(readout, normalize)
    out = np.empty((data.n_rows, run.columns))

    def ask(kernels: Array, first: Array, lo: int, hi: int) -> bool:
        out[lo:hi] = (kernels.T @ shares + first.T * firsts) / divisors
        return True  # the caller checks these scores

    in_blocks(run, data, jobs, ask)
    return out


def vote(run: RunHypotheses, data: Dense | Csr, jobs: int) -> Array:
    """Return sum_k c_k sign(v_k.x) / m of each column."""
    each = [(h, h.counts, h.scales) for h in run.hypotheses()]
    out = np.empty((data.n_rows, run.columns))

    def ask(kernels: Array, first: Array, lo: int, hi: int) -> bool:
        fine = True
        for c, (h, counts, scales) in enumerate(each):
            marks, votes = np.array([len(counts) - 1]), np.empty((1, hi - lo))
            fine &= walk(
                kernels, h.places, h.amounts, h.keeps, counts, scales, marks, NO_PICKS, NO_PICKS, first[c].copy(),
                votes, NONE, NONE, NONE, np.empty(0),
            )  # fmt: skip
            out[lo:hi, c] = votes[0]
        return fine

    in_blocks(run, data, jobs, ask)
    begin, end = run.span()
    return out / (end - begin if end > begin else 1.0)


def plurality(
    run: RunHypotheses, data: Dense | Csr, normalize: bool, jobs: int, known: int, until: float | None = None
) -> Array:
    """Return the share of rounds whose classifier was for each of the first `known` columns; the others stay 0."""
    begin, end = run.span()
    end = end if until is None else until
    updates = run.updates()
    scale, scales = np.ones(known), np.ones(len(updates[0]))
    if normalize and not run.pair:
        for c, own in enumerate(run.hypotheses()[:known]):
            scale[c], scales[updates[1] == c] = own.scales[0], own.scales[1:]
    among = (updates[1] < known) & (updates[-1] <= end)
    places, columns, rivals, amounts, keeps, times, scales = (a[among] for a in (*updates, scales))
    counts = np.diff(times, prepend=begin, append=end)
    out = np.zeros((data.n_rows, run.columns))

    def ask(kernels: Array, first: Array, lo: int, hi: int) -> bool:
        votes = np.zeros((known, hi - lo))
        start = first[:known].copy()
        fine: bool = poll(kernels, places, columns, rivals, amounts, keeps, scales, counts, start, scale.copy(), votes)
        out[lo:hi, :known] = votes.T
        return fine

    in_blocks(run, data, jobs, ask)
    return out / (end - begin if end > begin else 1.0)


def drawn(run: RunHypotheses, data: Dense | Csr, draws: Array, normalize: bool, jobs: int) -> Array:
    """Return the scores of the hypotheses that were there at a time drawn for each point, as a share of the run."""
    each = [(h, h.counts, h.scales) for h in run.hypotheses()]
    begin, end = run.span()
    out = np.empty((data.n_rows, run.columns))

    def ask(kernels: Array, first: Array, lo: int, hi: int) -> bool:
        moments, fine = begin + draws[lo:hi] * (end - begin), True
        for c, (h, counts, scales) in enumerate(each):
            which = np.searchsorted(h.times, moments, side="right")
            points = np.argsort(which, kind="stable")
            picked = np.empty(hi - lo)
            fine &= walk(
                kernels, h.places, h.amounts, h.keeps, counts, scales, NO_PICKS, which[points], points, first[c].copy(),
                NONE, NONE, NONE, NONE, picked,
            )  # fmt: skip
            out[lo + points, c] = picked * scales[which[points]] if normalize else picked
        return fine

    in_blocks(run, data, jobs, ask)
    return out


def every_readout(
    run: RunHypotheses, data: Dense | Csr, times: Array, draws: Array, jobs: int
) -> dict[tuple[str, bool], Array]:
    """Return the scores of all readouts as they were at each of these times, (times, points, columns), in one walk.

    `draws`, (times, points), are the moments of the random one, as shares of the time until then.
    """
    shape = len(times), data.n_rows, run.columns
    plain = ["vote", "average", "last", "random", "longest"]
    out = {(name, False): np.empty(shape) for name in plain}
    out |= {(name, True): np.empty(shape) for name in plain[1:]}
    begin, _ = run.span()
    each = [(*h.paused(times), _longest(h, times)) for h in run.hypotheses()]

    def ask(kernels: Array, first: Array, lo: int, hi: int) -> bool:
        fine, moments = True, begin + draws[:, lo:hi] * (times - begin)[:, None]
        for c, (h, marks, starts) in enumerate(each):
            found, well = _readings(
                kernels, first[c], h, marks, np.stack([moments, np.outer(starts, np.ones(hi - lo))])
            )
            fine &= well
            for key, scores in found.items():
                out[key][:, lo:hi, c] = scores
        return fine

    in_blocks(run, data, jobs, ask)
    return out


def _readings(
    kernels: Array, first: Array, run: Hypotheses, marks: Array, moments: Array
) -> tuple[dict[tuple[str, bool], Array], bool]:
    """Return the scores of all readouts of a binary classifier at its marks, (marks, points); whether all are numbers.

    `moments`, (2, marks, points), are those at which single hypotheses are scored: random ones, and the longest-lived.
    """
    counts, scales, (M, B) = run.counts, run.scales, moments.shape[1:]
    which = np.searchsorted(run.times, moments.ravel(), side="right")
    order = np.argsort(which, kind="stable")
    picked, votes, sums, units, lasts = np.empty(len(which)), *(np.empty((M, B)) for _ in range(4))
    fine: bool = walk(
        kernels, run.places, run.amounts, run.keeps, counts, scales, marks, which[order], order % B, first.copy(),
        votes, sums, units, lasts, picked,
    )  # fmt: skip
    alone = np.empty(len(which))
    alone[order] = picked
    random, longest = alone.reshape(2, M, B)
    random_unit, longest_unit = (alone * scales[which]).reshape(2, M, B)
    lengths = np.maximum(run.times[marks] - run.begin, 0.0)[:, None]
    lengths[lengths == 0] = 1.0
    return {
        ("vote", False): votes / lengths,
        ("average", False): sums / lengths,
        ("average", True): units / lengths,
        ("last", False): lasts,
        ("last", True): lasts * scales[marks][:, None],
        ("random", False): random,
        ("random", True): random_unit,
        ("longest", False): longest,
        ("longest", True): longest_unit,
    }, fine


def _longest(run: Hypotheses, times: Array) -> Array:
    """Return when the hypothesis began that was used the longest until each of these times."""
    return np.array([np.append(run.begin, run.times)[run.until(time).longest()] for time in times])
