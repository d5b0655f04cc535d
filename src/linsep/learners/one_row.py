"""Learning and predicting one row at a time, at a few microseconds a row."""

from math import isfinite
from typing import Any

import numpy as np
from numba import typeof
from numpy import fromiter

from linsep.core.examples import NOT_RISING, NOT_TOGETHER, Array, Csr, Single
from linsep.core.links import SMALLEST, Imaged
from linsep.core.passes import BAD_SCORE, DONE, FLAW, LOG_FULL
from linsep.core.weights import answering
from linsep.learners.inputs import frozen
from linsep.learners.intact import intact
from linsep.learners.machine import IN_ORDER, NO_WEIGHTS, Machine

ARRAY = np.ndarray
INDEX, FLOAT = np.dtype(np.int64), np.dtype(np.float64)


class Vocabulary(dict[str, int]):
    """Columns by name; a name looked up for the first time gets the next one."""

    def __missing__(self, name: str) -> int:
        self[name] = column = len(self)
        return column


class Desk:
    """The compiled pass over a single row, with everything bound that stays the same from row to row.

    The row is taken from a table in which it stands once for each class: to learn it with label `code` is to visit
    that one. Looking up the compiled code by the types of the arguments costs as much as running it, so it is looked
    up once (for `index` and `value`, the types of the last row's arrays) and then called directly. That is safe with
    1-d arrays of these types alone.
    """

    def __init__(self, machine: Machine, bias: float, codes: dict[Any, int], weights: Array) -> None:
        self.machine, self.bias, self.codes, self.weights = machine, bias, codes, weights
        self.kernel: Any = machine.kernel(Single)
        self.index: Any = None
        self.value: Any = None
        self.compiled: Any = None
        self._bind()

    def learned(self, x: tuple[Any, ...], y: Any) -> bool:
        """Learn from x and tell so, if it is as the last row was, without a flaw, and y is known; else do nothing."""
        if len(x) != 2 or y not in self.codes:
            return False
        indices, values = x
        if (
            type(indices) is not ARRAY
            or type(values) is not ARRAY
            or indices.dtype is not self.index
            or values.dtype is not self.value
            or indices.ndim != 1
            or values.ndim != 1
        ):
            return False
        code, machine = self.codes[y], self.machine
        _, status = self.compiled(self.bound[0], (values, indices), code, code + 1, machine.rows - code)
        if status != DONE:
            return False
        machine.rows += 1
        return True

    def learn(self, indices: Array, values: Array, distinct: bool, code: int) -> None:
        """Make one pass over the row, or raise the ValueError that says what is wrong with it; then nothing changes."""
        if indices.dtype is not self.index or values.dtype is not self.value:
            self._look_up(indices.dtype, values.dtype)
        rows = self.machine.rows
        flaw, status = self.compiled(self.bound[distinct], (values, indices), code, code + 1, rows - code)
        if status == DONE:
            self.machine.rows = rows + 1
        else:
            self._mend(indices, values, distinct, code, flaw, status)

    def _bind(self) -> None:
        codes, numbers = np.arange(len(self.codes), dtype=np.int32), (self.machine.features, self.bias)
        self.bound = [self.machine.bound((*numbers, d), codes, self.weights, IN_ORDER) for d in (False, True)]

    def _look_up(self, index: Any, value: Any) -> None:
        signature = tuple(map(typeof, (self.bound[0], (np.empty(0, value), np.empty(0, index)), 0, 1, 0)))
        self.kernel.compile(signature)
        self.compiled, self.index, self.value = self.kernel.overloads[signature].entry_point, index, value

    def _mend(self, indices: Array, values: Array, distinct: bool, code: int, flaw: int, status: int) -> None:
        """Learn the row after all, where that takes no more than room in the log or the row in another form."""
        if status == LOG_FULL:
            self.machine.enlarge_log()
            self._bind()
        elif status == FLAW and flaw == NOT_TOGETHER:
            indices, values = indices.copy(), values.copy()
        elif status == FLAW and flaw == NOT_RISING:
            indices, place = np.unique(indices, return_inverse=True)
            values, distinct = np.bincount(place, weights=values), True
        else:
            self._refuse(indices, values, status)
        self.learn(indices, values, distinct, code)

    def _refuse(self, indices: Array, values: Array, status: int) -> None:
        if status == FLAW:
            width = self.machine.features
            j = int(indices[np.flatnonzero((indices < 0) | (indices >= width))[0]])
            cure = f": grow({j + 1}) makes room for it" if j >= 0 else ""
            raise ValueError(f"x has column {j}, but the learner has {width} features (0 to {width - 1}){cure}")
        if not np.isfinite(values).all():
            bad = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"x contains {values[bad]} at column {indices[bad]}: fill it in, or drop the row")
        if status == BAD_SCORE:
            raise ValueError("the score of x is too large for float64: divide all rows by one factor")
        raise ValueError(f"the rule {type(self.machine.rule).__name__} gave a step that is not a finite number")


def plain(a: Any, types: str) -> bool:
    """Tell whether a is a 1-d array of one of these types, by numpy's one-letter codes, in native byte order."""
    return type(a) is ARRAY and a.ndim == 1 and a.dtype.char in types and a.dtype.isnative


def refuse_beyond(indices: Array, values: Array, limit: float) -> None:
    """Raise a ValueError that names the first value beyond the limit, if there is one."""
    beyond = np.flatnonzero(np.abs(values) > limit)
    if len(beyond):
        k = int(beyond[0])
        raise ValueError(f"x has the entry {values[k]:g} at column {indices[k]}, beyond x_max={limit:g}")


class OneRow:
    """`learn_one` and `predict_one`, for a learner."""

    _entry_limit: float | None = None
    _names: Vocabulary | None = None
    _desk: Desk | None = None
    """Open between single rows; closed by all that moves the weights to other arrays, or changes the parameters."""

    def learn_one(self: Any, x: Any, y: Any) -> Any:
        """Learn from one row.

        Parameters
        ----------
        x : dict, (indices, values) or 1-d array
            A dict maps feature names or column numbers to values; names not seen before become new features. Column
            numbers and indices must be below the number of features: see `grow`.
        y : label
            A label not seen before becomes a new class, unless classes were fixed by `fit` or
            `partial_fit(classes=...)`.

        Returns
        -------
        self
        """
        desk = self._desk
        if desk is not None and type(x) is tuple and self._entry_limit is None and desk.learned(x, y):
            return self
        entries_of = self._entries_of_dict if type(x) is dict else self._entries_of
        indices, values, distinct = entries_of(x, True)
        if self._entry_limit is not None:
            refuse_beyond(indices, values, self._entry_limit)
        desk = self._desk
        if desk is not None and y in desk.codes:
            desk.learn(indices, values, distinct, desk.codes[y])
            return self
        with intact(self):
            self._open_desk(y)
            if y not in self._desk.codes:
                self._meet(y)
            self._desk.learn(indices, values, distinct, self._desk.codes[y])
        return self

    def predict_one(self: Any, x: Any) -> Any:
        """Return the label of one row; features never seen count as 0."""
        machine = self._fitted()
        indices, values, _ = self._entries_of(x, False)
        known = (indices >= 0) & (indices < machine.features)
        if not known.all():
            indices, values = indices[known], values[known]
        rows = np.append(indices, machine.features)
        with np.errstate(over="ignore", invalid="ignore"):
            z = np.append(values, self._bias) @ answering(machine.link, machine.readout, rows)
        doubtful = len(z) > 1 or not np.all((np.abs(z) > SMALLEST) & np.isfinite(z))
        if isinstance(machine.link, Imaged) and doubtful:
            ends = frozen(np.array([0, len(indices)]))
            row = Csr(frozen(values), frozen(indices.astype(np.int64)), ends, machine.features, self._bias)
            z = machine.scores(row, self.fit_intercept, 1)[0]
        if not np.isfinite(z).all():
            raise ValueError("x has an entry, or gives a score, that is not a finite number")
        return self._labels(self._of_classes(z[None, :]))[0]

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, where they have any."""
        names = self._names
        if names is None:
            raise AttributeError("the features have no names")
        return np.array(list(names), dtype=object)

    @feature_names_in_.setter
    def feature_names_in_(self, names: Any) -> None:
        self._names = Vocabulary((name, j) for j, name in enumerate(names))

    @feature_names_in_.deleter
    def feature_names_in_(self) -> None:
        self.__dict__.pop("_names", None)

    def _entries_of(self: Any, x: Any, learning: bool) -> tuple[Array, Array, bool]:
        """Return the indices and values of a row in any form, and whether the indices are known to be distinct."""
        if type(x) is tuple:
            indices, values = x
            if not (plain(indices, "ilq") and plain(values, "fd")):
                indices, values = np.asarray(indices), np.asarray(values, np.float64)
                if (indices.dtype.kind not in "iu" and indices.size) or indices.ndim != 1 or values.ndim != 1:
                    raise ValueError("x is (indices, values): two 1-d arrays, the first of integers")
                indices = indices.astype(np.int64)
            if len(indices) != len(values):
                raise ValueError(f"x has {len(indices)} indices and {len(values)} values")
            return indices, values, False
        if isinstance(x, dict):
            return self._entries_of_dict(x, learning)
        row = np.asarray(x, np.float64)
        if row.ndim != 1:
            raise ValueError(f"x is one row: a dict, (indices, values) or a 1-d array; got {row.ndim} dimensions")
        if learning and not hasattr(self, "n_features_in_"):
            self.n_features_in_ = len(row)
        if len(row) != self.n_features_in_:
            raise ValueError(f"x has {len(row)} features, but the learner has {self.n_features_in_}")
        indices = np.flatnonzero(row)
        return indices, row[indices], True

    def _entries_of_dict(self: Any, x: dict[Any, float], learning: bool) -> tuple[Array, Array, bool]:
        values = fromiter(x.values(), FLOAT, len(x))
        names = self._names
        if names is None:
            if not isinstance(next(iter(x), None), str):
                return fromiter(x, INDEX, len(x)), values, True
            if getattr(self, "n_features_in_", 0) > 0:
                raise ValueError("x names its features, but the learner was trained on features without names")
            names = self._names = Vocabulary()
            self.n_features_in_ = 0
        if not learning and not x.keys() <= names.keys():
            return self._entries_of_dict({k: v for k, v in x.items() if k in names}, learning)
        indices = fromiter(map(names.__getitem__, x), INDEX, len(x))
        if len(names) != self.n_features_in_:
            self._make_room(names, x)
        return indices, values, True

    def _make_room(self: Any, names: Vocabulary, x: dict[str, float]) -> None:
        """Let the learner have a feature for each name; the weights are widened by doubling."""
        bad = next((name for name, value in x.items() if not isfinite(value)), None)
        if bad is not None:
            while len(names) > self.n_features_in_:
                names.popitem()
            raise ValueError(f"x contains {x[bad]} for the feature {bad!r}: fill it in, or drop the row")
        self.n_features_in_ = len(names)
        if hasattr(self, "_machine") and len(names) > self._machine.features:
            self._machine.resize(2 * len(names))
            self._close_desk()

    def _open_desk(self: Any, y: Any) -> None:
        if not hasattr(self, "_machine"):
            if not hasattr(self, "n_features_in_"):
                raise ValueError(
                    "the number of features is not known yet: call grow(n_features) first, or use a dict of names"
                )
            self._open, self.classes_ = True, np.array([y])
            self.seed_, self.n_iter_ = self._draw_seed(), 1
            self._machine = self._start(self.n_features_in_, 1, None, open_labels=True)
        else:
            self._machine.follow(self._parts(self.n_features_in_, None))
        weighted = self.class_weight is not None
        self._machine.keep_log(self.log, weighted, 0)
        codes = {label: code for code, label in enumerate(self.classes_.tolist())}
        weights = self._class_weights(np.empty(0, np.intp), self.classes_) if weighted else NO_WEIGHTS
        self._desk = Desk(self._machine, self._bias, codes, weights)

    def _meet(self: Any, y: Any) -> None:
        """Admit a new label, if labels may arrive."""
        known, machine = self._welcome(np.array([y]), None, self.n_features_in_)
        if y not in known:
            raise ValueError(f"the label {y!r} is not among the classes {list(known)}")
        self.classes_, self._machine = known, machine
        self._open_desk(y)

    def _close_desk(self) -> None:
        self.__dict__.pop("_desk", None)
