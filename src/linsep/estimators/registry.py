"""Table of all learners: the source of the public names, the contracts, the command line, the docs and the benchmarks.

The table names modules and classes. A module is imported when its learner is first used, so that `import linsep` does
not wait for the compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from linsep.estimators.base.learner import Learner


class Entry(NamedTuple):
    """A learner of the table."""

    module: str
    """The name of the module in `linsep.estimators`."""
    name: str
    """The name of the class."""
    bound: str
    """The bound on the mistakes, or the proof of the optimum, in a few words."""
    small: bool = False
    """If True, the time grows faster than the data: the learner is for small sets."""
    row_by_row: dict[str, Any] = {}  # noqa: RUF012  (never written to)
    """The parameters with which `fit` of an online learner trains row by row, where that is not the default."""

    sizes_matter: bool = True
    """If False, standardised columns are no help: no prediction depends on the sizes of columns, or entries are counts
    or numbers within a range."""

    @property
    def home(self) -> str:
        """The full name of the module."""
        return f"linsep.estimators.{self.module}"

    @property
    def learner(self) -> "type[Learner]":
        """The class, imported on first use."""
        kind: type[Learner] = getattr(import_module(self.home), self.name)
        return kind

    @property
    def online(self) -> bool:
        """Return whether the learner can train row by row and count its mistakes."""
        from linsep.estimators.base.online import OnlineLearner

        return issubclass(self.learner, OnlineLearner)

    def make(self, **parameters: Any) -> Any:
        """Return a learner with the given parameters, without those that the learner does not have."""
        known = self.learner._get_param_names()
        return self.learner(**{name: value for name, value in parameters.items() if name in known})

    def make_online(self, **parameters: Any) -> Any:
        """Return a learner whose `fit` goes row by row, with those of these parameters that it has."""
        return self.make(**{**self.row_by_row, **parameters})

    @property
    def mixes(self) -> str:
        """The guarantee for a mix of shards, or the reason why shards are never mixed."""
        return f"no: {self.no_mixing}" if self.no_mixing else self.learner._traits.mixes

    @property
    def no_mixing(self) -> str:
        """The reason why shards are never mixed; empty if some parameters allow mixing."""
        return self.learner._traits.never_mixes

    @property
    def summary(self) -> str:
        """The first line of the learner's docstring; "" under `python -OO`, which drops docstrings."""
        return (self.learner.__doc__ or "").strip().partition("\n")[0]


LEARNERS = {
    "perceptron": Entry("perceptron", "Perceptron", "(R / gamma)²"),
    "averaged-perceptron": Entry("perceptron", "AveragedPerceptron", "(R / gamma)²"),
    "moving-average": Entry("perceptron", "MovingAveragePerceptron", "(R / gamma)²"),
    "voted-perceptron": Entry("voted_perceptron", "VotedPerceptron", "(R / gamma)²"),
    "kernel-perceptron": Entry(
        "kernel_perceptron", "KernelPerceptron", "(R / gamma)², in the feature space", small=True
    ),
    "winnow": Entry("winnow", "Winnow", "ln p / L", sizes_matter=False),
    "balanced-winnow": Entry("winnow", "BalancedWinnow", "ln(2p + 2) / L", sizes_matter=False),
    "p-norm-perceptron": Entry("p_norm", "PNormPerceptron", "(p - 1) ||u||_q² X_p² / margin²"),
    "passive-aggressive": Entry("passive_aggressive", "PassiveAggressive", "max(R², 1/C) (||u||² + 2 C sum of hinge)"),
    "romma": Entry("romma", "ROMMA", "R² ||u||²"),
    "logistic-regression": Entry("logistic", "LogisticRegression", "none", row_by_row={"solver": "sgd"}),
    "pegasos": Entry("pegasos", "Pegasos", "none"),
    "linear-program": Entry(
        "linear_program", "LinearProgram", "the dual: margin_ <= t* <= margin_bound_", small=True, sizes_matter=False
    ),
    "max-margin": Entry("max_margin", "MaxMargin", "gap_, between margin and dual"),
    "naive-bayes": Entry("naive_bayes", "NaiveBayes", "exact, in one pass", sizes_matter=False),
    "least-squares": Entry(
        "least_squares", "LeastSquares", "optimality_, the residual of the normal equations", sizes_matter=False
    ),
}
