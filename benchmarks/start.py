"""A new process: import and a tiny fit, compiled code on disk, against scikit-learn's import and fit.

Both sides are a fresh Python that imports numpy and one Perceptron class, fits it on the same 20 x 3 dense
rows and leaves; the wall clock runs from the start of the process to its end. The first round fills
linsep's cache on disk and the file system's. "no slower than 1.5 x its time" is a ratio of at least 1 /
1.5.

`python -m benchmarks.start [REVISION ...]` prints the processor seconds of first uses, each in a new process, of this
tree and of other revisions in turns; the best of some rounds counts. A work runs with three caches: one that is empty,
the same one the second time, and one to which every kernel of the work was compiled before.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from sklearn.datasets import dump_svmlight_file

from benchmarks.against import ROOT, tree_of
from benchmarks.timing import Line, Row, race
from linsep.demo import next_steps
from linsep.demo.data_sets import data_sets
from linsep.estimators.registry import LEARNERS

PROGRAM = """
import numpy as np
from {module} import Perceptron
X = np.random.default_rng(0).normal(size=(20, 3))
Perceptron(random_state=0).fit(X, X[:, 0] > 0)
"""

IMPORTS = f"""
import warnings
warnings.simplefilter("ignore")
from time import process_time
from sklearn.datasets import load_digits, load_iris
import linsep
LEARNERS = [getattr(linsep, name) for name in {[entry.name for entry in LEARNERS.values()]}]
X, y = load_iris(return_X_y=True)
X /= 8
D, digits = load_digits(return_X_y=True)
begin = process_time()
"""
"""What is not counted of a first use in Python."""

FIRST_USES: dict[str, str | list[str]] = {
    "fit + predict, iris, three classes": "linsep.AveragedPerceptron().fit(X, y).predict(X)",
    "fit + predict, iris, two classes": "linsep.AveragedPerceptron().fit(X[:100], y[:100]).predict(X)",
    "fit + predict, digits, 5 epochs": "linsep.AveragedPerceptron(max_iter=5).fit(D, digits).predict(D)",
    "learn_one, predict_one, 100 rows": """
clf = linsep.AveragedPerceptron()
for x, label in zip(X[:100], y[:100]): clf.learn_one(x, label), clf.predict_one(x)
""",
    "every learner of the registry once on iris": """
for Learner in LEARNERS:
    n = 100 if Learner is linsep.LinearProgram else 150
    Learner().fit(X[:n], y[:n]).predict(X)
""",
    "linsep fit digits.csv": ["fit", "digits.csv", "--label", "digit", "-o", "a.linsep"],
    "linsep fit digits.svm": ["fit", "digits.svm", "-o", "b.linsep"],
    "linsep demo": ["demo", "--out", "demo"],
}
"""Python programs, and arguments of the command."""
EMPTY, SECOND, FULL = "empty cache", "second run", "full cache"


def process(module: str) -> None:
    """Run the program in a new Python."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM.format(module=module)], check=True)


def lines(repeats: int) -> Iterator[Line]:
    """Yield the row of this group."""
    result = race(lambda: process("linsep"), lambda: process("sklearn.linear_model"), repeats, perf_counter)
    yield Row(
        "a new process: import, tiny fit",
        "scikit-learn, the same",
        result.ours,
        result.peer,
        1 / 1.5,
        "warm cache",
    )


def prepare(folder: Path) -> None:
    """Write the files that the commands read: the demo's digits."""
    digits = next(data for data in data_sets(0, quick=True) if data.name == "digits")
    next_steps.prepare(digits, folder, drawn=False)
    dump_svmlight_file(digits.X, digits.y, str(folder / "digits.svm"))


def seconds(tree: Path, work: str | list[str], folder: Path, cache: Path, compiled: str) -> float:
    """Return the processor seconds of one first use in a new process."""
    env = os.environ | {"PYTHONPATH": f"{tree}/src", "NUMBA_CACHE_DIR": str(cache), "LINSEP_COMPILE": compiled}
    env |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    if isinstance(work, str):
        program = f"{IMPORTS}{work}\nprint(process_time() - begin)"
        output = subprocess.run([sys.executable, "-c", program], env=env, cwd=folder, check=True, capture_output=True)
        return float(output.stdout)
    subprocess.run([sys.executable, "-m", "linsep", *work], env=env, cwd=folder, check=True, capture_output=True)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime - begin.ru_utime + end.ru_stime - begin.ru_stime


def first_use(trees: list[Path], work: str | list[str], rounds: int, folder: Path) -> dict[str, list[float]]:
    """Return the best times of a first use by state of the cache, one for each tree."""
    best = {state: [inf] * len(trees) for state in (EMPTY, SECOND, FULL)}
    full = [Path(tempfile.mkdtemp(dir=folder)) for _ in trees]
    for tree, cache in zip(trees, full, strict=True):
        seconds(tree, work, folder, cache, "always")
    for _ in range(rounds):
        new = [Path(tempfile.mkdtemp(dir=folder)) for _ in trees]
        for state, caches in ((EMPTY, new), (SECOND, new), (FULL, full)):
            for k, (tree, cache) in enumerate(zip(trees, caches, strict=True)):
                best[state][k] = min(best[state][k], seconds(tree, work, folder, cache, "auto"))
    return best


def main(
    revisions: Annotated[list[str] | None, typer.Argument(help="Revisions, or folders of trees.")] = None,
    match: Annotated[list[str] | None, typer.Option(help="Run the works that have this in their name.")] = None,
    rounds: Annotated[int, typer.Option(help="Timed rounds of each work.")] = 3,
) -> None:
    """Print the processor seconds of first uses with this tree, and with others."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        trees = [ROOT, *(stack.enter_context(tree_of(revision)) for revision in revisions or [])]
        prepare(Path(name))
        print(f"{'processor seconds':44s}{'':12s}" + "".join(f"{tree.name[-12:]:>14s}" for tree in trees))
        for work, what in FIRST_USES.items():
            if not match or any(part in work for part in match):
                for state, times in first_use(trees, what, rounds, Path(name)).items():
                    print(f"{work:44s}{state:12s}" + "".join(f"{time:14.3f}" for time in times), flush=True)


if __name__ == "__main__":
    typer.run(main)
