"""Compiled loops over bytes, and what these inline."""
