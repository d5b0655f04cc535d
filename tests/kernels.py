"""How many kernels this process has compiled, or loaded from the disk cache."""

import gc

from numba.core.dispatcher import Dispatcher

MOST = 150
"""Kernels that the whole test run may need: each costs about a second to compile."""


def dispatchers():
    """The compiled functions of linsep that Python calls; what they inline has no wrapper for Python."""
    found = [o for o in gc.get_objects() if issubclass(type(o), Dispatcher)]
    named = [d for d in found if d.py_func.__module__.startswith("linsep.")]
    return [d for d in named if not d.targetoptions.get("no_cpython_wrapper")]


def count():
    """The number of kernels, one for each signature."""
    return sum(len(d.signatures) for d in dispatchers())
