"""Kernels and matrices that can't be learned from, or answered with: clear errors, nothing half-trained."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from linsep import KernelPerceptron, rules
from tests.estimators.readouts import portrait, same_answers
from tests.fits import fit

rng = np.random.default_rng(3)
X = rng.integers(-3, 4, (30, 3)).astype(float)
y = rng.permutation(np.arange(30) % 2)
GRAM = (1 + X @ X.T) ** 2


def linear(A, B):
    return A @ B.T


def matches(A):
    """Which rows are X[7]."""
    return np.array([np.array_equal(a, X[7]) for a in A])


def spoilt(value):
    """A kernel with one bad value, that of the row X[7] with itself."""

    def kernel(A, B):
        K = np.array(A @ B.T, float)
        K[np.outer(matches(A), matches(B))] = value
        return K

    return kernel


BAD_KERNELS = {
    "NaN": (spoilt(np.nan), "(?i)nan"),
    "infinity": (spoilt(np.inf), "(?i)inf"),
    "minus infinity": (spoilt(-np.inf), "(?i)inf"),
    "too few columns": (lambda A, B: np.ones((len(A), len(B) - 1)), "shape"),
    "one column too many": (lambda A, B: np.ones((len(A), len(B) + 1)), "shape"),
    "a flat array": (lambda A, B: np.ones(len(A) * len(B)), "shape"),
    "one number": (lambda A, B: 1.0, "shape"),
    "words": (lambda A, B: [["a"] * len(B)] * len(A), "kernel"),
    "complex numbers": (lambda A, B: 1j * (A @ B.T), "kernel"),
    "nothing": (lambda A, B: None, "kernel"),
    "ragged lists": (lambda A, B: [[1.0] * (i + 1) for i in range(len(A))], "kernel"),
}


@pytest.mark.parametrize("case", BAD_KERNELS)
@pytest.mark.parametrize("train", ["fit", "partial_fit"])
def test_a_bad_kernel_trains_nothing(case, train):
    kernel, reason = BAD_KERNELS[case]
    learner = KernelPerceptron(kernel=kernel, random_state=0)
    with pytest.raises((ValueError, TypeError), match=reason):
        getattr(learner, train)(X, y)
    with pytest.raises(NotFittedError):
        learner.predict(X)
    assert not hasattr(learner, "classes_")
    assert not hasattr(learner, "n_features_in_")


@pytest.mark.parametrize("case", ["NaN", "infinity"])
def test_a_kernel_that_turns_bad_leaves_the_learner_as_it_was(case):
    """The row that spoils it comes in the second block; a block that is sound goes on from the first."""
    kernel, reason = BAD_KERNELS[case]
    assert not matches(X[:5]).any()
    learner, sound = (KernelPerceptron(kernel=k).partial_fit(X[:5], y[:5], classes=[0, 1]) for k in (kernel, linear))
    before = portrait(learner, X[:5])
    with pytest.raises(ValueError, match=reason):
        learner.partial_fit(X[5:], y[5:])
    same_answers(portrait(learner, X[:5]), before)
    same_answers(portrait(sound, X[:5]), before)
    more = np.flatnonzero(~matches(X))[5:]
    learner.partial_fit(X[more], y[more])
    sound.partial_fit(X[more], y[more])
    same_answers(portrait(learner, X[more]), portrait(sound, X[more]))


def test_a_kernel_that_is_bad_where_it_is_asked():
    def kernel(A, B):
        return np.where(np.abs(A @ B.T) > 1e6, np.nan, A @ B.T)

    learner = fit(KernelPerceptron(kernel=kernel, random_state=0, max_iter=2), X, y)
    for question in (learner.predict, learner.decision_function, learner.readings):
        with pytest.raises(ValueError, match=r"(?i)nan"):
            question([[1e9, -1e9, 1e9]])


def test_an_error_of_the_kernels_own_is_not_hidden():
    def kernel(A, B):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        KernelPerceptron(kernel=kernel).fit(X, y)


@pytest.mark.parametrize("gram", [GRAM[:, :29], GRAM[:29], np.ones((30, 1))], ids=["wide", "high", "one column"])
def test_a_precomputed_matrix_is_square(gram):
    learner = KernelPerceptron(kernel="precomputed")
    with pytest.raises(ValueError, match=f"{gram.shape[0]}.*{gram.shape[1]}|square"):
        learner.fit(gram, y[: len(gram)])
    with pytest.raises(NotFittedError):
        learner.predict(GRAM)


@pytest.mark.parametrize("columns", [29, 31, 3])
def test_a_precomputed_question_has_a_column_for_each_row_of_training(columns):
    learner = fit(KernelPerceptron(kernel="precomputed", max_iter=2, random_state=0), GRAM, y)
    for question in (learner.predict, learner.decision_function, learner.readings):
        with pytest.raises(ValueError, match=f"{columns}.*30|30.*{columns}"):
            question(np.ones((4, columns)))
    assert learner.predict(GRAM[:4]).shape == (4,)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_precomputed_matrix_with_a_bad_entry(value):
    gram = GRAM.copy()
    gram[3, 4] = value
    with pytest.raises(ValueError, match=r"(?i)row 3, column 4|row 3.*row 4|nan|inf"):
        KernelPerceptron(kernel="precomputed").fit(gram, y)


def test_a_precomputed_matrix_has_no_stream():
    learner = KernelPerceptron(kernel="precomputed")
    with pytest.raises((ValueError, AttributeError, TypeError), match="precomputed"):
        learner.partial_fit(GRAM, y)
    fit(learner.set_params(max_iter=2, random_state=0), GRAM, y)
    with pytest.raises((ValueError, AttributeError, TypeError), match="precomputed"):
        learner.learn_one(GRAM[0], 1)


@pytest.mark.parametrize("form", [np.array, csr_array])
def test_a_degree_that_is_too_high_names_the_value_and_the_cure(form):
    """(1 + x.x)^degree of the row with x.x = 3e10 is beyond float64."""
    rows = X.copy()
    rows[11] = 1e5
    learner = KernelPerceptron(degree=40, random_state=0)
    with pytest.raises(ValueError, match=r"(?s)3e\+10.*40.*(divide|[Ss]cal)"):
        learner.fit(form(rows), y)
    with pytest.raises(NotFittedError):
        learner.predict(X)
    trained = KernelPerceptron(degree=40).partial_fit(X[:9], y[:9], classes=[0, 1])
    before = portrait(trained, X)
    with pytest.raises(ValueError, match=r"3e\+10"):
        trained.partial_fit(form(rows[9:]), y[9:])
    same_answers(portrait(trained, X), before)
    with pytest.raises(ValueError, match=r"\^40|degree"):
        trained.predict(form(1e9 * rows))


def test_sums_of_kernels_that_are_too_large():
    """Each value is a float64, 1e300, and its product with a row's weight is not."""
    rows, labels = np.full((4, 1), 1e75), [0, 1, 0, 1]
    learner = KernelPerceptron(coef0=0.0, shuffle=False, max_iter=1)
    fit(learner, rows, labels)
    before = portrait(learner, rows)
    with pytest.raises(ValueError, match="too large for float64"):
        learner.fit(rows, labels, sample_weight=np.full(4, 1e10))
    same_answers(portrait(learner, rows), before)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kernel": "polynomial"}, {"kernel": 3}, {"degree": 0}, {"degree": 1.5}, {"gamma": 0.0}, {"gamma": -1.0},
        {"gamma": np.nan}, {"coef0": np.inf}, {"readout": "votes"}, {"normalize": "yes"}, {"max_support": 0},
        {"cache_size": -1.0}, {"rule": rules.Perceptron}, {"rule": "perceptron"},
    ],
    ids=str,
)  # fmt: skip
def test_what_has_no_meaning_is_refused_by_name(wrong):
    learner = KernelPerceptron(**wrong)
    with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
        learner.fit(X, y)
    assert not hasattr(learner, "classes_")


def test_training_goes_on_with_the_kernel_that_it_began_with():
    learner = KernelPerceptron(random_state=0).partial_fit(X[:9], y[:9], classes=[0, 1])
    before = portrait(learner, X)
    for other in ({"degree": 3}, {"kernel": "rbf"}, {"coef0": 2.0}):
        own = {name: getattr(learner, name) for name in other}
        with pytest.raises(ValueError, match=r"kernel|degree|coef0"):
            learner.set_params(**other).partial_fit(X[9:], y[9:])
        same_answers(portrait(learner.set_params(**own), X), before)


def test_other_features_are_refused():
    learner = fit(KernelPerceptron(max_iter=2, random_state=0), X, y)
    with pytest.raises(ValueError, match=r"2 features.*3"):
        learner.predict(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        learner.predict(X * np.nan)
