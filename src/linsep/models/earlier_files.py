"""Model files of earlier versions: the names and values that have changed since, and those added since.

A decoder converts old contents to the present form here, and then handles the present form alone.
"""

from typing import Any

from linsep.estimators.base.online import OnlineLearner
from linsep.models.encoding import Foreign

RENAMED: dict[str, tuple[str, dict[str, str]]] = {
    "hinge": ("loss", {"l1": "hinge", "l2": "squared_hinge"}),
    "method": ("method", {"platt": "sigmoid"}),
    "multi_class": ("multi_class", {"pair": "joint"}),
    "smoothing": ("alpha", {}),
}
"""Renamed parameters: the present name of each, and the present names of its values."""
REMOVED = {"select": (None, "first", "worst", "random")}
"""Removed parameters of online learners, and the values that each had. No prediction depends on them."""
ADDED_TO_MODELS: dict[str, Any] = {"facts": {}, "named": False}
ADDED_TO_STATES: dict[str, Any] = {"behind": 0}
ADDED_TO_LINKS: dict[str, Any] = {"dual": False}
"""Fields that earlier files lack, with their values for such files."""


def present_parameters(kind: type, stored: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of an estimator of this class by their present names."""
    if issubclass(kind, OnlineLearner):
        stored = {name: value for name, value in stored.items() if not _is_removed(name, value)}
    present = dict(_renamed(name, value) for name, value in stored.items())
    if len(present) < len(stored):
        raise Foreign("it has a parameter twice, by an earlier and by its present name")
    return present


def present_model(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a model with what was added since."""
    return ADDED_TO_MODELS | meta


def present_state(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a training state with what was added since."""
    return ADDED_TO_STATES | meta | {"link": ADDED_TO_LINKS | meta["link"]}


def _is_removed(name: str, value: Any) -> bool:
    return (value is None or isinstance(value, str)) and value in REMOVED.get(name, ())


def _renamed(name: str, value: Any) -> tuple[str, Any]:
    name, values = RENAMED.get(name, (name, {}))
    return name, values.get(value, value) if isinstance(value, str) else value
