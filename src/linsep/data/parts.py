"""Files cut into parts that threads, processes and machines read each for itself."""

import os
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import numpy as np

from linsep.data.errors import NO_ROWS, DataError
from linsep.data.form import Form, whole
from linsep.data.lines import Clock
from linsep.data.parts_cutting import cut
from linsep.data.parts_reading import Parsed, blocks_of, parsed, rows_of, survey_of
from linsep.data.parts_spans import Part, Reading, Span, stamp_of
from linsep.data.parts_survey import Survey, merged
from linsep.data.reading import Reader
from linsep.data.sources import Source, sources_of
from linsep.data.svmlight.form import Svmlight

__all__ = ["Parsed", "Part", "Plan", "Reading", "Span", "Survey", "blocks_of", "parsed", "rows_of", "survey_of"]

NOT_HERE = {
    "quarantine": "rows can't be quarantined by several readers at once: say on_error='skip', or 'raise'",
    "progress": "parts are read elsewhere, and there is no progress= to tell here",
}
"""Options of `read` that make no sense for parts."""


class Plan:
    r"""Files to be read in parts, with all that was said about them.

    What the first rows tell is looked for here and now, so that every part is read in the same way. Where all rows
    must be seen to tell (words that are numbered, weights of n-grams, names to be kept), they are read once, too; but
    for svmlight text, which each part is surveyed for: `plan.settle(surveys)`.

    Parameters
    ----------
    source : path, list of paths, glob or folder
        Plain files are cut; compressed ones, and Arrow streams, are parts as a whole.
    on_error : "raise" or "skip", default="raise"
        What happens at a malformed row.
    **options
        Those of :func:`linsep.read`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with open(f"{folder}/rows.svm", "w") as file:
    ...         _ = file.write("1 1:1\n-1 2:3\n1 3:2\n")
    ...     plan = Plan(f"{folder}/rows.svm")
    ...     parts = plan.parts(2)
    ...     all = plan.settle([survey_of(part, plan.reading) for part in parts])
    ...     data = [rows_of(part, plan.reading) for part in parts]
    >>> [(span.begin, span.end) for part in parts for span in part.spans], all.rows, all.labels
    ([(0, 13), (13, 19)], 3, array([-1,  1]))
    >>> data
    [<Dataset of 2 rows, 3 features, svmlight>, <Dataset of 1 rows, 3 features, svmlight>]
    """

    def __init__(self, source: Any, /, *, on_error: str = "raise", **options: Any) -> None:
        for name, reason in NOT_HERE.items():
            if name in options or on_error == name:
                raise ValueError(reason)
        named = sources_of(source)
        for found in named:
            if found.handle is not None:
                raise DataError(
                    found.name, "it has no parts: other readers need files by their names, so save it to a file first"
                )
        self._stamps = [stamp_of(found.name) for found in named]
        self._reader = Reader([found.name for found in named], on_error=on_error, **options)
        self._look()

    def _look(self) -> None:
        """Settle the form, but for what surveys tell."""
        form, sources = self.form, self.sources
        form.look(sources)
        named = getattr(form, "keep_names", False) and form.known is None
        if isinstance(form, Svmlight) or (form.settled and not named):
            return
        for _ in self._reader.parts(form, Clock(sources, None)):
            pass
        self._reader.settle(form)

    @property
    def form(self) -> Form:
        """How the data are read, as far as that is settled."""
        return self._reader.form

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self._reader.dtype

    @property
    def on_error(self) -> str:
        """What happens at a malformed row."""
        return self._reader.policy.on_error

    @property
    def sources(self) -> list[Source]:
        """The files, in order."""
        return self._reader.sources

    @property
    def reading(self) -> Reading:
        """How parts are read, for those that read them."""
        return Reading(self.form, self.dtype, self.on_error, self._reader.block_bytes, len(self.sources))

    def parts(self, count: int) -> list[Part]:
        """Return at most `count` parts of about equal size, in the order of the files, none of them without bytes.

        There are fewer only where there are fewer lines, row groups, record batches or rows to cut between. A part
        that holds only comments or blank lines has no rows.
        """
        count = whole("count", count)
        rulers = [self.form.ruler(source) for source in self.sources]
        parts = []
        for stretches in cut(rulers, count):
            spans = []
            for k, begin, end in stretches:
                name, ruler = self.sources[k].name, rulers[k]
                size = ruler.size(end) - ruler.size(begin)
                spans.append(Span(name, os.path.abspath(name), begin, end, ruler.unit, size, self._stamps[k]))
                spans[-1].check()
            parts.append(Part(tuple(spans)))
        return parts

    def settle(self, surveys: Iterable[Survey]) -> Survey:
        """Settle what was left open by what was found in all parts; return the survey of all, by settled columns."""
        found = merged(surveys)
        if not found.rows + found.rejected:
            raise DataError(self.sources[0].name, NO_ROWS)
        form = deepcopy(self.form)
        if isinstance(form, Svmlight) and not form.settled:
            form.note(found.low, found.high)
            self._reader.settle(form)
        if found.seen is None:
            return found
        columns, width = found.columns[self.form.first :], self.form.width
        columns = np.concatenate([columns, np.zeros(max(0, width - len(columns)), bool)])[:width]
        return found._replace(seen=np.packbits(columns))
