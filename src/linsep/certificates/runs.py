"""Runs as a certificate holds them: the updates in order, and the weights against which they are measured."""

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from linsep.certificates.schema import LARGEST_P
from linsep.certificates.witnesses import LOSS, Search, Witnesses, read_vector
from linsep.engine.arrays import Array
from linsep.solvers.exact.dependencies import exact, short
from linsep.solvers.margin.soft import soft_margin
from linsep.theory.bounds import best_rate, fall

LONGEST = 50_000
"""The most by which the logarithm of a weight of Winnow may move in a run that is checked."""


class Theorem(NamedTuple):
    """The theorem that a run is held to."""

    name: Literal["perceptron", "winnow", "passive_aggressive"]
    p: float = 2.0
    """The perceptron's norm."""
    rate: float = 0.0
    """Winnow's eta."""
    norm: Literal["simplex", "l1"] = "simplex"
    """Winnow's weights: none below 0, or of any sign."""
    C: float | None = None
    """The aggressiveness of PA-I and PA-II; None for PA."""
    first: bool = False
    """If True, the rule is PA-I."""


class Run(NamedTuple):
    """The updates of a run on signed rows."""

    rows: Array
    """The signed row of each update."""
    steps: Array | None
    """The step of each update; None if every step is 1."""
    passes: int
    """The most times that a row was seen."""
    rounds: int
    """The rounds, those without an update included."""
    mixes: list[list[list[int]]] | None = None
    """Where shards were mixed, the updates of each and its share, mix by mix."""

    def weights(self) -> Array:
        """Return the weight of each update in the sum of all.

        Examples
        --------
        >>> Run(np.array([4, 0, 2]), None, 1, 9, [[[1, 1], [2, 3]]]).weights()
        array([0.25, 0.75, 0.75])
        """
        if self.mixes is None:
            return np.ones(len(self.rows))
        counts, shares, totals = np.array([(*s, sum(q for _, q in mix)) for mix in self.mixes for s in mix]).T
        return np.repeat(shares / totals, counts)


def witnessed(theorem: Theorem, run: Run, search: Search, found: Witnesses, problem: str) -> dict[str, Any] | str:
    """Return a run as the checker reads it, or why its theorem says nothing; PA's witness is added to those found."""
    facts: dict[str, Any] = {"theorem": theorem.name, "problem": problem}
    if theorem.name == "winnow":
        names = ["Winnow's margin"] if theorem.norm == "simplex" else ["balanced Winnow's margin", "margin"]
        names = [name for name in names if name in found["w"]]
        if not names:
            sign = "u >= 0" if theorem.norm == "simplex" else "u"
            return f"no guarantee: no {sign} was found that separates the rows, and without one Winnow has no bound"
        margin, entries = _l1_margin(search, found, names[0])
        if fall(margin, entries, theorem.rate) <= 0:
            return (
                f"no guarantee: at the rate {theorem.rate:.3g} a mistake may raise the potential; for the margin "
                f"{margin:.3g} of the data the best rate is {best_rate(margin, entries):.3g}"
            )
        facts |= {"norm": theorem.norm, "rate": theorem.rate, "witness": names[0]}
        if theorem.rate * entries * len(run.rows) > LONGEST:
            return "its weights span too many orders of magnitude for the exact check"
    elif theorem.name == "perceptron" and theorem.p > LARGEST_P:
        return f"p = {theorem.p:g} is beyond {LARGEST_P}, the largest that is checked"
    elif theorem.name == "perceptron":
        facts |= {"p": theorem.p, "witness": _best_witness(theorem.p, run, search, found)}
    else:
        if theorem.C is None and "margin" not in found["w"]:
            return "no guarantee: PA has a bound only for rows that can be separated; PA-I and PA-II have one for all"
        found["w"]["hinge"] = _hinge_witness(theorem, run, search, found)
        steps = exact(np.ones(len(run.rows)) if run.steps is None else run.steps)
        values = [int(v, 16) if isinstance(v, str) else v for v in steps["values"]]
        facts |= {"C": theorem.C, "first": theorem.first, "exponent": steps["exponent"], "steps": values}
    facts |= {"passes": run.passes, "rounds": run.rounds, "rows": run.rows.tolist()}
    return facts if run.mixes is None else facts | {"mixes": run.mixes}


def _l1_margin(search: Search, found: Witnesses, name: str) -> tuple[float, float]:
    """Return the margin of weights of L1 norm 1, and the largest |entry|."""
    u = read_vector(found["w"][name], search)
    entries = max(float(np.abs(search.data.values).max(initial=0.0)), abs(search.data.bias))
    return float(search.scores(u).min() / np.abs(u).sum()), entries


def _best_witness(p: float, run: Run, search: Search, found: Witnesses) -> str:
    """Return the weights of the least bound: those of the least ||u||_q for their margin."""
    q = p / (p - 1)

    def bound(name: str) -> float:
        u = read_vector(found["w"][name], search)
        least = float(search.scores(u).min())
        return float(np.linalg.norm(u, ord=q)) / least if least > 0 else math.inf

    return min(found["w"], key=lambda name: (bound(name), name != f"delta {run.passes}"))


def _hinge_witness(theorem: Theorem, run: Run, search: Search, found: Witnesses) -> dict[str, Any]:
    """Return the u of about the least ||u||² + 2 C T sum of its losses; for PA a separator of margin 1."""
    if theorem.C is None:
        u = read_vector(found["w"]["margin"], search)
        u *= (1 + LOSS / 4) / search.scores(u).min()
        return short(u, lambda w: search.scores(w).min() >= 1 + 1e-9)
    power = 1 if theorem.first else 2
    C = theorem.C * run.passes
    u = soft_margin(
        search.data, search.signs, np.zeros(0), C=C, loss="l1" if theorem.first else "l2", jobs=search.jobs
    ).weights

    def cost(w: Array) -> float:
        return float(w @ w + 2 * C * (np.maximum(1.0 - search.scores(w), 0.0) ** power).sum())

    return short(u, lambda w: cost(w) <= (1 + LOSS / 2) * cost(u))
