"""Cells of a table to sparse rows: its numbers, then the hashed n-grams of its documents, then what is numbered."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.data.text.ngrams import Counts
from linsep.engine.arrays import Array


def numbers_and_words(values: Array, words: list[Array]) -> tuple[Array, Array, Array]:
    """Return sparse rows of numbers, without those that are 0, then of words; words in the same column add up.

    Each array of words has the column of every row's word, counted from the first one of words, or a negative number.

    >>> numbers_and_words(np.array([[7.0], [0.0]]), [np.array([1, 0]), np.array([-1, 0])])
    (array([0, 2, 3]), array([0, 2, 1], dtype=int32), array([7., 1., 2.]))
    """
    rows, width = values.shape
    columns = np.sort(np.stack(words, axis=1), axis=1) if words else np.empty((rows, 0), np.int64)
    counts = (columns >= 0).astype(values.dtype)
    for j in range(1, len(words)):
        same = columns[:, j] == columns[:, j - 1]
        counts[same, j] += counts[same, j - 1]
        counts[same, j - 1] = 0
    indices = np.concatenate([np.broadcast_to(np.arange(width), (rows, width)), columns + width], axis=1)
    entries = np.concatenate([values, counts], axis=1)
    keep = entries != 0
    kind = np.int32 if indices.max(initial=0) < 2**31 else np.int64
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(keep, axis=1))])
    return indptr, indices[keep].astype(kind), entries[keep]


def with_numbered(values: Array, documents: Counts, words: list[Array]) -> tuple[Array, Array, Array]:
    """Return sparse rows of numbers, then of words and of n-grams, whose columns are counted from the same one.

    >>> documents = Counts(np.array([0, 2, 2]), np.array([2, 0]), np.array([0.5, 2.0]), np.array([-1, -1]))
    >>> with_numbered(np.array([[7.0], [0.0]]), documents, [np.array([1, 1])])
    (array([0, 4, 5]), array([0, 1, 2, 3, 2], dtype=int32), array([7. , 2. , 1. , 0.5, 1. ]))
    """
    left, right = numbers_and_words(values, []), numbers_and_words(values[:, :0], words)
    width = 1 + int(max(right[1].max(initial=-1), documents.indices.max(initial=-1)))
    grams = sp.csr_array(documents[2::-1], (len(values), width))
    grams.sort_indices()
    numbers = sp.csr_array(left[::-1], values.shape)
    return _beside([numbers, sp.csr_array(right[::-1], (len(values), width)) + grams])


def with_documents(values: Array, documents: Counts, width: int, words: list[Array]) -> tuple[Array, Array, Array]:
    """Return sparse rows of numbers, then of n-grams in `width` columns, then of words.

    >>> documents = Counts(np.array([0, 1, 2]), np.array([3, 0]), np.array([0.5, 1.0]), np.array([-1, -1]))
    >>> with_documents(np.array([[7.0], [0.0]]), documents, 10, [np.array([1, 0])])
    (array([0, 3, 5]), array([ 0,  4, 12,  1, 11], dtype=int32), array([7. , 0.5, 1. , 1. , 1. ]))
    """
    left, right = numbers_and_words(values, []), numbers_and_words(values[:, :0], words)
    blocks = [(*left, values.shape[1]), (*documents[:3], width), (*right, int(right[1].max(initial=-1)) + 1)]
    parts = [sp.csr_array(block[2::-1], (len(values), block[3])) for block in blocks]
    return _beside(parts)


def _beside(parts: list[Any]) -> tuple[Array, Array, Array]:
    """Return sparse rows of parts side by side."""
    X: Any = sp.hstack(parts, format="csr")
    kind = np.int32 if X.shape[1] <= 2**31 else np.int64
    return X.indptr.astype(np.int64), X.indices.astype(kind, copy=False), X.data
