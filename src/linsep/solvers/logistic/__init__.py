"""Logistic regression with all rows at hand: the objective, ways to its optimum, and the proof of how near it is."""
