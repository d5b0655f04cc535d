"""Learning and predicting one row at a time, in any form: dicts, (indices, values), arrays."""

from math import isfinite
from typing import Any

import numpy as np
from numpy import fromiter

from linsep.core.examples import Array
from linsep.learners.desk import Asking, Learning
from linsep.learners.intact import intact
from linsep.learners.machine import NO_WEIGHTS

AT_THE_DESK = ("_learning", "_asking")
"""Attributes that are no part of the model: made when needed, left out of pickles."""
INDEX, FLOAT = np.dtype(np.int64), np.dtype(np.float64)


class Vocabulary(dict[str, int]):
    """Columns by name; a name looked up for the first time gets the next one."""

    def __missing__(self, name: str) -> int:
        self[name] = column = len(self)
        return column


def plain(a: Any, types: str) -> bool:
    """Tell whether a is a 1-d array of one of these types, by numpy's one-letter codes, in native byte order."""
    return type(a) is np.ndarray and a.ndim == 1 and a.dtype.char in types and a.dtype.isnative


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
    _learning: Learning | None = None
    _asking: Asking | None = None
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
        desk = self._learning
        if desk is not None and type(x) is tuple and self._entry_limit is None and desk.learned(x, y):
            return self
        entries_of = self._entries_of_dict if type(x) is dict else self._entries_of
        indices, values, distinct = entries_of(x, True)
        if self._entry_limit is not None:
            refuse_beyond(indices, values, self._entry_limit)
        desk = self._learning
        if desk is not None and y in desk.codes:
            desk.learn(indices, values, distinct, desk.codes[y])
            return self
        with intact(self):
            self._open_desk(y)
            if y not in self._learning.codes:
                self._meet(y)
            self._learning.learn(indices, values, distinct, self._learning.codes[y])
        return self

    def predict_one(self: Any, x: Any) -> Any:
        """Return the label of one row; features never seen count as 0."""
        asking = self._asking
        if asking is None:
            asking = self._asking = Asking(self._fitted(), self._bias, self.classes_)
        if type(x) is tuple and asking.fits(x):
            return asking.answer(*x)
        entries_of = self._entries_of_dict if type(x) is dict else self._entries_of
        indices, values, _ = entries_of(x, False)
        return asking.answer(indices, values)

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
            self._close_desk()
            self._machine.follow(self._parts(self.n_features_in_, None))
        weighted = self.class_weight is not None
        self._machine.keep_log(self.log, weighted, 0)
        codes = {label: code for code, label in enumerate(self.classes_.tolist())}
        weights = self._class_weights(np.empty(0, np.intp), self.classes_) if weighted else NO_WEIGHTS
        self._learning = Learning(self._machine, self._bias, codes, weights)

    def _meet(self: Any, y: Any) -> None:
        """Admit a new label, if labels may arrive."""
        known, machine = self._welcome(np.array([y]), None, self.n_features_in_)
        if y not in known:
            raise ValueError(f"the label {y!r} is not among the classes {list(known)}")
        self.classes_, self._machine = known, machine
        self._open_desk(y)

    def _close_desk(self) -> None:
        for name in AT_THE_DESK:
            self.__dict__.pop(name, None)
