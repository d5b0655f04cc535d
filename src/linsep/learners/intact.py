"""Nothing is learned from what is refused."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


@contextmanager
def intact(learner: Any) -> Iterator[None]:
    """Put the learner back if the block raises: its attributes, its names, which arrays its machine holds.

    What the arrays themselves hold is safe: training works on copies, and a single row that is refused writes nothing.
    Where training works in place there is nothing to go back to, and what was learned stays.
    """
    if getattr(learner, "_in_place", False):
        yield
        return
    before = dict(vars(learner))
    machine, names = before.get("_machine"), before.get("_names")
    parts, known = dict(vars(machine)) if machine is not None else {}, len(names or ())
    try:
        yield
    except BaseException:
        vars(learner).clear()
        vars(learner).update(before)
        if machine is not None:
            machine.__dict__.update(parts)
        while names is not None and len(names) > known:
            names.popitem()
        raise


def all_or_nothing(method: Method) -> Method:
    """Run a method of a learner under :func:`intact`."""

    @wraps(method)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        with intact(self):
            return method(self, *args, **kwargs)

    return whole  # type: ignore[return-value]
