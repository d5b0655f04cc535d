"""Save and load models."""

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linsep import __version__
from linsep.data.format import MOST_KNOWN, FewColumns, Format
from linsep.data.registry import FORMATS, format_class
from linsep.engine.arrays import Array
from linsep.models import archive
from linsep.models.archive import ModelError
from linsep.models.encode_estimators import decode_model, encode_model
from linsep.models.encoding import Decoder, Encoder, Foreign, Unmet
from linsep.validation.errors import ParameterError

PathLike = str | os.PathLike[str]
Kernels = Iterable[Callable[..., Any]]

LARGE, SPARSE = 1 << 26, 64
"""Of more columns than this, and more than so many times those known, there is no table: it would be mostly empty."""
OF_ONE_READING = ("cast", "before", "strict", "unseen")
"""Parts of a format's state that belong to one reading of data."""

REFUSED = (
    Foreign, KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, MemoryError, RecursionError,
)  # fmt: skip
"""Exceptions that a description raises which linsep did not write."""

__all__ = ["ModelError", "Saved", "load", "opened", "save"]


@dataclass(frozen=True)
class Saved:
    """Contents of a model file.

    Attributes
    ----------
    model : learner or Pipeline
        The model.
    form : Format or None
        Format of its training data, if the file records it: `linsep.read(new, like=saved)`.
    about : dict
        The notes given when the model was saved.
    version : str
        That of the linsep that wrote the file.
    """

    model: Any
    form: Format | None = None
    about: dict[str, Any] = field(default_factory=dict)
    version: str = __version__


def save(model: Any, path: PathLike, *, data: Any = None, about: dict[str, Any] | None = None) -> None:
    """Write a model to a file.

    The file holds everything needed to resume training and to predict: `load` returns a model that learns and predicts
    as this one would, to the bit. A failed or killed write leaves the old file whole; saving changes no model.

    Parameters
    ----------
    model : a fitted learner, or a Pipeline of linsep's maps (and TextHasher, TextCounter) and a fitted learner
        The model to save; a rule of one's own is saved by its name and numbers, a kernel of one's own by its name.
    path : path
        The file; by custom it ends in ".linsep".
    data : Dataset or Stream, optional
        Training data: the file then records how they were read, so that
        `linsep.read(new, like=linsep.load(path))` reads new data into the same columns.
    about : dict, optional
        Metadata of the model: plain values.

    Examples
    --------
    >>> import tempfile, linsep
    >>> clf = linsep.Perceptron(shuffle=False).fit([[0, 1], [1, 0], [2, 1], [1, 2]], ["no", "yes", "yes", "no"])
    >>> path = tempfile.mkdtemp() + "/model.linsep"
    >>> linsep.save(clf, path)
    >>> linsep.load(path).predict([[3, 0]])
    array(['yes'], dtype='<U3')
    """
    to = Encoder()
    try:
        meta = {
            "version": __version__,
            "model": encode_model(model, to),
            "form": _encode_form(_form_of(model, data), model, to),
            "about": to.value({} if about is None else about, "about"),
        }
        read_back = json.loads(json.dumps(meta, allow_nan=False))
    except RecursionError:
        raise ParameterError("about= is nested too deeply for a file: use fewer levels") from None
    try:
        _decoded(read_back, to.decoder())
    except REFUSED as error:
        raise ParameterError(
            f"the model can't be saved as it is, since load would refuse it: {_reason(error)}"
        ) from None
    archive.write(path, meta, to.arrays)


def load(path: PathLike, *, rules: Iterable[type] = (), kernels: Kernels = ()) -> Any:
    """Return the model of a file that :func:`save` wrote; nothing in it is executed.

    Parameters
    ----------
    path : path
        The file.
    rules : rules of one's own, optional
        Classes that a learner was saved with: a file holds their names and numbers alone.
    kernels : functions of one's own, optional
        Functions that a KernelPerceptron was saved with: a file holds their names alone.

    Returns
    -------
    learner or Pipeline
        If the file has the reader of the training data, `linsep.read(new, like=model)` reads new data with it.

    Raises
    ------
    ModelError
        If the file is cut off, damaged, foreign, or of a newer linsep.
    """
    return opened(path, rules=rules, kernels=kernels).model


def opened(path: PathLike, *, rules: Iterable[type] = (), kernels: Kernels = (), only_predicts: bool = False) -> Saved:
    """Return the model, the reader and the metadata of a file.

    If `only_predicts`, rules of the user's own need not be given: the model must not be trained or saved.
    """
    about, arrays = archive.read(path)
    decoder = Decoder(arrays, _by_name(rules, "rules"), _by_name(kernels, "kernels"), only_predicts=only_predicts)
    try:
        return _decoded(about, decoder)
    except Unmet as error:
        raise ModelError(path, f"{error!s:.300}") from None
    except REFUSED as error:
        raise ModelError(path, f"invalid content, though its checksums match: {_reason(error)}") from None


def _decoded(meta: dict[str, Any], of: Decoder) -> Saved:
    """Return what a description and its arrays represent, all of it checked."""
    model, form = decode_model(meta["model"], of), _decode_form(meta["form"], of)
    saved = Saved(model, form, of.value(meta["about"]), meta["version"])
    if [type(saved.version), type(saved.about)] != [str, dict]:
        raise Foreign("its metadata are not a version and a dict")
    if form is not None:
        if form.width != width_of(model):
            raise Foreign(f"its data have {form.width} columns, and its model {width_of(model)} features")
        model.form_ = form
    return saved


def _reason(error: Exception) -> str:
    return f"{error!s:.200}" if isinstance(error, Foreign) else f"{type(error).__name__}: {error!s:.100}"


def _by_name(given: Iterable[Any], what: str) -> dict[str, Any]:
    """Return classes or functions by their names."""
    given = list(given)
    for of in given:
        if not hasattr(of, "__name__"):
            raise TypeError(f"{what}={given!r:.60} has {of!r:.60}, which has no name: give the class, or a def")
    return {of.__name__: of for of in given}


def width_of(model: Any) -> int:
    """Return the columns of the data that a model takes; -1 where it takes documents."""
    return int(getattr(model, "n_features_in_", -1))


def _form_of(model: Any, data: Any) -> Format | None:
    """Return how to read data like those that a model was trained on, if that is known.

    The stored format no longer applies once the model was trained on data of another width.
    """
    if data is None:
        form = getattr(model, "form_", None)
        return form if form is not None and form.width == width_of(model) else None
    form = getattr(data, "form", None)
    if form is None or getattr(data, "block", False):
        raise TypeError(f"data= takes a data set or a stream that linsep read, all of it; got {type(data).__name__}")
    return form.like(data.seen_columns, strict=False)


def _encode_form(form: Format | None, model: Any, to: Encoder) -> Any:
    if form is None:
        return None
    if form.width != width_of(model):
        raise ParameterError(f"data= has {form.width} columns, but the model takes {width_of(model)} features")
    to.text(lasting_state(form), "form")
    known = _known(form)
    if known.all():
        return {"format": form.name, "known": "all"}
    listed = (known.listed if isinstance(known, FewColumns) else np.flatnonzero(known)).astype(np.uint32)
    as_bits = listed.nbytes > len(known) // 8
    to.arrays["form.known"] = np.packbits(np.asarray(known)) if as_bits else listed
    return {"format": form.name, "known": "bits" if as_bits else "list"}


def lasting_state(form: Format) -> dict[str, Any]:
    """Return what of a form's state other data are read by, without what belongs to one reading."""
    return {name: value for name, value in form.state().items() if name not in OF_ONE_READING}


def same_form(one: Format | None, other: Format | None) -> bool:
    """Return whether two forms read data into the same columns."""
    if one is None or other is None:
        return one is other
    if one.name != other.name or lasting_state(one) != lasting_state(other):
        return False
    if one.known is other.known:
        return True
    mine, theirs = _known(one), _known(other)
    if isinstance(mine, FewColumns) and isinstance(theirs, FewColumns):
        return len(mine) == len(theirs) and np.array_equal(mine.listed, theirs.listed)
    return len(mine) == len(theirs) and np.array_equal(np.asarray(mine), np.asarray(theirs))


def _known(form: Format) -> Array | FewColumns:
    return np.broadcast_to(np.True_, form.width) if form.known is None else form.known


def _decode_form(meta: Any, decoder: Decoder) -> Format | None:
    if meta is None:
        return None
    if meta["format"] not in FORMATS:
        raise Foreign(f"its data were in the format {meta['format']!r:.40}, which does not exist")
    form: Format = format_class(meta["format"]).restored(decoder.text("form"))
    width = form.width
    if type(width) is not int or not 0 <= width <= MOST_KNOWN:
        raise Foreign(f"its data have {width!r:.20} columns")
    if meta["known"] == "all":
        form.known = np.broadcast_to(np.True_, width)
        return form
    if meta["known"] == "bits":
        form.known = np.unpackbits(decoder.array("form.known", (np.uint8,), (-(-width // 8),)), count=width).view(bool)
    else:
        listed = decoder.array("form.known", (np.uint32,), (None,))
        if np.any(listed[1:] <= listed[:-1]):
            raise Foreign("its list of known columns is empty, or not in order")
        if len(listed) and listed[-1] >= width:
            raise Foreign(f"its list of known columns has one beyond the {width:,} that there are")
        form.known = FewColumns(listed, width)
        if width <= max(LARGE, SPARSE * len(listed)):
            form.known = np.asarray(form.known)
    return form
