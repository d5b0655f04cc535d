"""The table of fields describes every array of links, readouts and tallies."""

from typing import get_type_hints

import numpy as np
import pytest

from linsep.engine.arrays import Array
from linsep.engine.links import Additive, Clipped, Imaged, Scaled
from linsep.engine.readouts import Average, AverageWithLosses, Last, LastWithLosses, RecentAverage, Tally
from linsep.training.weights import FIELDS, arrays_of, copied, resized, start_link, start_readout, start_tally

KINDS = (
    Additive, Scaled, Clipped, Imaged, Last, LastWithLosses, Average, RecentAverage, AverageWithLosses, Tally,
)  # fmt: skip
LINKS = ("additive", "scaled", "exponential", "sinh", "p-norm")


def test_every_array_is_in_the_table_and_nothing_else():
    arrays = [name for kind in KINDS for name, of in get_type_hints(kind).items() if of == Array]
    assert set(arrays) == set(FIELDS)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("readout", [Last, Average, RecentAverage])
def test_arrays_are_as_the_table_says(link, readout):
    for part in (start_link(link, 4, 3, readout, 0.5), start_readout(readout, 4, 3), start_tally(3)):
        for name, array in arrays_of(part).items():
            assert (array.shape, array.dtype) == (FIELDS[name].size(4, 3), FIELDS[name].dtype)


@pytest.mark.parametrize("link", LINKS)
def test_copies_share_nothing_and_widths_come_back(link):
    part = start_link(link, 4, 3, Last, 0.5)
    part.s[:] = np.arange(12).reshape(4, 3)
    for name, array in arrays_of(copied(part, slice(1, 3))).items():
        assert not np.shares_memory(array, getattr(part, name))
        assert array.shape == FIELDS[name].size(4, 2)
    wider = resized(part, 7)
    assert wider.s[[0, 1, 2, 7]].tolist() == part.s.tolist()
    assert not wider.s[3:7].any()
    assert all(np.array_equal(a, getattr(part, name)) for name, a in arrays_of(resized(wider, 3)).items())
