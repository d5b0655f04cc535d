"""Vowpal Wabbit text to rows."""
