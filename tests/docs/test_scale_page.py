"""docs/studies/shards.md has the figures of the study, docs/distributed.md the learners that mix."""

import doctest
import io
import json
import re

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from benchmarks import scale_accuracy, scale_model, scale_report, scale_text
from benchmarks.data import Split
from benchmarks.scale import with_tables
from linsep import LEARNERS, AveragedPerceptron
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "studies" / "shards.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8")
STUDY = json.loads((ROOT / "docs" / "studies" / "scale.json").read_text(encoding="utf-8"))


def test_the_tables_are_the_studys():
    assert set(re.findall("<!-- table: (.*?) -->", PAGE)) == set(scale_report.TABLES)
    assert with_tables(PAGE, STUDY) == PAGE


def test_a_table_that_is_not_the_studys_is_seen():
    forged = json.loads(json.dumps(STUDY))
    forged["accuracy"][0]["accuracy"]["serial"][-1] -= 0.01
    assert with_tables(PAGE, forged) != PAGE


def test_the_learners_that_mix_are_those_of_the_table():
    """A learner is named in a row, or is one of "every other online learner" or "every other batch learner"."""
    rows = re.findall(r"^\| (.*?) \| (.*?) \|$", GUIDE.split("| learner | shards |")[1].split("\n\n")[0], re.MULTILINE)
    named = {name: words for names, words in rows for name in re.findall(r"`(\w+)`", names)}
    others = {kind: words for names, words in rows for kind in re.findall(r"every other (\w+) learner", names)}
    for entry in LEARNERS.values():
        assert named.pop(entry.name, others["online" if entry.online else "batch"]) == entry.mixes, entry.name
    assert not named
    assert set(others) == {"online", "batch"}


def test_every_pair_gave_the_same_bits():
    pairs = scale_report.speed_of(STUDY).pairs
    assert {pair.by for pair in pairs} == {"threads", "workers"}
    assert all(pair.same for pair in pairs)


def test_iterative_mixing_is_as_accurate_as_the_page_says():
    found = scale_accuracy.grouped(scale_report.runs_of(STUDY))
    behind = [key for key, runs in found.items() if not scale_accuracy.row(runs, "iterative").reached]
    assert behind == list(scale_accuracy.BEHIND)
    assert len(found) == len(scale_accuracy.SETS) * len(scale_accuracy.KINDS)


@pytest.mark.parametrize("module", [scale_model, scale_report, scale_text])
def test_examples_in_the_benchmark_hold(module):
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed


def test_more_workers_never_shorten_an_epoch_beyond_the_knee():
    costs, plan = scale_report.measured_costs(STUDY), scale_model.Plan(weights=1e8)
    knee = scale_model.knee(plan, costs)
    near, best, far = (scale_model.epoch(n, plan, costs, in_memory=False) for n in (knee // 3, knee, 3 * knee))
    assert best.total < min(near.total, far.total)
    assert near.shared > near.total - near.shared
    assert far.bottleneck == "gather"


def test_text_is_read_as_it_was_made():
    X = sp.random_array((50, 30), density=0.2, format="csr", rng=np.random.default_rng(0))
    y = np.random.default_rng(1).choice([-1, 1], 50)
    read = linsep.read(io.BytesIO(bytes(scale_text.spelled(X, y))), format="svmlight", n_features=30)
    assert np.array_equal(read.X.toarray(), X.toarray())
    assert np.array_equal(read.y, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_small_study():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 5))
    y = np.where(X @ [3.0, -2, 1, 1, -1] + rng.normal(size=900) > 0, 1, -1)
    found = scale_accuracy.compared(Split(X[:600], y[:600], X[600:], y[600:]), AveragedPerceptron, seed=0, epochs=3)
    assert list(found) == list(scale_accuracy.METHODS)
    serial = AveragedPerceptron(max_iter=3, random_state=0).fit(X[:600], y[:600])
    assert found["serial"][-1] == serial.score(X[600:], y[600:])
    mixed = AveragedPerceptron(max_iter=3, shards=8, random_state=0).fit(X[:600], y[:600])
    assert found["iterative"][-1] == mixed.score(X[600:], y[600:])
    assert min(min(accuracy) for accuracy in found.values()) > 0.75
