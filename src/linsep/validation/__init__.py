"""Validate what users pass: arrays, dataframes, sparse matrices, labels."""
