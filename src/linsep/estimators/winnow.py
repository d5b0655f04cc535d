"""Winnow and balanced Winnow: the perceptron's rule with exponential weights."""

import warnings
from numbers import Real
from typing import Any, ClassVar, Unpack

import numpy as np
from scipy import special
from sklearn.utils._param_validation import Interval

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.estimators.base.online import OnlineLearner, Shared
from linsep.estimators.base.traits import Traits
from linsep.rules import Perceptron as Rule
from linsep.theory.bounds import best_rate, fall
from linsep.training.state import Parts
from linsep.validation.errors import ParameterError
from linsep.validation.inputs import refuse_bad_entries

MIXES = "mixes its inner sums, keeps its bound"
POSITIVE = Interval(Real, 0, None, closed="neither")


class _Multiplicative(OnlineLearner):
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineLearner._parameter_constraints,
        "eta": [None, POSITIVE],
        "delta": [None, POSITIVE],
        "x_max": [None, POSITIVE],
    }

    def __init__(
        self,
        *,
        eta: float | None = None,
        delta: float | None = None,
        x_max: float | None = 1.0,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(**shared)
        self.eta = eta
        self.delta = delta
        self.x_max = x_max

    def _parts(self, features: int, rows: int | None) -> Parts:
        return Parts(Rule(), self._traits.link, self._rate())

    def _rate(self) -> float:
        eta, delta, x_max = self.eta, self.delta, self.x_max
        if delta is None:
            return eta if eta is not None else 0.5 / (x_max or 1.0)
        beta = self.intercept_scaling if self.fit_intercept else 0.0
        if x_max is not None and not isinstance(beta, str) and beta > x_max:
            raise ParameterError(
                f"intercept_scaling={beta:g} is beyond x_max={x_max:g}, and the bias is a feature like all others: "
                f"the bound for delta would not hold; set intercept_scaling={x_max:g}"
            )
        if x_max is None:
            raise ParameterError("delta needs x_max, the largest |entry| of X: set both")
        if not 0 < delta < x_max:
            raise ParameterError(f"delta={delta:g} is not a margin: it must lie in (0, x_max) = (0, {x_max:g})")
        if eta is not None and fall(delta, x_max, eta) <= 0:
            raise ParameterError(
                f"eta={eta:g} with delta={delta:g} gives no mistake bound: L = eta delta - ln cosh(eta x_max) is "
                f"{fall(delta, x_max, eta):.3g}, not above 0; leave eta out to get the best rate, "
                f"{best_rate(delta, x_max):.3g}"
            )
        return eta if eta is not None else best_rate(delta, x_max)

    def _first_bias(self, entries: Array | None) -> float:
        beta = super()._first_bias(entries)
        return beta if self.x_max is None else min(beta, float(self.x_max))

    @property
    def exponents_(self) -> Array:
        """Return the logarithms of the weights before they are normalised: (binary classifiers, weights).

        Winnow has a weight a feature, balanced Winnow two, the second half for -x; with a bias two more follow, for
        +beta and -beta. All are 0 at the start. Z is the sum of their exponentials. One-vs-rest has a row a class,
        as `coef_` has; joint classes have one row, the weights of the first class, the second, ...
        """
        state = self._readable().whole()
        s = state.link.number * state.link.s.T
        if not state.pair:
            s = np.atleast_2d(s[self._columns()])
        features, bias = s[:, :-1], s[:, -1:]
        signed = [features, -features] if self._traits.link == "sinh" else [features]
        weights = np.hstack([*signed, bias, -bias] if state.bias else signed)
        return weights.reshape(1, -1) if state.pair else weights

    @property
    def log_weights_(self) -> Array:
        """The logarithms of the normalised weights, in the form of `exponents_`: exponents - ln Z."""
        exponents = self.exponents_
        return exponents - special.logsumexp(exponents, axis=1, keepdims=True)

    def potential(self, u: Any) -> Array:
        """Return KL(u || w) of each row of `exponents_`, for a target u >= 0 with sum 1 in the form of a row.

        It starts at most at the logarithm of the number of weights, and each mistake lowers it by at least
        L = eta delta - ln cosh(eta x_max), where u has margin delta on the rows.
        """
        target = np.asarray(u, np.float64)
        if target.shape[-1] != self.exponents_.shape[1] or np.any(target < 0) or not np.isclose(target.sum(), 1):
            raise ParameterError(f"u must be {self.exponents_.shape[1]} numbers, none below 0, with sum 1")
        return np.sum(special.xlogy(target, target) - target * self.log_weights_, axis=1)

    @property
    def _entry_limit(self) -> float | None:  # type: ignore[override]
        return self.x_max

    def _check_entries(self, data: Dense | Csr) -> None:
        if self.x_max is not None:
            refuse_bad_entries(data, self.x_max)


class Winnow(_Multiplicative):
    """Littlestone's Winnow: on a mistake, w_j <- w_j e^{eta y x_j} / Z, from w_j = 1/p.

    For a target u >= 0 with ||u||_1 = 1, margin delta and entries up to x_max, it makes at most ln p / L mistakes with
    L = eta delta - ln cosh(eta x_max), where that is above 0; the best rate is
    eta* = ln((x_max + delta) / (x_max - delta)) / (2 x_max). The bias is two features, +beta and -beta, so that its
    weight can have either sign. Inside, s = sum of y x over the mistakes and w = softmax(eta s): no rate overflows.

    Parameters
    ----------
    eta : float, optional
        The rate. By default the best one for `delta`, or 0.5 / x_max.
    delta : float, optional
        The margin to choose the rate for, in (0, x_max). With `eta` too, a pair without a bound is refused.
    x_max : float or None, default=1.0
        The largest |entry| of X; a larger one is an error. None: not limited, and no bound.
    **shared
        Those of every online learner: see :class:`linsep.estimators.base.online.OnlineLearner`.

    Examples
    --------
    >>> from linsep import Winnow
    >>> clf = Winnow(shuffle=False).fit([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 1, 0]], [1, 0, 1, 0])
    >>> clf.mistakes_, clf.predict([[1, 0, 0], [0, 0, 1]])
    (3, array([1, 0]))
    """

    _traits = Traits(rules=(Rule,), link="exponential", mixes=MIXES)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # weights are positive: not every data set has such a separator
        return tags

    def _check_entries(self, data: Dense | Csr) -> None:
        super()._check_entries(data)
        if not self.fit_intercept and data.values.size and np.min(data.values) >= 0:
            warnings.warn(
                "Winnow without a bias predicts +1 for all non-negative rows: set fit_intercept=True or BalancedWinnow",
                UserWarning,
                stacklevel=5,
            )


class BalancedWinnow(_Multiplicative):
    """Winnow on [x, -x], kept in p weights: w_j = (e^{eta s_j} - e^{-eta s_j}) / Z, s = sum of y x over the mistakes.

    The target may have any sign: with ||u||_1 = 1, margin delta and entries up to x_max, at most ln(2p + 2) / L
    mistakes (ln(2p) / L without a bias), L and the best rate as for :class:`Winnow`.

    Parameters
    ----------
    eta : float, optional
        The rate. By default the best one for `delta`, or 0.5 / x_max.
    delta : float, optional
        The margin to choose the rate for, in (0, x_max). With `eta` too, a pair without a bound is refused.
    x_max : float or None, default=1.0
        The largest |entry| of X; a larger one is an error. None: not limited, and no bound.
    **shared
        Those of every online learner: see :class:`linsep.estimators.base.online.OnlineLearner`.

    Examples
    --------
    >>> from linsep import BalancedWinnow
    >>> clf = BalancedWinnow(shuffle=False).fit([[1, 0], [0, 1], [1, 1], [0, 1]], [1, 0, 1, 0])
    >>> clf.predict([[1, 0], [0, 1]])
    array([1, 0])
    """

    _traits = Traits(rules=(Rule,), link="sinh", mixes=MIXES)
