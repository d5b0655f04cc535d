"""What a machine keeps for a vote, to plain values and arrays, and back, checked."""

from typing import Any

import numpy as np

from linsep.core.examples import Array, Csr, Dense
from linsep.data.inputs import width_of
from linsep.learners.clock import Clock
from linsep.learners.dual import DualMachine
from linsep.learners.support import Support
from linsep.learners.voting import Voting
from linsep.models.values import Arrays, Foreign

FLOATS = (np.float32, np.float64)
INDICES = (np.int32, np.int64)


def packed_votes(machine: Voting, arrays: Arrays, name: str) -> dict[str, Any]:
    """Return what tells of the rows that a machine has kept, and of its time."""
    told: dict[str, Any] = {"begin": machine.begin, "rows": "none", "folded": machine.base is not None}
    arrays[f"{name}.clock.rounds"], arrays[f"{name}.clock.times"] = (np.asarray(a) for a in machine.clock)
    if machine.base is not None and machine.base_norms is not None:
        arrays[f"{name}.base"], arrays[f"{name}.base_norms"] = machine.base, machine.base_norms
    if machine.support is not None:
        rows = machine.support.rows()
        told["width"] = width_of(rows)
        told["rows"] = "dense" if isinstance(rows, Dense) else "sparse"
        arrays[f"{name}.support.numbers"] = machine.support.known
        for of, value in rows._asdict().items():
            if isinstance(value, np.ndarray):
                arrays[f"{name}.support.{of}"] = value
    return told


def unpacked_votes(machine: Voting, told: dict[str, Any], arrays: Arrays, name: str) -> None:
    """Give a machine what it had kept, if it is sound."""
    rounds = machine.end
    begin = told["begin"]
    if type(begin) is not int or not 0 <= begin <= rounds:
        raise Foreign(f"it begins after {begin!r:.20} rounds of {rounds}")
    machine.begin = begin
    if told["folded"] is True:
        machine.base = _array(arrays, f"{name}.base", (np.float64,), machine.link.s.shape)
        machine.base_norms = _array(arrays, f"{name}.base_norms", (np.float64,), (machine.columns,))
        if not (np.isfinite(machine.base).all() and np.isfinite(machine.base_norms).all()):
            raise Foreign("its first weights are not finite")
    if told["rows"] != "none":
        width = told["width"]
        if width != machine.features and not (width == 1 and isinstance(machine, DualMachine)):
            raise Foreign(f"the rows that it kept have {width!r:.20} features, and not {machine.features}")
        machine.support = _support(told["rows"], width, machine.bias, arrays, name)
    machine.clock = _clock(arrays, name, rounds)
    lines = machine.log.numbers[: int(machine.log.filled[0])]
    if len(lines):
        if machine.support is None or (machine.support.places(lines[:, 0]) < 0).any():
            raise Foreign("its log names a row that was not kept")
        if np.any(np.diff(lines[:, 1]) < 0) or lines[0, 1] <= begin or lines[-1, 1] > rounds:
            raise Foreign("its log has rounds that it did not have")
        if not machine.log.sizes.shape[1] or not len(machine.log.scores):
            raise Foreign("its log does not tell the hypotheses")
        if not machine.clock.plain and not np.isin(lines[:, 1], machine.clock.rounds).all():
            raise Foreign("its clock does not know all rounds of its log")


def _support(kind: Any, width: int, bias: float, arrays: Arrays, name: str) -> Support:
    numbers = _array(arrays, f"{name}.support.numbers", (np.int64,), (None,))
    if len(np.unique(numbers)) < len(numbers) or (len(numbers) and numbers.min() < 0):
        raise Foreign("the numbers of the rows that it kept are not numbers of different rows")
    if kind == "dense":
        values = _array(arrays, f"{name}.support.values", FLOATS, (len(numbers), width))
        rows: Dense | Csr = Dense(values, bias)
    elif kind == "sparse":
        values = _array(arrays, f"{name}.support.values", FLOATS, (None,))
        indices = _array(arrays, f"{name}.support.indices", INDICES, (len(values),))
        ends = _array(arrays, f"{name}.support.indptr", INDICES, (len(numbers) + 1,))
        if ends[0] != 0 or ends[-1] != len(values) or np.any(np.diff(ends) < 0):
            raise Foreign("the rows that it kept do not follow one another")
        if len(indices) and (indices.min() < 0 or indices.max() >= width):
            raise Foreign("a row that it kept has a feature that does not exist")
        rows = Csr(values, indices, ends, width, bias)
    else:
        raise Foreign(f"it kept {kind!r:.20} rows, and there are none of that kind")
    if not np.isfinite(values).all():
        raise Foreign("a row that it kept has a number that is not finite")
    return Support.of(rows, numbers)


def _clock(arrays: Arrays, name: str, rounds: int) -> Clock:
    known = _array(arrays, f"{name}.clock.rounds", (np.int64,), (None,))
    if not len(known):
        return Clock()
    times = _array(arrays, f"{name}.clock.times", (np.float64,), (len(known),))
    fine = known[0] >= 0 and known[-1] == rounds and np.all(np.diff(known) > 0) and np.all(np.diff(times) > 0)
    if not fine or times[0] < 0 or not np.isfinite(times[-1]):
        raise Foreign("its clock does not go on")
    return Clock(known, times)


def _array(arrays: Arrays, name: str, kinds: tuple[Any, ...], shape: tuple[int | None, ...]) -> Array:
    """Return an array, if it is of one of these types and of this shape; None is any length."""
    array = arrays[name]
    fits = array.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
    if not fits or array.dtype not in kinds:
        raise Foreign(f"its array {name} is {array.dtype}{list(array.shape)}, which it can't be")
    return array
