"""Naive Bayes: counts and weights against plain loops and exact fractions."""

import time
from decimal import Decimal, localcontext
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers import naive_bayes
from linsep.solvers.naive_bayes.counts import Moments, count, merge_moments, moments
from linsep.solvers.naive_bayes.precision import EPS, level_ties
from linsep.solvers.naive_bayes.rows import present, refuse_negative, refuse_not_one_hot
from linsep.solvers.naive_bayes.weights import ClassCounts, bernoulli, categorical, gaussian, multinomial, priors_of
from linsep.solvers.products import times

NO_WEIGHTS = np.empty(0)
both = pytest.mark.parametrize("form", ["dense", "csr"])


def data_of(X, form="dense"):
    """Rows as solvers read them."""
    if form == "dense":
        return Dense(locked(np.array(X, float)), 1.0)
    S = csr_array(np.array(X, float))
    return Csr(*(locked(a) for a in (S.data, S.indices.astype(np.int32), S.indptr.astype(np.int32))), S.shape[1], 1.0)


def locked(a):
    a.flags.writeable = False
    return a


def codes_of(codes):
    return np.array(codes, np.int32)


@st.composite
def tables(draw, classes=3, low=0, high=4):
    """Small integer rows, a class for each, and how often each occurs."""
    shape = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    X = draw(arrays(float, shape, elements=st.integers(low, high)))
    codes = draw(arrays(np.int32, shape[0], elements=st.integers(0, classes - 1)))
    times_ = draw(arrays(float, shape[0], elements=st.integers(0, 3)))
    return X, codes, times_


@both
@pytest.mark.parametrize("tile", [(256, 1024), (2, 3)])
@given(table=tables(low=-3), power=st.integers(0, 2))
def test_counts_are_those_of_a_plain_loop(form, tile, table, power):
    X, codes, weights = table
    expected = np.zeros((3, X.shape[1]))
    for x, c, weight in zip(X, codes, weights, strict=True):
        for j, v in enumerate(x):
            expected[c, j] += weight * (v**power if v else 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(naive_bayes.counts, "TALL", tile[0])
        patch.setattr(naive_bayes.counts, "WIDE", tile[1])
        assert np.array_equal(count(data_of(X, form), codes, weights, 3, power=power), expected)


@both
def test_a_weight_is_repetition_and_0_is_absence(form):
    X, codes = [[1.0, 2.0], [0.0, 5.0], [7.0, 1.0]], codes_of([0, 1, 1])
    weighted = count(data_of(X, form), codes, np.array([2.0, 1.0, 0.0]), 2)
    repeated = count(data_of([X[0], X[0], X[1]], form), codes_of([0, 0, 1]), NO_WEIGHTS, 2)
    assert np.array_equal(weighted, repeated)


def test_columns_stored_twice_add_up():
    data = Csr(*map(locked, (np.array([1.0, 2.0, 4.0]), codes_of([1, 1, 0]), codes_of([0, 3]))), 2, 1.0)
    assert count(data, codes_of([0]), NO_WEIGHTS, 1).tolist() == [[4.0, 3.0]]


@pytest.mark.slow
@both
@given(table=tables(low=-3), cut=st.integers(0, 8))
def test_moments_of_chunks_are_those_of_all_rows(form, table, cut):
    X, codes, weights = table
    chunks = [chunk for chunk in (slice(0, cut), slice(cut, None)) if len(X[chunk])]
    parts = [moments(data_of(X[chunk], form), codes[chunk], weights[chunk], 3) for chunk in chunks]
    found = merge_moments(*parts) if len(parts) == 2 else parts[0]
    for c in range(3):
        rows = np.repeat(X[codes == c], weights[codes == c].astype(int), axis=0)
        assert found.weight[c] == len(rows)
        if len(rows):
            np.testing.assert_allclose(found.mean[c], rows.mean(axis=0), atol=1e-14)
            np.testing.assert_allclose(found.squares[c], len(rows) * rows.var(axis=0), atol=1e-12)


@both
def test_moments_survive_a_large_mean(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2)) + np.array([1e8, -1e8])
    found = moments(data_of(X[:1000], form), codes_of([0] * 1000), NO_WEIGHTS, 1)
    for block in (X[1000:1001], X[1001:]):
        found = merge_moments(found, moments(data_of(block, form), codes_of([0] * len(block)), NO_WEIGHTS, 1))
    np.testing.assert_allclose(found.squares[0] / 3000, X.var(axis=0), rtol=1e-9)


@both
def test_a_constant_has_no_deviation(form, monkeypatch):
    monkeypatch.setattr(naive_bayes.counts, "TALL", 64)
    X = np.column_stack([np.full(5000, 0.1), np.full(5000, 1e9 / 3)])
    found = moments(data_of(X, form), codes_of([0] * 5000), NO_WEIGHTS, 1)
    assert (np.sqrt(found.squares[0] / 5000) <= 4 * EPS * X[0]).all()


@both
def test_entries_too_large_to_be_squared(form):
    with pytest.raises(ValueError, match="feature 1 has entries too large to be squared"):
        moments(data_of([[1.0, 1e200], [1.0, -1e200]], form), codes_of([0, 0]), NO_WEIGHTS, 1)


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli", "gaussian"])
def test_new_classes_are_as_if_known_from_the_start(kind):
    rng = np.random.default_rng(1)
    X, codes = rng.integers(0, 3, (30, 4)).astype(float), codes_of(rng.integers(0, 3, 30))
    X_first, first = X[codes != 1], codes[codes != 1]
    late = ClassCounts.start(kind, 2, 4).plus(data_of(X_first), codes_of(first > 0), NO_WEIGHTS).admitted(np.array([1]))
    late = late.plus(data_of(X[codes == 1]), codes[codes == 1], NO_WEIGHTS)
    known = ClassCounts.start(kind, 3, 4).plus(data_of(X_first), first, NO_WEIGHTS)
    known = known.plus(data_of(X[codes == 1]), codes[codes == 1], NO_WEIGHTS)
    for a, b in zip(late, known, strict=True):
        assert np.array_equal(a, b)


def exact_products(kind, X, codes, rows, classes, smoothing):
    """prior * product of probabilities of each row and class, as fractions of the training counts."""
    s = Fraction(smoothing)
    table = [[sum(int(x[j]) for x, c in zip(X, codes, strict=True) if c == k) for j in range(X.shape[1])]
             for k in range(classes)]  # fmt: skip
    sizes = [int((codes == k).sum()) for k in range(classes)]
    products = []
    for x in rows.astype(int):
        of_row = []
        for k in range(classes):
            if kind == "multinomial":
                total = sum(table[k]) + s * X.shape[1]
                factors = [((n + s) / total) ** int(v) for n, v in zip(table[k], x, strict=True)]
            else:
                total = sizes[k] + 2 * s
                factors = [(n + s) / total if v else (sizes[k] - n + s) / total
                           for n, v in zip(table[k], x, strict=True)]  # fmt: skip
            of_row.append(Fraction(sizes[k], len(X)) * prod(factors))
        products.append(of_row)
    return products


@st.composite
def counted(draw, high):
    classes = draw(st.integers(2, 4))
    n, p = draw(st.integers(classes, 9)), draw(st.integers(1, 5))
    X = draw(arrays(float, (n, p), elements=st.integers(0, high)))
    codes = codes_of([*range(classes), *draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n))][:n])
    rows = draw(arrays(float, (6, p), elements=st.integers(0, high)))
    return X, codes, rows, classes, draw(st.sampled_from([1.0, 0.5, 2.0, 0.1, 1e-3]))


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli"])
@given(data=st.data())
def test_the_answer_is_the_largest_exact_product_and_ties_go_to_the_lower_class(kind, data):
    X, codes, rows, classes, smoothing = data.draw(counted(3 if kind == "multinomial" else 1))
    tally = ClassCounts.start(kind, classes, X.shape[1]).plus(data_of(X), codes, NO_WEIGHTS)
    priors = priors_of(None, tally.class_count, range(classes))
    found = tally.found(priors, smoothing, 0.0, range(classes))
    scores = level_ties(times(data_of(rows), found.weights), data_of(rows), found.weights, found.size, 1.0)
    answers = (scores[:, 0] > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    for answer, products in zip(answers, exact_products(kind, X, codes, rows, classes, smoothing), strict=True):
        best = max(products)
        sure = [k for k, product in enumerate(products) if product * (1 + Fraction(1, 10**12)) >= best]
        if all(products[k] == best for k in sure):
            assert answer == sure[0]
        else:
            assert answer in sure


def test_ties_that_floats_break_are_leveled():
    """Classes with the same counts in another order: 2 * 3 and 6, 2 * 2 and 4 often meet."""
    rng = np.random.default_rng(2)
    broken = 0
    for _ in range(100):
        X, rows = rng.integers(0, 6, (2, 4)).astype(float), rng.integers(0, 4, (40, 4)).astype(float)
        X[1] = rng.permutation(X[0])
        codes = codes_of([0, 1])
        found = multinomial(X, np.array([0.5, 0.5]), 1.0, "ab")
        raw = times(data_of(rows), found.weights)
        scores = level_ties(raw.copy(), data_of(rows), found.weights, found.size, 1.0)[:, 0]
        for k, (a, b) in enumerate(exact_products("multinomial", X, codes, rows, 2, 1)):
            assert np.sign(scores[k]) == (b > a) - (b < a)
            broken += a == b and raw[k, 0] != 0
    assert broken > 30  # else there was nothing to level


def test_leveling_leaves_what_differs():
    rows, weights = data_of([[1.0], [2.0], [0.0]]), np.array([[1e-12], [0.0]])
    scores = times(rows, weights)
    assert np.array_equal(level_ties(scores.copy(), rows, weights, np.ones(1), 1.0), scores)
    weights = np.array([[1e-15], [-1e-15]])
    assert level_ties(times(rows, weights), rows, weights, np.full(1, 8.0), 1.0).tolist() == [[0.0], [0.0], [0.0]]


def cycled(rng, more=0.0):
    """Counts of two classes, three of them in another order, so that 600 of each are a tie; the second has more."""
    a, big = rng.integers(20, 60, 3), 2.0**49
    return np.array([[*a, big], [*np.roll(a, 1), big + more]]), np.array([600.0, 600.0, 600.0, 5.0])


def exact_log_odds(table, x):
    """ln of the quotient of the exact products of two classes with smoothing 1, by its distance from 1.

    The products are a / below and b / beneath, all of them integers; the quotient of integers is rounded but once.
    """
    a, b = (prod((int(n) + 1) ** int(v) for n, v in zip(of, x, strict=True)) for of in table)
    below, beneath = ((int(sum(of)) + len(of)) ** int(sum(x)) for of in table)
    return (b * below - a * beneath) / (a * beneath)


@pytest.mark.slow
@both
@pytest.mark.parametrize("more", [-1.0, 1.0, 2.0, 40.0, -400.0])
def test_log_odds_above_1e_12_decide_thousands_of_counts(form, more):
    rng = np.random.default_rng(5)
    for _ in range(20):
        table, x = cycled(rng, more)
        odds = exact_log_odds(table, x)
        assert 1e-12 < abs(odds) < 2e-9
        found = multinomial(table, np.array([0.5, 0.5]), 1.0, "ab")
        assert np.sum(x * np.abs(found.weights[:-1, 0])) < 2000
        score = level_ties(times(data_of([x], form), found.weights), data_of([x], form), found.weights, found.size, 1.0)
        assert score[0, 0] == pytest.approx(odds, abs=1e-12)
        assert np.sign(score[0, 0]) == np.sign(odds)


@pytest.mark.slow
@both
def test_ties_of_thousands_of_counts_stay_ties(form):
    rng = np.random.default_rng(6)
    broken = 0
    for _ in range(40):
        table, x = cycled(rng)
        assert exact_log_odds(table, x) == 0
        for smoothing in (1.0, 0.1):
            found = multinomial(table, np.array([0.5, 0.5]), smoothing, "ab")
            raw = times(data_of([x], form), found.weights)
            broken += raw[0, 0] != 0
            assert level_ties(raw, data_of([x], form), found.weights, found.size, 1.0)[0, 0] == 0.0
    assert broken > 20  # else there was nothing to level


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", [1.0, 0.1, 1e-3])
@given(table=arrays(float, (2, 4), elements=st.integers(0, 10**6)), rows=st.integers(10**6, 10**7))
def test_weights_of_two_classes_are_off_by_their_last_bit(smoothing, table, rows):
    def exact(quotient):
        return (Decimal(quotient.numerator) / Decimal(quotient.denominator)).ln()

    s, half = Fraction(smoothing), np.array([0.5, 0.5])
    counts = [[Fraction(n) + s for n in of] for of in table]
    groups = np.array([1, 0, 1, 0])
    per_group = [[sum(of[k] for k in range(4) if groups[k] == g) for g in groups] for of in counts]
    absent = [[Fraction(rows) - Fraction(n) + s for n in of] for of in table]
    with localcontext() as context:
        context.prec = 50
        for found, divisor in (
            (multinomial(table, half, smoothing, "ab"), [[sum(of)] * 4 for of in counts]),
            (categorical(table, groups, half, smoothing, "ab"), per_group),
            (bernoulli(np.full(2, float(rows)), table, half, smoothing, "ab"), absent),
        ):
            for j, w in enumerate(found.weights[:-1, 0]):
                true = exact(counts[1][j] / divisor[1][j] / (counts[0][j] / divisor[0][j]))
                assert abs(Decimal(w) - true) <= Decimal(1.5 * EPS) * abs(true) + Decimal("1e-28")


def test_many_ties_are_leveled_in_little_time():
    rng = np.random.default_rng(7)
    X = rng.integers(0, 3, (20_000, 30)).astype(float)
    found = multinomial(
        np.repeat(rng.integers(0, 9, (4, 30)), 2, axis=0).astype(float), np.full(8, 1 / 8), 1.0, "abcdefgh"
    )
    scores = times(data_of(X), found.weights)
    began = time.process_time()
    answers = level_ties(scores, data_of(X), found.weights, found.size, 1.0).argmax(axis=1)
    assert time.process_time() - began < 5.0
    assert set(answers.tolist()) <= {0, 2, 4, 6}


@both
def test_leveling_in_pieces(form, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (50, 4)).astype(float)
    found = multinomial(rng.integers(0, 4, (3, 4)).astype(float), np.full(3, 1 / 3), 1.0, "abc")
    scores = times(data_of(X), found.weights)
    expected = level_ties(scores.copy(), data_of(X), found.weights, found.size, 1.0)
    monkeypatch.setattr(naive_bayes.precision, "AT_ONCE", 1)
    assert np.array_equal(level_ties(scores.copy(), data_of(X, form), found.weights, found.size, 1.0), expected)


def test_equal_probabilities_have_weight_0_exactly():
    counts = np.array([[1.0, 3.0, 7.0], [3.0, 7.0, 15.0]])  # plus 1: 2, 4, 8 of 14; 4, 8, 16 of 28
    assert multinomial(counts, np.array([0.5, 0.5]), 1.0, "ab").weights.tolist() == [[0.0]] * 4


def test_smoothing_0_names_what_never_occurs():
    counts, weight, priors = np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([2.0, 3.0]), np.array([0.4, 0.6])
    with pytest.raises(ValueError, match="the class 'b' never has feature 1, which with alpha=0"):
        multinomial(counts, priors, 0.0, "ab")
    with pytest.raises(ValueError, match="the class 'a' always has feature 1, which with alpha=0"):
        bernoulli(weight, np.array([[1.0, 2.0], [1.0, 1.0]]), priors, 0.0, "ab")
    assert np.isfinite(multinomial(counts + 1, priors, 0.0, "ab").weights).all()


def test_counts_beyond_all_floats():
    with pytest.raises(ValueError, match="the counts are too large for float64"):
        multinomial(np.full((2, 2), 1.7e308), np.array([0.5, 0.5]), 1.0, "ab")


def test_gaussian_without_variance():
    weight, priors = np.array([2.0, 2.0]), np.array([0.5, 0.5])
    mean, squares = np.array([[1.0, 3.0, 0.1], [5.0, 3.0, 0.7]]), np.array([[2.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    with pytest.raises(
        ValueError, match=r"feature 2 does not vary .* \(class 'a': 0.1, class 'b': 0.7\).*variance_floor"
    ):
        gaussian(Moments(weight, mean, squares), priors, 0.0, "ab")
    found = gaussian(Moments(weight, mean, squares), priors, 1e-3, "ab").weights[:, 0]
    np.testing.assert_allclose(found, [4.0, 0.0, 600.0, -12.0 - 240.0], rtol=1e-12)
    with pytest.raises(ValueError, match=r"no feature varies within a class, so that variance_floor.* is 0 as well"):
        gaussian(Moments(weight, mean, 0 * squares), priors, 1e-3, "ab")
    with pytest.raises(ValueError, match="raise variance_floor above 1e-40"):
        gaussian(Moments(weight, mean, squares), priors, 1e-40, "ab")
    with pytest.raises(ValueError, match="the class 'b' has had no rows, and so has no mean"):
        gaussian(Moments(np.array([2.0, 0.0]), mean, squares), priors, 0.0, "ab")


@pytest.mark.parametrize("priors", [[0.5], [0.5, 0.6], [1.0, 0.0], [0.5, np.nan], [[0.5, 0.5]]])
def test_bad_priors(priors):
    with pytest.raises(ValueError, match="give 2 numbers above 0 that add up to 1"):
        priors_of(priors, np.ones(2), "ab")


def test_a_class_without_rows_has_no_share():
    with pytest.raises(ValueError, match="the class 'b' has had no rows"):
        priors_of(None, np.array([1.0, 0.0]), "ab")
    assert priors_of([0.25, 0.75], np.array([1.0, 0.0]), "ab").tolist() == [0.25, 0.75]


@both
def test_what_is_present_in_pieces(form, monkeypatch):
    X = np.random.default_rng(4).normal(size=(20, 3)).clip(0)
    monkeypatch.setattr(naive_bayes.rows, "AT_ONCE", 7)
    parts = list(present(data_of(X, form), 0.3))
    assert len(parts) > 3
    table = np.zeros((1, 3))
    for rows, part in parts:
        count(part, codes_of([0] * 20)[rows], NO_WEIGHTS, 1, table=table)
    assert table.tolist() == [(X > 0.3).sum(axis=0).tolist()]


@both
def test_bad_rows_are_named(form, monkeypatch):
    monkeypatch.setattr(naive_bayes.rows, "AT_ONCE", 4)
    groups = np.array([0, 0, 1, 1])
    rows = [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    refuse_not_one_hot(data_of(rows, form), groups)
    with pytest.raises(ValueError, match=r"ones in columns 2 and 3 of row 3, .*groups=1"):
        refuse_not_one_hot(data_of([*rows, [1.0, 0.0, 1.0, 1.0]], form), groups)
    with pytest.raises(ValueError, match="the entry 2 in row 3, column 1: kind='categorical' takes one-hot"):
        refuse_not_one_hot(data_of([*rows, [0.0, 2.0, 1.0, 0.0]], form), groups)
    with pytest.raises(ValueError, match=r"Negative values in data .*: X has -0\.5 in row 1, column 0"):
        refuse_negative(data_of([[0.0, 1.0], [-0.5, 0.0]], form))


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "other"},
        {"feature_count": np.ones((2, 2))},
        {"feature_count": np.full((2, 3), -1.0)},
        {"class_count": np.array([1.0, np.nan])},
        {"class_count": [1.0, 2.0]},
        {"mean": np.zeros((2, 3))},
        {"groups": np.zeros(3, np.int64)},
        {"binarize": -1.0},
    ],
)
def test_forged_counts_are_refused(change):
    tally = ClassCounts.start("multinomial", 2, 3)
    tally.refuse_unsound(2, 3)
    with pytest.raises(ValueError, match=next(iter(change))):
        tally._replace(**change).refuse_unsound(2, 3)
