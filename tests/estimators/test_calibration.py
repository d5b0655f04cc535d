"""Calibration: scikit-learn's values, the naive definitions, and an online form that is the batch form of late rows."""

import pickle
import warnings
from copy import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.svm import LinearSVC

from linsep import LEARNERS, AveragedPerceptron, NaiveBayes, Perceptron
from linsep.estimators.calibration import LONGEST_BLOCK, METHODS, RAMP, CalibratedClassifier, Recent, blocks
from linsep.solvers.calibration import Temperature, fit_isotonic, fit_platt, fit_temperature
from tests.contracts.table import bits, build, problem, quiet
from tests.sklearn_checks import cases, name_of

NOT_REPETITION = (
    "a sample weight multiplies the step of a mistake-driven rule, and folds are numbers, not lists of rows"
)
OWN_SCORE = "scores are the learner's own: the most probable class need not be the one of the highest score"
FAILS = {
    "check_sample_weight_equivalence_on_dense_data": NOT_REPETITION,
    "check_sample_weight_equivalence_on_sparse_data": NOT_REPETITION,
    "check_classifiers_train": OWN_SCORE,
}
every_method = pytest.mark.parametrize("method", METHODS)


def noisy(n, p=4, seed=0):
    """Rows, labels that are only probable, and their probabilities."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    truth = expit(2 * X[:, 0] - X[:, 1] + 0.5)
    return X, (rng.random(n) < truth).astype(int), truth


class Fixed(ClassifierMixin, BaseEstimator):
    """Scores that never change and are far too sure, as those of naive Bayes are where features repeat each other."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def partial_fit(self, X, y, classes=None):
        self.classes_ = np.unique(y if classes is None else classes)
        return self

    def decision_function(self, X):
        return 9 * (2 * np.asarray(X)[:, 0] - np.asarray(X)[:, 1])


def checks():
    for how in ({"cv": 2}, {"on": "progressive"}):
        yield from cases(CalibratedClassifier(Perceptron(random_state=0, multi_class="ovr"), **how), FAILS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "check"), list(checks()), ids=lambda of: name_of(of) if hasattr(of, "func") else of.on
)
def test_scikit_learn(model, check):
    quiet(check, model)


@every_method
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weigh", [False, True])
def test_held_out_is_what_scikit_learn_has_without_an_ensemble(method, classes, weigh):
    X, y = problem(classes, n=120, noise=0.3)
    weights = np.linspace(0.5, 2, len(y)) if weigh else None
    learner = AveragedPerceptron(random_state=0, max_iter=3, multi_class="ovr", intercept_scaling=1.0)
    other = CalibratedClassifierCV(learner, method=method, ensemble=False, cv=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        other.fit(X, y, sample_weight=weights)
        mine = CalibratedClassifier(learner, method=method, cv=4).fit(X, y, sample_weight=weights)
    atol = 1e-12 if method == "isotonic" else 2e-4  # it stops its search early
    np.testing.assert_allclose(mine.predict_proba(X), other.predict_proba(X), atol=atol)


@every_method
@pytest.mark.parametrize("classes", [2, 3])
def test_progressive_is_scoring_before_learning(method, classes):
    X, y = problem(classes, n=300, noise=0.3)
    learner, scores, start = Perceptron(multi_class="ovr"), [], 0
    mine = CalibratedClassifier(clone(learner), method=method, on="progressive", window=150).fit(X, y)
    for stop in [*range(16, 129, 16), 144, 162, 182, 204, 229, 257, 289, 300]:
        if start:
            scores.append(learner.decision_function(X[start:stop]))
        learner.partial_fit(X[start:stop], y[start:stop], classes=range(classes))
        start = stop
    late, labels = np.concatenate(scores)[-150:], y[-150:]
    columns = [(late, labels == 1)] if classes == 2 else [(late[:, k], labels == k) for k in range(classes)]
    for found, (s, member) in zip(mine.calibration_, columns, strict=True):
        expected = METHODS[method](s, member)
        assert bits(np.concatenate([np.ravel(of) for of in found])) == bits(
            np.concatenate([np.ravel(of) for of in expected])
        )
    assert bits(mine.coef_) == bits(learner.coef_)


@every_method
def test_prefit_goes_by_the_rows_given_and_leaves_the_learner(method):
    X, y, _ = noisy(400)
    learner = quiet(Perceptron(random_state=0).fit, X[:200], y[:200])
    mine = CalibratedClassifier(learner, method=method, on="prefit").fit(X[200:], y[200:])
    scores = learner.decision_function(X)
    assert mine.estimator_ is learner
    expected = METHODS[method](scores[200:], y[200:] == 1).probabilities(scores)
    assert bits(mine.predict_proba(X)[:, 1]) == bits(expected)
    before = bits(learner.coef_)
    mine.partial_fit(X[:200], y[:200])
    assert bits(learner.coef_) == before != bits(mine.coef_)
    with mine._training_in_place():
        mine.partial_fit(X[:200], y[:200])
    assert bits(learner.coef_) == before


@every_method
@pytest.mark.parametrize("learner", [AveragedPerceptron(random_state=0), Fixed()], ids=["perceptron", "too sure"])
@pytest.mark.parametrize("on", ["held-out", "progressive"])
def test_the_brier_score_gets_better_and_near_the_best(method, learner, on):
    X, y, _ = noisy(3000)
    new, labels, truth = noisy(3000, seed=1)
    mine = quiet(CalibratedClassifier(learner, method=method, on=on).fit, X, y)
    raw, scores = expit(mine.decision_function(new)), mine.predict_proba(new)[:, 1]
    best = brier_score_loss(labels, truth)
    assert brier_score_loss(labels, scores) < brier_score_loss(labels, raw)
    assert brier_score_loss(labels, scores) < best + 0.01


@pytest.mark.slow
@every_method
@pytest.mark.parametrize(
    ("name", "classes"), [(name, k) for name, entry in LEARNERS.items() for k in ((2,) if entry.small else (2, 3))]
)
def test_every_learner(method, name, classes):
    X, y = problem(classes, n=60)
    online = LEARNERS[name].online
    X = X if online else np.abs(X)  # some solvers count
    learner = build(name) if online else LEARNERS[name].learner()
    for on in ("held-out", "progressive") if hasattr(learner, "partial_fit") else ("held-out",):
        model = quiet(CalibratedClassifier(learner, method=method, on=on, cv=2).fit, X, y)
        P = model.predict_proba(X)
        assert P.shape == (60, classes)
        assert np.isfinite(P).all()
        np.testing.assert_allclose(P.sum(axis=1), 1)
        assert len({*P[:, 1].tolist()}) > 1
        scores = model.estimator_.decision_function(X)
        assert bits(model.decision_function(X)) == bits(scores)
        best = P[np.arange(60), np.searchsorted(model.classes_, model.predict(X))]
        assert (best == P.max(axis=1)).all()
        if method == "isotonic" and classes == 2:
            assert (np.diff(P[np.argsort(scores), 1]) >= 0).all()


@every_method
def test_online_is_batch_on_the_last_rows(method):
    X, y, _ = noisy(5000)
    mine = CalibratedClassifier(Fixed(), method=method, window=700)
    for start, stop in [(0, 1), (1, 30), (30, 2000), (2000, 4999), (4999, 5000)]:
        mine.partial_fit(X[start:stop], y[start:stop], classes=[0, 1])
        scores, member = Fixed().decision_function(X[1:stop])[-700:], y[1:stop][-700:] == 1
        expected = METHODS[method](scores, member).probabilities(scores)
        assert bits(mine.predict_proba(X[1:stop])[-700:, 1]) == bits(expected)


@every_method
def test_the_online_form_comes_near_to_rows_held_out(method):
    X, y, truth = noisy(12_000)
    mine = CalibratedClassifier(AveragedPerceptron(), method=method)
    far = []
    for start in range(0, 8000, 500):
        mine.partial_fit(X[start : start + 500], y[start : start + 500])
        far.append(np.abs(mine.predict_proba(X[8000:])[:, 1] - truth[8000:]).mean())
    # Maps of other rows differ by chance, as much as they do from the truth: so that is what they are held against.
    batch = CalibratedClassifier(mine.estimator_, method=method, on="prefit").fit(X[8000:], y[8000:])
    assert far[-1] < 1.25 * np.abs(batch.predict_proba(X[8000:])[:, 1] - truth[8000:]).mean()
    assert far[-1] < far[0] / 2


@every_method
def test_calls_that_end_where_blocks_end_are_one_call(method):
    X, y, _ = noisy(2500)
    whole = CalibratedClassifier(Perceptron(), method=method).partial_fit(X, y)
    parts = CalibratedClassifier(Perceptron(), method=method)
    for start, stop in [(0, 16), (16, 64), (64, RAMP[20]), (RAMP[20], RAMP[24]), (RAMP[24], 2500)]:
        parts.partial_fit(X[start:stop], y[start:stop])
    assert bits(parts.predict_proba(X)) == bits(whole.predict_proba(X))
    odd = CalibratedClassifier(Perceptron(), method=method).partial_fit(X[:777], y[:777]).partial_fit(X[777:], y[777:])
    assert bits(odd.coef_) == bits(whole.coef_)
    assert np.abs(odd.predict_proba(X) - whole.predict_proba(X)).max() < 0.05


@given(done=st.integers(0, 40_000), rows=st.integers(1, 5000), cut=st.integers(0, 5000))
def test_blocks_cover_all_rows_and_end_where_they_do_however_they_come(done, rows, cut):
    spans = blocks(done, rows)
    assert [span[0] for span in spans] == [0, *(span[1] for span in spans[:-1])]
    assert spans[-1][1] == rows
    assert all(0 < stop - start <= max(16, min(LONGEST_BLOCK, (done + stop) / 8)) for start, stop in spans)
    cut = min(cut, rows - 1)
    ends = {done + stop for part, first in ((blocks(done, cut) if cut else [], 0),) for _, stop in part}
    ends |= {done + cut + stop for _, stop in blocks(done + cut, rows - cut)}
    assert ends - {done + cut} == {done + stop for _, stop in spans} - {done + cut}


def test_a_third_label_begins_the_window_anew_and_a_fourth_does_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.array(["c", "a", "d", "b"])[np.argmax(X @ rng.normal(size=(3, 4)), axis=1)]
    y[:100] = np.where(y[:100] < "c", "a", "c")
    y[100:200] = np.where(y[100:200] == "b", "a", y[100:200])
    mine, alone = CalibratedClassifier(Perceptron()), Perceptron()
    sizes = []
    for start in range(0, 400, 50):
        mine.partial_fit(X[start : start + 50], y[start : start + 50])
        alone.partial_fit(X[start : start + 50], y[start : start + 50])
        sizes.append((len(mine.classes_), len(mine._recent.codes)))
    assert sizes[1] == (2, 84)
    assert sizes[2][0] == 3
    assert sizes[2][1] < 50
    assert sizes[3] == (3, sizes[2][1] + 50)
    assert sizes[4] == (4, sizes[3][1] + 50)
    assert bits(mine.coef_) == bits(alone.coef_)
    unknown = np.isnan(mine._recent.scores)
    assert unknown.any(axis=0).tolist() == [False, True, False, False]
    assert mine.classes_[mine._recent.codes].tolist() == y[-len(mine._recent.codes) :].tolist()
    there = ~unknown[:, 1]
    expected = fit_platt(mine._recent.scores[there, 1], (mine._recent.codes == 1)[there])
    assert mine.calibration_[1] == expected
    np.testing.assert_allclose(mine.predict_proba(X).sum(axis=1), 1)


def test_one_label_is_certain_until_another_comes():
    mine = CalibratedClassifier(Perceptron()).partial_fit([[1.0], [2.0]], ["a", "a"]).partial_fit([[1.0]], ["a"])
    assert mine.predict_proba([[5.0]]).tolist() == [[1.0]]
    assert mine.predict([[5.0]]).tolist() == ["a"]
    assert mine.calibration_ == []
    mine.partial_fit([[-1.0]], ["b"])
    assert mine.predict_proba([[5.0]]).tolist() == [[0.5, 0.5]]


def test_without_a_map_the_learner_itself_answers():
    X, y = problem(3, n=15)
    mine = CalibratedClassifier(Perceptron()).partial_fit(X, y)
    np.testing.assert_allclose(mine.predict_proba(X), 1 / 3)
    assert mine.predict(X).tolist() == mine.estimator_.predict(X).tolist()
    assert len(set(mine.predict(X).tolist())) == 3


def test_a_refused_row_changes_nothing():
    X, y, _ = noisy(400)
    mine = CalibratedClassifier(Perceptron()).partial_fit(X[:100], y[:100])
    before = pickle.dumps(mine)
    bad = X[100:].copy()
    bad[-1, 0] = np.nan
    for wrong in ((bad, y[100:]), (X[100:, :3], y[100:]), (X[100:], y[1:])):
        with pytest.raises(ValueError, match=r"NaN|features|inconsistent"):
            mine.partial_fit(*wrong)
        assert pickle.dumps(mine) == before
    fitted = quiet(CalibratedClassifier(Perceptron(random_state=0)).fit, X, y)
    before = pickle.dumps(fitted)
    with pytest.raises(ValueError, match="NaN"):
        fitted.fit(bad, y[100:])
    assert pickle.dumps(fitted) == before


def test_in_place_is_the_same():
    X, y, _ = noisy(400)
    plain, quick = CalibratedClassifier(Perceptron()), CalibratedClassifier(Perceptron())
    plain.partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    with quick._training_in_place():
        learner = quick.estimator_
        quick.partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    assert quick.estimator_ is learner is not quick.estimator
    assert bits(quick.predict_proba(X)) == bits(plain.predict_proba(X))


def test_new_features_make_room():
    X, y, _ = noisy(60)
    mine = CalibratedClassifier(Perceptron()).grow(4).partial_fit(X, y).grow(6)
    assert mine.n_features_in_ == 6
    wide = np.hstack([X, np.zeros((60, 2))])
    assert bits(mine.predict_proba(wide)) == bits(CalibratedClassifier(Perceptron()).partial_fit(X, y).predict_proba(X))


@every_method
def test_weights_of_the_map_are_repetitions(method):
    X, y, _ = noisy(300)
    learner = quiet(Perceptron(random_state=0).fit, X, y)
    counts = np.arange(300) % 4
    weighted = CalibratedClassifier(learner, method=method, on="prefit").fit(X, y, sample_weight=counts)
    repeated = CalibratedClassifier(learner, method=method, on="prefit").fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts)
    )
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)
    assert weighted._recent.weights.min() == 1


def test_rows_of_weight_0_are_not_there_for_a_stream():
    X, y, _ = noisy(300)
    counts = (np.arange(300) % 3 > 0).astype(float)
    mine = CalibratedClassifier(Perceptron()).partial_fit(X[:100], y[:100])
    mine.partial_fit(X[100:], y[100:], sample_weight=counts[100:])
    assert len(mine._recent.codes) == 84 + np.count_nonzero(counts[100:])


def test_a_window_after_held_out_rows_has_some_of_each():
    X, y, _ = noisy(600)
    order = np.argsort(y, kind="stable")
    mine = quiet(CalibratedClassifier(Perceptron(random_state=0), window=50).fit, X[order], y[order])
    assert len(mine._recent.codes) == 50
    assert abs(mine._recent.codes.mean() - y.mean()) < 0.03


@pytest.mark.parametrize("kind", [np.asfortranarray, csr_array, np.ndarray.tolist], ids=["columns", "csr", "list"])
@pytest.mark.parametrize("on", ["held-out", "progressive"])
def test_other_forms_of_rows(kind, on):
    X, y = problem(n=80, noise=0.3)
    model = CalibratedClassifier(Perceptron(random_state=0), on=on)
    expected = quiet(clone(model).fit, X, y).predict_proba(X)
    assert bits(quiet(model.fit, kind(X), y.tolist()).predict_proba(kind(X))) == bits(expected)


def test_frames_keep_their_names():
    pd = pytest.importorskip("pandas")
    X, y = problem(n=80, noise=0.3)
    frame = pd.DataFrame(X, columns=list("abcdef"), index=np.arange(80) + 7)
    for on in ("held-out", "progressive"):
        model = quiet(
            CalibratedClassifier(Perceptron(random_state=0), on=on).fit, frame, pd.Series(y, index=frame.index)
        )
        assert model.feature_names_in_.tolist() == list("abcdef")
        assert model.predict_proba(frame).shape == (80, 2)


def test_the_most_probable_class_need_not_be_the_learners_own():
    X, y, _ = noisy(2000)
    learner = quiet(Perceptron(fit_intercept=False, random_state=0).fit, X, y)
    mine = CalibratedClassifier(learner, on="prefit").fit(X, y)
    own, probable = learner.predict(X), mine.predict(X)
    assert (own != probable).any()
    assert np.mean(probable == y) > np.mean(own == y)
    assert (probable == (mine.predict_proba(X)[:, 1] > 0.5)).all()
    np.testing.assert_array_equal(np.exp(mine.predict_log_proba(X)).round(9), mine.predict_proba(X).round(9))


def test_isotonic_maps_that_all_say_0_leave_every_class_as_probable():
    X, y = problem(3, n=200)
    mine = quiet(CalibratedClassifier(Perceptron(random_state=0), method="isotonic", cv=2).fit, X, y)
    low = Recent(np.full((1, 3), -1e9), np.zeros(1, np.int32), np.ones(1)).scores
    assert {float(of.y[0]) for of in mine.calibration_} == {0.0}
    assert mine._probabilities(low).tolist() == [[1 / 3, 1 / 3, 1 / 3]]


def test_other_libraries_learners():
    X, y, _ = noisy(300)
    mine = CalibratedClassifier(LinearSVC(), method="isotonic", cv=3).fit(X, y)
    other = CalibratedClassifierCV(LinearSVC(), method="isotonic", ensemble=False, cv=3).fit(X, y)
    np.testing.assert_allclose(mine.predict_proba(X), other.predict_proba(X), atol=1e-9)
    assert not hasattr(mine, "partial_fit")
    with pytest.raises(TypeError, match=r'LinearSVC sees all rows at once.*"held-out"'):
        CalibratedClassifier(LinearSVC(), on="progressive").fit(X, y)


def test_what_can_not_be_done_is_told():
    X, y = problem(n=40)
    y[:] = 0
    y[:3] = 1
    with pytest.raises(ValueError, match=r"the class 1 has 3 rows, fewer than there are folds, cv=5: lower cv"):
        quiet(CalibratedClassifier(Perceptron()).fit, X, y)
    with pytest.raises(NotFittedError, match="trained already"):
        CalibratedClassifier(Perceptron(), on="prefit").fit(X, y)
    with pytest.raises(NotFittedError, match="trained already"):
        CalibratedClassifier(Perceptron(), on="prefit").partial_fit(X, y)
    learner = quiet(Perceptron().fit, X, y)
    with pytest.raises(ValueError, match="the label 2, which is not among the classes"):
        CalibratedClassifier(learner, on="prefit").fit(X, y + 1)
    for wrong in ({"method": "platt"}, {"on": "train"}, {"cv": 1}, {"window": 0}, {"estimator": 3}):
        with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter of CalibratedClassifier"):
            CalibratedClassifier(**{"estimator": Perceptron()} | wrong).fit(X, y)
    for ask in ("predict_proba", "predict", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(CalibratedClassifier(Perceptron()), ask)(X)


def test_parameters_go_deep_and_copies_are_the_same():
    X, y, _ = noisy(200)
    mine = CalibratedClassifier(Perceptron(random_state=3), method="isotonic", on="progressive").set_params(
        estimator__max_iter=7
    )
    assert mine.get_params()["estimator__max_iter"] == 7
    assert clone(mine).get_params()["estimator__random_state"] == 3
    mine.fit(X, y)
    other = pickle.loads(pickle.dumps(mine))
    for model in (mine, other):
        model.partial_fit(X, y)
    assert bits(other.predict_proba(X)) == bits(mine.predict_proba(X))
    steps = fit_isotonic(mine._recent.scores, mine._recent.codes == 1)
    expected = IsotonicRegression(out_of_bounds="clip").fit(mine._recent.scores, mine._recent.codes)
    np.testing.assert_allclose(steps.y[[0, -1]], expected.predict(steps.x[[0, -1]]))


@every_method
def test_scores_that_are_known_up_to_a_number_for_each_row(method):
    """Those of naive Bayes fall with every word of a row, whatever its class."""
    rng = np.random.default_rng(4)
    chances = rng.dirichlet(np.full(12, 0.4), 4)
    y = rng.integers(0, 4, 1200)
    X = np.array([rng.multinomial(size, chances[k]) for size, k in zip(rng.integers(1, 60, 1200), y, strict=True)])
    plain = NaiveBayes().fit(X[:800], y[:800])
    for model in (
        CalibratedClassifier(NaiveBayes(), method=method),
        CalibratedClassifier(NaiveBayes(), method=method, on="progressive"),
    ):
        assert model.fit(X[:800], y[:800]).score(X[800:], y[800:]) >= plain.score(X[800:], y[800:]) - 0.02


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weigh", [False, True])
def test_a_temperature_is_that_of_scikit_learn(classes, weigh):
    X, y = problem(classes, n=300, noise=0.4)
    weights = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weigh else None
    learner = quiet(AveragedPerceptron(random_state=0).fit, X, y)
    mine = CalibratedClassifier(learner, method="temperature", on="prefit").fit(X, y, sample_weight=weights)
    scores = learner.decision_function(X)
    logits = scores if classes > 2 else np.column_stack([-scores, scores])

    def loss(slope):
        shares = slope * logits
        losses = np.log(np.exp(shares - shares.max(axis=1, keepdims=True)).sum(axis=1)) + shares.max(axis=1)
        return np.average(losses - shares[np.arange(len(y)), y], weights=weights)

    (found,) = mine.calibration_
    slope = found.slope if classes > 2 else found.slope / 2
    assert all(loss(slope) <= loss(slope * factor) for factor in (0.99, 1.01))
    assert mine.predict(X).tolist() == learner.predict(X).tolist()
    theirs = CalibratedClassifierCV(FrozenEstimator(learner), method="temperature", ensemble=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the frozen learner takes no weights
        theirs.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


def test_a_temperature_of_odd_scores():
    nothing = Temperature(0.0)
    assert fit_temperature(np.empty(0), []) == nothing
    assert fit_temperature([[1.0, 1.0], [2.0, 2.0]], [0, 1]) == nothing
    assert fit_temperature([[5.0, 1.0], [5.0, 1.0]], [1, 1]) == nothing  # the scores are wrong: no weight on them
    huge = fit_temperature([[1e308, -1e308], [-1e308, 1e308], [1e308, -1e308]], [0, 1, 1])
    np.testing.assert_allclose(huge.probabilities([[1e308, -1e308]]), [[2 / 3, 1 / 3]])
    sure = fit_temperature([[1.0, 0.0], [0.0, 1.0]], [0, 1]).probabilities([[1.0, 0.0]])
    assert sure[0, 0] > 0.999
    assert np.isfinite(sure).all()
    late = fit_temperature([[1.0, 0.0, np.nan], [0.0, 1.0, 0.5], [0.5, 0.0, 1.0]], [0, 1, 1])
    assert late == fit_temperature([[0.0, 1.0, 0.5], [0.5, 0.0, 1.0]], [1, 1])


@pytest.mark.slow
@pytest.mark.parametrize("method", [*METHODS, "temperature"])
@pytest.mark.parametrize("classes", [2, 3])
def test_learners_with_probabilities_alone(method, classes):
    X, y = problem(classes, n=400, noise=0.3)
    forest = RandomForestClassifier(30, random_state=0)
    model = CalibratedClassifier(forest, method=method, cv=3).fit(X, y)
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert np.isfinite(model.decision_function(X)).all()
    held = np.empty((len(y), classes))
    for train, test in StratifiedKFold(3).split(y, y):
        held[test] = clone(forest).fit(X[train], y[train]).predict_proba(X[test])
    odds = np.clip(held, 2.0**-52, 1 - 2.0**-52)
    odds = np.log(odds) - np.log1p(-odds)
    if method == "temperature":
        expected = fit_temperature(odds if classes > 2 else odds[:, 1], y)
    else:
        code = 1 if classes == 2 else 0
        expected = METHODS[method](odds[:, code], y == code)
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(model.calibration_[0][:2], expected[:2], strict=True))


@every_method
def test_folds_may_be_a_splitter_or_a_list(method):
    X, y, _ = noisy(200)
    folds = KFold(4, shuffle=True, random_state=1)
    by_splitter = CalibratedClassifier(LinearSVC(random_state=0), method=method, cv=folds).fit(X, y)
    by_list = CalibratedClassifier(LinearSVC(random_state=0), method=method, cv=list(folds.split(X))).fit(X, y)
    other = CalibratedClassifierCV(LinearSVC(random_state=0), method=method, ensemble=False, cv=folds).fit(X, y)
    assert bits(by_splitter.predict_proba(X)) == bits(by_list.predict_proba(X))
    np.testing.assert_allclose(by_splitter.predict_proba(X), other.predict_proba(X), atol=1e-5)
    some = ShuffleSplit(3, test_size=0.2, random_state=0)
    model = CalibratedClassifier(LinearSVC(random_state=0), method=method, cv=some).fit(X, y)
    rows = np.sort(np.concatenate([held for _, held in some.split(X)]))
    assert model._recent.codes.tolist() == y[rows].tolist()
    order = np.argsort(y, kind="stable")
    with pytest.raises(ValueError, match=r"fold 1 of cv= trains on no row of the class 1"):
        CalibratedClassifier(LinearSVC(), cv=[(order[50:], order[:50]), (order[:50], order[50:])]).fit(X, y)


@pytest.mark.parametrize("method", [*METHODS, "temperature"])
@pytest.mark.parametrize("classes", [2, 3])
def test_an_ensemble_is_that_of_scikit_learn(method, classes):
    X, y = problem(classes, n=300, noise=0.4)
    learner = LinearSVC(random_state=0)
    mine = CalibratedClassifier(learner, method=method, cv=3, ensemble=True).fit(X, y)
    other = CalibratedClassifierCV(learner, method=method, cv=3, ensemble=True).fit(X, y)
    np.testing.assert_allclose(mine.predict_proba(X), other.predict_proba(X), atol=1e-4)
    assert mine.predict(X).tolist() == mine.predict_proba(X).argmax(axis=1).tolist()
    assert len(mine.members_) == 3
    assert not hasattr(mine, "decision_function")
    for name in ("calibration_", "coef_", "intercept_"):
        with pytest.raises(AttributeError, match="an ensemble has several learners"):
            getattr(mine, name)
    with pytest.raises(ValueError, match='ensemble=True needs on="held-out"'):
        CalibratedClassifier(learner, on="prefit", ensemble=True).fit(X, y)
    single = mine.set_params(ensemble=False).fit(X, y)
    assert not hasattr(single, "members_")
    assert len(single.calibration_) == (classes if classes > 2 and method != "temperature" else 1)


@pytest.mark.slow
@pytest.mark.parametrize("method", [*METHODS, "temperature"])
@pytest.mark.parametrize("learner", [AveragedPerceptron(random_state=0), NaiveBayes("bernoulli")], ids=str)
def test_rows_learned_one_by_one_are_calls_of_one_row(method, learner):
    X, y = problem(3, n=60, noise=0.3)
    calls, rows = (CalibratedClassifier(learner, method=method, window=30) for _ in range(2))
    for x, label in zip(X, y.tolist(), strict=True):
        calls.partial_fit(x[None], [label])
        assert rows.learn_one(x, label) is rows
    np.testing.assert_allclose(rows._recent.scores, calls._recent.scores, rtol=1e-9, atol=1e-9)
    assert rows._recent.codes.tolist() == calls._recent.codes.tolist()
    np.testing.assert_allclose(rows.predict_proba(X), calls.predict_proba(X), rtol=1e-6, atol=1e-6)
    for x, label, chances in zip(X, rows.predict(X).tolist(), rows.predict_proba(X), strict=True):
        assert rows.predict_one(x) == label
        np.testing.assert_allclose(list(rows.predict_proba_one(x).values()), chances, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("on", ["held-out", "prefit"])
def test_a_copy_is_independent(on):
    X, y, _ = noisy(60)
    given = quiet(Perceptron(random_state=0).fit, X, y)
    model = quiet(CalibratedClassifier(given, on=on).fit, X, y)
    twin, before = copy(model), model.coef_.tolist()
    assert (twin.estimator_ is given) == (on == "prefit")
    assert np.array_equal(twin.predict_proba(X), model.predict_proba(X))
    for x, label in zip(-X, y.tolist(), strict=True):
        twin.learn_one(x, label)
    assert model.coef_.tolist() == before != twin.coef_.tolist()
    twin = copy(quiet(CalibratedClassifier(given, ensemble=True, cv=2).fit, X, y))
    assert twin.members_[0].estimator_ is twin.estimator_


def test_single_rows_have_names_and_a_prefit_learner_is_left_alone():
    model = CalibratedClassifier(Perceptron())
    for k in range(40):
        model.learn_one({"sun" if k % 2 else "rain": 1.0 + k % 3}, "out" if k % 2 else "in")
    assert model.predict_one({"sun": 1.0, "snow": 1.0}) == "out"
    assert model.predict_proba_one({"rain": 1.0})["in"] > 0.8
    fitted = quiet(Perceptron(random_state=0).fit, *noisy(60)[:2])
    before, (X, y, _) = fitted.coef_.tolist(), noisy(30, seed=5)
    model = CalibratedClassifier(fitted, on="prefit")
    for x, label in zip(X, y.tolist(), strict=True):
        model.learn_one(x, label)
    assert fitted.coef_.tolist() == before
    assert model.estimator_.coef_.tolist() != before
    assert not hasattr(CalibratedClassifier(LinearSVC()), "learn_one")
    assert not hasattr(CalibratedClassifier(LinearSVC()), "predict_one")
    with pytest.raises(NotFittedError):
        CalibratedClassifier(Perceptron()).predict_proba_one({"sun": 1.0})
