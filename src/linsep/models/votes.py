"""What a machine keeps for a vote, to plain values and arrays, and back, checked: compiled walks trust what it says."""

from dataclasses import fields
from typing import Any

import numpy as np

from linsep.core.arrays import Array
from linsep.core.examples import Csr, Dense
from linsep.core.links import Imaged, Scaled
from linsep.core.readouts import Last
from linsep.data.inputs import width_of
from linsep.learners.clock import Clock
from linsep.learners.dual import DualMachine
from linsep.learners.support import Support
from linsep.learners.voting import Voting
from linsep.maps.given_kernels import OfUser, Precomputed
from linsep.maps.kernels import Kernel, Linear, Polynomial, RadialBasis
from linsep.models.values import Arrays, Foreign, Unpacker, packed, packed_function

KERNELS: dict[str, Any] = {
    "linear": Linear, "poly": Polynomial, "rbf": RadialBasis, "precomputed": Precomputed, "function": OfUser,
}  # fmt: skip
FLOATS = (np.float32, np.float64)
INDICES = (np.int32, np.int64)


def packed_votes(machine: Voting, arrays: Arrays, name: str) -> dict[str, Any]:
    """Return what tells of the rows that a machine has kept, of its time and of its kernel."""
    told: dict[str, Any] = {"begin": machine.begin, "rows": "none", "folded": machine.base is not None}
    arrays[f"{name}.clock.rounds"], arrays[f"{name}.clock.times"] = machine.clock
    if machine.base is not None and machine.base_norms is not None:
        if not (np.isfinite(machine.base).all() and np.isfinite(machine.base_norms).all()):
            raise ValueError("its first weights are too large for float64: divide all of X by one factor")
        arrays[f"{name}.base"], arrays[f"{name}.base_norms"] = machine.base, machine.base_norms
    if isinstance(machine, DualMachine):
        told["digest"] = machine.digest
        told["kernel"] = _packed_kernel(machine.of, arrays)
    if machine.support is not None:
        rows = machine.support.rows()
        told["width"] = width_of(rows)
        told["rows"] = "dense" if isinstance(rows, Dense) else "sparse"
        arrays[f"{name}.support.numbers"] = machine.support.known
        for of, value in rows._asdict().items():
            if isinstance(value, np.ndarray):
                arrays[f"{name}.support.{of}"] = value
    return told


def unpacked_votes(machine: Voting, told: dict[str, Any], read: Unpacker, name: str) -> None:
    """Give a machine what it had kept, if it is sound."""
    arrays = read.arrays
    _refuse_another_kind(machine)
    if isinstance(machine, DualMachine):
        machine.of, machine.digest = _kernel(told["kernel"], machine.bias, read), str(told["digest"])
    if told["rows"] != "none":
        machine.support = _support(machine, told, arrays, name)
    elif f"{name}.support.numbers" in arrays:
        raise Foreign("it has numbers of rows, and keeps none")
    _unpack_first(machine, told, arrays, name)
    machine.clock = _clock(machine, arrays, name)
    _refuse_another_log(machine)


def _refuse_another_kind(machine: Voting) -> None:
    """Refuse weights, and a log, of a kind that no vote is made of."""
    scaled = isinstance(machine.link, Scaled)
    if machine.bias * machine.bias == np.inf:
        raise Foreign(f"its bias is {machine.bias!r:.20}, whose square is not finite")
    if isinstance(machine.link, Imaged) or not isinstance(machine.readout, Last):
        raise Foreign("its weights are not of the kind that its rule moves")
    if not len(machine.log.numbers) or machine.log.sizes.shape[1] != 1 + scaled or machine.log_limit != np.inf:
        raise Foreign("its log does not tell all hypotheses")
    if not np.isfinite(machine.log.sizes[: int(machine.log.filled[0])]).all():
        raise Foreign("its log has a step that is not finite")


def _unpack_first(machine: Voting, told: dict[str, Any], arrays: Arrays, name: str) -> None:
    """Give a machine its first hypothesis; one that has forgotten has weights there."""
    begin, folded = told["begin"], told["folded"]
    if type(begin) is not int or not 0 <= begin <= machine.end:
        raise Foreign(f"it begins after {begin!r:.20} rounds of {machine.end}")
    if type(folded) is not bool or not folded == (begin > 0) == (machine.no_log_because != ""):
        raise Foreign("it does not say whether it has forgotten rows")
    if folded:
        if isinstance(machine, DualMachine):
            raise Foreign("it has forgotten rows, without which a kernel has no weights")
        machine.base = _array(arrays, f"{name}.base", (np.float64,), machine.link.s.shape)
        machine.base_norms = _array(arrays, f"{name}.base_norms", (np.float64,), (machine.columns,))
        if not (np.isfinite(machine.base).all() and np.isfinite(machine.base_norms).all()):
            raise Foreign("its first weights are not finite")
    machine.begin = begin


def _refuse_another_log(machine: Voting) -> None:
    """Refuse updates of rows that were not kept, or in rounds that were not made."""
    lines = machine.log.numbers[: int(machine.log.filled[0])]
    if not len(lines):
        return
    if machine.support is None or (machine.support.places(lines[:, 0]) < 0).any():
        raise Foreign("its log names a row that was not kept")
    if np.any(np.diff(lines[:, 1]) < 0) or lines[0, 1] <= machine.begin or lines[-1, 1] > machine.end:
        raise Foreign("its log has rounds that it did not have")
    if not machine.clock.plain and not np.isin(lines[:, 1], machine.clock.rounds).all():
        raise Foreign("its clock does not know all rounds of its log")


def _support(machine: Voting, told: dict[str, Any], arrays: Arrays, name: str) -> Support:
    """Return the rows that were kept; of a kernel that was given as a matrix, what is kept are values of that."""
    given = isinstance(machine, DualMachine) and isinstance(machine.of, Precomputed)
    width = 1 if given else machine.features
    if type(told["width"]) is not int or told["width"] != width:
        raise Foreign(f"the rows that it kept have {told['width']!r:.20} features, and not {width}")
    numbers = _array(arrays, f"{name}.support.numbers", (np.int64,), (None,))
    if len(np.unique(numbers)) < len(numbers) or (len(numbers) and numbers.min() < 0):
        raise Foreign("the numbers of the rows that it kept are not numbers of different rows")
    known = min(machine.features, machine.behind) if given else machine.behind + machine.rows
    if len(numbers) and numbers.max() >= known:
        raise Foreign(f"it kept the row {numbers.max()}, of the {known} that it has seen")
    if told["rows"] == "dense":
        rows: Dense | Csr = Dense(_array(arrays, f"{name}.support.values", FLOATS, (len(numbers), width)), machine.bias)
    elif told["rows"] == "sparse" and not given:
        rows = _sparse_rows(len(numbers), width, machine.bias, arrays, name)
    else:
        raise Foreign(f"it kept {told['rows']!r:.20} rows, and there are none of that kind")
    if given:
        rows = rows._replace(bias=0.0)
    if not np.isfinite(rows.values).all():
        raise Foreign("a row that it kept has a number that is not finite")
    return Support.of(rows, numbers)


def _sparse_rows(count: int, width: int, bias: float, arrays: Arrays, name: str) -> Csr:
    values = _array(arrays, f"{name}.support.values", FLOATS, (None,))
    indices = _array(arrays, f"{name}.support.indices", INDICES, (len(values),))
    ends = _array(arrays, f"{name}.support.indptr", INDICES, (count + 1,))
    if ends[0] != 0 or ends[-1] != len(values) or np.any(ends[1:] < ends[:-1]):
        raise Foreign("the rows that it kept do not follow one another")
    if len(indices) and not 0 <= indices.min() <= indices.max() < width:
        raise Foreign("a row that it kept has a feature that does not exist")
    return Csr(values, indices, ends, width, bias)


def _clock(machine: Voting, arrays: Arrays, name: str) -> Clock:
    known = _array(arrays, f"{name}.clock.rounds", (np.int64,), (None,))
    times = _array(arrays, f"{name}.clock.times", (np.float64,) if len(known) else (np.int64,), (len(known),))
    if not len(known):
        return Clock()
    if known[0] < 0 or known[-1] != machine.end or np.any(known[1:] <= known[:-1]):
        raise Foreign("its clock has rounds that it did not have")
    if not np.isfinite(times).all() or times[0] < 0 or np.any(times[1:] < times[:-1]):
        raise Foreign("its clock does not go on")
    if machine.begin > 0 and machine.begin not in known:
        raise Foreign("its clock does not know when it begins")
    return Clock(known, times)


def _packed_kernel(kernel: Kernel, arrays: Arrays) -> dict[str, Any]:
    """Return what tells of a kernel: its name and its numbers."""
    kind = next(kind for kind, of in KERNELS.items() if type(kernel) is of)
    values = {of.name: getattr(kernel, of.name) for of in fields(KERNELS[kind])}
    if kind == "function":
        values["function"] = packed_function(values["function"], "its kernel")
        return {"kind": kind, **values}
    return {"kind": kind} | {of: packed(value, arrays, of) for of, value in values.items()}


def _kernel(told: dict[str, Any], bias: float, read: Unpacker) -> Kernel:
    if told["kind"] not in KERNELS:
        raise Foreign(f"there is no kernel {told['kind']!r:.40}")
    kind = KERNELS[told["kind"]]
    kernel: Any = kind(**{of.name: read.value(told[of.name]) for of in fields(kind)})
    if kernel.bias != bias:
        raise Foreign(f"its kernel has the bias {kernel.bias!r:.20}, and it has {bias}")
    return kernel


def _array(arrays: Arrays, name: str, kinds: tuple[Any, ...], shape: tuple[int | None, ...]) -> Array:
    """Return an array, if it is of one of these types and of this shape; None is any length."""
    array = arrays[name]
    fits = array.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
    if not fits or array.dtype not in kinds:
        raise Foreign(f"its array {name} is {array.dtype}{list(array.shape)}, which it can't be")
    return array
