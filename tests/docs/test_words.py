"""The prose of the documentation and of the source keeps the rules of style that can be checked."""

import ast
import re

import pytest

from tests.docs.pages import PAGES, ROOT

BANNED = re.compile(
    r"\b(anew|afresh|at hand|by itself|by themselves|a look at|let go of|goes on|go on|told|tells?(?! :)|said|says|owed"
    r"|machinery|binary machines?|whoever|tend|speaks? for|worth knowing)\b",
    flags=re.IGNORECASE,
)
"""Words for which there is a standard one: again, available, alone, scan, release, continue, report, state."""
CLAUSE = r"(?:What|Who|Whose|Where|Those|Whether|How|Which|Why|When)\b"
OPENING = re.compile(rf"{CLAUSE}|(?:.*\n)*?[ ]*\w[\w, *]* : .*\n[ ]+{CLAUSE}")
"""A clause at the beginning of a docstring, or of the description of a parameter."""
LONGEST = 25
"""Words of a sentence."""
UNHELD = {"changelog"}
"""The page that includes the changelog of the root."""
HELD = [page for page in PAGES if page.stem not in UNHELD or page.parent != ROOT / "docs"]
SOURCES = sorted((ROOT / "src" / "linsep").rglob("*.py"))


def sentences(text):
    """Return the sentences of a page: no code, tables, links' targets or headings."""
    text = re.sub(r"^(```|::::?).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"`[^`\n]*`", "code", text)
    blocks = re.split(r"\n\s*\n|\n(?=[-|#]|\d+\. )", text)
    prose = [" ".join(block.split()) for block in blocks if not block.lstrip().startswith(("|", "#", "!", ":"))]
    return [sentence for block in prose for sentence in re.split(r"(?<=[.!?:;])\s+", block) if sentence]


def texts(source):
    """Return the docstrings of a module, those of its constants and fields among them, and its other strings."""
    tree = ast.parse(source)
    docstrings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    others = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    strings = [node.value for node in others if " " in node.value and node not in docstrings]
    return [node.value for node in docstrings], strings


@pytest.mark.parametrize("page", HELD, ids=lambda page: str(page.relative_to(ROOT).with_suffix("")))
def test_sentences_are_short_and_plain(page):
    found = sentences(page.read_text(encoding="utf-8"))
    assert not [sentence for sentence in found if BANNED.search(sentence)]
    assert not [sentence for sentence in found if len(re.findall(r"\w[\w'-]*", sentence)) > LONGEST]


@pytest.mark.parametrize("folder", sorted({path.relative_to(ROOT / "src" / "linsep").parts[0] for path in SOURCES}))
def test_docstrings_and_messages_are_plain(folder):
    faults = []
    for path in SOURCES:
        if path.relative_to(ROOT / "src" / "linsep").parts[0] == folder:
            docstrings, strings = texts(path.read_text(encoding="utf-8"))
            faults += [(path.name, text) for text in docstrings if OPENING.match(text)]
            faults += [(path.name, text) for text in [*docstrings, *strings] if BANNED.search(text)]
    assert not faults


def test_a_long_sentence_and_a_private_word_are_found():
    long = " ".join(["word"] * 30)
    assert sentences(f"# Title\n\n{long}.\n\n```\ncode {long}\n```\n\n| {long} |\n") == [f"{long}."]
    assert BANNED.search("The order is drawn anew.")


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("What users have.", True),
        ("Return what is left.", False),
        ("Add rows.\n\n    Parameters\n    ----------\n    n : int\n        How many.\n    ", True),
        ("Add rows.\n\n    Parameters\n    ----------\n    n : int\n        Number of rows.\n    ", False),
    ],
)
def test_clauses_that_open_docstrings_are_found(text, clause):
    assert bool(OPENING.match(text)) == clause


def test_docstrings_and_messages_of_a_module_are_separated():
    source = (
        '"""A module."""\nN = 1\n"""A number."""\n\ndef f():\n    """Fail."""\n    raise ValueError(f"{N} is less")\n'
    )
    assert texts(source) == (["A module.", "A number.", "Fail."], [" is less"])
