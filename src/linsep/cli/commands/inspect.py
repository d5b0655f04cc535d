"""`linsep inspect`: what a model is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linsep.cli.options.common import Json, Model
from linsep.cli.terminal.text import word, words

if TYPE_CHECKING:
    from rich.console import Console

    from linsep.cli.jobs.models import Strongest

EXAMPLES = """
linsep inspect model.linsep
linsep inspect model.linsep --top 20 --json
linsep inspect model.linsep --class 1
"""
SHOWN_ABOVE = (
    "learner", "features", "labels", "options", "learned", "found", "calibrated", "remarks", "shards", "mixing",
    "mixed_mistakes", "moved",
)  # fmt: skip
"""Fields of the training record that other lines show already."""
MOST_LABELS = 20
"""Classes whose features are shown, and labels that are listed."""


def run(
    model: Model,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Features of each class.")] = 10,
    label: Annotated[
        str | None,
        typer.Option("--class", metavar="LABEL", help="Show the features for this class, and those against it."),
    ] = None,
    json: Json = False,
) -> None:
    """Show a model, its strongest features and its training."""
    from linsep.cli.jobs.models import opened_classifier, strongest
    from linsep.cli.terminal.output import print_json, stdout
    from linsep.models.contributions import names_of

    saved = opened_classifier(model)
    facts, parts, name = describe(model, saved), strongest(saved.model, top, label), names_of(saved.model, saved.form)
    named = [(part, [name(column) for column in part.columns.tolist()]) for part in parts]
    if json:
        listed = [
            {
                "label": part.label,
                "features": [{"name": n, "weight": w} for n, w in zip(names, part.weights, strict=True)],
            }
            for part, names in named
        ]
        print_json({**facts, "strongest": listed, "about": saved.about})
        return
    show(stdout(), facts, named, saved.about)


def describe(path: Path, saved: Any) -> dict[str, Any]:
    """Return what the model is."""
    import numpy as np

    from linsep.cli.jobs.models import name_of, readout_name, shards_of, solver_facts
    from linsep.models.contributions import weights_view
    from linsep.models.pipelines import last_of, learner_of, maps_before

    learner = learner_of(saved.model)
    defaults = type(learner)().get_params() if name_of(learner) != type(learner).__name__ else {}
    changed = {name: value for name, value in learner.get_params(deep=False).items() if value != defaults.get(name)}
    speaks = weights_view(learner)
    coef = None if speaks is None else speaks.coef_
    return {
        "file": str(path),
        "size": path.stat().st_size,
        "version": saved.version,
        "learner": name_of(saved.model),
        "steps": [type(step).__name__ for _, step in maps_before(saved.model)],
        "parameters": changed,
        "classes": learner.classes_,
        "features": int(learner.n_features_in_),
        "nonzero": None if coef is None else int(coef.nnz if hasattr(coef, "nnz") else np.count_nonzero(coef)),
        "intercept": None if speaks is None else speaks.intercept_,
        "readout": readout_name(learner),
        "weights_of": None if speaks is None else readout_name(speaks),
        "found": solver_facts(learner),
        "shards": shards_of(learner),
        "calibrated": getattr(last_of(saved.model), "method", None),
        "format": None if saved.form is None else saved.form.name,
        "hashed": saved.form is not None and saved.form.name in ("text", "vw") and saved.form.feature_names is None,
    }


def show(
    console: "Console", known: dict[str, Any], parts: "list[tuple[Strongest, list[str]]]", about: dict[str, Any]
) -> None:  # fmt: skip
    """Print what the model is, what it listens to, and how it was trained."""
    from linsep.cli.jobs.models import facts_in_words
    from linsep.cli.terminal.output import facts, note, size, title

    title(console, f"{known['learner']} of {word(known['file'])}")
    console.print()
    facts(
        console,
        {
            "after": ", ".join(known["steps"]) or None,
            "parameters": ", ".join(f"{name}={value!r}" for name, value in known["parameters"].items())
            or "its defaults",
            "classes": _list(known["classes"].tolist()),
            "features": f"{known['features']:,}",
            **_weights(known),
            **facts_in_words(known["found"]),
            "shards": _shards(known["shards"]),
            "probabilities": known["calibrated"],
            "read as": known["format"],
            "file": f"{size(known['size'])}, written by linsep {known['version']}",
        },
    )
    console.print()
    if not parts:
        note(console, "The weights are those of rows that were kept: a kernel's features are not written out.")
    elif len(parts) == 2:
        _show_two(console, parts)
    else:
        _show_many(console, parts)
    if known["hashed"]:
        console.print()
        note(console, "The features are hashed: -O keep_names=true, or -O vocabulary=true, in fit gives them names.")
    if about:
        title(console, "\nTrained")
        facts(console, training_facts(about))


def _shards(mixed: dict[str, Any] | None) -> str | None:
    """Return what was mixed, in words.

    >>> _shards({"shards": 8, "mixing": "rows", "epochs": 3, "mixed_mistakes": 150.5})
    '8, mixed by their rows after each of 3 epochs; 150.5 mistakes, weighted by shard'
    """
    if mixed is None:
        return None
    from linsep.cli.jobs.models import MIXED

    epochs, mistakes = mixed["epochs"], mixed["mixed_mistakes"]
    after = "one epoch" if epochs == 1 else f"each of {epochs:,} epochs"
    shown = f"{mistakes:,.{0 if mistakes >= 1000 else 1}f}"
    return f"{mixed['shards']}, {MIXED[mixed['mixing']]} after {after}; {shown} mistakes, weighted by shard"


def _weights(known: dict[str, Any]) -> dict[str, str]:
    """Return the facts of the weights that predict; for a vote, which has none, those of the average."""
    readout = {"readout": known["readout"]} if known["readout"] is not None else {}
    if known["intercept"] is None:
        return readout
    weights = known["features"] * len(known["intercept"])
    share = f" ({100 * known['nonzero'] / max(weights, 1):.3g} %)"
    if known["readout"] != known["weights_of"]:
        readout["readout"] += f"; what follows are the weights of {known['weights_of']}"
    return {
        **readout,
        "weights": f"{known['nonzero']:,} of {weights:,} are not 0{share}",
        "bias": _list([_four_digits(bias) for bias in known["intercept"].tolist()]),
    }


def _four_digits(number: float) -> str:
    """Write a number with four digits; a large one with all those before the point.

    >>> _four_digits(1171468.2), _four_digits(-1.22488), _four_digits(0.0), _four_digits(1e200)
    ('1171468', '-1.225', '0.0', '1e+200')
    """
    return f"{number:.0f}" if 1e4 <= abs(number) < 1e15 else str(float(f"{number:.4g}"))


def _list(values: list[Any]) -> str:
    more = f", ... ({len(values):,} in all)" if len(values) > MOST_LABELS else ""
    return words(values[:MOST_LABELS]) + more


def _show_two(console: "Console", parts: "list[tuple[Strongest, list[str]]]") -> None:
    """Print the features of two sides beside each other."""
    from linsep.cli.terminal.output import Text, table

    (one, its), (other, others) = parts
    made = table(Text(word(one.label)), ">weight", Text(word(other.label)), ">weight")
    for k in range(max(len(its), len(others))):
        cells = [_cell(part, names, k) for part, names in parts]
        made.add_row(*cells[0], *cells[1])
    console.print(made)


def _cell(part: "Strongest", names: list[str], k: int) -> tuple[str, str]:
    return (word(names[k]), f"{part.weights[k]:.4g}") if k < len(names) else ("", "")


def _show_many(console: "Console", parts: "list[tuple[Strongest, list[str]]]") -> None:
    """Print the features of each class on lines of their own."""
    from linsep.cli.terminal.output import facts, note, title

    title(console, "Favours")
    texts = {
        word(part.label): ", ".join(
            f"{word(name)}\xa0({weight:.3g})" for name, weight in zip(names, part.weights, strict=True)
        )
        or "nothing"
        for part, names in parts[:MOST_LABELS]
    }
    facts(console, texts)
    if len(parts) > MOST_LABELS:
        note(console, f"and {len(parts) - MOST_LABELS:,} more classes: --class shows one, --json all")


def training_facts(about: dict[str, Any]) -> dict[str, str]:
    """Return the record of a training in words, without fields that are shown above and long lists.

    >>> training_facts(
    ...     {"rows": 1200, "seconds": {"read": 0.5, "learn": 2.0}, "test": {"error": 0.25}, "curve": [[1, 0]]}
    ... )
    {'rows': '1,200', 'seconds': 'read 0.50 s, learn 2.00 s', 'test': 'error 25.0 %'}
    """
    from linsep.cli.jobs.models import AT_ONCE

    texts = {}
    for name, value in ((str(name), value) for name, value in about.items()):
        if isinstance(value, dict):
            value = ", ".join(f"{part} {_format(name, str(part), of)}" for part, of in value.items())
        if isinstance(value, list):
            value = words(value) if all(isinstance(part, str) for part in value) else None
        if name not in SHOWN_ABOVE and value not in (None, "", False):
            solved = name == "epochs" and about.get("order") == AT_ONCE
            texts["steps" if solved else name.replace("_", " ")] = _format("", name, value)
    return texts


def _format(group: str, name: str, value: Any) -> str:
    from linsep.cli.terminal.output import percent, seconds

    if isinstance(value, float):
        return percent(value) if "error" in name else seconds(value) if "seconds" in (group, name) else f"{value:.4g}"
    return "yes" if value is True else f"{value:,}" if isinstance(value, int) else str(value)
