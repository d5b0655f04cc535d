"""From files to rows: `read` and `stream` against the readers of others, and against themselves in binary form.

The svmlight file holds the 200,000 x 47,000 sparse rows of the other groups, values with all their digits, in a
temporary folder; both sides read it from the system's cache. Rows about reading hold only if both sides give the same
numbers. The loop branches on newline, colon and space and remembers where each began: what any parser must do at least,
on one core. The stream is walked in a process of its own, over the file and over six times that, 2 GB; its memory is
that of the whole process, which is shown beside that of a process that only imports. The second epoch is walked over
the binary form of the file, and over the text itself, learning included.
"""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numba import njit
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import HashingVectorizer

import linsep
from benchmarks import data
from benchmarks.data import Array
from benchmarks.timing import Line, Row, Skip, clock, race
from linsep.data.streaming import Stream

ALLOWED = 400e6
"""Bytes that a stream may take, whatever the size of its file."""
WALK = """
import sys
import linsep
model = linsep.Perceptron(log=False)
for path in sys.argv[1:]:
    for X, y in linsep.stream(path, n_features=47_000, zero_based=False):
        model.partial_fit(X, y, classes=[-1, 1])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@njit
def separators(text: Array) -> int:
    """Return something that depends on where every newline, colon and space is."""
    last = total = 0
    for k in range(text.shape[0]):
        byte = text[k]
        if byte == 10:
            total += k - last
            last = k
        elif byte == 58:
            total ^= k - last
            last = k
        elif byte == 32:
            total += 2 * (k - last)
            last = k
    return total


def write(path: Path) -> None:
    """Write the benchmarks' rows as svmlight text, indices from 1."""
    X, y = data.sparse()
    with path.open("w") as file:
        for i, label in enumerate(y.tolist()):
            span = slice(X.indptr[i], X.indptr[i + 1])
            pairs = zip(X.indices[span].tolist(), X.data[span].tolist(), strict=True)
            file.write(f"{label} " + " ".join([f"{j + 1}:{v!r}" for j, v in pairs]) + "\n")


def same(ours: Any, theirs: Any) -> bool:
    """Tell whether two readers gave the same rows and labels."""
    (X, y), (Z, labels) = ours, theirs
    parts = ((X.data, Z.data), (X.indices, Z.indices), (X.indptr, Z.indptr), (y, labels))
    return all(np.array_equal(a, b) for a, b in parts)


def peak(*paths: Path) -> float:
    """Return the most memory that a process needs to learn from streams of these files, one after the other."""
    done = subprocess.run([sys.executable, "-c", WALK, *map(str, paths)], capture_output=True, text=True, check=True)
    return 1024 * float(done.stdout)


def text(repeats: int) -> Iterator[Line]:
    """Yield the row of text to hashed rows: 20newsgroups, nine times over, both sides on the same documents."""
    try:
        documents = 9 * data.newsgroups_text()
    except data.DataMissing as missing:
        yield Skip("text to hashed CSR, both cores", str(missing))
        return
    size = sum(map(len, documents)) / 1e6
    seconds, theirs = clock(lambda: HashingVectorizer().transform(documents), perf_counter)
    hasher = linsep.TextHasher(n_jobs=-1)
    result = race(lambda: hasher.transform(documents), lambda: None, repeats, perf_counter)
    note = f"{size:.0f} MB; ours {size / result.ours:,.0f} MB/s, peer {size / seconds:.0f} MB/s"
    ours = result.our_result
    parts = ((ours.data, theirs.data), (ours.indices, theirs.indices), (ours.indptr, theirs.indptr))
    equal = all(np.array_equal(a, b) for a, b in parts)
    yield Row("text to hashed CSR, both cores", "HashingVectorizer", result.ours, seconds, 30.0, note, equal)


def lines(repeats: int) -> Iterator[Line]:
    """Yield the rows of this group."""
    yield from svmlight(repeats)
    yield from table(repeats)
    yield from text(repeats)


def svmlight(repeats: int) -> Iterator[Line]:
    """Yield the rows about svmlight text."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        write(path)
        size = path.stat().st_size / 1e6
        read = partial(load_svmlight_file, str(path), n_features=47_000, zero_based=False)
        seconds, theirs = clock(read, perf_counter)
        result = race(lambda: linsep.read(path), lambda: None, repeats, perf_counter)
        note = f"{size:.0f} MB; ours {size / result.ours:,.0f} MB/s, peer {size / seconds:.0f} MB/s"
        yield Row(
            "svmlight to CSR, both cores", "load_svmlight_file", result.ours, seconds, 50.0, note,
            same(result.our_result, theirs),
        )  # fmt: skip
        text = np.fromfile(path, np.uint8)
        alone = race(lambda: linsep.read(path, n_jobs=1), lambda: separators(text), repeats, perf_counter)
        note = f"ours {size / alone.ours:,.0f} MB/s, the loop {size / alone.peer:,.0f} MB/s"
        yield Row("svmlight to CSR, one core", "a loop over separators", alone.ours, alone.peer, 0.5, note)
        yield from epochs(path, repeats)
        large = Path(folder) / "large.svm"
        with large.open("wb") as file:
            for _ in range(6):
                file.write(text)
        once, many, idle = peak(path), peak(large), peak()
        note = f"{once / 1e6:.0f} MB for {size:.0f} MB of text, {many / 1e6:.0f} MB for {6 * size:,.0f} MB; "
        note += f"{idle / 1e6:.0f} MB idle"
        yield Row("stream + partial_fit, peak memory", "400 MB", many, ALLOWED, 1.0, note, many < 1.1 * once, unit="B")


def epochs(path: Path, repeats: int) -> Iterator[Line]:
    """Yield the rows of later epochs: the binary form, and the cache of a stream, beside the text."""
    linsep.convert(path, path.with_suffix(".npz"))
    how = {"n_features": 47_000, "zero_based": False}
    kept = linsep.stream(path, cache=path.parent / "cache", **how)
    walk(kept)
    for work, source in (("binary form", linsep.stream(path.with_suffix(".npz"))), ("cache of a stream", kept)):
        text = linsep.stream(path, cache=False, **how)
        result = race(partial(walk, source), partial(walk, text), repeats, perf_counter)
        yield Row(
            f"{work}, second epoch", "svmlight text", result.ours, result.peer, 10.0,
            "with Perceptron.partial_fit", result.our_result == result.peer_result,
        )  # fmt: skip


def walk(source: Stream) -> int:
    """Return the mistakes of a perceptron in one pass over a stream."""
    model = linsep.Perceptron(log=False)
    for X, y in source:
        model.partial_fit(X, y, classes=[-1, 1])
    return int(model.mistakes_)


def table(repeats: int) -> Iterator[Line]:
    """Yield the row of a table of 50 columns of numbers."""
    work = "CSV of 50 numeric columns to X, y"
    try:
        import pandas as pd
    except ImportError:
        yield Skip(work, "pandas is not installed")
        return
    rng = np.random.default_rng(0)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        pd.DataFrame(rng.normal(size=(220_000, 50))).assign(label=rng.integers(2, size=220_000)).to_csv(
            path, index=False
        )
        size = path.stat().st_size / 1e6

        def theirs() -> tuple[Array, Array]:
            frame = pd.read_csv(path)
            return frame.drop(columns="label").to_numpy(), frame["label"].to_numpy()

        result = race(lambda: tuple(linsep.read(path)), theirs, repeats, perf_counter)
        equal = all(
            np.allclose(ours, peer, rtol=1e-15)
            for ours, peer in zip(result.our_result, result.peer_result, strict=True)
        )
        note = f"{size:.0f} MB; ours {size / result.ours:,.0f} MB/s, peer {size / result.peer:,.0f} MB/s"
        yield Row(work, "pandas.read_csv + to_numpy", result.ours, result.peer, 1.0, note, equal)
