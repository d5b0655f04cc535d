"""The report: whatever is in it, one well-formed page that asks for nothing, in a parser's eyes and in a browser's."""

import os
import re
import stat
import subprocess
import sys
import threading
from datetime import date
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from linsep.plots.report import (
    Code,
    Column,
    Example,
    Examples,
    Fact,
    Facts,
    Picture,
    Report,
    Section,
    Table,
    Text,
    shown,
)
from linsep.plots.report.rendering import ADAPTED, DARK, LIGHT, dark_colours, inline_svg, plain
from linsep.plots.style import COLOURS, INK, PAPER
from tests.plots.browser import Tab, browser, find

VOID = {"meta", "link"}
ATTACK = "<script>alert(1)</script>"
HOSTILE = [
    ATTACK, "]]>", "-->", "</style></title></svg>", "\"><img src=x onerror=alert(1)>", "' onload='alert(1)",
    "&lt;&amp;",
    "a\0b\x1b[31m\x07\x9b", "\ud800 half \udfff", "\u202eoverride", "שלום (a) עולם", "مرحبا", "tab\tline\r\nnext\rlast",
    "W" * 10_000, "\ufffe\uffff\ufdd0", "url(http://example.com/x.png)", "var(--c123456)", "", "   ",
]  # fmt: skip


class Seen(HTMLParser):
    """What a page is made of; tags that do not match are an error."""

    def __init__(self, page: str):
        super().__init__()
        self.open, self.tags, self.attributes, self.texts, self.comments = [], [], [], [], []
        self.feed(page)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), attrs
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert "svg" in self.open, f"<{tag}/> outside of a drawing"
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def handle_comment(self, data):
        self.comments.append(data)


def check(page: str) -> Seen:
    """Check that a page is well-formed, closed in itself and harmless."""
    page.encode()
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]", page)
    seen = Seen(page)
    assert not seen.comments
    assert not {"script", "iframe", "object", "embed", "base", "form", "img", "foreignobject", "a:href"} & set(
        seen.tags
    )
    ids = [value for _, name, value in seen.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for tag, name, value in seen.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "srcset", "action", "background"), (tag, name)
        if name.endswith("href"):
            assert value[1:] in ids if value[0] == "#" else value.startswith("data:"), value
        if name in ("style", "clip-path", "fill"):
            assert all(target in ids for target in re.findall(r"url\(#(.*?)\)", value))
            assert "url(" not in re.sub(r"url\(#.*?\)", "", value)
        if name == "aria-labelledby":
            assert value in ids
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    for colour in set(re.findall(r'style="[^"]*var\((--c\w{6})\)', page)):
        assert len(re.findall(f"{colour}:#[0-9a-f]{{6}};", style)) == 2
    return seen


def drawing(title="Errors") -> Figure:
    figure = Figure(figsize=(5.2, 3.2), layout="constrained")
    ax = figure.add_subplot()
    ax.plot([0, 1, 2], [0.5, 0.2, 0.1], color=COLOURS[0], label="so far")
    ax.bar([0, 1], [0.2, 0.3], color=COLOURS[1], edgecolor=PAPER, hatch="//")
    ax.scatter([0, 1], [0.1, 0.2], c=[0.1, 0.9], cmap="Blues")
    ax.imshow(np.eye(3), extent=(0, 1, 0, 0.1), aspect="auto")
    ax.set(xlim=(-1, 2), ylim=(0, 0.6))
    ax.text(1, 0.4, "note", color=INK)
    ax.set_title(title, parse_math=False)
    ax.legend()
    return figure


def report_of(word: str, figure: Figure | None = None, sections: int = 2) -> Report:
    """Return a report in which every text is the same one."""
    parts = [
        Text(word),
        Facts([(word, word), Fact(word, word, word)]),
        Table([Column(word), Column(word, "right"), Column(word, bars=True)],
              [[word, 1, 0.5], [None, word, word], [True, np.float32(2), np.int64(-3)]], best=1, caption=word),
        Table([word], []),
        *([Picture(figure, word, word), Picture(figure.axes[0], word)] if figure else []),
        Examples([Example(word, word, word), Example({word: word, f"{word}2": 1}, word, f"{word}2", -1.5, word)], word),
        Examples([], otherwise=word),
        Code(word, word),
    ]  # fmt: skip
    return Report(word, word, [Fact(word, word, word)], [Section(word, parts)] * sections, date(2026, 3, 7))


@pytest.mark.parametrize("word", HOSTILE)
def test_every_text_is_harmless_wherever_it_stands(word):
    seen = check(report_of(word, sections=3).html())
    visible = re.sub(r"\s+", " ", plain(word, 30)[:29]).strip()
    assert re.sub(r"\s+", " ", " ".join(seen.texts)).count(visible) >= 20
    assert max(map(len, seen.texts[:-1])) < 20_001


@given(word=st.text(st.characters(exclude_categories=[]), max_size=40))
def test_any_text_gives_a_page(word):
    check(report_of(word).html())


@pytest.mark.slow
@pytest.mark.parametrize("word", [w for w in HOSTILE if "\ud800" not in w and len(w) < 100])
def test_text_in_pictures_is_harmless(word):
    seen = check(Report("", sections=[Section("", [Picture(drawing(word), word)])]).html())
    assert plain(word).replace("\r", "�").split("\n")[0].strip() in " ".join(seen.texts)


def test_the_same_contents_give_the_same_page():
    page, again = (report_of("word", drawing(), sections=1).html() for _ in range(2))
    assert page == again
    assert check(page).tags.count("svg") == 2
    assert "linsep 0." in page
    assert "2026-03-07" in page
    assert "http" not in page.replace("http-equiv", "")


def test_a_figure_takes_the_colours_and_fonts_of_the_page():
    svg = inline_svg(drawing(), "one", "what it shows")
    assert svg.startswith('<svg class="plot" role="img" aria-label="what it shows" viewBox="0 0 374.4 230.4"')
    assert not re.search(r"[^(]#[0-9a-f]{6}\b|DejaVu", svg)
    assert {"currentColor", "var(--page)", "var(--c0072b2)", "var(--cd55e00)"} <= set(
        re.findall(r"(?:fill|stroke): ([^;\"]+)", svg)
    )
    assert ">Errors</text>" in svg
    assert "font-family: var(--sans)" in svg or "px var(--sans)" in svg
    assert 'href="data:image/png;base64,' in svg
    assert set(re.findall(r'id="(.*?)"', svg)) == set(re.findall(r'(?:url\(|href=")#(.*?)[)"]', svg))


def test_figures_bring_neither_links_nor_styles_nor_backgrounds():
    figure = drawing()
    figure.set_facecolor("#abcdef")
    figure.axes[0].title.set_url("javascript:alert(1)")
    figure.axes[0].patches[0].set_url("http://example.com")
    figure.axes[0].title.set_gid('"><script>')
    with matplotlib.rc_context({"svg.id": "figure", "savefig.transparent": False}):
        svg = inline_svg(figure, "one", "")
    assert ">Errors</text>" in svg
    assert svg.count("<path") == inline_svg(drawing(), "one", "").count("<path")
    assert set(re.findall(r"<(\w+)", svg)) <= {
        "svg",
        "g",
        "defs",
        "path",
        "use",
        "clipPath",
        "rect",
        "text",
        "image",
        "pattern",
    }
    assert not any(word in svg for word in ("javascript", "script", "abcdef", "example", "xmlns", "xlink"))


def test_what_is_no_figure_is_refused():
    with pytest.raises(ValueError, match="needs a matplotlib Figure or Axes, not str"):
        Picture("figure.png", "a file").html()


def luminance(colour):
    rgb = np.array(matplotlib.colors.to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_the_colours_of_the_night_stand_out_as_those_of_the_day_do():
    night = dark_colours([*COLOURS, *LIGHT])
    for day, dark in night.items():
        assert contrast(dark, DARK[0]) >= min(contrast(day, LIGHT[0]), 2.5)
    assert contrast(night[LIGHT[0]], DARK[0]) < 1.05
    assert contrast(night[LIGHT[1]], DARK[1]) < 1.05
    for name in ("Blues", "Greys"):
        shades = [matplotlib.colors.to_hex(shade) for shade in matplotlib.colormaps[name](np.linspace(0, 1, 9))]
        assert (np.diff([luminance(dark_colours([shade])[shade]) for shade in shades]) > 0).all()


@settings(max_examples=100)
@given(rgb=st.tuples(*[st.integers(0, 255)] * 3))
def test_the_colours_of_the_night_keep_their_hues(rgb):
    day = "#{:02x}{:02x}{:02x}".format(*rgb)
    dark = dark_colours([day])[day]
    before, after = (matplotlib.colors.to_rgb(colour) for colour in (day, dark))
    if np.ptp(before) > 0.5 and np.ptp(after) > 0.2:
        hues = [matplotlib.colors.rgb_to_hsv(colour)[0] for colour in (before, after)]
        apart = abs(hues[0] - hues[1])
        assert min(apart, 1 - apart) < 0.11


def test_the_style_knows_the_colours_that_figures_are_fitted_to():
    page = Report("").html()
    for (paper, ink), where in ((LIGHT, page), (DARK, page.partition("prefers-color-scheme: dark")[2])):
        assert re.search(r"--page: (#\w+);\s+--ink: (#\w+);", where).groups() == (paper, ink)
    assert ADAPTED.keys() >= {INK, PAPER}


def test_numbers_are_written_to_be_read():
    values = [
        0,
        -12,
        1234567,
        0.5,
        -1 / 3,
        12345.6,
        1e20,
        float("nan"),
        -np.inf,
        np.bool_(True),
        np.float32(0.1),
        None,
        "",
    ]
    assert [shown(value) for value in values] == [
        "0", "−12", "1,234,567", "0.5", "−0.3333", "12,346", "1e+20", "nan", "−inf", "yes", "0.1", "–", "",
    ]  # fmt: skip


def bars(values):
    page = Table([Column("x", bars=True)], [[value] for value in values]).html()
    return [(float(a), float(b)) for a, b in re.findall(r"--from:([\d.]+)%;--long:([\d.]+)%", page)]


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9))
def test_bars_are_in_proportion_and_begin_at_zero(values):
    low, high = min(0, *values), max(0, *values)
    for value, (begin, length) in zip(values, bars(values), strict=True):
        span = (high - low) or 1
        assert length == pytest.approx(100 * abs(value) / span, abs=0.051)
        zero = begin if value >= 0 else begin + length
        assert zero == pytest.approx(100 * -low / span, abs=0.11)


def test_what_has_no_length_has_no_bar():
    assert bars([float("nan"), float("inf"), None, "word", True]) == []
    assert bars([0.0]) == bars([-0.0]) == [(0, 0)]


def test_columns_write_as_they_are_told_and_tables_mark_the_best():
    page = Table([Column("x", bars=True, write="{:.1%}".format), "y"], [[0.5, "<"], [0.25, "b"]], best=1).html()
    assert ">50.0%<" in page
    assert page.count("<tr") == 3
    assert re.findall(r'<tr class="best">.*?(25\.0%).*?</tr>', page) == ["25.0%"]


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="row 1 of the table has 1 cells for 2 columns"):
        Table(["a", "b"], [[1, 2], [3]])
    for best in (-1, 1):
        with pytest.raises(ValueError, match=f"best={best} is none of the table's 1 rows"):
            Table(["a"], [[1]], best=best)


def test_many_features_are_counted_and_labels_stay_as_they_are():
    page = Examples([Example({f"f{k}": k for k in range(1000)}, 1000, 2000, -1234.5, "row 7")], "score").html()
    assert page.count("<li>") == 1 + 16
    assert "and 984 more" in page
    assert all(word in page for word in (">1000<", ">2000<", "−1234", "row 7", "taken for"))
    assert "taken for" not in Examples([Example("text", "a", "a", 0.1)]).html()


def test_pictures_and_tables_in_a_row_share_a_line():
    figure, table, words = Picture(drawing(), "it"), Table(["a"], [[1]]), Text("so")
    page = Report("", sections=[Section("", [figure, table, words, table])]).html()
    assert page.count('<div class="line">') == 2


def test_sections_have_anchors_of_their_own():
    names = ["What next?", "what next", "what-next-2", "<>", "", "Größe", "x" * 100]
    seen = check(Report("", sections=[Section(name, []) for name in names]).html())
    ids = [value for tag, name, value in seen.attributes if (tag, name) == ("h2", "id")]
    assert ids == ["what-next", "what-next-2", "what-next-2-2", "section", "section-2", "größe", "x" * 40]


def test_a_report_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "out.html"
    Report("first").write(path)
    first = path.read_text("utf-8")
    assert "<h1><bdi>first</bdi></h1>" in first

    def full(*_):
        raise OSError(28, "No space left on device")

    for call in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, full)
            with pytest.raises(OSError, match="No space left"):
                Report("second").write(path)
        assert [file.name for file in tmp_path.iterdir()] == ["out.html"]
        assert path.read_text("utf-8") == first
    Report("third").write(str(path))
    assert "third" in path.read_text("utf-8")


def test_a_report_is_for_others_to_read_and_links_stay_links(tmp_path):
    (tmp_path / "deep").mkdir()
    link = tmp_path / "link.html"
    link.symlink_to("deep/out.html")
    before = os.umask(0o022)
    try:
        Report("it").write(link)
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert stat.S_IMODE((tmp_path / "deep" / "out.html").stat().st_mode) == 0o644


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    Report("it").write(pipe)
    reader.join(10)
    assert got[0].startswith(b"<!doctype html>")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Report("it").write(tmp_path / "nowhere" / "out.html")


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["jinja2", "matplotlib"])
def test_what_reports_need_is_named_where_it_is_missing(missing, tmp_path):
    code = f"import sys; sys.modules['{missing}'] = None; from linsep.cli import main; sys.exit(main())"
    (tmp_path / "rows.svm").write_text("1 1:1\n0 1:2\n")
    fit = [sys.executable, "-c", code, "fit", "rows.svm", "-o", "m", "--report", "r.html"]
    result = subprocess.run(fit, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 2
    assert "pip install 'linsep[plot]'" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["rows.svm"]


@pytest.fixture(scope="module")
def wire():
    program = find()
    if program is None:
        pytest.skip("no chromium, chromium-browser or google-chrome is installed: pages are not tried in a browser")
    with browser(program) as wire:
        yield wire


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    wide = Table([f"column {k}" for k in range(40)], [range(40)])
    long = Figure(figsize=(14, 3))
    long.add_subplot()
    report_of("a plain word", drawing(), sections=1).write(folder / "plain.html")
    for k, word in enumerate([ATTACK, "W" * 10_000, "\0\ud800\u202eשלום"]):
        hostile = report_of(word, drawing(), sections=1)
        more = Section(word, [wide, Picture(long, "wide"), Code("y" * 10_000)])
        Report(word, word, hostile.facts, [*hostile.sections, more]).write(folder / f"hostile{k}.html")
    return folder


def shows(tab, selector):
    """Return the sizes of the elements that a selector finds."""
    boxes = f"[...document.querySelectorAll({selector!r})].map(e => e.getBoundingClientRect())"
    return tab.value(f"{boxes}.map(box => [box.width, box.height])")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "hostile0", "hostile1", "hostile2"])
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (360, False), (360, True)])
def test_a_browser_shows_the_page_and_is_content(wire, pages, name, width, dark):
    page = pages / f"{name}.html"
    tab = Tab(wire, page, width=width, dark=dark)
    for selector in ("h1", "h2", "svg", "svg text", "table", ".tiles", "pre", ".examples"):
        sizes = shows(tab, selector)
        assert sizes
        assert all(across > 1 and up > 1 for across, up in sizes), selector
    assert tab.complaints == []
    assert tab.requests == [page.as_uri()]
    assert tab.value("document.documentElement.scrollWidth") <= width
    assert tab.value("document.documentElement.scrollHeight") < 60_000
    assert tab.value("document.compatMode") == "CSS1Compat"
    ground, ink, drawn = (
        tab.value(f"getComputedStyle(document.querySelector('{where}')).{what}")
        for where, what in (("body", "backgroundColor"), ("body", "color"), ("svg text", "fill"))
    )
    assert [ground, ink] == ["rgb({}, {}, {})".format(*bytes.fromhex(c[1:])) for c in (DARK if dark else LIGHT)]
    assert drawn == ink


def test_what_is_too_wide_scrolls_by_itself(wire, pages):
    tab = Tab(wire, pages / "hostile0.html", width=360)
    wide = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
    assert {"TABLE", "PRE", "svg"} <= set(tab.value(f"{wide}.map(e => e.firstChild.tagName)"))
    assert all(across <= 360 for across, _ in shows(tab, ".scroll"))


def test_dark_pages_are_printed_on_white(wire, pages):
    tab = Tab(wire, pages / "plain.html", dark=True, media="print")
    assert tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.print().startswith(b"%PDF")
    assert tab.requests == [(pages / "plain.html").as_uri()]


def test_the_browser_would_tell(wire, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text('<img src="http://127.0.0.1:9/x.png"><script>console.error("no"); missing()</script>')
    tab = Tab(wire, bad)
    assert tab.requests == [bad.as_uri(), "http://127.0.0.1:9/x.png"]
    assert any("missing is not defined" in complaint for complaint in tab.complaints)
    policed = tmp_path / "policed.html"
    policed.write_text(
        Report("it").html().replace("<main>", '<main><img src="http://127.0.0.1:9/x.png"><script>1</script>')
    )
    tab = Tab(wire, policed)
    assert any("Content Security Policy" in complaint for complaint in tab.complaints)
