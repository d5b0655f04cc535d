"""Feature maps on the command line: what stands between the data and the learner."""

import json
from difflib import get_close_matches
from typing import Any

from linsep.cli.errors import UsageError
from linsep.transforms import MAPS
from linsep.transforms.base import FeatureMap


def maps_from(said: tuple[str, ...]) -> list[FeatureMap]:
    """Return the maps that were named, each with its parameters.

    >>> maps_from(("scale", "polynomial:degree=3,interaction_only=true"))
    [Scale(), Polynomial(degree=3, interaction_only=True)]
    """
    return [_map_from(*text.partition(":")[::2]) for text in said]


def _map_from(name: str, parameters: str) -> FeatureMap:
    if name not in MAPS:
        close = get_close_matches(name, MAPS, 1)
        cure = f"did you mean {close[0]}?" if close else f"there are {', '.join(MAPS)}"
        raise UsageError(f"there is no map {name!r}; {cure}")
    known = MAPS[name]._get_param_names()
    given: dict[str, Any] = {}
    for pair in filter(None, parameters.split(",")):
        key, mark, text = pair.partition("=")
        if not mark or key not in known:
            raise UsageError(f"--map {name}:{pair}: its parameters are {', '.join(known)}, written as name=value")
        given[key] = _value(text)
    return MAPS[name](**given)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def piped(maps: list[FeatureMap], learner: Any) -> Any:
    """Return a learner with maps before it; the learner itself, if there are none."""
    if not maps:
        return learner
    from sklearn.pipeline import Pipeline

    names = [name for step in maps for name, kind in MAPS.items() if type(step) is kind]
    steps = [
        (f"{name}-{k}" if names.count(name) > 1 else name, step)
        for k, (name, step) in enumerate(zip(names, maps, strict=True))
    ]
    return Pipeline([*steps, ("learner", learner)])
