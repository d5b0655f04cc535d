"""The page around a report: text made harmless, figures as inline SVG whose colours follow light and dark."""

import io
import re
import warnings
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from xml.etree import ElementTree

import matplotlib
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
LIGHT, DARK = ("#ffffff", "#1b1f24"), ("#14171c", "#e6e9ed")
"""Paper and ink by day and by night; page.css has the same."""
ADAPTED = {"#ffffff": "var(--page)", "#000000": "currentColor", LIGHT[1]: "currentColor"}
"""The colours of a figure that become the page's own."""
SMALLEST = 0.63
"""Pixels a point that a figure is drawn with at least; on a narrower screen it is scrolled."""
DRAWING = {"svg", "defs", "clipPath", "pattern", "g", "path", "rect", "circle", "use", "text", "tspan", "image"}
"""What a figure is made of; anything else is left out."""
NO_CHARACTERS = [
    *range(9),
    *range(11, 32),
    *range(127, 160),
    *range(0xD800, 0xE000),
    *range(0xFDD0, 0xFDF0),
    0xFFFE,
    0xFFFF,
]
"""Codes that no page may contain: control characters but for tabs and ends of lines, halves of pairs, and gaps."""


def plain(text: object, most: int | None = None) -> str:
    """Return a text with a sign, �, for what is no character, cut to so many characters if it has more.

    Examples
    --------
    >>> plain("a" + chr(0)), plain("endless", most=4)
    ('a�', 'end…')
    """
    words = str(text).replace("\r\n", "\n").translate(dict.fromkeys(NO_CHARACTERS, "�"))
    return words if most is None or len(words) <= most else words[: most - 1] + "…"


def harmless(text: object, most: int = 300) -> str:
    """Return a text as HTML that keeps its direction to itself; the beginning of a longer one, the rest in a tooltip.

    Examples
    --------
    >>> harmless("<b>")
    '<bdi>&lt;b&gt;</bdi>'
    """
    whole, part = plain(text, 10 * most), plain(text, most)
    return tag("bdi", escape(part), title=None if whole == part else whole)


def tag(name: str, inside: str = "", **attributes: object) -> str:
    """Return an element around some HTML, its attributes escaped, those that are None left out.

    Examples
    --------
    >>> tag("p", "so", class_="none", aria_label="<>", id=None)
    '<p class="none" aria-label="&lt;&gt;">so</p>'
    """
    given = {key.rstrip("_").replace("_", "-"): plain(value) for key, value in attributes.items() if value is not None}
    written = "".join(f' {key}="{escape(value)}"' for key, value in given.items())
    return f"<{name}{written}>{inside}</{name}>"


def inline_svg(figure: Figure, name: str, alt: str) -> str:
    """Return a figure as an SVG element to stand in a page: the same each time, its ids its own, its text as text.

    Its ink becomes the page's, and so does its white; every other colour becomes a variable that
    :func:`night_colours` gives a counterpart.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Its background is left out.
    name : str
        What its ids begin with; another one for each figure of a page.
    alt : str
        What it shows, for those who can't see it.

    Returns
    -------
    str
    """
    root = ElementTree.fromstring(plain(_saved(figure)))
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
    return ElementTree.tostring(root, encoding="unicode")


def _saved(figure: Figure) -> str:
    drawn = io.StringIO()
    nothing = dict.fromkeys(["Creator", "Date", "Format", "Type"])
    with matplotlib.rc_context({"svg.hashsalt": "linsep", "svg.fonttype": "none"}), warnings.catch_warnings():
        # The reader's fonts draw the text, not matplotlib's.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        figure.savefig(drawn, format="svg", transparent=True, metadata=nothing)
    return drawn.getvalue()


def _tidy(element: ElementTree.Element, name: str, used: set[str]) -> None:
    """Leave namespaces, foreign elements, links and idle ids out; make ids and colours fit the page."""
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
            kept[key] = _adapted(value).replace("url(#", f"url(#{name}.")
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
    """Return what an element is called in the page: a link is no more than a group."""
    name = element.tag.rpartition("}")[2]
    return "g" if name == "a" else name


def _adapted(style: str) -> str:
    """Return a style with the page's fonts, and variables for colours."""
    style = re.sub(r"(font(?:-family)?: (?:[^;']*px )?)([^;]+)", _in_page_fonts, style)
    return re.sub(r"(?<!\()#[0-9a-f]{6}\b", lambda c: ADAPTED.get(c[0], f"var(--c{c[0][1:]})"), style)


def _in_page_fonts(found: re.Match[str]) -> str:
    before, families = found.groups()
    generic = families.rpartition(",")[2].strip()
    own = {"sans-serif": "var(--sans)", "monospace": "var(--mono)"}.get(generic)
    return before + (own or f"{families}, var(--sans)").replace('"', "'")


def night_colours(colours: Iterable[str]) -> dict[str, str]:
    """Return for each colour on white paper the one to take on dark paper: as far from the paper, of the same hue.

    The lightness of OKLab is mirrored, and middle tones are raised a little: what stood out still does, and light text
    on dark cells becomes dark text on light cells.

    Examples
    --------
    >>> night_colours(["#08306b", "#deebf7"])
    {'#08306b': '#bad5ff', '#deebf7': '#27313a'}
    """
    (paper, ink), (night_paper, night_ink) = ([_oklab(colour)[0] for colour in pair] for pair in (LIGHT, DARK))
    found = {}
    for colour in sorted(set(colours)):
        lightness, *hue = _oklab(colour)
        away = min((paper - lightness) / (paper - ink), 1.0) ** 0.8
        found[colour] = _hex(night_paper + away * (night_ink - night_paper), np.array(hue))
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
    """Return the colour of a lightness and a hue, as strong as a screen can show it, up to the hue's own strength."""
    strengths = np.linspace(1, 0, 101)
    lab = np.column_stack([np.full(101, lightness), strengths[:, None] * hue])
    linear = (lab @ np.linalg.inv(TO_LAB).T) ** 3 @ np.linalg.inv(TO_CONES).T
    shown = np.all((linear >= -1e-4) & (linear <= 1 + 1e-4), axis=1)
    first = np.clip(linear[np.argmax(shown)], 0, 1)
    rgb = np.where(first <= 0.0031308, 12.92 * first, 1.055 * first ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)


def frame(title: str, generator: str, body: str) -> str:
    """Return the whole page: head, style and the colours that the body's figures use."""
    colours = night_colours(f"#{digits}" for digits in re.findall(r"var\(--c([0-9a-f]{6})\)", body))
    by_day = "".join(f"--c{day[1:]}:{day};" for day in colours)
    by_night = "".join(f"--c{day[1:]}:{night};" for day, night in colours.items())
    style = (files("linsep.plots") / "page.css").read_text("utf-8")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="{escape(generator)}">
<link rel="icon" href="data:,">
<title>{escape(plain(title, 200))}</title>
<style>
{style}:root {{ {by_day} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {by_night} }} }}
</style>
</head>
<body>
{body}
</body>
</html>
"""
