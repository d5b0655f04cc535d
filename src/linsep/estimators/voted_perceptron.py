"""The voted perceptron: every hypothesis of the run has a vote, as large as the rounds that it survived."""

from dataclasses import replace
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
from sklearn.utils._param_validation import StrOptions

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.links import Additive
from linsep.estimators.base.online import Shared
from linsep.estimators.base.voter import Voter
from linsep.rules import Perceptron as Rule
from linsep.training.scoring import Scorer
from linsep.training.state import Parts


class VotedPerceptron(Voter):
    """The perceptron, predicting with a vote of all its weights on the way: sign(sum of c_k sign(v_k.x)).

    Weights v_k vote with c_k, the rounds that they were used for, the one included that they failed in. It makes the
    perceptron's mistakes, and its bound holds for them; after one pass over independent rows, weights drawn with
    probability c_k / m err with probability E[k] / m, and the vote at most twice as often (Freund and Schapire, 1999).

    No v_k is stored, only the distinct rows of mistakes: v_k.x is a sum over the first k mistakes, so that one
    walk over them gives the scores of all. `readout` and `normalize` may be changed after training, at no cost.

    Parameters
    ----------
    readout : "vote", "plurality", "random", "last", "average" or "longest", default="vote"
        The weights that predict. "vote": all, each with its sign; scores are in [-1, 1]. "average": the mean of all
        scores. "last": those at the end. "longest": those with the largest c_k. "random": those of a round that is
        drawn for each row, one round for all classes. "plurality": of three classes or more, each round's
        weights vote for one class, that of their highest score; for `multi_class="joint"` the vote means this.
    normalize : bool, default=False
        If True, every v_k is divided by its length first. A vote does not change, but for a plurality.
    max_support : int, optional
        The most rows to keep.
    when_full : "raise" or "forget", default="raise"
        Action when there would be more. "raise": an error, and nothing is learned from the call. "forget": fold the
        oldest mistakes into one vector; then the vote (and the average, ...) is over the latest weights, whose mistakes
        since are on at most `max_support` distinct rows. Those that are left vote exactly as before.
    **shared
        Those of every online learner: see :class:`linsep.estimators.base.online.OnlineLearner`.

    Examples
    --------
    >>> from linsep import VotedPerceptron
    >>> X, y = [[0, 1], [1, 0], [2, 1], [1, 2]], [-1, 1, 1, -1]
    >>> clf = VotedPerceptron(shuffle=False, max_iter=2).fit(X, y)
    >>> clf.mistakes_, clf.survival_, clf.decision_function([[3, 0]])
    (2, array([1., 1., 6.]), array([0.5]))
    >>> clf.set_params(readout="average").decision_function([[3, 0]])
    array([2.125])
    """

    _traits = replace(Voter._traits, rules=(Rule,))
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Voter._parameter_constraints,
        "when_full": [StrOptions({"raise", "forget"})],
    }

    def __init__(
        self,
        *,
        readout: Literal["vote", "plurality", "random", "last", "average", "longest"] = "vote",
        normalize: bool = False,
        max_support: int | None = None,
        when_full: Literal["raise", "forget"] = "raise",
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(**shared)
        self.readout = readout
        self.normalize = normalize
        self.max_support = max_support
        self.when_full = when_full

    def _parts(self, features: int, rows: int | None) -> Parts:
        return Parts(Rule())

    def _configure(self, state: Any) -> None:
        super()._configure(state)
        state.history.forgets = self.when_full == "forget"

    def learn_one(self, x: Any, y: Any) -> Any:
        """Learn from one row; see :meth:`linsep.Perceptron.learn_one`."""
        history = self._state.history if self.max_support is not None and hasattr(self, "_state") else None
        support = None if history is None else history.support
        full = support is not None and self.max_support is not None and len(support) >= self.max_support
        return self._learn_alone(x, y) if full and self.when_full == "raise" else super().learn_one(x, y)

    def _linear_scores(self, data: Dense | Csr, jobs: int) -> Array:
        weights, divisors = self._hypotheses().written_out(self.readout, self.normalize)
        scorer = Scorer(Additive(weights), np.ones(len(divisors)), self._state.pair)
        return scorer.scores(data, jobs) / divisors

    def _weights(self) -> Array:
        self._fitted()
        self._check_linear()
        weights, divisors = self._hypotheses().written_out(self.readout, self.normalize)
        return weights / divisors
