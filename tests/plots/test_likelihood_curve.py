"""The likelihood as a solver climbs: its points, its ends, what is refused."""

import numpy as np
import pytest

from linsep import LogisticRegression
from linsep.plots import ascent
from tests.contracts.table import problem


@pytest.mark.parametrize("solver", ["batch", "newton"])
def test_the_line_is_the_history(solver):
    X, y = problem()
    clf = LogisticRegression(solver=solver, prior_variance=1.0).fit(X, y)
    ax = ascent(clf.history_)
    x, drawn = ax.lines[0].get_data()
    assert x.tolist() == list(range(len(clf.history_)))
    assert drawn.tolist() == clf.history_
    assert (np.diff(drawn) >= -1e-9).all()
    assert f"{clf.history_[-1]:.4g}" in ax.get_title(loc="left")
    assert ax.get_xlabel() == "steps"


def test_what_is_no_history():
    with pytest.raises(ValueError, match="history is empty"):
        ascent([])
    with pytest.raises(ValueError, match="history"):
        ascent([0.0, np.nan])
    assert ascent([-1.0]).get_title(loc="left") == "Log-likelihood: -1 after 0 steps"
