"""What a trained learner answers: scores, labels, weights."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from linsep.core.arrays import Array
from linsep.core.examples import Csr, Dense
from linsep.core.threads import threads
from linsep.data.inputs import canonical, refuse_bad_entries
from linsep.learners.compact import Compact, compacted, kept_of, rows_of_coef, whole
from linsep.learners.intact import all_or_nothing, at_once
from linsep.learners.machine import TOO_LARGE, Machine


class Answers:
    """The part of a learner that reads the machine; what it is told here may change its form, never an answer."""

    classes_: Array
    n_features_in_: int
    fit_intercept: bool
    intercept_scaling: float
    n_jobs: int | None
    _machine: Machine
    _close_desk: Callable[[], None]

    @at_once
    def decision_function(self, X: Any) -> Array:
        """Return the score of each row: (rows,) for two classes, else (rows, classes).

        With two classes a score above 0 means the second. Scores of exponential, sinh and p-norm weights are those of
        the normalised weights; one too small for a float64 is returned as the smallest number of its sign.
        """
        check_is_fitted(self)
        return self._finite_scores(canonical(self, X, bias=self._bias, reset=False))

    def _finite_scores(self, data: Dense | Csr) -> Array:
        """Return the scores of classes, or say why there are none."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._of_classes(self._scores(data))
        if not np.isfinite(scores).all():
            refuse_bad_entries(data)
            raise ValueError(TOO_LARGE)
        return scores

    @at_once
    def predict(self, X: Any) -> Array:
        """Return the label of each row; a score of 0 is the negative class, ties go to the lower one."""
        return self._labels(self.decision_function(X))

    @property
    @at_once
    def coef_(self) -> Any:
        """The weights that answer, (1, features) for two classes, else (classes, features); normalised.

        A CSR array after `sparsify`.
        """
        return rows_of_coef(self._readable(), self._of_classes(self._weights()[:-1].T, axis=0, flat=False))

    @property
    @at_once
    def intercept_(self) -> Array:
        """The bias of each row of `coef_`: the constant feature's weight times its value."""
        return self._of_classes(self._weights()[-1:].T * self._bias, axis=0, flat=False)[:, 0]

    @property
    def sparsify(self) -> Callable[[], Self]:
        """Keep only the weights of features that matter: those that are not all zero; returns the learner.

        Its answers stay the same to the bit, and `coef_` is a CSR array from then on. Training by any method makes it
        whole again by itself. Exponential weights (Winnow's) are never zero, so that their learners do not have this.

        >>> from linsep import Perceptron
        >>> clf = Perceptron().partial_fit([[0.0, 3.0, 0.0, 0.0]], [0], classes=[0, 1]).sparsify()
        >>> clf.kept_, clf.n_features_in_, clf.coef_.toarray()
        (1, 4, array([[ 0., -3.,  0.,  0.]]))
        """
        if "exponential" in (getattr(self, "_link", ""), getattr(self, "link", "")):
            raise AttributeError(f"{type(self).__name__}'s weights are exponentials, of which none is 0")
        return self._sparsify

    @all_or_nothing
    def _sparsify(self) -> Self:
        self._machine = compacted(self._trimmed())
        self._close_desk()
        return self

    def densify(self) -> Self:
        """Keep all weights again; the learner is then as it was before `sparsify`."""
        return self._densify() if isinstance(getattr(self, "_machine", None), Compact) else self

    @all_or_nothing
    def _densify(self) -> Self:
        self._machine = whole(self._machine)
        self._close_desk()
        return self

    @property
    @at_once
    def kept_(self) -> int:
        """The number of features whose weights are kept: all, or after `sparsify` those that matter."""
        return kept_of(self._readable())

    @property
    def _wanted_bias(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    @property
    def _bias(self) -> float:
        """The constant feature's value: that of the training so far, whatever the parameters say by now."""
        return self._machine.bias if hasattr(self, "_machine") else self._wanted_bias

    def _fitted(self) -> Machine:
        if not hasattr(self, "_machine"):
            raise NotFittedError(f"this {type(self).__name__} has not been fitted yet: call fit or partial_fit first")
        return self._machine

    def _readable(self) -> Machine:
        """Return a machine with as many features as the learner has; nothing changes."""
        return self._fitted().reading(self.n_features_in_)

    def _trimmed(self) -> Machine:
        """Give the machine as many features as the learner has, for training; single rows leave it room to grow."""
        if self._fitted().features != self.n_features_in_:
            self._machine.resize(self.n_features_in_)
            self._close_desk()
        return self._machine

    def _scores(self, data: Dense | Csr) -> Array:
        """Return the scores of all rows, (rows, columns)."""
        return self._fitted().scores(data, threads(self.n_jobs))

    def _weights(self) -> Array:
        return self._readable().weights()

    def _of_classes(self, a: Array, axis: int = 1, flat: bool = True) -> Array:
        """Return per-column numbers as per-class ones: two classes have one row or column, their difference."""
        a, known = np.moveaxis(a, axis, 0), len(self.classes_)
        if len(a) > 1:
            if known == 2:
                a = a[1:2] - a[:1] if self._machine.pair else a[1:2]
            a = a[:known]
        return a[0] if flat and len(a) == 1 else np.moveaxis(a, 0, axis)

    def _labels(self, scores: Array) -> Array:
        if len(self.classes_) == 1:
            return self.classes_[np.zeros(len(scores), np.intp)]
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else np.argmax(scores, axis=1)
        return self.classes_[codes]
