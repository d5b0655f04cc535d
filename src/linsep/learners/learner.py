"""What all learners share, whether they go row by row or see all rows at once."""

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from linsep.core.arrays import Array
from linsep.core.examples import Csr, Dense
from linsep.data.inputs import refuse_bad_entries, rows_of
from linsep.learners.answers import Answers
from linsep.learners.certified import Certified
from linsep.learners.compact import compacted, is_compact, whole
from linsep.learners.intact import AT_THE_DESK
from linsep.learners.machine import NO_WEIGHTS, Machine
from linsep.learners.one_row import PredictOne


class Learner(Answers, PredictOne, Certified, ClassifierMixin, BaseEstimator):
    """A linear classifier, as scikit-learn knows it."""

    random_state: Any = None
    class_weight: Any = None
    seed_: int
    n_iter_: int
    _open = False
    _facts: ClassVar[tuple[str, ...]] = ()
    """Attributes that a solver sets beside the weights; they are saved with the model."""

    _machine_kind: type[Machine] = Machine
    _mixes: ClassVar[str] = ""
    """What is true of a mix of shards, in a few words."""
    _no_mixing: ClassVar[str] = "its answer is about all rows at once"
    """Why shards are not mixed, if they are not."""

    def _check_facts(self) -> None:
        """Raise a ValueError when facts that came from a file can't have been found by the learner."""

    def _check_entries(self, data: Dense | Csr) -> None:
        """Refuse entries that the learner can't take; those that are not finite are found elsewhere."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters; training that goes on follows them, or refuses those that the weights can't follow."""
        self._close_desk()
        if hasattr(self, "_machine"):
            self._changed = True
        return super().set_params(**params)

    def __copy__(self) -> Self:
        """Return a learner that goes on by itself: what training adds to is not shared."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__getstate__())
        if self._names is not None:
            twin._names = self._names.copy()
        if hasattr(self, "_machine"):
            machine = whole(self._machine).apart()
            twin._machine = compacted(machine) if is_compact(self._machine) else machine
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is at hand for single rows: it is no part of the model, and is made again when needed."""
        left_out = (*AT_THE_DESK, "_watch")
        return {name: value for name, value in super().__getstate__().items() if name not in left_out}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_machine")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _draw_seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _row_weights(
        self, codes: Array, classes: Array, sample_weight: Any, data: Dense | Csr, whole: bool = True
    ) -> Array:
        """Return the product of sample and class weights of each row, or nothing where all are 1."""
        if sample_weight is None and self.class_weight is None:
            return NO_WEIGHTS
        weights = _check_sample_weight(
            sample_weight, np.empty((rows_of(data), 1)), dtype=np.float64, ensure_non_negative=True, copy=True
        )
        if self.class_weight is not None:
            weights *= self._class_weights(codes, classes)[codes]
        if whole and not (weights > 0).any():
            raise ValueError("every row has weight zero: there is nothing to learn from")
        if not weights.all():
            refuse_bad_entries(data)  # rows of weight 0 are not visited, so the pass would not find theirs
        return weights

    def _class_weights(self, codes: Array, classes: Array) -> Array:
        """Return the weight of each class; a dict may leave classes out, and name some that are still to come."""
        if isinstance(self.class_weight, str) and not len(codes):
            raise ValueError('class_weight="balanced" needs all labels at once: use a dict of weights, or fit')
        if not isinstance(self.class_weight, dict):
            return compute_class_weight(self.class_weight, classes=classes, y=classes[codes])
        known = set(classes.tolist())
        strange = [label for label in self.class_weight if label not in known]
        if strange and not getattr(self, "_open", False):
            raise ValueError(f"class_weight names {strange[0]!r}, which is not among the classes {sorted(known)}")
        weights = np.array([self.class_weight.get(label, 1.0) for label in classes.tolist()], np.float64)
        if not (weights >= 0).all():
            raise ValueError(f"class_weight={self.class_weight} has a weight that is negative or NaN")
        return weights


def refuse_one_class(classes: Array) -> None:
    """Raise a ValueError when there is nothing to separate."""
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes.tolist()[0]!r}: a separator needs two classes at least")
