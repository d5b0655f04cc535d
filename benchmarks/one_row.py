"""One example at a time: `learn_one` on 5,000 rows of 68 features on average, about 30 % of them mistakes.

Both sides walk the same rows in the same order from a new model, with an intercept; building the arguments
is not timed. The peer is river's Perceptron, fed the dicts it is made for. Ours is fed (indices, values) in
one row of the table and those same dicts in the other.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import linsep
from benchmarks import data
from benchmarks.timing import Line, Row, Skip, race

ROWS = 5_000
Example = tuple[Any, Any]


def examples() -> tuple[int, list[Example], list[Example]]:
    """Return the number of features, and the rows as (indices, values) and as dicts, each with its label."""
    X, y = data.zipf(n=40_000, d=20_000, k=77, gap=0.01, noise=0.01)
    pairs: list[Example] = []
    dicts: list[Example] = []
    for i in range(ROWS):
        span = slice(X.indptr[i], X.indptr[i + 1])
        label = bool(y[i] > 0)
        pairs.append(((X.indices[span], X.data[span]), label))
        dicts.append((dict(zip(X.indices[span].tolist(), X.data[span].tolist(), strict=True)), label))
    return X.shape[1], pairs, dicts


def walk(make: Callable[[], Any], rows: list[Example]) -> Any:
    """Make a model and let it learn every row in turn."""
    model = make()
    learn = model.learn_one
    for x, label in rows:
        learn(x, label)
    return model


def lines(repeats: int) -> Iterator[Line]:
    """Yield the rows of this group."""
    try:
        from river.linear_model import Perceptron as PeerPerceptron
    except ImportError:
        yield Skip("learn_one", "river is not installed: pip install river")
        return
    features, pairs, dicts = examples()
    for form, rows, goal in (("(indices, values)", pairs, 10.0), ("dict", dicts, 3.0)):
        result = race(
            partial(walk, lambda: linsep.Perceptron().grow(features), rows),
            partial(walk, PeerPerceptron, dicts),
            repeats,
        )
        share = 100 * int(result.our_result.mistakes_) / ROWS
        yield Row(
            f"learn_one, {form}",
            "river Perceptron, dict",
            result.ours / ROWS,
            result.peer / ROWS,
            goal,
            note=f"{share:.0f} % mistakes; time a row",
        )
