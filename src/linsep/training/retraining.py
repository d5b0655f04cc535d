"""Train a second state on the same rows, and compare its update log with that of the first.

A certificate of a run relies on this: the rows given are those of the training only if they lead to the same updates.
"""

from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.readouts import UPDATES
from linsep.engine.runtime import threads
from linsep.training.epochs import Settings, Team, one_pass, order_of
from linsep.training.mixing import Shards
from linsep.training.state import IN_ORDER, NO_WEIGHTS, Parts, StoppedError, TrainingState
from linsep.training.update_log import same_mixes
from linsep.training.weights import name_of


def trains_to_the_same_log(
    how: Settings, state: TrainingState, data: Dense | Csr, codes: Array, open_labels: bool
) -> bool:
    """Return whether training on these rows makes just the updates of the log, and no others between them.

    With `open_labels`, classes in pairs may have been admitted one by one, each at its first row.
    """
    ways = [_retrain]
    if open_labels and state.pair and not state.epochs:
        ways.append(_retrain_as_labels_arrive)
    for retrain in ways:
        try:
            twin = retrain(how, state, data, codes)
        except (StoppedError, ValueError):
            continue
        same = twin is not None and state.log.record().same_updates(twin.log.record())
        if twin is not None and same and same_mixes(state.mixed, twin.mixed):
            return True
    return False


def _untrained(state: TrainingState, columns: int) -> TrainingState:
    """Return a state of the same parts before its first round, which keeps its log."""
    parts = Parts(state.rule, name_of(state.link), getattr(state.link, "number", 0.0), type(state.readout))
    twin = TrainingState.start(parts, state.features, columns, state.pair, state.bias, state.background)
    twin.keep_log(True, weighted=False, data_bytes=0)
    return twin


def _retrain(how: Settings, state: TrainingState, data: Dense | Csr, codes: Array) -> TrainingState | None:
    """Return a state trained on these rows as the one given: its epochs, then its rows of a stream.

    Return None after the first epoch that makes another number of updates. The time depends on the length of the
    log, and not on the number of epochs that a file states: once an epoch makes no update, no later one does.
    """
    n, jobs, twin = data.n_rows, threads(how.n_jobs), _untrained(state, state.columns)
    logged, mixed = state.log.numbers[:, 1], state.mixed
    if not state.epochs and not state.rows:
        # Learners of earlier files located the row of each round: every round made an update.
        rounds, firsts = np.unique(logged, return_index=True)
        if len(rounds) != state.tally.rounds[0] or not np.array_equal(rounds, np.arange(1, len(rounds) + 1)):
            return None
        if len(rounds):
            one_pass(how, twin, data, codes, NO_WEIGHTS, state.log.numbers[firsts, 0], 0)
        return twin
    parts = [(0, state.epochs)] if mixed is None else mixed.shards(state.epochs)
    for count, same in groupby(parts, itemgetter(0)):
        team = Shards(twin, count, how.mixing, jobs) if count else Team(twin, jobs)
        end, before = twin.epochs + sum(epochs for _, epochs in same), -1
        while twin.epochs < end and (count or team.totals()[UPDATES] != before):
            before = team.totals()[UPDATES]
            team.run(data, codes, NO_WEIGHTS, order_of(how, twin.epochs, n), 0)
            twin.epochs += 1
            if team.totals()[UPDATES] != np.searchsorted(logged, twin.epochs * n, side="right"):
                return None
        team.join()
        twin.epochs, twin.tally.rounds[:] = end, end * n
    if state.rows:
        one_pass(how, twin, data, codes, NO_WEIGHTS, np.arange(min(state.rows, n)), 0)
    return twin


def _retrain_as_labels_arrive(
    how: Settings, state: TrainingState, data: Dense | Csr, codes: Array
) -> TrainingState | None:
    """Return a state of pairs after one pass in which each class is admitted at its first row."""
    twin, known = _untrained(state, 1), np.empty(0, np.intp)
    firsts = np.sort(np.unique(codes, return_index=True)[1])
    for lo, hi in pairwise([*firsts.tolist(), len(codes)]):
        place = int(np.searchsorted(known, codes[lo]))
        if len(known):
            twin.admit(place)
        known = np.insert(known, place, codes[lo])
        twin.run(data, np.searchsorted(known, codes).astype(np.int32), NO_WEIGHTS, IN_ORDER, 0, span=(lo, hi))
    return twin
