"""Identify compiled code on disk by a digest of its source.

Numba's cache depends on the kernel's own file only. The digest covers the rest: every file of this package's engine
and, for a rule, its fields, the bytecode of its methods and all that they read, found recursively. It is captured by
the kernel, so that a change anywhere gives other machine code. Where the digest can't be known, None: compile in each
process.
"""

import hashlib
import sys
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

ENGINE = Path(__file__).parent


@cache
def engine_digest(*more: Path) -> str:
    """Return a digest of the engine's source files, and of those in more folders."""
    lines = hashlib.sha256()
    for folder in (ENGINE, *more):
        for file in sorted(folder.glob("*.py")):
            lines.update(file.read_bytes())
    return lines.hexdigest()


def digest_of(rule: Any) -> str | None:
    """Return the digest of a kernel that a rule drives; None if the rule's code can't be identified."""
    methods = rule.step, getattr(rule, "loss", None), getattr(rule, "pull", None)
    fields, home = rule._fields, sys.modules.get(rule.__module__)
    if home is None or rule.__module__ == "__main__" or vars(home).get(rule.__qualname__) is not rule:
        return None
    try:
        lines = [engine_digest(), *fields, *_identity(methods, set())]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()
    except UnknownValueError:
        return None


class UnknownValueError(Exception):
    """A value whose identity the digest can't capture."""


def _identity(value: Any, seen: set[int]) -> list[str]:
    """List what identifies a value that compiled code reads."""
    if isinstance(value, (int, float, complex, str, bytes, bool, type(None))):
        return [repr(value)]
    if isinstance(value, ModuleType) and value.__name__ in ("math", "numpy"):
        return [value.__name__, getattr(value, "__version__", "")]
    if id(value) in seen:
        return []
    seen.add(id(value))
    if isinstance(value, tuple):
        return [line for item in value for line in _identity(item, seen)]
    if isinstance(value, CodeType):
        return [value.co_code.hex(), *_identity(value.co_consts, seen), *value.co_names]
    value = getattr(value, "py_func", value)
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        reads = [value.__globals__[name] for name in _names(value.__code__) if name in value.__globals__]
        return [line for item in (value.__code__, value.__defaults__, *cells, *reads) for line in _identity(item, seen)]
    if getattr(value, "__module__", None) in ("builtins", "math", "numpy"):
        return [value.__module__, value.__qualname__]
    raise UnknownValueError(value)


def _names(code: CodeType) -> list[str]:
    inner = [name for constant in code.co_consts if isinstance(constant, CodeType) for name in _names(constant)]
    return sorted({*code.co_names, *inner})
