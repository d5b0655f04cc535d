"""Runs for the pictures of a certificate: their mistakes, and the weights that they are measured against."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.cli.quiet import quiet_fit
from linsep.core.examples import Array
from linsep.learners.perceptron import Perceptron
from linsep.learners.winnow import Winnow
from linsep.theory.bounds import best_rate
from linsep.theory.checker import vector

if TYPE_CHECKING:
    from linsep.learners.learner import Learner
    from linsep.theory.certificates import Certificate


class Problem(NamedTuple):
    """Two classes of rows, a class of several against the rest, and what the certificate calls that."""

    name: str
    about: str
    """The class that is told from the rest, for captions; "" if there are only two."""
    X: Any
    signs: Array
    bias: float
    known: dict[str, Any]
    """The problem in the certificate."""

    def witness(self, name: str) -> Array | None:
        """Return weights by their name, the bias last; None if there are none."""
        found = self.known["w"].get(name)
        return None if found is None else vector(found, self.X.shape[1] + 1).astype(np.float64)

    def mistaken(self, rows: Array, *biases: float) -> Any:
        """Return y x of some rows, and y times the value of each constant feature."""
        signs = self.signs[rows]
        constants = np.outer(signs, biases)
        if not sp.issparse(self.X):
            return np.hstack([signs[:, None] * np.asarray(self.X, np.float64)[rows], constants])
        X: Any = self.X
        return sp.csr_array(sp.hstack([sp.diags_array(signs) @ X.tocsr()[rows], sp.csr_array(constants)]))


class Pictured(NamedTuple):
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


def problem_of(cert: "Certificate", X: Any, y: Any) -> Problem:
    """Return the problem of two classes or, of more, the first class that can be told from the rest, if any can."""
    classes = cert.facts["data"]["classes"]
    names = cert.problems[:1]
    if len(classes) > 2:
        names = [name for name in cert.problems if cert.facts["problems"][name]["positive"] is not None]
    name = next((name for name in names if cert.claims[f"{name}: verdict"] == "separable"), names[0])
    known = cert.facts["problems"][name]
    own = np.array([str(v).removesuffix(".0") == known["positive"] for v in np.asarray(y).tolist()])
    about = known["positive"] if len(classes) > 2 else ""
    return Problem(name, about, X, np.where(own, 1.0, -1.0), float(known["bias"]), known)


def perceptron_run(cert: "Certificate", problem: Problem, learner: "Learner | None") -> Pictured:
    """Return the run that is certified if it is a perceptron's, else one pass of a perceptron in the rows' order."""
    run = cert.facts["runs"].get("run", {})
    if run.get("theorem") == "perceptron" and run["p"] == 2:
        return _certified(learner, run)
    return _trained(Perceptron(**_in_order(problem)), problem)


def other_run(cert: "Certificate", learner: "Learner | None") -> Pictured | None:
    """Return the run that is certified if it is Winnow's or a p-norm perceptron's, whose updates are its mistakes."""
    run = cert.facts["runs"].get("run", {})
    if run.get("theorem") == "winnow":
        return _certified(learner, run)._replace(rate=float(run["rate"]), norm=run["norm"])
    return _certified(learner, run) if run.get("theorem") == "perceptron" and run["p"] != 2 else None


def winnow_run(cert: "Certificate", problem: Problem, learner: "Learner | None") -> Pictured | None:
    """Return Winnow's run that is certified, or one pass at the best rate; None where no u >= 0 is known to do."""
    own = other_run(cert, learner)
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


def _trained(learner: Any, problem: Problem) -> Pictured:
    try:
        quiet_fit(learner, problem.X, problem.signs)
    except ValueError as error:
        return Pictured(np.zeros(0, np.int64), np.zeros(0, np.int64), 0, 1, refused=str(error))
    return Pictured(learner.log_.rounds, learner.log_.rows, len(problem.signs), 1)


def _certified(learner: Any, run: dict[str, Any]) -> Pictured:
    return Pictured(learner.log_.rounds, learner.log_.rows, run["rounds"], run["passes"], "run")
