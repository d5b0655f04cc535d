"""Verbs choose by kind, in Python and in compiled code alike."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from linsep.engine.multimethods import cold, inlined, multimethod
from linsep.engine.native import unsigned
from linsep.engine.tiers import Tiered


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


def tiers(template):
    """The plain function, which calls verbs; and the flat ones, in Python and compiled."""
    tiered = Tiered(template, len)
    return pytest.mark.parametrize(
        "run", [template, tiered.plain, tiered.compiled], ids=["calls", "python", "compiled"]
    )


def total(square, disc):
    a, b = Square(*square), Disc(*disc)
    return area(a) + 10 * area(b) + 100 * meets(a, b) + 1000 * meets(b, a)


@tiers(total)
def test_a_verb_chooses_by_the_kinds_of_its_arguments(run):
    assert run((2.0,), (1.0,)) == 4 + 30 + 100 + 2000


def test_a_class_of_python_is_a_kind():
    assert area(np.arange(4.0)) == 6.0


def test_a_kind_that_a_verb_does_not_know():
    with pytest.raises(KeyError):
        area(("a",))
    with pytest.raises(KeyError):
        meets(Disc(1.0), Disc(1.0))


def words(x):
    return twice(x) + thrice(x)


@tiers(words)
def test_words_mean_one_thing(run):
    assert run(7.0) == 35.0


def cold_total(square, out):
    a = Square(*square)
    grow(a, out, 2.0)
    grow(a, out, 3.0)
    return out[0]


@cold
def grow(shape, out, times):
    out[0] += times * area(shape)


@tiers(cold_total)
def test_a_cold_function_is_compiled_for_the_kinds_of_its_arguments(run):
    assert run((2.0,), np.zeros(1)) == 20.0


@pytest.mark.parametrize("run", [lambda i: unsigned(i), njit(lambda i: unsigned(i))], ids=["python", "compiled"])
def test_unsigned_keeps_the_value_of_an_index(run):
    for i in (np.int32(5), np.int64(2**40), np.int32(2**31 - 1)):
        assert run(i) == i
