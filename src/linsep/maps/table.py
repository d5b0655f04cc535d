"""The one table of feature maps, by name."""

from linsep.maps.base import FeatureMap
from linsep.maps.bias import Bias
from linsep.maps.delta import DeltaTrick
from linsep.maps.polynomial import Polynomial
from linsep.maps.scaling import Scale, ScaleColumns

MAPS: dict[str, type[FeatureMap]] = {
    "polynomial": Polynomial,
    "bias": Bias,
    "scale": Scale,
    "scale-columns": ScaleColumns,
    "delta-trick": DeltaTrick,
}
