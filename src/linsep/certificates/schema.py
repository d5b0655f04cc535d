"""Define the certificate file: names of problems and bounds, and the structure and size of every part.

The checker computes with any witnesses. The schema ensures that they are what they are called: a problem is
named by its bias and its class, no problem is missing, the numbers of a run are those of its theorem, and no number is
so long that arithmetic would not end. The schema imports nothing of linsep.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from operator import lt
from typing import Any, Literal, Self

FORMAT, VERSION, LISTED = "linsep certificate", 2, 1
"""The format, its version, and the version before: its runs list the rows of their updates, and no rounds between."""
PARTS = ("data", "problems", "runs", "claims", "risk")
LARGEST_P = 500
"""Powers beyond this leave the range of floats, in which rows are compared first."""
FARTHEST = 5000
"""Exponents of two beyond this are not needed for products of floats."""
MOST_BITS = 1 << 14
"""The shares of all mixes multiply up to denominators of so many bits at most: longer ones would take too long."""
MOST_PAIRS = 20_000_000
"""The most entries of the rows of all pairs of classes, and of their weights; for more, no witnesses are sought."""
MOST_NUMBERS = 5 * MOST_PAIRS
"""The most numbers in all witnesses of one kind of the pairs of classes, zeros of mixtures included."""
MOST_WITNESSES, LONGEST_INTEGER, LONGEST_STEP = 16, 1 << 18, 1 << 12
"""Witnesses of one kind that a problem may have, and the bits of their integers and of the steps of a run."""
SMALLEST, LARGEST = 1e-300, 1e300
"""Limits of C and of Winnow's rate: beyond them, products leave the range of floats."""
LEAST_DELTA = 1e-9
"""The confidence 1 - delta of a risk is from this to 1 less this."""
MOST_PIECES = 64
"""Weights that a run may be held against, one after the other."""
MOST_SCALE = 1000
"""The largest exponent of two by which a column is scaled."""
MOST_DEGREE = 64
"""The largest degree of a kernel whose values are computed."""
MOST_PASSES = 10**18 - 1
"""Passes that a bound may be stated for."""
MOST_EMPTY = 1000
"""Classes without a row, at most: each of them costs a check of all rows."""
MOST_MIXES = 100_000
"""Shards in all mixes of a run."""
LONG = re.compile(rf"-?0x[0-9a-f]{{1,{LONGEST_INTEGER // 4}}}")
DECIMAL = re.compile(r"0?\.\d{1,40}|\d{1,3}e-\d{1,3}|\d\.\d{1,40}e-\d{1,3}")
"""The pattern of a written probability."""
KINDS = ("pairs", "class", "binary", "best bias", "scaled")
"""Kinds of problems, those that a verdict is about first."""
NUMBER = r"(\d+(?:\.\d+)?(?:e[+-]\d+)?)"
NAME = re.compile(rf"(?:(pairs|scaled), |class (.*), )?(?:bias {NUMBER}|no bias)|best bias, {NUMBER}", re.DOTALL)


class FormError(ValueError):
    """Raised if a file does not have the structure of a certificate."""


@dataclass(frozen=True)
class ProblemKey:
    """Identity of a problem: the rows to separate and their constant feature; `str` is the problem's name in the file.

    Examples
    --------
    >>> [str(ProblemKey(1.0)), str(ProblemKey(0.0, "pairs")), str(ProblemKey(0.5, "class", "a, b"))]
    ['bias 1', 'pairs, no bias', 'class a, b, bias 0.5']
    >>> ProblemKey.parse("best bias, 2.5")
    ProblemKey(bias=2.5, kind='best bias', label='')
    """

    bias: float
    """The constant feature's value; 0 for none."""
    kind: Literal["binary", "best bias", "scaled", "class", "pairs"] = "binary"
    """Two classes with the bias given, with the best one, or with scaled columns; one class against the rest; pairs."""
    label: str = ""
    """The class against the rest, for the kind "class"."""

    @property
    def scope(self) -> str:
        """The name without the bias; empty for two classes with the bias given."""
        return {"binary": "", "class": f"class {self.label}"}.get(self.kind, self.kind)

    @property
    def run(self) -> str:
        """The name of the run that is certified on the rows of the problem."""
        return f"run of {self.scope}" if self.scope else "run"

    def positive(self, classes: list[str]) -> str | None:
        """Return the class whose rows have the sign +1; None for pairs, whose rows all have it."""
        return {"pairs": None, "class": self.label}.get(self.kind, classes[-1])

    def __str__(self) -> str:
        digits = repr(float(self.bias)).removesuffix(".0")
        value = digits if self.kind == "best bias" else f"bias {digits}" if self.bias else "no bias"
        return f"{self.scope}, {value}" if self.scope else value

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the problem of that name."""
        match = NAME.fullmatch(name)
        if match is None:
            raise FormError(f"{name!r} is not the name of a problem")
        scope, label, bias, best = match.groups()
        value = float(best or bias or 0)
        if best or scope:
            return cls(value, "best bias" if best else "pairs" if scope == "pairs" else "scaled")
        return cls(value) if label is None else cls(value, "class", label)


@dataclass(frozen=True)
class MistakeBound:
    """Identity of a bound on the mistakes of a learner in any order of the rows; `str` is the claim's name in the file.

    Examples
    --------
    >>> str(MistakeBound("Winnow")), str(MistakeBound("perceptron", 10))
    ("Winnow's mistakes at most", "perceptron's mistakes (T = 10) at most")
    >>> MistakeBound.parse("perceptron's mistakes (T = 10) at most").label
    'perceptron (T = 10)'
    """

    learner: str
    """The learner: the perceptron, Winnow or balanced Winnow."""
    passes: int | None = None
    """The number of passes over the rows; None for any number."""

    @property
    def label(self) -> str:
        """The learner, and the number of passes if the bound is for so many."""
        return self.learner if self.passes is None else f"{self.learner} (T = {self.passes})"

    @property
    def tightness(self) -> str:
        """The name of the claim on how small the bound for so many passes could be made."""
        return f"the least such bound (T = {self.passes}) at least"

    def __str__(self) -> str:
        span = "" if self.passes is None else f"(T = {self.passes}) "
        return f"{self.learner}'s mistakes {span}at most"

    @classmethod
    def parse(cls, claim: str) -> Self | None:
        """Return the bound that a claim states; None for a claim about anything else."""
        match = re.fullmatch(r"(.+)'s mistakes (?:\(T = (\d+)\) )?at most", claim)
        return cls(match[1], None if match[2] is None else int(match[2])) if match else None


def integers(vector: dict[str, Any]) -> list[int]:
    """Return the integers of a witness; long ones are written in base 16.

    Examples
    --------
    >>> integers({"exponent": 0, "values": [3, "-0x10"]})
    [3, -16]
    """
    return [int(v, 16) if type(v) is str else v for v in vector["values"]]


def is_integer(value: Any) -> bool:
    """Accept integers up to 2^62, and texts of longer ones in base 16."""
    return LONG.fullmatch(value) is not None if isinstance(value, str) else whole(-(1 << 62), 1 << 62)(value)


def are_integers(values: list[Any]) -> bool:
    """Return whether all values are such integers; many are compared at once.

    Examples
    --------
    >>> are_integers([1, "-0x10"]), are_integers([1 << 63]), are_integers([True]), are_integers(["0x1 0x2"])
    (True, False, False, False)
    """
    if not {*map(type, values)} <= {int, str}:
        return False
    short = [value for value in values if type(value) is int]
    inside = -(1 << 62) <= min(short, default=0) <= max(short, default=0) <= 1 << 62
    return inside and all(map(LONG.fullmatch, (value for value in values if type(value) is str)))


def require(true: bool, otherwise: str) -> None:
    """Raise a FormError unless a condition is true."""
    if not true:
        raise FormError(otherwise)


Field = tuple[Callable[[Any], bool], str]
"""A test of a value, and the error for an invalid value."""


def check_fields(name: str, part: dict[str, Any], fields: dict[str, Field]) -> None:
    """Raise a FormError for the first field of a part that is missing or not valid."""
    for key, (valid, otherwise) in fields.items():
        require(key in part and valid(part[key]), f"{name}{otherwise}")


def whole(least: int, most: int) -> Callable[[Any], bool]:
    """Accept integers within limits; truth values are none."""
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def wholes(least: int, most: int) -> Callable[[Any], bool]:
    """Accept lists of integers within limits; many are compared at once."""

    def valid(value: Any) -> bool:
        typed = isinstance(value, list) and {*map(type, value)} <= {int}
        return typed and all(least <= of <= most for of in (min(value, default=least), max(value, default=least)))

    return valid


def number(least: float, most: float) -> Callable[[Any], bool]:
    """Accept finite numbers within limits."""
    return lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most


def list_of(valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Accept lists of valid values."""
    return lambda value: isinstance(value, list) and all(map(valid, value))


def of_type(*types: type) -> Callable[[Any], bool]:
    """Accept values of some types."""
    return lambda value: isinstance(value, types)


is_text = of_type(str)


def is_plain(value: Any) -> bool:
    r"""Accept texts without control characters, which a terminal might obey.

    Examples
    --------
    >>> is_plain("class a"), is_plain("a\x1b[2J"), is_plain("a\u202eb")
    (True, False, False)
    """
    return is_text(value) and not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in value)


def is_probability(value: Any) -> bool:
    """Accept texts of numbers between 0 and 1."""
    return is_text(value) and DECIMAL.fullmatch(value) is not None and 0 < float(value) < 1


DATA: dict[str, Field] = {
    "classes": (list_of(is_text), "its classes are no list of different texts"),
    "remarks": (list_of(is_text), "its remarks are no list of texts"),
    "rows": (whole(1, 1 << 53), "its rows are no number of at least 1"),
    "features": (whole(1, 1 << 53), "its features are no number of at least 1"),
}
PROBLEM: dict[str, Field] = {
    "bias": (number(0, 1e308), "has no bias of 0 or more"),
    "positive": (of_type(str, type(None)), "is about no class"),
    "games": (of_type(bool), "does not state whether it is about Winnow"),
    "epsilon": (is_probability, "has no epsilon between 0 and 1"),
    "delta": (is_probability, "has no delta between 0 and 1"),
}
RUN: dict[str, Field] = {
    "problem": (is_text, "is a run of no problem"),
    "theorem": (lambda name: is_text(name) and name in THEOREMS, "is held to no theorem"),
    "passes": (whole(1, 1 << 62), "has no number of passes"),
}
THEOREMS: dict[str, dict[str, Field]] = {
    "perceptron": {
        "p": (number(2, LARGEST_P), "has no p of 2 or more"),
        "witness": (is_text, "has no weights to be held against"),
    },
    "winnow": {
        "norm": (lambda norm: norm in ("simplex", "l1"), "is of no norm"),
        "rate": (number(SMALLEST, LARGEST), "has no rate above 0"),
        "witness": (is_text, "has no weights to be held against"),
    },
    "passive_aggressive": {
        "steps": (wholes(1, 1 << LONGEST_STEP), "has steps that are none"),
        "exponent": (whole(-FARTHEST, FARTHEST), "has no unit of its steps"),
        "C": (lambda C: C is None or number(SMALLEST, LARGEST)(C), "has no C above 0"),
        "first": (of_type(bool), "is of no variant"),
    },
    "romma": {
        "witness": (is_text, "has no weights to be held against"),
        "aggressive": (of_type(bool), "is of no variant"),
    },
    "kernel_perceptron": {
        "degree": (whole(1, MOST_DEGREE), f"has no degree of its kernel from 1 to {MOST_DEGREE}"),
        "gamma": (number(SMALLEST, LARGEST), "has no gamma of its kernel above 0"),
        "coef0": (lambda of: of == 0 or number(SMALLEST, LARGEST)(of), "has no coef0 of its kernel of 0 or more"),
        "separator": (of_type(dict, type(None)), "has a separator that is no vector"),
        "cancelling": (of_type(dict, type(None)), "has cancelling rows that are no vector"),
    },
}
"""The numbers of a run, by the theorem that it is held to."""
STEPS = {"steps", "exponent"}
"""Keys that a run has only if it lists its rows."""
OPTIONAL = {"combinations", "scale", "held out", "PAC-Bayes"}
"""Parts that a problem of version 2 may have."""
WITNESS = re.compile(r"delta [0-9]{1,18}|margin|hinge|no bias|fewest errors|model|(balanced )?Winnow's margin")
"""Names of witnesses."""


ORDER: dict[str, Field] = {
    "seed": (whole(0, (1 << 128) - 1), "has an order without a seed"),
    "shuffle": (lambda how: how in ("epoch", "once", "blocks"), "has an order of no known scheme"),
    "epochs": (whole(1, MOST_PASSES), "has an order of no epochs"),
}
"""An order drawn by numpy's generator: that of each epoch from its number, the same for all, or of blocks of rows."""
REPLAYED = {"problem", "theorem", "passes", "rounds", "order", "updates"}
"""The keys of a run whose rounds are replayed, beside those of its theorem."""


def check_form(facts: Any) -> None:
    """Raise a FormError that names the first fault in the structure of a certificate.

    Examples
    --------
    >>> check_form({"format": "linsep certificate", "version": 3})
    Traceback (most recent call last):
        ...
    linsep.certificates.schema.FormError: it does not state that it is a linsep certificate of version 1 or 2
    """
    require(isinstance(facts, dict), "it is no mapping")
    about = f"it does not state that it is a {FORMAT} of version {LISTED} or {VERSION}"
    require(facts.get("format") == FORMAT and whole(LISTED, VERSION)(facts.get("version")), about)
    for part in PARTS:
        require(isinstance(facts.get(part), dict), f"its {part} are no mapping")
    require(facts.keys() == {"format", "version", *PARTS}, "it has parts that no certificate has")
    data, problems = facts["data"], facts["problems"]
    check_fields("", data, DATA)
    classes = data["classes"]
    require(len(set(classes)) == len(classes) > 0, "its classes are no list of different texts")
    check_classes(len(classes), data["rows"])
    if facts["version"] == VERSION:
        _check_strictly(facts)
    require(bool(problems), "it claims nothing")
    require(len(problems) <= len(classes) + 3, "it has more problems than its data")
    for name, problem in problems.items():
        _check_problem(name, problem, data)
        new = OPTIONAL & {*problem} if facts["version"] == LISTED else set()
        require(not new, f"{name!r} has {min(new, default='')}, which certificates of version 1 have not")
    _check_all_problems([ProblemKey.parse(name) for name in problems], classes)
    for name, run in facts["runs"].items():
        require(name not in problems, f"{name!r} is a problem and a run")
        _check_run(name, run, facts)


def _check_strictly(facts: dict[str, Any]) -> None:
    """Check what version 2 asks of a certificate beyond version 1: no unknown keys, names that are plain, in order."""
    data, classes = facts["data"], facts["data"]["classes"]
    only("its data", data, {*DATA, "known", "sha256"})
    known = list_of(is_text)(data.get("known")) and not {*classes} & {*data["known"]}
    require(known, "its further classes are no list of texts that are no classes")
    texts = [*classes, *data["known"], *data["remarks"], *facts["claims"], *facts["risk"], *facts["runs"]]
    odd = next((text for text in texts if not is_plain(text)), "")
    require(not odd, f"it has the text {odd[:40]!r}, which holds a control character")
    require(len(classes) <= data["rows"], "it has more classes than rows")
    require(in_order(classes), "its classes are in no order")
    for name, problem in facts["problems"].items():
        require(isinstance(problem, dict), f"{name!r} is no problem")
        only(f"{name!r}", problem, {*PROBLEM, "w", "lambda", *OPTIONAL})
        for side in ("w", "lambda"):
            witnesses = problem.get(side) if isinstance(problem.get(side), dict) else {}
            for key, vector in witnesses.items():
                require(WITNESS.fullmatch(key) is not None, f"{name!r} has witnesses {side} called {key[:40]!r}")
                only(f"{name}: {side} {key}", vector, {"exponent", "values", "at"})


def in_order(names: list[str]) -> bool:
    r"""Return whether names of classes are sorted, as numbers or as texts; names with escapes also as the labels are.

    Examples
    --------
    >>> in_order(["-1", "2", "10"]), in_order(["10", "2"]), in_order(["b", "a"]), in_order([r"\x1b", ">", "a"])
    (True, True, False, True)
    """
    if sorted(names) == names or sorted(names, key=_unescaped) == names:
        return True
    try:
        return sorted(names, key=float) == names
    except ValueError:
        return False


def _unescaped(name: str) -> str:
    r"""Return a name with control characters in place of their escapes, such as \x1b."""
    letters = {"n": "\n", "r": "\r", "t": "\t"}
    escape = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([nrt]))")
    return escape.sub(lambda at: letters[at[4]] if at[4] else chr(int(at[1] or at[2] or at[3], 16)), name)


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dict; raise a FormError if a key occurs twice, as readers differ in which counts.

    Examples
    --------
    >>> import json
    >>> json.loads('{"a": 1, "a": 2}', object_pairs_hook=distinct)
    Traceback (most recent call last):
        ...
    linsep.certificates.schema.FormError: the key 'a' occurs twice
    """
    found = dict(pairs)
    for k, (key, _) in enumerate(pairs if len(found) < len(pairs) else ()):
        require(key not in dict(pairs[:k]), f"the key {key[:40]!r} occurs twice")
    return found


def only(name: str, part: Any, keys: set[str]) -> None:
    """Raise a FormError for a key that a part may not have."""
    require(isinstance(part, dict), f"{name} is no mapping")
    more = sorted(map(repr, part.keys() - keys))
    require(not more, f"{name} has a key {', '.join(more[:3])[:60]}, which is unknown")


def check_classes(classes: int, rows: int) -> None:
    """Raise a FormError if more classes have no row than can be checked."""
    most = f"at most {MOST_EMPTY:,} may have no row"
    require(classes <= rows + MOST_EMPTY, f"{classes:,} classes for {rows:,} rows: {most}")


def _check_all_problems(keys: list[ProblemKey], classes: list[str]) -> None:
    """Check that no problem is missing: a file without the one that separates would give another verdict."""
    bias = next((key.bias for key in keys if key.bias and key.kind not in ("best bias", "scaled")), 0.0)
    if len(classes) > 2:
        wanted = {ProblemKey(bias, "class", name) for name in classes}
        optional = {ProblemKey(bias, "pairs")}
    else:
        wanted = {ProblemKey(bias), ProblemKey(0.0)}
        optional = {key for key in keys if bias and key.kind == "best bias"}
        require(len(optional) <= 1, "it has more than one best bias")
        scaled = {key for key in keys if key.kind == "scaled"}
        require(len(scaled) <= 1, "it has more than one scaling of columns")
        optional |= scaled
    missing, more = (sorted(map(str, of)) for of in (wanted - {*keys}, {*keys} - wanted - optional))
    require(not missing, f"it has no problem {', '.join(map(repr, missing[:3]))}")
    require(not more, f"it has the problem {', '.join(map(repr, more[:3]))}, which is none of these data")


def _check_problem(name: str, problem: Any, data: dict[str, Any]) -> None:
    """Check a problem: its name, its numbers, its witnesses."""
    require(isinstance(problem, dict), f"{name!r} is no problem")
    check_fields(f"{name!r} ", problem, PROBLEM)
    classes, bias, positive = data["classes"], problem["bias"], problem["positive"]
    pairs = positive is None
    require(len(classes) > 2 if pairs else positive in classes, f"{name!r} is about no class")
    require(len(classes) > 2 or positive == classes[-1], f"{name!r} is about another class than the last")
    keys = [ProblemKey(bias, "pairs") if pairs else ProblemKey(bias, "class", positive)]
    two = [ProblemKey(bias, "scaled")] if "scale" in problem else [ProblemKey(bias), ProblemKey(bias, "best bias")]
    keys = keys if len(classes) > 2 else two
    require(name in map(str, keys), f"{name!r} is a problem that is called {str(keys[0])!r}")
    require(not (problem["games"] and pairs), f"{name!r} is about pairs, and Winnow's margins are not")
    sizes = {"w": (data["features"] + 1) * (len(classes) if pairs else 1), "lambda": _signed_rows(problem, data)}
    for side, size in sizes.items():
        require(isinstance(problem.get(side), dict) and bool(problem[side]), f"{name!r} has no witnesses {side}")
        require(len(problem[side]) <= MOST_WITNESSES, f"{name!r} has more witnesses {side} than {MOST_WITNESSES}")
        for key, vector in problem[side].items():
            require(is_text(key), f"{name!r} has a witness without a name")
            _check_vector(f"{name}: {side} {key}", vector, size)
        full = [size if side == "lambda" else len(vector["values"]) for vector in problem[side].values()]
        few = not pairs or sum(full) <= MOST_NUMBERS
        require(few, f"{name!r} has witnesses {side} of more than {MOST_NUMBERS:,} numbers in all")
    _check_risks(name, problem, pairs)
    if "scale" in problem:
        require(len(classes) <= 2, f"{name!r} has a scale, which problems of two classes alone may have")
        _check_scale(name, problem["scale"], int(data["features"]))
    if "combinations" in problem:
        _check_combinations(name, problem["combinations"], sizes["lambda"], sizes["lambda"] // int(data["rows"]))
    for key in problem["w"]:
        if key.startswith("delta "):
            passes = int(key[6:]) if re.fullmatch("[0-9]{1,18}", key[6:]) else 0
            require(passes >= 1 and key in problem["lambda"], f"{name!r} has half of a {key!r}")


def _check_risks(name: str, problem: dict[str, Any], pairs: bool) -> None:
    """Check the confidences of bounds on the risk of the model."""
    sure = number(LEAST_DELTA, 1 - LEAST_DELTA)
    risks = {"held out", "PAC-Bayes"} & {*problem}
    require(not risks or "model" in problem["w"], f"{name!r} has no model to bound the risk of")
    require(sure(problem.get("held out", 0.5)), f"{name!r} has no confidence in held-out rows")
    if "PAC-Bayes" in problem:
        of = problem["PAC-Bayes"]
        only(f"{name}: PAC-Bayes", of, {"confidence", "scale"})
        require(sure(of.get("confidence")), f"{name!r} has no confidence in PAC-Bayes")
        require(whole(-4, 24)(of.get("scale")), f"{name!r} has no scale of PAC-Bayes")
        require(not pairs, f"{name!r} is of pairs, which PAC-Bayes does not cover here")
        require("scale" not in problem, f"{name!r} has columns scaled by the data, which PAC-Bayes does not cover")


def seed_of(sha256: str) -> int:
    """Return the seed that is not chosen: the first 32 bits of the data's SHA-256.

    Examples
    --------
    >>> seed_of("0000000a" + 56 * "0")
    10
    """
    return int(sha256[:8], 16)


def is_fixed(order: Any, data: dict[str, Any]) -> bool:
    """Return whether an order of rows was fixed before the run: the rows as they are, or the seed of their SHA-256."""
    if not isinstance(order, dict):
        return bool(order == "rows")
    known = is_text(data.get("sha256")) and re.fullmatch("[0-9a-f]{64}", data["sha256"]) is not None
    return known and order.get("seed") == seed_of(data["sha256"])


def _check_scale(name: str, scale: Any, features: int) -> None:
    """Check the exponents of two by which columns are scaled."""
    only(f"{name}: scale", scale, {"at", "values"})
    _check_vector(f"{name}: scale", scale | {"exponent": 0}, features)
    near = all(whole(-MOST_SCALE, MOST_SCALE)(value) for value in scale["values"])
    require(near, f"{name}: scale has an exponent beyond {MOST_SCALE}")


def _check_combinations(name: str, combinations: Any, size: int, rivals: int) -> None:
    """Check combinations of rows: factors above 0, and no row in two of them; pairs of one row count as that row."""
    require(isinstance(combinations, list), f"{name!r} has combinations that are no list")
    used: set[int] = set()
    for k, vector in enumerate(combinations):
        title = f"{name}: combination {k}"
        only(title, vector, {"at", "values"})
        _check_vector(title, {"exponent": 0, "at": None} | vector, size)
        require(bool(vector["at"]) and min(integers(vector)) > 0, f"{title} has a factor that is not above 0")
        rows = {i // rivals for i in vector["at"]}
        require(used.isdisjoint(rows), f"{title} has a row of another combination")
        used |= rows


def _signed_rows(problem: dict[str, Any], data: dict[str, Any]) -> int:
    """Return the number of signed rows of a problem: for pairs, one for each rival class."""
    return int(data["rows"]) * (len(data["classes"]) - 1 if problem["positive"] is None else 1)


def _check_vector(name: str, vector: Any, size: int) -> None:
    """Check a witness: as many integers as there are places, in ascending order."""
    require(isinstance(vector, dict) and isinstance(vector.get("values"), list), f"{name} is no vector")
    require(whole(-FARTHEST, FARTHEST)(vector.get("exponent")), f"{name} has no exponent within {FARTHEST}")
    values = vector["values"]
    odd = next((value for value in values if not is_integer(value)), None) if not are_integers(values) else None
    shown = hex(odd) if isinstance(odd, int) else str(odd)  # Python refuses to write long integers in base 10
    require(odd is None, f"{name} holds {shown[:40]!r}, which is no integer up to 2^62 and no text of one in base 16")
    places = vector.get("at", range(size))
    if "at" in vector:
        numbers = isinstance(places, list) and {*map(type, places)} <= {int}
        inside = numbers and all(map(lt, [-1, *places], [*places, size]))
        require(inside, f"{name} has no such places")
    count = len(vector["values"])
    require(count == len(places), f"{name} has {count} values for {len(places)} places")


def _check_run(name: str, run: Any, facts: dict[str, Any]) -> None:
    """Check a run: its rounds or rows, and the numbers of its theorem."""
    require(isinstance(run, dict), f"{name!r} is a run of no problem")
    check_fields(f"{name!r} ", run, RUN)
    require(run["problem"] in facts["problems"], f"{name!r} is a run of no problem")
    require(name == ProblemKey.parse(run["problem"]).run, f"{name!r} is the run of another problem")
    require(ProblemKey.parse(run["problem"]).kind != "scaled", f"{name!r} is a run on scaled columns")
    problem, data, passes = facts["problems"][run["problem"]], facts["data"], run["passes"]
    rounds = whole(1, passes * data["rows"])(run.get("rounds"))
    require(rounds, f"{name!r} has rounds of no such run")
    if "updates" in run:
        require(facts["version"] == VERSION, f"{name!r} has rounds, which certificates of version 1 have not")
        _check_rounds(name, run, problem, data)
    else:
        require(facts["version"] == LISTED, f"{name!r} lists its rows, and not its rounds")
        require(not {"pieces", "compression"} & {*run}, f"{name!r} has parts that runs of version 1 have not")
        _check_rows(name, run, problem, facts)
    if "confidence" in run:
        once = passes == 1 and run["rounds"] == data["rows"] and number(LEAST_DELTA, 1 - LEAST_DELTA)(run["confidence"])
        require(once, f"{name!r} has a confidence, but is not one pass")
        require(not {"mixes", "shards"} & {*run}, f"{name!r} has a confidence, but is not one run")
    fields = THEOREMS[run["theorem"]]
    check_fields(f"{name!r} ", run, {k: v for k, v in fields.items() if k not in STEPS or "updates" not in run})
    if run["theorem"] == "kernel_perceptron":
        _check_kernel(name, run, problem, data)
        return
    witness = run["witness"] if "witness" in fields else "hinge"
    require(witness in problem["w"], f"{name!r} has no weights to be held against")
    if run["theorem"] == "perceptron":
        require(f"delta {passes}" in problem["w"], f"{name!r} has no bound for {passes} passes")
    elif run["theorem"] in ("romma", "winnow"):
        about = problem["positive"] is not None
        require(about, f"{name!r} is of pairs, which its theorem does not cover")
        require(run["theorem"] == "winnow" or "updates" in run, f"{name!r} lists its rows, and not its rounds")
    else:
        require(run["C"] is not None or not run["first"], f"{name!r} is of no variant")


def _check_kernel(name: str, run: dict[str, Any], problem: dict[str, Any], data: dict[str, Any]) -> None:
    """Check the run of a kernel perceptron: its rounds are listed, and its witnesses are weights of rows."""
    require("updates" in run, f"{name!r} lists its rows, and not its rounds")
    require(problem["positive"] is not None, f"{name!r} is of pairs, which its theorem does not cover")
    require(not {"shards", "compression"} & {*run}, f"{name!r} has shards or a risk by compression, and a kernel")
    require(run["coef0"] is not False, f"{name!r} has no coef0 of its kernel of 0 or more")
    require(run["separator"] is None or run["cancelling"] is None, f"{name!r} has a separator and cancelling rows")
    for key in ("separator", "cancelling"):
        if run[key] is not None:
            title = f"{name}: {key}"
            only(title, run[key], {"at", "values"})
            _check_vector(title, {"exponent": 0, "at": None} | run[key], int(data["rows"]))
            require(bool(run[key]["at"]), f"{title} has no rows")
    positive = run["cancelling"] is None or min(integers(run["cancelling"])) > 0
    require(positive, f"{name}: cancelling has a factor that is not above 0")


def _check_rounds(name: str, run: dict[str, Any], problem: dict[str, Any], data: dict[str, Any]) -> None:
    """Check the rounds of a run that is replayed: its order, and the numbers of its updates as differences."""
    order: Any = run.get("order")
    pairs, updates = problem["positive"] is None, run["updates"]
    keys = (
        REPLAYED
        | {*THEOREMS[run["theorem"]]} - STEPS
        | {"confidence", "compression", "pieces", "arrive"}
        | ({"rivals"} if pairs else set())
    )
    only(f"{name!r}", run, keys | ({"shards", "mixing"} if "shards" in run else set()))
    passes = -(-run["rounds"] // data["rows"])
    if isinstance(order, list):
        rows = wholes(0, data["rows"] - 1)(order) and len(order) == run["rounds"]
        require(rows, f"{name!r} has an order of rows that are not there, or not one for each round")
        passes = max(Counter(order).values())
        require(
            "shards" not in run and "confidence" not in run, f"{name!r} has shards or a confidence, and rows of choice"
        )
    require(run["passes"] == passes, f"{name!r} has passes that are not those of its rounds")
    inside = bool(updates) and wholes(1, run["rounds"])(updates) and sum(updates) <= run["rounds"]
    require(inside, f"{name!r} has updates that are in no round")
    if "shards" in run:
        _check_shards(name, run, data)
    if order != "rows" and not isinstance(order, list):
        require(isinstance(order, dict), f"{name!r} has no order")
        check_fields(f"{name!r} ", order, ORDER)
        only(f"{name!r}", order, {*ORDER})
        within = order["epochs"] * data["rows"] <= run["rounds"]
        require(within, f"{name!r} has an order of more epochs than were made")
        fixed = is_fixed(order, data) or not {"confidence", "compression"} & {*run}
        require(fixed, f"{name!r} has a confidence, but its seed may have been chosen for its risk")
    if "compression" in run:
        sure = number(LEAST_DELTA, 1 - LEAST_DELTA)(run["compression"])
        once = {"shards", "arrive"} & {*run} or isinstance(order, list) or run["rounds"] % data["rows"]
        require(sure and not once, f"{name!r} has a risk by compression, but is not a run of whole passes in one order")
    if "pieces" in run:
        _check_pieces(name, run, pairs, data)
    if "arrive" in run:
        kind, perceptron = ProblemKey.parse(run["problem"]).kind, run["theorem"] == "perceptron" and run["p"] == 2
        late = run["arrive"] is True and order == "rows" and run["passes"] == 1 and kind != "class" and perceptron
        require(late, f"{name!r} has classes that arrive late, but not in one pass over the rows as they are")
    if pairs:
        rivals = wholes(0, len(data["classes"]) - 1)(run.get("rivals")) and len(run["rivals"]) == len(updates)
        require(rivals, f"{name!r} has updates without a rival class")
        short = (data["features"] + 1) * len(data["classes"]) <= MOST_NUMBERS
        require(short, f"{name!r} has sums of more than {MOST_NUMBERS:,} numbers")
        require(run["theorem"] == "perceptron" and run["p"] == 2, f"{name!r} is of pairs, and not of the perceptron")


def _check_pieces(name: str, run: dict[str, Any], pairs: bool, data: dict[str, Any]) -> None:
    """Check the pieces of a run, each a number of rounds and the weights that they are held against."""
    of = run["pieces"]
    plain = run["theorem"] == "perceptron" and run.get("p") == 2 and not pairs and "shards" not in run
    require(plain, f"{name!r} has pieces, which its theorem does not cover")
    require(isinstance(of, list) and 1 <= len(of) <= MOST_PIECES, f"{name!r} has no number of pieces to {MOST_PIECES}")
    for k, piece in enumerate(of):
        title = f"{name}: piece {k}"
        only(title, piece, {"rounds", "exponent", "values", "at"})
        require(whole(1, run["rounds"])(piece.get("rounds")), f"{title} is of no number of rounds")
        _check_vector(title, piece, data["features"] + 1)
    require(sum(piece["rounds"] for piece in of) == run["rounds"], f"{name!r} has pieces of other rounds than its own")


def _check_shards(name: str, run: dict[str, Any], data: dict[str, Any]) -> None:
    """Check the shards of a run: how many the epochs had, and what a share is; denominators must stay short."""
    require(run["theorem"] != "romma", f"{name!r} has shards, which ROMMA's theorem does not cover")
    require(run.get("mixing") in ("uniform", "rows", "mistakes"), f"{name!r} has shares of no known kind")
    shards, often = whole(1, data["rows"]), whole(1, MOST_PASSES)
    listed = bool(run["shards"]) and list_of(
        lambda of: isinstance(of, list) and len(of) == 2 and shards(of[0]) and often(of[1])
    )(run["shards"])
    require(listed, f"{name!r} has shards that are no numbers of shards and of epochs")
    epochs, full = sum(epochs for _, epochs in run["shards"]), run["rounds"] // data["rows"]
    require(epochs <= full, f"{name!r} has shards in more epochs than were made")
    mixes, bits = size_of_mixes(run, data["rows"])
    small = mixes <= MOST_MIXES and bits <= MOST_BITS
    require(small, f"{name!r} has more mixes, or finer ones, than can be checked")


def size_of_mixes(run: dict[str, Any], rows: int) -> tuple[int, int]:
    """Return the shards in all mixes of a run with updates, and how long the denominators of sums may become.

    Examples
    --------
    >>> size_of_mixes({"updates": [1, 5], "mixing": "uniform", "shards": [[4, 2], [1, 3], [2, 1]]}, 100)
    (10, 8)
    """
    made = len(run["updates"]) + 1  # an epoch without an update is the last
    mixes = [(count, min(epochs, made)) for count, epochs in run.get("shards", ()) if count > 1]
    longest = [(count if run["mixing"] == "uniform" else rows).bit_length() * epochs for count, epochs in mixes]
    return sum(count * epochs for count, epochs in mixes), sum(longest)


def _check_rows(name: str, run: dict[str, Any], problem: dict[str, Any], facts: dict[str, Any]) -> None:
    """Check the rows of a run that lists them: one of version 1, of mixed shards, or of located rows."""
    rows: Any = run.get("rows")
    steps = "steps" in THEOREMS[run["theorem"]]
    inside = bool(rows) and wholes(0, _signed_rows(problem, facts["data"]) - 1)(rows)
    require(inside, f"{name!r} names rows that are not there")
    require(run["rounds"] >= len(rows), f"{name!r} has rounds of no such run")
    if "mixes" in run:
        _check_mixes(name, run["mixes"], len(rows))
    require(steps or "steps" not in run, f"{name!r} has steps, which its theorem does not have")
    require(not steps or len(run.get("steps") or ()) == len(rows), f"{name!r} has steps that are none")


def _check_mixes(name: str, mixes: Any, updates: int) -> None:
    """Check the mixes of a run: the updates of every shard and its share, mix by mix."""
    lists = bool(mixes) and list_of(lambda mix: isinstance(mix, list) and bool(mix))(mixes)
    require(lists, f"{name!r} has mixes that are no lists of shards")
    shards = [shard for mix in mixes for shard in mix]
    require(len(shards) <= MOST_MIXES, f"{name!r} has more shards in its mixes than {MOST_MIXES:,}")
    pairs = all(wholes(0, 1 << 62)(shard) and len(shard) == 2 for shard in shards)
    require(pairs, f"{name!r} has a shard that is not its updates and its share")
    require(all(sum(share for _, share in mix) for mix in mixes), f"{name!r} has a mix of no share")
    require(sum(count for count, _ in shards) == updates, f"{name!r} has updates that are in no mix")
    require(bits_of(mixes) <= MOST_BITS, f"{name!r} has more mixes, or finer ones, than can be checked")


def bits_of(mixes: list[list[list[int]]]) -> int:
    """Return how long the denominators of mixed sums may become.

    Examples
    --------
    >>> bits_of([[[3, 1], [1, 1]], [[0, 1], [0, 2]], [[0, 15], [1, 30]]])
    4
    """
    shares = [[share for _, share in mix] for mix in mixes if any(count for count, _ in mix)]
    return sum((sum(of) // math.gcd(*of)).bit_length() for of in shares)
