"""Rows as the solvers take them: arrays that can't be written to."""

import numpy as np
from scipy.sparse import csr_array

from linsep.engine.data_kinds import Csr, Dense


def frozen(array):
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def dense(X, bias=0.0):
    return Dense(frozen(np.asarray(X, float)), bias)


def sparse(X, bias=0.0):
    X = csr_array(X)
    return Csr(frozen(X.data), frozen(X.indices), frozen(X.indptr), X.shape[1], bias)


def signed(X, y, bias):
    return np.asarray(y)[:, None] * np.column_stack([X, np.full(len(X), bias)])
