"""How the rows of files are read for a saved model, and what it is called."""

from pathlib import Path
from typing import Any

import linsep
from linsep.cli.errors import UsageError
from linsep.cli.options.common import as_words
from linsep.data.registry import detected_format, options_of
from linsep.data.sources import sources_of
from linsep.data.streaming import Stream
from linsep.estimators.least_squares import LeastSquaresRegression
from linsep.models.encode_estimators import is_calibrated as is_calibrated
from linsep.models.encode_estimators import last_of
from linsep.models.encode_estimators import learner_of as learner_of
from linsep.models.save_load import Saved, opened

NUMBERED = ("svmlight", "vw", "text")
"""Formats that can be told the number of columns."""


def without_known(form: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options but for those that say again how a model's data were read; to say it otherwise is an error."""
    own = {name: getattr(form, name) for name in options_of(type(form)) if name in options}
    for name, value in own.items():
        found = getattr(getattr(form, "found", None), name, value)
        if options[name] not in (value, found) and as_words({name: value}) != as_words({name: options[name]}):
            raise UsageError(f"the model was trained with {' '.join(as_words({name: found}))}: leave out {name} here")
    return {name: value for name, value in options.items() if name not in own}


def rows_for(saved: Any, data: list[str], options: dict[str, Any]) -> Stream:
    """Return the rows of some files in the columns of a model that was opened."""
    return linsep.stream(data, **reading_for(saved, data, options))


def reading_for(saved: Any, data: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """Return how to read some files into the columns of a model that was opened.

    If the file does not tell how the training data were read, they are read as the options say.
    """
    if saved.form is not None:
        return {"like": saved, **without_known(saved.form, options)}
    width = getattr(saved.model, "n_features_in_", None)
    if width is None:
        raise UsageError(
            "the model takes documents, and the file does not tell how to read any: fit it by `linsep fit`"
        )
    if "n_features" not in options:
        first = sources_of(data)[0]
        format = options.get("format") or ("svmlight" if first.handle is not None else detected_format(first))
        if format in NUMBERED:
            options = {**options, "n_features": width, "format": format}
    return options


def opened_classifier(path: Path, only_predicts: bool = True) -> Saved:
    """Return what a model file holds; a regression is refused.

    A model that only predicts may have been trained by a rule of the user's own.
    """
    saved = opened(path, only_predicts=only_predicts)
    if isinstance(last_of(saved.model), LeastSquaresRegression):
        raise UsageError(f"{path} predicts numbers, and the commands take classifiers: use linsep.load in Python")
    return saved


def name_of(model: Any) -> str:
    """Return a learner's name in the table, or that of its class.

    >>> name_of(linsep.PNormPerceptron())
    'p-norm-perceptron'
    """
    kind = type(learner_of(model))
    return next((name for name, entry in linsep.LEARNERS.items() if entry.learner is kind), kind.__name__)
