"""Little data for certificates of runs, and the plain replay that their claims are held against."""

import json
import math
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from linsep import LEARNERS, Perceptron
from linsep.certificates.schema import integers
from linsep.solvers.exact.dependencies import exact
from tests.certificates import plain_replay
from tests.exact import fractions
from tests.fits import fit

HELD = {
    "perceptron", "averaged-perceptron", "moving-average", "voted-perceptron", "winnow", "balanced-winnow",
    "p-norm-perceptron", "passive-aggressive", "romma", "kernel-perceptron",
}  # fmt: skip
"""The learners whose theorem a run is held to; in pairs of classes the first four alone."""
OWN = {"winnow": {"eta": 0.1}, "balanced-winnow": {"eta": 0.1}, "naive-bayes": {"kind": "gaussian"}}
TARGET = np.array([0.75, 0.25, 0.0, 0.0])


@cache
def two_classes():
    """Rows of eighths that u >= 0 separates without a bias."""
    rng = np.random.default_rng(3)
    X = rng.integers(-8, 9, (80, 4)) / 8
    f = X @ TARGET
    X, f = X[np.abs(f) >= 0.25][:18], f[np.abs(f) >= 0.25][:18]
    return X, np.where(f > 0, "yes", "no")


@cache
def contradicted():
    """The same, and two of them once more with the other label."""
    X, y = two_classes()
    return np.vstack([X, X[:2]]), np.append(y, np.where(y[:2] == "no", "yes", "no"))


@cache
def three_classes():
    """Rows near a corner each: any of them against the rest is told by one feature and a bias."""
    rng = np.random.default_rng(2)
    codes = np.append([0, 1, 2], rng.integers(0, 3, 9))
    return 0.75 * np.eye(3)[codes] + rng.integers(0, 3, (12, 3)) / 8, np.array(["a", "b", "c"])[codes]


CASES = {"two": (two_classes, "ovr"), "rest": (three_classes, "ovr"), "pairs": (three_classes, "joint")}


def plain(**more):
    """A perceptron without a bias, of which the certificate has but one problem."""
    return Perceptron(**{"fit_intercept": False, "random_state": 0} | more)


def trained(name, case, **more):
    data, multi_class = CASES[case]
    wanted = {"random_state": 0, "log": True, "max_iter": 4, "multi_class": multi_class}
    return fit(LEARNERS[name].make_online(**wanted | OWN.get(name, {}) | more), *data())


def numbers(cert, run):
    """The claims of a run: numbers as floats, truths and texts as they are; without its digests."""
    start = f"{run}: "
    found = {k.removeprefix(start): v for k, v in cert.claims.items() if k.startswith(start)}
    texts = {"no other round was an update", "verdict in the feature space"}
    return {k: v if isinstance(v, bool) or k in texts else float(v) for k, v in found.items() if "sha256" not in k}


def listed(facts, clf, codes):
    """The certificate of a run as one of version 1, which lists the rows of the updates and their steps."""
    facts = json.loads(json.dumps(facts | {"version": 1}))
    del facts["data"]["known"]
    for run in facts["runs"].values():
        rows = plain_replay.listed(run, len(codes), codes, len(facts["data"]["classes"]))
        for key in ("updates", "rivals", "order", "arrive", "confidence"):
            run.pop(key, None)
        run["rows"] = rows
        if run["theorem"] == "passive_aggressive":
            steps = exact(np.abs(clf.log_.amounts))
            run |= {"exponent": steps["exponent"], "steps": integers(steps)}
    rounds = ("rounds", "updates", "rounds decided by rounding", "no other round was an update", "confidence")
    more = (*(f"run: {claim}" for claim in rounds), "run: order, sha256", "run: final sums, sha256")
    facts["claims"] = {k: v for k, v in facts["claims"].items() if k not in more and "sample size is for" not in k}
    return facts | {"risk": {}}


def exact_vector(vector, size):
    """A witness as Fractions."""
    w = np.zeros(size, object) + Fraction()
    values = [int(v, 16) if isinstance(v, str) else v for v in vector["values"]]
    w[vector.get("at", range(size))] = [v * Fraction(2) ** vector["exponent"] for v in values]
    return w


class Signed(NamedTuple):
    """The rows of a problem, with a column for the bias, and those that a log names in order; all Fractions."""

    rows: np.ndarray
    mistaken: np.ndarray


def signed(clf, X, y, positive=None):
    """The signed rows of a run of two classes, or of a class against the rest."""
    beta = clf._bias
    Z = fractions(np.column_stack([X, np.full(len(X), beta)]))
    Z *= np.where(y == (clf.classes_[-1] if positive is None else positive), 1, -1)[:, None]
    log = clf.log_
    chosen = log.rows if positive is None else log.rows[log.classes == clf.classes_.tolist().index(positive)]
    return Signed(Z, Z[chosen])


def paired(clf, X, y):
    """The rows of the multiclass problem: [x, beta] for its own class, its negative for a rival."""
    Z, codes, K = fractions(np.column_stack([X, np.ones(len(X))])), np.searchsorted(clf.classes_, y), len(clf.classes_)

    def row(i, rival):
        z = np.zeros((K, Z.shape[1]), object) + Fraction()
        z[codes[i]], z[rival] = Z[i], -Z[i]
        return z.ravel()

    every = [row(i, r) for i in range(len(X)) for r in range(K) if r != codes[i]]
    assert np.array_equal(clf.log_.classes[:, 0], codes[clf.log_.rows])
    return Signed(
        np.array(every), np.array([row(i, r) for i, (_, r) in zip(clf.log_.rows, clf.log_.classes, strict=True)])
    )


def squares(v):
    return (v**2).sum()


def up(stated, exact):
    """Whether a number is stated rounded up, to nine digits."""
    return exact <= Fraction(str(stated)) * (1 + Fraction(1, 10**15)) <= exact * (1 + Fraction(2, 10**8))


def agrees_with_a_replay(cert, run, Z):
    """Both lemmas at every mistake, the bound, the dual point and the regret, in Fractions."""
    claims, facts = cert.claims, cert.facts["runs"][run]
    known = cert.facts["problems"][facts["problem"]]["w"]
    sums, k = np.cumsum(Z.mistaken, axis=0), len(Z.mistaken)
    R2 = max(map(squares, Z.rows))
    assert claims[f"{run}: mistakes"] == k
    ratio = max(squares(s) / j / R2 for j, s in enumerate(sums, 1))
    assert up(claims[f"{run}: lemma 2, ratio at most"], ratio)
    assert up(Fraction(claims[f"{run}: margin at most"]) ** 2, squares(sums[-1]) / k**2)
    u = exact_vector(known[facts["witness"]], Z.rows.shape[1])
    gamma = min(Z.rows @ u)
    assert (f"{run}: mistakes at most" in claims) == (gamma > 0)
    if gamma > 0:
        lemma = min(s @ u / (j * gamma) for j, s in enumerate(sums, 1))
        stated = Fraction(claims[f"{run}: lemma 1, ratio at least"])
        assert lemma * (1 - Fraction(2, 10**8)) <= stated <= lemma
        assert stated >= 1 - Fraction(1, 10**8)
        assert up(claims[f"{run}: mistakes at most"], R2 * squares(u) / gamma**2)
        assert k <= R2 * squares(u) / gamma**2 * max(ratio, 1)
    w = exact_vector(known[f"delta {facts['passes']}"], Z.rows.shape[1])
    hinge = sum(max(1 - z @ w, 0) for z in Z.mistaken)
    length = math.sqrt(R2 * squares(w))
    regret = (length + math.sqrt(length**2 + 4 * hinge)) ** 2 / 4
    assert float(claims[f"{run}: mistakes at most, by the regret"]) == pytest.approx(regret, rel=1e-8)
