"""The perceptron and the averaged perceptron, which predict with the last weights and with their average."""

from linsep.engine.readouts import Average
from linsep.estimators.base.online import OnlineLearner
from linsep.estimators.base.traits import Traits
from linsep.rules import Perceptron as Rule
from linsep.training.state import Parts


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
    """The perceptron, answering with the average of its weights before each round: a = (w_1 + ... + w_m) / m.

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
