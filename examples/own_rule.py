"""Times a rule of one's own against the library's: python examples/own_rule.py.

Both make the same updates, so that the same work is timed; the first fit of each compiles and is not timed.
"""

import warnings
from time import perf_counter

import numpy as np
import scipy.sparse as sp
from margin_rule import Margin
from sklearn.exceptions import ConvergenceWarning

from linsep import OnlineClassifier
from linsep.rules import Perceptron

ROWS, FEATURES = 20_000, 100


def best_times(learners, X, y):
    """Fit the learners in turns, so that a noisy moment hits all of them; return the best time of each."""
    times = [[] for _ in learners]
    for _ in range(30):
        for clf, own in zip(learners, times, strict=True):
            start = perf_counter()
            clf.fit(X, y)
            own.append(perf_counter() - start)
    return [min(own[1:]) for own in times]


def main():
    """Print rows per second for each kind of work."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(ROWS, FEATURES))
    sparse = sp.random_array((ROWS, 50 * FEATURES), density=0.01, format="csr", rng=rng)
    target = rng.normal(size=(50 * FEATURES, 5))
    work = {
        "dense, two classes": (dense, (dense @ target[:FEATURES]).argmax(axis=1) > 2, "last"),
        "sparse, two classes": (sparse, (sparse @ target).argmax(axis=1) > 2, "last"),
        "sparse, five classes": (sparse, (sparse @ target).argmax(axis=1), "last"),
        "sparse, averaged": (sparse, (sparse @ target).argmax(axis=1) > 2, "average"),
    }
    print(f"{'rows per second':22}{'own rule':>14}{'built in':>14}{'ratio':>8}")
    for name, (X, y, readout) in work.items():
        how = {"readout": readout, "max_iter": 5, "random_state": 0}
        own, built_in = OnlineClassifier(Margin(0.0), **how), OnlineClassifier(Perceptron(), **how)
        speed = [5 * ROWS / time for time in best_times([own, built_in], X, y)]
        assert np.array_equal(own.coef_, built_in.coef_)
        print(f"{name:22}{speed[0]:14,.0f}{speed[1]:14,.0f}{speed[0] / speed[1]:8.2f}")


if __name__ == "__main__":
    main()
