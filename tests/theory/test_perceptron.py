"""The loop that locates a misclassified row and corrects it, against its plain reference."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csr_array

from linsep.theory import locate_and_correct
from tests import references as ref
from tests.fits import close
from tests.problems import KINDS, float_rows, integer_rows

every_way = pytest.mark.parametrize("select", ["first", "worst", "random"])
betas = st.sampled_from([0.0, 1.0, 0.5])


@pytest.mark.slow
@every_way
@pytest.mark.parametrize("kind", KINDS)
@given(problem=integer_rows(), beta=betas, seed=st.integers(0, 99), most=st.integers(1, 30))
def test_integer_rows_are_corrected_as_by_the_reference(select, kind, problem, beta, seed, most):
    X, y = problem
    found = locate_and_correct(KINDS[kind](X), y, select=select, bias=beta, max_iter=most, seed=seed)
    run = ref.batch(ref.perceptron, X, y, select, most, beta, seed)
    assert found.rows.tolist() == [row for _, row in run.mistakes]
    assert np.append(found.coef, [found.intercept / beta] if beta else []).tolist() == run.w.tolist()
    assert found.separates == bool((y * (ref.one_bias(X, beta) @ run.w) > 0).all())


@pytest.mark.slow
@every_way
@pytest.mark.parametrize("kind", KINDS)
@given(problem=float_rows(), beta=betas)
def test_real_rows_are_corrected_as_by_the_reference(select, kind, problem, beta):
    X, y = problem
    found = locate_and_correct(KINDS[kind](X), y, select=select, bias=beta, max_iter=15)
    run = ref.batch(ref.perceptron, X, y, select, 15, beta)
    early = [row for t, row in run.mistakes if t < run.tie]
    assert found.rows[: len(early)].tolist() == early
    if run.tie == np.inf:
        close(np.append(found.coef, [found.intercept / beta] if beta else []), run.w)


def test_the_larger_label_is_positive():
    found = locate_and_correct([[1.0], [-1.0]], ["yes", "no"], bias=0)
    assert found.coef.tolist() == [1.0]
    assert found.intercept == 0.0


@every_way
def test_rows_that_contradict_each_other_take_all_corrections(select):
    found = locate_and_correct(np.ones((2, 1)), [0, 1], select=select, max_iter=7)
    assert len(found.rows) == 7
    assert not found.separates


def test_the_first_and_the_worst_row_are_what_they_say():
    """From weights 0 all margins are 0; then -1 and -3 for two of the rows left."""
    X, y = np.array([[1.0], [-1.0], [-3.0], [-5.0]]), [1, 1, 1, 0]
    assert [locate_and_correct(X, y, select=of, bias=0, max_iter=2).rows.tolist() for of in ("first", "worst")] == [
        [0, 1],
        [0, 2],
    ]


REFUSED = {
    "another way": ({"select": "last"}, "select='last' names no row: use 'first', 'worst' or 'random'"),
    "a bias below 0": ({"bias": -1.0}, "bias=-1.0"),
    "no corrections": ({"max_iter": 0}, "max_iter=0"),
    "three classes": ({"y": [0, 1, 2]}, "y has 3 classes"),
    "one class": ({"y": [1, 1, 1]}, "y has 1 classes"),
    "too few labels": ({"y": [0, 1]}, "inconsistent|3 rows|2 labels"),
    "NaN": ({"X": [[0.0], [np.nan], [1.0]]}, r"NaN \(row 1, column 0\)"),
    "infinity": ({"X": csr_array([[0.0], [np.inf], [1.0]])}, r"row 1, column 0"),
    "numbers too large": ({"X": [[1e200], [2e200], [-1e200]]}, "the score of row 0 is too large for float64"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_with_the_reason(case):
    told, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        locate_and_correct(**{"X": [[0.0], [1.0], [2.0]], "y": [0, 1, 1]} | told)
