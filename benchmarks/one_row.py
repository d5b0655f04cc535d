"""One example at a time: `learn_one` on 5,000 rows of 68 features on average, about 30 % of them mistakes.

Both sides walk the same rows in the same order from a new model, with an intercept. As in a stream, rows are made
shortly before they are learned, a hundred at a time, so that both sides find them in the cache; only learning is timed.
The peer is river's Perceptron, which knows two labels, fed the dicts it is made for. Ours is told of the two labels at
the start and fed (indices, values), or dicts like the peer's; in the last row it is told nothing, and keeps a machine
for each label and one more for those that may still arrive.
"""

from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

from scipy.sparse import csr_array

import linsep
from benchmarks import data
from benchmarks.data import Array
from benchmarks.timing import Line, Row, Skip

ROWS = 5_000
AT_ONCE = 100
ROUNDS = 2
"""Walks for each repeat asked for: they are short, and noise hurts them."""
Form = Callable[[Array, Array], Any]


def pair(indices: Array, values: Array) -> Any:
    """Return a row as linsep likes it best."""
    return indices.copy(), values.copy()


def as_dict(indices: Array, values: Array) -> Any:
    """Return a row as river likes it best."""
    return dict(zip(indices.tolist(), values.tolist(), strict=True))


def walk(model: Any, X: Any, labels: list[bool], form: Form) -> tuple[float, Any]:
    """Let the model learn every row in turn; return the seconds that took, and the model."""
    seconds, learn = 0.0, model.learn_one
    for start in range(0, ROWS, AT_ONCE):
        spans = [slice(X.indptr[i], X.indptr[i + 1]) for i in range(start, start + AT_ONCE)]
        rows = [(form(X.indices[span], X.data[span]), labels[start + k]) for k, span in enumerate(spans)]
        begin = process_time()
        for x, label in rows:
            learn(x, label)
        seconds += process_time() - begin
    return seconds, model


def lines(repeats: int) -> Iterator[Line]:
    """Yield the rows of this group."""
    try:
        from river.linear_model import Perceptron as PeerPerceptron
    except ImportError:
        yield Skip("learn_one", "river is not installed: pip install river")
        return
    X, y = data.zipf(n=40_000, d=20_000, k=77, gap=0.01, noise=0.01)
    labels = [bool(label > 0) for label in y[:ROWS]]
    nothing = csr_array((1, X.shape[1]))

    def binary() -> Any:
        return linsep.Perceptron().partial_fit(nothing, [False], classes=[False, True])

    def open_ended() -> Any:
        return linsep.Perceptron().grow(X.shape[1])

    for name, make, form, goal in (
        ("(indices, values)", binary, pair, 10.0),
        ("dict", binary, as_dict, 3.0),
        ("(indices, values), labels may arrive", open_ended, pair, 10.0),
    ):
        ours, peers = [], []
        for _ in range(ROUNDS * repeats + 1):
            seconds, model = walk(make(), X, labels, form)
            ours.append(seconds)
            peers.append(walk(PeerPerceptron(), X, labels, as_dict)[0])
        share = 100 * int(model.mistakes_) / ROWS
        yield Row(
            f"learn_one, {name}",
            "river Perceptron, dict",
            min(ours) / ROWS,
            min(peers) / ROWS,
            goal,
            note=f"{share:.0f} % mistakes; time a row",
        )
