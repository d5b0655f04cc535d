"""The compiled passes: a rule walks the rows; weights score them.

Two passes learn, :func:`learn_rows` (one column of weights) and :func:`learn_classes` (all columns in one walk over
a row, one class against the rest or as pairs); two score, :func:`score_rows` and :func:`score_classes`. Each is
compiled for the kinds it is asked for and kept on disk. Kinds travel as plain tuples, which numba unpacks
much faster than named ones, and get their names back inside.

Whether imaged weights need what is rarely done is asked here, not inside the verbs that do it: a call with arrays in
its hands counts references, even where it then does nothing.

A learning pass changes what it is given and returns (position, status). It stops early, to be called again from
there, when the log is full; it stops for good at a row whose score or step is not a finite number. With status
FLAW the data can't be read, and the position says why. Single rows are learned in place, so that their pass also stops
before an update that would leave a weight outside of float64 (TOO_LARGE); after other passes the driver checks them.

A pass over a single row holds Python's lock, so that a thread that predicts single rows reads the weights from before
an update or from after it.
"""

from functools import cache, partial
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import (
    FINE,
    Dense,
    NoRoom,
    Room,
    Single,
    announce,
    entries,
    fetch,
    fetch_weights,
    flaw,
    gather,
    row,
    sparse,
    squared,
)
from linsep.engine.digest import digest_of
from linsep.engine.dots import all_trusted, best_rival, gather_all, settle, settle_all
from linsep.engine.links import Imaged, factor, measure, norm2, read, recenter, trusted
from linsep.engine.multimethods import inlined
from linsep.engine.native import Bound, flat, line, opened, prefetch
from linsep.engine.readouts import MISTAKES, SKIPPED, UPDATES, Log, Tally, see, tick
from linsep.engine.step import reads_norm, step, takes_targets
from linsep.engine.tiers import Tiered
from linsep.engine.updates import fits, record, shrink, spread, spread_all, spread_all_apart, spread_apart

DONE, LOG_FULL, BAD_SCORE, BAD_STEP, FLAW, TOO_LARGE = range(6)
AHEAD = 8
"""How many rows ahead of the current one a pass prefetches."""


class ClassRoom(NamedTuple):
    """Arrays that a pass over many classes writes the step of each class to; `debts` is a copy of an image's debts."""

    scores: Array
    keeps: Array
    amounts: Array
    columns: Array
    debts: Array


def class_room(columns: int) -> tuple[Array, ...]:
    """Return new arrays for a pass over so many columns of weights, as the fields of :class:`ClassRoom`."""
    scores, keeps, amounts = np.empty((3, columns))
    return tuple(ClassRoom(scores, keeps, amounts, np.empty(columns, np.uint64), np.empty(columns, np.int64)))


def room_kind(Data: type) -> type:
    """Return the kind of room that a pass over such rows needs."""
    return Room if Data is Dense else NoRoom


def _name(name: str, *kinds: type) -> str:
    return "_".join([name, *(kind.__name__ for kind in kinds)])


@inlined
def fault(score: float, keep: float, amount: float) -> int:
    """Return the status of a row with this score and step."""
    if not isfinite(score):
        return BAD_SCORE
    return DONE if isfinite(keep) and isfinite(amount) else BAD_STEP


def _learner(template: Any, name: str, Rule: type, *kinds: type) -> Tiered:
    """Make a learning pass; a rule of the package has the same bits in Python as in compiled code, others may not."""
    return Tiered(
        template, learning_work, name=_name(name, Rule, *kinds), digest=partial(digest_of, Rule),
        python=Rule.__module__.startswith("linsep.rules."), nogil=Single not in kinds,
    )  # fmt: skip


def learning_work(bound: Bound, row: Any, start: int, stop: int, first: int) -> int:
    """Return the work of a learning pass: the entries of its rows, and some more a row, in each column."""
    weights, data = bound.args[1][0], bound.args[5]
    return (stop - start) * (_entries_a_row(row + data) + 8) * int(weights.shape[1])


def scoring_work(w: Any, data: Any, room: Any, start: int, stop: int, *out: Any) -> int:
    """Return the work of scoring some rows."""
    return (stop - start) * (_entries_a_row(data) + 4) * int(w[0].shape[1])


def _entries_a_row(data: Any) -> int:
    """Return the mean number of entries in a row, given the fields of any kind of data."""
    values = data[0]
    if values.ndim == 2:
        return int(values.shape[1])
    rows = len(data[2]) - 1 if isinstance(data[2], np.ndarray) else 1
    return len(values) // max(1, rows)


@inlined
def keepable(log: Log, xx: float) -> bool:
    """Return whether a row of this squared length may be kept, if the log is one whose rows are."""
    return log.scores.shape[0] == 0 or isfinite(xx)


@inlined
def count(tally: Tally, c: int, wrong: bool, amount: float) -> None:
    """Count a round of binary classifier c: whether it was a mistake, and whether the rule stepped."""
    if amount != 0.0:
        tally.counts[UPDATES, c] += 1
    if wrong:
        tally.counts[MISTAKES, c] += 1
        if amount == 0.0:
            tally.counts[SKIPPED, c] += 1


@inlined
def wins(scores: Array, known: int, true: int) -> bool:
    """Tell whether the true label, of the first `known`, is that of the scores; of two, the second's score decides."""
    if known == 1:
        return True
    if known == 2:
        return scores[1] > 0 if true == 1 else scores[1] < 0
    as_high = 0
    for c in range(known):
        as_high += scores[c] >= scores[true]
    return as_high == 1


@cache
def learn_rows(Rule: type, Link: type, Readout: type, Data: type) -> Tiered:
    """Return the pass of a rule over rows for one column of weights; code 1 is positive, 0 negative.

    The codes of a rule that takes targets are the targets themselves, of float64.

    It is called with (Bound(rule, w, readout, tally, log, data, codes, weights, order), row, start, stop, first).
    `order` lists the rows to visit, empty for all in order; `weights` the sample weights, empty for none; `first`
    is the number of row 0 in the log. `row` is empty, or the first fields of the data, where they are not bound.
    """
    normed, imaged, single = reads_norm(Rule), Link is Imaged, Data is Single
    RowRoom, real = room_kind(Data), takes_targets(Rule)

    def kernel(bound: Any, row_: Any, start: int, stop: int, first: int) -> tuple[int, int]:
        rule_, w_, readout_, tally_, log_, data_, codes, weights, order, room_ = opened(bound)
        rule, w, readout, X = Rule(*rule_), Link(*w_), Readout(*readout_), Data(*(row_ + data_))
        tally, log, room = Tally(*tally_), Log(*log_), RowRoom(*room_)
        defect = flaw(X)
        if defect != FINE:
            return defect, FLAW
        S = sparse(X, room)
        column = flat(read(w))
        before = w.debt[0] if imaged else 0
        shuffled, weighted, logged = order.shape[0] > 0, weights.shape[0] > 0, log.numbers.shape[0] > 0
        for p in range(start, stop):
            i = order[p] if shuffled else p
            if p + 2 * AHEAD < stop:
                if shuffled:
                    announce(X, order[p + 2 * AHEAD])
                    prefetch(codes, order[p + 2 * AHEAD])
                fetch(X, order[p + AHEAD] if shuffled else p + AHEAD)
            weight = weights[i] if weighted else 1.0
            if weight == 0.0:
                continue
            if logged and log.filled[0] == log.numbers.shape[0]:
                return p, LOG_FULL
            if imaged and w.debt[0] >= column.shape[0]:
                recenter(w, 0, 1)
            x = row(X, i)
            score = gather(X, x, column)
            if not (imaged and trusted(score)):
                score = settle(w, score, X, x, S)
            y = codes[i] if real else 2.0 * codes[i] - 1.0
            t = tally.rounds[0] + 1
            xx = squared(X, x)
            keep, amount = step(rule, score, y, xx, norm2(w, 0), float(t))
            amount *= weight
            status = fault(score + 0.0 * xx if normed else score, keep, amount)
            if status != DONE:
                if single and imaged:
                    w.debt[0] = before
                return p, status
            if single and not (fits(w, readout, S, x, 0, 1, keep, amount) and keepable(log, xx)):
                if imaged:
                    w.debt[0] = before
                return p, TOO_LARGE
            tally.rounds[0] = t
            tick(readout, w, weight)
            see(readout, rule, score, y, norm2(w, 0), 0)
            # Mistakes are counted on both sides of this branch, so that a row has one branch to mispredict, not two.
            if amount == 0.0 and keep == 1.0:
                count(tally, 0, y * score <= 0, amount)
                continue
            count(tally, 0, y * score <= 0, amount)
            shrink(w, readout, 0, 1, keep)
            if amount != 0.0:
                measure(w, 0, keep, amount, score, X, x, 1.0)
                (spread_apart if imaged else spread)(w, readout, S, entries(X, x, S), amount / factor(w, 0))
            record(log, first + i, t, 0, 0, score, keep, amount)
        return stop, DONE

    return _learner(kernel, "learn_rows", Rule, Link, Readout, Data)


@cache
def learn_classes(Rule: type, Link: type, Readout: type, Data: type, pair: bool) -> Tiered:
    """Return the pass of a rule over rows for many columns of weights.

    If `pair`, the true class is set against its best rival; else each column's class against the rest. Called like
    :func:`learn_rows`, with `codes` the column of each row's class, and more bound: the room of :class:`ClassRoom`,
    `base` (what to add to a column for its class in the log), `far` (the weights are too large for the cache: prefetch
    the next row's) and `known` (how many of the columns are labels, for the count of errors; 0 where there is none).
    """
    normed, imaged, single = reads_norm(Rule), Link is Imaged, Data is Single
    RowRoom = room_kind(Data)

    def kernel(bound: Any, row_: Any, start: int, stop: int, first: int) -> tuple[int, int]:
        rule_, w_, readout_, tally_, log_, data_, codes, weights, order, room_, each_, base, far, known = opened(bound)
        rule, w, readout, X = Rule(*rule_), Link(*w_), Readout(*readout_), Data(*(row_ + data_))
        tally, log, room, each = Tally(*tally_), Log(*log_), RowRoom(*room_), ClassRoom(*each_)
        defect = flaw(X)
        if defect != FINE:
            return defect, FLAW
        S = sparse(X, room)
        table = read(w)
        K = table.shape[1]
        width = K if pair else 1
        scores, keeps, amounts, columns = each.scores, each.keeps, each.amounts, each.columns
        if single and imaged:
            each.debts[:] = w.debt
        shuffled, weighted, logged = order.shape[0] > 0, weights.shape[0] > 0, log.numbers.shape[0] > 0
        for p in range(start, stop):
            i = order[p] if shuffled else p
            if p + 2 * AHEAD < stop:
                if shuffled:
                    announce(X, order[p + 2 * AHEAD])
                    prefetch(codes, order[p + 2 * AHEAD])
                fetch(X, order[p + AHEAD] if shuffled else p + AHEAD)
            if far and p + 1 < stop:
                fetch_weights(X, order[p + 1] if shuffled else p + 1, table)
            weight = weights[i] if weighted else 1.0
            if weight == 0.0:
                continue
            if logged and log.filled[0] + K > log.numbers.shape[0]:
                return p, LOG_FULL
            for lo in range(0, K, width):
                if imaged and w.debt[lo] >= table.shape[0] * width:
                    recenter(w, lo, lo + width)
            x = entries(X, row(X, i), S)
            gather_all(S, x, table, scores)
            xx = squared(S, x)
            t = tally.rounds[0] + 1
            n = 0
            if pair:
                if not (imaged and all_trusted(scores)):
                    settle_all(w, scores, S, x, 0, K)
                true = np.intp(codes[i])
                rival = best_rival(scores, true)
                if rival < 0:
                    if not isfinite(scores[true] + 0.0 * xx):
                        return p, BAD_SCORE
                    tally.rounds[0] = t
                    tick(readout, w, weight)
                    continue
                margin = scores[true] - scores[rival]
                keep, amount = step(rule, margin, 1.0, 2.0 * xx, norm2(w, 0), float(t))
                amount *= weight
                status = fault(margin + 0.0 * xx if normed else margin, keep, amount)
                if status != DONE:
                    if single and imaged:
                        w.debt[:] = each.debts
                    return p, status
                if single and not (fits(w, readout, S, x, 0, K, keep, amount) and keepable(log, xx)):
                    if imaged:
                        w.debt[:] = each.debts
                    return p, TOO_LARGE
                tally.rounds[0] = t
                tick(readout, w, weight)
                count(tally, 0, margin <= 0, amount)
                shrink(w, readout, 0, K, keep)
                if amount != 0.0:
                    measure(w, 0, keep, amount, margin, S, x, 2.0)
                    columns[0], amounts[0] = true, amount / factor(w, 0)
                    columns[1], amounts[1] = rival, -amount / factor(w, 0)
                    n = 2
                if amount != 0.0 or keep != 1.0:
                    record(log, first + i, t, true, rival, margin, keep, amount)
            else:
                for c in range(K):
                    if not (imaged and trusted(scores[c])):
                        settle_all(w, scores, S, x, c, c + 1)
                    y = 1.0 if codes[i] == c else -1.0
                    keeps[c], amounts[c] = step(rule, scores[c], y, xx, norm2(w, c), float(t))
                    amounts[c] *= weight
                    status = fault(scores[c] + 0.0 * xx if normed else scores[c], keeps[c], amounts[c])
                    if status != DONE:
                        if single and imaged:
                            w.debt[:] = each.debts
                        return p, status
                    if single and not (fits(w, readout, S, x, c, c + 1, keeps[c], amounts[c]) and keepable(log, xx)):
                        if imaged:
                            w.debt[:] = each.debts
                        return p, TOO_LARGE
                tally.rounds[0] = t
                tick(readout, w, weight)
                if known > 0 and not wins(scores, known, np.intp(codes[i])):
                    tally.errors[0] += 1
                for c in range(K):
                    see(readout, rule, scores[c], 1.0 if codes[i] == c else -1.0, norm2(w, c), c)
                    keep, amount = keeps[c], amounts[c]
                    count(tally, c, scores[c] <= 0 if codes[i] == c else scores[c] >= 0, amount)
                    shrink(w, readout, c, c + 1, keep)
                    if amount != 0.0:
                        measure(w, c, keep, amount, scores[c], S, x, 1.0)
                        columns[n], amounts[n] = c, amount / factor(w, c)
                        n += 1
                    if amount != 0.0 or keep != 1.0:
                        record(log, first + i, t, base + c, 0, scores[c], keep, amount)
            if n > 0:
                (spread_all_apart if imaged else spread_all)(w, readout, S, x, columns, amounts, n)
        return stop, DONE

    return _learner(kernel, "learn_pairs" if pair else "learn_classes", Rule, Link, Readout, Data)


@cache
def score_rows(Link: type, Data: type) -> Tiered:
    """Return the kernel that writes the score of rows start to stop under one column of weights to `out`."""
    RowRoom = room_kind(Data)

    def kernel(w_: Any, data_: Any, room_: Any, start: int, stop: int, out: Any) -> None:
        w, X, room = Link(*w_), Data(*data_), RowRoom(*room_)
        S = sparse(X, room)
        column = flat(read(w))
        for i in range(start, stop):
            x = row(X, i)
            out[i] = settle(w, gather(X, x, column), X, x, S)

    return Tiered(kernel, scoring_work, name=_name("score_rows", Link, Data))


@cache
def score_classes(Link: type, Data: type) -> Tiered:
    """Return the kernel that writes the scores of rows start to stop under every column of weights to `out`."""
    RowRoom = room_kind(Data)

    def kernel(w_: Any, data_: Any, room_: Any, start: int, stop: int, out: Any, pair: bool) -> None:
        w, X, room = Link(*w_), Data(*data_), RowRoom(*room_)
        S = sparse(X, room)
        table = read(w)
        K = table.shape[1]
        for i in range(start, stop):
            x = entries(X, row(X, i), S)
            z = line(out, i)
            gather_all(S, x, table, z)
            if pair:
                settle_all(w, z, S, x, 0, K)
            else:
                for c in range(K):
                    settle_all(w, z, S, x, c, c + 1)

    return Tiered(kernel, scoring_work, name=_name("score_classes", Link, Data))
