"""Voted learners of streams: block by block, row by row, labels that come late, and no more memory than allowed."""

import pickle
from functools import partial

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from linsep import KernelPerceptron, VotedPerceptron
from tests import voted_references as ref
from tests.estimators.readouts import agree, all_answers, ask, every_form, portrait, same_answers
from tests.fits import fit
from tests.problems import integer_rows

both = pytest.mark.parametrize("kind", [VotedPerceptron, KernelPerceptron])


def some(classes, n=60, p=4):
    rng = np.random.default_rng(9)
    X = rng.integers(-4, 5, (n, p)).astype(float)
    codes = np.argmax(X @ rng.integers(-2, 3, (p, classes)) + 6 * rng.normal(size=(n, classes)), axis=1)
    codes[:classes] = range(classes)
    return X, codes


def voted(**own):
    """The learner that makes the naive run: one class against the rest, a bias of 1."""
    return VotedPerceptron(**{"multi_class": "ovr", "intercept_scaling": 1.0} | own)


def naive(X, codes, multi_class="ovr", weights=None, beta=1.0):
    """One pass in order, every hypothesis stored."""
    pair = multi_class == "joint"
    run = ref.voted_pairs if pair else ref.voted
    return ref.trained(run, ref.with_bias(X, beta), codes, range(len(X)), pair=pair, weights=weights)


@both
@every_form
def test_blocks_are_one_pass(kind, classes, multi_class):
    X, codes = some(classes)
    weights = np.arange(60) % 3 + 1.0
    whole, blocks = (kind(multi_class=multi_class) for _ in range(2))
    whole.partial_fit(X, codes, classes=range(classes), sample_weight=weights)
    for part in np.split(np.arange(60), [1, 2, 20, 41]):
        blocks.partial_fit(X[part], codes[part], classes=range(classes), sample_weight=weights[part])
    same_answers(portrait(blocks, X), portrait(whole, X))


@every_form
def test_a_pass_is_the_naive_one(classes, multi_class):
    X, codes = some(classes)
    weights = np.arange(60) % 3
    learner = voted(multi_class=multi_class)
    for part in np.split(np.arange(60), [7, 31]):
        learner.partial_fit(X[part], codes[part], classes=range(classes), sample_weight=weights[part])
    agree(learner, naive(X, codes, multi_class, weights), X, ref.with_bias(X, 1.0).T)


def test_blocks_of_rows_with_and_without_weights():
    X, codes = some(3)
    weights = np.concatenate([np.ones(20), np.arange(20) % 4, np.ones(20)])
    learner = voted()
    for part in np.split(np.arange(60), 3):
        own = weights[part] if part[0] == 20 else None
        learner.partial_fit(X[part], codes[part], classes=range(3), sample_weight=own)
    agree(learner, naive(X, codes, weights=weights), X, ref.with_bias(X, 1.0).T)


def test_dense_and_sparse_blocks_mix():
    X, codes = some(3)
    learner = voted()
    for n, part in enumerate(np.split(np.arange(60), 4)):
        learner.partial_fit((np.array, csr_array)[n % 2](X[part]), codes[part], classes=range(3))
    agree(learner, naive(X, codes), X, ref.with_bias(X, 1.0).T)
    agree(learner, naive(X, codes), csr_array(X), ref.with_bias(X, 1.0).T)


def test_sparse_rows_whose_columns_repeat():
    """Duplicates add up, in training and when asked."""
    data, indices, indptr = np.array([1.0, 2, -1, 3, 1, 1]), [1, 0, 1, 1, 0, 0], [0, 3, 3, 4, 6]
    X, y = csr_array((data, indices, indptr), shape=(4, 2)), [1, 0, 0, 1]
    plain = np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 3.0], [2.0, 0.0]])
    agree(voted().partial_fit(X, y), naive(plain, np.array(y)), X, ref.with_bias(plain, 1.0).T)


@pytest.mark.slow
@both
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_row_by_row_is_block_by_block(kind, multi_class):
    X, codes = some(3)
    one, many = kind(multi_class=multi_class), kind(multi_class=multi_class)
    one.partial_fit(X[:20], codes[:20], classes=range(3))
    for x, label in zip(X[20:], codes[20:].tolist(), strict=True):
        one.learn_one(x, label)
    many.partial_fit(X, codes, classes=range(3))
    same_answers(portrait(one, X), portrait(many, X))
    assert [one.predict_one(x) for x in X] == many.predict(X).tolist()


def test_names_that_come_late():
    """A feature that is new was 0 in all rows that were kept."""
    X, codes = some(2)
    X[:20, 2:] = 0
    X[:40, 3] = 0
    learner = voted()
    for x, label in zip(X, codes.tolist(), strict=True):
        learner.learn_one({name: value for name, value in zip("abcd", x, strict=True) if value}, label)
    machines = naive(X, codes)
    assert list(learner.feature_names_in_) == list("abcd")
    named = pd.DataFrame(X, columns=list("abcd"))
    agree(learner, machines, named, ref.with_bias(X, 1.0).T, late=True)
    rows = [dict(zip("abcde", [*x, 7.0], strict=True)) for x in X]
    learner.set_params(readout="vote")
    assert [learner.predict_one(row) for row in rows] == learner.predict(named).tolist()


@both
def test_labels_that_come_late_were_there_from_the_start(kind):
    X, codes = some(3)
    order = np.argsort(codes, kind="stable")
    X, codes, late, known = X[order], codes[order], kind(), kind(multi_class="ovr")
    for part in np.split(np.arange(60), [3, 25, 50]):
        late.partial_fit(X[part], codes[part])
        known.partial_fit(X[part], codes[part], classes=range(3))
    same_answers(all_answers(late, X), all_answers(known, X))
    assert np.array_equal(late.mistakes_, known.mistakes_)
    for a, b in zip(late.survival_, known.survival_, strict=True):
        assert np.array_equal(a, b)
    assert set(known.support_.tolist()) <= set(late.support_.tolist())


def test_one_label_so_far():
    learner = voted().partial_fit([[1.0, 2.0]], ["only"])
    assert learner.predict([[3.0, 0.0], [0.0, 0.0]]).tolist() == ["only", "only"]


@both
@pytest.mark.parametrize("classes", [2, 3])
def test_epochs_in_two_fits_are_epochs_in_one(kind, classes):
    X, codes = some(classes)
    own = {"random_state": 3, "warm_start": True, "fit_intercept": True}
    twice = fit(fit(kind(max_iter=2, **own), X, codes).set_params(max_iter=3), X, codes)
    once = fit(kind(max_iter=5, **own), X, codes)
    assert twice.t_ == once.t_ == 300
    same_answers(portrait(twice, X), portrait(once, X))


def test_a_warm_start_on_other_rows_is_refused():
    X, codes = some(2)
    learner = fit(voted(max_iter=2, warm_start=True), X, codes)
    before = portrait(learner, X)
    with pytest.raises(ValueError, match="warm_start"):
        learner.fit(X + 1, codes)
    same_answers(portrait(learner, X), before)


def test_a_stream_goes_on_after_epochs():
    """Its rows are numbered after those of the epochs."""
    X, codes = some(3)
    learner = fit(voted(max_iter=2, random_state=4), X[:40], codes[:40]).partial_fit(X[40:], codes[40:])
    epochs = [np.random.default_rng([4, e]).permutation(40) for e in (0, 1)]
    machines = ref.trained(ref.voted, ref.with_bias(X, 1.0), codes, np.concatenate([*epochs, range(40, 60)]))
    agree(learner, machines, X, ref.with_bias(X, 1.0).T)


@every_form
def test_class_weights_are_sample_weights(classes, multi_class):
    X, codes = some(classes)
    own = {"class_weight": {0: 3.0}, "max_iter": 2, "random_state": 4, "multi_class": multi_class}
    weights = np.where(codes == 0, 3.0, 1.0)
    orders = [np.random.default_rng([4, e]).permutation(60) for e in (0, 1)]
    pair = multi_class == "joint"
    run = ref.voted_pairs if pair else ref.voted
    rows = ref.with_bias(X, 1.0)
    machines = ref.trained(run, rows, codes, np.concatenate(orders), pair=pair, weights=weights)
    agree(fit(voted(**own), X, codes), machines, X, rows.T)


@both
def test_a_copy_goes_on_and_leaves_the_original_alone(kind):
    X, codes = some(3)
    learner = kind(random_state=0).partial_fit(X[:40], codes[:40], classes=range(3))
    before = portrait(learner, X)
    copy = pickle.loads(pickle.dumps(learner))
    same_answers(portrait(copy, X), before)
    copy.partial_fit(X[40:], codes[40:])
    same_answers(portrait(learner, X), before)
    learner.partial_fit(X[40:], codes[40:])
    same_answers(portrait(learner, X), portrait(copy, X))
    whole = kind(random_state=0).partial_fit(X, codes, classes=range(3))
    same_answers(portrait(learner, X), portrait(whole, X))


def stumbles(learner, x, code):
    """Whether some class of a learner would err on the row."""
    scores = np.ravel(ask(learner, x[None], "last"))
    signs = np.where(np.arange(len(scores)) == code, 1, -1) if len(scores) > 1 else 2 * code - 1
    return np.any(signs * scores <= 0)


@both
@pytest.mark.parametrize("classes", [2, 3])
def test_a_cap_that_is_reached_is_an_error_and_changes_nothing(kind, classes):
    X, codes = some(classes)
    kind = partial(kind, multi_class="ovr")
    needed = kind().partial_fit(X, codes, classes=range(classes)).n_support_
    kind(max_support=needed).partial_fit(X, codes, classes=range(classes))
    capped = kind(max_support=needed - 1)
    with pytest.raises(ValueError, match="max_support"):
        capped.partial_fit(X, codes, classes=range(classes))
    with pytest.raises(NotFittedError):
        capped.predict(X)
    with pytest.raises(ValueError, match="max_support"):
        capped.set_params(random_state=0, max_iter=2).fit(X, codes)
    assert not hasattr(capped, "classes_")
    capped.partial_fit(X[:10], codes[:10], classes=range(classes))
    before = portrait(capped, X)
    with pytest.raises(ValueError, match="max_support"):
        capped.partial_fit(X[10:], codes[10:])
    same_answers(portrait(capped, X), before)
    while capped.n_support_ < needed - 1:
        capped.partial_fit(X[capped.t_ : capped.t_ + 1], codes[capped.t_ : capped.t_ + 1])
    following = next(i for i in range(capped.t_, 60) if stumbles(capped, X[i], codes[i]))
    for i in range(capped.t_, following):
        capped.learn_one(X[i], int(codes[i]))
    before = portrait(capped, X)
    with pytest.raises(ValueError, match="max_support"):
        capped.learn_one(X[following], int(codes[following]))
    same_answers(portrait(capped, X), before)


@settings(max_examples=25)
@given(problem=integer_rows(), most=st.integers(1, 4), seed=st.integers(0, 9))
def test_what_is_forgotten_leaves_the_vote_and_the_rest_is_exact(problem, most, seed):
    X, y = problem
    parts = np.random.default_rng(seed).integers(0, len(X), 2)
    asked = np.vstack([X, -X, 0 * X[:1]])
    learner = voted(max_support=most, when_full="forget", fit_intercept=False)
    for part in np.split(np.arange(len(X)), np.sort(parts)):
        if len(part):
            learner.partial_fit(X[part], y[part], classes=[-1, 1])
    machines = naive(X, (y + 1) // 2, beta=0.0)
    assert learner.mistakes_ == len(machines[0].mistakes)
    left = ref.latest(machines, most)
    # Mistakes are counted whether or not their rows are kept.
    agree(learner, [left[0]._replace(mistakes=machines[0].mistakes)], asked, asked.T)
    assert learner.n_support_ <= most


@every_form
@pytest.mark.parametrize("most", [1, 5, 12])
@pytest.mark.parametrize("sparse", [False, True])
def test_classes_forget_together(classes, multi_class, most, sparse):
    X, codes = some(classes)
    rows = csr_array(X) if sparse else X
    learner = voted(max_support=most, when_full="forget", multi_class=multi_class)
    learner.partial_fit(rows[:33], codes[:33], classes=range(classes)).partial_fit(rows[33:], codes[33:])
    machines = naive(X, codes, multi_class)
    left = ref.latest(machines, most)
    assert len(left[0].used) < 60
    counted = [own._replace(mistakes=all_.mistakes) for own, all_ in zip(left, machines, strict=True)]
    agree(learner, counted, rows, ref.with_bias(X, 1.0).T)
    rounds, _ = ref.drawable(left, ref.with_bias(X, 1.0).T)
    scores = ask(learner, rows, "random").reshape(60, -1)
    assert np.any(np.all(np.abs(rounds - scores) < 1e-9, axis=2), axis=0).all()


def test_forgetting_in_epochs_and_row_by_row():
    X, codes = some(2)
    own = {"max_support": 6, "when_full": "forget", "random_state": 2}
    learner = fit(voted(max_iter=3, **own), X, codes)
    order = np.concatenate([np.random.default_rng([2, e]).permutation(60) for e in range(learner.n_iter_)])
    machines = ref.trained(ref.voted, ref.with_bias(X, 1.0), codes, order)
    found = ask(learner, X, "vote")
    expected = ref.answers(ref.latest(machines, 6), ref.with_bias(X, 1.0).T, "vote")
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(ask(learner, X, "last"), ref.answers(machines, ref.with_bias(X, 1.0).T, "last"))
    one, many = voted(**own), voted(**own).partial_fit(X, codes, classes=[0, 1])
    one.partial_fit(X[:5], codes[:5], classes=[0, 1])
    for x, label in zip(X[5:], codes[5:].tolist(), strict=True):
        one.learn_one(x, label)
    same_answers(portrait(one, X), portrait(many, X))


def test_what_memory_it_takes():
    """As much as the distinct rows and a line for each mistake, never one vector of weights for each."""
    rng = np.random.default_rng(1)
    rows, wide = 200, 10**6
    indices = rng.integers(0, wide, (rows, 5)).ravel()
    X = csr_array((rng.normal(size=5 * rows), indices, np.arange(0, 5 * rows + 1, 5)), shape=(rows, wide))
    y = rng.permutation(np.arange(rows) % 2)
    learner = fit(voted(max_iter=3, random_state=0), X, y)
    assert learner.n_support_ > 100
    assert 100 * 5 * 8 < learner.support_bytes_ < learner.n_support_ * (5 * 16 + 64) + 48 * learner.mistakes_
    dense, codes = some(2)
    few, more = (voted().partial_fit(dense[:n], codes[:n], classes=[0, 1]) for n in (10, 60))
    assert few.n_support_ < more.n_support_
    assert few.n_support_ * 4 * 4 <= few.support_bytes_ < more.support_bytes_
    again = voted(random_state=0, max_iter=30)
    assert fit(again, dense, codes).mistakes_ > 2 * again.n_support_
    assert again.support_bytes_ <= again.n_support_ * (4 * 8 + 64) + 48 * again.mistakes_


@pytest.mark.parametrize("own", [{}, {"class_weight": {0: 2.0}}], ids=["plain", "weighted"])
def test_a_single_row_sorts_nothing_that_was_kept_before(own, monkeypatch):
    """A stream of n rows would else take n² time."""
    X, codes = some(2)
    learner = voted(max_support=50, **own).partial_fit(X, codes, classes=[0, 1])
    learner.learn_one(X[0], int(codes[0]))
    assert learner.n_support_ > 10
    sorted_ = []

    def counted(name):
        whole = getattr(np, name)
        return lambda a, *args, **more: sorted_.append(np.size(a)) or whole(a, *args, **more)

    for name in ("unique", "argsort", "sort"):
        monkeypatch.setattr(np, name, counted(name))
    for label in (1, 0, 1):
        learner.learn_one(X[0], label)
    assert 0 < max(sorted_) <= 3
