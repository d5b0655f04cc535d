"""The kernels that this process has compiled, or loaded from the disk cache."""

import gc

from numba.core.dispatcher import Dispatcher


def dispatchers():
    """The compiled functions of linsep that Python calls; what they inline has no wrapper for Python."""
    kinds = _kinds(Dispatcher)
    found = [o for o in gc.get_objects() if type(o) in kinds]
    named = [d for d in found if d.py_func.__module__.startswith("linsep.")]
    return [d for d in named if not d.targetoptions.get("no_cpython_wrapper")]


def _kinds(kind):
    """The class and all that are made of it: to look a type up is faster than to ask whether it is one of them."""
    return {kind}.union(*map(_kinds, kind.__subclasses__()))


def names():
    """The kernels by name, one for each signature; those made for a rule differ in what they have captured."""
    return {f"{_captured(d)} {signature}" for d in dispatchers() for signature in d.signatures}


def _captured(dispatcher):
    function = dispatcher.py_func
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return f"{function.__module__}.{function.__qualname__} {cells}"


def count():
    """The number of kernels."""
    return sum(len(d.signatures) for d in dispatchers())
