"""The demo's data: three sets that come with scikit-learn, and generated text."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.model_selection import train_test_split

from linsep.engine.arrays import Array


class DataSet(NamedTuple):
    """A data set cut in two, one part to learn from and one test rows; `factor` is what X was divided by.

    `features` and `labels` are names, where there are any. `separator` is known to separate the rows, where one is: its
    weights, the bias last.
    """

    name: str
    about: str
    epochs: int
    factor: float
    X: Any
    y: Array
    X_test: Any
    y_test: Array
    features: Sequence[str] = ()
    labels: Sequence[str] = ()
    separator: Array | None = None

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(np.unique(self.y))


class Documents(NamedTuple):
    """Generated text: the rows, whether each is about the topic, and the weights that decide it, the bias last."""

    X: sp.csr_array
    y: Array
    topic: Array


def data_sets(seed: int, quick: bool) -> Iterator[DataSet]:
    """Make the sets one after the other, all of float64, so that they share compiled passes."""
    many, few = (10, 2) if quick else (100, 20)
    flowers = "three species by the size of their sepals and petals"
    yield load_bundled("iris", flowers, many, load_iris(), seed)
    tumours = "tumours, malignant or benign, by measures of their cells"
    yield load_bundled("breast cancer", tumours, many, load_breast_cancer(), seed)
    yield load_bundled("digits", "written by hand, 8 x 8 pixels", few, load_digits(), seed)
    X, y, topic = text(*((2_000, 1_000) if quick else (20_000, 10_000)), seed)
    about = "generated and separable: one word in 200 marks a topic"
    words = [f"{'topic word' if weight else 'word'} {number}" for number, weight in enumerate(topic[:-1], 1)]
    data = split("text", about, many, (X, y), seed)
    yield data._replace(features=words, labels=("other", "topic"), separator=topic * [*[data.factor] * len(words), 1.0])


def load_bundled(name: str, about: str, epochs: int, bunch: Any, seed: int) -> DataSet:
    """Prepare a set that comes with scikit-learn."""
    features, labels = list(map(str, bunch.feature_names)), list(map(str, bunch.target_names))
    data = split(name, about, epochs, (bunch.data, bunch.target), seed)
    return data._replace(features=features, labels=labels)


def split(name: str, about: str, epochs: int, data: tuple[Any, Array], seed: int) -> DataSet:
    """Divide all of X by its largest entry and set a quarter of the rows aside."""
    X, y = data
    factor = float(abs(X).max())
    X, X_test, y, y_test = train_test_split(X / factor, y, test_size=0.25, random_state=seed, stratify=y)
    return DataSet(name, about, epochs, factor, X, y, X_test, y_test)


def text(documents: int, words: int, seed: int, length: int = 60, gap: float = 0.4) -> Documents:
    """Return documents as ln(1 + count) of each word, and whether each is about a topic.

    Words are drawn by Zipf's law. One in 200, neither of the most frequent ones nor of the rare, marks the topic:
    the documents with more of its words than most are about it. Those nearer to the middle than `gap` standard
    deviations are left out, so that a separator has a margin.
    """
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, words + 1) ** 0.9
    drawn = 2 * documents
    columns = np.searchsorted(np.cumsum(frequency) / frequency.sum(), rng.random(drawn * length))
    rows = np.repeat(np.arange(drawn, dtype=np.int32), length)
    where = rows, np.minimum(columns, words - 1).astype(np.int32)
    X = sp.coo_array((np.ones(len(rows)), where), shape=(drawn, words)).tocsr()
    X.data = np.log1p(X.data)
    topic = np.zeros(words)
    chosen = rng.choice(np.arange(20, words // 10), words // 200, replace=False)
    topic[chosen] = rng.uniform(0.5, 1.5, len(chosen))
    says: Array = np.asarray(X @ topic)
    middle = np.median(says) or says.mean()  # where most do not mention it, those that do are about it
    says = (says - middle) / says.std()
    clear = np.flatnonzero(np.abs(says) > gap)[:documents]
    return Documents(X[clear], says[clear] > 0, np.append(topic, -middle))
