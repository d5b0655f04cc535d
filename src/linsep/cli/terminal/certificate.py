"""A certificate on a terminal: the verdict, the margins and bounds of each problem, the runs, and their shards."""

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from linsep.certificates.schema import ProblemKey
from linsep.certificates.words import (
    LETTERS,
    WEIGHTED,
    WEIGHTED_LABEL,
    Line,
    counted,
    favours,
    names_mixed_run,
    outward,
    rounded,
    short_verdict,
    verdict_sentence,
)
from linsep.certificates.words import table as lines_of
from linsep.cli.terminal.output import Text, facts, note, seconds, size, table, title, wrap
from linsep.cli.terminal.text import word, words
from linsep.engine.arrays import Array

if TYPE_CHECKING:
    from linsep.certificates.certificate import Certificate
    from linsep.estimators.base.learner import Learner
    from linsep.training.update_log import Mixes

MOST_SHARDS, MOST_EPOCHS, LAST = 6, 12, 4
"""Shards that have a column each, epochs that have a row each, and how many of them are the last where some are left
out."""


class ShardTable(NamedTuple):
    """Columns by their names, and a row for each epoch."""

    columns: list[str]
    rows: list[list[str]]


def mixes_of(learner: Any) -> "Mixes | None":
    """Return what a learner's shards did; None if it had none."""
    return getattr(learner, "mixes_", None)


def shards_as_json(mixes: "Mixes | None") -> dict[str, Any] | None:
    """Return all shards, a line each, for machines."""
    return None if mixes is None else {name: getattr(mixes, name) for name in mixes.__dataclass_fields__}


def in_full(mixes: "Mixes", state: int = 0) -> ShardTable:
    """Return a column for each shard: its mistakes times its weight mu in the mix.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]
    >>> shards = in_full(Perceptron(shuffle=False, shards=2, mixing="rows").fit(X, y).mixes_)
    >>> shards.columns, shards.rows[0]
    (['epoch', 'shard 0', 'shard 1', 'weighted', 'so far'], ['1', '1 × 0.3333', '1 × 0.6667', '1', '1'])
    """
    mistakes, weights, cuts, sums = _state(mixes, state)
    shards = max(np.diff(cuts))
    rows = []
    for k in _shown(len(cuts) - 1):
        if k is None:
            rows.append(["…"] * (shards + 3))
            continue
        cells = [f"{mistakes[i]:,} × {weights[i]:.4g}" for i in range(cuts[k], cuts[k + 1])]
        cells += ["–"] * (shards - len(cells))
        rows.append([_epoch(mixes, cuts[k]), *cells, *_sums(sums[k], sums[k + 1])])
    return ShardTable(["epoch", *(f"shard {i}" for i in range(shards)), "weighted", "so far"], rows)


def in_short(mixes: "Mixes", state: int = 0) -> ShardTable:
    """Return the mistakes of all shards of an epoch, and the least and the most of a shard.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]
    >>> shards = in_short(Perceptron(shuffle=False, shards=2, mixing="rows").fit(X, y).mixes_)
    >>> dict(zip(shards.columns, shards.rows[0]))
    {'epoch': '1', 'shards': '2', 'mistakes': '2', 'of a shard': '1', 'weight mu': '0.3333–0.6667', 'weighted': '1',
    'so far': '1'}
    """
    mistakes, weights, cuts, sums = _state(mixes, state)
    columns = ["epoch", "shards", "mistakes", "of a shard", "weight mu", "weighted", "so far"]
    rows = []
    for k in _shown(len(cuts) - 1):
        if k is None:
            rows.append(["…"] * len(columns))
            continue
        own = slice(cuts[k], cuts[k + 1])
        counts = [f"{cuts[k + 1] - cuts[k]:,}", f"{mistakes[own].sum():,}"]
        spans = [_span(mistakes[own], ","), _span(weights[own], ".4g")]
        rows.append([_epoch(mixes, cuts[k]), *counts, *spans, *_sums(sums[k], sums[k + 1])])
    return ShardTable(columns, rows)


def few(mixes: "Mixes") -> bool:
    """Return whether each shard can have a column."""
    return int(mixes.shards.max(initial=0)) < MOST_SHARDS


def _state(mixes: "Mixes", state: int) -> tuple[Array, Array, Array, Array]:
    """Return the mistakes and weights of one classifier, where epochs begin and end, and their weighted sums so far."""
    mistakes, weights = (a if a.ndim == 1 else a[:, state] for a in (mixes.mistakes, mixes.weights))
    cuts = np.append(np.flatnonzero(mixes.shards == 0), len(mixes))
    return mistakes, weights, cuts, np.append(0.0, np.cumsum(mistakes * weights))[cuts]


def _shown(epochs: int) -> list[int | None]:
    """Return the epochs that are shown, None for those that are left out."""
    if epochs <= MOST_EPOCHS:
        return [*range(epochs)]
    return [*range(MOST_EPOCHS - LAST), None, *range(epochs - LAST, epochs)]


def _epoch(mixes: "Mixes", line: int) -> str:
    return f"{mixes.epochs[line]:,}"


def _sums(before: float, after: float) -> list[str]:
    """Return what an epoch adds, and the sum so far, rounded up as certificates do it, but not by what floats err."""
    return [f"{after - before:,.4g}", outward(Decimal(repr(round(float(after), 9))), up=True)]


def _span(values: Array, form: str) -> str:
    """Return the least and the most, or what all are."""
    least, most = format(values.min(), form), format(values.max(), form)
    return least if least == most else f"{least}–{most}"


COLOURS = {"separable": "green", "not separable": "red", "open": "yellow"}
MOST_CLASSES, MOST_RUNS = 40, 3
"""Classes that the table shows, and runs that are shown in full."""
NOTES = 24
"""Columns that notes need."""
MIXED = "a theorem bounds the weighted sum: mistakes of a shard times its weight mu in the mix, over all epochs"
OF_CLASSES = (
    "verdict",
    "fewest errors",
    "errors of the model",
    "perceptron's mistakes",
    "  in",
    "balanced Winnow's mistakes",
    "Winnow's mistakes",
    "perceptron's margin",
)
"""The columns of a table of many problems, the most important first."""


def show(
    console: Console, cert: "Certificate", data: list[str], learner: "Learner | None", written: dict[str, Path],
    took: float,
) -> None:  # fmt: skip
    """Print all of it."""
    about, lines = cert.facts["data"], lines_of(cert)
    sizes = [(about["rows"], "row", "rows"), (about["features"], "feature", "features")]
    sizes.append((len(about["classes"]), "class", "classes"))
    title(console, f"What is proved of {words(data)}")
    note(console, ", ".join(f"{count:,} {one if count == 1 else many}" for count, one, many in sizes))
    console.print()
    verdict = verdict_sentence(cert)
    head, _, rest = verdict.partition(": ")
    text = Text("\n".join(wrap(verdict, console.width - 1)))
    if rest:
        text.stylize(f"bold {COLOURS.get(cert.verdict, '')}", 0, len(head))
    console.print(text)
    console.print()
    problems = {word(name): lines[name] for name in cert.problems}
    if len(about["classes"]) > 2:
        _by_class(console, problems)
    else:
        _side_by_side(console, problems)
    _runs(console, {word(name): lines[name] for name in cert.runs}, learner)
    _shards(console, cert, learner)
    console.print()
    console.print(Text("\n".join(wrap(favours(cert), console.width - 1))))
    for remark in remarks_of(cert, learner):
        console.print()
        note(console, remark)
    console.print()
    files = {name: f"{word(path)}, {size(path.stat().st_size)}" for name, path in written.items()}
    facts(console, {**files, "time": seconds(took)})


def mistakes_made(cert: "Certificate", learner: "Learner | None") -> dict[str, int]:
    """Return the mistakes of each run of a learner by its name, certified or not; none if it does not go row by row."""
    if not getattr(learner, "t_", 0):
        return {}
    counted = getattr(learner, "mistakes_", 0)
    counts, classes = counted.tolist() if hasattr(counted, "tolist") else counted, cert.facts["data"]["classes"]
    bias = cert.keys[0].bias
    if not isinstance(counts, list):
        found = {ProblemKey(bias) if len(classes) <= 2 else ProblemKey(bias, "pairs"): counts}
    else:
        found = {ProblemKey(bias, "class", c): count for c, count in zip(classes, counts, strict=True)}
    return {key.run: int(cert.claims.get(f"{key.run}: mistakes", count)) for key, count in found.items()}


def remarks_of(cert: "Certificate", learner: "Learner | None") -> list[str]:
    """Return what is not proved; of a run without a guarantee also how many mistakes it made."""
    made = {name: count for name, count in mistakes_made(cert, learner).items() if name not in cert.runs}
    remarks, left = cert.remarks, {*range(len(cert.remarks))}
    for name in sorted(made, key=len, reverse=True):  # a label may hold ": ", and then begin as another label does
        own = [place for place in left if remarks[place].startswith(f"{name}: ")]
        if own:
            left.remove(place := max(own))  # remarks are in the order of the labels: longer ones come last
            remarks[place] = f"{name}: {_were_made(made.pop(name))}; {remarks[place].removeprefix(f'{name}: ')}"
    return [
        f"{_were_made(sum(made.values()))}; {remark}"
        if remark.startswith("no guarantee: ") and made and not cert.runs
        else remark
        for remark in remarks
    ]


def _were_made(count: int) -> str:
    return f"{counted(count, 'mistake')} {'was' if count == 1 else 'were'} made"


def in_a_line(cert: "Certificate", learner: "Learner | None" = None) -> str:
    """Return the verdict and the margin as one line."""
    line = next(line for line in lines_of(cert)[cert.problems[0]] if line.label == "perceptron's margin")
    made = mistakes_made(cert, learner) or {name: int(cert.claims[f"{name}: mistakes"]) for name in cert.runs}
    counts = [
        f"{name}: {counted(count, 'mistake')}{_weighted(cert, name) if name in cert.runs else ', no guarantee'}"
        for name, count in made.items()
    ]
    return "; ".join([short_verdict(cert), f"margin {line.value}", *counts])


def _weighted(cert: "Certificate", name: str) -> str:
    """Return what the mistakes of a mixed run weigh; "" of any other run."""
    return f", {rounded(cert, name, WEIGHTED)} weighted" if names_mixed_run(cert, name) else ""


def as_json(cert: "Certificate", learner: "Learner | None" = None) -> dict[str, Any]:
    """Return what is proved, for machines; the witnesses are left out. Of a mixed run, all shards are there."""
    shards = mixes_of(learner)
    return {
        "verdict": cert.verdict,
        "sentence": verdict_sentence(cert),
        "favours": favours(cert),
        "data": cert.facts["data"],
        "problems": cert.problems,
        "runs": cert.runs,
        "mistakes": mistakes_made(cert, learner),
        **({} if shards is None else {"mixes": shards_as_json(shards)}),
        "claims": cert.claims,
        "risk": cert.facts.get("risk", {}),
    }


def _side_by_side(console: Console, problems: dict[str, list[Line]]) -> None:
    """Print problems as columns, or one below the other where there is no room."""
    known = {name: {line.label: line for line in lines} for name, lines in problems.items()}
    labels = list(dict.fromkeys(label for lines in known.values() for label in lines))
    made = table("", *(name.replace(", ", "\n") for name in known))
    for label in labels:
        made.add_row(Text(label), *(_value(lines.get(label), " to ") for lines in known.values()))
    if _width(console, made) <= console.width:
        console.print(made)
        note(console, LETTERS)
        size = next(
            (line.note for lines in known.values() for line in lines.values() if line.label == "sample size"), ""
        )
        for label in (label for label in labels if label.startswith("risk ")):
            note(console, f"{label}: {next(of[label].note for of in known.values() if label in of)}")
        if size:
            note(console, f"sample size: {size}, for a halfspace without errors on the sample")
        return
    for place, (name, lines) in enumerate(problems.items()):
        if place:
            console.print()
        block(console, name, lines)


def block(console: Console, name: str, lines: list[Line]) -> None:
    """Print lines under a heading, their notes dim, if there is room for them."""
    console.print(Text(name, style="bold"))
    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column(no_wrap=True)
    room = console.width - sum(max(len(line[k]) for line in lines) + 2 for k in (0, 1))
    if room >= NOTES:
        made.add_column(style="dim")
    for line in lines:
        made.add_row(*[Text(line.label), _value(line), Text(line.note)][: len(made.columns)])
    console.print(made)


def _by_class(console: Console, problems: dict[str, list[Line]]) -> None:
    """Print a row for each problem, with as many columns as there is room for."""
    shown = dict(list(problems.items())[: MOST_CLASSES + 1])
    known = {name: {line.label: line for line in lines} for name, lines in shown.items()}
    labels = list(dict.fromkeys(label for lines in known.values() for label in lines))
    wanted = [label for start in OF_CLASSES for label in labels if label.startswith(start)]
    for count in range(len(wanted), 0, -1):
        made = table("", *(_heading(label) for label in wanted[:count]))
        for name, lines in known.items():
            made.add_row(Text(name.rpartition(", ")[0]), *(_value(lines.get(label)) for label in wanted[:count]))
        if _width(console, made) <= console.width:
            break
    console.print(made)
    bias = next(iter(problems)).rpartition(", ")[2]
    note(console, f"{bias}; mistakes at most, in any order; pairs: every row's own class against each other class")
    if len(shown) < len(problems):
        note(console, f"and {len(problems) - len(shown):,} more classes: --json has them all")


def _runs(console: Console, runs: dict[str, list[Line]], learner: "Learner | None") -> None:
    """Print what became of the runs: in full, or a row for each if there are many."""
    if not runs:
        return
    from linsep.cli.jobs.models import name_of

    console.print()
    name = name_of(learner) if learner is not None else ""
    if len(runs) <= MOST_RUNS:
        for place, (of, lines) in enumerate(runs.items()):
            if place:
                console.print()
            block(console, f"{name}, {of}" if name else of, lines)
        return
    mixed = any(line.label == WEIGHTED_LABEL for lines in runs.values() for line in lines)
    made = table(f"{name}, run", ">mistakes", *([">weighted"] if mixed else []), ">allowed")
    for of, lines in runs.items():
        first = {line.label: line.value for line in reversed(lines)}
        weighted = [first.get(WEIGHTED_LABEL, "–")] if mixed else []
        made.add_row(Text(of.removeprefix("run of ")), first["mistakes"], *weighted, first.get("  allowed", "–"))
    console.print(made)
    note(console, "lemmas and risks of each run: --json has them")


def _shards(console: Console, cert: "Certificate", learner: "Learner | None") -> None:
    """Print the mistakes of each shard in each epoch with their weights, of all classifiers if they are few."""
    mixes = mixes_of(learner)
    if mixes is None:
        return
    classes = cert.facts["data"]["classes"] if mixes.mistakes.ndim > 1 else [""]
    if len(classes) > MOST_RUNS:
        note(console, "mistakes of each shard, and their weights: --json has them")
        return
    for state, name in enumerate(classes):
        console.print()
        made = [_shard_table(kind(mixes, state)) for kind in ([in_full] if few(mixes) else []) + [in_short]]
        fits = [(_width(console, of) <= console.width, of) for of in made]
        shown = next((of for fit, of in fits if fit), None)
        console.print(Text(f"mistakes of the shards{f', class {word(name)}' if name else ''}", style="bold"))
        if shown is None:
            note(console, "the terminal is too narrow for them: --json has them")
        else:
            console.print(shown)
    if cert.runs:
        note(console, MIXED)


def _shard_table(found: ShardTable) -> Table:
    made = table(*(f">{name}" for name in found.columns))
    for row in found.rows:
        made.add_row(*row)
    return made


def _width(console: Console, made: Table) -> int:
    """Return how wide a table would like to be."""
    return console.measure(made, options=console.options.update(max_width=10_000)).maximum


def _heading(label: str) -> str:
    """Return a column's heading, in two lines if it is long."""
    return label.strip().replace("'s ", "'s\n")


def _value(line: Line | None, long: str = "") -> Text:
    """Return a value, a dash in the place of a word that takes too much room."""
    if line is None:
        return Text("–", style="dim")
    shown = line.value.replace(long, "–") if long else line.value
    return Text(shown, style=COLOURS.get(line.value, "dim" if line.value.startswith("no ") else ""))
