"""
Two lemmas close in on the mistakes
===================================

Lemma 1: v·u grows by the margin at least with each mistake. Lemma 2: ‖v‖² grows by R² at most. The two curves meet
at (R/γ)² mistakes, and no run passes that point.
"""

import numpy as np
from sklearn.datasets import load_iris

from linsep import MaxMargin, Perceptron, plots
from linsep.theory.paths import perceptron_path

iris = load_iris()
X, y = iris.data[:100], iris.target[:100]

clf = Perceptron(max_iter=100, random_state=0).fit(X, y)
rows = np.where(y == 1, 1.0, -1.0)[:, None] * np.column_stack([X, np.ones(len(X))])  # y [x, 1]

# Any separating u will do; the one of the maximum margin gives the least bound.
best = MaxMargin().fit(X, y)
u = np.append(best.coef_, best.intercept_)
path = perceptron_path(rows[clf.log_.rows], u)
margin = (rows @ u).min() / np.linalg.norm(u)
ax = plots.squeeze(path.dots, path.squares, radius=np.linalg.norm(rows, axis=1).max(), margin=margin)
