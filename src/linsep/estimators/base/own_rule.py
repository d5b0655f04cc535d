"""Check a rule that a user wrote."""

import inspect
import linecache
import re
from functools import cache
from typing import Any

from numba import njit, types
from numba.core.errors import NumbaError, UnsupportedBytecodeError

from linsep.engine.step import check_rule, shrinks


def check_own_rule(rule: Any) -> None:
    """Raise an error that shows the line at fault if a user's rule is none, or if its step can't be compiled."""
    check_rule(rule)
    kind: Any = type(rule)
    _check_compiles(kind)


@cache
def _check_compiles(rule: Any) -> None:
    if rule.__module__.startswith("linsep.rules"):
        return
    step: Any = rule.step
    numbers = [types.float64] * (len(inspect.signature(step).parameters) - 1)
    of_rule = types.NamedTuple([types.float64] * len(rule._fields), rule)
    if rule._fields:
        of_rule = types.NamedUniTuple(types.float64, len(rule._fields), rule)
    try:
        compiled = njit(error_model="numpy")(step)
        compiled.compile((of_rule, *numbers))
    except (NumbaError, UnsupportedBytecodeError) as error:
        raise TypeError(f"{rule.__name__}.step can't be compiled.\n{_place(step, error)}") from None
    returned = next(iter(compiled.overloads.values())).signature.return_type
    number = (types.Integer, types.Float)
    fine = (
        isinstance(returned, types.BaseTuple) and len(returned) == 2 and all(isinstance(t, number) for t in returned)
        if shrinks(rule)
        else isinstance(returned, number)
    )
    if not fine:
        wanted = "a pair (keep, amount) of numbers" if shrinks(rule) else "a number, the amount,"
        raise TypeError(f"{rule.__name__}.step returns {returned}; it must return {wanted} on every path")


def _place(step: Any, error: Exception) -> str:
    """Return the reason, and the user's own line where the error or its message names one."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    code = step.__code__
    lines = {line for *_, line in code.co_lines() if line is not None}
    in_text = map(int, re.findall(r"(?:\(|line )(\d+)", text))
    named: list[Any] = [getattr(getattr(error, "loc", None), "line", None), *in_text]
    line = next((n for n in named if n in lines), code.co_firstlineno)
    source = linecache.getline(code.co_filename, line).strip() or "(source not available)"
    reason = next((part for part in text.splitlines() if part.strip() and "nopython" not in part), "").strip()
    return f'  File "{code.co_filename}", line {line}\n    {source}\n{reason}'
