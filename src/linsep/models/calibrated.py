"""A calibration to plain values and arrays, and back, checked: what it says must be probabilities."""

from typing import Any

import numpy as np

from linsep.core.arrays import Array
from linsep.learners.calibration import Calibrated
from linsep.learners.recent import Recent
from linsep.models.machines import is_count
from linsep.models.values import Arrays, Foreign
from linsep.solvers.isotonic import Isotonic
from linsep.solvers.platt import Platt

Maps = list[Platt | Isotonic]


def packed_calibration(model: Calibrated, arrays: Arrays, name: str) -> dict[str, Any]:
    """Return what tells of the maps, and of the rows that they go by."""
    maps: Any = model.calibration_
    kind = "isotonic" if maps and isinstance(maps[0], Isotonic) else "platt"
    if kind == "platt":
        arrays[f"{name}.platt"] = np.array(maps, np.float64).reshape(len(maps), len(Platt._fields))
    else:
        arrays[f"{name}.corners"] = np.array([len(of.x) for of in maps], np.int64)
        arrays[f"{name}.x"] = np.concatenate([of.x for of in maps])
        arrays[f"{name}.y"] = np.concatenate([of.y for of in maps])
    arrays |= {f"{name}.recent.{of}": values for of, values in model._recent._asdict().items()}
    return {"maps": kind, "rows": int(model._rows)}


def unpack_calibration(model: Calibrated, told: dict[str, Any], arrays: Arrays, name: str) -> None:
    """Give a model, whose learner is there, the maps and the rows that were packed, if they are sound."""
    classes = len(model.classes_)
    count = classes if classes > 2 else classes - 1
    if not is_count(told["rows"]):
        raise Foreign("the rows that its calibration has seen are not a count")
    if told["maps"] not in ("platt", "isotonic"):
        raise Foreign(f"its calibration is of the kind {told['maps']!r:.40}, which does not exist")
    model._maps = (_platts if told["maps"] == "platt" else _isotonics)(count, arrays, name)
    model._recent, model._rows = _recent(classes, arrays, name), told["rows"]


def _platts(count: int, arrays: Arrays, name: str) -> Maps:
    table = _numbers(arrays, f"{name}.platt", np.float64, (count, len(Platt._fields)))
    if not np.isfinite(table[:, :2]).all():
        raise Foreign("a sigmoid of its calibration has a slope or an offset that is not finite")
    gaps, steps, done = table[:, 2:].T
    counted = (steps >= 0) & (steps < 1 << 31) & (steps == np.round(steps))
    if not ((gaps >= 0) & counted & np.isin(done, (0, 1))).all():
        raise Foreign("a sigmoid of its calibration does not say how it was found")
    return [Platt(a, b, gap, int(n), converged == 1) for a, b, gap, n, converged in table.tolist()]


def _isotonics(count: int, arrays: Arrays, name: str) -> Maps:
    corners = _numbers(arrays, f"{name}.corners", np.int64, (count,))
    x = arrays[f"{name}.x"]
    if count == 0 or corners.min() < 1 or corners.max() > len(x) or corners.sum() != len(x):
        raise Foreign("the maps of its calibration have other corners than are listed")
    x, y = (_numbers(arrays, f"{name}.{axis}", np.float64, (len(x),)) for axis in "xy")
    cuts = np.cumsum(corners)[:-1]
    within = np.ones(len(x) - 1, bool)
    within[cuts - 1] = False
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(x).all() or not (x[1:] > x[:-1])[within].all():
            raise Foreign("a map of its calibration has scores that are not in order")
        if not ((y >= 0) & (y <= 1)).all() or not (y[1:] >= y[:-1])[within].all():
            raise Foreign("a map of its calibration has probabilities that are none, or fall")
    return [Isotonic(*of) for of in zip(np.split(x, cuts), np.split(y, cuts), strict=True)]


def _recent(classes: int, arrays: Arrays, name: str) -> Recent:
    """Return the rows that the maps go by; the score of a class that was not known yet is NaN."""
    scores = arrays[f"{name}.recent.scores"]
    rows = len(scores) if scores.ndim else 0
    shape = (rows, classes) if rows and classes > 2 else (rows,)
    _numbers(arrays, f"{name}.recent.scores", np.float64, shape)
    codes = _numbers(arrays, f"{name}.recent.codes", np.int32, (rows,))
    weights = _numbers(arrays, f"{name}.recent.weights", np.float64, (rows,))
    if np.isinf(scores).any() or (scores.ndim == 1 and np.isnan(scores).any()):
        raise Foreign("a score that its calibration goes by is not finite")
    if rows and not 0 <= codes.min() <= codes.max() < classes:
        raise Foreign("a row that its calibration goes by is of no class")
    if not ((weights > 0) & (weights < np.inf)).all():
        raise Foreign("a row that its calibration goes by has a weight that is none")
    return Recent(scores, codes, weights)


def _numbers(arrays: Arrays, name: str, kind: Any, shape: tuple[int, ...]) -> Array:
    array = arrays[name]
    if array.dtype != kind or array.shape != shape:
        raise Foreign(f"its array {name:.60} is {array.dtype}{list(array.shape)}, not {np.dtype(kind)}{list(shape)}")
    return array
