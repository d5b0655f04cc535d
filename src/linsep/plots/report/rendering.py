"""Render the templates of report pages: every text is escaped, and what is no character is replaced."""

from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

NO_CHARACTERS = [
    *range(9),
    *range(11, 32),
    *range(127, 160),
    *range(0xD800, 0xE000),
    *range(0xFDD0, 0xFDF0),
    0xFFFE,
    0xFFFF,
]
"""Codes that HTML forbids: control characters except tab and newline, surrogates, and noncharacters."""
REPLACED = dict.fromkeys(NO_CHARACTERS, "�")


def plain(value: object, most: int | None = None) -> str:
    """Convert a value to text, replace forbidden characters by � and truncate the text to `most` characters.

    Examples
    --------
    >>> plain("a" + chr(0)), plain("endless", most=4)
    ('a�', 'end…')
    """
    text = str(value).replace("\r\n", "\n").translate(REPLACED)
    return text if most is None or len(text) <= most else text[: most - 1] + "…"


def shown(value: object) -> str:
    """Format a value: four digits of a fraction, commas between thousands, a dash for None.

    Examples
    --------
    >>> [shown(value) for value in (12345, 0.123456, -2, True, None, "as it is")]
    ['12,345', '0.1235', '−2', 'yes', '–', 'as it is']
    """
    match value:
        case None:
            return "–"
        case bool() | np.bool_():
            return "yes" if value else "no"
        case Integral():
            return f"{int(value):,}".replace("-", "−")
        case Real():
            number = float(value)
            return (f"{number:,.0f}" if 1e4 <= abs(number) < 1e15 else f"{number:.4g}").replace("-", "−")
        case _:
            return str(value)


def finalized(value: Any) -> Any:
    """Return what a template writes for an expression; autoescaping escapes all of it but markup."""
    return value if isinstance(value, Markup) else plain(value)


@cache
def environment() -> Environment:
    """Return the environment of the templates; an undefined name in a template is an error."""
    made = Environment(
        loader=PackageLoader("linsep.plots.report"), autoescape=True, undefined=StrictUndefined, finalize=finalized,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    made.filters |= {"plain": plain, "shown": shown}
    return made


def macro(name: str, *arguments: Any) -> Markup:
    """Return the HTML that a macro of templates/parts.html writes."""
    return getattr(environment().get_template("parts.html").module, name)(*arguments)
