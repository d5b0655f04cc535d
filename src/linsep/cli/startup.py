"""Start a process that runs a command: load less, and handle signals.

Half of the time until the first row is learned is what scikit-learn imports and no command uses. It imports
scipy.special and scipy.stats for functions that are hardly ever called here: in a process that runs a command, both are
loaded when something in them is asked for. It also imports pandas, for a name that nothing reads: scikit-learn is
imported here as if pandas were not installed. Pandas itself stays importable.
"""

import atexit
import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from threading import RLock
from types import ModuleType
from typing import Any, ClassVar, NoReturn

INTERRUPTED, TERMINATED = 130, 143
"""Exit codes: 128 and the number of the signal."""
POSTPONED, UNUSED = ("scipy.special", "scipy.stats"), "pandas"
ASKED_FOR = ("__path__", "__all__", "__dir__")
"""Names with underscores that a package has; those who look for others look through all modules."""
ONE_AT_A_TIME = RLock()


class Postponed(ModuleType):
    """A module that is loaded when something in it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if self.__name__ in Lean.made and (name in ASKED_FOR or not name.startswith("__")):
            return getattr(self._loaded(), name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return dir(self._loaded())

    def _loaded(self) -> ModuleType:
        """Return the module itself."""
        with ONE_AT_A_TIME:
            if sys.modules.get(self.__name__) is self:
                Lean.wanted.add(self.__name__)
                del sys.modules[self.__name__]
            return import_module(self.__name__)


class Lean(MetaPathFinder, Loader):
    """Find modules that are postponed; others are left to other finders."""

    made: ClassVar[set[str]] = set()
    wanted: ClassVar[set[str]] = set()
    """Modules that are postponed, and those that are so no longer."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return how to load a module later."""
        if name in POSTPONED:
            return None if name in self.wanted else ModuleSpec(name, self)
        if name in sys.modules and name.startswith(POSTPONED):  # its package was loaded to find it, and it with that
            return ModuleSpec(name, Found(sys.modules[name]))
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return a module with nothing in it yet."""
        return Postponed(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing but to note that it can be asked for things, which it is even while it is made."""
        self.made.add(module.__name__)


class Found(Loader):
    """Loads what is loaded already: it stays as it is."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        """Let it keep how it was found."""
        module.__spec__ = self.spec


@contextmanager
def exit_at_signals() -> Iterator[None]:
    """Exit at once if Ctrl-C comes while the program is loaded: no work has begun, and there is nothing to report.

    Afterwards Ctrl-C is a KeyboardInterrupt, and SIGTERM a SystemExit, so that files half written are removed. A
    signal that is ignored, as behind `nohup`, stays so.
    """
    handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handled:
        signal.signal(signal.SIGINT, _leave)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    yield
    if handled:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: Any) -> NoReturn:
    os.write(2, b"linsep: interrupted; nothing was written\n")
    os._exit(INTERRUPTED)


def _terminate(*_: Any) -> NoReturn:
    raise SystemExit(TERMINATED)


def load_scikit_learn() -> None:
    """Import scikit-learn without pandas, in a process that :func:`postpone_imports` has begun."""
    if UNUSED not in sys.modules and any(isinstance(finder, Lean) for finder in sys.meta_path):
        sys.modules[UNUSED] = None  # type: ignore[assignment]
        try:
            import_module("sklearn.utils.fixes")
        finally:
            del sys.modules[UNUSED]


def loaded() -> None:
    """Let the garbage collector begin, after all that a command needs is loaded: that is not garbage.

    It walks all that was loaded again and again while more is, and once more when the process ends.
    """
    if any(isinstance(finder, Lean) for finder in sys.meta_path):
        gc.freeze()
        gc.enable()


def postpone_imports() -> None:
    """Let this process load less, and leave sooner; until :func:`loaded`, nothing is garbage."""
    if not any(isinstance(finder, Lean) for finder in sys.meta_path):
        sys.meta_path.insert(0, Lean())
        gc.disable()
        atexit.register(gc.freeze)
