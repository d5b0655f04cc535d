"""Run small work in Python and compile the rest, with the same bits.

Compiling a kernel takes a second or more; small work takes less, even in Python. A :class:`Tiered` function therefore
begins in Python. Its work, in products of a weight and an entry, states when it leaves Python:

- beyond :data:`COMPILE`, which takes about as long in Python as compiling does, it is compiled;
- beyond :data:`LOAD`, compiled code is used if the disk cache has it. The first such code of a process also starts the
  compiler's runtime, which takes as long as :data:`START` products in Python: until all functions together have done so
  many, the process stays in Python.

The environment variable LINSEP_COMPILE overrides the choice: "always" or "never".
"""

import ast
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property, update_wrapper
from math import copysign, exp, expm1, inf, ldexp, log, nan
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit, typeof

from linsep.engine.arrays import UnalignedError, views
from linsep.engine.digest import engine_digest
from linsep.engine.flatten import Dialect, flatten
from linsep.engine.kernel_cache import KernelCache
from linsep.engine.runtime import uninterrupted

START, LOAD, COMPILE = 1_000_000, 50_000, 10_000_000
CALL = 80
"""Products that take as long in Python as a call does beside its work."""
CHOICES = ("auto", "always", "never")
_choice = os.environ.get("LINSEP_COMPILE", "auto")
if _choice not in CHOICES:
    raise ValueError(f"LINSEP_COMPILE={_choice!r}: set it to one of {', '.join(CHOICES)}")


@contextmanager
def compiling(choice: str) -> Iterator[None]:
    """Compile kernels "always", "never" or by their work ("auto") inside of the block, in all threads."""
    global _choice
    before, _choice = _choice, choice
    try:
        yield
    finally:
        _choice = before


def _divide(a: float, b: float) -> float:
    """Return a / b; infinity or NaN where Python raises."""
    try:
        return a / b
    except ZeroDivisionError:
        return nan if a == 0 or a != a else copysign(inf, a) * copysign(1.0, b)


def _power(a: float, b: float) -> float:
    """Return a to the power of b; infinity or NaN where Python raises, or leaves the real numbers."""
    try:
        return pow(a, b)
    except OverflowError:
        return -inf if a < 0 and b % 2 == 1 else inf
    except ValueError:
        return inf if a == 0 else nan


def _log(x: float) -> float:
    return log(x) if x > 0 else -inf if x == 0 else nan


def _exp(x: float) -> float:
    try:
        return exp(x)
    except OverflowError:
        return inf


def _expm1(x: float) -> float:
    try:
        return expm1(x)
    except OverflowError:
        return inf


def _ldexp(x: float, exponent: int) -> float:
    try:
        return ldexp(x, exponent)
    except OverflowError:
        return copysign(inf, x)


PYTHON = Dialect(
    compiled=False,
    calls={
        ast.Div: _divide, ast.Pow: _power, log: _log, exp: _exp, expm1: _expm1, ldexp: _ldexp, np.float64: float,
        np.uint64: None, np.int64: None, np.intp: None, index: None,
    },
)  # fmt: skip
"""Nothing raises: a pass that stopped in the middle of a row would leave half an update."""


class Tiered:
    """A function that runs in Python while it has done little work, and is compiled then.

    Parameters
    ----------
    template : function
        The function, in the language of :mod:`linsep.engine.flatten` if `flat`: it indexes arrays entry by entry, and
        neither makes nor slices any.
    work : function or None
        Returns the work of a call, given its arguments. If None, the function is always compiled.
    name : str
        The name of the compiled function. Default: the template's.
    digest : function
        Returns the identity of all code that the function calls, beside its own source; None if that is not known:
        compiled code is then not kept on disk.
    python : bool or function
        If False, the function never runs in Python: functions of a user's rule may have other last bits there. A
        function takes the template's place in Python.
    nogil : bool
        If False, no other thread runs Python while the compiled function does. The function then runs in Python only
        while there is one thread, and signals wait for its end.
    flat : bool
        If False, numba compiles the template as it is, and Python runs it as it is.
    given : function
        Returns what Python is given in place of the arguments.
    folders : tuple of Path
        Folders of source files, beside the engine's, that compiled code depends on.
    **options
        Options of numba's `njit`.
    """

    spent = 0
    """The work of all functions in Python."""
    started = False
    """True if a function of this process has left Python."""

    def __init__(
        self, template: Callable[..., Any], work: Callable[..., int] | None, *, name: str = "",
        digest: Callable[[], str | None] = engine_digest, python: Any = True, nogil: bool = True, flat: bool = True,
        given: Callable[[Any], Any] = views, folders: tuple[Path, ...] = (), **options: Any,
    ) -> None:  # fmt: skip
        update_wrapper(self, template)
        self.template, self.work, self.name, self.digest = template, work, name or template.__name__.strip("_"), digest
        self.python, self.nogil, self.flat, self.given, self.folders = python, nogil, flat, given, folders
        self.options = {"nogil": nogil, "error_model": "numpy"} | options
        self.lock = threading.RLock()
        self.done, self.loaded, self.missing = 0, False, False

    def __call__(self, *args: Any) -> Any:
        """Run the function."""
        return self.run_in_python(*args) if self.in_python(*args) else self.compiled(*args)

    def run_in_python(self, *args: Any) -> Any:
        """Run the function in Python; with arrays that Python has no views of, in compiled code."""
        try:
            with self._surroundings():
                return self.plain(*self.given(args))
        except UnalignedError:  # nothing was read or written yet
            return self.compiled(*args)

    def _surroundings(self) -> Any:
        if not self.nogil:
            return uninterrupted()
        return nullcontext() if self.flat else np.errstate(all="ignore")

    def in_python(self, *args: Any) -> bool:
        """Return whether to run this call in Python, and add its work to what was done there."""
        if self.work is None or not self.python or not (self.nogil or threading.active_count() == 1):
            return False
        if _choice != "auto":
            return _choice == "never"
        if self.loaded:
            return False
        work = CALL + self.work(*args)
        self.done += work
        Tiered.spent += work
        enough = self.done > LOAD and (Tiered.started or Tiered.spent > START)
        if not enough or (self.done <= COMPILE and not self._on_disk(args)):
            return True
        self.loaded = Tiered.started = True
        return False

    def _on_disk(self, args: tuple[Any, ...]) -> bool:
        """Return whether the disk cache has code for such arguments; checked once."""
        if not self.missing:
            self.missing = not self._has(args)
        return not self.missing

    def _has(self, args: tuple[Any, ...]) -> bool:
        cache = self.compiled._cache
        return isinstance(cache, KernelCache) and cache.holds(tuple(map(typeof, args)), self.compiled.targetctx)

    @property
    def compiled(self) -> Any:
        """The compiled function."""
        with self.lock:
            return self._compiled

    @cached_property
    def _compiled(self) -> Any:
        digest, function = self.digest(), self.template
        if self.flat:
            source, names, apart = flatten(self.template, self.name)
            identity = hashlib.sha256("\n".join([str(digest), source, *apart]).encode()).hexdigest()
            function = _made(source, self.name, names, identity)
        kernel = njit(**self.options)(function)
        if digest is not None:
            kernel._cache = KernelCache(function, *self.folders)
        return kernel

    @cached_property
    def plain(self) -> Any:
        """The function in Python."""
        if callable(self.python):
            return self.python
        if not self.flat:
            return self.template
        source, names, _ = flatten(self.template, self.name, PYTHON)
        return _made(source, self.name, names, "")


def tiered(work: Callable[..., int] | None, **how: Any) -> Callable[[Callable[..., Any]], Tiered]:
    """Make a :class:`Tiered` function of the decorated one."""
    return lambda template: Tiered(template, work, **how)


def _made(source: str, name: str, space: dict[str, Any], identity: str) -> Any:
    """Return the function of a source text, which captures its identity for the disk cache."""
    head, *body = source.splitlines()
    lines = ["def make(identity):", f"    {head}", "        identity", *(f"    {line}" for line in body)]
    lines.append(f"    return {name}")
    space = space | {"__name__": __name__}
    exec(compile("\n".join(lines), __file__, "exec"), space)
    return space["make"](identity)
