"""A machine in training to plain values and arrays, and back, checked: compiled code trusts the shapes it is given."""

from typing import Any

import numpy as np

from linsep.core.arrays import Array
from linsep.core.links import OWED, Additive, Imaged, Scaled
from linsep.core.readouts import MISTAKES, Average, Last, Log, Tally
from linsep.core.step import check_rule, needs_norm, reads_sign_only, shrinks
from linsep.core.weights import FLOOR, FORMS, has_own_image, with_own_image
from linsep.learners.compact import BY_FEATURE, Compact, is_compact, rows_that_matter
from linsep.learners.dual import DualMachine
from linsep.learners.machine import Machine
from linsep.learners.mixes import Mixed
from linsep.learners.record import empty_log, no_log, trimmed
from linsep.learners.voting import Voting
from linsep.models.values import Arrays, Foreign, Unpacker, is_number, packed
from linsep.models.votes import packed_votes, unpacked_votes

LINKS: dict[str, type] = {kind.__name__.lower(): kind for kind in (Additive, Scaled, Imaged)}
READOUTS: dict[str, type] = {kind.__name__.lower(): kind for kind in (Last, Average)}
NUMBERS = (
    "pair", "bias", "log_limit", "no_log_because", "data_bytes", "first_features", "epochs", "rows", "behind",
    "background",
)  # fmt: skip
"""What of a machine is one number or word."""
FINITE = ("s", "u", "scale", "mass", "clock")
"""Arrays whose numbers are finite; images and squared lengths may overflow, and training knows what to do then."""
COUNTS = ("data_bytes", "first_features", "epochs", "rows", "behind")
LATER = ("behind",)
"""Counts that files of before there were any do not have: they are 0."""
MOST = 1 << 60
"""Counts are below: so there is room for more of what they count."""
MOST_WEIGHTS = 1 << 37
"""Weights, those that are zero and not stored included: in training they took eight bytes each."""


MANY, FEW = 1 << 12, 0.25
"""Of at least so many features, those whose weights are zero are left out if at most this share is left."""


def packed_machine(machine: Machine | Compact, arrays: Arrays, name: str) -> dict[str, Any]:
    """Return what tells of a machine; weights that are mostly zero are stored sparsely."""
    compact = is_compact(machine)
    machine, kept = _essence(machine)
    told: dict[str, Any] = {of: packed(getattr(machine, of), arrays, of) for of in NUMBERS}
    told["compact"], told["sparse"] = compact, kept is not None
    if kept is not None:
        arrays[f"{name}.kept"] = kept.astype(np.int64)
    told["rule"] = packed(machine.rule, arrays, "rule")
    told["kinds"] = [type(machine.link).__name__.lower(), type(machine.readout).__name__.lower()]
    parts = {"link": machine.link, "readout": machine.readout, "tally": machine.tally}
    told["link"] = {}
    for part, values in parts.items():
        for of, value in values._asdict().items():
            if isinstance(value, np.ndarray):
                if of in FINITE and not np.isfinite(value).all():
                    raise ValueError(f"its {part}.{of} is too large for float64: divide all of X by one factor")
                if kept is not None and of in BY_FEATURE and len(value) > len(kept) + 1:
                    value = value[np.append(kept, len(value) - 1)]
                arrays[f"{name}.{part}.{of}"] = value
            else:
                told["link"][of] = packed(value, arrays, of)
    told["logged"] = len(machine.log.numbers) > 0
    if told["logged"]:
        log = trimmed(machine.log)
        lines = int(log.filled[0])
        arrays[f"{name}.log.numbers"], arrays[f"{name}.log.sizes"] = log.numbers[:lines], log.sizes[:lines]
        if machine.keeps_rows:
            arrays[f"{name}.log.scores"] = log.scores[:lines]
    if machine.mixed is not None:
        arrays |= {f"{name}.mixed.{of}": lines for of, lines in machine.mixed._asdict().items()}
    if isinstance(machine, Voting):
        told["votes"] = packed_votes(machine, arrays, name)
    return told


def _essence(machine: Any) -> tuple[Machine, Array | None]:
    """Return a machine, and which features alone are worth storing; None if they all are.

    Only additive and scaled weights are left out: each of them answers on its own, and others are normalised together.
    """
    if isinstance(machine, Compact):
        if isinstance(machine.part.link, Imaged):
            return machine.copy(), None
        return machine.part, machine.where.kept
    if isinstance(machine.link, Imaged) or isinstance(machine, Voting) or machine.features < MANY:
        return machine, None
    kept = rows_that_matter(machine)
    return machine, kept if len(kept) <= FEW * machine.features else None


def unpacked_machine(
    told: dict[str, Any],
    features: int,
    classes: int,
    open_labels: bool,
    read: Unpacker,
    name: str,
    kind: type[Machine] = Machine,
) -> Machine | Compact:
    """Return a machine of so many features and of this kind, if it is sound."""
    numbers = {of: read.value(told.get(of, 0) if of in LATER else told[of]) for of in NUMBERS}
    _refuse_other_numbers(numbers)
    numbers["bias"] = float(numbers["bias"])  # passes are compiled for floats
    rule = read.value(told["rule"])
    check_rule(rule)
    pair, background = _flag(numbers["pair"]), _flag(numbers["background"])
    if background != (open_labels and not pair):
        raise Foreign("it has a column for labels to come, or none, against what is said of its labels")
    columns = classes + 1 if background else 1 if classes == 2 and not pair and not open_labels else classes
    kept = _kept(features, read.arrays[f"{name}.kept"]) if _flag(told["sparse"]) else None
    if kept is not None and (features + 1) * columns > MOST_WEIGHTS:
        raise Foreign(f"it has {features:,} features of {columns:,} classes, too many to have been trained")
    dual = issubclass(kind, DualMachine)
    lines = features if kept is None else len(kept)
    of = Shapes((_rows_kept(read.arrays, name) if dual else lines) + 1, columns, read.arrays, name)
    link_kind, readout_kind = told["kinds"]
    link = LINKS[link_kind](**of.of("link", LINKS[link_kind]), **_link_numbers(link_kind, told["link"], read))
    if isinstance(link, Imaged) and not has_own_image(link):
        with np.errstate(over="ignore"):
            link = with_own_image(link, pair, numbers["bias"] != 0.0)
    readout = READOUTS[readout_kind](**of.of("readout", READOUTS[readout_kind]))
    _refuse_another_link(link, readout, rule, dual)
    tally = Tally(**of.of("tally", Tally))
    machine = kind(
        rule=rule, link=link, readout=readout, tally=tally, log=_log(told, pair, columns, read, name, kind.keeps_rows),
        mixed=_mixed(read.arrays, name, columns, pair, tally), **numbers,
    )  # fmt: skip
    if isinstance(machine, DualMachine):
        machine.width = features
    if isinstance(machine, Voting):
        if kept is not None or _flag(told["compact"]):
            raise Foreign("it keeps the rows of a vote, and leaves others of its weights out")
        unpacked_votes(machine, told["votes"], read, name)
        return machine
    if kept is None:
        return Compact.of(machine) if _flag(told["compact"]) else machine
    if isinstance(link, Imaged):
        raise Foreign("weights of its kind are not stored sparsely")
    return Compact.stored(machine, kept, features, _flag(told["compact"]))


def _refuse_another_link(link: Any, readout: Any, rule: Any, dual: bool) -> None:
    """Refuse weights that are not of the kind that a rule moves."""
    kind, scaled = type(rule), isinstance(link, Scaled)
    if isinstance(link, Imaged) and isinstance(readout, Average):
        raise Foreign("weights of its kind have no average")
    if scaled != shrinks(kind) or (isinstance(link, Imaged) and not reads_sign_only(kind)):
        raise Foreign("its weights are not of the kind that its rule moves")
    if scaled and (link.dual is not dual or (needs_norm(kind) and not link.normed)):
        raise Foreign("its weights are those of rows, or of features, or not measured, against what is said of it")


def _refuse_other_numbers(numbers: dict[str, Any]) -> None:
    """Refuse what is none of the numbers and words that a machine has."""
    for count in COUNTS:
        if not is_count(numbers[count]):
            raise Foreign(f"its {count} is {numbers[count]!r:.20}, not a count")
    bias = numbers["bias"]
    if not is_number(bias) or not abs(bias) < (np.inf if type(bias) is float else MOST):
        raise Foreign(f"its bias is {bias!r:.20}, not a number")
    if not is_number(numbers["log_limit"]) or np.isnan(numbers["log_limit"]):
        raise Foreign(f"its log_limit is {numbers['log_limit']!r:.20}, not a number")
    if not isinstance(numbers["no_log_because"], str):
        raise Foreign("it says why there is no log, but not in words")


def is_count(value: Any) -> bool:
    """Tell whether a value counts something."""
    return type(value) is int and 0 <= value < MOST


def _kept(features: int, kept: Array) -> Array:
    """Return the features that were stored, in order."""
    if kept.dtype != np.int64 or kept.ndim != 1 or np.any(kept[1:] <= kept[:-1]):
        raise Foreign("its list of features is not in order")
    if len(kept) and not (kept[0] >= 0 and kept[-1] < features):
        raise Foreign("its list of features has one that does not exist")
    return kept


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Foreign(f"{value!r:.20} is neither true nor false")
    return value


class Shapes:
    """The arrays of a machine, each of the type and shape that it must have."""

    def __init__(self, rows: int, columns: int, arrays: Arrays, name: str) -> None:
        self.arrays, self.name = arrays, name
        table, row, one = (rows, columns), (columns,), (1,)
        self.floats = {
            "s": table,
            "u": table,
            "image": table,
            "origin": row,
            "scale": row,
            "norm2": row,
            "mass": row,
            "clock": one,
        }
        self.counts = {"debt": row, "age": row, "rounds": one, "errors": one, "counts": (3, columns)}

    def of(self, part: str, kind: Any) -> dict[str, Array]:
        """Return the arrays of a part by name."""
        return {of: self._one(part, of) for of in kind._fields if of in self.floats or of in self.counts}

    def _one(self, part: str, of: str) -> Array:
        array = self.arrays[f"{self.name}.{part}.{of}"]
        shape, dtype = (self.floats[of], np.float64) if of in self.floats else (self.counts[of], np.int64)
        if array.shape != shape or array.dtype != dtype:
            raise Foreign(
                f"its array {part}.{of} is {array.dtype}{list(array.shape)}, and not {np.dtype(dtype)}{list(shape)}"
            )
        if of in FINITE and not np.isfinite(array).all():
            raise Foreign(f"its array {part}.{of} has a number that is not finite")
        if of in self.counts and np.any(array < (-1 if of == "errors" else 0)):
            raise Foreign(f"its array {part}.{of} has a count below 0")
        if of in self.counts and np.any(array >= (OWED + 1 if of == "debt" else MOST)):
            raise Foreign(f"its array {part}.{of} has a count too large to go on from")
        return np.ascontiguousarray(array)


def _link_numbers(kind: str, told: dict[str, Any], read: Unpacker) -> dict[str, Any]:
    """Return what a link has beside arrays."""
    if kind == "scaled":
        floor = read.value(told["floor"])
        if floor not in FLOOR.values():
            raise Foreign(f"its link has the floor {floor!r:.20}, which none has")
        return {"floor": float(floor), "normed": _flag(told["normed"]), "dual": _flag(told.get("dual", False))}
    if kind == "imaged":
        if told["form"] not in FORMS.values():
            raise Foreign(f"its link has the form {told['form']!r:.20}, which does not exist")
        number = read.value(told["number"])
        if not is_number(number) or not 0 < number < np.inf:
            raise Foreign(f"its link has the rate or power {number!r:.20}, which is none")
        return {"number": float(number), "form": int(told["form"])}
    return {}


def _mixed(arrays: Arrays, name: str, columns: int, pair: bool, tally: Tally) -> Mixed | None:
    """Return the shards that were mixed, if any were."""
    if not any(f"{name}.mixed.{of}" in arrays for of in Mixed._fields):
        return None
    mixed = Mixed(*(np.ascontiguousarray(arrays[f"{name}.mixed.{of}"]) for of in Mixed._fields))
    lines, machines = len(mixed.numbers), 1 if pair else columns
    for lines_of, width in zip(mixed, (4, machines, machines), strict=True):
        if lines_of.dtype != np.int64 or lines_of.shape != (lines, width) or not lines or lines_of.min() < 0:
            raise Foreign("its mixes are not the counts of shards")
    epochs, shards, before, own = mixed.numbers.T
    rounds, made = int(tally.rounds[0]), tally.counts[MISTAKES, :machines]
    if max(before.max(), own.max(), mixed.shares.max()) > max(rounds, 1):
        raise Foreign("its mixes are of rounds that it did not have")
    first, again = shards == 0, np.diff(shards) == 1
    if not first[0] or not (first[1:] | again).all() or not (mixed.totals() > 0).all():
        raise Foreign("it has a mix without shards")
    ends, together = before + own, again & (np.diff(epochs) == 0)
    after = np.where(again, before[1:] == ends[:-1], before[1:] >= ends[:-1])
    if not after.all() or ends[-1] > rounds or not (together | (np.diff(epochs) > 0)).all():
        raise Foreign("its mixes are of rounds that it did not have")
    if (mixed.mistakes > own[:, None]).any() or (mixed.mistakes.sum(axis=0) > made).any():
        raise Foreign("its shards made more mistakes than they had rows, or than were made in all")
    return mixed


def _rows_kept(arrays: Arrays, name: str) -> int:
    """Return how many rows a machine of dual weights has, which are its features."""
    numbers = arrays.get(f"{name}.support.numbers")
    return 0 if numbers is None else numbers.size


def _log(told: dict[str, Any], pair: bool, columns: int, read: Unpacker, name: str, scored: bool) -> Log:
    """Return the log, open as it was."""
    if not _flag(told["logged"]):
        return no_log()
    numbers, sizes = (read.arrays[f"{name}.log.{of}"] for of in ("numbers", "sizes"))
    names = 2 if pair else int(columns > 1)
    if numbers.dtype != np.int64 or numbers.ndim != 2 or numbers.shape[1] != 2 + names:
        raise Foreign("its log has lines of another length")
    if sizes.dtype != np.float64 or sizes.ndim != 2 or sizes.shape[1] > 2 or len(sizes) != len(numbers):
        raise Foreign("its log has other sizes than lines")
    if len(numbers) and (numbers.min() < 0 or numbers[:, 2:].max(initial=0) >= columns):
        raise Foreign("its log names a row or a class that does not exist")
    scores = read.arrays[f"{name}.log.scores"] if scored else np.empty(0)
    if scored and (scores.shape != numbers.shape[:1] or scores.dtype != np.float64 or not np.isfinite(scores).all()):
        raise Foreign("its log has other scores than lines")
    if not len(numbers):
        return empty_log(numbers.shape[1] - 2, sizes.shape[1], 1, scored)
    return trimmed(Log(numbers, sizes, scores, np.array([len(numbers)])))
