"""Feature maps: what is done to rows before any learner sees them."""

from linsep.maps.bias import Bias
from linsep.maps.delta import DeltaTrick
from linsep.maps.polynomial import Polynomial
from linsep.maps.scaling import Scale, ScaleColumns
from linsep.maps.table import MAPS

__all__ = ["MAPS", "Bias", "DeltaTrick", "Polynomial", "Scale", "ScaleColumns"]
