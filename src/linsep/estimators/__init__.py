"""The public classifiers, with scikit-learn's interface."""
