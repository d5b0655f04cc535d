"""Training without warnings."""

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from linsep.estimators.base.learner import Learner


def fit_quietly(learner: Learner, X: Any, y: Any, weights: Any = None) -> bool:
    """Fit, and return whether the learner settled instead of letting it warn.

    >>> from linsep import Perceptron
    >>> fit_quietly(Perceptron(), [[0], [0]], [0, 1])
    False
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        learner.fit(X, y, sample_weight=weights)
    return not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
