"""Validate the input of pictures: learners, their scores, labels, numbers."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from linsep.engine.arrays import Array
from linsep.validation.labels import codes_among, refuse_another_type, refuse_mixed


def classes_of(clf: Any) -> Array:
    """Return the classes of a fitted learner, two at least."""
    check_is_fitted(clf)
    if not hasattr(clf, "classes_"):
        raise TypeError(f"{type(clf).__name__} has no classes_: a picture needs a classifier")
    classes = np.asarray(clf.classes_)
    if len(classes) < 2:
        raise ValueError(f"the learner has seen only one class, {classes.tolist()[0]!r}: nothing is separated yet")
    return classes


def score_rows(clf: Any, X: Any, y: Any) -> tuple[Array, Array]:
    """Return the number of each row's class among the learner's classes, and the scores of the rows."""
    classes = classes_of(clf)
    if not hasattr(clf, "decision_function"):
        raise TypeError(f"{type(clf).__name__} has no decision_function: the picture is one of scores")
    scores = np.asarray(clf.decision_function(X))
    labels = labels_of("y", y)
    if len(labels) != len(scores):
        raise ValueError(f"X has {len(scores)} rows and y has {len(labels)} labels: they belong together one by one")
    return codes_of(labels, classes), scores


def labels_of(name: str, y: Any) -> Array:
    """Return labels, one at least, or raise an error that names the fault."""
    if isinstance(y, (list, tuple)):
        refuse_mixed(y)
    labels = column_or_1d(y)
    if not len(labels):
        raise ValueError(f"{name} is empty: there is nothing to draw")
    if labels.dtype == object:
        refuse_mixed(labels)
        labels = np.array(labels.tolist())
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        k = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise ValueError(f"{name} has the label {labels[k]} at place {k}: leave out rows without a label")
    return labels


def codes_of(labels: Array, classes: Array) -> Array:
    """Return the number of each label among the classes, which are sorted."""
    refuse_another_type(labels, classes)
    return codes_among(labels, classes, "leave the rows of such labels out")


def finite(name: str, values: Any) -> Array:
    """Return a row of finite numbers, one at least, as float64, or raise an error that names the fault."""
    numbers = np.asarray(column_or_1d(values), dtype=np.float64)
    if not len(numbers):
        raise ValueError(f"{name} is empty: there is nothing to draw")
    if not np.isfinite(numbers).all():
        k = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise ValueError(f"{name} has {numbers[k]} at place {k}: leave out what is not a finite number")
    return numbers


def same_length(**columns: Array) -> None:
    """Raise a ValueError when columns that belong together differ in length."""
    (first, a), *others = columns.items()
    for name, b in others:
        if len(a) != len(b):
            raise ValueError(f"{first} has {len(a)} entries and {name} has {len(b)}: they belong together one by one")


def refuse_where(wrong: Array, name: str, values: Array, rule: str) -> None:
    """Raise a ValueError that names the first value at fault and the rule that it breaks."""
    places = np.flatnonzero(wrong)
    if len(places):
        raise ValueError(f"{name} has {values[places[0]]:g} at place {places[0]}: {rule}")


def refuse_unless_shares(name: str, values: Array) -> None:
    """Raise a ValueError where a value is not between 0 and 1."""
    refuse_where((values < 0) | (values > 1), name, values, "they are shares, between 0 and 1")
