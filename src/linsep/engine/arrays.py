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


class UnalignedError(ValueError):
    """An array is not aligned to its item size, as when it was received in a message: it has no memoryview."""


def views(value: Any) -> Any:
    """Return a value with a memoryview in place of each array, also inside tuples."""
    if isinstance(value, tuple):
        return tuple(map(views, value))
    if not isinstance(value, np.ndarray):
        return value
    if not value.flags.aligned:
        raise UnalignedError
    return memoryview(value)  # type: ignore[arg-type]
