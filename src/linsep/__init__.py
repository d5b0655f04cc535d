"""Linear separators that prove their own mistake bounds."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linsep.certificates.certificate import Certificate, CertificateError, verify
    from linsep.certificates.certify import certify
    from linsep.data.errors import DataError
    from linsep.data.reading import convert, read, stream
    from linsep.data.text.counter import TextCounter
    from linsep.data.text.hasher import TextHasher
    from linsep.estimators.calibration import Calibrated
    from linsep.estimators.kernel_perceptron import KernelPerceptron
    from linsep.estimators.least_squares import LeastSquares, LeastSquaresRegression
    from linsep.estimators.linear_program import LinearProgram
    from linsep.estimators.logistic import LogisticRegression
    from linsep.estimators.max_margin import MaxMargin
    from linsep.estimators.naive_bayes import NaiveBayes
    from linsep.estimators.online_classifier import OnlineClassifier
    from linsep.estimators.p_norm import PNormPerceptron
    from linsep.estimators.passive_aggressive import PassiveAggressive
    from linsep.estimators.pegasos import Pegasos
    from linsep.estimators.perceptron import AveragedPerceptron, Perceptron
    from linsep.estimators.registry import LEARNERS
    from linsep.estimators.romma import ROMMA
    from linsep.estimators.voted_perceptron import VotedPerceptron
    from linsep.estimators.winnow import BalancedWinnow, Winnow
    from linsep.models.archive import ModelError
    from linsep.models.merge import merge
    from linsep.models.named_weights import export_csv, export_json
    from linsep.models.onnx import export_onnx
    from linsep.models.save_load import load, save
    from linsep.theory.brier import brier_score

__version__ = "0.1.0"

__all__ = [
    "LEARNERS",
    "ROMMA",
    "AveragedPerceptron",
    "BalancedWinnow",
    "Calibrated",
    "Certificate",
    "CertificateError",
    "DataError",
    "KernelPerceptron",
    "LeastSquares",
    "LeastSquaresRegression",
    "LinearProgram",
    "LogisticRegression",
    "MaxMargin",
    "ModelError",
    "NaiveBayes",
    "OnlineClassifier",
    "PNormPerceptron",
    "PassiveAggressive",
    "Pegasos",
    "Perceptron",
    "TextCounter",
    "TextHasher",
    "VotedPerceptron",
    "Winnow",
    "brier_score",
    "certify",
    "convert",
    "export_csv",
    "export_json",
    "export_onnx",
    "load",
    "merge",
    "read",
    "save",
    "stream",
    "verify",
]

# Names are imported when first used, so that a command's --help need not wait for the compiler.
_HOMES = {
    "LEARNERS": "linsep.estimators.registry",
    "ROMMA": "linsep.estimators.romma",
    "AveragedPerceptron": "linsep.estimators.perceptron",
    "BalancedWinnow": "linsep.estimators.winnow",
    "Calibrated": "linsep.estimators.calibration",
    "Certificate": "linsep.certificates.certificate",
    "CertificateError": "linsep.certificates.certificate",
    "DataError": "linsep.data.errors",
    "KernelPerceptron": "linsep.estimators.kernel_perceptron",
    "LeastSquares": "linsep.estimators.least_squares",
    "LeastSquaresRegression": "linsep.estimators.least_squares",
    "LinearProgram": "linsep.estimators.linear_program",
    "LogisticRegression": "linsep.estimators.logistic",
    "MaxMargin": "linsep.estimators.max_margin",
    "ModelError": "linsep.models.archive",
    "NaiveBayes": "linsep.estimators.naive_bayes",
    "OnlineClassifier": "linsep.estimators.online_classifier",
    "PNormPerceptron": "linsep.estimators.p_norm",
    "PassiveAggressive": "linsep.estimators.passive_aggressive",
    "Pegasos": "linsep.estimators.pegasos",
    "Perceptron": "linsep.estimators.perceptron",
    "TextCounter": "linsep.data.text.counter",
    "TextHasher": "linsep.data.text.hasher",
    "VotedPerceptron": "linsep.estimators.voted_perceptron",
    "Winnow": "linsep.estimators.winnow",
    "brier_score": "linsep.theory.brier",
    "certify": "linsep.certificates.certify",
    "convert": "linsep.data.reading",
    "export_csv": "linsep.models.named_weights",
    "export_json": "linsep.models.named_weights",
    "export_onnx": "linsep.models.onnx",
    "load": "linsep.models.save_load",
    "merge": "linsep.models.merge",
    "read": "linsep.data.reading",
    "save": "linsep.models.save_load",
    "stream": "linsep.data.reading",
    "verify": "linsep.certificates.certificate",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'linsep' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
