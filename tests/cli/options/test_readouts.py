"""Commands with learners that vote: trained, resumed, and asked for any of their readouts afterwards."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import linsep
from linsep.cli.app import app
from linsep.cli.jobs.models import strongest
from linsep.cli.options.readouts import READOUTS, as_options
from linsep.estimators.base import voter
from linsep.models.contributions import weights_view
from linsep.models.save_load import opened
from linsep.transforms import Scale
from tests.cli.files import write_model, write_svmlight, write_table
from tests.contracts.table import quiet

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
VOTERS = {"voted": "voted-perceptron", "kernel": "kernel-perceptron"}
LINEAR = ("last", "average", "longest")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Write rows of three classes and a table of two, and models of them, once."""
    folder = tmp_path_factory.mktemp("voters")
    for name, rows, seed in (("train", 120, 0), ("more", 60, 2), ("test", 40, 1)):
        write_svmlight(folder / f"{name}.svm", rows, seed)
        write_table(folder / f"{name}.csv", rows, seed)
    for name, learner in VOTERS.items():
        command("fit", folder / "train.svm", "-o", folder / f"{name}.linsep", "-l", learner, "--epochs", "2")
    command("fit", folder / "train.csv", "--label", "income", "-o", folder / "two.linsep", "-l", "voted-perceptron")
    return folder


@pytest.fixture(autouse=True)
def folder(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in made.iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


def command(*args, code=0):
    result = CliRunner().invoke(app, [*map(str, args)])
    assert result.exit_code == code, result.output
    return result


def told(*args):
    return json.loads(command(*args, "--json").stdout)


def refused(*args, code=2):
    said = command(*args, code=code).stderr
    assert said.count("\n") == 1
    return said


def rows(name, of="voted.linsep"):
    return linsep.read(name, like=opened(of))


def same_answers(one, other):
    """Every readout of two learners, with norms and without, to the bit."""
    X = rows("test.svm").X
    a, b = (learner.readings(X).scores for learner in (one, other))
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)


def test_readouts_are_those_of_the_learners():
    assert set(READOUTS) == set(voter.VOTER_READOUTS)
    assert len(READOUTS) == len(voter.VOTER_READOUTS)


@pytest.mark.parametrize("name", VOTERS)
def test_a_stream_is_the_librarys_and_goes_on(name):
    parameters = {"kernel": "rbf", "gamma": 0.5} if name == "kernel" else {"max_support": 12, "when_full": "forget"}
    how = [word for of, value in parameters.items() for word in (f"--{of.replace('_', '-')}", value)]
    command("fit", "train.svm", "--stream", "-o", "s.linsep", "-l", VOTERS[name], *how)
    command("fit", "more.svm", "--stream", "-o", "s.linsep", "--resume", "s.linsep")
    expected = linsep.LEARNERS[VOTERS[name]].make(random_state=0, **parameters)
    model = linsep.load("s.linsep")
    for part in ("train.svm", "more.svm"):
        X, y = rows(part, of="s.linsep")
        expected.partial_fit(X, y, classes=[0, 1, 2])
    assert model.get_params() == expected.set_params(max_iter=model.max_iter).get_params()
    X = rows("test.svm", of="s.linsep").X
    for readout in READOUTS:
        a, b = (clf.set_params(readout=readout).decision_function(X) for clf in (model, expected))
        assert np.array_equal(a, b), readout


@pytest.mark.parametrize("name", VOTERS)
def test_resume_goes_on_with_the_same_rows_and_says_how_with_others(name):
    command("fit", "train.svm", "-o", "m.linsep", "--resume", f"{name}.linsep", "--epochs", "3")
    clf, (X, y) = linsep.LEARNERS[VOTERS[name]].make(random_state=0, max_iter=2, warm_start=True), rows("train.svm")
    quiet(clf.fit, X, y)
    before = clf.t_
    quiet(clf.set_params(max_iter=3).fit, X, y)
    model = linsep.load("m.linsep")
    assert model.t_ == clf.t_ > before
    assert same_answers(model, clf)
    said = refused("fit", "more.svm", "-o", "m.linsep", "--resume", f"{name}.linsep")
    assert f"{VOTERS[name]} continues with the rows that it was trained on: add --stream for others" in said


@pytest.mark.parametrize("name", VOTERS)
def test_fit_tells_what_is_kept(name):
    model = linsep.load(f"{name}.linsep")
    found = told("inspect", f"{name}.linsep")["found"]
    assert found == {"n_support": model.n_support_, "support_bytes": model.support_bytes_}
    shown = command("fit", "train.svm", "-o", "m.linsep", "-l", VOTERS[name], "--epochs", "2").stdout
    assert f"rows kept          {model.n_support_}, which made mistakes; " in shown


@pytest.mark.slow
@pytest.mark.parametrize("name", VOTERS)
@pytest.mark.parametrize("normalize", [None, True, False])
def test_every_readout_can_be_predicted(name, normalize):
    model, X = linsep.load(f"{name}.linsep"), rows("test.svm").X
    for readout in READOUTS:
        expected = model.set_params(readout=readout, normalize=bool(normalize)).decision_function(X)
        how = as_options(readout, normalize)
        said = command("predict", f"{name}.linsep", "test.svm", "--scores", *how).stdout
        assert np.array_equal(np.array([line.split("\t") for line in said.splitlines()], float), expected)
        model = linsep.load(f"{name}.linsep")  # the next random answers are those of the saved model, too


def test_labels_of_a_readout():
    model = linsep.load("two.linsep").set_params(readout="last")
    X = rows("test.csv", of="two.linsep").X
    said = command("predict", "two.linsep", "test.csv", "--readout", "last").stdout
    assert said.split() == model.predict(X).tolist()


@pytest.mark.parametrize("readout", ["vote", "last", "longest"])
def test_every_readout_can_be_judged(readout):
    model = linsep.load("two.linsep").set_params(readout=readout)
    test = rows("test.csv", of="two.linsep")
    found = told("evaluate", "two.linsep", "test.csv", "--readout", readout)
    assert found["error"] == pytest.approx(1 - model.score(test.X, test.y))
    shown = command("evaluate", "two.linsep", "test.csv", "--readout", readout, "--normalize").stdout
    assert f"readout   the {readout}, normalised\n" in shown


def test_a_readout_after_a_map():
    scaled = ["--map", "scale", "-l", "voted-perceptron", "--epochs", "2"]
    command("fit", "train.svm", "-o", "m.linsep", *scaled)
    X, y = rows("train.svm")
    scale = Scale().fit(X)
    clf = quiet(linsep.VotedPerceptron(random_state=0, max_iter=2, readout="longest").fit, scale.transform(X), y)
    said = command("predict", "m.linsep", "test.svm", "--readout", "longest").stdout
    assert [*map(int, said.split())] == clf.predict(scale.transform(rows("test.svm").X)).tolist()


@pytest.mark.parametrize("ask", ["predict", "evaluate"])
def test_who_has_one_readout_keeps_it(ask):
    write_model(Path("plain.linsep"), "train.svm")
    assert "--readout: averaged-perceptron keeps the weights of one readout" in refused(
        ask, "plain.linsep", "test.svm", "--readout", "last"
    )
    assert "--normalize: averaged-perceptron" in refused(ask, "plain.linsep", "test.svm", "--no-normalize")
    said = refused(ask, "voted.linsep", "test.svm", "--readout", "mean")
    assert "--readout mean: there are vote, plurality, random, last, average, longest" in said


def test_probabilities_keep_the_readout_that_they_were_made_for():
    command(
        "fit", "train.csv", "--label", "income", "-o", "c.linsep", "-l", "voted-perceptron", "--calibrate", "sigmoid"
    )
    assert command("predict", "c.linsep", "test.csv", "--proba").stdout.count("\n") == 1 + 40
    assert "the probabilities are those of its vote" in refused("predict", "c.linsep", "test.csv", "--readout", "last")


def test_a_vote_is_inspected_by_its_average():
    model = linsep.load("voted.linsep")
    shown = command("inspect", "voted.linsep").stdout
    assert "readout     the vote; what follows are the weights of the average\n" in shown
    coef = model.set_params(readout="average").coef_
    found = told("inspect", "voted.linsep", "--top", "2")
    assert found["nonzero"] == np.count_nonzero(coef)
    for k, part in enumerate(found["strongest"]):
        expected = np.argsort(-coef[k])[:2]
        assert [(int(of["name"]) - 1, of["weight"]) for of in part["features"]] == [(j, coef[k, j]) for j in expected]
    assert model.set_params(readout="vote").readout == "vote"
    assert weights_view(model) is not model
    assert model.readout == "vote"


@pytest.mark.parametrize("readout", LINEAR)
def test_readouts_with_weights_show_their_own(readout):
    model = linsep.load("two.linsep").set_params(readout=readout)
    assert weights_view(model) is model
    for_low, for_high = strongest(model, 1)
    coef = model.coef_[0]
    assert for_low.weights[0] == -coef.min()
    assert for_high.weights[0] == coef.max()


def test_a_kernel_is_inspected_without_weights():
    found = told("inspect", "kernel.linsep")
    assert (found["learner"], found["readout"], found["nonzero"], found["intercept"]) == (
        "kernel-perceptron", "the vote", None, None,
    )  # fmt: skip
    assert found["strongest"] == []
    shown = " ".join(command("inspect", "kernel.linsep").stdout.split())
    assert "a kernel's features are not written out" in shown
    assert "are not written out" in refused("inspect", "kernel.linsep", "--class", "1")


@pytest.mark.slow
@pytest.mark.parametrize("name", VOTERS)
def test_reports(name):
    judged = ["--test", "test.svm", "--epochs", "1", "--readout", "random"]
    command("fit", "train.svm", "-o", "m.linsep", "-l", VOTERS[name], "--report", "fit.html", *judged)
    command("evaluate", "m.linsep", "test.svm", "--report", "e.html", "--readout", "last", "--normalize")
    trained, asked = Path("fit.html").read_text(), Path("e.html").read_text()
    assert f"{VOTERS[name]} on train.svm" in trained
    assert ("Strongest features" in trained) == (name == "voted")
    assert ", which made mistakes; " in trained
    assert ("Those of the average: a vote has no weights of its own." in trained) == (name == "voted")
    assert "readout: the last, normalised" in asked
    assert "linsep evaluate m.linsep test.svm --readout last --normalize" in asked


def test_weights_are_written_of_readouts_that_have_some():
    for target in ("w.csv", "w.json", "w.onnx"):
        said = refused("convert", "voted.linsep", "-o", target)
        assert "the vote asks all weights of the run: choose one of them, such as --readout average" in said
        if target != "w.onnx":
            said = refused("convert", "kernel.linsep", "-o", target, "--readout", "last")
            assert "a kernel's weights are those of rows" in said
        assert not Path(target).exists()
    assert "the vote asks every hypothesis" in refused("convert", "kernel.linsep", "-o", "w.onnx")
    command("convert", "voted.linsep", "-o", "w.json", "--readout", "average", "--normalize")
    coef = linsep.load("voted.linsep").set_params(readout="average", normalize=True).coef_
    written = {of["class"]: of["weights"] for of in json.loads(Path("w.json").read_text())["weights"]}
    assert [[written[k].get(str(1 + j), 0.0) for j in range(12)] for k in range(3)] == coef.tolist()
    assert "--normalize is for models" in refused("convert", "train.svm", "-o", "t.npz", "--normalize")
    assert "--readout is for models" in refused("convert", "train.svm", "-o", "t.npz", "--readout", "last")


@pytest.mark.slow
def test_a_vote_and_a_kernel_have_a_certificate():
    found = told("certify", "train.csv", "--label", "income", "-l", "voted-perceptron", "-o", "a.cert")
    plain = told("certify", "train.csv", "--label", "income", "-l", "perceptron")
    of_remarks = "witnesses: sha256"
    assert found["claims"].pop(of_remarks) != plain["claims"].pop(of_remarks)
    assert found["claims"] == plain["claims"]
    assert found["risk"] == plain["risk"]
    assert command("verify", "a.cert", "train.csv", "--label", "income", "--brief").stdout.startswith("every claim")
    shown = command("certify", "train.csv", "--label", "income", "-l", "voted-perceptron").stdout
    assert "the vote errs on new rows with probability 2 E[k] / m at most" in " ".join(shown.split())
    kernel = "-l", "kernel-perceptron", "--epochs", "3", "-o", "k.cert", "--report", "k.html"
    told("certify", "train.csv", "--label", "income", *kernel)
    assert "K(x, x) = R² of K(x, z) = " in Path("k.html").read_text()
    assert command("verify", "k.cert", "train.csv", "--label", "income", "--brief").stdout.startswith("every claim")


def test_a_kernel_is_compared_when_it_is_named():
    shown = command("compare", "train.svm", "--test", "test.svm", "--epochs", "1").stdout
    assert "\nvoted-perceptron " in shown
    left_out = " ".join(shown.split()).partition("left out, as their time grows faster than the data: ")[2]
    assert left_out.startswith("kernel-perceptron, linear-program ")
    both = [word for name in VOTERS.values() for word in ("-l", name)]
    found = told("compare", "train.svm", "--test", "test.svm", *both, "--readout", "last", "--epochs", "2")["learners"]
    for name, learner in VOTERS.items():
        model, test = linsep.load(f"{name}.linsep").set_params(readout="last"), rows("test.svm")
        [own] = [of for of in found if of["name"] == learner]
        assert own["error"] == pytest.approx(1 - model.score(test.X, test.y))
        assert own["mistakes"] == np.sum(model.mistakes_)
    assert "left out" not in command("compare", "train.svm", "--epochs", "1", *both).stdout


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["-l", "kernel-perceptron", "--kernel", "cubic"], 2, "--kernel: 'cubic' is not 'linear', 'poly'"),
        (["-l", "kernel-perceptron", "--coef0", "x"], 2, "--coef0: 'x' is not a number\n"),
        (["-l", "kernel-perceptron", "--rule", "romma"], 2, "no such option: --rule"),
        (["-l", "kernel-perceptron", "--kernel", "precomputed"], 3, "a precomputed kernel"),
        (["-l", "kernel-perceptron", "--kernel", "precomputed", "--stream"], 2, "a precomputed kernel"),
        (["-l", "kernel-perceptron", "--max-support", "2"], 2, "more than --max-support 2"),
        (["-l", "voted-perceptron", "--max-support", "2"], 2, "more than --max-support 2"),
        (["-l", "voted-perceptron", "--log", "false"], 2, "the hypotheses follow from the log"),
        (["-l", "kernel-perceptron", "--degree", "9000"], 3, "the kernel of row"),
    ],
)
def test_what_cant_be_trained_is_one_line_and_a_code(args, code, words):
    assert words in refused("fit", "train.svm", "-o", "m.linsep", "--brief", *args, code=code)
    assert not Path("m.linsep").exists()
