"""Parts read by those they were given to: surveyed, all at once, or in blocks."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any

from linsep.data.binary.file import blocks as stored_blocks
from linsep.data.binary.form import Stored
from linsep.data.dataset import Dataset, as_csr, as_labels
from linsep.data.errors import DataError, Policy
from linsep.data.form import Form, Job, whole
from linsep.data.lines import Clock
from linsep.data.parts_spans import Part, Reading, Span
from linsep.data.parts_survey import Survey, Tally
from linsep.data.rows import Rows, joined
from linsep.data.rows import cut as cut_rows
from linsep.data.sources import Source


class Pass:
    """One pass over a part, with a form of its own, so that nothing is counted twice where threads share a reading."""

    def __init__(self, part: Part, reading: Reading) -> None:
        self.part, self.reading = part, reading
        known = reading.form.known
        self.form: Form = deepcopy(reading.form, {id(known): known})
        self.policy = Policy(reading.on_error)
        self._unseen = 0

    @property
    def unseen(self) -> int:
        """Entries of unknown features so far."""
        return self._unseen + self.form.unseen

    def __iter__(self) -> Iterator[Rows]:
        for span in self.part.spans:
            with _as_cut(span, self.form):
                yield from self.form.parts(self._job(span.source()))
            self._unseen, self.form.unseen = self.unseen, 0

    def _job(self, source: Source) -> Job:
        dtype, size = self.reading.dtype, self.reading.block_bytes
        return Job([source], dtype, self.policy, Clock([source], None), 1, size)

    def dataset(self, rows: list[Rows], form: Form, block: bool = False) -> Dataset:
        """Return rows of this pass, finished in a form that is settled."""
        dtype = self.reading.dtype
        done = form.finish(joined(rows or [form.none(dtype)]))
        X: Any = done.values
        if done.indptr is not None and done.indices is not None:
            X = as_csr(done.values, done.indices, done.indptr, form.width)
        return Dataset(
            X, as_labels(done.labels), feature_names=form.feature_names, weights=done.weights,
            rejected=self.policy.rejected, unseen=self.unseen, form=form, block=block,
        )  # fmt: skip


@contextmanager
def _as_cut(span: Span, form: Form) -> Iterator[None]:
    """See that a file is as it was when it was cut, and that errors tell the place in all of it."""
    span.check()
    try:
        yield
    except DataError as error:
        span.check()
        if error.file != span.path:
            raise
        line = error.line if error.line is None else error.line + form.lines_before(span.source())
        raise DataError(span.file, error.reason, line, error.column) from None
    span.check()


class Parsed:
    """The rows of a part as they were read, to be finished once all parts have been surveyed."""

    def __init__(self, part: Part, reading: Reading) -> None:
        self._pass = Pass(part, reading)
        self._stored = _in_place(part, reading)
        self._rows = list(self._pass) if self._stored is None else []

    @property
    def survey(self) -> Survey:
        """What the rows hold."""
        if self._stored is not None:
            return survey_of(self._pass.part, self._pass.reading)
        tally = Tally()
        for rows in self._rows:
            tally.add(rows)
        return tally.survey(self._pass.form, self._pass.policy.rejected, self._pass.unseen)

    @property
    def nbytes(self) -> int:
        """The memory that the rows take: none where they are read in place."""
        return sum(array.nbytes for rows in self._rows for array in vars(rows).values() if hasattr(array, "nbytes"))

    def finished(self, form: Form) -> Dataset:
        """Return the rows as learners see them, in the plan's form once that is settled."""
        _check_settled(form)
        return self._pass.dataset(self._rows, form) if self._stored is None else self._stored


def parsed(part: Part, reading: Reading) -> Parsed:
    r"""Read all rows of a part, to be surveyed, and finished later without being read again.

    Parameters
    ----------
    part : Part
    reading : Reading
        That of the plan, which need not be settled.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from linsep.data.parts import Plan
    >>> with TemporaryDirectory() as folder:
    ...     with open(f"{folder}/rows.svm", "w") as file:
    ...         _ = file.write("1 1:1\n-1 2:3\n")
    ...     plan = Plan(f"{folder}/rows.svm")
    ...     both = [parsed(part, plan.reading) for part in plan.parts(2)]
    ...     _ = plan.settle(one.survey for one in both)
    >>> [one.finished(plan.form).X.toarray() for one in both]
    [array([[1., 0.]]), array([[0., 3.]])]
    """
    return Parsed(part, reading)


def survey_of(part: Part, reading: Reading) -> Survey:
    """Return what a part holds, after one pass over it in bounded memory; parameters as in :func:`parsed`."""
    once, tally = Pass(part, reading), Tally()
    for some in once:
        tally.add(some)
    return tally.survey(once.form, once.policy.rejected, once.unseen)


def rows_of(part: Part, reading: Reading) -> Dataset:
    """Return all rows of a part; those of a file in binary form in place.

    Parameters
    ----------
    part : Part
    reading : Reading
        That of the plan, settled.
    """
    _check_settled(reading.form)
    return Parsed(part, reading).finished(reading.form)


def blocks_of(part: Part, reading: Reading, block_rows: int = 10_000) -> Iterator[Dataset]:
    """Yield the rows of a part in blocks of `block_rows`, the last of which may have fewer, in bounded memory.

    Parameters
    ----------
    part : Part
    reading : Reading
        That of the plan, settled.
    block_rows : int, default=10_000
        Rows of a block.
    """
    _check_settled(reading.form)
    return _blocks(part, reading, whole("block_rows", block_rows))


def _blocks(part: Part, reading: Reading, block_rows: int) -> Iterator[Dataset]:
    stored, form = _in_place(part, reading), reading.form
    if stored is not None:
        with _as_cut(part.spans[0], form):
            for block in stored_blocks(stored, block_rows):
                yield replace(block, block=True)
        return
    once, waiting = Pass(part, reading), list[Rows]()
    for some in once:
        waiting.append(some)
        while sum(map(len, waiting)) >= block_rows:
            yield once.dataset(_first(waiting, block_rows), form, block=True)
    if any(map(len, waiting)):
        yield once.dataset(waiting, form, block=True)


def _first(waiting: list[Rows], count: int) -> list[Rows]:
    """Take the first rows out of those that wait."""
    taken = []
    while count:
        some = waiting.pop(0)
        first, rest = cut_rows(some, min(count, len(some)))
        taken.append(first)
        count -= len(first)
        if len(rest):
            waiting.insert(0, rest)
    return taken


def _check_settled(form: Form) -> None:
    if not form.settled:
        raise ValueError(
            "where the indices begin, and how many features there are, is not known yet: "
            "plan.settle(surveys of all parts) finds out, or say zero_based= and n_features="
        )


def _in_place(part: Part, reading: Reading) -> Dataset | None:
    """Return rows of one file in binary form as views of it; None where they must be read."""
    form = reading.form
    if not isinstance(form, Stored) or len(part.spans) > 1:
        return None
    [span] = part.spans
    with _as_cut(span, form):
        data = form.opened([span.source()])
    if data is None:
        return None
    X = data.X
    if X.shape[1] != form.width:
        if not hasattr(X, "indptr"):
            raise DataError(span.file, f"its table has {X.shape[1]} columns, that of another file {form.width}")
        X = as_csr(X.data, X.indices, X.indptr, form.width)
    return replace(data, X=X, feature_names=form.feature_names, form=form)
