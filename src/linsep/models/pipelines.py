"""Find the learner, the calibration and the feature maps of any model: a learner, calibrated or not, or a pipeline."""

import sys
from typing import Any

from linsep.estimators.base.learner import Learner
from linsep.estimators.calibration import CalibratedClassifier


def learner_of(model: Any) -> Learner:
    """Return the learner, without the steps before it or the calibration around it."""
    last = last_of(model)
    return last.estimator_ if isinstance(last, CalibratedClassifier) else last


def last_of(model: Any) -> Any:
    """Return the last step of a pipeline, or the model itself."""
    return model.steps[-1][1] if is_pipeline(model) else model


def maps_before(model: Any) -> list[tuple[str, Any]]:
    """Return the steps of a pipeline before its learner, without those that pass rows through; else none."""
    steps = model.steps[:-1] if is_pipeline(model) else []
    return [(name, step) for name, step in steps if not is_passthrough(step)]


def is_calibrated(model: Any) -> bool:
    """Return whether a model's probabilities and labels are calibrated."""
    return isinstance(last_of(model), CalibratedClassifier)


def is_pipeline(model: Any) -> bool:
    """Return whether a model is a Pipeline, without the slow import of scikit-learn's module."""
    module = sys.modules.get("sklearn.pipeline")
    return module is not None and isinstance(model, module.Pipeline)


def is_passthrough(step: Any) -> bool:
    """Return whether a step of a pipeline passes rows through."""
    return step is None or (isinstance(step, str) and step == "passthrough")
