"""Pegasos: the linear support vector machine, trained by stochastic subgradient steps."""

from numbers import Real
from typing import Any, ClassVar, Literal, Unpack

from sklearn.utils._param_validation import Interval, StrOptions

from linsep.estimators.base.online import READOUTS, OnlineLearner, Shared
from linsep.estimators.base.traits import Traits
from linsep.rules import Hinge
from linsep.training.state import Parts


class Pegasos(OnlineLearner):
    """Minimise alpha/2 ||w||² + mean of (1 - y w.x)+ with steps 1/(alpha t), the bias under the penalty too.

    w <- (1 - 1/t) w, and y x / (alpha t) is added where y w.x < 1 (Shalev-Shwartz et al., 2011). What scikit-learn's
    SGDClassifier does by default, with another schedule.

    Parameters
    ----------
    alpha : float, default=1e-4
        The strength of the penalty.
    readout : "last" or "average", default="last"
        The weights that predict.
    **shared
        Those of every online learner: see :class:`linsep.estimators.base.online.OnlineLearner`.

    Examples
    --------
    >>> from linsep import Pegasos
    >>> clf = Pegasos(alpha=0.1, random_state=0).fit([[0, 1], [1, 0], [2, 1], [1, 2]], [-1, 1, 1, -1])
    >>> clf.predict([[3, 0], [0, 3]])
    array([ 1, -1])
    """

    _traits = Traits(rules=(Hinge,), mixes="convex loss: a mix is no worse than its shards on average")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineLearner._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "readout": [StrOptions(set(READOUTS))],
    }

    def __init__(
        self, *, alpha: float = 1e-4, readout: Literal["last", "average"] = "last", **shared: Unpack[Shared]
    ) -> None:
        super().__init__(**shared)
        self.alpha = alpha
        self.readout = readout

    def _parts(self, features: int, rows: int | None) -> Parts:
        return Parts(Hinge(self.alpha), readout=READOUTS[self.readout])
