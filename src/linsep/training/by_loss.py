"""Train until a loss stops falling: the loss of the rows as they are learned, or of rows set aside.

The rule states its loss (:mod:`linsep.engine.step`), and the readout sums it (`LastWithLosses`, `AverageWithLosses`).
Classes are columns of one walk over the rows. A class that is done leaves the walk with its column.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.links import Additive, Clipped, FreeBias
from linsep.engine.readouts import AverageWithLosses, LastWithLosses
from linsep.engine.runtime import share
from linsep.engine.step import shrinks
from linsep.training.scoring import Scorer
from linsep.training.state import Parts, TrainingState
from linsep.training.weights import FLOOR, copied

SLOWEST, SLOW_DOWN = 1e-6, 5.0
"""A rate that adapts is divided by the second while it is above the first."""


class OverflowAtEpochError(Exception):
    """A weight or a score left the range of float64 in an epoch."""


@dataclass
class Columns:
    """Columns of weights that train in one walk over the rows.

    `classes` has the number of each column's class. One column is trained on targets: -1 and +1 for a class against
    the rest, or real numbers. `onset` is the round from which on an average counts; None if the last weights predict.
    """

    classes: Array
    state: TrainingState
    onset: int | None = None
    epochs: int = 0

    @classmethod
    def start(cls, rule: Any, weights: Array, bias: float, classes: Array, onset: int | None, t: int) -> "Columns":
        """Return columns that begin with the given weights, (features + 1, columns), after so many rounds.

        The last row of the weights is the constant feature's.
        """
        parts = Parts(rule, readout=LastWithLosses)
        state = TrainingState.start(parts, len(weights) - 1, len(classes), False, bias)
        state.link = state.link._replace(s=np.array(weights, np.float64, order="C"))
        if shrinks(type(rule)):
            state.link = FreeBias(*state.link)
            state.link.norm2[:] = np.sum(state.link.s[:-1] ** 2, axis=0)
        if getattr(rule, "lasso", 0.0):
            sizes = np.sum(np.abs(state.link.s[:-1]), axis=0)
            pulled = np.zeros_like(state.link.s)
            state.link = Clipped(**state.link._asdict(), pull=np.zeros_like(sizes), pulled=pulled, norm1=sizes)
        state.log = state.log.closed("training follows a loss")
        state.tally.errors[0], state.tally.rounds[0] = -1, t
        return cls(classes, state, onset)

    @property
    def averages(self) -> bool:
        """Return whether an average has begun and predicts."""
        return isinstance(self.state.readout, AverageWithLosses)

    def select(self, chosen: Array) -> "Columns":
        """Return some of the columns, sharing no memory with these."""
        parts = {name: copied(getattr(self.state, name), chosen) for name in ("link", "readout", "tally")}
        return replace(self, classes=self.classes[chosen], state=replace(self.state, **parts, _scorer=None))

    def codes(self, y: Array) -> Array:
        """Return what the pass is given for these columns, of codes of classes or of targets."""
        if y.dtype.kind == "f":
            return y
        if len(self.classes) == 1:
            return np.where(y == self.classes[0], 1.0, -1.0)
        place = np.full(max(int(y.max(initial=0)), int(self.classes.max())) + 1, -1, np.int32)
        place[self.classes] = np.arange(len(self.classes))
        return place[y]

    def learn(self, data: Dense | Csr, codes: Array, weights: Array, order: Array) -> None:
        """Make one pass over the rows; the average begins before the round `onset`."""
        state, n, begin = self.state, len(order) or data.n_rows, 0
        state.readout.losses[:] = 0.0
        if hasattr(state.link, "normed"):
            state.link = state.link._replace(normed=isinstance(data, Dense))
        if self.onset is not None and not self.averages:
            begin = min(max(0, self.onset - 1 - int(state.tally.rounds[0])), n)
            if begin:
                state.run(data, codes, weights, order, 0, span=(0, begin))
            if begin < n:
                self.begin_average()
        if begin < n:
            state.run(data, codes, weights, order, 0, span=(begin, n))
        if not all(np.isfinite(part).all() for part in (state.link.s, *state.readout)):
            raise OverflowAtEpochError
        self.epochs += 1

    def begin_average(self) -> None:
        """Average the weights after each round from now on: those at the start do not count, those at the end do."""
        losses = self.state.readout.losses
        self.state.readout = AverageWithLosses(self.last().copy(), np.zeros(len(losses)), np.zeros(1), losses)
        if hasattr(self.state.link, "floor"):
            self.state.link = self.state.link._replace(floor=FLOOR[AverageWithLosses])

    def last(self) -> Array:
        """Return the last weights, (features + 1, columns)."""
        link = self.state.link
        weights: Array = link.s * link.scale if hasattr(link, "scale") else link.s
        return weights

    def predicting(self) -> Array:
        """Return the weights that predict: an average, once it has begun, or the last."""
        link, readout = self.state.link, self.state.readout
        if not self.averages or readout.clock[0] == 1:
            return self.last()
        scale = getattr(link, "scale", 1.0)
        weights: Array = ((readout.mass + scale) * link.s - readout.u) / readout.clock
        return weights

    def value(self, indices: Array, values: Array) -> float:
        """Return the score of one row under the weights that predict: those of its own entries are put together."""
        state, link = self.state, self.state.link
        rows = np.append(indices, len(link.s) - 1)
        few = {"link": {"s": link.s[rows]}, "readout": {"u": state.readout.u[rows]} if self.averages else {}}
        parts = {name: getattr(state, name)._replace(**arrays) for name, arrays in few.items()}
        weights = replace(self, state=replace(state, **parts)).predicting()[:, 0]
        return float(np.append(values, state.bias) @ weights)

    def scores(self, data: Dense | Csr) -> Array:
        """Return the scores of rows under the last weights, (rows, columns)."""
        link = Additive(np.ascontiguousarray(self.last()))
        return Scorer(link, np.ones(len(self.classes)), False).scores(data, 1)


@dataclass
class LossStopping:
    """Stopping rule and order of the rows.

    `orders` yields the rows of each epoch of some columns. `held_out` returns the score of each column on rows set
    aside; without it the mean loss of an epoch, penalty included, has to fall. Training stops after
    `n_iter_no_change` epochs in a row that were not better than the best by `tol`, unless the rate adapts. `seen` is
    called with the columns after each epoch.
    """

    max_iter: int
    tol: float | None
    n_iter_no_change: int
    orders: Callable[[Columns], Iterator[Array]]
    held_out: Callable[[Columns], Array] | None = None
    adaptive: bool = False
    report: Callable[[str], None] | None = None
    seen: Callable[[Columns], None] | None = None

    def train(self, columns: Columns, data: Dense | Csr, y: Array, weights: Array) -> list[Columns]:
        """Train until each column is done; return the columns in the groups in which they ended."""
        done: list[Columns] = []
        codes = columns.codes(y)
        best, stale = np.full(len(columns.classes), np.inf), np.zeros(len(columns.classes), int)
        for epoch, order in zip(range(self.max_iter), self.orders(columns), strict=False):
            columns.learn(data, codes, weights, order)
            value = self._value(columns, len(order) or data.n_rows)
            if self.seen is not None:
                self.seen(columns)
            if self.report is not None:
                self.report(f"epoch {epoch + 1}, classes {columns.classes.tolist()}: {value.round(6).tolist()}")
            if self.tol is not None:
                stale = np.where(value > best - self.tol, stale + 1, 0)
            best = np.minimum(best, value)
            ended = stale >= self.n_iter_no_change
            if not ended.any():
                continue
            if self.adaptive and columns.state.rule.rate > SLOWEST:
                columns.state.rule = columns.state.rule._replace(rate=columns.state.rule.rate / SLOW_DOWN)
                stale[:] = 0
                continue
            done += [columns.select(np.array([c])) for c in np.flatnonzero(ended)]
            if ended.all():
                return done
            columns, best, stale = columns.select(np.flatnonzero(~ended)), best[~ended], stale[~ended]
            codes = columns.codes(y)
        return [*done, columns]

    def _value(self, columns: Columns, rows: int) -> Array:
        """Return what has to fall, for each column."""
        if self.held_out is not None:
            return -self.held_out(columns)
        mean: Array = columns.state.readout.losses / rows
        return mean

    def train_all(
        self, groups: list[Columns], data: Dense | Csr, y: Array, weights: list[Array], jobs: int
    ) -> list[Columns]:
        """Train groups of columns, on several threads; `weights` has the rows' weights for each group."""

        def task(group: Columns, own: Array) -> Callable[[], list[Columns]]:
            return lambda: self.train(group, data, y, own)

        found = share([task(g, w) for g, w in zip(groups, weights, strict=True)], jobs)
        return [group for groups in found for group in groups]
