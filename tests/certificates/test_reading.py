"""Rows and labels of a certificate: read once, and read whatever they are."""

import numpy as np
import pandas as pd
import pytest

from linsep import certify, verify
from linsep.certificates import reading

X = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]]
Y = ["no", "yes", "yes"]


def test_columns_of_objects_are_searched_once(monkeypatch):
    table = pd.DataFrame({f"column {j}": np.arange(3.0).astype(object) for j in range(20)})
    searches = []
    search = reading._refuse_objects
    monkeypatch.setattr(reading, "_refuse_objects", lambda X: searches.append(X) or search(X))
    assert verify(certify(table, Y), table, Y)
    assert len(searches) == 2  # once by certify, once by verify


def test_columns_may_share_a_name():
    table = pd.DataFrame(X, columns=["a", "a"])
    assert verify(certify(X, Y), table, Y)
    assert certify(table, Y).facts == certify(X, Y).facts


class Broken:
    """Raises an error of another kind at each way to read it."""

    shape, columns = (3, 2), ["a", "b"]

    def __getitem__(self, name):
        raise RuntimeError("the column is gone")


class Unreadable:
    def __array__(self, dtype=None, copy=None):
        raise OSError("the file is gone")


@pytest.mark.parametrize(("data", "reason"), [(Broken(), "the column is gone"), (Unreadable(), "the file is gone")])
def test_verify_never_raises(data, reason):
    result = verify(certify(X, Y), data, Y)
    assert not result
    assert reason in str(result)


def test_no_labels_are_named():
    assert "y is None: give a label for each row" in str(verify(certify(X, Y), X, None))


@pytest.mark.parametrize("wrong", [{"passes": [1, 5]}, {"bias": "x"}, {"epsilon": None}, {"time_limit": "1"}])
def test_an_argument_that_is_not_a_number_is_named(wrong):
    [name] = wrong
    with pytest.raises(ValueError, match=f"^{name}=.* is not a number"):
        certify(X, Y, **wrong)
