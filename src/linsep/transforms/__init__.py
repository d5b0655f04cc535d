"""Feature maps, applied to rows before a learner."""

from linsep.transforms.bias import Bias
from linsep.transforms.delta import DeltaTrick
from linsep.transforms.polynomial import Polynomial
from linsep.transforms.registry import MAPS
from linsep.transforms.scaling import Scale, ScaleColumns

__all__ = ["MAPS", "Bias", "DeltaTrick", "Polynomial", "Scale", "ScaleColumns"]
