"""No verdict is wrong or open on hostile data of 20 kinds; `python -m benchmarks.separability` tries more."""

import numpy as np
import pytest

from benchmarks.separability import KINDS, hunt, separable, signed_rows
from linsep import certify, verify
from tests.certificates import plain

HOUR = 3600.0
NOW = 1.7e9
SETS = {
    "neighbouring integers": ([[1e8], [1e8 + 1]], [0, 1], "separable"),
    "zero and 1e16": ([[0.0], [-1e16]], [0, 1], "separable"),
    "timestamps": ([[NOW], [NOW + HOUR], [NOW + 2 * HOUR], [NOW + 3 * HOUR]], [0, 0, 1, 1], "separable"),
    "timestamps in turns": ([[NOW], [NOW + HOUR], [NOW + 2 * HOUR], [NOW + 3 * HOUR]], [0, 1, 0, 1], "not separable"),
}


@pytest.mark.parametrize("name", SETS)
def test_data_far_from_the_origin_are_decided(name):
    X, y, verdict = SETS[name]
    cert = certify(X, y)
    assert cert.verdict == verdict
    assert verify(cert, X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_no_verdict_is_wrong_or_open(kind):
    counts = hunt(kind, 3, 5)
    assert counts["cases"] == 3 <= counts["problems"]
    assert not [counts[what] for what in ("wrong", "open", "rejected", "crashes") if counts[what]]


@pytest.mark.parametrize("kind", ["integers", "several classes", "CSR with duplicates"])
def test_two_oracles_agree(kind):
    for case in range(5):
        X, y = KINDS[kind](np.random.default_rng(case))
        classes = sorted({str(label) for label in y})
        for positive in (classes[-1], None)[: 1 + (len(classes) > 2)]:
            problem = {"positive": positive, "bias": 1.0}
            rows = signed_rows(problem, X, y, classes)
            assert rows == plain.rows_of(problem, X, [str(label) for label in y], classes)
            assert separable(rows) == plain.separable(rows)
