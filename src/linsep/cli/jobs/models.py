"""A saved or trained model: its name, its facts beside the weights, and its strongest features."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin

import linsep
from linsep.cli.errors import UsageError
from linsep.engine.arrays import Array
from linsep.estimators.base.voter import Voter
from linsep.evaluation.scoring import shown
from linsep.models.contributions import weights_view
from linsep.models.pipelines import last_of, learner_of
from linsep.models.save_load import Saved, opened


class Strongest(NamedTuple):
    """Features that favour a class, the strongest first: their columns, and weights above 0."""

    label: Any
    columns: Array
    weights: Array


def readout_name(model: Any) -> str | None:
    """Return which weights of a voter predict; None of learners that have no others.

    >>> import linsep
    >>> readout_name(linsep.VotedPerceptron(readout="last", normalize=True)), readout_name(linsep.Perceptron())
    ('the last, normalised', None)
    """
    learner = learner_of(model)
    if not isinstance(learner, Voter):
        return None
    return f"the {learner.readout}{', normalised' if learner.normalize else ''}"


def strongest(model: Any, top: int, label: str | None = None) -> list[Strongest]:
    """Return the strongest features of each class; with a label, those for it and those against it.

    There are none where the learner's weights are not written out.

    >>> import linsep
    >>> clf = linsep.Perceptron(shuffle=False).fit([[0, 1], [1, 0], [2, 1], [1, 2]], ["no", "yes", "yes", "no"])
    >>> [(part.label, part.columns.tolist(), part.weights.tolist()) for part in strongest(clf, 5)]
    [('no', [1], [1.0]), ('yes', [0], [1.0])]
    """
    learner = weights_view(learner_of(model))
    if learner is None:
        if label is not None:
            raise UsageError(f"--class: the weights of {type(learner_of(model)).__name__} are not written out")
        return []
    classes, coef = learner.classes_, learner.coef_
    if len(classes) > 2 and learner._traits.counts_rows:
        coef = coef - coef.mean(axis=0)  # logarithms of probabilities, all below 0: what counts is how they differ
    labels = classes.tolist()
    if label is not None:
        code = _code_of(label, classes)
        row, sign = (0, 1 if code else -1) if len(classes) == 2 else (code, 1)
        return [
            Strongest(f"for {label}", *_largest(coef, row, sign, top)),
            Strongest(f"against {label}", *_largest(coef, row, -sign, top)),
        ]
    if len(classes) == 2:
        return [Strongest(labels[k], *_largest(coef, 0, sign, top)) for k, sign in ((0, -1), (1, 1))]
    return [Strongest(labels[k], *_largest(coef, k, 1, top)) for k in range(coef.shape[0])]


def _code_of(label: str, classes: Array) -> int:
    """Return the number of a class that is called by its text."""
    for code, known in enumerate(classes.tolist()):
        if str(known) == label:
            return code
    raise UsageError(f"there is no class {label!r}: the model knows {shown(classes)}")


def _largest(coef: Any, row: int, sign: int, top: int) -> tuple[Array, Array]:
    """Return the columns of the largest weights above 0 of a row, times a sign, and the weights."""
    if hasattr(coef, "indptr"):
        part = slice(coef.indptr[row], coef.indptr[row + 1])
        columns, weights = coef.indices[part], sign * coef.data[part]
    else:
        columns, weights = np.arange(coef.shape[1]), sign * coef[row]
    some = np.flatnonzero(weights > 0)  # partitioning is slow where most are equal
    columns, weights = columns[some], weights[some]
    chosen = np.argpartition(weights, len(weights) - top)[-top:] if len(weights) > top else np.arange(len(weights))
    chosen = chosen[np.lexsort((chosen, -weights[chosen]))]
    return columns[chosen], weights[chosen]


def opened_classifier(path: Path, only_predicts: bool = True) -> Saved:
    """Return what a model file holds; a regression is refused.

    A model that only predicts may have been trained by a rule of the user's own.
    """
    saved = opened(path, only_predicts=only_predicts)
    if isinstance(last_of(saved.model), RegressorMixin):
        raise UsageError(f"{path} predicts numbers, and the commands take classifiers: use linsep.load in Python")
    return saved


def name_of(model: Any) -> str:
    """Return a learner's name in the table, or that of its class.

    >>> name_of(linsep.PNormPerceptron())
    'p-norm-perceptron'
    """
    kind = type(learner_of(model))
    return next((name for name, entry in linsep.LEARNERS.items() if entry.learner is kind), kind.__name__)


AT_ONCE = "all rows at once"
"""The order in which a solver learns."""
MIXED = {"uniform": "mixed evenly", "rows": "mixed by their rows", "mistakes": "mixed by their mistakes"}
HIDDEN = {"open_labels", "rows", "cause", "draws"}
"""Facts that are omitted: for machines, or shown in other words."""
READOUT_NAMES = {
    "vote": "vote", "plurality": "vote", "average": "average", "random": "random hypothesis",
    "longest": "longest-lived hypothesis",
}  # fmt: skip
"""Descriptions of the readouts of learners that keep the rows of their updates."""
SUPPORT, BYTES = "n_support", "support_bytes"
"""The number of rows that a voter keeps, and the memory that they take."""


def solver_facts(learner: Any) -> dict[str, Any]:
    """Return what a solver found, as far as it is a number or a sentence, and no parameter's echo; what voters keep."""
    known = {name.strip("_"): getattr(learner, name) for name in learner._facts if name in vars(learner)}
    hidden = HIDDEN | set(learner.get_params(deep=False)) - {"solver"}
    kept = {of: getattr(learner, f"{of}_") for of in (SUPPORT, BYTES) if hasattr(learner, f"{of}_")}
    found = {of: fact for of, fact in known.items() if of not in hidden and isinstance(fact, (bool, int, float, str))}
    return found | kept


def progressive_of(learner: Any, sharded: bool) -> str | None:
    """Return whose predictions the progressive error counts; None if those of what predicts.

    >>> from linsep import AveragedPerceptron, VotedPerceptron
    >>> progressive_of(VotedPerceptron(), False), progressive_of(VotedPerceptron(readout="last"), False)
    ('the last weights, not the vote', None)
    >>> progressive_of(AveragedPerceptron(), True)
    'the last weights of each shard, not the mix'
    """
    if sharded:
        return "the last weights of each shard, not the mix"
    asked = getattr(learner, "readout", "last") if hasattr(learner, "max_support") else "last"
    return None if asked == "last" else f"the last weights, not the {READOUT_NAMES[asked]}"


def facts_in_words(facts: dict[str, Any]) -> dict[str, str]:
    """Return facts as a person reads them.

    >>> facts_in_words({"separable": True, "margin_bound": 0.000123456, "verdict": "not separable"})
    {'separable': 'yes', 'margin bound': '0.000123', 'verdict': 'not separable'}
    >>> facts_in_words({"n_support": 1200, "support_bytes": 96_000})
    {'rows kept': '1,200, which made mistakes; 96 kB'}
    """
    from linsep.cli.terminal.output import size

    texts = {name.replace("_", " "): _written(fact) for name, fact in facts.items() if name not in (SUPPORT, BYTES)}
    if SUPPORT in facts:
        texts["rows kept"] = f"{facts[SUPPORT]:,}, which made mistakes; {size(facts[BYTES])}"
    return texts


def _written(fact: Any) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return fact if isinstance(fact, str) else f"{fact:.3g}"


def shards_of(learner: Any) -> dict[str, Any] | None:
    """Return what was mixed, in how many epochs, and the mistakes weighted by shard; None if nothing was mixed."""
    mixes = getattr(learner, "mixes_", None)
    if mixes is None:
        return None
    return {
        "shards": int(mixes.shards.max()) + 1,
        "mixing": learner.mixing,
        "epochs": len(set(mixes.epochs.tolist())),
        "mixed_mistakes": float(mixes.mixed_mistakes[-1].sum()),
    }
