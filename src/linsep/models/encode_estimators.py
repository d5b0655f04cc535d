"""Encode learners, feature maps and pipelines, and decode them with validation."""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linsep.data.text.transformers import TextCounter, TextHasher
from linsep.engine.readouts import UPDATES
from linsep.estimators.base.learner import Learner
from linsep.estimators.calibration import CalibratedClassifier, Map, Recent
from linsep.estimators.least_squares import LeastSquaresRegression
from linsep.estimators.online_classifier import OnlineClassifier
from linsep.estimators.passive_aggressive_regressor import PassiveAggressiveRegressor
from linsep.estimators.registry import LEARNERS
from linsep.models.earlier_files import present_model, present_parameters
from linsep.models.encode_state import decode_state, encode_state, is_count
from linsep.models.encoding import Decoder, Encoder, Foreign
from linsep.models.pipelines import is_passthrough, is_pipeline
from linsep.solvers.calibration import Isotonic, Platt, Temperature
from linsep.training.by_loss import Columns
from linsep.transforms import MAPS
from linsep.validation.errors import ParameterError

Maps = list[Map]

CLASSIFIERS: dict[str, type[Learner]] = {
    **{name: entry.learner for name, entry in LEARNERS.items()},
    "online-classifier": OnlineClassifier,
}
TRANSFORMERS: dict[str, type] = {**MAPS, "text-hasher": TextHasher, "text-counter": TextCounter}
MOST_FEATURES = 1 << 48
MOST_THREADS = 1 << 16
ONLY = "save takes a learner of linsep, or a Pipeline of linsep's maps (and TextHasher, TextCounter) and a learner"


def _encode_calibration(model: CalibratedClassifier, to: Encoder, name: str) -> dict[str, Any]:
    """Encode the calibration maps, and the rows that they were fitted to."""
    maps: Any = model.calibration_
    arrays = to.arrays
    kind = KINDS_OF_MAPS[type(maps[0])] if maps else "platt"
    if kind == "temperature":
        arrays[f"{name}.temperature"] = np.array([of.slope for of in maps], np.float64)
    elif kind == "platt":
        arrays[f"{name}.platt"] = np.array(maps, np.float64).reshape(len(maps), len(Platt._fields))
    else:
        arrays[f"{name}.corners"] = np.array([len(of.x) for of in maps], np.int64)
        arrays[f"{name}.x"] = np.concatenate([of.x for of in maps])
        arrays[f"{name}.y"] = np.concatenate([of.y for of in maps])
    arrays.update({f"{name}.recent.{of}": values for of, values in model._recent._asdict().items()})
    return {"maps": kind, "rows": int(model._rows)}


def _decode_calibration(model: CalibratedClassifier, meta: dict[str, Any], decoder: Decoder, name: str) -> None:
    """Set the calibration maps and the recent rows of a model that has its learner, and validate them."""
    classes = len(model.classes_)
    count = classes if classes > 2 else classes - 1
    if not is_count(meta["rows"]):
        raise Foreign("the rows that its calibration has seen are not a count")
    if not isinstance(meta["maps"], str) or meta["maps"] not in DECODERS:
        raise Foreign(f"its calibration is of the kind {meta['maps']!r:.40}, which does not exist")
    model._maps = DECODERS[meta["maps"]](count, decoder, name)
    model._recent, model._rows = _recent(classes, decoder, name), meta["rows"]


def _platts(count: int, decoder: Decoder, name: str) -> Maps:
    table = decoder.array(f"{name}.platt", (np.float64,), (count, len(Platt._fields)), finite=False)
    if not np.isfinite(table[:, :2]).all():
        raise Foreign("a sigmoid of its calibration has a slope or an offset that is not finite")
    gaps, steps, done = table[:, 2:].T
    counted = (steps >= 0) & (steps < 1 << 31) & (steps == np.round(steps))
    if not ((gaps >= 0) & counted & np.isin(done, (0, 1))).all():
        raise Foreign("a sigmoid of its calibration lacks its fit")
    return [Platt(a, b, gap, int(n), converged == 1) for a, b, gap, n, converged in table.tolist()]


def _isotonics(count: int, decoder: Decoder, name: str) -> Maps:
    corners = decoder.array(f"{name}.corners", (np.int64,), (count,))
    x = decoder.array(f"{name}.x", (np.float64,), (None,), finite=False)
    if count == 0 or corners.min() < 1 or corners.max() > len(x) or corners.sum() != len(x):
        raise Foreign("the maps of its calibration have other corners than are listed")
    y = decoder.array(f"{name}.y", (np.float64,), (len(x),), finite=False)
    cuts = np.cumsum(corners)[:-1]
    within = np.ones(len(x) - 1, bool)
    within[cuts - 1] = False
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(x).all() or not (x[1:] > x[:-1])[within].all():
            raise Foreign("a map of its calibration has scores that are not in order")
        if not ((y >= 0) & (y <= 1)).all() or not (y[1:] >= y[:-1])[within].all():
            raise Foreign("a map of its calibration has probabilities that are none, or fall")
    return [Isotonic(*of) for of in zip(np.split(x, cuts), np.split(y, cuts), strict=True)]


def _temperatures(count: int, decoder: Decoder, name: str) -> Maps:
    slopes = decoder.array(f"{name}.temperature", (np.float64,), (min(count, 1),), finite=False)
    if not ((slopes >= 0) & (slopes < np.inf)).all():
        raise Foreign("the temperature of its calibration is not a finite number of 0 and above")
    return [Temperature(slope) for slope in slopes.tolist()]


KINDS_OF_MAPS: dict[type, str] = {Platt: "platt", Isotonic: "isotonic", Temperature: "temperature"}
DECODERS: dict[str, Callable[[int, Decoder, str], Maps]] = {
    "platt": _platts, "isotonic": _isotonics, "temperature": _temperatures,
}  # fmt: skip
"""The reader of each kind of map."""


def _recent(classes: int, decoder: Decoder, name: str) -> Recent:
    """Return the rows that the maps go by; the score of a class that was not known yet is NaN."""
    stored = decoder.arrays[f"{name}.recent.scores"]
    rows = len(stored) if stored.ndim else 0
    shape = (rows, classes) if rows and classes > 2 else (rows,)
    scores = decoder.array(f"{name}.recent.scores", (np.float64,), shape, finite=False)
    codes = decoder.array(f"{name}.recent.codes", (np.int32,), (rows,))
    weights = decoder.array(f"{name}.recent.weights", (np.float64,), (rows,), finite=False)
    if np.isinf(scores).any() or (scores.ndim == 1 and np.isnan(scores).any()):
        raise Foreign("a calibration score is not finite")
    if rows and not 0 <= codes.min() <= codes.max() < classes:
        raise Foreign("a calibration row has an unknown class")
    if not ((weights > 0) & (weights < np.inf)).all():
        raise Foreign("a calibration row has an invalid weight")
    return Recent(scores, codes, weights)


def encode_model(model: Any, to: Encoder) -> dict[str, Any]:
    """Encode a learner or a pipeline, or raise a ValueError that names what can't be saved."""
    if not is_pipeline(model):
        return _encode_learner(model, to, "model")
    if model.memory is not None:
        raise ParameterError(f"{ONLY}: this one has memory={model.memory!r:.40}, which no file can hold")
    *steps, (last, learner) = model.steps
    meta = [[name, _encode_transformer(step, to, f"steps.{name}")] for name, step in steps]
    meta.append([last, _encode_learner(learner, to, f"steps.{last}")])
    return {"pipeline": meta}


def decode_model(meta: dict[str, Any], decoder: Decoder) -> Any:
    """Return the learner or the pipeline that was stored."""
    if "pipeline" not in meta:
        return _decode_learner(meta, decoder, "model")
    *steps, (last, learner) = meta["pipeline"]
    names = [name for name, _ in meta["pipeline"]]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise Foreign("the steps of its pipeline do not have names of their own")
    made = [(name, _decode_transformer(step, decoder)) for name, step in steps]
    made.append((last, _decode_learner(learner, decoder, f"steps.{last}")))
    _refuse_other_widths(made)
    from sklearn.pipeline import Pipeline

    return Pipeline(made)


def _refuse_other_widths(steps: list[tuple[str, Any]]) -> None:
    """Refuse a pipeline in which a step makes another number of columns than the next one takes."""
    before: int | None = None
    for name, step in steps:
        if is_passthrough(step):
            continue
        width = getattr(step, "n_features_in_", None)  # documents have no columns
        if before is not None and width != before:
            raise Foreign(f"its step {name!r:.40} takes {width} columns, and the step before makes {before}")
        before = step._columns() if step is not steps[-1][1] else None


def _encode_transformer(step: Any, to: Encoder, name: str) -> Any:
    if is_passthrough(step):
        return {"map": "passthrough"}
    kind = next((kind for kind, of in TRANSFORMERS.items() if type(step) is of), None)
    if kind is None:
        raise ParameterError(f"{ONLY}; {type(step).__name__} is none of these")
    parameters = step.get_params(deep=False)
    learned = {of: value for of, value in vars(step).items() if of in step._facts}
    return {
        "map": kind,
        "parameters": to.values(parameters, f"{name}.parameters"),
        "learned": to.values(learned, name),
    }


def _decode_transformer(meta: dict[str, Any], decoder: Decoder) -> Any:
    if meta["map"] == "passthrough":
        return "passthrough"
    kind = TRANSFORMERS[meta["map"]]
    step = kind(**_parameters(kind, meta, decoder))
    for name, value in meta["learned"].items():
        if name not in step._facts:
            raise Foreign(f"{name!r:.40} is nothing that a map learns")
        setattr(step, name, decoder.value(value))
    step._check_facts()
    return step


def _encode_parameters(learner: Learner, to: Encoder, name: str) -> dict[str, Any]:
    """Return a learner's parameters; of a kernel that is a function there is the name alone."""
    parameters = learner.get_params(deep=False)
    if not callable(parameters.get("kernel")):
        return to.values(parameters, name)
    return {"kernel": to.function(parameters.pop("kernel")), **to.values(parameters, name)}


def _parameters(kind: Any, meta: dict[str, Any], decoder: Decoder) -> dict[str, Any]:
    """Return the parameters of an estimator, which must be all of its own and no others."""
    stored = {name: decoder.value(value) for name, value in meta["parameters"].items()}
    parameters = present_parameters(kind, stored)
    unknown = set(parameters) - set(kind._get_param_names())
    if unknown:
        raise Foreign(f"{kind.__name__} has no parameter {min(unknown)!r:.40}")
    for name, value in parameters.items():
        if isinstance(value, type) and name != "dtype":
            raise Foreign(f"its {name} is the type {value.__name__}")
    jobs = parameters.get("n_jobs")
    if jobs is not None and not (isinstance(jobs, int) and 0 < abs(jobs) <= MOST_THREADS):
        raise Foreign(f"it asks for {jobs!r:.20} threads: set n_jobs to 1 to {MOST_THREADS:,}, or -1, before save")
    return parameters


def _encode_learner(learner: Any, to: Encoder, name: str) -> dict[str, Any]:
    if isinstance(learner, CalibratedClassifier):
        return {"calibrated": _encode_calibrated(learner, to, name)}
    if type(learner) is LeastSquaresRegression:
        return {"regression": _encode_regression(learner, to, name)}
    if type(learner) is PassiveAggressiveRegressor:
        return {"online_regression": _encode_online_regression(learner, to, name)}
    kind = _kind_of(learner)
    state, names = learner._readable(), learner._names
    if names is not None:
        to.words(list(names), f"{name}.feature_names")
    return {
        "learner": kind,
        "parameters": _encode_parameters(learner, to, f"{name}.parameters"),
        "classes": to.value(learner.classes_, f"{name}.classes"),
        "features": int(learner.n_features_in_),
        "named": names is not None,
        "open": bool(learner._open),
        "seed": int(learner.seed_),
        "n_iter": int(learner.n_iter_),
        "machine": encode_state(state, to, name),
        "facts": to.values(_facts_of(learner), f"{name}.facts"),
    }


def _kind_of(learner: Any) -> str:
    kind = next((kind for kind, of in CLASSIFIERS.items() if type(learner) is of), None)
    if kind is None:
        raise ParameterError(f"{ONLY}; {type(learner).__name__} is none of these{_instead(learner)}")
    return kind


def _instead(learner: Any) -> str:
    """Return what to do with a model of linsep.compat, whose parameters are scikit-learn's; nothing for others."""
    if not type(learner).__module__.startswith("linsep.compat"):
        return ""
    return ": pickle it, use export_onnx or export_json, or train a learner of linsep itself"


def _decode_learner(meta: dict[str, Any], decoder: Decoder, name: str) -> Any:
    if "calibrated" in meta:
        return _decode_calibrated(meta["calibrated"], decoder, name)
    if "regression" in meta:
        return _decode_regression(meta["regression"], decoder, name)
    if "online_regression" in meta:
        return _decode_online_regression(meta["online_regression"], decoder, name)
    learner = _untrained(meta, decoder)
    classes, features, seed, passes = decoder.value(meta["classes"]), meta["features"], meta["seed"], meta["n_iter"]
    if not isinstance(classes, np.ndarray) or classes.dtype.kind not in "biufUO" or not len(classes):
        raise Foreign("its classes are not a list of labels")
    if not np.array_equal(np.unique(classes), classes):
        raise Foreign("its classes are not a list of labels in order")
    if not all(map(is_count, (features, seed, passes))) or features > MOST_FEATURES:
        raise Foreign("one of its counts is not a count")
    if type(meta["open"]) is not bool:
        raise Foreign("it does not state whether more labels may come")
    names = _names(meta, decoder, name)
    if names is not None:
        learner._names = dict(zip(names, range(features), strict=True))
    learner._open = meta["open"]
    learner._state = decode_state(learner, meta["machine"], features, len(classes), decoder, name)
    learner.classes_, learner.n_features_in_, learner.seed_, learner.n_iter_ = classes, features, seed, passes
    _decode_facts(learner, meta, decoder)
    return learner


def _encode_regression(model: LeastSquaresRegression, to: Encoder, name: str) -> dict[str, Any]:
    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        to.words(names.tolist(), f"{name}.feature_names")
    return {
        "parameters": to.values(model.get_params(deep=False), f"{name}.parameters"),
        "features": int(model.n_features_in_),
        "named": names is not None,
        "flat": model._flat,
        "bias": model._bias,
        "n_iter": int(model.n_iter_),
        "weights": to.value(np.ascontiguousarray(model._weights), f"{name}.weights"),
        "facts": to.values(_facts_of(model), f"{name}.facts"),
    }


def _decode_regression(meta: dict[str, Any], decoder: Decoder, name: str) -> LeastSquaresRegression:
    model = LeastSquaresRegression(**_parameters(LeastSquaresRegression, meta, decoder))
    model._validate_params()
    if not is_count(meta["features"]) or not is_count(meta["n_iter"]):
        raise Foreign("one of its counts is not a count")
    model.n_features_in_, model.n_iter_ = meta["features"], meta["n_iter"]
    names = _names(present_model(meta), decoder, name)
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    model._flat, model._bias, model._weights = meta["flat"], meta["bias"], decoder.value(meta["weights"])
    _decode_facts(model, meta, decoder)
    return model


def _encode_online_regression(model: PassiveAggressiveRegressor, to: Encoder, name: str) -> dict[str, Any]:
    check_is_fitted(model)
    columns, state = model._columns, model._columns.state
    if state.features != model.n_features_in_:
        columns = model._resumed()
        state = columns.state
    if model._names is not None:
        to.words(list(model._names), f"{name}.feature_names")
    return {
        "parameters": to.values(model.get_params(deep=False), f"{name}.parameters"),
        "features": int(model.n_features_in_),
        "named": model._names is not None,
        "bias": float(state.bias),
        "average": columns.onset is not None,
        "averages": columns.averages,
        "counts": [int(n) for n in (model.seed_, model.n_iter_, state.epochs, state.tally.rounds[0], model.updates_)],
        "lost": float(model._lost + state.readout.losses[0]),
        "weights": to.value(np.ascontiguousarray(state.link.s), f"{name}.weights"),
        "totals": to.value(np.ascontiguousarray(state.readout.u), f"{name}.totals") if columns.averages else None,
        "clock": float(state.readout.clock[0]) if columns.averages else 0.0,
    }


def _decode_online_regression(meta: dict[str, Any], decoder: Decoder, name: str) -> PassiveAggressiveRegressor:
    model = PassiveAggressiveRegressor(**_parameters(PassiveAggressiveRegressor, meta, decoder))
    model._validate_params()
    features, counts, bias = meta["features"], meta["counts"], meta["bias"]
    if not (isinstance(counts, list) and len(counts) == 5 and all(map(is_count, (features, *counts)))):
        raise Foreign("one of its counts is not a count")
    numbers = bias, meta["lost"], meta["clock"]
    if not all(type(number) is float and np.isfinite(number) and number >= 0 for number in numbers):
        raise Foreign("its constant feature, its losses or its average's rounds are not numbers of 0 or more")
    if any(type(meta[of]) is not bool for of in ("average", "averages")):
        raise Foreign("it does not state whether an average predicts")
    model.n_features_in_ = features
    model.seed_, model.n_iter_, epochs, rounds, updates = counts
    names = _names(meta, decoder, name)
    if names is not None:
        model._names = dict(zip(names, range(features), strict=True))
    weights = _table(decoder.value(meta["weights"]), features)
    onset = 1 if meta["average"] else None
    columns = Columns.start(model._rule(), weights, bias, np.array([0]), onset, rounds)
    state = columns.state
    if meta["averages"]:
        columns.begin_average()
        state.readout.u[:] = _table(decoder.value(meta["totals"]), features)
        state.readout.clock[:] = state.readout.mass[:] = meta["clock"]
    state.epochs, state.tally.counts[UPDATES, 0] = epochs, updates
    model._columns, model._lost = columns, meta["lost"]
    model._check_facts()
    return model


def _names(meta: dict[str, Any], decoder: Decoder, name: str) -> list[str] | None:
    """Return the names of the features, one for each, or None if they have no names."""
    if type(meta["named"]) is not bool:
        raise Foreign("it does not state whether its features have names")
    if not meta["named"]:
        return None
    names = decoder.words(f"{name}.feature_names", "its list of names of features")
    if not len(names) == len(set(names)) == meta["features"]:
        raise Foreign(f"it has {len(names)} names for {meta['features']} features")
    return names


def _table(weights: Any, features: int) -> Any:
    """Return weights of one column for so many features and the constant feature; refuse all else."""
    if not isinstance(weights, np.ndarray) or weights.dtype != np.float64 or weights.shape != (features + 1, 1):
        raise Foreign(f"its weights are not one column of {features + 1} numbers")
    return weights


def _decode_facts(model: Learner | LeastSquaresRegression, meta: dict[str, Any], decoder: Decoder) -> None:
    """Set the attributes that the solver computed beside the weights, and validate them."""
    for of, value in present_model(meta)["facts"].items():
        if of not in model._facts:
            raise Foreign(f"{of!r:.40} is nothing that {type(model).__name__} finds")
        setattr(model, of, decoder.value(value))
    model._check_facts()


def _facts_of(learner: Learner | LeastSquaresRegression) -> dict[str, Any]:
    """Return the attributes that the solver computed beside the weights."""
    return {of: getattr(learner, of) for of in learner._facts if of in vars(learner)}


def _encode_calibrated(model: CalibratedClassifier, to: Encoder, name: str) -> dict[str, Any]:
    """Encode a calibrated learner; a prefit learner is stored as it is now."""
    learner, own, template = model._fitted(), model.get_params(deep=False), None
    _kind_of(learner)
    given = own.pop("estimator")
    if model.ensemble:
        raise ParameterError("an ensemble of calibrated learners is not saved: set ensemble=False, and fit again")
    if not isinstance(own["cv"], Integral):
        del own["cv"]  # folds are of training alone
    if model.on != "prefit":
        parameters = _encode_parameters(given, to, f"{name}.template.parameters")
        template = {"learner": _kind_of(given), "parameters": parameters}
    return {
        "parameters": to.values(own, f"{name}.calibration.parameters"),
        "template": template,
        "learner": _encode_learner(learner, to, name),
        **_encode_calibration(model, to, f"{name}.calibration"),
    }


def _decode_calibrated(meta: dict[str, Any], decoder: Decoder, name: str) -> CalibratedClassifier:
    if "learner" not in meta["learner"]:
        raise Foreign("its learner is calibrated twice, or a regression")
    learner, template = _decode_learner(meta["learner"], decoder, name), meta["template"]
    given = learner if template is None else _untrained(template, decoder)
    model = CalibratedClassifier(given, **_parameters(CalibratedClassifier, meta, decoder))
    model._validate_params()
    model.estimator_ = learner
    _decode_calibration(model, meta, decoder, f"{name}.calibration")
    return model


def _untrained(meta: dict[str, Any], decoder: Decoder) -> Learner:
    """Return a learner by its name and parameters."""
    if meta["learner"] not in CLASSIFIERS:
        raise Foreign(f"there is no learner {meta['learner']!r:.40}")
    kind = CLASSIFIERS[meta["learner"]]
    learner = kind(**_parameters(kind, meta, decoder))
    learner._validate_params()
    return learner
