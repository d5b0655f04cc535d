"""The page about a training: the data, the course of the training, and the model."""

from shlex import join
from typing import Any

from linsep.cli.jobs.models import facts_in_words, name_of
from linsep.cli.jobs.record import FORGETS, TrainingRecord, averages, between, last_error
from linsep.cli.jobs.training import Trained
from linsep.cli.pages.evaluation import features_of, file_names, without_folders
from linsep.cli.terminal.output import percent, seconds, short
from linsep.cli.terminal.progress import LearningCurve
from linsep.estimators.registry import LEARNERS
from linsep.plots.report import Code, Fact, Facts, Picture, Report, Section, Text, axes
from linsep.plots.run_curves import ascent, mistakes, progress, windows


def fit_report(trained: Trained, record: TrainingRecord, curve: LearningCurve, out: str) -> Report:
    """Return the page."""
    name = name_of(trained.learner)
    sections = [
        Section("What was trained on what", [Facts(_facts(trained, record, name))]),
        Section("How it learned", _curves(trained, record, curve)),
    ]
    if trained.gathered is not None and trained.shown is not None:
        sections += trained.gathered.sections(trained.shown)
        if trained.test is None:
            note = "There were no test rows: what follows is of the rows that it was trained on, and so flatters it."
            sections[2] = Section(sections[2].heading, [Text(note), *sections[2].parts])
    else:
        features = features_of(trained.saved())
        sections += [] if features is None else [Section("Strongest features", [features])]
    sections.append(Section("What next", [Code(_commands(trained, record, out))]))
    return Report(
        f"{name} on {file_names(record.data)}",
        f"The training of {file_names([out])}",
        _tiles(trained, record),
        sections,
    )


def _tiles(trained: Trained, record: TrainingRecord) -> list[Fact]:
    """Return the numbers that matter most."""
    tiles = []
    if trained.test is not None:
        low, high = trained.test.interval
        name = file_names(trained.test_name.split(", "))
        note = f"{name}; {percent(low)} to {percent(high)} on rows like these (95 %)"
        tiles.append(Fact("test error", percent(trained.test.error), note))
    if record.progressive_error is not None:
        note = "rows predicted before they are learned" + (
            f", by {record.progressive_of}" if record.progressive_of else ""
        )
        tiles.append(Fact("progressive error", percent(record.progressive_error), note))
    tiles.append(Fact("rows", record.rows, f"{record.features:,} features, {record.labels} labels"))
    speed = record.learned / max(record.seconds["learn"], 1e-9)
    tiles.append(Fact("time", seconds(record.seconds["all"]), f"{short(speed)} rows/s learning"))
    return tiles


def _facts(trained: Trained, record: TrainingRecord, name: str) -> list[Fact]:
    learner = trained.learner
    usual = type(learner)().get_params()
    changed = {of: value for of, value in learner.get_params().items() if value != usual[of] or of == "horizon"}
    parameters = ", ".join(f"{of}={value!r}" for of, value in changed.items() if of not in ("n_jobs", "warm_start"))
    facts = [
        Fact("learner", name, LEARNERS[name].summary),
        Fact("parameters", parameters or "as by default"),
        Fact("data", ", ".join(without_folders(record.data))),
        *([Fact("maps", ", ".join(record.maps))] if record.maps else []),
        *_of_rounds(record, name),
        *([Fact("probabilities", f"calibrated, {record.calibrated}")] if record.calibrated else []),
        Fact("finished", record.date),
    ]
    left_out = {"malformed rows left out": record.rejected, "entries of unknown features": record.unseen}
    return facts + [Fact(of, count) for of, count in left_out.items() if count]


def _of_rounds(record: TrainingRecord, name: str) -> list[Fact]:
    """Return how rows were learned one by one, or by a solver, and what was found."""
    found = [Fact(of, fact) for of, fact in facts_in_words(record.found).items()]
    if record.mistakes is None:
        return [Fact("order", record.order, f"{record.epochs} step{'s' * (record.epochs != 1)}"), *found]
    epochs = f"{record.epochs} epoch{'s' * (record.epochs != 1)}, seed {record.seed}"
    bound, computes = LEARNERS[name].bound, "linsep certify computes the number for these rows"
    return [
        Fact("order", record.order, epochs),
        Fact("mistakes", record.mistakes, f"{record.updates:,} updates"),
        *([] if bound == "none" else [Fact("theorem", f"mistakes are at most {bound}", computes)]),
        *found,
    ]


def _curves(trained: Trained, record: TrainingRecord, curve: LearningCurve) -> list[Any]:
    """Return the progressive error, and the mistakes where every one of them is in the log."""
    last = curve.first_epoch[0] if curve.first_epoch is not None else 0
    points = [(rows, wrong / rows) for rows, wrong in curve.points if wrong is not None and rows <= last]
    parts: list[Any] = []
    if points:
        rows, errors = zip(*points, strict=True)
        caption = "In the first epoch: the share of rows so far that were predicted wrongly before they were learned"
        caption += f" (by {record.progressive_of})." if record.progressive_of else "."
        parts.append(
            Picture(progress(rows, errors, ax=axes(3.6)), "The progressive error falls as rows are learned", caption)
        )
    if len(record.windows) > 1:
        counts, wrong = zip(*record.windows, strict=True)
        drawn = windows(counts, wrong, rises=[rise["row"] for rise in record.rises], ax=axes(3.6))
        parts.append(Picture(drawn, "The error in windows", _of_windows(record)))
    if hasattr(trained.learner, "log_") and len(trained.learner.log_):
        drawn = mistakes(trained.learner, ax=axes(3.6))
        drawn.set_title("Mistakes in all epochs", loc="left")
        parts.append(Picture(drawn, "Mistakes over rounds", "A line that grows flat has found its separator."))
    if hasattr(trained.learner, "history_"):
        drawn = ascent(trained.learner.history_, ax=axes(3.6))
        return [Picture(drawn, "The likelihood rises", "A line that grows flat has come to the optimum.")]
    if curve.first_epoch is None and record.calibrated:
        return [Text("To calibrate it, the learner was trained once for each fold: there is no single run to follow.")]
    if curve.first_epoch is None:
        return [Text("A solver saw all rows at once: there are no rounds to follow.")]
    return parts or [Text("The learner counts no errors in one number for all classes, and kept no log.")]


def _of_windows(record: TrainingRecord) -> str:
    """Return the caption of the error in windows."""
    size = record.windows[0][0]
    text = f"The first epoch in windows of about {size:,} rows (--window sets how many). "
    if not record.rises:
        return text + "In no window does the error rise by more than chance."
    last = record.rises[-1]
    text += (
        f"Dashed: the error rises by more than chance, last {between(record, last)}, from {percent(last['before'])} "
        f"to {percent(last['error'])}; it is {percent(last_error(record))} in the last window."
    )
    return text + (f" Try {FORGETS}." if averages(record) else "")


def _commands(trained: Trained, record: TrainingRecord, out: str) -> str:
    commands = (
        ["inspect", out],
        ["evaluate", out, "NEW-DATA"],
        ["predict", out, "NEW-DATA"],
        ["compare", *record.data, *record.options],
    )
    return "\n".join(join(without_folders(["linsep", *command])) for command in commands)
