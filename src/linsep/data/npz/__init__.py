"""Rows in binary form: files that are read in place, and caches of text."""
