"""Exact arithmetic on floats: integers, dependencies, linear systems."""
