"""The demo's page about votes; it needs matplotlib."""

from collections.abc import Sequence

from linsep.demo.digits_study import METHODS, Run
from linsep.demo.votes import ABOUT
from linsep.plots import style
from linsep.plots.report import Column, Part, Picture, Table, Text
from linsep.plots.vote_curve import vote_panels
from linsep.training.votes import reading_name


def vote_parts(runs: Sequence[Run]) -> list[Part]:
    """Return what the page says of the study: what it asks, the curves, and the errors in the end."""
    curves = vote_panels({f"degree {run.degree}": (run.epochs, run.errors) for run in runs})
    columns = [Column(f"degree {run.degree}, T = {run.epochs[-1]:g}", "right", write=style.percent) for run in runs]
    rows = [[reading_name(*method), *(run.errors[method][-1] for run in runs)] for method in METHODS]
    return [
        Text(ABOUT),
        Picture(
            curves,
            "Test error of seven ways to answer, as epochs go by",
            "The last hypothesis depends on the last few rows and jumps; a vote or an average is steadier, and mostly "
            "better. Dashed: each hypothesis divided by its length first.",
        ),
        Table(["answer", *columns], rows),
    ]
