"""Vectors as short integers times a power of two: exact where they say so, good enough where they are rounded."""

import json
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays

from linsep.certificates.checker import vector
from linsep.solvers.exact.dependencies import LENGTHS, exact, short, written

numbers = st.floats(-8e307, 8e307)
vectors = arrays(float, st.integers(1, 8), elements=st.one_of(st.just(0.0), numbers))


def value(form, size):
    """What a file says, in fractions, as the checker reads it."""
    return [Fraction(2) ** form["exponent"] * v for v in vector(json.loads(json.dumps(form)), size)]


@settings(max_examples=100)
@given(vectors)
def test_all_bits_are_kept(v):
    assert value(exact(v), len(v)) == [Fraction(x) for x in v.tolist()]


@settings(max_examples=100)
@given(st.lists(st.one_of(st.just(0), st.integers(-(2**200), 2**200)), max_size=8), st.integers(-50, 50))
def test_integers_of_any_length_are_read_as_they_were_written(integers, exponent):
    form = written(integers, exponent)
    assert value(form, len(integers)) == [Fraction(2) ** exponent * v for v in integers]
    assert all(isinstance(v, str) or abs(v) < 2**60 for v in form["values"])


@settings(max_examples=100)
@given(arrays(float, st.integers(1, 8), elements=st.floats(-1e100, 1e100)), st.sampled_from([0.3, 1e-3, 1e-9]))
def test_the_shortest_is_taken_that_is_good_enough(v, share):
    largest, tried = np.abs(v).max(), []

    def good(w):
        tried.append(w)
        return bool(np.abs(w - v).max() <= share * largest)

    form = short(v, good)
    found = np.array([float(x) for x in value(form, len(v))])
    assert np.abs(found - v).max() <= share * largest
    if tried:
        assert np.array_equal(found, tried[-1]) or not good(tried[-1])
        assert not any(np.abs(w - v).max() <= share * largest for w in tried[:-1])
        assert max(int(x).bit_length() for x in vector(form, len(v))) <= LENGTHS[len(tried) - 1] + 1


@given(vectors)
def test_where_nothing_short_serves_all_bits_are_kept(v):
    assert value(short(v, lambda w: False), len(v)) == [Fraction(x) for x in v.tolist()]


def test_the_largest_numbers():
    largest = np.array([1.7976931348623157e308, 1.0])
    assert value(short(largest, lambda w: False), 2) == [Fraction(v) for v in largest.tolist()]


def test_a_vector_of_zeros_and_one_of_no_entries():
    assert value(short(np.zeros(4), lambda w: True), 4) == [0] * 4
    assert value(exact(np.zeros(0)), 0) == []


def test_few_entries_are_listed_with_their_places():
    many = np.zeros(1000)
    many[[3, 999]] = 0.5, -0.25
    form = exact(many)
    assert (form["at"], form["values"]) == ([3, 999], [2, -1])
    assert len(json.dumps(form)) < 60
