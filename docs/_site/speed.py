"""The page of benchmarks: tables and bar charts, from the file that `scripts/bench --json` writes."""

import json
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.timing import amount
from linsep.plots.style import COLOURS, axes, name_axes

MEASURED = Path(__file__).parents[1] / "studies" / "benchmarks.json"
HEAD = """\
# Benchmarks

In each row, both sides do the same work on the same data, in turns, and the best of each counts. The ratio is the
peer's measurement divided by linsep's: above 1, linsep needs less. Orange bars are rows in which the peer needs less.
`scripts/bench --all --json FILE` repeats the measurements. Ratios differ between machines by a third and more.

linsep needs less in {less} of {all} rows, and reaches the project's goal in {reached}.
"""
LOSSES = "## Where the peer needs less\n\n| work | peer | ratio |\n|---|---|---:|"
MEASURED_ON = """\
Measured on {date} on {cores} cores ({processor}), best of {repeats} rounds, with {versions}. Programs that waited for
a processor when the group began: {load_before:g}.
"""


def pages():
    """Return the text of the page by its file name."""
    study = json.loads(MEASURED.read_text(encoding="utf-8"))
    raced = [row for row in study["rows"] if "ratio" in row]
    lost = sorted((row for row in raced if row["ratio"] < 1), key=lambda row: row["ratio"])
    counts = {"all": len(raced), "less": len(raced) - len(lost), "reached": sum(row["reached"] for row in raced)}
    parts = [HEAD.format(**counts)]
    if lost:
        cells = ((row["work"], row["against"], f"{row['ratio']:.2f}") for row in lost)
        parts += [LOSSES, *map(line, cells), ""]
    parts += [part for group in groups(study) for part in section(study, group)]
    return {"benchmarks.md": "\n".join(parts)}


def strongest(count=5):
    """Return a table of the fastest work of each group in which linsep needs less time, the highest ratios first."""
    study = json.loads(MEASURED.read_text(encoding="utf-8"))
    best = {}
    for row in study["rows"]:
        if row.get("ratio", 0) > best.get(row["group"], row | {"ratio": 1})["ratio"] and row["unit"] == "s":
            best[row["group"]] = row
    rows = sorted(best.values(), key=lambda row: -row["ratio"])[:count]
    cells = [(row["work"], row["against"], f"{row['ratio']:.1f}") for row in rows]
    return "\n".join(["| work | peer | peer's time / linsep's |", "|---|---|---:|", *map(line, cells)])


def line(cells):
    """Return a row of a table."""
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def groups(study):
    """Return the names of the groups that have rows."""
    return list(dict.fromkeys(row["group"] for row in study["rows"]))


def section(study, group):
    """Return the part of the page about one group."""
    rows = [row for row in study["rows"] if row["group"] == group]
    raced = [row for row in rows if "ratio" in row]
    about = study["groups"][group]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    yield f"## {group.replace('_', ' ').capitalize()}\n\n{about['about']}\n"
    yield MEASURED_ON.format(**about | {"versions": versions})
    if raced:
        yield f"![Ratios of the group {group}](charts/{group}.svg)\n"
        yield "| work | peer | linsep | peer's | ratio | goal | note |\n|---|---|---:|---:|---:|---:|---|"
        for row in raced:
            goal = f"{row['goal']:.3g}" + ("" if row["reached"] else ", not reached")
            sides = (amount(row[side], row["unit"]).replace(" ", "\u00a0") for side in ("ours", "peer"))
            cells = row["work"], row["against"], *sides, f"**{row['ratio']:.2f}**", goal, row["note"]
            yield line(cells)
        yield ""
    for row in rows:
        if "why" in row:
            yield f"- Not measured: {row['work']}. {row['why']}"
    yield ""


def write_charts(folder):
    """Draw the ratios of each group as bars, on a logarithmic axis that begins at 1."""
    study = json.loads(MEASURED.read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    for group in groups(study):
        rows = [row for row in study["rows"] if row["group"] == group and "ratio" in row][::-1]
        if rows:
            chart(rows).savefig(folder / f"{group}.svg", transparent=True, metadata={"Date": None})


def chart(rows):
    """Return the bars of some rows, the first at the bottom."""
    figure = Figure(figsize=(9, 0.9 + 0.32 * len(rows)), layout="constrained")
    ax = axes(figure.subplots(), (9, 3))
    ratios = [row["ratio"] for row in rows]
    colours = [COLOURS[0] if ratio >= 1 else COLOURS[1] for ratio in ratios]
    ax.barh(range(len(rows)), [ratio - 1 for ratio in ratios], left=1, color=colours, height=0.62)
    ax.set_yticks(range(len(rows)), [row["work"] for row in rows])
    ax.set_xscale("log")
    ends = [0.8, 1.25, *ratios]
    ax.set_xlim(min(ends) / 1.1, max(ends) * 1.25)
    ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if min(ends) <= t <= max(ends) * 1.1]
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
    ax.minorticks_off()
    ax.axvline(1, color="#808080", linewidth=1)
    for place, ratio in enumerate(ratios):
        ax.annotate(
            f"{ratio:.2f}", (max(ratio, 1), place), (4, 0), textcoords="offset points", va="center", color="#808080"
        )
    name_axes(ax, "peer's measurement / linsep's", "")
    for text in (*ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label):
        text.set_color("#808080")
    return figure
