"""The table of all learners, which drives the contracts, the command line, the docs and the benchmarks."""

from typing import Any, NamedTuple

from linsep.estimators.base.learner import Learner
from linsep.estimators.base.online import OnlineLearner
from linsep.estimators.kernel_perceptron import KernelPerceptron
from linsep.estimators.least_squares import LeastSquares
from linsep.estimators.linear_program import LinearProgram
from linsep.estimators.logistic import LogisticRegression
from linsep.estimators.max_margin import MaxMargin
from linsep.estimators.naive_bayes import NaiveBayes
from linsep.estimators.p_norm import PNormPerceptron
from linsep.estimators.passive_aggressive import PassiveAggressive
from linsep.estimators.pegasos import Pegasos
from linsep.estimators.perceptron import AveragedPerceptron, Perceptron
from linsep.estimators.romma import ROMMA
from linsep.estimators.voted_perceptron import VotedPerceptron
from linsep.estimators.winnow import BalancedWinnow, Winnow


class Entry(NamedTuple):
    """A learner, and the bound on its mistakes, or the proof of its optimum, in a few words."""

    learner: type[Learner]
    bound: str
    small: bool = False
    """Whether its time grows faster than the data, so that it is for small sets."""
    row_by_row: dict[str, Any] = {}  # noqa: RUF012  (never written to)
    """The parameters with which `fit` of an online learner goes row by row, where that is not the default."""

    @property
    def online(self) -> bool:
        """Whether it can go row by row, and makes mistakes that are counted then."""
        return issubclass(self.learner, OnlineLearner)

    def make(self, **parameters: Any) -> Any:
        """Return a learner with those of these parameters that it has."""
        known = self.learner._get_param_names()
        return self.learner(**{name: value for name, value in parameters.items() if name in known})

    def make_online(self, **parameters: Any) -> Any:
        """Return a learner whose `fit` goes row by row, with those of these parameters that it has."""
        return self.make(**{**self.row_by_row, **parameters})

    @property
    def mixes(self) -> str:
        """What is true of a mix of shards, or why there is none."""
        return self.learner._mixes or f"no: {self.no_mixing}"

    @property
    def no_mixing(self) -> str:
        """Why shards are not mixed; empty if they are."""
        return "" if self.learner._mixes else str(self.learner._no_mixing)

    @property
    def summary(self) -> str:
        """The first line of the learner's description."""
        return (self.learner.__doc__ or "").strip().splitlines()[0]


LEARNERS = {
    "perceptron": Entry(Perceptron, "(R / gamma)²"),
    "averaged-perceptron": Entry(AveragedPerceptron, "(R / gamma)²"),
    "voted-perceptron": Entry(VotedPerceptron, "(R / gamma)²"),
    "kernel-perceptron": Entry(KernelPerceptron, "(R / gamma)², in the feature space", small=True),
    "winnow": Entry(Winnow, "ln p / L"),
    "balanced-winnow": Entry(BalancedWinnow, "ln(2p + 2) / L"),
    "p-norm-perceptron": Entry(PNormPerceptron, "(p - 1) ||u||_q² X_p² / margin²"),
    "passive-aggressive": Entry(PassiveAggressive, "max(R², 1/C) (||u||² + 2 C sum of hinge)"),
    "romma": Entry(ROMMA, "R² ||u||²"),
    "logistic-regression": Entry(LogisticRegression, "none", row_by_row={"solver": "sgd"}),
    "pegasos": Entry(Pegasos, "none"),
    "linear-program": Entry(LinearProgram, "the dual: margin_ <= t* <= margin_bound_", small=True),
    "max-margin": Entry(MaxMargin, "gap_, between margin and dual"),
    "naive-bayes": Entry(NaiveBayes, "exact, in one pass"),
    "least-squares": Entry(LeastSquares, "optimality_, the residual of the normal equations"),
}
