"""A reference for replayed runs: every round played in fractions, row by row."""

import hashlib
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np

from tests.certificates import plain


def rows_of_rounds(run, n):
    """The row of each round, from the first."""
    rows, order = [], run["order"]
    if isinstance(order, list):
        return order
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
        is_due, step, *bar = due(score, z)
        if is_due != (t in at):
            bar = bar[0] if bar else 1 * ("C" in run)
            size, beyond = sum(map(abs, signed[worst])) + bar, score - bar
            plain.require(abs(beyond) * 10**9 < size, "a round is an update or not")
            rounded, missed = rounded + 1, missed + (t not in at)
        step = step if t in at else 0
        found.append((i * rivals + worst, score, step, t in at))
        if step:
            s = [a * getattr(due, "keep", 1) + step * b for a, b in zip(s, z, strict=True)]
            w = weigh(s)
    empty = [not any(t in at for t in range(e * n, (e + 1) * n)) for e in range(run["passes"])]
    zero = run["theorem"] in ("passive_aggressive", "romma") and any(not any(z) for z in Z)
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


def mixed(run, Z, n, weigh, due):
    """Play all rounds of a run whose shards were mixed: what `played` returns, and the mixes as version 1 states them.

    `due(score, z)` says whether the rule makes an update, and its step. Rounds of rows that change nothing count, too.
    """
    order, listed, classes = rows_of_rounds(run, n), set(rounds_of(run)), len(Z) // n
    counts = [count for count, epochs in run["shards"] for _ in range(epochs)]
    s, found, mixes, missed, rounded, t, last = [Fraction(0)] * len(Z[0]), [], [], 0, 0, 0, 0
    chosen = dict(zip(rounds_of(run), run.get("rivals", []), strict=False))
    for epoch in range(run["passes"]):
        rows = min(n, run["rounds"] - epoch * n)
        count = max(1, min((counts + [1] * run["passes"])[epoch], rows))
        cuts, ends, shares, made, begun = [rows * k // count for k in range(count + 1)], [], [], [], t
        for lo, hi in pairwise(cuts):
            own, events, mistakes = s, 0, 0
            for i in order[begun + lo : begun + hi]:
                w = weigh(own)
                values = list if w is own else lambda z: [plain.real(v) for v in z]
                terms = [
                    [a * b for a, b in zip(w, values(Z[j]), strict=True)] for j in range(i * classes, (i + 1) * classes)
                ]
                worst = min(range(classes), key=lambda k: sum(terms[k]))
                if t in chosen:
                    rival = chosen[t] - (chosen[t] > run["codes"][i])
                    plain.require(sum(terms[rival]) == sum(terms[worst]), "the rival is the best")
                    worst = rival
                score, z = sum(terms[worst]), Z[i * classes + worst]
                is_due, step = due(score, z)
                if is_due != (t in listed):
                    beyond = score - 1 if "C" in run else score
                    plain.require(abs(beyond) * 10**9 < sum(map(abs, terms[worst])) + ("C" in run), "an update or not")
                    rounded, missed = rounded + 1, missed + (t not in listed)
                step = step if t in listed else 0
                if t in listed or ("C" in run and score < 1):
                    found.append((i * classes + worst, score, step, t in listed))
                    events += 1
                mistakes += score <= 0 if "C" in run else t in listed
                own = [a + step * b for a, b in zip(own, z, strict=True)]
                t += 1
            ends.append(own)
            made.append(events)
            shares.append({"uniform": 1, "rows": hi - lo, "mistakes": mistakes}[run["mixing"]])
        shares = shares if sum(shares) and count > 1 else [1] * count
        total = sum(shares)
        s = [
            sum((Fraction(q, total) * end[j] for q, end in zip(shares, ends, strict=True)), Fraction(0))
            for j in range(len(s))
        ]
        last = last or (0 if any(begun <= k < t for k in listed) or any(made) else t)
        if sum(made):
            mixes.append([list(pair) for pair in zip(made, shares, strict=True)])
    more = {"rounds": len(order), "updates": len(listed), "rounds decided by rounding": rounded}
    more["no other round was an update"] = f"but {missed} whose scores are next to 0" if missed else True
    more["order, sha256"] = hashlib.sha256(np.array(order[: last or t], "<i8").tobytes()).hexdigest()
    return found, more, mixes
