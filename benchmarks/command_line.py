"""From file to model and from file to answers, each by one command, against Vowpal Wabbit's.

The rows are the 200,000 x 47,000 sparse ones of the other groups, values with all their digits, once (0.33 GB) and four
times over (1.3 GB), as svmlight text for us and as its own text for Vowpal Wabbit; both sides read from the system's
cache. Each side is a process of its own and the wall clock runs from its start to its end. Vowpal Wabbit learns with
the logistic loss, adaptive steps and 2^18 columns, as by default; ours is logistic regression, streamed, which takes a
plain and so a cheaper step at every row. Without start-up: the difference between the two files. The peer is what
`python -m vowpalwabbit` runs.

A tiny file, from start to end, is an upper bound of the time to the first row. The first run has an empty folder for
compiled code.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks import reading
from benchmarks.timing import Line, Row, Skip, clock, race

TIMES = 4
GOALS = {"file to model, 1.3 GB": 2.0, "the same without start-up, a byte": 4.0, "file to labels, 1.3 GB": 3.0}
FIRST_ROW, FIRST_RUN = 1.2, 15.0
"""Seconds that a tiny file may take, and a run that has to compile."""


def write(folder: Path) -> dict[str, Path]:
    """Write the rows once and four times over, in both forms."""
    paths = {name: folder / name for name in ("small.svm", "large.svm", "small.vw", "large.vw")}
    reading.write(paths["small.svm"])
    text = paths["small.svm"].read_bytes()
    theirs = b"\n".join(line.replace(b" ", b" | ", 1) for line in text.split(b"\n"))
    for kind, once in (("svm", text), ("vw", theirs)):
        paths[f"small.{kind}"].write_bytes(once)
        with paths[f"large.{kind}"].open("wb") as file:
            for _ in range(TIMES):
                file.write(once)
    return paths


def ours(*args: object, **more: str) -> None:
    """Run a command of ours."""
    command = [sys.executable, "-m", "linsep", *map(str, args)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **more})


def theirs(*args: object) -> None:
    """Run Vowpal Wabbit."""
    command = [sys.executable, "-m", "vowpalwabbit", "--quiet", *map(str, args)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def fit(rows: Path, model: Path) -> None:
    """Learn from a file."""
    ours("fit", rows, "-o", model, "--stream", "--quiet", "--learner", "logistic-regression")


def fit_theirs(rows: Path, model: Path) -> None:
    """Let the peer learn from a file."""
    theirs("-d", rows, "-f", model, "--loss_function", "logistic")


def lines(repeats: int) -> Iterator[Line]:
    """Yield the rows of this group."""
    with TemporaryDirectory() as folder:
        paths = write(Path(folder))
        yield from alone(Path(folder), paths["small.svm"])
        if find_spec("vowpalwabbit") is None:
            for work in GOALS:
                yield Skip(work, "vowpalwabbit is not installed")
        else:
            yield from against(Path(folder), paths, repeats)


def alone(folder: Path, rows: Path) -> Iterator[Line]:
    """Yield the rows that have limits of their own."""
    tiny, model = folder / "tiny.svm", folder / "tiny.linsep"
    with rows.open("rb") as file:
        tiny.write_bytes(b"".join(file.readline() for _ in range(100)))
    result = race(partial(fit, tiny, model), lambda: None, 5, perf_counter)
    yield Row("start to end, 100 rows", "the limit", result.ours, FIRST_ROW, 1.0, "more than start to first row")
    first = partial(ours, "fit", tiny, "-o", model, "--quiet", NUMBA_CACHE_DIR=str(folder / "compiled"))
    seconds, _ = clock(first, perf_counter)
    yield Row("a first run, which compiles", "the limit", seconds, FIRST_RUN, 1.0, "averaged-perceptron")


def against(folder: Path, paths: dict[str, Path], repeats: int) -> Iterator[Line]:
    """Yield the rows that are races."""
    models = {"ours": folder / "ours.linsep", "theirs": folder / "theirs.vw"}
    large, small = (
        race(
            partial(fit, paths[f"{size}.svm"], models["ours"]),
            partial(fit_theirs, paths[f"{size}.vw"], models["theirs"]),
            repeats,
            perf_counter,
        )
        for size in ("large", "small")
    )
    bytes_ours, bytes_theirs = (paths[f"large.{kind}"].stat().st_size * (1 - 1 / TIMES) for kind in ("svm", "vw"))
    model, rest, labels = GOALS
    yield Row(model, "Vowpal Wabbit", large.ours, large.peer, GOALS[model], "wall clock, start-up included")
    ours_each, peer_each = (large.ours - small.ours) / bytes_ours, (large.peer - small.peer) / bytes_theirs
    note = f"ours {1e-6 / ours_each:,.0f} MB/s, peer {1e-6 / peer_each:,.0f} MB/s"
    yield Row(rest, "Vowpal Wabbit", 1e9 * ours_each, 1e9 * peer_each, GOALS[rest], f"{note}; seconds for 1 GB")
    result = race(
        partial(ours, "predict", models["ours"], paths["large.svm"], "-o", folder / "ours.txt"),
        partial(theirs, "-t", "-d", paths["large.vw"], "-i", models["theirs"], "-p", folder / "theirs.txt"),
        repeats,
        perf_counter,
    )
    same = _lines(folder / "ours.txt") == _lines(folder / "theirs.txt")
    yield Row(labels, "Vowpal Wabbit -t", result.ours, result.peer, GOALS[labels], "a line for each row", same)


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)
