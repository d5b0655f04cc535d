"""
The boundary after each mistake
===============================

A perceptron separates two kinds of iris by two features. Each mistake moves the boundary; the last boundary separates
all rows.
"""

from sklearn.datasets import load_iris

from linsep import Perceptron
from linsep.plots import boundary_path

iris = load_iris()
columns = [1, 3]
X, y = iris.data[:100, columns], iris.target_names[iris.target[:100]]
names = [iris.feature_names[column] for column in columns]

clf = Perceptron(random_state=15, max_iter=100).fit(X, y)
ax = boundary_path(clf, X, y, feature_names=names)
