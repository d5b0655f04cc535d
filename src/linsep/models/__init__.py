"""Save, load, merge and export models."""
