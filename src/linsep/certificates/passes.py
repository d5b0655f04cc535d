"""Check certificates of data that do not fit in memory, by passes over blocks of rows.

The blocks go through :mod:`linsep.certificates.checker` one at a time: sums, least scores and largest norms of blocks
are those of all rows, exactly. Memory is that of a block and of the weights; each problem is one pass.
"""

import copy
import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import vstack

from linsep.certificates.checker import (
    CheckedRows,
    Facts,
    NotStreamedError,
    SignedProblem,
    digests_of,
    sha256_of,
    vector,
)
from linsep.certificates.reading import matrix_of, read_labels, read_rows, shorten
from linsep.certificates.schema import ProblemKey, integers
from linsep.data.errors import DataError
from linsep.data.streaming import Stream
from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.exact.dependencies import exact
from linsep.solvers.margin.coordinate_descent import squared_norms
from linsep.solvers.products import times
from linsep.theory.exchangeability import LabelOrder
from linsep.validation.errors import InvalidDataError

CORE_ROWS = 1000
"""Rows among which witnesses are sought that no hyperplane does better: those nearest to a model's hyperplane."""
SCALES = np.ldexp(1.0, np.arange(-40, 41))
"""Factors of a model's weights that are tried for the least bound."""
WEIGHT_BITS = 24
"""Bits of the weights of bounds: longer integers take longer to check."""


class ReadingError(Exception):
    """An error of the files, which is its cause; the certificate is not at fault."""


def blocks_of(rows: Stream) -> Iterator[tuple[Any, Array]]:
    """Yield the rows and labels of each block of a stream."""
    try:
        for block in rows:
            if block.y is None:
                raise InvalidDataError("the data have no labels: a certificate is of rows and labels")
            yield block.X, block.y
    except (DataError, OSError) as error:
        raise ReadingError from error


def merged(distinct: Array, labels: Array) -> Array:
    """Return the distinct labels, those of further rows included."""
    found = np.unique(labels)
    return np.unique(np.concatenate([distinct, found])) if len(distinct) else found


class StreamedRows(CheckedRows):
    """The rows of a stream, as the checker reads them, one block in memory at a time.

    Parameters
    ----------
    rows : Stream
        The rows, which are read in one pass for their sizes and SHA-256, and again for each problem.
    size : (int, int)
        The numbers of rows and of features, with which the SHA-256 begins.
    classes : list of str
        The names of the classes.
    tick : callable
        Raises an error at the time limit.
    """

    def __init__(
        self, rows: Stream, size: tuple[int, int], classes: list[str], tick: Callable[[], None] = lambda: None
    ) -> None:
        self.stream, self.classes, self.tick, self.p = rows, classes, tick, size[1]
        self.scale: Array | None = None
        self.labels, self.distinct, digests = LabelOrder(), np.zeros(0), digests_of(*size, classes)
        self.measure(digests)
        self.names, self.sha256 = read_labels(self.distinct, len(self.distinct))[0], sha256_of(digests)

    def measure(self, digests: list[Any]) -> None:
        """Note the sizes of the entries, and let digests take in all rows."""
        self.n, self.nonzeros, self.low, self.entry, self.exponents, self.sparse = 0, 0, 0, 0.0, (0, 0), True
        self.used, self.counts = np.zeros(self.p, bool), np.zeros(len(self.classes), np.int64)
        for part in self._parts():
            part.measure(digests)
            self.n, self.nonzeros = self.n + part.n, self.nonzeros + part.nonzeros
            self.low, self.entry = min(self.low, part.low), max(self.entry, part.entry)
            self.exponents = min(self.exponents[0], part.exponents[0]), max(self.exponents[1], part.exponents[1])
            self.used, self.counts = self.used | part.used, self.counts + part.counts
            self.sparse = self.sparse and part.sparse
            if digests:
                self.labels.add(part.codes)

    def parts(self) -> Iterator[tuple[int, CheckedRows]]:
        """Yield the number of the first row of each block, and the block, in the units of all rows."""
        first, counts = 0, np.zeros_like(self.counts)
        for part in self._parts():
            counts += np.bincount(part.codes, minlength=len(counts))
            part.low, part.entry, part.used = self.low, self.entry, self.used
            yield first, part
            first += part.n
        if first != self.n or (counts != self.counts).any():
            raise ReadingError from DataError(str(self.stream), "the data changed between two passes")

    def _parts(self) -> Iterator[CheckedRows]:
        for X, y in blocks_of(self.stream):
            self.tick()
            self.distinct = merged(self.distinct, y)
            data = read_rows(X)
            names, codes = read_labels(y, data.n_rows)
            part = CheckedRows(matrix_of(data), np.array(names)[codes], self.classes, self.tick, block=True)
            if part.p != self.p:
                raise ValueError(f"the rows have {part.p} features, and not {self.p}")
            part.scale = self.scale
            yield part

    def scaled(self, scale: Facts) -> "StreamedRows":
        """Return the same rows with column j times 2^scale_j, which must be exact in floats."""
        other = copy.copy(self)
        other.scale = vector(scale, self.p).astype(np.int64)
        other.measure([])
        return other


class StreamedProblem(SignedProblem):
    """A problem whose rows are read block by block."""

    rows: Any

    def measure(self) -> None:
        """Compute what the claims need of all rows, in one pass."""
        whole, mixtures, radius2 = self.rows, self.known["lambda"], [self.unit * 0]
        self._least, self._errors, self._margins = dict[str, int](), Counter[str](), Counter[int]()
        self._fits: dict[str, list[Any]] = {}
        for first, part in whole.parts():
            span = first * self.rivals, (first + part.n) * self.rivals
            self.take(part, {k: _cut(witness, *span) for k, witness in mixtures.items()}, first)
            radius2.append(self.radius2)
            radius2 = [max(radius2)]
            for k in self.w:
                least = super().least(k)
                self._least[k] = min(self._least.get(k, least), least)
                self._errors[k] += super().errors(k)
                if k.startswith("delta "):
                    ww, *sums = super().fit(k)
                    before = self._fits.get(k, [ww, 0, 0])
                    self._fits[k] = [ww, *(a + b for a, b in zip(before[1:], sums, strict=True))]
            if "PAC-Bayes" in self.known:
                self._margins += super().rounded_margins("model")
        self.rows, self.n, self.radius2, self.scores = whole, whole.n * self.rivals, radius2[0], {}
        self.dual = {k: np.array(integers(witness), object) for k, witness in mixtures.items()}

    def least(self, k: str) -> int:
        """Return the least score of a witness w."""
        return self._least[k]

    def errors(self, k: str) -> int:
        """Return the rows with z_i·w <= 0, for pairs with a rival for which it is."""
        return self._errors[k]

    def fit(self, k: str, rows: Any = slice(None)) -> list[Any]:
        """Return ||w||² of a witness w, and the sums of (1 - z_i·w)+ and of its square over all rows."""
        return self._fits[k]

    def rounded_margins(self, k: str) -> Counter[int]:
        """Return how many rows have each margin of the model, rounded down."""
        return self._margins

    def run(self, run: Facts) -> Facts:
        """Raise an error: a replay takes rows in any order."""
        raise NotStreamedError("not checked: needs the rows in memory")


def _cut(witness: Facts, first: int, stop: int) -> Facts:
    """Return the part of a mixture that is about some rows."""
    if "at" not in witness:
        return {"values": witness["values"][first:stop]}
    start, end = np.searchsorted(np.array(witness["at"], np.int64), [first, stop]).tolist()
    return {"at": [i - first for i in witness["at"][start:end]], "values": witness["values"][start:end]}


class Survey(NamedTuple):
    """Result of one pass over a stream with a model's weights."""

    n: int
    """The number of rows."""
    data: Dense | Csr
    """The rows of each class whose scores by the model are nearest to 0."""
    codes: Array
    """Their labels."""
    places: Array
    """Their numbers among all rows."""
    order: LabelOrder
    """The order of the labels of all rows."""
    radius: float
    """The largest norm of a row, without a constant feature."""
    losses: dict[ProblemKey, Array]
    """Of each problem, the sums of squares of (1 - c z·w)+ for the factors c of SCALES."""

    def delta_weights(self, W: Array, key: ProblemKey, classes: list[str], passes: int) -> dict[str, Any]:
        """Return the model's weights for a problem, times the factor of the least bound for so many passes."""
        w = _weights_for(W, key, classes)
        length = math.hypot(self.radius, key.bias) * np.linalg.norm(w) * math.sqrt(2 if key.kind == "pairs" else 1)
        scale = SCALES[np.argmin(SCALES * length + np.sqrt(passes * self.losses[key]))]
        unit = math.ldexp(1.0, math.frexp(float(np.abs(w).max(initial=0.0)) or 1.0)[1] - WEIGHT_BITS)
        return exact(np.round(w / unit).ravel() * (unit * scale))


@np.errstate(over="ignore", under="ignore")
def survey(rows: Stream, W: Array, bias: float, classes: list[str], jobs: int = 1) -> Survey:
    """Find, in one pass, the rows nearest to a model's hyperplane, and the sums that bounds of its weights need."""
    many, n, radius, order, distinct = len(classes) > 2, 0, 0.0, LabelOrder(), np.zeros(0)
    keys = [ProblemKey(bias, "pairs"), *(ProblemKey(bias, "class", name) for name in classes)]
    keys = keys if many else [ProblemKey(bias), *([ProblemKey(0.0)] if bias else [])]
    losses = {key: np.zeros(len(SCALES)) for key in keys}
    kept: list[tuple[Any, Array, Array, Array]] = []
    for X, y in blocks_of(rows):
        data = read_rows(X)
        if data.n_features != W.shape[1] - 1:
            raise InvalidDataError(
                f"the rows have {data.n_features:,} features, and the model {W.shape[1] - 1:,}: read the rows as the "
                f"training data were read, such as with zero_based=true (fit --stream) or n_features={W.shape[1] - 1}"
            )
        names, own = read_labels(y, data.n_rows)
        if unknown := next((name for name in names if name not in classes), None):
            raise InvalidDataError(f"label {shorten(unknown)} is not a class of the model: {', '.join(classes[:5])}")
        codes = np.array([classes.index(name) for name in names])[own]
        order.add(codes)
        distinct = merged(distinct, y)
        scores = times(data, np.ascontiguousarray(W.T), jobs)  # without a bias here
        for key in keys:
            signed = _signed(scores + key.bias * W[:, -1], codes, key, classes)
            losses[key] += [float((np.maximum(1 - c * signed, 0) ** 2).sum()) for c in SCALES]
        found = _signed(scores + bias * W[:, -1], codes, keys[0], classes).reshape(len(codes), -1).min(axis=1)
        kept = _nearest([*kept, (matrix_of(data), codes, np.arange(n, n + len(codes)), found)], len(classes))
        radius, n = max(radius, math.sqrt(float(squared_norms(data).max()))), n + len(codes)
    if (names := read_labels(distinct, len(distinct))[0]) != classes:
        missing = ", ".join(name for name in classes if name not in names)
        raise InvalidDataError(f"the model's classes are not those of the rows: no row is of the class {missing}")
    matrix, codes, places, _ = kept[0]
    return Survey(n, read_rows(matrix, bias), codes, places, order, radius, losses)


def _weights_for(W: Array, key: ProblemKey, classes: list[str]) -> Array:
    """Return the weights of a model for a problem, the constant feature's last."""
    w = W[classes.index(key.label)] if key.kind == "class" else W
    return w if key.bias else np.append(w.ravel()[:-1], 0.0)


def _signed(scores: Array, codes: Array, key: ProblemKey, classes: list[str]) -> Array:
    """Return the scores z·w of the signed rows of a problem; for pairs, each rival's in a column."""
    if key.kind == "pairs":
        own = np.take_along_axis(scores, codes[:, None], axis=1)
        rivals = np.arange(len(classes)) != codes[:, None]
        return (own - scores)[rivals].reshape(len(codes), -1)
    column = classes.index(key.label) if key.kind == "class" else 0
    return np.where(codes == classes.index(str(key.positive(classes))), 1.0, -1.0) * scores[:, column]


def _nearest(kept: list[tuple[Any, Array, Array, Array]], classes: int) -> list[tuple[Any, Array, Array, Array]]:
    """Return the rows of each class whose scores are nearest to 0, joined, in their order."""
    matrices: list[Any] = [of[0] for of in kept]
    matrix = vstack(matrices).tocsr() if hasattr(matrices[0], "tocsr") else np.concatenate(matrices)
    codes, places, scores = (np.concatenate([of[k] for of in kept]) for k in (1, 2, 3))
    ranked = np.lexsort((places, np.abs(scores)))
    chosen = [ranked[codes[ranked] == c][: max(CORE_ROWS // classes, 1)] for c in range(classes)]
    rows = np.sort(np.concatenate(chosen))
    return [(matrix[rows], codes[rows], places[rows], scores[rows])]
