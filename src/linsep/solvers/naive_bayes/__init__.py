"""Naive Bayes: counts of classes and features, and the weights that they represent."""
