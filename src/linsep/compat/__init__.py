"""scikit-learn's stochastic linear models on linsep's engine: change the import, keep the code.

>>> from linsep.compat import SGDClassifier
>>> SGDClassifier(random_state=0).fit([[0, 1], [1, 0], [2, 1], [1, 2]], [0, 1, 1, 0]).predict([[3, 0]])
array([1])
"""

from linsep.compat.linear_model import (
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    Perceptron,
    SGDClassifier,
    SGDRegressor,
)

__all__ = ["PassiveAggressiveClassifier", "PassiveAggressiveRegressor", "Perceptron", "SGDClassifier", "SGDRegressor"]
