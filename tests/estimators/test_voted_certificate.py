"""Certificates of voters: the claims are the perceptron's, and a remark says what the readout inherits of them."""

import numpy as np
import pytest

from linsep import KernelPerceptron, Perceptron, VotedPerceptron, verify
from tests.fits import fit

X = np.array([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0], [1.0, 4.0], [5.0, 1.0], [0.0, 3.0]])
TWO, THREE = np.array([0, 1, 1, 0, 1, 0]), np.array([0, 1, 1, 2, 1, 2])
MADE = {"shuffle": False, "max_iter": 2, "log": True}
DIGEST = "witnesses: sha256"
"""A voter's run tells its steps, and a perceptron's does not."""
REMARKS = {
    "vote": "the vote{} errs on new rows with probability 2 E[k] / m at most",
    "random": "a hypothesis{} that is drawn at random errs on new rows with probability E[k] / m",
    "average": "its average readout inherits no guarantee",
    "last": "its last readout inherits no guarantee",
    "longest": "its longest readout inherits no guarantee",
}


@pytest.mark.slow
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("readout", REMARKS)
def test_the_claims_are_the_perceptrons_and_the_remark_is_the_readouts(readout, y):
    voted = fit(VotedPerceptron(readout=readout, multi_class="ovr", **MADE), X, y).certificate(X, y)
    plain = fit(Perceptron(multi_class="ovr", **MADE), X, y).certificate(X, y)
    assert {**voted.claims, DIGEST: plain.claims[DIGEST]} == plain.claims
    assert verify(voted, X, y)
    whose = "" if y is TWO else " of each class's binary classifier"
    assert any(REMARKS[readout].format(whose) in remark for remark in voted.remarks)


def test_in_pairs_no_readout_inherits_a_guarantee():
    cert = fit(VotedPerceptron(multi_class="joint", **MADE), X, THREE).certificate(X, THREE)
    assert any("its vote readout inherits no guarantee" in remark for remark in cert.remarks)


def test_a_run_that_has_forgotten_is_refused():
    clf = fit(VotedPerceptron(max_support=1, when_full="forget", **MADE), X, TWO)
    with pytest.raises(ValueError, match="rounds up to 1 were forgotten: train it with a larger max_support, or none"):
        clf.certificate(X, TWO)


def test_the_run_of_a_precomputed_kernel_is_refused():
    clf = fit(KernelPerceptron(kernel="precomputed", **MADE), X @ X.T, TWO)
    with pytest.raises(ValueError, match="a precomputed kernel has none: use kernel='poly' or 'linear'"):
        clf.certificate(X @ X.T, TWO)
