"""What a solver found beside the weights, for people to read."""

from typing import Any

HIDDEN = {"open_labels", "rows", "cause"}
"""What is for machines, or told in other words."""


def found(learner: Any) -> dict[str, Any]:
    """Return what a solver found, as far as it is a number or a sentence, and no parameter's echo."""
    told = {name.strip("_"): getattr(learner, name) for name in learner._facts if name in vars(learner)}
    hidden = HIDDEN | set(learner.get_params(deep=False)) - {"solver"}
    return {of: fact for of, fact in told.items() if of not in hidden and isinstance(fact, (bool, int, float, str))}


def as_told(facts: dict[str, Any]) -> dict[str, str]:
    """Return facts as a person reads them.

    >>> as_told({"separable": True, "margin_bound": 0.000123456, "verdict": "not separable"})
    {'separable': 'yes', 'margin bound': '0.000123', 'verdict': 'not separable'}
    """
    return {name.replace("_", " "): _written(fact) for name, fact in facts.items()}


def _written(fact: Any) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return fact if isinstance(fact, str) else f"{fact:.3g}"
