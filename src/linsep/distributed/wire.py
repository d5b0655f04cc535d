"""Arrays on their way between processes: no longer than they must be, and the same bits at the other end.

Where most numbers are 0 only the others travel, with their places; and they travel as float32 if each of them is one,
as sums of small whole numbers and their halves, quarters, eighths ... are.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.links import STALE, Imaged
from linsep.training.mixing import Gain
from linsep.training.state import TrainingState
from linsep.training.weights import arrays_of, start_readout

NOTHING = np.empty((0, 0))
FIRST = 1000
"""Numbers that tell whether it is worth looking at all."""


class Packed(NamedTuple):
    """Numbers of an array, and their places if they are not all."""

    shape: tuple[int, ...]
    kind: str
    """The type that they have at both ends."""
    values: Array
    places: Array | None = None

    @property
    def nbytes(self) -> int:
        """The bytes that travel."""
        return self.values.nbytes + (0 if self.places is None else self.places.nbytes)


def packed(array: Array, signed: bool = True) -> Packed:
    """Return numbers as they travel; others than float64 as they are.

    By its bits -0.0 is another number than 0.0, and travels, unless this is not `signed`: what is going to be added to
    sums that begin with 0.0 can do without.

    >>> packed(np.array([0.0, 0.0, 0.5, 0.0])).nbytes, packed(np.array([0.1, 0.2])).nbytes
    (8, 16)
    """
    shape, kind = array.shape, array.dtype.str
    if array.dtype != np.float64:
        return Packed(shape, kind, array)
    flat, places = array.ravel(), None
    there = (flat.view(np.int64) if signed else flat) != 0
    if 2 * np.count_nonzero(there) < len(flat):
        places = np.flatnonzero(there)
        flat = flat[places]
        places = places.astype(np.uint32) if len(there) <= 1 << 32 else places
    return Packed(shape, kind, shortened(flat), places)


def shortened(numbers: Array) -> Array:
    """Return numbers as float32 if each of them is one, else as they are; where the first are not, none is tried.

    >>> shortened(np.array([0.5, 2.0])).dtype, shortened(np.array([0.5, 0.1])).dtype
    (dtype('float32'), dtype('float64'))
    """
    with np.errstate(all="ignore"):
        for some in (numbers[:FIRST], numbers):
            short = some.astype(np.float32)
            if not np.array_equal(short, some):
                return numbers
    return short


def unpacked(sent: Packed) -> Array:
    """Return the numbers, to be read only: they may lie where they came in, or where they set out."""
    if sent.places is None:
        array = sent.values.astype(sent.kind, copy=False).reshape(sent.shape)
    else:
        array = np.zeros(sent.shape, sent.kind)
        array.ravel()[sent.places] = sent.values
    array.flags.writeable = False
    return array


class Start(NamedTuple):
    """The state that shards start from: its link is packed apart, its log and readout sums are omitted."""

    state: TrainingState
    link: dict[str, Packed | None]

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return sum(part.nbytes for part in self.link.values() if part is not None)


def sent(state: TrainingState) -> Start:
    """Return the state that shards start from, as it is sent; a stale image is omitted."""
    link = state.link
    stale = isinstance(link, Imaged) and bool((link.debt == STALE).all())
    arrays = arrays_of(link)
    travelling = {name: None if stale and name == "image" else packed(value) for name, value in arrays.items()}
    bare = replace(
        state, link=link._replace(**dict.fromkeys(arrays)), readout=start_readout(type(state.readout), 0, 0),
        log=state.log.emptied(), mixed=None, watch=None, _scorer=None,
    )  # fmt: skip
    return Start(bare, travelling)


def received(start: Start) -> TrainingState:
    """Return the state at the other end."""
    arrays = {name: unpacked(part) for name, part in start.link.items() if part is not None}
    for name in start.link.keys() - arrays.keys():
        arrays[name] = np.zeros_like(arrays["s"])
    return replace(start.state, link=start.state.link._replace(**arrays))


class Sent(NamedTuple):
    """A gain, as it travels."""

    gain: Gain
    s: Packed
    u: Packed | None

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return self.s.nbytes + (0 if self.u is None else self.u.nbytes) + self.gain.log.nbytes


def sent_back(gain: Gain) -> Sent:
    """Return a gain as it travels."""
    u = None if gain.u is None else packed(gain.u, signed=False)
    return Sent(gain._replace(s=NOTHING, u=None, log=gain.log.trimmed()), packed(gain.s, signed=False), u)


def gain_of(back: Sent) -> Gain:
    """Return the gain at the other end."""
    u = None if back.u is None else unpacked(back.u)
    return back.gain._replace(s=unpacked(back.s), u=u, log=back.gain.log.trimmed())
