"""What scikit-learn loads at its start and no command uses: half of the time until the first row is learned.

It loads scipy.stats for a function that is not called here, and pandas to know its types; commands read tables by Arrow
alone. So in a process that runs a command the one is loaded when something in it is asked for, and the other seems not
to be installed.
"""

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

POSTPONED, ABSENT = "scipy.stats", "pandas"


class Postponed(ModuleType):
    """A module that is loaded when something in it is asked for."""

    def __getattr__(self, name: str) -> Any:
        module = sys.modules.get(self.__name__)
        if module is None:
            raise AttributeError(f"{self.__name__} is being made, and has no {name}")
        if module is self:
            del sys.modules[self.__name__]
            sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Lean)]
            module = import_module(self.__name__)
        return getattr(module, name)


class Lean(MetaPathFinder, Loader):
    """Finds a module that is postponed, and does not find one that is absent; others are none of its business."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return how to load the module that is postponed."""
        if name == ABSENT:
            raise ModuleNotFoundError(f"a command has no use for {ABSENT}", name=ABSENT)
        return ModuleSpec(name, self) if name == POSTPONED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return a module with nothing in it yet."""
        return Postponed(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: that is for later."""


def start_lean() -> None:
    """Let this process load less."""
    sys.meta_path.insert(0, Lean())
