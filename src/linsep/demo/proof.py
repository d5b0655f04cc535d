"""What the demo proves: that one kind of iris can be told from the others, and what a perceptron needs for it."""

from typing import NamedTuple

import numpy as np

from linsep.certificates.certificate import Certificate, Result, verify
from linsep.cli.jobs.fitting import fit_quietly
from linsep.demo.data_sets import DataSet
from linsep.engine.arrays import Array
from linsep.estimators.perceptron import Perceptron


class Proved(NamedTuple):
    """Rows of two classes, a perceptron that went over them once, its certificate, and what its check found."""

    X: Array
    y: Array
    perceptron: Perceptron
    certificate: Certificate
    result: Result


def proved(data: DataSet) -> Proved:
    """Certify one pass over a data set, its first class against all others, and check the certificate."""
    y = np.where(data.y == 0, data.labels[0], "other")
    perceptron = Perceptron(max_iter=1, shuffle=False, log=True)
    fit_quietly(perceptron, data.X, y)
    certificate = perceptron.certificate(data.X, y)
    return Proved(data.X, y, perceptron, certificate, verify(certificate, data.X, y))
