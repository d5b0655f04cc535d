"""Nothing is learned from what is refused."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


@contextmanager
def intact(learner: Any) -> Iterator[None]:
    """Put the learner's attributes back if the block raises; training works on copies of what they hold."""
    before = dict(vars(learner))
    try:
        yield
    except BaseException:
        vars(learner).clear()
        vars(learner).update(before)
        raise


def all_or_nothing(method: Method) -> Method:
    """Run a method of a learner under :func:`intact`."""

    @wraps(method)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        with intact(self):
            return method(self, *args, **kwargs)

    return whole  # type: ignore[return-value]
