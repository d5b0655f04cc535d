"""The standard input, where somebody waits at its other end."""

import os
import stat
import sys
from typing import Any


def live_input(data: list[Any]) -> Any:
    """Return the standard input, to be read as bytes come, if the data are it and it is not a file; else None."""
    buffered: Any = getattr(sys.stdin, "buffer", None)
    if data != ["-"] or not hasattr(buffered, "raw") or stat.S_ISREG(os.fstat(buffered.fileno()).st_mode):
        return None
    return buffered.raw
