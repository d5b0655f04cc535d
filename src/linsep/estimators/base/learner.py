"""Base class of all learners: predict, scores, weights, single rows."""

from collections.abc import Callable
from math import isfinite
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from linsep.certificates.certificate import Certificate
from linsep.certificates.certify import LabelledRows
from linsep.certificates.schema import ProblemKey
from linsep.certificates.theorems import Run, Theorem
from linsep.certificates.witnesses import BracketCallback
from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.links import EXPONENTIAL, Imaged
from linsep.engine.readouts import Last
from linsep.engine.runtime import threads
from linsep.estimators.base.bias import AUTO, NO_ENTRY
from linsep.estimators.base.facts import Fact
from linsep.estimators.base.linear_model import LinearModel
from linsep.estimators.base.run_certificate import NO_THEOREM, certificate_of
from linsep.estimators.base.traits import Traits
from linsep.training.dual_weights import DualWeights
from linsep.training.history import History
from linsep.training.single_rows import RowPredictor
from linsep.training.state import NO_WEIGHTS, TOO_LARGE, SparseState, TrainingState
from linsep.training.transaction import PREPARED, all_or_nothing, on_snapshot
from linsep.validation.errors import InvalidDataError, ParameterError
from linsep.validation.inputs import (
    NO_NAMES,
    canonical,
    entries_of_pair,
    known_dict,
    known_entries,
    names_among,
    refuse_bad_entries,
    row_of,
    single_row,
)
from linsep.validation.labels import predicted_labels


class Learner(ClassifierMixin, LinearModel):
    """A linear classifier with scikit-learn's interface."""

    classes_: Array
    fit_intercept: bool
    intercept_scaling: float | str
    n_jobs: int | None
    _row_predictor: RowPredictor | None = None
    """Cached between single rows; dropped when the weights move to other arrays or parameters change."""
    class_weight: Any = None
    n_iter_: int
    _open = False
    _traits = Traits(never_mixes="it solves for all rows at once")
    _facts: ClassVar[dict[str, Fact]] = {}
    """The attributes that a solver sets beside the weights, by name; model files contain them."""

    @property
    def _no_mixing(self) -> str:
        """The reason why shards are not mixed with the present parameters; empty if they are."""
        return self._traits.never_mixes

    @on_snapshot
    def decision_function(self, X: Any) -> Array:
        """Return the score of each row: (rows,) for two classes, else (rows, classes).

        With two classes a score above 0 means the second. Scores of exponential, sinh and p-norm weights are those of
        the normalised weights; one too small for a float64 is returned as the smallest number of its sign.
        """
        check_is_fitted(self)
        return self._finite_scores(canonical(self, X, bias=self._bias, reset=False))

    def _finite_scores(self, data: Dense | Csr) -> Array:
        """Return the scores of the classes; raise a ValueError if one is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._of_classes(self._scores(data))
        if not np.isfinite(scores).all():
            refuse_bad_entries(data)
            raise InvalidDataError(TOO_LARGE)
        return scores

    @on_snapshot
    def predict(self, X: Any) -> Array:
        """Return the label of each row; a score of 0 is the negative class, ties go to the lower one."""
        return predicted_labels(self.decision_function(X), self.classes_)

    @property
    @on_snapshot
    def coef_(self) -> Any:
        """The weights that predict, normalised: (1, features) for two classes, else (classes, features).

        A read-only array; a CSR array after `sparsify`. Online learners of additive weights have a setter:
        `clf.coef_ = weights` replaces them.
        """
        weights = self._coef()
        if isinstance(weights, np.ndarray):
            return frozen(weights)
        weights.data.flags.writeable = False
        return weights

    def _coef(self) -> Any:
        return self._readable().of_all_features(self._of_classes(self._weights()[:-1].T, axis=0, flat=False))

    @property
    @on_snapshot
    def intercept_(self) -> Array:
        """The bias of each row of `coef_`: the constant feature's weight times its value; a read-only array."""
        biases: Array = frozen(self._of_classes(self._weights()[-1:].T * self._bias, axis=0, flat=False)[:, 0])
        return biases

    @property
    def sparsify(self) -> Callable[[], Self]:
        """Drop the features whose weights are all zero; return the learner.

        Predictions stay the same to the bit, and `coef_` is a CSR array from then on. Training by any method restores
        all features. Exponential weights (Winnow's) are never zero: their learners have no `sparsify`.

        >>> from linsep import Perceptron
        >>> clf = Perceptron().partial_fit([[0.0, 3.0, 0.0, 0.0]], [0], classes=[0, 1]).sparsify()
        >>> clf.kept_, clf.n_features_in_, clf.coef_.toarray()
        (1, 4, array([[ 0., -3.,  0.,  0.]]))
        """
        if "exponential" in (self._traits.link, getattr(self, "link", "")):
            raise AttributeError(f"{type(self).__name__}'s weights are exponentials, of which none is 0")
        return self._sparsify

    @all_or_nothing
    def _sparsify(self) -> Self:
        self._state = self._trimmed().sparsified()
        self._drop_prepared()
        return self

    def densify(self) -> Self:
        """Restore the features that `sparsify` dropped; return the learner."""
        return self._densify() if isinstance(getattr(self, "_state", None), SparseState) else self

    @all_or_nothing
    def _densify(self) -> Self:
        self._state = self._state.whole()
        self._drop_prepared()
        return self

    @property
    @on_snapshot
    def kept_(self) -> int:
        """The number of features whose weights are stored: all, or after `sparsify` those with a nonzero weight."""
        return self._readable().kept

    @property
    def _wanted_bias(self) -> float:
        """The constant feature's value by the parameters, where no row chooses it."""
        if not self.fit_intercept:
            return 0.0
        return NO_ENTRY if self.intercept_scaling == AUTO else float(self.intercept_scaling)

    @property
    def _bias(self) -> float:
        """The constant feature's value in training so far, even if the parameters have changed since."""
        return self._state.bias if hasattr(self, "_state") else self._wanted_bias

    def _new_history(self, bias: float) -> History | None:
        """Return the history of a run before its first round, if the learner keeps the rows of its updates."""
        return None

    def _new_dual(self, features: int) -> DualWeights | None:
        """Return dual weights before the first round, if the learner has a kernel."""
        return None

    def _readable(self) -> TrainingState:
        """Return a state with as many features as the learner has, without changing the learner."""
        return self._fitted().reading(self.n_features_in_)

    def _trimmed(self) -> TrainingState:
        """Trim the state to the features of the learner, for training; single rows leave room to grow."""
        if self._fitted().features != self.n_features_in_:
            self._state.resize(self.n_features_in_)
            self._drop_prepared()
        return self._state

    def _scores(self, data: Dense | Csr) -> Array:
        """Return the scores of all rows, (rows, columns)."""
        return self._fitted().scorer(data.n_features).scores(data, threads(self.n_jobs))

    def _weights(self) -> Array:
        return self._readable().scorer().weights()

    def _of_classes(self, a: Array, axis: int = 1, flat: bool = True) -> Array:
        """Return per-column numbers as per-class ones: two classes have one row or column, their difference."""
        a, known = np.moveaxis(a, axis, 0), len(self.classes_)
        if len(a) > 1:
            if known == 2:
                a = a[1:2] - a[:1] if self._state.pair else a[1:2]
            a = a[:known]
        return a[0] if flat and len(a) == 1 else np.moveaxis(a, 0, axis)

    def predict_one(self, x: Any) -> Any:
        """Return the label of one row; features never seen count as 0."""
        predictor = self._row_predictor
        if predictor is None:
            predictor = self._prepare_predict_one()
        if type(x) is tuple and predictor.fits(x):
            return predictor.predict(*x)
        if type(x) is not dict and hasattr(x, "items"):
            x = dict(x.items())
        entries = known_dict(x, predictor.names) if type(x) is dict else self._entries_of(x)
        if entries is None:  # some names are new
            assert predictor.names is not None
            return predictor.predict(*known_entries(x, predictor.names))
        indices, values, _ = entries
        if predictor.names is not None and type(x) is tuple:  # the weights may have room for names to come
            known = indices < len(predictor.names)
            indices, values = indices[known], values[known]
        return predictor.predict(indices, values)

    def _score_one(self, x: Any) -> Array:
        """Return the scores of one row, as `decision_function` returns those of a table with this row."""
        self._fitted()
        entries = self._entries_of(x)
        indices, values = known_entries(dict(x.items()), self._names or {}) if entries is None else entries[:2]
        known = (indices >= 0) & (indices < self.n_features_in_)
        return self._finite_scores(single_row(indices[known], values[known], self.n_features_in_, self._bias))

    @on_snapshot
    def _predict_one_by_scores(self, x: Any) -> Any:
        """Return the label of one row; features never seen count as 0."""
        return predicted_labels(self._score_one(x), self.classes_).tolist()[0]

    def _probabilities(self, scores: Array) -> Array:
        """Return the probability of each class, given scores, (rows, classes)."""
        raise AttributeError(f"{type(self).__name__} has no probabilities: wrap it in CalibratedClassifier")

    @on_snapshot
    def _predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the probability of each label for one row; features never seen count as 0."""
        return dict(zip(self.classes_.tolist(), self._probabilities(self._score_one(x))[0].tolist(), strict=True))

    def _add_names(self, x: Any) -> None:
        """Add a feature for each new name in x."""
        if not hasattr(x, "items"):
            if not hasattr(self, "n_features_in_") and not isinstance(x, tuple):
                self.n_features_in_ = row_of(x).size if sp.issparse(x) else np.asarray(x).size
            return
        x = dict(x.items())
        named = names_among(x)
        if not named and (x or hasattr(self, "n_features_in_")):
            if x and self._names is not None:
                raise InvalidDataError("x numbers its columns, but the learner's features have names")
            return
        if self._names is None:
            if getattr(self, "n_features_in_", 0) > 0:
                raise InvalidDataError(NO_NAMES)
            self._check_open_width()
            self._names, self.n_features_in_ = {}, 0
        for name in named:
            if not isfinite(x[name]):
                raise InvalidDataError(f"x contains {x[name]} for the feature {name!r}: fill it in, or drop the row")
            self._names.setdefault(name, len(self._names))
        self.n_features_in_ = max(self.n_features_in_, len(self._names))
        self._make_room()

    def _check_open_width(self) -> None:
        """Raise a ValueError when a parameter depends on the number of features, which names leave open."""

    def _make_room(self) -> None:
        """Widen what has been learned to the number of features, after names were added."""

    @on_snapshot
    def _prepare_predict_one(self) -> RowPredictor:
        """Cache what stays constant between single rows."""
        self._row_predictor = RowPredictor(self._fitted(), self._bias, self.classes_, self._names)
        return self._row_predictor

    def _entries_of(self, x: Any) -> Any:
        """Return the indices and values of a row in any form, and whether the indices are known to be distinct.

        Return None if the row names a new feature.
        """
        if type(x) is tuple and len(x) == 2:
            return entries_of_pair(*x)
        if hasattr(x, "items"):
            return known_dict(dict(x.items()), self._names)
        row = np.asarray(row_of(x) if sp.issparse(x) else x, np.float64)
        if row.ndim != 1:
            raise InvalidDataError(f"x is one row: a dict, (indices, values) or a 1-d array; got {row.ndim} dimensions")
        if len(row) != self.n_features_in_:
            raise InvalidDataError(f"x has {len(row)} features, but the learner has {self.n_features_in_}")
        indices = np.flatnonzero(row)
        return indices, row[indices], True

    def _drop_prepared(self) -> None:
        for name in PREPARED:
            self.__dict__.pop(name, None)

    def certificate(
        self, X: Any, y: Any, *, epsilon: float = 0.05, delta: float = 0.05, time_limit: float | None = None,
        watch: BracketCallback | None = None, n_jobs: int | None = None, least_error: bool = False,
        scaling: bool = False, risk: bool = False, shifting: bool = False,
    ) -> Certificate:  # fmt: skip
        """Return the certificate of the data, and of the run that made this learner: its mistakes against its theorem.

        The run is played again from its log, in exact arithmetic: both lemmas of the perceptron at every mistake, the
        fall of Winnow's potential, the losses of passive-aggressive. The log must be whole, from the first round on.
        First the learner trains once more on the rows given: the run is certified only if its updates are the same.

        Parameters
        ----------
        X : array, sparse matrix or dataframe, (rows, features)
            The rows that it was trained on; after `partial_fit`, all of them in order.
        y : array, (rows,)
            Their labels.
        epsilon : float, default=0.05
            The error rate for which a sample size is stated.
        delta : float, default=0.05
            Probability that statements about new rows are wrong.
        time_limit, watch, n_jobs
            As for :func:`linsep.certify`.
        least_error : bool, default=False
            As for :func:`linsep.certify`; the errors of this learner's weights on the rows are stated, too.
        scaling : bool, default=False
            As for :func:`linsep.certify`.
        risk : bool, default=False
            If True, bound the probability of errors on new rows, if rows are independent draws: of the weights that
            predict by their margins (PAC-Bayes), and of the run's last weights by the rows of its updates (sample
            compression). The second needs an order that was fixed: `shuffle=False`, or
            :func:`linsep.certificates.certificate.data_seed`. Each holds with probability 1 - delta.
        shifting : bool, default=False
            If True, bound the mistakes of a perceptron that sees the rows in the order of the run, against weights that
            change from piece to piece of the rounds: for streams whose best weights drift.

        Returns
        -------
        Certificate
            Its `remarks` state what is not proved, and why.

        Examples
        --------
        >>> from linsep import Perceptron, verify
        >>> X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]
        >>> cert = Perceptron(shuffle=False).fit(X, y).certificate(X, y)
        >>> cert.claims["run: mistakes"], cert.number("mistakes at most", "run")
        (2, 11.0)
        >>> bool(verify(cert, X, y))
        True
        """
        return certificate_of(
            self, X, y, epsilon=epsilon, delta=delta, time_limit=time_limit, watch=watch, n_jobs=n_jobs,
            least_error=least_error, scaling=scaling, risk=risk, shifting=shifting,
        )  # fmt: skip

    def _theorem(self) -> tuple[Theorem | None, list[str]]:
        """Return the theorem that a certificate of the run relies on, and remarks on what the theorem leaves open."""
        return None, [NO_THEOREM.format(type(self).__name__)]

    def _runs(self, rows: LabelledRows) -> dict[ProblemKey, Run]:
        """Return the run of each binary classifier."""
        return {}

    def _trains_to_the_same_log(self, rows: LabelledRows) -> bool:
        """Return whether training on these rows makes just the updates of the log, and no others between them."""
        return True

    def _predicting_weights(self) -> Array:
        """Return the weights that predict, (classes or 1, features + 1); the last column is the constant feature's."""
        coef, last = self.coef_, self._of_classes(self._weights()[-1:].T, axis=0, flat=False)
        return np.column_stack([coef.toarray() if hasattr(coef, "toarray") else coef, last])

    @property
    def _no_weights(self) -> str:
        """The reason why the predictions are not those of one weight for each feature; empty if they are."""
        return ""

    def _readout_kind(self, features: int) -> type | None:
        """Return the only readout that a learner of this kind is trained with; None if a parameter chooses it."""
        return Last

    @property
    def _takes_counts(self) -> bool:
        """Return whether entries must be counts, such as those of words, neither scaled nor hashed."""
        return False

    @property
    def _binarizes_at(self) -> float | None:
        """The threshold above which an entry counts as present; None if entries are used as they are."""
        return None

    @property
    def _weighs_unseen_features(self) -> bool:
        """Return whether a feature without an entry in any row has a nonzero weight."""
        link = self._fitted().link
        return self._traits.counts_rows or (isinstance(link, Imaged) and link.form == EXPONENTIAL)

    def _check_facts(self) -> None:
        """Raise a ValueError if the facts of a model file are not such as the learner computes."""
        for name in self._facts.keys() & vars(self).keys():
            self._facts[name].check(name, getattr(self, name), len(self.classes_))

    def _check_entries(self, data: Dense | Csr) -> None:
        """Refuse entries that the learner does not accept; the caller refuses those that are not finite."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters; resumed training uses them, or refuses those that the weights so far do not allow."""
        self._drop_prepared()
        if hasattr(self, "_state"):
            self._changed = True
        return super().set_params(**params)

    def __copy__(self) -> Self:
        """Return an independent learner: training one does not change the other."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__getstate__())
        if self._names is not None:
            twin._names = self._names.copy()
        if hasattr(self, "_state"):
            twin._state = self._state.apart()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Omit the caches of single rows: they are not part of the model."""
        left_out = (*PREPARED, "_watch", "_progressive")
        return {name: value for name, value in super().__getstate__().items() if name not in left_out}

    def _row_weights(
        self, codes: Array, classes: Array, sample_weight: Any, data: Dense | Csr, whole: bool = True
    ) -> Array:
        """Return the product of sample and class weights of each row, or an empty array if all are 1."""
        if sample_weight is None and self.class_weight is None:
            return NO_WEIGHTS
        try:
            weights = _check_sample_weight(
                sample_weight, np.empty((data.n_rows, 1)), dtype=np.float64, ensure_non_negative=True, copy=True
            )
        except ValueError as error:
            raise InvalidDataError(str(error)) from error
        if self.class_weight is not None:
            weights *= self._class_weights(codes, classes)[codes]
        if whole and not (weights > 0).any():
            raise InvalidDataError("every row has weight zero: there is nothing to learn from")
        if not weights.all():
            refuse_bad_entries(data)  # rows of weight 0 are not visited, so the pass would not find theirs
        return weights

    def _class_weights(self, codes: Array, classes: Array) -> Array:
        """Return the weight of each class; a dict may omit classes, and name classes that arrive later."""
        if isinstance(self.class_weight, str) and not len(codes):
            raise ParameterError('class_weight="balanced" needs all labels at once: use a dict of weights, or fit')
        if not isinstance(self.class_weight, dict):
            return compute_class_weight(self.class_weight, classes=classes, y=classes[codes])
        known = set(classes.tolist())
        strange = [label for label in self.class_weight if label not in known]
        if strange and not getattr(self, "_open", False):
            raise ParameterError(f"class_weight names {strange[0]!r}, which is not among the classes {sorted(known)}")
        weights = np.array([self.class_weight.get(label, 1.0) for label in classes.tolist()], np.float64)
        if not (weights >= 0).all():
            raise ParameterError(f"class_weight={self.class_weight} has a weight that is negative or NaN")
        return weights


def refuse_one_class(classes: Array) -> None:
    """Raise a ValueError if there are fewer than two classes."""
    if len(classes) < 2:
        raise InvalidDataError(f"y has only one class, {classes.tolist()[0]!r}: a separator needs two classes at least")
