"""Training state with dual weights: w = sum of a_j phi(x_j), known by its kernel values."""

import hashlib
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense, Dual
from linsep.engine.links import Scaled
from linsep.engine.runtime import uninterrupted
from linsep.kernels.blocks import block_of
from linsep.kernels.functions import Kernel, Precomputed, kernel_matrix
from linsep.training.history import OtherRows, Support, VotingState, named, no_rows
from linsep.training.state import IN_ORDER, Parts, StoppedError
from linsep.validation.inputs import refuse_bad_entries

BLOCK = 512
"""Rows whose kernel values are computed before any of them is learned."""
UNEVEN = 1e-6
"""What rounding may make of a symmetric matrix, relative to its largest value."""
BLOCK_BYTES = 1 << 27
"""Kernel values that are at hand for a block, at most."""


@dataclass
class KernelState(VotingState):
    """A state with a weight for each row that has made a mistake, driven by any rule through the same passes.

    Rows are learned in blocks: their kernel values with the rows that have weights, and with each other, are computed
    at once for all classes; then the rule walks over them. `link.s` has a line for each row that was kept. Of a kernel
    that is given as a matrix, K(x, x) is kept in place of the row.
    """

    divisible: ClassVar[bool] = False
    other_cure: ClassVar[str] = ""
    of: Any = None
    """The kernel."""
    width: int = 0
    jobs: int = 1
    cache_bytes: int = 0
    digested: bool = False
    digest: str = ""
    """Of a matrix that is given, if it is to be known again."""
    cache: Any = field(default=None, repr=False)
    double: Support | None = field(default=None, repr=False)
    """The rows that were kept, in double precision."""

    @classmethod
    def start(
        cls, parts: Parts, features: int, columns: int, pair: bool, bias: float, background: bool = False
    ) -> "KernelState":
        """Return a state before its first round."""
        state: Any = super().start(parts, 0, columns, pair, bias, background)
        state.width = state.first_features = features
        if isinstance(state.link, Scaled):
            state.link = state.link._replace(dual=True)
        return state

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again."""
        return super().__getstate__() | {"cache": None, "double": None}

    def inner(self) -> Kernel:
        """Return the kernel."""
        return self.of

    @property
    def features(self) -> int:
        """The number of features, of the rows."""
        return self.width

    def resize(self, features: int) -> None:
        """Give the rows that were kept that many features."""
        self.width, self._told, self._scorer = features, None, None
        if self.support is not None:
            self.support = self.support.copy()
            self.support.widen(features)

    def check_again(self, data: Dense | Csr) -> None:
        """Raise a ValueError if `fit` can't go on with these data."""
        if not isinstance(self.of, Precomputed):
            super().check_again(data)
        elif not self.digest or digest_of(data) != self.digest:
            refuse_bad_entries(data)
            raise OtherRows("warm_start goes on with the matrix of the first fit, begun with warm_start=True, alone")

    def run(
        self, data: Any, codes: Array, weights: Array, order: Array, first: int, base: int | None = None,
        span: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        """Make one pass, block by block."""
        if self.support is None:
            like = Dense(np.empty((0, 1)), 0.0) if isinstance(self.of, Precomputed) else no_rows(data)
            self.support = Support.of(like, np.empty(0, np.int64))
            self.digest = digest_of(data) if isinstance(self.of, Precomputed) and self.digested else ""
        self._told = None
        self._fill_cache(data)
        p, n = span or (0, len(order) if len(order) else data.n_rows)
        try:
            while p < n:
                size = max(1, min(BLOCK, BLOCK_BYTES // (8 * (len(self.support) + BLOCK))))
                rows = order[p : p + size] if len(order) else np.arange(p, min(p + size, n))
                self._learn(data, rows, codes[rows], weights[rows] if len(weights) else weights, first)
                p += len(rows)
        except BaseException:
            self.behind += n  # numbers that were given stay so, if it goes on all the same
            raise

    def _learn(self, data: Dense | Csr, rows: Array, codes: Array, weights: Array, first: int) -> None:
        """Learn a block of rows: the whole of it, and keep what is needed of it, before Ctrl-C is heard."""
        assert self.support is not None
        numbers = rows + first
        known = self.support.places(numbers)
        kernels, norms = self._kernels(data, rows, numbers)
        with uninterrupted():
            since, lines = self.end, len(self.log)
            self._walk(kernels, norms, known, codes, weights, rows)
            self.pass_time(since, weights[weights > 0])
            moved = self.log.numbers[lines:, 0]
            new = np.unique(moved[known[moved] < 0])
            moved[:] = numbers[moved]
            self.refuse_more(len(new))
            S = len(self.support)
            self._lines(np.concatenate([np.arange(S), S + new, [-1]]))
            if len(new) and isinstance(self.of, Precomputed):
                self.support.add(Dense(norms[:, None], 0.0), new, numbers[new])
            elif len(new):
                self.support.add(data, rows[new], numbers[new])

    def _walk(self, kernels: Array, norms: Array, known: Array, codes: Array, weights: Array, rows: Array) -> None:
        """Let the rule walk over a block; rows that have no weight yet get one, after those of all that have."""
        assert self.support is not None
        S, B = len(self.support), len(rows)
        own = np.where(known >= 0, known, S + np.arange(B)).astype(np.int64)
        self._lines(np.append(np.arange(S), np.full(B + 1, -1)))
        try:
            super().run(Dual(kernels, norms, np.ones(B), own, S + B, 0.0), codes, weights, IN_ORDER, 0)
        except StoppedError as stop:
            raise StoppedError(int(rows[stop.row]), stop.status) from None

    def _lines(self, lines: Array) -> None:
        """Keep these lines of the weights, in this order; -1 is a line of zeros."""
        s = self.link.s
        moved = np.zeros((len(lines), s.shape[1]))
        there = lines >= 0
        moved[there] = s[lines[there]]
        self.link = self.link._replace(s=moved)

    def _kernels(self, data: Dense | Csr, rows: Array, numbers: Array) -> tuple[Array, Array]:
        """Return what a block's rows make with the rows that have weights, and with each other; and with themselves."""
        assert self.support is not None
        S, B = len(self.support), len(rows)
        kernels, block, there = np.empty((B, S + B)), block_of(data, rows), 0
        for part in self.cache[1]:
            kernels[:, there : there + part.shape[1]] = part[rows]
            there += part.shape[1]
        with named(rows):
            if isinstance(self.of, Precomputed):
                kernels[:] = self.of(block, np.append(self.support.known, numbers))
                norms = self.of.diagonal(block, numbers)
            else:
                kernel_matrix(self.of, block, self._kept(there, S), self.jobs, out=kernels[:, there:S])
                kernel_matrix(self.of, block, block, self.jobs, out=kernels[:, S:])
                norms = self.of.diagonal(block)
        refuse_no_kernel(kernels[:, S:], norms, rows)
        return kernels, norms

    def _kept(self, start: int, stop: int) -> Any:
        """Return some of the rows that have weights as a block; those of single precision are converted once."""
        assert self.support is not None
        rows = self.support.rows()
        if isinstance(rows, Csr) or rows.values.dtype == np.float64:
            return block_of(rows, slice(start, stop))
        if self.double is None:
            self.double = Support.of(Dense(np.empty((0, self.width)), 0.0), np.empty(0, np.int64))
        done = len(self.double)
        self.double.add(rows, np.arange(done, len(self.support)), self.support.known[done:])
        return self.double.rows().values[start:stop]

    def _fill_cache(self, data: Dense | Csr) -> None:
        """From the second pass over the same rows on, keep their kernel values with rows that have weights."""
        assert self.support is not None
        if self.cache is None or self.cache[0] is not data:
            self.cache = data, []
            return
        if isinstance(self.of, Precomputed):
            return
        n, parts = data.n_rows, self.cache[1]
        there, wanted = sum(part.shape[1] for part in parts), min(len(self.support), self.cache_bytes // (8 * n))
        if wanted <= there:
            return
        kept, more = self._kept(there, wanted), np.empty((n, wanted - there))
        for lo in range(0, n, BLOCK):
            with named(range(lo, n)):
                block = block_of(data, slice(lo, lo + BLOCK))
                kernel_matrix(self.of, block, kept, self.jobs, out=more[lo : lo + BLOCK])
        parts.append(more)

    def remember(self, data: Dense | Csr, first: int, since: int, weights: Array) -> None:
        """Do nothing but forget what was kept for the next epoch: rows and time were kept on the way."""
        self.cache, self.double, self._told = None, None, None

    def supporting(self) -> Any:
        """Return the rows that were kept; their numbers where the kernel is given as a matrix."""
        kept = super().supporting()
        return self.support.known if isinstance(self.of, Precomputed) and self.support is not None else kept

    def against(self, kept: Any, data: Dense | Csr, lo: int, hi: int) -> Array:
        """Return what each row that was kept makes with each of some points, (rows, points)."""
        if not isinstance(self.of, Precomputed):
            return super().against(kept, data, lo, hi)
        with named(range(lo, hi)):
            return np.ascontiguousarray(self.of(block_of(data, slice(lo, hi)), kept).T)

    def _squared(self) -> Array:
        assert self.support is not None
        if isinstance(self.of, Precomputed):
            return self.support.rows().values[:, 0]
        return super()._squared()


def digest_of(matrix: Dense | Csr) -> str:
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
        raise ValueError(
            f"the kernel of row {rows[i]} with itself is {norms[i]:g}, and no feature space has a length below 0"
        )
    far = np.abs(kernels - kernels.T)
    if far.max(initial=0.0) > UNEVEN * np.abs(kernels).max(initial=0.0):
        i, j = (int(place) for place in np.unravel_index(int(np.argmax(far)), far.shape))
        values = f"{kernels[i, j]:g} and {kernels[j, i]:g}"
        raise ValueError(f"the kernel of row {rows[i]} and row {rows[j]} is {values}: it must be symmetric")
