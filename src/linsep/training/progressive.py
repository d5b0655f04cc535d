"""The progressive error of an average: test, then train, block by block.

The error of the weights before each update costs nothing: a pass has their scores. An average has no scores during a
pass, so its rows are predicted in blocks: the average of all rounds before a block predicts the block, then the block
is learned. Blocks end after 1, 2, 4, ... rows, and from some number of rows on they all have the same size: 1,024 rows,
or more if as many entries as there are features take more rows. To predict is then about as much work as one epoch of
scoring, however wide the weights are.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.readouts import AVERAGES

if TYPE_CHECKING:
    from linsep.training.state import TrainingState

SMALLEST_BLOCK = 1024
"""The fewest rows of a block, once so many rows have been learned."""


@dataclass
class ProgressiveErrors:
    """Errors of the average in the first epoch of a training.

    Attributes
    ----------
    rows, errors : int
        Rows predicted so far, without those of weight 0; the wrong predictions among them. As in `errors_`, a score of
        0, a tie and a label never seen are errors.
    active : bool
        If False, no more rows are predicted.
    """

    rows: int = 0
    errors: int = 0
    active: bool = True
    _visited: int = 0
    _epoch: int | None = None

    def counts(self, state: "TrainingState") -> bool:
        """Return whether the next rows are to be predicted before they are learned."""
        if self._epoch is None:
            self._epoch = state.epochs
        return self.active and isinstance(state.readout, AVERAGES) and state.epochs == self._epoch

    def predict_block(
        self, state: "TrainingState", data: Dense | Csr, codes: Array, weights: Array, order: Array, start: int,
        stop: int,
    ) -> int:  # fmt: skip
        """Predict the next block, which begins at a position of the order; return the position of its end."""
        end = min(stop, start + block_end(self._visited, block_size(data)) - self._visited)
        self._visited += end - start
        rows = order[start:end] if len(order) else np.arange(start, end)
        if len(weights):
            rows = rows[weights[rows] != 0]
        block = data.take(rows) if len(order) or len(weights) else data.slice(start, end)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = state.scorer(data.n_features).scores(block, 1)
        state._scorer = None  # as large as the weights, and outdated by the next update
        self.rows += len(rows)
        self.errors += count_errors(scores, codes[rows], state.columns - state.background, state.pair)
        return end


def block_size(data: Dense | Csr) -> int:
    """Return the rows of a block, a power of two.

    >>> block_size(Dense(np.ones((2, 5)), 1.0))
    1024
    >>> block_size(Csr(np.ones(4), np.arange(4), np.array([0, 2, 4]), 10_000, 1.0))
    8192
    """
    entries = max(1, len(data.values) if isinstance(data, Csr) else data.values.size)
    wanted = max(SMALLEST_BLOCK, -(-data.n_features * data.n_rows // entries))
    return 1 << (wanted - 1).bit_length()


def block_end(visited: int, size: int) -> int:
    """Return the number of rows after which the block ends that begins after so many rows.

    >>> [block_end(rows, 1024) for rows in (0, 1, 2, 3, 512, 1024, 1500)]
    [1, 2, 4, 4, 1024, 2048, 2048]
    """
    return min(1 << visited.bit_length(), (visited // size + 1) * size)


def count_errors(scores: Array, codes: Array, known: int, pair: bool) -> int:
    """Return for how many rows the score of the true label is not above all others.

    `scores` has a column for each of the `known` labels, and maybe another; for two labels one column may represent
    both. If `pair`, the columns are those of pairs of classes.

    >>> count_errors(np.array([[1.0], [-1.0], [0.0]]), np.array([1, 1, 0]), 1, False)
    2
    >>> count_errors(np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 2.0]]), np.array([0, 1]), 3, False)
    1
    """
    if scores.shape[1] == 1 and not pair:
        return int(np.sum(~(np.where(codes == 1, scores[:, 0], -scores[:, 0]) > 0)))
    if known == 1:
        return int(np.sum(codes != 0))
    if known == 2 and not pair:
        return int(np.sum(~(np.where(codes == 1, scores[:, 1], -scores[:, 1]) > 0)))
    scores, rows = scores[:, :known].copy(), np.arange(len(codes))
    true = scores[rows, codes]
    scores[rows, codes] = -np.inf
    return int(np.sum(~(true > scores.max(axis=1, initial=-np.inf))))
