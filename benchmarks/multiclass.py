"""Ten epochs, one class against the rest: MNIST (dense, 10 classes), 20newsgroups (tf-idf, 20 classes).

Each row times `fit` on both sides: the same float32 arrays, ten epochs in an order shuffled anew each time,
an intercept, no penalty, constant rates, one thread. The peer is scikit-learn's SGDClassifier with the same
loss: "perceptron" with average=True and eta0=1; "hinge" with learning_rate="pa1", where eta0 is C;
"log_loss" with the same eta0 as ours. C and eta0 are values at which the peer's test error is near its
best. Notes show the test errors, ours first; the averaged rows hold only if ours is at most 0.3 points
above the peer's.

Rows named n_jobs=2 time our own `fit` against itself with n_jobs=1, by the clock on the wall, and hold only if
all weights and counts agree to the bit. Threads share the classes; reading a row is work that each of them does.
"""

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import SGDClassifier

import linsep
from benchmarks import data
from benchmarks.data import DataMissing, Split
from benchmarks.timing import Line, Row, Skip, race

EPOCHS = 10


class Case(NamedTuple):
    """A rule on a data set: both learners, the goal, and by how many points our error may be higher."""

    rule: str
    ours: Callable[[], Any]
    peer: Callable[[], Any]
    goal: float
    points: float | None = None


def sgd(loss: str, rate: str, eta0: float, average: bool = False) -> SGDClassifier:
    """Return the peer without a penalty and for all epochs."""
    return SGDClassifier(
        loss=loss, penalty=None, learning_rate=rate, eta0=eta0, average=average,
        max_iter=EPOCHS, tol=None, shuffle=True, random_state=0,
    )  # fmt: skip


def cases(goal: float, C: float, eta0: float) -> list[Case]:
    """Return the three rules, with the goal of the averaged one."""
    common: dict[str, Any] = {"max_iter": EPOCHS, "random_state": 0}
    return [
        Case(
            "averaged",
            lambda: linsep.AveragedPerceptron(**common),
            lambda: sgd("perceptron", "constant", 1.0, average=True),
            goal,
            points=0.3,
        ),
        Case(
            f"PA-I, C={C:g}",
            lambda: linsep.PassiveAggressive(C=C, variant="PA-I", **common),
            lambda: sgd("hinge", "pa1", C),
            4.0,
        ),
        Case(
            f"logistic, eta0={eta0:g}",
            lambda: linsep.LogisticRegression(solver="sgd", eta0=eta0, **common),
            lambda: sgd("log_loss", "constant", eta0),
            4.0,
        ),
    ]


CASES = {
    "MNIST": cases(goal=10.0, C=0.001, eta0=0.01),
    "20newsgroups": cases(goal=4.5, C=0.1, eta0=1.0),
}


def error(model: Any, split: Split) -> float:
    """Return the test error in per cent."""
    return 100.0 * (1.0 - float(model.score(split.X_test, split.y_test)))


def one_case(name: str, split: Split, case: Case, repeats: int) -> Row:
    """Time one rule on one set against scikit-learn."""
    result = race(lambda: case.ours().fit(split.X, split.y), lambda: case.peer().fit(split.X, split.y), repeats)
    ours, peer = error(result.our_result, split), error(result.peer_result, split)
    return Row(
        f"{name}, {case.rule}, {EPOCHS} epochs",
        "SGDClassifier",
        result.ours,
        result.peer,
        case.goal,
        note=f"test error {ours:.2f} %, peer {peer:.2f} %",
        holds=case.points is None or ours <= peer + case.points,
    )


def same_bits(a: Any, b: Any) -> bool:
    """Tell whether two models of one run agree in every weight and count."""
    names = ("coef_", "intercept_", "mistakes_", "updates_", "n_iter_")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


def two_threads(name: str, X: Any, y: data.Array, repeats: int) -> Row:
    """Time two threads against one."""

    def fit(n_jobs: int) -> Any:
        return linsep.AveragedPerceptron(max_iter=EPOCHS, random_state=0, n_jobs=n_jobs).fit(X, y)

    result = race(lambda: fit(2), lambda: fit(1), repeats, perf_counter)
    same = same_bits(result.our_result, result.peer_result)
    note = "identical to the bit" if same else "DIFFERENT BITS"
    return Row(f"{name}, averaged, n_jobs=2", "n_jobs=1", result.ours, result.peer, 1.4, note, same)


def lines(repeats: int) -> Iterator[Line]:
    """Yield the rows of this group."""
    for name, load in data.REAL.items():
        try:
            split = load()
        except DataMissing as missing:
            yield Skip(f"{name}, averaged, PA-I, logistic, n_jobs", str(missing))
            continue
        for case in CASES[name]:
            yield one_case(name, split, case, repeats)
        yield two_threads(name, split.X, split.y, repeats)
    yield two_threads("100 classes, sparse", *data.hundred_classes(), repeats)
