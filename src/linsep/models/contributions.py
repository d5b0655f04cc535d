"""Explain a prediction by its parts: each feature's weight times its value."""

from collections.abc import Callable
from copy import copy
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.estimators.base.learner import Learner
from linsep.estimators.base.voter import LINEAR, Voter
from linsep.models.pipelines import is_calibrated, is_pipeline, learner_of, maps_before
from linsep.models.save_load import Saved
from linsep.training.state import SparseState
from linsep.validation.errors import ParameterError
from linsep.validation.inputs import canonical
from linsep.validation.labels import predicted_labels


class Contribution(NamedTuple):
    """The part of a feature in the score of the predicted class.

    Attributes
    ----------
    name : str
        The feature's name, or its column's.
    column : int
        The column that the learner sees: of a pipeline, after its maps.
    value : float
        The feature's value in the row.
    amount : float
        The weight for the predicted class times the value.
    """

    name: str
    column: int
    value: float
    amount: float


class Explanation(NamedTuple):
    """Explanation of a row's label.

    Attributes
    ----------
    label : object
        The predicted label.
    score : float
        The score of that class: of two classes, that of the second, or its negative for the first.
    bias : float
        The part of the score that no feature adds.
    contributions : list of Contribution
        The features that add the largest amounts, above or below 0, the largest first.
    rest : float
        The sum of what all other features add.
    """

    label: Any
    score: float
    bias: float
    contributions: list[Contribution]
    rest: float


def explain(model: Any, X: Any, *, n: int = 10) -> list[Explanation]:
    """Return what the prediction for each row is made of: score = bias + sum of weights times values.

    Of two classes, positive amounts favour the predicted label, negative amounts the other. Of more, amounts are
    parts of the predicted class's own score; for naive Bayes, of that score less the mean over the classes. The score
    of a calibrated model is that of its learner.

    Parameters
    ----------
    model : learner, pipeline of maps and a learner, or calibrated learner
        A fitted model. A kernel's weights are those of rows, and a vote has no weights: both are refused.
    X : array, sparse matrix or dataframe, (rows, features)
        Rows, as `predict` takes them.
    n : int, default=10
        The number of features for each row; features with the value 0 add nothing and are left out.

    Returns
    -------
    list of Explanation
        One for each row.

    Examples
    --------
    >>> from linsep import Perceptron, explain
    >>> clf = Perceptron(shuffle=False).fit([[0, 1], [1, 0], [2, 1], [1, 2]], ["no", "yes", "yes", "no"])
    >>> [of_row] = explain(clf, [[3, 1]], n=1)
    >>> of_row.label, of_row.score, of_row.contributions, of_row.rest
    ('yes', 2.0, [Contribution(name='x0', column=0, value=3.0, amount=3.0)], -1.0)
    """
    explainer = Explainer(model)
    return explainer.rows(X, n)


class Explainer:
    """Explains the predictions of one model; its weights are looked up once.

    Parameters
    ----------
    model : learner, pipeline or calibrated learner
    name : function, optional
        Returns the name of a column that the learner sees.
    """

    def __init__(self, model: Any, name: Callable[[int], str] | None = None) -> None:
        refuse_no_contributions(model)
        self.model, self.learner = model, weights_view(learner_of(model))
        self.name = name or names_of(model, getattr(model, "form_", None), unnamed="x{}")

    @cached_property
    def weights(self) -> tuple[Any, Array]:
        """The weights and the biases of the scores."""
        coef, intercept = self.learner.coef_, self.learner.intercept_
        if self.learner._traits.counts_rows and len(coef) > 1:  # all below 0: what counts is how they differ
            return coef - coef.mean(axis=0), intercept - intercept.mean()
        return coef, intercept

    def rows(self, X: Any, n: int, labels: Any = None) -> list[Explanation]:
        """Return the explanation of each row's label: that which is predicted, or those given."""
        if n < 1:
            raise ParameterError(f"n={n}: ask for 1 feature or more")
        if labels is None and is_calibrated(self.model):
            labels = self.model.predict(X)
        seen = self.model[:-1].transform(X) if is_pipeline(self.model) and len(self.model.steps) > 1 else X
        scores = self.learner.decision_function(seen)
        if labels is None:
            labels = predicted_labels(scores, self.learner.classes_)
        codes = np.searchsorted(self.learner.classes_, labels)
        data = canonical(self.learner, seen, bias=self.learner._bias, reset=False)
        coef, intercept = self.weights
        two = len(self.learner.classes_) == 2
        found = []
        for k, (label, code) in enumerate(zip(labels.tolist(), codes.tolist(), strict=True)):
            columns, values = _entries(data, k)
            row, sign = (0, 1 if code else -1) if two else (code, 1)
            amounts = sign * values * _weights_at(coef, row, columns)
            order = np.argsort(-np.abs(amounts), kind="stable")
            contributions = [
                Contribution(self.name(int(columns[j])), int(columns[j]), float(values[j]), float(amounts[j]))
                for j in order[:n].tolist()
            ]
            bias = sign * float(intercept[row])
            score = sign * float(scores[k]) if two else float(scores[k][code]) if scores.ndim > 1 else float(scores[k])
            if self.learner._traits.counts_rows and not two and scores.ndim > 1:
                score -= float(scores[k].mean())
            found.append(Explanation(label, score, bias, contributions, float(amounts[order[n:]].sum())))
        return found


def refuse_no_contributions(model: Any) -> None:
    """Raise a ParameterError for a model whose scores are not sums over features."""
    learner = learner_of(model)
    if isinstance(learner, RegressorMixin) or not isinstance(learner, Learner):
        raise ParameterError(f"explain takes a classifier of linsep, and {type(learner).__name__} is none")
    if learner._traits.weights_of_rows:
        raise ParameterError(
            f"{type(learner).__name__} has weights of rows, and no feature's share of a score is known: train "
            "VotedPerceptron or AveragedPerceptron on features of linsep.transforms.Polynomial"
        )
    if isinstance(learner, Voter) and learner.readout not in LINEAR:
        raise ParameterError(
            f"the {learner.readout} of a run has no weights of its own: choose another readout, such as average"
        )


def _entries(data: Csr | Dense, row: int) -> tuple[Array, Array]:
    """Return the columns and the values of a row's entries other than 0."""
    if isinstance(data, Csr):
        part = slice(data.indptr[row], data.indptr[row + 1])
        columns, values = data.indices[part], data.values[part]
    else:
        columns, values = np.arange(data.n_features), data.values[row]
    there = np.flatnonzero(values)
    return columns[there], values[there].astype(np.float64)


def _weights_at(coef: Any, row: int, columns: Array) -> Array:
    """Return a class's weights of some columns, of an array or a CSR array."""
    if isinstance(coef, np.ndarray):
        weights: Array = coef[row, columns]
        return weights
    part = slice(coef.indptr[row], coef.indptr[row + 1])
    known, values = coef.indices[part], coef.data[part]
    if not len(known):
        return np.zeros(len(columns))
    places = np.minimum(np.searchsorted(known, columns), len(known) - 1)
    return np.where(known[places] == columns, values[places], 0.0)


def names_of(model: Any, form: Any, unnamed: str | None = None) -> Callable[[int], str]:
    """Return what names a column that the learner sees.

    Parameters
    ----------
    model : learner or pipeline
    form : Format or None
        Format of the training data.
    unnamed : str, optional
        The pattern for columns without a name. Default: the number that files have.
    """
    maps = [step for _, step in maps_before(model)]
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
    if unnamed is not None and form is None:
        return unnamed.format
    first = getattr(form, "first", 0)
    return lambda column: str(column + first)


def explainer_of(saved: Saved) -> Explainer:
    """Return an explainer of a model that was opened."""
    return Explainer(saved.model, names_of(saved.model, saved.form))


def sparse_view(learner: Any) -> Any:
    """Return the learner, or one that shares all with it but has a sparse `coef_`, where its weights are stored so."""
    state = getattr(learner, "_state", None)
    if not isinstance(state, SparseState) or state.on_request:
        return learner
    view: Any = object.__new__(type(learner))
    view.__dict__.update(vars(learner))  # a copy would make all weights, the zeros too
    view._state = state.sparsified()
    return view


def weights_view(learner: Any) -> Any:
    """Return a learner with the weights that predict, sparse if they are stored so, or None.

    A vote has no weights of its own, and is described by the average of its hypotheses; a kernel's are not written out.
    """
    if not isinstance(learner, Voter):
        return sparse_view(learner)
    if learner._traits.weights_of_rows:
        return None
    if learner.readout in LINEAR:
        return learner
    view = copy(learner)
    view.readout = "average"
    return view
