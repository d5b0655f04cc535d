"""A machine whose weights are those of rows: w = sum of a_j phi(x_j), known by the kernel alone."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linsep.core.examples import Array, Csr, Dense, Dual
from linsep.core.links import Scaled
from linsep.data.inputs import rows_of
from linsep.learners.machine import IN_ORDER, Parts, StoppedError
from linsep.learners.support import Support, no_rows
from linsep.learners.voting import Voting
from linsep.maps.kernels import Kernel, KernelError, Precomputed, block_of, kernel_matrix

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
        return super().__getstate__() | {"cache": None}

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
            data = Dense(self.of.diagonal(block_of(data, slice(None)), np.arange(rows_of(data)))[:, None], 0.0)
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
        kernels = np.empty((B, S + B))
        block = block_of(data, rows)
        there = 0 if self.cache is None else self.cache[1].shape[1]
        kernels[:, :there] = self.cache[1][rows] if there else 0.0
        try:
            if isinstance(self.of, Precomputed):
                columns = np.append(self.support.known, numbers)[there:]
                kernels[:, there:] = self.of(block, columns)
                return kernels, self.of.diagonal(block, numbers)
            kept = block_of(self.support.rows(), slice(there, S))
            kernels[:, there:S] = kernel_matrix(self.of, block, kept, self.jobs)
            kernels[:, S:] = kernel_matrix(self.of, block, block, self.jobs)
            return kernels, self.of.diagonal(block)
        except KernelError as error:
            raise ValueError(f"the kernel of row {rows[error.rows[0]]}: {error.text}") from None

    def _fill_cache(self, data: Dense | Csr) -> None:
        """From the second pass over the same rows on, keep their kernel values with rows that have weights."""
        assert self.support is not None
        if self.cache is None or self.cache[0] is not data:
            self.cache = data, np.empty((rows_of(data), 0))
            return
        if isinstance(self.of, Precomputed):
            return
        _, values = self.cache
        there, room = values.shape[1], self.cache_bytes // (8 * max(1, rows_of(data)))
        wanted = min(len(self.support), room)
        if wanted <= there:
            return
        grown = np.empty((rows_of(data), wanted))
        grown[:, :there] = values
        self.cache = data, grown
        kept = block_of(self.support.rows(), slice(there, wanted))
        for lo in range(0, rows_of(data), BLOCK):
            block = block_of(data, slice(lo, lo + BLOCK))
            grown[lo : lo + BLOCK, there:] = kernel_matrix(self.of, block, kept, self.jobs)

    def remember(self, data: Dense | Csr, first: int, since: int) -> None:
        """Do nothing but forget what was kept for the next epoch: rows of updates were kept on the way."""
        self.cache, self._told = None, None

    def supporting(self) -> Any:
        """Return the rows that were kept; their numbers where the kernel is given as a matrix."""
        kept = super().supporting()
        return self.support.known if isinstance(self.of, Precomputed) and self.support is not None else kept

    def against(self, kept: Any, data: Dense | Csr, lo: int, hi: int) -> Array:
        """Return what each row that was kept makes with each of some points, (rows, points)."""
        try:
            if isinstance(self.of, Precomputed):
                return np.ascontiguousarray(self.of(block_of(data, slice(lo, hi)), kept).T)
            return super().against(kept, data, lo, hi)
        except KernelError as error:
            raise ValueError(f"the kernel of row {lo + error.rows[1]}: {error.text}") from None

    def _squared(self) -> Array:
        assert self.support is not None
        if isinstance(self.of, Precomputed):
            return self.support.rows().values[:, 0]
        return super()._squared()
