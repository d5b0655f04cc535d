"""Linear separators that prove their own mistake bounds."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linsep.data.errors import DataError
    from linsep.data.reading import convert, read, stream
    from linsep.data.text.counter import TextCounter
    from linsep.data.text.hasher import TextHasher
    from linsep.learners.calibration import Calibrated
    from linsep.learners.kernel_perceptron import KernelPerceptron
    from linsep.learners.least_squares import LeastSquares
    from linsep.learners.least_squares_regression import LeastSquaresRegression
    from linsep.learners.linear_program import LinearProgram
    from linsep.learners.logistic import LogisticRegression
    from linsep.learners.max_margin import MaxMargin
    from linsep.learners.naive_bayes import NaiveBayes
    from linsep.learners.online import OnlineClassifier
    from linsep.learners.p_norm import PNormPerceptron
    from linsep.learners.passive_aggressive import PassiveAggressive
    from linsep.learners.pegasos import Pegasos
    from linsep.learners.perceptron import AveragedPerceptron, Perceptron
    from linsep.learners.romma import ROMMA
    from linsep.learners.table import LEARNERS
    from linsep.learners.voted import VotedPerceptron
    from linsep.learners.winnow import BalancedWinnow, Winnow
    from linsep.models.archive import ModelError
    from linsep.models.file import load, save
    from linsep.models.merge import merge
    from linsep.models.named_weights import export_csv, export_json
    from linsep.models.onnx import export_onnx
    from linsep.theory.brier import brier
    from linsep.theory.certificates import Certificate, CertificateError, verify
    from linsep.theory.certifying import certify
    from linsep.theory.vc import cover, radon, shatter

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
    "brier",
    "certify",
    "convert",
    "cover",
    "export_csv",
    "export_json",
    "export_onnx",
    "load",
    "merge",
    "radon",
    "read",
    "save",
    "shatter",
    "stream",
    "verify",
]

# Names are imported when first used, so that a command's --help need not wait for the compiler.
_HOMES = {
    "LEARNERS": "table",
    "ROMMA": "romma",
    "AveragedPerceptron": "perceptron",
    "BalancedWinnow": "winnow",
    "Calibrated": "calibration",
    "Certificate": "linsep.theory.certificates",
    "CertificateError": "linsep.theory.certificates",
    "DataError": "linsep.data.errors",
    "KernelPerceptron": "kernel_perceptron",
    "LeastSquares": "least_squares",
    "LeastSquaresRegression": "least_squares_regression",
    "LinearProgram": "linear_program",
    "LogisticRegression": "logistic",
    "MaxMargin": "max_margin",
    "ModelError": "linsep.models.archive",
    "NaiveBayes": "naive_bayes",
    "OnlineClassifier": "online",
    "PNormPerceptron": "p_norm",
    "PassiveAggressive": "passive_aggressive",
    "Pegasos": "pegasos",
    "Perceptron": "perceptron",
    "TextCounter": "linsep.data.text.counter",
    "TextHasher": "linsep.data.text.hasher",
    "VotedPerceptron": "voted",
    "Winnow": "winnow",
    "brier": "linsep.theory.brier",
    "certify": "linsep.theory.certifying",
    "convert": "linsep.data.reading",
    "cover": "linsep.theory.vc",
    "export_csv": "linsep.models.named_weights",
    "export_json": "linsep.models.named_weights",
    "export_onnx": "linsep.models.onnx",
    "load": "linsep.models.file",
    "merge": "linsep.models.merge",
    "radon": "linsep.theory.vc",
    "read": "linsep.data.reading",
    "save": "linsep.models.file",
    "shatter": "linsep.theory.vc",
    "stream": "linsep.data.reading",
    "verify": "linsep.theory.certificates",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'linsep' has no attribute {name!r}")
    home = _HOMES[name]
    return getattr(import_module(home if "." in home else f"linsep.learners.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
