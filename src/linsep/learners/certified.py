"""Certificates of runs: what a learner's theorem says of what it did."""

import time
from typing import Any

import numpy as np

from linsep.core.examples import Array
from linsep.core.links import P_NORM, SINH, Additive, Imaged
from linsep.data.inputs import canonical, refuse_bad_entries, rows_of, without_duplicates
from linsep.data.labels import clean, codes_among
from linsep.learners.machine import Machine
from linsep.learners.record import Record
from linsep.rules import PassiveAggressive, PassiveAggressiveI, PassiveAggressiveII, Perceptron
from linsep.theory.certificates import Certificate
from linsep.theory.certifying import Plan, Rows, all_problems, binary_problems, made, named, refuse_bad_plan
from linsep.theory.runs import Run, Theorem, witnessed
from linsep.theory.witnesses import Search, Watch, pair_rows

MOST_STEPS = 20_000_000
"""Entries of mistaken rows beyond which a run is not played again in exact arithmetic."""
MOST_POWERS = 1_000_000
"""The same for Winnow and the p-norm perceptron, which need an exponential or a power for each."""
NO_THEOREM = "no guarantee: no theorem bounds the mistakes of {}; the claims are about the data alone"


class Certified:
    """The part of a learner that proves what it did."""

    classes_: Array

    @property
    def _bias(self) -> float:
        """The constant feature's value, 0 where there is none."""
        raise NotImplementedError

    def certificate(
        self, X: Any, y: Any, *, epsilon: float = 0.05, delta: float = 0.05, time_limit: float | None = None,
        watch: Watch | None = None, n_jobs: int = 1,
    ) -> Certificate:  # fmt: skip
        """Return the certificate of the data, and of the run that made this learner: its mistakes against its theorem.

        The run is played again from its log, in exact arithmetic: both lemmas of the perceptron at every mistake, the
        fall of Winnow's potential, the losses of passive-aggressive. The log must be whole, from the first round on.

        Parameters
        ----------
        X : array, sparse matrix or dataframe, (rows, features)
            The rows that it was trained on; after `partial_fit`, all of them in order.
        y : array, (rows,)
            Their labels.
        epsilon : float, default=0.05
            The error rate for which a sample size is stated.
        delta : float, default=0.05
            How often statements about new rows may be wrong.
        time_limit, watch, n_jobs
            As for :func:`linsep.certify`.

        Returns
        -------
        Certificate
            Its `remarks` say what is not proved, and why.

        Examples
        --------
        >>> from linsep import Perceptron, verify
        >>> X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]
        >>> cert = Perceptron(shuffle=False).fit(X, y).certificate(X, y)
        >>> cert.claims["run: mistakes"], cert.number("mistakes at most", "run")
        (2, 11.0)
        >>> bool(verify(cert, X, y))
        True
        """
        refuse_bad_plan(self._bias, 1, epsilon, delta, time_limit)
        rows = self._certified_rows(X, y)
        theorem, remarks = self._theorem()
        runs = self._runs(rows) if theorem is not None else {}
        passes = max((run.passes for run in runs.values()), default=1)
        deadline = None if time_limit is None else time.monotonic() + time_limit
        plan = Plan(passes, epsilon, delta, deadline, watch, n_jobs)
        problems, more = (binary_problems if len(rows.classes) <= 2 else all_problems)(rows, plan)
        remarks += more
        played: dict[str, Any] = {}
        for name, run in runs.items():
            assert theorem is not None
            problem = name.removeprefix("run of ").removeprefix("run")
            problem = f"{problem}, {named(self._bias)}" if problem else named(self._bias)
            found: Any = _too_long(theorem, run, rows)
            if not found and problem in problems:
                found = witnessed(theorem, run, _search(problem, rows, plan), problems[problem], problem)
            if isinstance(found, dict):
                played[name] = found
            elif found:
                remarks.append(f"{name}: {found}")
        risks = {name: 1 - delta for name, run in played.items() if run["passes"] == 1}
        return made(rows, problems, played, remarks, risks)

    def _certified_rows(self, X: Any, y: Any) -> Rows:
        """Return the rows of the run, checked."""
        data = canonical(self, X, bias=self._bias, reset=False)
        refuse_bad_entries(data)
        data = without_duplicates(data)
        codes = codes_among(clean(y, rows_of(data)), self.classes_)
        return Rows(data, codes, [str(c).removesuffix(".0") for c in self.classes_.tolist()])

    def _theorem(self) -> tuple[Theorem | None, list[str]]:
        """Return the theorem that the run is held to, and what it does not say."""
        return None, [NO_THEOREM.format(type(self).__name__)]

    def _runs(self, rows: Rows) -> dict[str, Run]:
        """Return the run of each machine."""
        return {}


def theorem_of(machine: Machine) -> Theorem | None:
    """Return the theorem about a rule and a kind of weights, if there is one.

    Examples
    --------
    >>> from linsep import Winnow
    >>> theorem_of(Winnow(eta=0.25).fit([[0, 1], [1, 0]], [0, 1])._machine)
    Theorem(name='winnow', p=2.0, rate=0.25, norm='simplex', C=None, first=False)
    """
    rule, link = machine.rule, machine.link
    if isinstance(rule, Perceptron) and isinstance(link, Additive):
        return Theorem("perceptron")
    if isinstance(rule, Perceptron) and isinstance(link, Imaged) and not machine.pair:
        number = float(link.number)
        if link.form == P_NORM:
            return Theorem("perceptron", p=number + 1)
        return Theorem("winnow", rate=number, norm="l1" if link.form == SINH else "simplex")
    if isinstance(rule, (PassiveAggressive, PassiveAggressiveI, PassiveAggressiveII)) and not machine.pair:
        return Theorem("passive_aggressive", C=getattr(rule, "C", None), first=isinstance(rule, PassiveAggressiveI))
    return None


def runs_of(record: Record, rounds: int, rows: Rows, pair: bool) -> dict[str, Run]:
    """Return the run of each machine on its signed rows, from the log of all."""
    n, count = rows_of(rows.data), len(rows.classes)
    if len(record) and record.rows.max() >= n:
        raise ValueError(f"the log names row {record.rows.max()}, but X has {n} rows: pass all rows of the training")
    most = max(-(-rounds // n), 1)

    def run(chosen: Array, places: Array, signs: Array) -> Run:
        steps = None if record.amounts is None else record.amounts[chosen] * signs
        passes = max(most, int(np.bincount(record.rows[chosen]).max(initial=0)))
        return Run(places, steps, passes, rounds)

    every = np.arange(len(record))
    if pair and count > 2:
        assert record.classes is not None
        true, rival = record.classes.T
        return {"run of pairs": run(every, record.rows * (count - 1) + rival - (rival > true), np.ones(len(record)))}
    if count == 2:
        signs = np.where(rows.codes[record.rows] == 1, 1.0, -1.0)
        return {"run": run(every, record.rows, signs)}
    assert record.classes is not None
    found = {}
    for c, name in enumerate(rows.classes):
        chosen = np.flatnonzero(record.classes == c)
        signs = np.where(rows.codes[record.rows[chosen]] == c, 1.0, -1.0)
        found[f"run of class {name}"] = run(chosen, record.rows[chosen], signs)
    return found


def _too_long(theorem: Theorem, run: Run, rows: Rows) -> str:
    """Return why a run is not played again, if it is not."""
    if not len(run.rows):
        return "no updates, and so no mistakes"
    if theorem.name != "passive_aggressive" and run.steps is not None:
        return "no guarantee: rows were weighted, and the theorem is about rows that weigh the same"
    entries = rows.data.values.size / rows_of(rows.data) * len(run.rows)
    most = (
        MOST_STEPS if theorem in (Theorem("perceptron"), theorem._replace(name="passive_aggressive")) else MOST_POWERS
    )
    if entries > most:
        return (
            f"too long to be played again in exact arithmetic: {len(run.rows):,} updates, some {entries:,.0f} entries"
        )
    return ""


def _search(problem: str, rows: Rows, plan: Plan) -> Search:
    """Return the rows of a problem, for weights to be tried on."""
    data, signs = rows.data, rows.signs(rows.classes[-1])
    if problem.startswith("pairs, "):
        data = pair_rows(data, rows.codes, len(rows.classes))
        signs = np.ones(rows_of(data))
    elif problem.startswith("class "):
        signs = rows.signs(problem.removeprefix("class ").rpartition(", ")[0])
    return Search(data, signs, plan.passes, plan.deadline, None, plan.jobs)
