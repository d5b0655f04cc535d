"""The perceptron, which predicts with the last weights, and with averages of all weights or of the recent ones."""

from numbers import Real
from typing import Any, ClassVar, Unpack

from sklearn.utils._param_validation import Interval

from linsep.engine.readouts import Average, RecentAverage
from linsep.estimators.base.online import OnlineLearner, Shared
from linsep.estimators.base.traits import Traits
from linsep.rules import Perceptron as Rule
from linsep.training.state import Parts, TrainingState


class Perceptron(OnlineLearner):
    """Rosenblatt's perceptron: on a mistake, y w.x <= 0, add the row: w += y x.

    On rows of norm at most R that some unit vector separates with margin gamma, it makes at most (R / gamma)²
    mistakes, in any order (Novikoff, 1962). Multiplying all of X by a power of two changes no mistake; an
    `intercept_scaling` that is a number must be multiplied, too.

    Parameters
    ----------
    **shared
        Those of every online learner: see :class:`linsep.estimators.base.online.OnlineLearner`.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> clf = Perceptron(shuffle=False).fit([[0, 1], [1, 0], [2, 1], [1, 2]], [-1, 1, 1, -1])
    >>> clf.mistakes_, clf.coef_, clf.predict([[3, 0]])
    (2, array([[ 1., -1.]]), array([1]))
    """

    _traits = Traits(rules=(Rule,), mixes="keeps its bound")

    def _parts(self, features: int, rows: int | None) -> Parts:
        return Parts(Rule())


class AveragedPerceptron(OnlineLearner):
    """The perceptron, predicting with the average of its weights before each round: a = (w_1 + ... + w_m) / m.

    It makes the perceptron's mistakes, and its bound holds for them; on data that are not separable the average
    predicts far better than the last weights. The average itself comes with no guarantee (the vote does).

    Parameters
    ----------
    **shared
        Those of every online learner: see :class:`linsep.estimators.base.online.OnlineLearner`.

    Examples
    --------
    >>> from linsep import AveragedPerceptron
    >>> clf = AveragedPerceptron(shuffle=False, fit_intercept=False).fit([[1, 1], [-1, -1]], [1, -1])
    >>> clf.coef_  # the mean of (0, 0), (1, 1), (1, 1) and (1, 1), the weights before each of four rounds
    array([[0.75, 0.75]])
    """

    _traits = Traits(rules=(Rule,), mixes="keeps its bound")

    def _parts(self, features: int, rows: int | None) -> Parts:
        return Parts(Rule(), readout=Average)


class MovingAveragePerceptron(OnlineLearner):
    """The perceptron, predicting with a moving average of its weights, in which old rounds fade: for data that drift.

    With N = `horizon`, a round counts 1 - 1/N times as much as the next, so that the average of many rounds follows
    a <- (1 - 1/N) a + w / N. The first rounds are averaged as :class:`linsep.AveragedPerceptron` does. It makes the
    perceptron's mistakes, and the perceptron's bound holds for them. A row's weight multiplies what its round counts.

    Parameters
    ----------
    horizon : float, default=1000.0
        The rounds after which a round counts 1/e of what it did; above 1.
    **shared
        Those of every online learner: see :class:`linsep.estimators.base.online.OnlineLearner`.

    Examples
    --------
    >>> from linsep import MovingAveragePerceptron
    >>> clf = MovingAveragePerceptron(horizon=2, fit_intercept=False)
    >>> clf.partial_fit([[1, 1], [-1, -1], [2, 2]], [1, -1, 1]).coef_  # (0, 0), (1, 1) and (1, 1) count 1, 2 and 4
    array([[0.857, 0.857]])
    """

    _traits = Traits(rules=(Rule,), never_mixes="its average weighs rounds by their order, and shards share none")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineLearner._parameter_constraints,
        "horizon": [Interval(Real, 1, None, closed="neither")],
    }

    def __init__(self, *, horizon: float = 1000.0, **shared: Unpack[Shared]) -> None:
        super().__init__(**shared)
        self.horizon = horizon

    def _parts(self, features: int, rows: int | None) -> Parts:
        return Parts(Rule(), readout=RecentAverage)

    def _configure(self, state: TrainingState) -> None:
        super()._configure(state)
        state.readout.growth[:] = 1.0 / (1.0 - 1.0 / self.horizon)
