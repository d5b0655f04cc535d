"""Encode training states as plain values and arrays, and decode them with validation."""

from dataclasses import fields, replace
from typing import Any

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.links import P_NORM, SCALE_LIMIT, TINY, Additive, Imaged, Scaled
from linsep.engine.readouts import AVERAGES, MISTAKES, Average, Last, Log, RecentAverage, Tally
from linsep.engine.step import check_rule, needs_norm, reads_sign_only, shrinks
from linsep.estimators.base.learner import Learner
from linsep.kernels.functions import Kernel, Linear, OfUser, Polynomial, Precomputed, RadialBasis
from linsep.models.earlier_files import present_state
from linsep.models.encoding import Decoder, Encoder, Foreign, RuleStandIn, ShrinkingRuleStandIn, is_number
from linsep.training.dual_weights import DualWeights
from linsep.training.history import History, RoundClock, Support
from linsep.training.scoring import KeptFeatures, keep_features
from linsep.training.state import SparseState, TrainingState
from linsep.training.update_log import NO_LINES, MixLog, UpdateLog, lines_with_room
from linsep.training.weights import (
    FIELDS,
    FLOOR,
    FORMS,
    MOST_COUNTED,
    arrays_of,
    has_own_image,
    name_of,
    with_own_image,
)

KERNELS: dict[str, Any] = {
    "linear": Linear, "poly": Polynomial, "rbf": RadialBasis, "precomputed": Precomputed, "function": OfUser,
}  # fmt: skip
FLOATS = (np.float32, np.float64)
INDICES = (np.int32, np.int64)
LINKS: dict[str, type] = {kind.__name__.lower(): kind for kind in (Additive, Scaled, Imaged)}
READOUTS: dict[str, type] = {kind.__name__.lower(): kind for kind in (Last, Average, RecentAverage)}
NUMBERS = ("pair", "bias", "first_features", "epochs", "rows", "behind", "background")
"""Fields of a state that are one number."""
OF_LOG = {"log_limit": "limit", "no_log_because": "reason", "data_bytes": "data_bytes"}
"""Fields of a log that are one number or word, by their names in files."""
COUNTS = ("data_bytes", "first_features", "epochs", "rows", "behind")
MAY_BE_ZERO = ("power", "shrink")
"""Numbers of rules that may be 0; all others are above 0."""
MOST_WEIGHTS = 1 << 37
"""Weights, those that are zero and not stored included: in training they took eight bytes each."""
NORM_TOLERANCE = 1e-6
"""The relative error of a squared norm that was measured, and then scaled with the weights."""
MANY, FEW = 1 << 12, 0.25
"""Of at least so many features, those whose weights are zero are left out if at most this share is left."""


def encode_history(history: History, dual: DualWeights | None, to: Encoder, name: str) -> dict[str, Any]:
    """Return the values of a history and of dual weights, and store their arrays."""
    arrays = to.arrays
    meta: dict[str, Any] = {"begin": history.begin, "rows": "none", "folded": history.base is not None}
    arrays[f"{name}.clock.rounds"], arrays[f"{name}.clock.times"] = history.clock
    if history.base is not None and history.base_norms is not None:
        arrays[f"{name}.base"], arrays[f"{name}.base_norms"] = history.base, history.base_norms
    if dual is not None:
        meta["digest"] = dual.digest
        meta["kernel"] = _encode_kernel(history.kernel, to)
    if history.support is not None:
        rows = history.support.rows()
        meta["width"] = rows.n_features
        meta["rows"] = "dense" if isinstance(rows, Dense) else "sparse"
        arrays[f"{name}.support.numbers"] = history.support.known
        for of, value in rows._asdict().items():
            if isinstance(value, np.ndarray):
                arrays[f"{name}.support.{of}"] = value
    return meta


def decode_history(state: TrainingState, history: History, meta: dict[str, Any], decoder: Decoder, name: str) -> None:
    """Decode and validate the history, and set it on the state."""
    _refuse_another_kind(state)
    if state.dual is not None:
        history.kernel, state.dual.digest = _decode_kernel(meta["kernel"], state.bias, decoder), str(meta["digest"])
    if meta["rows"] != "none":
        history.support = _support(state, history, meta, decoder, name)
    elif f"{name}.support.numbers" in decoder.arrays:
        raise Foreign("it has numbers of rows, and keeps none")
    _decode_first(state, history, meta, decoder, name)
    history.clock = _clock(state, history, decoder, name)
    _refuse_another_log(state, history)


def _refuse_another_kind(state: TrainingState) -> None:
    """Refuse weights, and a log, of a kind that no vote is made of."""
    scaled = isinstance(state.link, Scaled)
    if isinstance(state.link, Imaged) or not isinstance(state.readout, Last):
        raise Foreign("its weights are not of the kind that its rule moves")
    if not state.log.is_open or state.log.sizes.shape[1] != 1 + scaled or state.log.limit != np.inf:
        raise Foreign("its log does not have all hypotheses")


def _decode_first(state: TrainingState, history: History, meta: dict[str, Any], decoder: Decoder, name: str) -> None:
    """Set the first hypothesis; if rows were forgotten, it has weights."""
    begin, folded = meta["begin"], meta["folded"]
    if type(begin) is not int or not 0 <= begin <= _end(state):
        raise Foreign(f"it begins after {begin!r:.20} rounds of {_end(state)}")
    if type(folded) is not bool or not folded == (begin > 0) == (state.log.reason != ""):
        raise Foreign("it does not state whether it has forgotten rows")
    if folded:
        if state.dual is not None:
            raise Foreign("it has forgotten rows, without which a kernel has no weights")
        history.base = decoder.array(f"{name}.base", (np.float64,), state.link.s.shape)
        history.base_norms = decoder.array(f"{name}.base_norms", (np.float64,), (state.columns,))
    history.begin = begin


def _refuse_another_log(state: TrainingState, history: History) -> None:
    """Refuse updates of rows that were not kept, or in rounds that were not made."""
    lines = state.log.numbers
    if not len(lines):
        return
    if history.support is None or (history.support.places(lines[:, 0]) < 0).any():
        raise Foreign("its log names a row that was not kept")
    if np.any(np.diff(lines[:, 1]) < 0) or lines[0, 1] <= history.begin or lines[-1, 1] > _end(state):
        raise Foreign("its log has rounds that it did not have")
    if not history.clock.plain and not np.isin(lines[:, 1], history.clock.rounds).all():
        raise Foreign("its clock lacks rounds of its log")


def _support(state: TrainingState, history: History, meta: dict[str, Any], decoder: Decoder, name: str) -> Support:
    """Return the rows that were kept; of a kernel that was given as a matrix, what is kept are values of that."""
    given = history.precomputed
    width = 1 if given else state.features
    if type(meta["width"]) is not int or meta["width"] != width:
        raise Foreign(f"the rows that it kept have {meta['width']!r:.20} features, and not {width}")
    numbers = decoder.array(f"{name}.support.numbers", (np.int64,), (None,))
    if len(np.unique(numbers)) < len(numbers) or (len(numbers) and numbers.min() < 0):
        raise Foreign("the numbers of the rows that it kept are not numbers of different rows")
    known = min(state.features, state.behind) if given else state.behind + state.rows
    if len(numbers) and numbers.max() >= known:
        raise Foreign(f"it kept the row {numbers.max()}, of the {known} that it has seen")
    if meta["rows"] == "dense":
        values = decoder.array(f"{name}.support.values", FLOATS, (len(numbers), width))
        rows: Dense | Csr = Dense(values, 0.0 if given else state.bias)
    elif meta["rows"] == "sparse" and not given:
        rows = _sparse_rows(len(numbers), width, state.bias, decoder, name)
    else:
        raise Foreign(f"it kept {meta['rows']!r:.20} rows, and there are none of that kind")
    return Support.of(rows, numbers)


def _sparse_rows(count: int, width: int, bias: float, decoder: Decoder, name: str) -> Csr:
    values = decoder.array(f"{name}.support.values", FLOATS, (None,))
    indices = decoder.array(f"{name}.support.indices", INDICES, (len(values),))
    ends = decoder.array(f"{name}.support.indptr", INDICES, (count + 1,))
    if ends[0] != 0 or ends[-1] != len(values) or np.any(ends[1:] < ends[:-1]):
        raise Foreign("the rows that it kept do not follow one another")
    if len(indices) and not 0 <= indices.min() <= indices.max() < width:
        raise Foreign("a row that it kept has a feature that does not exist")
    return Csr(values, indices, ends, width, bias)


def _end(state: TrainingState) -> int:
    return int(state.tally.rounds[0])


def _clock(state: TrainingState, history: History, decoder: Decoder, name: str) -> RoundClock:
    known = decoder.array(f"{name}.clock.rounds", (np.int64,), (None,))
    times = decoder.array(f"{name}.clock.times", (np.float64,) if len(known) else (np.int64,), (len(known),), least=0)
    if not len(known):
        return RoundClock()
    if known[0] < 0 or known[-1] != _end(state) or np.any(known[1:] <= known[:-1]):
        raise Foreign("its clock has rounds that it did not have")
    if np.any(times[1:] < times[:-1]):
        raise Foreign("its round times decrease")
    if history.begin > 0 and history.begin not in known:
        raise Foreign("its clock has no beginning")
    return RoundClock(known, times)


def _encode_kernel(kernel: Kernel, to: Encoder) -> dict[str, Any]:
    """Return the name of a kernel and its numbers."""
    kind = next(kind for kind, of in KERNELS.items() if type(kernel) is of)
    values = {of.name: getattr(kernel, of.name) for of in fields(KERNELS[kind])}
    if kind == "function":
        return {"kind": kind, **values, "function": to.function(values["function"])}
    return {"kind": kind, **to.values(values, "kernel")}


def _decode_kernel(meta: dict[str, Any], bias: float, decoder: Decoder) -> Kernel:
    if meta["kind"] not in KERNELS:
        raise Foreign(f"there is no kernel {meta['kind']!r:.40}")
    kind = KERNELS[meta["kind"]]
    kernel: Any = kind(**{of.name: decoder.value(meta[of.name]) for of in fields(kind)})
    if kernel.bias != bias:
        raise Foreign(f"its kernel has the bias {kernel.bias!r:.20}, and it has {bias}")
    return kernel


def encode_state(state: TrainingState, to: Encoder, name: str) -> dict[str, Any]:
    """Return the values of a state and store its arrays; weights that are mostly zero are stored sparsely."""
    arrays = to.arrays
    compact = isinstance(state, SparseState) and state.on_request
    state, kept = _stored(state)
    meta: dict[str, Any] = to.values({of: getattr(state, of) for of in NUMBERS}, name)
    meta |= to.values({of: getattr(state.log, own) for of, own in OF_LOG.items()}, name)
    meta["compact"], meta["sparse"] = compact, kept is not None
    if kept is not None:
        arrays[f"{name}.kept"] = kept.astype(np.int64)
    meta["rule"] = to.value(state.rule, "rule")
    meta["kinds"] = [type(state.link).__name__.lower(), type(state.readout).__name__.lower()]
    for part in ("link", "readout", "tally"):
        for of, array in arrays_of(getattr(state, part)).items():
            arrays[f"{name}.{part}.{of}"] = array
    meta["link"] = to.values({of: v for of, v in state.link._asdict().items() if of not in FIELDS}, name)
    meta["logged"] = state.log.is_open
    if state.log.is_open:
        arrays[f"{name}.log.numbers"], arrays[f"{name}.log.sizes"] = state.log.numbers, state.log.sizes
        if state.history is not None:
            arrays[f"{name}.log.scores"] = state.log.scores
    if state.mixed is not None:
        arrays.update({f"{name}.mixed.{of}": lines for of, lines in state.mixed._asdict().items()})
    if state.history is not None:
        meta["votes"] = encode_history(state.history, state.dual, to, name)
    return meta


def _stored(state: TrainingState) -> tuple[TrainingState, Array | None]:
    """Return a state as it is stored, and the features whose weights it has; None for all.

    Only additive and scaled weights are left out: other weights are normalised together.
    """
    if isinstance(state, SparseState):
        return (state.whole(), None) if isinstance(state.link, Imaged) else (state, state.sparse.kept.numbers)
    if isinstance(state.link, Imaged) or state.history is not None or state.features < MANY:
        return state, None
    kept = state.nonzero_features()
    if len(kept) > FEW * state.features:
        return state, None
    return replace(state, link=keep_features(state.link, kept), readout=keep_features(state.readout, kept)), kept


def decode_state(
    learner: Learner, meta: dict[str, Any], features: int, classes: int, decoder: Decoder, name: str
) -> TrainingState:
    """Return a learner's state of so many features and classes, if it is sound."""
    meta, open_labels, dual = present_state(meta), learner._open, learner._new_dual(features)
    numbers = {of: decoder.value(meta[of]) for of in (*NUMBERS, *OF_LOG)}
    _refuse_other_numbers(numbers)
    numbers["bias"] = float(numbers["bias"])  # passes are compiled for floats
    of_log = {own: numbers.pop(of) for of, own in OF_LOG.items()}
    rule = decoder.value(meta["rule"])
    check_rule(rule)
    pair, background = _flag(numbers["pair"]), _flag(numbers["background"])
    if background != (open_labels and not pair):
        raise Foreign("it has a column for labels to come, or none, against its labels")
    columns = classes + 1 if background else 1 if classes == 2 and not pair and not open_labels else classes
    kept = _kept(features, decoder, f"{name}.kept") if _flag(meta["sparse"]) else None
    if kept is not None and (features + 1) * columns > MOST_WEIGHTS:
        raise Foreign(f"it has {features:,} features of {columns:,} classes, too many to have been trained")
    lines = features if kept is None else len(kept)
    size = (_rows_kept(decoder, name) if dual is not None else lines) + 1, columns
    link_kind, readout_kind = meta["kinds"]
    link_values = _link_numbers(link_kind, meta["link"], decoder)
    link = _part(LINKS[link_kind], f"{name}.link", size, decoder, link_values)
    if isinstance(rule, RuleStandIn) and isinstance(link, Scaled):
        rule = ShrinkingRuleStandIn()
    if isinstance(link, Imaged) and not has_own_image(link):
        with np.errstate(over="ignore"):
            link = with_own_image(link, pair, numbers["bias"] != 0.0)
    readout = _part(READOUTS[readout_kind], f"{name}.readout", size, decoder)
    _refuse_another_link(link, readout, rule, dual is not None)
    _refuse_another_rule(learner, rule, link)
    _refuse_another_readout(learner, type(readout), features)
    _refuse_another_norm(link, pair)
    tally = _part(Tally, f"{name}.tally", size, decoder)
    try:
        history = learner._new_history(numbers["bias"])
    except ValueError:
        raise Foreign(f"its bias is {numbers['bias']!r:.20}, whose square is not finite") from None
    log = UpdateLog(_log_lines(meta, pair, columns, decoder, name, history is not None), **of_log).trimmed()
    mixed = _mixed(decoder, name, 1 if pair else columns, tally, numbers["epochs"])
    state = TrainingState(
        rule=rule, link=link, readout=readout, tally=tally, log=log, mixed=mixed, history=history, dual=dual, **numbers
    )
    if history is not None:
        if kept is not None or _flag(meta["compact"]):
            raise Foreign("it keeps the rows of a vote, and leaves others of its weights out")
        decode_history(state, history, meta["votes"], decoder, name)
        return state
    if kept is None:
        return state.sparsified() if _flag(meta["compact"]) else state
    if isinstance(link, Imaged):
        raise Foreign("weights of its kind are not stored sparsely")
    return SparseState.of(state, state.scorer(), KeptFeatures(kept, features), _flag(meta["compact"]))


def _refuse_another_link(link: Any, readout: Any, rule: Any, dual: bool) -> None:
    """Refuse weights that are not of the kind that a rule moves."""
    kind, scaled = type(rule), isinstance(link, Scaled)
    if isinstance(link, Imaged) and isinstance(readout, AVERAGES):
        raise Foreign("weights of its kind have no average")
    if scaled != shrinks(kind) or (isinstance(link, Imaged) and not reads_sign_only(kind)):
        raise Foreign("its weights are not of the kind that its rule moves")
    if scaled and (link.dual is not dual or (needs_norm(kind) and not link.normed)):
        raise Foreign("its weights are those of rows, or of features, or not measured, against its description")
    if scaled and not ((link.floor < np.abs(link.scale)) & (np.abs(link.scale) < SCALE_LIMIT)).all():
        raise Foreign("its array link.scale has a number that is folded into the sums as soon as it comes up")


def _refuse_another_rule(learner: Learner, rule: Any, link: Any) -> None:
    """Refuse a rule, or weights, that no parameters of a learner make. Learners that are given a rule take any."""
    if not learner._traits.rules:
        return
    kind, name = type(rule), type(learner).__name__
    if kind not in learner._traits.rules:
        raise Foreign(f"its rule is {kind.__name__:.40}, with which no {name} is trained")
    if name_of(link) != ("scaled" if shrinks(kind) else learner._traits.link):
        raise Foreign(f"its weights are {name_of(link)}, not of the kind that its rule moves in a {name}")
    for of, number in rule._asdict().items():
        if not (number > 0 or (number == 0 and of in MAY_BE_ZERO)):
            raise Foreign(f"its rule has {of}={number!r:.20}, with which no {name} is trained")


def _refuse_another_readout(learner: Learner, kind: type, features: int) -> None:
    """Refuse a readout that no parameters of a learner make; a learner with a parameter for it may have any."""
    own = learner._readout_kind(features)
    if own is not None and kind is not own:
        raise Foreign(f"its readout is {kind.__name__:.40}, with which no {type(learner).__name__} is trained")


def _refuse_another_norm(link: Any, pair: bool) -> None:
    """Refuse a squared norm that is not that of the weights, if it was measured and not updated since.

    Each update may add a rounding error of the largest norm so far, which no file holds.
    """
    if not isinstance(link, Scaled) or not link.normed or link.dual:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("jc,jc->c", link.s, link.s) * link.scale**2
        own = np.array([squares.sum()]) if pair else squares
        norm2, measured = link.norm2[: len(own)], link.age[: len(own)] == 0
        near = np.abs(norm2 - own) <= NORM_TOLERANCE * own + TINY
    if (measured & np.isfinite(own) & ~near).any():
        raise Foreign("its array link.norm2 has a number that is not the squared norm of its weights")


def _refuse_other_numbers(numbers: dict[str, Any]) -> None:
    """Refuse numbers and words that no state has."""
    for count in COUNTS:
        if not is_count(numbers[count]):
            raise Foreign(f"its {count} is {numbers[count]!r:.20}, not a count")
    bias = numbers["bias"]
    if not is_number(bias) or not abs(bias) < (np.inf if type(bias) is float else MOST_COUNTED):
        raise Foreign(f"its bias is {bias!r:.20}, not a number")
    if not is_number(numbers["log_limit"]) or np.isnan(numbers["log_limit"]):
        raise Foreign(f"its log_limit is {numbers['log_limit']!r:.20}, not a number")
    if not isinstance(numbers["no_log_because"], str):
        raise Foreign("its reason for having no log is not text")


def is_count(value: Any) -> bool:
    """Return whether a value is a count."""
    return type(value) is int and 0 <= value < MOST_COUNTED


def _kept(features: int, decoder: Decoder, name: str) -> Array:
    """Return the features that were stored, in order."""
    kept = decoder.array(name, (np.int64,), (None,))
    if np.any(kept[1:] <= kept[:-1]):
        raise Foreign("its list of features is not in order")
    if len(kept) and not (kept[0] >= 0 and kept[-1] < features):
        raise Foreign("its list of features has one that does not exist")
    return kept


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Foreign(f"{value!r:.20} is neither true nor false")
    return value


def _part(kind: Any, name: str, size: tuple[int, int], decoder: Decoder, values: dict[str, Any] | None = None) -> Any:
    """Return a link, readout or tally of arrays, each of the type, shape and range that the table of fields states."""
    parts = {}
    for of in kind._fields:
        if of in FIELDS:
            field = FIELDS[of]
            whole = field.dtype is np.int64
            least, most = (field.least, field.most) if whole else (-np.inf if field.signed else 0, np.inf)
            parts[of] = decoder.array(
                f"{name}.{of}", (field.dtype,), field.size(*size), finite=field.finite, least=least, most=most
            )
    return kind(**parts, **(values or {}))


def _link_numbers(kind: str, meta: dict[str, Any], decoder: Decoder) -> dict[str, Any]:
    """Return what a link has beside arrays."""
    if kind == "scaled":
        floor = decoder.value(meta["floor"])
        if floor not in FLOOR.values():
            raise Foreign(f"its link has the floor {floor!r:.20}, which none has")
        return {"floor": float(floor), "normed": _flag(meta["normed"]), "dual": _flag(meta["dual"])}
    if kind == "imaged":
        if meta["form"] not in FORMS.values():
            raise Foreign(f"its link has the form {meta['form']!r:.20}, which does not exist")
        number = decoder.value(meta["number"])
        least = 1.0 if meta["form"] == P_NORM else np.nextafter(0.0, 1.0)  # the power is p - 1, and p is 2 at least
        if not is_number(number) or not least <= number < np.inf:
            raise Foreign(f"its link has the rate or power {number!r:.20}, which is none")
        return {"number": float(number), "form": int(meta["form"])}
    return {}


def _mixed(decoder: Decoder, name: str, classifiers: int, tally: Tally, made_epochs: int) -> MixLog | None:
    """Return the shards that were mixed, if any were."""
    if not any(f"{name}.mixed.{of}" in decoder.arrays for of in MixLog._fields):
        return None
    lines, widths = len(decoder.arrays[f"{name}.mixed.{MixLog._fields[0]}"]), (4, classifiers, classifiers)
    of_shards = zip(MixLog._fields, widths, strict=True)
    mixed = MixLog(*(decoder.array(f"{name}.mixed.{of}", (np.int64,), (lines, n), least=0) for of, n in of_shards))
    if not lines:
        raise Foreign("its mixes are not the counts of shards")
    epochs, shards, before, own = mixed.numbers.T
    if not 1 <= epochs.min() <= epochs.max() <= made_epochs:
        raise Foreign("its mixes are of epochs that it did not have")
    rounds, made = int(tally.rounds[0]), tally.counts[MISTAKES, :classifiers]
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


def _rows_kept(decoder: Decoder, name: str) -> int:
    """Return how many rows a state of dual weights has, which are its features."""
    numbers = decoder.arrays.get(f"{name}.support.numbers")
    return 0 if numbers is None else numbers.size


def _log_lines(meta: dict[str, Any], pair: bool, columns: int, decoder: Decoder, name: str, scored: bool) -> Log:
    """Return the lines of the log, with room for one at least if it was open."""
    if not _flag(meta["logged"]):
        return NO_LINES
    names = 2 if pair else int(columns > 1)
    numbers = decoder.array(f"{name}.log.numbers", (np.int64,), (None, 2 + names))
    sizes = decoder.array(f"{name}.log.sizes", (np.float64,), (len(numbers), None))
    scores = decoder.array(f"{name}.log.scores", (np.float64,), (len(numbers),)) if scored else np.empty(0)
    if sizes.shape[1] > 2:
        raise Foreign("its log has other sizes than lines")
    if len(numbers) and (numbers.min() < 0 or numbers[:, 2:].max(initial=0) >= columns):
        raise Foreign("its log names a row or a class that does not exist")
    if not len(numbers):
        return lines_with_room(numbers.shape[1] - 2, sizes.shape[1], 1, scored)
    return Log(numbers, sizes, scores, np.array([len(numbers)]))
