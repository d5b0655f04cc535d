"""Learners wrapped for river pass river's own checks."""

import gc

import numpy as np
import pandas as pd
import pytest
from river import checks

import linsep
from linsep.compat.river import RiverClassifier, RiverRegressor
from linsep.engine.tiers import compiling

WIDE = {"p": 4, "x_max": 1e4}
"""Parameters that depend on the data, which are raw numbers here."""
QUICK = ("Perceptron",)
MODELS = [
    *(
        RiverClassifier(of.make_online(**WIDE, log=of.name == "VotedPerceptron"))
        for of in linsep.LEARNERS.values()
        if of.online and not of.small
    ),
    RiverClassifier(linsep.CalibratedClassifier(linsep.AveragedPerceptron(log=False))),
    RiverRegressor(linsep.PassiveAggressiveRegressor()),
    RiverRegressor(linsep.PassiveAggressiveRegressor(variant="PA-II", readout="average")),
]


def cases():
    for model in MODELS:
        name = type(model.learner).__name__
        marks = [] if name in QUICK else [pytest.mark.slow]
        for k, check in enumerate(checks.yield_checks(model)):
            yield pytest.param(model, check, id=f"{name}-{check.__name__}-{k}", marks=marks)


@pytest.fixture(scope="module", autouse=True)
def only_the_model_is_measured():
    """Let no check compile code, which counts as the model's memory; collect only what the checks make."""
    gc.freeze()
    with compiling("never"):
        yield
    gc.unfreeze()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "check"), list(cases()))
def test_checks_of_river(model, check):
    check(model.clone())


def test_predictions_are_those_of_the_learner():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    labels = pd.Series(np.where(table["a"] + table["b"] > 0, "up", "down"))
    model, learner = RiverClassifier(linsep.LogisticRegression(solver="sgd")), linsep.LogisticRegression(solver="sgd")
    model.learn_many(table, labels)
    for row, label in zip(table.to_dict("records"), labels, strict=True):
        learner.learn_one(row, label)
    assert model.predict_many(table).tolist() == learner.predict(table).tolist()
    np.testing.assert_allclose(model.predict_proba_many(table), learner.predict_proba(table))
    one = model.predict_proba_one(table.iloc[0].to_dict())
    assert one == pytest.approx(dict(zip(["down", "up"], learner.predict_proba(table[:1])[0], strict=True)))


def test_memory_is_that_of_the_model_alone():
    model = RiverClassifier(linsep.Perceptron(log=False))
    model.learn_one({"a": 1.0}, "up")
    few = model._raw_memory_usage
    model.learn_many(pd.DataFrame(np.ones((2, 1000))), pd.Series(["up", "down"]))
    assert few < 8_000 < model._raw_memory_usage < 100_000


def test_what_is_no_online_learner_is_refused():
    with pytest.raises(ValueError, match="no learn_one: wrap an online learner"):
        RiverClassifier(linsep.MaxMargin())
    with pytest.raises(ValueError, match="RiverRegressor"):
        RiverClassifier(linsep.PassiveAggressiveRegressor())
    with pytest.raises(ValueError, match="RiverClassifier"):
        RiverRegressor(linsep.Perceptron())
