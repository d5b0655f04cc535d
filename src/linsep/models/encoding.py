"""Encode plain values as JSON and arrays, and decode them with validation."""

import json
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np

from linsep import rules
from linsep.data.text.frequencies import Frequencies
from linsep.data.text.names import Names
from linsep.data.text.vocabulary import Vocabulary
from linsep.engine.arrays import Array
from linsep.engine.step import check_rule

Arrays = dict[str, Array]

RULES: dict[str, type] = {
    name: value
    for module in iter_modules(rules.__path__)
    for name, value in vars(import_module(f"{rules.__name__}.{module.name}")).items()
    if hasattr(value, "step")
}
"""Rules that files may name without `rules=`: all in the modules of `linsep.rules`."""
DTYPES = ("float64", "float32")
ROOM = 64
"""Letters of an array of words, which has as much room for each as for the longest, per letter of its text."""


class Foreign(ValueError):
    """A value that is not of a kind that is stored."""


class Unmet(Foreign):
    """A rule or kernel of the user's own that the file names, and that load was not given as it was saved."""


def packed(value: Any, arrays: Arrays, name: str) -> Any:
    """Return a value ready for JSON; arrays go among the others, under its name.

    What JSON has no word for is a dict with one key that says what it is.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.generic):
        return packed(value.item(), arrays, name)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray):
        return packed_array(value, arrays, name)
    for kind, tag in ((list, "list"), (tuple, "tuple")):
        if type(value) is kind:
            return {tag: [packed(item, arrays, f"{name}.{k}") for k, item in enumerate(value)]}
    if type(value) is dict:
        items = enumerate(value.items())
        return {"dict": [[packed(of, arrays, f"{name}.{k}:{pair[0]!s:.40}") for of in pair] for k, pair in items]}
    for write in (_packed_type, _packed_random_state, _packed_rule, _packed_words):
        result = write(value, arrays, name)
        if result is not None:
            return result
    raise Foreign(f"{name} is {value!r:.60}, of the type {type(value).__name__}, which a file can't hold")


def packed_array(value: Array, arrays: Arrays, name: str) -> Any:
    """Encode an array: words become text, numbers an array of the file."""
    if value.dtype.kind in "UO":
        words = value.ravel().tolist()
        if value.dtype.kind == "O" and words and all(map(_is_int64, words)):
            arrays[name] = np.array(words, np.int64).reshape(value.shape)
            return {"array": name, "as_objects": True}
        if all(isinstance(word, str) for word in words):
            arrays[name] = text_array(words)
            width = min(value.dtype.itemsize // 4, max(_longest(words), ROOM)) if value.dtype.kind == "U" else 0
            fits = width * len(words) <= ROOM * len(arrays[name])
            return {"words": name, "width": width if fits else 0, "shape": list(value.shape)}
    elif value.dtype.kind in "fiub" and value.dtype.itemsize <= 8 and value.dtype != np.dtype("longdouble"):
        arrays[name] = value.astype(value.dtype.newbyteorder("="), copy=False)
        return {"array": name}
    raise Foreign(
        f"{name} is an array of {value.dtype}, which a file can't hold: convert it to numbers or words, as in "
        "y.astype(float) or y.astype(str)"
    )


def _is_int64(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and -(1 << 63) <= int(value) < 1 << 63


def _longest(words: list[str]) -> int:
    return max(map(len, words), default=0)


def stored_array(arrays: Arrays, name: str, kinds: tuple[Any, ...], shape: tuple[int | None, ...]) -> Array:
    """Return an array of the file if it is of one of these types and of this shape; None is any length."""
    array = arrays[name]
    fits = array.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
    if not fits or array.dtype not in kinds:
        wanted = f"{' or '.join(np.dtype(kind).name for kind in kinds)}{['any' if n is None else n for n in shape]}"
        raise Foreign(f"its array {name:.60} is {array.dtype}{list(array.shape)}, not {wanted}")
    return array


def text_array(document: Any) -> Array:
    """Return a document of any length as an array of letters."""
    return np.frombuffer(json.dumps(document).encode(), np.uint8)


def document(array: Array) -> Any:
    """Return the document that an array of letters spells."""
    if array.dtype != np.uint8 or array.ndim != 1:
        raise Foreign("a text is not an array of letters")
    return json.loads(array.tobytes())


def _packed_type(value: Any, arrays: Arrays, name: str) -> Any:
    if isinstance(value, (type, np.dtype)) and np.issubdtype(value, np.floating) and np.dtype(value).name in DTYPES:
        return {"dtype": np.dtype(value).name}
    return None


def _packed_random_state(value: Any, arrays: Arrays, name: str) -> Any:
    if not isinstance(value, np.random.RandomState):
        return None
    kind, key, place, has_normal, normal = value.get_state(legacy=True)
    if kind != "MT19937":
        return None
    arrays[name] = np.asarray(key, np.uint32)
    return {"random_state": name, "place": int(place), "normal": [int(has_normal), float(normal)]}


def _packed_rule(value: Any, arrays: Arrays, name: str) -> Any:
    if not (isinstance(value, tuple) and hasattr(value, "step") and hasattr(value, "_asdict")):
        return None
    numbers = {of: packed(float(number), arrays, name) for of, number in value._asdict().items()}
    return {"rule": type(value).__name__, "numbers": numbers}


def packed_function(value: Callable[..., Any], name: str) -> dict[str, str]:
    """Encode a user's function by its name, by which `load` is given it back."""
    called = getattr(value, "__name__", "")
    if not isinstance(called, str) or not called.isidentifier():
        raise Foreign(f"{name} is a function without a name ({type(value).__name__}): give it one with def to save it")
    return {"function": called}


def _packed_words(value: Any, arrays: Arrays, name: str) -> Any:
    if isinstance(value, Vocabulary):
        arrays[name] = text_array(value.names())
        return {"vocabulary": name}
    if isinstance(value, Names):
        arrays[name] = text_array(value._seen.names())
        return {"names": name}
    if isinstance(value, Frequencies):
        arrays[name] = text_array(value.state())
        return {"frequencies": name, "width": value.width}
    return None


def is_number(value: Any) -> bool:
    """Return whether a value is an int or a float."""
    return type(value) in (int, float)


class Unpacker:
    """Turns what :func:`packed` wrote into values again; rules and kernels of the user's own are looked up by name."""

    def __init__(self, arrays: Arrays, own_rules: dict[str, type], own_kernels: dict[str, Callable[..., Any]]) -> None:
        self.arrays, self.rules, self.kernels = arrays, {**own_rules, **RULES}, own_kernels
        self.tags: dict[str, Callable[[dict[str, Any]], Any]] = {
            "float": lambda of: {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}[of["float"]],
            "list": lambda of: [self.value(item) for item in of["list"]],
            "tuple": lambda of: tuple(self.value(item) for item in of["tuple"]),
            "dict": lambda of: {self.value(key): self.value(item) for key, item in of["dict"]},
            "array": self._array,
            "words": self._words,
            "dtype": lambda of: {name: getattr(np, name) for name in DTYPES}[of["dtype"]],
            "random_state": self._random_state,
            "rule": self._rule,
            "function": self._kernel,
            "vocabulary": lambda of: self._vocabulary(of["vocabulary"]),
            "names": self._names,
            "frequencies": self._frequencies,
        }

    def value(self, meta: Any) -> Any:
        """Return the value that was packed."""
        if isinstance(meta, dict):
            for tag, unpack in self.tags.items():
                if tag in meta:
                    return unpack(meta)
        if isinstance(meta, (dict, list)):
            raise Foreign(f"{meta!r:.60} is nothing that linsep writes")
        return meta

    def _text(self, name: str) -> Any:
        return document(self.arrays[name])

    def _array(self, meta: dict[str, Any]) -> Array:
        array = self.arrays[meta["array"]]
        return array.astype(object) if meta.get("as_objects") is True else array

    def _words(self, meta: dict[str, Any]) -> Array:
        words, width = self._text(meta["words"]), meta["width"]
        room = ROOM * len(self.arrays[meta["words"]])
        if type(words) is not list or type(width) is not int or not all(isinstance(word, str) for word in words):
            raise Foreign("an array of words has something else in it")
        if width < 0 or width * len(words) > room:
            raise Foreign("an array of words has something else in it")
        return np.array(words, f"<U{width}" if width else object).reshape(meta["shape"])

    def _random_state(self, meta: dict[str, Any]) -> np.random.RandomState:
        state, key = np.random.RandomState(0), self.arrays[meta["random_state"]]
        place, (has_normal, normal) = meta["place"], meta["normal"]
        if key.dtype != np.uint32 or key.shape != (624,) or type(place) is not int or not 0 <= place <= 624:
            raise Foreign("its random state is none")
        if type(has_normal) is not int or has_normal not in (0, 1) or not is_number(normal) or not np.isfinite(normal):
            raise Foreign("its random state holds a number that is none")
        state.set_state(("MT19937", key, place, has_normal, normal))
        return state

    def _rule(self, meta: dict[str, Any]) -> Any:
        name = meta["rule"]
        if name not in self.rules:
            raise Unmet(f"its rule {name!s:.60} is not one of linsep's own: load it with rules=[{name!s:.60}]")
        fields: Any = getattr(self.rules[name], "_fields", None)
        own = name not in RULES
        if fields is None or list(fields) != list(meta["numbers"]):
            reason = f"the rule {name} was saved with the numbers {list(meta['numbers'])}, and has others now"
            raise Unmet(reason) if own else Foreign(reason)
        numbers = {of: float(self.value(number)) for of, number in meta["numbers"].items()}
        try:
            rule = self.rules[name](**numbers)
            check_rule(rule)
        except TypeError as error:
            raise Unmet(f"rules= has no rule {name}: {error}") if own else error from None
        return rule

    def _kernel(self, meta: dict[str, Any]) -> Callable[..., Any]:
        name = meta["function"]
        if name not in self.kernels:
            raise Unmet(f"its kernel {name!s:.60} is a function of your own: load it with kernels=[{name!s:.60}]")
        return self.kernels[name]

    def _vocabulary(self, name: str) -> Vocabulary:
        words = self._text(name)
        if type(words) is not list or not all(isinstance(word, str) for word in words):
            raise Foreign("a list of words has something else in it")
        return Vocabulary.of(words)

    def _frequencies(self, meta: dict[str, Any]) -> Frequencies:
        if type(meta["width"]) is not int or not 0 <= meta["width"] < 1 << 62:
            raise Foreign(f"its documents are counted for {meta['width']!r:.20} columns")
        return Frequencies.restored(self._text(meta["frequencies"]), meta["width"])

    def _names(self, meta: dict[str, Any]) -> Names:
        names = Names()
        names._seen = self._vocabulary(meta["names"])
        return names
