"""A reference for replayed runs: every round played in fractions, row by row."""

import hashlib
from fractions import Fraction
from itertools import accumulate

import numpy as np

from tests.certificates import plain


def rows_of_rounds(run, n):
    """The row of each round, from the first."""
    rows, order = [], run["order"]
    for epoch in range(run["passes"]):
        if order == "rows" or epoch >= order["epochs"]:
            rows += range(n)
            continue
        draw = np.random.default_rng([order["seed"], 0 if order["shuffle"] == "once" else epoch])
        if order["shuffle"] == "blocks":
            starts, within = draw.permutation(-(-n // 64)), draw.permutation(64)
            rows += [int(64 * a + b) for a in starts for b in within if 64 * a + b < n]
        else:
            rows += draw.permutation(n).tolist()
    return rows[: run["rounds"]]


def rounds_of(run):
    """The numbers of the rounds with an update, from 0."""
    return [t - 1 for t in accumulate(run["updates"])]


def listed(run, n, codes=None, classes=2):
    """The signed rows of the updates; of pairs, `codes` are those of the rows."""
    at, rows = rounds_of(run), rows_of_rounds(run, n)
    if "rivals" not in run:
        return [rows[t] for t in at]
    return [
        rows[t] * (classes - 1) + r - (r > codes[rows[t]]) for t, r in zip(at, run["rivals"], strict=True)
    ]  # fmt: skip


def played(run, Z, n, weigh, due):
    """Play all rounds of a run on signed rows: (the row of each update, its score, its step; what else is claimed).

    `weigh(s)` are the weights that sums mean, and `due(score, z)` says whether the rule makes an update, and its step.
    """
    rows, at, rivals = rows_of_rounds(run, n), {t: k for k, t in enumerate(rounds_of(run))}, len(Z) // n
    s, found, missed, rounded = [Fraction(0)] * len(Z[0]), [], 0, 0
    w = weigh(s)
    for t, i in enumerate(rows):
        of_row = range(i * rivals, (i + 1) * rivals)
        of = list if w is s else lambda z: [plain.real(v) for v in z]
        signed = [[a * b for a, b in zip(w, of(Z[j]), strict=True)] for j in of_row]
        worst = min(range(rivals), key=lambda k: sum(signed[k]))
        if t in at and "rivals" in run:
            chosen = listed(run, n, run["codes"], rivals + 1)[at[t]] - i * rivals
            plain.require(sum(signed[chosen]) == sum(signed[worst]), "the rival is the best")
            worst = chosen
        score, z = sum(signed[worst]), Z[i * rivals + worst]
        is_due, step = due(score, z)
        if is_due != (t in at):
            size = sum(map(abs, signed[worst])) + 1 * ("C" in run)
            beyond = score - 1 if "C" in run else score
            plain.require(abs(beyond) * 10**9 < size, "a round is an update or not")
            rounded, missed = rounded + 1, missed + (t not in at)
        step = step if t in at else 0
        found.append((i * rivals + worst, score, step, t in at))
        if step:
            s = [a + step * b for a, b in zip(s, z, strict=True)]
            w = weigh(s)
    empty = [not any(t in at for t in range(e * n, (e + 1) * n)) for e in range(run["passes"])]
    zero = "C" in run and any(not any(z) for z in Z)
    last = run["passes"] if True not in empty or zero else empty.index(True) + 1
    more = {"rounds": len(rows), "updates": len(at), "rounds decided by rounding": rounded}
    more["no other round was an update"] = f"but {missed} whose scores are next to 0" if missed else True
    more["order, sha256"] = hashlib.sha256(np.array(rows[: last * n], "<i8").tobytes()).hexdigest()
    return found, more


def sums(found, Z, columns, classes):
    """The SHA-256 of the sums in floats, each update added after the other; Z are floats."""
    s = np.zeros(columns * classes)
    for row, _, step, _ in found:
        if step:
            s = s + np.array([float(v) for v in Z[row]])
    return hashlib.sha256(s.reshape(classes, columns).T.astype("<f8").tobytes(order="C")).hexdigest()
