"""Text that ends at a wall: to read a single byte beyond it ends the process."""

import ctypes
import mmap

import numpy as np

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
NO_ACCESS = 0


def at_the_wall(text):
    """Return bytes as an array whose end is the last byte before memory that may not be read."""
    room = (len(text) + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE
    memory = mmap.mmap(-1, room + mmap.PAGESIZE)
    memory[room - len(text) : room] = text
    whole = np.frombuffer(memory, np.uint8)
    if LIBC.mprotect(whole.ctypes.data + room, mmap.PAGESIZE, NO_ACCESS):
        raise OSError(ctypes.get_errno(), "mprotect")
    return whole[room - len(text) : room]
