"""The progressive error over the rows learned."""

import numpy as np
import pytest

from linsep.plots import progress
from tests.plots.drawing import place, title


def test_the_curve_is_what_was_given():
    rows, errors = 2.0 ** np.arange(11), 1 / np.sqrt(2.0 ** np.arange(11))
    ax = progress(rows, errors, ax=place())
    np.testing.assert_array_equal(ax.lines[0].get_data(), [rows, errors])
    assert ax.get_xscale() == "log"
    assert ax.get_ylim()[0] == 0
    assert title(ax) == "Progressive error: 3.1 % after 1,024 rows"


def test_one_point_and_no_error_at_all():
    assert title(progress([1], [1], ax=place())) == "Progressive error: 100 % after 1 row"
    assert title(progress([1, 2], [0, 0], ax=place())) == "Progressive error: 0 % after 2 rows"


@pytest.mark.parametrize(
    ("rows", "errors", "message"),
    [
        ([], [], "rows is empty"),
        ([1, 2], [0.5], "rows has 2 entries and errors has 1"),
        ([0, 1], [0.5, 0.5], "rows has 0 at place 0"),
        ([1, 3, 3], [0.5, 0.5, 0.5], "rows has 3 at place 2"),
        ([1, 2], [0.5, 5.0], "errors has 5 at place 1"),
        ([1, 2], [0.5, np.nan], "errors has nan at place 1"),
    ],
)
def test_bad_numbers_are_refused(rows, errors, message):
    with pytest.raises(ValueError, match=message):
        progress(rows, errors)
