"""The progressive error: each row is predicted before it is learned; and looks at a machine while it learns."""

import pickle

import numpy as np
import pytest

from linsep import AveragedPerceptron, Pegasos, Perceptron, Winnow, save

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

rng = np.random.default_rng(4)
X = rng.integers(-3, 4, (300, 5)).astype(float)
ROUGH = X + 0.1 * rng.normal(size=X.shape)  # for weights that are rounded: no score is near another's by accident
Y = {K: np.argmax(X[:, :K] + rng.normal(size=(300, K)), axis=1) for K in (2, 3, 5)}


def wins(scores, true):
    """Tell whether a label's score is above all others; of two, whether the one score is on its side of 0."""
    if scores.ndim == 0:
        return scores > 0 if true else scores < 0
    return np.all(scores[true] > np.delete(scores, true))


def errors_one_by_one(clf, X, y, classes):
    errors = 0
    for i in range(len(X)):
        known = list(getattr(clf, "classes_", range(len(classes)) if classes else [y[i]]))
        if i == 0:
            errors += len(known) > 1  # all scores are 0
        elif len(known) > 1 and y[i] in known:
            errors += not wins(clf.decision_function(X[i : i + 1])[0], known.index(y[i]))
        elif y[i] not in known:
            errors += 1  # a label never seen has, at best, the score of those still to come
        clf.partial_fit(X[i : i + 1], y[i : i + 1], classes=classes)
    return errors


@pytest.mark.slow
@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
@pytest.mark.parametrize("learner", [Perceptron, Pegasos])
def test_errors_are_those_of_predicting_each_row_before_it_is_learned(K, multi_class, learner):
    rows = ROUGH if learner is Pegasos else X
    expected = errors_one_by_one(learner(multi_class=multi_class), rows, Y[K], list(range(K)))
    assert 0 < expected < len(X)
    assert learner(multi_class=multi_class).partial_fit(rows, Y[K], classes=range(K)).errors_ == expected


@pytest.mark.parametrize("K", [3, 5])
def test_labels_that_arrive_late_are_errors_when_they_do(K):
    one_by_one, at_once = Perceptron(), Perceptron()
    expected = errors_one_by_one(one_by_one, X, Y[K], None)
    assert one_by_one.errors_ == expected
    at_once.partial_fit(X[:100], Y[K][:100]).partial_fit(X[100:], Y[K][100:])
    assert abs(at_once.errors_ - expected) <= K  # all labels of a block are known at its start


def test_errors_of_two_labels_and_of_pairs_are_the_mistakes():
    assert (binary := Perceptron(random_state=0).fit(X, Y[2])).errors_ == binary.mistakes_
    assert (pairs := Perceptron(multi_class="joint", random_state=0).fit(X, Y[5])).errors_ == pairs.mistakes_


def test_errors_of_single_rows():
    one, many = Perceptron().grow(5), Perceptron()
    for x, label in zip(X, Y[3].tolist(), strict=True):
        one.learn_one(x, label)
    errors_one_by_one(many, X, Y[3], None)
    assert one.errors_ == many.errors_


def test_errors_of_scores_that_cannot_be_compared_are_not_counted():
    clf = Winnow(multi_class="ovr").fit(X / 3, Y[3])
    with pytest.raises(AttributeError, match="errors_ was not counted"):
        _ = clf.errors_
    clf.set_params(warm_start=True).fit(X / 3, Y[3])
    assert not hasattr(clf, "errors_")


@pytest.mark.parametrize("classes", [None, range(3)])
@pytest.mark.parametrize("scores_at_once", [1, 28, 1 << 20])
def test_threads_that_share_the_classes_count_the_same_errors(classes, scores_at_once, monkeypatch, tmp_path):
    """In spans of 1, 7 and all rows; with weights of 0, late labels and several calls."""
    monkeypatch.setattr("linsep.training.epochs.SCORES_AT_ONCE", scores_at_once)
    weights = np.random.default_rng(2).integers(0, 3, 300).astype(float)
    counts, models = [], []
    for n_jobs in (1, 2, 3):
        clf = Perceptron(multi_class="ovr", n_jobs=n_jobs, random_state=0)
        for lo, hi in ((0, 1), (1, 40), (40, 300)):
            clf.partial_fit(ROUGH[lo:hi], Y[3][lo:hi], classes=classes, sample_weight=weights[lo:hi])
            counts.append(clf.errors_)
        clf.set_params(warm_start=True, max_iter=2).fit(ROUGH, Y[3], sample_weight=weights)
        counts.append(clf.errors_)
        save(clf.set_params(n_jobs=1), tmp_path / "m.linsep")
        models.append((tmp_path / "m.linsep").read_bytes())
    assert counts[:4] == counts[4:8] == counts[8:]
    assert models[0] == models[1] == models[2]
    assert 0 < counts[1] < counts[2] < counts[3]


def test_a_watch_is_called_when_it_wants_to_be_and_changes_nothing():
    seen = []

    def watch(state):
        seen.append((int(state.tally.rounds[0]), state.errors))
        return max(1, seen[-1][0])

    clf, plain = (AveragedPerceptron(max_iter=1, random_state=0, tol=0) for _ in range(2))
    with clf._watched(watch):
        clf.fit(X, Y[5])
    assert [rounds for rounds, _ in seen] == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256]
    plain.fit(X, Y[5])
    assert clf.coef_.tobytes() == plain.coef_.tobytes()
    assert clf.errors_ == plain.errors_ >= seen[-1][1] > 0
    clf.fit(X, Y[5])
    assert len(seen) == 10  # nobody looks any more


def test_a_watched_training_is_the_same_for_any_number_of_threads():
    seen = {}
    for n_jobs in (1, 2):
        clf, counts = AveragedPerceptron(multi_class="ovr", max_iter=2, random_state=0, n_jobs=n_jobs), []

        def watch(state, counts=counts):
            counts.append((int(state.tally.rounds[0]), state.progressive.rows, state.progressive.errors))
            return 64

        with clf._watched(watch):
            clf.fit(X, Y[3])
        seen[n_jobs] = [*counts, clf.coef_.tobytes()]
    assert len(seen[1]) > 6
    assert seen[1] == seen[2]


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize(("multi_class", "classes"), [("ovr", True), ("ovr", False), ("joint", True)])
@pytest.mark.parametrize("calls", [1, 3])
def test_an_average_is_tested_block_by_block_before_it_learns(K, multi_class, calls, classes):
    weights = np.random.default_rng(1).integers(0, 3, 300).astype(float)
    known = range(K) if classes else None
    clf, one_by_one, errors, rows = (
        AveragedPerceptron(multi_class=multi_class),
        AveragedPerceptron(multi_class=multi_class),
        0,
        0,
    )
    ends = sorted({1, 2, 4, 8, 16, 32, 64, 128, 256, 300} | ({100, 200} if calls == 3 else set()))
    for lo, hi in zip([0, *ends], ends, strict=False):
        kept = np.flatnonzero(weights[lo:hi]) + lo
        labels = list(getattr(one_by_one, "classes_", range(K) if classes else []))
        for i in kept:
            scores = one_by_one.decision_function(ROUGH[i : i + 1])[0] if hasattr(one_by_one, "_state") else np.zeros(K)
            if Y[K][i] not in labels or not hasattr(one_by_one, "_state"):
                errors += 1
            elif len(labels) > 1:
                errors += not wins(scores, labels.index(Y[K][i]))
        rows += len(kept)
        one_by_one.partial_fit(ROUGH[lo:hi], Y[K][lo:hi], classes=known, sample_weight=weights[lo:hi])
    seen = []
    with clf._watched(lambda state: seen.append((state.tally.rounds[0], state.progressive.rows)) or 50):
        for part in np.array_split(np.arange(300), calls):
            clf.partial_fit(ROUGH[part], Y[K][part], classes=known, sample_weight=weights[part])
        progressive = clf._state.progressive
    assert all(a == b for a, b in seen)
    assert progressive.rows == rows
    assert abs(progressive.errors - errors) <= (0 if classes else 3 * K)  # all labels of a call are known at its start
    assert clf.coef_.tobytes() == one_by_one.coef_.tobytes()


def test_an_average_is_tested_in_the_first_epoch_only():
    counts = []
    with (clf := AveragedPerceptron(max_iter=3, random_state=0))._watched(
        lambda state: counts.append(state.progressive.rows) or 1
    ):
        clf.fit(X, Y[3])
    assert max(counts) == 300
    assert pickle.loads(pickle.dumps(clf))._state.progressive is None


def test_a_watch_is_no_part_of_the_model_and_ends_with_its_block_even_by_an_error():
    clf = Perceptron(random_state=0, tol=0)
    with clf._watched(lambda state: 1000):
        pickle.loads(pickle.dumps(clf.fit(X, Y[2])))
    with pytest.raises(KeyboardInterrupt), clf._watched(interrupt):
        clf.partial_fit(X, Y[2])
    assert clf._state.watch is None
    assert clf._watch is None


def interrupt(state):
    raise KeyboardInterrupt
