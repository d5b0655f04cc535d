"""What the pages say is true: their Python runs, their tables are the table of learners, their links lead somewhere."""

import doctest
import json
import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from linsep import LEARNERS
from linsep.cli.commands.demo import FIRST_STEPS
from tests.docs.pages import PAGES, ROOT, blocks, built, established, learner_table

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT).with_suffix("")))
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = ModuleType(f"page_{page.stem.replace('-', '_')}")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # rules of a module are kept on disk when compiled
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for line, block in blocks(page):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, {}, page.name, str(page), line - 1)
            test.globs = module.__dict__
            report = []
            runner.run(test, out=report.append, clear_globs=False)
            assert not report, "".join(report)
        else:
            exec(compile("\n" * (line - 1) + block, page, "exec"), module.__dict__)


def test_the_example_is_the_one_that_the_demo_shows_and_prints_what_its_comment_states(capsys):
    assert blocks(ROOT / "README.md")[0][1] == FIRST_STEPS
    exec(compile(FIRST_STEPS, "README.md", "exec"), {})
    printed, held = capsys.readouterr().out.splitlines()
    assert f"  # {printed}\n" in FIRST_STEPS
    assert held == "True"


def test_a_learner_with_a_golden_file_stays_in_the_table_and_the_other_way_round():
    """The table decides who is established: without this a learner that left it would shed the checks of those."""
    golden = ROOT / "tests" / "models" / "golden"
    assert {name for name in LEARNERS if (golden / f"format-1-{name}.linsep").exists()} == set(established())


@pytest.mark.parametrize("name", established())
def test_the_table_has_the_learner_s_bound(name):
    assert learner_table()[LEARNERS[name].name] == LEARNERS[name].bound


@pytest.mark.parametrize("name", LEARNERS)
def test_a_section_of_the_docs_explains_the_learner_and_its_bound(name):
    entry = LEARNERS[name]
    page = "learners.md" if entry.online else "batch.md"
    sections = (ROOT / "docs" / page).read_text().split("\n## ")
    section = [s for s in sections if s.splitlines()[0] == entry.name]
    assert section, f"add a section '## {entry.name}' to docs/{page}"
    assert f"`{entry.bound}`" in section[0].replace(r"\|", "|"), (
        f"docs/{page}: the section {entry.name} lacks its bound `{entry.bound}`"
    )


def test_pages_name_no_learner_that_is_gone():
    assert set(learner_table()) <= {entry.name for entry in LEARNERS.values()}


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: str(page.relative_to(ROOT).with_suffix(""))
)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
    places = [Path(os.path.normpath(page.parent / target)) for target in targets if "://" not in target]
    missing = [place for place in places if not place.exists()]
    assert not missing or set(missing) <= built()


def test_the_picture_is_small_enough_for_a_readme():
    assert (ROOT / "docs" / "images" / "boundary.png").stat().st_size < 300_000


def test_the_readme_names_the_commands_of_a_clone():
    readme = (ROOT / "README.md").read_text()
    for script in ("demo", "test", "docs"):
        assert f"scripts/{script}" in readme
        assert (ROOT / "scripts" / script).exists()


def test_the_readme_states_the_measured_ratios():
    study = json.loads((ROOT / "docs" / "studies" / "benchmarks.json").read_text())
    ratios = [row["ratio"] for row in study["rows"] if row["group"] == "narrow"]
    assert f"| 1 | {min(ratios):.1f} to {max(ratios):.1f} |" in (ROOT / "README.md").read_text()


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 100
