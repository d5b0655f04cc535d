"""Learners as estimators of river: learn_one, predict_one, predict_proba_one and mini-batches.

Features are named by strings; other names become strings. Import this module where river is installed.
"""

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from river import base
from sklearn.base import clone, is_regressor

from linsep.engine.arrays import Array
from linsep.validation.errors import ParameterError

Features = dict[Any, Any]


class _Wrapped:
    """Base of the classifier and the regressor: a learner that learns from rows with named features."""

    learner: Any

    def _begin(self, learner: Any, regressor: bool) -> None:
        name = type(learner).__name__
        if not hasattr(learner, "learn_one"):
            raise ParameterError(f"{name} has no learn_one: wrap an online learner of linsep")
        if is_regressor(learner) != regressor:
            other = "RiverRegressor" if is_regressor(learner) else "RiverClassifier"
            raise ParameterError(f"{name} is wrapped by {other}")
        self.learner = learner
        self._model = clone(learner)
        self._learned = False

    def _learn(self, x: Features, y: Any) -> None:
        self._model.learn_one(_named(x), y)
        self._learned = True

    def _learn_rows(self, X: Any, y: Any) -> None:
        for row, target in zip(_rows_of(X), np.asarray(y).tolist(), strict=True):
            self._learn(row, target)

    @property
    def _raw_memory_usage(self) -> int:
        """Return the bytes of the pickled model: a walk over its objects would count compiled code, too."""
        return len(pickle.dumps(self))

    def _table(self, X: Any) -> Any:
        """Return a dataframe with the model's features as columns; features never seen are left out."""
        return X.rename(columns=str).reindex(columns=list(self._model.feature_names_in_), fill_value=0.0)


def _named(x: Features) -> dict[str, float]:
    """Return a row by the names of its features, in their order: sums then have the same bits in any order of x."""
    return dict(sorted((str(name), float(value)) for name, value in x.items()))


def _rows_of(X: Any) -> Iterator[Features]:
    names = list(X.columns)
    for values in X.to_numpy():
        yield dict(zip(names, values.tolist(), strict=True))


class RiverClassifier(_Wrapped, base.MiniBatchClassifier):
    """An online classifier of linsep as a classifier of river.

    Labels and features may arrive at any time. A learner with `predict_proba` predicts its probabilities; for others
    the predicted label has probability 1.

    Parameters
    ----------
    learner
        A learner of linsep that has `learn_one`; a copy of it is trained. With `log=False` its memory stays constant.

    Examples
    --------
    >>> from linsep import AveragedPerceptron
    >>> from linsep.compat.river import RiverClassifier
    >>> model = RiverClassifier(AveragedPerceptron())
    >>> for x, y in [({"sun": 1.0}, "out"), ({"rain": 2.0}, "in"), ({"sun": 2.0}, "out"), ({"rain": 1.0}, "in")]:
    ...     model.learn_one(x, y)
    >>> model.predict_one({"rain": 3.0, "snow": 1.0})
    'in'
    """

    def __init__(self, learner: Any) -> None:
        self._begin(learner, regressor=False)

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from linsep.estimators.logistic import LogisticRegression
        from linsep.estimators.perceptron import Perceptron

        yield {"learner": Perceptron()}
        yield {"learner": LogisticRegression(solver="sgd", eta0=0.01)}

    def learn_one(self, x: Features, y: Any) -> None:
        """Learn from one row."""
        self._learn(x, y.item() if isinstance(y, np.generic) else y)

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """Return the label of one row; None before the first was learned."""
        return self._model.predict_one(_named(x)) if self._learned else None

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label; nothing before the first row."""
        if not self._learned:
            return {}
        labels = self._model.classes_.tolist()
        if not hasattr(self._model, "predict_proba"):
            best = self._model.predict_one(_named(x))
            return {label: float(label == best) for label in labels}
        table = self._table(pd.DataFrame([_named(x)]))
        return dict(zip(labels, self._model.predict_proba(table)[0].tolist(), strict=True))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn from the rows of a dataframe, one after the other."""
        self._learn_rows(X, y)

    def predict_proba_many(self, X: Any) -> Any:
        """Return a dataframe of the probabilities, a column for each label."""
        if not self._learned:
            return pd.DataFrame(index=X.index)
        labels = self._model.classes_.tolist()
        if hasattr(self._model, "predict_proba"):
            probabilities: Array = self._model.predict_proba(self._table(X))
        else:
            probabilities = np.equal.outer(self._model.predict(self._table(X)), self._model.classes_).astype(float)
        return pd.DataFrame(probabilities, index=X.index, columns=labels)

    def predict_many(self, X: Any) -> Any:
        """Return a series of the labels of the rows of a dataframe."""
        if not self._learned:
            return pd.Series([None] * len(X), index=X.index, dtype=object)
        return pd.Series(self._model.predict(self._table(X)), index=X.index)


class RiverRegressor(_Wrapped, base.MiniBatchRegressor):
    """An online regression of linsep as a regressor of river.

    Parameters
    ----------
    learner
        `PassiveAggressiveRegressor`; a copy of it is trained.

    Examples
    --------
    >>> from linsep import PassiveAggressiveRegressor
    >>> from linsep.compat.river import RiverRegressor
    >>> model = RiverRegressor(PassiveAggressiveRegressor(epsilon=0.0))
    >>> model.learn_one({"x": 1.0}, 2.0)
    >>> model.predict_one({"x": 1.0})
    2.0
    """

    def __init__(self, learner: Any) -> None:
        self._begin(learner, regressor=True)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from linsep.estimators.passive_aggressive_regressor import PassiveAggressiveRegressor

        yield {"learner": PassiveAggressiveRegressor()}

    def learn_one(self, x: Features, y: Any) -> None:
        """Learn from one row."""
        self._learn(x, y)

    def predict_one(self, x: Features) -> float:
        """Return the value of one row; 0 before the first was learned."""
        return float(self._model.predict_one(_named(x))) if self._learned else 0.0

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn from the rows of a dataframe, one after the other."""
        self._learn_rows(X, y)

    def predict_many(self, X: Any) -> Any:
        """Return a series of the values of the rows of a dataframe."""
        values = self._model.predict(self._table(X)) if self._learned else np.zeros(len(X))
        return pd.Series(values, index=X.index)


__all__ = ["RiverClassifier", "RiverRegressor"]
