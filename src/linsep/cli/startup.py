"""Start a process that runs a command: handle signals, and load no more than commands need.

Scikit-learn imports pandas where that is installed, for a name that nothing here reads, and the garbage collector scans
all that is loaded again and again. Without both, a command begins in about half of the time.
"""

import atexit
import gc
import os
import signal
import sys
from importlib import import_module
from typing import Any, NoReturn

INTERRUPTED, TERMINATED = 130, 143
"""Exit codes: 128 and the number of the signal."""
UNUSED, HOME = "pandas", "sklearn.utils.fixes"
"""A package that commands do not need, and the module that imports it."""


def handle_signals() -> None:
    """Exit at once at Ctrl-C until :func:`begin_work`, and at SIGTERM remove files half written.

    A signal that is ignored, as behind `nohup`, stays ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)


class Interruption(KeyboardInterrupt):
    """Ctrl-C.

    If a plain KeyboardInterrupt leaves code that is run from a string, as the code of NamedTuples and of numba is, then
    `python -m` ends by the signal later on, although the exception was caught and there is an exit code.
    """


def begin_work() -> None:
    """Let Ctrl-C be a KeyboardInterrupt from now on, which a command reports."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, _interrupt)


def end_work() -> None:
    """Ignore Ctrl-C from now on: the command has ended, and only its process has not."""
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _interrupt(*_: Any) -> NoReturn:
    raise Interruption


def _leave(*_: Any) -> NoReturn:
    os.write(2, b"linsep: interrupted; nothing was written\n")
    os._exit(INTERRUPTED)


def _terminate(*_: Any) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one would end the removal of files
    raise SystemExit(TERMINATED)


def postpone_garbage() -> None:
    """Collect no garbage until :func:`collect_garbage`, nor at the end of the process."""
    gc.disable()
    atexit.register(gc.freeze)


def collect_garbage() -> None:
    """Collect garbage, after all that a command needs is loaded: that is not garbage."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def load_scikit_learn() -> None:
    """Import scikit-learn without pandas; `import pandas` works as before."""
    if HOME not in sys.modules and UNUSED not in sys.modules:
        sys.modules[UNUSED] = None  # type: ignore[assignment]
        try:
            import_module(HOME)
        finally:
            del sys.modules[UNUSED]
