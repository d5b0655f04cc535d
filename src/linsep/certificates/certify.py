"""Certify data: search witnesses for every problem and run the checker on them."""

import math
import time
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from linsep.certificates import checker
from linsep.certificates.certificate import Certificate, proofs_of, risks_of
from linsep.certificates.mixed_checker import checker_of
from linsep.certificates.reading import matrix_of, read_labels, read_rows
from linsep.certificates.schema import FORMAT, MOST_PAIRS, MOST_PASSES, VERSION, ProblemKey, check_classes, check_form
from linsep.certificates.witnesses import BracketCallback, Search, SearchResult, best_bias, find, pair_rows
from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.runtime import one_blas_thread, threads
from linsep.validation.errors import ParameterError

LARGEST_BIAS = 1e154
"""The square of a larger bias is beyond float64."""
WIDE = 4096
"""Columns up to which empty ones are searched too."""
WORTH = 0.985
"""A best bias that makes the root of the bound no smaller than by this factor is not worth a problem of its own."""

Problems = dict[ProblemKey, dict[str, Any]]
"""Problems as the checker reads them, with their witnesses."""


class SearchPlan(NamedTuple):
    """Parameters of the search for witnesses, and its deadline."""

    passes: int = 10
    epsilon: float = 0.05
    delta: float = 0.05
    deadline: float | None = None
    watch: BracketCallback | None = None
    jobs: int = 1


class LabelledRows(NamedTuple):
    """The rows that are certified, with the codes of their labels."""

    data: Dense | Csr
    codes: Array
    classes: list[str]
    """The classes that rows have, sorted."""
    known: list[str] = []  # noqa: RUF012
    """Further classes that a learner knows."""

    def signs(self, name: str) -> Array:
        """Return +1 for the rows of a class, -1 for all others."""
        return np.where(self.codes == self.classes.index(name), 1.0, -1.0)

    def search(self, key: ProblemKey, plan: SearchPlan, share: float = 1.0) -> Search:
        """Return a search on the signed rows of a problem that may take a share of the time that is left."""
        name = key.positive(self.classes)
        if name is None:
            data: Dense | Csr = pair_rows(self.data, self.codes, len(self.classes))
            signs = np.ones(data.n_rows)
        else:
            data, signs = self.data._replace(bias=key.bias), self.signs(name)
        search = Search(data, signs, plan.passes, plan.deadline, plan.watch, plan.jobs)
        return search._replace(deadline=search.until(share))


def certify(
    X: Any, y: Any, *, bias: float = 1.0, passes: int = 10, epsilon: float = 0.05, delta: float = 0.05,
    time_limit: float | None = None, watch: BracketCallback | None = None, n_jobs: int | None = None,
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
    X : array, sparse matrix or table, (rows, features)
        The rows; a table is a data frame of pandas or polars, or a table of pyarrow.
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
        Seconds for the search, exact decisions included; what is found until then is certified. Checking it takes a
        little longer. Without a limit, data of up to 2^20 entries are decided, however long that takes.
    watch : callable, optional
        Called with a name and the bracket (lower, upper) of what is sought, each time it has become narrower.
    n_jobs : int or None, default=None
        Threads; -1 is one per core, None is 1. The certificate does not depend on it.

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
    data = read_rows(X, float(bias))
    classes, codes = read_labels(y, data.n_rows)
    rows = LabelledRows(data, codes, classes)
    deadline = None if time_limit is None else time.monotonic() + time_limit
    problems, remarks = find_problems(rows, SearchPlan(int(passes), epsilon, delta, deadline, watch, threads(n_jobs)))
    return build_certificate(rows, problems, {}, remarks)


def refuse_bad_plan(bias: float, passes: int, epsilon: float, delta: float, time_limit: float | None) -> None:
    """Raise a ValueError that names the argument that is not valid."""
    numbers: dict[str, Any] = {
        "bias": bias,
        "passes": passes,
        "epsilon": epsilon,
        "delta": delta,
        "time_limit": time_limit,
    }
    for name, value in numbers.items():
        if not isinstance(value, Real) and not (name == "time_limit" and value is None):
            raise ParameterError(f"{name}={value!r} is not a number: give one number")
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if not 0 < value < 1:
            raise ParameterError(f"{name}={value} is no probability: it must lie between 0 and 1")
    if not 0 <= bias < np.inf:
        raise ParameterError(f"bias={bias} is no value for a constant feature: it must be 0 (none) or more")
    if bias > LARGEST_BIAS:
        raise ParameterError(
            f"bias={bias:g} is too large, as its square is beyond float64: use at most {LARGEST_BIAS:g}"
        )
    if int(passes) != passes or passes < 1:
        raise ParameterError(f"passes={passes} is no number of passes: it must be 1 or more")
    if passes > MOST_PASSES:
        raise ParameterError(f"passes={passes} is too large: use at most {MOST_PASSES:,}")
    if time_limit is not None and not time_limit > 0:
        raise ParameterError(f"time_limit={time_limit} leaves no time: it must be above 0 seconds, or None")


def find_problems(rows: LabelledRows, plan: SearchPlan) -> tuple[Problems, list[str]]:
    """Return all problems of some rows with their witnesses, and remarks on what was not sought."""
    check_classes(len(rows.classes), rows.data.n_rows)
    data, columns = _used_columns(rows.data)
    narrow = rows._replace(data=data)
    if len(rows.classes) <= 2:
        problems, remarks = _search_two_classes(narrow, plan)
    else:
        problems, remarks = _search_many_classes(narrow, plan)
    if len(columns) < rows.data.n_features:
        for problem in problems.values():
            problem["w"] = {name: _widened(w, columns, rows.data.n_features) for name, w in problem["w"].items()}
    if plan.watch is not None:
        plan.watch("exact check", math.nan, math.nan)
    return problems, remarks


def _used_columns(data: Dense | Csr) -> tuple[Dense | Csr, Array]:
    """Return wide sparse rows without most of their empty columns, and the columns that are left.

    One empty column stays, on which all rows score 0: Winnow's margin can need it.

    >>> X = Csr(np.ones(2), np.array([9, 90_000]), np.arange(3), 100_000, 1.0)
    >>> narrow, columns = _used_columns(X)
    >>> narrow.indices.tolist(), narrow.n_features, columns
    ([1, 2], 3, array([    0,     9, 90000]))
    """
    used = np.unique(data.indices) if isinstance(data, Csr) and data.n_features > WIDE else np.zeros(0, np.int64)
    if not isinstance(data, Csr) or data.n_features <= max(WIDE, 2 * len(used)):
        return data, np.arange(data.n_features)
    empty = int(np.argmax(np.append(used, -1) != np.arange(len(used) + 1)))
    columns = np.union1d(used, [empty]).astype(np.int64)
    indices = np.searchsorted(columns, data.indices).astype(data.indices.dtype)
    return data._replace(indices=frozen(indices), features=len(columns)), columns


def _widened(vector: dict[str, Any], columns: Array, features: int) -> dict[str, Any]:
    """Return a witness w of the columns that are left as one of all columns, class by class for pairs."""
    block, column = np.divmod(vector.get("at", np.arange(len(vector["values"]))), len(columns) + 1)
    at = (block.astype(np.int64) * (features + 1) + np.append(columns, features)[column.astype(np.int64)]).tolist()
    return {"exponent": vector["exponent"], "at": at, "values": vector["values"]}


def _search_two_classes(rows: LabelledRows, plan: SearchPlan) -> tuple[Problems, list[str]]:
    """Return the problems of two classes: with the bias given, with the best one, and without."""
    key, plain_key = ProblemKey(rows.data.bias), ProblemKey(0.0)
    search = rows.search(key, plan, 0.4)
    found = find(search)
    problems = {key: _problem(rows, key, plan, found)}
    if not key.bias:
        return problems, []
    plain = find(rows.search(plain_key, plan, 0.5), start=found)
    problems[plain_key] = _problem(rows, plain_key, plan, plain)
    if "margin" not in found.witnesses["w"]:
        found.witnesses["w"]["no bias"] = _drop_bias(plain, rows.data.n_features)
    best, ratio = best_bias(search, found.witnesses)
    lengths = [(f.length if found.length < math.inf else f.once.upper) for f in (found, plain)]
    if not best or ratio * lengths[0] > WORTH * min(lengths):
        sought = found.once.converged and plain.once.converged
        value = f"; the best is about {best:.3g}" if best else ""
        return problems, [f"no other bias would lower the perceptron's bound by much{value}"] if sought else []
    best_key = ProblemKey(best, "best bias")
    again = find(rows.search(best_key, plan), games=False, start=found)
    return problems | {best_key: _problem(rows, best_key, plan, again, games=False)}, []


def _search_many_classes(rows: LabelledRows, plan: SearchPlan) -> tuple[Problems, list[str]]:
    """Return the problems of three classes or more: all pairs at once, and each class against the rest."""
    problems, remarks, bias = Problems(), [], rows.data.bias
    n, many = rows.data.n_rows, len(rows.classes)
    entries = 2 * (many - 1) * max(rows.data.values.size + n * (bias != 0), n)
    entries = max(entries, many * (rows.data.n_features + 1))
    if entries <= MOST_PAIRS:
        key = ProblemKey(bias, "pairs")
        search = rows.search(key, plan, 1 / (1 + many))
        found = find(search, games=False)
        for vector in found.witnesses["w"].values():
            if "at" not in vector:  # rows of pairs have no constant feature behind their columns
                vector["values"] = vector["values"][: search.data.n_features]
        problems[key] = _problem(rows, key, plan, found, games=False)
    else:
        remarks.append(
            f"no witnesses were sought for pairs of classes: {entries:,} entries are more than {MOST_PAIRS:,}"
        )
    for i, name in enumerate(rows.classes):
        key = ProblemKey(bias, "class", name)
        problems[key] = _problem(rows, key, plan, find(rows.search(key, plan, 1 / (many - i))))
    return problems, remarks


def _problem(
    rows: LabelledRows, key: ProblemKey, plan: SearchPlan, found: SearchResult, games: bool = True
) -> dict[str, Any]:
    """Return a problem as the checker reads it; if `games` is False, nothing is claimed of Winnow."""
    risks = {"epsilon": str(float(plan.epsilon)), "delta": str(float(plan.delta))}
    return {"positive": key.positive(rows.classes), "bias": key.bias, "games": games, **risks, **found.witnesses}


def _drop_bias(found: SearchResult, features: int) -> dict[str, Any]:
    """Return weights found for rows without a bias, as weights that have a bias of 0: they may separate."""
    vector = found.witnesses["w"]["margin" if "margin" in found.witnesses["w"] else "delta 1"]
    entries = dict(zip(vector.get("at", range(features + 1)), vector["values"], strict=True))
    kept = {j: v for j, v in entries.items() if j != features}
    return {"exponent": vector["exponent"], "at": list(kept), "values": list(kept.values())}


@one_blas_thread()
def build_certificate(rows: LabelledRows, problems: Problems, runs: dict[str, Any], remarks: list[str]) -> Certificate:
    """Return the certificate of these witnesses: the checker states what they prove, in a form that `verify` reads."""
    seen = checker.CheckedRows(matrix_of(rows.data), np.array(rows.classes)[rows.codes], rows.classes)
    facts: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    facts["data"] = {
        "rows": seen.n, "features": seen.p, "classes": rows.classes, "known": rows.known, "sha256": seen.sha256,
        "remarks": remarks,
    }  # fmt: skip
    facts |= {"problems": {str(key): problem for key, problem in problems.items()}, "runs": runs}
    checker.refuse_costly(facts, seen)
    kind, proofs = proofs_of(checker_of(facts))
    claims = checker.claims(facts, seen, kind)
    if _replace_unproved(facts["problems"], proofs):
        claims = checker.claims(facts, seen, kind)
    facts |= {"claims": claims, "risk": risks_of(runs, claims)}
    check_form(facts)
    return Certificate(facts)


def _replace_unproved(problems: dict[str, Any], proofs: list[dict[str, dict[str, str]]]) -> bool:
    """Put the proof in the place of each witness that reports are taken from and that proves nothing, or is missing."""
    renamed = False
    for problem, found in zip(problems.values(), proofs, strict=True):
        for side, named in found.items():
            for name, proof in named.items():
                if proof != name and (name == "margin" or name in problem[side]):
                    problem[side][name], renamed = dict(problem[side][proof]), True
    return renamed
