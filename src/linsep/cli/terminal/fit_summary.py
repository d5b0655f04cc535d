"""What `linsep fit` tells of a training: in the model's file, on the screen, in one line, or as JSON."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from linsep.cli.jobs.saved_models import name_of
from linsep.cli.jobs.training import Task, Trained
from linsep.cli.options.common import Show, as_words
from linsep.cli.terminal.learner_facts import AT_ONCE, MIXED, as_told, found, shards_of
from linsep.cli.terminal.output import facts, percent, seconds, size, stdout, tell_json, title
from linsep.cli.terminal.text import word, words
from linsep.models.encode_estimators import last_of


def about_of(task: Task, trained: Trained) -> dict[str, Any]:
    """Return how the model came to be, as its file tells it."""
    first = task.watching.first_epoch
    counted = None if first is None or first[1] is None or not first[0] else first[1] / first[0]
    learner, test = trained.learner, trained.test
    rounds = getattr(learner, "t_", 0)
    return {
        "learner": type(learner).__name__,
        "data": task.sources,
        "rows": trained.rows,
        "features": int(trained.model.n_features_in_),
        "maps": [repr(step) for step in task.maps],
        "labels": len(learner.classes_),
        "calibrated": getattr(last_of(trained.model), "method", None),
        "options": as_words(task.options),
        "rejected": trained.rejected,
        "unseen": trained.unseen,
        "order": _order(learner, trained.streamed, trained.work is not None),
        "epochs": task.epochs if trained.streamed and trained.work is None else int(learner.n_iter_),
        "seed": int(learner.seed_),
        "resumed": task.resume is not None,
        "progressive_error": counted,
        "curve": [[rows, errors] for rows, errors in task.watching.curve if errors is not None],
        "mistakes": int(_total(learner.mistakes_)) if rounds else None,
        "updates": int(_total(learner.updates_)) if rounds else None,
        "found": found(learner),
        **_of_shards(trained),
        "remarks": task.remarks,
        "test": None if test is None else {"error": test.error, "rows": test.rows, "of": trained.test_name},
        "learned": task.watching.curve[-1][0] if task.watching.curve else trained.rows,
        "seconds": _seconds(trained),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _of_shards(trained: Trained) -> dict[str, Any]:
    """Return how many shards were mixed and how, and who worked on them; None where there were none."""
    mixed, work = shards_of(trained.learner) or {}, trained.work
    return {
        **{name: mixed.get(name) for name in ("shards", "mixing", "mixed_mistakes")},
        "workers": None if work is None else work.told,
        "moved": None if work is None else work.moved,
    }


def _seconds(trained: Trained) -> dict[str, float]:
    """Return where the time went."""
    work = trained.work
    start = {} if work is None or work.started is None else {"start": work.started}
    return {**start, "read": trained.read_seconds, "learn": trained.learn_seconds}


def _total(counts: Any) -> Any:
    return counts.sum() if hasattr(counts, "sum") else counts


def _order(learner: Any, streamed: bool, apart: bool) -> str:
    if streamed:
        return "as in the files"
    if not getattr(learner, "t_", 0):
        return AT_ONCE
    orders = {False: "as in the files", True: "random, anew in each epoch", "once": "random", "blocks": "random blocks"}
    return orders[learner.shuffle] + (" within each shard" if apart and learner.shuffle is not False else "")


def tell(trained: Trained, about: dict[str, Any], out: Path, show: Show) -> None:
    """Print what matters, after the model is written."""
    if show is Show.JSON:
        tell_json({"model": str(out), "bytes": out.stat().st_size, **about})
        return
    test = trained.test
    error = None if test is None else f"{percent(test.error)} of {test.rows:,} rows ({word(trained.test_name)})"
    progressive = about["progressive_error"]
    if show is Show.BRIEF:
        judged = "" if test is None else f", test error {percent(test.error)}"
        learned = "" if progressive is None else f", progressive error {percent(progressive)}"
        line = f"{word(out)}: {about['rows']:,} rows{learned}{judged}, {seconds(about['seconds']['all'])}"
        stdout().print(line, soft_wrap=True)
        return
    time, earlier = about["seconds"], ", those before included" if about["resumed"] else ""
    told = not trained.streamed or trained.work is not None
    parts = [f"{part} {seconds(time[part])}" for part in time if part != "all"] if told else []
    solved = about["mistakes"] is None
    unit = "step" if solved and not trained.streamed else "epoch"
    console = stdout()
    title(console, name_of(trained.learner), words(about["data"]))
    facts(
        console,
        {
            "rows": f"{about['rows']:,}"
            + (f" ({about['rejected']:,} malformed left out)" if about["rejected"] else ""),
            "features": f"{about['features']:,}",
            "maps": ", ".join(about["maps"]) or None,
            "labels": _labels(trained.learner.classes_),
            "order": f"{about['order']}; {about['epochs']} {unit}{'s' * (about['epochs'] != 1)}",
            "progressive error": None if progressive is None else f"{percent(progressive)} in its first epoch",
            "mistakes": None if solved else _mistakes(about) + earlier,
            "shards": None if about["shards"] is None else f"{about['shards']}, {MIXED[about['mixing']]}",
            "workers": _workers(about),
            **as_told(about["found"]),
            "test error": error,
            "time": ", ".join([*parts, f"{seconds(time['all'])} in all"]),
            "probabilities": about["calibrated"],
            "report": None if "report" not in about else word(about["report"]),
            "model": f"{word(out)}, {size(out.stat().st_size)}",
        },
    )


def _mistakes(about: dict[str, Any]) -> str:
    """Return the mistakes; those of shards also as the theorem counts them, each times the weight of its shard.

    >>> _mistakes({"mistakes": 1200, "updates": 1200, "mixed_mistakes": 150.5})
    '1,200, 1,200 updates; 150.5 weighted by shard'
    """
    mixed = about["mixed_mistakes"]
    weighted = "" if mixed is None else f"; {mixed:,.{0 if mixed >= 1000 else 1}f} weighted by shard"
    return f"{about['mistakes']:,}, {about['updates']:,} updates{weighted}"


def _workers(about: dict[str, Any]) -> str | None:
    """Return who worked, and what they were sent."""
    moved = "" if about["moved"] is None else f"; {size(about['moved'])} of weights moved in an epoch"
    return None if about["workers"] is None else about["workers"] + moved


def _labels(classes: Any, most: int = 8) -> str:
    shown = words(classes[:most].tolist())
    return f"{len(classes)}: {shown}{', ...' if len(classes) > most else ''}"
