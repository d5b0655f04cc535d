"""Declare the properties of a class of learners that do not depend on parameters."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Traits:
    """Properties of all learners of a class; those that depend on parameters are methods or properties."""

    rules: tuple[type, ...] = ()
    """The rules that parameters may make; empty if a parameter is the rule. A model file with another is refused."""
    link: str = "additive"
    """The kind of weights of rules that do not shrink them."""
    mixes: str = "no theorem is claimed"
    """The guarantee for a mix of shards, in a few words."""
    never_mixes: str = ""
    """The reason why shards are never mixed; empty if some parameters allow mixing."""
    counts_rows: bool = False
    """If True, training counts all rows in one pass: counts of shards add up, and weights are log-probabilities."""
    weights_of_rows: bool = False
    """If True, the weights are those of the rows kept, for a kernel: no feature has a weight."""
    exports_probabilities: bool = False
    """If True, ONNX exports have the probabilities: functions of the scores alone."""
