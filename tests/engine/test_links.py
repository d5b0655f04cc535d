"""Links at extreme rates: no overflow, no doubt about a sign but at a tie."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array
from scipy.special import logsumexp

from linsep import BalancedWinnow, PNormPerceptron, Winnow
from linsep.engine.links import image_of
from tests.contracts.table import bits, quiet

RATES = [1e-12, 1e-6, 1e-3, 0.5, 30.0, 1e3, 1e6]
FORMS = {
    "exponential": lambda rate: Winnow(eta=rate, x_max=None, **IN_ORDER),
    "sinh": lambda rate: BalancedWinnow(eta=rate, x_max=None, **IN_ORDER),
    "p-norm": lambda rate: PNormPerceptron(p=2 + rate, **IN_ORDER),
}
IN_ORDER = {"shuffle": False, "max_iter": 4, "log": True, "intercept_scaling": 1.0}

each_form = pytest.mark.parametrize("form", FORMS)


def terms(form, rate, s, x, bias):
    """The terms of a score as signs and logarithms, on features and bias; Winnow's bias is two features."""
    s, x = (np.append(a, b) for a, b in ((s[:-1], s[-1]), (x, bias)))
    with np.errstate(divide="ignore"):
        size = np.log(np.abs(x))
        if form == "exponential":
            down = size[-1] - rate * s[-1]
            return np.append(np.sign(x), -np.sign(x[-1])), np.append(size + rate * s, down)
        if form == "sinh":
            return np.sign(x * s), size + rate * np.abs(s) + np.log(-np.expm1(-2 * rate * np.abs(s)))
        return np.sign(x * s), size + (1 + rate) * np.log(np.abs(s))


def sign(form, rate, s, x, bias):
    """The sign of the score, and whether it is beyond doubt; from logarithms alone."""
    signs, logs = terms(form, rate, s, x, bias)
    up, down = (logsumexp(logs[signs == k]) if (signs == k).any() else -np.inf for k in (1, -1))
    if up == down == -np.inf:
        return 0, True
    near = abs(up - down) <= 1e-9 * max(1.0, *np.abs(logs[np.isfinite(logs)]), rate)
    return (1 if up > down else -1), not near


def replay(form, rate, X, y, epochs, bias):
    """The rounds of the mistakes, as far as all signs are beyond doubt."""
    s, mistakes = np.zeros(X.shape[1] + 1), []
    for t, i in enumerate(np.tile(np.arange(len(y)), epochs), start=1):
        score, sure = sign(form, rate, s, X[i], bias)
        # Before the first mistake all weights are equal, and all sums exact.
        if not sure and mistakes:
            return mistakes, t
        if not sure:
            score = np.sign(X[i].sum()) if form == "exponential" else 0
        if (2 * y[i] - 1) * score <= 0:
            mistakes.append(t)
            s += (2 * y[i] - 1) * np.append(X[i], bias)
    return mistakes, np.inf


@st.composite
def rows(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, p = draw(st.integers(3, 12)), draw(st.integers(1, 5))
    X = rng.integers(-3, 4, (n, p)).astype(float)
    return X, rng.permutation(np.arange(n) % 2)


@pytest.mark.slow
@each_form
@pytest.mark.parametrize("rate", RATES)
@given(rows(), st.booleans(), st.booleans())
@settings(max_examples=15)
@pytest.mark.filterwarnings("ignore:Winnow without a bias")
def test_mistakes_are_those_of_the_logarithms(form, rate, data, sparse, bias):
    X, y = data
    learner = FORMS[form](rate).set_params(fit_intercept=bias)
    with np.errstate(all="raise", under="ignore"):
        quiet(learner.fit, csr_array(X) if sparse else X, y)
    expected, until = replay(form, rate, X, y, learner.n_iter_, float(bias))
    found = learner.log_.rounds
    assert found[found < until].tolist() == [t for t in expected if t < until]


@each_form
@pytest.mark.parametrize("rate", RATES)
@given(rows(), st.booleans())
@settings(max_examples=10)
def test_answers_have_the_sign_of_the_logarithms(form, rate, data, sparse):
    """A score too small for a float is the smallest of its sign; weights are finite, and sum to at most 1."""
    X, y = data
    learner = quiet(FORMS[form](rate).fit, X, y)
    s = learner._state.link.s[:, 0]
    scores = learner.decision_function(csr_array(X) if sparse else X)
    assert np.isfinite(scores).all()
    for x, score in zip(X, scores, strict=True):
        expected, sure = sign(form, rate, s, x, 1.0)
        assert not sure or np.sign(score) == expected
    assert np.isfinite(learner.coef_).all()
    if form != "p-norm":
        assert np.abs(learner.coef_).sum() + np.abs(learner.intercept_).sum() <= 1 + 1e-12


@each_form
@pytest.mark.parametrize("rate", RATES)
def test_columns_are_the_single_machine(form, rate):
    """Three columns, one of them the background, each with an image and an origin of its own."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    one = FORMS[form](rate).partial_fit(X, y, classes=[0, 1])
    columns = FORMS[form](rate).partial_fit(X, y)
    assert bits(columns.log_.rounds) == bits(one.log_.rounds)
    assert bits(columns.coef_) == bits(one.coef_)


@each_form
@pytest.mark.parametrize("rate", RATES)
def test_the_image_is_a_function_of_the_sums_and_the_origin(form, rate):
    """However often the origin has moved, what was touched one by one is what would be made at once."""
    rng = np.random.default_rng(1)
    X, y = rng.integers(-3, 4, (200, 4)).astype(float), rng.integers(0, 2, 200)
    link = quiet(FORMS[form](rate).fit, X, y)._state.link
    anew = [image_of(link, j, s, link.origin[0]) for j, s in enumerate(link.s[:, 0])]
    assert bits(link.image[:, 0]) == bits(np.array(anew))
    assert link.origin[0] > 0 or rate < 1


@pytest.mark.parametrize("form", ["sinh", "p-norm"])
def test_at_the_lowest_rate_the_image_is_the_sum(form):
    """sinh(eta s) ~ eta s, without cancellation; and p = 2 is the perceptron."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    link = quiet(FORMS[form](1e-12).fit, X, y)._state.link
    s, image = link.s[:, 0], link.image[:, 0]
    np.testing.assert_allclose(image / np.abs(image).max(), s / np.abs(s).max(), rtol=1e-10)


@each_form
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_new_features_and_labels_meet_an_origin_that_has_moved(form, multi_class):
    """The image of a sum that has always been 0 is then not the first one; the run is that of a wide table.

    On reals: where integers cancel, the order of the sum would decide, and with it the width of the table.
    """
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(400, 4)), rng.integers(0, 3, 400)
    narrow, wide = (FORMS[form](2000.0).set_params(multi_class=multi_class) for _ in range(2))
    start = FORMS[form](2000.0).partial_fit(X[:1], y[:1])._state.link.origin[0]
    link = narrow.partial_fit(X, y).grow(6)._state.link
    assert (link.origin != start).any()
    assert link.image[4:6].tolist() == 2 * [[image_of(link, 4, 0.0, origin) for origin in link.origin]]
    later = np.hstack([X, X[:, :2]])
    narrow.partial_fit(later, y)
    wide.partial_fit(np.hstack([X, np.zeros((400, 2))]), y).partial_fit(later, y)
    assert bits(narrow.log_.rounds) == bits(wide.log_.rounds)
    assert bits(narrow._state.link.s) == bits(wide._state.link.s)
    if multi_class == "joint":
        state = narrow._state.copy()
        state.admit(1)
        fresh = [image_of(state.link, j, 0.0, state.link.origin[1]) for j in range(7)]
        assert state.link.image[:, 1].tolist() == fresh
