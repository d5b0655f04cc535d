"""Carry out the recipes of CONTRIBUTING.md in a copy of the repository."""

import ast
import os
import re
import subprocess
import sys

import pytest

import linsep
from tests.docs.pages import ROOT, established

pytestmark = pytest.mark.slow

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
STEP = re.compile(r"`([\w/.]+)`:\n\n```(?:python|markdown)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
STEPS = STEP.findall(PAGE)
"""The file of each step, and the text to put there."""
TESTS = (
    "tests/contracts", "tests/cli/commands/test_fit.py", "tests/cli/options/test_common.py",
    "tests/docs/test_readme.py", "tests/docs/test_scale_page.py",
)  # fmt: skip
"""The tests that go through the table of learners."""
HEAVY = {"numba", "numpy", "scipy", "sklearn"}
RECIPES = {
    "rule": ("margin-perceptron", "MarginPerceptron", STEPS[:4]),
    "solver": ("nearest-means", "NearestMeans", STEPS[4:]),
}
each = pytest.mark.parametrize(("name", "kind", "steps"), RECIPES.values(), ids=RECIPES)


def linked(source, target):
    """Make a folder whose entries are links to those of another; compiled code is then found next to its source."""
    target.mkdir()
    for entry in source.glob("[!.]*"):
        (target / entry.name).symlink_to(entry)


def unlinked(path):
    """Replace a link by a file of the same content."""
    text = path.read_text(encoding="utf-8")
    path.unlink()
    path.write_text(text, encoding="utf-8")
    return text


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return the folder of a copy of the repository in which all steps have been taken."""
    root = tmp_path_factory.mktemp("recipes") / "copy"
    linked(ROOT, root)
    for folder in ("docs", "src", *(f"src/linsep{part}" for part in ("", "/rules", "/solvers", "/estimators"))):
        (root / folder).unlink()
        linked(ROOT / folder, root / folder)
    for file, text in STEPS:
        path = root / file
        if not path.exists():
            path.write_text(text, encoding="utf-8")
        elif file.endswith(".md"):
            path.write_text(f"{unlinked(path)}\n{text}", encoding="utf-8")
        else:
            before, brace, after = unlinked(path).rpartition("}\n")
            path.write_text(before + text + brace + after, encoding="utf-8")
    return root


def run(copy, *args):
    """Run Python in the copy; return what it prints."""
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, *args], cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@each
def test_a_learner_costs_two_files_a_row_and_a_section(name, kind, steps):
    (algorithm, _), (learner, text), (table, row), (page, section) = steps
    assert not (ROOT / algorithm).exists()
    assert not (ROOT / learner).exists()
    assert f"\nclass {kind}(" in text
    assert table == "src/linsep/estimators/registry.py"
    assert re.fullmatch(rf' {{4}}"{name}": Entry\(.*\),\n', row)
    assert page.startswith("docs/")
    assert section.startswith(f"## {kind}\n")


def test_a_new_learner_is_public(copy):
    kinds = {name: kind for name, kind, _ in RECIPES.values()}
    code = f"""
import sys, linsep
kinds = {kinds}
assert set(kinds.values()) <= set(linsep.__all__) & set(dir(linsep))
assert not {HEAVY} & set(sys.modules)
from linsep import {", ".join(kinds.values())}
assert all(linsep.LEARNERS[name].learner is globals()[kind] for name, kind in kinds.items())
"""
    run(copy, "-c", code)


@pytest.fixture(scope="module")
def tested(copy):
    """Return the lines of a run of all tests of the new learners."""
    names = [word for name, kind, _ in RECIPES.values() for word in (name, kind)]
    new = [file for _, _, steps in RECIPES.values() for file, _ in steps[:2]]
    chosen = " or ".join([*names, "those_of_the_table", *(file.rpartition("/")[2] for file in new)])
    quickly = "-p", "no:cacheprovider", "--assert=plain"
    return run(copy, "-m", "pytest", *quickly, "-v", *TESTS, *new, "-k", chosen).splitlines()


@each
def test_a_new_learner_keeps_the_contracts(tested, name, kind, steps):
    """The command line trains and saves it, and has its options; the docs have its section; its examples hold."""
    new = [file for file, _ in steps[:2]]
    assert all(any(line.startswith(file) for line in tested) for file in (*TESTS[1:], *new))
    assert any(line.startswith(TESTS[0]) and name in line for line in tested)


def test_type_checkers_accept_a_new_learner(copy):
    """`from linsep import` needs the import that CONTRIBUTING.md names; the module itself is typed at once."""
    pytest.importorskip("mypy")
    (copy / "use.py").write_text(
        "from linsep import Perceptron\n"
        "from linsep.estimators.margin import MarginPerceptron\n"
        "from linsep.estimators.nearest_means import NearestMeans\n"
        "clf = MarginPerceptron(want=0.5).fit([[0], [1]], [0, 1]), NearestMeans(n_jobs=1)\n"
        "reveal_type(Perceptron())\n"
    )
    new = [str(copy / file) for file, _ in STEPS if file.endswith(".py")]
    said = run(copy, "-m", "mypy", "--follow-imports=silent", *dict.fromkeys(new), "use.py")
    assert 'Revealed type is "linsep.estimators.perceptron.Perceptron"' in said


def test_the_page_names_what_exists():
    new = {file for file, _ in STEPS}
    for path in re.findall(r"`((?:src|tests|docs|scripts|\.ci)/[\w/.]*)`", PAGE):
        assert (ROOT / path).exists() or path in new, path


def test_names_of_the_table_are_public():
    assert {entry.learner.__name__ for entry in linsep.LEARNERS.values()} <= set(linsep.__all__)


def test_import_loads_no_compiler():
    run(ROOT, "-c", f"import sys, linsep; dir(linsep); sys.exit(bool({HEAVY} & set(sys.modules)))")


def test_type_checkers_see_the_public_names():
    """All names but those of learners that the table of docs/learners.md does not name yet."""
    tree = ast.parse((ROOT / "src" / "linsep" / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {name.asname: node.module for node in block.body for name in node.names if name.asname == name.name}
    new = {entry.name for name, entry in linsep.LEARNERS.items() if name not in established()}
    assert seen == {name: home for name, home in linsep._HOMES.items() if name not in new}
    assert linsep.__all__ == sorted([*linsep._HOMES, "LEARNERS"])
    assert all(hasattr(linsep, name) for name in linsep.__all__)
