"""Certify the run of a trained learner against its theorem."""

import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from linsep.certificates.certificate import Certificate, label_order, refuted_order
from linsep.certificates.certify import (
    LabelledRows,
    Problems,
    SearchPlan,
    add_model,
    add_risks,
    build_certificate,
    find_problems,
    refuse_bad_plan,
    sha256_of,
)
from linsep.certificates.reading import class_name, read_rows
from linsep.certificates.replay import epochs_of
from linsep.certificates.schema import LEAST_DELTA, MOST_BITS, MOST_MIXES, ProblemKey, bits_of, is_fixed
from linsep.certificates.theorems import (
    PassiveAggressiveTheorem,
    PerceptronTheorem,
    RommaTheorem,
    Run,
    Theorem,
    WinnowTheorem,
)
from linsep.certificates.witnesses import BracketCallback, find_pieces, write_run
from linsep.engine.arrays import Array
from linsep.engine.links import P_NORM, SINH, Additive, Imaged, Scaled
from linsep.engine.runtime import threads
from linsep.rules import AggressiveRomma, PassiveAggressive, PassiveAggressiveI, PassiveAggressiveII, Perceptron, Romma
from linsep.solvers.products import times_transposed
from linsep.theory.exchangeability import TESTED, LabelOrder
from linsep.training.retraining import trains_to_the_same_log
from linsep.training.state import TrainingState
from linsep.training.update_log import MixLog, Record
from linsep.validation.errors import InvalidDataError
from linsep.validation.labels import clean, codes_among

MOST_STEPS = 20_000_000
"""Entries of mistaken rows beyond which a run is not played again in exact arithmetic."""
MOST_REPLAYED = 200_000_000
"""The same for a run that is replayed, whose updates are added up many at a time."""
MOST_READ = 1 << 34
"""Entries that are read in all epochs of a run beyond which it is not replayed."""
MOST_POWERS = 1_000_000
"""The same for Winnow and the p-norm perceptron, which need an exponential or a power for each."""
CHOSEN_SEED = (
    "no risk is stated: the rows were shuffled, and a seed can be chosen for a small risk; one pass over the rows as "
    "they are, by shuffle=False or partial_fit, has one"
)
SAME = 1e-9
"""The most that rounding may change a sum of updates, relative to the sum of their sizes."""
NO_THEOREM = "no guarantee: no theorem bounds the mistakes of {}; the claims are about the data alone"
WEIGHTED = "no guarantee: rows were weighted, and the theorem is about rows that weigh the same"
ANOTHER_RUN = (
    "these are not the updates that the theorem is about: were rows weighted, parameters changed midway, or numbers "
    "too small for floats?"
)
ANOTHER_LOG = (
    "trained again on these rows, the learner makes other updates: pass the rows of the training; a run can't be "
    "repeated if rows were weighted, if parameters changed midway, if new labels came in pairs of classes, or if its "
    "shards were files of their own"
)


def certificate_of(
    learner: Any, X: Any, y: Any, *, epsilon: float, delta: float, time_limit: float | None,
    watch: BracketCallback | None, n_jobs: int | None, least_error: bool, scaling: bool, risk: bool, shifting: bool,
) -> Certificate:  # fmt: skip
    """Return the certificate of the data and of the run that trained a learner: see `Learner.certificate`."""
    refuse_bad_plan(learner._bias, 1, epsilon, delta, time_limit)
    learner._fitted()
    data = read_rows(X, learner._bias, learner)
    codes = codes_among(clean(y, data.n_rows), learner.classes_)
    rows = LabelledRows(data, codes, [class_name(c) for c in learner.classes_.tolist()])
    theorem, remarks = learner._theorem()
    runs = _read_runs(learner, rows) if theorem is not None else {}
    if theorem is not None and _has_weighted_rows(theorem, runs.values()):
        runs, remarks = {}, [*remarks, WEIGHTED]
    if runs and not learner._trains_to_the_same_log(rows):
        runs, remarks = {}, [*remarks, f"no run is certified: {ANOTHER_LOG}"]
    rows, runs, missing = among_present(rows, runs)
    remarks += missing
    passes = max((run.passes for run in runs.values()), default=1)
    deadline = None if time_limit is None else time.monotonic() + time_limit
    plan = SearchPlan(passes, epsilon, delta, deadline, watch, threads(n_jobs), least_error, scaling)
    problems, more = find_problems(rows, plan)
    if least_error or risk:
        remarks += add_model(learner, rows, problems) or (
            add_risks(rows, problems, plan, ["PAC-Bayes"]) if risk else []
        )
    remarks += more if len(rows.classes) > 2 else []
    confidence = {"confidence": 1 - delta} if _one_pass(learner, rows) else {}
    order = next((run.order for run in runs.values()), "rows")
    if confidence and order != "rows" and not is_fixed(order, {"sha256": sha256_of(rows)}):
        confidence, remarks = {}, [*remarks, CHOSEN_SEED]
    if confidence and not LEAST_DELTA <= 1 - delta <= 1 - LEAST_DELTA:
        limits = f"from {LEAST_DELTA:g} to {1 - LEAST_DELTA!r}"
        confidence, remarks = {}, [*remarks, f"no risk is stated: delta={delta:g} is not {limits}"]
    elif confidence and runs:
        refuted, remark = _test_order(rows, order)
        confidence, remarks = {} if refuted else confidence, [*remarks, remark]
    replayed: dict[str, Any] = {}
    for key, run in runs.items():
        facts = _replay(theorem, key, run._replace(passes=passes), rows, plan, problems)
        if isinstance(facts, str):
            remarks.append(f"{key.run}: {facts}")
        else:
            replayed[key.run] = facts | confidence
            if shifting:
                reason = _no_pieces(facts, key)
                replayed[key.run] |= {} if reason else {"pieces": _pieces(facts, key, rows, plan)}
                remarks += [f"{key.run}: no weights that shift are stated: {reason}"] if reason else []
            if risk:
                reason = _no_compression(facts, rows, delta)
                replayed[key.run] |= {} if reason else {"compression": 1 - delta}
                remarks += [f"{key.run}: no risk by compression is stated: {reason}"] if reason else []
    try:
        cert = build_certificate(rows, problems, replayed, remarks)
    except ValueError as error:
        return build_certificate(rows, problems, {}, [*remarks, f"no run is certified, for {error}: {ANOTHER_RUN}"])
    broken = [(name, claim) for name in replayed for claim, value in cert.claims_of(name).items() if value is False]
    more = [f"{name}: {claim} does NOT hold: {ANOTHER_RUN}" for name, claim in broken]
    for key, counted in zip(runs, np.atleast_1d(getattr(learner, "mistakes_", 0)), strict=False):
        if cert.claims.get(f"{key.run}: mistakes", counted) != counted:
            more.append(f"{key.run}: mistakes_ is {counted}, as floats rounded scores that are next to 0")
    if not more:
        return cert
    kept = {name: run for name, run in replayed.items() if name not in dict(broken)}
    return build_certificate(rows, problems, kept, remarks + more)


def _no_pieces(run: dict[str, Any], key: ProblemKey) -> str:
    """Return why a run is not held against weights that shift; "" if it can be."""
    if run["theorem"] != "perceptron" or run["p"] != 2 or key.kind == "pairs":
        return "they are known for the perceptron of two classes"
    return "shards were mixed" if "shards" in run else ""


def _pieces(run: dict[str, Any], key: ProblemKey, rows: LabelledRows, plan: SearchPlan) -> list[dict[str, Any]]:
    """Return weights that shift for the rounds of a run."""
    return find_pieces(rows.search(key, plan, 0.5), np.concatenate([*epochs_of(run, rows.data.n_rows, None)]))


def _no_compression(run: dict[str, Any], rows: LabelledRows, delta: float) -> str:
    """Return why no risk is stated of the last weights of a run; "" if one can be."""
    n = rows.data.n_rows
    if not LEAST_DELTA <= 1 - delta <= 1 - LEAST_DELTA:
        return f"delta={delta:g} is not from {LEAST_DELTA:g} to {1 - LEAST_DELTA!r}"
    if run["theorem"] == "kernel_perceptron":
        return "the checker does not cover the last weights of a kernel perceptron"
    if {"shards", "arrive"} & {*run} or isinstance(run["order"], list) or run["rounds"] % n:
        return "it is of one run of whole passes, of which all classes are known from the start"
    if not is_fixed(run["order"], {"sha256": sha256_of(rows)}):
        return "the rows were shuffled, and a seed can be chosen for a small risk: use shuffle=False or data_seed"
    exact = run["theorem"] != "winnow" and run.get("p", 2) == 2
    if not exact and sum(run["updates"]) > run["rounds"] - n:
        return "the last pass made updates, and scores of powers and exponentials are not exact"
    refuted = refuted_order(label_order(rows.codes[next(epochs_of(run, n, None))]), rows.classes)
    return f"it assumes that rows come in random order, and {refuted}" if refuted else ""


def _read_runs(learner: Any, rows: LabelledRows) -> dict[ProblemKey, Run]:
    """Return the run of each binary classifier, if these are the rows that the learner was trained on."""
    runs = learner._runs(rows)
    refuse_other_rows(runs, rows, learner._readable().whole())
    order = stated_order(learner)
    state = learner._readable().whole()
    if state.mixed is not None:
        parts = [(max(count, 1), epochs) for count, epochs in state.mixed.shards(state.epochs) if epochs]
        stages = [[count, sum(epochs for _, epochs in same)] for count, same in groupby(parts, itemgetter(0))]
        return {key: run._replace(order=order, shards=stages, mixing=learner.mixing) for key, run in runs.items()}
    if isinstance(order, list):
        passes = int(np.bincount(order).max(initial=0))
        return {key: run._replace(order=order, passes=passes, rounds=len(order)) for key, run in runs.items()}
    late = learner._open and state.pair and order == "rows"
    late = late and not trains_to_the_same_log(learner, state, rows.data, rows.codes, open_labels=False)
    return {key: run._replace(order=order, arrive=late) for key, run in runs.items()}


def _replay(
    theorem: Theorem, key: ProblemKey, run: Run, rows: LabelledRows, plan: SearchPlan, problems: Problems
) -> dict[str, Any] | str:
    """Return the facts of a run for the checker, or the reason why there are none."""
    if key not in problems:
        return "not replayed, as its rows were not read"
    if not len(run.rows):
        return "no updates were made, and so there is nothing to hold against the theorem"
    if run.mixes is not None and (bits_of(run.mixes) > MOST_BITS or sum(map(len, run.mixes)) > MOST_MIXES):
        return f"too long to be played again in exact arithmetic: {len(run.mixes):,} mixes, too many or too fine"
    entries = rows.data.values.size / rows.data.n_rows * len(run.rows)
    read = rows.data.values.size * min(run.passes, len(run.rows) + 1)
    most = MOST_POWERS if theorem.needs_powers else MOST_STEPS if run.mixes is not None else MOST_REPLAYED
    if entries > most or read > MOST_READ:
        return (
            f"too long to be played again in exact arithmetic: {len(run.rows):,} updates, some {entries:,.0f} entries"
        )
    return write_run(theorem, run, rows.search(key, plan), problems[key], key)


def among_present(
    rows: LabelledRows, runs: dict[ProblemKey, Run]
) -> tuple[LabelledRows, dict[ProblemKey, Run], list[str]]:
    """Return the rows with the classes that have rows, the runs on their problems, and a remark on those left out."""
    present, bias = np.unique(rows.codes), rows.data.bias
    if len(present) == len(rows.classes):
        return rows, runs, []
    classes = [rows.classes[c] for c in present]
    others = [name for name in rows.classes if name not in classes]
    few = LabelledRows(rows.data, np.searchsorted(present, rows.codes), classes, others)
    found = {key: run for key, run in runs.items() if key.kind == "class" and key.label in classes}
    if len(classes) <= 2:
        last = runs.get(ProblemKey(bias, "class", classes[-1]))
        if last is None and len(rows.classes) == 2 and classes[-1] == rows.classes[-1]:
            last = runs.get(ProblemKey(bias))
        found = {} if last is None else {ProblemKey(bias): last}
    what = f"the learner has classes that no row has: {', '.join(map(repr, others[:5]))}"
    return few, found, [] if found or not runs else [f"no run is certified: {what}"]


def stated_order(learner: Any) -> Any:
    """Return the order of a run as certificates state it: the row of each round if rows were located."""
    state = learner._fitted()
    if not (state.epochs or state.rows):
        firsts = np.unique(state.log.numbers[:, 1], return_index=True)[1]
        return state.log.numbers[firsts, 0].tolist()
    if not state.epochs or learner.shuffle is False:
        return "rows"
    shuffle = "epoch" if learner.shuffle is True else learner.shuffle
    return {"seed": int(learner.seed_), "shuffle": shuffle, "epochs": int(state.epochs)}


def _one_pass(learner: Any, rows: LabelledRows) -> bool:
    """Return whether each row was seen once, in an order that did not depend on the weights."""
    state, n = learner._fitted(), rows.data.n_rows
    return state.epochs * n + state.rows == n and state.mixed is None


def _test_order(rows: LabelledRows, order: Any) -> tuple[bool, str]:
    """Return whether the labels refute that rows came in random order, and a remark that reports the test."""
    labels, n = LabelOrder(), rows.data.n_rows
    labels.add(rows.codes[next(epochs_of({"order": order, "passes": 1, "rounds": n}, n, None))])
    found = labels.test()
    if not found.refuted:
        return False, f"the risk assumes that rows come in random order: tested were {TESTED}; nothing contradicts it"
    return True, (
        f"no risk is stated: it assumes that rows come in random order, and the class {rows.classes[found.label]} has "
        f"{found.what}; shuffle the rows before training"
    )


def theorem_about(state: TrainingState) -> Theorem | None:
    """Return the theorem about a rule and a kind of weights, if there is one.

    Examples
    --------
    >>> from linsep import Winnow
    >>> theorem_about(Winnow(eta=0.25).fit([[0, 1], [1, 0]], [0, 1])._state)
    WinnowTheorem(norm='simplex', rate=0.25)
    """
    rule, link = state.rule, state.link
    if type(rule) is Perceptron and isinstance(link, Additive):
        return PerceptronTheorem()
    if type(rule) is Perceptron and isinstance(link, Imaged) and not state.pair:
        number = float(link.number)
        if link.form == P_NORM:
            return PerceptronTheorem(p=number + 1)
        return WinnowTheorem("l1" if link.form == SINH else "simplex", rate=number)
    if type(rule) in (PassiveAggressive, PassiveAggressiveI, PassiveAggressiveII) and not state.pair:
        return PassiveAggressiveTheorem(getattr(rule, "C", None), first=type(rule) is PassiveAggressiveI)
    if type(rule) in (Romma, AggressiveRomma) and not state.pair:
        return RommaTheorem(aggressive=type(rule) is AggressiveRomma)
    return None


def runs_of(
    record: Record, rounds: int, rows: LabelledRows, pair: bool, mixed: MixLog | None = None
) -> dict[ProblemKey, Run]:
    """Return the run of each binary classifier on its signed rows, from the log of all, and from what was mixed."""
    n, count, bias = rows.data.n_rows, len(rows.classes), rows.data.bias
    if len(record) and record.rows.max() >= n:
        raise InvalidDataError(
            f"the log names row {record.rows.max()}, but X has {n} rows: pass all rows of the training"
        )
    most = max(-(-rounds // n), 1)

    def run(chosen: Array, places: Array, signs: Array, column: int = 0) -> Run:
        steps = None if record.amounts is None else record.amounts[chosen] * signs
        passes = max(most, int(np.bincount(record.rows[chosen]).max(initial=0)))
        mixes = None if mixed is None else mixed.among(record.rounds[chosen], column)
        if steps is not None and record.keeps is not None:
            steps *= _kept(record.keeps[chosen], mixes)
        rivals = record.classes[chosen, 1] if pair and count > 2 and record.classes is not None else None
        return Run(places, steps, passes, rounds, mixes, record.rounds[chosen], rivals)

    every = np.arange(len(record))
    if pair and count > 2:
        assert record.classes is not None
        true, rival = record.classes.T
        places = record.rows * (count - 1) + rival - (rival > true)
        return {ProblemKey(bias, "pairs"): run(every, places, np.ones(len(record)))}
    if count <= 2:
        signs = np.where(rows.codes[record.rows] == count - 1, 1.0, -1.0)
        return {ProblemKey(bias): run(every, record.rows, signs)}
    assert record.classes is not None
    found = {}
    for c, name in enumerate(rows.classes):
        chosen = np.flatnonzero(record.classes == c)
        signs = np.where(rows.codes[record.rows[chosen]] == c, 1.0, -1.0)
        found[ProblemKey(bias, "class", name)] = run(chosen, record.rows[chosen], signs, c)
    return found


def _kept(keeps: Array, mixes: list[list[list[int]]] | None) -> Array:
    """Return what later updates leave of each step: the product of their factors, or in a mix the mean of products.

    Examples
    --------
    >>> _kept(np.array([1, 0.5, 0.5]), None)
    array([0.25, 0.5 , 1.  ])
    >>> _kept(np.array([1, 0.5, 0.5]), [[[1, 1], [1, 1]], [[1, 3], [0, 1]]])  # 5/8 = (3 * 0.5 + 1 * 1) / 4
    array([0.625, 0.625, 1.   ])
    """
    kept, stop, later = np.empty(len(keeps)), len(keeps), 1.0
    for mix in reversed([[[len(keeps), 1]]] if mixes is None else mixes):
        mean = 0.0
        for updates, share in reversed(mix):
            products = np.append(np.cumprod(keeps[stop - updates : stop][::-1])[::-1], 1.0)
            kept[stop - updates : stop] = later * products[1:]
            mean += share * products[0]
            stop -= updates
        later *= mean / sum(share for _, share in mix)
    return kept


def refuse_other_rows(runs: dict[ProblemKey, Run], rows: LabelledRows, state: TrainingState) -> None:
    """Raise an InvalidDataError unless the updates, made on these rows, add up to the weights in training."""
    rounds, n = int(state.tally.rounds[0]), rows.data.n_rows
    seen = state.epochs * n + state.rows if state.epochs else n if state.rows else 0
    if seen and seen != rounds:
        raise InvalidDataError(
            f"the run had {rounds} rounds, and these rows make {seen}: pass the rows of the training, all of them and "
            "no others; a run that left rows of weight 0 out can't be certified"
        )
    same = all(run.steps is None or (run.steps >= 0).all() for run in runs.values())
    largest = max(float(np.abs(rows.data.values).max(initial=0.0)), abs(rows.data.bias))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for c, mixture in _mixtures(runs, rows):
            column = c if state.columns > 1 else 0
            if state.dual is not None:
                same = same and _has_dual_weights(state, column, mixture, rows)
                continue
            there = state.link.s[:, column] * (state.link.scale[column] if isinstance(state.link, Scaled) else 1.0)
            slack = SAME * np.abs(mixture).sum() * largest + len(mixture) * np.finfo(np.float64).smallest_subnormal
            off = np.abs(times_transposed(rows.data, mixture[:, None])[:, 0] - there)
            same = same and not (off > slack).any()
    if not same:
        raise InvalidDataError(
            "the log, played again on these rows, leads to other weights: pass the rows and labels of the training, "
            "in their order"
        )


def _has_dual_weights(state: TrainingState, column: int, mixture: Array, rows: LabelledRows) -> bool:
    """Return whether the rows are those that were kept, with the weights that the updates add up to."""
    support = None if state.history is None else state.history.support
    if support is None:
        return not mixture.any()
    if not support.same_as(rows.data):
        return False
    there, known = np.zeros(len(mixture)), support.known
    there[known] = state.link.s[: len(known), column]
    return np.array_equal(there, mixture)


def _mixtures(runs: dict[ProblemKey, Run], rows: LabelledRows) -> Iterator[tuple[int, Array]]:
    """Yield the number of each class that has weights, and how often each row was added to them, in all."""
    n, count = rows.data.n_rows, len(rows.classes)
    for key, run in runs.items():
        steps, name = run.weights() * (1.0 if run.steps is None else run.steps), key.positive(rows.classes)
        if name is not None:
            yield rows.classes.index(name), rows.signs(name) * np.bincount(run.rows, steps, n)
            continue
        which, rival = np.divmod(run.rows, count - 1)
        true = rows.codes[which]
        rival = rival + (rival >= true)
        for c in range(count):
            yield c, np.bincount(which, steps * (1.0 * (true == c) - (rival == c)), n)


def _has_weighted_rows(theorem: Theorem, runs: Iterable[Run]) -> bool:
    """Return whether rows were weighted in runs whose steps are 1 otherwise: the theorem is not about such runs."""
    return theorem.unit_steps and any(run.steps is not None and (run.steps != 1).any() for run in runs)
