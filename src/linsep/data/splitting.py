"""Cut files into parts of about equal size, at places where a row begins."""

import os
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from linsep.data.errors import DataError

CHUNK, FEW = 1 << 22, 1 << 16
"""Bytes that are read at once, and those that are read to find the end of a line."""


class Splitter(ABC):
    """The places where a file can be cut, which are numbers that rise: the first and the last are its ends."""

    unit: str
    first: int
    last: int

    @abstractmethod
    def size(self, place: int) -> int:
        """Return how many stored bytes stand before a place."""

    @abstractmethod
    def at_or_after(self, size: int) -> int:
        """Return the first place that has so many bytes before it, or more."""

    @abstractmethod
    def after(self, place: int) -> int:
        """Return the next place; the last stays where it is."""

    @abstractmethod
    def before(self, place: int) -> int:
        """Return the place before; the first stays where it is."""


class MarkSplitter(Splitter):
    """Places that are known beforehand.

    >>> splitter = MarkSplitter("rows", range(4), lambda row: 10 * row)
    >>> splitter.at_or_after(11), splitter.after(1), splitter.before(1)
    (2, 2, 0)
    """

    def __init__(self, unit: str, places: Sequence[int] | Any, size: Callable[[int], int]) -> None:
        self.unit, self.first, self.last = unit, int(places[0]), int(places[-1])
        self._places, self._size = places, size

    def size(self, place: int) -> int:
        """Return how many stored bytes stand before a place."""
        return self._size(place)

    def at_or_after(self, size: int) -> int:
        """Return the first place that has so many bytes before it, or more."""
        return self._at(bisect_left(self._places, size, key=self._size))

    def after(self, place: int) -> int:
        """Return the next place; the last stays where it is."""
        return self._at(bisect_right(self._places, place))

    def before(self, place: int) -> int:
        """Return the place before; the first stays where it is."""
        return self._at(bisect_left(self._places, place) - 1)

    def _at(self, k: int) -> int:
        return int(self._places[min(max(k, 0), len(self._places) - 1)])


@dataclass(frozen=True)
class LineSplitter(Splitter):
    """The bytes of a file where a line begins; they are looked for when they are asked for."""

    path: str
    first: int
    last: int
    unit: str = "bytes"

    def size(self, place: int) -> int:
        """Return how many bytes stand before a place."""
        return place - self.first

    def at_or_after(self, size: int) -> int:
        """Return where the first line begins that has so many bytes before it, or more."""
        return self.first if size <= 0 else self.after(self.first + size - 1)

    def after(self, place: int) -> int:
        """Return where the first line begins after a byte."""
        with _open(self.path) as file:
            file.seek(place)
            for at in range(place, self.last, FEW):
                found = file.read(FEW).find(b"\n")
                if found >= 0:
                    return min(at + found + 1, self.last)
        return self.last

    def before(self, place: int) -> int:
        """Return where the last line begins before a byte."""
        with _open(self.path) as file:
            for end in range(place - 1, self.first, -FEW):
                begin = max(self.first, end - FEW)
                file.seek(begin)
                found = file.read(end - begin).rfind(b"\n")
                if found >= 0:
                    return begin + found + 1
        return self.first


class Stretch(NamedTuple):
    """The share of a part in a file: the file's splitter, and the begin and end of the share."""

    file: int
    begin: int
    end: int


def cut(splitters: Sequence[Splitter], count: int) -> list[list[Stretch]]:
    """Cut files, one after the other, into at most `count` parts of about equal size, none of them empty.

    Part k begins at the first place that has k / count of all bytes before it, or more; where that would leave a part
    empty, at the next place, or else the last before what follows. So there are fewer than `count` parts only where
    there are fewer places.

    >>> files = [MarkSplitter("rows", range(4), lambda row: row), MarkSplitter("rows", range(2), lambda row: row)]
    >>> cut(files, 2)
    [[Stretch(file=0, begin=0, end=2)], [Stretch(file=0, begin=2, end=3), Stretch(file=1, begin=0, end=1)]]
    """
    whole = _Whole(splitters)
    begin, end = whole.tidy(0, splitters[0].first if splitters else 0), (len(splitters), 0)
    if begin == end:
        return []
    here, places = begin, []
    for k in range(1, count):
        place = whole.at_or_after(whole.total * k // count)
        here = place if place > here else whole.after(here)
        places.append(here)
    limit = end
    for k in reversed(range(len(places))):
        if places[k] < limit:
            break
        places[k] = limit = whole.before(limit)
    return [whole.between(*some) for some in pairwise(sorted({begin, *places, end}))]


Place = tuple[int, int]
"""A file, and a place in it that is not its end: that is the beginning of the next that has something to cut."""


class _Whole:
    """Files one after the other."""

    def __init__(self, splitters: Sequence[Splitter]) -> None:
        self.splitters = splitters
        self.ends = list(accumulate((splitter.size(splitter.last) for splitter in splitters), initial=0))
        self.total = self.ends[-1]

    def tidy(self, file: int, place: int) -> Place:
        while file < len(self.splitters) and place == self.splitters[file].last:
            file += 1
            place = self.splitters[file].first if file < len(self.splitters) else 0
        return file, place

    def at_or_after(self, size: int) -> Place:
        file = min(bisect_right(self.ends, size), len(self.splitters)) - 1
        return self.tidy(file, self.splitters[file].at_or_after(size - self.ends[file]))

    def after(self, here: Place) -> Place:
        file, place = here
        return here if file == len(self.splitters) else self.tidy(file, self.splitters[file].after(place))

    def before(self, here: Place) -> Place:
        file, place = here
        while file == len(self.splitters) or place == self.splitters[file].first:
            if file == 0:
                return here
            file -= 1
            place = self.splitters[file].last
        return file, self.splitters[file].before(place)

    def between(self, begin: Place, end: Place) -> list[Stretch]:
        found = []
        for file in range(begin[0], min(end[0] + 1, len(self.splitters))):
            splitter = self.splitters[file]
            first = begin[1] if file == begin[0] else splitter.first
            last = end[1] if file == end[0] else splitter.last
            if first < last:
                found.append(Stretch(file, first, last))
        return found


def chunks(path: str, begin: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield the bytes of a file from one place to another."""
    with _open(path) as file:
        file.seek(begin)
        left = os.fstat(file.fileno()).st_size - begin if end is None else end - begin
        while left > 0 and (chunk := file.read(min(CHUNK, left))):
            left -= len(chunk)
            yield chunk


def newlines(path: str, end: int) -> int:
    """Return how many lines end before a byte of a file."""
    return sum(chunk.count(b"\n") for chunk in chunks(path, 0, end))


def _open(path: str) -> Any:
    try:
        return open(path, "rb")
    except OSError as error:
        raise DataError(path, (error.strerror or str(error)).lower()) from None
