"""ROC AUC and average precision of counted scores are those of scikit-learn, whatever the blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from linsep.theory.ranking import Ranking

SCORES = st.one_of(st.sampled_from([-1.0, -0.0, 0.0, 0.5, 1e300]), st.floats(-1e308, 1e308))


def ranking_of(scores, positive, size, most=1 << 22):
    ranking = Ranking(most)
    for at in range(0, len(scores), size):
        ranking.add(scores[at : at + size], positive[at : at + size])
    return ranking


@given(st.lists(st.tuples(SCORES, st.booleans()), min_size=1, max_size=60), st.integers(1, 9))
def test_areas_are_scikit_learns(rows, size):
    scores, positive = (np.array(part) for part in zip(*rows, strict=True))
    ranking = ranking_of(scores, positive, size)
    assert ranking.counts == (np.sum(~positive), np.sum(positive))
    if positive.any():
        assert ranking.average_precision == pytest.approx(average_precision_score(positive, scores))
    else:
        assert ranking.average_precision is None
    if positive.any() and not positive.all():
        assert ranking.roc_auc == pytest.approx(roc_auc_score(positive, scores))
        false, true, _ = roc_curve(positive, scores, drop_intermediate=False)
        np.testing.assert_allclose(ranking.steps.false / np.sum(~positive), false[1:])
        np.testing.assert_allclose(ranking.steps.true / np.sum(positive), true[1:])
    else:
        assert ranking.roc_auc is None


@given(st.lists(st.tuples(st.floats(-9, 9), st.booleans()), max_size=80), st.integers(1, 80), st.integers(1, 9))
def test_merged_counts_are_those_of_all_rows(rows, cut, size):
    scores, positive = np.array([row[0] for row in rows]), np.array([row[1] for row in rows], bool)
    for most in (8, 1 << 22):
        whole = ranking_of(scores, positive, len(rows) or 1, most)
        merged = ranking_of(scores[:cut], positive[:cut], size, most).plus(
            ranking_of(scores[cut:], positive[cut:], size, most)
        )
        assert merged == whole
        assert merged.counts == whole.counts


def test_many_scores_are_rounded_to_the_bits_that_fit():
    rng = np.random.default_rng(0)
    positive = rng.random(20_000) < 0.3
    scores = rng.normal(size=20_000) + positive
    for most in (16, 256, 4096):
        ranking = ranking_of(scores, positive, 777, most)
        assert len(ranking.steps.scores) <= most
        assert ranking.counts == (np.sum(~positive), np.sum(positive))
        assert ranking.roc_auc == pytest.approx(roc_auc_score(positive, scores), abs=2 / most)
        assert ranking == ranking_of(scores[::-1], positive[::-1], 4000, most)


def test_a_merge_drops_the_bits_that_the_other_part_has_dropped():
    scores, positive = np.arange(1.0, 101.0), np.arange(100) % 3 == 0
    one, two = ranking_of(scores, positive, 100, 8), ranking_of(scores[:3], positive[:3], 3, 8)
    whole = ranking_of(np.append(scores, scores[:3]), np.append(positive, positive[:3]), 50, 8)
    assert one.plus(two) == whole
