"""Names to numbers: a Python dict is the reference."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.utils import murmurhash3_32

from linsep.data.compiled.names import number_names
from linsep.data.names import Vocabulary
from linsep.data.rows import Spelling
from linsep.engine.tiers import compiling

LETTERS = st.one_of(
    st.binary(max_size=9), st.text(st.sampled_from("abé\0"), max_size=5).map(str.encode), st.just(b"x" * 5000)
)


def laid_out(names, gap=b""):
    """The names in one text, and where each begins and ends."""
    ends = np.cumsum([len(gap) + len(name) for name in names], dtype=np.int64)
    sizes = np.array([len(name) for name in names], np.int64)
    return np.frombuffer(b"".join(gap + name for name in names), np.uint8), ends - sizes, ends


def numbers_of(names, known):
    return [known.setdefault(name, len(known)) for name in names]


@pytest.mark.slow
@settings(max_examples=200)
@given(batches=st.lists(st.lists(LETTERS, max_size=30), max_size=4), gap=st.sampled_from([b"", b" ", b"abc"]))
def test_names_are_numbered_as_a_dict_numbers_them(batches, gap):
    vocabulary, known = Vocabulary(), {}
    for names in batches:
        ids = vocabulary.number(*laid_out(names, gap))
        assert ids.dtype == np.int32
        assert ids.tolist() == numbers_of(names, known)
        assert vocabulary.number(*laid_out(names, gap), grow=False).tolist() == ids.tolist()
    assert len(vocabulary) == len(known)
    assert [name.encode("utf-8", "surrogateescape") for name in vocabulary.names()] == list(known)
    assert [vocabulary.name(i) for i in range(len(known))] == vocabulary.names()
    assert vocabulary.hashes.tolist() == [murmurhash3_32(name, positive=True) for name in known]


def test_many_names_find_room():
    names = [b"name %d" % (k * k % 70_001) for k in range(200_000)]
    vocabulary, known = Vocabulary(), {}
    assert vocabulary.number(*laid_out(names)).tolist() == numbers_of(names, known)
    assert vocabulary.number(*laid_out([b"name", b"", b"name 1"]), grow=False).tolist() == [-1, -1, known[b"name 1"]]
    assert len(vocabulary) == len(known)


def same_hash():
    """Two names of one 32-bit hash."""
    seen = {}
    for k in range(1_000_000):
        name = b"%d" % k
        other = seen.setdefault(murmurhash3_32(name, positive=True), name)
        if other is not name:
            return other, name
    raise AssertionError("no two names have the same hash")


def test_names_of_the_same_hash_are_told_apart():
    pair = same_hash()
    vocabulary = Vocabulary()
    assert vocabulary.number(*laid_out([*pair, *pair[::-1]])).tolist() == [0, 1, 1, 0]
    assert vocabulary.number(*laid_out(pair[1:]), grow=False).tolist() == [1]
    assert Vocabulary.of([pair[0].decode()]).number(*laid_out(pair[1:]), grow=False).tolist() == [-1]


def test_nothing_is_added_unless_it_may_grow():
    vocabulary = Vocabulary.of(["a", "b"])
    assert vocabulary.number(*laid_out([b"c", b"b", b"c"]), grow=False).tolist() == [-1, 1, -1]
    assert vocabulary.names() == ["a", "b"]
    assert vocabulary.number(*laid_out([])).shape == (0,)


def test_a_vocabulary_takes_another():
    first, second = Vocabulary.of(["b", "a"]), Vocabulary.of(["c", "a", "", "日本"])
    assert first.take(second.spelling, grow=False).tolist() == [-1, 1, -1, -1]
    assert first.take(second.spelling).tolist() == [2, 1, 3, 4]
    assert first.names() == ["b", "a", "c", "", "日本"]
    assert first.take(first.spelling).tolist() == [0, 1, 2, 3, 4]
    assert first.take(Spelling(np.empty(0, np.uint8), np.zeros(1, np.int64))).shape == (0,)


def test_what_it_spells_stays_as_it_was_while_it_grows():
    vocabulary = Vocabulary.of(["a", "bc"])
    letters, marks = vocabulary.spelling
    vocabulary.take(Vocabulary.of([f"more {k}" for k in range(5000)]).spelling)
    assert letters.tobytes() == b"abc"
    assert marks.tolist() == [0, 1, 3]
    with pytest.raises(ValueError, match="read-only"):
        letters[0] = 0


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
def test_a_copy_goes_its_own_way(copied):
    vocabulary = Vocabulary.of([f"word {k}" for k in range(3000)])
    other = copied(vocabulary)
    assert other.names() == vocabulary.names()
    assert other.number(*laid_out([b"word 7", b"new"])).tolist() == [7, 3000]
    assert vocabulary.number(*laid_out([b"newer", b"new"])).tolist() == [3000, 3001]
    assert other.name(3000) == "new"
    assert len(pickle.dumps(Vocabulary())) < 1000


def test_threads_may_look_up_at_once():
    names = [b"%d" % k for k in range(20_000)]
    vocabulary = Vocabulary()
    vocabulary.number(*laid_out(names))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: vocabulary.number(*laid_out(names), grow=False).tolist(), range(8)))
    assert all(ids == list(range(20_000)) for ids in found)


def test_what_is_not_possible_is_refused():
    with pytest.raises(ValueError, match="name 2, 'a', is the same as name 0"):
        Vocabulary.of(["a", "b", "a"])
    for number in (-1, 1):
        with pytest.raises(IndexError, match="there are 1"):
            Vocabulary.of(["a"]).name(number)


def test_one_kernel_is_compiled():
    text = np.frombuffer(bytearray(b"a b"), np.uint8)
    with compiling("always"):
        for integer in (np.int32, np.int64):
            Vocabulary().number(text, np.array([0, 2], integer), np.array([1, 3], integer), grow=np.True_)
        assert Vocabulary().number(np.repeat(text, 2)[::2], np.array([0, 2]), np.array([1, 3])).tolist() == [0, 1]
    assert len(number_names.compiled.signatures) == 1
