"""Fast path of learn_one and predict_one: cache what stays constant between rows."""

from functools import cache
from typing import Any

import numpy as np
from numba import typeof

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import NOT_RISING, NOT_TOGETHER, Single
from linsep.engine.links import Imaged
from linsep.engine.native import Bound, BoundType
from linsep.engine.passes import BAD_SCORE, DONE, FLAW, LOG_FULL, TOO_LARGE
from linsep.engine.predict_row import predict_row
from linsep.engine.runtime import uninterrupted
from linsep.training.history import Replay, refuse_endless
from linsep.training.scoring import with_zero_row
from linsep.training.state import IN_ORDER, TrainingState
from linsep.training.weights import for_reading
from linsep.validation.inputs import refuse_other_columns, refuse_unequal, single_row

ARRAY, EMPTY = np.ndarray, np.empty(0)


class Direct:
    """A kernel over a single row, called without a check of its arguments' types.

    Looking up compiled code by types costs as much as running it here, so it is looked up once, for `index` and
    `value`, the types of the last row's arrays. The call is safe with 1-d arrays of these types alone.
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.index: Any = None
        self.value: Any = None
        self.compiled: Any = None
        self.direct = True
        """Whether pairs of arrays may go straight to the kernel."""

    def fits(self, x: tuple[Any, ...]) -> bool:
        """Return whether x may go straight to the kernel: it is a pair of 1-d arrays of the types of the last row."""
        if len(x) != 2 or not self.direct:
            return False
        indices, values = x
        return (
            type(indices) is ARRAY
            and type(values) is ARRAY
            and indices.dtype is self.index
            and values.dtype is self.value
            and indices.ndim == 1
            and values.ndim == 1
        )

    def call(self, bound: Bound, indices: Array, values: Array, *more: int) -> tuple[int, int]:
        """Run the kernel on a row, in Python while there were few rows."""
        if indices.dtype is not self.index or values.dtype is not self.value:
            row = values, indices
            if self.kernel.in_python(bound, row, *more):
                return self.kernel.run_in_python(bound, row, *more)
            self.compiled = entry_point(self.kernel.compiled, bound.type, values.dtype, indices.dtype, len(more))
            self.index, self.value = indices.dtype, values.dtype
        return self.compiled(bound, (values, indices), *more)


@cache
def entry_point(kernel: Any, bound: BoundType, value: Any, index: Any, more: int) -> Any:
    """Return the compiled code for arrays of these types and `more` integers; new names look it up again."""
    row = np.empty(0, value), np.empty(0, index)
    signature = bound, typeof(row), *[typeof(0)] * more
    kernel.compile(signature)
    return kernel.overloads[signature].entry_point


class RowLearner(Direct):
    """The learning pass over a single row, with everything bound that stays the same from row to row.

    The row is taken from a table that has it once for each class: to learn it with label `code` is to visit
    that one.
    """

    def __init__(self, state: TrainingState, bias: float, codes: dict[Any, int], weights: Array, features: int) -> None:
        state.check_for_single_rows()
        super().__init__(state.kernel(Single))
        self.state, self.bias, self.codes, self.weights = state, bias, codes, weights
        self.direct = state.history is None and state.features == features  # no room for features without a name
        self.bound: dict[bool, Bound] = {}
        """The arguments of the kernel, by whether the indices of a row are known to be distinct; made when needed."""
        if state.history is not None:
            state.history.commit(state)

    def learned(self, x: tuple[Any, ...], code: int) -> bool:
        """Learn from x and return True if its arrays are as the last row's and without a flaw; else do nothing."""
        if not self.fits(x):
            return False
        indices, values = x
        state = self.state
        number = state.behind + state.rows
        bound = self.bound.get(False) or self._bind(False)
        _, status = self.compiled(bound, (values, indices), code, code + 1, number - code)
        if status != DONE:
            return False
        state.rows += 1
        return True

    def learn(self, indices: Array, values: Array, distinct: bool, code: int) -> None:
        """Make one pass over the row, or raise a ValueError that names its fault; then nothing changes."""
        state, history = self.state, self.state.history
        if history is None:
            self._pass(indices, values, distinct, code)
            return
        weights = self.weights[code : code + 1]
        refuse_endless(Replay(state).span()[1] + float(weights.sum()))
        with uninterrupted():
            since, lines = int(state.tally.rounds[0]), state.log.lines
            self._pass(indices, values, distinct, code)
            if int(state.tally.rounds[0]) > since:
                row = single_row(indices, values, state.features, self.bias)
                history.remember(state, row, state.behind + state.rows - 1, since, weights)
            history.commit(state)
            if state.log.lines is not lines:  # forgotten in part
                self.bound.clear()

    def _pass(self, indices: Array, values: Array, distinct: bool, code: int) -> None:
        number = self.state.behind + self.state.rows
        bound = self.bound.get(distinct) or self._bind(distinct)
        flaw, status = self.call(bound, indices, values, code, code + 1, number - code)
        if status == DONE:
            self.state.rows += 1
        else:
            self._retry(indices, values, distinct, code, flaw, status)

    def _bind(self, distinct: bool) -> Bound:
        data = Single(EMPTY, EMPTY, self.state.features, self.bias, distinct)
        codes = np.arange(len(self.codes), dtype=np.int32)
        self.bound[distinct] = self.state.bound(data, codes, self.weights, IN_ORDER)
        return self.bound[distinct]

    def _retry(self, indices: Array, values: Array, distinct: bool, code: int, flaw: int, status: int) -> None:
        """Learn the row after all, where that takes no more than room in the log or the row in another form."""
        if status == LOG_FULL:
            # Single rows are not weighed one by one: the log's limit takes all so far to be as large as this one.
            size = self.state.rows * (indices.nbytes + values.nbytes)
            log = self.state.log.allowing(max(self.state.log.data_bytes, size))
            self.state.log = log.enlarged(self.state.columns)
            self.bound.clear()
        elif status == FLAW and flaw == NOT_TOGETHER:
            indices, values = indices.copy(), values.copy()
        elif status == FLAW and flaw == NOT_RISING:
            indices, place = np.unique(indices, return_inverse=True)
            values, distinct = np.bincount(place, weights=values), True
        else:
            self._refuse(indices, values, status)
        self._pass(indices, values, distinct, code)

    def _refuse(self, indices: Array, values: Array, status: int) -> None:
        if status == FLAW:
            width = self.state.features
            refuse_other_columns(indices, width)
        if not np.isfinite(values).all():
            bad = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"x contains {values[bad]} at column {indices[bad]}: fill it in, or drop the row")
        if status == BAD_SCORE:
            raise ValueError("the score of x is too large for float64: divide all rows by one factor")
        if status == TOO_LARGE:
            raise ValueError("x makes a weight whose square is too large for float64: divide all rows by one factor")
        raise ValueError(f"the rule {type(self.state.rule).__name__} gave a step that is not a finite number")


class TargetLearner(RowLearner):
    """The learning pass over a single row whose y is a number, which is written to where its code is read."""

    def __init__(self, state: TrainingState, bias: float, features: int) -> None:
        super().__init__(state, bias, {}, EMPTY, features)
        self.target = np.zeros(1)

    def learn_target(self, indices: Array, values: Array, y: float) -> None:
        """Make one pass over the row, or raise a ValueError that names its fault; then nothing changes."""
        self.target[0] = y
        self.learn(indices, values, False, 0)

    def _bind(self, distinct: bool) -> Bound:
        data = Single(EMPTY, EMPTY, self.state.features, self.bias, distinct)
        self.bound[distinct] = self.state.bound(data, self.target, self.weights, IN_ORDER)
        return self.bound[distinct]


class RowPredictor(Direct):
    """The prediction for a single row, by the weights of a state as they are at the time."""

    def __init__(self, state: TrainingState, bias: float, labels: Array, names: dict[str, int] | None) -> None:
        kinds: Any = type(state.link), type(state.readout)
        super().__init__(predict_row(*kinds))
        self.state, self.bias, self.labels, self.names = state, bias, labels.tolist(), names
        self.direct = state.sparse is None and names is None
        self.one_scale = not isinstance(state.link, Imaged) or state.pair or len(labels) <= 2
        link, readout = state.link, state.readout
        if state.sparse is not None:
            link, readout = with_zero_row(link), with_zero_row(readout)
        self.width = len(link.s) - 1
        numbers = (self.width, bias, False)
        parts = tuple(for_reading(link)), tuple(for_reading(readout)), numbers
        self.bound = Bound(*parts, len(labels), state.pair, np.empty(link.s.shape[1]))

    def predict(self, indices: Array, values: Array) -> Any:
        """Return the label of the row; features outside of the learner's count as 0."""
        places, sparse = indices, self.state.sparse
        if sparse is not None:
            refuse_unequal(indices, values)
            places = sparse.kept.places(indices.astype(np.int64))
        code, status = self.call(self.bound, places, values)
        if status == FLAW:
            refuse_unequal(indices, values)
            known = (places >= 0) & (places < self.width)
            indices, places, values = indices[known], places[known], values[known]
            code, status = self.call(self.bound, places, values)
        if status != DONE:
            raise ValueError("x has an entry, or gives a score, that is not a finite number")
        return self.labels[code if self.one_scale else self._compared(indices, values)]

    def _compared(self, indices: Array, values: Array) -> int:
        """Return the class of the highest normalised score."""
        row = single_row(indices, values, self.state.features, self.bias)
        return int(np.argmax(self.state.scorer().scores(row, 1)[0, : len(self.labels)]))
