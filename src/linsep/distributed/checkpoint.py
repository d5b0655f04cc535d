"""Checkpoints: a model file after every epoch, from which an interrupted run resumes."""

import os
import re
import sys
from typing import Any

import numpy as np

from linsep import __version__
from linsep.estimators.base.learner import Learner
from linsep.models.save_load import ModelError, Saved, opened, save
from linsep.validation.errors import ParameterError

PASSING = ("max_iter", "n_jobs", "warm_start")
"""Parameters that may differ between a run and its resumption."""


class Checkpoint:
    """The checkpoint file of a run; without a path nothing is written.

    Parameters
    ----------
    path : path or None
        The file; None writes none.
    identity : dict
        Plain values that differ between runs: a file of another run is refused.
    """

    def __init__(self, path: str | os.PathLike[str] | None, identity: dict[str, Any]) -> None:
        self.path, self.identity = path, identity
        self._known: tuple[int, int] | None = None
        """The inode and time of the file as this run has found or written it."""

    def load(self) -> Saved | None:
        """Return the run after its last complete epoch, or None if there is no file."""
        self._known = self._stamp()
        if self.path is None or self._known is None:
            return None
        try:
            saved = opened(self.path)
        except ModelError as error:
            raise ModelError(self.path, f"{error.reason}; without the file training starts again") from None
        run, history = saved.about.get("run"), saved.about.get("history")
        if not isinstance(run, dict) or not isinstance(history, list):
            raise ParameterError(f"{self.path} is a model, but not of a run that was cut off: name another file")
        for name, value in self.identity.items():
            if run.get(name) != value:
                raise ParameterError(
                    f"{self.path} is of another run: its {name} {_difference(run.get(name), value)}; "
                    "delete it if that run is over, or name another file"
                )
        return saved

    def write(self, learner: Learner, history: list[list[int]]) -> None:
        """Write the learner after an epoch, and the mistakes and updates of each epoch."""
        assert self.path is not None
        if self._stamp() != self._known:
            raise ParameterError(
                f"{self.path} has changed since the last epoch: does another run keep its epochs there?"
            )
        save(learner, self.path, about={"run": self.identity, "history": history})
        self._known = self._stamp()

    def _stamp(self) -> tuple[int, int] | None:
        """Return the inode and time of the file, or None if there is none."""
        if self.path is None or not os.path.exists(self.path):
            return None
        status = os.stat(self.path)
        return status.st_ino, status.st_mtime_ns


def identity_of(learner: Learner, data: list[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return all that the bits of a run depend on, as plain values."""
    parameters = {k: _as_text(v) for k, v in learner.get_params(deep=False).items() if k not in PASSING}
    return {
        "linsep": __version__, "learner": type(learner).__name__, "parameter": parameters, "shards": data,
        "option": {name: _as_text(value) for name, value in options.items()},
    }  # fmt: skip


def _as_text(value: Any) -> str:
    """Return a value as text that is the same in every process: untruncated, and without memory addresses.

    >>> _as_text(object())
    '<object object>'
    """
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        return re.sub(" at 0x[0-9a-fA-F]+", "", repr(value))


def _difference(then: Any, now: Any) -> str:
    """Describe how two values differ.

    >>> _difference({"eta": "0.1", "p": "2"}, {"eta": "0.2", "p": "2"})
    'eta was 0.1, and is 0.2'
    """
    if isinstance(then, dict) and isinstance(now, dict):
        name = next(name for name in [*now, *then] if then.get(name) != now.get(name))
        return f"{name} was {then.get(name)}, and is {now.get(name)}"
    if isinstance(then, list) and isinstance(now, list):
        k = next((k for k, pair in enumerate(zip(then, now, strict=False)) if pair[0] != pair[1]), None)
        return f"were {len(then)}, and are {len(now)}" if k is None else f"were {then[k]}, and are {now[k]}"
    return f"was {then}, and is {now}"
