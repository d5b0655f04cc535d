"""Export models as ONNX, with standard operators only."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linsep import __version__
from linsep.engine.arrays import Array
from linsep.engine.atomic_write import atomic_write
from linsep.engine.links import EXPONENTIAL, P_NORM, TINY, Imaged
from linsep.estimators.base.learner import Learner
from linsep.models.encode_estimators import is_calibrated, is_pipeline
from linsep.models.named_weights import weighing_learner
from linsep.transforms import Bias, DeltaTrick, Polynomial, Scale, ScaleColumns, Standardize
from linsep.validation.errors import ParameterError

OPSET, IR = 17, 8
"""Operators and form of the file: of 2022, which runtimes since then read."""
LARGEST = (1 << 31) - (1 << 16)
"""Bytes of constants that a file can hold: protobuf ends at 2 GiB."""


def export_onnx(model: Any, path: str | os.PathLike[str] | None = None) -> Any:
    """Return a fitted learner, or a pipeline of linsep's maps and a learner, as an ONNX model, and write it if asked.

    The input is "X", float64, (rows, features), any number of rows. The outputs are "label", (rows,), of the type of
    `classes_`; "scores", as `decision_function` has them; and for logistic regression "probabilities", (rows, classes).
    All is computed in float64: scores differ from ours by the rounding of sums in another order, and not at all where
    sums are exact. What is refused here, such as NaN or scores beyond float64, ONNX lets through.

    Parameters
    ----------
    model : learner, or scikit-learn Pipeline
        Any learner of linsep that predicts with weights, alone or after maps: Polynomial, Bias, Scale, ScaleColumns,
        DeltaTrick.
    path : path, optional
        Path of the file; an old file there is whole until the new one is.

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> from linsep import Perceptron
    >>> clf = Perceptron(shuffle=False).fit([[0, 1], [1, 0], [2, 1], [1, 2]], ["no", "yes", "yes", "no"])
    >>> proto = export_onnx(clf)
    >>> [output.name for output in proto.graph.output]
    ['label', 'scores']
    """
    if is_calibrated(model):
        raise TypeError(
            "an ONNX file has no place for the calibration, by which the model predicts: use export_json (a file that "
            "ends in .json), or export the learner alone, estimator_"
        )
    learner = weighing_learner(model)
    steps = model.steps[:-1] if is_pipeline(model) else []
    maps = [(name, step) for name, step in steps if step not in (None, "passthrough")]
    for name, step in maps:
        if type(step) not in MAPS:
            raise TypeError(
                f"the step {name!r} is a {type(step).__name__}, which is not exported: export {type(learner).__name__} "
                "alone, and do that step before"
            )
    graph = Graph(_import())
    width = (maps[0][1] if maps else learner).n_features_in_
    rows = Tensor("X", int(width))
    for _, step in maps:
        rows = MAPS[type(step)](graph, step, rows)
    outputs = _answers(graph, learner, rows)
    proto = graph.model(int(width), outputs, type(learner).__name__)
    if path is not None:
        with atomic_write(path) as draft:
            graph.onnx.save_model(proto, draft)
    return proto


def _import() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError("export_onnx needs the package onnx: pip install 'linsep[onnx]'") from error
    return onnx


@dataclass(frozen=True)
class Tensor:
    """A table on its way through the maps; its last `zeros` columns are all 0 and are not there."""

    name: str
    width: int
    zeros: int = 0


@dataclass
class Graph:
    """Nodes and constants of a model in the making."""

    onnx: Any
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    size: int = 0

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Return the name of a constant."""
        array = np.asarray(value, dtype)
        self.refuse_beyond(array.nbytes)
        self.size += array.nbytes
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        return name

    def refuse_beyond(self, more: int) -> None:
        """Raise a ValueError when so many bytes more would not fit into a file."""
        if self.size + more > LARGEST:
            raise ParameterError(
                f"the model has more than {(self.size + more) / 2**30:.1f} GiB of constants, and ONNX files end at "
                "2 GiB: train with fewer features (hashing), or use export_json, which writes only nonzero weights"
            )

    def add(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add a node, and return the name of its output."""
        name = name or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def whole(self, rows: Tensor) -> Tensor:
        """Return rows with their columns of zeros."""
        if not rows.zeros:
            return rows
        pads = self.constant([0, 0, 0, rows.zeros], np.int64)
        return Tensor(self.add("Pad", rows.name, pads), rows.width)

    def columns_of(self, value: float, count: int) -> str:
        """Return columns of one value, as many rows as the input has.

        To divide by such a column is not the same as to divide by the number: that, onnxruntime would merge into the
        product with the weights, rounded to float32.
        """
        n = self.add("Shape", "X", start=0, end=1)
        shape = self.add("Concat", n, self.constant([count], np.int64), axis=0)
        return self.add("Expand", self.constant(value), shape)

    def model(self, width: int, outputs: dict[str, tuple[Any, list[Any]]], learner: str) -> Any:
        """Return the ONNX model; `outputs` has the type and shape of each output."""
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        tells = [helper.make_tensor_value_info(name, *kind) for name, kind in outputs.items()]
        table = helper.make_tensor_value_info("X", double, ["rows", width])
        graph = helper.make_graph(self.nodes, "linsep", [table], tells, self.constants)
        version = helper.make_opsetid("", OPSET)
        proto = helper.make_model(graph, opset_imports=[version], ir_version=IR, producer_name="linsep")
        proto.producer_version = __version__
        helper.set_model_props(proto, {"learner": learner})
        return proto


def _bias(graph: Graph, step: Any, rows: Tensor) -> Tensor:
    rows = graph.whole(rows)
    name = graph.add("Concat", rows.name, graph.columns_of(step.value, 1), axis=1)
    return Tensor(name, rows.width + 1)


def _scale(graph: Graph, step: Any, rows: Tensor) -> Tensor:
    return replace(rows, name=graph.add("Div", rows.name, graph.columns_of(step.divisor_, 1)))


def _scale_columns(graph: Graph, step: Any, rows: Tensor) -> Tensor:
    divisors = step.scale_[: rows.width - rows.zeros]
    by = graph.constant(divisors) if len(divisors) > 1 else graph.columns_of(divisors[0], 1)
    return replace(rows, name=graph.add("Div", rows.name, by))


def _standardize(graph: Graph, step: Any, rows: Tensor) -> Tensor:
    if step.center_:
        rows = graph.whole(rows)
        rows = replace(rows, name=graph.add("Sub", rows.name, graph.constant(step.mean_)))
    return _scale_columns(graph, step, rows)


def _delta_trick(graph: Graph, step: Any, rows: Tensor) -> Tensor:
    return replace(rows, width=rows.width + step.n_rows_, zeros=rows.zeros + step.n_rows_)


def _polynomial(graph: Graph, step: Any, rows: Tensor) -> Tensor:
    """Products by the number of their factors, then in order: in each, the factors are multiplied from the left."""
    rows = graph.whole(rows)
    graph.refuse_beyond(8 * step.n_features_out_)
    terms = list(step._products())
    lengths = np.array([len(term) for term in terms])
    groups, order = [], []
    for length in np.unique(lengths).tolist():
        places = np.flatnonzero(lengths == length)
        order.append(places)
        if not length:
            groups.append(graph.columns_of(1.0, len(places)))
            continue
        factors = np.array([terms[k] for k in places.tolist()], np.int64)
        taken = [graph.add("Gather", rows.name, graph.constant(f, np.int64), axis=1) for f in factors.T]
        product = taken[0]
        for more in taken[1:]:
            product = graph.add("Mul", product, more)
        groups.append(product)
    name = graph.add("Concat", *groups, axis=1)
    back = np.argsort(np.concatenate(order))
    if np.any(back[1:] < back[:-1]):
        name = graph.add("Gather", name, graph.constant(back, np.int64), axis=1)
    return Tensor(name, len(terms))


MAPS: dict[type, Callable[[Graph, Any, Tensor], Tensor]] = {
    Bias: _bias,
    Scale: _scale,
    ScaleColumns: _scale_columns,
    Standardize: _standardize,
    DeltaTrick: _delta_trick,
    Polynomial: _polynomial,
}


def _answers(graph: Graph, learner: Any, rows: Tensor) -> dict[str, tuple[Any, list[Any]]]:
    """Add the predictions of a learner, and return the type and shape of each output."""
    types, known = graph.onnx.TensorProto, len(learner.classes_)
    labels, kind = _labels(learner.classes_)
    graph.refuse_beyond(8 * rows.width * known)
    _refuse_lost_weights(learner)
    if learner._binarizes_at is not None:
        above = graph.add("Greater", rows.name, graph.constant(learner._binarizes_at))
        rows = replace(rows, name=graph.add("Cast", above, to=types.DOUBLE))
    coef = learner.coef_
    coef = coef if isinstance(coef, np.ndarray) else coef.toarray()
    sums = graph.add("MatMul", rows.name, graph.constant(coef[:, : rows.width - rows.zeros].T))
    one = len(coef) == 1
    scores = graph.add("Add", sums, graph.constant(learner.intercept_), name=None if one else "scores")
    if one:
        graph.add("Squeeze", scores, graph.constant([1], np.int64), name="scores")
    if one and known == 2:
        above = graph.add("Greater", "scores", graph.constant(0.0))
        code = graph.add("Cast", above, to=types.INT64)
    else:
        code = graph.add("ArgMax", scores, axis=1, keepdims=0)
    graph.add("Gather", graph.constant(labels, kind), code, name="label")
    label = types.STRING if labels.dtype == object else graph.onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)
    outputs = {"label": (label, ["rows"]), "scores": (types.DOUBLE, ["rows"] if one else ["rows", known])}
    if learner._traits.exports_probabilities:
        _probabilities(graph, learner, scores)
        outputs["probabilities"] = types.DOUBLE, ["rows", known]
    return outputs


def _probabilities(graph: Graph, learner: Learner, scores: str) -> None:
    """Add what `predict_proba` returns; `scores` is a table even where it has one column."""
    known, result = len(learner.classes_), "probabilities"
    if known == 1:
        graph.add("Identity", graph.columns_of(1.0, 1), name=result)
    elif known == 2:
        one = graph.constant(1.0)
        signed = graph.add("Concat", scores, graph.add("Neg", scores), axis=1)
        graph.add("Div", one, graph.add("Add", one, graph.add("Exp", signed)), name=result)
    elif learner._fitted().pair:
        graph.add("Softmax", scores, axis=1, name=result)
    else:
        # ln(1 / (1 + e^-z)) = min(z, 0) - ln(1 + e^-|z|)
        small = graph.add("Exp", graph.add("Neg", graph.add("Abs", scores)))
        rest = graph.add("Log", graph.add("Add", graph.constant(1.0), small))
        logs = graph.add("Sub", graph.add("Min", scores, graph.constant(0.0)), rest)
        graph.add("Softmax", logs, axis=1, name=result)


def _labels(classes: Array) -> tuple[Array, Any]:
    """Return the labels in a type that ONNX has, and that type."""
    labels = np.array(classes.tolist()) if classes.dtype == object else classes
    if labels.dtype.kind == "U":
        for label in labels.tolist():
            try:
                label.encode()
            except UnicodeEncodeError:
                raise ParameterError(f"the label {label!r} has no form in UTF-8, which ONNX needs: rename it") from None
        return labels.astype(object), object
    if labels.dtype.kind not in "iufb" or labels.dtype.itemsize > 8:
        raise ParameterError(f"labels of type {labels.dtype} have no form in ONNX: use strings or numbers")
    return labels, labels.dtype


def _refuse_lost_weights(learner: Learner) -> None:
    """Raise a ValueError when weights that are not 0 are too small for float64 beside the others.

    Rows of such features alone are scored here by the sums that the weights are functions of, which ONNX does not have.
    """
    state = learner._readable().whole()
    link: Any = state.link
    if not isinstance(link, Imaged):
        return
    counts = np.ones_like(link.s, bool) if link.form == EXPONENTIAL else link.s != 0
    counts[-1] = state.bias != 0 and link.s[-1] != 0
    lost = int(np.count_nonzero((np.abs(state.scorer().weights()) < TINY) & counts))
    if lost:
        what = "power p" if link.form == P_NORM else "rate eta"
        raise ParameterError(
            f"{lost} weights of {type(learner).__name__} are less than 2^-1000 of all together, too small to be "
            f"exported as numbers: train with a smaller {what}"
        )
