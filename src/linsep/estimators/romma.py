"""ROMMA, plain and aggressive."""

from typing import Any, ClassVar, Literal, Unpack

from sklearn.utils._param_validation import StrOptions

from linsep.estimators.base.online import READOUTS, OnlineLearner, Shared
from linsep.estimators.base.traits import Traits
from linsep.rules import AggressiveRomma, Romma
from linsep.training.state import Parts

AGGRESSIVE = "its steps on rows that are no mistakes may lead away from every separator, and a mix of them err for ever"
"""Reason for refusing to mix aggressive updates."""


class ROMMA(OnlineLearner):
    """The relaxed online maximum margin algorithm: the shortest w for the new row and the sum of what came before.

    The update is in :mod:`linsep.rules.romma`. On rows with y u.x >= 1 at most R² ||u||² mistakes, the perceptron's
    bound, with weights that converge to the maximum margin (Li and Long, 2002). A row parallel to w allows no step:
    `skipped_`.

    Parameters
    ----------
    aggressive : bool, default=False
        If True, update on every row of margin below 1, not only on mistakes.
    readout : "last" or "average", default="last"
        The weights that predict.
    **shared
        Those of every online learner: see :class:`linsep.estimators.base.online.OnlineLearner`.

    Examples
    --------
    >>> from linsep import ROMMA
    >>> clf = ROMMA(shuffle=False, fit_intercept=False).fit([[2, 0], [0, 2]], [1, -1])
    >>> clf.coef_  # both rows at margin 1
    array([[ 0.5, -0.5]])
    """

    _traits = Traits(rules=(Romma, AggressiveRomma), mixes="keeps its bound (unless aggressive: then it is not mixed)")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineLearner._parameter_constraints,
        "aggressive": ["boolean"],
        "readout": [StrOptions(set(READOUTS))],
    }

    def __init__(
        self, *, aggressive: bool = False, readout: Literal["last", "average"] = "last", **shared: Unpack[Shared]
    ) -> None:
        super().__init__(**shared)
        self.aggressive = aggressive
        self.readout = readout

    @property
    def _no_mixing(self) -> str:
        return AGGRESSIVE if self.aggressive else ""

    def _parts(self, features: int, rows: int | None) -> Parts:
        return Parts(AggressiveRomma() if self.aggressive else Romma(), readout=READOUTS[self.readout])
