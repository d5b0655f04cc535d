"""Shards that are refused, rows that can't be learned from, runs that are broken off: the learner stays as it was."""

import copy
import re
import threading
from dataclasses import replace

import numpy as np
import pytest

from linsep import (
    LEARNERS,
    ROMMA,
    KernelPerceptron,
    LogisticRegression,
    OnlineClassifier,
    Perceptron,
    VotedPerceptron,
    rules,
)
from tests.contracts.table import build, problem, quiet, state, trace

X, y = problem(3)
TWO = np.minimum(y, 1)
MIXED = [name for name, entry in LEARNERS.items() if entry.online and not entry.no_mixing]
ONE_RUN = "is not mixed, as it predicts with the hypotheses of one run, one after the other"
AT_ONCE = "sees all rows at once (solver='sgd' does not)"
FEW = "cuts all rows, and these come a few at a time: set shards=None, or use fit"

# Who is asked to do what with shards, and the words of the refusal.
REFUSED = {
    "a vote": (lambda: VotedPerceptron(shards=2).fit(X, y), f"shards=2: VotedPerceptron {ONE_RUN}"),
    "a vote of one": (lambda: VotedPerceptron(shards=1).fit(X, y), f"shards=1: VotedPerceptron {ONE_RUN}"),
    "a vote on a stream": (lambda: VotedPerceptron(shards=2).partial_fit(X, y), f"VotedPerceptron {ONE_RUN}"),
    "a vote on a row": (lambda: VotedPerceptron(shards=2).learn_one({"a": 1.0}, 0), f"VotedPerceptron {ONE_RUN}"),
    "a full vote on a row": (
        lambda: VotedPerceptron(max_support=1).learn_one([1.0], 0).set_params(shards=2).learn_one([2.0], 0),
        f"VotedPerceptron {ONE_RUN}",
    ),
    "a kernel on a stream": (lambda: KernelPerceptron(shards=2).partial_fit(X, y), f"KernelPerceptron {ONE_RUN}"),
    "a kernel on a row": (lambda: KernelPerceptron(shards=2).learn_one({"a": 1.0}, 0), f"KernelPerceptron {ONE_RUN}"),
    "a kernel": (lambda: KernelPerceptron(shards=3).fit(X, TWO), f"shards=3: KernelPerceptron {ONE_RUN}"),
    "newton": (
        lambda: LogisticRegression(solver="newton", shards=2).fit(X, y),
        f"shards=2: LogisticRegression is not mixed, as solver='newton' {AT_ONCE}",
    ),
    "batch": (
        lambda: LogisticRegression(solver="batch", shards=2).fit(X, y),
        f"shards=2: LogisticRegression is not mixed, as solver='batch' {AT_ONCE}",
    ),
    "aggressive ROMMA": (
        lambda: ROMMA(aggressive=True, shards=2).fit(X, TWO),
        "shards=2: ROMMA is not mixed, as its steps on rows that are no mistakes may lead away",
    ),
    "a stream": (lambda: Perceptron(shards=4).partial_fit(X, y), f"shards=4 {FEW}"),
    "a stream of one shard": (lambda: Perceptron(shards=1).partial_fit(X, y), f"shards=1 {FEW}"),
    "a row": (lambda: Perceptron(shards=4).learn_one({"a": 1.0}, 0), f"shards=4 {FEW}"),
    "a rule of one's own": (lambda: OnlineClassifier(rules.Hinge(), shards=4).partial_fit(X, y), f"shards=4 {FEW}"),
    "no threads": (lambda: Perceptron(shards=2, n_jobs=0).fit(X, y), "n_jobs == 0 has no meaning"),
    **{
        f"shards={shards!r}": (
            lambda shards=shards: Perceptron(shards=shards).fit(X, y),
            "The 'shards' parameter of Perceptron must be None or an int in the range [1, inf)",
        )
        for shards in (0, -1, 2.0, "2")
    },
    **{
        f"mixing={mixing!r}": (
            lambda mixing=mixing: Perceptron(mixing=mixing).fit(X, y),
            "The 'mixing' parameter of Perceptron must be a str among",
        )
        for mixing in ("best", None, "Rows")
    },
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_say_why(case):
    ask, words = REFUSED[case]
    with pytest.raises(ValueError, match=re.escape(words)):
        ask()


def test_the_table_has_the_reason_of_the_class_and_a_learner_that_of_its_parameters(monkeypatch):
    monkeypatch.setattr(ROMMA, "_traits", replace(ROMMA._traits, mixes=""))
    assert LEARNERS["romma"].no_mixing == ""
    assert "lead away from every separator" in ROMMA(aggressive=True)._no_mixing
    assert all(entry.no_mixing in ("", entry.make()._no_mixing) for entry in LEARNERS.values())


def test_learners_that_see_all_rows_have_no_such_parameter():
    for entry in LEARNERS.values():
        assert ("shards" in entry.learner().get_params()) == ("mixing" in entry.learner().get_params()) == entry.online


ON_THE_WAY = {
    "partial_fit": lambda learner: learner.partial_fit(X, y),
    "learn_one": lambda learner: learner.learn_one(X[0], y[0]),
}


@pytest.mark.parametrize("open_desk", [False, True])
@pytest.mark.parametrize("how", ON_THE_WAY)
def test_a_refusal_on_the_way_changes_nothing(how, open_desk):
    """After training by fit, and after a single row, which leaves a desk open for more."""
    learner = quiet(build("perceptron", shards=3, warm_start=True).fit, X, y)
    if open_desk:
        learner.set_params(shards=None).learn_one(X[0], y[0])
    twin = copy.deepcopy(learner)
    learner.set_params(shards=3)
    before = told(learner)
    with pytest.raises(ValueError, match="shards=3"):
        ON_THE_WAY[how](learner)
    assert told(learner) == before
    for each in (learner, twin):
        each.set_params(shards=None).partial_fit(X, y)
    assert told(learner) == told(twin)


def told(learner):
    return trace(learner) | {of: a.tolist() for of, a in vars(learner.mixes_).items()}


def with_entry(value, row=20, column=1):
    rows = X.copy()
    rows[row, column] = value
    return rows


def message(learner, rows, labels):
    with pytest.raises(ValueError, match="row 20") as caught:
        learner.fit(rows, labels)
    return str(caught.value)


@pytest.mark.parametrize("name", MIXED)
def test_a_bad_entry_in_a_shard_is_told_as_in_one_run(name):
    learner, fresh = (build(name, shards=4, n_jobs=2, warm_start=True) for _ in range(2))
    quiet(learner.fit, X, y)
    for each in (learner, fresh):
        before = state(each)
        for value in (np.nan, np.inf, -np.inf):
            assert message(each, with_entry(value), y) == message(build(name), with_entry(value), y)
        assert state(each) == before


def huge_rows():
    """Row 10 is a mistake that makes a weight huge, and row 11 the first to meet it, in the second of four shards."""
    rows, labels = np.delete(X, 0, axis=1), TWO.copy()
    rows = np.column_stack([np.zeros(len(rows)), rows])
    rows[10:12], labels[10:12] = 0.0, (1, 0)
    rows[10:12, 0] = 1e200
    return rows, labels


def fault(learner, rows, labels):
    """What is said of rows that can't be learned from, or None."""
    try:
        quiet(learner.fit, rows, labels)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("name", MIXED)
def test_a_score_beyond_all_numbers_is_told_as_in_one_run(name, warm):
    """Rules that divide by ||x||² stop a row earlier; learners with an image may be able to learn from such rows."""
    rows, labels = huge_rows()
    shared = {"fit_intercept": False, "warm_start": warm}
    serial, one, two = build(name, **shared), *(build(name, shards=4, n_jobs=jobs, **shared) for jobs in (1, 2))
    if warm:
        for each in (serial, one, two):
            quiet(each.fit, np.where(rows == 1e200, 0.0, rows), labels)
    before = state(one)
    said = fault(serial, rows, labels)
    assert fault(one, rows, labels) == fault(two, rows, labels) == said
    if said is None:
        assert name in ("winnow", "balanced-winnow", "p-norm-perceptron")
        assert np.isfinite(one.coef_).all()
    else:
        assert re.match(r"the score of row 1[01] is too large for float64", said)
        assert state(one) == before


def test_the_first_shard_that_fails_is_told_whatever_the_threads():
    """Two shards fail, and threads may come to the second one first."""
    rows, labels = np.zeros((400, 2)), np.arange(400) % 2
    rows[[100, 101, 300, 301], 0] = 1e200
    rows[:, 1] = 1.0
    for jobs in (1, 2, 8):
        for _ in range(3):
            with pytest.raises(ValueError, match="the score of row 101 is too large"):
                Perceptron(shards=8, n_jobs=jobs, shuffle=False, fit_intercept=False).fit(rows, labels)


class Stop:
    """A watch that is broken off at its nth look, as by Ctrl-C."""

    def __init__(self, at):
        self.at, self.looks = at, 0

    def __call__(self, machine):
        self.looks += 1
        if self.looks > self.at:
            raise KeyboardInterrupt
        return 1


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("name", MIXED)
def test_a_run_that_is_broken_off_leaves_the_learner_as_it_was(name, jobs):
    """Before the first shard, between shards, after the last, in the second epoch; at first, and going on."""
    learner = build(name, shards=4, n_jobs=jobs, warm_start=True, max_iter=2)
    running = threading.active_count()
    for _ in range(2):
        before = state(learner)
        for at in (0, 1, 4, 7):
            with pytest.raises(KeyboardInterrupt), learner._watched(Stop(at)):
                learner.fit(X, y)
            assert state(learner) == before
            assert threading.active_count() == running
        quiet(learner.fit, X, y)
    assert trace(learner) == trace(quiet(build(name, shards=4, max_iter=4).fit, X, y))


def test_a_watch_sees_the_shards_come_back():
    """A look before the first shard and one after each, with the rounds and mistakes of those that are back."""
    seen = []

    def watch(machine):
        seen.append((machine.epochs, int(machine.tally.rounds[0]), int(machine.tally.counts[0, 0])))
        return 1 << 60

    learner = build("perceptron", shards=4, max_iter=2, n_jobs=2)
    with learner._watched(watch):
        quiet(learner.fit, X, TWO)
    made = np.append(0, learner.mixes_.mistakes.cumsum())
    expected = [(e, 40 * e + 10 * k, int(made[4 * e + k])) for e in range(2) for k in range(5)]
    assert seen == expected
    assert learner._state.watch is None
