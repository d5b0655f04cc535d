"""Documents to rows of n-grams, and names to columns."""
