"""Base class of online learners: fit, partial_fit, learn_one and their parameters."""

import inspect
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from math import isfinite
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Never, Self, TypedDict

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from linsep.certificates.certify import LabelledRows
from linsep.certificates.schema import ProblemKey
from linsep.certificates.theorems import Run, Theorem
from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.links import Imaged
from linsep.engine.readouts import AVERAGES, MISTAKES, SKIPPED, UPDATES, Average, Last
from linsep.engine.runtime import uninterrupted
from linsep.engine.step import reads_norm
from linsep.estimators.base.bias import AUTO, first_entries, typical_size
from linsep.estimators.base.learner import Learner, refuse_one_class
from linsep.estimators.base.run_certificate import NO_THEOREM, runs_of, theorem_about
from linsep.estimators.base.traits import Traits
from linsep.training.epochs import one_pass, refuse_overflow, train
from linsep.training.mixing import MIXINGS
from linsep.training.progressive import ProgressiveErrors
from linsep.training.retraining import trains_to_the_same_log
from linsep.training.single_rows import RowLearner
from linsep.training.state import IN_ORDER, NO_WEIGHTS, Parts, TrainingState, TrainingWatch
from linsep.training.transaction import all_or_nothing
from linsep.training.update_log import Mixes, Record
from linsep.validation.errors import InvalidDataError, ParameterError
from linsep.validation.inputs import (
    NO_WIDTH,
    canonical,
    finite_array,
    known_dict,
    refuse_beyond,
    refuse_many_labels,
    refuse_other_columns,
    single_row,
    without_duplicates,
)
from linsep.validation.labels import clean, codes_among, encode, first_classes, new_classes

READOUTS: dict[str, type] = {"last": Last, "average": Average}
"""The readouts by name, of learners that keep no history."""
SEE = """    **shared
        Those of every online learner: see :class:`linsep.estimators.base.online.OnlineLearner`."""
"""Placeholder for the shared parameters in a learner's docstring."""


class SharedButIntercept(TypedDict, total=False):
    """The parameters that every online learner has, with the same default."""

    max_iter: int
    tol: float | None
    n_iter_no_change: int
    shuffle: bool | Literal["blocks", "once"]
    random_state: Any
    intercept_scaling: float | Literal["auto"]
    warm_start: bool
    class_weight: dict[Any, float] | Literal["balanced"] | None
    multi_class: Literal["auto", "ovr", "joint"]
    n_jobs: int | None
    shards: int | None
    mixing: Literal["uniform", "rows", "mistakes"]
    log: bool | Literal["auto"]


class Shared(SharedButIntercept, total=False):
    """The parameters that every online learner has."""

    fit_intercept: bool


def _without_keywords(signature: inspect.Signature) -> inspect.Signature:
    """Return the signature without its `**`."""
    return signature.replace(parameters=[p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD])


def own_names(kind: type) -> set[str]:
    """Return the parameters that a class declares itself."""
    return set(inspect.signature(vars(kind)["__init__"]).parameters) if "__init__" in vars(kind) else set()


def _shared_texts(left_out: set[str]) -> str:
    """Return the descriptions of the shared parameters, without those left out."""
    text = (OnlineLearner.__doc__ or "").split("----------\n")[1].rstrip()
    parts = re.split(r"^(?=    \w+ : )", text, flags=re.MULTILINE)
    return "".join(part for part in parts if part.split(" : ")[0].strip() not in left_out).rstrip()


class OnlineLearner(Learner):
    """A rule x a link x a readout, with scikit-learn's interface.

    A subclass returns its rule, link and readout in `_parts`. Every online learner has the parameters below; its
    documentation repeats them.

    Parameters
    ----------
    max_iter : int, default=10
        Maximum number of epochs.
    tol : float or None, default=None
        None: stop after an epoch without an update. A number: stop as well when the epoch's share
        of mistakes has not fallen by more than `tol` below the best for `n_iter_no_change` epochs.
    n_iter_no_change : int, default=5
        Number of epochs for `tol`.
    shuffle : bool, "blocks" or "once", default=True
        True: a new random order each epoch, `default_rng([seed, epoch]).permutation(n)`; "once": the first epoch's
        in all; False: the order of the rows. "blocks": blocks of 64 rows in a new random order each epoch, and within
        all blocks one more; two thirds of the time of True on large sparse data, as neighbours in memory stay near.
        Use True for rows that are grouped by label.
    random_state : int, RandomState or None, default=None
        The seed, or a generator that draws the seed.
    fit_intercept : bool, default=True
        If True, rows get a constant feature.
    intercept_scaling : float or "auto", default="auto"
        The constant feature's value, beta in the theorems; `intercept_scaling_` is the value in use. "auto": the first
        row chooses it, as the size of the entry at which the sizes |x_j|, summed from the largest on, reach half of
        their total; 1 if all its entries are 0.
    warm_start : bool, default=False
        If True, `fit` resumes the last run; k epochs and then l more equal k + l epochs of one run.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights, by class.
    multi_class : "auto", "ovr" or "joint", default="auto"
        "ovr": one binary classifier for each class, against the rest. "joint": one problem for all classes, the true
        class against its best rival. "auto": "joint" if the first call names more than two classes (all labels of
        `fit`, or `classes` of `partial_fit`), else "ovr", where labels may arrive late.
    n_jobs : int or None, default=None
        Threads for shards, for one-vs-rest classes and for prediction; never changes a bit. Without `shards` one
        binary classifier uses one thread.
    shards : int or None, default=None
        None: row after row. A number: iterative parameter mixing. The order of each epoch is cut into
        so many shards; each is learned from the weights that the epoch began with, and at its end they are mixed,
        s + sum of share (s_shard - s) / sum of shares. Part of the algorithm: other shards are another model. On
        separable data the mistakes, each times its shard's weight in the mix, keep within the learner's bound.
    mixing : "uniform", "rows" or "mistakes", default="uniform"
        A shard's share in the mix: 1, its rows, or the mistakes that it made in the epoch (if none did: 1).
    log : bool or "auto", default="auto"
        If True, keep `log_`. "auto": unless the rule updates on nearly every row, or the log outgrows 5 % of the data
        (or 1 MiB, if that is more).
    """

    _sees_all_rows: bool = False
    """True if `fit` solves for all rows at once and only the other methods train row by row."""
    _traits = Traits()
    _watch: TrainingWatch | None = None
    _progressive: ProgressiveErrors | None = None
    _settled = True
    """True if the last `fit` ended without mistakes, or by `tol`; True for rules that never settle."""
    _in_place = False
    _entry_limit: float | None = None
    _row_learner: RowLearner | None = None
    """Cached as `_row_predictor` is."""
    multi_class: str
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [None, Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean", StrOptions({"blocks", "once"})],
        "random_state": ["random_state"],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither"), StrOptions({AUTO})],
        "warm_start": ["boolean"],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "multi_class": [StrOptions({"auto", "ovr", "joint"})],
        "n_jobs": [None, Integral],
        "shards": [None, Interval(Integral, 1, None, closed="left")],
        "mixing": [StrOptions(set(MIXINGS))],
        "log": ["boolean", StrOptions({"auto"})],
    }

    def __init__(
        self,
        *,
        max_iter: int = 10,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        shuffle: bool | Literal["blocks", "once"] = True,
        random_state: Any = None,
        fit_intercept: bool = True,
        intercept_scaling: float | Literal["auto"] = "auto",
        warm_start: bool = False,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        multi_class: Literal["auto", "ovr", "joint"] = "auto",
        n_jobs: int | None = None,
        shards: int | None = None,
        mixing: Literal["uniform", "rows", "mistakes"] = "uniform",
        log: bool | Literal["auto"] = "auto",
        **unknown: Never,
    ) -> None:
        if unknown:
            known = ", ".join(self._get_param_names())
            raise TypeError(f"{type(self).__name__} has no parameter {min(unknown)!r}; its parameters are {known}")
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.n_jobs = n_jobs
        self.shards = shards
        self.mixing = mixing
        self.log = log

    __init__.__signature__ = _without_keywords(inspect.signature(__init__))  # type: ignore[attr-defined]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Write the shared parameters out in the signature and the documentation of a subclass that takes them."""
        super().__init_subclass__(**kwargs)
        if cls.__doc__ and SEE in cls.__doc__:
            cls.__doc__ = cls.__doc__.replace(SEE, _shared_texts(own_names(cls)))
        if "__init__" in vars(cls):
            own, shared = inspect.signature(cls.__init__), inspect.signature(OnlineLearner.__init__)
            named = _without_keywords(own).parameters
            rest = [p for p in shared.parameters.values() if p.name not in named]
            cls.__init__.__signature__ = own.replace(parameters=[*named.values(), *rest])  # type: ignore[attr-defined]

    @property
    def mistakes_(self) -> Any:
        """Return the number of rounds with y * score <= 0 before the update; per class for one-vs-rest of 3 or more."""
        return self._count(MISTAKES)

    @property
    def updates_(self) -> Any:
        """Return the number of updates; per class as for `mistakes_`."""
        return self._count(UPDATES)

    @property
    def skipped_(self) -> Any:
        """Mistakes on which the rule added nothing; per class as for `mistakes_`."""
        return self._count(SKIPPED)

    @property
    def errors_(self) -> int:
        """Rows whose label was not the one that the weights before the update were for.

        `errors_ / t_` is the progressive error of the last weights, not of an average or a vote. A score of 0, or a
        tie, counts as an error. For two classes and for pairs these are the mistakes. For more, one
        against the rest, they are counted where the scores of classes can be compared (so not Winnow's).
        """
        errors = self._fitted().errors
        if errors is None:
            raise AttributeError(
                "errors_ was not counted: the scores of classes can't be compared while these weights are trained, or "
                "the model was trained without counting errors"
            )
        return errors

    @property
    def intercept_scaling_(self) -> float:
        """The constant feature's value in training; 0 without an intercept."""
        return self._fitted().bias

    @property
    def t_(self) -> int:
        """Rounds so far."""
        return int(self._fitted().tally.rounds[0])

    @property
    def log_(self) -> Record:
        """The updates in order; see :class:`linsep.training.update_log.Record`."""
        state = self._fitted()
        if state.log.reason:
            raise AttributeError(f"no log was kept: {state.log.reason}")
        record = state.log.record()
        if self._open and not state.pair:
            return record.of_classes(len(self.classes_))
        return record

    @property
    def mixes_(self) -> Mixes:
        """The rows, mistakes and weights of all shards; see :class:`linsep.training.update_log.Mixes`."""
        state = self._fitted()
        if state.mixed is None:
            raise AttributeError("no shards were mixed: without shards, or with one, all rows are learned one by one")
        return Mixes.of(state.mixed, self._columns())

    @property
    def coef_(self) -> Any:
        """The weights that predict: see :attr:`linsep.estimators.base.learner.Learner.coef_`."""
        return super().coef_

    @coef_.setter
    @all_or_nothing
    def coef_(self, weights: Any) -> None:
        self._set_weights(coef=weights)

    @property
    def intercept_(self) -> Array:
        """The bias of each row of `coef_`: the constant feature's weight times its value; read-only, with a setter."""
        return super().intercept_

    @intercept_.setter
    @all_or_nothing
    def intercept_(self, biases: Any) -> None:
        self._set_weights(intercept=biases)

    def _set_weights(self, coef: Any = None, intercept: Any = None) -> None:
        """Replace the weights that predict; training continues from them."""
        self._fitted()
        self.densify()
        self._state = self._begun_with(self._trimmed(), len(self.classes_), coef, intercept)
        self._forget_facts()
        self._drop_prepared()

    def _forget_facts(self) -> None:
        """Remove what a solver stated about weights that are replaced or trained further."""
        for name in self._facts:
            self.__dict__.pop(name, None)

    def _begun_with(self, state: TrainingState, known: int, coef: Any, intercept: Any) -> TrainingState:
        """Return a state that predicts with these weights of the classes; what is None stays as it is."""
        if isinstance(state.link, Imaged) or state.history is not None:
            state.with_weights(np.empty((0, 0)))  # raises the error
        weights, bias = state.scorer().weights().copy(), state.bias
        rows = 1 if known == 2 else known
        if coef is not None:
            given: Any = coef
            dense = given.toarray() if sp.issparse(coef) else given
            table = finite_array("coef_", dense, (rows, state.features))
            weights[:-1, self._columns_of(state, known)] = self._by_columns(state, known, table).T
        if intercept is not None:
            biases = finite_array("intercept_", np.reshape(intercept, (-1, 1)), (rows, 1))
            if bias == 0.0 and biases.any():
                raise ParameterError("intercept_: the learner has no bias; set fit_intercept=True before training")
            weights[-1:, self._columns_of(state, known)] = self._by_columns(state, known, biases / (bias or 1.0)).T
        return state.with_weights(weights)

    @staticmethod
    def _columns_of(state: TrainingState, known: int) -> slice:
        """Return the columns of the weights of the known classes."""
        return slice(0, 1) if state.columns == 1 else slice(0, known)

    @staticmethod
    def _by_columns(state: TrainingState, known: int, table: Array) -> Array:
        """Return rows of `coef_` as weights of columns: of two classes with a column each, the first is against."""
        if known != 2 or state.columns == 1:
            return table
        return np.vstack([-table, table]) * (0.5 if state.pair else 1.0)

    def _count(self, what: int) -> Any:
        counts, columns = self._fitted().tally.counts[what], self._columns()
        return counts[columns].copy() if isinstance(columns, slice) else int(counts[columns])

    def _columns(self) -> slice | int:
        """Return the columns of the binary classifiers of classes; one column for two classes, or for pairs."""
        state, known = self._fitted(), len(self.classes_)
        if state.pair or state.columns == 1:
            return 0
        return 1 if known == 2 else slice(known)

    def learn_one(self, x: Any, y: Any) -> Any:
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
        row_learner = self._row_learner
        try:
            code = None if row_learner is None else row_learner.codes.get(y)
        except TypeError:  # y has no hash
            refuse_many_labels(y)
            raise
        if row_learner is not None and code is not None:
            if self._entry_limit is None and type(x) is tuple and row_learner.learned(x, code):
                return self
            entries = known_dict(x, self._names) if type(x) is dict else self._entries_of(x)
            if entries is not None:
                if self._names is not None or self._entry_limit is not None:
                    self._refuse_entries(x, entries)
                indices, values, distinct = entries
                row_learner.learn(indices, values, distinct, code)
                return self
        with uninterrupted():  # between the update of the weights and the publication of new names and classes
            return self._learn_new(x, y)

    @all_or_nothing
    def _learn_new(self, x: Any, y: Any) -> Any:
        """Learn from one row that may add features and a class, or follows other training."""
        self.densify()
        self._add_names(x)
        entries = self._entries_of(x)
        self._refuse_entries(x, entries)
        row_learner = self._prepare_learn_one(entries, y)
        indices, values, distinct = entries
        row_learner.learn(indices, values, distinct, row_learner.codes[y])
        return self

    def _refuse_entries(self, x: Any, entries: tuple[Array, Array, bool]) -> None:
        """Raise a ValueError for an entry beyond the limit, or of a column that no feature's name has."""
        if self._names is not None and type(x) is tuple:
            refuse_other_columns(entries[0], self.n_features_in_, named=True)
        if self._entry_limit is not None:
            refuse_beyond(entries, self._entry_limit)

    def _make_room(self) -> None:
        if hasattr(self, "_state") and self.n_features_in_ > self._state.features:
            self._state.resize(2 * self.n_features_in_)  # doubled, so that not every name is a copy
            self._drop_prepared()

    def _prepare_learn_one(self, entries: tuple[Array, Array, bool], y: Any) -> RowLearner:
        """Cache what stays constant between single rows; a new label becomes a class, if labels may arrive."""
        refuse_many_labels(y)
        self._check_shards(whole=False)
        if not hasattr(self, "_state"):
            self._validate_params()
            if not hasattr(self, "n_features_in_"):
                raise InvalidDataError(NO_WIDTH)
            self._open, self.classes_ = True, clean([y], 1)
            self.seed_, self.n_iter_ = self._draw_seed(), 1
            row: Dense | Csr = single_row(*entries[:2], self.n_features_in_, 0.0)
            row = self._with_bias(row, self._row_weights(np.zeros(1, np.intp), self.classes_, None, row, whole=False))
            self._state = self._start(self.n_features_in_, 1, None, row.bias, open_labels=True)
        elif y not in self.classes_.tolist():
            known, state = self._add_classes(clean([y], 1), None)
            if y not in known.tolist():
                raise InvalidDataError(f"the label {y!r} is not among the classes {known.tolist()}")
            self.classes_, self._state = known, state
        else:
            self._check_changes()
            self._follow(self._state, None)
        self._drop_prepared()
        weighted = self.class_weight is not None
        self._state.keep_log(self.log, weighted, 0)
        codes = {label: code for code, label in enumerate(self.classes_.tolist())}
        weights = self._class_weights(np.empty(0, np.intp), self.classes_) if weighted else NO_WEIGHTS
        self._row_learner = RowLearner(self._state, self._bias, self.n_features_in_, codes, weights)
        return self._row_learner

    def _check_shards(self, whole: bool = True) -> None:
        """Raise a ValueError if `shards` is set and shards can't be mixed."""
        if self.shards is None:
            return
        if self._no_mixing:
            raise ParameterError(f"shards={self.shards}: {type(self).__name__} is not mixed, as {self._no_mixing}")
        if not whole:
            raise ParameterError(
                f"shards={self.shards} cuts all rows, and these come a few at a time: set shards=None, or use fit (or "
                "linsep.distributed.fit, for files of any size)"
            )

    def _readout_kind(self, features: int) -> type | None:
        return None if "readout" in self._get_param_names() else self._parts(features, None).readout

    @property
    def _most_epochs(self) -> int:
        """Return the maximum number of epochs of `fit`."""
        return self.max_iter

    def _parts(self, features: int, rows: int | None) -> Parts:
        """Return the rule, the link and the readout for data of that width; `rows` is None for a stream."""
        raise TypeError(f"{type(self).__name__} has no method _parts: return its rule, link and readout there")

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, coef_init: Any = None, intercept_init: Any = None
    ) -> Self:
        """Train on all rows, epoch after epoch.

        Parameters
        ----------
        X : array, sparse matrix or dataframe, (rows, features)
            The examples.
        y : array, (rows,)
            Their labels, of any type; two classes at least.
        sample_weight : array, (rows,), optional
            Multiplies each row's update, and counts as that many rounds in an average; 0 leaves the row out. For a
            rule that learns from mistakes this is not the same as repeating the row.
        coef_init, intercept_init : array, optional
            The weights and biases to begin with, of the shapes of `coef_` and `intercept_`. An average counts them as
            one round, and no theorem is about such a run. For additive weights, and without `warm_start`.

        Returns
        -------
        self
        """
        self._check_shards()
        resumes = self.warm_start and hasattr(self, "_state")
        data = canonical(self, X, bias=self._bias if resumes else 0.0, reset=not resumes)
        labels = clean(y, data.n_rows)
        if resumes:
            codes = codes_among(labels, self.classes_)
        else:
            classes, codes = encode(labels)
            refuse_one_class(classes)
        weights = self._row_weights(codes, self.classes_ if resumes else classes, sample_weight, data)
        present = int(np.count_nonzero(weights)) if len(weights) else data.n_rows
        self._check_entries(data)
        if resumes:
            state = self._resumed_state(present)
            state.check_again(data)
        else:
            data = self._with_bias(data, weights)
            state = self._start(data.n_features, len(classes), present, data.bias, open_labels=False)
            self.seed_ = self._draw_seed()
        if coef_init is not None or intercept_init is not None:
            if resumes:
                raise ParameterError("coef_init and warm_start=True both set the initial weights: pass one of them")
            state = self._begun_with(state, len(classes), coef_init, intercept_init)
        if reads_norm(type(state.rule)):
            data = without_duplicates(data)
        state.keep_log(self.log, len(weights) > 0, 0 if resumes else data.nbytes)
        rounds, epochs = int(state.tally.rounds[0]), state.epochs
        passes, enough = train(self, state, data, codes, weights)
        self._remember(state, data, weights, rounds, range(epochs, state.epochs))
        if not resumes:
            self.classes_, self._open = classes, False
            self.__dict__.pop("form_", None)  # how other data were read, that a loaded model was trained on
        self._drop_prepared()
        self._state, self.n_iter_ = state, passes
        self._settled = enough.done or not enough.settles
        if enough.more_helps:
            self._warn_of_mistakes()
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over these rows, in the order given, from where the last one stopped.

        Parameters
        ----------
        X : array, sparse matrix or dataframe, (rows, features)
            The examples. The number of features may change only through `grow`.
        y : array, (rows,)
            Their labels.
        classes : array, optional
            In the first call: all labels that will ever come; others are then an error. Without it labels may arrive
            at any time, with the same result as if all labels were known from the start (one-vs-rest), at the cost of
            one more binary classifier, which represents all later labels.
        sample_weight : array, (rows,), optional
            As in `fit`.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_state") and not hasattr(self, "n_features_in_")
        self._check_changes()
        self._check_shards(whole=False)
        return self._pass_over(canonical(self, X, bias=self._bias, reset=first), y, classes, sample_weight)

    def _pass_over(self, data: Dense | Csr, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over rows of a stream."""
        first = not hasattr(self, "_state")
        labels = clean(y, data.n_rows)
        self._check_entries(data)
        if isinstance(self.class_weight, str):
            raise ParameterError(
                'class_weight="balanced" needs all labels at once: pass a dict of weights to partial_fit'
            )
        if first:
            self._open, known = classes is None, first_classes(labels, classes)
        else:
            known, state = self._add_classes(labels, classes)
        codes = codes_among(labels, known)
        weights = self._row_weights(codes, known, sample_weight, data, whole=False)
        if first:
            data = self._with_bias(data, weights)
            state = self._start(data.n_features, len(known), None, data.bias, self._open)
        if reads_norm(type(state.rule)):
            data = without_duplicates(data)
        state.keep_log(self.log, len(weights) > 0, data.nbytes)
        rounds = int(state.tally.rounds[0])
        # In place, Ctrl-C waits until the rows of mistakes are kept; dual weights keep theirs block by block.
        indivisible = self._in_place and state.history is not None and state.dual is None
        with uninterrupted() if indivisible else nullcontext():
            one_pass(self, state, data, codes, weights, IN_ORDER, state.behind + state.rows)
            if not self._in_place:
                refuse_overflow(state)
            self._remember(state, data, weights, rounds)
            state.rows += data.n_rows
        if first:
            self.seed_ = self._draw_seed()
        self._drop_prepared()
        self._state, self.classes_, self.n_iter_ = state, known, 1
        return self

    @contextmanager
    def _watched(self, watch: TrainingWatch) -> Iterator[None]:
        """Call `watch` between rows while training inside of the block.

        `watch` is called with the state in training before the first row of each pass; what it returns is the number
        of rows after which to be called again. The state must not be changed. The errors of an average are counted in
        `state.progressive` (:mod:`linsep.training.progressive`); `watch` is then called where a block of rows ends.
        """
        self._watch, self._progressive = watch, ProgressiveErrors()
        try:
            yield
        finally:
            del self._watch, self._progressive
            if hasattr(self, "_state"):
                self._state.watch = self._state.progressive = None

    @contextmanager
    def _training_in_place(self) -> Iterator[None]:
        """Let `partial_fit` learn in place inside of the block.

        Otherwise it works on a copy of the weights, so that a call that raises changes nothing: too much for many
        small calls and many features. If one raises here, the learner is unusable.
        """
        self._in_place = True
        try:
            yield
        finally:
            del self._in_place
        if hasattr(self, "_state"):
            refuse_overflow(self._state)

    def _check_changes(self) -> None:
        """Check parameters that were set in mid-training, as `fit` does at its start."""
        if self.__dict__.pop("_changed", False):
            self._validate_params()

    @all_or_nothing
    def grow(self, n_features: int) -> Self:
        """Widen the weights to `n_features`, as if the new features had been there, always 0, from the start."""
        width = getattr(self, "n_features_in_", 0)
        if self._names is not None and n_features != width:
            raise ParameterError("Cannot grow a learner with named features; learn_one adds new names itself")
        if n_features < width:
            raise ParameterError(f"grow({n_features}): the learner has {width} features already and can't lose any")
        if hasattr(self, "_state"):
            self.densify()._trimmed().resize(n_features)
        self.n_features_in_ = int(n_features)
        if n_features > width:
            self._drop_prepared()
        return self

    def _remember(
        self, state: TrainingState, data: Dense | Csr, weights: Array, since: int, epochs: range | None = None
    ) -> None:
        """Keep what the readout needs of the rounds after `since`; of a stream's rows, where there were no epochs."""

    @property
    def _reads_first_row(self) -> bool:
        """Return whether the first row chooses the constant feature's value."""
        return bool(self.fit_intercept) and self.intercept_scaling == AUTO

    def _first_bias(self, entries: Array | None) -> float:
        """Return the constant feature's value that the entries of the first row choose."""
        size = None if entries is None else typical_size(entries)
        if size is not None and not isfinite(size * size):
            raise InvalidDataError(
                f"the first row's entry {size:g} has a square too large for float64: divide all of X by one factor"
            )
        return self._wanted_bias if size is None else size

    def _with_bias(self, data: Dense | Csr, weights: Array) -> Dense | Csr:
        """Return rows that a run begins with, with the constant feature's value of that run."""
        auto = self._reads_first_row
        return data._replace(bias=self._first_bias(first_entries(data, weights)) if auto else self._wanted_bias)

    def _start(self, features: int, classes: int, rows: int | None, bias: float, open_labels: bool) -> TrainingState:
        """Return the state before the first round."""
        joint = classes > 2 and not open_labels
        pair = joint if self.multi_class == "auto" else self.multi_class == "joint"
        columns = classes + (not pair) if open_labels else 1 if classes == 2 and not pair else classes
        background = open_labels and not pair
        state = TrainingState.start(
            self._parts(features, rows), features, columns, pair, bias, background,
            self._new_history(bias), self._new_dual(features),
        )  # fmt: skip
        state.watch, state.progressive = self._watch, self._progressive
        self._configure(state)
        return state

    def _resumed_state(self, rows: int | None) -> TrainingState:
        """Return a copy of the state that follows the parameters as they are now."""
        self.densify()
        state = self._trimmed() if self._in_place else self._trimmed().copy()
        state.watch, state.progressive = self._watch, self._progressive
        self._follow(state, rows)
        return state

    def _theorem(self) -> tuple[Theorem | None, list[str]]:
        state = self._fitted()
        theorem = theorem_about(state)
        if theorem is None:
            kind = " in pairs of classes" if state.pair else ""
            return None, [NO_THEOREM.format(type(self).__name__ + kind)]
        return theorem, self._of_the_readout()

    def _of_the_readout(self) -> list[str]:
        """Return remarks on weights that predict and that the claims about a run do not cover."""
        if isinstance(self._fitted().readout, AVERAGES):
            return ["the claims are about the run; its average, which predicts, inherits no guarantee on new rows"]
        return []

    def _runs(self, rows: LabelledRows) -> dict[ProblemKey, Run]:
        state = self._fitted()
        return runs_of(self._whole_log(), self.t_, rows, state.pair, state.mixed)

    def _trains_to_the_same_log(self, rows: LabelledRows) -> bool:
        return trains_to_the_same_log(self, self._readable().whole(), rows.data, rows.codes, self._open)

    def _whole_log(self) -> Record:
        """Return the log; raise a ValueError with the reason if the run can't be certified."""
        state = self._fitted()
        if state.log.reason:
            raise ParameterError(
                f"this run can't be certified, as no log was kept: {state.log.reason}; fit again with log=True, "
                "or certify the data alone with linsep.certify(X, y)"
            )
        return self.log_

    def _follow(self, state: TrainingState, rows: int | None) -> None:
        pair = state.pair if self.multi_class == "auto" else self.multi_class == "joint"
        bias = state.bias if self._reads_first_row and state.bias else self._wanted_bias
        state.follow(self._parts(state.first_features, rows), pair, bias)
        self._configure(state)

    def _configure(self, state: TrainingState) -> None:
        """Pass parameters to the state before it learns."""

    def _add_classes(self, labels: Array, classes: Any) -> tuple[Array, TrainingState]:
        """Return the classes known from now on, and a copy of the state with a column for each."""
        state, known = self._resumed_state(None), self.classes_
        new = new_classes(labels, classes, known)
        if self._open:
            for label in new:
                place = int(np.searchsorted(known, label))
                known = np.insert(known.astype(np.result_type(known, labels)), place, label)
                state.admit(place)
        return known, state

    def _warn_of_mistakes(self, most: int | None = None, depth: int = 5) -> None:
        """Warn that training ended after `most` epochs, though more would help."""
        most = self._most_epochs if most is None else most
        fewer = "" if most == 1 else " (and ever fewer)"
        warnings.warn(
            f"{type(self).__name__} still made mistakes after max_iter={most} epochs{fewer}: raise max_iter if the "
            "data are separable; if they are not, no max_iter is enough: set tol to stop earlier"
            f"{self._better_readout()}",
            ConvergenceWarning,
            stacklevel=depth,
        )

    def _better_readout(self) -> str:
        """Return a further cure for weights that keep changing."""
        averages = isinstance(self._state.readout, AVERAGES)
        return "" if averages else ", and predict with an average of the weights (AveragedPerceptron)"
