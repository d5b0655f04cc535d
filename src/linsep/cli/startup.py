"""Start a process that runs a command: handle signals, and load no more than commands need.

Scikit-learn imports pandas where that is installed, for a name that nothing here reads, and scipy.stats for a function
that nothing here calls; the garbage collector scans all that is loaded again and again. Without these, a command begins
in less than half of the time. (`importlib.util.LazyLoader` loads the module at the second `import`.)
"""

import atexit
import gc
import os
import signal
import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from threading import RLock
from typing import Any, NoReturn

INTERRUPTED, TERMINATED = 130, 143
"""Exit codes: 128 and the number of the signal."""
UNUSED, HOME = "pandas", "sklearn.utils.fixes"
"""A package that commands do not need, and the module that imports it."""
POSTPONED = ("scipy.optimize", "scipy.special", "scipy.stats")
"""Modules that are loaded on first use."""


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
    """Import scikit-learn without what commands do not need; to import that works as before."""
    if HOME in sys.modules:
        return
    for name in POSTPONED:
        _postpone(name)
    blocked = UNUSED not in sys.modules
    if blocked:
        sys.modules[UNUSED] = None  # type: ignore[assignment]
    try:
        import_module(HOME)
    finally:
        if blocked:
            del sys.modules[UNUSED]


def _postpone(name: str) -> None:
    """Make a module that is loaded when an attribute of it is first read."""
    spec = None if name in sys.modules else find_spec(name)
    if spec is None or spec.loader is None:
        return
    module, run, lock, begun = module_from_spec(spec), spec.loader.exec_module, RLock(), False

    def load(attribute: str) -> Any:
        nonlocal begun
        with lock:  # another thread waits for the whole module
            if not begun:
                begun = True
                run(module)
        if attribute not in vars(module):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        return vars(module)[attribute]

    module.__dict__["__getattr__"] = load
    sys.modules[name] = module
