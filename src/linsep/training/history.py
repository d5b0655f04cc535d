"""The history of a run: the rows of its updates, from which every hypothesis follows."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.votes import recurrence
from linsep.kernels.blocks import KernelError, block_of
from linsep.kernels.functions import Precomputed, kernel_matrix
from linsep.training.transaction import shallow
from linsep.validation.errors import InvalidDataError, ParameterError
from linsep.validation.inputs import refuse_bad_entries, without_duplicates

if TYPE_CHECKING:
    from linsep.training.state import TrainingState

NO_ROUNDS = np.empty(0, np.int64)
FOLDED = 1 << 10
"""Updates that are folded into the first weights in one go."""
NOT_CACHED: dict[str, Any] = dict.fromkeys(("_hypotheses", "_written", "_committed"))
"""The fields of a history that are computed from the others, as a copy has them."""


class RoundClock(NamedTuple):
    """The weight of all rounds up to some of them; where no row was ever weighted, that is their number.

    >>> RoundClock().at(np.array([3, 5]))
    array([3., 5.])
    >>> RoundClock().after(np.array([1, 2, 3]), np.array([0.5, 2.0, 0.5])).at(np.array([2, 3]))
    array([2.5, 3. ])
    """

    rounds: Array = NO_ROUNDS
    """Rounds whose time is known, rising; none where time is the number of rounds."""
    times: Array = NO_ROUNDS

    @property
    def plain(self) -> bool:
        """Return whether every round so far counted once."""
        return not len(self.rounds)

    def at(self, rounds: Array) -> Array:
        """Return the time after each of these rounds, which must be 0 or known."""
        if self.plain:
            return rounds.astype(np.float64)
        place = np.searchsorted(self.rounds, rounds)
        return np.where(rounds > 0, self.times[np.minimum(place, len(self.times) - 1)], 0.0)

    def after(self, rounds: Array, weights: Array) -> "RoundClock":
        """Return the clock after more rounds, all of which follow those before, of these weights."""
        before = float(self.times[-1]) if len(self.times) else float(rounds[0] - 1) if len(rounds) else 0.0
        times = np.cumsum(np.append(before, weights))[1:]
        return RoundClock(np.append(self.rounds, rounds), np.append(self.times, times))

    def at_these(self, rounds: Array) -> "RoundClock":
        """Return a clock with the times after these rounds only."""
        return RoundClock(rounds, self.at(rounds))


def refuse_endless(time: float) -> None:
    """Raise a ValueError if a run has taken more time than float64 holds."""
    if not np.isfinite(time):
        raise InvalidDataError("the sample weights add up to more than float64 holds: divide all by one factor")


class Hypotheses(NamedTuple):
    """Describe the hypotheses of one column as a sequence of updates; the weights themselves are not stored."""

    places: Array
    """The row of each update."""
    amounts: Array
    keeps: Array
    times: Array
    """The round of each update."""
    norms: Array
    """The squared norm of each hypothesis: one more than updates."""
    begin: float
    end: float

    @property
    def counts(self) -> Array:
        """The time that each hypothesis was used for, the round included that it failed in: c_0, c_1, ..."""
        return np.diff(self.times, prepend=self.begin, append=self.end)

    @property
    def scales(self) -> Array:
        """The inverse of each hypothesis' norm; 0 for v = 0."""
        positive = self.norms > 0
        return np.divide(
            1.0, np.sqrt(np.where(positive, self.norms, 1.0)), out=np.zeros(len(self.norms)), where=positive
        )

    def until(self, time: float) -> "Hypotheses":
        """Return those that there were by that time."""
        n = int(np.searchsorted(self.times, time, side="right"))
        return Hypotheses(
            self.places[:n], self.amounts[:n], self.keeps[:n], self.times[:n], self.norms[: n + 1],
            self.begin, float(time),
        )  # fmt: skip

    def longest(self) -> int:
        """Return the hypothesis that was used the longest, the first of several."""
        return int(np.argmax(self.counts))

    def paused(self, times: Array) -> tuple["Hypotheses", Array]:
        """Return them with an update that changes nothing at each of these times; and the hypotheses before those."""
        at = np.searchsorted(self.times, times, side="right")
        return Hypotheses(
            np.insert(self.places, at, 0),
            np.insert(self.amounts, at, 0.0),
            np.insert(self.keeps, at, 1.0),
            np.insert(self.times, at, times),
            np.insert(self.norms, at + 1, self.norms[at]),
            self.begin,
            self.end,
        ), at + np.arange(len(at))

    def mixed(self, shares: Array) -> tuple[Array, float]:
        """Return what the sum of share_k v_k has of each update's row, and of v_0: R_k = share_k + keep_k R_{k+1}."""
        backwards = recurrence(self.keeps[::-1].copy(), shares[-2::-1].copy(), float(shares[-1]))[::-1]
        return self.amounts * backwards[1:], float(backwards[0])

    def shares(self, readout: str, normalize: bool) -> tuple[Array, float]:
        """Return how much each hypothesis has in a readout that is linear in them, and what to divide the sum by.

        Division comes last, so that sums of whole numbers are exact, and a score of 0 is 0 after it, too.
        """
        if readout == "average":
            whole = self.end - self.begin
            counts = self.counts * self.scales if normalize else self.counts
            return counts, whole if whole > 0 else 1.0
        which = len(self.norms) - 1 if readout == "last" else self.longest()
        norm = float(np.sqrt(self.norms[which])) if normalize and self.norms[which] > 0 else 1.0
        return np.where(np.arange(len(self.norms)) == which, 1.0, 0.0), norm


def norms_of(amounts: Array, keeps: Array, scores: Array, squared: Array, first: float) -> Array:
    """Return ||v_k||² of all: ||keep v + amount x||² = keep² ||v||² + amount (2 keep v.x + amount ||x||²)."""
    with np.errstate(over="ignore", invalid="ignore"):  # a length beyond float64 is infinite
        return recurrence(keeps * keeps, amounts * (2.0 * keeps * scores + amounts * squared), first)


@dataclass
class Support:
    """Distinct rows in the order of their first mistake; more can be added.

    Arrays have room for more than is there, and a copy shares them: rows that are added to one copy after the other
    copy was discarded change no earlier row.
    """

    data: Dense | Csr
    """All rows, where there is room for more; the last of them may be no rows yet."""
    numbers: Array
    count: int = 0
    highest: int = -1
    """No row has a number above this: a stream's next row is then known to be new without a search."""

    @classmethod
    def of(cls, rows: Dense | Csr, numbers: Array) -> "Support":
        """Return these rows."""
        return cls(rows, np.asarray(numbers, np.int64), len(numbers), int(np.max(numbers, initial=-1)))

    def __len__(self) -> int:
        return self.count

    def copy(self) -> "Support":
        """Return the same rows, to which others may be added."""
        return replace(self)

    def rows(self) -> Dense | Csr:
        """Return the rows as data."""
        return self.data.slice(0, self.count)

    @property
    def known(self) -> Array:
        """The number of each row."""
        return self.numbers[: self.count]

    @property
    def nbytes(self) -> int:
        """The memory that the rows take."""
        return self.rows().nbytes + self.known.nbytes

    def places(self, numbers: Array) -> Array:
        """Return which row has each of these numbers; -1 where none has."""
        if not len(numbers) or numbers.min() > self.highest:
            return np.full(len(numbers), -1)
        order = np.argsort(self.known, kind="stable")
        found = np.minimum(np.searchsorted(self.known, numbers, sorter=order), self.count - 1)
        place = order[found]
        return np.where(self.known[place] == numbers, place, -1)

    def add(self, more: Dense | Csr, numbers: Array) -> None:
        """Add rows with numbers that are new; no row stores a column twice."""
        if isinstance(self.data, Dense):
            self._add_dense(more)
        else:
            self._add_sparse(more)
        self.numbers = _with_room(self.numbers, self.count, len(numbers))
        self.numbers[self.count : self.count + len(numbers)] = numbers
        self.count += len(numbers)
        self.highest = max(self.highest, int(np.max(numbers, initial=-1)))

    def _add_dense(self, more: Dense | Csr) -> None:
        values = more.values if isinstance(more, Dense) else more.to_scipy().toarray()
        buffer = _with_room(self.data.values, self.count, len(values), values.dtype)
        buffer[self.count : self.count + len(values)] = values
        self.data = self.data._replace(values=buffer)

    def _add_sparse(self, more: Dense | Csr) -> None:
        assert isinstance(self.data, Csr)
        if isinstance(more, Dense):
            matrix = sp.csr_array(more.values)
            more = Csr(matrix.data, matrix.indices, matrix.indptr, matrix.shape[1], more.bias)
        begin, stored, n = int(self.data.indptr[self.count]), len(more.values), more.n_rows
        index = np.result_type(self.data.indices, more.indices)
        values = _with_room(self.data.values, begin, stored, more.values.dtype)
        indices = _with_room(self.data.indices, begin, stored, index)
        indptr = _with_room(self.data.indptr, self.count + 1, n, np.int64)
        values[begin : begin + stored], indices[begin : begin + stored] = more.values, more.indices
        indptr[self.count + 1 : self.count + 1 + n] = more.indptr[1:].astype(np.int64) + begin
        self.data = self.data._replace(values=values, indices=indices, indptr=indptr)

    def keep(self, places: Array) -> None:
        """Forget all rows but these."""
        kept = copy_rows(self.rows(), places)
        self.data, self.numbers, self.count = kept, self.known[places], len(places)

    def widen(self, features: int) -> None:
        """Give the rows more features, which are 0 in all of them."""
        if isinstance(self.data, Csr):
            self.data = self.data._replace(features=features)
        else:
            rows = self.rows().values
            wide = np.zeros((len(rows), features), rows.dtype)
            wide[:, : rows.shape[1]] = rows[:, :features]
            self.data = self.data._replace(values=wide)

    def same_as(self, data: Dense | Csr) -> bool:
        """Return whether the rows of these numbers in the data are the ones that were kept."""
        inside = np.flatnonzero(self.known < data.n_rows)
        if len(inside) < self.count:
            return False
        mine, theirs = self.rows().to_scipy(), copy_rows(data, self.known).to_scipy()
        return mine.shape == theirs.shape and not (mine != theirs).nnz


def no_rows(like: Dense | Csr) -> Dense | Csr:
    """Return no rows of this kind of data."""
    if isinstance(like, Dense):
        return like._replace(values=np.empty((0, like.values.shape[1]), like.values.dtype))
    values, indices = np.empty(0, like.values.dtype), np.empty(0, like.indices.dtype)
    return like._replace(values=values, indices=indices, indptr=np.zeros(1, np.int64))


def copy_rows(data: Dense | Csr, rows: Array) -> Dense | Csr:
    """Return a copy of some rows, in which no column is stored twice."""
    return without_duplicates(data.take(rows))


def _with_room(array: Array, used: int, more: int, kind: Any = None) -> Array:
    """Return an array with room for `more` lines after those used: the same one, or one of twice the size."""
    kind = np.result_type(array, kind or array)
    if used + more <= len(array) and kind == array.dtype and array.flags.writeable:
        return array
    grown = np.empty((max(used + more, 2 * used), *array.shape[1:]), kind)
    grown[:used] = array[:used]
    return grown


class OtherRows(ValueError):
    """Rows are not those that a run began with."""


def refuse_long_rows(rows: Dense | Csr, numbers: Array) -> None:
    """Raise a ValueError that names the first row whose product with itself is beyond float64."""
    with np.errstate(over="ignore"):
        squares = rows.values.astype(np.float64) ** 2
        if isinstance(rows, Csr):
            of_row = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
            lengths = np.bincount(of_row, squares, rows.n_rows)
        else:
            lengths = squares.sum(axis=1)
    long = ~np.isfinite(lengths)
    if long.any():
        raise InvalidDataError(
            f"the squared length of row {numbers[np.argmax(long)]} is too large for float64: "
            "divide all of X by one factor"
        )


@dataclass
class History:
    """The rows of a run's updates, and the time that passed. With the update log they determine every hypothesis.

    The first hypothesis is `base`, 0 unless the oldest updates were folded into it: then that of round `begin`.
    """

    kernel: Any
    """The kernel: the product of two rows. None until training begins."""
    support: Support | None = None
    clock: RoundClock = field(default_factory=RoundClock)
    base: Array | None = None
    base_norms: Array | None = None
    begin: int = 0
    most: int | None = None
    """The most rows to keep; None for no limit."""
    forgets: bool = False
    """True if the oldest updates are folded when there would be more rows; else that is an error."""
    _hypotheses: Any = field(default=None, repr=False)
    _written: Any = field(default=None, repr=False)
    _committed: Any = field(default=None, repr=False)
    """While single rows are learned in place: the state as it was after the last of them."""

    @property
    def precomputed(self) -> bool:
        """Return whether the kernel is a matrix. The history then stores the kernel value of a row with itself."""
        return isinstance(self.kernel, Precomputed)

    def copy(self) -> "History":
        """Return an independent copy of the history; rows so far are shared."""
        return replace(self, support=self.support and self.support.copy(), **NOT_CACHED)

    def apart(self) -> "History":
        """Return a history that shares no memory with this one."""
        history = self.copy()
        if self.support is not None:
            rows = copy_rows(self.support.rows(), np.arange(len(self.support)))
            history.support = Support.of(rows, self.support.known.copy())
        return history

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again."""
        return vars(self) | NOT_CACHED

    def drop_cached(self) -> None:
        """Drop what was computed from the history so far."""
        self._hypotheses = self._written = None

    def with_new_class(self, place: int, pair: bool) -> "History":
        """Return the history of one more column, which has been as the background column so far."""
        if self.base is None or self.base_norms is None:
            return replace(self, **NOT_CACHED)
        base = np.insert(self.base, place, 0.0 if pair else self.base[:, -1], axis=1)
        norms = np.insert(self.base_norms, place, self.base_norms[-1])
        return replace(self, base=base, base_norms=norms, **NOT_CACHED)

    def resized(self, features: int) -> "History":
        """Return a history whose rows have that many features."""
        history, base = self.copy(), self.base
        if history.support is not None:
            history.support.widen(features)
        if base is not None:
            more = max(0, features + 1 - len(base))
            history.base = np.concatenate([base[:-1][:features], np.zeros((more, base.shape[1])), base[-1:]])
        return history

    def commit(self, state: "TrainingState") -> None:
        """Let readers see the rows so far, all at once: rows that are learned next change none of this."""
        tally = state.tally._replace(rounds=state.tally.rounds.copy())
        own = {"tally": tally, "log": state.log.copy(), "history": self.copy(), "_scorer": None}
        self._committed = shallow(state, vars(state) | own), {}

    def committed(self, features: int) -> "TrainingState | None":
        """Return the state as last committed, with that many features; None if rows are not learned in place."""
        if self._committed is None:
            return None
        state, by_width = self._committed
        if features not in by_width:
            by_width[features] = state.reading(features)
        read: TrainingState = by_width[features]
        return read

    def check_same_rows(self, data: Dense | Csr) -> None:
        """Raise a ValueError if rows that were kept, by their numbers, are not those of these data."""
        if self.support is not None and not self.support.same_as(data):
            refuse_bad_entries(data)
            raise OtherRows(
                "warm_start resumes with the rows of the first fit, and these differ: pass the same X again, or "
                "new rows to partial_fit"
            )

    def remember(self, state: "TrainingState", data: Dense | Csr, first: int, since: int, weights: Array) -> None:
        """Keep the rows of all updates after round `since`, and the time that has passed.

        The data's first row has the number `first`. `weights` are those of the rows in the order of the rounds since,
        or none if each counts once. Dual weights keep rows and time while they learn.
        """
        self.drop_cached()
        if state.dual is not None:
            state.dual.drop_cached()
            return
        self.pass_time(state, since, weights)
        numbers = state.log.numbers
        new = numbers[:, 0][np.searchsorted(numbers[:, 1], since, side="right") :]
        rows, once = np.unique(new, return_index=True)
        rows = rows[np.argsort(once)]
        if self.support is None:
            self.support = Support.of(no_rows(data), rows[:0])
        rows = rows[self.support.places(rows) < 0]
        if len(rows):
            if not self.forgets:
                self.refuse_more(len(rows), ', or let when_full="forget" the oldest')
            more = copy_rows(data, rows - first)
            refuse_long_rows(more, rows)
            self.support.add(more, rows)
        if self.most is not None:
            self.forget(state, self.most)

    def refuse_more(self, more: int, other_cure: str = "") -> None:
        """Raise a ValueError if there is no room for so many more rows."""
        count = 0 if self.support is None else len(self.support)
        if self.most is not None and count + more > self.most:
            raise ParameterError(
                f"the run made mistakes on {count + more:,} distinct rows so far, more than max_support={self.most:,}: "
                f"allow more, or leave max_support out{other_cure}"
            )

    def pass_time(self, state: "TrainingState", since: int, weights: Array) -> None:
        """Count the rounds after `since` as often as their rows weigh, given in their order; nothing for once each."""
        if self.clock.plain and not len(weights):
            return
        logged, end = state.log.numbers[:, 1], int(state.tally.rounds[0])
        ends = [t for t in (self.begin, end) if t > 0]
        clock = self.clock
        if clock.plain and since > 0:
            clock = clock.at_these(np.unique(np.append(logged[logged <= since], [*ends[:-1], since])))
        rounds = np.arange(since + 1, end + 1)
        with np.errstate(over="ignore"):
            clock = clock.after(rounds, weights if len(weights) else np.ones(len(rounds)))
        refuse_endless(float(clock.times[-1]))
        late = logged[np.searchsorted(logged, since) :]  # of the rounds before, all that the clock knows stay
        late = np.unique(np.append(late, [t for t in ends if t >= since]))
        before = int(np.searchsorted(clock.rounds, since))
        times = np.append(clock.times[:before], clock.at(late))
        self.clock = RoundClock(np.append(clock.rounds[:before], late), times)

    def forget(self, state: "TrainingState", most: int) -> None:
        """Fold the oldest updates into the first weights, so that the others are on `most` distinct rows at most.

        All updates of a round go together. Which ones go depends on the log alone, not on when this is called.
        """
        assert self.support is not None
        if len(self.support) <= most:  # it has the row of every update
            return
        lines, n = state.log.numbers, len(state.log)
        _, ago = np.unique(lines[::-1, 0], return_index=True)
        if len(ago) <= most:
            return
        cut = int(lines[n - 1 - np.sort(ago)[most], 1])
        gone = int(np.searchsorted(lines[:, 1], cut, side="right"))
        time, replay = float(self.clock.at(np.array([cut]))[0]), RunHypotheses(state)
        norms = np.array([of.until(time).norms[-1] for of in replay.hypotheses()])
        base = np.zeros(state.link.s.shape) if self.base is None else self.base.copy()
        places, columns, rivals, amounts, _, _ = (a[:gone] for a in replay.updates())
        for c in range(state.columns):
            own = amounts * (1.0 * (columns == c) - (rivals == c))
            moved = np.flatnonzero(own)
            replay.fold(base[:, c], places[moved], own[moved])
        self.base, self.base_norms, self.begin = base, norms, cut
        reason = f"of its first {cut:,} rounds the rows were forgotten, by max_support={most:,}"
        state.log = replace(state.log.only(np.arange(gone, n)), reason=reason)
        left = self.support.places(np.unique(state.log.numbers[:, 0]))
        self.support = self.support.copy()
        self.support.keep(np.sort(left))
        if not self.clock.plain:
            known = np.append(state.log.numbers[:, 1], [cut, int(state.tally.rounds[0])])
            self.clock = self.clock.at_these(np.unique(known))
        self.drop_cached()


class RunHypotheses:
    """All hypotheses of a run, as they follow from the log and the history of its state. Nothing changes."""

    def __init__(self, state: "TrainingState") -> None:
        assert state.history is not None
        self.state, self.history, self.columns, self.pair = state, state.history, state.columns, state.pair
        self.end = int(state.tally.rounds[0])
        """The rounds so far."""

    def hypotheses(self) -> list[Hypotheses]:
        """Return the hypotheses of each column; they are cached until the next round."""
        key = (self.end, self.columns, len(self.state.log), self.history.begin)
        cached = self.history._hypotheses
        if cached is None or cached[0] != key:
            self.history._hypotheses = cached = key, self._hypotheses()
        found: list[Hypotheses] = cached[1]
        return found

    def updates(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Return the places, columns, rivals, amounts, keeps and times of all updates, in order."""
        log, support = self.state.log, self.history.support
        lines, sizes, n = log.numbers, log.sizes, len(log)
        places = support.places(lines[:, 0]) if support is not None else np.empty(0, np.int64)
        columns = lines[:, 2] if lines.shape[1] > 2 else np.zeros(n, np.int64)
        rivals = lines[:, 3] if lines.shape[1] > 3 else np.full(n, -1)
        amounts = sizes[:, 0]
        keeps = sizes[:, 1] if sizes.shape[1] > 1 else np.ones(n)
        times = self.history.clock.at(lines[:, 1])
        return tuple(np.ascontiguousarray(a) for a in (places, columns, rivals, amounts, keeps, times))  # type: ignore[return-value]

    def span(self) -> tuple[float, float]:
        """Return when the first hypothesis begins, and when the last ends."""
        begin, end = self.history.clock.at(np.array([self.history.begin, self.end]))
        return float(begin), float(end)

    def _hypotheses(self) -> list[Hypotheses]:
        places, columns, rivals, amounts, keeps, times = self.updates()
        scores, base_norms = self.state.log.scores, self.history.base_norms
        squared = self._squared()[places] if len(places) else np.empty(0)
        norms = np.zeros(self.columns) if base_norms is None else base_norms
        found = []
        for c in range(self.columns):
            if self.pair:  # one binary classifier: all columns have its updates, and its norm
                chosen: Any = slice(None)
                own = amounts * (1.0 * (columns == c) - (rivals == c))
                lengths = norms_of(amounts, keeps, scores, 2.0 * squared, float(norms[0]))
            else:
                chosen = columns == c
                own = amounts[chosen]
                lengths = norms_of(own, keeps[chosen], scores[chosen], squared[chosen], float(norms[c]))
            found.append(Hypotheses(places[chosen], own, keeps[chosen], times[chosen], lengths, *self.span()))
        return found

    def _squared(self) -> Array:
        """Return the squared norm of each row that was kept; of a kernel given as a matrix, that is what is kept."""
        assert self.history.support is not None
        rows = self.history.support.rows()
        if self.history.precomputed:
            return rows.values[:, 0]
        norms: Array = self.history.kernel.diagonal(block_of(rows, slice(None)))
        return norms

    def supporting(self) -> Any:
        """Return the rows that were kept, as :meth:`against` takes them; None where there are none.

        Where the kernel is given as a matrix, these are their numbers.
        """
        support = self.history.support
        if support is not None and self.history.precomputed:
            return support.known
        return block_of(support.rows(), slice(None)) if support is not None and len(support) else None

    def against(self, kept: Any, data: Dense | Csr, lo: int, hi: int) -> Array:
        """Return the kernel of each row that was kept with each of some points, (rows, points)."""
        if kept is None:
            return np.empty((0, hi - lo))
        if self.history.precomputed:
            with named(range(lo, hi)):
                return np.ascontiguousarray(self.history.kernel(block_of(data, slice(lo, hi)), kept).T)
        with named(range(lo, hi), of=1):
            return kernel_matrix(self.history.kernel, kept, block_of(data, slice(lo, hi)))

    def at_first(self, data: Dense | Csr, lo: int, hi: int) -> Array:
        """Return the scores of each column's first hypothesis on some points, (columns, points)."""
        base = self.history.base
        if base is None:
            return np.zeros((self.columns, hi - lo))
        scores = block_of(data, slice(lo, hi)) @ base[:-1] + self.state.bias * base[-1]
        return np.ascontiguousarray(np.asarray(scores).T)

    def dual(self, readout: str, normalize: bool) -> tuple[Array, Array, Array]:
        """Return how much of each row that was kept, and of the first hypothesis, a linear readout has.

        As arrays (rows, columns) and (columns,); and what to divide the columns by in the end.
        """
        size = 0 if self.history.support is None else len(self.history.support)
        shares, firsts, divisors = np.zeros((size, self.columns)), np.zeros(self.columns), np.ones(self.columns)
        for c, of in enumerate(self.hypotheses()):
            each, divisors[c] = of.shares(readout, normalize)
            own, firsts[c] = of.mixed(each)
            shares[:, c] = np.bincount(of.places, own, size)
        return shares, firsts, divisors

    def written_out(self, readout: str, normalize: bool) -> tuple[Array, Array]:
        """Return the weights of a linear readout, (features + 1, columns), and what to divide the columns by.

        They are cached until the next round.
        """
        key = (self.end, self.columns, self.state.features, readout, normalize)
        cached = self.history._written
        if cached is None or cached[0] != key:
            shares, firsts, divisors = self.dual(readout, normalize)
            weights, base = self.state.link.s, self.history.base
            if readout != "last":
                weights = np.zeros(weights.shape) if base is None else base * firsts
                for c in range(self.columns):
                    places = np.flatnonzero(shares[:, c])
                    self.fold(weights[:, c], places, shares[places, c])
            self.history._written = cached = key, (weights, divisors)
        found: tuple[Array, Array] = cached[1]
        return found

    def fold(self, base: Array, places: Array, amounts: Array) -> None:
        """Add amount * x of some updates to weights, one after the other, so that no bit depends on how many."""
        assert self.history.support is not None
        rows = self.history.support.rows()
        for lo in range(0, len(places), FOLDED):
            which, sizes = places[lo : lo + FOLDED], amounts[lo : lo + FOLDED]
            block = block_of(rows, which)
            if isinstance(rows, Dense):
                moves = np.vstack([base[:-1], sizes[:, None] * block])
                base[:-1] = np.add.accumulate(moves, axis=0)[-1]  # one row after the other
            else:
                sizes_each = np.repeat(sizes, np.diff(block.indptr))
                np.add.at(base, block.indices, sizes_each * block.data)
            base[-1] = np.add.accumulate(np.append(base[-1], sizes * self.state.bias))[-1]


@contextmanager
def named(rows: Sequence[int] | Array, of: int = 0) -> Iterator[None]:
    """Give a value of the kernel that is refused inside of the block the number of its row, or of its column."""
    try:
        yield
    except KernelError as error:
        raise InvalidDataError(f"the kernel of row {rows[error.rows[of]]}: {error.text}") from None
