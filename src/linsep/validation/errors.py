"""The error of data that a learner can't use."""


class InvalidDataError(ValueError):
    """Rows, labels or weights that can't be learned from or predicted, such as NaN, one class, or too large a number.

    A ValueError about a parameter is a plain one. The command line exits with another code for each.
    """
