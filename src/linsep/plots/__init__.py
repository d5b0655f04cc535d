"""Pictures, as matplotlib axes; they need the extra `linsep[plot]`."""

from linsep.plots.boundary import boundary_path

__all__ = ["boundary_path"]
