"""The version, the tagline and the types of the package are the same everywhere."""

import re
import subprocess
import sys
import tomllib
from importlib.resources import files

import pytest

import linsep
from linsep.cli.app import app
from tests.docs.pages import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
TAGLINE = "Online linear classifiers with certified mistake bounds"
USE = """
import numpy as np
import linsep
from linsep import AveragedPerceptron, Certificate, certify, verify

X, y = np.eye(3), np.array([0, 1, 1])
clf = AveragedPerceptron(max_iter=5, random_state=0).fit(X, y)
labels = clf.predict(X)
cert: Certificate = certify(X, y)
holds: bool = bool(verify(cert, X, y))
for rows, targets in linsep.stream("rows.svm"):
    clf = clf.partial_fit(rows, targets)
linsep.save(clf, "model.linsep")
data = linsep.read("rows.svm", like=linsep.load("model.linsep"))
reveal_type(AveragedPerceptron())
"""


def test_the_version_is_the_same_everywhere():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    dated = re.search(r"^## \[(.*?)\] - (\d{4}-\d{2}-\d{2})$", changes, flags=re.MULTILINE)
    cited = re.search(r"^version: (.*)$", CITATION, flags=re.MULTILINE)
    assert linsep.__version__ == PROJECT["version"] == dated[1] == cited[1]
    assert f"date-released: {dated[2]}" in CITATION


def test_the_tagline_is_the_same_everywhere():
    assert PROJECT["description"] == TAGLINE
    assert f"**{TAGLINE}.**" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert linsep.__doc__ == app.info.help == f"{TAGLINE}."
    assert TAGLINE.lower() in CITATION


@pytest.mark.slow
def test_type_checkers_read_the_types_of_the_package(tmp_path):
    pytest.importorskip("mypy")
    assert (files("linsep") / "py.typed").is_file()
    (tmp_path / "use.py").write_text(USE)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--follow-imports=silent",
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
        "use.py",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, env={"MYPYPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'Revealed type is "linsep.estimators.perceptron.AveragedPerceptron"' in done.stdout


@pytest.mark.slow
def test_type_checkers_refuse_unknown_names_and_words(tmp_path):
    pytest.importorskip("mypy")
    wrong = {
        "linsep.no_such_name": "has no attribute",
        "linsep.plots.no_such_name": "has no attribute",
        "linsep.theory.no_such_name": "has no attribute",
        'linsep.PassiveAggressive(variant="PA-3")': "incompatible type",
        'linsep.Perceptron(shuffle="twice")': "incompatible type",
        'linsep.NaiveBayes("poisson")': "incompatible type",
        'linsep.read("rows.csv", format="xls")': "incompatible type",
        'linsep.stream("rows.csv", on_error="ignore")': "incompatible type",
    }
    (tmp_path / "use.py").write_text("\n".join(["import linsep, linsep.plots, linsep.theory", *wrong, ""]))
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--follow-imports=silent",
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
        "use.py",
    ]
    environment = {"MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    for number, (text, reason) in enumerate(wrong.items(), 2):
        assert any(line.startswith(f"use.py:{number}: error:") and reason in line for line in lines), (
            text,
            done.stdout,
        )
    assert len(lines) == len(wrong) + 1
