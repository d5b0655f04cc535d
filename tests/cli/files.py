"""Small files to run commands on, and lines of a shell that run them."""

import shlex
import shutil
import subprocess
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from typer.testing import CliRunner

import linsep
from linsep.cli.app import app
from linsep.cli.jobs.training import fit_quietly
from linsep.models.save_load import save

WORDS = {"spam": "cheap pills offer click win money", "ham": "meet noon lunch project thanks report"}


def write_svmlight(path, rows, seed):
    """Write rows of three classes, which a few columns tell apart; entries are above 0 and at most 1."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(rows):
        label = int(rng.integers(3))
        columns = sorted({*rng.choice(np.arange(7, 13), 3, replace=False).tolist(), 2 * label + 1, 2 * label + 2})
        lines.append(f"{label} " + " ".join(f"{j}:{rng.integers(1, 9) / 8}" for j in columns))
    path.write_text("\n".join(lines) + "\n")


def write_mail(path, rows, seed):
    """Write labelled lines of words."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(["spam", "ham"], rows).tolist()
    lines = [f"{label}\t{' '.join(rng.choice(WORDS[label].split(), 4))} the and" for label in labels]
    path.write_text("\n".join(lines) + "\n")


def write_table(path, rows, seed):
    """Write a table with a column of labels called income."""
    rng = np.random.default_rng(seed)
    lines = ["age,city,income"]
    for _ in range(rows):
        age, city = int(rng.integers(20, 70)), rng.choice(["Oslo", "Rome"])
        lines.append(f"{age / 100},{city},{'high' if (age > 45) ^ (city == 'Rome' and age > 60) else 'low'}")
    path.write_text("\n".join(lines) + "\n")


def write_vw(path, rows, seed):
    """Write rows in Vowpal Wabbit's form."""
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1, 1], rows).tolist()
    lines = [f"{label} |a {'up' if label > 0 else 'down'} x:{rng.integers(1, 9) / 8}" for label in labels]
    path.write_text("\n".join(lines) + "\n")


def write_files(folder):
    """Write all files that the examples of --help name."""
    for name, content in _contents().items():
        (folder / name).write_bytes(content)


@cache
def _contents():
    """The files by name, made once: nothing in them tells the folder that they were written to."""
    with TemporaryDirectory() as folder:
        _make_files(Path(folder))
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def _make_files(folder):
    for name, rows, seed in (("train", 120, 0), ("test", 40, 1), ("more", 60, 2), ("new", 20, 3)):
        write_svmlight(folder / f"{name}.svm", rows, seed)
        write_table(folder / f"{name}.csv", rows, seed)
        write_mail(folder / f"{name}.txt", rows, seed)
        write_vw(folder / f"{name}.vw", rows, seed)
    write_model(folder / "model.linsep", folder / "train.svm")
    write_certificate(folder / "train.cert", folder / "train.svm")
    shutil.copy(folder / "train.svm", folder / "big.svm")
    write_certificate(folder / "big.cert", folder / "big.svm")
    write_certificate(folder / "income.cert", folder / "train.csv", label="income")


def write_model(path, data, learner=None, about=None, **options):
    """Train on a file, and save the model."""
    rows = linsep.read(data, **options)
    model = linsep.AveragedPerceptron(random_state=0) if learner is None else learner
    fit_quietly(model, rows.X, rows.y)
    save(model, path, data=rows, about=about)
    return model


def let_threads_work(patch):
    """Let threads of this process do what worker processes would, which take long to start."""

    @contextmanager
    def local_workers(count):
        yield None

    patch.setattr("linsep.distributed.cluster.local_workers", local_workers)
    patch.setattr("linsep.cli.jobs.sharded.task_slots", lambda client: 2)


def write_certificate(path, data, **options):
    """Prove what can be proved of a file, and save it."""
    linsep.certify(*linsep.read(data, **options)).save(path)


def run_line(line):
    """Run a line as a shell does, but `linsep` in this process; return the exit code and what is shown.

    The line may have pipes, and `A || B`, which runs B if A fails.
    """
    first, _, otherwise = line.partition(" || ")
    data = b""
    for command in first.split(" | "):
        code, data, shown = _run_command(command, data)
    if code and otherwise:
        code, more = run_line(otherwise)
        shown += more
    return code, shown


def _run_command(command, data):
    """Run one command on its standard input; return the exit code, its standard output and what is shown."""
    if command.startswith("linsep "):
        result = CliRunner().invoke(app, shlex.split(command)[1:], input=data)
        return result.exit_code, result.stdout_bytes, result.output
    done = subprocess.run(command, shell=True, input=data, capture_output=True, check=False)
    return done.returncode, done.stdout, (done.stdout + done.stderr).decode()
