"""Online linear classifiers with certified mistake bounds."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from linsep.estimators.registry import LEARNERS as LEARNERS

if TYPE_CHECKING:
    from linsep.certificates.certificate import Certificate as Certificate
    from linsep.certificates.certificate import CertificateError as CertificateError
    from linsep.certificates.certificate import verify as verify
    from linsep.certificates.certify import certify as certify
    from linsep.data.errors import DataError as DataError
    from linsep.data.reading import read as read
    from linsep.data.streaming import convert as convert
    from linsep.data.streaming import stream as stream
    from linsep.data.text.transformers import TextCounter as TextCounter
    from linsep.data.text.transformers import TextHasher as TextHasher
    from linsep.estimators.calibration import CalibratedClassifier as CalibratedClassifier
    from linsep.estimators.kernel_perceptron import KernelPerceptron as KernelPerceptron
    from linsep.estimators.least_squares import LeastSquares as LeastSquares
    from linsep.estimators.least_squares import LeastSquaresRegression as LeastSquaresRegression
    from linsep.estimators.linear_program import LinearProgram as LinearProgram
    from linsep.estimators.logistic import LogisticRegression as LogisticRegression
    from linsep.estimators.max_margin import MaxMargin as MaxMargin
    from linsep.estimators.naive_bayes import NaiveBayes as NaiveBayes
    from linsep.estimators.online_classifier import OnlineClassifier as OnlineClassifier
    from linsep.estimators.p_norm import PNormPerceptron as PNormPerceptron
    from linsep.estimators.passive_aggressive import PassiveAggressive as PassiveAggressive
    from linsep.estimators.passive_aggressive_regressor import PassiveAggressiveRegressor as PassiveAggressiveRegressor
    from linsep.estimators.pegasos import Pegasos as Pegasos
    from linsep.estimators.perceptron import AveragedPerceptron as AveragedPerceptron
    from linsep.estimators.perceptron import MovingAveragePerceptron as MovingAveragePerceptron
    from linsep.estimators.perceptron import Perceptron as Perceptron
    from linsep.estimators.romma import ROMMA as ROMMA
    from linsep.estimators.voted_perceptron import VotedPerceptron as VotedPerceptron
    from linsep.estimators.winnow import BalancedWinnow as BalancedWinnow
    from linsep.estimators.winnow import Winnow as Winnow
    from linsep.models.archive import ModelError as ModelError
    from linsep.models.contributions import explain as explain
    from linsep.models.merge import merge as merge
    from linsep.models.named_weights import export_csv as export_csv
    from linsep.models.named_weights import export_json as export_json
    from linsep.models.onnx import export_onnx as export_onnx
    from linsep.models.save_load import load as load
    from linsep.models.save_load import save as save
    from linsep.theory.brier import brier_score as brier_score

__version__ = "0.1.0"

# The module of each public name. A name is imported when first used, so that a command's --help does not wait for the
# compiler. Type checkers read the imports above, and not __getattr__: any other name is an error for them.
_HOMES = {entry.name: entry.home for entry in LEARNERS.values()} | {
    "CalibratedClassifier": "linsep.estimators.calibration",
    "Certificate": "linsep.certificates.certificate",
    "CertificateError": "linsep.certificates.certificate",
    "DataError": "linsep.data.errors",
    "LeastSquaresRegression": "linsep.estimators.least_squares",
    "ModelError": "linsep.models.archive",
    "OnlineClassifier": "linsep.estimators.online_classifier",
    "PassiveAggressiveRegressor": "linsep.estimators.passive_aggressive_regressor",
    "TextCounter": "linsep.data.text.transformers",
    "TextHasher": "linsep.data.text.transformers",
    "brier_score": "linsep.theory.brier",
    "certify": "linsep.certificates.certify",
    "convert": "linsep.data.streaming",
    "explain": "linsep.models.contributions",
    "export_csv": "linsep.models.named_weights",
    "export_json": "linsep.models.named_weights",
    "export_onnx": "linsep.models.onnx",
    "load": "linsep.models.save_load",
    "merge": "linsep.models.merge",
    "read": "linsep.data.reading",
    "save": "linsep.models.save_load",
    "stream": "linsep.data.streaming",
    "verify": "linsep.certificates.certificate",
}

__all__ = sorted(["LEARNERS", *_HOMES])


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'linsep' has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
