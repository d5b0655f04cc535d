"""Kernel functions, and kernels given by users."""
