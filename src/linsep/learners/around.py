"""What a model around a learner has of the learner."""

import copy
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from linsep.core.arrays import Array


class AroundLearner:
    """The part of a model that passes on what the learner in it knows; stands before scikit-learn's own bases."""

    learner: Any
    learner_: Any

    def decision_function(self, X: Any) -> Array:
        """Return the learner's own scores."""
        return self._fitted().decision_function(X)

    @property
    def classes_(self) -> Array:
        """The labels, in order."""
        return self._fitted().classes_

    @property
    def coef_(self) -> Any:
        """The learner's weights."""
        return self._fitted().coef_

    @property
    def intercept_(self) -> Array:
        """The learner's biases."""
        return self._fitted().intercept_

    @property
    def n_features_in_(self) -> int:
        """The number of features that the learner takes."""
        return self._fitted().n_features_in_

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, where the learner knows them."""
        return self._fitted().feature_names_in_

    def __sklearn_is_fitted__(self) -> bool:
        return "learner_" in vars(self) and is_fitted(self.learner_)

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.learner)  # type: ignore[misc]
        tags.input_tags = copy.deepcopy(own.input_tags)
        tags.classifier_tags = copy.deepcopy(own.classifier_tags)
        return tags

    def _fitted(self) -> Any:
        """Return the trained learner."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} has not been fitted yet: call fit or partial_fit first")
        return self.learner_


def is_fitted(learner: Any) -> bool:
    """Tell whether a learner can answer."""
    try:
        check_is_fitted(learner)
    except NotFittedError:
        return False
    return True
