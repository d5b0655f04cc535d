"""Formats of lines: blocks of text are parsed side by side, then taken in order."""

import re
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from linsep.data.errors import Fault, Policy
from linsep.data.form import Form, Job, Wrong
from linsep.data.lines import NEWLINE, Block, blocks, unmarked
from linsep.data.parts_cutting import Lines, Ruler, newlines
from linsep.data.rows import Rows, without
from linsep.data.sources import Source
from linsep.engine.arrays import Array
from linsep.engine.runtime import in_order


class LineForm(Form):
    """How the lines of a format become rows."""

    @abstractmethod
    def parse(self, text: Array, dtype: Any) -> Rows:
        """Read a block of whole lines."""

    def take(self, rows: Rows) -> tuple[Rows, Wrong]:
        """Note what all rows together settle; tell the rows that can't be: the word at fault, and why."""
        return rows, {}

    def parts(self, job: Job) -> Iterator[Rows]:
        """Yield the rows of all sources block by block; malformed rows go the way of the policy."""
        self.unseen = 0
        line = 1

        def parsed(block: Block) -> tuple[Block, Rows]:
            return block, self.parse(block.text, job.dtype)

        for block, rows in in_order(parsed, blocks(job.sources, job.block_bytes), job.jobs):
            line = 1 if block.first else line
            rows = self._taken(rows, block, job.policy, line)
            line += rows.lines
            job.clock.tick(block.done, len(rows))
            yield rows

    def ruler(self, source: Source) -> Ruler:
        """Return where a file can be cut: where a line begins, unless it is compressed."""
        if source.packed:
            return super().ruler(source)
        unmarked(np.frombuffer(source.head(), np.uint8), source.name)
        return Lines(source.name, 0, source.size or 0)

    def lines_before(self, source: Source) -> int:
        """Return how many lines a file has before the part of it that is read."""
        return 0 if source.span is None else newlines(source.name, source.span[0])

    def none(self, dtype: Any) -> Rows:
        """Return no rows."""
        return self.parse(np.empty(0, np.uint8), dtype)

    def _taken(self, rows: Rows, block: Block, policy: Policy, line: int) -> Rows:
        """Return the rows of a block that are sound, after the others have gone the way of the policy."""
        rows, wrong = self.take(rows)
        if self.known is not None:
            rows = self._of_known(rows, self.known, wrong)
        faults = rows.faults
        if wrong:
            ends = np.flatnonzero(block.text == NEWLINE)
            found = (_fault(block, ends, int(rows.places[i]), *why) for i, why in wrong.items())
            faults = sorted([*faults, *found])
        policy.take(faults, block.file, line)
        return without(rows, list(wrong)) if wrong else rows


def _fault(block: Block, ends: Array, place: int, word: bytes, reason: str) -> Fault:
    """Return what is told of a word in the line of a block, counted from 0; lines end at `ends`."""
    line = block.text[0 if place == 0 else ends[place - 1] + 1 : ends[place]].tobytes()
    found = re.search(rb"(?<!\S)" + re.escape(word), line) if word else None
    return Fault(place, found.start() + 1 if found else None, reason, line)
