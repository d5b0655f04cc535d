"""The demo's data: three sets that come with scikit-learn, and generated text."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.model_selection import train_test_split

from linsep.core.examples import Array


class DataSet(NamedTuple):
    """A data set cut in two, one part to learn from and one to be judged by."""

    name: str
    X: Any
    y: Array
    X_test: Any
    y_test: Array
    largest: float
    epochs: int

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(np.unique(self.y))


def data_sets(seed: int, quick: bool) -> Iterator[DataSet]:
    """Make the sets one after the other, float64 all of them, so that they share compiled passes."""
    epochs = 10 if quick else 100
    bundled: dict[str, tuple[Callable[..., Any], int]] = {
        "iris": (load_iris, epochs),
        "breast cancer": (load_breast_cancer, epochs),
        "digits": (load_digits, 2 if quick else 20),
    }
    for name, (load, most) in bundled.items():
        yield prepared(name, *load(return_X_y=True), seed, most)
    size = (2_000, 1_000) if quick else (20_000, 10_000)
    yield prepared("generated text", *text(*size, seed), seed, 2 if quick else 10)


def prepared(name: str, X: Any, y: Array, seed: int, epochs: int) -> DataSet:
    """Divide all of X by its largest entry and set a quarter of the rows aside."""
    largest = float(abs(X).max())
    X, X_test, y, y_test = train_test_split(X / largest, y, test_size=0.25, random_state=seed, stratify=y)
    return DataSet(name, X, y, X_test, y_test, largest, epochs)


def text(documents: int, words: int, seed: int, length: int = 60, noise: float = 0.02) -> tuple[sp.csr_array, Array]:
    """Return documents as ln(1 + count) of each word, and whether each is about a topic.

    Words are drawn by Zipf's law. One word in a hundred, none of the very frequent ones, speaks for the topic; the
    half of the documents that say most of it are about it, but for a share `noise` of labels that are flipped.
    """
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, words + 1) ** 0.9
    drawn = np.searchsorted(np.cumsum(frequency) / frequency.sum(), rng.random(documents * length))
    rows = np.repeat(np.arange(documents), length)
    X = sp.coo_array((np.ones(len(rows)), (rows, np.minimum(drawn, words - 1))), shape=(documents, words)).tocsr()
    X.data = np.log1p(X.data)
    topic = np.zeros(words)
    topic[rng.choice(np.arange(20, words // 10), words // 100, replace=False)] = rng.uniform(0.5, 1.5, words // 100)
    says = X @ topic
    return X, (says > np.median(says)) != (rng.random(documents) < noise)
