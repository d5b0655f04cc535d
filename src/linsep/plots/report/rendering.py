"""Render values and matplotlib figures as HTML, and let figures follow the light and dark mode of a page."""

import io
import re
import warnings
from collections.abc import Iterable
from functools import cache
from numbers import Integral, Real
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

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


def finalize(value: Any) -> Any:
    """Return what a template writes for an expression; autoescaping escapes all of it but markup."""
    return value if isinstance(value, Markup) else plain(value)


@cache
def environment() -> Environment:
    """Return the environment of the templates; an undefined name in a template is an error."""
    made = Environment(
        loader=PackageLoader("linsep.plots.report"), autoescape=True, undefined=StrictUndefined, finalize=finalize,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    made.filters |= {"plain": plain, "shown": shown}
    return made


def macro(name: str, *arguments: Any) -> Markup:
    """Return the HTML that a macro of templates/parts.html writes."""
    return getattr(environment().get_template("parts.html").module, name)(*arguments)


LIGHT, DARK = ("#ffffff", "#1b1f24"), ("#14171c", "#e6e9ed")
"""The page's background and text colour in the light and in the dark scheme; page.css has the same."""
ADAPTED = {"#ffffff": "var(--page)", "#000000": "currentColor", LIGHT[1]: "currentColor"}
"""The colours of a figure that are replaced by the page's."""
SMALLEST = 0.63
"""The least scale of a figure in pixels per point; on a narrower screen the figure scrolls."""
DRAWING = {"svg", "defs", "clipPath", "pattern", "g", "path", "rect", "circle", "use", "text", "tspan", "image"}
"""The elements that are kept; all others are removed."""


def inline_svg(figure: Figure, name: str, alt: str) -> Markup:
    """Convert a figure to an SVG element for a page: deterministic, with unique ids and text as text.

    The figure's text colour and white become the page's; every other colour becomes a CSS variable, for which
    :func:`dark_colours` returns the value in the dark scheme.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Its background is omitted.
    name : str
        The prefix of its ids, unique within the page.
    alt : str
        A description of the picture for screen readers.
    """
    root = ElementTree.fromstring(plain(_save_svg(figure)))
    used = set(re.findall(r"#([^\s\"')]+)", " ".join(v for e in root.iter() for v in e.attrib.values())))
    _tidy(root, name, used)
    width, height = (float(root.attrib[side].removesuffix("pt")) for side in ("width", "height"))
    root.attrib = {
        "class": "plot",
        "role": "img",
        "aria-label": plain(alt),
        "viewBox": f"0 0 {width:g} {height:g}",
        "style": f"min-width:{width * SMALLEST:.0f}px",
    }
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _save_svg(figure: Figure) -> str:
    drawn = io.StringIO()
    nothing = dict.fromkeys(["Creator", "Date", "Format", "Type"])
    with matplotlib.rc_context({"svg.hashsalt": "linsep", "svg.fonttype": "none"}), warnings.catch_warnings():
        # The reader's fonts draw the text, not matplotlib's.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        figure.savefig(drawn, format="svg", transparent=True, metadata=nothing)
    return drawn.getvalue()


def _tidy(element: ElementTree.Element, name: str, used: set[str]) -> None:
    """Remove namespaces, foreign elements, links and unused ids; adapt ids and colours to the page."""
    element.tag = _name(element)
    element.tail = None
    if element.text is not None and not element.text.strip():
        element.text = None
    kept = {}
    for key, value in element.attrib.items():
        key = key.rpartition("}")[2]
        if key == "fill":
            key, value = "style", f"fill: {value}"
        if key == "id" and value in used:
            kept[key] = f"{name}.{value}"
        elif key == "href" and value.startswith("#"):
            kept[key] = f"#{name}.{value[1:]}"
        elif key == "style":
            kept[key] = _adapt(value).replace("url(#", f"url(#{name}.")
        elif key == "d":
            kept[key] = " ".join(value.split())
        elif key not in ("id", "href") or value.startswith("data:image/png;base64,"):
            kept[key] = value.replace("url(#", f"url(#{name}.")
    element.attrib = kept
    for child in list(element):
        if _name(child) in DRAWING:
            _tidy(child, name, used)
        else:
            element.remove(child)


def _name(element: ElementTree.Element) -> str:
    """Return the element's name without its namespace; a link becomes a group."""
    name = element.tag.rpartition("}")[2]
    return "g" if name == "a" else name


def _adapt(style: str) -> str:
    """Replace fonts by the page's, and colours by variables."""
    style = re.sub(r"(font(?:-family)?: (?:[^;']*px )?)([^;]+)", _in_page_fonts, style)
    return re.sub(r"(?<!\()#[0-9a-f]{6}\b", lambda c: ADAPTED.get(c[0], f"var(--c{c[0][1:]})"), style)


def _in_page_fonts(found: re.Match[str]) -> str:
    before, families = found.groups()
    generic = families.rpartition(",")[2].strip()
    own = {"sans-serif": "var(--sans)", "monospace": "var(--mono)"}.get(generic)
    return before + (own or f"{families}, var(--sans)").replace('"', "'")


def variables_in(pages: Iterable[str]) -> set[str]:
    """Return the colours whose variables occur in HTML."""
    return {f"#{digits}" for page in pages for digits in re.findall(r"var\(--c([0-9a-f]{6})\)", page)}


def dark_colours(colours: Iterable[str]) -> dict[str, str]:
    """Return for each colour on a light background its counterpart on a dark one, of the same hue and contrast.

    The lightness in OKLab is mirrored, and middle tones are raised a little. So light text on dark cells becomes dark
    text on light cells.

    Examples
    --------
    >>> dark_colours(["#08306b", "#deebf7"])
    {'#08306b': '#bad5ff', '#deebf7': '#27313a'}
    """
    (paper, ink), (dark_paper, dark_ink) = ([_oklab(colour)[0] for colour in pair] for pair in (LIGHT, DARK))
    found = {}
    for colour in sorted(set(colours)):
        lightness, *hue = _oklab(colour)
        away = min((paper - lightness) / (paper - ink), 1.0) ** 0.8
        found[colour] = _hex(dark_paper + away * (dark_ink - dark_paper), np.array(hue))
    return found


TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
"""OKLab of Björn Ottosson: linear sRGB to the eye's cones, and their cube roots to lightness and two hues."""


def _oklab(colour: str) -> NDArray[np.float64]:
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return TO_LAB @ np.cbrt(TO_CONES @ linear)


def _hex(lightness: float, hue: NDArray[np.float64]) -> str:
    """Return the colour of a lightness and a hue; its chroma is reduced until a screen can show the colour."""
    strengths = np.linspace(1, 0, 101)
    lab = np.column_stack([np.full(101, lightness), strengths[:, None] * hue])
    linear = (lab @ np.linalg.inv(TO_LAB).T) ** 3 @ np.linalg.inv(TO_CONES).T
    shown = np.all((linear >= -1e-4) & (linear <= 1 + 1e-4), axis=1)
    first = np.clip(linear[np.argmax(shown)], 0, 1)
    rgb = np.where(first <= 0.0031308, 12.92 * first, 1.055 * first ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)
