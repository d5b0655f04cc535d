"""Learning and predicting one row at a time, at a few microseconds a row."""

from typing import Any

import numpy as np
from numba import njit

from linsep.core.examples import Array, Csr
from linsep.core.links import IMAGED, SMALLEST
from linsep.core.passes import DONE, LOG_FULL, learn_classes, learn_rows
from linsep.core.weights import answering
from linsep.learners.inputs import frozen
from linsep.learners.machine import Machine, StoppedError

FINE, OUT_OF_RANGE, NOT_SORTED, NOT_FINITE = range(4)
NO_ORDER, NO_WEIGHTS = np.empty(0, np.intp), np.empty(0)


@njit(cache=True)
def take(indices: Any, values: Any, to_indices: Any, to_values: Any, features: int) -> int:
    """Copy a row to canonical buffers, checking it on the way."""
    last = np.int64(-1)
    status = FINE
    for k in range(indices.shape[0]):
        j, v = np.int64(indices[k]), np.float64(values[k])
        if j < 0 or j >= features:
            return OUT_OF_RANGE
        if not np.isfinite(v):
            return NOT_FINITE
        if j <= last:
            status = NOT_SORTED
        last = j
        to_indices[k], to_values[k] = j, v
    return status


class Desk:
    """Buffers for one row, and the compiled pass with everything bound that stays the same from row to row."""

    def __init__(self, machine: Machine, bias: float) -> None:
        self.machine, self.bias = machine, bias
        self.make_room(64)
        self.codes, self.ends = np.zeros(1, np.int32), np.zeros(2, np.int64)
        self.frozen_ends = frozen(self.ends)
        kinds: Any = (type(machine.rule), type(machine.link), type(machine.readout), Csr)
        self.kernel = learn_rows(*kinds) if machine.columns == 1 else learn_classes(*kinds)
        self.extra = () if machine.columns == 1 else (machine.pair, 0, False)
        self.fixed = (tuple(machine.rule), tuple(machine.link), tuple(machine.readout))
        self.tally, self.log = tuple(machine.tally), tuple(machine.log)

    def make_room(self, entries: int) -> None:
        """Give the buffers room for that many entries."""
        self.indices, self.values = np.empty(entries, np.int64), np.empty(entries)
        self.frozen = frozen(self.values), frozen(self.indices)

    def place(self, indices: Any, values: Any) -> None:
        """Put a row on the desk, or say what is wrong with it."""
        n, features = len(indices), self.machine.features
        if n > len(self.indices):
            self.make_room(2 * n)
        if len(values) != n:
            raise ValueError(f"x has {n} indices and {len(values)} values")
        status = take(indices, values, self.indices, self.values, features)
        if status == NOT_SORTED:
            whole, where = np.unique(indices, return_inverse=True)
            sums = np.bincount(where, weights=values)
            return self.place(whole, sums)
        if status != FINE:
            _refuse(indices, values, features, status)
        self.ends[1] = n
        return None

    def learn(self, code: int) -> None:
        """Make one pass over the row on the desk."""
        self.codes[0] = code
        machine = self.machine
        data = (*self.frozen, self.frozen_ends, machine.features, self.bias)
        status = LOG_FULL
        while status == LOG_FULL:
            _, status = self.kernel(
                *self.fixed,
                data,
                self.codes,
                NO_WEIGHTS,
                NO_ORDER,
                0,
                1,
                self.tally,
                self.log,
                machine.rows,
                *self.extra,
            )
            if status == LOG_FULL:
                machine._enlarge_log()
                self.log = tuple(machine.log)
        if status != DONE:
            raise StoppedError(machine.rows, status)
        machine.rows += 1
        machine._answer = None


def _refuse(indices: Any, values: Any, features: int, status: int) -> None:
    if status == NOT_FINITE:
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"x contains {values[bad]} at column {indices[bad]}: NaN and infinity can't be learned from")
    bad = int(np.flatnonzero((np.asarray(indices) < 0) | (np.asarray(indices) >= features))[0])
    raise ValueError(
        f"x has column {indices[bad]}, but the learner has {features} features (0 to {features - 1}): "
        f"grow({int(indices[bad]) + 1}) makes room for it"
    )


class OneRow:
    """`learn_one` and `predict_one`, for a learner."""

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
        indices, values = self._entries_of(x, learning=True)
        desk = self.__dict__.get("_desk")
        if desk is None or desk.machine is not self.__dict__.get("_machine"):
            desk = self._open_desk(y)
        code = self._codes.get(y)
        if code is None:
            desk = self._meet(y)
            code = self._codes[y]
        desk.place(indices, values)
        desk.learn(code)
        return self

    def predict_one(self: Any, x: Any) -> Any:
        """Return the label of one row; features never seen count as 0."""
        indices, values = self._entries_of(x, learning=False)
        machine = self._fitted()
        rows = np.append(indices, len(machine.link.s) - 1)
        z = np.append(values, self._bias) @ answering(machine.link, machine.readout, rows)
        doubtful = len(z) > 1 or not np.all((np.abs(z) > SMALLEST) & np.isfinite(z))
        if isinstance(machine.link, IMAGED) and doubtful:
            ends = frozen(np.array([0, len(indices)]))
            row = Csr(frozen(values), frozen(indices.astype(np.int64)), ends, machine.features, self._bias)
            z = machine.scores(row, self.fit_intercept, 1)[0]
        if not np.isfinite(z).all():
            raise ValueError("x has an entry, or gives a score, that is not a finite number")
        return self._labels(self._of_classes(z[None, :]))[0]

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, where they have any."""
        names = self.__dict__.get("_names")
        if names is None:
            raise AttributeError("the features have no names")
        return np.array(list(names), dtype=object)

    @feature_names_in_.setter
    def feature_names_in_(self, names: Any) -> None:
        self._names = {name: j for j, name in enumerate(names)}

    @feature_names_in_.deleter
    def feature_names_in_(self) -> None:
        self.__dict__.pop("_names", None)

    def _entries_of(self: Any, x: Any, learning: bool) -> tuple[Array, Array]:
        if isinstance(x, tuple):
            indices, values = x
            if isinstance(indices, np.ndarray) and isinstance(values, np.ndarray):
                return indices, values
            return np.asarray(indices, np.int64), np.asarray(values, np.float64)
        if isinstance(x, dict):
            return self._entries_of_dict(x, learning)
        row = np.asarray(x, np.float64)
        if row.ndim != 1:
            raise ValueError(f"x is one row: a dict, (indices, values) or a 1-d array; got {row.ndim} dimensions")
        if not hasattr(self, "n_features_in_"):
            self.n_features_in_ = len(row)
        if len(row) != self.n_features_in_:
            raise ValueError(f"x has {len(row)} features, but the learner has {self.n_features_in_}")
        indices = np.flatnonzero(row)
        return indices, row[indices]

    def _entries_of_dict(self: Any, x: dict[Any, float], learning: bool) -> tuple[Array, Array]:
        values = np.fromiter(x.values(), np.float64, len(x))
        if not x or not isinstance(next(iter(x)), str):
            return np.fromiter(x, np.int64, len(x)), values
        names = self.__dict__.get("_names")
        if names is None:
            if hasattr(self, "n_features_in_") and self.n_features_in_ > 0:
                raise ValueError("x names its features, but the learner was trained on features without names")
            names = self._names = {}
            self.n_features_in_ = 0
        try:
            indices = np.fromiter(map(names.__getitem__, x), np.int64, len(x))
        except KeyError:
            if not learning:
                known = {name: value for name, value in x.items() if name in names}
                return self._entries_of_dict(known, learning) if known else (np.empty(0, np.int64), np.empty(0))
            for name in x:
                names.setdefault(name, len(names))
            self._make_room(len(names))
            indices = np.fromiter(map(names.__getitem__, x), np.int64, len(x))
        order = np.argsort(indices)
        return indices[order], values[order]

    def _make_room(self: Any, features: int) -> None:
        """Let the learner have that many features; the weights are widened by doubling."""
        self.n_features_in_ = features
        if hasattr(self, "_machine") and features > self._machine.features:
            self._machine.resize(2 * features)
            self._desk = None

    def _open_desk(self: Any, y: Any) -> Desk:
        if not hasattr(self, "_machine"):
            if not hasattr(self, "n_features_in_"):
                raise ValueError(
                    "the number of features is not known yet: call grow(n_features) first, or use a dict of names"
                )
            self._open, self.classes_ = True, np.array([y])
            self.seed_, self.n_iter_ = self._draw_seed(), 1
            self._machine = self._start(self.n_features_in_, 1, None, open_labels=True)
            self._machine.keep_log(self.log, False, 0)
        self._codes = {label: code for code, label in enumerate(self.classes_.tolist())}
        self._desk = Desk(self._machine, self._bias)
        return self._desk

    def _meet(self: Any, y: Any) -> Desk:
        """Admit a new label, if labels may arrive."""
        self.classes_, self._machine = self._welcome(np.array([y]), None, self.n_features_in_)
        if y not in self.classes_:
            raise ValueError(f"the label {y!r} is not among the classes {list(self.classes_)}")
        return self._open_desk(y)

    def _forget_names(self) -> None:
        self.__dict__.pop("_desk", None)
