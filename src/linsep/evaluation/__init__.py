"""Score predictions."""
