"""
Calibrated probabilities
========================

The observed frequency of each digit against its calibrated probability. A perfect forecast is on the diagonal.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from linsep import AveragedPerceptron, CalibratedClassifier, plots

X, digit = load_digits(return_X_y=True)
y = np.where(digit % 2, "odd", "even")
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

learner = AveragedPerceptron(tol=1e-2, max_iter=100, random_state=0)
clf = CalibratedClassifier(learner).fit(X_train, y_train)
ax = plots.calibration(y_test, clf.predict_proba(X_test)[:, 1])
