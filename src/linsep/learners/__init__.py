"""The learners, as scikit-learn estimators."""
