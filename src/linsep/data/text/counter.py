"""Documents to rows with a column for every n-gram seen, as a transformer for scikit-learn's pipelines."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from linsep.data.text.frequencies import Frequencies
from linsep.data.text.hasher import Chunk, TextTransformer
from linsep.data.text.ngrams import Counts, count_text
from linsep.data.text.vocabulary import Vocabulary
from linsep.engine.arrays import Array
from linsep.validation.errors import ParameterError


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
    vocabulary_ : linsep.data.text.vocabulary.Vocabulary
        The n-grams that have a column.
    unseen_ : int
        How often an n-gram of the last transform had no column.
    idf_ : array
        What columns are multiplied by, with idf=True.

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
        self.vocabulary_, self._frequencies = self._learned(X)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more documents: new n-grams get new columns at the end."""
        if not hasattr(self, "vocabulary_"):
            return self.fit(X)
        vocabulary, frequencies = self._learned(X)
        columns = self.vocabulary_.take(vocabulary.spelling)
        self._frequencies.widen(len(self.vocabulary_))
        self._frequencies.see(frequencies.documents, columns, frequencies.counts[: len(columns)])
        return self

    def _learned(self, X: Any) -> tuple[Vocabulary, Frequencies]:
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
        """What columns are multiplied by."""
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
