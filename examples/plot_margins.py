"""
Margins of the rows
===================

The distribution of the margins of the training rows. Rows at or below 0 are mistakes; their part is shaded.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from linsep import PassiveAggressive, plots

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)

clf = PassiveAggressive(C=0.01, tol=1e-3, max_iter=100, random_state=0).fit(X, y)
ax = plots.margins(clf, X, y)
