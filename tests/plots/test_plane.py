"""The plane of the first two principal directions, dense and sparse, small and wide."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from linsep.plots.decision_regions import along, principal

rng = np.random.default_rng(0)


def reference(X):
    off = X - X.mean(axis=0)
    _, sizes, directions = np.linalg.svd(off, full_matrices=False)
    return directions[:2], sizes**2 / np.sum(sizes**2)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("shape", [(40, 3), (5, 60), (60, 80)])
@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_directions_are_those_of_the_centred_rows(form, shape, shift, monkeypatch):
    monkeypatch.setattr("linsep.plots.decision_regions.FEW", 20)
    spread = np.where(np.arange(shape[1]) < 2, [60, 30] + [0] * (shape[1] - 2), 1)
    X = rng.normal(size=shape) * spread + shift * (np.arange(shape[1]) < 2)
    plane, (directions, shares) = principal(form(X)), reference(X)
    np.testing.assert_allclose(np.abs(np.sum(plane.directions * directions, axis=1)), 1, atol=1e-6)
    np.testing.assert_allclose(plane.centre, X.mean(axis=0))
    assert plane.names[1] == f"direction 2: {100 * shares[1]:.1f} % of variance"
    np.testing.assert_allclose(plane.places(form(X)), (X - X.mean(axis=0)) @ plane.directions.T, atol=1e-5)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("X", [np.zeros((5, 4)), np.full((5, 4), 0.1), np.eye(1, 4), np.eye(5, 4) * [0, 0, 2, 0]])
def test_rows_that_hardly_differ_have_a_plane_too(form, X):
    for plane in (principal(form(X)), along(form(X), np.array([0.0, 3, 0, 0]), 1.0)):
        np.testing.assert_allclose(plane.directions @ plane.directions.T, np.eye(2), atol=1e-12)
        assert np.isfinite(plane.places(form(X))).all()


def test_points_of_the_plane_are_at_their_places():
    X, w = rng.normal(size=(30, 6)), rng.normal(size=6)
    for plane in (principal(X), along(X, w, 0.7)):
        at = rng.normal(size=(4, 2))
        np.testing.assert_allclose(plane.places(plane.points(at)), at, atol=1e-12)
        scores = plane.scores(w[None], np.array([0.7]), at)
        np.testing.assert_allclose(scores[:, 0], plane.points(at) @ w + 0.7)
