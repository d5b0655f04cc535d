"""The pictures of the study of scale: test error by epoch, and the model on paper."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from PIL import Image

from benchmarks.scale_accuracy import KINDS, METHODS, Run, grouped, mean
from benchmarks.scale_model import Costs, Plan, epoch, knee, variants
from benchmarks.scale_report import FILLED, WEIGHTS
from linsep.plots import style, ticks

STEPS = np.unique(np.round(np.logspace(0, 4, 200)).astype(int))
LINES = {
    "dense gains, first epoch": ("dense gains", False),
    "dense gains, later epochs": ("dense gains", None),
    "sparse gains, later epochs": ("sparse gains", None),
    "tree of mixes (not built),\nlater epochs": ("tree of mixes", None),
}


def accuracy_figure(runs: Sequence[Run]) -> Figure:
    """Draw test error against epochs, a panel for each set and learner: means, and each seed in thin lines."""
    panels = grouped(runs)
    sets = list(dict.fromkeys(name for name, _ in panels))
    figure = Figure(figsize=(3.1 * len(sets) + 1.6, 2.95 * len(KINDS)), layout="constrained")
    places = figure.subplots(len(KINDS), len(sets), squeeze=False, sharex=True)
    drawn: dict[str, Line2D] = {}
    for (name, learner), found in panels.items():
        across, down = sets.index(name), list(KINDS).index(learner)
        ax = style.axes(places[down, across], (1.0, 1.0))
        for k, method in enumerate(METHODS):
            x = np.arange(1, len(mean(found, method)) + 1)
            for run in found:
                ax.plot(x, 1 - np.array(run.accuracy[method]), color=style.colour_of(k), linewidth=0.6, alpha=0.25)
            [drawn[method]] = ax.plot(
                x, 1 - mean(found, method), color=style.colour_of(k), marker=style.marker_of(k), markersize=4.5,
                markeredgecolor=style.paper(), linewidth=1.9, linestyle="dashed" if "files" in method else "solid",
                zorder=3,
            )  # fmt: skip
        ax.set_ylim(*_range(found))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ticks.percents(ax.yaxis)
        ax.grid(axis="y", color=style.ink(), alpha=0.12, linewidth=0.8)
        style.head(ax, name, learner)
        style.name_axes(ax, "epochs" if down == len(KINDS) - 1 else "", "" if across else "test error")
    _legend(figure, drawn)
    return figure


def _range(found: Sequence[Run]) -> tuple[float, float]:
    """Return a range of errors that shows how the last epochs differ; a bad first epoch may lie above it."""
    late = 1 - np.array([mean(found, method)[1:] for method in METHODS])
    room = 0.1 * (late.max() - late.min()) + 1e-4
    return float(late.min() - room), float(late.max() + 2 * room)


def model_figure(costs: Costs) -> Figure:
    """Draw the seconds of an epoch over 1 TB against workers; a dot is the knee."""
    figure = Figure(figsize=(10.6, 4.3), layout="constrained")
    places = figure.subplots(1, len(WEIGHTS), sharey=True, squeeze=False)[0]
    drawn: dict[str, Line2D] = {}
    for ax, weights in zip(places, WEIGHTS, strict=True):
        style.axes(ax, (1.0, 1.0))
        plans = variants(Plan(weights=weights), FILLED)
        for k, (name, (variant, in_memory)) in enumerate(LINES.items()):
            [drawn[name]] = ax.plot(
                STEPS, [_seconds(count, plans[variant], costs, in_memory) for count in STEPS.tolist()],
                color=style.colour_of(k), linewidth=1.9, linestyle="dashed" if in_memory is False else "solid",
            )  # fmt: skip
            best = knee(plans[variant], costs, in_memory=in_memory)
            if best <= STEPS[-1]:
                ax.plot(best, _seconds(best, plans[variant], costs, in_memory), color=style.colour_of(k),
                        marker=style.marker_of(k), markersize=8, markeredgecolor=style.paper(), zorder=4)  # fmt: skip
        ax.set_xscale("log")
        ax.set_yscale("log")
        ticks.numbers(ax.xaxis)
        ticks.numbers(ax.yaxis)
        ax.grid(color=style.ink(), alpha=0.12, linewidth=0.8)
        style.head(ax, f"{weights:,.0f} weights")
        style.name_axes(ax, "workers", "" if weights > WEIGHTS[0] else "seconds of an epoch over 1 TB")
    _legend(figure, drawn)
    return figure


def _seconds(count: int, plan: Plan, costs: Costs, in_memory: bool | None) -> float:
    return epoch(count, plan, costs, in_memory=in_memory).total


def _legend(figure: Figure, drawn: dict[str, Line2D]) -> None:
    options: dict[str, Any] = {"frameon": False, "fontsize": style.SMALL + 0.5, "labelcolor": style.ink()}
    figure.legend(
        list(drawn.values()), list(drawn), loc="outside right upper", handlelength=2.6, labelspacing=0.8, **options
    )


def save(figure: Figure, file: Path) -> None:
    """Write a picture for the pages, in 256 colours: many thin lines that shine through make many shades."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=100, facecolor="white")
    Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)
