"""The bias as a feature."""

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from linsep.transforms.base import FeatureMap, as_entry, is_sparse, with_last_entries


class Bias(FeatureMap):
    """A constant feature after the last one: x -> [x, value].

    A learner with `fit_intercept=True` does the same: use this map with `fit_intercept=False`, or before
    another map. With margin gamma, bias b and rows of norm R at most, the perceptron makes
    k <= (R² + value²)(1 + b²/value²)/gamma² mistakes: value² = R|b| is best.

    Parameters
    ----------
    value : float, default=1.0
        The constant, above 0.

    Examples
    --------
    >>> Bias(0.5).fit_transform([[1.0, 2.0], [3.0, 4.0]])
    array([[1. , 2. , 0.5],
           [3. , 4. , 0.5]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"value": [Interval(Real, 0, None, closed="neither")]}

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the features: those of the input, and "bias"."""
        return np.append(super().get_feature_names_out(input_features), "bias").astype(object)

    def _columns(self) -> int:
        return int(self.n_features_in_) + 1

    def _name(self, column: int, before: Callable[[int], str]) -> str:
        return before(column) if column < self.n_features_in_ else "bias"

    def _check_facts(self) -> None:
        super()._check_facts()
        as_entry(self.value, np.float64)

    def _mapped(self, X: Any) -> Any:
        width = self.n_features_out_
        if is_sparse(X):
            return with_last_entries(X, width - 1, self.value, width)
        result = np.empty((len(X), width), X.dtype)
        result[:, :-1] = X
        result[:, -1] = as_entry(self.value, X.dtype)
        return result
