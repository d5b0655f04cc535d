"""Arrays on their way: the same bits at the other end, and no more bytes than they need."""

import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from linsep import AveragedPerceptron, Pegasos, PNormPerceptron, Winnow
from linsep.distributed import packing
from linsep.distributed.packing import pack, unpack
from linsep.training.mixing import fork, gain_of
from tests.distributed.rows import problem
from tests.fits import fit

pytestmark = pytest.mark.slow

SMALLEST, LARGEST = 5e-324, np.finfo(np.float64).max
HOSTILE = [
    0.0,
    -0.0,
    SMALLEST,
    -SMALLEST,
    2.0**-149,
    2.0**-150,
    1e-310,
    0.1,
    1.0,
    2.0**127,
    2.0**128,
    LARGEST,
    -LARGEST,
]
numbers = st.sampled_from(HOSTILE) | st.floats(allow_nan=False) | st.floats(width=32, allow_nan=False)
shapes = st.tuples(st.integers(0, 6), st.integers(1, 3))


def travelled(array, **how):
    """What arrives in another process."""
    return unpack(pickle.loads(pickle.dumps(pack(array, **how), protocol=5)))


@given(arrays(np.float64, shapes, elements=numbers))
def test_no_bit_is_lost(array):
    found = travelled(array)
    assert found.shape == array.shape
    assert found.dtype == array.dtype
    assert found.tobytes() == array.tobytes()
    assert pack(array).nbytes <= array.nbytes


@given(arrays(np.float64, shapes, elements=numbers))
def test_without_signs_only_those_of_zeros_are_lost(array):
    found = travelled(array, signed=False)
    assert np.array_equal(found, array)
    sums = np.zeros(array.shape)
    assert (sums + found).tobytes() == (sums + array).tobytes()


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.int32, np.bool_, np.uint8, ">f8"])
def test_other_types_stay_what_they_are(kind):
    array = np.array([[0, 1, 0], [0, 0, 1]]).astype(kind)
    found = travelled(array)
    assert found.dtype == array.dtype
    assert found.tobytes() == array.tobytes()


@pytest.mark.parametrize("array", [np.array([0.1, 0.2]), np.array([0.0, 0.0, 0.1]), np.array([0.5])])
def test_what_arrives_is_not_written_to(array):
    """It may be the very array that was sent."""
    found = unpack(pack(array))
    with pytest.raises(ValueError, match="read-only"):
        found += 1
    array += 1  # as before


def test_the_bytes_that_travel():
    zeros, whole, rest = np.zeros(1000), np.arange(1.0, 1001), np.arange(1.0, 1001) / 3
    few = zeros.copy()
    few[[3, 500]] = 1 / 3
    assert [pack(array).nbytes for array in (zeros, whole, rest, few)] == [0, 4000, 8000, 2 * (8 + 4)]
    few[7] = -0.0
    assert pack(few).nbytes == 3 * (8 + 4)
    assert pack(few, signed=False).nbytes == 2 * (8 + 4)


def test_a_caller_who_makes_numpy_raise_is_not_in_the_way():
    array = np.array([LARGEST, SMALLEST, 1.0])
    with np.errstate(all="raise"):
        assert travelled(array).tobytes() == array.tobytes()


@pytest.mark.parametrize("kind", [AveragedPerceptron, Pegasos, PNormPerceptron, Winnow])
def test_a_machine_that_travels_learns_the_same(kind):
    X, y = problem()
    X = np.abs(X).astype(float)
    how = {"x_max": None} if kind is Winnow else {}
    learner = fit(kind(shards=2, random_state=0, max_iter=2, log=True, **how), X, y)
    here = learner._state
    there = packing.unpack_state(pickle.loads(pickle.dumps(packing.pack_state(here), protocol=5)))
    data, codes = learner_rows(learner, X, y)
    gains = []
    for state in (here, there):
        shard = fork(state)
        shard.run(data, codes, np.empty(0), np.empty(0, np.intp), 0)
        gains.append(
            packing.unpack_gain(pickle.loads(pickle.dumps(packing.pack_gain(gain_of(shard, state)), protocol=5)))
        )
    one, other = gains
    assert one.s.tobytes() == other.s.tobytes()
    assert (one.u is None) == (other.u is None)
    assert one.u is None or one.u.tobytes() == other.u.tobytes()
    assert one.clock == other.clock
    assert one.tally.counts.tolist() == other.tally.counts.tolist()
    assert one.log.numbers.tolist() == other.log.numbers.tolist()
    assert one.log.numbers.flags.writeable


def learner_rows(learner, X, y):
    """Rows as the learner sees them, and the numbers of their classes."""
    from linsep.validation.inputs import canonical

    return canonical(learner, X, bias=learner._bias, reset=False), (y > 0).astype(np.int32)
