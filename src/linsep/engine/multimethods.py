"""Verbs: plain functions that mean one thing per kind of argument, in Python and in compiled code alike.

A kind is a NamedTuple class (a sort of weights, of example, of readout). A verb is a table from kinds to
small functions; calling it picks the function by the kinds of the arguments at the verb's positions. In
compiled code the choice is made while compiling and the function is inlined, so a verb costs nothing.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numba import types
from numba.extending import overload

Meaning = Callable[..., Any]

OPTIONS = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiles(function: Meaning, inline: bool = True) -> Callable[[Meaning], Meaning]:
    """Give `function` compiled meanings: the decorated chooser returns one for these argument types."""
    return overload(function, strict=False, jit_options={"forceinline": inline, **OPTIONS})


class Verb(Protocol):
    """A function that is extended with :meth:`when`."""

    def __call__(self, *args: Any) -> Any:
        """Do what the verb means for the kinds of these arguments."""

    def when(self, *kinds: type) -> Callable[[Meaning], Meaning]:
        """Register the decorated function for these kinds, one for each position."""


def kind(argument: Any) -> type:
    """Return the kind of a value or, while compiling, of a numba type."""
    if isinstance(argument, types.BaseNamedTuple):
        return argument.instance_class
    if isinstance(argument, types.Array):
        return np.ndarray
    return type(argument)


def multimethod(*positions: int) -> Verb:
    """Make a verb that chooses its meaning by the kinds of the arguments at `positions`."""
    table: dict[tuple[type, ...], Meaning] = {}

    def pick(*args: Any) -> Meaning:
        return table[tuple(kind(args[i]) for i in positions)]

    def call(*args: Any) -> Any:
        return pick(*args)(*args)

    def when(*kinds: type) -> Callable[[Meaning], Meaning]:
        def register(meaning: Meaning) -> Meaning:
            table[kinds] = meaning
            return meaning

        return register

    compiles(call)(pick)
    call.when = when  # type: ignore[attr-defined]
    call.meaning = lambda kinds: table[tuple(kinds[i] for i in positions)]  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def inlined(function: Meaning) -> Meaning:
    """Let compiled code call this plain function, inlined: a verb with a single meaning."""
    compiles(function)(lambda *args: function)
    function.meaning = lambda kinds: function  # type: ignore[attr-defined]
    return function


def cold(function: Meaning) -> Meaning:
    """Let compiled code call this plain function, not inlined: for what is rarely done, so as to compile faster."""
    compiles(function, inline=False)(lambda *args: function)
    function.compiled_apart = True  # type: ignore[attr-defined]
    return function
