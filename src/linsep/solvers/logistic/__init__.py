"""Batch logistic regression: the objective, solvers, and a proof of how near the optimum is."""
