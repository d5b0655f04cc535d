"""Passes in two tiers: flat Python functions on memoryviews for small work, compiled functions for the rest.

Both are flat forms (:mod:`linsep.engine.flatten`) of one template, with the same operations in the same order, so that
the results are the same to the bit.
"""

import ast
import hashlib
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from linsep.engine.arrays import views
from linsep.engine.data_kinds import Dense, Room, Span, announce, entries, fetch, fetch_weights
from linsep.engine.flatten import Dialect, flatten
from linsep.engine.kernel_cache import Tiered, compiled
from linsep.engine.native import NATIVE, UNSIGNED, Bound, opened, prefetch, unsigned

UNDEFINED = -1
"""The status of a pass that stopped before a row on which Python raises where compiled code computes inf or NaN."""


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
)  # fmt: skip


class Kernel(Tiered):
    """A pass, in Python or compiled.

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
        there is one thread.
    resumes : bool
        If True, the pass takes (bound, row, start, stop, first) and returns (position, status), so that a pass which
        Python can't finish resumes in compiled code.
    """

    def __init__(
        self, template: Callable[..., Any], name: str, digest: str | None, work: Callable[..., int], *,
        python: bool = True, nogil: bool = True, resumes: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.template, self.name, self.digest, self.work = template, name, digest, work
        self.python, self.nogil, self.resumes = python, nogil, resumes
        self.cached = digest is not None

    def run_in_python(self, *args: Any) -> Any:
        """Run the pass in Python; what can't be computed there, in compiled code."""
        try:
            result = self.plain(*views(args))
        except (ArithmeticError, ValueError):  # Python raises where compiled code computes inf or NaN
            if self.resumes:
                raise
            return self.compiled(*args)
        if self.resumes and result[1] == UNDEFINED:
            bound, row, _, *rest = args
            return self.compiled(bound, row, result[0], *rest)
        return result

    def in_python(self, *args: Any) -> bool:
        """Return whether to run this call in Python."""
        return self.python and super().in_python(*args)

    @cached_property
    def compiled(self) -> Any:
        """The compiled function."""
        source, names = flatten(self.template, self.name)
        space = {key: NATIVE.get(value, value) if callable(value) else value for key, value in names.items()}
        identity = None if self.digest is None else hashlib.sha256(f"{self.digest} {source}".encode()).hexdigest()
        return compiled(_made(source, self.name, space, identity), self.digest, self.nogil)

    @cached_property
    def plain(self) -> Any:
        """The function in Python, called with :func:`linsep.engine.native.views` of the arguments."""
        source, names = flatten(self.template, self.name, PYTHON)
        if self.resumes:
            tree: Any = ast.parse(source)
            guard: Any = ast.parse(f"try: pass\nexcept (ArithmeticError, ValueError): return p, {UNDEFINED}").body[0]
            guard.body = tree.body[0].body
            tree.body[0].body = [ast.parse("p = start").body[0], guard]
            source = ast.unparse(ast.fix_missing_locations(tree))
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
