"""Pictures, as matplotlib axes; they need the extra `linsep[plot]`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linsep.plots.bound_curve import bounds
    from linsep.plots.boundary import boundary_path
    from linsep.plots.confusion_matrix import confusion
    from linsep.plots.decision_regions import decision_boundary
    from linsep.plots.lemma_curve import potential, squeeze
    from linsep.plots.majority_curve import versus
    from linsep.plots.margin_histogram import margins
    from linsep.plots.mistake_curve import mistakes
    from linsep.plots.noise_curve import noise
    from linsep.plots.progress_curve import ascent, progress
    from linsep.plots.ranking import Result, comparison
    from linsep.plots.reliability import calibration
    from linsep.plots.vote_curve import votes
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
    "progress",
    "squeeze",
    "versus",
    "votes",
    "weights",
]

# Names are imported when first used. No file is called as its function is: importing the file would hide the function.
_HOMES = {
    "Result": "ranking",
    "ascent": "progress_curve",
    "boundary_path": "boundary",
    "bounds": "bound_curve",
    "calibration": "reliability",
    "comparison": "ranking",
    "confusion": "confusion_matrix",
    "decision_boundary": "decision_regions",
    "margins": "margin_histogram",
    "mistakes": "mistake_curve",
    "noise": "noise_curve",
    "potential": "lemma_curve",
    "progress": "progress_curve",
    "squeeze": "lemma_curve",
    "versus": "majority_curve",
    "votes": "vote_curve",
    "weights": "weight_bars",
}


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
