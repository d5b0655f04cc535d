"""The learner that `linsep fit` trains: a new one, or that of a model to continue with."""

from pathlib import Path
from typing import Any

from linsep.cli.errors import UsageError
from linsep.cli.jobs.models import name_of, opened_classifier
from linsep.cli.options.common import LearnerOptions, learner_from, maps_from
from linsep.cli.options.learners import described
from linsep.data.registry import detected_format
from linsep.data.sources import sources_of
from linsep.estimators.base.learner import Learner
from linsep.estimators.base.online import OnlineLearner
from linsep.estimators.base.voter import Voter
from linsep.models.pipelines import is_calibrated, is_pipeline, learner_of
from linsep.models.save_load import Saved

HASHED = ("alternate_sign", "n_features", "keep_names")
"""Options that speak of hashed words."""


def choose_learner(options: LearnerOptions, resume: Path | None, stream: bool) -> tuple[Learner, int, Saved | None]:
    """Return the learner to train, new or resumed, for how many epochs, and the model that it is resumed from."""
    parameters = {name: value for name, value in options.parameters.items() if name != "n_jobs"}
    if stream and "shuffle" in parameters:
        raise UsageError("--stream learns rows in the order of the files: leave out --shuffle")
    saved, learner = None, None
    if resume is None:
        learner = learner_from(options.learner, parameters)
    else:
        saved, learner = _resume(options, resume, parameters, stream)
    if stream and resume is None and "solver" not in parameters:
        solver = described(options.learner).get("solver")
        if solver is not None and "stream" in solver.choices:
            learner.set_params(solver="stream")
    if stream and not hasattr(learner, "partial_fit"):
        raise UsageError(f"{_full_name(learner)} sees all rows at once: leave out --stream")
    if stream and (parameters.get("max_iter") or 1) > 1 and not isinstance(learner, OnlineLearner):
        raise UsageError("--stream adds each row to the sums once: leave out --epochs")
    known = learner.get_params(deep=False)
    if stream and "log" in known and "log" not in parameters and resume is None and not isinstance(learner, Voter):
        learner.set_params(log=False)  # it would grow with the stream
    epochs = (parameters.get("max_iter") or 1) if stream else getattr(learner, "_most_epochs", 1)
    shards = _shards(learner, parameters, resume, stream)
    threads = options.parameters.get("n_jobs", -1) if shards else 1  # without shards, a watched training has one
    return learner.set_params(n_jobs=threads) if "n_jobs" in known else learner, epochs, saved


def _shards(learner: Any, parameters: dict[str, Any], resume: Path | None, stream: bool) -> int | None:
    """Return the shards that rows are learned in; refuse what is not for shards."""
    shards: int | None = getattr(learner, "shards", None)
    if shards is None:
        if "mixing" in parameters:
            raise UsageError("--mixing needs shards: add --shards N")
        return None
    if stream:
        raise UsageError(f"{resume} was trained on {shards} shards, and this stream has none: add --shards none")
    if learner._sees_all_rows:
        raise UsageError(f"--solver {learner.solver} sees all rows at once: leave out --shards")
    if learner._no_mixing:
        raise UsageError(f"--shards: {name_of(learner)} is not mixed, as {learner._no_mixing}")
    return shards


def _full_name(learner: Any) -> str:
    """Return a learner's name, with its solver where it has several."""
    solver = getattr(learner, "solver", None)
    return name_of(learner) + ("" if solver is None else f" by --solver {solver}")


def limit_time(learner: Learner, seconds: float, stream: bool) -> None:
    """End a search after that time; refuse a limit for a learner that learns all rows before it has a model."""
    if "time_limit" in learner.get_params(deep=False):
        learner.set_params(time_limit=seconds)
    elif not stream:
        raise UsageError(
            f"--time-limit: {_full_name(learner)} has a model only after all rows; limit its work by --epochs, or "
            "add --stream (without shards), which keeps what it has learned by then"
        )


def maps_of(names: tuple[str, ...], resume: Path | None, stream: bool) -> list[Any]:
    """Return the maps before the learner."""
    if names and stream:
        raise UsageError("--map looks at all rows before the first is learned: leave out --stream, or convert the data")
    if names and resume is not None:
        raise UsageError(f"--map: {resume} continues with the features that it has")
    return maps_from(names) if names else []


def _resume(options: LearnerOptions, resume: Path, parameters: dict[str, Any], stream: bool) -> tuple[Saved, Learner]:
    saved = opened_classifier(resume, only_predicts=False)
    if options.seed_given:
        raise UsageError(f"{resume} continues with the seed that it has: leave out --seed")
    if is_pipeline(saved.model):
        raise UsageError(f"{resume} is a pipeline: --resume continues with learners")
    if is_calibrated(saved.model) and not stream:
        raise UsageError(f"{resume} is calibrated, and continues with rows as they come: add --stream")
    name, learner = name_of(saved.model), learner_of(saved.model)
    if options.named and options.learner != name:
        raise UsageError(f"{resume} is of the learner {name}: leave out --learner {options.learner}")
    known = learner.get_params(deep=False)
    if not hasattr(learner, "partial_fit"):
        raise UsageError(
            f"{resume} is of the learner {_full_name(learner)}, which sees all rows at once: fit a new model"
        )
    if "warm_start" not in known and not stream:
        raise UsageError(f"{resume} is of the learner {name}, which continues with rows as they come: add --stream")
    changed = {of: value for of, value in parameters.items() if of != "random_state"}
    learner_from(name, changed)
    learner.set_params(**changed, **({"warm_start": True} if "warm_start" in known else {}))
    if isinstance(learner, OnlineLearner) and learner._sees_all_rows and not stream:
        raise UsageError(
            f"{resume}: --solver {learner.solver} would fit it again from the start: add --stream, or --solver sgd, "
            "to continue row by row"
        )
    return saved, learner


def with_word_counts(options: dict[str, Any], learner: Any, data: list[str]) -> dict[str, Any]:
    """Return the reader's options; for naive Bayes text is read as counts of its words, unless an option disagrees.

    Hashed words would have columns for those that never occur, which take their share of the probability, and half of
    them count below 0.

    >>> from linsep import NaiveBayes, Perceptron
    >>> (
    ...     with_word_counts({"format": "text"}, NaiveBayes(), ["-"]),
    ...     with_word_counts({"format": "text"}, Perceptron(), ["-"]),
    ... )
    ({'norm': None, 'vocabulary': True, 'format': 'text'}, {'format': 'text'})
    """
    if not learner._takes_counts:
        return options
    first = sources_of(data)[0]
    format = options.get("format") or ("svmlight" if first.handle is not None else detected_format(first))
    if format != "text":
        return options
    hashed = options.get("vocabulary") is False or any(name in options for name in HASHED)
    return {"norm": None, **({"alternate_sign": False} if hashed else {"vocabulary": True}), **options}
