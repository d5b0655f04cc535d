"""Solvers that see all rows at once, against LIBLINEAR and scikit-learn, to the same objective.

Soft margin: ours stops at a relative duality gap of 1e-3. LIBLINEAR (through scikit-learn's LinearSVC) prints the dual
objective that it reached, and is given the largest of its tolerances, in steps of sqrt 2, at which it reaches ours.
Logistic regression: the intercept is free and the prior is 1/C on both sides. The peer is that solver of scikit-learn
which is the fastest to reach, at its default tolerance, an objective within 1e-4 of the best of them; ours holds only
if its own objective is no higher than the peer's, for which its `tol` is set. Naive Bayes: `fit` of the counts as they
are stored. Hard margin: a row holds only if the bracket is closed to 1e-3, and to 1e-7 if that is asked for, with a
margin that a second solver (a support vector machine with C = 1e10) finds too, to 1e-6. Memory: what `fit` takes beyond
the data, against 128 bytes for each row and each feature.
"""

import ctypes
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from sklearn import linear_model
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import SVC, LinearSVC

import linsep
from benchmarks import data
from benchmarks.data import Array, DataMissing
from benchmarks.memory import bytes_of, peak_of_fit
from benchmarks.timing import Line, Row, Skip, clock, in_child, race

LOSSES = {"squared_hinge": ("L2", "-s 1"), "hinge": ("L1", "-s 3")}
TOLERANCES = 2.0 ** np.arange(1, -12, -0.5)
SOLVERS = ("lbfgs", "newton-cg", "sag")
"""Those of the peer that leave the intercept free and take sparse rows; of more than two classes, the first two."""
A_ROW = 128
"""Bytes that a row or a feature may take."""


def printed_objective(work: Callable[[], Any]) -> float:
    """Return the dual objective that LIBLINEAR writes to the standard output of the process."""
    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        before = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            work()
            ctypes.CDLL(None).fflush(None)
        finally:
            os.dup2(before, 1)
            os.close(before)
        file.seek(0)
        found = re.search(r"Objective value = (\S+)", file.read().decode())
    assert found is not None
    return -float(found[1])


def svc(loss: str, tol: float, verbose: int = 0) -> LinearSVC:
    """Return LIBLINEAR without a bias."""
    return LinearSVC(dual=True, loss=loss, C=1.0, fit_intercept=False, tol=tol, random_state=0, verbose=verbose)


def soft_margins(repeats: int) -> Iterator[Line]:
    """Yield the rows of the soft margin."""
    X, y = data.sparse()
    X64 = X.astype(np.float64)  # LIBLINEAR takes no other, and would convert it each time
    for loss, (name, option) in LOSSES.items():
        ours = linsep.MaxMargin(C=1.0, loss=loss, fit_intercept=False, random_state=0)
        ours.fit(X, y)
        norm = float(np.linalg.norm(ours.coef_))
        squares = np.square(ours.dual_).sum() / 4 if loss == "squared_hinge" else 0.0
        reached = float(ours.dual_.sum()) - norm**2 / 2 - squares
        for tol in TOLERANCES:
            theirs = printed_objective(partial(svc(loss, tol, verbose=1).fit, X64, y))
            if theirs >= reached:
                break
        result = race(partial(ours.fit, X, y), partial(svc(loss, tol).fit, X64, y), repeats)
        note = f"gap {ours.gap_:.1e}; dual objective {reached:,.1f} and {theirs:,.1f}"
        work = f"soft margin, {name} hinge, gap 1e-3"
        yield Row(work, f"LIBLINEAR {option}", result.ours, result.peer, 1.5, note, ours.gap_ <= 1e-3)


def loss_of(model: Any, X: Any, y: Array, C: float) -> float:
    """Return the sum of the losses and the penalty of fitted weights; the intercept is free."""
    parts = getattr(model, "estimators_", [model])
    total = 0.0
    for k, part in enumerate(parts):
        coef, bias = np.asarray(part.coef_, np.float64), np.asarray(part.intercept_, np.float64)
        scores = np.asarray(X @ coef.T) + bias
        total += float(np.square(coef).sum()) / (2 * C)
        if len(coef) == 1:
            signs = np.where(y == (k if len(parts) > 1 else y.max()), 1.0, -1.0)
            total += float(np.logaddexp(0.0, -signs * scores[:, 0]).sum())
        else:
            high = scores.max(axis=1)
            total += float((np.log(np.exp(scores - high[:, None]).sum(axis=1)) + high).sum())
            total -= float(scores[np.arange(len(y)), y].sum())
    return total


def logistic_rows(
    work: str, X: Any, y: Array, multi_class: str, tol: float, repeats: int, C: float = 1.0
) -> Iterator[Line]:
    """Yield a row of logistic regression against the best solver of the peer."""
    few = len(np.unique(y)) == 2

    def peer(solver: str) -> Any:
        model = linear_model.LogisticRegression(C=C, solver=solver, max_iter=1000)
        return model if few or multi_class == "multinomial" else OneVsRestClassifier(model)

    found = {}
    for solver in SOLVERS if few else SOLVERS[:2]:
        seconds, model = clock(partial(peer(solver).fit, X, y), process_time)
        found[solver] = seconds, loss_of(model, X, y, C)
    least = min(value for _, value in found.values())
    best = min((seconds, solver) for solver, (seconds, value) in found.items() if value <= least * (1 + 1e-4))[1]
    ours = linsep.LogisticRegression(
        solver="newton", prior_variance=C, penalize_intercept=False, multi_class=multi_class, tol=tol, random_state=0
    )
    result = race(partial(ours.fit, X, y), lambda: peer(best).fit(X, y), repeats)
    values = loss_of(as_parts(ours, multi_class), X, y, C), loss_of(result.peer_result, X, y, C)
    note = f"objective {values[0]:,.3f} and {values[1]:,.3f}; certified gap {np.max(ours.optimality_):.2g}"
    holds = values[0] <= values[1] * (1 + 1e-9)
    yield Row(work, f"scikit-learn {best}", result.ours, result.peer, 2.0, note, holds)


def counted() -> Iterator[tuple[str, Any, Array]]:
    """Yield rows of counts, some of which are hundreds of times as long as others, with two labels."""
    rng = np.random.default_rng(0)
    X = data.zipf(n=8_000, d=20_000, k=77, gap=0.0, noise=0.0)[0].astype(np.float64)
    lengths = np.where(rng.random(8_000) < 0.02, 2_000.0, 10.0)
    X.data = np.ceil(X.data * np.repeat(lengths, np.diff(X.indptr)))
    y = (X @ rng.normal(size=20_000) + 30 * rng.normal(size=8_000) > 0).astype(np.int64)
    yield "logistic, generated counts, 8,000 x 20,000", X, y
    X, y = data.newsgroup_counts()
    yield "logistic, counts of 20newsgroups, ten groups against ten", X.astype(np.float64), (y < 10).astype(np.int64)


def as_parts(model: Any, multi_class: str) -> Any:
    """Return one-vs-rest weights as the peer has them: a model for each class."""
    if multi_class == "multinomial" or len(model.coef_) == 1:
        return model

    class Part:
        def __init__(self, k: int) -> None:
            self.coef_, self.intercept_ = model.coef_[k : k + 1], model.intercept_[k : k + 1]

    class Whole:
        estimators_ = tuple(map(Part, range(len(model.coef_))))

    return Whole


def naive_bayes(repeats: int) -> Iterator[Line]:
    """Yield the row of naive Bayes."""
    X, y = data.newsgroup_counts()
    ours, peer = linsep.NaiveBayes(), MultinomialNB()
    result = race(partial(ours.fit, X, y), partial(peer.fit, X, y), repeats)
    off = float(np.abs(ours.coef_ - peer.feature_log_prob_).max())
    note = f"weights differ by {off:.0e} at most; {X.dtype} counts"
    yield Row("naive Bayes, 20newsgroups", "MultinomialNB", result.ours, result.peer, 2.0, note, off < 1e-9)


def hard_margins(repeats: int) -> Iterator[Line]:
    """Yield the rows of the hard margin; the goal is that it is right."""
    for name in ("agaricus", "rcv1_small_vw"):
        X, y = data.two_classes(name)
        ours = linsep.MaxMargin(C=None, penalize_intercept=False, random_state=0)
        peer = SVC(kernel="linear", C=1e10, tol=1e-9)
        result = race(partial(ours.fit, X, y), partial(peer.fit, X, y), repeats)
        exact = linsep.MaxMargin(C=None, penalize_intercept=False, tol=1e-7, random_state=0).fit(X, y)
        margin = 1 / float(np.sqrt((peer.coef_.multiply(peer.coef_)).sum()))
        off = abs(exact.margin_ / margin - 1)
        note = f"margin {exact.margin_:.9g}, off by {off:.0e}; gaps {ours.gap_:.0e} and {exact.gap_:.0e}"
        holds = off < 1e-6 and ours.gap_ <= 1e-3 and exact.gap_ <= 1e-7
        yield Row(f"hard margin, {name}, gap 1e-3", "SVC, C=1e10", result.ours, result.peer, 0.0, note, holds)


SOLVED: dict[str, Callable[[], Any]] = {
    "soft margin": lambda: linsep.MaxMargin(random_state=0),
    "logistic, Newton": lambda: linsep.LogisticRegression(solver="newton", prior_variance=1.0),
    "naive Bayes": linsep.NaiveBayes,
}


def memory() -> Iterator[Line]:
    """Yield the rows of memory, each measured in a process of its own."""
    for name in SOLVED:
        sizes = in_child("benchmarks.batch", name)
        note = f"data {sizes['data'] / 1e6:.0f} MB"
        against = f"{A_ROW} bytes a row and feature"
        yield Row(f"peak memory: {name}", against, sizes["peak"], sizes["allowed"], 1.0, note, unit="B")


def measure(name: str) -> dict[str, int]:
    """Return what a fit takes beyond the data, and what it may."""
    X, y = data.sparse()
    SOLVED[name]().fit(X[:20_000], y[:20_000])  # fewer would be converted to other types, and other code be loaded
    peak = peak_of_fit(SOLVED[name](), X, y)
    return {"peak": peak, "allowed": A_ROW * sum(X.shape), "data": bytes_of(X.data, X.indices, X.indptr)}


def lines(repeats: int) -> Iterator[Line]:
    """Yield the rows of this group."""
    few = min(repeats, 3)
    yield from soft_margins(few)
    X, y = data.sparse()
    yield from logistic_rows("logistic, 200,000 sparse rows", X, np.where(y > 0, 1, 0), "ovr", 1e-6, few)
    for multi_class in ("multinomial", "ovr"):
        work = f"logistic, 20newsgroups, {multi_class}"
        try:
            X, y, _, _ = data.newsgroups()
        except DataMissing as missing:
            yield Skip(work, str(missing))
            continue
        yield from logistic_rows(work, X, y, multi_class, 1e-5, few)
    try:
        for work, X, y in counted():
            yield from logistic_rows(work, X, y, "ovr", 1e-6, few)
    except DataMissing as missing:
        yield Skip("logistic, counts of 20newsgroups", str(missing))
    for part in (naive_bayes, hard_margins):
        try:
            yield from part(repeats)
        except DataMissing as missing:
            yield Skip(part.__name__.replace("_", " "), str(missing))
    yield from memory()


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
