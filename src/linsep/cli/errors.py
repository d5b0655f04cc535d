"""Report errors as one line and an exit code; only a bug keeps its traceback.

| code | means |
|---|---|
| 0 | done |
| 1 | `verify`: a claim failed or was not checked in time; `compare`: no learner could be trained |
| 2 | usage: an option, a parameter, a file or a cluster that can't be reached, a package that is not installed |
| 3 | bad data |
| 4 | a corrupt or foreign model file or certificate |
| 130 | interrupted |
| 141 | the reader of the output is gone |
"""

import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import UnsupportedOperation
from typing import Any, NoReturn

import typer

from linsep.cli.startup import begin_work
from linsep.cli.terminal.text import say, silence

USAGE, BAD_DATA, BAD_MODEL, INTERRUPTED, CLOSED_PIPE = 2, 3, 4, 130, 141
SHOW = "LINSEP_TRACEBACK"
"""The variable that, set to anything but 0, shows where an error comes from."""
EXTRAS = {
    "pyarrow": "arrow", "jinja2": "plot", "matplotlib": "plot", "onnx": "onnx", "dask": "dask", "distributed": "dask",
}  # fmt: skip
"""The extra that a package comes with."""
CODES = {
    ("linsep.data.errors", "DataError"): BAD_DATA,
    ("linsep.engine.data_kinds", "ColumnIndexError"): BAD_DATA,
    ("linsep.models.archive", "ModelError"): BAD_MODEL,
    ("linsep.certificates.certificate", "CertificateError"): BAD_MODEL,
    ("linsep.distributed.cluster", "ClusterError"): USAGE,
}
"""The exit code of an error by its class. If the module of a class is not loaded, nothing has raised it."""
OF_PARAMETERS = {
    ("linsep.validation.errors", "InvalidDataError"): BAD_DATA,
    ("linsep.validation.errors", "ParameterError"): USAGE,
    ("sklearn.utils._param_validation", "InvalidParameterError"): USAGE,
}
"""The same for errors whose messages name parameters, which are options here."""


class UsageError(Exception):
    """A wrong option, or one that contradicts another."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what is kept of the work.

    >>> Interrupted(kept="the model after 3 epochs is in m.linsep").kept
    'the model after 3 epochs is in m.linsep'
    """

    def __init__(self, kept: str = "nothing was written") -> None:
        super().__init__(kept)
        self.kept = kept


@contextmanager
def report_errors(name: Callable[[], str]) -> Iterator[None]:
    """Turn exceptions into one line on stderr, which begins with the command's name, and an exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(f"{name()}: warning: {message}")
        try:
            begin_work()
            yield
            if sys.stdout is not None:
                sys.stdout.flush()
        except BrokenPipeError:
            leave_quietly()
        except (Exception, KeyboardInterrupt) as error:
            found = explain(error)
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


def explain(error: BaseException) -> tuple[int, str] | None:
    """Return the exit code and the line of an error; None for a bug, and for what ends a program without one.

    >>> explain(UsageError("--eta is an option of winnow"))
    (2, '--eta is an option of winnow')
    >>> explain(ValueError("a bug")) is None
    True
    """
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, f"interrupted; {getattr(error, 'kept', 'nothing was written')}"
    if isinstance(error, UsageError):
        return USAGE, str(error)
    if hasattr(error, "format_message"):
        return _of_the_command_line(error)
    if isinstance(error, ImportError):
        return _of_a_package(error)
    if isinstance(error, MemoryError):
        return USAGE, f"not enough memory{f': {error}' if str(error) else ''}"
    for codes in (CODES, OF_PARAMETERS):
        for (module, name), code in codes.items():
            if module in sys.modules and isinstance(error, getattr(sys.modules[module], name)):
                of_reader = name == "DataError"
                return code, _in_options(error, of_reader) if of_reader or codes is not CODES else str(error)
    return _of_a_file(error) if isinstance(error, OSError) else None


def _of_the_command_line(error: Any) -> tuple[int, str] | None:
    """Return the parser's message about wrong options."""
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.format_message(), err=True)  # it is the help
        raise SystemExit(USAGE)
    message, context = error.format_message().rstrip("."), getattr(error, "ctx", None)
    message = re.sub(r"[Ii]nput should be (greater|less) than or equal to ", _limit, message)
    name = str(getattr(error, "option_name", "")).lstrip("-").replace("-", "_")
    if context is not None and any(param.name == "option" for param in context.command.get_params(context)):
        from linsep.cli.options.command import READER

        if name in READER:
            message = f"no such option: {error.option_name}; write -O {name}=VALUE, as it is an option of the reader"
    see = f"; see {context.command_path} --help" if context is not None else ""
    return USAGE, message[:1].lower() + message[1:] + see


def _limit(found: re.Match[str]) -> str:
    return f"it is at {'least' if found[1] == 'greater' else 'most'} "


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


def _in_options(error: Exception, of_reader: bool) -> str:
    """Return a message about parameters in the words of the command line."""
    from linsep.cli.options.command import READER, RESERVED
    from linsep.cli.options.common import reader_in_options

    if of_reader:
        return reader_in_options(str(error), READER)
    from linsep.cli.options.learners import in_options

    return in_options(error.text(without=RESERVED) if hasattr(error, "text") else reader_in_options(str(error), READER))
