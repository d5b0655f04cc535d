"""Logistic regression."""

from numbers import Integral, Real
from typing import Any, ClassVar, Unpack

import numpy as np
from scipy import special
from sklearn.utils._param_validation import Interval, StrOptions

from linsep.core.examples import Array
from linsep.learners.base import READOUTS, OnlineLearner
from linsep.learners.machine import Parts
from linsep.learners.parameters import Shared
from linsep.rules import Logistic

POSITIVE = Interval(Real, 0, None, closed="neither")


class LogisticRegression(OnlineLearner):
    """Pr(y = 1 | x) = 1 / (1 + e^{-w.x}), fitted by stochastic gradient ascent: w += rate_t (1 - p(y|x)) y x.

    With a Gaussian prior N(0, `prior_variance`) on every weight, the bias included, it climbs to the maximum a
    posteriori: each of the n rows also shrinks w by rate_t / (n prior_variance). Without a prior, separable data have
    their optimum at infinity.

    Parameters
    ----------
    solver : "sgd", default="sgd"
        The way to the optimum.
    eta0 : float, default=0.1
        The rate of round t is eta0 / t**power_t.
    power_t : float, default=0.0
        See `eta0`.
    prior_variance : float or None, default=None
        The prior's variance; None for no prior.
    prior_rows : int or None, default=None
        n, the rows that share the prior; None: the rows given to `fit`. A stream has to state it.
    readout : "last" or "average", default="last"
        Which weights answer.
    **shared
        Those of every online learner: see :class:`linsep.learners.parameters.Parameters`.

    Examples
    --------
    >>> from linsep import LogisticRegression
    >>> clf = LogisticRegression(random_state=0, max_iter=100).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> clf.predict_proba([[0], [3]]).argmax(axis=1)
    array([0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineLearner._parameter_constraints,
        "solver": [StrOptions({"sgd"})],
        "eta0": [POSITIVE],
        "power_t": [Interval(Real, 0, None, closed="left")],
        "prior_variance": [None, POSITIVE],
        "prior_rows": [None, Interval(Integral, 1, None, closed="left")],
        "readout": [StrOptions(set(READOUTS))],
    }

    def __init__(
        self,
        *,
        solver: str = "sgd",
        eta0: float = 0.1,
        power_t: float = 0.0,
        prior_variance: float | None = None,
        prior_rows: int | None = None,
        readout: str = "last",
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(**shared)
        self.solver = solver
        self.eta0 = eta0
        self.power_t = power_t
        self.prior_variance = prior_variance
        self.prior_rows = prior_rows
        self.readout = readout

    def _parts(self, features: int, rows: int | None) -> Parts:
        shrink = 0.0
        if self.prior_variance is not None:
            n = self.prior_rows if self.prior_rows is not None else rows
            if n is None:
                raise ValueError(
                    "a prior is shared among all rows, and a stream does not tell how many: state prior_rows"
                )
            shrink = 1 / (n * self.prior_variance)
            if self.eta0 * shrink > 1:
                raise ValueError(
                    f"eta0={self.eta0:g} is too large for prior_variance={self.prior_variance:g} on {n} rows: one "
                    f"row would shrink the weights below 0; use at most {1 / shrink:g}"
                )
        return Parts(Logistic(self.eta0, self.power_t, shrink), readout=READOUTS[self.readout])

    def predict_proba(self, X: Any) -> Array:
        """Return Pr(class | x), (rows, classes).

        One-vs-rest: each machine's probability, divided by their sum. Pairs: the softmax of the classes' scores.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            if len(self.classes_) == 1:
                return np.ones((len(scores), 1))
            return np.column_stack([special.expit(-scores), special.expit(scores)])
        if self._machine.pair:
            return special.softmax(scores, axis=1)
        # The logs keep the sum above 0 however certain every machine is of "no".
        return special.softmax(-np.logaddexp(0.0, -scores), axis=1)

    def predict_log_proba(self, X: Any) -> Array:
        """Return ln Pr(class | x), (rows, classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
