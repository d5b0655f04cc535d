"""Base class of linear regressions that are trained row by row: predict, weights."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, column_or_1d

from linsep.engine.arrays import Array, frozen
from linsep.estimators.base.linear_model import LinearModel
from linsep.training.state import TOO_LARGE
from linsep.training.transaction import on_snapshot
from linsep.validation.errors import InvalidDataError
from linsep.validation.inputs import canonical, refuse_bad_entries


class Regressor(RegressorMixin, LinearModel):
    """A linear regression with scikit-learn's interface, whose weights are those of a training state."""

    @on_snapshot
    def predict(self, X: Any) -> Array:
        """Return the value of each row, w.x + b."""
        state = self._fitted()
        data = canonical(self, X, bias=state.bias, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            values: Array = state.scorer(data.n_features).scores(data, 1)[:, 0]
        if not np.isfinite(values).all():
            refuse_bad_entries(data)
            raise InvalidDataError(TOO_LARGE)
        return values

    @property
    @on_snapshot
    def coef_(self) -> Any:
        """The weights, (features,), a read-only array."""
        return frozen(np.ascontiguousarray(self._fitted().scorer().weights()[:-1, 0]))

    @property
    @on_snapshot
    def intercept_(self) -> Array:
        """The bias, (1,), a read-only array."""
        state = self._fitted()
        biases: Array = frozen(state.scorer().weights()[-1] * state.bias)
        return biases


def targets_of(y: Any, rows: int) -> Array:
    """Return y as finite numbers for that many rows, or raise a ValueError that states what is wrong with it."""
    if y is None:
        raise InvalidDataError("this learner requires y to be passed, but the target y is None")
    try:
        values = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=np.float64, input_name="y")
    except ValueError as error:
        raise InvalidDataError(str(error)) from error
    if len(values) != rows:
        raise InvalidDataError(f"X has {rows} rows and y has {len(values)} targets: inconsistent numbers of samples")
    return np.ascontiguousarray(values)
