"""
Note 001: surrogate losses
==========================

The 0-1 loss, and losses that can be minimised.
"""

from linsep.plots import notes

notes.losses()
