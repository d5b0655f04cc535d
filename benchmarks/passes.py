"""A bare pass of the engine, without the checks of the input and of the labels that `fit` makes around it."""

from typing import Any

import scipy.sparse as sp

import linsep
from benchmarks.data import Array
from linsep.training.state import IN_ORDER, NO_WEIGHTS
from linsep.validation.inputs import canonical


def rows_for_engine(X: sp.csr_matrix) -> Any:
    """Return the data as `fit` hands them to the engine, with a bias of 1."""
    return canonical(linsep.Perceptron(), X, bias=1.0, reset=True)


def new_machine(rows: Any) -> Any:
    """Return what `fit` of the perceptron would train on two classes: weights at zero, the log open."""
    state = linsep.Perceptron()._start(rows.n_features, 2, rows.n_rows, open_labels=False)
    state.keep_log("auto", False, rows.nbytes)
    return state


def run(state: Any, rows: Any, codes: Array) -> Any:
    """Make one pass in file order; codes are 1 for positive rows and 0 for negative ones."""
    state.run(rows, codes, NO_WEIGHTS, IN_ORDER, 0)
    return state
