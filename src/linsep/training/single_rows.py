"""Fast path of learn_one and predict_one: cache what stays constant between rows."""

from functools import cache
from typing import Any

import numpy as np
from numba import typeof, types

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import NOT_RISING, NOT_TOGETHER, Single
from linsep.engine.links import Imaged
from linsep.engine.native import Bound, BoundType
from linsep.engine.passes import BAD_SCORE, DONE, FLAW, LOG_FULL, TOO_LARGE
from linsep.engine.predict_row import predict_row
from linsep.engine.runtime import uninterrupted
from linsep.training.history import RunHypotheses, refuse_endless
from linsep.training.scoring import with_zero_row
from linsep.training.state import IN_ORDER, NO_WEIGHTS, SparseState, TrainingState
from linsep.training.weights import for_reading
from linsep.validation.errors import InvalidDataError
from linsep.validation.inputs import refuse_other_columns, refuse_unequal, single_row

ARRAY, EMPTY, NO_CODES = np.ndarray, np.empty(0), np.empty(0, np.int32)


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
        """True if pairs of arrays may go straight to the kernel."""

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

    def call(self, bound: Bound, row: tuple[Any, ...], *more: int) -> tuple[int, int]:
        """Run the kernel on (values, indices) or (values, indices, label), in Python while there were few rows."""
        if row[1].dtype is not self.index or row[0].dtype is not self.value:
            if self.kernel.in_python(bound, row, *more):
                return self.kernel.run_in_python(bound, row, *more)
            value, index, label = row[0].dtype, row[1].dtype, tuple(map(typeof, row[2:]))
            self.compiled = entry_point(self.kernel.compiled, bound.type, value, index, label, len(more))
            self.index, self.value = index, value
        return self.compiled(bound, row, *more)


@cache
def entry_point(kernel: Any, bound: BoundType, value: Any, index: Any, label: tuple[Any, ...], more: int) -> Any:
    """Return the compiled code for arrays of these types and `more` integers; new names look it up again."""
    arrays = typeof(np.empty(0, value)), typeof(np.empty(0, index))
    signature = bound, types.Tuple((*arrays, *label)), *[typeof(0)] * more
    kernel.compile(signature)
    return kernel.overloads[signature].entry_point


class RowLearner(Direct):
    """The learning pass over a single row, with everything bound that stays the same from row to row.

    A row's label is the code of its class, or its target where the rule takes targets.
    """

    def __init__(
        self, state: TrainingState, bias: float, features: int, codes: dict[Any, int], class_weights: Array = NO_WEIGHTS
    ) -> None:
        state.check_for_single_rows()
        super().__init__(state.compiled_pass(Single))
        self.state, self.bias, self.codes, self.class_weights = state, bias, codes, class_weights
        self.direct = state.history is None and state.features == features  # no room for features without a name
        self.bound: dict[bool, Bound] = {}
        """The arguments of the kernel, by whether the indices of a row are known to be distinct; made when needed."""
        if state.history is not None:
            state.history.commit(state)

    def learned(self, x: tuple[Any, ...], label: float) -> bool:
        """Learn from x and return True if its arrays are as the last row's and without a flaw; else do nothing."""
        if not self.fits(x):
            return False
        indices, values = x
        state = self.state
        bound = self.bound.get(False) or self._bind(False)
        _, status = self.compiled(bound, (values, indices, label), 0, 1, state.behind + state.rows)
        if status != DONE:
            return False
        state.rows += 1
        return True

    def learn(self, indices: Array, values: Array, distinct: bool, label: float) -> None:
        """Make one pass over the row, or raise a ValueError that names its fault; then nothing changes."""
        state, history = self.state, self.state.history
        if history is None:
            self._pass(indices, values, distinct, label)
            return
        weight = self.class_weights[int(label) : int(label) + 1]
        refuse_endless(RunHypotheses(state).span()[1] + float(weight.sum()))
        with uninterrupted():
            since, lines = int(state.tally.rounds[0]), state.log.lines
            self._pass(indices, values, distinct, label)
            if int(state.tally.rounds[0]) > since:
                row = single_row(indices, values, state.features, self.bias)
                history.remember(state, row, state.behind + state.rows - 1, since, weight)
            history.commit(state)
            if state.log.lines is not lines:  # forgotten in part
                self.bound.clear()

    def _pass(self, indices: Array, values: Array, distinct: bool, label: float) -> None:
        bound = self.bound.get(distinct) or self._bind(distinct)
        flaw, status = self.call(bound, (values, indices, label), 0, 1, self.state.behind + self.state.rows)
        if status == DONE:
            self.state.rows += 1
        else:
            self._retry(indices, values, distinct, label, flaw, status)

    def _bind(self, distinct: bool) -> Bound:
        data = Single(EMPTY, EMPTY, 0, self.state.features, self.bias, distinct)
        self.bound[distinct] = self.state.bound(data, NO_CODES, self.class_weights, IN_ORDER)
        return self.bound[distinct]

    def _retry(self, indices: Array, values: Array, distinct: bool, label: float, flaw: int, status: int) -> None:
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
        self._pass(indices, values, distinct, label)

    def _refuse(self, indices: Array, values: Array, status: int) -> None:
        if status == FLAW:
            width = self.state.features
            refuse_other_columns(indices, width)
        if not np.isfinite(values).all():
            bad = int(np.flatnonzero(~np.isfinite(values))[0])
            raise InvalidDataError(f"x contains {values[bad]} at column {indices[bad]}: fill it in, or drop the row")
        if status == BAD_SCORE:
            raise InvalidDataError("the score of x is too large for float64: divide all rows by one factor")
        if status == TOO_LARGE:
            raise InvalidDataError(
                "x makes a weight whose square is too large for float64: divide all rows by one factor"
            )
        raise InvalidDataError(f"the rule {type(self.state.rule).__name__} gave a step that is not a finite number")


class RowPredictor(Direct):
    """The prediction for a single row, by the weights of a state as they are at the time."""

    def __init__(self, state: TrainingState, bias: float, labels: Array, names: dict[str, int] | None) -> None:
        kinds: Any = type(state.link), type(state.readout)
        super().__init__(predict_row(*kinds))
        self.state, self.bias, self.labels, self.names = state, bias, labels.tolist(), names
        self.kept = state.sparse.kept if isinstance(state, SparseState) else None
        self.direct = self.kept is None and names is None
        self.one_scale = not isinstance(state.link, Imaged) or state.pair or len(labels) <= 2
        link, readout = state.link, state.readout
        if self.kept is not None:
            link, readout = with_zero_row(link), with_zero_row(readout)
        self.width = len(link.s) - 1
        numbers = (0, self.width, bias, False)
        parts = tuple(for_reading(link)), tuple(for_reading(readout)), numbers
        self.bound = Bound(*parts, len(labels), state.pair, np.empty(link.s.shape[1]))

    def predict(self, indices: Array, values: Array) -> Any:
        """Return the label of the row; features outside of the learner's count as 0."""
        places = indices
        if self.kept is not None:
            refuse_unequal(indices, values)
            places = self.kept.places(indices.astype(np.int64))
        if places.dtype is self.index and values.dtype is self.value:
            code, status = self.compiled(self.bound, (values, places))
        else:
            code, status = self.call(self.bound, (values, places))
        if status == FLAW:
            refuse_unequal(indices, values)
            known = (places >= 0) & (places < self.width)
            indices, places, values = indices[known], places[known], values[known]
            code, status = self.call(self.bound, (values, places))
        if status != DONE:
            raise InvalidDataError("x has an entry, or gives a score, that is not a finite number")
        return self.labels[code if self.one_scale else self._compared(indices, values)]

    def _compared(self, indices: Array, values: Array) -> int:
        """Return the class of the highest normalised score."""
        row = single_row(indices, values, self.state.features, self.bias)
        return int(np.argmax(self.state.scorer().scores(row, 1)[0, : len(self.labels)]))
