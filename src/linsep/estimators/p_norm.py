"""The p-norm perceptron: between the perceptron and Winnow."""

from math import log
from numbers import Real
from typing import Any, ClassVar, Unpack

from sklearn.utils._param_validation import Interval

from linsep.estimators.base.online import OnlineLearner, Shared
from linsep.estimators.base.traits import Traits
from linsep.rules import Perceptron as Rule
from linsep.training.state import Parts
from linsep.validation.errors import ParameterError


def default_power(weights: int) -> float:
    """Return 2 ln N, at least 2, for N weights."""
    return max(2.0, 2 * log(weights))


def refuse_no_power(p: float | None) -> None:
    """Raise a ValueError when p is left open where the number of weights is not known."""
    if p is None:
        raise ParameterError(
            "p=None means 2 ln N for N weights, and a stream of names has no known N: set p, such as p=16"
        )


class PNormPerceptron(OnlineLearner):
    """The perceptron's rule under w_j = sign(s_j) |s_j|^(p-1) / ||s||_p^(p-2), s = sum of y x over the mistakes.

    With 1/p + 1/q = 1 it makes at most (p - 1) ||u||_q² X_p² / margin² mistakes, X_p = max ||x||_p: p = 2 is the
    perceptron, and p about 2 ln N behaves like Winnow without a rate to choose (Grove, Littlestone and Schuurmans,
    2001).

    Parameters
    ----------
    p : float, optional
        At least 2. By default 2 ln N for the N weights, bias included, that training begins with.
    **shared
        Those of every online learner: see :class:`linsep.estimators.base.online.OnlineLearner`.

    Examples
    --------
    >>> from linsep import PNormPerceptron
    >>> clf = PNormPerceptron(p=4, shuffle=False).fit([[0, 1], [1, 0], [2, 1], [1, 2]], [-1, 1, 1, -1])
    >>> clf.score([[3, 0], [0, 3]], [1, -1])
    1.0
    """

    _traits = Traits(rules=(Rule,), link="p-norm", mixes="mixes its inner sums, keeps its bound")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineLearner._parameter_constraints,
        "p": [None, Interval(Real, 2, None, closed="left")],
    }

    def __init__(self, *, p: float | None = None, **shared: Unpack[Shared]) -> None:
        super().__init__(**shared)
        self.p = p

    def _parts(self, features: int, rows: int | None) -> Parts:
        p = self.p if self.p is not None else default_power(features + self.fit_intercept)
        return Parts(Rule(), self._traits.link, p - 1)

    def _check_open_width(self) -> None:
        refuse_no_power(self.p)
