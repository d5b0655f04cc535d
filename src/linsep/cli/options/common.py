"""Options that several commands have: of learners and of data; how a command adds them and reads them.

A command is registered with `cls=` one of the classes of :mod:`linsep.cli.options.command`, which add options of data
and of learners; it declares none of these, and asks for what was said:

    def run(ctx: typer.Context, data: Sources) -> None:
        told = given(ctx)
        learner = learner_from(told.learner, told.parameters)
        for block in linsep.stream(data, **reading(ctx)): ...

`told.parameters` has what was said, by the learners' own names: --epochs is max_iter, --seed random_state and --threads
n_jobs. `reading(ctx)` has what was said of the data. Learners are loaded only when a command that trains is run.
"""

import json
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from linsep.cli.errors import UsageError

if TYPE_CHECKING:
    from linsep.estimators.base.learner import Learner

DEFAULT = "averaged-perceptron"
"""The learner, if none is named."""
SEED = 0
LEARNER, DATA, NAMED = "linsep.learner", "linsep.data", "linsep.named"
"""Where a context keeps what was said, and which learners were named before all is parsed."""

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...", show_default=False, help="Files, patterns in quotes, a folder, or - for the standard input."
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="A file that fit has written.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print a single line.")]
Report = Annotated[Path | None, typer.Option("--report", metavar="FILE.html", help="Write a page with pictures, too.")]


class Given(NamedTuple):
    """What was said of learners: their names, none if none was named, their parameters, and the maps before them."""

    learners: tuple[str, ...]
    parameters: dict[str, Any]
    maps: tuple[str, ...] = ()

    @property
    def learner(self) -> str:
        """The learner, where there is one."""
        return self.learners[0] if self.learners else DEFAULT


def given(ctx: typer.Context) -> Given:
    """Return what was said of the learner."""
    found: Given = ctx.meta[LEARNER]
    return found


def reading(ctx: typer.Context) -> dict[str, Any]:
    """Return what was said of the data, as keywords of `linsep.read`, `stream` and `convert`."""
    return dict(ctx.meta[DATA])


def as_said(options: dict[str, Any]) -> list[str]:
    """Return what was said of the data as words of a command.

    >>> as_said({"label": "income", "ngram_range": [1, 2], "n_jobs": 2, "idf": True})
    ['--label', 'income', '-O', 'ngram_range=[1, 2]', '-O', 'idf=true']
    """
    words = []
    for name, value in options.items():
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        if name in ("format", "label", "weight"):
            words += [f"--{name}", text]
        elif name not in ("n_jobs", "on_error", "quarantine"):
            words += ["-O", f"{name}={text}"]
    return words


def learner_from(name: str, parameters: dict[str, Any]) -> "Learner":
    """Return a learner of the table with these parameters; the seed is 0 unless it is among them.

    >>> learner_from("winnow", {"eta": 0.1})
    Winnow(eta=0.1, random_state=0)
    """
    from linsep.cli.options.learners import LEFT_OUT, OF_SHARDS, option, owners
    from linsep.estimators.registry import LEARNERS

    entry = LEARNERS[known_learner(name)]
    for parameter in parameters:
        if parameter in OF_SHARDS and entry.no_mixing:
            raise UsageError(f"{name} has no {option(parameter)}, as {entry.no_mixing}")
        if parameter not in LEFT_OUT and name not in owners(parameter):
            raise UsageError(f"{name} has no {option(parameter)}; it is an option of {', '.join(owners(parameter))}")
    learner: Learner = entry.make(**{"random_state": SEED, **parameters})
    return learner


def known_learner(name: str) -> str:
    """Return a learner's name, if there is such a learner."""
    from linsep.estimators.registry import LEARNERS

    if name in LEARNERS:
        return name
    close = get_close_matches(name, LEARNERS, 1)
    cure = f"did you mean {close[0]}?" if close else f"there are {', '.join(LEARNERS)}"
    raise UsageError(f"there is no learner {name!r}; {cure}")
