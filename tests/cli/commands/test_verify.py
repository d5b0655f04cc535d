"""`linsep verify`: what holds is told, what was tampered with is named, and nothing is a traceback."""

import json

import pytest
from typer.testing import CliRunner

from linsep.cli.app import app

DATA = "x,y,kind\n0,1,no\n2,0,yes\n3,1,yes\n0.5,2,no\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(DATA)
    (tmp_path / "b.csv").write_text(DATA.replace("0.5,2,no", "0.5,2.5,no"))
    made = CliRunner().invoke(app, ["certify", "a.csv", "--label", "kind", "-l", "perceptron", "-o", "a.cert"])
    assert made.exit_code == 0, made.output
    return tmp_path


def run(*args):
    return CliRunner().invoke(app, ["verify", *map(str, args)])


def forged(here, change):
    """Write the certificate with something changed."""
    facts = json.loads((here / "a.cert").read_text())
    change(facts)
    (here / "forged.cert").write_text(json.dumps(facts))
    return run("forged.cert", "a.csv", "--label", "kind")


def test_what_holds_is_told_claim_by_claim(here):
    result = run("a.cert", "a.csv", "--label", "kind")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    claims = json.loads((here / "a.cert").read_text())["claims"]
    assert sum(line.startswith("holds ") for line in lines) == len(claims)
    unchecked = sum(line.startswith("not checked ") for line in lines)
    assert unchecked > 0
    assert not any(line.startswith("fails") for line in lines)
    assert lines[-1].startswith(f"every claim that can be checked holds: {len(claims)} hold, {unchecked} not checked; ")


def test_json_has_every_check(here):
    found = json.loads(run("a.cert", "a.csv", "--label", "kind", "--json").stdout)
    assert found["holds"] is True
    assert {check["status"] for check in found["checks"]} == {"holds", "not checked"}
    assert "bias 1: verdict" in [check["claim"] for check in found["checks"]]


def test_a_claim_that_was_changed_is_named_first(here):
    def stretch(facts):
        facts["claims"]["bias 1: perceptron's mistakes at most"] = "1.5"

    result = forged(here, stretch)
    assert result.exit_code == 1
    first = result.stdout.splitlines()[2]
    assert first.startswith("fails ")
    assert "bias 1: perceptron's mistakes at most" in first
    assert "stated 1.5, found " in " ".join(result.stdout.split())
    assert result.stdout.splitlines()[-1].startswith("it does not hold for these data: 1 fails, ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda facts: facts["problems"]["bias 1"]["w"]["margin"]["values"].reverse(),
        lambda facts: facts["runs"]["run"]["updates"].append(1),
        lambda facts: facts["claims"].pop("bias 1: verdict"),
        lambda facts: facts["problems"].clear(),
        lambda facts: facts.pop("runs"),
        lambda facts: facts.update(claims=5),
        lambda facts: facts.update(data=[]),
        lambda facts: facts["data"].update(classes=["no"]),
        lambda facts: facts["risk"]["run"].update({"at most": 0.001}),
    ],
)
def test_a_certificate_that_was_tampered_with_fails(here, change):
    result = forged(here, change)
    assert result.exit_code == 1, result.output
    assert "fails" in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize(
    "args", [["b.csv", "--label", "kind"], ["a.csv", "--label", "x"], ["a.csv", "--label", "kind", "--map", "scale"]]
)
def test_other_data_are_told_and_the_answer_is_no(args):
    result = run("a.cert", *args)
    assert result.exit_code == 1, result.output
    assert result.stdout.splitlines()[2].startswith("fails")
    assert json.loads(run("a.cert", *args, "--json").stdout)["holds"] is False


def test_maps_are_those_of_certify(here):
    CliRunner().invoke(app, ["certify", "a.csv", "--label", "kind", "--map", "scale", "-o", "s.cert"])
    assert run("s.cert", "a.csv", "--label", "kind", "--map", "scale").exit_code == 0
    result = run("s.cert", "a.csv", "--label", "kind")
    assert result.exit_code == 1
    assert "--label, --map, -O, --on-error and --model must be the same" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a certificate"),
        ("[1]", "is not a certificate"),
        ('{"format": "linsep certificate"}', "of version None"),
        ("[" * 100_000, "is not a certificate"),
    ],
)
def test_a_foreign_file_is_code_4(here, text, words):
    (here / "foreign.cert").write_text(text)
    result = run("foreign.cert", "a.csv", "--label", "kind")
    assert (result.exit_code, result.stdout) == (4, "")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["none.cert", "a.csv"], 2),
        (["a.cert"], 2),
        (["a.cert", "a.csv", "--map", "scal"], 2),
        (["a.cert", "none.csv"], 3),
    ],
)
def test_what_cant_be_done_is_one_line_and_a_code(args, code):
    result = run(*args)
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.count("\n") == 1


def test_one_line_if_quiet():
    result = run("a.cert", "a.csv", "--label", "kind", "--brief")
    assert result.stdout.startswith("every claim that can be checked holds: ")
    assert result.stdout.count("\n") == 1


@pytest.mark.parametrize("columns", ["50", "80", "140"])
def test_lines_fit_the_terminal(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    out = run("a.cert", "a.csv", "--label", "kind").stdout
    assert max(map(len, out.splitlines())) <= int(columns)


@pytest.mark.parametrize("columns", [None, "60"])
def test_values_are_whole_and_a_problem_is_named_once(here, columns, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    shown = run("a.cert", "a.csv", "--label", "kind").stdout
    digest = next(
        check["detail"].rpartition(" ")[2]
        for check in json.loads(run("a.cert", "a.csv", "--label", "kind", "--json").stdout)["checks"]
        if check["claim"] == "witnesses: sha256"
    )
    lines = shown.splitlines()
    assert digest in "".join(shown.split())
    assert lines.count("bias 1") == lines.count("no bias") == 1
    assert "bias 1: " not in shown
    assert "…" not in shown
    if columns is None:
        assert any(line.endswith("epsilon 0.05, delta 0.05") for line in lines)
        assert not any(line.endswith(" ") for line in lines)


def test_claims_of_runs_that_need_all_rows_are_named():
    result = run("a.cert", "a.csv", "--label", "kind", "--stream")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert any(line.startswith("needs rows  run: mistakes") for line in lines)
    assert lines[-1].startswith("runs need all rows: omit --stream: ")
