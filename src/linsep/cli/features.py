"""The features of a model: how they are called, and which speak loudest."""

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linsep.cli.failures import Usage
from linsep.engine.arrays import Array
from linsep.estimators.base.voter import LINEAR, Voter
from linsep.evaluation.scoring import shown
from linsep.models.encode_estimators import learner_of


class Strongest(NamedTuple):
    """Features that speak for a class, the strongest first: their columns, and weights above 0."""

    label: Any
    columns: Array
    weights: Array


def names_of(saved: Any) -> Callable[[int], str]:
    """Return what names a column that the learner sees; columns without a name go by the number that files have."""
    model, form = saved.model, saved.form
    maps = [step for _, step in getattr(model, "steps", [])[:-1] if step != "passthrough"]
    if maps:
        given = getattr(form, "feature_names", None)
        given = getattr(maps[0], "feature_names_in_", None) if given is None else given
        name: Callable[[int], str] = "x{}".format if given is None else lambda column: str(given[column])
        for step in maps:
            name = partial(step._name, before=name)
        return name
    names = getattr(learner_of(model), "feature_names_in_", None)
    names = getattr(form, "feature_names", None) if names is None else names
    if names is not None:
        return lambda column: str(names[column])
    first = getattr(form, "first", 0)
    return lambda column: str(column + first)


def sparse_view(learner: Any) -> Any:
    """Return the learner, or one that shares all with it but has a sparse `coef_`, where its weights are stored so."""
    state = getattr(learner, "_state", None)
    if state is None or state.sparse is None or state.sparse_on_request:
        return learner
    view: Any = object.__new__(type(learner))
    view.__dict__.update(vars(learner))  # a copy would make all weights, the zeros too
    view._state = state.sparsified()
    return view


def weighing(learner: Any) -> Any:
    """Return a learner whose weights say what a learner listens to, sparse where they are stored so, or None.

    A vote has no weights of its own, and is told by the average of those that vote; a kernel's are not written out.
    """
    if not isinstance(learner, Voter):
        return sparse_view(learner)
    if learner._weights_of_rows:
        return None
    if learner.readout in LINEAR:
        return learner
    view = copy(learner)
    view.readout = "average"
    return view


def answering(model: Any) -> str | None:
    """Return which weights of a voter answer; None of learners that have no others.

    >>> import linsep
    >>> answering(linsep.VotedPerceptron(readout="last", normalize=True)), answering(linsep.Perceptron())
    ('the last, normalised', None)
    """
    learner = learner_of(model)
    if not isinstance(learner, Voter):
        return None
    return f"the {learner.readout}{', normalised' if learner.normalize else ''}"


def strongest(model: Any, top: int, label: str | None = None) -> list[Strongest]:
    """Return the strongest features of each class; with a label, those for it and those against it.

    There are none where the learner's weights are not written out.

    >>> import linsep
    >>> clf = linsep.Perceptron(shuffle=False).fit([[0, 1], [1, 0], [2, 1], [1, 2]], ["no", "yes", "yes", "no"])
    >>> [(part.label, part.columns.tolist(), part.weights.tolist()) for part in strongest(clf, 5)]
    [('no', [1], [1.0]), ('yes', [0], [1.0])]
    """
    learner = weighing(learner_of(model))
    if learner is None:
        if label is not None:
            raise Usage(f"--label: the weights of {type(learner_of(model)).__name__} are not written out")
        return []
    classes, coef = learner.classes_, learner.coef_
    if len(classes) > 2 and learner._counts_rows:
        coef = coef - coef.mean(axis=0)  # logarithms of probabilities, all below 0: what counts is how they differ
    labels = classes.tolist()
    if label is not None:
        code = _code_of(label, classes)
        row, sign = (0, 1 if code else -1) if len(classes) == 2 else (code, 1)
        return [
            Strongest(f"for {label}", *_largest(coef, row, sign, top)),
            Strongest(f"against {label}", *_largest(coef, row, -sign, top)),
        ]
    if len(classes) == 2:
        return [Strongest(labels[k], *_largest(coef, 0, sign, top)) for k, sign in ((0, -1), (1, 1))]
    return [Strongest(labels[k], *_largest(coef, k, 1, top)) for k in range(coef.shape[0])]


def _code_of(label: str, classes: Array) -> int:
    """Return the number of a class that is called by its text."""
    for code, known in enumerate(classes.tolist()):
        if str(known) == label:
            return code
    raise Usage(f"there is no class {label!r}: the model knows {shown(classes)}")


def _largest(coef: Any, row: int, sign: int, top: int) -> tuple[Array, Array]:
    """Return the columns of the largest weights above 0 of a row, times a sign, and the weights."""
    if hasattr(coef, "indptr"):
        part = slice(coef.indptr[row], coef.indptr[row + 1])
        columns, weights = coef.indices[part], sign * coef.data[part]
    else:
        columns, weights = np.arange(coef.shape[1]), sign * coef[row]
    some = np.flatnonzero(weights > 0)  # partitioning is slow where most are equal
    columns, weights = columns[some], weights[some]
    chosen = np.argpartition(weights, len(weights) - top)[-top:] if len(weights) > top else np.arange(len(weights))
    chosen = chosen[np.lexsort((chosen, -weights[chosen]))]
    return columns[chosen], weights[chosen]
