"""What all online learners share: checks at the boundary, fit and partial_fit, single rows, the answers."""

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import groupby, pairwise
from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning

from linsep.core.arrays import Array
from linsep.core.examples import Csr, Dense
from linsep.core.readouts import Average, Last
from linsep.core.step import reads_norm, settles
from linsep.core.threads import threads
from linsep.core.weights import name_of
from linsep.data.inputs import bytes_of, canonical, rows_of, width_of, without_duplicates
from linsep.data.labels import clean, codes_among, encode, refuse_another_type
from linsep.learners.certified import NO_THEOREM, runs_of, theorem_of
from linsep.learners.compact import whole
from linsep.learners.counts import Counts
from linsep.learners.drivers import one_pass, order_of, refuse_overflow, train
from linsep.learners.intact import all_or_nothing
from linsep.learners.learn_one import LearnOne
from linsep.learners.learner import Learner, refuse_one_class
from linsep.learners.machine import IN_ORDER, NO_WEIGHTS, Machine, Parts, StoppedError, Watch
from linsep.learners.mixes import same_mixes
from linsep.learners.parameters import Parameters
from linsep.learners.record import Record
from linsep.learners.sharding import Shards
from linsep.learners.team import Team
from linsep.theory.certifying import Rows
from linsep.theory.runs import Run, Theorem

READOUTS: dict[str, type] = {"last": Last, "average": Average}


class OnlineLearner(Parameters, Counts, LearnOne, Learner):
    """A rule x a link x a readout, as a scikit-learn classifier.

    A subclass says in `_parts` what it is made of; everything else is here and in the other bases.
    """

    _mixes = "no theorem is claimed"
    _no_mixing = ""
    _watch: Watch | None = None
    _in_place = False

    def _check_shards(self, whole: bool = True) -> None:
        """Raise a ValueError where shards are wanted, and can't be mixed."""
        if self.shards is None:
            return
        if self._no_mixing:
            raise ValueError(f"shards={self.shards}: {type(self).__name__} is not mixed, as {self._no_mixing}")
        if self.select is not None:
            raise ValueError(f"shards={self.shards}: select={self.select!r} locates a row among all of them; give one")
        if not whole:
            raise ValueError(
                f"shards={self.shards} cuts all rows, and these come a few at a time: set shards=None, or use fit (or "
                "linsep.scale.fit, for files of any size)"
            )

    @property
    def _most_epochs(self) -> int:
        """The most epochs (with `select`: the most updates) of `fit`."""
        return self.max_iter

    def _parts(self, features: int, rows: int | None) -> Parts:
        """Return the learner's rule, link and readout for data of that width; `rows` is None for a stream."""
        raise TypeError(f"{type(self).__name__} does not say what it is made of")

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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

        Returns
        -------
        self
        """
        self._check_shards()
        go_on = self.warm_start and hasattr(self, "_machine")
        data = canonical(self, X, bias=self._bias if go_on else self._wanted_bias, reset=not go_on)
        labels = clean(y, rows_of(data))
        if go_on:
            codes = codes_among(labels, self.classes_)
        else:
            classes, codes = encode(labels)
            refuse_one_class(classes)
        weights = self._row_weights(codes, self.classes_ if go_on else classes, sample_weight, data)
        present = int(np.count_nonzero(weights)) if len(weights) else rows_of(data)
        self._check_entries(data)
        if go_on:
            machine = self._going_on(present)
            machine.check_again(data)
        else:
            machine = self._start(width_of(data), len(classes), present, open_labels=False)
            self.seed_ = self._draw_seed()
        if reads_norm(type(machine.rule)):
            data = without_duplicates(data)
        machine.keep_log(self.log, len(weights) > 0, 0 if go_on else bytes_of(data))
        rounds, epochs = int(machine.tally.rounds[0]), machine.epochs
        passes, done = train(self, machine, data, codes, weights)
        self._remember(machine, data, weights, rounds, range(epochs, machine.epochs))
        if not go_on:
            self.classes_, self._open = classes, False
            self.__dict__.pop("form_", None)  # how other data were read, that a loaded model was trained on
        self._close_desk()
        self._machine, self.n_iter_ = machine, passes
        if not done and settles(type(machine.rule)):
            self._warn_not_separated()
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
            at any time, with the result that knowing them from the start would have given (one-vs-rest), at the cost
            of one more machine that stands in for all labels still to come.
        sample_weight : array, (rows,), optional
            As in `fit`.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_machine") and not hasattr(self, "n_features_in_")
        self._check_changes()
        self._check_shards(whole=False)
        return self._pass_over(canonical(self, X, bias=self._bias, reset=first), y, classes, sample_weight)

    def _pass_over(self, data: Dense | Csr, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over rows of a stream."""
        first = not hasattr(self, "_machine")
        labels = clean(y, rows_of(data))
        self._check_entries(data)
        if isinstance(self.class_weight, str):
            raise ValueError('class_weight="balanced" needs all labels at once: pass a dict of weights to partial_fit')
        known, machine = self._welcome(labels, classes, width_of(data))
        codes = codes_among(labels, known)
        weights = self._row_weights(codes, known, sample_weight, data, whole=False)
        if reads_norm(type(machine.rule)):
            data = without_duplicates(data)
        machine.keep_log(self.log, len(weights) > 0, bytes_of(data))
        rounds = int(machine.tally.rounds[0])
        with self._as_a_whole():
            one_pass(self, machine, data, codes, weights, IN_ORDER, machine.behind + machine.rows)
            if not self._in_place:
                refuse_overflow(machine)
            self._remember(machine, data, weights, rounds)
            machine.rows += rows_of(data)
        if first:
            self.seed_ = self._draw_seed()
        self._close_desk()
        self._machine, self.classes_, self.n_iter_ = machine, known, 1
        return self

    @contextmanager
    def watched(self, watch: Watch) -> Iterator[None]:
        """Let training that goes on inside of the block be looked at, between rows, now and then.

        `watch` is called with the machine in training before the first row of each pass; what it returns is the number
        of rows after which to be called again. The machine must not be changed.
        """
        self._watch = watch
        try:
            yield
        finally:
            del self._watch
            if hasattr(self, "_machine"):
                self._machine.watch = None

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let `partial_fit` learn in place inside of the block.

        Otherwise it works on a copy of the weights, so that a call that raises changes nothing: too much for many
        small calls and many features. If one raises here, the learner is of no use any more.
        """
        self._in_place = True
        try:
            yield
        finally:
            del self._in_place
        if hasattr(self, "_machine"):
            refuse_overflow(self._machine)

    def _check_changes(self) -> None:
        """Check parameters that were set in mid-training, as `fit` does at its start."""
        if self.__dict__.pop("_changed", False):
            self._validate_params()

    @all_or_nothing
    def grow(self, n_features: int) -> Self:
        """Widen the weights to `n_features`, as if the new features had been there, always 0, from the start."""
        width = getattr(self, "n_features_in_", 0)
        if self._names is not None and n_features != width:
            raise ValueError("grow: the features have names, so that a new name is what makes room (see learn_one)")
        if n_features < width:
            raise ValueError(f"grow({n_features}): the learner has {width} features already and can't lose any")
        if hasattr(self, "_machine"):
            self.densify()._trimmed().resize(n_features)
        self.n_features_in_ = int(n_features)
        if n_features > width:
            self._close_desk()
        return self

    def _as_a_whole(self) -> AbstractContextManager[None]:
        """Return the context for a pass over a stream's rows, and for what is kept of them."""
        return nullcontext()

    def _remember(
        self, machine: Machine, data: Dense | Csr, weights: Array, since: int, epochs: range | None = None
    ) -> None:
        """Keep what the readout needs of the rounds after `since`; of a stream's rows, where there were no epochs."""

    def _start(self, features: int, classes: int, rows: int | None, open_labels: bool) -> Machine:
        pair = self.multi_class == "pair"
        columns = classes + (not pair) if open_labels else 1 if classes == 2 and not pair else classes
        background = open_labels and not pair
        machine = self._machine_kind.start(
            self._parts(features, rows), features, columns, pair, self._wanted_bias, background
        )
        machine.watch = self._watch
        return machine

    def _going_on(self, rows: int | None) -> Machine:
        """Return a copy of the machine, moved by the parameters as they are now."""
        self.densify()
        machine = self._trimmed() if self._in_place else self._trimmed().copy()
        machine.watch = self._watch
        self._follow(machine, rows)
        return machine

    def _theorem(self) -> tuple[Theorem | None, list[str]]:
        machine = self._fitted()
        theorem = theorem_of(machine)
        if theorem is None:
            kind = " in pairs of classes" if machine.pair else ""
            return None, [NO_THEOREM.format(type(self).__name__ + kind)]
        return theorem, self._of_the_readout()

    def _of_the_readout(self) -> list[str]:
        """Return what the claims about a run do not say of the weights that answer."""
        if isinstance(self._fitted().readout, Average):
            return ["the claims are about the run; its average, which answers, inherits no guarantee on new rows"]
        return []

    def _runs(self, rows: Rows) -> dict[str, Run]:
        machine = self._fitted()
        return runs_of(self._whole_log(), self.t_, rows, machine.pair, machine.mixed)

    def _trains_to_the_same_log(self, rows: Rows) -> bool:
        machine = whole(self._readable())
        if not machine.epochs and not machine.rows:  # located rows: every round is an update
            return True
        late = machine.pair and self._open and not machine.epochs
        for retrain in (self._trained_again, _trained_as_labels_arrive)[: 1 + late]:
            try:
                twin = retrain(machine, rows)
            except (StoppedError, ValueError):
                continue
            if machine.record().same_updates(twin.record()) and same_mixes(machine.mixed, twin.mixed):
                return True
        return False

    def _trained_again(self, machine: Machine, rows: Rows) -> Machine:
        """Return a machine trained on these rows as the one given: its epochs, then its rows of a stream."""
        n, jobs, twin = rows_of(rows.data), threads(self.n_jobs), _untrained(machine, machine.columns)
        shards = [0] * machine.epochs if machine.mixed is None else machine.mixed.shards(machine.epochs)
        for count, epochs in groupby(range(machine.epochs), shards.__getitem__):
            team = Shards(twin, count, self.mixing, jobs) if count else Team(twin, jobs)
            for epoch in epochs:
                team.run(rows.data, rows.codes, NO_WEIGHTS, order_of(self, epoch, n), 0)
                twin.epochs += 1
            team.join()
        if machine.rows:
            one_pass(self, twin, rows.data, rows.codes, NO_WEIGHTS, np.arange(min(machine.rows, n)), 0)
        return twin

    def _whole_log(self) -> Record:
        """Return the log, or say why the run can't be certified."""
        machine = self._fitted()
        if machine.no_log_because:
            raise ValueError(
                f"this run can't be certified, as no log was kept: {machine.no_log_because}; fit again with log=True, "
                "or certify the data alone with linsep.certify(X, y)"
            )
        return self.log_

    def _follow(self, machine: Machine, rows: int | None) -> None:
        machine.follow(self._parts(machine.first_features, rows), self.multi_class == "pair", self._wanted_bias)

    def _welcome(self, labels: Array, classes: Any, features: int) -> tuple[Array, Machine]:
        """Return the classes known from now on, and a copy of the machine with a column for each."""
        if not hasattr(self, "_machine"):
            self._open = classes is None
            known = np.unique(labels if classes is None else np.asarray(classes))
            if not self._open and len(known) < 2:
                raise ValueError(f"classes has only one class, {known.tolist()}: name two at least, or leave it out")
            return known, self._start(features, len(known), None, self._open)
        machine = self._going_on(None)
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={list(classes)} differ from those of the first call, {self.classes_.tolist()}")
        known = self.classes_
        refuse_another_type(labels, known)
        if self._open:
            for label in np.setdiff1d(np.unique(labels), known):
                place = int(np.searchsorted(known, label))
                known = np.insert(known.astype(np.result_type(known, labels)), place, label)
                machine.admit(place)
        return known, machine

    def _warn_not_separated(self, most: int | None = None, depth: int = 5) -> None:
        """Warn that training ended with mistakes, after `most` epochs (or updates) if that is why."""
        unit = "epochs" if self.select is None else "updates"
        most = self._most_epochs if most is None else most
        if self.n_iter_ < most:
            why = f"stopped after {self.n_iter_} {unit}, as its rule does not move on the mistakes that are left"
        else:
            why = f"still made mistakes after max_iter={most} {unit}: raise max_iter if the data are separable"
        warnings.warn(
            f"{type(self).__name__} {why}; if they are not, no max_iter is enough: set tol to stop earlier"
            f"{self._better_readout()}",
            ConvergenceWarning,
            stacklevel=depth,
        )

    def _better_readout(self) -> str:
        """Return what else to do about weights that keep moving."""
        averages = isinstance(self._machine.readout, Average)
        return "" if averages else ", and let an average of the weights answer (AveragedPerceptron)"


def _untrained(machine: Machine, columns: int) -> Machine:
    """Return a machine of the same parts before its first round, which keeps its log."""
    parts = Parts(machine.rule, name_of(machine.link), getattr(machine.link, "number", 0.0), type(machine.readout))
    twin = Machine.start(parts, machine.features, columns, machine.pair, machine.bias, machine.background)
    twin.keep_log(True, weighted=False, data_bytes=0)
    return twin


def _trained_as_labels_arrive(machine: Machine, rows: Rows) -> Machine:
    """Return a machine of pairs after one pass in which each class is admitted at its first row."""
    twin, known = _untrained(machine, 1), np.empty(0, np.intp)
    firsts = np.sort(np.unique(rows.codes, return_index=True)[1])
    for lo, hi in pairwise([*firsts.tolist(), len(rows.codes)]):
        place = int(np.searchsorted(known, rows.codes[lo]))
        if len(known):
            twin.admit(place)
        known = np.insert(known, place, rows.codes[lo])
        twin.run(rows.data, np.searchsorted(known, rows.codes), NO_WEIGHTS, IN_ORDER, 0, span=(lo, hi))
    return twin
