"""The page of benchmarks and the README have the figures that were measured."""

import json
import re
import sys

import pytest

from benchmarks.__main__ import record
from benchmarks.timing import Row, Skip
from tests.docs.pages import ROOT

FIRST = Row("a | b", "peer", 0.5, 1.0, 3.0)
SECOND = Row("c", "peer", 2.0, 1.0, 0.1, "slower", unit="B")


@pytest.fixture
def speed(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "_site")
    import speed

    yield speed
    sys.modules.pop("speed", None)


def test_the_readme_has_the_strongest_rows(speed):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = re.search("<!-- benchmarks -->\n(.*?)\n?<!-- end -->", readme, re.DOTALL)[1]
    assert table == speed.strongest()


def test_a_group_that_is_measured_again_replaces_its_rows(speed, monkeypatch, tmp_path):
    study = record({}, "votes", [FIRST], 3, 0.2)
    study = record(study, "epochs", [FIRST, SECOND, Skip("d", "no data")], 3, 0.2)
    study = record(study, "votes", [SECOND], 5, 0.2)
    assert [(row["group"], row["work"]) for row in study["rows"]] == [
        ("epochs", "a | b"), ("epochs", "c"), ("epochs", "d"), ("votes", "c"),
    ]  # fmt: skip
    assert [study["groups"][name]["repeats"] for name in ("epochs", "votes")] == [3, 5]
    monkeypatch.setattr(speed, "MEASURED", tmp_path / "measured.json")
    speed.MEASURED.write_text(json.dumps(study))
    page = speed.pages()["benchmarks.md"]
    assert "linsep needs less in 1 of 3 rows, and reaches the project's goal in 2." in page
    assert "| a \\| b | peer | 500\u00a0ms | 1\u00a0s | **2.00** | 3, not reached |  |" in page
    assert page.index("Where the peer needs less") < page.index("| c | peer | 0.50 |") < page.index("## Epochs")
    assert "Not measured: d. no data" in page
    assert speed.strongest().splitlines()[2:] == ["| a \\| b | peer | 2.0 |"]
