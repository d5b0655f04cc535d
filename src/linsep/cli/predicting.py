"""Answers as lines: for each line of text that is read there is one, as soon as it is there."""

import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from linsep.cli.answering import labels_of, rows_for
from linsep.cli.failures import Usage
from linsep.cli.live import live_input
from linsep.data.dataset import as_csr
from linsep.data.form import Form
from linsep.data.line_form import LineForm
from linsep.data.reading import Stream
from linsep.data.rows import Rows
from linsep.models.file import Saved

Array = NDArray[Any]
Writer = Callable[[Any], list[bytes]]


def predict(saved: Saved, data: list[str], what: str, out: Path | None, options: dict[str, Any]) -> None:
    """Write the answers to all rows."""
    write = writer(saved.model, what)
    rows, live = _opened(saved, data, options)
    with _output(out) as file:
        for part in _parts(rows):
            file.write(_lines(part, rows.reader.form, write))
            if live:
                file.flush()


def writer(model: Any, what: str) -> Writer:
    """Return what turns rows into lines."""
    if what == "probabilities":
        if not hasattr(model, "predict_proba"):
            raise Usage("the model has no probabilities: logistic-regression has, and --scores are there for all")
        return lambda X: _numbers(model.predict_proba(X))
    if what == "scores":
        return lambda X: _numbers(model.decision_function(X))
    words = np.array([f"{label}\n".encode() for label in model.classes_.tolist()], object)
    codes = np.arange(len(words))
    return lambda X: words[labels_of(codes, model.decision_function(X))].tolist()


def _numbers(table: Array) -> list[bytes]:
    if table.ndim == 1:
        return [b"%r\n" % number for number in table.tolist()]
    return ["\t".join(map(repr, row)).encode() + b"\n" for row in table.tolist()]


def _opened(saved: Saved, data: list[str], options: dict[str, Any]) -> tuple[Stream, bool]:
    """Return the rows, and whether each is wanted as soon as it is there: those of pipes are."""
    handle = live_input(data)
    if handle is None:
        return rows_for(saved, data, options), False
    if saved.form is not None and "format" not in options:
        options = {**options, "format": saved.form.name if saved.form.name != "binary" else "svmlight"}
    rows = rows_for(saved, [handle], {**options, "n_jobs": 1})
    for source in rows.reader.sources:
        source.live = True
    return rows, True


def _parts(rows: Stream) -> Iterator[Rows]:
    form = rows.form  # settled by a look at all rows, where that is needed
    return rows.reader.parts(form, rows.reader.clock())


def _lines(part: Rows, form: Form, write: Writer) -> bytes:
    """Return a line for every line of a part; those that are no rows, blank or malformed, are empty."""
    rows = form.finish(part)
    X: Any = rows.values
    if rows.indptr is not None and rows.indices is not None:
        X = as_csr(rows.values, rows.indices, rows.indptr, form.width)
    answers = write(X) if len(rows) else []
    if not isinstance(form, LineForm) or len(answers) == part.lines:
        return b"".join(answers)
    lines = [b"\n"] * part.lines
    for place, answer in zip(part.places.tolist(), answers, strict=True):
        lines[place] = answer
    return b"".join(lines)


@contextmanager
def _output(out: Path | None) -> Iterator[BinaryIO]:
    """Give the standard output, or a file that takes its place only when it is whole."""
    if out is None or str(out) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if out.exists() and not out.is_file():
        with out.open("wb") as file:
            yield file
        return
    draft = out.with_name(f".{out.name}.{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as file:
            yield file
        os.replace(draft, out)
    finally:
        draft.unlink(missing_ok=True)
