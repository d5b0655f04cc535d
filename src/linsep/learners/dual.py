"""A machine whose weights are those of rows: w = sum of a_j phi(x_j), known by the kernel alone."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linsep.core.examples import Array, Csr, Dense, Dual
from linsep.core.links import Scaled
from linsep.data.inputs import rows_of
from linsep.learners.machine import IN_ORDER, Parts, StoppedError
from linsep.learners.support import Support, as_matrix, no_rows
from linsep.learners.voting import Voting
from linsep.maps.blocks import block_of
from linsep.maps.kernel_errors import KernelError
from linsep.maps.kernels import Kernel, Precomputed, kernel_matrix

BLOCK = 512
"""Rows whose kernel values are computed before any of them is learned."""
BLOCK_BYTES = 1 << 27
"""Kernel values that are at hand for a block, at most."""


@dataclass
class DualMachine(Voting):
    """A machine with a weight for each row that has made a mistake, driven by any rule through the same passes.

    Rows are learned in blocks: their kernel values with the rows that have weights, and with each other, are computed
    at once for all classes; then the rule walks over them. `link.s` has a line for each row that was kept. Of a kernel
    that is given as a matrix, K(x, x) is kept in place of the row.
    """

    divisible: ClassVar[bool] = False
    of: Any = None
    """The kernel."""
    width: int = 0
    jobs: int = 1
    cache_bytes: int = 0
    cache: Any = field(default=None, repr=False)
    double: Support | None = field(default=None, repr=False)
    """The rows that were kept, in double precision."""

    @classmethod
    def start(
        cls, parts: Parts, features: int, columns: int, pair: bool, bias: float, background: bool = False
    ) -> "DualMachine":
        """Return a machine before its first round."""
        machine: Any = super().start(parts, 0, columns, pair, bias, background)
        machine.width = machine.first_features = features
        if isinstance(machine.link, Scaled):
            machine.link = machine.link._replace(dual=True)
        return machine

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
        self.width, self._told, self._answer = features, None, None
        if self.support is not None:
            self.support = self.support.copy()
            self.support.widen(features)

    def check_again(self, data: Dense | Csr) -> None:
        """Raise a ValueError if `fit` can't go on with these data."""
        if isinstance(self.of, Precomputed) and self.support is not None:
            matrix = data.values if isinstance(data, Dense) else as_matrix(data)
            data = Dense(self.of.diagonal(matrix, np.arange(rows_of(data)))[:, None], 0.0)
        super().check_again(data)

    def run(self, data: Any, codes: Array, weights: Array, order: Array, first: int, base: int | None = None) -> None:
        """Make one pass, block by block."""
        if self.support is None:
            like = Dense(np.empty((0, 1)), 0.0) if isinstance(self.of, Precomputed) else no_rows(data)
            self.support = Support.of(like, np.empty(0, np.int64))
        self._told = None
        self._fill_cache(data)
        n, p = len(order) if len(order) else rows_of(data), 0
        while p < n:
            size = max(1, min(BLOCK, BLOCK_BYTES // (8 * (len(self.support) + BLOCK))))
            rows = order[p : p + size] if len(order) else np.arange(p, min(p + size, n))
            self._learn(data, rows, codes[rows], weights[rows] if len(weights) else weights, first)
            p += len(rows)

    def _learn(self, data: Dense | Csr, rows: Array, codes: Array, weights: Array, first: int) -> None:
        """Learn a block of rows."""
        assert self.support is not None
        S, B, numbers = len(self.support), len(rows), rows + first
        known = self.support.places(numbers)
        kernels, norms = self._kernels(data, rows, numbers)
        own = np.where(known >= 0, known, S + np.arange(B)).astype(np.int64)
        self._lines(np.append(np.arange(S), np.full(B + 1, -1)))
        lines = int(self.log.filled[0])
        try:
            super().run(Dual(kernels, norms, np.ones(B), own, S + B, 0.0), codes, weights, IN_ORDER, 0)
        except StoppedError as stop:
            raise StoppedError(int(rows[stop.row]), stop.status) from None
        moved = self.log.numbers[lines : int(self.log.filled[0]), 0]
        new = np.unique(moved[known[moved] < 0])
        moved[:] = numbers[moved]
        self.refuse_more(len(new))
        self._lines(np.concatenate([np.arange(S), S + new, [-1]]))
        if len(new) and isinstance(self.of, Precomputed):
            self.support.add(Dense(norms[:, None], 0.0), new, numbers[new])
        elif len(new):
            self.support.add(data, rows[new], numbers[new])

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
                return kernels, self.of.diagonal(block, numbers)
            kernel_matrix(self.of, block, self._kept(there, S), self.jobs, out=kernels[:, there:S])
            kernel_matrix(self.of, block, block, self.jobs, out=kernels[:, S:])
            return kernels, self.of.diagonal(block)

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
        n, parts = rows_of(data), self.cache[1]
        there, wanted = sum(part.shape[1] for part in parts), min(len(self.support), self.cache_bytes // (8 * n))
        if wanted <= there:
            return
        kept, more = self._kept(there, wanted), np.empty((n, wanted - there))
        for lo in range(0, n, BLOCK):
            with named(range(lo, n)):
                block = block_of(data, slice(lo, lo + BLOCK))
                kernel_matrix(self.of, block, kept, self.jobs, out=more[lo : lo + BLOCK])
        parts.append(more)

    def remember(self, data: Dense | Csr, first: int, since: int) -> None:
        """Do nothing but forget what was kept for the next epoch: rows of updates were kept on the way."""
        self.cache, self.double, self._told = None, None, None

    def supporting(self) -> Any:
        """Return the rows that were kept; their numbers where the kernel is given as a matrix."""
        kept = super().supporting()
        return self.support.known if isinstance(self.of, Precomputed) and self.support is not None else kept

    def against(self, kept: Any, data: Dense | Csr, lo: int, hi: int) -> Array:
        """Return what each row that was kept makes with each of some points, (rows, points)."""
        matrix = isinstance(self.of, Precomputed)
        with named(range(lo, hi), of=0 if matrix else 1):
            if matrix:
                return np.ascontiguousarray(self.of(block_of(data, slice(lo, hi)), kept).T)
            return super().against(kept, data, lo, hi)

    def _squared(self) -> Array:
        assert self.support is not None
        if isinstance(self.of, Precomputed):
            return self.support.rows().values[:, 0]
        return super()._squared()


@contextmanager
def named(rows: Sequence[int] | Array, of: int = 0) -> Iterator[None]:
    """Give a value of the kernel that is refused inside of the block the number of its row, or of its column."""
    try:
        yield
    except KernelError as error:
        raise ValueError(f"the kernel of row {rows[error.rows[of]]}: {error.text}") from None
