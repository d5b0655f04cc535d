"""Documents to rows, as transformers for scikit-learn's pipelines."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from linsep.data.compiled.text import not_utf8
from linsep.data.errors import is_one_of
from linsep.data.names import Names, Vocabulary
from linsep.data.rows import Spelling
from linsep.data.text.ngrams import (
    LARGEST,
    Counts,
    Frequencies,
    Grams,
    count_text,
    hash_text,
    join_documents,
    list_ngrams,
)
from linsep.engine.arrays import Array
from linsep.engine.runtime import in_order, share, threads
from linsep.validation.errors import InvalidDataError, ParameterError

T = TypeVar("T")

LONGEST_GRAM = 1000
"""Words or characters of an n-gram: a document of n words has at most this many times n n-grams."""
CHUNK_BYTES = 1 << 19
"""Text that a thread takes at a time."""


class Chunk(NamedTuple):
    """Documents that a thread takes at a time: the number of the first, their text, where each begins and ends."""

    first: int
    text: Array
    begins: Array
    ends: Array


def chunks(documents: Iterable[str | bytes], size: int) -> Iterator[Chunk]:
    """Yield documents as UTF-8 in chunks of about `size` bytes."""
    held: list[bytes] = []
    first = held_size = 0
    for i, document in enumerate(documents):
        if not isinstance(document, (str, bytes)):
            raise TypeError(f"document {i:,} is of type {type(document).__name__}: it must be str or bytes")
        try:
            encoded = document.encode() if isinstance(document, str) else document
        except UnicodeEncodeError as error:
            reason = f"document {i:,}: character {error.start + 1:,}, {error.object[error.start]!a}, is no character"
            raise InvalidDataError(f"{reason}: it represents a byte that was not read as text") from None
        held.append(encoded)
        held_size += len(encoded)
        if held_size >= size:
            yield Chunk(first, *join_documents(held))
            held, first, held_size = [], i + 1, 0
    if held:
        yield Chunk(first, *join_documents(held))


def grams_of(how: Any, n_features: int, signed: bool) -> Grams:
    """Return which n-grams count by the parameters of `how`; raises where one of them is not possible."""
    try:
        low, high = how.ngram_range
        whole = all(isinstance(n, Integral) and not isinstance(n, bool) for n in (low, high))
    except (TypeError, ValueError):
        whole = False
    if not whole or not 1 <= low <= high < LARGEST:
        raise ParameterError(
            f"ngram_range={how.ngram_range!r} is not possible: it is the least and the most, as in (1, 2)"
        )
    if high > LONGEST_GRAM:
        raise ParameterError(f"ngram_range={how.ngram_range!r:.60} is not possible: the most is {LONGEST_GRAM:,}")
    checks = {
        "n_features": (
            isinstance(n_features, Integral) and 1 <= n_features < LARGEST,
            "a whole number from 1 to 2**31",
        ),
        "analyzer": (is_one_of(how.analyzer, ("word", "char")), "'word' or 'char'"),
        "norm": (how.norm is None or is_one_of(how.norm, ("l2",)), "'l2' or None"),
    }
    for name, (fine, what) in checks.items():
        if not fine:
            raise ParameterError(f"{name}={getattr(how, name)!r} is not possible: it is {what}")
    return Grams(
        how.analyzer == "char", int(low), int(high), int(n_features), bool(signed), bool(how.binary),
        how.norm == "l2", bool(how.lowercase),
    )  # fmt: skip


class TextTransformer(TransformerMixin, BaseEstimator):
    """Base of transformers of documents: parameters that choose the n-grams, and the loop over chunks."""

    ngram_range: tuple[int, int]
    analyzer: str
    binary: bool
    norm: str | None
    idf: bool
    lowercase: bool
    n_jobs: int | None
    dtype: Any
    _frequencies: Frequencies
    _facts: ClassVar[frozenset[str]]
    """Attributes that fit and transform set; they are saved with the model."""

    def __copy__(self) -> Self:
        """Return a transformer that learns for itself: what fit and transform add to is not shared."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(vars(self))
        for name in self._facts & vars(twin).keys():
            setattr(twin, name, deepcopy(getattr(self, name)))
        return twin

    def _how(self, n_features: int = 1, signed: bool = False) -> Grams:
        """Return which n-grams count, and how; raises where a parameter is none of those that are possible."""
        if np.dtype(self.dtype) not in (np.dtype(np.float64), np.dtype(np.float32)):
            raise ParameterError(f"dtype={self.dtype!r} is not possible: values are float32 or float64")
        grams = grams_of(self, n_features, signed)
        return grams._replace(unit=grams.unit and not self.idf)

    def _walk(self, X: Any, work: Callable[[Chunk], tuple[Counts, T]]) -> Iterator[tuple[Counts, T]]:
        """Yield what the work on each chunk of the documents gives, in order."""
        if isinstance(X, (str, bytes)):
            raise ValueError("X is one document: give a list of documents")
        if getattr(X, "ndim", 1) != 1:
            raise ValueError("X has rows and columns: give one column, a document each")
        if X is None:
            raise ValueError("X is None: pass the documents to learn from")

        def task(chunk: Chunk) -> tuple[Chunk, tuple[Counts, T]]:
            return chunk, work(chunk)

        for chunk, result in in_order(task, chunks(X, CHUNK_BYTES), threads(self.n_jobs)):
            _check(chunk, result[0].faults)
            yield result

    def _weigh(self, counts: Counts) -> None:
        """Weigh the columns of rows by how rare they are, if that is asked for."""
        if self.idf:
            self._frequencies.weigh(counts.indptr, counts.indices, counts.values, self.norm == "l2")

    def _check_fitted(self) -> None:
        """Raise where columns are to be weighed but no documents were counted."""
        if not isinstance(getattr(self, "_frequencies", Frequencies()), Frequencies):
            raise ValueError("_frequencies are not counts of documents")
        if self.idf and not (hasattr(self, "_frequencies") and self._frequencies.documents):
            raise NotFittedError("idf=True weighs columns by the documents that have them: fit documents first")

    def _idf(self, width: int) -> Array:
        """Return what the columns are multiplied by."""
        if not self.idf:
            raise AttributeError("columns are not weighed: set idf=True before fit")
        self._check_fitted()
        return self._frequencies.weights(np.arange(width), self.dtype)

    def _matrix(self, parts: list[Counts], width: int) -> csr_array:
        """Return the rows of all chunks."""
        columns = [np.empty(0, np.int32), *(part.indices for part in parts)]
        entries = [np.empty(0, self.dtype), *(part.values for part in parts)]
        copies = [partial(np.concatenate, columns), partial(np.concatenate, entries)]
        indices, values = share(copies, threads(self.n_jobs))
        indptr = np.cumsum(np.concatenate([np.zeros(1, np.int64), *(np.diff(part.indptr) for part in parts)]))
        indptr = indptr.astype(np.int32) if len(indices) < LARGEST else indptr
        matrix = csr_array((values, indices, indptr), shape=(len(indptr) - 1, width))
        matrix.has_canonical_format = True
        return matrix

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


class TextHasher(TextTransformer):
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
        If True, every n-gram that occurs counts 1.
    norm : {"l2", None}, default="l2"
        "l2" divides each row by its length, sqrt(sum of x_j²); None leaves counts as they are.
    alternate_sign : bool, default=True
        If True, half of the n-grams count -1, so that those that meet in a column cancel on average.
    lowercase : bool, default=True
        If True, documents are lower-cased first.
    keep_names : bool, default=False
        If True, keep the transformed n-grams, so that `names_of` can name each column.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all cores. The result does not depend on it.
    dtype : {float64, float32}, default=float64
        The type of the values.
    idf : bool, default=False
        If True, counts are multiplied by ln((1 + n) / (1 + d)) + 1 for the d of n documents, of all that were fitted,
        that have something in the column. There is nothing to fit otherwise.

    Attributes
    ----------
    collisions_ : int
        Columns in which more than one n-gram was seen, where names are kept.
    idf_ : array of n_features
        Factors of the columns, with idf=True.

    Examples
    --------
    >>> hasher = TextHasher(keep_names=True, norm=None)
    >>> X = hasher.transform(["A rose is a rose", "is it?"])
    >>> {hasher.names_of(column)[0]: float(value) for column, value in zip(X.indices[:2], X.data[:2])}
    {'is': 1.0, 'rose': -2.0}
    """

    _facts: ClassVar[frozenset[str]] = frozenset({"_names", "_frequencies"})

    def __init__(
        self, n_features: int = 2**20, ngram_range: tuple[int, int] = (1, 1), analyzer: str = "word",
        binary: bool = False, norm: str | None = "l2", alternate_sign: bool = True, lowercase: bool = True,
        keep_names: bool = False, n_jobs: int | None = None, dtype: Any = np.float64, idf: bool = False,
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
        self.idf = idf

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the parameters, forget the names and documents seen, and count in how many of these a column is."""
        frequencies = self._count(X)
        self._names, self._frequencies = Names(), frequencies
        return self

    def partial_fit(self, X: Any = None, y: Any = None) -> Self:
        """Count more documents: those of all calls together weigh as if they were fitted at once."""
        more = self._count(X)
        if not hasattr(self, "_frequencies"):
            self._frequencies = Frequencies()
        self._frequencies.widen(len(more.counts))
        columns = np.flatnonzero(more.counts)
        self._frequencies.see(more.documents, columns, more.counts[columns])
        return self

    def _count(self, X: Any) -> Frequencies:
        """Return in how many of these documents each column is, if that matters."""
        grams = self._how(self.n_features, self.alternate_sign)
        frequencies = Frequencies(self.n_features if self.idf else 0)

        def work(chunk: Chunk) -> tuple[Counts, None]:
            return hash_text(chunk.text, chunk.begins, chunk.ends, grams, np.float64), None

        for counts, _ in self._walk(X, work) if self.idf else ():
            frequencies.see(len(counts.faults), counts.indices)
        return frequencies

    def transform(self, X: Iterable[str | bytes]) -> csr_array:
        """Return a row for every document."""
        grams, dtype = self._how(self.n_features, self.alternate_sign), np.dtype(self.dtype)
        self._check_fitted()

        def work(chunk: Chunk) -> tuple[Counts, Spelling | None]:
            counts = hash_text(chunk.text, chunk.begins, chunk.ends, grams, dtype)
            self._weigh(counts)
            return counts, _spelling(chunk, grams) if self.keep_names else None

        parts: list[Counts] = []
        for counts, spelling in self._walk(X, work):
            if spelling is not None:
                self._kept_names().take(spelling)
            parts.append(counts)
        return self._matrix(parts, self.n_features)

    def names_of(self, column: int) -> list[str]:
        """Return the n-grams seen in a column, in the order in which they were first seen."""
        return self._kept_names().of(column, self.n_features)

    @property
    def collisions_(self) -> int:
        """Columns in which more than one n-gram was seen."""
        return self._kept_names().collisions(self.n_features)

    @property
    def idf_(self) -> Array:
        """Return the factors of the columns."""
        return self._idf(self.n_features)

    def _columns(self) -> int:
        """Return the columns of a result."""
        return int(self.n_features)

    def _name(self, column: int, before: Callable[[int], str]) -> str:
        """Return the name of a column of the result: its first n-gram, if names are kept, or its number."""
        return next(iter(self.names_of(column) if self.keep_names else ()), str(column))

    def _check_facts(self) -> None:
        """Raise a ValueError where the attributes can't have been learned with these parameters."""
        self._how(self.n_features, self.alternate_sign)
        self._check_fitted()
        if not isinstance(getattr(self, "_names", Names()), Names):
            raise ValueError("_names of its TextHasher are not names")
        if getattr(self, "_frequencies", Frequencies()).width not in (0, self.n_features):
            raise ValueError("its TextHasher has counted documents for another number of columns")

    def _kept_names(self) -> Names:
        """Return the names kept so far."""
        if not self.keep_names:
            raise AttributeError("no names were kept: set keep_names=True before transform")
        if not hasattr(self, "_names"):
            self._names = Names()
        return self._names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = self.idf
        return tags


def _spelling(chunk: Chunk, grams: Grams) -> Spelling:
    """Return the n-grams of a chunk, each once."""
    clean, begins, ends, _, _ = list_ngrams(chunk.text, chunk.begins, chunk.ends, grams)
    vocabulary = Vocabulary()
    vocabulary.number(clean, begins, ends)
    return vocabulary.spelling


def _check(chunk: Chunk, faults: Array) -> None:
    """Raise where a document is not UTF-8."""
    for i in np.flatnonzero(faults >= 0)[:1].tolist():
        document = chunk.text[chunk.begins[i] : chunk.ends[i]].tobytes()
        raise InvalidDataError(f"document {chunk.first + i:,}: {not_utf8(document, int(faults[i]))}: decode it first")


class TextCounter(TextTransformer):
    """Documents to a sparse matrix of n-gram counts, a column for every n-gram of the documents fitted.

    Columns are in the order in which their n-grams were first seen: in a document first those of the fewest words.
    n-grams that were not fitted are left out.

    Parameters
    ----------
    vocabulary : sequence of str or None, default=None
        The n-grams that have a column, in order; None: all those that are fitted.
    ngram_range, analyzer, binary, norm, lowercase, n_jobs, dtype, idf
        As those of :class:`linsep.TextHasher`.

    Attributes
    ----------
    vocabulary_ : linsep.data.names.Vocabulary
        The n-grams that have a column.
    unseen_ : int
        Number of n-grams of the last transform without a column.
    idf_ : array
        Factors of the columns, with idf=True.

    Examples
    --------
    >>> counter = TextCounter(norm=None).fit(["A rose is a rose", "is it?"])
    >>> counter.transform(["Is a rose red?"]).toarray(), counter.unseen_
    (array([[1., 1., 0.]]), 1)
    >>> counter.get_feature_names_out()
    array(['rose', 'is', 'it'], dtype=object)
    """

    _facts: ClassVar[frozenset[str]] = frozenset({"vocabulary_", "unseen_", "_frequencies"})

    def __init__(
        self, vocabulary: Sequence[str] | None = None, ngram_range: tuple[int, int] = (1, 1), analyzer: str = "word",
        binary: bool = False, norm: str | None = "l2", lowercase: bool = True, n_jobs: int | None = None,
        dtype: Any = np.float64, idf: bool = False,
    ) -> None:  # fmt: skip
        self.vocabulary = vocabulary
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.binary = binary
        self.norm = norm
        self.lowercase = lowercase
        self.n_jobs = n_jobs
        self.dtype = dtype
        self.idf = idf

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the vocabulary, unless it is given, and in how many documents each n-gram is."""
        self.vocabulary_, self._frequencies = self._learn(X)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more documents: new n-grams get new columns at the end."""
        if not hasattr(self, "vocabulary_"):
            return self.fit(X)
        vocabulary, frequencies = self._learn(X)
        columns = self.vocabulary_.take(vocabulary.spelling)
        self._frequencies.widen(len(self.vocabulary_))
        self._frequencies.see(frequencies.documents, columns, frequencies.counts[: len(columns)])
        return self

    def _learn(self, X: Any) -> tuple[Vocabulary, Frequencies]:
        """Return the n-grams of these documents, and in how many each is."""
        grams, frequencies, grow = self._how(), Frequencies(), self.vocabulary is None
        vocabulary = self._given()

        def work(chunk: Chunk) -> tuple[Counts, Vocabulary]:
            seen = Vocabulary()
            return count_text(chunk.text, chunk.begins, chunk.ends, grams, seen)[0], seen

        for counts, seen in self._walk(X, work):
            columns = vocabulary.take(seen.spelling, grow)
            frequencies.widen(len(vocabulary))
            times = np.bincount(counts.indices, minlength=len(columns))
            frequencies.see(len(counts.faults), columns[columns >= 0], times[columns >= 0])
        frequencies.widen(len(vocabulary))
        return vocabulary, frequencies

    def transform(self, X: Iterable[str | bytes]) -> csr_array:
        """Return a row for every document."""
        grams, vocabulary = self._how(), self._known()

        def work(chunk: Chunk) -> tuple[Counts, int]:
            counts, unseen = count_text(
                chunk.text, chunk.begins, chunk.ends, grams, vocabulary, grow=False, dtype=self.dtype
            )
            self._weigh(counts)
            return counts, unseen

        parts = list(self._walk(X, work))
        self.unseen_ = sum(unseen for _, unseen in parts)
        return self._matrix([counts for counts, _ in parts], len(vocabulary))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the n-grams of all columns."""
        return np.array(self._known().names(), object)

    @property
    def idf_(self) -> Array:
        """Return the factors of the columns."""
        return self._idf(len(self._known()))

    def _columns(self) -> int:
        """Return the columns of a result."""
        return len(self._known())

    def _name(self, column: int, before: Callable[[int], str]) -> str:
        """Return the n-gram of a column."""
        return self._known().name(column)

    def _check_facts(self) -> None:
        """Raise a ValueError where the attributes can't have been learned with these parameters."""
        self._how()
        if not isinstance(getattr(self, "vocabulary_", Vocabulary()), Vocabulary):
            raise ValueError("vocabulary_ of its TextCounter is not a vocabulary")
        known, frequencies = self._columns(), getattr(self, "_frequencies", Frequencies())
        if self.vocabulary is not None and self._given().names() != self._known().names():
            raise ValueError("its TextCounter has another vocabulary than the one given")
        if not (known if self.idf else 0) <= frequencies.width <= 2 * known:
            raise ValueError("its TextCounter has counted documents for another number of columns")
        unseen = getattr(self, "unseen_", 0)
        if type(unseen) is not int or unseen < 0:
            raise ValueError(f"unseen_ of its TextCounter is {unseen!r:.20}, not a count")

    def _given(self) -> Vocabulary:
        """Return the vocabulary that was given, or an empty one."""
        if isinstance(self.vocabulary, (str, bytes)):
            raise ParameterError(f"vocabulary={self.vocabulary!r} is one word: give a list of them")
        return Vocabulary() if self.vocabulary is None else Vocabulary.of(list(self.vocabulary))

    def _known(self) -> Vocabulary:
        """Return the vocabulary that was learned or given."""
        self._check_fitted()
        if not hasattr(self, "vocabulary_"):
            if self.vocabulary is None:
                raise NotFittedError("there is no vocabulary yet: call fit with documents, or give vocabulary=")
            return self._given()
        return self.vocabulary_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = self.vocabulary is None or self.idf
        return tags
