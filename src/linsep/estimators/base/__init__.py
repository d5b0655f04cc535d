"""Base classes of the learners."""
