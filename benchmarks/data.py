"""The benchmarks' data: a generated sparse set for everyone, real ones where LINSEP_DATA is set."""

import gzip
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfTransformer

Array = NDArray[Any]


class DataMissing(Exception):
    """A real data set is not on this machine."""


class Split(NamedTuple):
    """A data set cut into a part to learn from and a part to be judged by."""

    X: Any
    y: Array
    X_test: Any
    y_test: Array


def _draw_features(rng: np.random.Generator, rarity: Array, shape: tuple[int, int]) -> Array:
    """Draw features by inverting the distribution function, each row in ascending order."""
    drawn = np.searchsorted(np.cumsum(rarity), rng.random(shape[0] * shape[1]))
    features = np.minimum(drawn, len(rarity) - 1).astype(np.int32).reshape(shape)
    features.sort(axis=1)
    return features


def _unit_rows(features: Array, values: Array, width: int) -> sp.csr_matrix:
    """Drop repeated features of a row, keeping the first, and divide each row by its norm."""
    first = np.concatenate([np.ones((len(features), 1), bool), np.diff(features, axis=1) > 0], axis=1)
    lengths = first.sum(axis=1)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    X = sp.csr_matrix((values[first], features[first], indptr), shape=(len(features), width))
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(norms, lengths).astype(np.float32)
    return X


def zipf(
    n: int = 200_000, d: int = 47_000, k: int = 75, seed: int = 0, noise: float = 0.02, gap: float = 0.0
) -> tuple[sp.csr_matrix, Array]:
    """Return n unit rows (float32) of up to k features drawn by Zipf's law, and their labels ±1.

    Values resemble tf-idf. The labels are those of a random sparse target with a bias that halves the rows,
    a share `noise` of them flipped. Rows nearer than `gap` to the boundary are left out: with gap > 0 and
    noise = 0 the data are separable.
    """
    rng = np.random.default_rng(seed)
    rarity = 1 / np.arange(1, d + 1) ** 0.9
    rarity /= rarity.sum()
    features = _draw_features(rng, rarity, (n, k))
    counts = rng.integers(1, 5, size=(n, k))
    values = (np.log1p(counts) * np.log(1 / rarity)[features]).astype(np.float32)
    X = _unit_rows(features, values, d)
    target = rng.normal(size=d) * (rng.random(d) < 0.2)
    score = X @ (target / np.linalg.norm(target))
    score -= np.median(score)
    flipped = rng.random(n) < noise
    y = np.where((score > 0) != flipped, 1, -1)
    kept = np.abs(score) >= gap
    return X[kept], y[kept]


@cache
def sparse() -> tuple[sp.csr_matrix, Array]:
    """Return the set that most rows of the table are measured on, 200,000 x 47,000, made once a run."""
    return zipf()


@cache
def hundred_classes() -> tuple[sp.csr_matrix, Array]:
    """Return 20,000 x 20,000 sparse rows of 100 classes, each with a random target of its own."""
    X, _ = zipf(n=20_000, d=20_000)
    rng = np.random.default_rng(1)
    return X, np.argmax(X @ rng.normal(size=(20_000, 100)), axis=1)


def _folder(name: str, file: str = "train.npz") -> Path:
    root = os.environ.get("LINSEP_DATA")
    if not root:
        raise DataMissing(f"set LINSEP_DATA to the folder that holds {name}")
    if not (Path(root) / name / file).is_file():
        raise DataMissing(f"LINSEP_DATA is set, but has no {name}/{file}")
    return Path(root) / name


@cache
def mnist() -> Split:
    """Return MNIST as dense float32 rows with pixels from 0 to 1."""
    parts: list[Any] = []
    for part in ("train", "test"):
        with np.load(_folder("mnist") / f"{part}.npz") as file:
            parts += [file["X"].astype(np.float32) / np.float32(255), file["y"].astype(np.int64)]
    return Split(*parts)


@cache
def newsgroups() -> Split:
    """Return 20newsgroups as float32 tf-idf rows of unit norm, weighted by the training part."""
    parts: list[Any] = []
    tfidf = TfidfTransformer()
    for part, weigh in (("train", tfidf.fit_transform), ("test", tfidf.transform)):
        path = _folder("20newsgroups_bow") / f"{part}.npz"
        with np.load(path) as file:
            y = file["y"].astype(np.int64)
        parts += [sp.csr_matrix(weigh(sp.load_npz(path).astype(np.float32))), y]
    return Split(*parts)


@cache
def newsgroup_counts() -> tuple[sp.csr_matrix, Array]:
    """Return the training part of 20newsgroups as counts of words, as they are stored."""
    path = _folder("20newsgroups_bow") / "train.npz"
    with np.load(path) as file:
        return sp.csr_matrix(sp.load_npz(path)), file["y"].astype(np.int64)


@cache
def newsgroups_counted() -> Split:
    """Return 20newsgroups as float32 counts of words, neither weighted nor scaled."""
    parts: list[Any] = []
    for part in ("train", "test"):
        path = _folder("20newsgroups_bow") / f"{part}.npz"
        with np.load(path) as file:
            y = file["y"].astype(np.int64)
        parts += [sp.csr_matrix(sp.load_npz(path).astype(np.float32)), y]
    return Split(*parts)


@cache
def covtype(seed: int = 0) -> Split:
    """Return forest cover types as dense float32 rows, each column divided by its largest |value|.

    A fifth of the rows, drawn by the seed, is there to be judged by.
    """
    with np.load(_folder("covtype", "all.npz") / "all.npz") as file:
        X, y = file["X"].astype(np.float32), file["y"].astype(np.int64)
    X /= np.maximum(np.abs(X).max(axis=0), 1)
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = np.split(order, [len(y) // 5])
    return Split(X[train], y[train], X[test], y[test])


@cache
def two_classes(name: str) -> tuple[sp.csr_matrix, Array]:
    """Return the training part of a sparse set of two classes."""
    path = _folder(name) / "train.npz"
    with np.load(path) as file:
        return sp.csr_matrix(sp.load_npz(path).astype(np.float64)), file["y"].astype(np.int64)


@cache
def newsgroups_text() -> list[str]:
    """Return the training documents of 20newsgroups, each a line `label<TAB>text` of its file."""
    name = "train.txt.gz"
    with gzip.open(_folder("20newsgroups", name) / name, "rt", encoding="utf-8", newline="\n") as file:
        return [line.partition("\t")[2] for line in file]


@cache
def a9a() -> Split:
    """Return the census data as sparse rows of zeros and ones."""
    parts: list[Any] = []
    for part in ("train", "test"):
        path = _folder("a9a") / f"{part}.npz"
        with np.load(path) as file:
            y = file["y"].astype(np.int64)
        parts += [sp.csr_matrix(sp.load_npz(path).astype(np.float32)), y]
    return Split(*parts)


REAL: dict[str, Callable[[], Split]] = {"MNIST": mnist, "20newsgroups": newsgroups}
"""The real sets by name."""
