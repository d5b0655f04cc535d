"""Export weights by the names of their features: in Python, as JSON, as CSV."""

import csv
import json
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple, TextIO

import numpy as np
from sklearn.base import RegressorMixin

from linsep import __version__
from linsep.engine.arrays import Array
from linsep.engine.atomic_write import atomic_write
from linsep.estimators.base.learner import Learner
from linsep.estimators.calibration import has_relative_scores
from linsep.models.pipelines import is_calibrated, is_pipeline, last_of, learner_of
from linsep.solvers.calibration import Isotonic
from linsep.validation.errors import ParameterError

AT_ONCE = 1 << 16
"""Weights that are put into words in one go."""

Names = Sequence[str] | Callable[[int], str] | None


class ClassWeights(NamedTuple):
    """The weights of one class: the class with the highest bias + weights · x is predicted.

    Of two classes only the second has weights, `against` the first: above 0 the second is predicted.
    """

    label: Any
    against: Any
    bias: float
    names: Array
    weights: Array


def named_weights(model: Any, names: Names = None) -> list[ClassWeights]:
    """Return the weights other than 0 of each class, with the names of their features, in the order of the columns.

    Parameters
    ----------
    model : learner, or scikit-learn Pipeline that ends in one
        Fitted.
    names : sequence of str, or function, optional
        A name for each column that the learner sees; or what gives the name of a column's number, asked only where
        there is a weight. By default `feature_names_in_`, or what a pipeline's `get_feature_names_out` states of the
        steps before the learner, or x0, x1, ...

    Returns
    -------
    list of ClassWeights
        In the order of the rows of `coef_`.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> clf = Perceptron(shuffle=False).fit([[0, 1, 0], [1, 0, 0], [2, 1, 0], [1, 2, 0]], ["no", "yes", "yes", "no"])
    >>> [of_yes] = named_weights(clf, names=["width", "height", "depth"])
    >>> of_yes.label, dict(zip(of_yes.names.tolist(), of_yes.weights.tolist()))
    ('yes', {'width': 1.0, 'height': -1.0})
    """
    learner = weighing_learner(model)
    columns, weights = zip(*_nonzero(learner.coef_), strict=True)
    any_weight = np.zeros(learner.n_features_in_, bool)
    for where in columns:
        any_weight[where] = True
    used = np.flatnonzero(any_weight)
    called = _called(model, learner, names, used)
    classes = learner.classes_.tolist()
    labels, against = (classes[1:], classes[0]) if len(classes) == 2 else (classes, None)
    return [
        ClassWeights(label, against, bias, called[np.searchsorted(used, where)], values)
        for label, bias, where, values in zip(labels, learner.intercept_.tolist(), columns, weights, strict=True)
    ]


def export_json(model: Any, path: str | os.PathLike[str], names: Names = None) -> None:
    """Write the weights other than 0, with the names of their features, as JSON; an old file is whole until then.

    An object with "linsep" (the version), "learner", "features" (how many), "classes", and "weights": a list of objects
    with "class", "against" (null unless there are two classes), "bias", and "weights", which maps names to numbers.
    A calibrated model has "calibration" before "weights": the "maps" from scores to probabilities, one for two classes
    (of the second), else one a class, whose results are divided by their sum. A map is a "slope" and an "offset", for
    1 / (1 + exp(-(slope * score + offset))), or "x" and "y", between which it is linear. If "relative" is true, the
    best of the other classes' scores is subtracted from each score first. The "method" "temperature" has one map for
    all classes: scores times its "slope" are the exponents of a softmax.
    Numbers are written so that they are read back to the bit; all is ASCII.

    Parameters
    ----------
    model, names
        As for :func:`named_weights`.
    path : path
        Path of the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from linsep import Perceptron
    >>> clf = Perceptron(shuffle=False).fit([[0, 1], [1, 0], [2, 1], [1, 2]], [-1, 1, 1, -1])
    >>> with TemporaryDirectory() as folder:
    ...     export_json(clf, f"{folder}/weights.json")
    ...     with open(f"{folder}/weights.json") as file:
    ...         json.load(file)["weights"]
    [{'class': 1, 'against': -1, 'bias': 0.0, 'weights': {'x0': 1.0, 'x1': -1.0}}]
    """
    learner, parts = weighing_learner(model), named_weights(model, names)
    _refuse_odd_labels(learner)
    head = {
        "linsep": __version__,
        "learner": type(learner).__name__,
        "features": int(learner.n_features_in_),
        "classes": learner.classes_.tolist(),
        **_calibration(model),
    }
    with atomic_write(path) as draft, open(draft, "w", encoding="ascii", newline="\n") as file:
        file.write(json.dumps(head)[:-1] + ', "weights": [')
        for k, part in enumerate(parts):
            start = {"class": part.label, "against": part.against, "bias": part.bias}
            file.write(("," if k else "") + "\n" + json.dumps(start)[:-1] + ', "weights": {')
            _write_pairs(file, part)
            file.write("}}")
        file.write("\n]}\n")


def export_csv(model: Any, path: str | os.PathLike[str], names: Names = None) -> None:
    r"""Write the weights other than 0, with the names of their features, as CSV; an old file is whole until then.

    The columns are class, part ("bias" or "feature"), name, weight. Numbers are written so that they are read back to
    the bit. The text is UTF-8; half surrogate pairs in names are passed through: read such a file with
    `errors="surrogatepass"`.

    Parameters
    ----------
    model, names
        As for :func:`named_weights`.
    path : path
        Path of the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from linsep import Perceptron
    >>> clf = Perceptron(shuffle=False).fit([[0, 1], [1, 0], [2, 1], [1, 2]], [-1, 1, 1, -1])
    >>> with TemporaryDirectory() as folder:
    ...     export_csv(clf, f"{folder}/weights.csv")
    ...     with open(f"{folder}/weights.csv", newline="") as file:
    ...         print(*csv.reader(file), sep="\n")
    ['class', 'part', 'name', 'weight']
    ['1', 'bias', '', '0.0']
    ['1', 'feature', 'x0', '1.0']
    ['1', 'feature', 'x1', '-1.0']
    """
    if is_calibrated(model):
        raise TypeError(
            "a CSV file has no place for the calibration, by which the model predicts: use export_json (a file that "
            "ends in .json), or export the learner alone, estimator_"
        )
    parts = named_weights(model, names)
    with atomic_write(path) as draft, open(draft, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["class", "part", "name", "weight"])
        for part in parts:
            writer.writerow([part.label, "bias", "", part.bias])
            for called, numbers in _pieces(part):
                writer.writerows(zip(repeat(part.label), repeat("feature"), called, numbers, strict=False))


def weighing_learner(model: Any) -> Learner:
    """Return the fitted learner of a model; raise a TypeError if it has not one weight for each feature and class."""
    learner = learner_of(model)
    if isinstance(learner, RegressorMixin):
        raise TypeError(
            f"exports have the weights of classes, and {type(learner).__name__} predicts numbers: keep it with save "
            "or write its coef_ and intercept_"
        )
    if not isinstance(learner, Learner):
        raise TypeError(f"exports take a learner of linsep, or a pipeline that ends in one; got {learner!r}")
    learner._fitted()
    if learner._no_weights:
        raise TypeError(learner._no_weights)
    return learner


def _calibration(model: Any) -> dict[str, Any]:
    """Return the maps of a calibrated model as JSON has them."""
    if not is_calibrated(model):
        return {}
    fitted = last_of(model)
    maps = [
        {"x": of.x.tolist(), "y": of.y.tolist()}
        if isinstance(of, Isotonic)
        else {"slope": of.slope, "offset": getattr(of, "offset", 0.0)}
        for of in fitted.calibration_
    ]
    relative = len(fitted.classes_) > 2 and fitted.method != "temperature" and has_relative_scores(fitted.estimator_)
    return {"calibration": {"method": fitted.method, "relative": relative, "maps": maps}}


def _nonzero(coef: Any) -> Iterator[tuple[Array, Array]]:
    """Yield the columns and the values of the entries other than 0 of each row, of an array or a CSR array."""
    for k in range(coef.shape[0]):
        if isinstance(coef, np.ndarray):
            where = np.flatnonzero(coef[k])
            yield where, coef[k, where]
        else:
            span = slice(coef.indptr[k], coef.indptr[k + 1])
            yield coef.indices[span].astype(np.intp), coef.data[span]


def _called(model: Any, learner: Learner, names: Names, columns: Array) -> Array:
    """Return the names of some columns."""
    if names is None:
        names = _own_names(model, learner)
    if callable(names):
        found = list(map(names, columns.tolist()))
    else:
        whole = list(names)
        if len(whole) != learner.n_features_in_:
            raise ParameterError(
                f"there are {len(whole)} names for the {learner.n_features_in_} features of the learner"
            )
        found = [whole[j] for j in columns.tolist()]
    result = np.empty(len(found), object)
    result[:] = found
    _refuse_bad_names(found, columns)
    return result


def _own_names(model: Any, learner: Learner) -> Sequence[str] | Callable[[int], str]:
    """Return the names that a model itself has for what its learner sees."""
    if is_pipeline(model) and len(model.steps) > 1:
        try:
            return model[:-1].get_feature_names_out()
        except AttributeError as error:
            raise ParameterError(
                f"the steps before the learner do not name their columns ({error}): give names"
            ) from error
    return "x{}".format if learner._names is None else list(learner._names)


def _refuse_bad_names(found: list[Any], columns: Array) -> None:
    if set(map(type, found)) - {str, np.str_}:
        k = next(k for k, name in enumerate(found) if not isinstance(name, str))
        raise TypeError(f"names are strings; that of column {columns[k]} is {found[k]!r}")
    if len(set(found)) < len(found):
        seen: set[str] = set()
        twice = next(name for name in found if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ParameterError(f"the name {twice!r} is that of two columns: give each a name of its own")


def _refuse_odd_labels(learner: Learner) -> None:
    label = learner.classes_.tolist()[0]
    if not isinstance(label, (str, int, float)):
        raise ParameterError(f"the label {label!r} has no form in JSON: use strings or numbers")


def _pieces(part: ClassWeights) -> Iterator[tuple[list[str], list[float]]]:
    """Yield names and weights some at a time."""
    for start in range(0, len(part.names), AT_ONCE):
        piece = slice(start, start + AT_ONCE)
        yield part.names[piece].tolist(), part.weights[piece].tolist()


def _write_pairs(file: TextIO, part: ClassWeights) -> None:
    for k, (called, numbers) in enumerate(_pieces(part)):
        text = json.dumps(dict(zip(called, numbers, strict=True)), separators=(",\n", ": "), allow_nan=False)
        file.write((",\n" if k else "\n") + text[1:-1])
