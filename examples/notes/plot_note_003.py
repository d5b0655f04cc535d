"""
Note 003: the perceptron's geometry
===================================

The constant dimension, one update, and the unit sphere.
"""

from linsep.plots import notes

# %%
# A constant dimension makes points separable through the origin.

notes.constant_dimension()

# %%
# One update of the perceptron.

notes.update()

# %%
# All points lie within the unit sphere, the separator on it.

notes.unit_sphere()
