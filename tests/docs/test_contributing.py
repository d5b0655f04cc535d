"""The four steps of CONTRIBUTING.md, taken to the letter in a copy of the package."""

import ast
import re
import shutil
import subprocess
import sys

import pytest

import linsep
from tests.docs.pages import ROOT, blocks

PAGE = ROOT / "CONTRIBUTING.md"

CHECK = """
import numpy as np
from linsep import LEARNERS, MarginPerceptron, load, save
assert LEARNERS["margin-perceptron"].learner is MarginPerceptron
X = np.array([[0.0, 1], [1, 0], [2, 1], [1, 2]])
clf = MarginPerceptron(want=0.5, shuffle=False).fit(X, [0, 1, 1, 0])
assert min((2 * np.array([0, 1, 1, 0]) - 1) * clf.decision_function(X)) > 0.5
save(clf, "model.linsep")
assert load("model.linsep").predict(X).tolist() == clf.predict(X).tolist()
print(clf.updates_, LEARNERS["margin-perceptron"].summary)
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package with steps 1 to 3 taken.

    What they leave as it is, is linked to, so that what is compiled of it is found next to it.
    """
    rule, learner, row = (block for _, block in blocks(PAGE))
    (tmp_path / "linsep").mkdir()
    for part in (ROOT / "src" / "linsep").iterdir():
        if part.name in ("rules", "estimators"):
            shutil.copytree(part, tmp_path / "linsep" / part.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif part.name == "__init__.py":
            shutil.copy(part, tmp_path / "linsep")
        elif part.name != "__pycache__":
            (tmp_path / "linsep" / part.name).symlink_to(part)
    (tmp_path / "linsep" / "rules" / "margin.py").write_text(rule)
    (tmp_path / "linsep" / "estimators" / "margin.py").write_text(learner)
    table = tmp_path / "linsep" / "estimators" / "registry.py"
    text = table.read_text().replace("\nLEARNERS = {\n", "\nLEARNERS = {\n" + row)
    imported = "from linsep.estimators.margin import MarginPerceptron\n"
    table.write_text(text.replace("from linsep.estimators.p_norm", imported + "from linsep.estimators.p_norm"))
    home = tmp_path / "linsep" / "__init__.py"
    text = home.read_text()
    for like in re.findall(r"^ +.*PNormPerceptron.*\n", text, flags=re.MULTILINE):
        new = like.replace("PNormPerceptron", "MarginPerceptron").replace("p_norm", "margin")
        text = text.replace(like, new + like)
    home.write_text(text)
    return tmp_path


def test_the_steps_make_a_learner(package):
    run = subprocess.run([sys.executable, "-c", CHECK], cwd=package, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "updating while a row's margin" in run.stdout


def test_the_page_names_what_exists():
    for path in re.findall(r"`((?:src|tests|docs|scripts|\.ci)/[\w/.]*)`", PAGE.read_text()):
        if "margin" not in path:
            assert (ROOT / path).exists(), path


def test_names_of_the_table_are_public():
    assert {entry.learner.__name__ for entry in linsep.LEARNERS.values()} <= set(linsep.__all__)


def test_type_checkers_see_the_public_names():
    tree = ast.parse((ROOT / "src" / "linsep" / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {name.asname: node.module for node in block.body for name in node.names if name.asname == name.name}
    assert seen == linsep._HOMES
    assert list(linsep._HOMES) == linsep.__all__
    assert all(hasattr(linsep, name) for name in linsep.__all__)
