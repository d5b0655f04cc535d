"""Pages of the API reference: one for each public name, and an index of them."""

import re
from importlib import import_module
from inspect import isclass

import linsep
from linsep.estimators.registry import LEARNERS

TOPICS = {
    "Learners that train row by row": [entry.name for entry in LEARNERS.values() if entry.online]
    + ["OnlineClassifier", "linsep.estimators.base.online.OnlineLearner"],
    "Learners that solve for all rows at once": [entry.name for entry in LEARNERS.values() if not entry.online],
    "Regression": ["PassiveAggressiveRegressor", "LeastSquaresRegression"],
    "Explanations": ["explain"],
    "Probabilities": ["CalibratedClassifier", "brier_score"],
    "Certificates": ["certify", "verify", "Certificate", "CertificateError"],
    "Data": [
        "read", "stream", "convert", "linsep.data.dataset.Dataset", "linsep.data.streaming.Stream", "TextCounter",
        "TextHasher", "DataError",
    ],
    "Model files": ["save", "load", "merge", "export_csv", "export_json", "export_onnx", "ModelError"],
}  # fmt: skip
"""Names of `linsep` by topic; a name that no topic has is listed under "Other names"."""
MODULES = (
    "linsep.transforms", "linsep.rules", "linsep.kernels.functions", "linsep.plots", "linsep.plots.notes",
    "linsep.theory", "linsep.theory.bounds", "linsep.theory.risk", "linsep.distributed", "linsep.compat",
)  # fmt: skip
"""Modules whose public names have pages as well."""
ERRORS = ("linsep.validation.errors.ParameterError", "linsep.validation.errors.InvalidDataError")
STOP = "BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, tuple, ValueError, Exception"
"""Classes whose methods a page does not repeat."""
OTHERS = "get_metadata_routing, set_fit_request, set_partial_fit_request, set_score_request, set_output"
"""Methods that scikit-learn adds to each class."""


def names_of(module):
    """Return the public names of a module: `__all__`, or what the module defines itself."""
    loaded = import_module(module)
    if hasattr(loaded, "__all__"):
        return sorted(loaded.__all__)
    values = {name: value for name, value in vars(loaded).items() if not name.startswith("_")}
    return [name for name, value in values.items() if getattr(value, "__module__", None) == module]


def topics():
    """Return the full names of all that has a page, by topic."""
    listed = {topic: [name if "." in name else f"linsep.{name}" for name in names] for topic, names in TOPICS.items()}
    known = {name for names in listed.values() for name in names}
    rest = [f"linsep.{name}" for name in linsep.__all__ if f"linsep.{name}" not in known]
    listed |= {f"`{module}`": [f"{module}.{name}" for name in names_of(module)] for module in MODULES}
    return listed | {"Other names": [*rest, *ERRORS]}


def found(name):
    """Return the object of a full name."""
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def page_of(name):
    """Return the page of one name."""
    title = name.rpartition(".")[2]
    heading = f"{title}\n{'=' * len(title)}\n\n"
    value = found(name)
    if name in TABLES:
        rows = [f"   * - ``{key}``\n     - :doc:`{kind.__name__} <{where}>`" for key, kind, where in rows_of(name)]
        return f"{heading}.. py:data:: {name}\n\n   {TABLES[name]}\n\n.. list-table::\n\n" + "\n".join(rows) + "\n"
    if isclass(value):
        return (
            f"{heading}.. autoclass:: {name}\n   :members:\n   :inherited-members: {STOP}\n"
            f"   :exclude-members: {OTHERS}\n"
        )
    return f"{heading}.. autofunction:: {name}\n"


def rows_of(table):
    """Return the keys of a table, their classes and the pages of the classes."""
    for key, entry in found(table).items():
        kind = entry if isclass(entry) else entry.learner
        yield key, kind, f"{table.rpartition('.')[0]}.{kind.__name__}"


def summary(name):
    """Return the first line of a docstring, as reStructuredText."""
    value = found(name)
    text = TABLES.get(name) or (value.__doc__ or "").strip()
    return " ".join(escaped([text.partition("\n\n")[0].replace("\n", " ")])[0].split())


TABLES = {
    "linsep.LEARNERS": "The table of all learners by the names of the command line.",
    "linsep.transforms.MAPS": "The table of all feature maps by the names of the command line.",
}
"""What a table is; its docstring belongs to the module."""


def pages():
    """Return the text of each page by its file name."""
    made = {}
    index = ["API", "===", "", "Every public name has a page. Names without a module are imported from ``linsep``.", ""]
    for topic, names in topics().items():
        heading = topic.replace("`", "``")
        index += [heading, "-" * len(heading), "", ".. list-table::", "   :widths: 30 70", "   :class: api", ""]
        for name in names:
            shown = name.rpartition(".")[2]
            index += [f"   * - :doc:`{shown} <{name}>`", f"     - {summary(name)}"]
            made[f"{name}.rst"] = page_of(name)
        index += ["", ".. toctree::", "   :hidden:", "", *(f"   {name}" for name in names), ""]
    return made | {"index.rst": "\n".join(index)}


def escaped(lines):
    r"""Escape the characters of plain text that reStructuredText takes for markup.

    >>> escaped(["R² ||u||² of `coef_` and coef_, a * b", ">>> a * b", "2"])
    ['R² \\|\\|u\\|\\|² of `coef_` and coef\\_, a \\* b', '>>> a * b', '2']
    """
    result, example = [], False
    for line in lines:
        example = line.strip().startswith(">>>") or (example and bool(line.strip()))
        parts = [line] if example else re.split(r"(``.+?``|:\w+:`[^`]+`|`[^`]+`|^\s*[\w*, ]+ : )", line)
        for k in range(0, len(parts) if not example else 0, 2):
            plain = re.sub(r"([|*])", r"\\\1", re.sub(r"(?<=\w)_(?!\w)", r"\_", parts[k]))
            parts[k] = f"\\ {plain}" if k and parts[k - 1].endswith("`") and re.match(r"\w", plain) else plain
        result.append("".join(parts))
    return result
