"""Asking a voted learner for all of its readouts, and holding the answers against every hypothesis stored."""

import numpy as np
import pytest

from tests import voted_references as ref
from tests.fits import learner_order

# (readout, normalize) of all that does not depend on chance.
READOUTS = [
    ("vote", False), ("average", False), ("average", True), ("last", False), ("last", True), ("longest", False),
    ("longest", True), ("plurality", False),
]  # fmt: skip
FORMS = {"two": (2, "ovr"), "rest": (3, "ovr"), "pairs": (3, "joint"), "two in pairs": (2, "joint")}
"""Numbers of classes, and how they are told apart."""
every_form = pytest.mark.parametrize(("classes", "multi_class"), FORMS.values(), ids=FORMS)


def ask(learner, X, readout, normalize=False):
    return learner.set_params(readout=readout, normalize=normalize).decision_function(X)


def all_answers(learner, X):
    return {(readout, normalize): ask(learner, X, readout, normalize) for readout, normalize in READOUTS}


def same_answers(a, b):
    """To the last bit."""
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=str(name), strict=True)


def near_answers(a, b, tolerance=1e-12):
    """Of integers: to the last bit where answers are sums of integers or votes, and nearly where they are divided."""
    assert a.keys() == b.keys()
    for name in a:
        exact = name[0] != "average" and not name[1]
        atol = 0 if exact else tolerance * np.abs(b[name]).max()
        np.testing.assert_allclose(a[name], b[name], rtol=0, atol=atol, err_msg=str(name))


def portrait(learner, X):
    """What a user sees of a learner: its counts and all its answers; its own readout is as before."""
    own = learner.get_params()
    seen = {
        "mistakes": learner.mistakes_, "rounds": learner.t_, "support": learner.support_, "classes": learner.classes_,
        "survival": np.concatenate(survival(learner)), **all_answers(learner, X),
    }  # fmt: skip
    learner.set_params(readout=own["readout"], normalize=own["normalize"])
    return {name: np.array(value) for name, value in seen.items()}


def survival(learner):
    """The survival counts, a list of one array for each machine."""
    counts = learner.survival_
    return counts if isinstance(counts, list) else [counts]


def agree(learner, machines, X, cross, gram=None, tolerance=1e-12, normalized=1e-12, late=False):
    """All readouts are the reference's: votes exactly, sums to a tolerance, relative to the largest of its rows.

    Where labels may come late, rows are kept for those, too.
    """
    assert np.sum(learner.mistakes_) == sum(len(state.mistakes) for state in machines)
    for found, state in zip(survival(learner), machines, strict=True):
        np.testing.assert_allclose(found, state.c, rtol=1e-14)
    for readout, normalize in READOUTS:
        found = ask(learner, X, readout, normalize)
        expected = np.array(ref.answers(machines, cross, readout, normalize, gram), float)
        name = f"{readout}, {normalize=}"
        if readout in ("vote", "plurality"):
            labels = learner.classes_[ref.labels(expected)]
            np.testing.assert_array_equal(learner.predict(X), labels, err_msg=name)
        if readout != "plurality" or len(learner.classes_) > 2:
            size = 1.0 if readout in ("vote", "plurality") else max(1e-300, np.abs(expected).max())
            atol = size * (normalized if normalize else tolerance)
            np.testing.assert_allclose(found, expected, rtol=0, atol=atol, err_msg=name)
    found = {int(i) for i in learner.support_}
    needed = {i for state in machines for _, i in state.updates}
    assert needed <= found if late else needed == found
    assert learner.n_support_ == len(learner.support_) == len(found)


def naive(learner, X, codes, weights=None):
    """The machines of a trained VotedPerceptron, every hypothesis stored, and the rows as columns to ask them with."""
    beta = learner._bias
    pair = learner.multi_class == "joint"
    run = ref.voted_pairs if pair else ref.voted
    order = learner_order(learner, len(X))
    return ref.trained(run, ref.with_bias(X, beta), codes, order, pair=pair, weights=weights)


def columns(learner, X):
    """The rows to answer, with the bias, as columns."""
    return ref.with_bias(X, learner._bias).T


def codes_of(y, classes):
    """The codes 0, 1, ... of labels that, for two classes, are -1 and +1."""
    return (y + 1) // 2 if classes == 2 else y
