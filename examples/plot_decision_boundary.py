"""
A boundary in thirty features
=============================

Rows with many features, projected along the boundary: every row is on its side, at its true distance.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from linsep import AveragedPerceptron, plots

data = load_breast_cancer()
X, y = StandardScaler().fit_transform(data.data), data.target_names[data.target]

clf = AveragedPerceptron(tol=1e-3, max_iter=100, random_state=0).fit(X, y)
ax = plots.decision_boundary(clf, X, y, view="score")
