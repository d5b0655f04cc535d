"""NaiveBayes: scikit-learn's answers, streams, bad input, and products of fractions to the last tie."""

import pickle
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from scipy.special import log_softmax
from scipy.stats import norm
from sklearn import naive_bayes as theirs
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import OneHotEncoder

from linsep import load, save
from linsep.estimators.naive_bayes import NaiveBayes
from tests.sklearn_checks import cases, name_of

both = pytest.mark.parametrize("form", [np.array, csr_array])
groups = np.repeat([0, 1, 2], [2, 3, 4])


def problem(kind, classes=3, n=60, seed=0):
    """Rows of a kind, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
    if kind == "gaussian":
        return rng.normal(size=(n, 9)) * rng.uniform(0.1, 5, 9) + y[:, None] * rng.normal(size=9), y
    if kind == "categorical":
        values = np.column_stack([(rng.integers(0, m, n) + y) % m for m in (2, 3, 4)])
        values[:4] = np.array([[0, 0, 0], [1, 1, 1], [0, 2, 2], [1, 0, 3]])
        return OneHotEncoder(sparse_output=False).fit_transform(values), y
    X = rng.poisson(rng.uniform(0, 2, (classes, 9))[y]).astype(float)
    return (X > 0).astype(float) if kind == "bernoulli" else X, y


def made(kind, **more):
    return NaiveBayes(kind, **({"groups": groups} if kind == "categorical" else {}) | more)


every_kind = pytest.mark.parametrize("kind", ["multinomial", "complement", "bernoulli", "categorical", "gaussian"])
counts = pytest.mark.parametrize("kind", ["multinomial", "complement", "bernoulli", "categorical"])


def same(a, b, exact=True):
    """Compare all that two learners have learned and answer by."""
    close = np.array_equal if exact else lambda x, y: np.allclose(x, y, rtol=1e-12, atol=1e-12)
    assert close(a.coef_, b.coef_)
    assert close(a.intercept_, b.intercept_)
    assert np.array_equal(a.classes_, b.classes_)
    names = [name for name in a._facts if name in vars(b) and name not in ("kind_", "open_labels_")]
    assert len(names) > 3
    assert all(close(getattr(a, name), getattr(b, name)) for name in names)


@both
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("alpha", [1.0, 0.3])
@pytest.mark.parametrize("priors", [None, "uniform", "given"])
@pytest.mark.parametrize("kind", ["multinomial", "bernoulli"])
def test_as_scikit_learn(form, classes, alpha, priors, kind):
    X, y = problem(kind, classes)
    given_ = np.arange(1, classes + 1) / sum(range(1, classes + 1))
    ours = NaiveBayes(kind, alpha=alpha, priors=given_ if priors == "given" else priors).fit(form(X), y)
    more = {"class_prior": given_} if priors == "given" else {"fit_prior": priors is None}
    other = {"multinomial": theirs.MultinomialNB, "bernoulli": theirs.BernoulliNB}[kind](alpha=alpha, **more)
    weights = np.arange(len(y)) % 3
    for sample_weight in (None, weights):
        ours.fit(form(X), y, sample_weight)
        other.fit(X, y, sample_weight)
        np.testing.assert_allclose(ours.predict_log_proba(form(X)), other.predict_log_proba(X), rtol=1e-12, atol=1e-12)
        assert np.array_equal(ours.feature_count_, other.feature_count_)
        assert np.array_equal(ours.predict(form(X)), other.predict(X))
        if kind == "multinomial":
            logs = other.feature_log_prob_
            expected = logs[1:] - logs[:1] if classes == 2 else logs
            np.testing.assert_allclose(ours.coef_, expected, rtol=0, atol=1e-12)


@both
@pytest.mark.parametrize("classes", [2, 3])
def test_categories_as_scikit_learn(form, classes):
    X, y = problem("categorical", classes)
    codes = np.column_stack([X[:, groups == g].argmax(axis=1) for g in range(3)])
    other = theirs.CategoricalNB(alpha=0.5).fit(codes, y)
    order = np.random.default_rng(5).permutation(9)
    ours = NaiveBayes("categorical", alpha=0.5, groups=groups[order] * 7 - 3).fit(form(X[:, order]), y)
    np.testing.assert_allclose(ours.predict_log_proba(form(X[:, order])), other.predict_log_proba(codes), atol=1e-12)
    logs = np.hstack(other.feature_log_prob_)[:, order]
    np.testing.assert_allclose(ours.coef_, logs[1:] - logs[:1] if classes == 2 else logs, atol=1e-12)


def test_a_missing_category_counts_for_nothing():
    X, y = problem("categorical")
    X[5, groups == 1] = 0
    known, all_rows = np.delete(np.arange(len(y)), 5), np.arange(len(y))
    clf = made("categorical", priors="uniform").fit(X, y)
    for g, rows in ((0, all_rows), (1, known), (2, all_rows)):
        alone = NaiveBayes("categorical", groups=[0] * (groups == g).sum(), priors="uniform")
        np.testing.assert_allclose(clf.coef_[:, groups == g], alone.fit(X[rows][:, groups == g], y[rows]).coef_)


@both
@pytest.mark.parametrize("classes", [2, 3])
def test_normal_densities_of_one_variance(form, classes):
    X, y = problem("gaussian", classes)
    weights = np.arange(len(y)) % 3 + 0.0
    clf = NaiveBayes("gaussian").fit(form(X), y, weights)
    mean = np.array([np.average(X[y == c], axis=0, weights=weights[y == c]) for c in range(classes)])
    std = np.sqrt(np.average((X - mean[y]) ** 2, axis=0, weights=weights))
    joint = norm.logpdf(X[:, None], mean, std).sum(axis=2) + np.log(np.bincount(y, weights) / weights.sum())
    np.testing.assert_allclose(clf.predict_log_proba(form(X)), log_softmax(joint, axis=1), rtol=1e-9, atol=1e-11)
    assert np.array_equal(clf.predict(X), joint.argmax(axis=1))
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)


@every_kind
@pytest.mark.parametrize("classes", [2, 4])
@both
def test_chunks_are_one_pass(kind, classes, form):
    X, y = problem(kind, classes)
    whole = made(kind).fit(form(X), y)
    parts = made(kind)
    for chunk in np.split(np.arange(len(y)), [7, 8, 30]):
        parts.partial_fit(form(X[chunk]), y[chunk], classes=np.arange(classes))
    same(parts, whole, exact=kind != "gaussian")


@every_kind
@pytest.mark.parametrize("classes", [2, 5])
def test_a_saved_model_is_trained_on_to_the_same_bits(kind, classes, tmp_path):
    X, y = problem(kind, classes)
    half = len(y) // 2
    learner = made(kind).partial_fit(X[:half], y[:half], classes=np.arange(classes))
    save(learner, tmp_path / "model.linsep")
    twin = load(tmp_path / "model.linsep")
    for each in (learner, twin):
        each.partial_fit(X[half:], y[half:])
    assert twin.coef_.tobytes() == learner.coef_.tobytes()
    assert twin.intercept_.tobytes() == learner.intercept_.tobytes()


def test_counts_beyond_float64_are_refused_and_nothing_is_learned():
    rows, labels = [[2.0**959, 1.0], [1.0, 2.0**959]], [0, 1]
    with pytest.raises(ValueError, match="counts are too large"):
        NaiveBayes().partial_fit(2 * np.array(rows), labels)
    clf = NaiveBayes().partial_fit(rows, labels)
    counts = clf.feature_count_.copy()
    with pytest.raises(ValueError, match="counts are too large for float64: divide all of X by one factor"):
        clf.partial_fit(rows, labels)
    assert np.array_equal(clf.feature_count_, counts)
    assert clf.predict([[1.0, 0.0]]) == [0]


@every_kind
def test_labels_may_arrive_at_any_time(kind):
    X, y = problem(kind, 4)
    order = np.argsort(-y, kind="stable")
    whole, parts = made(kind).fit(X[order], y[order]), made(kind)
    for chunk in np.split(order, [10, 20, 50]):
        parts.partial_fit(X[chunk], y[chunk])
    same(parts, whole, exact=kind != "gaussian")
    words = np.array(["d", "c", "bb", "aaa"])
    named = made(kind)
    for chunk in np.split(order, [10, 20, 50]):
        named.partial_fit(X[chunk], words[y[chunk]])
    assert named.classes_.tolist() == ["aaa", "bb", "c", "d"]
    assert (named.predict(X) == words[parts.predict(X)]).mean() > 0.9  # ties go to the lower label, which is another


def test_one_label_so_far():
    clf = NaiveBayes().partial_fit([[1, 2], [0, 3]], ["b", "b"])
    assert clf.predict([[5, 0]]).tolist() == ["b"]
    assert clf.predict_proba([[5, 0]]).tolist() == [[1.0]]
    assert clf.predict_one([5, 0]) == "b"
    clf.partial_fit([[4, 0]], ["a"])
    assert clf.predict([[5, 0], [0, 5]]).tolist() == ["a", "b"]


@every_kind
@both
def test_a_weight_is_repetition_and_0_is_absence(kind, form):
    X, y = problem(kind)
    times = np.random.default_rng(1).integers(0, 4, len(y))
    times[:3] = 1
    same(made(kind).fit(form(X), y, times), made(kind).fit(form(np.repeat(X, times, axis=0)), np.repeat(y, times)),
         exact=kind != "gaussian")  # fmt: skip


@every_kind
@pytest.mark.parametrize("classes", [2, 3])
def test_all_forms_of_rows_are_one(kind, classes):
    X, y = problem(kind, classes)
    table, rows = made(kind).fit(X, y), made(kind).fit(csr_array(X), y)
    same(table, rows, exact=kind != "gaussian")
    assert np.array_equal(table.predict(X), table.predict(csr_array(X)))
    singles = [table.predict_one(x) for x in X]
    assert singles == table.predict(X).tolist()
    assert singles == [table.predict_one({j: v for j, v in enumerate(x) if v}) for x in X.tolist()]
    assert singles == [table.predict_one((np.flatnonzero(x), x[np.flatnonzero(x)])) for x in X]
    assert table.predict_one({0: 0.0, 77: 3.0}) == table.predict(np.zeros((1, 9)))[0]


def test_columns_stored_twice_are_one_entry():
    twice = csr_array(([1.0, -1.0, 2.0, 1.0, 3.0], [0, 0, 1, 2, 2], [0, 4, 5]), shape=(2, 3))
    clf = NaiveBayes("bernoulli").fit(twice, [0, 1])
    assert clf.feature_count_.tolist() == [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]
    assert np.array_equal(clf.decision_function(twice), clf.decision_function(twice.toarray()))
    X = csr_array(([1.0, 1.0, 5.0, 3.0, 7.0], [0, 0, 0, 0, 0], [0, 2, 3, 4, 5]), shape=(4, 1))
    same(NaiveBayes("gaussian").fit(X, [0, 0, 1, 1]), NaiveBayes("gaussian").fit(X.toarray(), [0, 0, 1, 1]))
    same(NaiveBayes().fit(X, [0, 0, 1, 1]), NaiveBayes().fit(X.toarray(), [0, 0, 1, 1]))


@both
def test_presence_is_what_exceeds_binarize(form):
    X, y = problem("multinomial")
    X -= 0.5
    for binarize in (0.0, 1.0):
        flags = np.greater(X, binarize).astype(float)
        clf, plain = NaiveBayes("bernoulli", binarize=binarize).fit(form(X), y), NaiveBayes("bernoulli").fit(flags, y)
        assert np.array_equal(clf.feature_count_, plain.feature_count_)
        np.testing.assert_allclose(clf.decision_function(form(X)), plain.decision_function(flags), atol=1e-13)
        assert clf.predict_one(X[0]) == clf.predict(X[:1])[0]
        linear = flags @ clf.coef_.T + clf.intercept_
        np.testing.assert_allclose(clf.decision_function(form(X)), linear, atol=1e-13)


@st.composite
def texts(draw):
    classes = draw(st.integers(2, 4))
    n, p = draw(st.integers(classes, 8)), draw(st.integers(1, 6))
    X = draw(arrays(float, (n, p), elements=st.integers(0, 5)))
    y = np.array([*range(classes), *draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n))][:n])
    return X, y, draw(arrays(float, (8, p), elements=st.integers(0, 9)))


@given(texts())
def test_argmax_of_the_exact_product(drawn):
    """Of classes whose exact odds are within 1e-12 any may win, but for exact ties: the lowest."""
    X, y, rows = drawn
    clf = NaiveBayes().fit(X, y)
    table = [[sum(X[y == c, j].astype(int).tolist()) + 1 for j in range(X.shape[1])] for c in clf.classes_]
    for x, answer, sparse in zip(rows, clf.predict(rows), clf.predict(csr_array(rows)), strict=True):
        products = [
            Fraction(int((y == c).sum()), len(y))
            * prod(Fraction(n, sum(of)) ** int(v) for n, v in zip(of, x, strict=True))
            for c, of in enumerate(table)
        ]
        best = max(products)
        near = [c for c, product in enumerate(products) if product * (1 + Fraction(1, 10**12)) >= best]
        assert answer == sparse == clf.predict_one(x)
        assert answer == near[0] if all(products[c] == best for c in near) else answer in near


@pytest.mark.parametrize("classes", [2, 3])
def test_ties_that_rounding_would_give_to_the_higher_class(classes):
    """Classes with the same counts in another order, and rows whose exact products are equal."""
    rng = np.random.default_rng(0)
    turned = 0
    for _ in range(60):
        first = rng.integers(0, 6, 4).astype(float)
        X = np.array([first, *(rng.permutation(first) for _ in range(classes - 1))])
        clf, rows = NaiveBayes().fit(X, range(classes)), rng.integers(0, 4, (40, 4)).astype(float)
        products = [[prod(int(n + 1) ** int(v) for n, v in zip(of, x, strict=True)) for of in X] for x in rows]
        assert clf.predict(rows).tolist() == [of.index(max(of)) for of in products]
        raw = rows @ clf.coef_.T + clf.intercept_
        plain = raw.argmax(axis=1) if classes > 2 else (raw[:, 0] > 0).astype(int)
        turned += (plain != clf.predict(rows)).sum()
    assert turned > 5  # else there was nothing to put right


@every_kind
def test_a_copy_goes_on_as_the_learner_does(kind):
    X, y = problem(kind)
    clf = made(kind).partial_fit(X[:30], y[:30])
    other = pickle.loads(pickle.dumps(clf))
    same(clf, other)
    other._check_facts()
    for one in (clf, other):
        one.partial_fit(X[30:], y[30:])
    same(clf, other)
    assert not hasattr(clone(clf), "class_count_")


def test_what_is_refused_changes_nothing():
    X, y = problem("multinomial")
    clf = NaiveBayes().partial_fit(X, y)
    before = pickle.dumps(clf)
    for bad in (-X, X * np.nan, X[:, :4]):
        with pytest.raises(ValueError, match=r"Negative values|NaN|features"):
            clf.partial_fit(bad, y)
    with pytest.raises(ValueError, match="training can't resume with kind=gaussian"):
        clf.set_params(kind="gaussian").partial_fit(X, y)
    with pytest.raises(ValueError, match="another type"):
        clf.set_params(kind="multinomial").partial_fit(X, [str(label) for label in y])
    assert pickle.dumps(clf) == before


def test_set_parameters_are_followed_by_the_next_rows():
    X, y = problem("multinomial")
    clf = NaiveBayes().partial_fit(X[:30], y[:30]).set_params(alpha=0.2, priors="uniform").partial_fit(X[30:], y[30:])
    same(clf, NaiveBayes(alpha=0.2, priors="uniform").fit(X, y))
    X, y = problem("categorical")
    other = made("categorical").partial_fit(X, y).set_params(groups=np.arange(9))
    with pytest.raises(ValueError, match=r"can't resume with groups=\[0 1 2 3 4 5 6 7 8\]"):
        other.partial_fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({}, [[1, 0], [0, -1]], "Negative values in data passed to NaiveBayes: X has -1 in row 1, column 1"),
        ({"variance": "per-class", "kind": "gaussian"}, [[1], [2]], "not linear|separator is linear.*GaussianNB"),
        ({"kind": "gaussian"}, [[1, 0], [2, 0]], "feature 0 does not vary within any class"),
        ({"kind": "categorical"}, [[1, 0], [0, 1]], "needs groups="),
        ({"kind": "categorical", "groups": [0]}, [[1, 0], [0, 1]], "one integer for each of the 2 columns"),
        ({"kind": "categorical", "groups": [0.0, 0.5]}, [[1, 0], [0, 1]], "array of float64"),
        ({"kind": "categorical", "groups": [0, 0]}, [[1, 0], [1, 1]], "columns 0 and 1 of row 1"),
        ({"alpha": 0.0}, [[1, 0], [1, 1]], "the class 'a' never has feature 1"),
        ({"priors": [0.9, 0.3]}, [[1, 0], [0, 1]], "add up to 1"),
        ({"alpha": -1.0}, [[1, 0], [0, 1]], "alpha"),
        ({"kind": "poisson"}, [[1, 0], [0, 1]], "kind"),
        ({"priors": "flat"}, [[1, 0], [0, 1]], "priors"),
        ({"binarize": -1.0}, [[1, 0], [0, 1]], "binarize"),
        ({}, [[1, np.nan], [0, 1]], "contains NaN"),
        ({}, [[1.7e308, 1.7e308], [0, 1]], "too large for float64"),
    ],
)
@both
def test_bad_input(parameters, X, message, form):
    with pytest.raises(ValueError, match=message):
        NaiveBayes(**parameters).fit(form(X), ["a", "b"])


def test_bad_rows_are_refused_in_answers():
    X, y = problem("categorical")
    clf = made("categorical").fit(X, y)
    with pytest.raises(ValueError, match="columns 0 and 1 of row 0"):
        clf.predict(np.ones((1, 9)))
    flags = NaiveBayes("bernoulli").fit(X, y)
    with pytest.raises(ValueError, match="contains NaN"):
        flags.predict(np.full((1, 9), np.nan))
    with pytest.raises(ValueError, match="contains NaN"):
        NaiveBayes().fit(X, y).predict(np.full((1, 9), np.nan))
    with pytest.raises(NotFittedError):
        NaiveBayes().predict(X)
    with pytest.raises(NotFittedError):
        NaiveBayes().predict_one(X[0])


@counts
def test_a_class_without_rows(kind):
    X, y = problem(kind, 2)
    clf = made(kind).partial_fit(X, y, classes=[0, 1, 2])
    for ask in (lambda: clf.predict(X), lambda: clf.coef_, lambda: clf.predict_one(X[0])):
        with pytest.raises(ValueError, match="the class 2 has had no rows"):
            ask()
    if kind != "complement":
        clf.set_params(priors=[0.25, 0.25, 0.5])
        assert np.isfinite(clf.coef_).all()
    if kind == "multinomial":
        np.testing.assert_allclose(np.exp(clf.coef_[2]), 1 / 9)
    with pytest.raises(ValueError, match="not among the classes"):
        clf.partial_fit(X[:1], [3])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        clf.partial_fit(X[:1], [2], classes=[0, 2])
    with pytest.raises(ValueError, match="only one class"):
        made(kind).partial_fit(X, y, classes=[0])


def test_gaussian_features_that_do_not_vary():
    X, y = problem("gaussian", 2)
    X[:, 3] = 0.1
    clf = NaiveBayes("gaussian").fit(X, y)
    assert clf.coef_[0, 3] == 0
    others = np.delete(np.arange(9), 3)
    np.testing.assert_allclose(clf.decision_function(X), NaiveBayes("gaussian").fit(X[:, others], y)
                               .decision_function(X[:, others]), atol=1e-12)  # fmt: skip
    X[:, 3] = y
    with pytest.raises(ValueError, match="feature 3 does not vary"):
        NaiveBayes("gaussian").fit(X, y)
    floored = NaiveBayes("gaussian", variance_floor=1e-9).fit(X, y)
    assert np.array_equal(floored.predict(X), y)


@every_kind
def test_forged_facts_are_refused(kind):
    X, y = problem(kind)
    for name, value in (("class_count_", np.ones(2)), ("open_labels_", 1), ("rounding_", np.ones(1)), ("kind_", "x")):
        clf = made(kind).fit(X, y)
        setattr(clf, name, value)
        with pytest.raises(ValueError, match=r"class_count|labels|kind"):
            clf._check_facts()


def test_sparsified_weights_answer_alike():
    X, y = problem("multinomial", 2)
    X[:, 4] = 0
    clf = NaiveBayes(priors="uniform").fit(X, y)
    scores = clf.decision_function(X)
    assert np.array_equal(clf.sparsify().decision_function(X), scores)


NO_VARIANCE = "a feature varies between the classes, and within none"
FAILS = {
    "bernoulli": {},
    "gaussian": dict.fromkeys(["check_sample_weights_shape", "check_sample_weights_not_overwritten"], NO_VARIANCE),
}


def checks():
    """All pairs of a kind and a check; the default kind has its own among the contracts of the table."""
    for kind, fails in FAILS.items():
        yield from cases(NaiveBayes(kind), fails)


def name(value):
    """`gaussian-check_fit1d`."""
    return name_of(value) if hasattr(value, "func") else value.kind


@pytest.mark.parametrize(("learner", "check"), list(checks()), ids=name)
def test_scikit_learn(learner, check):
    check(learner)


@pytest.mark.parametrize("kind", ["multinomial", "complement", "bernoulli", "gaussian"])
def test_new_features_are_as_if_they_had_been_0_from_the_start(kind):
    rng = np.random.default_rng(5)
    X, y = rng.poisson(1.0, (30, 4)).astype(float), np.arange(30) % 3
    wide = np.hstack([X, np.zeros((30, 2))])
    wide[15:, 4:] = rng.poisson(1.0, (15, 2))
    grown = NaiveBayes(kind).partial_fit(X[:15], y[:15]).grow(6).partial_fit(wide[15:], y[15:])
    whole = NaiveBayes(kind).partial_fit(wide[:15], y[:15]).partial_fit(wide[15:], y[15:])
    assert grown.coef_.tolist() == whole.coef_.tolist()
    with pytest.raises(ValueError, match=r"grow\(3\): the learner has 6 features"):
        grown.grow(3)


@both
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_complement_as_scikit_learn(form, classes, alpha):
    X, y = problem("multinomial", classes)
    ours, other = made("complement", alpha=alpha).fit(form(X), y), theirs.ComplementNB(alpha=alpha).fit(X, y)
    assert np.allclose(ours.feature_log_prob_, other.feature_log_prob_, rtol=1e-12)
    assert np.allclose(ours.class_log_prior_, other.class_log_prior_)
    assert ours.predict(form(X)).tolist() == other.predict(X).tolist()
    assert np.allclose(ours.predict_proba(form(X)), other.predict_proba(X), rtol=1e-9)
    with pytest.raises(ValueError, match="complement' has no priors; remove priors="):
        made("complement", priors="uniform").fit(X, y)


def test_a_complement_without_a_feature_is_refused_without_smoothing():
    with pytest.raises(ValueError, match=r"class 'b' has a complement, .*, that never has feature 1"):
        made("complement", alpha=0).fit([[1, 0], [1, 2], [3, 0]], ["a", "b", "a"])


def test_logarithms_of_probabilities_as_scikit_learn():
    for kind, other in (("multinomial", theirs.MultinomialNB()), ("bernoulli", theirs.BernoulliNB())):
        for classes in (2, 3):
            X, y = problem(kind, classes)
            ours = made(kind).fit(X, y)
            other.fit(X, y)
            assert np.allclose(ours.class_log_prior_, other.class_log_prior_, rtol=1e-12)
            assert np.allclose(ours.feature_log_prob_, other.feature_log_prob_, rtol=1e-12)
    X, y = problem("categorical")
    ours = made("categorical").fit(X, y)
    values = np.column_stack([X[:, groups == g].argmax(axis=1) for g in range(3)])
    other = theirs.CategoricalNB().fit(values, y)
    assert np.allclose(ours.feature_log_prob_, np.hstack(other.feature_log_prob_), rtol=1e-12)
    with pytest.raises(AttributeError, match="gaussian naive Bayes has densities"):
        _ = made("gaussian").fit(*problem("gaussian")).feature_log_prob_
    with pytest.raises(NotFittedError):
        _ = NaiveBayes().class_log_prior_


@every_kind
def test_rows_learned_one_by_one_are_one_pass(kind):
    X, y = problem(kind)
    whole = made(kind).partial_fit(X, y)
    one_by_one = made(kind)
    for row, label in zip(X, y.tolist(), strict=True):
        assert one_by_one.learn_one(row, label) is one_by_one
    same(one_by_one, whole, exact=kind != "gaussian")
    for row, label, chances in zip(X, whole.predict(X).tolist(), whole.predict_proba(X), strict=True):
        assert one_by_one.predict_one(row) == label
        found = whole.predict_proba_one((np.flatnonzero(row), row[row != 0]))
        assert list(found) == [0, 1, 2]
        assert np.allclose(list(found.values()), chances, rtol=1e-12)


def test_names_may_arrive_with_rows():
    rows = [({"sun": 1.0}, "out"), ({"rain": 2.0}, "in"), ({"sun": 2.0, "wind": 1.0}, "out"), ({"rain": 1.0}, "in")]
    clf = NaiveBayes()
    for x, y in rows:
        clf.learn_one(x, y)
    assert clf.feature_names_in_.tolist() == ["sun", "rain", "wind"]
    table = np.array([[x.get(name, 0.0) for name in clf.feature_names_in_] for x, _ in rows])
    same(clf, NaiveBayes().partial_fit(table, [y for _, y in rows]))
    chances = clf.predict_proba_one({"rain": 1.0, "snow": 9.0})
    assert chances == clf.predict_proba_one({"rain": 1.0})
    assert chances["in"] > 0.5
    before = pickle.dumps(clf)
    for x, y, message in (
        ({"hail": np.nan}, "in", "nan for the feature 'hail'"), ({"hail": -1.0}, "in", "negative|below 0"),
        ({"hail": 1.0}, ["in"], "label"), ({3: 1.0}, "in", "numbers its columns"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            clf.learn_one(x, y)
        assert pickle.dumps(clf) == before
    with pytest.raises(ValueError, match="number of features is not known"):
        NaiveBayes().learn_one((np.array([0]), np.array([1.0])), "in")
