"""Runs for the pictures of a certificate: their mistakes, and the weights that they are measured against."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.certificates.checker import vector
from linsep.certificates.reading import class_name
from linsep.certificates.schema import ProblemKey
from linsep.certificates.theorems import PerceptronTheorem, Run, WinnowTheorem
from linsep.cli.jobs.fitting import fit_quietly
from linsep.engine.arrays import Array
from linsep.estimators.perceptron import Perceptron
from linsep.estimators.winnow import Winnow
from linsep.theory.bounds import best_rate

if TYPE_CHECKING:
    from linsep.certificates.certificate import Certificate
    from linsep.estimators.base.learner import Learner


class Problem(NamedTuple):
    """Two classes of rows, a class of several against the rest or pairs, and what the certificate calls that."""

    name: str
    about: str
    """What of several classes is meant, for captions; "" if there are only two."""
    X: Any
    signs: Array
    """Of rows against the rest; all 1 for pairs."""
    bias: float
    known: dict[str, Any]
    """The problem in the certificate."""
    codes: Array = np.zeros(0, np.int64)
    """The number of each row's class, for pairs."""
    rivals: int = 0
    """The other classes, for pairs."""

    def witness(self, name: str) -> Array | None:
        """Return weights by their name, the bias last; None if there are none."""
        found = self.known["w"].get(name)
        size = (self.X.shape[1] + 1) * (1 + self.rivals)
        return None if found is None else vector(found, size).astype(np.float64)

    def mistaken(self, rows: Array, *biases: float) -> Any:
        """Return y x of some rows, and y times the value of each constant feature; of pairs x and -x in two places."""
        which, rival = np.divmod(rows, self.rivals) if self.rivals else (rows, rows)
        signs = self.signs[which]
        constants = np.outer(signs, biases)
        if not sp.issparse(self.X):
            made: Any = np.hstack([signs[:, None] * np.asarray(self.X, np.float64)[which], constants])
        else:
            X: Any = self.X
            made = sp.csr_array(sp.hstack([sp.diags_array(signs) @ X.tocsr()[which], sp.csr_array(constants)]))
        return made if not self.rivals else self._in_two_places(sp.coo_array(made), self.codes[which], rival)

    def _in_two_places(self, made: Any, own: Array, rival: Array) -> Any:
        """Return rows for the weights of all classes: as they are for their own class, negated for its rival."""
        rival, width = rival + (rival >= own), made.shape[1]
        columns = [made.col + width * of.astype(np.int64)[made.row] for of in (own, rival)]
        places = np.tile(made.row, 2), np.concatenate(columns)
        values = np.concatenate([made.data, -made.data])
        return sp.csr_array((values, places), shape=(made.shape[0], width * (1 + self.rivals)))


class DrawnRun(NamedTuple):
    """A run: the rounds and rows of its mistakes, how many rounds there were, or why there were none."""

    rounds: Array
    rows: Array
    total: int
    passes: int
    certified: str = ""
    """What the certificate calls it, if it is one of its runs."""
    rate: float = 0.0
    """Winnow's."""
    norm: str = ""
    """Winnow's: simplex, or l1 for the balanced one."""
    refused: str = ""
    """What the learner said of rows that it can't take."""
    p: float = 2.0
    """A perceptron's."""
    weights: Array | None = None
    """Of a run whose shards were mixed, what each mistake weighs."""
    ends: Array | None = None
    """The same: how many mistakes there are up to each mix, from 0."""

    @property
    def counts(self) -> Array:
        """The mistakes at the start and after each one, or of a mixed run, weighted, after each mix."""
        if self.weights is None:
            return np.arange(len(self.rows) + 1)
        return np.append(0.0, np.cumsum(self.weights))[self.ends]

    def weighed(self, rows: Any) -> Any:
        """Return the rows of the mistakes, each times its weight: their sums are those of the run at its mixes."""
        if self.weights is None:
            return rows
        if not sp.issparse(rows):
            return self.weights[:, None] * rows
        made: Any = rows
        return sp.csr_array(sp.diags_array(self.weights) @ made)

    def at_mixes(self, path: Array) -> Array:
        """Return what a path through all mistakes has at those places that the theorems speak of."""
        return path if self.ends is None else path[self.ends]


def problem_of(cert: "Certificate", X: Any, y: Any) -> Problem:
    """Return the problem that is pictured: of a certified run if there is one, else of two classes or one of several.

    The first that is separable is taken, or the first of all.
    """
    classes, problems = cert.facts["data"]["classes"], cert.facts["problems"]
    names = [run["problem"] for run in cert.facts["runs"].values()] or cert.problems[:1]
    if len(classes) > 2 and not cert.runs:
        names = [name for name in cert.problems if problems[name]["positive"] is not None]
    name = next((name for name in names if cert.claims[f"{name}: verdict"] == "separable"), names[0])
    known, bias = problems[name], float(problems[name]["bias"])
    labels = [class_name(label) for label in np.asarray(y).tolist()]
    if known["positive"] is None:
        codes = np.array([classes.index(label) for label in labels])
        return Problem(name, "pairs of classes", X, np.ones(len(labels)), bias, known, codes, len(classes) - 1)
    own = np.array([label == known["positive"] for label in labels])
    about = f"class {known['positive']} against the rest" if len(classes) > 2 else ""
    return Problem(name, about, X, np.where(own, 1.0, -1.0), bias, known)


def certified_run(cert: "Certificate", problem: Problem, learner: "Learner | None") -> DrawnRun | None:
    """Return the run on a problem that is certified, if its updates are its mistakes, as passive-aggressive's are not.

    Its rounds are in the learner's log.
    """
    for name, run in cert.facts["runs"].items():
        theorem = cert.theorem(name)
        if run["problem"] == problem.name and theorem.unit_steps:
            found = DrawnRun(
                _rounds(cert, problem.name, learner), cert.updated_rows(name, problem.codes), run["rounds"],
                run["passes"], name,
            )  # fmt: skip
            found = _mixed(found, run["mixes"]) if "mixes" in run else found
            if isinstance(theorem, WinnowTheorem):
                return found._replace(rate=float(theorem.rate), norm=theorem.norm)
            assert isinstance(theorem, PerceptronTheorem)
            return found._replace(p=float(theorem.p))
    return None


def perceptron_run(cert: "Certificate", problem: Problem, learner: "Learner | None") -> DrawnRun:
    """Return the run that is certified if it is a perceptron's, else one pass of a perceptron in the rows' order."""
    own = certified_run(cert, problem, learner)
    if own is not None and own.p == 2 and not own.norm:
        return own
    return _trained(Perceptron(**_in_order(problem)), problem)


def winnow_run(cert: "Certificate", problem: Problem, learner: "Learner | None") -> DrawnRun | None:
    """Return Winnow's run that is certified, or one pass at the best rate; None where no u >= 0 is known to do."""
    own = certified_run(cert, problem, learner)
    if own is not None and own.norm:
        return own
    margin, entries = cert.number("Winnow's margin at least", problem.name), entry_of(problem)
    if not 0 < margin < entries:
        return None
    eta = best_rate(margin, entries)
    return _trained(Winnow(eta=eta, x_max=None, **_in_order(problem)), problem)._replace(rate=eta, norm="simplex")


def entry_of(problem: Problem) -> float:
    """Return the largest |entry| of the rows, the constant feature included."""
    values: Any = problem.X.data if hasattr(problem.X, "indptr") else problem.X
    return max(float(np.abs(values).max(initial=0.0)), problem.bias)


def _in_order(problem: Problem) -> dict[str, Any]:
    bias = {"fit_intercept": True, "intercept_scaling": problem.bias} if problem.bias else {"fit_intercept": False}
    return {"max_iter": 1, "shuffle": False, "log": True, **bias}


def _trained(learner: Any, problem: Problem) -> DrawnRun:
    try:
        fit_quietly(learner, problem.X, problem.signs)
    except ValueError as error:
        return DrawnRun(np.zeros(0, np.int64), np.zeros(0, np.int64), 0, 1, refused=str(error))
    return DrawnRun(learner.log_.rounds, learner.log_.rows, len(problem.signs), 1)


def _mixed(run: DrawnRun, mixes: list[list[list[int]]]) -> DrawnRun:
    """Return a run with the weights of its mistakes, and where its mixes are."""
    counts = [sum(count for count, _ in mix) for mix in mixes]
    weights = Run(run.rows, None, run.passes, run.total, mixes).weights()
    return run._replace(weights=weights, ends=np.append(0, np.cumsum(counts)))


def _rounds(cert: "Certificate", problem: str, learner: Any) -> Array:
    """Return the rounds of a run's updates, from the log of all runs."""
    log, key = learner.log_, ProblemKey.parse(problem)
    chosen = slice(None) if key.kind != "class" else log.classes == cert.facts["data"]["classes"].index(key.label)
    rounds: Array = log.rounds[chosen]
    return rounds
