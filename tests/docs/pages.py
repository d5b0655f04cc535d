"""The Python in a markdown page, and the learners in the table of docs/learners.md."""

import re
import sys
from pathlib import Path

from linsep.estimators.registry import LEARNERS, Entry

ROOT = Path(__file__).parents[2]
GENERATED = ("_build", "_site", "gallery", "reference/api", "reference/commands", "speed")
"""Folders of `docs` that the build writes."""
PAGES = [
    ROOT / "README.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if not page.relative_to(ROOT / "docs").as_posix().startswith(GENERATED)
    ),
]

sys.path.append(str(ROOT / "docs" / "_site"))


def built() -> set[Path]:
    """Return the pages that the build writes and other pages link to."""
    import api
    import commands
    import speed

    docs = ROOT / "docs"
    pages = {docs / "reference" / "api" / name for name in api.pages()}
    pages |= {docs / "reference" / "commands" / name for name in commands.pages()}
    pages |= {docs / "speed" / name for name in speed.pages()}
    return {*pages, docs / "gallery" / "index.rst"}


def blocks(page: Path) -> list[tuple[int, str]]:
    """Return the fenced Python blocks of a page, each with the line it begins on."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start()) + 2, match[1]) for match in found]


def learner_table() -> dict[str, str]:
    """Return the bound of each learner that the table "Bounds at a glance" names."""
    text = (ROOT / "docs" / "learners.md").read_text(encoding="utf-8")
    table = text.split("\n## Bounds at a glance\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \| `(.*?)` \|$", table, flags=re.MULTILINE)
    return {name: bound.replace(r"\|", "|") for names, bound in rows for name in re.findall(r"`(\w+)`", names)}


def established() -> dict[str, Entry]:
    """Return the learners that the table names: they have exact types, a golden file and a plain reference."""
    return {name: entry for name, entry in LEARNERS.items() if entry.name in learner_table()}
