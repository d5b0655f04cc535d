"""Base class of classifiers and regressors: the training state, and the names of the features."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from linsep.engine.arrays import Array
from linsep.training.state import TrainingState


class LinearModel(BaseEstimator):
    """An estimator whose weights are those of a training state."""

    n_features_in_: int
    random_state: Any = None
    seed_: int
    _state: TrainingState
    _names: dict[str, int] | None = None
    """The column of each feature by its name, if the features have names."""

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, if they have names."""
        if self._names is None:
            raise AttributeError("the features have no names")
        return np.array(list(self._names), dtype=object)

    @feature_names_in_.setter
    def feature_names_in_(self, names: Any) -> None:
        self._names = {name: j for j, name in enumerate(names)}

    @feature_names_in_.deleter
    def feature_names_in_(self) -> None:
        self.__dict__.pop("_names", None)

    def _draw_seed(self) -> int:
        """Return `random_state` if it is a number, else a seed drawn from it."""
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _fitted(self) -> TrainingState:
        if not hasattr(self, "_state"):
            raise NotFittedError(f"this {type(self).__name__} has not been fitted yet: call fit or partial_fit first")
        return self._state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
