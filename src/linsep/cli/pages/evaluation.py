"""Pages about an evaluation and a comparison; they need matplotlib."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from shlex import join
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator

from linsep.cli.jobs.comparing import Attempt, Contest, count_of
from linsep.cli.jobs.models import name_of, readout_name
from linsep.cli.options.common import DEFAULT
from linsep.cli.options.learners import parameter_words
from linsep.cli.terminal.output import percent, seconds, short
from linsep.data.dataset import Dataset
from linsep.engine.arrays import Array
from linsep.evaluation.scoring import Predictions, Scores
from linsep.models.contributions import Explainer, names_of, weights_view
from linsep.models.pipelines import is_calibrated, learner_of
from linsep.plots.evaluation import MOST as MOST_CLASSES
from linsep.plots.evaluation import (
    Mark,
    calibration,
    comparison,
    confusion,
    draw_precision_recall,
    draw_roc,
    margins,
    matrix_size,
    ranking_size,
)
from linsep.plots.report import Code, Column, Example, Examples, Fact, Facts, Picture, Report, Section, Table, Text
from linsep.plots.weight_bars import MOST_BARS, weights
from linsep.plots.weight_bars import figure_size as bars_size
from linsep.validation.labels import margins_of

SAMPLE = 20_000
"""Rows that pictures are drawn of; of more, every second, fourth, ... is."""
WORST = 10
"""Rows that a page shows of those that the model is most wrong about."""
OF_CONTRIBUTIONS = (
    "Each feature is shown with its weight times its value, which it adds to the score of the predicted class: what is "
    "above 0 favours the prediction, what is below 0 opposes it."
)
OF_ENTRIES = "Each row is shown with its largest entries: the model's weights are not those of features."
OF_WEIGHTS = "Weights times features add up to a score."
MOST_ENTRIES = 40
"""Entries of such a row that are kept."""


class Row(NamedTuple):
    """A row that the model is wrong about: its margin, its number, labels, and what its features add, by name."""

    margin: float
    number: int
    true: Any
    predicted: Any
    entries: dict[str, float]


class Drawn(NamedTuple):
    """The rows of the pictures, with labels and predictions."""

    y: Any
    labels: Any
    scores: Any
    probabilities: Any

    def each(self, work: Callable[[Any], Any]) -> "Drawn":
        """Return the same of other rows: the work done on each part that is there."""
        return Drawn(*(None if part is None else work(part) for part in self))


class Scored(BaseEstimator):
    """A model whose scores are already computed: its rows are their scores."""

    def __init__(self, classes: Any) -> None:
        self.classes_ = classes

    def fit(self, X: Any, y: Any) -> "Scored":
        """Learn nothing."""
        return self

    def decision_function(self, X: Array) -> Array:
        """Return what it is given."""
        return X


class Evaluation:
    """Gathers what a page about an evaluation shows, block by block, in bounded memory."""

    def __init__(self, saved: Any, places: Array | None = None) -> None:
        self.saved, self.classes, self.places = saved, saved.model.classes_, places
        self.name = names_of(saved.model, saved.form)
        self.seen, self.step = 0, 1
        self.drawn: list[Drawn] = []
        self.worst: list[Row] = []

    @cached_property
    def explainer(self) -> Explainer | None:
        """Explains rows by the learner's weights; of a vote by those of the average; None if there are none."""
        learner = weights_view(learner_of(self.saved.model))
        return None if learner is None else Explainer(learner, self.name)

    def add(self, block: Dataset, found: Predictions) -> None:
        """Add a block and its predictions; omit rows with labels outside the model's classes."""
        if is_calibrated(self.saved.model):
            found = found._replace(scores=scores_by_probabilities(found, self.classes))
        known = np.flatnonzero(np.isin(block.y, self.classes))
        codes = np.searchsorted(self.classes, block.y[known])
        self._add_worst(block, known, margins_of(codes, found.scores[known]), found.labels)
        chosen = known[(self.seen + np.arange(len(known))) % self.step == 0]
        rows = Drawn(block.y, found.labels, found.scores, found.probabilities)
        self.drawn.append(rows.each(lambda part: part[chosen]))
        self.seen += len(block)
        while sum(len(part.y) for part in self.drawn) > SAMPLE:
            self.step *= 2
            self.drawn = [self.all_drawn().each(lambda part: part[::2])]

    def _add_worst(self, block: Dataset, known: Array, found: Array, labels: Array) -> None:
        limit = self.worst[-1].margin if len(self.worst) == WORST else 0.0
        wrong = np.flatnonzero((found <= limit) & (labels[known] != block.y[known]))
        for k in wrong[np.argsort(found[wrong], kind="stable")[:WORST]].tolist():
            at = int(known[k])
            entries = self._entries(block.X[[at]], labels[at])
            place = self.seen + at if self.places is None else int(self.places[self.seen + at])
            row = Row(float(found[k]), place, block.y[at], labels[at], entries)
            self.worst = sorted([*self.worst, row], key=lambda row: (row.margin, row.number))[:WORST]

    def _entries(self, X: Any, label: Any) -> dict[str, float]:
        """Return what the features of a row add to the score of a class, by name; of a pipeline, what its learner sees.

        Of weights that are not written out, the largest entries.
        """
        model = self.saved.model
        X = model[:-1].transform(X) if hasattr(model, "steps") and len(model.steps) > 1 else X
        if self.explainer is not None:
            [found] = self.explainer.rows(X, MOST_ENTRIES, np.array([label]))
            return {part.name: part.amount for part in found.contributions}
        columns, values = (X.indices, X.data) if hasattr(X, "indices") else (np.arange(X.shape[1]), np.ravel(X))
        order = [k for k in np.argsort(-np.abs(values), kind="stable")[:MOST_ENTRIES].tolist() if values[k] != 0]
        return {self.name(int(columns[k])): float(values[k]) for k in order}

    def all_drawn(self) -> Drawn:
        """Return the rows that pictures are drawn of."""
        parts: list[Any] = [None if part[0] is None else np.concatenate(part) for part in zip(*self.drawn, strict=True)]
        return Drawn(*parts)

    def write(self, path: Path, model: str, data: list[str], scores: Scores, options: list[str]) -> None:
        """Write the page."""
        low, high = scores.interval
        tiles = [
            Fact("error", percent(scores.error), f"{percent(low)} to {percent(high)} on rows like these (95 %)"),
            Fact("rows", scores.rows, f"{scores.wrong:,} predicted wrongly"),
            Fact("macro F1", f"{scores.macro_f1:.3f}", "mean over classes"),
        ]
        if scores.brier is not None and scores.calibration_error is not None:
            gap = percent(scores.calibration_error)
            tiles.append(
                Fact(
                    "Brier score",
                    f"{scores.brier:.4f}",
                    f"log-loss {scores.log_loss:.4f}; probabilities are off by {gap}",
                )
            )
        if scores.roc_auc is not None and scores.average_precision is not None:
            tiles.append(Fact("ROC AUC", f"{scores.roc_auc:.4f}", f"average precision {scores.average_precision:.4f}"))
        if scores.threshold is not None:
            at = scores.threshold
            found = f"{at.of} of class {scores.classes[1].label} at least {at.threshold:g}"
            tiles.append(Fact("precision", _share(_number(at.precision)), found))
            tiles.append(Fact("recall", _share(_number(at.recall)), found))
        title = f"{name_of(self.saved.model)} on {file_names(data)}"
        again = Section("Again", [Code(join(without_folders(["linsep", "evaluate", model, *data, *options])))])
        readout = readout_name(self.saved.model)
        subtitle = f"Evaluation of {file_names([model])}" + (f"; readout: {readout}" if readout else "")
        Report(title, subtitle, tiles, [*self.sections(scores), again]).write(path)

    def sections(self, scores: Scores) -> list[Section]:
        """Return the sections on the predictions."""
        drawn = self.all_drawn()
        sections = [Section("Classes", [_of_classes(scores)])]
        if len(drawn.y):
            of = f" Of {scores.rows:,} rows, every {self.step}th is drawn." if self.step > 1 else ""
            sections.append(Section("Predictions", [*self._pictures(drawn, of), *_curves(scores)]))
        sections.append(Section("Largest errors", self._worst()))
        features = features_of(self.saved)
        if features is not None:
            sections.append(Section("Strongest features", [features]))
        return sections

    def _worst(self) -> list[Any]:
        rows = self.worst
        shown = [Example(row.entries, row.true, row.predicted, row.margin, f"row {row.number + 1:,}") for row in rows]
        note = OF_CONTRIBUTIONS if self.explainer is not None else OF_ENTRIES
        return [*([Text(note)] if rows else []), Examples(shown, otherwise="Every prediction is correct.")]

    def _pictures(self, drawn: Drawn, of: str) -> list[Picture]:
        histogram = margins(Scored(self.classes), drawn.scores, drawn.y, ax=_axes(4.0))
        far = "How far each row is on the right side of the boundary."
        likely = "How much more probable the true class of each row is than the best other, by the calibration."
        caption = f"{likely if is_calibrated(self.saved.model) else far}{of}"
        pictures = [Picture(histogram, "Margins", caption)]
        if drawn.probabilities is not None:
            curve = calibration(drawn.y, drawn.probabilities, labels=self.classes, ax=_axes(5.0))
            pictures.append(Picture(curve, "Calibration", f"How often predictions of each probability were right.{of}"))
        if len(self.classes) <= MOST_CLASSES:
            size = matrix_size(self.classes)
            matrix = confusion(drawn.y, drawn.labels, labels=self.classes, ax=_axes(size[1], size[0]))
            pictures.insert(0, Picture(matrix, "The confusion matrix", f"Which class was taken for which.{of}"))
        return pictures


def _curves(scores: Scores) -> list[Picture]:
    """Return the ROC curve and the curve of precision and recall, of all rows, where both classes have rows."""
    if scores.ranking is None or scores.roc_auc is None:
        return []
    name = scores.classes[1].label
    at = scores.threshold
    mark = at and Mark(f"{at.of} at least {at.threshold:g}", at.false_positives, at.true_positives)
    return [
        Picture(draw_roc(scores.ranking, name, mark=mark, ax=_axes(5.0)), "ROC curve",
                "Of all rows: each point is a threshold."),
        Picture(draw_precision_recall(scores.ranking, name, mark=mark, ax=_axes(5.0)), "Precision and recall",
                "Of all rows: a lower threshold finds more, and is right less often."),
    ]  # fmt: skip


def scores_by_probabilities(found: Predictions, classes: Array) -> Array:
    """Return scores by which the margins of a calibrated model agree with its predictions; ties are broken by these.

    >>> probabilities = np.array([[0.5, 0.5], [0.2, 0.8]])
    >>> found = Predictions(np.array([-1.0, -2.0]), np.array(["a", "b"]), probabilities)
    >>> scores_by_probabilities(found, np.array(["a", "b"])).round(2)
    array([-0. ,  0.6])
    """
    assert found.probabilities is not None
    scores, codes = found.probabilities.copy(), np.searchsorted(classes, found.labels)
    rows = np.arange(len(codes))
    scores[rows, codes] = np.nextafter(scores[rows, codes], 2.0)
    return scores[:, 1] - scores[:, 0] if len(classes) == 2 else scores


def file_names(paths: Sequence[str]) -> str:
    """Return the names of files for a title, without their folders: a page may be passed on.

    >>> file_names(["/home/ada/train.svm", "more/", "-"])
    'train.svm, more, standard input'
    """
    return ", ".join("standard input" if path == "-" else Path(path).name or str(path) for path in paths)


def without_folders(words: Sequence[str]) -> list[str]:
    """Return the words of a command for a page, which may be passed on: whole paths are names there.

    >>> without_folders(["linsep", "fit", "/home/ada/train.svm", "more/b.svm", "--label", "/"])
    ['linsep', 'fit', 'train.svm', 'more/b.svm', '--label', '/']
    """
    return [Path(word).name or word if Path(word).is_absolute() else word for word in words]


def _axes(height: float, width: float = 5.2) -> Axes:
    """Return axes of half a page's width, or another, without a window."""
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def _of_classes(scores: Scores) -> Table:
    columns: list[str | Column] = [
        "class", Column("rows", "right"), Column("predicted", "right"), Column("precision", bars=True, write=_share),
        Column("recall", bars=True, write=_share), Column("F1", bars=True, write=_share),
    ]  # fmt: skip
    rows = [[_number(cell) if isinstance(cell, float) else cell for cell in part] for part in scores.classes]
    return Table(columns, rows)


def _number(share: float) -> float | None:
    return None if np.isnan(share) else share


def _share(share: float | None) -> str:
    return "–" if share is None else f"{share:.3f}"


def features_of(saved: Any, top: int = 10) -> Picture | None:
    """Return the strongest features as a picture, or None where there are too many classes for one, or no weights."""
    learner = weights_view(learner_of(saved.model))
    if learner is None or not 1 < len(learner.classes_) <= MOST_BARS:
        return None
    name = names_of(saved.model, saved.form)

    class Names:
        """Names that are made when asked for."""

        def __len__(self) -> int:
            return int(learner.n_features_in_)

        def __getitem__(self, column: int) -> str:
            return name(column)

    width, height = bars_size(learner, top=top)
    drawn = weights(learner, names=Names(), top=top, ax=_axes(height, width))  # type: ignore[arg-type]
    voting = readout_name(saved.model) != readout_name(learner)
    caption = f"Those of {readout_name(learner)}: a vote has no weights of its own." if voting else OF_WEIGHTS
    return Picture(drawn, "The strongest features of each class", caption)


def write_comparison(
    path: Path, data: list[str], test: list[str] | None, contest: Contest, attempts: list[Attempt], read: list[str],
    compared: list[str], parameters: dict[str, Any],
) -> None:  # fmt: skip
    """Write a page about learners side by side, with the options that read the data and that compare learners."""
    able = [attempt for attempt in attempts if attempt.error is not None]
    refused = [Fact(attempt.name, attempt.why or "") for attempt in attempts if attempt.error is None]
    tiles = [Fact("training rows", len(contest.train.y)), Fact("test rows", len(contest.test.y)),
             Fact("features", contest.train.X.shape[1]), Fact("classes", len(contest.classes))]  # fmt: skip
    if able:
        tiles.insert(0, Fact("lowest error", percent(able[0].error or 0.0), able[0].name))
    width, height = ranking_size(len(able))
    parts: list[Any] = []
    if able:
        parts.append(Picture(comparison(able, ax=_axes(height, width)), "Learners ranked by test error"))
    sections = [Section("Ranking", [*parts, _ranking(able)])]
    if refused:
        sections.append(Section("Refused on these data", [Facts(refused)]))
    best = able[0].candidate.words if able and able[0].candidate is not None else ["--learner", DEFAULT]
    judged_by = [word for name in test or () for word in ("--test", name)]
    own = parameter_words(parameters, [of.candidate.learner for of in attempts if of.candidate is not None])
    compare = join(without_folders(["linsep", "compare", *data, *read, *judged_by, *compared, *own]))
    train = [*best, "-o", "model.linsep"]
    commands = f"{compare}\n{join(without_folders(['linsep', 'fit', *data, *read, *train]))}"
    note = Text("Intervals hold the error on rows like these with 95 %. Time is that of training, on one thread.")
    sections.append(Section("Repeat and continue", [note, Code(commands)]))
    Report(f"{count_of(attempts)} on {file_names(data)}", "Learners side by side", tiles, sections).write(path)


def _ranking(able: list[Attempt]) -> Table:
    columns: list[str | Column] = [
        "learner", Column("error", bars=True, write=percent), Column("interval", "right"),
        Column("mistakes", "right"), Column("epochs", "right"), Column("time", "right"), Column("rows/s", "right"),
    ]  # fmt: skip
    rows = []
    for attempt in able:
        low, high = attempt.scores.interval if attempt.scores is not None else (0.0, 0.0)
        rows.append([
            attempt.name, attempt.error, f"{100 * low:.1f}–{100 * high:.1f} %", attempt.mistakes, attempt.epochs,
            seconds(attempt.seconds or 0.0), short(attempt.rows_per_second or 0.0),
        ])  # fmt: skip
    return Table(columns, rows, best=0 if rows else None)
