"""Verbs: plain functions with one meaning for each kind of argument.

A kind is a NamedTuple class (a sort of weights, of example, of readout). A verb is a table from kinds to small
functions. :mod:`linsep.engine.flatten` writes the meaning for given kinds out in place of a call, so that a verb costs
nothing in a pass. Elsewhere a call picks the meaning by the kinds of the arguments.
"""

from collections.abc import Callable
from typing import Any

Meaning = Callable[..., Any]


class Verb:
    """A function that is extended with :meth:`when`.

    Parameters
    ----------
    positions : tuple of int
        The arguments whose kinds choose the meaning.
    omitted : bool
        If True, Python omits the calls: the verb changes no result.
    """

    def __init__(self, positions: tuple[int, ...], omitted: bool) -> None:
        self.positions, self.omitted = positions, omitted
        self.table: dict[tuple[Any, ...], Meaning] = {}

    def when(self, *kinds: type) -> Callable[[Meaning], Meaning]:
        """Register the decorated function for these kinds, one for each position."""

        def register(meaning: Meaning) -> Meaning:
            self.table[kinds] = meaning
            return meaning

        return register

    def meaning(self, kinds: list[Any]) -> Meaning:
        """Return the function for arguments of these kinds."""
        return self.table[tuple(kinds[i] for i in self.positions)]

    def __call__(self, *args: Any) -> Any:
        """Apply the meaning for the kinds of these arguments."""
        return self.meaning([type(argument) for argument in args])(*args)


def multimethod(*positions: int, omitted: bool = False) -> Verb:
    """Make a verb that chooses its meaning by the kinds of the arguments at `positions`."""
    return Verb(positions, omitted)


def inlined(function: Meaning) -> Meaning:
    """Write a function out where it is called: it has one meaning for all kinds."""
    function.meaning = lambda kinds: function  # type: ignore[attr-defined]
    return function


def cold(function: Meaning) -> Meaning:
    """Compile a function apart for the kinds of each call, not inlined: rare work, so that a pass compiles faster."""
    function.compiled_apart = True  # type: ignore[attr-defined]
    return function
