"""Sum the votes of all hypotheses of a run in compiled code, without storing any of them.

A hypothesis differs from the one before it by one row, v_{k+1} = keep_k v_k + amount_k x_{place_k}, so that its scores
on all points do by one row of the kernel matrix between the rows of updates and the points. A block of
points is scored in each walk over the updates. What each addition to a score rounds off is summed beside it
(Knuth's two-sum), so that however many updates there are, a sign is wrong only where the score is nothing but rounding
of the products themselves.
"""

from typing import Any

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.tiers import tiered


def _work_of_walk(kernels: Array, places: Array, *others: Any) -> int:
    return 2 * (len(places) + 1) * kernels.shape[1]


def _work_of_poll(kernels: Array, places: Array, *others: Any) -> int:
    return 2 * (len(places) + 1) * kernels.shape[1] * len(others[-2])


def recurrence(factors: Array, terms: Array, first: float) -> Array:
    """Return r_0 = first, r_{k+1} = factors_k r_k + terms_k."""
    out = np.full(len(terms) + 1, first)
    _recurrence(factors, terms, out)
    return out


@tiered(lambda factors, terms, out: 2 * len(terms))
def _recurrence(factors: Array, terms: Array, out: Array) -> None:
    for k in range(terms.shape[0]):
        out[k + 1] = factors[k] * out[k] + terms[k]


def walk(
    kernels: Array, places: Array, amounts: Array, keeps: Array, counts: Array, scales: Array, marks: Array,
    picks: Array, points: Array, score: Array, votes: Array, sums: Array, units: Array, lasts: Array, picked: Array,
) -> bool:  # fmt: skip
    """Score a block of points by all hypotheses of one binary classifier; return whether all scores are finite.

    Parameters
    ----------
    kernels : (rows of updates, points)
    places, amounts, keeps : (K,)
        Update k makes hypothesis k + 1 of hypothesis k. One of amount 0 and keep 1 changes nothing.
    counts, scales : (K + 1,)
        Number of rounds of each hypothesis, and the inverse of its norm (0 for none).
    marks : (M,), rising
        Hypotheses after which to write down what has been summed so far.
    picks, points : (Q,), picks rising
        The hypothesis that is scored alone, and its point.
    score : (points,)
        The scores of hypothesis 0; changed on the way.
    votes, sums, units, lasts : (M, points), written
        Up to each mark: sum of counts * sign(score), of counts * score, of counts * scale * score, and the score. With
        no room for them, all but the votes are left out.
    picked : (Q,), written
        The scores that `picks` names.
    """
    lost, totals = np.zeros(len(score)), np.zeros((3, len(score)))
    _walk(
        kernels, places, amounts, keeps, counts, scales, marks, picks, points, score, lost, totals,
        votes, sums, units, lasts, picked,
    )  # fmt: skip
    return _finite(score, lost)


@tiered(_work_of_walk)
def _walk(
    kernels: Array, places: Array, amounts: Array, keeps: Array, counts: Array, scales: Array, marks: Array,
    picks: Array, points: Array, score: Array, lost: Array, totals: Array,
    votes: Array, sums: Array, units: Array, lasts: Array, picked: Array,
) -> None:  # fmt: skip
    """Do what `walk` does: `lost` is what additions rounded off, `totals` are the sums of votes, scores and units."""
    B, lean = score.shape[0], sums.shape[0] == 0
    m = q = 0
    for k in range(counts.shape[0]):
        while q < picks.shape[0] and picks[q] == k:
            picked[q] = score[points[q]] + lost[points[q]]
            q += 1
        count, share = counts[k], counts[k] * scales[k]
        for b in range(B):
            totals[0, b] += count if score[b] + lost[b] > 0 else -count
        if not lean:
            for b in range(B):
                exact = score[b] + lost[b]
                totals[1, b] += count * exact
                totals[2, b] += share * exact
        while m < marks.shape[0] and marks[m] == k:
            for b in range(B):
                votes[m, b] = totals[0, b]
                if not lean:
                    sums[m, b], units[m, b], lasts[m, b] = totals[1, b], totals[2, b], score[b] + lost[b]
            m += 1
        if k < places.shape[0] and (amounts[k] != 0.0 or keeps[k] != 1.0):
            amount, keep, place = amounts[k], keeps[k], places[k]
            for b in range(B):
                old, more = keep * score[b], amount * kernels[place, b]
                new = old + more
                part = new - old
                lost[b] = keep * lost[b] + ((old - (new - part)) + (more - part))
                score[b] = new


def poll(
    kernels: Array, places: Array, columns: Array, rivals: Array, amounts: Array, keeps: Array, scales: Array,
    counts: Array, score: Array, scale: Array, votes: Array,
) -> bool:  # fmt: skip
    """Let the classifiers of a run vote, each for the class of its highest score; of equal ones the first.

    True if every score is finite.

    Parameters
    ----------
    kernels : (rows of updates, points)
    places, columns, rivals, amounts, keeps, scales : (K,)
        Update k adds to the scores of its column, and takes from those of its rival. Where there is none, -1, only its
        own column shrinks; else all do. From then on the scores of its column are multiplied with its scale.
    counts : (K + 1,)
        Number of rounds before each update, since the previous update; and after the last.
    score, scale : (columns, points) and (columns,)
        The scores at first, and what they are multiplied with; changed on the way.
    votes : (columns, points)
        Added to.
    """
    lost = np.zeros(score.shape)
    _poll(kernels, places, columns, rivals, amounts, keeps, scales, counts, score, lost, scale, votes)
    return _finite(score, lost)


@tiered(_work_of_poll)
def _poll(
    kernels: Array, places: Array, columns: Array, rivals: Array, amounts: Array, keeps: Array, scales: Array,
    counts: Array, score: Array, lost: Array, scale: Array, votes: Array,
) -> None:  # fmt: skip
    """Do what `poll` does; `lost` is what additions to the scores rounded off."""
    C, B = score.shape
    for k in range(counts.shape[0]):
        count = counts[k]
        if count > 0:
            for b in range(B):
                best, lead = (score[0, b] + lost[0, b]) * scale[0], 0
                for c in range(1, C):
                    exact = (score[c, b] + lost[c, b]) * scale[c]
                    if exact > best:
                        best, lead = exact, c
                votes[lead, b] += count
        if k == places.shape[0]:
            break
        place, rival, keep = places[k], rivals[k], keeps[k]
        scale[columns[k]] = scales[k]
        for c in range(C):
            if c != columns[k] and (rival < 0 or (c != rival and keep == 1.0)):
                continue
            amount = (1.0 if c == columns[k] else -1.0 if c == rival else 0.0) * amounts[k]
            for b in range(B):
                old, more = keep * score[c, b], amount * kernels[place, b]
                new = old + more
                part = new - old
                lost[c, b] = keep * lost[c, b] + ((old - (new - part)) + (more - part))
                score[c, b] = new


def _finite(score: Array, lost: Array) -> bool:
    """Return whether all scores are finite; one that once was not remains so."""
    return bool(np.isfinite(score + lost).all())
