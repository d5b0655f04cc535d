"""Shards and workers on the command line: the same bits and bytes as without, runs that go on, failures of one line."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

import linsep
from linsep import distributed
from linsep.cli.app import app
from linsep.cli.terminal.progress import ShardsTrainingProgress
from linsep.models.save_load import opened
from tests.cli.files import let_threads_work, write_mail, write_table, write_vw
from tests.contracts.table import bits, problem, quiet
from tests.processes import fork_workers

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("train", 0), ("test", 2)):
        X, y = problem(3, n=200, p=12, seed=seed)
        dump_svmlight_file(X, y, f"{name}.svm", zero_based=False)
    return tmp_path


@pytest.fixture
def threads_for_workers(monkeypatch):
    let_threads_work(monkeypatch)


@pytest.fixture(scope="module")
def scheduler():
    fork_workers()
    with distributed.local_workers(2) as client:
        yield client.scheduler.address


def run(*args, code=0):
    result = CliRunner().invoke(app, args)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def fit(*args, code=0):
    return run("fit", "train.svm", "-o", "m.linsep", *args, code=code)


def weights():
    return bits(linsep.load("m.linsep").coef_)


def one_line(result, *words):
    assert result.stderr.count("\n") == 1, result.stderr
    for word in words:
        assert word in result.stderr


def test_threads_share_shards_and_never_change_the_model():
    result = fit("--shards", "4", "--mixing", "rows", "--json")
    many = weights()
    fit("--shards", "4", "--mixing", "rows", "--threads", "1")
    X, y = linsep.read("train.svm")
    expected = quiet(linsep.AveragedPerceptron(random_state=0, shards=4, mixing="rows").fit, X, y)
    assert weights() == many == bits(expected.coef_)
    told = json.loads(result.stdout)
    assert (told["shards"], told["mixing"], told["workers"]) == (4, "rows", None)
    assert told["mixed_mistakes"] == expected.mixes_.mixed_mistakes[-1].sum()
    assert 0 < told["progressive_error"] < 1


def test_a_stream_of_shards_is_learned_as_it_stands():
    result = fit("--stream", "--shards", "3", "--epochs", "2", "--test", "test.svm")
    made = weights()
    expected = linsep.AveragedPerceptron(random_state=0, shards=3, shuffle=False, log=False)
    assert made == bits(distributed.fit(expected, "train.svm", epochs=2).coef_)
    for word in ("as in the files; 2 epochs", "3, mixed evenly", "test error", "weighted by shard"):
        assert word in result.stdout
    lines = [line.split() for line in result.stderr.splitlines()]
    assert lines[0] == ["epoch", "shards", "rows", "mistakes", "rows/s"]
    assert lines[-1][:5] == ["2", "3", "of", "3", "400"]
    fit("--stream", "--shards", "3", "--brief")
    assert opened("m.linsep").about["epochs"] == 1


def test_inspect_tells_of_shards():
    fit("--stream", "--shards", "3", "--mixing", "mistakes", "--epochs", "2", "--brief")
    text = run("inspect", "m.linsep").stdout
    assert "shards      3, mixed by their mistakes after each of 2 epochs; " in text
    told = json.loads(run("inspect", "m.linsep", "--json").stdout)
    assert told["shards"]["mixing"] == "mistakes"
    fit("--brief")
    assert "mixed" not in run("inspect", "m.linsep").stdout


@pytest.mark.slow
@pytest.mark.usefixtures("threads_for_workers")
def test_workers_learn_shards_in_a_random_order():
    result = fit("--workers", "2", "--report", "page.html", "--test", "test.svm")
    made = weights()
    assert made == bits(distributed.fit(linsep.AveragedPerceptron(random_state=0, shards=8), "train.svm").coef_)
    assert linsep.load("m.linsep").shards == 8
    for word in ("2 processes on this machine", "of weights moved in an epoch", "random", "within each shard"):
        assert word in " ".join(result.stdout.split())
    with open("page.html") as page:
        assert "shards=8" in page.read()


@pytest.mark.usefixtures("threads_for_workers")
def test_idle_workers_are_told():
    lines = fit("--workers", "2", "--shards", "1", "--brief").stderr
    assert lines == (
        "linsep fit: 2 workers, and shards for 1 of them: --shards 2, or more, is work for all (and another model)\n"
    )
    assert fit("--workers", "2", "--shards", "2", "--brief").stderr == ""


def cut_off(monkeypatch, at, error):
    """Let the next run end in some epoch."""
    told = ShardsTrainingProgress.shards

    def shards(self, now):
        told(self, now)
        if (now.epoch, now.shards) == at:
            raise error

    monkeypatch.setattr(ShardsTrainingProgress, "shards", shards)


@pytest.mark.parametrize("how", [["--stream", "--epochs", "6"], ["--workers", "2", "--learner", "perceptron"]])
@pytest.mark.usefixtures("threads_for_workers")
def test_a_run_that_was_cut_off_goes_on(how, folder, monkeypatch):
    fit("--shards", "4", *how)
    undisturbed = weights()
    (folder / "m.linsep").unlink()
    with monkeypatch.context() as patch:
        cut_off(patch, (3, 2), KeyboardInterrupt())
        stopped = fit("--shards", "4", *how, "--brief", code=130)
    one_line(stopped, "interrupted; m.linsep.epochs has 2 epochs: the same command resumes from there")
    assert sorted(path.name for path in folder.glob("m.*")) == ["m.linsep.epochs"]
    one_line(
        fit("--shards", "5", *how, "--brief", code=2), "m.linsep.epochs is of another run", "shards was 4, and is 5"
    )
    result = fit("--shards", "4", *how, "--brief")
    one_line(result, "linsep fit: resumes after epoch 2, which m.linsep.epochs has")
    assert weights() == undisturbed
    assert sorted(path.name for path in folder.glob("m.*")) == ["m.linsep"]


@pytest.mark.usefixtures("threads_for_workers")
def test_a_worker_that_is_lost_is_told_once(monkeypatch):
    told = ShardsTrainingProgress.shards

    def shards(self, now):
        if (now.epoch, now.shards) == (3, 2):
            told(self, now._replace(gone=2, waiting=True))
        told(self, now._replace(gone=max(0, min(now.epoch - 1, 2))))

    monkeypatch.setattr(ShardsTrainingProgress, "shards", shards)
    result = fit("--shards", "4", "--workers", "2", "--epochs", "3")
    assert result.stderr.count("linsep fit: 1 worker lost so far; others do the work again\n") == 1
    assert result.stderr.count("linsep fit: 2 workers lost so far; others do the work again\n") == 1
    assert result.stderr.count("linsep fit: 2 workers lost so far; one is waited for, a minute at most\n") == 1
    assert "2 processes on this machine, 2 lost on the way" in result.stdout
    assert "lost so far" not in fit("--shards", "4", "--workers", "2", "--epochs", "3", "--brief").stderr


def test_a_cluster_that_fails_says_what_is_kept(monkeypatch):
    cut_off(monkeypatch, (2, 1), distributed.ClusterError("no worker is left"))
    result = fit("--stream", "--shards", "2", "--epochs", "3", "--brief", code=2)
    one_line(result, "no worker is left; m.linsep.epochs has 1 epoch: the same command resumes")


def test_an_interruption_before_the_first_epoch_ends_keeps_nothing(monkeypatch):
    cut_off(monkeypatch, (1, 1), KeyboardInterrupt())
    one_line(fit("--stream", "--shards", "2", "--brief", code=130), "interrupted; nothing was written")


def test_a_run_that_had_all_epochs_is_written(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("linsep.cli.commands.fit._save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        fit("--stream", "--shards", "2", "--brief", code=130)
    one_line(fit("--stream", "--shards", "2", "--brief"), "m.linsep.epochs has all epochs already")
    assert not (folder / "m.linsep.epochs").exists()


REFUSED = [
    (["--workers", "2", "--scheduler", "tcp://127.0.0.1:1"], "--workers and --scheduler both choose the workers"),
    (["--workers", "2", "--holdout", "0.2"], "judge the model by --test"),
    (["--workers", "2", "--calibrate", "sigmoid"], "--calibrate looks at each row"),
    (["--workers", "2", "--map", "scale"], "convert the data first"),
    (["--workers", "2", "--resume", "m.linsep"], "--workers 2 starts from the first epoch"),
    (["--workers", "2", "--threads", "2"], "--threads are those of this process"),
    (["--workers", "2", "--learner", "voted-perceptron"], "not trained on shards, as it predicts with the hypotheses"),
    (["--workers", "2", "--learner", "max-margin"], "is not trained on shards, as it solves for all rows"),
    (["--workers", "2", "--learner", "logistic-regression", "--solver", "newton"], "sees all rows at once"),
    (["--workers", "2", "--learner", "romma", "--aggressive"], "is not trained on shards, as "),
    (["--shards", "2", "--learner", "romma", "--aggressive"], "is not mixed, as "),
    (["--workers", "2", "--quarantine", "bad.svm"], "use --on-error skip"),
    (["--workers", "0"], "--workers"),
    (["--stream", "--shards", "2", "--holdout", "0.2"], "with --stream --shards 2"),
    (["--stream", "--shards", "2", "--open-labels"], "--open-labels"),
    (["--stream", "--shards", "2", "--window", "50"], "--window goes with --stream, without shards"),
    (["--workers", "2", "--window", "50"], "--window goes with --stream, without shards"),
    (["--stream", "--shards", "2", "--shuffle", "once"], "leave out --shuffle"),
    (["--learner", "kernel-perceptron", "--shards", "2"], "has no --shards, as it predicts with the hypotheses"),
    (["--mixing", "rows"], "--shards N"),
    (["--shards", "2", "--learner", "logistic-regression", "--solver", "newton"], "leave out --shards"),
]  # fmt: skip


@pytest.mark.parametrize(("args", "words"), REFUSED, ids=[" ".join(args) for args, _ in REFUSED])
def test_what_does_not_go_together_is_said_before_the_work(args, words, folder):
    one_line(fit(*args, code=2), words)
    assert not list(folder.glob("m.*"))


def test_pipes_have_no_parts():
    fit("--brief")
    for args in (["fit", "-", "-o", "n.linsep"], ["predict", "m.linsep"], ["evaluate", "m.linsep", "-"]):
        one_line(run(*args, "--workers", "2", code=2), "- is a pipe; save it to a file")
    one_line(run("evaluate", "m.linsep", "test.svm", "--report", "p.html", "--workers", "2", code=2), "--report")


def test_a_model_of_shards_is_resumed_as_a_whole_or_without_them():
    fit("--shards", "3", "--brief")
    fit("--resume", "m.linsep", "--brief")
    assert linsep.load("m.linsep").shards == 3
    one_line(fit("--resume", "m.linsep", "--stream", "--brief", code=2), "trained on 3 shards", "--shards none")
    fit("--resume", "m.linsep", "--stream", "--shards", "none", "--brief")


def data_of(kind, folder):
    """Write rows of a kind to train on and to answer, some of them blank or malformed; return the reader's options."""
    if kind in ("svm", "npz"):
        with open("test.svm") as file:
            lines = file.read().splitlines()
        more = ["", *lines[:50], "", "# nothing", "", *lines[50:], "", "0 1:x", "1 2:3", ""]
        (folder / "new.svm").write_text("\n".join(more))
        if kind == "npz":
            linsep.convert("test.svm", "new.npz")
        return []
    write = {"csv": write_table, "txt": write_mail, "vw": write_vw}[kind]
    write(folder / f"train.{kind}", 100, 0)
    write(folder / f"new.{kind}", 90, 1)
    return {"csv": ["--label", "income"], "txt": ["-O", "vocabulary=true"], "vw": []}[kind]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["svm", "npz", "csv", "txt", "vw"])
@pytest.mark.usefixtures("threads_for_workers")
def test_answers_of_parts_are_those_of_one_reader(kind, folder):
    options = data_of(kind, folder)
    train = f"train.{kind}" if (folder / f"train.{kind}").exists() else "train.svm"
    run("fit", train, "-o", "m.linsep", *options, "--brief")
    for args in (["predict"], ["predict", "--scores"], ["evaluate", "--json"]):
        for on_error in ("skip", "raise"):
            command = [args[0], "m.linsep", f"new.{kind}", *args[1:], "--on-error", on_error]
            one, shared = (CliRunner().invoke(app, [*command, *more]) for more in ([], ["--workers", "2"]))
            assert one.exit_code == (3 if kind == "svm" and on_error == "raise" else 0)
            assert (shared.exit_code, shared.stderr) == (one.exit_code, one.stderr)
            if args[0] == "predict":
                assert shared.stdout_bytes == one.stdout_bytes
                assert len(one.stdout_bytes) > 100
            elif one.exit_code == 0:
                told, other = (json.loads(result.stdout) | {"seconds": 0} for result in (one, shared))
                assert other == told


@pytest.mark.usefixtures("threads_for_workers")
def test_answers_go_to_a_file_that_is_not_theirs(folder):
    fit("--brief")
    run("predict", "m.linsep", "test.svm", "-o", "labels.txt", "--workers", "2")
    assert (folder / "labels.txt").read_text() == run("predict", "m.linsep", "test.svm").stdout
    for target, words in (("test.svm", "one of the input files"), ("m.linsep", "is the model")):
        one_line(run("predict", "m.linsep", "test.svm", "-o", target, "--workers", "2", code=2), words)
    one_line(run("predict", "m.linsep", "test.svm", "--proba", "--workers", "2", code=2), "no probabilities")


@pytest.mark.slow
def test_a_cluster_gives_the_same_bits_and_bytes(scheduler):
    result = fit("--scheduler", scheduler, "--shards", "3")
    assert f"2 of {scheduler}; " in result.stdout
    clustered = weights()
    by_threads = quiet(distributed.fit, linsep.AveragedPerceptron(random_state=0, shards=3), "train.svm")
    assert clustered == bits(by_threads.coef_)
    for args in (["predict", "m.linsep", "test.svm", "--scores"], ["evaluate", "m.linsep", "test.svm", "--brief"]):
        one, shared = run(*args), run(*args, "--scheduler", scheduler)
        assert (shared.stdout_bytes, shared.stderr) == (one.stdout_bytes, one.stderr)


@pytest.mark.slow
def test_naive_bayes_is_counted_by_workers(scheduler, folder):
    write_mail(folder / "train.txt", 100, 0)
    run("fit", "train.txt", "-o", "one.linsep", "--learner", "naive-bayes", "--brief")
    result = run("fit", "train.txt", "-o", "m.linsep", "--learner", "naive-bayes", "--scheduler", scheduler)
    assert weights() == bits(linsep.load("one.linsep").coef_)
    assert "100" in result.stdout
    assert "mistakes" not in result.stdout


@pytest.mark.slow
def test_what_workers_find_wrong_is_one_line(scheduler, folder):
    rows = (folder / "train.svm").read_text()
    (folder / "bad.svm").write_text(rows + "0 1:1\n1 2:one\n")
    result = run("fit", "bad.svm", "-o", "m.linsep", "--scheduler", scheduler, code=3)
    one_line(result, "linsep fit: bad.svm, line 202, column 5: 'one' is not a finite number")
    (folder / "large.svm").write_text(rows + "0 1:7\n")
    result = run(
        "fit", "large.svm", "-o", "m.linsep", "--learner", "winnow", "--scheduler", scheduler, "--brief", code=3
    )
    one_line(result, "1")
    assert not list(folder.glob("m.*"))


def test_a_scheduler_that_does_not_answer(monkeypatch):
    monkeypatch.setattr("linsep.distributed.cluster.REPLY", 0.3)
    one_line(fit("--scheduler", "tcp://127.0.0.1:1", code=2), "no scheduler responds at tcp://127.0.0.1:1")
    one_line(fit("--scheduler", "nonsense://", code=2), "no scheduler responds at nonsense://")


def test_a_missing_dask_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    one_line(fit("--workers", "2", code=2), "pip install 'linsep[dask]'")


@pytest.mark.slow
def test_help_loads_no_dask():
    code = (
        "import sys; from typer.testing import CliRunner; from linsep.cli.app import app\n"
        "for args in (['--help'], ['predict', '--help'], ['evaluate', '--help'], ['fit', '-l', 'romma', '--help']):\n"
        "    assert args[0] != 'fit' or 'numba' not in sys.modules\n"
        "    print(CliRunner().invoke(app, args).output)\n"
        "print({'dask', 'distributed', 'linsep.distributed'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("--scheduler ADDRESS") == 3
    assert done.stdout.endswith("set()\n")


@pytest.mark.slow
def test_processes_say_nothing_of_their_own(folder):
    command = [sys.executable, "-m", "linsep", "fit", "train.svm", "-o", "m.linsep", "--workers", "1", "--brief"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("m.linsep: 200 rows, ")
    assert np.isfinite(linsep.load("m.linsep").coef_).all()
    assert not (folder / "m.linsep.epochs").exists()


@pytest.mark.slow
def test_restart_discards_the_epochs_of_an_interrupted_run(folder):
    fit("--stream", "--shards", "2", "--brief")
    expected = weights()
    (folder / "m.linsep.epochs").write_bytes(b"of another run")
    fit("--stream", "--shards", "2", "--brief", code=4)
    for wrong in (["--test", "absent.svm"], ["--learner", "romma", "--aggressive"], ["--time-limit", "5"]):
        wrongly = CliRunner().invoke(
            app, ["fit", "train.svm", "-o", "m.linsep", *["--stream", "--shards", "2", "--restart"], *wrong]
        )
        assert wrongly.exit_code != 0
        assert (folder / "m.linsep.epochs").read_bytes() == b"of another run"
    fit("--stream", "--shards", "2", "--brief", "--restart")
    assert weights() == expected
    assert not (folder / "m.linsep.epochs").exists()
    for shards in ([], ["--shards", "2"]):
        one_line(fit("--restart", *shards, code=2), "only --stream --shards N, --workers and", "remove --restart")
