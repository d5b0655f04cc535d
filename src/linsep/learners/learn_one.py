"""Learning one row at a time, in any form: dicts, (indices, values), arrays."""

from collections.abc import Hashable
from math import isfinite
from typing import Any

import numpy as np

from linsep.core.arrays import Array
from linsep.core.uninterrupted import uninterrupted
from linsep.data.labels import clean
from linsep.learners.desk import Learning
from linsep.learners.intact import all_or_nothing
from linsep.learners.machine import NO_WEIGHTS
from linsep.learners.one_row import NO_NAMES, PredictOne, known_dict, names_among

NO_WIDTH = "the number of features is not known yet: call grow(n_features) first, or use a dict of names"


def refuse_many_labels(y: Any) -> None:
    """Raise a ValueError when y is not one label."""
    if np.ndim(y) != 0 or not isinstance(y, Hashable):
        raise ValueError(f"y is one label; got {y!r}")


def refuse_beyond(entries: tuple[Array, Array, bool], limit: float) -> None:
    """Raise a ValueError that names the first value beyond the limit, if there is one."""
    indices, values, _ = entries
    beyond = np.flatnonzero(np.abs(values) > limit)
    if len(beyond):
        k = int(beyond[0])
        raise ValueError(f"x has the entry {values[k]:g} at column {indices[k]}, beyond x_max={limit:g}")


class LearnOne(PredictOne):
    """`learn_one`, for a learner that can go on."""

    _entry_limit: float | None = None
    _learning: Learning | None = None
    """Open as `_asking` is."""

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
        try:
            code = None if desk is None else desk.codes.get(y)
        except TypeError:  # y has no hash
            refuse_many_labels(y)
            raise
        if code is not None:
            limit = self._entry_limit
            if limit is None and type(x) is tuple and desk.learned(x, code):
                return self
            entries = known_dict(x, self._names) if type(x) is dict else self._entries_of(x)
            if entries is not None:
                if limit is not None:
                    refuse_beyond(entries, limit)
                desk.learn(*entries, code)
                return self
        with uninterrupted():  # between the update of the weights and the publication of new names and classes
            return self._learn_apart(x, y)

    @all_or_nothing
    def _learn_apart(self: Any, x: Any, y: Any) -> Any:
        """Learn from one row that may bring features and a label, or comes after other training."""
        self.densify()
        self._welcome_names(x)
        entries = self._entries_of(x)
        if self._entry_limit is not None:
            refuse_beyond(entries, self._entry_limit)
        self._open_desk(y)
        self._learning.learn(*entries, self._learning.codes[y])
        return self

    def _welcome_names(self: Any, x: Any) -> None:
        """Let the learner have a feature for each name in x; the weights are widened by doubling."""
        if not hasattr(x, "items"):
            if not hasattr(self, "n_features_in_") and not isinstance(x, tuple):
                self.n_features_in_ = np.asarray(x).size
            return
        x = dict(x.items())
        named = names_among(x)
        if not named:
            if self._names is not None:
                raise ValueError("x numbers its columns, but the learner's features have names")
            return
        if self._names is None:
            if getattr(self, "n_features_in_", 0) > 0:
                raise ValueError(NO_NAMES)
            self._check_open_width()
            self._names, self.n_features_in_ = {}, 0
        for name in named:
            if not isfinite(x[name]):
                raise ValueError(f"x contains {x[name]} for the feature {name!r}: fill it in, or drop the row")
            self._names.setdefault(name, len(self._names))
        self.n_features_in_ = max(self.n_features_in_, len(self._names))
        if hasattr(self, "_machine") and self.n_features_in_ > self._machine.features:
            self._machine.resize(2 * self.n_features_in_)
            self._close_desk()

    def _check_open_width(self) -> None:
        """Raise a ValueError when a parameter depends on the number of features, which names leave open."""

    def _open_desk(self: Any, y: Any) -> None:
        """Prepare for single rows; a label that is new becomes a class, if labels may arrive."""
        refuse_many_labels(y)
        self._check_shards(whole=False)
        if not hasattr(self, "_machine"):
            self._validate_params()
            if not hasattr(self, "n_features_in_"):
                raise ValueError(NO_WIDTH)
            self._open, self.classes_ = True, clean([y], 1)
            self.seed_, self.n_iter_ = self._draw_seed(), 1
            self._machine = self._start(self.n_features_in_, 1, None, open_labels=True)
        elif y not in self.classes_.tolist():
            known, machine = self._welcome(clean([y], 1), None, self.n_features_in_)
            if y not in known.tolist():
                raise ValueError(f"the label {y!r} is not among the classes {known.tolist()}")
            self.classes_, self._machine = known, machine
        else:
            self._check_changes()
            self._follow(self._machine, None)
        self._close_desk()
        weighted = self.class_weight is not None
        self._machine.keep_log(self.log, weighted, 0)
        codes = {label: code for code, label in enumerate(self.classes_.tolist())}
        weights = self._class_weights(np.empty(0, np.intp), self.classes_) if weighted else NO_WEIGHTS
        self._learning = Learning(self._machine, self._bias, codes, weights)
