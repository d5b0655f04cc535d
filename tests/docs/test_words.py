"""The prose of the documentation keeps the rules of style that can be checked: no private words, no long sentences."""

import re

import pytest

from tests.docs.pages import PAGES, ROOT

BANNED = re.compile(
    r"\b(anew|at hand|by itself|a look at|let go of|goes on|go on|told|tells?|machinery|binary machines?|owed)\b",
    flags=re.IGNORECASE,
)
"""Words for which there is a standard one: again, available, alone, scan, release, continue, report."""
LONGEST = 25
"""Words of a sentence."""
UNHELD = {"changelog"}
"""The page that includes the changelog of the root."""
HELD = [page for page in PAGES if page.stem not in UNHELD or page.parent != ROOT / "docs"]


def sentences(text):
    """Return the sentences of a page: no code, tables, links' targets or headings."""
    text = re.sub(r"^(```|::::?).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"`[^`\n]*`", "code", text)
    blocks = re.split(r"\n\s*\n|\n(?=[-|#]|\d+\. )", text)
    prose = [" ".join(block.split()) for block in blocks if not block.lstrip().startswith(("|", "#", "!", ":"))]
    return [sentence for block in prose for sentence in re.split(r"(?<=[.!?:;])\s+", block) if sentence]


@pytest.mark.parametrize("page", HELD, ids=lambda page: str(page.relative_to(ROOT).with_suffix("")))
def test_sentences_are_short_and_plain(page):
    found = sentences(page.read_text(encoding="utf-8"))
    assert not [sentence for sentence in found if BANNED.search(sentence)]
    assert not [sentence for sentence in found if len(re.findall(r"\w[\w'-]*", sentence)) > LONGEST]


def test_a_long_sentence_and_a_private_word_are_found():
    long = " ".join(["word"] * 30)
    assert sentences(f"# Title\n\n{long}.\n\n```\ncode {long}\n```\n\n| {long} |\n") == [f"{long}."]
    assert BANNED.search("The order is drawn anew.")
