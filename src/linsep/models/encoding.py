"""Encode plain values as JSON and arrays, and decode them with validation."""

import json
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NamedTuple

import numpy as np

from linsep import rules
from linsep.data.names import Names, Vocabulary
from linsep.data.text.ngrams import Frequencies
from linsep.engine.arrays import Array
from linsep.engine.step import check_rule, promises

Arrays = dict[str, Array]

RULES: dict[str, type] = {
    name: value
    for module in iter_modules(rules.__path__)
    for name, value in vars(import_module(f"{rules.__name__}.{module.name}")).items()
    if hasattr(value, "step")
}
"""Rules that files may name without `rules=`: all in the modules of `linsep.rules`."""
DTYPES = {"float64": np.float64, "float32": np.float32}
FLOATS = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}
"""The floats that JSON has no word for."""
ROOM = 64
"""Letters of an array of words, which has as much room for each as for the longest, per letter of its text."""
MOST_WIDTH = 1 << 62


class Foreign(ValueError):
    """A value that is not of a kind that is stored."""


class Unmet(Foreign):
    """A rule or kernel of the user's own that the file names, and that load was not given as it was saved."""


@promises(reads="sign", needs_norm=False)
class RuleStandIn(NamedTuple):
    """Placeholder for a user's rule in a model that only predicts, which needs no rule."""

    def step(self, score: float, y: float, xx: float) -> float:
        """Return no number, so that training fails."""
        return float("nan")


@promises(reads="sign", needs_norm=False)
class ShrinkingRuleStandIn(NamedTuple):
    """Like :class:`RuleStandIn`, for weights that the rule may have shrunk."""

    def step(self, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
        """Return no numbers, so that training fails."""
        return float("nan"), float("nan")


class Encoder:
    """Turns values into what JSON holds, and into arrays.

    Attributes
    ----------
    arrays : dict
        The arrays so far, by name.
    rules, kernels : dict
        The user's own rules and kernels, which a file holds by name only.
    """

    def __init__(self) -> None:
        self.arrays: Arrays = {}
        self.rules: dict[str, type] = {}
        self.kernels: dict[str, Callable[..., Any]] = {}
        self._words: dict[str, list[str]] = {}

    def decoder(self) -> "Decoder":
        """Return a decoder of all that was encoded; it reads lists of words as they are, and not from their JSON."""
        return Decoder(self.arrays, self.rules, self.kernels, self._words)

    def value(self, value: Any, name: str) -> Any:
        """Return a value ready for JSON; arrays are stored under its name.

        A value that JSON has no word for is a dict whose first key is its codec.
        """
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, str, int)) or (isinstance(value, float) and np.isfinite(value)):
            return value
        for codec in CODECS.values():
            if codec.takes(value):
                return codec.encode(self, value, name)
        raise Foreign(f"{name} is {value!r:.60}, of the type {type(value).__name__}, which a file can't hold")

    def values(self, values: dict[str, Any], name: str) -> dict[str, Any]:
        """Return values by name, each ready for JSON."""
        return {of: self.value(value, f"{name}.{of}") for of, value in values.items()}

    def text(self, document: Any, name: str) -> str:
        """Store a document of any length as an array of letters, and return the name of the array."""
        self.arrays[name] = np.frombuffer(json.dumps(document).encode(), np.uint8)
        return name

    def words(self, words: list[str], name: str) -> str:
        """Store a list of words as a document."""
        self._words[name] = words
        return self.text(words, name)

    def function(self, value: Callable[..., Any]) -> dict[str, str]:
        """Encode a user's kernel by its name, by which `load` is given it back."""
        name = getattr(value, "__name__", "")
        if not isinstance(name, str) or not name.isidentifier():
            kind = type(value).__name__
            raise Foreign(f"its kernel is a function without a name ({kind}): give it one with def to save it")
        self.kernels[name] = value
        return {"function": name}


class Decoder:
    """Turns what an :class:`Encoder` wrote into values; the user's own rules and kernels are looked up by name.

    If `only_predicts`, a :class:`RuleStandIn` takes the place of a rule that was not given.
    """

    def __init__(
        self, arrays: Arrays, own_rules: dict[str, type], own_kernels: dict[str, Callable[..., Any]],
        words: dict[str, list[str]] | None = None, only_predicts: bool = False,
    ) -> None:  # fmt: skip
        self.arrays, self.rules, self.kernels = arrays, {**own_rules, **RULES}, own_kernels
        self.only_predicts = only_predicts
        self._words = words or {}

    def value(self, meta: Any) -> Any:
        """Return the value that was encoded."""
        if isinstance(meta, dict):
            for tag, codec in CODECS.items():
                if tag in meta:
                    return codec.decode(self, meta)
        if isinstance(meta, (dict, list)):
            raise Foreign(f"{meta!r:.60} is nothing that linsep writes")
        return meta

    def text(self, name: str) -> Any:
        """Return the document that an array of letters spells."""
        array = self.arrays[name]
        if array.dtype != np.uint8 or array.ndim != 1:
            raise Foreign("a text is not an array of letters")
        return json.loads(array.tobytes())

    def words(self, name: str, what: str) -> list[str]:
        """Return a document that must be a list of words."""
        words = self._words[name] if name in self._words else self.text(name)
        if type(words) is not list or not all(issubclass(kind, str) for kind in set(map(type, words))):
            raise Foreign(f"{what} has something else in it")
        return words

    def array(
        self, name: str, dtypes: tuple[Any, ...], shape: tuple[int | None, ...], *, finite: bool = True,
        least: float = -np.inf, most: float = np.inf,
    ) -> Array:  # fmt: skip
        """Return an array of the file if its type, shape and values are as they must be.

        Lengths that are None may be any. Values are from `least` to below `most`, and floats finite unless `finite` is
        False.
        """
        array, place = self.arrays[name], ".".join(name.split(".")[-2:])
        fits = array.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
        if not fits or array.dtype not in dtypes:
            kinds, sizes = (
                " or ".join(np.dtype(kind).name for kind in dtypes),
                ["any" if n is None else n for n in shape],
            )
            raise Foreign(f"its array {name:.60} is {array.dtype}{list(array.shape)}, not {kinds}{sizes}")
        if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise Foreign(f"its array {place:.60} has a number that is not finite")
        what = "number" if array.dtype.kind == "f" else "count"
        if least > -np.inf and np.any(array < least):
            raise Foreign(f"its array {place:.60} has a {what} below {least}")
        if most < np.inf and np.any(array >= most):
            raise Foreign(f"its array {place:.60} has a {what} too large to resume from")
        return np.ascontiguousarray(array)


class Codec(NamedTuple):
    """Encoding of a kind of values: a test of the value, an encoder and a decoder."""

    takes: Callable[[Any], bool]
    encode: Callable[[Encoder, Any, str], dict[str, Any]]
    decode: Callable[[Decoder, dict[str, Any]], Any]


def is_number(value: Any) -> bool:
    """Return whether a value is an int or a float."""
    return type(value) in (int, float)


def _encode_items(tag: str) -> Callable[[Encoder, Any, str], dict[str, Any]]:
    return lambda to, items, name: {tag: [to.value(item, f"{name}.{k}") for k, item in enumerate(items)]}


def _encode_dict(to: Encoder, value: dict[Any, Any], name: str) -> dict[str, Any]:
    items = enumerate(value.items())
    return {"dict": [[to.value(of, f"{name}.{k}:{pair[0]!s:.40}") for of in pair] for k, pair in items]}


def _is_array_of_words(value: Any) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "UO":
        return False
    return value.dtype.kind == "U" or all(isinstance(word, str) for word in value.flat)


def _encode_words(to: Encoder, value: Array, name: str) -> dict[str, Any]:
    words = value.ravel().tolist()
    to.words(words, name)
    longest = max(map(len, words), default=0)
    width = min(value.dtype.itemsize // 4, max(longest, ROOM)) if value.dtype.kind == "U" else 0
    fits = width * len(words) <= ROOM * len(to.arrays[name])
    return {"words": name, "width": width if fits else 0, "shape": list(value.shape)}


def _decode_words(of: Decoder, meta: dict[str, Any]) -> Array:
    words, width = of.words(meta["words"], "an array of words"), meta["width"]
    if type(width) is not int or width < 0 or width * len(words) > ROOM * len(of.arrays[meta["words"]]):
        raise Foreign("an array of words has something else in it")
    return np.array(words, f"<U{width}" if width else object).reshape(meta["shape"])


def _encode_array(to: Encoder, value: Array, name: str) -> dict[str, Any]:
    if value.dtype.kind == "O" and value.size and all(map(_is_int64, value.flat)):
        to.arrays[name] = value.astype(np.int64)
        return {"array": name, "as_objects": True}
    if value.dtype.kind in "fiub" and value.dtype.itemsize <= 8 and value.dtype != np.dtype("longdouble"):
        to.arrays[name] = value.astype(value.dtype.newbyteorder("="), copy=False)
        return {"array": name}
    raise Foreign(
        f"{name} is an array of {value.dtype}, which a file can't hold: convert it to numbers or words, as in "
        "y.astype(float) or y.astype(str)"
    )


def _is_int64(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and -(1 << 63) <= int(value) < 1 << 63


def _decode_array(of: Decoder, meta: dict[str, Any]) -> Array:
    array = of.arrays[meta["array"]]
    return array.astype(object) if meta.get("as_objects") is True else array


def _is_dtype(value: Any) -> bool:
    return isinstance(value, (type, np.dtype)) and np.issubdtype(value, np.floating) and np.dtype(value).name in DTYPES


def _is_random_state(value: Any) -> bool:
    return isinstance(value, np.random.RandomState) and value.get_state(legacy=False)["bit_generator"] == "MT19937"


def _encode_random_state(to: Encoder, value: np.random.RandomState, name: str) -> dict[str, Any]:
    state: Any = value.get_state(legacy=True)
    _, key, place, has_normal, normal = state
    to.arrays[name] = np.asarray(key, np.uint32)
    return {"random_state": name, "place": int(place), "normal": [int(has_normal), float(normal)]}


def _decode_random_state(of: Decoder, meta: dict[str, Any]) -> np.random.RandomState:
    state, key = np.random.RandomState(0), of.array(meta["random_state"], (np.uint32,), (624,))
    place, (has_normal, normal) = meta["place"], meta["normal"]
    if type(place) is not int or not 0 <= place <= 624:
        raise Foreign("its random state has an invalid position")
    if type(has_normal) is not int or has_normal not in (0, 1) or not is_number(normal) or not np.isfinite(normal):
        raise Foreign("its random state holds an invalid number")
    state.set_state(("MT19937", key, place, has_normal, normal))
    return state


def _is_rule(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "step") and hasattr(value, "_asdict")


def _encode_rule(to: Encoder, value: Any, name: str) -> dict[str, Any]:
    kind = type(value)
    if RULES.get(kind.__name__, kind) is not kind:
        raise Foreign(f"its rule has the name of linsep's own rule {kind.__name__}: rename the class to save it")
    to.rules[kind.__name__] = kind
    return {
        "rule": kind.__name__,
        "numbers": {of: to.value(float(number), name) for of, number in value._asdict().items()},
    }


def _decode_rule(of: Decoder, meta: dict[str, Any]) -> Any:
    name = meta["rule"]
    if name not in of.rules and of.only_predicts:
        return RuleStandIn()
    if name not in of.rules:
        raise Unmet(f"its rule {name!s:.60} is not one of linsep's own: load it with rules=[{name!s:.60}]")
    fields: Any = getattr(of.rules[name], "_fields", None)
    own = name not in RULES
    if fields is None or list(fields) != list(meta["numbers"]):
        reason = f"the rule {name} was saved with the numbers {list(meta['numbers'])}, and has others now"
        raise Unmet(reason) if own else Foreign(reason)
    try:
        rule = of.rules[name](**{field: float(of.value(number)) for field, number in meta["numbers"].items()})
        check_rule(rule)
    except TypeError as error:
        raise Unmet(f"rules= has no rule {name}: {error}") if own else error from None
    return rule


def _decode_kernel(of: Decoder, meta: dict[str, Any]) -> Callable[..., Any]:
    name = meta["function"]
    if name not in of.kernels:
        raise Unmet(f"its kernel {name!s:.60} is a function of your own: load it with kernels=[{name!s:.60}]")
    return of.kernels[name]


def _decode_names(of: Decoder, meta: dict[str, Any]) -> Names:
    names = Names()
    names._seen = Vocabulary.of(of.words(meta["names"], "a list of words"))
    return names


def _decode_frequencies(of: Decoder, meta: dict[str, Any]) -> Frequencies:
    width = meta["width"]
    if type(width) is not int or not 0 <= width < MOST_WIDTH:
        raise Foreign(f"its documents are counted for {width!r:.20} columns")
    return Frequencies.restored(of.text(meta["frequencies"]), width)


def _of_type(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


CODECS: dict[str, Codec] = {
    "float": Codec(
        lambda value: isinstance(value, float),
        lambda to, value, name: {"float": repr(float(value))},
        lambda of, meta: FLOATS[meta["float"]],
    ),
    "list": Codec(_of_type(list), _encode_items("list"), lambda of, meta: list(map(of.value, meta["list"]))),
    "tuple": Codec(_of_type(tuple), _encode_items("tuple"), lambda of, meta: tuple(map(of.value, meta["tuple"]))),
    "dict": Codec(
        _of_type(dict), _encode_dict, lambda of, meta: {of.value(key): of.value(item) for key, item in meta["dict"]}
    ),
    "words": Codec(_is_array_of_words, _encode_words, _decode_words),
    "array": Codec(lambda value: isinstance(value, np.ndarray), _encode_array, _decode_array),
    "dtype": Codec(
        _is_dtype,
        lambda to, value, name: {"dtype": np.dtype(value).name},
        lambda of, meta: DTYPES[meta["dtype"]],
    ),
    "random_state": Codec(_is_random_state, _encode_random_state, _decode_random_state),
    "rule": Codec(_is_rule, _encode_rule, _decode_rule),
    "function": Codec(lambda value: False, lambda to, value, name: to.function(value), _decode_kernel),
    "vocabulary": Codec(
        lambda value: isinstance(value, Vocabulary),
        lambda to, value, name: {"vocabulary": to.words(value.names(), name)},
        lambda of, meta: Vocabulary.of(of.words(meta["vocabulary"], "a list of words")),
    ),
    "names": Codec(
        lambda value: isinstance(value, Names),
        lambda to, value, name: {"names": to.words(value._seen.names(), name)},
        _decode_names,
    ),
    "frequencies": Codec(
        lambda value: isinstance(value, Frequencies),
        lambda to, value, name: {"frequencies": to.text(value.state(), name), "width": value.width},
        _decode_frequencies,
    ),
}
"""Codecs of values that JSON lacks, by the keys that mark them in a file."""
