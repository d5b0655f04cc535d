"""Compare the speed of this tree with another revision's: `python -m benchmarks.against REV --only epochs`.

One process for each side holds the data and waits for the name of a work. The two take turns, so that a noisy moment
hits both; the best time of each counts. Processes are replaced several times: where the system puts arrays and code
moves times by some per cent. Compiled code is used from the start (LINSEP_COMPILE=always) and read from the disk; the
first call of each work, which may compile, is not timed. The works are those of the groups of `scripts/bench`, our side
only. A ratio is the time of this tree by that of the other: below 1, this tree is faster.
"""

import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from math import inf
from pathlib import Path
from time import perf_counter, process_time
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks import data

ROOT = Path(__file__).resolve().parent.parent
Work = Callable[[], Any]


def epochs() -> Iterator[tuple[str, Work]]:
    """Yield one epoch over sparse rows."""
    import linsep

    X, y = data.sparse()
    for order in (False, True, "blocks"):
        yield (
            f"one epoch, shuffle={order}",
            partial(linsep.Perceptron(max_iter=1, shuffle=order, random_state=0).fit, X, y),
        )
    yield "one epoch, averaged", partial(linsep.AveragedPerceptron(max_iter=1, shuffle=False).fit, X, y)


def multiclass() -> Iterator[tuple[str, Work]]:
    """Yield some epochs over rows of many classes."""
    import linsep

    solver = {"solver": "sgd"} if "solver" in inspect.signature(linsep.LogisticRegression).parameters else {}
    for name, C, eta0, load in (("MNIST", 0.001, 0.01, data.mnist), ("20newsgroups", 0.1, 1.0, data.newsgroups)):
        try:
            split = load()
        except data.DataMissing:
            continue
        common: dict[str, Any] = {"max_iter": 2, "random_state": 0}
        for rule, clf in (
            ("averaged", linsep.AveragedPerceptron(**common)),
            ("PA-I", linsep.PassiveAggressive(C=C, variant="PA-I", **common)),
            ("logistic", linsep.LogisticRegression(eta0=eta0, **common, **solver)),
            ("averaged, n_jobs=2", linsep.AveragedPerceptron(**common, n_jobs=2)),
        ):
            yield f"{name}, {rule}", partial(clf.fit, split.X, split.y)
    X, y = data.hundred_classes()
    for n_jobs in (1, 2):
        clf = linsep.AveragedPerceptron(max_iter=2, random_state=0, n_jobs=n_jobs)
        yield f"100 classes, n_jobs={n_jobs}", partial(clf.fit, X, y)


def narrow() -> Iterator[tuple[str, Work]]:
    """Yield some epochs over dense narrow rows of many classes."""
    import linsep

    rng = np.random.default_rng(0)
    for n, d, classes in ((16_000, 16, 26), (6_000, 36, 6), (50_000, 9, 7), (6_000, 64, 10), (100_000, 54, 7)):
        X = rng.normal(size=(n, d))
        y = np.argmax(X @ rng.normal(size=(d, classes)) + 0.5 * rng.normal(size=(n, classes)), axis=1)
        for dtype in (np.float32, np.float64):
            clf = linsep.AveragedPerceptron(max_iter=5, random_state=0)
            yield f"{n:,} x {d}, {classes} classes, {np.dtype(dtype)}", partial(clf.fit, X.astype(dtype), y)


def links() -> Iterator[tuple[str, Work]]:
    """Yield an epoch of learners with other links."""
    import linsep

    X = data.sparse()[0][:40_000]
    score = X @ (np.random.default_rng(1).random(X.shape[1]) < 0.2).astype(np.float64)
    y = np.asarray(score > np.median(score), np.int32)
    for name in ("Winnow", "BalancedWinnow", "PNormPerceptron", "PassiveAggressive", "ROMMA", "Pegasos"):
        yield f"one epoch, {name}", partial(getattr(linsep, name)(max_iter=1, shuffle=False).fit, X, y)


def one_row() -> Iterator[tuple[str, Work]]:
    """Yield rows learned and predicted one by one."""
    from scipy.sparse import csr_array

    import linsep
    from benchmarks.one_row import as_dict, pair

    X, y = data.zipf(n=40_000, d=20_000, k=77, gap=0.01, noise=0.01)
    spans = [slice(X.indptr[i], X.indptr[i + 1]) for i in range(2_000)]
    pairs = [pair(X.indices[s], X.data[s]) for s in spans]
    dicts = [as_dict(X.indices[s], X.data[s]) for s in spans]
    labels = [bool(label > 0) for label in y[:2_000]]

    def binary(kind: Any = linsep.Perceptron) -> Any:
        return kind().partial_fit(csr_array((1, X.shape[1])), [False], classes=[False, True])

    def learn(make: Work, rows: Any) -> None:
        clf = make()
        for x, label in zip(rows, labels, strict=True):
            clf.learn_one(x, label)

    def predict(clf: Any, rows: Any) -> None:
        for x in rows:
            clf.predict_one(x)

    yield "learn_one, pairs", partial(learn, binary, pairs)
    yield "learn_one, dicts", partial(learn, binary, dicts)
    yield "learn_one, pairs, open labels", partial(learn, lambda: linsep.Perceptron().grow(X.shape[1]), pairs)
    for kind in (linsep.Perceptron, linsep.AveragedPerceptron, linsep.Winnow):
        clf = binary(kind)
        learn(lambda clf=clf: clf, pairs)
        yield f"predict_one, {kind.__name__}, pairs", partial(predict, clf, pairs)
        yield f"predict_one, {kind.__name__}, dicts", partial(predict, clf, dicts)


def votes() -> Iterator[tuple[str, Work]]:
    """Yield votes of many hypotheses, on many rows and on one, and kernel perceptrons."""
    import linsep

    rng = np.random.default_rng(0)
    tests = rng.integers(-128, 128, (3_000, 784)).astype(np.float64)
    for name, rows, n_epochs in (("distinct rows", 12_000, 1), ("rows mistaken often", 1_500, 8)):
        X, y = rng.integers(-128, 128, (rows, 784)).astype(np.float64), rng.choice([-1, 1], rows)
        clf = linsep.VotedPerceptron(shuffle=False, fit_intercept=False, log=True, max_iter=n_epochs).fit(X, y)
        yield f"vote, {name}", partial(clf.decision_function, tests)
        yield f"vote on one row, {name}", partial(lambda clf: [clf.predict_one(x) for x in tests[:50]], clf)
    X, y = rng.integers(0, 256, (4_000, 784)) / 256, rng.integers(0, 10, 4_000)
    clf = linsep.KernelPerceptron(kernel="poly", degree=2, gamma=1.0, coef0=1.0, max_iter=1, shuffle=False)
    yield "kernel epoch, 10 classes", partial(clf.fit, X, y)


def reading() -> Iterator[tuple[str, Work]]:
    """Yield reading each format of text, on one core."""
    rng, folder = np.random.default_rng(0), tempfile.TemporaryDirectory()
    labels = rng.integers(2, size=40_000)
    numbers = [[f"{x!r}" for x in row] for row in rng.normal(size=(len(labels), 20)).tolist()]
    columns = rng.integers(1, 2_000, (len(labels), 20)).cumsum(axis=1).tolist()
    words = [[f"w{min(k, 9_999)}" for k in row] for row in rng.zipf(1.3, (len(labels), 20)).tolist()]
    pairs = [[f"{j}:{x}" for j, x in zip(where, row, strict=True)] for where, row in zip(columns, numbers, strict=True)]
    header = ",".join(["label", *(f"c{k}" for k in range(20))])
    forms: dict[str, tuple[str, list[list[str]], str, dict[str, Any]]] = {
        "svmlight": ("rows.svm", pairs, "{} {}", {}),
        "VW, numbered": ("numbers.vw", pairs, "{} | {}", {}),
        "VW, words": ("words.vw", words, "{} | {}", {}),
        "text": ("rows.txt", words, "{}\t{}", {"format": "text"}),
        "CSV of numbers": ("numbers.csv", numbers, "{},{}", {"label": "label"}),
        "CSV of words": ("words.csv", words, "{},{}", {"label": "label"}),
    }
    for name, (file, cells, line, options) in forms.items():
        path, table = Path(folder.name) / file, file.endswith("csv")
        texts = ((",".join if table else " ".join)(row) for row in cells)
        rows = [line.format(y, text) for y, text in zip((2 * labels - 1).tolist(), texts, strict=True)]
        path.write_text("\n".join([header] * table + rows) + "\n")
        yield name, partial(_read, folder, path, options)


def _read(_: Any, path: Path, options: dict[str, Any]) -> Any:
    """Read a file in a temporary folder that is removed with the last of its works."""
    import linsep

    return linsep.read(path, n_jobs=1, **options)


GROUPS = {g.__name__: g for g in (epochs, multiclass, narrow, links, one_row, votes, reading)}


@cache
def works(group: str) -> dict[str, Work]:
    """Return the works of a group by name, their data made."""
    return dict(GROUPS[group]())


def serve() -> None:
    """Time the works whose names come in, until none comes."""
    print("ready", flush=True)
    for line in sys.stdin:
        group, _, name = line.rstrip("\n").partition("/")
        if not name:
            print("\t".join(works(group)), flush=True)
            continue
        timer = perf_counter if "n_jobs=2" in name else process_time
        begin = timer()
        works(group)[name]()
        print(timer() - begin, flush=True)


class Side:
    """A process that times works with one tree."""

    def __init__(self, tree: Path, folder: str) -> None:
        paths = os.pathsep.join([str(tree / "src"), str(ROOT)])
        env = os.environ | {"PYTHONPATH": paths, "LINSEP_COMPILE": "always", "NUMBA_CACHE_DIR": f"{folder}/cache"}
        env |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, "-m", "benchmarks.against", "--serve", "."]
        self.process = subprocess.Popen(command, env=env, stdin=-1, stdout=-1, text=True, cwd=tempfile.gettempdir())
        self.read()

    def read(self) -> str:
        """Return the next line that the process writes."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the process ended")
        return line.rstrip("\n")

    def ask(self, what: str) -> str:
        """Return the answer to one line."""
        assert self.process.stdin is not None
        print(what, file=self.process.stdin, flush=True)
        return self.read()

    def close(self) -> None:
        """End the process."""
        self.process.communicate("")


def compare(
    trees: list[Path], group: str, only: str, rounds: int, restarts: int, folder: str
) -> dict[str, list[float]]:
    """Return the best times of each work of a group, one for each tree."""
    best: dict[str, list[float]] = {}
    for _ in range(restarts):
        sides = [Side(tree, f"{folder}/{k}") for k, tree in enumerate(trees)]
        shared = set(sides[1].ask(group).split("\t"))
        for name in sides[0].ask(group).split("\t"):
            if name not in shared or only not in name:
                continue
            times = best.setdefault(name, [inf] * len(trees))
            for side in sides:
                side.ask(f"{group}/{name}")
            for _ in range(rounds):
                for k, side in enumerate(sides):
                    times[k] = min(times[k], float(side.ask(f"{group}/{name}")))
        for side in sides:
            side.close()
    return best


@contextmanager
def tree_of(revision: str) -> Iterator[Path]:
    """Check a revision out in a temporary folder; a folder that is a tree is taken as it is."""
    if (Path(revision) / "src").is_dir():
        yield Path(revision).resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / revision.replace("/", "-")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), revision], cwd=ROOT, check=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)


def main(
    revision: Annotated[str, typer.Argument(help="A revision, or the folder of a tree.")],
    only: Annotated[list[str] | None, typer.Option(help="A group to run; may be given more than once.")] = None,
    match: Annotated[str, typer.Option(help="Run the works that have this in their name.")] = "",
    rounds: Annotated[int, typer.Option(help="Timed rounds of each process.")] = 7,
    restarts: Annotated[int, typer.Option(help="Processes of each side, one after the other.")] = 3,
    folder: Annotated[str, typer.Option(help="Where to keep compiled code.")] = "",
    serving: Annotated[bool, typer.Option("--serve", hidden=True)] = False,
) -> None:
    """Print the time of each work with this tree, with another, and their ratio."""
    if serving:
        return serve()
    folder = folder or tempfile.mkdtemp(prefix="against-")
    with tree_of(revision) as tree:
        for group in only or list(GROUPS):
            for name, (ours, other) in compare([ROOT, tree], group, match, rounds, restarts, folder).items():
                print(
                    f"{group:11s}{name:45s}{1e3 * ours:10.2f} ms{1e3 * other:10.2f} ms{ours / other:8.3f}", flush=True
                )


if __name__ == "__main__":
    typer.run(main)
