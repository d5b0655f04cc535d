"""Certify data: search witnesses for every problem and run the checker on them."""

import math
import time
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from linsep.certificates import checker
from linsep.certificates.certificate import Certificate, proofs_of, refuted_order, risks_of
from linsep.certificates.mixed_checker import checker_of
from linsep.certificates.reading import class_name, matrix_of, read_labels, read_rows
from linsep.certificates.schema import (
    FORMAT,
    LEAST_DELTA,
    MOST_PAIRS,
    MOST_PASSES,
    VERSION,
    ProblemKey,
    check_classes,
    check_form,
)
from linsep.certificates.witnesses import (
    BracketCallback,
    Search,
    SearchResult,
    best_bias,
    find,
    find_fewest_errors,
    pair_rows,
)
from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.runtime import one_blas_thread, threads
from linsep.solvers.exact.dependencies import exact, written
from linsep.solvers.margin.column_scaling import column_scaling, scaled_columns
from linsep.solvers.margin.coordinate_descent import squared_norms
from linsep.theory.risk import pac_bayes
from linsep.validation.errors import ParameterError

LARGEST_BIAS = 1e154
"""The square of a larger bias is beyond float64."""
WIDE = 4096
"""Columns up to which empty ones are searched too."""
WORTH = 0.985
"""A best bias that makes the root of the bound no smaller than by this factor is not worth a problem of its own."""

TRIVIAL = 0.999
"""A bound of one pass of at least this share of the rows is trivial: scaled columns then have one for all passes."""

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
    least_error: bool = False
    """True if bounds of the fewest errors are sought."""
    scaling: bool = False
    """True if a scaling of the columns is sought."""


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
    least_error: bool = False, scaling: bool = False, model: Any = None,
) -> Certificate:  # fmt: skip
    """Prove what can be proved of data: separable or not, margins, and bounds on the mistakes in any order of the rows.

    With R = max ||x||, X = max |entry|, gamma and delta the margins of unit weights in the L2 and the L1 norm, and N
    the number of weights, no order of the rows, however often repeated, makes

        a perceptron err more than (R/gamma)² times,     (balanced) Winnow at its best rate more than ln N / L* times,

    L* = ½[(1+r) ln(1+r) + (1-r) ln(1-r)], r = delta/X; and in T passes over any data, separable or not, a perceptron
    errs at most (R ||w|| + sqrt(T) ||(1 - Yw)+||)² times, for any w: the least such bound is stated, and how much
    less another w could prove. Margins are bracketed from both sides. Two classes are bracketed with the bias given,
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
    least_error : bool, default=False
        If True, bound the fewest rows that any hyperplane gets wrong, from both sides: from above by weights, from
        below by sets of rows that cancel, of which any hyperplane gets one wrong in each. This can take longer than all
        else; the time limit holds for it, too.
    scaling : bool, default=False
        If True, scale the columns of two classes by powers of two, and choose another constant feature, so that the
        perceptron's bound for one pass becomes small, or that for `passes` if one pass has none. The bounds of the
        scaled rows are stated as a problem of their own, and `cert.scaling` has the factors.
    model : estimator, optional
        A trained learner that never saw these rows. Its errors on them are counted exactly, and bound its risk, the
        probability of an error on a new row, with probability 1 - delta. The bias is the model's.

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
    if model is not None:
        if not hasattr(model, "_predicting_weights"):
            raise ParameterError(f"model={type(model).__name__} is not a classifier of linsep: give a trained one")
        model._fitted()
    data = read_rows(X, float(bias)) if model is None else read_rows(X, float(model._bias), model)
    classes, codes = read_labels(y, data.n_rows)
    rows = LabelledRows(data, codes, classes)
    deadline = None if time_limit is None else time.monotonic() + time_limit
    plan = SearchPlan(int(passes), epsilon, delta, deadline, watch, threads(n_jobs), least_error, scaling)
    problems, remarks = find_problems(rows, plan)
    if model is not None:
        remarks += add_model(model, rows, problems) or add_risks(rows, problems, plan, ["held out"])
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
            if "scale" in problem:
                scale = problem["scale"]
                at = columns[scale.get("at", np.arange(len(columns)))].tolist()
                problem["scale"] = {"at": at, "values": scale["values"]}
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
    found = _find(search, plan)
    problems = {key: _problem(rows, key, plan, found) | _fewest_errors(search, plan, found)}
    if not key.bias:
        return problems | (_scaled_problem(rows, plan) if plan.scaling else {}), []
    plain_search = rows.search(plain_key, plan, 0.5)
    plain = _find(plain_search, plan, start=found)
    problems[plain_key] = _problem(rows, plain_key, plan, plain) | _fewest_errors(plain_search, plan, plain)
    if "margin" not in found.witnesses["w"]:
        found.witnesses["w"]["no bias"] = _drop_bias(plain, rows.data.n_features)
    if plan.scaling:
        problems |= _scaled_problem(rows, plan)
    best, ratio = best_bias(search, found.witnesses)
    lengths = [(f.length if found.length < math.inf else f.once.upper) for f in (found, plain)]
    if not best or ratio * lengths[0] > WORTH * min(lengths):
        sought = found.once.converged and plain.once.converged
        value = f"; the best is about {best:.3g}" if best else ""
        return problems, [f"no other bias would lower the perceptron's bound by much{value}"] if sought else []
    best_key = ProblemKey(best, "best bias")
    again = find(rows.search(best_key, plan), games=False, start=found)
    return problems | {best_key: _problem(rows, best_key, plan, again, games=False)}, []


def _scaled_problem(rows: LabelledRows, plan: SearchPlan) -> Problems:
    """Return the problem of rows whose columns are scaled."""
    signs = rows.signs(rows.classes[-1])
    until = Search(rows.data, signs, deadline=plan.deadline).until(0.5)
    found = column_scaling(rows.data, signs, deadline=until, jobs=plan.jobs)
    if found.bound >= TRIVIAL * rows.data.n_rows:  # few rows: one pass has no bound below their number
        found = column_scaling(rows.data, signs, passes=plan.passes, deadline=until, jobs=plan.jobs)
    key, scale = ProblemKey(found.bias, "scaled"), written(found.exponents.tolist())
    scaled = rows._replace(data=scaled_columns(rows.data, found.exponents, found.bias))
    problem = _problem(rows, key, plan, find(scaled.search(key, plan), games=False), games=False)
    return {key: problem | {"scale": {k: v for k, v in scale.items() if k != "exponent"}}}


def _search_many_classes(rows: LabelledRows, plan: SearchPlan) -> tuple[Problems, list[str]]:
    """Return the problems of three classes or more: all pairs at once, and each class against the rest."""
    problems, remarks, bias = Problems(), list[str](), rows.data.bias
    remarks += ["no scaling was sought: the columns of two classes alone are scaled"] if plan.scaling else []
    n, many = rows.data.n_rows, len(rows.classes)
    entries = 2 * (many - 1) * max(rows.data.values.size + n * (bias != 0), n)
    entries = max(entries, many * (rows.data.n_features + 1))
    if entries <= MOST_PAIRS:
        key = ProblemKey(bias, "pairs")
        search = rows.search(key, plan, 1 / (1 + many))
        found = _find(search, plan, games=False)
        errors = _fewest_errors(search, plan, found, many - 1)
        for vector in found.witnesses["w"].values():
            if "at" not in vector:  # rows of pairs have no constant feature behind their columns
                vector["values"] = vector["values"][: search.data.n_features]
        problems[key] = _problem(rows, key, plan, found, games=False) | errors
    else:
        remarks.append(
            f"no witnesses were sought for pairs of classes: {entries:,} entries are more than {MOST_PAIRS:,}"
        )
    for i, name in enumerate(rows.classes):
        key = ProblemKey(bias, "class", name)
        search = rows.search(key, plan, 1 / (many - i))
        found = _find(search, plan)
        problems[key] = _problem(rows, key, plan, found) | _fewest_errors(search, plan, found)
    return problems, remarks


def _problem(
    rows: LabelledRows, key: ProblemKey, plan: SearchPlan, found: SearchResult, games: bool = True
) -> dict[str, Any]:
    """Return a problem as the checker reads it; if `games` is False, nothing is claimed of Winnow."""
    risks = {"epsilon": str(float(plan.epsilon)), "delta": str(float(plan.delta))}
    return {"positive": key.positive(rows.classes), "bias": key.bias, "games": games, **risks, **found.witnesses}


def _find(search: Search, plan: SearchPlan, **how: Any) -> SearchResult:
    """Return the witnesses of a problem; half of its time is kept for the fewest errors, if these are sought."""
    return find(search._replace(deadline=search.until(0.5)) if plan.least_error else search, **how)


def _fewest_errors(search: Search, plan: SearchPlan, found: SearchResult, rivals: int = 1) -> dict[str, Any]:
    """Return combinations of rows that cancel, if bounds of the fewest errors are sought."""
    if not plan.least_error:
        return {}
    return {"combinations": find_fewest_errors(search, found.witnesses, rivals)}


def add_model(learner: Any, rows: LabelledRows, problems: Problems) -> list[str]:
    """Add the weights that predict to the witnesses of each problem that they are about; return a remark if none."""
    if rows.classes != [class_name(label) for label in learner.classes_.tolist()]:
        return ["the errors of the model are not stated: its classes are not those of the rows"]
    if reason := learner._no_weights:
        return [f"the errors of the model are not stated: {reason}"]
    W, many = learner._predicting_weights(), len(rows.classes) > 2
    for key, problem in problems.items():
        if key.bias == rows.data.bias and key.kind in ("binary", "pairs", "class"):
            w = W if key.kind == "pairs" or not many else W[rows.classes.index(key.label)]
            problem["w"]["model"] = exact(w.ravel())
    return []


def add_risks(rows: LabelledRows, problems: Problems, plan: SearchPlan, kinds: list[str]) -> list[str]:
    """Let problems of a model state bounds on its risk, "held out" or "PAC-Bayes"; return a remark on what they assume.

    Of three classes and more, held-out rows bound the risk of predictions, and PAC-Bayes that of each class's weights.
    """
    confidence = 1 - plan.delta
    if not LEAST_DELTA <= confidence <= 1 - LEAST_DELTA:
        return [
            f"no risk of the model is stated: delta={plan.delta:g} is not from {LEAST_DELTA:g} to {1 - LEAST_DELTA!r}"
        ]
    if refuted := refuted_order(rows.codes, rows.classes):
        return [f"no risk of the model is stated: it assumes that rows are independent draws, and {refuted}"]
    for key, problem in problems.items():
        if "model" not in problem["w"]:
            continue
        if "held out" in kinds:
            problem["held out"] = confidence
        if "PAC-Bayes" in kinds and key.kind != "pairs":
            search = rows.search(key, plan)
            w, lengths = search.read(problem["w"]["model"]), np.sqrt(squared_norms(search.data) + key.bias**2)
            size = float(np.linalg.norm(w)) * lengths
            margins = np.divide(search.scores(w), size, out=np.zeros(len(size)), where=size > 0)
            scale = pac_bayes(np.clip(margins, -1, 1), confidence).scale
            problem["PAC-Bayes"] = {"confidence": confidence, "scale": round(2 * math.log2(scale))}
    return []


def _drop_bias(found: SearchResult, features: int) -> dict[str, Any]:
    """Return weights found for rows without a bias, as weights that have a bias of 0: they may separate."""
    vector = found.witnesses["w"]["margin" if "margin" in found.witnesses["w"] else "delta 1"]
    entries = dict(zip(vector.get("at", range(features + 1)), vector["values"], strict=True))
    kept = {j: v for j, v in entries.items() if j != features}
    return {"exponent": vector["exponent"], "at": list(kept), "values": list(kept.values())}


def _checked(rows: LabelledRows) -> checker.CheckedRows:
    """Return rows as the checker reads them."""
    return checker.CheckedRows(matrix_of(rows.data), np.array(rows.classes)[rows.codes], rows.classes)


def sha256_of(rows: LabelledRows) -> str:
    """Return the SHA-256 of rows and labels."""
    return _checked(rows).sha256


@one_blas_thread()
def build_certificate(rows: LabelledRows, problems: Problems, runs: dict[str, Any], remarks: list[str]) -> Certificate:
    """Return the certificate of these witnesses: the checker states what they prove, in a form that `verify` reads."""
    seen = _checked(rows)
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
