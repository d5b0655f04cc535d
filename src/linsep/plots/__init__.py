"""Pictures, as matplotlib axes; they need the extra `linsep[plot]`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linsep.plots.boundary import boundary_path
    from linsep.plots.decision_regions import decision_boundary
    from linsep.plots.evaluation import Result, calibration, comparison, confusion, margins, precision_recall, roc
    from linsep.plots.experiment_curves import noise, versus, votes
    from linsep.plots.run_curves import ascent, bounds, mistakes, potential, progress, squeeze, windows
    from linsep.plots.weight_bars import weights

__all__ = [
    "Result",
    "ascent",
    "boundary_path",
    "bounds",
    "calibration",
    "comparison",
    "confusion",
    "decision_boundary",
    "margins",
    "mistakes",
    "noise",
    "potential",
    "precision_recall",
    "progress",
    "roc",
    "squeeze",
    "versus",
    "votes",
    "weights",
    "windows",
]

# Names are imported when first used. No file is called as its function is: importing the file would hide the function.
_HOMES = {
    "Result": "evaluation",
    "ascent": "run_curves",
    "boundary_path": "boundary",
    "bounds": "run_curves",
    "calibration": "evaluation",
    "comparison": "evaluation",
    "confusion": "evaluation",
    "decision_boundary": "decision_regions",
    "margins": "evaluation",
    "mistakes": "run_curves",
    "noise": "experiment_curves",
    "potential": "run_curves",
    "precision_recall": "evaluation",
    "progress": "run_curves",
    "roc": "evaluation",
    "squeeze": "run_curves",
    "versus": "experiment_curves",
    "votes": "experiment_curves",
    "weights": "weight_bars",
    "windows": "run_curves",
}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'linsep.plots' has no attribute {name!r}")
        return _load(f"linsep.plots.{_HOMES[name]}", name)


def _load(module: str, name: str) -> Any:
    """Import a name from a module that draws; name the extra to install if matplotlib is missing."""
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ModuleNotFoundError("pictures need matplotlib: pip install 'linsep[plot]'", name="matplotlib") from error


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
