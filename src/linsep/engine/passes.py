"""The compiled passes: a rule walks the rows; weights score them.

Three passes learn: :func:`learn_rows` (one column of weights), :func:`learn_classes` (each class against the rest, all
in one walk over a row) and :func:`learn_pairs` (the true class against its rival). Two score: :func:`score_rows` and
:func:`score_classes`. Each is compiled for given kinds and kept on disk. Kinds travel as plain tuples,
which numba unpacks much faster than named ones, and get their names back inside.

The passes decide whether imaged weights need rare work, such as a new image, before they call the function for it.

A learning pass changes what it is given and returns (position, status). It stops early, to be called again from
there, when the log is full; it stops for good at a row whose score or step is not a finite number. With status
FLAW the data can't be read, and the position states why. Single rows are learned in place, so that their pass also
stops before an update that would leave a weight outside of float64 (TOO_LARGE); after other passes the driver checks
them.

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
    label_of,
    row,
    row_weight,
    sparse,
    squared,
)
from linsep.engine.digest import digest_of
from linsep.engine.dots import all_trusted, best_rival, gather_all, to_score, to_scores
from linsep.engine.links import Clipped, Imaged, factor, measure, norm2, recenter, scoring_table, trusted
from linsep.engine.multimethods import inlined
from linsep.engine.native import Bound, flat, line, opened, prefetch
from linsep.engine.readouts import MISTAKES, SKIPPED, UPDATES, Log, Tally, see, tick
from linsep.engine.step import reads_norm, step, takes_targets
from linsep.engine.tiers import Tiered
from linsep.engine.updates import clip, fits, record, shrink, spread, spread_all, spread_all_apart, spread_apart

DONE, LOG_FULL, BAD_SCORE, BAD_STEP, FLAW, TOO_LARGE = range(6)
AHEAD = 8
"""Number of rows that a pass prefetches."""


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
def prefetch_ahead(X: Any, codes: Array, order: Array, p: int, stop: int, shuffled: bool) -> None:
    """Prefetch the row that is visited a few rows after position p of the order."""
    if p + 2 * AHEAD < stop:
        if shuffled:
            announce(X, order[p + 2 * AHEAD])
            prefetch(codes, order[p + 2 * AHEAD])
        fetch(X, order[p + AHEAD] if shuffled else p + AHEAD)


@inlined
def wins(scores: Array, known: int, true: int) -> bool:
    """Return whether the true label, of the first `known`, has the highest score; of two, the second's decides."""
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
    RowRoom, real, clips, dense = room_kind(Data), takes_targets(Rule), Link is Clipped, Data is Dense

    def kernel(bound: Any, row_: Any, start: int, stop: int, first: int) -> tuple[int, int]:
        rule_, w_, readout_, tally_, log_, data_, codes, weights, order, room_ = opened(bound)
        rule, w, readout, X = Rule(*rule_), Link(*w_), Readout(*readout_), Data(*(row_ + data_))
        tally, log, room = Tally(*tally_), Log(*log_), RowRoom(*room_)
        defect = flaw(X)
        if defect != FINE:
            return defect, FLAW
        S = sparse(X, room)
        column = flat(scoring_table(w))
        before = w.debt[0] if imaged else 0
        shuffled, weighted, logged = order.shape[0] > 0, weights.shape[0] > 0, log.numbers.shape[0] > 0
        for p in range(start, stop):
            i = order[p] if shuffled else p
            prefetch_ahead(X, codes, order, p, stop, shuffled)
            weight = row_weight(X, weights, i) if weighted else 1.0
            if weight == 0.0:
                continue
            if logged and log.filled[0] == log.numbers.shape[0]:
                return p, LOG_FULL
            if imaged and w.debt[0] >= column.shape[0]:
                recenter(w, 0, 1)
            x = row(X, i)
            score = gather(X, x, column)
            if not (imaged and trusted(score)):
                score = to_score(w, score, X, x, S)
            label = label_of(X, codes, i)
            y = label if real else 2.0 * label - 1.0
            t = tally.rounds[0] + 1
            xx = squared(X, x) if normed or single else 0.0
            keep, amount = step(rule, score, y, xx, norm2(w, 0), float(t))
            amount *= weight
            status = fault(score + 0.0 * xx if normed else score, keep, amount)
            if single and status == DONE and not (fits(w, readout, S, x, 0, 1, keep, amount) and keepable(log, xx)):
                status = TOO_LARGE
            if status != DONE:
                if single and imaged:
                    w.debt[0] = before
                return p, status
            tally.rounds[0] = t
            tick(readout, w, weight)
            see(readout, rule, w, score, y, 0)
            # Mistakes are counted on both sides of this branch, so that a row has one branch to mispredict, not two.
            if amount == 0.0 and keep == 1.0:
                count(tally, 0, y * score <= 0, amount)
                if clips:
                    clip(w, readout, S, entries(X, x, S), dense, rule.pull(float(t)))
                continue
            count(tally, 0, y * score <= 0, amount)
            shrink(w, readout, 0, 1, keep)
            if amount != 0.0:
                measure(w, 0, keep, amount, score, X, x, 1.0)
                (spread_apart if imaged else spread)(w, readout, S, entries(X, x, S), amount / factor(w, 0))
            if clips:
                clip(w, readout, S, entries(X, x, S), dense, rule.pull(float(t)))
            record(log, first + i, t, 0, 0, score, keep, amount)
        return stop, DONE

    return _learner(kernel, "learn_rows", Rule, Link, Readout, Data)


@cache
def learn_classes(Rule: type, Link: type, Readout: type, Data: type) -> Tiered:
    """Return the pass of a rule over rows for a column of weights for each class, against the rest.

    Called like :func:`learn_rows`, with `codes` the column of each row's class, and more bound: the room of
    :class:`ClassRoom`, `far` (the weights are too large for the cache: prefetch the next row's), `base` (what to add to
    a column for its class in the log), `known` (how many of the columns are labels, for the count of errors; 0 where
    there is none), and `seen` and `begin`: where the columns are a block of all, the pass writes the scores of the row
    at position p of the order to line p - begin of `seen`, which has all columns. Else `seen` is empty.
    """
    normed, imaged, single = reads_norm(Rule), Link is Imaged, Data is Single
    RowRoom, clips, dense = room_kind(Data), Link is Clipped, Data is Dense

    def kernel(bound: Any, row_: Any, start: int, stop: int, first: int) -> tuple[int, int]:
        rule_, w_, readout_, tally_, log_, data_, codes, weights, order, room_, each_, far, base, known, seen, begin = (
            opened(bound)
        )
        rule, w, readout, X = Rule(*rule_), Link(*w_), Readout(*readout_), Data(*(row_ + data_))
        tally, log, room, each = Tally(*tally_), Log(*log_), RowRoom(*room_), ClassRoom(*each_)
        defect = flaw(X)
        if defect != FINE:
            return defect, FLAW
        S = sparse(X, room)
        table = scoring_table(w)
        K = table.shape[1]
        scores, keeps, amounts, columns = each.scores, each.keeps, each.amounts, each.columns
        if single and imaged:
            each.debts[:] = w.debt
        blocked = seen.shape[0] > 0
        shuffled, weighted, logged = order.shape[0] > 0, weights.shape[0] > 0, log.numbers.shape[0] > 0
        for p in range(start, stop):
            i = order[p] if shuffled else p
            prefetch_ahead(X, codes, order, p, stop, shuffled)
            if far and p + 1 < stop:
                fetch_weights(X, order[p + 1] if shuffled else p + 1, table)
            weight = row_weight(X, weights, i) if weighted else 1.0
            if weight == 0.0:
                continue
            if logged and log.filled[0] + K > log.numbers.shape[0]:
                return p, LOG_FULL
            for c in range(K):
                if imaged and w.debt[c] >= table.shape[0]:
                    recenter(w, c, c + 1)
            x = entries(X, row(X, i), S)
            gather_all(S, x, table, scores)
            xx = squared(S, x) if normed or single else 0.0
            true = np.intp(label_of(X, codes, i))
            t = tally.rounds[0] + 1
            for c in range(K):
                if not (imaged and trusted(scores[c])):
                    to_scores(w, scores, S, x, c, c + 1)
                y = 1.0 if c == true else -1.0
                keeps[c], amounts[c] = step(rule, scores[c], y, xx, norm2(w, c), float(t))
                amounts[c] *= weight
                status = fault(scores[c] + 0.0 * xx if normed else scores[c], keeps[c], amounts[c])
                if (
                    single
                    and status == DONE
                    and not (fits(w, readout, S, x, c, c + 1, keeps[c], amounts[c]) and keepable(log, xx))
                ):
                    status = TOO_LARGE
                if status != DONE:
                    if single and imaged:
                        w.debt[:] = each.debts
                    return p, status
            tally.rounds[0] = t
            tick(readout, w, weight)
            if known > 0 and not wins(scores, known, true):
                tally.errors[0] += 1
            if blocked:
                for c in range(K):
                    seen[p - begin, base + c] = scores[c]
            n = 0
            for c in range(K):
                see(readout, rule, w, scores[c], 1.0 if c == true else -1.0, c)
                keep, amount = keeps[c], amounts[c]
                count(tally, c, scores[c] <= 0 if c == true else scores[c] >= 0, amount)
                shrink(w, readout, c, c + 1, keep)
                if amount != 0.0:
                    measure(w, c, keep, amount, scores[c], S, x, 1.0)
                    columns[n], amounts[n] = c, amount / factor(w, c)
                    n += 1
                if amount != 0.0 or keep != 1.0:
                    record(log, first + i, t, base + c, 0, scores[c], keep, amount)
            if n > 0:
                (spread_all_apart if imaged else spread_all)(w, readout, S, x, columns, amounts, n)
            if clips:
                clip(w, readout, S, x, dense, rule.pull(float(t)))
        return stop, DONE

    return _learner(kernel, "learn_classes", Rule, Link, Readout, Data)


@cache
def learn_pairs(Rule: type, Link: type, Readout: type, Data: type) -> Tiered:
    """Return the pass of a rule over rows for columns that are one binary classifier: the true class against its rival.

    Called like :func:`learn_classes`, without `base` and what follows. The pass neither pulls weights nor sums losses.
    """
    if Link is Clipped or hasattr(Readout, "losses"):
        raise TypeError(f"no pass over pairs of classes for {Link.__name__} weights and the readout {Readout.__name__}")
    normed, imaged, single = reads_norm(Rule), Link is Imaged, Data is Single
    RowRoom = room_kind(Data)

    def kernel(bound: Any, row_: Any, start: int, stop: int, first: int) -> tuple[int, int]:
        rule_, w_, readout_, tally_, log_, data_, codes, weights, order, room_, each_, far = opened(bound)
        rule, w, readout, X = Rule(*rule_), Link(*w_), Readout(*readout_), Data(*(row_ + data_))
        tally, log, room, each = Tally(*tally_), Log(*log_), RowRoom(*room_), ClassRoom(*each_)
        defect = flaw(X)
        if defect != FINE:
            return defect, FLAW
        S = sparse(X, room)
        table = scoring_table(w)
        K = table.shape[1]
        scores, amounts, columns = each.scores, each.amounts, each.columns
        before = w.debt[0] if imaged else 0
        shuffled, weighted, logged = order.shape[0] > 0, weights.shape[0] > 0, log.numbers.shape[0] > 0
        for p in range(start, stop):
            i = order[p] if shuffled else p
            prefetch_ahead(X, codes, order, p, stop, shuffled)
            if far and p + 1 < stop:
                fetch_weights(X, order[p + 1] if shuffled else p + 1, table)
            weight = row_weight(X, weights, i) if weighted else 1.0
            if weight == 0.0:
                continue
            if logged and log.filled[0] == log.numbers.shape[0]:
                return p, LOG_FULL
            if imaged and w.debt[0] >= table.shape[0] * K:
                recenter(w, 0, K)
            x = entries(X, row(X, i), S)
            gather_all(S, x, table, scores)
            xx = squared(S, x) if normed or single else 0.0
            if not (imaged and all_trusted(scores)):
                to_scores(w, scores, S, x, 0, K)
            t = tally.rounds[0] + 1
            true = np.intp(label_of(X, codes, i))
            rival = best_rival(scores, true)
            if rival < 0:
                if not isfinite(scores[true] + 0.0 * xx if normed else scores[true]):
                    return p, BAD_SCORE
                tally.rounds[0] = t
                tick(readout, w, weight)
                continue
            margin = scores[true] - scores[rival]
            keep, amount = step(rule, margin, 1.0, 2.0 * xx, norm2(w, 0), float(t))
            amount *= weight
            status = fault(margin + 0.0 * xx if normed else margin, keep, amount)
            if single and status == DONE and not (fits(w, readout, S, x, 0, K, keep, amount) and keepable(log, xx)):
                status = TOO_LARGE
            if status != DONE:
                if single and imaged:
                    w.debt[0] = before
                return p, status
            tally.rounds[0] = t
            tick(readout, w, weight)
            count(tally, 0, margin <= 0, amount)
            shrink(w, readout, 0, K, keep)
            if amount != 0.0 or keep != 1.0:
                record(log, first + i, t, true, rival, margin, keep, amount)
            if amount != 0.0:
                measure(w, 0, keep, amount, margin, S, x, 2.0)
                columns[0], amounts[0] = true, amount / factor(w, 0)
                columns[1], amounts[1] = rival, -amount / factor(w, 0)
                (spread_all_apart if imaged else spread_all)(w, readout, S, x, columns, amounts, 2)
        return stop, DONE

    return _learner(kernel, "learn_pairs", Rule, Link, Readout, Data)


@cache
def score_rows(Link: type, Data: type) -> Tiered:
    """Return the kernel that writes the score of rows start to stop under one column of weights to `out`."""
    RowRoom = room_kind(Data)

    def kernel(w_: Any, data_: Any, room_: Any, start: int, stop: int, out: Any) -> None:
        w, X, room = Link(*w_), Data(*data_), RowRoom(*room_)
        S = sparse(X, room)
        column = flat(scoring_table(w))
        for i in range(start, stop):
            x = row(X, i)
            out[i] = to_score(w, gather(X, x, column), X, x, S)

    return Tiered(kernel, scoring_work, name=_name("score_rows", Link, Data))


@cache
def score_classes(Link: type, Data: type) -> Tiered:
    """Return the kernel that writes the scores of rows start to stop under every column of weights to `out`."""
    RowRoom = room_kind(Data)

    def kernel(w_: Any, data_: Any, room_: Any, start: int, stop: int, out: Any, pair: bool) -> None:
        w, X, room = Link(*w_), Data(*data_), RowRoom(*room_)
        S = sparse(X, room)
        table = scoring_table(w)
        K = table.shape[1]
        for i in range(start, stop):
            x = entries(X, row(X, i), S)
            z = line(out, i)
            gather_all(S, x, table, z)
            if pair:
                to_scores(w, z, S, x, 0, K)
            else:
                for c in range(K):
                    to_scores(w, z, S, x, c, c + 1)

    return Tiered(kernel, scoring_work, name=_name("score_classes", Link, Data))
