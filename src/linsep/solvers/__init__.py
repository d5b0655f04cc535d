"""Batch answers: the best halfspace when all rows are at hand, as functions on arrays."""
