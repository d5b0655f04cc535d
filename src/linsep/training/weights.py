"""Create, copy, resize and measure the arrays of a training state. One table, `FIELDS`, describes every array."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import first_beyond
from linsep.engine.links import EXPONENTIAL, GENTLE, P_NORM, SINH, STALE, TINY, Additive, Imaged, Scaled
from linsep.engine.readouts import (
    AVERAGES,
    TOTAL_LIMIT,
    Average,
    AverageWithLosses,
    Last,
    LastWithLosses,
    RecentAverage,
    Tally,
)
from linsep.engine.updates import SUM_LIMIT

MOST_COUNTED = 1 << 60
"""Counts are below this limit, so that adding to them can't overflow."""


class Field(NamedTuple):
    """An array of a link, a readout or a tally: its shape in symbols, its type, and which values are valid."""

    shape: tuple[int | str, ...]
    """"rows" is the number of features and one more, for the bias; "columns" the number of columns of weights."""
    dtype: type = np.float64
    finite: bool = False
    """True if every value must be finite. Images and squared norms may overflow, and training handles that."""
    least: int = 0
    most: int = MOST_COUNTED
    """The range of integers: from `least` to below `most`. Floats have no range unless `signed` is False."""
    signed: bool = True
    """True if floats may be below 0."""
    scratch: bool = False
    """True if scoring writes to the array."""

    def size(self, rows: int, columns: int) -> tuple[int, ...]:
        """Return the shape in numbers."""
        sizes = {"rows": rows, "columns": columns}
        return tuple(sizes[n] if isinstance(n, str) else n for n in self.shape)


TABLE, ROW, ONE = ("rows", "columns"), ("columns",), (1,)
FIELDS = {
    "s": Field(TABLE, finite=True),
    "image": Field(TABLE),
    "origin": Field(ROW),
    "debt": Field(ROW, np.int64, most=STALE + 1, scratch=True),
    "scale": Field(ROW, finite=True),
    "norm2": Field(ROW),
    "age": Field(ROW, np.int64),
    "pull": Field(ROW),
    "pulled": Field(TABLE),
    "norm1": Field(ROW),
    "u": Field(TABLE, finite=True),
    "mass": Field(ROW, finite=True),
    "clock": Field(ONE, finite=True, signed=False),
    "latest": Field(ONE, finite=True, signed=False),
    "growth": Field(ONE, finite=True, signed=False),
    "losses": Field(ROW),
    "rounds": Field(ONE, np.int64),
    "counts": Field((3, "columns"), np.int64),
    "errors": Field(ONE, np.int64, least=-1),
}
"""The arrays of links, readouts and tallies by name. Copying, resizing, splitting, joining, saving, validating and
sending a state follow this table."""
FORMS = {"exponential": EXPONENTIAL, "sinh": SINH, "p-norm": P_NORM}
"""The links by name, beside "additive" and "scaled"."""
FLOOR = {Last: 1e-100, LastWithLosses: 1e-100, Average: 1e-6, RecentAverage: 1e-6, AverageWithLosses: 1e-6}
"""A scale below this is folded into the sums. Averages lose digits earlier: they subtract masses that nearly agree."""
IMAGE_ROWS = 1 << 16
"""Rows of the sums whose images are compared in one go."""
LARGEST = 2.0**1022
"""The most that is left of sums, and of their products with a mass: the difference of two such is finite."""


def start_link(
    name: str, rows: int, columns: int, readout: type, number: float = 0.0, normed: bool = True, dual: bool = False
) -> Any:
    """Make the weights before the first round; `number` is the rate or the power of the link."""
    s = np.zeros((rows, columns))
    if name == "additive":
        return Additive(s)
    counts = np.zeros(columns, np.int64)
    if name == "scaled":
        return Scaled(s, np.ones(columns), np.zeros(columns), counts, FLOOR[readout], normed, dual)
    form = FORMS[name]
    origin = np.full(columns, 1.0 if form == P_NORM else 0.0)
    return Imaged(s, first_image(form, rows, origin, number), origin, counts, float(number), form)


def images(form: int, number: float, s: Array, origin: Array, last: bool = True, most: float = np.inf) -> Array:
    """Return the image of sums, by the formula of :func:`linsep.engine.links.image_of` for many at once.

    The `last` row is the bias, if True. Exponents are held at `most`.
    """
    with np.errstate(all="ignore"):  # an image may be infinite; the passes handle such images
        if form == P_NORM:
            image: Array = np.sign(s) * (np.abs(s) / origin) ** number
            return image
        two = stands_for_two(form, len(s), last)
        height = np.where(two, np.abs(s), s)
        up = np.exp(np.minimum(number * (height - origin), most))
        return np.where(two, np.where(s == 0, 0.0, np.sign(s) * up * -np.expm1(-2 * number * height)), up)


def stands_for_two(form: int, rows: int, last: bool = True) -> Array:
    """Return for each row of the sums, (rows, 1), whether the row represents two weights, of +x and -x."""
    two = np.full((rows, 1), form != EXPONENTIAL)
    two[-1] |= last
    return two


def name_of(link: Any) -> str:
    """Return the name by which :func:`start_link` makes this kind of weights."""
    if isinstance(link, Imaged):
        return next(name for name, form in FORMS.items() if form == link.form)
    return type(link).__name__.lower()


def first_image(form: int, rows: int, origin: Array, number: float) -> Array:
    """Return the image of sums that are all 0; only Winnow's is not 0."""
    return images(form, number, np.zeros((rows, len(origin))), origin)


def start_readout(kind: Any, rows: int, columns: int) -> Any:
    """Make the readout's state before the first round."""
    return kind(*(np.zeros(FIELDS[name].size(rows, columns)) for name in kind._fields))


def start_tally(columns: int) -> Tally:
    """Make counters at 0."""
    return Tally(np.zeros(1, np.int64), np.zeros((3, columns), np.int64), np.zeros(1, np.int64))


def arrays_of(part: Any, along: str | None = None) -> dict[str, Array]:
    """Return the arrays of a link, readout or tally by name; only those with the dimension `along`, if given."""
    names = (name for name in part._fields if name in FIELDS and (along is None or along in FIELDS[name].shape))
    return {name: getattr(part, name) for name in names}


def mapped(part: Any, change: Callable[[Array], Array], along: str | None = None) -> Any:
    """Return a link, readout or tally with each array changed; only those with the dimension `along`, if given."""
    return part._replace(**{name: np.ascontiguousarray(change(a)) for name, a in arrays_of(part, along).items()})


def copied(part: Any, columns: slice | Array = slice(None)) -> Any:
    """Return some columns of a link, readout or tally, sharing no memory with it."""
    return mapped(mapped(part, lambda a: a[..., columns], "columns"), np.copy)


def write_columns(part: Any, block: Any, lo: int) -> None:
    """Write the columns of a block, the first of which is column `lo`, to a link, readout or tally."""
    for name, own in arrays_of(block).items():
        whole = getattr(part, name)
        (whole[..., lo : lo + own.shape[-1]] if "columns" in FIELDS[name].shape else whole)[...] = own


def resized(part: Any, features: int) -> Any:
    """Return a link or readout with that many features: new ones have been 0 in all rows, dropped ones must have."""

    def change(name: str, a: Array) -> Array:
        more = features + 1 - len(a)
        new = fresh(part, name, more + 1)[:-1] if more > 0 else a[:0]
        return np.concatenate([a[: min(features, len(a) - 1)], new, a[-1:]])

    return part._replace(**{name: change(name, a) for name, a in arrays_of(part, "rows").items()})


def with_new_class(part: Any, place: int, pair: bool) -> Any:
    """Return a link, readout or tally with a column more.

    One class against the rest: a copy of the last column, the background, which has been trained with every row as
    negative. Pairs: a class that no row has named so far has the weights of the start.
    """
    wider = mapped(part, lambda a: np.insert(a, place, a[..., 0 if pair else -1], axis=-1), "columns")
    if pair:
        for name, a in arrays_of(wider, "rows").items():
            a[:, place] = fresh(wider, name, len(a))[:, place]
    return wider


def fresh(part: Any, name: str, rows: int) -> Array:
    """Return an array of a link or readout as it is before the first round, with that many rows."""
    if name == "image":
        return first_image(part.form, rows, part.origin, part.number)
    return np.zeros((rows, getattr(part, name).shape[1]))


def writable(part: Any) -> Any:
    """Return a link, readout, tally or log that can be written to: read-only arrays, as of memory maps, are copied."""
    fixed = {f: np.array(v) for f, v in part._asdict().items() if isinstance(v, np.ndarray) and not v.flags.writeable}
    return part._replace(**fixed) if fixed else part


def for_reading(part: Any) -> Any:
    """Return a link or readout with read-only arrays, so that one kernel scores memory maps and plain arrays alike.

    Arrays that scoring writes to are copied.
    """
    arrays = arrays_of(part)
    return part._replace(**{f: np.array(v) if FIELDS[f].scratch else frozen(v) for f, v in arrays.items()})


def predicting_weights(link: Additive | Scaled, readout: Any) -> Array:
    """Return the weights that predict."""
    if isinstance(readout, AVERAGES):
        total = readout.mass * link.s - readout.u
        return total / readout.clock if readout.clock[0] > 0 else total
    return link.s * link.scale if isinstance(link, Scaled) else link.s


def in_range(link: Any, readout: Any) -> bool:
    """Return whether every sum, every total of an average, and so every weight that predicts, is far from overflow."""
    factors = (link.scale if isinstance(link, Scaled) else (), readout.mass if isinstance(readout, AVERAGES) else ())
    largest = max([1.0, *(float(np.max(np.abs(f), initial=0.0)) for f in factors)])
    most = LARGEST if isinstance(readout, AVERAGES) or isinstance(link, Imaged) else np.finfo(np.float64).max
    return _below(link.s, most / largest) and (not isinstance(readout, AVERAGES) or _below(readout.u, LARGEST))


def ready_for_single_rows(link: Any, readout: Any) -> bool:
    """Return whether the sums and totals are in the range that the pass over single rows keeps them in."""
    return _below(link.s, SUM_LIMIT) and (not isinstance(readout, AVERAGES) or _below(readout.u, TOTAL_LIMIT))


def _below(table: Array, limit: float) -> bool:
    flat = np.ravel(table).view()
    flat.flags.writeable = False  # one kernel serves all arrays
    return first_beyond(flat, limit) < 0


def with_own_image(link: Imaged, pair: bool, bias: bool) -> Imaged:
    """Return an imaged link with the image of its sums, for those who only read it; the next pass takes its own."""
    return refreshed(link, pair, bias)[0]._replace(debt=np.full_like(link.debt, STALE))


def has_own_image(link: Imaged) -> bool:
    """Return whether the image of a link is that of its sums and its origin, up to rounding."""
    for lo in range(0, len(link.s), IMAGE_ROWS):
        s, image = link.s[lo : lo + IMAGE_ROWS], link.image[lo : lo + IMAGE_ROWS]
        own = images(link.form, link.number, s, link.origin, last=lo + IMAGE_ROWS >= len(link.s))
        if not np.allclose(image, own, rtol=1e-6, atol=TINY):
            return False
    return True


def refreshed(link: Any, pair: bool, bias: bool) -> tuple[Any, Array]:
    """Return an imaged link with the origin at the highest sum, and the divisor of each column's scores.

    Winnow: Z, the sum of e^{rate (s_j - origin)}, with both signs where a row represents two weights. p-norm: with
    r = |s| / origin, w = sign(s) r^(p-1) * origin / (sum of r^p)^((p-2)/p).
    """
    used = slice(None) if bias else slice(None, -1)
    axis = None if pair else 0
    two = stands_for_two(link.form, len(link.s))
    height = np.where(two, np.abs(link.s), link.s)
    origin = np.max(height[used], axis=axis, keepdims=True)
    if link.form == P_NORM:
        near = np.ldexp(1.0, np.frexp(origin)[1]) if link.number <= GENTLE else origin
        origin = np.where(origin > 0, near, 1.0)
        p = link.number + 1
        total = np.sum((height / origin) ** p, axis=axis)
        divisor = np.where(total > 0, total, 1.0) ** ((p - 2) / p) / origin
    else:
        # No exponent of a weight that counts is above 0; those of rows that do not count are held there.
        up = np.exp(np.minimum(link.number * (height - origin), 0.0))
        down = np.where(two, np.exp(np.minimum(-link.number * (height + origin), 0.0)), 0.0)
        divisor = np.sum((up + down)[used], axis=axis)
    image = images(link.form, link.number, link.s, origin, most=0.0)
    origin, divisor = (np.broadcast_to(np.ravel(a), link.origin.shape).copy() for a in (origin, divisor))
    return link._replace(image=image, origin=origin, debt=np.zeros_like(link.debt)), divisor
