"""Passive-aggressive learners."""

from numbers import Real
from typing import Any, ClassVar, Literal, Unpack

from sklearn.utils._param_validation import Interval, StrOptions

from linsep.estimators.base.online import READOUTS, OnlineLearner, Shared
from linsep.estimators.base.traits import Traits
from linsep.rules import PassiveAggressive as PA
from linsep.rules import PassiveAggressiveI, PassiveAggressiveII
from linsep.training.state import Parts


class PassiveAggressive(OnlineLearner):
    """Move as little as gives the row margin 1: w += tau y x, tau from the loss l = (1 - y w.x)+.

    PA: tau = l / ||x||²; PA-I: min(C, l / ||x||²); PA-II: l / (||x||² + 1/(2C)). With one constraint, MIRA is PA-I.
    Bounds: see :mod:`linsep.rules.passive_aggressive` (Crammer et al., 2006).

    Parameters
    ----------
    C : float, default=1.0
        Limit of the step of one row (PA-I, PA-II).
    variant : "PA-I", "PA" or "PA-II", default="PA-I"
        The rule.
    readout : "last" or "average", default="last"
        The weights that predict.
    **shared
        Those of every online learner: see :class:`linsep.estimators.base.online.OnlineLearner`.

    Examples
    --------
    >>> from linsep import PassiveAggressive
    >>> clf = PassiveAggressive(variant="PA", shuffle=False, fit_intercept=False).fit([[2, 0], [0, 2]], [1, -1])
    >>> clf.coef_
    array([[ 0.5, -0.5]])
    """

    _traits = Traits(rules=(PA, PassiveAggressiveI, PassiveAggressiveII), mixes="keeps its bound")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineLearner._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "variant": [StrOptions({"PA", "PA-I", "PA-II"})],
        "readout": [StrOptions(set(READOUTS))],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        variant: Literal["PA", "PA-I", "PA-II"] = "PA-I",
        readout: Literal["last", "average"] = "last",
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(**shared)
        self.C = C
        self.variant = variant
        self.readout = readout

    def _parts(self, features: int, rows: int | None) -> Parts:
        rules = {"PA": PA(), "PA-I": PassiveAggressiveI(self.C), "PA-II": PassiveAggressiveII(self.C)}
        return Parts(rules[self.variant], readout=READOUTS[self.readout])
