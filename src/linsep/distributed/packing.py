"""Pack arrays for sending between processes: as few bytes as possible, and the same bits after unpacking.

If most numbers are 0 only the others are sent, with their places. Numbers are sent as float32 if each of them is one,
as sums of small integers and of their halves, quarters, eighths are.
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
"""Numbers that are tried first as float32, before all are."""


class Packed(NamedTuple):
    """Numbers of an array, and their places if only some are sent."""

    shape: tuple[int, ...]
    kind: str
    """The dtype before packing and after unpacking."""
    values: Array
    places: Array | None = None

    @property
    def nbytes(self) -> int:
        """The bytes that are sent."""
        return self.values.nbytes + (0 if self.places is None else self.places.nbytes)


def pack(array: Array, signed: bool = True) -> Packed:
    """Pack an array; only float64 is compressed.

    -0.0 and 0.0 differ in their bits, so -0.0 is sent if `signed` is True. Numbers to be added to sums that start at
    0.0 do not need it.

    >>> pack(np.array([0.0, 0.0, 0.5, 0.0])).nbytes, pack(np.array([0.1, 0.2])).nbytes
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
    return Packed(shape, kind, shorten(flat), places)


def shorten(numbers: Array) -> Array:
    """Convert numbers to float32 if that is exact for each, else return them unchanged; try the first ones first.

    >>> shorten(np.array([0.5, 2.0])).dtype, shorten(np.array([0.5, 0.1])).dtype
    (dtype('float32'), dtype('float64'))
    """
    with np.errstate(all="ignore"):
        for some in (numbers[:FIRST], numbers):
            short = some.astype(np.float32)
            if not np.array_equal(short, some):
                return numbers
    return short


def unpack(sent: Packed) -> Array:
    """Unpack an array; it is read-only, since it may share the memory of the message or of the sender."""
    if sent.places is None:
        array = sent.values.astype(sent.kind, copy=False).reshape(sent.shape)
    else:
        array = np.zeros(sent.shape, sent.kind)
        array.ravel()[sent.places] = sent.values
    array.flags.writeable = False
    return array


class PackedState(NamedTuple):
    """The state that shards start from: its link is packed apart, its log and readout sums are omitted."""

    state: TrainingState
    link: dict[str, Packed | None]

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return sum(part.nbytes for part in self.link.values() if part is not None)


def pack_state(state: TrainingState) -> PackedState:
    """Pack the state that shards start from; a stale image is omitted."""
    link = state.link
    stale = isinstance(link, Imaged) and bool((link.debt == STALE).all())
    arrays = arrays_of(link)
    packed_arrays = {name: None if stale and name == "image" else pack(value) for name, value in arrays.items()}
    bare = replace(
        state, link=link._replace(**dict.fromkeys(arrays)), readout=start_readout(type(state.readout), 0, 0),
        log=state.log.emptied(), mixed=None, watch=None, progressive=None, _scorer=None,
    )  # fmt: skip
    return PackedState(bare, packed_arrays)


def unpack_state(start: PackedState) -> TrainingState:
    """Unpack the state that shards start from."""
    arrays = {name: unpack(part) for name, part in start.link.items() if part is not None}
    for name in start.link.keys() - arrays.keys():
        arrays[name] = np.zeros_like(arrays["s"])
    return replace(start.state, link=start.state.link._replace(**arrays))


class PackedGain(NamedTuple):
    """A packed gain of a shard."""

    gain: Gain
    s: Packed
    u: Packed | None

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return self.s.nbytes + (0 if self.u is None else self.u.nbytes) + self.gain.log.nbytes


def pack_gain(gain: Gain) -> PackedGain:
    """Pack the gain of a shard."""
    u = None if gain.u is None else pack(gain.u, signed=False)
    return PackedGain(gain._replace(s=NOTHING, u=None, log=gain.log.trimmed()), pack(gain.s, signed=False), u)


def unpack_gain(back: PackedGain) -> Gain:
    """Unpack the gain of a shard."""
    u = None if back.u is None else unpack(back.u)
    return back.gain._replace(s=unpack(back.s), u=u, log=back.gain.log.trimmed())
