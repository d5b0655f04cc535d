"""What went wrong as one line and an exit code; only a bug keeps its traceback.

| code | means |
|---|---|
| 0 | done |
| 1 | the answer is no |
| 2 | usage: an option, a parameter, a file or a cluster that can't be reached, a package that is not installed |
| 3 | bad data |
| 4 | a corrupt or foreign model file or certificate |
| 130 | interrupted |
| 141 | the reader of the output is gone |
"""

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dis import opmap
from io import UnsupportedOperation
from linecache import getline
from typing import Any, NoReturn

import typer

from linsep.cli.terminal import say, silence

USAGE, BAD_DATA, BAD_MODEL, INTERRUPTED, CLOSED_PIPE = 2, 3, 4, 130, 141
SHOW = "LINSEP_TRACEBACK"
"""The variable that, set to anything but 0, shows where an error comes from."""
EXTRAS = {
    "pyarrow": "arrow", "jinja2": "plot", "matplotlib": "plot", "onnx": "onnx", "dask": "dask", "distributed": "dask",
}  # fmt: skip
"""The extra that a package comes with."""
OF_THE_DATA = (
    "X ", "Input X", "x ", "y ", "Input y", "Found array", "Unknown label type", "every row",
    "Sample weights", "a score", "the score of",
    "the sum of", "the label", "the kernel of row",
)  # fmt: skip
"""How learners begin what they say of data; other errors of theirs are about parameters."""


class Failure(Exception):
    """What a command can't do, said in one line."""

    code = USAGE


class Usage(Failure):
    """A wrong option, or one that does not go with another."""


class BadData(Failure):
    """Data that can't be used."""

    code = BAD_DATA


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what is kept of the work.

    >>> Interrupted(kept="the model after 3 epochs is in m.linsep").kept
    'the model after 3 epochs is in m.linsep'
    """

    def __init__(self, kept: str = "nothing was written") -> None:
        super().__init__(kept)
        self.kept = kept


@contextmanager
def told(name: Callable[[], str]) -> Iterator[None]:
    """Turn exceptions into one line on stderr, which begins with the command's name, and an exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(f"{name()}: warning: {message}")
        try:
            yield
            if sys.stdout is not None:
                sys.stdout.flush()
        except BrokenPipeError:
            leave_quietly()
        except (Exception, KeyboardInterrupt) as error:
            found = judged(error)
            if found is None:
                raise
            if os.environ.get(SHOW, "0") != "0":
                traceback.print_exc()
            code, line = found
            say(f"{name()}: {line}")
            _discard_output()
            raise SystemExit(code) from None


def leave_quietly() -> NoReturn:
    """End without a word, as the reader of the output is gone."""
    silence(sys.stdout.fileno())
    raise SystemExit(CLOSED_PIPE)


def _discard_output() -> None:
    """Discard output that can't be written, as on a full disk: Python would report it again at exit."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        silence(sys.stdout.fileno())


def judged(error: BaseException) -> tuple[int, str] | None:
    """Return the exit code and the line of an error; None for a bug, and for what ends a program without one.

    >>> judged(Usage("--eta goes with winnow"))
    (2, '--eta goes with winnow')
    >>> judged(ZeroDivisionError()) is None
    True
    """
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, f"interrupted; {getattr(error, 'kept', 'nothing was written')}"
    if isinstance(error, Failure):
        return error.code, str(error)
    if hasattr(error, "format_message"):
        return _of_the_command_line(error)
    if isinstance(error, ImportError):
        return _of_a_package(error)
    if _is_a(error, "linsep.distributed.cluster", "ClusterError"):
        return USAGE, str(error)
    if isinstance(error, MemoryError):
        return USAGE, f"not enough memory{f': {error}' if str(error) else ''}"
    if isinstance(error, OSError):
        return _of_a_file(error)
    if isinstance(error, (ValueError, TypeError)) and _is_said(error):
        return _of_a_value(error)
    return None


def _of_the_command_line(error: Any) -> tuple[int, str] | None:
    """Return what is wrong with the options, as the parser says it."""
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.format_message(), err=True)  # it is the help
        raise SystemExit(USAGE)
    message, context = error.format_message().rstrip("."), getattr(error, "ctx", None)
    see = f"; see {context.command_path} --help" if context is not None else ""
    return USAGE, message[:1].lower() + message[1:] + see


def _of_a_package(error: ImportError) -> tuple[int, str] | None:
    """Return how to install what an extra has; anything else that is missing is a bug."""
    if "pip install" in str(error):
        return USAGE, str(error)
    extra = EXTRAS.get((error.name or "").partition(".")[0])
    return None if extra is None else (USAGE, f"this needs {error.name}: pip install 'linsep[{extra}]'")


def _of_a_file(error: OSError) -> tuple[int, str] | None:
    if isinstance(error, UnsupportedOperation):
        return None
    if error.strerror is None:  # as libraries that are not written in Python raise it
        return (USAGE, str(error)) if str(error) else None
    place = f"{error.filename}: " if error.filename is not None else ""
    return USAGE, f"{place}{error.strerror[:1].lower()}{error.strerror[1:]}"


def _of_a_value(error: ValueError | TypeError) -> tuple[int, str]:
    """Return what a reader, a model file or a learner says, by whom it is said and of what."""
    from linsep.cli.commands import RESERVED
    from linsep.data.errors import DataError
    from linsep.data.formats import NoOptionError

    if isinstance(error, NoOptionError):
        return USAGE, error.text(without=RESERVED)
    if _is_of_a_model(error):
        return BAD_MODEL, str(error)
    if isinstance(error, DataError) or str(error).startswith(OF_THE_DATA):
        return BAD_DATA, str(error)
    return USAGE, str(error)


def _is_of_a_model(error: BaseException) -> bool:
    """Whether a model file or a certificate is wrong."""
    return _is_a(error, "linsep.models.save_load", "ModelError") or _is_a(
        error, "linsep.certificates.certificate", "CertificateError"
    )


def _is_a(error: BaseException, home: str, name: str) -> bool:
    """Whether an error is of a kind that a module has; where that is not loaded, it can't be."""
    return home in sys.modules and isinstance(error, getattr(sys.modules[home], name))


def _is_said(error: BaseException) -> bool:
    """Whether a `raise` of linsep, or of scikit-learn on its behalf, says it: others are accidents, which are bugs."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None:
        return False
    home = place.tb_frame.f_globals.get("__name__", "")
    if not home.startswith(("linsep.", "sklearn.utils.")):
        return False
    code = place.tb_frame.f_code.co_code
    return code[place.tb_lasti] in (opmap["RAISE_VARARGS"], opmap["RERAISE"]) or _raises(home, place.tb_lineno)


def _raises(home: str, line: int) -> bool:
    """Whether a module raises on a line: of an error from another process that is all there is to look at."""
    file = getattr(sys.modules.get(home), "__file__", None)
    return file is not None and getline(file, line).lstrip().startswith("raise ")
