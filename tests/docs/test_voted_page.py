"""The tables of docs/studies/digits.md are those that the study wrote down."""

import json
import re

from benchmarks.digits_1999 import Cell
from benchmarks.digits_report import in_markdown
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "studies" / "digits.md").read_text(encoding="utf-8")
STUDY = json.loads((ROOT / "docs" / "studies" / "freund_schapire.json").read_text(encoding="utf-8"))
CELLS = [Cell(*(told[name] for name in Cell._fields)) for told in STUDY["cells"]]


def test_the_tables_are_the_studys():
    degrees = sorted({cell.degree for cell in CELLS})
    assert degrees == [1, 2, 3, 4]
    lines = [line for d in degrees for line in in_markdown(d, [cell for cell in CELLS if cell.degree == d])]
    shown = re.search("<!-- tables: .*? -->\n(.*?)<!-- end of tables -->", PAGE, flags=re.DOTALL)[1]
    assert shown.strip() == "\n".join(lines).strip()


def test_every_cell_is_as_near_to_the_published_one_as_was_asked():
    assert [f"{cell.degree}, {cell.row}, {cell.epochs}" for cell in CELLS if cell.within is False] == []


def test_errors_after_a_tenth_of_an_epoch_are_those_of_the_five_runs():
    runs = [run for run in STUDY["runs"] if run["degree"] == 1]
    for method in ("last", "vote"):
        errors = ", ".join(f"{100 * run['errors'][method][0]:.1f}" for run in runs)
        assert errors in PAGE.replace("\n", " "), errors
