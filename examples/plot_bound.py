"""
Mistakes under their bounds
===========================

The certificate of a run states what the theorems allow. The picture shows the mistakes of the run below each bound.
"""

from sklearn.datasets import load_iris

from linsep import Perceptron, plots

iris = load_iris()
X, y = iris.data[:100], iris.target_names[iris.target[:100]]

clf = Perceptron(max_iter=100, random_state=0).fit(X, y)
cert = clf.certificate(X, y)
ax = plots.bounds(clf.log_.rounds, clf.t_, cert.allowed())
