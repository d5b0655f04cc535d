"""A machine that keeps the rows of its updates, so that every hypothesis of its run can be asked."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from linsep.core.arrays import Array
from linsep.core.examples import Csr, Dense
from linsep.core.weights import copied
from linsep.data.inputs import refuse_bad_entries
from linsep.learners.clock import Clock, refuse_endless
from linsep.learners.hypotheses import Hypotheses, norms_of
from linsep.learners.intact import shallow
from linsep.learners.machine import Machine, Parts
from linsep.learners.record import lines_of
from linsep.learners.support import Support, as_matrix, no_rows, taken
from linsep.maps.blocks import block_of
from linsep.maps.kernel_errors import KernelError
from linsep.maps.kernels import Kernel, Linear, kernel_matrix

FOLDED = 1 << 10
"""Updates that are folded into the first weights in one go."""


class OtherRows(ValueError):
    """Rows are not those that a run began with."""


def refuse_long_rows(rows: Dense | Csr, numbers: Array) -> None:
    """Raise a ValueError that names the first row whose product with itself is beyond float64."""
    with np.errstate(over="ignore"):
        long = ~np.isfinite(as_matrix(rows).astype(np.float64).power(2).sum(axis=1))
    if long.any():
        raise ValueError(
            f"the squared length of row {numbers[np.argmax(long)]} is too large for float64: "
            "divide all of X by one factor"
        )


@dataclass
class Voting(Machine):
    """A machine whose log tells, with the rows of its updates, every hypothesis that it ever had.

    The first of them is `base`, 0 unless the oldest updates were folded into it: then that of round `begin`.
    """

    keeps_rows: ClassVar[bool] = True
    other_cure: ClassVar[str] = ', or let when_full="forget" the oldest'
    support: Support | None = None
    clock: Clock = field(default_factory=Clock)
    base: Array | None = None
    base_norms: Array | None = None
    begin: int = 0
    most: int | None = None
    """The most rows to keep."""
    forgets: bool = False
    """Whether the oldest updates are folded when there would be more; else that is an error."""
    _told: Any = field(default=None, repr=False)
    _written: Any = field(default=None, repr=False)
    _mark: Any = field(default=None, repr=False)
    """While single rows are learned in place: all that tells the hypotheses, as it was after the last of them."""
    _seen: Any = field(default=None, repr=False)

    def copy(self) -> "Voting":
        """Return a machine that shares no memory with this one, but for what is only added to."""
        machine: Any = super().copy()
        return replace(machine, support=self.support and self.support.copy(), _told=None, _written=None, _mark=None)

    def follow(self, parts: Parts, pair: bool, bias: float) -> None:
        """Go on with another rule; counts are then no longer shared with the machine that this one is a draft of."""
        super().follow(parts, pair, bias)
        self.tally, self.support = copied(self.tally), self.support and self.support.copy()
        self.log = self.log._replace(filled=self.log.filled.copy())
        self._mark = None

    def commit(self) -> None:
        """Let readers see the rows so far, all at once: rows that are learned next change none of this."""
        support, log = self.support, self.log
        kept = None if support is None else (support.data, support.numbers, support.count)
        start = (self.begin, self.base, self.base_norms)
        self._mark = int(self.tally.rounds[0]), int(log.filled[0]), log, kept, self.clock, start

    def reading(self, features: int) -> "Voting":
        """Return the machine with that many features as it was when rows were last committed."""
        mark, seen = self._mark, self._seen
        if mark is None:
            machine: Any = super().reading(features)
            return machine
        if seen is None or seen[0] is not mark or seen[1] != features:
            end, filled, log, kept, clock, (begin, base, base_norms) = mark
            parts: dict[str, Any] = {
                "tally": self.tally._replace(rounds=np.array([end])),
                "log": log._replace(filled=np.array([filled])),
                "support": None if kept is None else Support(*kept),
                "clock": clock,
                "begin": begin,
                "base": base,
                "base_norms": base_norms,
            }
            forgotten = dict.fromkeys(("_answer", "_told", "_written", "_mark", "_seen"))
            told = shallow(self, vars(self) | parts | forgotten)
            self._seen = seen = mark, features, told.reading(features)
        last: Voting = seen[2]
        return last

    def apart(self) -> "Voting":
        """Return a machine that shares no memory with this one, and will not when both go on."""
        machine: Any = super().apart()
        if self.support is not None:
            rows = taken(self.support.rows(), np.arange(len(self.support)))
            machine.support = Support.of(rows, self.support.known.copy())
        return machine

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again."""
        return super().__getstate__() | dict.fromkeys(("_told", "_written", "_mark", "_seen"))

    def keep_log(self, mode: bool | str, weighted: bool, data_bytes: int) -> None:
        """Open the log: the hypotheses are told by it, whatever its size."""
        if mode is False:
            raise ValueError("log=False: the hypotheses are told by the log; leave it out, or use Perceptron")
        super().keep_log(True, weighted, data_bytes)

    def inner(self) -> Kernel:
        """What the rows make with each other."""
        return Linear(self.bias)

    @property
    def end(self) -> int:
        """The rounds so far."""
        return int(self.tally.rounds[0])

    def admit(self, place: int) -> None:
        """Make a column for a label that arrives late, as the background column has been so far."""
        super().admit(place)
        if self.base is not None and self.base_norms is not None:
            twin = self.base[:, -1] if not self.pair else 0.0
            self.base = np.insert(self.base, place, twin, axis=1)
            self.base_norms = np.insert(self.base_norms, place, self.base_norms[-1])

    def resize(self, features: int) -> None:
        """Give the weights, and the rows that were kept, room for that many features."""
        more = features - self.features
        super().resize(features)
        self._told = self._written = self._mark = None
        if self.support is not None:
            self.support = self.support.copy()
            self.support.widen(features)
        if self.base is not None and more > 0:
            self.base = np.insert(self.base, [len(self.base) - 1] * more, 0.0, axis=0)
        elif self.base is not None:
            self.base = np.concatenate([self.base[:features], self.base[-1:]])

    def check_again(self, data: Dense | Csr) -> None:
        """Raise a ValueError if rows that were kept, by their numbers, are not those of these data."""
        if self.support is not None and not self.support.same_as(data):
            refuse_bad_entries(data)
            raise OtherRows(
                "warm_start goes on with the rows of the first fit, and these are others: pass the same X again, or "
                "new rows to partial_fit"
            )

    def remember(self, data: Dense | Csr, first: int, since: int, weights: Array) -> None:
        """Keep the rows of all updates after round `since`, and the time that has passed.

        The data's first row has the number `first`. `weights` are those of the rows in the order of the rounds since,
        or none if each counts once.
        """
        self.pass_time(since, weights)
        self._told = self._written = None
        numbers, count = self.log.numbers, int(self.log.filled[0])
        new = numbers[:count, 0][np.searchsorted(numbers[:count, 1], since, side="right") :]
        rows, once = np.unique(new, return_index=True)
        rows = rows[np.argsort(once)]
        if self.support is None:
            self.support = Support.of(no_rows(data), rows[:0])
        rows = rows[self.support.places(rows) < 0]
        if len(rows):
            if not self.forgets:
                self.refuse_more(len(rows))
            refuse_long_rows(taken(data, rows - first), rows)
            self.support.add(data, rows - first, rows)
        if self.most is not None:
            self.forget(self.most)

    def refuse_more(self, more: int) -> None:
        """Raise a ValueError if there is no room for so many more rows."""
        count = 0 if self.support is None else len(self.support)
        if self.most is not None and count + more > self.most:
            raise ValueError(
                f"the run made mistakes on {count + more:,} distinct rows so far, more than max_support={self.most:,}: "
                f"allow more, or leave max_support out{self.other_cure}"
            )

    def pass_time(self, since: int, weights: Array) -> None:
        """Count the rounds after `since` as often as their rows weigh, given in their order; nothing for once each."""
        if self.clock.plain and not len(weights):
            return
        logged = self.log.numbers[: int(self.log.filled[0]), 1]
        clock = self.clock
        if clock.plain and since > 0:
            clock = clock.at_these(np.unique(np.append(logged[logged <= since], [self.begin, since])))
        rounds = np.arange(since + 1, self.end + 1)
        with np.errstate(over="ignore"):
            clock = clock.after(rounds, weights if len(weights) else np.ones(len(rounds)))
        refuse_endless(float(clock.times[-1]))
        ends = [t for t in (self.begin, self.end) if t > 0]
        self.clock = clock.at_these(np.unique(np.append(logged, ends)))

    def hypotheses(self) -> list[Hypotheses]:
        """Return the hypotheses of each column."""
        key = (self.end, self.columns, int(self.log.filled[0]), self.begin)
        told = self._told
        if told is None or told[0] != key:
            self._told = told = key, self._hypotheses()
        found: list[Hypotheses] = told[1]
        return found

    def updates(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Return the places, columns, rivals, amounts, keeps and times of all updates, in order."""
        n = int(self.log.filled[0])
        lines, sizes = self.log.numbers[:n], self.log.sizes[:n]
        places = self.support.places(lines[:, 0]) if self.support is not None else np.empty(0, np.int64)
        columns = lines[:, 2] if lines.shape[1] > 2 else np.zeros(n, np.int64)
        rivals = lines[:, 3] if lines.shape[1] > 3 else np.full(n, -1)
        amounts = sizes[:, 0]
        keeps = sizes[:, 1] if sizes.shape[1] > 1 else np.ones(n)
        times = self.clock.at(lines[:, 1])
        return tuple(np.ascontiguousarray(a) for a in (places, columns, rivals, amounts, keeps, times))  # type: ignore[return-value]

    def span(self) -> tuple[float, float]:
        """Return when the first hypothesis begins, and when the last ends."""
        begin, end = self.clock.at(np.array([self.begin, self.end]))
        return float(begin), float(end)

    def _hypotheses(self) -> list[Hypotheses]:
        places, columns, rivals, amounts, keeps, times = self.updates()
        scores = self.log.scores[: len(places)]
        squared = self._squared()[places] if len(places) else np.empty(0)
        norms = np.zeros(self.columns) if self.base_norms is None else self.base_norms
        told = []
        for c in range(self.columns):
            if self.pair:  # one machine: all of its columns have its updates, and its norm
                chosen: Any = slice(None)
                own = amounts * (1.0 * (columns == c) - (rivals == c))
                lengths = norms_of(amounts, keeps, scores, 2.0 * squared, float(norms[0]))
            else:
                chosen = columns == c
                own = amounts[chosen]
                lengths = norms_of(own, keeps[chosen], scores[chosen], squared[chosen], float(norms[c]))
            told.append(Hypotheses(places[chosen], own, keeps[chosen], times[chosen], lengths, *self.span()))
        return told

    def _squared(self) -> Array:
        """Return the squared norm of each row that was kept."""
        assert self.support is not None
        return self.inner().diagonal(block_of(self.support.rows(), slice(None)))

    def supporting(self) -> Any:
        """Return the rows that were kept, as :meth:`against` takes them; None where there are none."""
        if self.support is None or not len(self.support):
            return None
        return block_of(self.support.rows(), slice(None))

    def against(self, kept: Any, data: Dense | Csr, lo: int, hi: int) -> Array:
        """Return what each row that was kept makes with each of some points, (rows, points)."""
        if kept is None:
            return np.empty((0, hi - lo))
        with named(range(lo, hi), of=1):
            return kernel_matrix(self.inner(), kept, block_of(data, slice(lo, hi)))

    def at_first(self, data: Dense | Csr, lo: int, hi: int) -> Array:
        """Return the scores of each column's first hypothesis on some points, (columns, points)."""
        if self.base is None:
            return np.zeros((self.columns, hi - lo))
        scores = block_of(data, slice(lo, hi)) @ self.base[:-1] + self.bias * self.base[-1]
        return np.ascontiguousarray(np.asarray(scores).T)

    def dual(self, readout: str, normalize: bool) -> tuple[Array, Array, Array]:
        """Return how much of each row that was kept, and of the first hypothesis, a linear readout has.

        As arrays (rows, columns) and (columns,); and what to divide the columns by in the end.
        """
        size = 0 if self.support is None else len(self.support)
        shares, firsts, divisors = np.zeros((size, self.columns)), np.zeros(self.columns), np.ones(self.columns)
        for c, told in enumerate(self.hypotheses()):
            each, divisors[c] = told.shares(readout, normalize)
            own, firsts[c] = told.mixed(each)
            shares[:, c] = np.bincount(told.places, own, size)
        return shares, firsts, divisors

    def written_out(self, readout: str, normalize: bool) -> tuple[Array, Array]:
        """Return the weights of a linear readout, (features + 1, columns), and what to divide the columns by.

        They are kept until the next round.
        """
        key = (self.end, self.columns, self.features, readout, normalize)
        written = self._written
        if written is None or written[0] != key:
            shares, firsts, divisors = self.dual(readout, normalize)
            weights = self.link.s
            if readout != "last":
                weights = np.zeros(self.link.s.shape) if self.base is None else self.base * firsts
                for c in range(self.columns):
                    places = np.flatnonzero(shares[:, c])
                    self._fold(weights[:, c], places, shares[places, c])
            self._written = written = key, (weights, divisors)
        found: tuple[Array, Array] = written[1]
        return found

    def forget(self, most: int) -> None:
        """Fold the oldest updates into the first weights, so that the others are on `most` distinct rows at most.

        All updates of a round go together. Which ones go depends on the log alone, not on when this is called.
        """
        assert self.support is not None
        n = int(self.log.filled[0])
        lines = self.log.numbers[:n]
        _, ago = np.unique(lines[::-1, 0], return_index=True)
        if len(ago) <= most:
            return
        cut = int(lines[n - 1 - np.sort(ago)[most], 1])
        gone = int(np.searchsorted(lines[:, 1], cut, side="right"))
        time = float(self.clock.at(np.array([cut]))[0])
        norms = np.array([told.until(time).norms[-1] for told in self.hypotheses()])
        base = np.zeros(self.link.s.shape) if self.base is None else self.base.copy()
        places, columns, rivals, amounts, _, _ = (a[:gone] for a in self.updates())
        for c in range(self.columns):
            own = amounts * (1.0 * (columns == c) - (rivals == c))
            moved = np.flatnonzero(own)
            self._fold(base[:, c], places[moved], own[moved])
        self.base, self.base_norms, self.begin = base, norms, cut
        self.log = lines_of(self.log, np.arange(gone, n))
        self.no_log_because = f"of its first {cut:,} rounds the rows were forgotten, as max_support={most:,} says"
        left = self.support.places(np.unique(self.log.numbers[: n - gone, 0]))
        self.support = self.support.copy()
        self.support.keep(np.sort(left))
        if not self.clock.plain:
            self.clock = self.clock.at_these(np.unique(np.append(self.log.numbers[: n - gone, 1], [cut, self.end])))
        self._told = self._written = None

    def _fold(self, base: Array, places: Array, amounts: Array) -> None:
        """Add amount * x of some updates to weights, one after the other, so that no bit depends on how many."""
        assert self.support is not None
        rows = self.support.rows()
        for lo in range(0, len(places), FOLDED):
            which, sizes = places[lo : lo + FOLDED], amounts[lo : lo + FOLDED]
            block = block_of(rows, which)
            if isinstance(rows, Dense):
                moves = np.vstack([base[:-1], sizes[:, None] * block])
                base[:-1] = np.add.accumulate(moves, axis=0)[-1]  # one row after the other
            else:
                sizes_each = np.repeat(sizes, np.diff(block.indptr))
                np.add.at(base, block.indices, sizes_each * block.data)
            base[-1] = np.add.accumulate(np.append(base[-1], sizes * self.bias))[-1]


@contextmanager
def named(rows: Sequence[int] | Array, of: int = 0) -> Iterator[None]:
    """Give a value of the kernel that is refused inside of the block the number of its row, or of its column."""
    try:
        yield
    except KernelError as error:
        raise ValueError(f"the kernel of row {rows[error.rows[of]]}: {error.text}") from None
