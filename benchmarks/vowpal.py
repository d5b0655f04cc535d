"""From Vowpal Wabbit text to a model: `read`, hashed to 2¹⁸ columns, and one pass, against Vowpal Wabbit.

The file has 300,000 rows: 20,000 by Zipf's law over 47,000 names in one namespace, written fifteen times over, values
of six digits. Both sides read it from the system's cache, hash names to the same columns, and go over the rows once in
order. Vowpal Wabbit learns as it does by default, by adaptive gradient steps for the squared loss, and reads in a
thread of its own. Ours, which parses on both cores, is logistic regression: it takes a step at every row too, not only
at mistakes, though a plain and so a cheaper one. Hardly a tenth of our time is learning: the race is one of reading.

The row holds only if both sides saw as many examples as were written.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import linsep
from benchmarks import data
from benchmarks.timing import Line, Row, Skip, race

ROWS, TIMES = 20_000, 15
WORK = "VW text to hashed CSR, one pass, both cores"


def spelled(feature: int) -> str:
    """Return a name of letters, short for the frequent features: a, b, ..., z, aa, ab, ..."""
    letters = ""
    feature += 1
    while feature:
        feature, letter = divmod(feature - 1, 26)
        letters = chr(ord("a") + letter) + letters
    return letters


def write(path: Path) -> None:
    """Write the rows."""
    X, y = data.zipf(n=ROWS)
    names = [spelled(feature) for feature in range(X.shape[1])]
    entries = [f" {names[j]}:{v:.6g}" for j, v in zip(X.indices.tolist(), X.data.tolist(), strict=True)]
    ends = X.indptr.tolist()
    rows = [f"{label} |w{''.join(entries[ends[i] : ends[i + 1]])}\n" for i, label in enumerate(y.tolist())]
    text = "".join(rows).encode()
    with path.open("wb") as file:
        for _ in range(TIMES):
            file.write(text)


def ours(path: Path) -> int:
    """Learn from a file, and return the number of its rows."""
    X, y = linsep.read(path, format="vw")
    linsep.LogisticRegression(solver="sgd", max_iter=1, shuffle=False).fit(X, y)
    return len(y)


def theirs(path: Path) -> int:
    """Let Vowpal Wabbit do so."""
    from vowpalwabbit import Workspace

    workspace = Workspace(f"--data {path} -b 18 --quiet --no_stdin")
    seen = round(workspace.get_weighted_examples())
    workspace.finish()
    return seen


def lines(repeats: int) -> Iterator[Line]:
    """Yield the row of this group."""
    if find_spec("vowpalwabbit") is None:
        yield Skip(WORK, "vowpalwabbit is not installed")
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.vw"
        write(path)
        size = path.stat().st_size / 1e6
        result = race(lambda: ours(path), lambda: theirs(path), repeats, perf_counter)
    note = f"{size:.0f} MB; ours {size / result.ours:,.0f} MB/s, peer {size / result.peer:.0f} MB/s"
    same = result.our_result == result.peer_result == ROWS * TIMES
    yield Row(WORK, "Vowpal Wabbit, one pass", result.ours, result.peer, 2.0, note, same)
