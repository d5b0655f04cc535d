"""Certify data: search witnesses for every problem and run the checker on them."""

import math
import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from linsep.certificates import checker
from linsep.certificates.certificate import Certificate, risks_of
from linsep.certificates.mixed_checker import checker_of
from linsep.certificates.schema import FORMAT, MOST_PAIRS, VERSION, named, plain
from linsep.certificates.witnesses import Found, Search, Watch, best_bias, find, pair_rows
from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Csr, Dense
from linsep.validation.inputs import canonical, refuse_bad_entries, without_duplicates
from linsep.validation.labels import clean, encode

LARGEST_BIAS = 1e154
"""The square of a larger bias is beyond float64."""
WORTH = 0.985
"""A best bias that makes the root of the bound no smaller than by this factor is not worth a problem of its own."""


class LabelledRows(NamedTuple):
    """The rows that are certified, with the codes of their labels."""

    data: Dense | Csr
    codes: Array
    classes: list[str]

    def signs(self, name: str) -> Array:
        """Return +1 for the rows of a class, -1 for all others."""
        return np.where(self.codes == self.classes.index(name), 1.0, -1.0)


class Plan(NamedTuple):
    """Parameters of the search for witnesses, and its deadline."""

    passes: int = 10
    epsilon: float = 0.05
    delta: float = 0.05
    deadline: float | None = None
    watch: Watch | None = None
    jobs: int = 1


def certify(
    X: Any, y: Any, *, bias: float = 1.0, passes: int = 10, epsilon: float = 0.05, delta: float = 0.05,
    time_limit: float | None = None, watch: Watch | None = None, n_jobs: int = 1,
) -> Certificate:  # fmt: skip
    """Prove what can be proved of data: separable or not, margins, and bounds on the mistakes in any order of the rows.

    With R = max ||x||, X = max |entry|, gamma and delta the margins of unit weights in the L2 and the L1 norm, and N
    the number of weights, no order of the rows, however often repeated, makes

        a perceptron err more than (R/gamma)² times,     (balanced) Winnow at its best rate more than ln N / L* times,

    L* = ½[(1+r) ln(1+r) + (1-r) ln(1-r)], r = delta/X; and in T passes over any data, separable or not, a perceptron
    errs at most (R ||w|| + sqrt(T) ||(1 - Yw)+||)² times, whatever w is: the least such bound is stated, and how much
    less another w could prove. Margins are bracketed from both sides. Two classes are looked at with the bias given,
    with the best one, and without; more, one against the rest and in pairs, with the bias given.

    Parameters
    ----------
    X : array, sparse matrix or dataframe, (rows, features)
        The rows.
    y : array, (rows,)
        Their labels, of any type.
    bias : float, default=1.0
        The constant feature's value, beta; 0 for none.
    passes : int, default=10
        T: bounds are stated for one pass and for so many.
    epsilon, delta : float, default=0.05
        The sample size is that from which, with probability 1 - delta, any halfspace without errors on the sample has
        an error rate below epsilon.
    time_limit : float, optional
        Seconds for the search; what is found until then is certified. Checking it takes a little longer.
    watch : callable, optional
        Called with a name and the bracket (lower, upper) of what is sought, each time it has become narrower.
    n_jobs : int, default=1
        Threads.

    Returns
    -------
    Certificate
        Its claims were computed by the checker, in exact arithmetic.

    Examples
    --------
    >>> from linsep import certify
    >>> cert = certify([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1])
    >>> cert.verdict
    'separable'
    >>> cert.claims["bias 1: VC dimension"]
    3
    """
    refuse_bad_plan(bias, passes, epsilon, delta, time_limit)
    rows = rows_from(X, y, bias)
    deadline = None if time_limit is None else time.monotonic() + time_limit
    plan = Plan(passes, epsilon, delta, deadline, watch, n_jobs)
    problems, remarks = problems_of(rows, plan)
    return made(rows, problems, {}, remarks, {})


def refuse_bad_plan(bias: float, passes: int, epsilon: float, delta: float, time_limit: float | None) -> None:
    """Raise a ValueError that names the argument that makes no sense."""
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if not 0 < value < 1:
            raise ValueError(f"{name}={value} is no probability: it must lie between 0 and 1")
    if not 0 <= bias < np.inf:
        raise ValueError(f"bias={bias} is no value for a constant feature: it must be 0 (none) or more")
    if bias > LARGEST_BIAS:
        raise ValueError(f"bias={bias:g} is too large, as its square is beyond float64: use at most {LARGEST_BIAS:g}")
    if int(passes) != passes or passes < 1:
        raise ValueError(f"passes={passes} is no number of passes: it must be 1 or more")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit={time_limit} leaves no time: it must be above 0 seconds, or None")


def rows_from(X: Any, y: Any, bias: float) -> LabelledRows:
    """Return rows and labels, checked."""
    refuse_rounding(X)
    data = canonical(BaseEstimator(), X, bias=float(bias), reset=True)
    refuse_bad_entries(data)
    data = summed(data)
    classes, codes = encode(clean(y, data.n_rows))
    return LabelledRows(data, codes, names_of(classes))


def names_of(classes: Array) -> list[str]:
    """Return the names by which a certificate calls classes; 1.0 and 1 are one, and so are 0.0 and -0.0.

    Examples
    --------
    >>> names_of(np.array([-1.0, 1.0]))
    ['-1', '1']
    """
    return [str(c + 0.0).removesuffix(".0") if isinstance(c, float) else str(c) for c in classes.tolist()]


def summed(data: Dense | Csr) -> Dense | Csr:
    """Return data in which no row stores a column twice; such are added up as the checker does it, in 64 bits."""
    once = without_duplicates(data)
    return once if once is data else without_duplicates(data._replace(values=frozen(data.values.astype(np.float64))))


def refuse_rounding(X: Any) -> None:
    """Raise a ValueError where numbers are no floats: what is proved would be about others."""
    for part in [X[name] for name in X.columns] if hasattr(X, "columns") else [X]:
        _refuse_rounding(getattr(part, "data", None) if sp.issparse(part) else np.asarray(part))


def _refuse_rounding(values: Any) -> None:
    """Look at one array."""
    if values.dtype.kind not in "iuf" or values.dtype.itemsize < 8 or values.dtype == np.float64:
        return
    with np.errstate(invalid="ignore"):
        rounded = np.argwhere(values.astype(np.float64).astype(values.dtype) != values)
    if len(rounded):
        value = values[tuple(rounded[0])]
        raise ValueError(f"X holds {value}, which no float of 64 bits is: a certificate would be of other rows")


def problems_of(rows: LabelledRows, plan: Plan) -> tuple[dict[str, Any], list[str]]:
    """Return all problems of some rows with their witnesses, and what was not sought."""
    found = binary_problems(rows, plan) if len(rows.classes) <= 2 else all_problems(rows, plan)
    if plan.watch is not None:
        plan.watch("exact check", math.nan, math.nan)
    return found


def binary_problems(rows: LabelledRows, plan: Plan) -> tuple[dict[str, Any], list[str]]:
    """Return the problems of two classes: with the bias given, with the best one, and without."""
    name, bias = rows.classes[-1], rows.data.bias
    search = _search(rows.data, rows.signs(name), plan, 0.4)
    found = find(search)
    problems = {named(bias): _problem(name, bias, plan, found)}
    if not bias:
        return problems, []
    plain_one = find(_search(rows.data._replace(bias=0.0), search.signs, plan, 0.5), start=found)
    problems[named(0.0)] = _problem(name, 0.0, plan, plain_one)
    if "margin" not in found.witnesses["w"]:
        found.witnesses["w"]["no bias"] = _without_bias(plain_one, rows.data.n_features)
    best, ratio = best_bias(search, found.witnesses)
    lengths = [(f.length if found.length < math.inf else f.once.upper) for f in (found, plain_one)]
    if not best or ratio * lengths[0] > WORTH * min(lengths):
        sought = found.once.converged and plain_one.once.converged
        value = f"; the best is about {best:.3g}" if best else ""
        return problems, [f"no other bias would lower the perceptron's bound by much{value}"] if sought else []
    again = find(_search(rows.data._replace(bias=best), search.signs, plan, 1.0), games=False, start=found)
    problems[f"best bias, {plain(best)}"] = _problem(name, best, plan, again, games=False)
    return problems, []


def all_problems(rows: LabelledRows, plan: Plan) -> tuple[dict[str, Any], list[str]]:
    """Return the problems of three classes or more: all pairs at once, and each class against the rest."""
    problems, remarks, bias = {}, [], rows.data.bias
    n, many = rows.data.n_rows, len(rows.classes)
    entries = 2 * (many - 1) * max(rows.data.values.size + n * (bias != 0), n)
    entries = max(entries, many * (rows.data.n_features + 1))
    if entries <= MOST_PAIRS:
        pairs = pair_rows(rows.data, rows.codes, len(rows.classes))
        search = _search(pairs, np.ones(pairs.n_rows), plan, 1 / (1 + len(rows.classes)))
        found = find(search, games=False)
        found = _without_constant(found, pairs.n_features)
        problems[f"pairs, {named(bias)}"] = _problem(None, bias, plan, found, games=False)
    else:
        remarks.append(
            f"no witnesses were sought for pairs of classes: {entries:,} entries are more than {MOST_PAIRS:,}"
        )
    for i, name in enumerate(rows.classes):
        found = find(_search(rows.data, rows.signs(name), plan, 1 / (len(rows.classes) - i)))
        problems[f"class {name}, {named(bias)}"] = _problem(name, bias, plan, found)
    return problems, remarks


def _search(data: Dense | Csr, signs: Array, plan: Plan, share: float) -> Search:
    """Return a search that may take a share of the time that is left."""
    now = time.monotonic()
    deadline = None if plan.deadline is None else now + share * max(plan.deadline - now, 0.0)
    return Search(data, signs, plan.passes, deadline, plan.watch, plan.jobs)


def _problem(positive: str | None, bias: float, plan: Plan, found: Found, games: bool = True) -> dict[str, Any]:
    """Return a problem as the checker reads it; whether it says anything of Winnow."""
    risks = {"epsilon": str(float(plan.epsilon)), "delta": str(float(plan.delta))}
    return {"positive": positive, "bias": bias, "games": games, **risks, **found.witnesses}


def _without_bias(found: Found, features: int) -> dict[str, Any]:
    """Return weights found for rows without a bias, as weights that have a bias of 0: they may separate."""
    vector = found.witnesses["w"]["margin" if "margin" in found.witnesses["w"] else "delta 1"]
    entries = dict(zip(vector.get("at", range(features + 1)), vector["values"], strict=True))
    kept = {j: v for j, v in entries.items() if j != features}
    return {"exponent": vector["exponent"], "at": list(kept), "values": list(kept.values())}


def _without_constant(found: Found, width: int) -> Found:
    """Return witnesses whose weights end before the constant feature, which rows of pairs do without."""
    for vector in found.witnesses["w"].values():
        if "at" not in vector:
            vector["values"] = vector["values"][:width]
    return found


def made(
    rows: LabelledRows, problems: dict[str, Any], runs: dict[str, Any], remarks: list[str], risks: dict[str, float]
) -> Certificate:
    """Return the certificate of these witnesses: the checker states what they prove. Risks are those of runs."""
    data = rows.data
    X: Any = data.values
    if isinstance(data, Csr):
        X = data.to_scipy()
    seen = checker.Rows(X, np.array(rows.classes)[rows.codes], rows.classes)
    facts: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    facts["data"] = {
        "rows": seen.n, "features": seen.p, "classes": rows.classes, "sha256": seen.sha256, "remarks": remarks,
    }  # fmt: skip
    confidence = {name: {"confidence": value} for name, value in risks.items()}
    facts |= {"problems": problems, "runs": {name: run | confidence.get(name, {}) for name, run in runs.items()}}
    claims = checker.claims(facts, seen, checker_of(facts))
    return Certificate(facts | {"claims": claims, "risk": risks_of(facts["runs"], claims)})
