"""The voted perceptron that stores every hypothesis, and the dual run of any rule: short, slow and independent.

A `Machine` is what a run leaves: every hypothesis v_k, and which of them each round used. Two classes are one machine,
one-vs-rest a machine a class over the same rounds, pairs one machine whose hypotheses are tables (class, weight).
Readouts see a machine through `margins`, v_k.x of every hypothesis and row: `cross` holds the rows to answer as
columns, or K(training rows, rows to answer) where the hypotheses are dual weights. Sums of integers stay integers.
"""

from inspect import signature
from typing import NamedTuple

import numpy as np

TEN = np.array([[1, 0], [2, 1], [-1, 1], [1, -3], [0, 1], [5, -1], [1, 1], [3, 1], [-1, 0], [1, 1]], float)
TEN_SIGNS = np.array([1, 1, -1, -1, 1, -1, 1, -1, 1, 1])
"""Ten rows on which the perceptron errs at 1, 4, 8 and 10, as in the lecture's table."""


class TrainingState(NamedTuple):
    """Every hypothesis, (k + 1, weights) or (k + 1, classes, weights); the one that each round used; its weight."""

    v: np.ndarray
    used: np.ndarray
    counts: np.ndarray
    mistakes: list
    updates: list

    @property
    def c(self):
        """The survival counts: rounds that each hypothesis was used for, the one it failed on included."""
        c = np.zeros(len(self.v), self.counts.dtype)
        np.add.at(c, self.used, self.counts)
        return c


def with_bias(X, beta):
    return X if beta == 0 else np.hstack([X, np.full((len(X), 1), beta, X.dtype)])


def walk(start, order, weights, learn):
    """`learn(v, t, i, c)` returns whether round t on row i of weight c is a mistake, and the next hypothesis or v."""
    v, used, counts, mistakes, updates = [start], [], [], [], []
    for i in np.asarray(order).tolist():
        c = 1 if weights is None else weights[i]
        if c == 0:
            continue
        used.append(len(v) - 1)
        counts.append(c)
        wrong, new = learn(v[-1], len(used), i, c)
        if wrong:
            mistakes.append((len(used), i))
        if new is not v[-1]:
            updates.append((len(used), i))
            v.append(new)
    return TrainingState(np.array(v), np.array(used, int), np.array(counts), mistakes, updates)


def voted(rows, y, order, weights=None):
    """The perceptron, y in -1 and +1."""

    def learn(v, t, i, c):
        wrong = y[i] * (v @ rows[i]) <= 0
        return wrong, v + c * y[i] * rows[i] if wrong else v

    return walk(0 * rows[0], order, weights, learn)


def best_rival(scores, true):
    return max((k for k in range(len(scores)) if k != true), key=lambda k: scores[k])


def voted_pairs(rows, codes, order, weights=None):
    """The true class against its best rival (ties to the lower class)."""

    def learn(table, t, i, c):
        scores, true = table @ rows[i], codes[i]
        rival = best_rival(scores, true)
        if scores[true] > scores[rival]:
            return False, table
        new = table.copy()
        new[true] += c * rows[i]
        new[rival] -= c * rows[i]
        return True, new

    return walk(np.zeros((max(codes) + 1, rows.shape[1]), rows.dtype), order, weights, learn)


def asked(rule, score, y, xx, ww, t):
    """(keep, amount) of a rule of either form."""
    shrinks = len(signature(rule.step).parameters) == 5
    return rule.step(score, y, xx, ww, float(t)) if shrinks else (1.0, rule.step(score, y, xx))


def dual(gram, y, order, rule, weights=None):
    """Any rule on dual weights a: w is the sum of a_j phi(x_j), and all that is known of phi is K."""

    def learn(a, t, i, c):
        score, ww = a @ gram[:, i], a @ gram @ a
        keep, amount = asked(rule, score, float(y[i]), gram[i, i], ww, t)
        new = keep * a
        new[i] += c * amount
        return y[i] * score <= 0, a if keep == 1 and amount == 0 else new

    return walk(np.zeros(len(gram)), order, weights, learn)


def dual_pairs(gram, codes, order, rule, weights=None):
    """Any rule on the long row that holds phi(x) at the true class and -phi(x) at its best rival."""

    def learn(a, t, i, c):
        scores, true = a @ gram[:, i], codes[i]
        rival = best_rival(scores, true)
        margin, ww = scores[true] - scores[rival], sum(row @ gram @ row for row in a)
        keep, amount = asked(rule, margin, 1.0, 2 * gram[i, i], ww, t)
        new = keep * a
        new[true, i] += c * amount
        new[rival, i] -= c * amount
        return margin <= 0, a if keep == 1 and amount == 0 else new

    return walk(np.zeros((max(codes) + 1, len(gram))), order, weights, learn)


def trained(run, rows, codes, order, *rule, pair=False, weights=None):
    """The machines of `voted` or `dual` (and its rule) for any number of classes; pairs have a `run` of their own."""
    if pair:
        return [run(rows, codes, order, *rule, weights=weights)]
    classes = [1] if max(codes) == 1 else range(max(codes) + 1)
    return [run(rows, np.where(codes == k, 1, -1), order, *rule, weights=weights) for k in classes]


def latest(machines, most):
    """What is left of machines that keep `most` distinct rows at most: the rounds since all older updates."""
    rows, cut = set(), 0
    for t, i in sorted({update for state in machines for update in state.updates}, reverse=True):
        rows.add(i)
        if len(rows) > most:
            cut = t
            break
    return [after(state, cut) for state in machines]


def after(state, cut):
    first = state.used[cut]
    mistakes, updates = ([(t, i) for t, i in log if t > cut] for log in (state.mistakes, state.updates))
    return TrainingState(state.v[first:], state.used[cut:] - first, state.counts[cut:], mistakes, updates)


def vote(c, margins):
    return np.tensordot(c, np.where(margins > 0, 1, -1), 1) / c.sum()


def average(c, margins):
    return np.tensordot(c, margins, 1) / c.sum()


def last(c, margins):
    return margins[-1]


def longest(c, margins):
    return margins[np.argmax(c)]


LINEAR = {"average": average, "last": last, "longest": longest}


def norms(state, gram=None):
    """||v_k||; of dual weights, by the kernel's matrix; of a table, over all classes."""
    v = state.v.reshape(len(state.v), -1, state.v.shape[-1]).astype(float)
    return np.sqrt(np.sum((v if gram is None else v @ gram) * v, axis=(1, 2)))


def margins(state, cross, normalize=False, gram=None):
    """v_k.x, (k + 1, rows) or (k + 1, classes, rows), by request divided by ||v_k||, where that is not 0."""
    products = state.v @ cross
    if not normalize:
        return products
    size = norms(state, gram)
    return products / np.where(size == 0, 1, size).reshape(-1, *[1] * (products.ndim - 1))


def tables(machines, cross, normalize=False, gram=None):
    """Yield (weight, (columns, rows)) of each round: what all classes together would have answered in it."""
    all_margins = [margins(state, cross, normalize, gram) for state in machines]
    for t, weight in enumerate(machines[0].counts):
        yield weight, np.vstack([m[state.used[t]] for state, m in zip(machines, all_margins, strict=True)])


def plurality(machines, cross):
    """The share of the rounds in which each class had the highest score (ties to the lower), (rows, classes)."""
    total = 0
    for weight, scores in tables(machines, cross):
        scores = np.vstack([0 * scores, scores]) if len(scores) == 1 else scores
        total = total + weight * (np.argmax(scores, axis=0)[:, None] == np.arange(len(scores)))
    return total / machines[0].counts.sum()


def answers(machines, cross, readout, normalize=False, gram=None):
    """The decision function: (rows,) for two classes, else (rows, classes)."""
    pair = machines[0].v.ndim == 3
    if readout == "plurality" or (pair and readout == "vote"):
        columns = plurality(machines, cross).T
        return of_two(columns) if len(columns) == 2 else columns.T
    read = vote if readout == "vote" else LINEAR[readout]
    columns = np.vstack([read(m.c, margins(m, cross, normalize, gram)) for m in machines])
    return of_two(columns) if pair and len(columns) == 2 else columns[0] if len(columns) == 1 else columns.T


def of_two(columns):
    return columns[1] - columns[0]


def drawable(machines, cross, normalize=False, gram=None):
    """All that "random" may answer, round by round, (rounds, rows, columns), and each round's probability."""
    weights, rounds = zip(*tables(machines, cross, normalize, gram), strict=True)
    of_rounds = np.array([columns.T for columns in rounds], float)
    if machines[0].v.ndim == 3 and of_rounds.shape[2] == 2:
        of_rounds = of_rounds[:, :, 1:] - of_rounds[:, :, :1]
    return of_rounds, np.array(weights) / sum(weights)


def labels(scores):
    return (scores > 0).astype(int) if scores.ndim == 1 else np.argmax(scores, axis=1)
