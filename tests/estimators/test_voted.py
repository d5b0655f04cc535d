"""The vote and its other readouts, against a perceptron that stores every hypothesis."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array

from linsep import Perceptron, VotedPerceptron
from tests import voted_references as ref
from tests.estimators.readouts import (
    READOUTS,
    agree,
    all_answers,
    ask,
    codes_of,
    columns,
    every_form,
    naive,
    near_answers,
    same_answers,
)
from tests.fits import fit, logged
from tests.problems import integer_rows

few = settings(max_examples=25)
seeds = st.integers(0, 99)


def build(beta=0.0, **more):
    return VotedPerceptron(
        **{"max_iter": 3, "random_state": 0, "log": True, "fit_intercept": beta != 0, "intercept_scaling": beta or 1.0}
        | more
    )


def ten_rows(**more):
    """A learner of the lecture's ten rows, in one pass."""
    return build(**more).partial_fit(ref.TEN, ref.TEN_SIGNS, classes=[-1, 1])


def some(classes, n=60, p=4, seed=5):
    """Integer rows with labels that are linear but for noise."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (n, p)).astype(float)
    codes = np.argmax(X @ rng.integers(-2, 3, (p, classes)) + rng.normal(size=(n, classes)), axis=1)
    codes[:classes] = range(classes)
    return X, codes


def test_the_ten_rows_of_the_lecture():
    learner = ten_rows()
    assert learner.survival_.tolist() == [1, 3, 4, 2, 0]
    assert (learner.mistakes_, learner.t_) == (4, 10)
    assert logged(learner) == [(1, 0), (4, 3), (8, 7), (10, 9)]
    assert sorted(learner.support_.tolist()) == [0, 3, 7, 9]
    # v_0 to v_4 are (0, 0), (1, 0), (0, 3), (-3, 2) and (-2, 3).
    one = [[1.0, 1.0]]
    assert learner.decision_function(one) == pytest.approx([0.4])
    assert ask(learner, one, "average") == pytest.approx([1.3])
    assert ask(learner, one, "average", normalize=True) == pytest.approx([(3 + 4 - 2 / np.sqrt(13)) / 10])
    assert ask(learner, one, "last") == [1]
    assert ask(learner, one, "last", normalize=True) == pytest.approx([1 / np.sqrt(13)])
    assert ask(learner, one, "longest") == [3]
    assert ask(learner, one, "longest", normalize=True) == pytest.approx([1])


@pytest.mark.slow
@every_form
@few
@given(data=st.data(), seed=seeds, beta=st.sampled_from([0.0, 1.0, 2.0]), weighted=st.booleans())
def test_every_readout_is_the_naive_one_on_integers(classes, multi_class, data, seed, beta, weighted):
    X, y = data.draw(integer_rows(classes))
    codes, asked = (
        codes_of(y, classes),
        np.vstack([X, data.draw(integer_rows(max_features=1))[0] * np.ones(X.shape[1])]),
    )
    weights = np.arange(1, len(X) + 1) % 3 if weighted else None
    learner = fit(build(beta, random_state=seed, multi_class=multi_class), X, y, sample_weight=weights)
    agree(learner, naive(learner, X, codes, weights), asked, columns(learner, asked))


def test_a_score_of_zero_is_a_negative_vote():
    learner = ten_rows()
    assert learner.decision_function([[0.0, 0.0]]) == [-1]
    assert learner.predict([[0.0, 0.0]]) == [-1]
    # v_0 and v_2 score 0 on this row, v_1 votes for it and v_3 against it.
    assert learner.decision_function([[1.0, 0.0]]) == pytest.approx([(-1 + 3 - 4 - 2) / 10])


@every_form
def test_a_readout_chosen_after_training_is_that_of_a_learner_trained_with_it(classes, multi_class):
    X, y = some(classes)
    learner = fit(build(1.0, multi_class=multi_class), X, y)
    before = np.array(learner.mistakes_).tolist(), learner.t_, logged(learner)
    answers = all_answers(learner, X)
    assert (np.array(learner.mistakes_).tolist(), learner.t_, logged(learner)) == before
    for (readout, normalize), scores in answers.items():
        other = fit(build(1.0, multi_class=multi_class, readout=readout, normalize=normalize), X, y)
        assert np.array_equal(other.decision_function(X), scores)
        assert np.array_equal(other.predict(X), learner.set_params(readout=readout, normalize=normalize).predict(X))
    same_answers(all_answers(learner, X), answers)


@every_form
def test_no_two_readouts_have_the_same_labels(classes, multi_class):
    """But for norms where they are one number for all scores of a row, and the two votes where they are one."""
    X, y = some(classes, n=200, seed=6)
    asked = np.random.default_rng(0).normal(size=(600, 4))
    learner = fit(build(1.0, multi_class=multi_class), X, y)
    seen = {name: tuple(ref.labels(ask(learner, asked, *name))) for name in READOUTS}
    if classes == 2 or multi_class == "joint":
        assert seen.pop(("last", True)) == seen["last", False]
        assert seen.pop(("longest", True)) == seen["longest", False]
        assert seen.pop(("plurality", False)) == seen["vote", False]
    assert len(set(seen.values())) == len(seen)


@every_form
def test_norms_do_not_change_a_vote(classes, multi_class):
    X, y = some(classes)
    learner = fit(build(1.0, multi_class=multi_class), X, y)
    for readout in ("vote", "plurality"):
        changed = ask(learner, X, readout, normalize=True) != ask(learner, X, readout)
        assert not changed.any() or (readout, classes, multi_class) == ("plurality", 3, "ovr")


@every_form
@pytest.mark.parametrize("normalize", [False, True])
def test_weights_of_linear_readouts(classes, multi_class, normalize):
    X, y = some(classes)
    learner = fit(build(0.5, multi_class=multi_class, normalize=normalize), X, y)
    for readout in ref.LINEAR:
        scores = ask(learner, X, readout, normalize)
        by_weights = (X @ learner.coef_.T + learner.intercept_).reshape(scores.shape)
        np.testing.assert_allclose(by_weights, scores, rtol=0, atol=1e-12 * np.abs(scores).max())
    for readout in ("vote", "random", "plurality"):
        learner.set_params(readout=readout)
        for name in ("coef_", "intercept_"):
            with pytest.raises(AttributeError, match=readout):
                getattr(learner, name)


@every_form
@pytest.mark.parametrize("how", [{}, {"shuffle": False}, {"shuffle": "once"}, {"tol": 0.01}])
def test_it_trains_as_the_perceptron_does(classes, multi_class, how):
    X, y = some(classes)
    own = {"max_iter": 20, "random_state": 4, "log": True, "multi_class": multi_class} | how
    voted, plain = fit(VotedPerceptron(**own), X, y), fit(Perceptron(**own), X, y)
    assert np.array_equal(voted.mistakes_, plain.mistakes_)
    assert np.array_equal(voted.updates_, plain.updates_)
    assert (logged(voted), voted.t_, voted.n_iter_) == (logged(plain), plain.t_, plain.n_iter_)
    assert np.array_equal(ask(voted, X, "last"), plain.decision_function(X))
    counts = voted.survival_ if classes > 2 and multi_class == "ovr" else [voted.survival_]
    assert [c.sum() for c in counts] == [voted.t_] * len(counts)


@every_form
def test_dense_sparse_and_single_precision_are_one(classes, multi_class):
    X, y = some(classes)
    dense, sparse, single = (build(1.0, multi_class=multi_class) for _ in range(3))
    expected = all_answers(fit(dense, X, y), X)
    near_answers(all_answers(fit(sparse, csr_array(X), y), csr_array(X)), expected)
    near_answers(all_answers(dense, csr_array(X)), expected)
    near_answers(all_answers(sparse, X), expected)
    near_answers(all_answers(fit(single, X.astype(np.float32), y), X.astype(np.float32)), expected)


@every_form
def test_threads_change_no_bit(classes, multi_class):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(900, 7)), rng.permutation(np.arange(900) % classes)
    one, two = (fit(build(1.0, multi_class=multi_class, n_jobs=n), X[:300], y[:300]) for n in (1, 2))
    assert one.n_support_ > 200
    same_answers(all_answers(two, X), all_answers(one, X))
    parts = [all_answers(one, part) for part in np.array_split(X, [1, 130, 700])]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    assert np.array_equal(joined["vote", False], ask(two, X, "vote"))
    readings = [learner.readings(X, [100, 600]).scores for learner in (one, two)]
    same_answers(*readings)


@pytest.mark.parametrize("wrong", [{"readout": "voted"}, {"readout": None}, {"when_full": "drop"}, {"max_support": 0}])
def test_what_has_no_meaning_is_refused_by_name(wrong):
    name = next(iter(wrong))
    with pytest.raises(ValueError, match=name):
        build(**wrong).fit(ref.TEN, ref.TEN_SIGNS)
    learner = ten_rows().set_params(**wrong)
    with pytest.raises(ValueError, match=name):
        learner.partial_fit(ref.TEN, ref.TEN_SIGNS)
    assert learner.t_ == 10


def test_a_readout_misspelt_after_training_is_refused_when_asked():
    learner = ten_rows().set_params(readout="avarage")
    for question in (learner.predict, learner.decision_function):
        with pytest.raises(ValueError, match=r"readout.*avarage"):
            question(ref.TEN)
    assert learner.set_params(readout="average").decision_function([[1.0, 1.0]]) == pytest.approx([1.3])
