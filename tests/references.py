"""Plain numpy references of the learners, written from their formulas alone: short, slow and independent.

A learner is a `step` (what one row does to the state) and a `read` (which weights the state stands for).
A driver walks the rows: `online` in a given order, `pair` and `one_vs_rest` for several classes, `batch`
where a misclassified row is located each time. Without exponentials and roots it runs on Fractions too.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np


@dataclass
class Run:
    """What a run leaves. Rounds count from 1; weights end with the bias; `before` has those of each round."""

    w: np.ndarray | None = None
    mistakes: list = field(default_factory=list)
    updates: list = field(default_factory=list)
    before: list = field(default_factory=list)
    counts: list = field(default_factory=list)
    tie: float = np.inf
    peak: np.ndarray | float = 0
    trust: float = 1.0

    def average(self):
        """The naive mean of the weights before each round, each counted with its row's weight."""
        return sum(c * w for c, w in zip(self.counts, self.before, strict=True)) / sum(self.counts)

    def watch(self, w, x, score, sharpness=1):
        """Keep the first round that floats can't be sure of, for their scores or for all the steps before.

        A score near 0 is one, compared with the largest weights so far: what cancels leaves their rounding.
        """
        self.peak = np.maximum(self.peak, np.abs(w))
        self.trust *= float(min(1, sharpness))
        size = np.sum(self.peak * np.abs(x))
        if self.trust < 1e-3 or (size > 0 and abs(score) <= 1e-9 * size):
            self.tie = min(self.tie, len(self.counts))


def one_bias(X, beta):
    return X if beta == 0 else np.hstack([X, np.full((len(X), 1), beta, X.dtype)])


def two_biases(X, beta):
    return X if beta == 0 else np.hstack([one_bias(X, beta), one_bias(X, -beta)[:, -1:]])


def same(state, p):
    return state


class Learner(NamedTuple):
    """`inside` lays out the features; `fold` turns the weights read off a state into p weights and a bias.

    `sharpness` is how far a step is, relatively, from where its formula jumps or divides by 0.
    """

    step: Callable
    read: Callable = lambda state: state
    inside: Callable = one_bias
    fold: Callable = same
    start: Callable = lambda q, dtype: np.zeros(q, dtype)
    sharpness: Callable = lambda state, x, y, score: 1


def online(learner, X, y, order, beta=0.0, weights=None):
    """The rows in `order`, a round each; one of weight 0 is absent. Mistake: y·(w·x) <= 0 before the step."""
    rows, run = learner.inside(X, beta), Run()
    state = learner.start(rows.shape[1], rows.dtype)
    for i in order:
        c = 1 if weights is None else weights[i]
        if c == 0:
            continue
        w = learner.read(state)
        score = np.sum(w * rows[i])
        run.before.append(learner.fold(w, X.shape[1]))
        run.counts.append(c)
        run.watch(w, rows[i], score, learner.sharpness(state, rows[i], y[i], score))
        t = len(run.counts)
        if y[i] * score <= 0:
            run.mistakes.append((t, int(i)))
        new = learner.step(state, rows[i], y[i], score, t, c)
        if new is not state:
            run.updates.append((t, int(i)))
        state = new
    run.w = learner.fold(learner.read(state), X.shape[1])
    return run


def batch(learner, X, y, select, max_iter, beta=0.0, seed=0):
    """Locate a misclassified row, the first, that of least y·(w·x) or a random one, and step on it; repeat."""
    rows, run = learner.inside(X, beta), Run()
    state = learner.start(rows.shape[1], rows.dtype)
    for t in range(1, max_iter + 1):
        w = learner.read(state)
        scores = rows @ w
        wrong = np.flatnonzero(y * scores <= 0)
        if len(wrong) == 0:
            break
        drawn = np.random.default_rng([seed, t - 1]).choice(wrong)
        i = int({"first": wrong[0], "worst": np.argmin(y * scores), "random": drawn}[select])
        run.before.append(learner.fold(w, X.shape[1]))
        run.counts.append(1)
        run.watch(w, rows[i], scores[i], learner.sharpness(state, rows[i], y[i], scores[i]))
        run.mistakes.append((t, i))
        state = learner.step(state, rows[i], y[i], scores[i], t, 1)
    run.w = learner.fold(learner.read(state), X.shape[1])
    return run


def one_vs_rest(learner, X, codes, order, beta=0.0, weights=None):
    """One binary run for each class, its rows against all the others, over the same order."""
    return [online(learner, X, np.where(codes == k, 1, -1), order, beta, weights) for k in range(codes.max() + 1)]


def pair(learner, X, codes, order, beta=0.0, weights=None):
    """Kesler: the true class against its best rival (ties to the lowest class), as one long row.

    The long row holds x at the true class and -x at the rival; its label is +1, its score the margin.
    """
    rows, run, classes, touched = learner.inside(X, beta), Run(), codes.max() + 1, set()
    states = np.array([learner.start(rows.shape[1], rows.dtype) for _ in range(classes)])
    for i in order:
        c = 1 if weights is None else weights[i]
        if c == 0:
            continue
        W = learner.read(states.ravel()).reshape(states.shape)
        scores = np.array([np.sum(w * rows[i]) for w in W])
        rivals = scores.copy()
        rivals[codes[i]] = -np.inf
        rival = int(np.argmax(rivals))
        margin = scores[codes[i]] - scores[rival]
        run.before.append(np.array([learner.fold(w, X.shape[1]) for w in W]))
        run.counts.append(c)
        long, flat = np.zeros_like(states), states.ravel()
        long[codes[i]], long[rival] = rows[i], -rows[i]
        run.trust *= float(learner.sharpness(flat, long.ravel(), 1, margin))
        for k in range(classes):
            # Classes that no update has touched are equal to the last bit.
            if k != rival and touched & {k, rival}:
                both = np.isin(np.arange(classes), [k, rival])[:, None]
                run.watch(W, both * rows[i], scores[k] - scores[rival])
        t = len(run.counts)
        if margin <= 0:
            run.mistakes.append((t, int(i)))
        new = learner.step(flat, long.ravel(), 1, margin, t, c)
        if new is not flat:
            run.updates.append((t, int(i), int(codes[i]), rival))
            touched |= {int(codes[i]), rival}
        states = new.reshape(states.shape)
    W = learner.read(states.ravel()).reshape(states.shape)
    run.w = np.array([learner.fold(w, X.shape[1]) for w in W])
    return run


def add(w, x, y, score, t, c):
    return w + c * y * x if y * score <= 0 else w


perceptron = Learner(add)


def pa_step(w, x, y, score, t, c, C=None, squared=False):
    xx, loss = x @ x, 1 - y * score
    if loss <= 0 or xx == 0:
        return w
    tau = loss / (xx + 1 / (2 * C) if squared else xx)
    return w + c * (tau if squared or C is None else min(C, tau)) * y * x


def passive_aggressive(C=None, squared=False):
    """PA (C=None): tau = l/||x||². PA-I: min(C, that). PA-II (squared): l/(||x||² + 1/(2C))."""
    return Learner(partial(pa_step, C=C, squared=squared))


def romma_step(w, x, y, score, t, c, aggressive=False):
    xx, ww = x @ x, w @ w
    if xx == 0 or (y * score >= 1 if aggressive else y * score > 0):
        return w
    if ww == 0 or (aggressive and xx * ww <= y * score):
        return c * y * x / xx
    den = xx * ww - score * score
    if den <= 0:
        return w
    return (xx * ww - y * score) / den * w + c * ww * (y - score) / den * x


def romma_sharpness(w, x, y, score):
    """The squared sine between x and w, by which a mistake's step divides; an exact 0 is no doubt."""
    size = (x @ x) * (w @ w)
    den = size - score * score
    return 1 if y * score > 0 or size == 0 or (den == 0 and isinstance(den, Fraction)) else den / size


def romma(aggressive=False):
    return Learner(partial(romma_step, aggressive=aggressive), sharpness=romma_sharpness)


def logistic_step(w, x, y, score, t, c, rate, power, n, variance):
    eps = rate / t**power
    keep = 1 if variance is None else 1 - eps / (n * variance)
    # For labels 0 and 1, y - p is this sign over 1 + e^(y·score).
    return keep * w + c * eps * y / (1 + np.exp(min(y * score, 700.0))) * x


def logistic_sharpness(w, x, y, score, rate):
    """A step multiplies rounding along x with 1 - eps ||x||² p (1 - p), which may be far below -1."""
    return 1 / max(1, rate * (x @ x) / (2 + 2 * np.cosh(min(abs(score), 700.0))) - 1)


def logistic(rate=0.1, power=0.0, n=None, variance=None):
    """w += eps (y - p) x, with a prior N(0, variance) also - eps w/(n·variance)."""
    step = partial(logistic_step, rate=rate, power=power, n=n, variance=variance)
    return Learner(step, sharpness=partial(logistic_sharpness, rate=rate))


def pegasos_step(w, x, y, score, t, c, alpha):
    shrunk = (1 - 1 / t) * w
    return shrunk + c * y / (alpha * t) * x if y * score < 1 else shrunk


def pegasos_sharpness(w, x, y, score):
    return 0 if abs(1 - y * score) < 1e-9 else 1


def pegasos(alpha=1e-4):
    return Learner(partial(pegasos_step, alpha=alpha), sharpness=pegasos_sharpness)


def multiply(w, x, y, score, t, c, eta):
    if y * score > 0:
        return w
    grown = w * np.exp(eta * c * y * x)
    return grown / grown.sum()


def uniform(q, dtype):
    return np.full(q, 1 / q)


def fold_two(w, p):
    return w if len(w) == p else np.append(w[:p], w[p] - w[p + 1])


def multiply_both(w, x, y, score, t, c, eta):
    return multiply(w, np.append(x, -x), y, score, t, c, eta)


def difference(w):
    return w[: len(w) // 2] - w[len(w) // 2 :]


def softmax(a):
    e = np.exp(a - a.max())
    return e / e.sum()


def sinh_weights(s, eta):
    """w+ - w- of the normalised 2q weights, sinh(eta s) / sum of cosh(eta s), scaled against overflow."""
    a, c = eta * s, np.abs(eta * s).max()
    up, down = np.exp(a - c), np.exp(-a - c)
    return np.where(np.abs(a) < 1, 2 * np.exp(-c) * np.sinh(np.clip(a, -1, 1)), up - down) / (up + down).sum()


def p_norm_weights(s, p):
    r = s / (np.abs(s).max() or 1)
    return s * np.abs(r) ** (p - 2) / (np.sum(np.abs(r) ** p) ** ((p - 2) / p) or 1)


def winnow(eta):
    """The normalised multiplicative form; its bias is two features, +beta and -beta."""
    return Learner(partial(multiply, eta=eta), inside=two_biases, fold=fold_two, start=uniform)


def winnow_inside(eta):
    """The additive form: s = sum of y x over the mistakes, w = softmax(eta s)."""
    return Learner(add, lambda s: softmax(eta * s), two_biases, fold_two)


def balanced_doubled(eta):
    """Winnow on [x, -x]: weights w+ and w-, read as their difference so that symmetric ties are exact."""
    return Learner(partial(multiply_both, eta=eta), difference, start=lambda q, dtype: uniform(2 * q, dtype))


def balanced(eta):
    """The same in half as many weights, by sinh(eta s)."""
    return Learner(add, partial(sinh_weights, eta=eta))


def p_norm(p):
    return Learner(add, partial(p_norm_weights, p=p))
