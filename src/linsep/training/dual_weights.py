"""Dual weights: w = sum of a_j phi(x_j), known by its kernel values."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense, Dual
from linsep.engine.runtime import uninterrupted
from linsep.kernels.blocks import block_of
from linsep.kernels.functions import Precomputed, kernel_matrix
from linsep.training.history import History, OtherRows, Support, copy_rows, named, no_rows
from linsep.training.state import IN_ORDER, StoppedError, TrainingState
from linsep.validation.errors import InvalidDataError
from linsep.validation.inputs import refuse_bad_entries

KERNEL_ROWS = 512
"""Rows whose kernel values are computed before any of them is learned."""
UNEVEN = 1e-6
"""Tolerance of symmetry, relative to the largest value."""
KERNEL_BYTES = 1 << 27
"""Kernel values in memory for one block, at most."""


@dataclass
class DualWeights:
    """A weight for each row that has made a mistake, driven by any rule through the same passes.

    Rows are learned in blocks: their kernel values with the rows that have weights, and with each other, are computed
    at once for all classes; then the rule walks over them. `link.s` of the state has a line for each row that its
    history keeps. Of a kernel that is given as a matrix, K(x, x) is kept in place of the row.
    """

    width: int
    """The number of features of the rows."""
    jobs: int = 1
    cache_bytes: int = 0
    digested: bool = False
    digest: str = ""
    """The digest of a kernel matrix, by which a resumed `fit` recognizes it."""
    _cache: Any = field(default=None, repr=False)
    _double: Support | None = field(default=None, repr=False)
    """The rows that were kept, in double precision."""

    def drop_cached(self) -> None:
        """Drop the kernel values kept for the next epoch."""
        self._cache = self._double = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again."""
        return vars(self) | {"_cache": None, "_double": None}

    def check_same_rows(self, history: History, data: Dense | Csr) -> None:
        """Raise a ValueError if `fit` can't resume with these data."""
        if not history.precomputed:
            history.check_same_rows(data)
        elif not self.digest or matrix_digest(data) != self.digest:
            refuse_bad_entries(data)
            raise OtherRows("warm_start resumes with the matrix of the first fit only, begun with warm_start=True")

    def run(
        self, state: TrainingState, data: Any, codes: Array, weights: Array, order: Array, first: int,
        span: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        """Make one pass, block by block."""
        history = state.history
        assert history is not None
        if history.support is None:
            given = history.precomputed
            history.support = Support.of(
                Dense(np.empty((0, 1)), 0.0) if given else no_rows(data), np.empty(0, np.int64)
            )
            self.digest = matrix_digest(data) if given and self.digested else ""
        history.drop_cached()
        self._fill_cache(history, history.support, data)
        p, n = span or (0, len(order) if len(order) else data.n_rows)
        try:
            while p < n:
                size = max(1, min(KERNEL_ROWS, KERNEL_BYTES // (8 * (len(history.support) + KERNEL_ROWS))))
                rows = order[p : p + size] if len(order) else np.arange(p, min(p + size, n))
                own = weights[rows] if len(weights) else weights
                self._learn(state, history, history.support, data, rows, codes[rows], own, first)
                p += len(rows)
        except BaseException:
            state.behind += n  # row numbers that were used stay used if training resumes
            raise

    def _learn(
        self, state: TrainingState, history: History, support: Support, data: Dense | Csr, rows: Array, codes: Array,
        weights: Array, first: int,
    ) -> None:  # fmt: skip
        """Learn a block of rows and keep the rows of its updates; Ctrl-C waits until both are done."""
        numbers = rows + first
        known = support.places(numbers)
        kernels, norms = self._kernels(history, support, data, rows, numbers)
        with uninterrupted():
            since, lines = int(state.tally.rounds[0]), len(state.log)
            self._walk(state, len(support), kernels, norms, known, codes, weights, rows)
            history.pass_time(state, since, weights[weights > 0])
            moved = state.log.numbers[lines:, 0]
            new = np.unique(moved[known[moved] < 0])
            moved[:] = numbers[moved]
            history.refuse_more(len(new))
            S = len(support)
            _keep_lines(state, np.concatenate([np.arange(S), S + new, [-1]]))
            if len(new) and history.precomputed:
                support.add(Dense(norms[new, None], 0.0), numbers[new])
            elif len(new):
                support.add(copy_rows(data, rows[new]), numbers[new])

    def _walk(
        self, state: TrainingState, S: int, kernels: Array, norms: Array, known: Array, codes: Array, weights: Array,
        rows: Array,
    ) -> None:  # fmt: skip
        """Run the rule over a block; rows without a weight get one, after all rows that have."""
        B = len(rows)
        own = np.where(known >= 0, known, S + np.arange(B)).astype(np.int64)
        _keep_lines(state, np.append(np.arange(S), np.full(B + 1, -1)))
        try:
            state.run(Dual(kernels, norms, np.ones(B), own, S + B, 0.0), codes, weights, IN_ORDER, 0)
        except StoppedError as stop:
            raise StoppedError(int(rows[stop.row]), stop.status) from None

    def _kernels(
        self, history: History, support: Support, data: Dense | Csr, rows: Array, numbers: Array
    ) -> tuple[Array, Array]:
        """Return the kernel of a block's rows with the rows that have weights and with each other; and the diagonal."""
        S, B, kernel = len(support), len(rows), history.kernel
        kernels, block, there = np.empty((B, S + B)), block_of(data, rows), 0
        for part in self._cache[1]:
            kernels[:, there : there + part.shape[1]] = part[rows]
            there += part.shape[1]
        with named(rows):
            if isinstance(kernel, Precomputed):
                kernels[:] = kernel(block, np.append(support.known, numbers))
                norms = kernel.diagonal(block, numbers)
            else:
                kernel_matrix(kernel, block, self._kept(support, there, S), self.jobs, out=kernels[:, there:S])
                kernel_matrix(kernel, block, block, self.jobs, out=kernels[:, S:])
                norms = kernel.diagonal(block)
        refuse_no_kernel(kernels[:, S:], norms, rows)
        return kernels, norms

    def _kept(self, support: Support, start: int, stop: int) -> Any:
        """Return some of the rows that have weights as a block; those of single precision are converted once."""
        rows = support.rows()
        if isinstance(rows, Csr) or rows.values.dtype == np.float64:
            return block_of(rows, slice(start, stop))
        if self._double is None:
            self._double = Support.of(Dense(np.empty((0, self.width)), 0.0), np.empty(0, np.int64))
        done = len(self._double)
        self._double.add(rows.slice(done, len(support)), support.known[done:])
        return self._double.rows().values[start:stop]

    def _fill_cache(self, history: History, support: Support, data: Dense | Csr) -> None:
        """From the second pass over the same rows on, keep their kernel values with rows that have weights."""
        if self._cache is None or self._cache[0] is not data:
            self._cache = data, []
            return
        if history.precomputed:
            return
        n, parts = data.n_rows, self._cache[1]
        there, wanted = sum(part.shape[1] for part in parts), min(len(support), self.cache_bytes // (8 * n))
        if wanted <= there:
            return
        kept, more = self._kept(support, there, wanted), np.empty((n, wanted - there))
        for lo in range(0, n, KERNEL_ROWS):
            with named(range(lo, n)):
                block = block_of(data, slice(lo, lo + KERNEL_ROWS))
                kernel_matrix(history.kernel, block, kept, self.jobs, out=more[lo : lo + KERNEL_ROWS])
        parts.append(more)


def _keep_lines(state: TrainingState, lines: Array) -> None:
    """Keep these lines of the weights, in this order; -1 is a line of zeros."""
    s = state.link.s
    moved = np.zeros((len(lines), s.shape[1]))
    there = lines >= 0
    moved[there] = s[lines[there]]
    state.link = state.link._replace(s=moved)


def matrix_digest(matrix: Dense | Csr) -> str:
    """Return a digest of a kernel matrix."""
    digest = hashlib.blake2b(digest_size=16)
    for part in matrix:
        if isinstance(part, np.ndarray):
            digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def refuse_no_kernel(kernels: Array, norms: Array, rows: Array) -> None:
    """Raise a ValueError if values of rows with each other are those of no feature space."""
    if len(norms) and norms.min() < 0:
        i = int(np.argmin(norms))
        raise InvalidDataError(
            f"the kernel of row {rows[i]} with itself is {norms[i]:g}, and no feature space has a length below 0"
        )
    far = np.abs(kernels - kernels.T)
    if far.max(initial=0.0) > UNEVEN * np.abs(kernels).max(initial=0.0):
        i, j = (int(place) for place in np.unravel_index(int(np.argmax(far)), far.shape))
        values = f"{kernels[i, j]:g} and {kernels[j, i]:g}"
        raise InvalidDataError(f"the kernel of row {rows[i]} and row {rows[j]} is {values}: it must be symmetric")
