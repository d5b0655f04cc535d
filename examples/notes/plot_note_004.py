"""
Note 004: Winnow's proof and a linear fit
=========================================

The chord above the exponential, and a line fitted by least squares.
"""

from linsep.plots import notes

# %%
# Between −1 and 1, the exponential lies below its chord.

notes.chord()

# %%
# The line through the origin with the least sum of squares.

notes.line_fit()
