"""Flat functions: the same results as the functions that they were made of, in Python and compiled."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from linsep import OnlineClassifier
from linsep.engine.flatten import NotFlatError, flatten
from linsep.engine.multimethods import inlined, multimethod


class Point(NamedTuple):
    x: float
    y: float


class Line(NamedTuple):
    x: float


size = multimethod(0)


@size.when(Point)
def _(p):
    return p.x * p.x + p.y * p.y


@size.when(Line)
def _(p):
    return p.x * p.x


@inlined
def sign(v):
    if v > 0:
        return 1.0
    if v < 0:
        return -1.0
    return 0.0


@inlined
def push(out, v):
    """Change an array, and return its first entry."""
    out[0] += v
    return out[0]


@inlined
def nothing_for_zero(out, v):
    if v == 0:
        return
    out[0] = v


@inlined
def first_above(values, least):
    for v in values:
        if v > least:
            return v
    return least


def flat(template):
    """The flat function in plain Python, and compiled."""
    source, names, _ = flatten(template, "function")
    space = dict(names)
    exec(source, space)
    return source, space["function"], njit(space["function"])


def agree(template, *args):
    _, plain, compiled = flat(template)
    expected = template(*map(np.copy, args))
    np.testing.assert_array_equal(plain(*map(np.copy, args)), expected)
    np.testing.assert_array_equal(compiled(*map(np.copy, args)), expected)


@pytest.mark.parametrize("Kind", [Point, Line])
def test_verbs_are_replaced_by_their_meaning_and_tuples_by_variables(Kind):
    def template(numbers):
        return size(Kind(*numbers))

    source, plain, compiled = flat(template)
    numbers = (3.0, 4.0)[: len(Kind._fields)]
    assert "size" not in source
    assert "Kind" not in source
    assert plain(numbers) == compiled(numbers) == size(Kind(*numbers))


@pytest.mark.parametrize("v", [2.0, -2.0, 0.0])
def test_early_returns_become_branches(v):
    agree(both_signs, np.array([v]))


def both_signs(v):
    return sign(v[0]) + 10 * sign(-v[0])


@pytest.mark.parametrize("v", [2.0, 0.0])
def test_a_function_may_return_early_without_a_value(v):
    def template(out, values):
        nothing_for_zero(out, values[0])
        return out[0]

    agree(template, np.array([7.0]), np.array([v]))


def test_calls_that_change_arrays_are_made_from_left_to_right():
    def template(out):
        return out[0] + push(out, 1.0) * 10 + push(out, 2.0) * 100 + out[0] * 1000

    agree(template, np.array([1.0]))


@pytest.mark.parametrize("start", [-5.0, 5.0])
def test_an_operand_of_and_and_or_is_evaluated_only_if_it_decides(start):
    def template(out, counts):
        if out[0] > 0 and push(counts, 1.0) > 0:
            counts[0] += 10
        if out[0] > 0 or push(counts, 100.0) > 0:
            counts[0] += 1000
        return counts[0]

    agree(template, np.array([start]), np.array([0.0]))


def test_a_call_in_one_arm_of_an_expression_is_made_in_that_arm_only():
    def template(out, counts):
        value = push(counts, 1.0) if out[0] > 0 else push(counts, 100.0)
        return value + counts[0]

    for start in (-1.0, 1.0):
        agree(template, np.array([start]), np.array([0.0]))


def test_variables_are_swapped():
    def template(values):
        a, b = values[0], values[1]
        a, b = b, a + b
        return a * 10 + b

    agree(template, np.array([3.0, 4.0]))


def test_the_condition_of_a_loop_is_evaluated_each_time():
    def template(out):
        rounds = 0
        while push(out, 1.0) < 5:
            rounds += 1
        return out[0] * 10 + rounds

    agree(template, np.array([0.0]))


def test_a_branch_whose_condition_is_known_is_dropped():
    wanted = False

    def template(values):
        if wanted and values[0] > 0:
            values[0] = sign(values[0])
        return values[0]

    source, plain, _ = flat(template)
    assert "if" not in source
    assert plain([3.0]) == 3.0


def test_what_is_not_of_the_language_is_refused():
    def loop(values):
        return first_above(values, 0.0)

    def comprehension(values):
        return sum([2 * v for v in values])

    def strided(values):
        return values[::2]

    refused = (loop, "from inside a loop"), (comprehension, "ListComp"), (strided, "Slice"), (len, "not a function")
    for template, reason in refused:
        with pytest.raises(NotFlatError, match=reason):
            flatten(template, "function")


class Searching(NamedTuple):
    """A rule that uses more of Python than can be flattened: it is compiled as a function of its own."""

    rate: float = 0.5

    def step(self, score: float, y: float, xx: float) -> float:
        for k in range(8):
            if y * score <= 0 and k * self.rate >= 1:
                return y * k * self.rate
        return 0.0


class Plain(NamedTuple):
    rate: float = 0.5

    def step(self, score: float, y: float, xx: float) -> float:
        return y if y * score <= 0 else 0.0


@pytest.mark.slow
def test_a_rule_that_can_not_be_flattened_learns_all_the_same():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [1.0, 2.0]])
    y = [-1, 1, 1, -1]
    found, expected = (OnlineClassifier(rule, shuffle=False).fit(X, y) for rule in (Searching(), Plain()))
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert found.mistakes_ == expected.mistakes_ > 0


RATE, NOTHING = 0.5, 0.0


def rate_or(x):
    return RATE or x


def nothing_or(x):
    return NOTHING or x


def rate_and(x):
    return RATE and x


def or_rate(x):
    return x or RATE


def and_rate(x):
    return x and RATE


@pytest.mark.parametrize("function", [rate_or, nothing_or, rate_and, or_rate, and_rate])
def test_known_operands_of_and_and_or_keep_their_value(function):
    source, names, _ = flatten(function, "flat")
    exec(source, names)
    for x in (0.0, 2.0):
        assert (names["flat"](x), type(names["flat"](x))) == (function(x), float), (function.__name__, x)


def for_else(x):
    for _ in range(3):
        x += 1.0
    else:
        x += 100.0
    return x


def while_else(x):
    while x < 3.0:
        x += 1.0
    else:
        x += 100.0
    return x


@pytest.mark.parametrize("function", [for_else, while_else])
def test_loops_with_else_are_refused(function):
    with pytest.raises(NotFlatError, match="else"):
        flatten(function, "flat")


def test_a_source_that_is_newer_than_the_function_is_refused(tmp_path, monkeypatch):
    """The process goes on with what it has loaded, not with what an upgrade has put in its place."""
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "upgraded_rule.py"
    file.write_text("def step(x):\n    return x + 1.0\n")
    import upgraded_rule

    assert "1.0" in flatten(upgraded_rule.step, "flat")[0]
    file.write_text("def step(x):\n    return x + 9.0\n")
    with pytest.raises(NotFlatError, match="newer"):
        flatten(upgraded_rule.step, "flat")
