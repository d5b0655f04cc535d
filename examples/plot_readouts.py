"""
Last, average or vote
=====================

A voted perceptron keeps every hypothesis of its run. The test error of each readout, after one to five epochs.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from linsep import VotedPerceptron, plots

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

epochs = range(1, 6)
errors = {(readout, False): [] for readout in ("vote", "last", "average")}
clf = VotedPerceptron()
for _ in epochs:
    clf = clf.partial_fit(X_train, y_train)
    for readout, _ in errors:
        errors[readout, False].append(1 - clf.set_params(readout=readout).score(X_test, y_test))
ax = plots.votes(epochs, errors)
