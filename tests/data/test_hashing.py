"""MurmurHash3: scikit-learn's own is the reference."""

import hypothesis.strategies as st
from hypothesis import given, settings
from sklearn.utils import murmurhash3_32

from linsep.data.compiled.names import hash_of


@settings(max_examples=300)
@given(name=st.binary(max_size=40), seed=st.integers(0, 2**31 - 1))
def test_as_scikit_learn_hashes(name, seed):
    assert hash_of(name, seed) == murmurhash3_32(name, seed, positive=True)
