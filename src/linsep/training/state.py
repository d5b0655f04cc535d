"""The state of training: rule, weights, counts and log, and the passes that update them."""

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense, Dual, Single, room_for
from linsep.engine.links import EXPONENTIAL, Additive, Imaged, Scaled
from linsep.engine.native import Bound
from linsep.engine.passes import DONE, LOG_FULL, class_room, learn_classes, learn_pairs, learn_rows
from linsep.engine.readouts import AVERAGES, MISTAKES, Last, RecentAverage, Tally
from linsep.engine.step import needs_norm, settles, shrinks, steps_by_one, takes_weights
from linsep.engine.tiers import Tiered
from linsep.training.progressive import ProgressiveErrors
from linsep.training.scoring import (
    KeptFeatures,
    Scorer,
    SparseScorer,
    any_bit_set,
    keep_features,
    restore_features,
    with_zero_row,
)
from linsep.training.transaction import shallow
from linsep.training.update_log import MixLog, UpdateLog
from linsep.training.weights import (
    copied,
    name_of,
    predicting_weights,
    ready_for_single_rows,
    refreshed,
    resized,
    start_link,
    start_readout,
    start_tally,
    with_new_class,
    with_own_image,
    writable,
    write_columns,
)
from linsep.validation.errors import InvalidDataError, ParameterError

if TYPE_CHECKING:
    from linsep.training.dual_weights import DualWeights
    from linsep.training.history import History

IN_ORDER, NO_WEIGHTS = np.empty(0, np.intp), np.empty(0)
"""Order and weights of a pass over all rows as they are, each with weight 1."""
NOT_SEEN = np.empty((0, 0))
"""In place of a table of scores that nobody compares."""
CHUNK = 1 << 26
"""Products that a pass makes before it returns to Python: Ctrl-C interrupts it within a fraction of a second."""
TOO_LARGE = "a score is too large for float64: divide all of X by one factor, in training too"
CACHE_BYTES = 1 << 20
"""Weights larger than this are prefetched row by row in a pass over many classes."""


class Parts(NamedTuple):
    """Components of a learner: a rule, a link with its number (rate or power), a readout."""

    rule: Any
    link: str = "additive"
    number: float = 0.0
    readout: type = Last


def as_floats(rule: Any) -> Any:
    """Return the rule with all its numbers as floats, so that it is compiled once."""
    return type(rule)(*map(float, rule))


class TrainingWatch(Protocol):
    """Called with a state in training from time to time."""

    def __call__(self, state: "TrainingState") -> int:
        """Return the number of rows after which to be called again."""


class ColumnBlock(NamedTuple):
    """The parts that a state of some columns shares with the blocks of the other columns.

    Even a block of one column is a class against the rest.
    """

    first_column: int
    seen: Array
    """The scores of all columns for the rows of the present span, before each update; empty if nobody compares them."""


class StoppedError(Exception):
    """A pass met a row whose score or step is not a finite number."""

    def __init__(self, row: int, status: int) -> None:
        super().__init__(row, status)
        self.row, self.status = row, status


@dataclass
class TrainingState:
    """Everything that training resumes from."""

    rule: Any
    link: Any
    readout: Any
    tally: Tally
    pair: bool
    bias: float
    log: UpdateLog = field(default_factory=UpdateLog)
    first_features: int = 0
    epochs: int = 0
    rows: int = 0
    behind: int = 0
    """Rows whose numbers are taken, beside those of the stream."""
    background: bool = False
    mixed: MixLog | None = None
    """The shards that were mixed so far, if any were."""
    history: "History | None" = None
    """The rows of the updates, if any hypothesis of the run may predict; then the log has the score of each."""
    dual: "DualWeights | None" = None
    """If set, the weights are those of rows, for a kernel."""
    watch: TrainingWatch | None = field(default=None, repr=False)
    progressive: ProgressiveErrors | None = field(default=None, repr=False)
    """If set, an average predicts the rows of the first epoch in blocks, each before it is learned."""
    part: ColumnBlock | None = field(default=None, repr=False)
    """If set, the columns are a block of another state's."""
    _scorer: Any = field(default=None, repr=False)
    _checked: Array | None = field(default=None, repr=False)
    """The sums that :meth:`check_for_single_rows` found in range, if no other pass has updated them since."""

    @classmethod
    def start(
        cls, parts: Parts, features: int, columns: int, pair: bool, bias: float, background: bool = False,
        history: "History | None" = None, dual: "DualWeights | None" = None,
    ) -> "TrainingState":  # fmt: skip
        """Return a state before its first round; a `background` column represents all labels still to come."""
        rule = as_floats(parts.rule)
        link = "scaled" if shrinks(type(rule)) else parts.link
        normed, rows = needs_norm(type(rule)), features + 1 if dual is None else 1
        return cls(
            rule,
            start_link(link, rows, columns, parts.readout, parts.number, normed, dual is not None),
            start_readout(parts.readout, rows, columns),
            start_tally(columns),
            pair,
            bias,
            first_features=features,
            background=background,
            history=history,
            dual=dual,
        )

    def follow(self, parts: Parts, pair: bool, bias: float) -> None:
        """Resume with another rule or another number for the link, if they suit the weights.

        Read-only arrays, as of a memory map, are copied.
        """
        name = "scaled" if shrinks(type(parts.rule)) else parts.link
        normed = isinstance(self.link, Scaled) and needs_norm(type(parts.rule)) and not self.link.normed
        if name != name_of(self.link) or normed:
            raise ParameterError(
                f"training can't resume with {parts.rule}: its weights differ in kind from {self.rule}'s"
            )
        for what, now, then in (
            ("readout", parts.readout.__name__.lower(), type(self.readout).__name__.lower()),
            ("multi_class", "joint" if pair else "ovr", "joint" if self.pair else "ovr"),
            ("the bias feature", f"{bias:g}", f"{self.bias:g}"),
        ):
            if now != then:
                raise ParameterError(f"training can't resume with {what} {now}: it began with {then}; call fit")
        self.rule = as_floats(parts.rule)
        self.link, self.readout = writable(self.link), writable(self.readout)
        self.tally = writable(self.tally)
        self.log = replace(self.log, lines=writable(self.log.lines))
        if self.history is not None:  # shared with the state that this one is a draft of
            self.tally, self.log, self.history = copied(self.tally), self.log.copy(), self.history.copy()
            self.dual = self.dual and replace(self.dual)
        if isinstance(self.link, Imaged) and self.link.number != parts.number:
            self._scorer = None
            self.link = with_own_image(self.link._replace(number=float(parts.number)), self.pair, self.bias != 0.0)

    def check_again(self, data: Dense | Csr) -> None:
        """Raise a ValueError if `fit` can't resume with these data."""
        if self.history is not None and self.dual is not None:
            self.dual.check_same_rows(self.history, data)
        elif self.history is not None:
            self.history.check_same_rows(data)

    def check_for_single_rows(self) -> None:
        """Raise a ValueError if the sums are too large to be updated in place, a row at a time."""
        if self._checked is self.link.s:
            return
        if not ready_for_single_rows(self.link, self.readout):
            raise InvalidDataError(
                "the sums of the updates are too large to learn single rows: divide all of X by one factor, and fit"
            )
        self._checked = self.link.s

    def keep_log(self, mode: bool | str, weighted: bool, data_bytes: int) -> None:
        """Open or close the log as `log=` asks, for data of that size."""
        if self.history is not None:
            if mode is False:
                raise ParameterError("log=False: the hypotheses follow from the log; omit log=, or use Perceptron")
            mode = True
        exact = steps_by_one(type(self.rule)) and not weighted
        log = replace(self.log, data_bytes=self.log.data_bytes + data_bytes)
        if log.reason:
            pass
        elif mode is False:
            log = log.closed("log=False")
        elif mode == "auto" and not settles(type(self.rule)):
            log = log.closed(f"{type(self.rule).__name__} steps on nearly every row; log=True keeps a log all the same")
        else:
            log = replace(log, limit=np.inf if mode is True else 0).allowing(log.data_bytes)
            if not log.is_open:
                names = 2 if self.pair else int(self.columns > 1)
                sizes = 2 if shrinks(type(self.rule)) else int(self.history is not None or not exact)
                log = log.opened(names, sizes, scored=self.history is not None)
            elif not exact and not log.sizes.shape[1]:
                reason = "sample weights after rows without them: the log so far has no amounts"
                if mode is True:
                    raise ParameterError(f'{reason}; pass log="auto" to give it up')
                log = log.closed(reason)
        self.log = log

    @property
    def columns(self) -> int:
        """The number of columns of weights."""
        return self.link.s.shape[1]

    @property
    def features(self) -> int:
        """The number of features, the bias not counted."""
        if self.dual is not None:
            return self.dual.width
        return len(self.link.s) - 1

    @property
    def kept(self) -> int:
        """The number of features whose weights are stored, as users see it."""
        return self.features

    @property
    def errors(self) -> int | None:
        """Rows so far whose label was not the one that the scores, before the update, were for; None if not known.

        Not above all others is not for it, so that a score of 0, or a tie, is an error.
        """
        if self.pair or self.columns == 1:
            return int(self.tally.counts[MISTAKES, 0])
        errors = int(self.tally.errors[0])
        return None if errors < 0 or isinstance(self.link, Imaged) else errors

    @property
    def compared_labels(self) -> int:
        """The number of labels whose scores are compared to count errors, each against the rest; 0 if none are."""
        return 0 if self.part is not None or self.errors is None else self.columns - self.background

    def copy(self) -> "TrainingState":
        """Return a state that shares no memory with this one, but for the part of the log already written."""
        parts = {name: copied(getattr(self, name)) for name in ("link", "readout", "tally")}
        history, dual = self.history and self.history.copy(), self.dual and replace(self.dual)
        return replace(self, **parts, log=self.log.copy(), history=history, dual=dual, _scorer=None)

    def apart(self) -> "TrainingState":
        """Return a state that shares no memory with this one, also when both train."""
        return replace(self.copy(), log=self.log.trimmed(), history=self.history and self.history.apart())

    def run(
        self, data: Any, codes: Array, weights: Array, order: Array, first: int, span: tuple[int, int] | None = None
    ) -> None:
        """Make one pass; raises StoppedError at a row that can't be learned from, with this state in disorder.

        `codes` are the columns of the rows' classes; of a block, those of the whole. `first` is the number of row 0 in
        the log. `span` is the part of the order to visit, if that is not all.
        """
        if self.dual is not None and not isinstance(data, Dual):
            self.dual.run(self, data, codes, weights, order, first, span)
            return
        self._scorer = self._checked = None
        codes = codes if self.part is None else codes - self.part.first_column
        begin, rows = span or (0, data.n_rows if not len(order) else len(order))
        kernel, bound, p = self.compiled_pass(type(data)), self.bound(data, codes, weights, order, begin), begin
        stride = max(1, CHUNK * data.n_rows // max(1, data[0].size * self.columns))
        look = rows if self.watch is None else p + self.watch(self)
        predicted = p if self.progressive is not None and self.progressive.counts(self) else None
        while p < rows:
            if self.progressive is not None and p == predicted:
                predicted = self.progressive.predict_block(self, data, codes, weights, order, p, rows)
            end = min(rows, look) if predicted is None else predicted
            p, status = kernel(bound, (), p, min(end, p + stride), first)
            if self.watch is not None and p >= look and (predicted is None or p == predicted):
                look = p + self.watch(self)
            if status == LOG_FULL:
                self.log = self.log.enlarged(self.columns)
                bound = self.bound(data, codes, weights, order, begin)
            elif status != DONE:
                raise StoppedError(int(order[p]) if len(order) else p, status)
        self.log = self.log.within_limit()

    @property
    def _one_column(self) -> bool:
        """Return whether the state is one binary classifier of one column, whose codes are signs."""
        return self.columns == 1 and not self.pair and self.part is None

    def compiled_pass(self, data: type) -> Tiered:
        """Return the pass over data of this kind."""
        kinds: Any = type(self.rule), type(self.link), type(self.readout), data
        learn = learn_rows if self._one_column else learn_pairs if self.pair else learn_classes
        return learn(*kinds)

    def bound(self, data: Any, codes: Array, weights: Array, order: Array, begin: int = 0) -> Bound:
        """Return the first argument of :meth:`compiled_pass`: this state, and rows from a position of the order on."""
        _check_weights(self.rule, weights)
        parts = map(tuple, (self.rule, self.link, self.readout, self.tally, self.log.lines))
        rows = tuple(data)[3:] if isinstance(data, Single) else tuple(data)
        more: tuple[Any, ...] = ()
        if not self._one_column:
            more = (class_room(self.columns), self.link.s.nbytes > CACHE_BYTES)
        if not self._one_column and not self.pair:
            block = self.part or ColumnBlock(0, NOT_SEEN)
            more += (block.first_column, self.compared_labels, block.seen, begin)
        return Bound(*parts, rows, codes, weights, order, room_for(data), *more)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again, and the log's free room."""
        left_out = {"watch": None, "progressive": None, "_scorer": None, "_checked": None}
        return vars(self) | left_out | {"log": self.log.trimmed()}

    def block(self, lo: int, hi: int, seen: Array) -> "TrainingState":
        """Return a state of some of the columns, with an empty log, that shares no memory with this one.

        Its passes write the scores of each row to `seen`, unless that is empty.
        """
        cut = {name: copied(getattr(self, name), slice(lo, hi)) for name in ("link", "readout", "tally")}
        log = self.log.emptied()
        return replace(self, **cut, log=log, part=ColumnBlock(lo, seen), watch=None, progressive=None, _scorer=None)

    def join(self, blocks: list["TrainingState"]) -> None:
        """Take over the columns of blocks that together are all of this state's, and their logs."""
        self._scorer = self._checked = None
        lo = 0
        for block in blocks:
            for name in ("link", "readout", "tally"):
                write_columns(getattr(self, name), getattr(block, name), lo)
            lo += block.columns
        if self.log.is_open:
            reasons = [b.log.reason for b in blocks if b.log.reason]
            log = self.log.closed(reasons[0]) if reasons else self.log.merged(b.log for b in blocks)
            self.log = log.within_limit()

    def admit(self, place: int) -> None:
        """Make a column for a label that arrives late."""
        self._scorer = None
        for name in ("link", "readout", "tally"):
            setattr(self, name, with_new_class(getattr(self, name), place, self.pair))
        if self.mixed is not None and not self.pair:
            self.mixed = self.mixed.admitted(place)
        if self.log.is_open:
            self.log = self.log.with_new_class(place, None if self.pair else self.columns - 2)
        if self.history is not None:
            self.history = self.history.with_new_class(place, self.pair)

    def resize(self, features: int) -> None:
        """Give the weights room for that many features: new ones are 0, those taken away must be."""
        self._scorer = None
        if self.dual is None:
            self.link, self.readout = resized(self.link, features), resized(self.readout, features)
        else:
            self.dual = replace(self.dual, width=features)
        if self.history is not None:
            self.history = self.history.resized(features)

    def with_weights(self, weights: Array) -> "TrainingState":
        """Return a state that predicts with these weights, (features + 1, columns), and trains from there.

        An average counts them as one round. The log is closed, as its updates do not add up to these weights.
        """
        if isinstance(self.link, Imaged) or self.history is not None:
            reason = "functions of sums" if isinstance(self.link, Imaged) else "sums of rows that are stored"
            raise AttributeError(f"the weights can't be set: they are {reason}")
        state = self.copy()
        (rows, columns), kind = weights.shape, type(self.readout)
        link = start_link(name_of(self.link), rows, columns, kind, normed=getattr(self.link, "normed", True))
        state.link = link._replace(s=np.ascontiguousarray(weights, np.float64))
        if isinstance(state.link, Scaled):
            squares = np.einsum("jc,jc->c", weights, weights)
            state.link.norm2[: 1 if self.pair else None] = squares.sum() if self.pair else squares
        state.readout = start_readout(kind, rows, columns)
        if isinstance(state.readout, AVERAGES):
            state.readout.mass[:] = state.readout.clock[:] = 1.0
        if isinstance(state.readout, RecentAverage):
            state.readout.latest[:], state.readout.growth[:] = 1.0, self.readout.growth
        state.log = state.log.closed("the weights were set")
        return state

    def reading(self, features: int) -> "TrainingState":
        """Return the state with that many features, for a reader; this state does not change."""
        committed = None if self.history is None else self.history.committed(features)
        if committed is not None:
            return committed
        if features == self.features:
            return self
        state = shallow(self, vars(self).copy())
        state.resize(features)
        return state

    def scorer(self, features: int | None = None) -> Scorer:
        """Return the weights that predict, for that many features.

        They are cached until the next round. A pass counts a round before it updates the weights, and a row after: a
        scorer that another thread makes in between is cached under a pair of counts that does not come again.
        """
        features = self.features if features is None else features
        key, cached = (int(self.tally.rounds[0]), self.rows, features), self._scorer
        if cached is None or cached[0] != key:
            state = self.reading(features)
            if isinstance(state.link, Imaged):
                link, divisor = refreshed(state.link, self.pair, self.bias != 0.0)
            else:
                link = Additive(np.ascontiguousarray(predicting_weights(state.link, state.readout)))
                divisor = np.ones(self.columns)
            self._scorer = cached = key, Scorer(link, divisor, self.pair)
        scorer: Scorer = cached[1]
        return scorer

    def nonzero_features(self) -> Array:
        """Return the features of which any weight, or any sum that its average is made of, is not zero."""
        nonzero = any_bit_set(self.link.s)
        if isinstance(self.readout, AVERAGES):
            nonzero |= any_bit_set(self.readout.u)
        return np.flatnonzero(nonzero[:-1])

    def sparsified(self) -> "SparseState":
        """Return a state without the weights that are zero, which predicts the same to the bit."""
        if isinstance(self.link, Imaged) and self.link.form == EXPONENTIAL:
            raise ValueError("the weights are exponentials, of which none is 0: there is nothing to leave out")
        kept, scorer = self.nonzero_features(), self.scorer()
        few = replace(self, link=keep_features(self.link, kept), readout=keep_features(self.readout, kept))
        scorer = replace(scorer, link=keep_features(scorer.link, kept))
        return SparseState.of(few, scorer, KeptFeatures(kept, self.features), on_request=True)

    def whole(self) -> "TrainingState":
        """Return a state with the weights of all features, which can be trained."""
        return self

    def of_all_features(self, weights: Array) -> Any:
        """Return stored weights, (rows, stored features), as weights of all features."""
        return weights


@dataclass(kw_only=True)
class SparseState(TrainingState):
    """A state that has the weights of some features only; it predicts, and trains once it is :meth:`whole`.

    The link and the readout have rows for the features of `sparse.kept`, and for the bias.
    """

    sparse: SparseScorer = field(repr=False)
    on_request: bool
    """True if `sparsify` made it; else only time and memory differ."""

    @classmethod
    def of(cls, few: TrainingState, scorer: Scorer, kept: KeptFeatures, on_request: bool) -> "SparseState":
        """Make a sparse state of a state, and of weights that predict, which both have the features kept alone."""
        sparse = SparseScorer(with_zero_row(scorer.link), scorer.divisor, few.pair, kept)
        reset = {"watch": None, "progressive": None, "_scorer": None}
        return cls(**_fields(few) | reset, sparse=sparse, on_request=on_request)

    @property
    def features(self) -> int:
        """The number of all features, the bias not counted."""
        return self.sparse.kept.features

    @property
    def kept(self) -> int:
        """The number of features whose weights are stored, as users see it."""
        return len(self.sparse.kept.numbers) if self.on_request else self.features

    def scorer(self, features: int | None = None) -> Scorer:
        """Return the weights that predict."""
        return self.sparse

    def sparsified(self) -> "SparseState":
        """Return this state as one that `sparsify` made."""
        return replace(self, on_request=True)

    def whole(self) -> TrainingState:
        """Return a state with the weights of all features, which can be trained."""
        few, kept = self.copy(), self.sparse.kept
        parts = {"link": restore_features(few.link, kept), "readout": restore_features(few.readout, kept)}
        return TrainingState(**_fields(few) | parts)

    def of_all_features(self, weights: Array) -> Any:
        """Return stored weights, (rows, stored features), as weights of all features: a CSR array after `sparsify`."""
        shape, numbers = (len(weights), self.features), self.sparse.kept.numbers
        if self.on_request:
            row, place = np.nonzero(weights)
            return sp.coo_array((weights[row, place], (row, numbers[place])), shape=shape).tocsr()
        dense = np.zeros(shape)
        dense[:, numbers] = weights
        return dense


def _fields(state: TrainingState) -> dict[str, Any]:
    return {of.name: getattr(state, of.name) for of in fields(TrainingState)}


def _check_weights(rule: Any, weights: Array) -> None:
    """Raise a ParameterError that names the first weight other than 0 and 1 if the rule's steps can't be multiplied."""
    if takes_weights(type(rule)):
        return
    strange = weights[(weights != 0) & (weights != 1)]
    if len(strange):
        name = type(rule).__name__
        raise ParameterError(
            f"a row or class has weight {strange[0]:g}, but {name} projects on each row's constraint, so that a weight "
            "other than 0 or 1 has no meaning: omit sample_weight and class_weight, or use PassiveAggressive"
        )
