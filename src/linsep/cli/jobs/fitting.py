"""Training without warnings."""

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from linsep.estimators.base.learner import Learner


def fit_quietly(learner: Learner, X: Any, y: Any, weights: Any = None) -> bool:
    """Fit without warnings, and return whether the learner settled: no mistakes, or steps, are left.

    >>> from linsep import Perceptron
    >>> fit_quietly(Perceptron(), [[0], [0]], [0, 1])
    False
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        learner.fit(X, y, sample_weight=weights)
    warned = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return not warned and getattr(learner, "_settled", True)
