"""The kernels that this process has compiled, or loaded from the disk cache."""

import gc
from functools import cache
from weakref import WeakSet

from numba.core.dispatcher import Dispatcher

MADE = WeakSet()
"""The functions that numba has made since this module was loaded."""
make = Dispatcher.__init__


def noting(self, *args, **more):
    make(self, *args, **more)
    MADE.add(self)


Dispatcher.__init__ = noting


@cache
def _made_before():
    """The functions that numba made before: a search among all objects, of which there are millions, done once."""
    return WeakSet(o for o in gc.get_objects() if issubclass(type(o), Dispatcher))


def dispatchers():
    """The compiled functions of linsep that Python calls; what they inline has no wrapper for Python."""
    named = [d for d in _made_before() | MADE if (d.py_func.__module__ or "").startswith("linsep.")]
    return [d for d in named if not d.targetoptions.get("no_cpython_wrapper")]


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
