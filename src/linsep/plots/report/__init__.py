"""Reports: HTML pages of text, tables and pictures, each one file that loads nothing and runs nothing.

The templates are in `templates/`. Reports need matplotlib and jinja2, the extra `linsep[plot]`.
"""

from linsep.plots.report.page import Report, Section
from linsep.plots.report.parts import (
    Code,
    Column,
    Example,
    Examples,
    Fact,
    Facts,
    Part,
    Picture,
    Table,
    Text,
    axes,
)
from linsep.plots.report.rendering import shown

__all__ = [
    "Code",
    "Column",
    "Example",
    "Examples",
    "Fact",
    "Facts",
    "Part",
    "Picture",
    "Report",
    "Section",
    "Table",
    "Text",
    "axes",
    "shown",
]
