"""The step interface: what a rule is, and how it is called from compiled code.

A rule is a NamedTuple of numbers with one pure method, in one of two forms::

    step(self, score, y, xx) -> amount                      s = s + amount * x
    step(self, score, y, xx, ww, t) -> (keep, amount)       s = keep * s + amount * x

A rule may also have `loss(self, score, y, ww, w1)`, which some readouts sum over the rounds: the row's loss, and the
penalty of the weights before the step, whose ||w||_1 is `w1`. A rule with an L1 penalty has `pull(self, t)`: how far
round t pulls each weight towards 0.

`score` is w.x before the update, `y` is -1.0 or +1.0, `xx` is ||x||^2 (the bias feature included), `ww` is
||w||^2 and `t` is the number of the round, counted from 1 over all epochs. :func:`promises` states more of a rule.
"""

import dis
import inspect
from collections.abc import Callable
from functools import cache
from numbers import Real
from typing import Any, TypeVar

Rule = TypeVar("Rule", bound=type)

PLAIN = ["self", "score", "y", "xx"]
SHRINKING = ["self", "score", "y", "xx", "ww", "t"]


def promises(
    *,
    reads: str = "value",
    unit: bool = False,
    settles: bool = True,
    needs_norm: bool = True,
    weighted: bool = True,
    targets: bool = False,
) -> Callable[[Rule], Rule]:
    """Decorate a rule with what it promises.

    `reads="sign"`: only the sign of the score matters to it, so that it may drive weights whose scores are known up
    to a positive factor. `unit=True`: a step is y or 0 and nothing shrinks, so that a log of the rows suffices.
    `settles=False`: it updates on nearly every row, separated or not, so that its updates are logged only on request.
    `needs_norm=False`: a rule of the second form that does not read `ww`, which then is not kept.
    `targets=True`: y is any number, and the pass over one column is given the numbers in place of codes of classes.
    `weighted=False`: a step projects on the row's constraint, and a multiple of it has no meaning: rows weigh 1 or 0.
    """

    def mark(rule: Any) -> Any:
        rule.reads, rule.unit, rule.settles, rule.needs_norm = reads, unit, settles, needs_norm
        rule.weighted, rule.targets = weighted, targets
        return rule

    return mark


def shrinks(rule: type) -> bool:
    """Return whether the rule has the second form, which may also shrink the weights."""
    return len(_parameters(rule.step)) == len(SHRINKING)  # type: ignore[attr-defined]


@cache
def _parameters(step: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(step).parameters)


def reads_sign_only(rule: type) -> bool:
    """Return whether the rule promises to use nothing but the sign of the score."""
    return getattr(rule, "reads", "value") == "sign"


def steps_by_one(rule: type) -> bool:
    """Return whether every step of the rule is y or 0."""
    return bool(getattr(rule, "unit", False))


def reads_norm(rule: Any) -> bool:
    """Return whether the rule's step reads ||x||², its third argument, by the names that its code loads."""
    return _loads_norm(rule.step)


@cache
def _loads_norm(step: Any) -> bool:
    name = _parameters(step)[PLAIN.index("xx")]
    loads = (i.argval for i in dis.get_instructions(step) if "LOAD" in i.opname)
    return any(name == value or (isinstance(value, tuple) and name in value) for value in loads)


def settles(rule: type) -> bool:
    """Return whether the rule stops moving once the data are separated."""
    return bool(getattr(rule, "settles", True))


def needs_norm(rule: type) -> bool:
    """Return whether the rule reads ||w||²."""
    return bool(getattr(rule, "needs_norm", True))


def takes_weights(rule: type) -> bool:
    """Return whether a row's weight may multiply a step of the rule."""
    return bool(getattr(rule, "weighted", True))


def takes_targets(rule: type) -> bool:
    """Return whether the rule's y is any number, not only -1 or +1."""
    return bool(getattr(rule, "targets", False))


def check_rule(rule: Any) -> None:
    """Raise a TypeError that states what is missing when `rule` does not have the form of a rule."""
    kind = type(rule)
    if isinstance(rule, type):
        raise TypeError(f"a rule is an instance, not a class: write {rule.__name__}() instead of {rule.__name__}")
    if not (isinstance(rule, tuple) and hasattr(kind, "_fields")):
        raise TypeError(f"a rule is a typing.NamedTuple with a method `step`; got {kind.__name__}")
    if not callable(getattr(kind, "step", None)):
        raise TypeError(f"the rule {kind.__name__} has no method `step(self, score, y, xx)`")
    names = _parameters(kind.step)
    if len(names) not in (len(PLAIN), len(SHRINKING)):
        raise TypeError(
            f"{kind.__name__}.step takes ({', '.join(names)}); a rule's step takes ({', '.join(PLAIN)}), "
            f"or ({', '.join(SHRINKING)}) and returns (keep, amount)"
        )
    for name, value in zip(kind._fields, rule, strict=True):
        if not isinstance(value, Real):
            raise TypeError(f"{kind.__name__}.{name} is {value!r}; a rule's parameters are numbers")


def step(rule: Any, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
    """Return (keep, amount) of any rule; keep is 1 for a rule that never shrinks."""
    if shrinks(type(rule)):
        keep, amount = rule.step(score, y, xx, ww, t)
        return keep, amount
    return 1.0, rule.step(score, y, xx)


def _plain(rule: Any, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
    return 1.0, rule.step(score, y, xx)


def _shrinking(rule: Any, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
    return rule.step(score, y, xx, ww, t)


step.meaning = lambda kinds: _shrinking if shrinks(kinds[0]) else _plain  # type: ignore[attr-defined]
