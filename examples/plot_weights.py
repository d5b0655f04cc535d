"""
The strongest features by name
==============================

Each bar is the weight of a feature. Bars to the right favour the second class.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from linsep import AveragedPerceptron, plots

data = load_breast_cancer()
X, y = StandardScaler().fit_transform(data.data), data.target_names[data.target]

clf = AveragedPerceptron(tol=1e-3, max_iter=100, random_state=0).fit(X, y)
ax = plots.weights(clf, names=data.feature_names, top=8)
