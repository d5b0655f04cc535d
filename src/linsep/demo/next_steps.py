"""Next steps after the demo: a table of digits, and commands that read it."""

import os
import shutil
import sys
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import numpy as np

from linsep.demo.data_sets import DataSet

LABEL = "digit"


class NextSteps(NamedTuple):
    """The files that the commands read and write; no page where nothing can be drawn."""

    table: Path
    new: Path
    model: Path
    page: Path | None

    def commands(self, width: int) -> list[str]:
        """Return the three commands, of lines that fit where they can, to be run as they are."""
        program, table, new, model = _program(), *(quote(str(path)) for path in (self.table, self.new, self.model))
        page = [] if self.page is None else [f"--report {quote(str(self.page))}"]
        return [
            _fold([f"{program} compare {table} --label {LABEL}"], width),
            _fold([f"{program} fit {table} --label {LABEL} --holdout 0.2", f"-o {model}", *page], width),
            _fold([f"{program} predict {model} {new}"], width),
        ]


def prepare(digits: DataSet, out: Path, drawn: bool) -> NextSteps:
    """Write the digits to learn from, and of the others one of each without its label; return what to do with them."""
    steps = NextSteps(
        out / "digits.csv", out / "new.csv", out / "digits.linsep", out / "digits.html" if drawn else None
    )
    columns = ",".join(digits.features)
    rows = np.column_stack([digits.y, digits.X])
    _, first = np.unique(digits.y_test, return_index=True)
    np.savetxt(steps.table, rows, "%g", ",", header=f"{LABEL},{columns}", comments="")
    np.savetxt(steps.new, digits.X_test[first], "%g", ",", header=columns, comments="")
    return steps


def _fold(parts: list[str], width: int) -> str:
    r"""Join parts of a command, on further lines where the first one is full.

    >>> print(_fold(["linsep fit a.csv", "-o a.linsep", "--report a.html"], 32))
    linsep fit a.csv -o a.linsep \
        --report a.html
    """
    lines = parts[:1]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 3 <= width:
            lines[-1] += f" {part}"
        else:
            lines.append(f"    {part}")
    return " \\\n".join(lines)


def _program() -> str:
    """Return the command that starts linsep with this interpreter, as short as it can be typed here."""
    folder = Path(sys.executable).parent
    own = folder / "linsep"
    if not own.exists():
        return f"{_shortest(sys.executable)} -m linsep"
    found = shutil.which("linsep")
    return "linsep" if found and Path(found).parent == folder else _shortest(str(own))


def _shortest(path: str) -> str:
    return quote(min(path, os.path.relpath(path), key=len))
