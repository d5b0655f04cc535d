"""Validate the structure and the size of a certificate before the checker computes.

The checker computes whatever witnesses it is given. Here it is made sure that they are what they are called: that a
problem's name is that of its bias and its class, that no problem was left out, that a run's numbers are those of a
theorem, that none is so long that arithmetic would not end.
"""

import math
import re
from itertools import pairwise
from typing import Any

FORMAT, VERSION = "linsep certificate", 1
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
"""The most numbers in all witnesses of one kind of the pairs of classes, zeros included."""
MOST_WITNESSES, LONGEST_INTEGER, LONGEST_STEP = 16, 1 << 18, 1 << 12
"""Witnesses of one kind that a problem may have, and the bits of their integers and of the steps of a run."""
LONG = re.compile(rf"-?0x[0-9a-f]{{1,{LONGEST_INTEGER // 4}}}")
MOST_MIXES = 100_000
"""Shards in all mixes of a run."""
DECIMAL = re.compile(r"0?\.\d{1,40}|\d{1,3}e-\d{1,3}|\d\.\d{1,40}e-\d{1,3}")
"""How a probability may be written."""


class FormError(ValueError):
    """What is wrong with the form of a certificate."""


def named(bias: float) -> str:
    """Return what a problem with that bias is called.

    Examples
    --------
    >>> named(1.0), named(0.0)
    ('bias 1', 'no bias')
    """
    return f"bias {plain(bias)}" if bias else "no bias"


def plain(bias: float) -> str:
    """Return all digits of a number, as short as can be.

    Examples
    --------
    >>> plain(1.0), plain(0.1)
    ('1', '0.1')
    """
    return repr(float(bias)).removesuffix(".0")


def check_form(facts: Any) -> None:
    """Raise a FormError that names the first thing that is not as it must be.

    Examples
    --------
    >>> check_form({"format": "linsep certificate", "version": 2})
    Traceback (most recent call last):
        ...
    linsep.certificates.schema.FormError: it does not say that it is a linsep certificate of version 1
    """
    require(isinstance(facts, dict), "it is no mapping")
    about = f"it does not say that it is a {FORMAT} of version {VERSION}"
    require(facts.get("format") == FORMAT and facts.get("version") == VERSION, about)
    for part in PARTS:
        require(isinstance(facts.get(part), dict), f"its {part} are no mapping")
    require(facts.keys() == {"format", "version", *PARTS}, "it has parts that no certificate has")
    _check_data(facts["data"])
    require(bool(facts["problems"]), "it claims nothing")
    require(len(facts["problems"]) <= len(facts["data"]["classes"]) + 2, "it has more problems than its data")
    for name, problem in facts["problems"].items():
        _check_problem(name, problem, facts["data"])
    _check_all_problems(facts["problems"], facts["data"]["classes"])
    for name, run in facts["runs"].items():
        require(name not in facts["problems"], f"{name!r} is a problem and a run")
        _check_run(name, run, facts)


def require(true: bool, otherwise: str) -> None:
    """Raise a FormError unless something is true."""
    if not true:
        raise FormError(otherwise)


def is_whole(value: Any, least: int = 0, most: float = math.inf) -> bool:
    """Return whether a value is an integer within limits; truth values are none."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def is_text(value: Any) -> bool:
    """Return whether a value is a text."""
    return isinstance(value, str)


def is_number(value: Any, least: float, most: float) -> bool:
    """Return whether a value is a finite number within limits."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most


def _check_data(data: dict[str, Any]) -> None:
    """Check the part that says what the rows are."""
    classes = data.get("classes")
    texts = isinstance(classes, list) and all(isinstance(c, str) for c in classes)
    require(texts and len(set(classes or ())) == len(classes or ()) > 0, "its classes are no list of different texts")
    remarks = data.get("remarks")
    require(isinstance(remarks, list) and all(is_text(r) for r in remarks), "its remarks are no list of texts")
    require(is_whole(data.get("rows"), len(classes or ())), "it has more classes than rows")
    for size in ("rows", "features"):
        require(is_whole(data.get(size), 1, 1 << 53), f"its {size} are no number of at least 1")


def _check_all_problems(problems: dict[str, Any], classes: list[str]) -> None:
    """Check that no problem is missing: a file without the one that separates would give another verdict."""
    with_bias = [p["bias"] for name, p in problems.items() if p["bias"] and not name.startswith("best bias, ")]
    bias = named(with_bias[0] if with_bias else 0.0)
    if len(classes) > 2:
        wanted = {f"class {c}, {bias}" for c in classes}
        optional = {f"pairs, {bias}"}
    else:
        wanted = {bias, named(0.0)}
        optional = {name for name in problems if with_bias and name.startswith("best bias, ")}
        require(len(optional) <= 1, "it has more than one best bias")
    missing, more = sorted(wanted - problems.keys()), sorted(problems.keys() - wanted - optional)
    require(not missing, f"it has no problem {', '.join(map(repr, missing[:3]))}")
    require(not more, f"it has the problem {', '.join(map(repr, more[:3]))}, which is none of these data")


def _check_problem(name: str, problem: Any, data: dict[str, Any]) -> None:
    """Check a problem: its name, its numbers, its witnesses."""
    require(isinstance(problem, dict), f"{name!r} is no problem")
    classes, bias, positive = data["classes"], problem.get("bias"), problem.get("positive", "")
    require(is_number(bias, 0, 1e308), f"{name!r} has no bias of 0 or more")
    about = positive in classes if is_text(positive) else positive is None and len(classes) > 2
    require(about, f"{name!r} is about no class")
    where = "" if len(classes) <= 2 else "pairs, " if positive is None else f"class {positive}, "
    require(len(classes) > 2 or positive == classes[-1], f"{name!r} is about another class than the last")
    names = (f"{where}{named(bias)}", f"{where}best bias, {plain(bias)}")
    require(name in names, f"{name!r} is a problem that is called {names[0]!r}")
    games = problem.get("games")
    require(
        isinstance(games, bool) and not (games and positive is None), f"{name!r} does not say if it is about Winnow"
    )
    for risk in ("epsilon", "delta"):
        text = problem.get(risk)
        require(isinstance(text, str) and DECIMAL.fullmatch(text) is not None, f"{name!r} has no {risk} below 1")
        require(0 < float(text) < 1, f"{name!r} has no {risk} between 0 and 1")
    rows, columns = data["rows"], data["features"] + 1
    pairs = positive is None
    sizes = {"w": columns * (len(classes) if pairs else 1), "lambda": rows * (len(classes) - 1 if pairs else 1)}
    for side, size in sizes.items():
        require(isinstance(problem.get(side), dict) and bool(problem[side]), f"{name!r} has no witnesses {side}")
        require(len(problem[side]) <= MOST_WITNESSES, f"{name!r} has more witnesses {side} than {MOST_WITNESSES}")
        few = not pairs or size * len(problem[side]) <= MOST_NUMBERS
        require(few, f"{name!r} has witnesses {side} of more than {MOST_NUMBERS:,} numbers in all")
        for key, vector in problem[side].items():
            require(is_text(key), f"{name!r} has a witness without a name")
            _check_vector(f"{name}: {side} {key}", vector, size)
    for key in problem["w"]:
        if key.startswith("delta "):
            require(is_whole(_digits(key[6:]), 1) and key in problem["lambda"], f"{name!r} has half of a {key!r}")


def _digits(text: str) -> int:
    """Return a text of digits as an integer, and 0 for any other."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _check_vector(name: str, vector: Any, size: int) -> None:
    """Check a witness: as many integers as there are places, in ascending order."""
    require(isinstance(vector, dict) and isinstance(vector.get("values"), list), f"{name} is no vector")
    require(is_whole(vector.get("exponent"), -FARTHEST, FARTHEST), f"{name} has no exponent within {FARTHEST}")
    for value in vector["values"]:
        long = isinstance(value, str) and LONG.fullmatch(value) is not None
        require(long or is_whole(value, -(1 << 62), 1 << 62), f"{name} holds {str(value)[:40]!r}, which is no integer")
    places = vector.get("at")
    if "at" in vector:
        inside = isinstance(places, list) and all(is_whole(i, 0, size - 1) for i in places)
        require(inside and all(a < b for a, b in pairwise(places or ())), f"{name} has no such places")
    count = size if places is None else len(places)
    require(count == len(vector["values"]), f"{name} has {len(vector['values'])} values for {count} places")


def _check_run(name: str, run: Any, facts: dict[str, Any]) -> None:
    """Check a run: its rows, and the numbers of its theorem."""
    require(isinstance(run, dict) and is_text(run.get("problem")), f"{name!r} is a run of no problem")
    require(run["problem"] in facts["problems"], f"{name!r} is a run of no problem")
    problem, data = facts["problems"][run["problem"]], facts["data"]
    expected = run["problem"].rpartition(", ")[0]
    require(name == (f"run of {expected}" if expected else "run"), f"{name!r} is the run of another problem")
    rivals = len(data["classes"]) - 1 if problem["positive"] is None else 1
    rows, passes = run.get("rows"), run.get("passes")
    inside = isinstance(rows, list) and all(is_whole(i, 0, data["rows"] * rivals - 1) for i in rows)
    require(inside and len(rows or ()) > 0, f"{name!r} names rows that are not there")
    require(is_whole(passes, 1, 1 << 62), f"{name!r} has no number of passes")
    require(
        is_whole(run.get("rounds"), len(rows or ()), (passes or 0) * data["rows"]),
        f"{name!r} has rounds of no such run",
    )
    once = passes == 1 and run["rounds"] == data["rows"] and is_number(run.get("confidence"), 1e-9, 1 - 1e-9)
    require("confidence" not in run or once, f"{name!r} has a confidence, but is not one pass")
    if "mixes" in run:
        _check_mixes(name, run["mixes"], len(rows or ()))
        require("confidence" not in run, f"{name!r} has a confidence, but is not one run")
    theorem = run.get("theorem")
    if theorem == "passive_aggressive":
        steps = run.get("steps")
        most = 1 << LONGEST_STEP
        whole = isinstance(steps, list) and len(steps) == len(rows or ()) and all(is_whole(s, 1, most) for s in steps)
        require(whole, f"{name!r} has steps that are none")
        require(is_whole(run.get("exponent"), -FARTHEST, FARTHEST), f"{name!r} has no unit of its steps")
        C = run.get("C")
        require(C is None or is_number(C, 1e-300, 1e300), f"{name!r} has no C above 0")
        require(isinstance(run.get("first"), bool) and not (run["first"] and C is None), f"{name!r} is of no variant")
        require("hinge" in problem["w"], f"{name!r} has no weights to be held against")
        return
    require("steps" not in run, f"{name!r} has steps, which its theorem knows nothing of")
    held = is_text(run.get("witness")) and run["witness"] in problem["w"]
    require(held, f"{name!r} has no weights to be held against")
    if theorem == "winnow":
        require(problem["positive"] is not None, f"{name!r} is of pairs, of which Winnow's theorem says nothing")
        require(is_text(run.get("norm")) and run["norm"] in ("simplex", "l1"), f"{name!r} is of no norm")
        require(is_number(run.get("rate"), 1e-300, 1e300), f"{name!r} has no rate above 0")
        return
    require(theorem == "perceptron", f"{name!r} is held to no theorem")
    require(is_number(run.get("p"), 2, LARGEST_P), f"{name!r} has no p of 2 or more")
    require(f"delta {passes}" in problem["w"], f"{name!r} has no bound for {passes} passes")


def _check_mixes(name: str, mixes: Any, updates: int) -> None:
    """Check the mixes of a run: the updates of every shard and its share, mix by mix."""
    lists = isinstance(mixes, list) and bool(mixes) and all(isinstance(mix, list) and mix for mix in mixes)
    require(lists, f"{name!r} has mixes that are no lists of shards")
    shards = [shard for mix in mixes for shard in mix]
    require(len(shards) <= MOST_MIXES, f"{name!r} has more shards in its mixes than {MOST_MIXES:,}")
    pairs = all(isinstance(s, list) and len(s) == 2 and all(is_whole(v, 0, 1 << 62) for v in s) for s in shards)
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
