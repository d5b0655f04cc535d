"""
Note 000: separators, the perceptron and Winnow
===============================================

Separation in high dimensions, Winnow's bound by its rate, and two simulations.
"""

from linsep.plots import notes

# %%
# How many labellings a hyperplane separates: Cover's formula, and linear programs on random points.

notes.dichotomies(draws=20)

# %%
# Winnow's bound on its mistakes, by its rate. The least value is at η*.

notes.winnow_bound()

# %%
# The perceptron's mistakes grow with the number of features, Winnow's with its logarithm.

notes.feature_race()

# %%
# The bound of the Delta trick stays above the mistakes as labels turn wrong.

notes.turned_labels(rows=300)
