"""Contributions: bias and amounts add up to the score, for every learner whose scores are sums over features."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import Pipeline, make_pipeline

import linsep
from linsep import LEARNERS, explain
from linsep.transforms import Polynomial, Standardize

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
RNG = np.random.default_rng(0)
X = np.round(RNG.random((60, 6)) * (RNG.random((60, 6)) < 0.6), 2)
Y = {2: np.where(X[:, 0] + X[:, 1] > X[:, 2] + 0.3, "yes", "no"), 3: (4 * X[:, 0] + 2 * X[:, 3]).astype(int) % 3}
LINEAR = [name for name in LEARNERS if name != "kernel-perceptron"]


def fitted(name, classes):
    learner = LEARNERS[name].make(random_state=0)
    if name == "voted-perceptron":
        learner.set_params(readout="average")
    return learner.fit(X, Y[classes])


@pytest.mark.parametrize(
    ("name", "classes"), [(name, k) for name in LINEAR for k in (2, 3) if (name, k) != ("linear-program", 3)]
)
def test_bias_and_amounts_add_up_to_the_score(name, classes):
    model = fitted(name, classes)
    found, scores = explain(model, X, n=99), model.decision_function(X)
    for row, label, score, x in zip(found, model.predict(X).tolist(), scores, X, strict=True):
        assert row.label == label
        code = model.classes_.tolist().index(label)
        expected = (score if code else -score) if classes == 2 else score[code]
        if name == "naive-bayes" and classes == 3:
            expected -= score.mean()
        assert row.score == pytest.approx(expected)
        assert row.rest == 0
        amounts = [part.amount for part in row.contributions]
        assert row.bias + sum(amounts) == pytest.approx(expected)
        assert np.all(np.diff(np.abs(amounts)) <= 0)
        assert {part.column: part.value for part in row.contributions} == {j: x[j] for j in np.flatnonzero(x)}


@pytest.mark.parametrize("classes", [2, 3])
def test_fewer_features_leave_a_rest(classes):
    model = fitted("averaged-perceptron", classes)
    for few, all_of in zip(explain(model, X, n=2), explain(model, X, n=99), strict=True):
        assert few.contributions == all_of.contributions[:2]
        assert few.rest == pytest.approx(sum(part.amount for part in all_of.contributions[2:]))
    with pytest.raises(ValueError, match="ask for 1 feature or more"):
        explain(model, X, n=0)


@pytest.mark.parametrize("classes", [2, 3])
def test_sparse_rows_and_sparse_weights_say_the_same(classes):
    model = fitted("perceptron", classes)
    dense = explain(model, X, n=3)
    for found in (explain(model, sp.csr_array(X), n=3), explain(model.sparsify(), sp.csr_array(X), n=3)):
        for one, other in zip(found, dense, strict=True):
            assert one.contributions == other.contributions
            assert (one.label, one.bias) == (other.label, other.bias)
            assert (one.score, one.rest) == pytest.approx((other.score, other.rest))


def test_a_pipeline_is_explained_by_what_its_learner_sees():
    pytest.importorskip("pandas")
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(6)])
    model = make_pipeline(Standardize(), Polynomial(interaction_only=True), linsep.Perceptron(random_state=0))
    model.fit(frame, Y[2])
    seen = model[:-1].transform(frame)
    names = model[:-1].get_feature_names_out()
    for k, row in enumerate(explain(model, frame, n=4)):
        for part in row.contributions:
            assert part.name.replace(" ", "") == names[part.column].replace(" ", "")
            assert part.value == seen[k, part.column]


@pytest.mark.parametrize("nothing", [None, "passthrough"])
def test_a_step_that_passes_rows_through_changes_no_name(nothing):
    model = Pipeline([("nothing", nothing), ("learner", linsep.Perceptron(random_state=0))]).fit(X, Y[2])
    assert [part.name for part in explain(model, X[:1], n=6)[0].contributions] == [
        part.name for part in explain(model[-1], X[:1], n=6)[0].contributions
    ]


def test_a_hashed_text_model_names_its_words():
    texts, labels = ["cheap pills", "meet at noon", "pills", "noon"], ["spam", "ham", "spam", "ham"]
    model = make_pipeline(linsep.TextHasher(n_features=1 << 12, keep_names=True), linsep.Perceptron(random_state=0))
    [row] = explain(model.fit(texts, labels), ["pills for you"], n=1)
    assert (row.label, row.contributions[0].name) == ("spam", "pills")
    assert row.contributions[0].amount > 0


def test_a_calibrated_model_is_explained_by_its_learner():
    model = linsep.CalibratedClassifier(linsep.Perceptron(random_state=0), method="sigmoid").fit(X, Y[2])
    for row, label, score in zip(explain(model, X, n=99), model.predict(X), model.decision_function(X), strict=True):
        assert row.label == label
        assert row.bias + sum(part.amount for part in row.contributions) == pytest.approx(
            score if label == "yes" else -score
        )


def test_kernels_votes_and_numbers_are_refused():
    with pytest.raises(ValueError, match="KernelPerceptron has weights of rows"):
        explain(linsep.KernelPerceptron(random_state=0).fit(X, Y[2]), X)
    with pytest.raises(ValueError, match="the vote of a run has no weights of its own"):
        explain(linsep.VotedPerceptron(random_state=0).fit(X, Y[2]), X)
    with pytest.raises(ValueError, match="PassiveAggressiveRegressor is none"):
        explain(linsep.PassiveAggressiveRegressor(random_state=0).fit(X, X[:, 0]), X)
