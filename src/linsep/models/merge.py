"""Merge models that were trained on shards into one model."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from linsep.engine.arrays import Array
from linsep.engine.links import Imaged
from linsep.engine.readouts import Average
from linsep.engine.step import reads_sign_only
from linsep.estimators.base.learner import Learner
from linsep.estimators.base.online import OnlineLearner, Shared
from linsep.models.save_load import same_form
from linsep.training.mixing import compute_image, link_of, minus_total, weights_of
from linsep.training.state import TrainingState
from linsep.training.weights import name_of
from linsep.validation.errors import ParameterError
from linsep.validation.labels import refuse_another_type

Online = TypeVar("Online", bound=OnlineLearner)

MATTER = ("fit_intercept", "intercept_scaling", "multi_class")
"""Parameters of every learner that define the meaning of its weights."""
BIAS = "a bias feature of"
"""The trait that models share, or that a merge brings to one value."""


def merge(models: Iterable[Online], *, how: str = "average", weights: Sequence[float] | None = None) -> Online:
    """Return one learner from several of a kind, each trained on rows of its own.

    What is averaged or summed are the sums that training moves: the weights of additive learners and of those that
    shrink; for Winnow the exponents, so that the weights are multiplied (a sum) or are their geometric mean (an
    average), and for the p-norm the s of w(s). A learner that predicts with an average over rounds predicts with the
    average over the rounds of all models. Where the first row chose each model's bias feature, the intercepts are
    averaged or summed; exponential, sinh and p-norm weights need one `intercept_scaling` for all.

    A sum of perceptrons has added all rows that any of them has added. Learners that ask more of a score than its
    sign, such as margin 1 or a probability, are averaged only: the sum's scores would be too large by far.

    Parameters
    ----------
    models : learners
        Fitted, of one type, with the same parameters (but for those that only state how long and in what order to
        train), features and feature names. Labels may differ where they are taken as they come (`partial_fit` without
        `classes`): the result has all of them.
    how : "average" or "sum", default="average"
        Averages are parameter mixing (McDonald, Hall and Mann, 2010).
    weights : sequence of numbers, optional
        Weights of the models, not below 0; averages divide by their sum. By default 1 in a sum, and in an average the
        rounds that each model has made, so that a small shard has a small state.

    Returns
    -------
    learner
        A new one: it counts the rounds, the mistakes and the updates of all models, and can be trained further. It has
        no log, since there was no single run. If all models record how their data were read, and agree, the result
        records it, too. One model alone is returned as it is, in a copy.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> first = Perceptron(shuffle=False).fit([[0, 1], [1, 0]], [-1, 1])
    >>> second = Perceptron(shuffle=False).fit([[2, 1], [1, 2]], [1, -1])
    >>> both = merge([first, second], how="sum")
    >>> both.coef_, both.mistakes_
    (array([[ 2., -2.]]), 4)
    """
    models = list(models)
    if how not in ("average", "sum"):
        raise ParameterError(f'how={how!r}: models are merged by "average" or by "sum"')
    states = [_state(model, i) for i, model in enumerate(models)]
    if not models:
        raise ParameterError("there is no model to merge")
    for i in range(1, len(models)):
        _refuse_another_kind(models, states, i)
    shares, divisor = _shares(states, how, weights)
    if len(models) == 1 and shares[0] == divisor:
        return copy.deepcopy(models[0])
    if models[0]._traits.never_mixes:
        raise ParameterError(
            f"{type(models[0]).__name__} is not merged, as {models[0]._traits.never_mixes}; add up what the models' "
            "decision_function returns, or train AveragedPerceptron, which can be merged"
        )
    rule = type(states[0].rule)
    if how == "sum" and not reads_sign_only(rule):
        raise ParameterError(
            f"{type(models[0]).__name__} is not summed: the rule {rule.__name__} reads the value of scores, and those "
            'of a sum are too large; use how="average"'
        )
    classes = _classes(models)
    states = [_with_bias(state, states[0].bias) for state in states]
    states = [_with_classes(state, m.classes_, classes) for state, m in zip(states, models, strict=True)]
    with np.errstate(over="ignore", invalid="ignore"):
        state = _merged(states, shares, divisor)
    if not np.isfinite(state.link.s).all():
        raise ParameterError("a merged weight is too large for float64: use how='average', or smaller weights")
    return _learner(models, classes, state)


def _state(model: Any, i: int) -> TrainingState:
    if not isinstance(model, OnlineLearner):
        cure = ": merge the last steps of pipelines whose other steps are the same" if hasattr(model, "steps") else ""
        if isinstance(model, Learner):
            cure = " that goes row by row: fit one on the rows of all"
        raise TypeError(f"models[{i}] is of type {type(model).__name__}, not a learner of linsep{cure}")
    return model._readable().whole()


def _refuse_another_kind(models: Sequence[OnlineLearner], states: Sequence[TrainingState], i: int) -> None:
    """Raise a ValueError that names the first thing in which models[i] differs from models[0]."""
    kind, another = type(models[0]), type(models[i])
    if kind is not another:
        raise ParameterError(f"models[{i}] is {another.__name__}, models[0] {kind.__name__}: they can't be merged")
    one, other = _traits(models[0], states[0]), _traits(models[i], states[i])
    for what, value in one.items():
        if not _same(value, other[what]):
            cure = ": train all with one intercept_scaling" if what == BIAS else ""
            raise ParameterError(
                f"models[{i}] has {what} {other[what]}, models[0] has {value}: they can't be merged{cure}"
            )
    names, others = (model._names for model in (models[0], models[i]))
    if (names is None) != (others is None):
        which = "models[0] has" if others is None else f"models[{i}] has"
        raise ParameterError(f"only {which} feature names: their features must be the same, by name and in order")
    for a, b in zip(names or (), others or (), strict=True):
        if a != b:
            raise ParameterError(
                f"models[{i}] has the feature {b!r} where models[0] has {a!r}: order them alike, by name"
            )


def _traits(model: OnlineLearner, state: TrainingState) -> dict[str, Any]:
    """Return what models must share, in the order in which it is asked."""
    own = {f"the parameter {name} =": value for name, value in model.get_params(deep=False).items() if _matters(name)}
    return {
        "the number of features": state.features,
        "weights of the kind": name_of(state.link),
        "weights whose rate or power is": getattr(state.link, "number", None),
        "the readout": type(state.readout).__name__.lower(),
        "multi_class": "joint" if state.pair else "ovr",
        BIAS: bool(state.bias) if _bias_differs_freely(model, state) else state.bias,
        "labels that": "arrive with the rows" if model._open else "are fixed (by fit, or by classes=...)",
    } | own


def _bias_differs_freely(model: OnlineLearner, state: TrainingState) -> bool:
    """Return whether each model may have a bias feature of its own: only its product with its weight counts."""
    return model._reads_first_row and not isinstance(state.link, Imaged)


def _with_bias(state: TrainingState, bias: float) -> TrainingState:
    """Return a state with a bias feature of that value and the same intercepts."""
    if state.bias == bias:
        return state
    parts: list[Any] = []
    for part, field in ((state.link, "s"), (state.readout, "u")):
        sums = getattr(part, field, None)
        if sums is not None:
            sums = sums.copy()
            sums[-1] *= state.bias / bias
        parts.append(part if sums is None else part._replace(**{field: sums}))
    return replace(state, link=parts[0], readout=parts[1], bias=bias)


def _matters(parameter: str) -> bool:
    return parameter not in Shared.__annotations__ or parameter in MATTER


def _same(a: Any, b: Any) -> bool:
    """Return whether two parameters agree; rules are tuples, and equal as such even where their types differ."""
    return bool(a == b) and (type(a) is type(b) or not isinstance(a, tuple))


def _shares(states: Sequence[TrainingState], how: str, weights: Sequence[float] | None) -> tuple[list[float], float]:
    """Return what to multiply each model with, and what to divide the sum by."""
    if weights is None:
        shares = [1.0] * len(states)
        if how == "average" and any(map(_rounds, states)):
            shares = [_rounds(state) for state in states]
    else:
        shares = [float(weight) for weight in weights]
        if len(shares) != len(states):
            raise ParameterError(f"there are {len(shares)} weights for {len(states)} models")
        for i, share in enumerate(shares):
            if not 0 <= share < np.inf:
                raise ParameterError(f"weights[{i}]={share} is not a finite number from 0 on")
        if not any(shares):
            raise ParameterError("all weights are 0: nothing would be left")
    return shares, sum(shares) if how == "average" else 1.0


def _rounds(state: TrainingState) -> float:
    """Return the rounds that a model has made; where an average counts them by their weight, so does this."""
    return float((state.readout.clock if isinstance(state.readout, Average) else state.tally.rounds)[0])


def _classes(models: Sequence[OnlineLearner]) -> Array:
    """Return the classes of all models."""
    first = models[0].classes_
    for i, model in enumerate(models):
        refuse_another_type(model.classes_, first)
        if not model._open and not np.array_equal(model.classes_, first):
            raise ParameterError(
                f"models[{i}] has the classes {model.classes_.tolist()}, models[0] has {first.tolist()}, and both are "
                "fixed: train with partial_fit, with the same `classes` or without"
            )
    return np.unique(np.concatenate([model.classes_ for model in models]))


def _with_classes(state: TrainingState, known: Array, classes: Array) -> TrainingState:
    """Return the state with a column for each class, as it would be had it met the others without a row of them."""
    missing = np.setdiff1d(classes, known)
    if len(missing):
        state = replace(state.copy(), log=state.log.closed(""))
        for label in missing:
            place = int(np.searchsorted(known, label))
            known = np.insert(known.astype(classes.dtype), place, label)
            state.admit(place)
    return state


def _merged(states: Sequence[TrainingState], shares: Sequence[float], divisor: float) -> TrainingState:
    """Return one state that has made the rounds of all."""
    first = states[0]
    s = _total((weights_of(state.link) for state in states), shares)
    s /= divisor
    counts = {field: sum(getattr(m.tally, field) for m in states) for field in first.tally._fields}
    if any(state.tally.errors[0] < 0 for state in states):  # not known of one, so of all
        counts["errors"] = np.array([-1])
    readout = first.readout
    if isinstance(readout, Average):
        clock = sum(state.readout.clock for state in states)
        parts = [share / (_rounds(state) or 1.0) for share, state in zip(shares, states, strict=True)]
        u = _total((minus_total(m.readout, m.link.s) for m in states), parts)
        u *= clock / divisor
        readout = Average(u, np.zeros_like(readout.mass), clock)
    merged = replace(
        first,
        link=link_of(first.link, s, first.pair),
        readout=readout,
        tally=type(first.tally)(**counts),
        log=replace(
            first.log.closed(f"{len(states)} models were merged, so that there is no single run"),
            data_bytes=sum(state.log.data_bytes for state in states),
        ),
        mixed=None,
        first_features=max(state.first_features for state in states),
        epochs=max(state.epochs for state in states),
        rows=sum(state.rows for state in states),
        _scorer=None,
    )
    compute_image(merged)
    return merged


def _total(arrays: Iterable[Array], shares: Sequence[float]) -> Array:
    """Return the sum of arrays, each times its share."""
    terms = (array * share for array, share in zip(arrays, shares, strict=True))
    total = next(terms)
    for term in terms:
        total += term
    return total


def _learner(models: Sequence[Online], classes: Array, state: TrainingState) -> Online:
    """Return a learner with the first model's parameters and names, and with this state."""
    first = models[0]
    learner: Online = clone(first)
    learner.n_features_in_ = first.n_features_in_
    if first._names is not None:
        learner._names = dict(first._names)
    learner.classes_, learner._open = classes, first._open
    learner.seed_, learner.n_iter_ = first.seed_, max(model.n_iter_ for model in models)
    learner._state = state
    form = getattr(first, "form_", None)
    if form is not None and all(same_form(form, getattr(model, "form_", None)) for model in models):
        learner.form_ = form
    return learner
