"""Text as counts of words, for learners that count."""

from typing import Any

from linsep.data.registry import found
from linsep.data.sources import sources_of

HASHED = ("alternate_sign", "n_features", "keep_names")
"""Options that speak of hashed words."""


def counted(options: dict[str, Any], learner: Any, data: list[str]) -> dict[str, Any]:
    """Return the reader's options; for naive Bayes text is read as counts of its words, unless it was said otherwise.

    Hashed words would have columns for those that never occur, which take their share of the probability, and half of
    them count below 0.

    >>> from linsep import NaiveBayes, Perceptron
    >>> counted({"format": "text"}, NaiveBayes(), ["-"]), counted({"format": "text"}, Perceptron(), ["-"])
    ({'norm': None, 'vocabulary': True, 'format': 'text'}, {'format': 'text'})
    """
    if not learner._takes_counts:
        return options
    first = sources_of(data)[0]
    format = options.get("format") or ("svmlight" if first.handle is not None else found(first))
    if format != "text":
        return options
    hashed = options.get("vocabulary") is False or any(name in options for name in HASHED)
    return {"norm": None, **({"alternate_sign": False} if hashed else {"vocabulary": True}), **options}
