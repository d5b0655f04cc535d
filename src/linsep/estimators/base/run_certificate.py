"""Certify the run of a trained learner against its theorem."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from linsep.certificates.certificate import Certificate
from linsep.certificates.certify import (
    LabelledRows,
    Plan,
    made,
    names_of,
    problems_of,
    refuse_bad_plan,
    refuse_rounding,
    summed,
)
from linsep.certificates.runs import Run, Theorem, witnessed
from linsep.certificates.schema import MOST_BITS, bits_of, named
from linsep.certificates.witnesses import Search, Watch, pair_rows, signed_rows
from linsep.engine.arrays import Array
from linsep.engine.links import P_NORM, SINH, Additive, Imaged
from linsep.rules import PassiveAggressive, PassiveAggressiveI, PassiveAggressiveII, Perceptron
from linsep.solvers.margin.coordinate_descent import squared_norms
from linsep.solvers.products import times_transposed
from linsep.training.state import TrainingState
from linsep.training.update_log import Mixed, Record
from linsep.validation.inputs import canonical, refuse_bad_entries
from linsep.validation.labels import clean, codes_among

MOST_STEPS = 20_000_000
"""Entries of mistaken rows beyond which a run is not played again in exact arithmetic."""
MOST_POWERS = 1_000_000
"""The same for Winnow and the p-norm perceptron, which need an exponential or a power for each."""
SAME = 1e-9
"""What rounding may make of a sum of updates, relative to the sum of their sizes."""
NO_THEOREM = "no guarantee: no theorem bounds the mistakes of {}; the claims are about the data alone"
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
    learner: Any,
    X: Any,
    y: Any,
    epsilon: float,
    delta: float,
    time_limit: float | None,
    watch: Watch | None,
    n_jobs: int,
) -> Certificate:
    """Return the certificate of the data and of the run that trained a learner: see `Learner.certificate`."""
    refuse_bad_plan(learner._bias, 1, epsilon, delta, time_limit)
    learner._fitted()
    rows = _rows_of_run(learner, X, y)
    theorem, remarks = learner._theorem()
    runs = _checked_runs(learner, rows, theorem)
    if runs and not _weighted(theorem, runs) and not learner._trains_to_the_same_log(rows):
        runs, remarks = {}, [*remarks, f"no run is certified: {ANOTHER_LOG}"]
    passes = max((run.passes for run in runs.values()), default=1)
    deadline = None if time_limit is None else time.monotonic() + time_limit
    plan = Plan(passes, epsilon, delta, deadline, watch, n_jobs)
    problems, more = problems_of(rows, plan)
    remarks += more if len(rows.classes) > 2 else []
    played: dict[str, Any] = {}
    for name, run in runs.items():
        found = _played(learner, theorem, name, run._replace(passes=passes), rows, plan, problems)
        if isinstance(found, str):
            remarks.append(f"{name}: {found}")
        else:
            played[name] = found
    risks = {name: 1 - delta for name in played if _one_pass(learner, rows)}
    try:
        cert = made(rows, problems, played, remarks, risks)
    except ValueError as error:
        return made(rows, problems, {}, [*remarks, f"no run is certified, for {error}: {ANOTHER_RUN}"], {})
    broken = [claim for claim, value in cert.claims.items() if value is False]
    more = [f"{claim} does NOT hold: {ANOTHER_RUN}" for claim in broken]
    for name, counted in zip(runs, np.atleast_1d(getattr(learner, "mistakes_", 0)), strict=False):
        if cert.claims.get(f"{name}: mistakes", counted) != counted:
            more.append(f"{name}: mistakes_ is {counted}, as floats rounded scores that are next to 0")
    if not more:
        return cert
    kept = {k: run for k, run in played.items() if k not in {claim.rpartition(": ")[0] for claim in broken}}
    return made(rows, problems, kept, remarks + more, {k: v for k, v in risks.items() if k in kept})


def _checked_runs(learner: Any, rows: LabelledRows, theorem: Theorem | None) -> dict[str, Run]:
    """Return the run of each binary classifier, if these are the rows that it was trained on."""
    if theorem is None:
        return {}
    runs, skipped = learner._runs(rows), np.atleast_1d(getattr(learner, "skipped_", 0))
    refuse_other_rows(runs, rows, learner._readable().whole())
    return {k: _with_rows_of_zeros(run, int(n), rows) for (k, run), n in zip(runs.items(), skipped, strict=True)}


def _played(
    learner: Any, theorem: Theorem | None, name: str, run: Run, rows: LabelledRows, plan: Plan, problems: dict[str, Any]
) -> dict[str, Any] | str:
    """Return a run as the checker reads it, or why there is nothing to check."""
    assert theorem is not None
    problem = name.removeprefix("run of ").removeprefix("run")
    problem = f"{problem}, {named(learner._bias)}" if problem else named(learner._bias)
    if problem not in problems:
        return "not played again, as its rows were not looked at"
    why_not = _too_long(theorem, run, rows)
    return why_not or witnessed(theorem, run, _search(problem, rows, plan), problems[problem], problem)


def _one_pass(learner: Any, rows: LabelledRows) -> bool:
    """Tell whether each row was seen once, in an order that did not depend on the weights."""
    state, n = learner._fitted(), rows.data.n_rows
    return state.epochs * n + state.rows == n and state.mixed is None


def _rows_of_run(learner: Any, X: Any, y: Any) -> LabelledRows:
    """Return the rows of the run, checked."""
    refuse_rounding(X)
    data = canonical(learner, X, bias=learner._bias, reset=False)
    refuse_bad_entries(data)
    data = summed(data)
    codes = codes_among(clean(y, data.n_rows), learner.classes_)
    return LabelledRows(data, codes, names_of(learner.classes_))


def theorem_of(state: TrainingState) -> Theorem | None:
    """Return the theorem about a rule and a kind of weights, if there is one.

    Examples
    --------
    >>> from linsep import Winnow
    >>> theorem_of(Winnow(eta=0.25).fit([[0, 1], [1, 0]], [0, 1])._state)
    Theorem(name='winnow', p=2.0, rate=0.25, norm='simplex', C=None, first=False)
    """
    rule, link = state.rule, state.link
    if type(rule) is Perceptron and isinstance(link, Additive):
        return Theorem("perceptron")
    if type(rule) is Perceptron and isinstance(link, Imaged) and not state.pair:
        number = float(link.number)
        if link.form == P_NORM:
            return Theorem("perceptron", p=number + 1)
        return Theorem("winnow", rate=number, norm="l1" if link.form == SINH else "simplex")
    if type(rule) in (PassiveAggressive, PassiveAggressiveI, PassiveAggressiveII) and not state.pair:
        return Theorem("passive_aggressive", C=getattr(rule, "C", None), first=type(rule) is PassiveAggressiveI)
    return None


def runs_of(record: Record, rounds: int, rows: LabelledRows, pair: bool, mixed: Mixed | None = None) -> dict[str, Run]:
    """Return the run of each binary classifier on its signed rows, from the log of all, and from what was mixed."""
    n, count = rows.data.n_rows, len(rows.classes)
    if len(record) and record.rows.max() >= n:
        raise ValueError(f"the log names row {record.rows.max()}, but X has {n} rows: pass all rows of the training")
    most = max(-(-rounds // n), 1)

    def run(chosen: Array, places: Array, signs: Array, column: int = 0) -> Run:
        steps = None if record.amounts is None else record.amounts[chosen] * signs
        passes = max(most, int(np.bincount(record.rows[chosen]).max(initial=0)))
        mixes = None if mixed is None else mixed.among(record.rounds[chosen], column)
        return Run(places, steps, passes, rounds, mixes)

    every = np.arange(len(record))
    if pair and count > 2:
        assert record.classes is not None
        true, rival = record.classes.T
        return {"run of pairs": run(every, record.rows * (count - 1) + rival - (rival > true), np.ones(len(record)))}
    if count <= 2:
        signs = np.where(rows.codes[record.rows] == count - 1, 1.0, -1.0)
        return {"run": run(every, record.rows, signs)}
    assert record.classes is not None
    found = {}
    for c, name in enumerate(rows.classes):
        chosen = np.flatnonzero(record.classes == c)
        signs = np.where(rows.codes[record.rows[chosen]] == c, 1.0, -1.0)
        found[f"run of class {name}"] = run(chosen, record.rows[chosen], signs, c)
    return found


def refuse_other_rows(runs: dict[str, Run], rows: LabelledRows, state: TrainingState) -> None:
    """Raise a ValueError unless the updates, made on these rows, add up to the weights in training."""
    rounds, n = int(state.tally.rounds[0]), rows.data.n_rows
    seen = state.epochs * n + state.rows if state.epochs else n if state.rows else 0
    if seen and seen != rounds:
        raise ValueError(
            f"the run had {rounds} rounds, and these rows make {seen}: pass the rows of the training, all of them and "
            "no others; a run that left rows of weight 0 out can't be certified"
        )
    same = all(run.steps is None or (run.steps >= 0).all() for run in runs.values())
    largest = max(float(np.abs(rows.data.values).max(initial=0.0)), abs(rows.data.bias))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for c, mixture in _mixtures(runs, rows):
            there = state.link.s[:, c if state.columns > 1 else 0]
            slack = SAME * np.abs(mixture).sum() * largest + len(mixture) * np.finfo(np.float64).smallest_subnormal
            off = np.abs(times_transposed(rows.data, mixture[:, None])[:, 0] - there)
            same = same and not (off > slack).any()
    if not same:
        raise ValueError(
            "the log, played again on these rows, leads to other weights: pass the rows and labels of the training, "
            "in their order"
        )


def _mixtures(runs: dict[str, Run], rows: LabelledRows) -> Iterator[tuple[int, Array]]:
    """Yield the number of each class that has weights, and how often each row was added to them, in all."""
    n, count = rows.data.n_rows, len(rows.classes)
    for place, (name, run) in enumerate(runs.items()):
        if name == "run of pairs":
            which, rival = np.divmod(run.rows, count - 1)
            true = rows.codes[which]
            rival, steps = rival + (rival >= true), run.weights() * (1.0 if run.steps is None else run.steps)
            for c in range(count):
                yield c, np.bincount(which, steps * (1.0 * (true == c) - (rival == c)), n)
        else:
            c = place if count > 2 else count - 1
            steps = run.weights() * (1.0 if run.steps is None else run.steps)
            yield c, rows.signs(rows.classes[c]) * np.bincount(run.rows, steps, n)


def _with_rows_of_zeros(run: Run, skipped: int, rows: LabelledRows) -> Run:
    """Return a run with its mistakes on rows of zeros, which passive-aggressive skips; any step there is the same."""
    if not skipped or run.steps is None or rows.data.bias:
        return run
    short = np.flatnonzero(squared_norms(rows.data) == 0)
    sizes = abs(signed_rows(rows.data, np.ones(rows.data.n_rows), short)).sum(axis=1)
    zeros = short[np.asarray(sizes).ravel() == 0]
    more = np.resize(zeros, min(skipped, run.passes * len(zeros)))
    mixes = None if run.mixes is None else [*run.mixes, [[len(more), 1]]]
    steps = np.append(run.steps, np.ones(len(more)))
    return run._replace(rows=np.append(run.rows, more), steps=steps, mixes=mixes)


def _weighted(theorem: Theorem | None, runs: dict[str, Run]) -> bool:
    """Return whether rows were weighted in runs whose steps are 1 otherwise: the theorem is not about such runs."""
    by_one = theorem is not None and theorem.name != "passive_aggressive"
    return by_one and any(run.steps is not None and (run.steps != 1).any() for run in runs.values())


def _too_long(theorem: Theorem, run: Run, rows: LabelledRows) -> str:
    """Return why a run is not played again, if it is not."""
    if not len(run.rows):
        return "no updates were made, and so there is nothing to hold against the theorem"
    if theorem.name == "perceptron" and not rows.data.bias and not rows.data.values.any():
        return "no guarantee: all rows are zeros, and each round is a mistake"
    if _weighted(theorem, {"run": run}):
        return "no guarantee: rows were weighted, and the theorem is about rows that weigh the same"
    entries = rows.data.values.size / rows.data.n_rows * len(run.rows)
    most = (
        MOST_STEPS if theorem in (Theorem("perceptron"), theorem._replace(name="passive_aggressive")) else MOST_POWERS
    )
    if run.mixes is not None and bits_of(run.mixes) > MOST_BITS:
        return f"too long to be played again in exact arithmetic: {len(run.mixes):,} mixes, of ever finer fractions"
    if entries > most:
        return (
            f"too long to be played again in exact arithmetic: {len(run.rows):,} updates, some {entries:,.0f} entries"
        )
    return ""


def _search(problem: str, rows: LabelledRows, plan: Plan) -> Search:
    """Return the rows of a problem, for weights to be tried on."""
    data, signs = rows.data, rows.signs(rows.classes[-1])
    if problem.startswith("pairs, "):
        data = pair_rows(data, rows.codes, len(rows.classes))
        signs = np.ones(data.n_rows)
    elif problem.startswith("class "):
        signs = rows.signs(problem.removeprefix("class ").rpartition(", ")[0])
    return Search(data, signs, plan.passes, plan.deadline, None, plan.jobs)
