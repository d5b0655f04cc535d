"""Verbs choose by kind, in Python and in compiled code alike."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from linsep.engine.multimethods import cold, inlined, kind, multimethod
from linsep.engine.native import unsigned


class Square(NamedTuple):
    side: float


class Disc(NamedTuple):
    radius: float


area = multimethod(0)
meets = multimethod(0, 1)


@area.when(Square)
def _(shape):
    return shape.side * shape.side


@area.when(Disc)
def _(shape):
    return 3.0 * shape.radius * shape.radius


@area.when(np.ndarray)
def _(shape):
    return shape.sum()


@meets.when(Square, Disc)
def _(a, b):
    return 1.0


@meets.when(Disc, Square)
def _(a, b):
    return 2.0


@inlined
def twice(x):
    return 2 * x


@cold
def thrice(x):
    return 3 * x


def total(a, b):
    return area(a) + 10 * area(b) + 100 * meets(a, b)


@pytest.mark.parametrize("run", [total, njit(total)], ids=["python", "compiled"])
def test_a_verb_chooses_by_the_kinds_of_its_arguments(run):
    assert run(Square(2.0), Disc(1.0)) == 4 + 30 + 100
    assert run(Disc(1.0), Square(2.0)) == 3 + 40 + 200


@pytest.mark.parametrize("run", [lambda a: area(a), njit(lambda a: area(a))], ids=["python", "compiled"])
def test_an_array_is_a_kind(run):
    assert run(np.arange(4.0)) == 6.0


def test_a_kind_that_a_verb_does_not_know():
    with pytest.raises(KeyError):
        area(("a",))
    with pytest.raises(KeyError):
        meets(Disc(1.0), Disc(1.0))


def words(x):
    return twice(x) + thrice(x)


@pytest.mark.parametrize("run", [words, njit(words)], ids=["python", "compiled"])
def test_words_mean_one_thing(run):
    assert run(7.0) == 35.0


def test_kind_of_a_value_is_its_class():
    assert kind(Square(1.0)) is Square
    assert kind(np.zeros(1)) is np.ndarray
    assert kind(1.0) is float


@pytest.mark.parametrize("run", [lambda i: unsigned(i), njit(lambda i: unsigned(i))], ids=["python", "compiled"])
def test_unsigned_keeps_the_value_of_an_index(run):
    for i in (np.int32(5), np.int64(2**40), np.int32(2**31 - 1)):
        assert run(i) == i
