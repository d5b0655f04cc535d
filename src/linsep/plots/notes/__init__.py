"""The figures of the lecture notes, drawn anew: one function each, and `linsep figures` writes them all.

They need the extra `linsep[plot]`. A figure of one panel takes `ax=` to draw into, one of several panels `figure=`;
both return the axes. :data:`linsep.plots.notes.catalogue.FIGURES` lists them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linsep.plots.notes.angles import cosines
    from linsep.plots.notes.circle import unit_sphere
    from linsep.plots.notes.correction import update
    from linsep.plots.notes.cover import dichotomies
    from linsep.plots.notes.exponential import chord
    from linsep.plots.notes.guesses import guess_table
    from linsep.plots.notes.lifting import constant_dimension
    from linsep.plots.notes.paths import ascent_paths
    from linsep.plots.notes.rates import winnow_bound
    from linsep.plots.notes.regions import mistake_regions
    from linsep.plots.notes.regression import line_fit
    from linsep.plots.notes.sigmoid import sigmoid_surface
    from linsep.plots.notes.surrogates import losses

__all__ = [
    "ascent_paths",
    "chord",
    "constant_dimension",
    "cosines",
    "dichotomies",
    "guess_table",
    "line_fit",
    "losses",
    "mistake_regions",
    "sigmoid_surface",
    "unit_sphere",
    "update",
    "winnow_bound",
]

# Names are imported when first used. No file is called as its function is: importing the file would hide the function.
_HOMES = {
    "ascent_paths": "paths",
    "chord": "exponential",
    "constant_dimension": "lifting",
    "cosines": "angles",
    "dichotomies": "cover",
    "guess_table": "guesses",
    "line_fit": "regression",
    "losses": "surrogates",
    "mistake_regions": "regions",
    "sigmoid_surface": "sigmoid",
    "unit_sphere": "circle",
    "update": "correction",
    "winnow_bound": "rates",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'linsep.plots.notes' has no attribute {name!r}")
    try:
        return getattr(import_module(f"linsep.plots.notes.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ModuleNotFoundError("pictures need matplotlib: pip install 'linsep[plot]'", name="matplotlib") from error


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
