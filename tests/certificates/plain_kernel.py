"""A reference for runs of kernel perceptrons: monomials written out in fractions, and every round played on them."""

import hashlib
import math
from fractions import Fraction
from itertools import product

import numpy as np

from tests.certificates import plain, plain_replay


def feature_space(run, p, beta):
    """The monomials of degree up to the kernel's, as exponents, and the factor of each in K(x, z)."""
    degree, gamma, coef0 = run["degree"], Fraction(run["gamma"]), Fraction(run["coef0"])
    found = []
    for powers in product(range(degree + 1), repeat=p):
        rest = degree - sum(powers)
        if rest >= 0:
            count = math.factorial(degree) // math.prod(map(math.factorial, (*powers, rest)))
            found.append((powers, count * gamma ** sum(powers) * coef0**rest))
    return [*found, (None, Fraction(beta) ** 2)]


def times(a, b, factors):
    """The inner product of feature vectors."""
    return sum((x * y * of for x, y, of in zip(a, b, factors, strict=True)), Fraction(0))


def weighed(witness, F):
    """The sum of rows of the feature space, weighed."""
    values = [int(v, 16) if isinstance(v, str) else v for v in witness["values"]]
    w = [Fraction(0)] * len(F[0])
    for j, a in zip(witness["at"], values, strict=True):
        w = [old + a * new for old, new in zip(w, F[j], strict=True)]
    return w


def claims(run, problem, X, y):
    """What a run proves in the feature space of its kernel."""
    rows, n = plain.dense(X), len(y)
    space = feature_space(run, len(rows[0]), problem["bias"])
    factors = [of for _, of in space]
    plain.require(all(of >= 0 for of in factors), "the kernel is an inner product")
    F = []
    for x, label in zip(rows, y, strict=True):
        sign = 1 if label == problem["positive"] else -1
        F.append(
            [sign * math.prod(v**k for v, k in zip(x, powers or [0] * len(x), strict=True)) for powers, _ in space]
        )
    order, listed = plain_replay.rows_of_rounds(run, n), set(plain_replay.rounds_of(run))
    plain.require(len(listed) == len(run["updates"]) and max(listed) < len(order), "updates are rounds")
    v, counts, made, rounded, missed, worst, norm2 = [Fraction(0)] * len(space), [0] * n, [], 0, 0, Fraction(0), 0
    R2 = max(times(f, f, factors) for f in F)
    for t, i in enumerate(order):
        score = times(v, F[i], factors)
        if (score <= 0) != (t in listed):
            size = sum(c * abs(times(f, F[i], factors)) for c, f in zip(counts, F, strict=True) if c)
            plain.require(abs(score) * 10**9 < size, "a round is an update or not")
            rounded, missed = rounded + 1, missed + (t not in listed)
        if t in listed:
            v = [a + b for a, b in zip(v, F[i], strict=True)]
            counts[i] += 1
            made.append(i)
            norm2 = times(v, v, factors)
            worst = max(worst, norm2 / (len(made) * R2))
    empty = [not any(t in listed for t in range(e * n, (e + 1) * n)) for e in range(run["passes"])]
    last = empty.index(True) + 1 if True in empty else run["passes"]
    found = {"mistakes": len(made), "verdict in the feature space": "open", "K(x, x) at most": R2}
    found |= {"lemma 2, ratio at most": worst, "margin at most": plain.real(norm2).sqrt() / len(made)}
    found |= {"rounds": len(order), "updates": len(listed), "rounds decided by rounding": rounded}
    found["no other round was an update"] = f"but {missed} whose scores are next to 0" if missed else True
    found["order, sha256"] = hashlib.sha256(np.array(order[: last * n], "<i8").tobytes()).hexdigest()
    found["final sums, sha256"] = hashlib.sha256(np.array(counts, "<i8").tobytes()).hexdigest()
    if run["cancelling"] is not None:
        q = weighed(run["cancelling"], F)
        values = [int(a, 16) if isinstance(a, str) else a for a in run["cancelling"]["values"]]
        plain.require(min(values, default=0) > 0, "the factors are above 0")
        plain.require(times(q, q, factors) == 0, "the rows cancel")
        found["verdict in the feature space"] = "not separable"
    elif run["separator"] is not None:
        u = weighed(run["separator"], F)
        scores, uu = [times(u, f, factors) for f in F], times(u, u, factors)
        plain.require(min(scores) > 0, "the weights separate")
        ratios, total = [], Fraction(0)
        for j, i in enumerate(made, 1):
            total += scores[i]
            ratios.append(total / (j * min(scores)))
        found |= {"verdict in the feature space": "separable", "lemma 1, ratio at least": min(ratios)}
        found["margin at least"] = plain.real(min(scores)) / plain.real(uu).sqrt()
        found |= {"mistakes at most": R2 * uu / min(scores) ** 2, "mistakes within the bound": True}
    return {k: plain.real(v) if isinstance(v, Fraction) else v for k, v in found.items()}
