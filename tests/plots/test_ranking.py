"""Learners side by side: ranked, with their numbers on their own lines."""

from types import SimpleNamespace

import numpy as np
import pytest

from linsep.plots import Result, comparison
from linsep.plots.evaluation import ranking_size
from tests.plots.drawing import overhang, place, title

RESULTS = [
    Result("slow", 0.05, 12.4, 310),
    {"name": "winnow", "error": 0.18, "seconds": 0.0034, "mistakes": np.array([1000, 234])},
    SimpleNamespace(name="quick", error=0.05, seconds=0.25),
    {"name": "unknown", "error": 0.5, "seconds": float("nan")},
]


def lines(ax):
    """The texts on each learner's line, from left to right."""
    found = {}
    for text in ax.texts:
        found.setdefault(text.xy[1], []).append(text.get_text())
    return list(found.values())


def test_learners_are_ranked_by_error_then_by_time():
    ax = comparison(RESULTS, ax=place())
    assert [text.get_text() for text in ax.get_yticklabels()] == ["quick", "slow", "winnow", "unknown"]
    np.testing.assert_array_equal(ax.collections[-1].get_offsets()[:, 0], [0.05, 0.05, 0.18, 0.5])
    assert title(ax) == "Lowest test error: 2 learners alike"
    assert lines(ax) == [
        ["error", "time", "mistakes"],
        ["5.0 %", "0.25 s", "–"],
        ["5.0 %", "12 s", "310"],
        ["18.0 %", "3.4 ms", "1,234"],
        ["50.0 %", "–", "–"],
    ]


def test_columns_that_nobody_has_are_left_out():
    ax = comparison([{"name": "a", "error": 0}], ax=place())
    assert lines(ax) == [["error"], ["0 %"]]
    assert title(ax) == "Lowest test error: a"


def test_long_names_stay_within_the_figure():
    results = [Result(f"{k} {'a long name of a learner ' * 2}"[:40], k / 20, 1e5, 10**9) for k in range(12)]
    assert overhang(comparison(results, ax=place(*ranking_size(12)))) < 0.02


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([], "results is empty"),
        ([{"name": "a"}], "has a name and an error at least"),
        ([{"name": "a", "error": 5.0}], "the error of a is 5.0"),
        ([{"name": "a", "error": float("nan")}], "the error of a is nan"),
    ],
)
def test_bad_results_are_refused(results, message):
    with pytest.raises(ValueError, match=message):
        comparison(results)
