"""What a model answers to rows: its scores, labels and probabilities."""

from typing import Any, NamedTuple

import numpy as np

from linsep.core.arrays import Array
from linsep.models.estimators import is_calibrated


class Answers(NamedTuple):
    """A model's answers to some rows; probabilities are None where it has none to give."""

    scores: Array
    labels: Array
    probabilities: Array | None


def answers(model: Any, X: Any) -> Answers:
    """Return the answers of a learner, or of a pipeline that ends in one.

    >>> from linsep import Perceptron
    >>> clf = Perceptron(shuffle=False).fit([[0, 1], [1, 0]], ["no", "yes"])
    >>> answers(clf, [[3, 0]]).labels
    array(['yes'], dtype='<U3')
    """
    scores = model.decision_function(X)
    probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    labels = model.predict(X) if is_calibrated(model) else labels_of(model.classes_, scores)
    return Answers(scores, labels, probabilities)


def labels_of(classes: Array, scores: Array) -> Array:
    """Return the labels that scores stand for: 0 is the negative class, ties go to the lower one."""
    if len(classes) == 1:
        return classes[np.zeros(len(scores), np.intp)]
    return classes[(scores > 0).astype(np.intp) if scores.ndim == 1 else np.argmax(scores, axis=1)]
