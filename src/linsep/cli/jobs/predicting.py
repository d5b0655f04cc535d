"""Write a prediction for each line of text, as soon as the line is read."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from linsep.cli.errors import UsageError
from linsep.cli.jobs.reading import STDIN, RowCount, Waiting, pipe_input, rows_for
from linsep.cli.options.workers import WorkerPool, start_workers
from linsep.cli.terminal.text import escape, say
from linsep.data.dataset import AlignedPart
from linsep.data.sources import Source, sources_of
from linsep.data.streaming import Stream
from linsep.data.text.format import LabelledText
from linsep.data.vw import Vw
from linsep.engine.arrays import Array
from linsep.engine.atomic_write import atomic_write, naming
from linsep.models.pipelines import is_calibrated
from linsep.models.save_load import Saved
from linsep.validation.labels import predicted_labels

BLOCK_BYTES = 1 << 23
"""Text whose rows are predicted at once: each call costs as much as some thousand rows."""
Writer = Callable[[Any], list[bytes]]
FROM_PIPES = ("svmlight", "vw", "text", "csv", "tsv")
"""Formats that a pipe has if the training data had them; another is looked for."""
EMPTY = b"\n"


class Output(NamedTuple):
    """The output for each row: "labels", "scores", "probabilities", or labels with so many features."""

    what: str = "labels"
    features: int = 0
    header: bool = False
    """If True, the first line has the labels of the columns."""


def predict(
    saved: Saved, data: list[str], output: Output, out: Path | None, options: dict[str, Any],
    pool: WorkerPool | None = None,
) -> None:  # fmt: skip
    """Write the predictions for all rows."""
    if isinstance(saved.form, LabelledText | Vw):
        saved.form.labels_optional = True  # type: ignore[misc]
    if isinstance(saved.form, LabelledText) and data == [STDIN]:
        # Plain lines look like no format, and a redirected file has no name that tells it.
        options = {"format": saved.form.name, **options}
    if pool is not None:
        _predict_with_workers(saved, data, output, out, options, pool)
        return
    write, count = writer(saved, output), RowCount()
    pipe = pipe_input(data)
    with pipe or nullcontext():
        much = {"block_bytes": BLOCK_BYTES, **options}
        rows = rows_for(saved, data, much) if pipe is None else _live_rows(saved, pipe, options)
        _refuse_target(out, rows.reader.sources)
        with _output(out) as file:
            for lines in _with_header(saved.model, output, _predicted_lines(rows, write, count)):
                file.write(lines)
                if pipe is not None:
                    file.flush()
        _warn(count.end(rows.form, rows.rejected, rows.unseen))


def _predict_with_workers(
    saved: Saved, data: list[str], output: Output, out: Path | None, options: dict[str, Any], pool: WorkerPool
) -> None:  # fmt: skip
    """Write the predictions for all rows, made by workers."""
    from linsep.cli.jobs.parallel import predict_parts

    writer(saved, output)  # so that a model without probabilities is an error before the work
    count = RowCount()
    _refuse_target(out, sources_of(data))
    with start_workers(pool) as client, _output(out) as file:
        for lines in _with_header(saved.model, output, predict_parts(saved, data, output, client, options, count)):
            file.write(lines)
    _warn(count)


def _warn(count: RowCount) -> None:
    """Warn of data that the model knows little of."""
    for remark in count.remarks():
        say(f"linsep predict: warning: {remark}")


def writer(saved: Saved, output: Output) -> Writer:
    """Return what turns rows into lines."""
    model = saved.model
    if output.features:
        return _explaining(saved, output.features)
    if output.what == "probabilities":
        if not hasattr(model, "predict_proba"):
            raise UsageError("the model has no probabilities: fit it with --calibrate sigmoid, or take its --scores")
        return lambda X: _numbers(model.predict_proba(X))
    if output.what == "scores":
        return lambda X: _numbers(model.decision_function(X))
    words = np.array([_word(label) for label in model.classes_.tolist()], object)
    codes = np.arange(len(words))
    if is_calibrated(model):
        return lambda X: words[np.searchsorted(model.classes_, model.predict(X))].tolist()
    return lambda X: words[predicted_labels(model.decision_function(X), codes)].tolist()


def _explaining(saved: Saved, features: int) -> Writer:
    """Return what writes labels, each with the features that add most to its score, as `+1.5 name`."""
    from linsep.models.contributions import explainer_of

    explainer = explainer_of(saved)

    def lines(X: Any) -> list[bytes]:
        return [
            b"\t".join([_field(row.label), *(_field(f"{part.amount:+.6g} {part.name}") for part in row.contributions)])
            + b"\n"
            for row in explainer.rows(X, features)
        ]

    return lines


def _with_header(model: Any, output: Output, lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines, and before them the labels of the columns, if these are asked for."""
    if not output.header:
        yield from lines
        return
    labels = model.classes_.tolist()
    columns = labels[1:] if output.what == "scores" and len(labels) == 2 else labels
    header = b"\t".join(map(_field, columns)) + b"\n"
    for part in lines:
        yield header + part
        header = b""


def _field(value: Any) -> bytes:
    r"""Return a label or a name as one of several fields of a line: tabs and ends of lines in it are escaped.

    >>> _field("two\twords")
    b'two\\twords'
    """
    return _word(value)[:-1].replace(b"\t", b"\\t")


def _word(label: Any) -> bytes:
    r"""Return a label as a line; the ends of lines that it has in it, as quoted ones of tables may, are escaped.

    >>> _word("two\nlines"), _word(-1)
    (b'two\\nlines\n', b'-1\n')
    """
    text = str(label).replace("\r", "\\r").replace("\n", "\\n")
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _numbers(table: Array) -> list[bytes]:
    if table.ndim == 1:
        return [b"%r\n" % number for number in table.tolist()]
    return ["\t".join(map(repr, row)).encode() + b"\n" for row in table.tolist()]


def _live_rows(saved: Saved, pipe: Waiting, options: dict[str, Any]) -> Stream:
    """Return the rows of a pipe, each as soon as it is there."""
    if saved.form is not None and saved.form.name in FROM_PIPES:
        options = {"format": saved.form.name, **options}
    rows = rows_for(saved, [pipe], {**options, "n_jobs": 1})  # type: ignore[list-item]
    for source in rows.reader.sources:
        source.live = True
    return rows


def _predicted_lines(rows: Stream, write: Writer, count: RowCount) -> Iterator[bytes]:
    """Yield the lines of predictions of each part; raises at a malformed row, if asked to, after those before it."""
    for part in rows.aligned_parts():
        count.add(part.X)
        yield lines_of(part, write)
        if part.error is not None:
            raise part.error


def lines_of(part: AlignedPart, write: Writer) -> bytes:
    """Return a line for every line of a part, or every row of a table; that of a blank or malformed one is empty."""
    predicted = write(part.X) if len(part.places) else []
    if len(predicted) == part.n_lines:
        return b"".join(predicted)
    lines = np.full(part.n_lines, EMPTY, object)
    lines[part.places] = predicted
    return b"".join(lines.tolist())


def _refuse_target(out: Path | None, sources: list[Source]) -> None:
    """Refuse to overwrite the data that are predicted."""
    if out is not None and any(source.is_at(out) for source in sources):
        raise UsageError(f"--out {out} is one of the input files: give another name")


class EscapedOutput(NamedTuple):
    """A terminal: the control characters of labels are escaped there, and there alone."""

    file: BinaryIO

    def write(self, lines: bytes) -> None:
        """Write lines."""
        self.file.write(escape(lines.decode()).encode())

    def flush(self) -> None:
        """Flush what was written."""
        self.file.flush()


@contextmanager
def _output(out: Path | None) -> Iterator[Any]:
    """Give the standard output, or a file that takes its place only when it is whole."""
    if out is None or str(out) == "-":
        if sys.stdout is None:
            raise UsageError("there is no standard output: add --out FILE")
        with naming("standard output"):
            yield EscapedOutput(sys.stdout.buffer) if sys.stdout.isatty() else sys.stdout.buffer
            sys.stdout.buffer.flush()
    elif os.path.exists(out) and not os.path.isfile(out):
        with naming(out), open(out, "wb") as file:
            yield file
    else:
        with atomic_write(out) as draft, open(draft, "wb") as file:
            yield file
