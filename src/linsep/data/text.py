"""Documents to rows, as a transformer for scikit-learn's pipelines."""

from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin

from linsep.core.threads import threads
from linsep.data.grams import LARGEST, Grams, Rows, hash_text, joined, stacked
from linsep.data.lines import in_order
from linsep.data.names import Names
from linsep.data.utf8 import not_utf8

Array = NDArray[Any]

CHUNK_BYTES = 1 << 19
"""Text that a thread takes at a time."""


def _marked(text: bytes, documents: Sequence[str | bytes]) -> tuple[Array, Array, Array]:
    """Return a text, and where each of its documents begins and ends."""
    marks = np.cumsum([0, *map(len, documents)])
    return np.frombuffer(text, np.uint8), marks[:-1], marks[1:]


def _encoded(documents: list[str | bytes], first: int) -> tuple[Array, Array, Array]:
    """Return documents, numbered from `first` on, as one text of UTF-8 bytes, and where each begins and ends."""
    try:
        whole = "".join(documents)  # type: ignore[arg-type]
        if whole.isascii():
            return _marked(whole.encode(), documents)
    except TypeError:
        pass
    encoded: list[bytes] = []
    for i, document in enumerate(documents, first):
        try:
            encoded.append(document.encode() if isinstance(document, str) else document)
        except UnicodeEncodeError as error:
            reason = f"document {i:,}: character {error.start + 1:,}, {document[error.start]!a}, is no character"
            raise ValueError(f"{reason}: it stands for a byte that was not read as text") from None
    return joined(encoded)


class Chunk(NamedTuple):
    """Documents that a thread hashes at a time: the number of the first, their text, where each begins and ends."""

    first: int
    text: Array
    begins: Array
    ends: Array


def chunks(documents: Iterable[str | bytes], size: int) -> Iterator[Chunk]:
    """Yield documents in chunks of about `size` bytes."""
    held: list[str | bytes] = []
    first = held_size = 0
    for i, document in enumerate(documents):
        if not isinstance(document, (str, bytes)):
            raise TypeError(f"document {i:,} is of type {type(document).__name__}: it must be str or bytes")
        held.append(document)
        held_size += len(document)
        if held_size >= size:
            yield Chunk(first, *_encoded(held, first))
            held, first, held_size = [], i + 1, 0
    if held:
        yield Chunk(first, *_encoded(held, first))


class TextHasher(TransformerMixin, BaseEstimator):
    """Documents to a sparse matrix of hashed n-gram counts.

    Parameters
    ----------
    n_features : int, default=2**20
        The columns.
    ngram_range : (int, int), default=(1, 1)
        The fewest and the most words (or characters) of an n-gram.
    analyzer : {"word", "char"}, default="word"
        n-grams of words of two or more word characters; or of characters, white space run together.
    binary : bool, default=False
        Whether every n-gram that is there counts 1.
    norm : {"l2", None}, default="l2"
        Whether rows have length 1.
    alternate_sign : bool, default=True
        Whether half of the n-grams count -1, so that those that meet in a column cancel on average.
    lowercase : bool, default=True
        Whether documents are lower-cased first.
    keep_names : bool, default=False
        Whether the n-grams seen are kept, so that `names_of` can tell what a column means.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all cores. The result does not depend on it.
    dtype : {float64, float32}, default=float64
        The type of the values.

    Attributes
    ----------
    collisions_ : int
        Columns in which more than one n-gram was seen, where names are kept.

    Examples
    --------
    >>> hasher = TextHasher(keep_names=True, norm=None)
    >>> X = hasher.transform(["A rose is a rose", "is it?"])
    >>> {hasher.names_of(column)[0]: float(value) for column, value in zip(X.indices[:2], X.data[:2])}
    {'is': 1.0, 'rose': -2.0}
    """

    def __init__(
        self, n_features: int = 2**20, ngram_range: tuple[int, int] = (1, 1), analyzer: str = "word",
        binary: bool = False, norm: str | None = "l2", alternate_sign: bool = True, lowercase: bool = True,
        keep_names: bool = False, n_jobs: int | None = None, dtype: Any = np.float64,
    ) -> None:  # fmt: skip
        self.n_features = n_features
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.binary = binary
        self.norm = norm
        self.alternate_sign = alternate_sign
        self.lowercase = lowercase
        self.keep_names = keep_names
        self.n_jobs = n_jobs
        self.dtype = dtype

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the parameters and forget the names seen: there is nothing to learn."""
        self._how()
        self._names = Names()
        return self

    def transform(self, X: Iterable[str | bytes]) -> csr_array:
        """Return a row for every document."""
        if isinstance(X, (str, bytes)):
            raise ValueError("X is one document: give a list of documents")
        grams, dtype = self._how(), np.dtype(self.dtype)

        def work(chunk: Chunk) -> tuple[Chunk, Rows]:
            return chunk, hash_text(chunk.text, chunk.begins, chunk.ends, grams, dtype)

        parts: list[tuple[Array, Array]] = []
        lengths = [np.zeros(1, np.int64)]
        for chunk, rows in in_order(work, chunks(X, CHUNK_BYTES), threads(self.n_jobs)):
            _check(chunk, rows.faults)
            if self.keep_names:
                self._kept().see(chunk.text, chunk.begins, chunk.ends, grams)
            parts.append((rows.indices, rows.values))
            lengths.append(np.diff(rows.indptr))
        indices, values = stacked(parts, dtype)
        indptr = np.cumsum(np.concatenate(lengths))
        indptr = indptr.astype(np.int32) if len(indices) < LARGEST else indptr
        matrix = csr_array((values, indices, indptr), shape=(len(indptr) - 1, self.n_features))
        matrix.has_canonical_format = True
        return matrix

    def names_of(self, column: int) -> list[str]:
        """Return the n-grams seen in a column, in the order in which they were first seen."""
        return self._kept().of(column, self.n_features)

    @property
    def collisions_(self) -> int:
        """Columns in which more than one n-gram was seen."""
        return self._kept().collisions(self.n_features)

    def _kept(self) -> Names:
        """Return the names kept so far."""
        if not self.keep_names:
            raise AttributeError("no names were kept: set keep_names=True before transform")
        if not hasattr(self, "_names"):
            self._names = Names()
        return self._names

    def _how(self) -> Grams:
        """Return which n-grams count, and how; raises where a parameter is none of those that are possible."""
        low, high = self.ngram_range
        checks = {
            "n_features": isinstance(self.n_features, Integral) and 1 <= self.n_features < LARGEST,
            "ngram_range": 1 <= low <= high,
            "analyzer": self.analyzer in ("word", "char"),
            "norm": self.norm in ("l2", None),
            "dtype": np.dtype(self.dtype) in (np.dtype(np.float64), np.dtype(np.float32)),
        }
        for name, fine in checks.items():
            if not fine:
                raise ValueError(f"{name}={getattr(self, name)!r} is not possible: see TextHasher's documentation")
        return Grams(
            self.analyzer == "char", int(low), int(high), int(self.n_features), bool(self.alternate_sign),
            bool(self.binary), self.norm == "l2", bool(self.lowercase),
        )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.requires_fit = False
        return tags


def _check(chunk: Chunk, faults: Array) -> None:
    """Raise where a document is not UTF-8."""
    for i in np.flatnonzero(faults >= 0)[:1].tolist():
        document = chunk.text[chunk.begins[i] : chunk.ends[i]].tobytes()
        raise ValueError(f"document {chunk.first + i:,}: {not_utf8(document, int(faults[i]))}: decode it first")
