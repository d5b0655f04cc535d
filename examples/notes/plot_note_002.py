"""
Note 002: logistic regression and the perceptron's mistakes
===========================================================

The likelihood, where the next mistake can lie, and ten rounds of the perceptron.
"""

from linsep.plots import notes

# %%
# The probability is a sigmoid across the boundary and constant along it.

notes.sigmoid_surface()

# %%
# Stochastic steps against steps for all rows.

notes.ascent_paths()

# %%
# Where the next mistake can lie, and what it does to v.

notes.mistake_regions()

# %%
# Each mistake raises v·u, yet the angle to u may widen.

notes.cosines()

# %%
# Ten rounds, guess by guess.

notes.guess_table()
