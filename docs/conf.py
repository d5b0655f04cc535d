"""Configuration of the documentation site. `scripts/docs` builds the site."""

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_site"), str(HERE.parent)]

import api  # noqa: E402
import commands  # noqa: E402
import speed  # noqa: E402
from docutils import nodes  # noqa: E402

import linsep  # noqa: E402

project = "linsep"
author = "The linsep developers"
project_copyright = author
version = release = linsep.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_site", "**/*.ipynb", "**/*.py.md5", "**/*.codeobj.json"]
default_role = "literal"
smartquotes = False  # options are written with two hyphens
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

copybutton_prompt_text = r">>> |\.\.\. |\$ |> "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .go"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(own_rule|margin_rule)\.py",
    "download_all_examples": False,
    "copyfile_regex": "",
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "image_scrapers": ("matplotlib",),
    "image_srcset": ["2x"],
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
    "capture_repr": (),
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib",),
}

html_theme = "pydata_sphinx_theme"
html_title = "linsep"
html_static_path = ["_static"]
html_css_files = ["linsep.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "linsep"},
    "navigation_with_keys": False,
    "show_prev_next": False,
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {"**": ["page-toc"], "explanation/notes": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"changelog": [], "faq": [], "index": []}


def write_generated_pages(app):
    """Write the pages of the API, the command line and the benchmarks, and remove those of names that are gone."""
    speed.write_charts(HERE / "speed" / "charts")
    for part, pages in (
        ("reference/api", api.pages()),
        ("reference/commands", commands.pages()),
        ("speed", speed.pages()),
    ):
        (HERE / part).mkdir(exist_ok=True)
        for old in (HERE / part).iterdir():
            if old.is_file() and old.name not in pages:
                old.unlink()
        for name, text in pages.items():
            path = HERE / part / name
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")


def escape_docstring(app, what, name, obj, options, lines):
    """Escape what docstrings use as plain text and reStructuredText does not."""
    lines[:] = api.escaped(lines)


def tidy(app, doctree):
    """Remove empty last lines of code, and write the dash after a parameter as a dash."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip()
        block.rawsource = text
        block[:] = [nodes.Text(text)]
    for text in list(doctree.findall(nodes.Text)):
        if text.astext() == " -- ":
            text.parent.replace(text, nodes.Text(" – "))


def setup(app):
    """Connect the generators."""
    warnings.simplefilter("ignore")
    app.connect("builder-inited", write_generated_pages, priority=100)
    app.connect("doctree-read", tidy)
    app.connect("autodoc-process-docstring", escape_docstring, priority=100)
    return {"parallel_read_safe": True}
