"""The rows of a command: of files or a pipe, with feature maps, or in the columns of a saved model."""

import io
import os
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from shlex import join
from typing import TYPE_CHECKING, Any, Self

import typer

import linsep
from linsep.cli.errors import UsageError
from linsep.cli.options.common import as_words, learner_options, maps_from, reader_options
from linsep.cli.terminal.text import say, words
from linsep.data.dataset import Dataset
from linsep.data.format import Format
from linsep.data.registry import detected_format, options_of
from linsep.data.sources import sources_of
from linsep.data.streaming import Stream
from linsep.validation.errors import InvalidDataError

if TYPE_CHECKING:
    from linsep.evaluation.scoring import Scores
    from linsep.models.save_load import Saved


def load_rows(ctx: typer.Context, data: list[str], remark: bool = True, saved: "Saved | None" = None) -> Dataset:
    """Read and map the rows of a command by its options, into the columns of a model if given; omit weights of rows."""
    from linsep.cli.terminal.progress import reading_bar  # many commands read, and few show a bar

    maps, options = maps_from(learner_options(ctx).maps), reader_options(ctx)
    if saved is not None:
        options = reading_for(saved, data, options)
    with reading_bar("reading", remark) as tell:
        rows = linsep.read(data, progress=tell, **options)
    if not len(rows):
        raise InvalidDataError(f"{', '.join(data)}: there are no rows")
    if rows.unseen and remark:
        say(f"{ctx.command_path}: entries of features that the model does not know, left out: {rows.unseen:,}")
    if rows.weights is not None and remark:
        say(f"{ctx.command_path}: weights of rows are left out: what is proved is of rows that weigh alike")
    X: Any = rows.X
    for step in maps:
        X = step.fit_transform(X)
    return replace(rows, X=X, weights=None)


def read_rows(
    data: list[str], test: list[str] | None, options: dict[str, Any], shown: bool
) -> tuple[Dataset, Dataset | None]:
    """Read rows, and others in the same columns to be judged by; None if there are no others."""
    from linsep.cli.terminal.progress import reading_bar

    with reading_bar("reading", shown) as tell:
        rows = linsep.read(data, progress=tell, **options)
        if test is None:
            return rows, None
        return rows, linsep.read(test, like=rows, progress=tell, **options_for_test_rows(options))


def options_for_test_rows(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the training rows that test rows in the same columns are read with.

    >>> options_for_test_rows({"format": "csv", "label": "kind", "on_error": "quarantine", "quarantine": "bad.csv"})
    {'format': 'csv', 'on_error': 'skip'}
    """
    found = {name: value for name, value in options.items() if name in ("format", "n_jobs", "on_error")}
    if "on_error" in found:  # only rows to learn from are set aside for a second look
        found["on_error"] = found["on_error"].replace("quarantine", "skip")
    return found


STDIN = "-"
PIPE_BYTES = 1 << 20
"""The size to request for a pipe, so that a program that writes much need not wait for each prediction."""


class Waiting(io.RawIOBase):
    """Bytes of a pipe or a terminal: a read waits for the first of them, and takes all that are there by then."""

    def __init__(self, raw: Any, name: str) -> None:
        self.name, self._raw, self._ended = name, raw, False
        self._there = _poll_of(raw.fileno())

    def readable(self) -> bool:
        """Return True: the bytes can be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Fill the buffer with what is there; wait if that is nothing."""
        got: int | None = 0 if self._ended else self._raw.readinto(buffer)
        while got and got < len(buffer) and self._there is not None and self._there.poll(0):
            more = self._raw.readinto(memoryview(buffer)[got:])
            if not more:
                self._ended = more == 0
                break
            got += more
        return got

    def close(self) -> None:
        """Close it, unless it is the standard input."""
        if self.name != STDIN:
            self._raw.close()
        super().close()


def pipe_input(data: list[Any]) -> Waiting | None:
    """Return what the data are read from, if they are a pipe, a terminal or a device; else None."""
    if data == [STDIN]:
        if sys.stdin is None:
            raise UsageError("there is no standard input: name a file")
        raw = getattr(getattr(sys.stdin, "buffer", None), "raw", None)
        return None if raw is None or stat.S_ISREG(os.fstat(raw.fileno()).st_mode) else Waiting(raw, STDIN)
    if len(data) != 1 or not os.path.exists(data[0]) or os.path.isfile(data[0]) or os.path.isdir(data[0]):
        return None
    return Waiting(open(data[0], "rb", buffering=0), data[0])


def _poll_of(descriptor: int) -> Any:
    """Return a poll object that detects further input, where the system has one; enlarge the pipe, if it is one."""
    with suppress(ImportError):
        import fcntl

        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with suppress(OSError):  # it is no pipe, or others have had all the room
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    with suppress(ImportError, AttributeError):
        import select

        there = select.poll()
        there.register(descriptor, select.POLLIN)
        return there
    return None


MOST_NAMED = 5
"""Columns and labels that a remark names."""


@dataclass
class RowCount:
    """Count the rows and entries that are read, to warn of data that a model knows little of."""

    rows: int = 0
    known: int = 0
    """Entries of features that the model knows."""
    rejected: int = 0
    """Malformed rows."""
    unseen: int = 0
    """Entries of features that the training data did not have."""
    extra: list[str] = field(default_factory=list)
    """Columns that the training data did not have."""

    def add(self, X: Any) -> None:
        """Add some rows; a dense table has all columns."""
        self.rows += X.shape[0]
        self.known += int(X.nnz) if hasattr(X, "nnz") else X.size

    def end(self, form: Format, rejected: int, unseen: int) -> Self:
        """Add what was left out in a pass over the data."""
        return self.plus(RowCount(rejected=rejected, unseen=unseen, extra=list(getattr(form, "extra", ()))))

    def plus(self, other: "RowCount") -> Self:
        """Add the counts of other rows."""
        self.rows, self.known = self.rows + other.rows, self.known + other.known
        self.rejected, self.unseen = self.rejected + other.rejected, self.unseen + other.unseen
        self.extra += [name for name in other.extra if name not in self.extra]
        return self

    def remarks(self) -> list[str]:
        """Return remarks on what was left out."""
        found = [f"left out, as the model has no such column: {_some(self.extra)}"] if self.extra else []
        if self.unseen and not self.known:
            found.append(
                f"the model knows none of the features ({self.unseen:,} entries are left out), and all rows have the "
                "same scores: check that the data are read as the training data were"
            )
        return found


def remark_on_labels(scores: "Scores", classes: Any) -> list[str]:
    """Return a remark on rows whose labels a model does not know, if there are any."""
    known = set(classes.tolist())
    unknown = {part.label: part.rows for part in scores.classes if part.rows and part.label not in known}
    if not unknown:
        return []
    count = sum(unknown.values())
    have = "row has a label" if count == 1 else "rows have labels"
    return [f"{count:,} {have} that the model does not know, each an error: {_some(list(unknown))}"]


def _some(names: list[Any]) -> str:
    """Return some names, and how many more there are.

    >>> _some(["a", 3]), _some(list("abcdefgh"))
    ('a, 3', 'a, b, c, d, e and 3 more')
    """
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return words(names[:MOST_NAMED]) + more


NUMBERED = ("svmlight", "vw", "text")
"""Formats whose number of columns is an option."""


def without_known(form: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options without those that repeat how a model's data were read; a different value is an error."""
    own = {name: getattr(form, name) for name in options_of(type(form)) if name in options}
    for name, value in own.items():
        found = getattr(getattr(form, "found", None), name, value)
        if options[name] not in (value, found) and as_words({name: value}) != as_words({name: options[name]}):
            given, trained = (join(as_words({name: of})) for of in (options[name], found))
            raise UsageError(
                f"the model was trained {f'without -O {name}' if found is None else f'with {trained}'}: omit {given}"
            )
    return {name: value for name, value in options.items() if name not in own}


def rows_for(saved: Any, data: list[str], options: dict[str, Any]) -> Stream:
    """Return the rows of some files in the columns of a model that was opened."""
    return linsep.stream(data, **reading_for(saved, data, options))


def reading_for(saved: Any, data: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """Return how to read some files into the columns of a model that was opened.

    If the file does not record how the training data were read, the options decide.
    """
    if saved.form is not None:
        return {"like": saved, **without_known(saved.form, options)}
    width = getattr(saved.model, "n_features_in_", None)
    if width is None:
        raise UsageError(
            "the model takes documents, and its file does not record how to read them: train it with `linsep fit`"
        )
    if "n_features" not in options:
        first = sources_of(data)[0]
        format = options.get("format") or ("svmlight" if first.handle is not None else detected_format(first))
        if format in NUMBERED:
            options = {**options, "n_features": width, "format": format}
    return options
