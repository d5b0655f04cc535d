"""The figures of the lecture notes, redrawn: one function each, and `linsep figures` writes all of them.

They need the extra `linsep[plot]`. A figure of one panel takes `ax=` to draw into, a figure of several panels
`figure=`; by default, figures are new. Both return the axes. :data:`linsep.plots.notes.catalogue.FIGURES` lists them.
Each note has a module.
"""

from typing import TYPE_CHECKING, Any

from linsep.plots import _load
from linsep.plots.notes.catalogue import FIGURES

if TYPE_CHECKING:
    from linsep.plots.notes.note_000 import dichotomies, feature_race, turned_labels, winnow_bound
    from linsep.plots.notes.note_001 import losses
    from linsep.plots.notes.note_002 import ascent_paths, cosines, guess_table, mistake_regions, sigmoid_surface
    from linsep.plots.notes.note_003 import constant_dimension, unit_sphere, update
    from linsep.plots.notes.note_004 import chord, line_fit

__all__ = [
    "ascent_paths",
    "chord",
    "constant_dimension",
    "cosines",
    "dichotomies",
    "feature_race",
    "guess_table",
    "line_fit",
    "losses",
    "mistake_regions",
    "sigmoid_surface",
    "turned_labels",
    "unit_sphere",
    "update",
    "winnow_bound",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in FIGURES:
            raise AttributeError(f"module 'linsep.plots.notes' has no attribute {name!r}")
        return _load(f"linsep.plots.notes.note_{FIGURES[name].note}", name)


def __dir__() -> list[str]:
    return sorted([*globals(), *FIGURES])
