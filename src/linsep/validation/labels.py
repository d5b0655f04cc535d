"""Validate class labels, encode them as column numbers, and decode scores."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from linsep.engine.arrays import Array
from linsep.validation.errors import InvalidDataError, ParameterError

TABLE = 1 << 20
"""Integer labels within a range of this size are numbered through a table, without sorting."""
LATER = "name all classes in the first call, or start with partial_fit without `classes` to let labels arrive later"
"""The way out for a learner that meets a label it does not know."""


def clean(y: Any, rows: int) -> Array:
    """Return y as a 1-d array of class labels for that many rows, or raise an error that names the fault."""
    if y is None:
        raise InvalidDataError("this learner requires y to be passed, but the target y is None")
    if isinstance(y, (list, tuple)):
        refuse_mixed(y)
    try:
        labels = column_or_1d(y, warn=True)
    except ValueError as error:
        raise InvalidDataError(str(error)) from error
    if len(labels) != rows:
        raise InvalidDataError(f"X has {rows} rows and y has {len(labels)} labels: inconsistent numbers of samples")
    refuse_bad_labels(labels)
    return labels


def refuse_bad_labels(labels: Array) -> None:
    """Raise a ValueError when labels can't represent classes."""
    if labels.dtype == object:
        refuse_mixed(labels)
        if any(isinstance(label, (list, tuple, set, dict, np.ndarray)) for label in labels[:1]):
            raise InvalidDataError(f"y has the label {labels[0]!r:.60}: give strings or numbers, one for each row")
        labels = np.array(labels.tolist())
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise InvalidDataError(f"Input y contains NaN or infinity: the label of row {row} is {labels[row]}")
    if labels.dtype.kind not in "iub":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a few rows may well have as many labels
            try:
                check_classification_targets(labels)
            except ValueError as error:
                raise InvalidDataError(str(error)) from error


def refuse_mixed(labels: Any) -> None:
    """Raise a ValueError when labels are not all of one kind, or become other labels in an array of text."""
    kinds = sorted({kind_of(label) for label in labels})
    if len(kinds) > 1:
        raise InvalidDataError(f"y mixes labels of different types ({', '.join(kinds)}): give all of them one type")
    if kinds == ["str"]:
        cut = next((label for label in labels if label.endswith("\0")), None)
        if cut is not None:
            raise InvalidDataError(
                f"y has the label {cut!r}, which ends with a NUL character, and arrays of text drop it: remove it"
            )


def kind_of(label: Any) -> str:
    """Return what sort of label it is: all numbers are of one, all strings of another."""
    if isinstance(label, (int, float, np.number, np.bool_)):
        return "number"
    return "str" if isinstance(label, str) else type(label).__name__


def refuse_another_type(labels: Array, known: Array) -> None:
    """Raise a ValueError when new labels are words and those known are numbers, or the other way round."""
    if len(labels) and kind_of(labels[0]) != kind_of(known[0]):
        raise InvalidDataError(
            f"the label {labels.tolist()[0]!r} is of another type than the classes so far, {known.tolist()}"
        )


def encode(labels: Array) -> tuple[Array, Array]:
    """Return the sorted classes and the number of each label among them."""
    if labels.dtype.kind in "iu" and len(labels):
        low, high = int(labels.min()), int(labels.max())
        if high - low < TABLE and high <= np.iinfo(np.int64).max:
            offsets = labels.astype(np.int64) - low
            table = np.zeros(high - low + 1, np.int32)
            table[offsets] = 1
            present = np.flatnonzero(table)
            table[present] = np.arange(len(present))
            return (present + low).astype(labels.dtype), table[offsets]
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.int32)


def codes_among(labels: Array, classes: Array, fix: str = LATER) -> Array:
    """Return the number of each label among known classes; a label outside of them is an error that names it."""
    found, codes = encode(labels)
    places = np.searchsorted(classes, found).clip(0, len(classes) - 1)
    strange = found[classes[places] != found]
    if len(strange):
        what = f"y contains the label {strange.tolist()[0]!r}, which is not among the classes {classes.tolist()}"
        raise InvalidDataError(f"{what}: {fix}")
    return places.astype(np.int32)[codes]


def first_classes(labels: Array, classes: Any) -> Array:
    """Return the classes known from the first rows of a stream on: those named, or those that the rows have."""
    known = np.unique(labels if classes is None else np.asarray(classes))
    if classes is not None and len(known) < 2:
        raise ParameterError(f"classes has only one class, {known.tolist()}: name two at least, or leave it out")
    return known


def new_classes(labels: Array, classes: Any, known: Array) -> Array:
    """Return the labels among new rows of a stream that are not known yet, in order."""
    if classes is not None and not np.array_equal(np.unique(classes), known):
        raise ParameterError(f"classes={list(classes)} differ from those of the first call, {known.tolist()}")
    refuse_another_type(labels, known)
    return np.setdiff1d(labels, known)


def predicted_codes(scores: Array) -> Array:
    """Return the number of the class that each row's scores predict: 0 is the negative class, ties go to the lower one.

    >>> predicted_codes(np.array([-1.0, 0.0, 2.0])), predicted_codes(np.array([[1.0, 3.0, 3.0]]))
    (array([0, 0, 1]), array([1]))
    """
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else np.argmax(scores, axis=1)


def predicted_labels(scores: Array, classes: Array) -> Array:
    """Return the label that each row's scores predict; a single class has no rival."""
    return classes[np.zeros(len(scores), np.intp) if len(classes) == 1 else predicted_codes(scores)]


def margins_of(codes: Array, scores: Array) -> Array:
    """Return y * score of each row; of more than two classes, the true one's score less that of its best rival.

    Rows whose class has no score are left out.

    >>> margins_of(np.array([0, 1]), np.array([-2.0, -1.0])).tolist()
    [2.0, -1.0]
    >>> margins_of(np.array([0, 2]), np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 1.0]])).tolist()
    [1.0, -4.0]
    """
    there = codes < (2 if scores.ndim == 1 else scores.shape[1])
    codes, scores = codes[there], scores[there]
    if scores.ndim == 1:
        return np.where(codes == 1, scores, -scores)
    own = np.arange(scores.shape[1]) == codes[:, None]
    return scores[own] - np.where(own, -np.inf, scores).max(axis=1)
