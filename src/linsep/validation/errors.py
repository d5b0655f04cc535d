"""The errors of data and of parameters that can't be used. Anything else that a function raises is a bug.

The command line gives each class an exit code of its own.
"""


class InvalidDataError(ValueError):
    """Rows, labels or weights that can't be learned from or predicted, such as NaN, or labels of one class."""


class ParameterError(ValueError):
    """A parameter of a learner, a reader or a function that is not possible, alone or with the others."""
