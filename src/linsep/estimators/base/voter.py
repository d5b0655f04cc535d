"""Base class of learners that predict with any hypothesis of their run."""

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.runtime import threads
from linsep.estimators.base.facts import Fact
from linsep.estimators.base.online import OnlineLearner
from linsep.estimators.base.traits import Traits
from linsep.kernels.functions import Linear
from linsep.training import votes
from linsep.training.epochs import order_of
from linsep.training.history import History, RunHypotheses
from linsep.training.state import TrainingState
from linsep.training.transaction import all_or_nothing, on_snapshot
from linsep.training.update_log import Record
from linsep.training.votes import Readings
from linsep.validation.errors import InvalidDataError, ParameterError
from linsep.validation.inputs import (
    NO_WIDTH,
    canonical,
    refuse_bad_entries,
    refuse_many_labels,
    refuse_other_columns,
    single_row,
)

LINEAR = ("last", "average", "longest")
"""Readouts that are sums of hypotheses."""
NOT_LINEAR = 'readout="{}" asks all weights of the run, and has none of its own: set_params(readout="average") has'
VOTER_READOUTS = ("vote", "plurality", "random", *LINEAR)
STREAM = 1999
"""Combined with the seed, so that the random readout and the order of rows draw different numbers."""


class Voter(OnlineLearner):
    """A learner whose readout may be changed after training."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineLearner._parameter_constraints,
        "readout": [StrOptions(set(VOTER_READOUTS))],
        "normalize": ["boolean"],
        "max_support": [None, Interval(Integral, 1, None, closed="left")],
    }
    _facts: ClassVar[dict[str, Fact]] = {"draws_": Fact(int, least=0)}
    _traits = Traits(never_mixes="it predicts with the hypotheses of one run, one after the other")
    readout: str
    normalize: bool
    max_support: int | None
    draws_ = 0
    """The number of random predictions so far; the next resumes the random stream there."""

    def _check_facts(self) -> None:
        if type(self.draws_) is not int or not 0 <= self.draws_ < 1 << 62:
            raise ValueError("its draws_ is not a count")

    @on_snapshot
    def readings(self, X: Any, rounds: Any = None) -> Readings:
        """Return the scores of every readout but the plurality, from one pass over the updates.

        Parameters
        ----------
        X : array, sparse matrix or dataframe, (rows, features)
            The rows to predict.
        rounds : array of int, optional
            Numbers of rounds, ascending: predict as if training had stopped there. Default: all rounds, `t_`.

        Returns
        -------
        Readings
        """
        run = self._hypotheses()
        asked = np.atleast_1d(np.asarray(run.end if rounds is None else rounds))
        if asked.ndim != 1 or asked.dtype.kind not in "iu" or not len(asked) or np.any(np.diff(asked) <= 0):
            raise ParameterError(f"rounds are numbers of rounds, rising; got {rounds!r}")
        begin = run.history.begin
        if asked[0] < begin or asked[-1] > run.end:
            raise ParameterError(f"rounds={asked.tolist()}: the run has the hypotheses of rounds {begin} to {run.end}")
        data = canonical(self, X, bias=self._bias, reset=False)
        refuse_bad_entries(data)
        times, jobs = self._times(run.history, asked), threads(self.n_jobs)
        draws = self._draw(len(asked) * data.n_rows).reshape(len(asked), -1)
        scores = votes.every_readout(run, data, times, draws, jobs)
        self.draws_ += draws.size
        if run.pair:
            known = len(self.classes_)
            scores["vote", False] = np.stack([votes.plurality(run, data, False, jobs, known, t) for t in times])
        of_classes = {k: np.stack([self._of_classes(s, flat=False) for s in a]) for k, a in scores.items()}
        mistakes, support = self._counts_at(run.state, asked)
        return Readings(asked, of_classes, self.classes_, mistakes, support)

    def _times(self, history: History, rounds: Array) -> Array:
        if history.clock.plain:
            return history.clock.at(rounds)
        known = np.isin(rounds, np.append(history.clock.rounds, 0))
        if not known.all():
            raise ParameterError(
                f"rounds={rounds.tolist()}: of a run with weighted rows, known are rounds with updates and the last"
            )
        return history.clock.at(rounds)

    def _counts_at(self, state: TrainingState, rounds: Array) -> tuple[Array, Array]:
        """Return the number of updates up to each round, and of distinct rows among those that are stored."""
        lines = state.log.numbers
        if self._open and not state.pair:
            known = len(self.classes_)
            lines = lines[lines[:, 2] < known if known != 2 else lines[:, 2] == 1]
        _, first = np.unique(lines[:, 0], return_index=True)
        began = np.sort(lines[first, 1])
        forgotten = int(np.sum(self.updates_)) - len(lines)
        made = np.searchsorted(lines[:, 1], rounds, side="right")
        return forgotten + made, np.searchsorted(began, rounds, side="right")

    @property
    def n_support_(self) -> int:
        """The number of distinct rows that are stored: those of updates."""
        return len(self.support_)

    @property
    def support_(self) -> Array:
        """The indices of the stored rows, in X or from the start of the stream, in the order of their first mistake."""
        support = self._hypotheses().history.support
        return np.empty(0, np.int64) if support is None else support.known.copy()

    @property
    def support_bytes_(self) -> int:
        """The memory of the stored rows and of the log, in bytes."""
        run = self._hypotheses()
        support = run.history.support
        return run.state.log.nbytes + (0 if support is None else support.nbytes)

    @property
    def survival_(self) -> Any:
        """The rounds that each hypothesis was used for, c_0, c_1, ...: one array, or a list of one for each class."""
        return [h.counts for h in self._hypotheses().hypotheses()][self._columns()]

    @property
    def sparsify(self) -> Any:
        """Raise an AttributeError: the learner stores rows, not weights."""
        raise AttributeError(f"{type(self).__name__} keeps the rows of its mistakes, and has no weights to leave out")

    predict_one = OnlineLearner._predict_one_by_scores

    @property
    def _no_weights(self) -> str:
        return "" if self.readout in LINEAR else NOT_LINEAR.format(self.readout)

    def _check_linear(self) -> None:
        """Raise an AttributeError if the readout is not a sum of hypotheses, which has weights of its own."""
        if self.readout not in LINEAR:
            raise AttributeError(NOT_LINEAR.format(self.readout))

    def _hypotheses(self) -> RunHypotheses:
        """Return all hypotheses of the run."""
        return RunHypotheses(self._readable())

    def _new_history(self, bias: float) -> History | None:
        return History(Linear(bias))

    def _scores(self, data: Dense | Csr) -> Array:
        run, jobs, known = self._hypotheses(), threads(self.n_jobs), len(self.classes_)
        self._validate_params()
        refuse_bad_entries(data)
        if self.readout in LINEAR:
            return self._linear_scores(data, jobs)
        if self.readout == "random":
            scores = votes.drawn(run, data, self._draw(data.n_rows), self.normalize, jobs)
            self.draws_ += data.n_rows
            return scores
        if run.pair or (self.readout == "plurality" and known > 2):
            return votes.plurality(run, data, self.normalize, jobs, known)
        return votes.vote(run, data, jobs)

    def _linear_scores(self, data: Dense | Csr, jobs: int) -> Array:
        return votes.linear(self._hypotheses(), data, self.readout, self.normalize, jobs)

    def _of_the_readout(self) -> list[str]:
        guarantees = {
            "random": "a hypothesis{} that is drawn at random errs on new rows with probability E[k] / m",
            "vote": "the vote{} errs on new rows with probability 2 E[k] / m at most",
        }
        if self.readout not in guarantees or self._fitted().pair:
            return [f"the claims are about the run; its {self.readout} readout inherits no guarantee on new rows"]
        guarantee = guarantees[self.readout].format(
            "" if len(self.classes_) == 2 else " of each class's binary classifier"
        )
        return [f"the claims are about the run; after one pass over independent rows, {guarantee}"]

    def _whole_log(self) -> Record:
        begin = self._hypotheses().history.begin
        if begin:
            raise ParameterError(
                f"this run can't be certified, as the rows of its rounds up to {begin:,} were forgotten: "
                "train it with a larger max_support, or none"
            )
        return super()._whole_log()

    def _better_readout(self) -> str:
        return ', and choose readout="vote" or "average"' if self.readout in ("last", "longest", "random") else ""

    def _draw(self, n: int) -> Array:
        """Return the next numbers in [0, 1) of the random stream; `draws_` is the position in it."""
        bits = np.random.PCG64(np.random.SeedSequence([self.seed_, STREAM])).advance(self.draws_)
        return (bits.random_raw(n) >> np.uint64(11)) * 2.0**-53

    @all_or_nothing
    def _learn_alone(self, x: Any, y: Any) -> Self:
        """Learn from one row on a copy of the state, as partial_fit does."""
        self._add_names(x)
        if not hasattr(self, "n_features_in_"):
            raise InvalidDataError(NO_WIDTH)
        indices, values, _ = self._entries_of(x)
        refuse_other_columns(indices, self.n_features_in_)
        refuse_many_labels(y)
        self._check_changes()
        self._check_shards(whole=False)
        if not hasattr(self, "_state"):
            self._validate_params()
        return self._pass_over(single_row(indices, values, self.n_features_in_, self._bias), [y])

    def _remember(
        self, state: TrainingState, data: Dense | Csr, weights: Array, since: int, epochs: range | None = None
    ) -> None:
        assert state.history is not None
        stream = epochs is None
        visited = weights
        if epochs is not None and len(weights):
            orders = [order_of(self, e, data.n_rows) for e in epochs]
            visited = np.concatenate([weights[order] if len(order) else weights for order in orders])
        state.history.remember(state, data, state.behind + state.rows if stream else 0, since, visited[visited > 0])
        if not stream:
            state.behind = max(state.behind, data.n_rows)
        if since == 0:
            self.draws_ = 0

    def _configure(self, state: Any) -> None:
        state.history.most = self.max_support
