"""Export models as ONNX, with standard operators only."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from linsep import __version__
from linsep.engine.arrays import Array
from linsep.engine.atomic_write import atomic_write
from linsep.engine.data_kinds import Csr
from linsep.engine.links import EXPONENTIAL, P_NORM, TINY, Imaged
from linsep.estimators.base.learner import Learner
from linsep.estimators.base.voter import LINEAR
from linsep.estimators.calibration import has_relative_scores
from linsep.kernels.functions import Linear, RadialBasis
from linsep.kernels.functions import Polynomial as PolynomialKernel
from linsep.models.named_weights import weighing_learner
from linsep.models.pipelines import is_calibrated, last_of, learner_of, maps_before
from linsep.solvers.calibration import Isotonic, Platt, Temperature
from linsep.transforms import Bias, DeltaTrick, Polynomial, Scale, ScaleColumns, Standardize
from linsep.validation.errors import ParameterError

OPSET, IR = 17, 8
"""Operators and form of the file: of 2022, which runtimes since then read."""
INPUTS = {"float64": "DOUBLE", "float32": "FLOAT"}
"""The types of the input, by their names in ONNX."""
LARGEST = (1 << 31) - (1 << 16)
"""Bytes of constants that a file can hold: protobuf ends at 2 GiB."""


def export_onnx(
    model: Any, path: str | os.PathLike[str] | None = None, *, dtype: Literal["float64", "float32"] = "float64",
    names: Sequence[Any] | None = None,
) -> Any:  # fmt: skip
    """Return a fitted learner, or a pipeline of linsep's maps and a learner, as an ONNX model, and write it if asked.

    The input is "X", (rows, features), any number of rows. The outputs are "label", (rows,), of the type of
    `classes_`; "scores", as `decision_function` has them; and for logistic regression and calibrated learners
    "probabilities", (rows, classes).
    All is computed in float64: scores differ from ours by the rounding of sums in another order, and not at all where
    sums are exact. What is refused here, such as NaN or scores beyond float64, ONNX lets through.

    Parameters
    ----------
    model : learner, or scikit-learn Pipeline
        Any learner of linsep that predicts with weights, or with those of rows (`KernelPerceptron` with a linear
        readout such as "average"), calibrated or not, alone or after maps: Polynomial, Bias, Scale, ScaleColumns,
        Standardize, DeltaTrick.
    path : path, optional
        Path of the file; an old file there is whole until the new one is.
    dtype : "float64" or "float32", default="float64"
        The type of the input. Scores are float64 in any case: float32 rows have the scores that they have here.
    names : sequence, optional
        The names of the features, which the file states as JSON in its property "feature_names". Default:
        `feature_names_in_`, where the model has it.

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
    fitted = last_of(model)
    learner = _learner_of(fitted)
    maps = maps_before(model)
    for name, step in maps:
        if type(step) not in MAPS:
            raise TypeError(
                f"the step {name!r} is a {type(step).__name__}, which is not exported: export {type(learner).__name__} "
                "alone, and do that step before"
            )
    graph = Graph(_import())
    width = (maps[0][1] if maps else learner).n_features_in_
    if dtype not in INPUTS:
        raise ParameterError(f"dtype={dtype!r}: the input is {' or '.join(map(repr, INPUTS))}")
    names = getattr(model, "feature_names_in_", None) if names is None else names
    if names is not None and len(names) != width:
        raise ParameterError(f"names has {len(names)} names, and the model takes {width} features")
    rows = Tensor("X", int(width))
    if dtype == "float32":
        rows = replace(rows, name=graph.add("Cast", "X", to=graph.onnx.TensorProto.DOUBLE))
    for _, step in maps:
        rows = MAPS[type(step)](graph, step, rows)
    outputs = _predictions(graph, learner, rows, fitted if is_calibrated(model) else None)
    properties = {"learner": type(learner).__name__}
    if names is not None:
        properties["feature_names"] = json.dumps([str(name) for name in names])
    proto = graph.model(int(width), outputs, properties, dtype)
    if path is not None:
        with atomic_write(path) as draft:
            graph.onnx.save_model(proto, draft)
    return proto


def _learner_of(fitted: Any) -> Any:
    """Return the learner whose scores a file computes; raise a TypeError if it has none that ONNX can compute."""
    if not is_calibrated(fitted):
        learner = learner_of(fitted)
        return learner if _has_row_weights(learner) else weighing_learner(fitted)
    if fitted.ensemble:
        raise TypeError(
            "the probabilities of an ensemble are means of several learners, which one ONNX file does not hold: export "
            "each of members_, or fit with ensemble=False"
        )
    learner = fitted._fitted()
    if not isinstance(learner, Learner):
        raise TypeError(f"the calibrated {type(learner).__name__} is not exported: calibrate a learner of linsep")
    return learner if _has_row_weights(learner) else weighing_learner(learner)


def _has_row_weights(learner: Any) -> bool:
    """Return whether a learner's scores are sums over the rows that it keeps; refuse what ONNX has no operators for."""
    if not (isinstance(learner, Learner) and learner._traits.weights_of_rows):
        return False
    state: Any = learner._fitted()
    kernel = state.history.kernel
    if not isinstance(kernel, (Linear, PolynomialKernel, RadialBasis)):
        raise TypeError(
            f"ONNX has no operator for the kernel {learner.kernel!r}: use 'linear', 'poly' or 'rbf', or keep the model "
            "with save"
        )
    if learner.readout not in LINEAR:
        raise TypeError(
            f"the {learner.readout} asks every hypothesis of the run, and ONNX files hold the sums of one: set "
            'readout="average" or "last" first'
        )
    return True


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

    def model(
        self, width: int, outputs: dict[str, tuple[Any, list[Any]]], properties: dict[str, str], dtype: str
    ) -> Any:
        """Return the ONNX model; `outputs` has the type and shape of each output."""
        helper, kind = self.onnx.helper, getattr(self.onnx.TensorProto, INPUTS[dtype])
        outputs_info = [helper.make_tensor_value_info(name, *kind) for name, kind in outputs.items()]
        table = helper.make_tensor_value_info("X", kind, ["rows", width])
        graph = helper.make_graph(self.nodes, "linsep", [table], outputs_info, self.constants)
        version = helper.make_opsetid("", OPSET)
        proto = helper.make_model(graph, opset_imports=[version], ir_version=IR, producer_name="linsep")
        proto.producer_version = __version__
        helper.set_model_props(proto, properties)
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


def _predictions(graph: Graph, learner: Any, rows: Tensor, calibrated: Any) -> dict[str, tuple[Any, list[Any]]]:
    """Add the predictions of a learner, calibrated if given; return the type and shape of each output."""
    types, known = graph.onnx.TensorProto, len(learner.classes_)
    labels, kind = _labels(learner.classes_)
    if learner._traits.weights_of_rows:
        sums, one = _kernel_scores(graph, learner, rows)
        scores = graph.add("Identity", sums, name=None if one else "scores")
    else:
        scores, one = _linear_scores(graph, learner, rows)
    if one:
        graph.add("Squeeze", scores, graph.constant([1], np.int64), name="scores")
    if one and known == 2:
        above = graph.add("Greater", "scores", graph.constant(0.0))
        code = graph.add("Cast", above, to=types.INT64)
    else:
        code = graph.add("ArgMax", scores, axis=1, keepdims=0)
    if calibrated is not None and known > 1:
        code = _calibrated(graph, calibrated, scores, code)
    elif calibrated is not None:
        graph.add("Identity", graph.columns_of(1.0, 1), name="probabilities")
    elif learner._traits.exports_probabilities:
        _probabilities(graph, learner, scores)
    graph.add("Gather", graph.constant(labels, kind), code, name="label")
    label = types.STRING if labels.dtype == object else graph.onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)
    outputs = {"label": (label, ["rows"]), "scores": (types.DOUBLE, ["rows"] if one else ["rows", known])}
    if calibrated is not None or learner._traits.exports_probabilities:
        outputs["probabilities"] = types.DOUBLE, ["rows", known]
    return outputs


def _linear_scores(graph: Graph, learner: Any, rows: Tensor) -> tuple[str, bool]:
    """Add the scores by weights of features, as a table; return also whether it has one column."""
    graph.refuse_beyond(8 * rows.width * len(learner.classes_))
    _refuse_lost_weights(learner)
    if learner._binarizes_at is not None:
        above = graph.add("Greater", rows.name, graph.constant(learner._binarizes_at))
        rows = replace(rows, name=graph.add("Cast", above, to=graph.onnx.TensorProto.DOUBLE))
    coef = learner.coef_
    coef = coef if isinstance(coef, np.ndarray) else coef.toarray()
    sums = graph.add("MatMul", rows.name, graph.constant(coef[:, : rows.width - rows.zeros].T))
    one = len(coef) == 1
    return graph.add("Add", sums, graph.constant(learner.intercept_), name=None if one else "scores"), one


def _kernel_scores(graph: Graph, learner: Any, rows: Tensor) -> tuple[str, bool]:
    """Add the sums over the rows that a learner keeps, each times its kernel value; see `linsep.kernels.functions`."""
    rows = graph.whole(rows)
    state: Any = learner._fitted()
    dual = learner.dual_coef_
    kernel, support = state.history.kernel, state.history.support
    graph.refuse_beyond(0 if support is None else 8 * len(support) * rows.width)
    kept = np.zeros((0, rows.width)) if support is None else dense_of(support.rows(), rows.width)
    # Factors are multiplied into the rows kept: onnxruntime would merge a product with a number into that with a table.
    factor = -2.0 if isinstance(kernel, RadialBasis) else float(getattr(kernel, "gamma", 1.0))
    values = graph.add("MatMul", rows.name, graph.constant(factor * kept.T))
    if isinstance(kernel, RadialBasis):
        own = graph.add("ReduceSum", graph.add("Mul", rows.name, rows.name), graph.constant([1], np.int64), keepdims=1)
        squares = graph.add("Add", graph.add("Add", values, own), graph.constant(np.sum(kept * kept, axis=1)))
        apart = graph.add("Max", squares, graph.constant(0.0))
        values = graph.add("Exp", graph.add("Mul", apart, graph.constant(-float(kernel.gamma))))
    elif isinstance(kernel, PolynomialKernel):
        base = values = graph.add("Add", values, graph.constant(float(kernel.coef0)))
        for _ in range(kernel.degree - 1):
            values = graph.add("Mul", values, base)
    values = graph.add("Add", values, graph.constant(float(kernel.bias) ** 2))
    return graph.add("MatMul", values, graph.constant(dual.T)), len(dual) == 1


def dense_of(data: Any, width: int) -> Array:
    """Return rows as a table of float64."""
    if isinstance(data, Csr):
        return sp.csr_array((data.values, data.indices, data.indptr), shape=(data.n_rows, width)).toarray()
    return np.asarray(data.values, np.float64)


def _calibrated(graph: Graph, model: Any, scores: str, own: str) -> str:
    """Add the calibrated probabilities, and return the code of the most probable class: the learner's own at a tie."""
    known, maps = len(model.classes_), model.calibration_
    one = graph.constant(1.0)
    if known > 2 and isinstance(maps[0], Temperature):
        best = graph.add("ReduceMax", scores, axes=[1], keepdims=1)
        below = graph.add("Mul", graph.add("Sub", scores, best), graph.constant(maps[0].slope))
        graph.add("Softmax", below, axis=1, name="probabilities")
    elif known == 2:
        second = _map(graph, maps[0], scores)
        graph.add("Concat", graph.add("Sub", one, second), second, axis=1, name="probabilities")
    else:
        apart = _set_apart(graph, scores, known) if has_relative_scores(model.estimator_) else scores
        columns = [
            _map(graph, of, graph.add("Gather", apart, graph.constant([c], np.int64), axis=1))
            for c, of in enumerate(maps)
        ]
        each = graph.add("Concat", *columns, axis=1)
        total = graph.add("ReduceSum", each, graph.constant([1], np.int64), keepdims=1)
        none = graph.add("Equal", total, graph.constant(0.0))
        each = graph.add("Where", none, one, each)
        graph.add("Div", each, graph.add("Where", none, graph.constant(float(known)), total), name="probabilities")
    most = graph.add("ReduceMax", "probabilities", axes=[1], keepdims=0)
    column = graph.add("Unsqueeze", own, graph.constant([1], np.int64))
    mine = graph.add("GatherElements", "probabilities", column, axis=1)
    tied = graph.add("Equal", graph.add("Squeeze", mine, graph.constant([1], np.int64)), most)
    first = graph.add("ArgMax", "probabilities", axis=1, keepdims=0)
    return graph.add("Where", tied, own, first)


def _map(graph: Graph, of: Any, column: str) -> str:
    """Add the probabilities of one column of scores."""
    if isinstance(of, Isotonic):
        if len(of.x) == 1:
            return graph.add("Add", graph.add("Mul", column, graph.constant(0.0)), graph.constant(of.y[0]))
        widths = np.diff(of.x)
        above = graph.add("Max", graph.add("Sub", column, graph.constant(of.x[:-1])), graph.constant(0.0))
        within = graph.add("Min", graph.add("Div", above, graph.constant(widths)), graph.constant(1.0))
        rise = graph.add("MatMul", within, graph.constant(np.diff(of.y)[:, None]))
        low = graph.add("Max", graph.add("Add", rise, graph.constant(of.y[0])), graph.constant(0.0))
        return graph.add("Min", low, graph.constant(1.0))
    turned = graph.add("Mul", column, graph.constant(-of.slope))
    if isinstance(of, Platt):
        turned = graph.add("Sub", turned, graph.constant(of.offset))
    one = graph.constant(1.0)
    return graph.add("Div", one, graph.add("Add", one, graph.add("Exp", turned)))


def _set_apart(graph: Graph, scores: str, known: int) -> str:
    """Add by how much each class's score is above the best of the others."""
    top = f"{graph.add('Identity', scores)}_top"
    graph.nodes.append(
        graph.onnx.helper.make_node("TopK", [scores, graph.constant([2], np.int64)], [top, f"{top}_places"], axis=1)
    )
    first, second = (graph.add("Gather", top, graph.constant([k], np.int64), axis=1) for k in (0, 1))
    return graph.add("Sub", scores, graph.add("Where", graph.add("Equal", scores, first), second, first))


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
