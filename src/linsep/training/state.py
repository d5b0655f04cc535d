"""The state of training: rule, weights, counts and log, and the passes that update them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.links import Additive, Imaged, Scaled
from linsep.engine.native import Bound
from linsep.engine.passes import DONE, LOG_FULL, Kernel, learn_classes, learn_rows, score_classes, score_rows
from linsep.engine.readouts import MISTAKES, Average, Last, Log, Tally
from linsep.engine.runtime import share, split
from linsep.engine.step import check_weights, needs_norm, settles, shrinks, steps_by_one
from linsep.engine.weights import (
    FOR_ALL,
    answering,
    columns_of,
    copied,
    first_image,
    name_of,
    ready_for_single_rows,
    refreshed,
    start_link,
    start_readout,
    start_tally,
    widen,
    with_own_image,
    writable,
)  # fmt: skip
from linsep.training.transaction import shallow
from linsep.training.update_log import (
    Mixed,
    Record,
    admitted,
    empty_like,
    empty_log,
    enlarged,
    line_bytes,
    merged,
    no_log,
    trimmed,
)


def for_reading(part: Any) -> Any:
    """Return a link or readout with read-only arrays, so that one kernel scores memory maps and plain arrays alike.

    The debt is a copy, as scoring writes to it.
    """
    arrays = {f: v for f, v in part._asdict().items() if isinstance(v, np.ndarray)}
    return part._replace(**{f: np.array(v) if f == "debt" else frozen(v) for f, v in arrays.items()})


def scored(link: Any, divisor: Array, data: Dense | Csr, pair: bool, jobs: int) -> Array:
    """Return the scores of all rows under a link's columns, divided by each column's divisor."""
    n, columns = data.n_rows, link.s.shape[1]
    kinds: Any = type(link), type(data)
    out = np.empty((n, columns))
    cuts = split(n, jobs) if n else []
    links = [for_reading(link) for _ in cuts]
    if columns == 1:
        kernel, flat = score_rows(*kinds), out.reshape(n)
        tasks = [partial(kernel, tuple(w), tuple(data), a, b, flat) for w, (a, b) in zip(links, cuts, strict=True)]
    else:
        kernel = score_classes(*kinds)
        tasks = [partial(kernel, tuple(w), tuple(data), a, b, out, pair) for w, (a, b) in zip(links, cuts, strict=True)]
    share(tasks, jobs)
    if not isinstance(link, Additive):
        whole = out / divisor
        lost = (whole == 0) & (out != 0)
        out = np.where(lost, np.copysign(5e-324, out), whole)
    return out


IN_ORDER, NO_WEIGHTS = np.empty(0, np.intp), np.empty(0)
"""To the passes: all rows as they stand, all with weight 1."""
CHUNK = 1 << 26
"""Products a pass makes between two looks at Python, so that Ctrl-C is heard within a fraction of a second."""
TOO_LARGE = "a score is too large for float64: divide all of X by one factor, in training too"
LEAST_LOG = 1 << 20
"""Bytes that an automatic log may always take."""
CACHE_BYTES = 1 << 20
"""Weights larger than this are prefetched row by row in a pass over many classes."""


class Parts(NamedTuple):
    """What a learner is made of: a rule, a link with its number (rate or power), a readout."""

    rule: Any
    link: str = "additive"
    number: float = 0.0
    readout: type = Last


def as_floats(rule: Any) -> Any:
    """Return the rule with all its numbers as floats, so that it is compiled once."""
    return type(rule)(*map(float, rule))


class Watch(Protocol):
    """Looks at a state now and then while it learns."""

    def __call__(self, state: "TrainingState") -> int:
        """Look; return after how many more rows to be called again."""


class StoppedError(Exception):
    """A pass met a row whose score or step is not a finite number."""

    def __init__(self, row: int, status: int) -> None:
        super().__init__(row, status)
        self.row, self.status = row, status


@dataclass
class TrainingState:
    """Everything that training goes on from."""

    keeps_rows: ClassVar[bool] = False
    """Whether it keeps the rows of its updates; then the log has the score and the amount of each."""
    divisible: ClassVar[bool] = True
    """Whether threads may share its columns."""
    rule: Any
    link: Any
    readout: Any
    tally: Tally
    pair: bool
    bias: float
    log: Log
    log_limit: float = np.inf
    no_log_because: str = ""
    data_bytes: int = 0
    first_features: int = 0
    epochs: int = 0
    rows: int = 0
    behind: int = 0
    """Rows whose numbers are taken, beside those of the stream."""
    background: bool = False
    mixed: Mixed | None = None
    """The shards that were mixed so far, if any were."""
    watch: Watch | None = field(default=None, repr=False)
    _answer: Any = field(default=None, repr=False)
    _checked: Array | None = field(default=None, repr=False)
    """The sums that :meth:`check_for_single_rows` found in range, if no other pass has updated them since."""

    @classmethod
    def start(
        cls, parts: Parts, features: int, columns: int, pair: bool, bias: float, background: bool = False
    ) -> "TrainingState":
        """Return a state before its first round; its last column may stand for all labels still to come."""
        rule = as_floats(parts.rule)
        link = "scaled" if shrinks(type(rule)) else parts.link
        normed = needs_norm(type(rule))
        return cls(
            rule,
            start_link(link, features + 1, columns, parts.readout, parts.number, normed),
            start_readout(parts.readout, features + 1, columns),
            start_tally(columns),
            pair,
            bias,
            no_log(),
            first_features=features,
            background=background,
        )

    def follow(self, parts: Parts, pair: bool, bias: float) -> None:
        """Go on with another rule or another number for the link, if the weights can carry them.

        What was restored read-only, as from a memory map, is copied.
        """
        name = "scaled" if shrinks(type(parts.rule)) else parts.link
        normed = isinstance(self.link, Scaled) and needs_norm(type(parts.rule)) and not self.link.normed
        if name != name_of(self.link) or normed:
            raise ValueError(f"training can't go on with {parts.rule}: its weights differ in kind from {self.rule}'s")
        for what, now, then in (
            ("readout", parts.readout.__name__.lower(), type(self.readout).__name__.lower()),
            ("multi_class", "joint" if pair else "ovr", "joint" if self.pair else "ovr"),
            ("the bias feature", f"{bias:g}", f"{self.bias:g}"),
        ):
            if now != then:
                raise ValueError(f"training can't go on with {what} {now}: it began with {then}; fit anew")
        self.rule = as_floats(parts.rule)
        self.link, self.readout = writable(self.link), writable(self.readout)
        self.tally, self.log = writable(self.tally), writable(self.log)
        if isinstance(self.link, Imaged) and self.link.number != parts.number:
            self._answer = None
            self.link = with_own_image(self.link._replace(number=float(parts.number)), self.pair, self.bias != 0.0)

    def check_again(self, data: Dense | Csr) -> None:
        """Raise a ValueError if `fit` can't go on with these data."""

    def check_for_single_rows(self) -> None:
        """Raise a ValueError if the sums are too large to be updated in place, a row at a time."""
        if self._checked is self.link.s:
            return
        if not ready_for_single_rows(self.link, self.readout):
            raise ValueError(
                "the sums of the updates are too large to learn single rows: divide all of X by one factor, and fit"
            )
        self._checked = self.link.s

    def keep_log(self, mode: bool | str, weighted: bool, data_bytes: int) -> None:
        """Open or close the log as `log=` asks, for data of that size."""
        exact = steps_by_one(type(self.rule)) and not weighted
        self.data_bytes += data_bytes
        if self.no_log_because:
            return
        if mode is False:
            self._drop_log("log=False")
        elif mode == "auto" and not settles(type(self.rule)):
            self.no_log_because = (
                f"{type(self.rule).__name__} steps on nearly every row; log=True keeps a log all the same"
            )
        else:
            self.log_limit = np.inf if mode is True else 0
            self.allow_log(self.data_bytes)
            if not len(self.log.numbers):
                names = 2 if self.pair else int(self.columns > 1)
                sizes = 2 if shrinks(type(self.rule)) else int(self.keeps_rows or not exact)
                self.log = empty_log(names, sizes, scored=self.keeps_rows)
            elif not exact and not self.log.sizes.shape[1]:
                reason = "sample weights after rows without them: the log so far has no amounts"
                if mode is True:
                    raise ValueError(f'{reason}; pass log="auto" to give it up')
                self._drop_log(reason)

    def allow_log(self, data_bytes: int) -> None:
        """Let an automatic log grow to 5 % of that much data."""
        self.log_limit = max(self.log_limit, LEAST_LOG, 0.05 * data_bytes)

    @property
    def columns(self) -> int:
        """The number of columns of weights."""
        return self.link.s.shape[1]

    @property
    def features(self) -> int:
        """The number of features, the bias not counted."""
        return len(self.link.s) - 1

    @property
    def errors(self) -> int | None:
        """Rows so far whose label was not the one that the scores, before the update, were for; None if not known.

        Not above all others is not for it, so that a score of 0, or a tie, is an error.
        """
        if self.pair or self.columns == 1:
            return int(self.tally.counts[MISTAKES, 0])
        errors = int(self.tally.errors[0])
        return None if errors < 0 or isinstance(self.link, Imaged) else errors

    def copy(self) -> "TrainingState":
        """Return a state that shares no memory with this one, but for the part of the log already written."""
        parts = {name: copied(getattr(self, name)) for name in ("link", "readout", "tally")}
        return replace(self, **parts, log=self.log._replace(filled=self.log.filled.copy()), _answer=None)

    def apart(self) -> "TrainingState":
        """Return a state that shares no memory with this one, and will not when both go on."""
        return replace(self.copy(), log=trimmed(self.log))

    def run(
        self, data: Any, codes: Array, weights: Array, order: Array, first: int, base: int | None = None,
        span: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        """Make one pass; raises StoppedError at a row that can't be learned from, with this state in disorder.

        `base` is the first of a block's columns, which even alone are classes against the rest. `span` is the part of
        the order to visit, if that is not all.
        """
        self._answer = self._checked = None
        kernel = self.kernel(type(data), base is not None)
        bound = self.bound(tuple(data), codes, weights, order, base)
        p, rows = span or (0, data.n_rows if not len(order) else len(order))
        stride = max(1, CHUNK * data.n_rows // max(1, data[0].size * self.columns))
        look = rows if self.watch is None else self.watch(self)
        while p < rows:
            p, status = kernel(bound, (), p, min(rows, p + stride, look), first)
            if self.watch is not None and p >= look:
                look = p + self.watch(self)
            if status == LOG_FULL:
                self.enlarge_log()
                bound = self.bound(tuple(data), codes, weights, order, base)
            elif status != DONE:
                raise StoppedError(int(order[p]) if len(order) else p, status)
        self.drop_large_log()

    def kernel(self, data: type, block: bool = False) -> Kernel:
        """Return the pass over data of this kind; a block of columns is classes even if it has one."""
        make: Any = learn_rows if self.columns == 1 and not self.pair and not block else learn_classes
        return make(type(self.rule), type(self.link), type(self.readout), data)

    def bound(
        self, data: tuple[Any, ...], codes: Array, weights: Array, order: Array, base: int | None = None
    ) -> Bound:
        """Return this state and what :meth:`kernel` is told of the rows, as it takes them."""
        check_weights(self.rule, weights)
        parts = map(tuple, (self.rule, self.link, self.readout, self.tally, self.log))
        many = self.columns > 1 or self.pair or base is not None
        known = self.columns - self.background if self.errors is not None else 0
        how = (self.pair, base or 0, self.link.s.nbytes > CACHE_BYTES, known) if many else ()
        return Bound(*parts, data, codes, weights, order, *how)

    def enlarge_log(self) -> None:
        """Make room in the log, or give it up where it has outgrown its limit."""
        if not self.drop_large_log():
            self.log = enlarged(self.log, self.columns)

    def drop_large_log(self) -> bool:
        """Give the log up where it has outgrown its limit; tell whether it has."""
        size = int(self.log.filled[0]) * line_bytes(self.log)
        if size <= self.log_limit:
            return False
        limit = "1 MiB" if self.log_limit == LEAST_LOG else f"{self.log_limit:,.0f} bytes, 5 % of the data"
        self._drop_log(f"it outgrew {limit}; log=True keeps it whatever its size")
        return True

    def _drop_log(self, reason: str) -> None:
        self.no_log_because, self.log = reason, no_log()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again, and the log's free room."""
        return vars(self) | {"watch": None, "_answer": None, "_checked": None, "log": trimmed(self.log)}

    def block(self, lo: int, hi: int) -> "TrainingState":
        """Return a state of some of the columns, with an empty log, that shares no memory with this one."""
        cut = {name: copied(getattr(self, name), slice(lo, hi)) for name in ("link", "readout", "tally")}
        cut["tally"].errors[0] = -1  # a block sees its own columns alone
        return replace(self, **cut, log=empty_like(self.log), watch=None, _answer=None)

    def join(self, blocks: list["TrainingState"]) -> None:
        """Take over the columns of blocks that together are all of this state's, and their logs."""
        self._answer = None
        lo = 0
        for block in blocks:
            for name in ("link", "readout", "tally"):
                for of, part in getattr(block, name)._asdict().items():
                    if isinstance(part, np.ndarray):
                        whole = getattr(getattr(self, name), of)
                        (whole if of in FOR_ALL else whole[..., lo : lo + block.columns])[...] = part
            lo += block.columns
        if len(self.log.numbers):
            reasons = [b.no_log_because for b in blocks if b.no_log_because != self.no_log_because]
            self.no_log_because = reasons[0] if reasons else self.no_log_because
            self.log = no_log() if reasons else merged([self.log, *(b.log for b in blocks)])
            self.drop_large_log()

    def admit(self, place: int) -> None:
        """Make a column for a label that arrives late.

        One class against the rest: a copy of the background column, the last, which has been trained with every row
        as negative. Pairs: a class that no row has named so far has weight 0.
        """
        self._answer = None
        origin = 0 if self.pair else -1

        def insert(a: Array) -> Array:
            return np.insert(a, place, a[..., origin], axis=-1)

        self.link, self.readout, self.tally = (columns_of(p, insert) for p in (self.link, self.readout, self.tally))
        if self.pair:
            self.link.s[:, place] = 0.0
            if isinstance(self.readout, Average):
                self.readout.u[:, place] = 0.0
            if isinstance(self.link, Imaged):
                fresh = first_image(self.link.form, len(self.link.s), self.link.origin, self.link.number)
                self.link.image[:, place] = fresh[:, place]
        if self.mixed is not None and not self.pair:
            self.mixed = self.mixed.admitted(place)
        if len(self.log.numbers):
            self.log = admitted(self.log, place, None if self.pair else self.columns - 2)

    def resize(self, features: int) -> None:
        """Give the weights room for that many features: new ones are 0, those taken away must be."""
        self._answer = None
        if features > self.features:
            self.link, self.readout = widen(self.link, self.readout, features - self.features)
        elif features < self.features:
            keep: Callable[[Any], Any] = lambda a: np.concatenate([a[:features], a[-1:]])  # noqa: E731
            rows = {f: keep(v) for f, v in self.link._asdict().items() if f in ("s", "image")}
            self.link = self.link._replace(**rows)
            if isinstance(self.readout, Average):
                self.readout = self.readout._replace(u=keep(self.readout.u))

    def reading(self, features: int) -> "TrainingState":
        """Return the state with that many features, for a reader; this state does not change."""
        if features == self.features:
            return self
        state = shallow(self, vars(self).copy())
        state.resize(features)
        return state

    def answer(self, features: int | None = None) -> tuple[Any, Array]:
        """Return the link that answers, for that many features, and the divisor of each column's scores.

        They are kept until the next round. A pass counts a round before it moves the weights, and a row after: what
        another thread makes in between is kept under a pair of counts that does not come again.
        """
        features = self.features if features is None else features
        key, kept = (int(self.tally.rounds[0]), self.rows, features), self._answer
        if kept is None or kept[0] != key:
            state = self.reading(features)
            if isinstance(state.link, Imaged):
                kept = key, refreshed(state.link, self.pair, self.bias != 0.0)
            else:
                weights = np.ascontiguousarray(answering(state.link, state.readout))
                kept = key, (Additive(weights), np.ones(self.columns))
            self._answer = kept
        return kept[1]

    def weights(self) -> Array:
        """Return the weights that answer, normalised, (features + 1, columns)."""
        link, divisor = self.answer()
        return (link.s if isinstance(link, Additive) else link.image) / divisor

    def scores(self, data: Dense | Csr, jobs: int) -> Array:
        """Return the normalised scores of all rows, (rows, columns); a score other than 0 keeps its sign."""
        link, divisor = self.answer(data.n_features)
        return scored(link, divisor, data, self.pair, jobs)

    def record(self) -> Record:
        """Return the log as users see it."""
        return Record.of(self.log)
