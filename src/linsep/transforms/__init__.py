"""Feature maps, applied to rows before a learner."""

from linsep.transforms.base import FeatureMap
from linsep.transforms.bias import Bias
from linsep.transforms.delta import DeltaTrick
from linsep.transforms.polynomial import Polynomial
from linsep.transforms.scaling import Scale, ScaleColumns, Standardize

MAPS: dict[str, type[FeatureMap]] = {
    "polynomial": Polynomial,
    "bias": Bias,
    "scale": Scale,
    "scale-columns": ScaleColumns,
    "standardize": Standardize,
    "delta-trick": DeltaTrick,
}
"""All feature maps by name: the command line, the docs and model files go by this table."""

__all__ = ["MAPS", "Bias", "DeltaTrick", "Polynomial", "Scale", "ScaleColumns", "Standardize"]
