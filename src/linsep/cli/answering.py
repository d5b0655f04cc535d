"""What a saved model answers to rows of files: how they are read for it, and its scores, labels and probabilities."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import linsep
from linsep.cli.failures import Usage
from linsep.cli.options import as_said
from linsep.data.formats import found, options_of
from linsep.data.reading import Stream
from linsep.data.sources import sources_of
from linsep.models.estimators import is_calibrated as is_calibrated
from linsep.models.estimators import learner_of as learner_of

Array = NDArray[Any]
NUMBERED = ("svmlight", "vw", "text")
"""Formats that can be told the number of columns."""


class Answers(NamedTuple):
    """A model's answers to some rows; probabilities are None where it has none to give."""

    scores: Array
    labels: Array
    probabilities: Array | None


def unsaid(form: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options but for those that say again how a model's data were read; to say it otherwise is an error."""
    own = {name: getattr(form, name) for name in options_of(type(form)) if name in options}
    for name, value in own.items():
        found = getattr(getattr(form, "found", None), name, value)
        if options[name] not in (value, found) and as_said({name: value}) != as_said({name: options[name]}):
            raise Usage(f"the model was trained with {' '.join(as_said({name: found}))}: leave out {name} here")
    return {name: value for name, value in options.items() if name not in own}


def rows_for(saved: Any, data: list[str], options: dict[str, Any]) -> Stream:
    """Return the rows of some files in the columns of a model that was opened.

    If the file does not tell how the training data were read, they are read as the options say.
    """
    if saved.form is not None:
        return linsep.stream(data, like=saved, **unsaid(saved.form, options))
    width = getattr(saved.model, "n_features_in_", None)
    if width is None:
        raise Usage("the model takes documents, and the file does not tell how to read any: fit it by `linsep fit`")
    if "n_features" not in options:
        first = sources_of(data)[0]
        format = options.get("format") or ("svmlight" if first.handle is not None else found(first))
        if format in NUMBERED:
            options = {**options, "n_features": width, "format": format}
    return linsep.stream(data, **options)


def answers(model: Any, X: Any) -> Answers:
    """Return the answers of a learner, or of a pipeline that ends in one.

    >>> clf = linsep.Perceptron(shuffle=False).fit([[0, 1], [1, 0]], ["no", "yes"])
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


def name_of(model: Any) -> str:
    """Return a learner's name in the table, or that of its class.

    >>> name_of(linsep.PNormPerceptron())
    'p-norm-perceptron'
    """
    kind = type(learner_of(model))
    return next((name for name, entry in linsep.LEARNERS.items() if entry.learner is kind), kind.__name__)
