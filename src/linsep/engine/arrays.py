"""The array type of all modules, and read-only views."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def frozen(array: Any) -> Any:
    """Return a read-only view: compiled code then sees one type for plain arrays and read-only memory maps alike."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def views(value: Any) -> Any:
    """Return a value with a memoryview in place of each array, also inside tuples."""
    if isinstance(value, tuple):
        return tuple(map(views, value))
    return memoryview(value) if isinstance(value, np.ndarray) else value  # type: ignore[arg-type]
