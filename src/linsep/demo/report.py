"""The demo's page; it needs matplotlib."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.datasets import load_iris

from linsep.certificates.words import verdict_sentence
from linsep.cli.jobs.training import fit_quietly
from linsep.cli.pages.certificate import perceptron_run, problem_of, run_parts, tables
from linsep.cli.terminal.output import percent, short
from linsep.demo.data_sets import DataSet
from linsep.demo.digits_study import ABOUT, METHODS, StudyRun
from linsep.demo.next_steps import NextSteps
from linsep.demo.trials import ONLINE, CertifiedRun, Trial
from linsep.engine.arrays import Array
from linsep.estimators.base.online import OnlineLearner
from linsep.estimators.base.voter import Voter
from linsep.estimators.logistic import LogisticRegression
from linsep.estimators.passive_aggressive import PassiveAggressive
from linsep.estimators.perceptron import Perceptron
from linsep.plots import style
from linsep.plots.boundary import boundary_path, figure_size
from linsep.plots.decision_regions import decision_boundary
from linsep.plots.evaluation import comparison, confusion, margins
from linsep.plots.experiment_curves import vote_panels
from linsep.plots.report import Code, Column, Fact, Part, Picture, Report, Section, Table, Text, axes
from linsep.plots.run_curves import mistakes
from linsep.plots.weight_bars import weights
from linsep.training.votes import reading_name

__all__ = ["boundary", "demo_report", "save_boundary"]

Done = tuple[DataSet, Sequence[Trial]]
WORST, STRONGEST = 12, 12
"""Number of digits shown with the largest errors, and of digits whose weights are shown."""
PETALS = ["petal length (cm)", "petal width (cm)"]
TITLE = f"{len(ONLINE)} ways to draw a line between things"
SUBTITLE = (
    f"A linear classifier separates classes by weighing features: on paper that is a straight line, in many "
    f"dimensions a flat boundary. Here {len(ONLINE)} of them learn four data sets, one row at a time, on one thread."
)
GLANCE = """
The test error of each learner. The last column is the bound of a theorem, if there is one: on separable rows, the
learner never makes more mistakes, for any number of rows in any order.

In the tables below, mistakes are those of training, in all epochs together. A star, *, marks a learner whose last epoch
still had mistakes: the rows are not separable, or it needs more epochs. A ring, °, marks a learner that can't fit every
data set.
"""
LEARNING = """
Every flower is a point. The perceptron starts without a line and reads one flower after the other. A flower on the
right side of the line changes nothing. A flower on the wrong side is a mistake, and the line turns towards that flower.
Once every flower is on its side, the line stays.
"""
PROMISE = """
In 1962 Novikoff proved that a perceptron makes at most (R / gamma)² mistakes on rows that can be separated. R is the
length of the longest row; gamma is the margin, the least distance of a row from a boundary that separates them. The
bound depends on neither the number of rows nor the number of features.

Any known separator thus proves a bound, and a wider margin proves a lower bound. Two separators of the text below are
known: the topic that generated the text, and the weights of a learner that maximises the margin.
"""
CERTIFICATE = """
A certificate is a file of claims and of the vectors that prove them, as the command certify writes it. Anyone can check
the file in exact arithmetic. This certificate is about iris, one kind against the other two, and about one pass of
a perceptron.
"""
NEXT = """
These commands work as they are, in the folder that the demo was started in: digits.csv has the digits above, new.csv
one of each to be read. Put a table of your own in their place, and the name of its column of labels.
"""


class Proof(NamedTuple):
    """A separator of rows: its margin, and what Novikoff's theorem makes of it, (R / gamma)²."""

    by: str
    margin: float
    bound: float


class Promise(NamedTuple):
    """A perceptron on rows that can be separated and whether it settled, a learner of wide margins, and bounds."""

    perceptron: OnlineLearner
    settled: bool
    wide: OnlineLearner
    proofs: list[Proof]

    @property
    def bound(self) -> float:
        """The lowest bound."""
        return min(proof.bound for proof in self.proofs)


def demo_report(
    done: Sequence[Done], seed: int, way: Figure, proof: CertifiedRun, runs: Sequence[StudyRun], steps: NextSteps,
    python: str,
) -> Report:  # fmt: skip
    """Return the page about what the demo did; `way` is the picture of the perceptron's boundary."""
    iris, cancer, written, text = done
    promise = make_promise(text[0], seed)
    sections = [
        Section("At a glance", [_text(GLANCE), _glance(done)]),
        Section("How a perceptron learns", [_text(LEARNING), _way(way)]),
        Section("A promise, kept", [_text(PROMISE), *_promise_parts(promise, text[0])]),
        Section("A certificate", _certificate_parts(proof)),
        Section("Which hypothesis should predict?", vote_parts(runs)),
        Section("Iris", [_about(iris), *_ranking_parts(iris), *_flowers(iris[0], seed)]),
        Section("Breast cancer", [_about(cancer), *_ranking_parts(cancer), *_tumours(cancer, seed)]),
        Section("Digits", [_about(written), *_ranking_parts(written), *_digits(written, seed)]),
        Section("Text", [_about(text), *_ranking_parts(text), *_words(text, promise)]),
        Section("Next, on a file of your own", [_text(NEXT), *_next(steps, python)]),
    ]
    return Report(TITLE, SUBTITLE, _tiles(done, promise), sections)


def make_promise(data: DataSet, seed: int) -> Promise:
    """Train a perceptron on rows that can be separated, and prove bounds on its mistakes, each by a separator."""
    perceptron = Perceptron(max_iter=data.epochs, random_state=seed, log=True)
    wide = PassiveAggressive(max_iter=data.epochs, random_state=seed)
    settled, _ = (fit_quietly(learner, data.X, name_labels(data, data.y)) for learner in (perceptron, wide))
    known = {"the topic itself": data.separator, "passive-aggressive": np.append(wide.coef_, wide.intercept_)}
    proofs = [prove(by, u, data) for by, u in known.items() if u is not None]
    return Promise(perceptron, settled, wide, [proof for proof in proofs if proof.margin > 0])


def prove(by: str, u: Array, data: DataSet) -> Proof:
    """Return the margin of weights, the bias last, on the rows with their constant feature 1, and what it proves."""
    lowest = (np.where(data.y, 1.0, -1.0) * (data.X @ u[:-1] + u[-1])).min()
    margin = float(lowest / np.linalg.norm(u))
    longest = float(data.X.multiply(data.X).sum(axis=1).max()) + 1.0
    return Proof(by, margin, longest / margin**2)


def name_labels(data: DataSet, y: Array) -> Array:
    """Return labels as names."""
    return np.array(data.labels)[y.astype(np.intp)]


def _tiles(done: Sequence[Done], promise: Promise) -> list[Fact]:
    digits_read, best = done[2][0], _ranking(done[2][1])[0]
    fastest, where = max(
        ((trial, data.name) for data, trials in done for trial in trials), key=lambda pair: pair[0].rows_per_second
    )
    proved_ones = sum(entry.bound != "none" for entry in ONLINE.values())
    return [
        Fact("learners", len(ONLINE), f"{proved_ones} of them with a bound on their mistakes"),
        Fact("digits read rightly", percent(1 - best.test_error),
             f"of {len(digits_read.y_test)} that {best.name} had not seen"),
        Fact("mistakes of the perceptron", int(promise.perceptron.mistakes_),
             f"on separable text, where the theorem allows {promise.bound:,.0f}"),
        Fact("rows a second", short(fastest.rows_per_second), f"learned by {fastest.name} on {where}"),
    ]  # fmt: skip


def _glance(done: Sequence[Done]) -> Table:
    columns = [Column(data.name, "right", write=style.percent) for data, _ in done]
    rows = [
        [of_learner[0].name, *(trial.test_error for trial in of_learner), of_learner[0].bound]
        for of_learner in zip(*(trials for _, trials in done), strict=True)
    ]
    return Table(["learner", *columns, "bound on mistakes"], rows)


def _way(drawn: Figure) -> Picture:
    return Picture(
        drawn,
        "A line between two kinds of iris after each mistake of a perceptron",
        "Two widths of setosa and versicolor. Ringed flowers are mistakes, numbered as they came. Each mistake left a "
        "line, from faint to bold.",
    )


def _promise_parts(promise: Promise, data: DataSet) -> list[Part]:
    made = int(promise.perceptron.mistakes_)
    share = percent(made / promise.bound).replace(" ", "\xa0")
    left = ", and no mistakes are left" if promise.settled else ""
    curve = mistakes(promise.perceptron, bound=promise.bound, ax=axes(3.7))
    flat = f"The curve can't cross the dashed line. In the end it has come to {share} of it{left}."
    margin = decision_boundary(promise.wide, data.X, name_labels(data, data.y), view="score", ax=axes(3.7))
    columns: list[str | Column] = [
        "separator", Column("margin", "right"), Column("bound", "right", write=lambda bound: f"{bound:,.0f}"),
        Column("mistakes made", "right"), Column("share of the bound", "right", write=percent),
    ]  # fmt: skip
    rows = [[proof.by, proof.margin, proof.bound, made, made / proof.bound] for proof in promise.proofs]
    return [
        Picture(curve, "Mistakes of a perceptron over rounds, below their bound", flat),
        Picture(margin, "Documents on both sides of a boundary", "The documents seen along a boundary that separates."),
        Table(columns, rows),
    ]


def _certificate_parts(proof: CertifiedRun) -> list[Part]:
    cert = proof.certificate
    problem = problem_of(cert, proof.X, proof.y)
    run = perceptron_run(cert, problem, proof.perceptron)
    found = "and every claim holds" if proof.result else "and it does not hold"
    about = f"{CERTIFICATE.strip()} A separate checker computed every claim again, {found}."
    return [_text(about), Text(verdict_sentence(cert)), *run_parts(cert, problem, run, proof.perceptron), *tables(cert)]


def _about(one: Done) -> Text:
    data, ranking = one[0], _ranking(one[1])
    rows, features = data.X.shape
    tests, least = len(data.y_test), ranking[0].test_error
    *others, last = [trial.name for trial in ranking if trial.test_error == least]
    by = f"{', '.join(others)} and {last}" if others else last
    several = f" Each of the {data.classes} classes has a binary classifier of its own." * (data.classes > 2)
    return Text(
        f"{data.about[0].upper()}{data.about[1:]}. {rows:,} training rows of {features:,} features, at most "
        f"{data.epochs} epochs; {tests:,} test rows.{several} The fewest wrong predictions, "
        f"{round(least * tests):,} of {tests:,}: {by}."
    )


def _ranking(trials: Sequence[Trial]) -> list[Trial]:
    return sorted(trials, key=lambda trial: (trial.test_error, trial.mistakes))


def _ranking_parts(one: Done) -> list[Part]:
    ranking = _ranking(one[1])
    drawn = comparison([{"name": trial.name, "error": trial.test_error} for trial in ranking], ax=axes(3.7))
    columns: list[str | Column] = [
        "learner", Column("error", "right", write=style.percent), Column("mistakes", "right"),
        Column("rows/s", "right", write=short),
    ]  # fmt: skip
    rows = [[trial.marked, trial.test_error, trial.mistakes, trial.rows_per_second] for trial in ranking]
    return [Picture(drawn, f"Learners ranked by test error on {one[0].name}"), Table(columns, rows, best=0)]


def _train_best(one: Done, seed: int) -> tuple[str, OnlineLearner]:
    """Return the best learner on a data set among those with weights to draw, trained once more by names of classes."""
    data = one[0]
    best = next(trial.name for trial in _ranking(one[1]) if not issubclass(ONLINE[trial.name].learner, Voter))
    learner: OnlineLearner = ONLINE[best].make_online(max_iter=data.epochs, random_state=seed)
    fit_quietly(learner, data.X, name_labels(data, data.y))
    return best, learner


def _flowers(data: DataSet, seed: int) -> list[Part]:
    columns = [data.features.index(name) for name in PETALS]
    X, y = data.factor * np.vstack([data.X, data.X_test])[:, columns], np.append(data.y, data.y_test)
    smooth = LogisticRegression()
    fit_quietly(smooth, X, name_labels(data, y))
    regions = decision_boundary(smooth, X, name_labels(data, y), feature_names=PETALS, ax=axes(3.0))
    perceptron = Perceptron(max_iter=10, random_state=seed, log=True)
    fit_quietly(perceptron, data.X, name_labels(data, data.y))
    return [
        Picture(regions, "Three kinds of iris and the boundaries between them",
                "All flowers, and logistic regression on two measures alone: the tint is its prediction, rings are "
                "mistakes."),
        Picture(mistakes(perceptron, ax=axes(3.0)), "Mistakes of three binary classifiers on iris",
                "Why perceptrons fail here. A line separates setosa from the others: its classifier soon makes no "
                "more mistakes. Versicolor lies between the other two: its classifier never stops."),
    ]  # fmt: skip


def _tumours(one: Done, seed: int) -> list[Part]:
    data, (best, learner) = one[0], _train_best(one, seed)
    sides = decision_boundary(learner, data.X_test, name_labels(data, data.y_test), view="score", ax=axes(3.9))
    bars = weights(learner, names=data.features, top=STRONGEST, ax=axes(3.9))
    return [
        Picture(sides, "Tumours on both sides of the boundary",
                f"The {len(data.y_test)} test rows, classified by {best}. Rows near the boundary are the least "
                "certain."),
        Picture(bars, "The measures with the largest weights", "Weights times measures add up to the score."),
    ]  # fmt: skip


def _digits(one: Done, seed: int) -> list[Part]:
    data, (best, learner) = one[0], _train_best(one, seed)
    predicted, truth = learner.predict(data.X_test), name_labels(data, data.y_test)
    scores: Array = learner.decision_function(data.X_test)
    own = np.take_along_axis(scores, data.y_test[:, None], axis=1)[:, 0]
    wrong = np.flatnonzero(predicted != truth)
    worst = wrong[np.argsort((own - scores.max(axis=1))[wrong], kind="stable")[:WORST]]
    matrix = confusion(truth, predicted, labels=np.array(data.labels), ax=axes(5.0))
    parts: list[Part] = [Picture(matrix, "Predicted against true digits", f"Predictions of {best}.")]
    if len(worst):
        titles = [f"{truth[k]}, read as {predicted[k]}" for k in worst]
        misread = digits(data.X_test[worst], titles, "Largest errors")
        parts.append(Picture(misread, "Misclassified digits", "The digits with the largest errors."))
    pictures = digit_weights(learner.coef_, data.labels, "The weights of each classifier")
    sure = margins(learner, data.X_test, truth, ax=axes(2.9))
    parts += [
        Picture(pictures, "The weights of each digit's classifier as pictures",
                "Its weights as a picture: ink in blue places favours the digit, ink in orange places opposes it."),
        Picture(sure, "Margins of digits", "The score of the true digit less that of its best rival."),
    ]  # fmt: skip
    return parts


def _words(one: Done, promise: Promise) -> list[Part]:
    data, (best, learner) = one[0], _train_best(one, int(promise.perceptron.seed_))
    learners = [learner, promise.perceptron]
    drawn = [weights(learner, names=data.features, top=STRONGEST, ax=axes(3.7)) for learner in learners]
    topic = np.array([name.startswith("topic") for name in data.features])
    sizes = [np.abs(learner.coef_[0]) for learner in learners]
    shares = [style.percent(size[topic].sum() / size.sum()).replace(" ", "\xa0") for size in sizes]
    return [
        Picture(drawn[0], f"The strongest words of {best}",
                f"{best}: {topic.sum()} of {len(topic):,} words are the topic's, and have {shares[0]} of its "
                f"weight. It learned from the documents' labels, and never saw which words are the topic's."),
        Picture(drawn[1], "The strongest words of the perceptron",
                f"The perceptron: it adds up the documents that it was wrong about, with all their words. Those of "
                f"the topic have {shares[1]} of its weight."),
    ]  # fmt: skip


def _next(steps: NextSteps, python: str) -> list[Part]:
    return [Code("\n".join(steps.commands(96)), "In a terminal"), Code(python, "In Python")]


def _text(words: str) -> Text:
    """Return paragraphs, their lines joined."""
    return Text("\n\n".join(" ".join(paragraph.split()) for paragraph in words.split("\n\n")))


def vote_parts(runs: Sequence[StudyRun]) -> list[Part]:
    """Return the sections of the study: its question, the curves, and the final errors."""
    curves = vote_panels({f"degree {run.degree}": (run.epochs, run.errors) for run in runs})
    columns = [Column(f"degree {run.degree}, T = {run.epochs[-1]:g}", "right", write=style.percent) for run in runs]
    rows = [[reading_name(*method), *(run.errors[method][-1] for run in runs)] for method in METHODS]
    return [
        Text(ABOUT),
        Picture(
            curves,
            "Test error of seven readouts against epochs",
            "The last hypothesis depends on the last few rows and jumps; a vote or an average is steadier, and mostly "
            "better. Dashed: each hypothesis divided by its length first.",
        ),
        Table(["readout", *columns], rows),
    ]


FEATURES = ["sepal width (cm)", "petal width (cm)"]
ORDER = 15
"""The seed of an order of the rows in which the boundary swings for a while; with others it may settle at once."""
ACROSS, UP = 9, 10
"""Pixels from one digit to the next: 8 of its own, and room between, above for a title."""
HEADING = 0.3
"""Inches of the heading."""


def two_irises() -> tuple[Array, Array]:
    """Return two widths of setosa and versicolor, and their names."""
    iris = load_iris()
    chosen = iris.target < 2
    columns = [iris.feature_names.index(name) for name in FEATURES]
    return iris.data[chosen][:, columns], iris.target_names[iris.target[chosen]]


def boundary() -> Figure:
    """Train a perceptron and draw its boundary's way."""
    X, y = two_irises()
    clf = Perceptron(intercept_scaling=1.0, random_state=ORDER, max_iter=100).fit(X, y)
    figure = Figure(figsize=figure_size(X), layout="constrained")
    boundary_path(clf, X, y, feature_names=FEATURES, ax=figure.add_subplot())
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # it is laid out once, though saved several times
    return figure


def save_boundary(figure: Figure, out: Path) -> list[Path]:
    """Save the picture of the boundary, and return the files written."""
    files = [out / "boundary.png", out / "boundary.svg"]
    with matplotlib.rc_context({"svg.hashsalt": "linsep"}):
        figure.savefig(files[0], dpi=160)
        figure.savefig(files[1], metadata={"Date": None})
    return files


def digits(rows: Array, titles: Sequence[str], heading: str) -> Figure:
    """Draw rows of 64 shades from 0, paper, to 1, ink."""
    return _grid(rows, titles, heading, 4, _colours([(0, style.INK, 0), (1, style.INK, 1)]), (0.0, 1.0))


def digit_weights(weights: Array, titles: Sequence[str], heading: str) -> Figure:
    """Draw rows of 64 weights: those above 0 in the colour of right predictions, those below in that of wrong ones."""
    shades = [(0, style.WRONG, 1), (0.5, style.WRONG, 0), (0.5, style.RIGHT, 0), (1, style.RIGHT, 1)]
    reach = float(np.abs(weights).max()) or 1.0
    return _grid(weights, titles, heading, 5, _colours(shades), (-reach, reach))


def _colours(shades: Sequence[tuple[float, str, float]]) -> LinearSegmentedColormap:
    """Return colours by place, colour and opacity: where there is none the page is seen, light or dark."""
    return LinearSegmentedColormap.from_list("shades", [(place, to_rgba(c, opacity)) for place, c, opacity in shades])


def _grid(
    rows: Array,
    titles: Sequence[str],
    heading: str,
    across: int,
    colours: LinearSegmentedColormap,
    span: tuple[float, float],
) -> Figure:
    """Draw pictures of 8 x 8 pixels as one image, titles above each: many axes would take long."""
    lines = -(-len(rows) // across)
    image = np.full((UP * lines, ACROSS * across - 1), np.nan)
    pixel = 5.1 / image.shape[1]
    height = HEADING + pixel * len(image)
    figure = Figure(figsize=(5.2, height))
    figure.text(0.01, 1.0, heading, va="top", fontsize=12, color=style.ink())
    ax = figure.add_axes((0.01, 0.0, 0.98, 1 - HEADING / height))
    ax.set_axis_off()
    for k, (row, title) in enumerate(zip(rows, titles, strict=True)):
        top, left = UP * (k // across) + UP - 8, ACROSS * (k % across)
        image[top : top + 8, left : left + 8] = row.reshape(8, 8)
        ax.add_patch(Rectangle((left, top), 8, 8, fill=False, color=style.ink(), alpha=0.15, linewidth=0.8))
        ax.text(left + 4, top - 0.4, title, ha="center", fontsize=style.SMALL, color=style.ink())
    extent = (0, image.shape[1], len(image), 0)
    ax.imshow(image, cmap=colours, vmin=span[0], vmax=span[1], interpolation="none", extent=extent)
    return figure
