"""Iterative parameter mixing as a plain reference: shards of an order, a serial run on each from the same start, a mix.

The learners are those of `references`, whose state is what is mixed: sums for Winnow and the p-norm, else the weights.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from linsep.training import epochs as drivers
from tests.fits import steps
from tests.references import Run


@dataclass
class Mixed(Run):
    """What a run leaves. `mixes` has (epoch, shard, rows, mistakes, share) of each shard, `states` all mixes so far."""

    mixes: list = field(default_factory=list)
    states: list = field(default_factory=list)

    def shares(self):
        """The weight mu of each shard, without rounding."""
        totals = {}
        for epoch, *_, share in self.mixes:
            totals[epoch] = totals.get(epoch, 0) + share
        return [Fraction(share, totals[epoch]) for epoch, *_, share in self.mixes]


def mixed(learner, X, y, orders, shards, mixing="uniform", beta=0.0, weights=None, pair=False):
    """An epoch for each order. Labels are -1 and +1, or with `pair` the codes 0, 1, ... of the classes."""
    rows, run = learner.inside(X, beta), Mixed()
    state = learner.start(rows.shape[1], rows.dtype)
    look = rivals(y) if pair else against(y)
    state = np.array([state] * (y.max() + 1)) if pair else state
    for epoch, order in enumerate(orders, start=1):
        began, ends, peak, peaks = len(run.counts), [], run.peak, []
        for shard, part in enumerate(cut(order, shards)):
            before = len(run.counts), len(run.mistakes)
            run.peak = peak  # a shard knows nothing of the weights, and the rounding, of another
            ends.append(walk(learner, state, rows, look, part, began, X.shape[1], run, weights))
            peaks.append(run.peak)
            made = len(run.counts) - before[0], len(run.mistakes) - before[1]
            run.mixes.append((epoch, shard, *made, {"uniform": 1, "rows": made[0], "mistakes": made[1]}[mixing]))
        if not any(share for *_, share in run.mixes[-len(ends) :]):
            run.mixes[-len(ends) :] = [(*told, 1) for *told, _ in run.mixes[-len(ends) :]]
        shares = [share for *_, share in run.mixes[-len(ends) :]]
        state = state + sum(c * (end - state) for c, end in zip(shares, ends, strict=True)) / sum(shares)
        run.states.append(state)
        run.peak = np.max(np.broadcast_arrays(*peaks), axis=0)
    run.w = folded(learner, state, X.shape[1])
    return run


def cut(order, shards):
    """The order in as many parts of nearly equal length; a part has a row at least."""
    n, shards = len(order), min(shards, len(order))
    return [order[n * k // shards : n * (k + 1) // shards] for k in range(shards)]


def walk(learner, state, rows, look, order, t, p, run, weights):
    """One shard: row after row from this state; rounds go on from t in the rule, and from those of all in the run."""
    for i in order:
        c = 1 if weights is None else weights[i]
        if c == 0:
            continue
        t, flat = t + 1, state.ravel()
        run.before.append(folded(learner, state, p))
        run.counts.append(c)
        x, y, score, names = look(learner.read(flat).reshape(state.shape), rows[i], i, run)
        run.trust *= float(min(1, learner.sharpness(flat, x.ravel(), y, score)))
        run.tie = min(run.tie, len(run.counts)) if run.trust < 1e-3 else run.tie
        if y * score <= 0:
            run.mistakes.append((len(run.counts), int(i)))
        new = learner.step(flat, x.ravel(), y, score, t, c)
        if new is not flat:
            run.updates.append((len(run.counts), int(i), *names))
            state = new.reshape(state.shape)
    return state


def folded(learner, state, p):
    """The weights that a state stands for, the bias last."""
    W = learner.read(state.ravel()).reshape(state.shape)
    return learner.fold(W, p) if W.ndim == 1 else np.array([learner.fold(w, p) for w in W])


def against(y):
    """Look at a row as one machine does: itself, its label and its score."""

    def look(w, x, i, run):
        score = np.sum(w * x)
        run.watch(w, x, score)
        return x, y[i], score, ()

    return look


def rivals(codes):
    """Look at a row as pairs do: x for the true class and -x for its best rival, label +1, the margin."""

    def look(W, x, i, run):
        scores = np.array([np.sum(w * x) for w in W])
        others = scores.copy()
        others[codes[i]] = -np.inf
        rival = int(np.argmax(others))
        for k in range(len(W)):
            if not np.array_equal(W[k], W[rival]):  # those that no update has touched are equal to the last bit
                run.watch(W, np.isin(np.arange(len(W)), [k, rival])[:, None] * x, scores[k] - scores[rival])
        long = np.zeros_like(W)
        long[codes[i]], long[rival] = x, -x
        return long, 1, scores[codes[i]] - scores[rival], (int(codes[i]), rival)

    return look


def one_vs_rest(learner, X, codes, orders, shards, mixing="uniform", beta=0.0, weights=None):
    """A run for each class, its rows against all the others; each has shares of its own in a mix by mistakes."""
    signs = [np.where(codes == k, 1, -1) for k in range(codes.max() + 1)]
    return [mixed(learner, X, y, orders, shards, mixing, beta, weights) for y in signs]


def orders(learner, n):
    """The order of each epoch of a fit, written out."""
    told = [drivers.order_of(learner, e, n) for e in range(learner.n_iter_)]
    return [order if len(order) else np.arange(n) for order in told]


class Shard(NamedTuple):
    """A shard played again: (w, x, label, whether it moved) of each round, where it ends, its weight, its mistakes."""

    rounds: list
    end: np.ndarray
    mu: Any
    mistakes: int


def replay(learner, X, y):
    """Yield (state before, shards, state after) of each mix, rebuilt from `log_` and `mixes_` alone.

    On an X of Fractions without rounding, for learners whose steps are +1 and -1.
    """
    told = learner.mixes_
    done = dict(zip(learner.log_.rounds.tolist(), zip(learner.log_.rows, steps(learner, y), strict=True), strict=True))
    state, t = np.zeros(X.shape[1], X.dtype), 0
    share = {"uniform": np.ones_like(told.rows), "rows": told.rows, "mistakes": told.mistakes}[learner.mixing].copy()
    for e, order in enumerate(orders(learner, len(X)), start=1):
        lines, shards, walk = np.flatnonzero(told.epochs == e), [], iter(order)
        if not share[lines].any():
            share[lines] = 1
        for line in lines:
            w, rounds = state, []
            for i in (next(walk) for _ in range(told.rows[line])):
                t += 1
                rounds.append((w, X[i], y[i], t in done))
                if t in done:
                    row, (keep, amount) = done[t]
                    assert row == i
                    w = w * int(keep) + X[i] * int(amount) if X.dtype == object else keep * w + amount * X[i]
            mu = Fraction(int(share[line]), int(share[lines].sum()))
            assert told.weights[line] == float(mu)
            shards.append(Shard(rounds, w, mu if X.dtype == object else float(mu), int(told.mistakes[line])))
        assert next(walk, None) is None
        after = state + sum(shard.mu * (shard.end - state) for shard in shards)
        yield state, shards, after
        state = after
