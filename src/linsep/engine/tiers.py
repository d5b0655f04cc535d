"""Passes in two tiers: flat Python functions on memoryviews for small work, compiled functions for the rest.

Both are flat forms (:mod:`linsep.engine.flatten`) of one template, with the same operations in the same order, so that
the results are the same to the bit.
"""

import ast
import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from math import copysign, exp, expm1, inf, ldexp, log, nan
from threading import RLock
from typing import Any

import numpy as np

from linsep.engine.arrays import UnalignedError, views
from linsep.engine.data_kinds import Dense, Room, Span, announce, entries, fetch, fetch_weights
from linsep.engine.flatten import Dialect, flatten
from linsep.engine.kernel_cache import Tiered, compiled
from linsep.engine.native import NATIVE, UNSIGNED, Bound, opened, prefetch, unsigned
from linsep.engine.runtime import uninterrupted


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


def _same(i: Any) -> Any:
    return i


def _masked(i: Any) -> Any:
    return i & UNSIGNED


def _views(bound: Any) -> Any:
    return bound.views


def _entries(X: Dense, x: Span, room: Room) -> Span:
    """Write the nonzeros of a dense row one by one."""
    n: Any = 0
    for j in range(X.values.shape[1]):
        v = X.values[x.i, j]
        if v != 0:
            room.indices[n] = j
            room.values[n] = v
            n += 1
    return Span(x.i, np.uint64(0), n)


PYTHON = Dialect(
    compiled=False,
    omitted=frozenset({prefetch, announce, fetch, fetch_weights}),
    instead={
        np.float64: float, np.uint64: _same, np.int64: _same, np.intp: _same, unsigned: _masked, opened: _views,
        entries.meaning([Dense]): _entries,  # type: ignore[attr-defined]
    },
    calls={ast.Div: _divide, ast.Pow: _power, log: _log, exp: _exp, expm1: _expm1, ldexp: _ldexp},
)  # fmt: skip


class Kernel(Tiered):
    """A pass, in Python or compiled.

    Nothing that a pass computes raises in Python: one that stopped in the middle of a row would leave half an update.

    Parameters
    ----------
    template : function
        The pass in terms of verbs.
    name : str
    digest : str or None
        The identity of all code that the pass calls; compiled code is not kept on disk if it is None.
    work : function
        Returns the work of a call, given its arguments.
    python : bool
        If False, the pass never runs in Python: functions of a user's rule may have other last bits there.
    nogil : bool
        If False, no other thread runs Python while the compiled kernel does. The kernel then runs in Python only while
        there is one thread, and signals wait for its end.
    """

    def __init__(
        self, template: Callable[..., Any], name: str, digest: str | None, work: Callable[..., int], *,
        python: bool = True, nogil: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.template, self.name, self.digest, self.work = template, name, digest, work
        self.python, self.nogil = python, nogil
        self.cached = digest is not None
        self.lock = RLock()

    def run_in_python(self, *args: Any) -> Any:
        """Run the pass in Python; arrays that Python has no views of, in compiled code."""
        try:
            with nullcontext() if self.nogil else uninterrupted():
                return self.plain(*views(args))
        except UnalignedError:  # nothing was read or written yet
            return self.compiled(*args)

    def in_python(self, *args: Any) -> bool:
        """Return whether to run this call in Python."""
        return self.python and super().in_python(*args)

    @property
    def compiled(self) -> Any:
        """The compiled function."""
        with self.lock:
            return self._compiled

    @cached_property
    def _compiled(self) -> Any:
        source, names = flatten(self.template, self.name)
        space = {key: NATIVE.get(value, value) if callable(value) else value for key, value in names.items()}
        identity = None if self.digest is None else hashlib.sha256(f"{self.digest} {source}".encode()).hexdigest()
        return compiled(_made(source, self.name, space, identity), self.digest, self.nogil)

    @cached_property
    def plain(self) -> Any:
        """The function in Python, called with :func:`linsep.engine.arrays.views` of the arguments."""
        source, names = flatten(self.template, self.name, PYTHON)
        return _made(source, self.name, names, None)


def _made(source: str, name: str, space: dict[str, Any], identity: str | None) -> Any:
    """Return the function of a source text, which captures its identity for the disk cache."""
    head, *body = source.splitlines()
    lines = ["def make(identity):", f"    {head}", "        identity", *(f"    {line}" for line in body)]
    lines.append(f"    return {name}")
    space = space | {"__name__": __name__}
    exec(compile("\n".join(lines), __file__, "exec"), space)
    return space["make"](identity)


def learning_work(bound: Bound, row: Any, start: int, stop: int, first: int) -> int:
    """Return the work of a learning pass: the entries of its rows, and some more a row, in each column."""
    weights, data = bound.args[1][0], bound.args[5]
    return (stop - start) * (_entries_a_row(row + data) + 8) * weights.shape[1]


def scoring_work(w: Any, data: Any, room: Any, start: int, stop: int, *out: Any) -> int:
    """Return the work of scoring some rows."""
    return (stop - start) * (_entries_a_row(data) + 4) * w[0].shape[1]


def _entries_a_row(data: Any) -> int:
    """Return the mean number of entries in a row, given the fields of any kind of data."""
    values = data[0]
    if values.ndim == 2:
        return int(values.shape[1])
    rows = len(data[2]) - 1 if isinstance(data[2], np.ndarray) else 1
    return len(values) // max(1, rows)


def single_work(bound: Bound, row: Any, *place: int) -> int:
    """Return the work of a single row."""
    return (len(row[0]) + 8) * bound.args[0][0].shape[1]
