"""Training as a transaction: an error changes nothing, and other threads see all of a call or none.

The attributes of a learner are its state. Training works on a draft, a copy of the attributes with a state of its
own, and publishes all of them at once: `learner.__dict__ = draft`. A prediction takes `learner.__dict__` once and reads
that dict to its end; what is published meanwhile is in another dict. What a prediction adds to the dict, such as
weights that are computed when needed, stays with the state that it was computed from.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

PREPARED = ("_row_learner", "_row_predictor", "_settled")
"""Attributes that are not part of the model, omitted from pickles and drafts: caches, and how the last `fit` ended."""


def shallow(value: Any, attributes: dict[str, Any]) -> Any:
    """Return an object of the same class with these attributes: the dict itself, not a copy."""
    twin = object.__new__(type(value))
    twin.__dict__ = attributes
    return twin


def draft_of(learner: Any) -> dict[str, Any]:
    """Return a copy of a learner's attributes, with a state that may hold other arrays."""
    draft = vars(learner).copy()  # in one step: another thread may add to them
    for name in PREPARED:
        draft.pop(name, None)
    if "_state" in draft:
        draft["_state"] = shallow(draft["_state"], vars(draft["_state"]).copy())
    return draft


def all_or_nothing(method: Method) -> Method:
    """Run a method of a learner on a draft, which is published when the method returns.

    What the arrays themselves hold is safe: training works on copies, and a single row that is refused writes nothing.
    Names of features are only added, to the same dict; where the method raises, they are taken back. Where training
    works in place there is nothing to go back to, and what was learned stays.
    """

    @wraps(method)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(self, "_in_place", False):
            return method(self, *args, **kwargs)
        names = vars(self).get("_names")
        known = len(names or ())
        draft = shallow(self, draft_of(self))
        try:
            result = method(draft, *args, **kwargs)
        except BaseException:
            while names is not None and len(names) > known:
                names.popitem()
            raise
        self.__dict__ = vars(draft)
        return self if result is draft else result

    return whole  # type: ignore[return-value]


def on_snapshot(method: Method) -> Method:
    """Run a method of a learner that reads on the current attributes, unaffected by later publications."""

    @wraps(method)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(shallow(self, vars(self)), *args, **kwargs)

    return read  # type: ignore[return-value]
