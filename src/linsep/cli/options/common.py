"""Options that several commands have: of learners and of data; how a command adds them and reads them.

A command is registered with `cls=` one of the classes of :mod:`linsep.cli.options.command`, which add options of data
and of learners. The command declares none of these, and reads them from its context:

    def run(ctx: typer.Context, data: Sources) -> None:
        learner = learner_from(learner_options(ctx).learner, learner_options(ctx).parameters)
        for block in linsep.stream(data, **reader_options(ctx)): ...

Parameters have the learners' own names: --epochs is max_iter, --seed random_state and --threads n_jobs. Learners are
loaded only when a command that trains is run.
"""

import json
import re
from ast import literal_eval
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linsep.cli.errors import UsageError

if TYPE_CHECKING:
    from linsep.estimators.base.learner import Learner
    from linsep.transforms.base import FeatureMap

DEFAULT = "averaged-perceptron"
"""The learner, if none is named."""
SEED = 0

Sources = Annotated[
    list[str],
    typer.Argument(metavar="DATA...", show_default=False, help="Files, patterns in quotes, a folder, or - for stdin."),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="A file that fit has written.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Brief = Annotated[bool, typer.Option("--brief", help="Print a single line.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="SECONDS", help="End the work after this time, with its results."),
]
Report = Annotated[Path | None, typer.Option("--report", metavar="FILE.html", help="Also write a page with pictures.")]


class Show(Enum):
    """The amount of output of a command."""

    ALL = "all"
    BRIEF = "a line"
    JSON = "JSON"
    NOTHING = "errors alone"


def show_of(json: bool, brief: bool, quiet: bool) -> Show:
    """Return how much to print; options that contradict each other are refused."""
    given = {"--json": (json, Show.JSON), "--brief": (brief, Show.BRIEF), "--quiet": (quiet, Show.NOTHING)}
    chosen = [(name, show) for name, (is_given, show) in given.items() if is_given]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(name for name, _ in chosen)} contradict each other: give one of them")
    return chosen[0][1] if chosen else Show.ALL


def check_time_limit(seconds: float | None) -> None:
    """Refuse a time limit that leaves no time."""
    if seconds is not None and not 0 < seconds < float("inf"):
        raise UsageError(f"--time-limit {seconds:g}: give a number of seconds above 0")


def check_holdout(holdout: float | None, test: list[str] | None = None) -> None:
    """Refuse a share that leaves no rows on one side, and a second choice of the test rows."""
    if holdout is not None and not 0 < holdout < 1:
        raise UsageError(f"--holdout {holdout:g}: it is a share of the rows, between 0 and 1")
    if test and holdout is not None:
        raise UsageError("--test and --holdout both choose the test rows: give one of them")


@dataclass(frozen=True)
class LearnerOptions:
    """The options of learners: their names, parameters, and the feature maps before them."""

    learners: tuple[str, ...] = ()
    """Empty if none was named and the command has no default."""
    parameters: dict[str, Any] = field(default_factory=dict)
    maps: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    """The learners on the command line: a default is not among them."""
    seed_given: bool = False

    @property
    def learner(self) -> str:
        """The learner, for a command that trains one."""
        return self.learners[0] if self.learners else DEFAULT


@dataclass
class SharedOptions:
    """The options of a command beside its own; a context keeps them as its `obj`."""

    reader: dict[str, Any] = field(default_factory=dict)
    """Keywords of `linsep.read`, `stream` and `convert`."""
    learner: LearnerOptions = LearnerOptions()


def shared_options(ctx: typer.Context) -> SharedOptions:
    """Return the options that a command shares with others."""
    options: SharedOptions = ctx.obj
    return options


def learner_options(ctx: typer.Context) -> LearnerOptions:
    """Return the options of learners."""
    return shared_options(ctx).learner


def reader_options(ctx: typer.Context) -> dict[str, Any]:
    """Return the options of data, as keywords of `linsep.read`, `stream` and `convert`."""
    return dict(shared_options(ctx).reader)


def quarantine_file(ctx: typer.Context) -> Path | None:
    """Return the file that malformed rows are written to."""
    file: Path | None = shared_options(ctx).reader.get("quarantine")
    return file


def as_words(options: dict[str, Any]) -> list[str]:
    """Return the options of data as words of a command.

    >>> as_words({"label": "income", "ngram_range": [1, 2], "n_jobs": 2, "idf": True, "vocabulary": True})
    ['--label', 'income', '-O', 'ngram_range=[1, 2]', '-O', 'idf=true', '--vocabulary']
    """
    words = []
    for name, value in options.items():
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        if name in ("format", "label", "weight"):
            words += [f"--{name}", text]
        elif name == "vocabulary" and isinstance(value, bool):
            words.append("--vocabulary" if value else "--no-vocabulary")
        elif name not in ("n_jobs", "on_error", "quarantine"):
            words += ["-O", f"{name}={text}"]
    return words


def reading_words(options: dict[str, Any]) -> list[str]:
    """Return the options of data as words of a command that reads the same rows again, malformed rows left out."""
    skips = options.get("on_error") in ("skip", "quarantine")
    return [*as_words(options), *(["--on-error", "skip"] if skips else [])]


def reader_in_options(text: str, names: Iterable[str]) -> str:
    """Return a message about options of the reader, as Python has it, in the words of the command line.

    >>> print(reader_in_options("label=..., missing='zero', 'words=1', words=['b']", ["label", "missing", "words"]))
    --label COLUMN, -O missing=zero, 'words=1', -O 'words=["b"]'
    """
    quoted, value = r"(?<!\w)'(?:[^'\\]|\\.)*'", r"'[^']*'|\[[^\]]*\]|\.\.\.|\w+|"
    return re.sub(rf"{quoted}|(?<![\w'-])({'|'.join(names)})=({value})", _reader_option, text)


def _reader_option(found: re.Match[str]) -> str:
    name, text = found.groups()
    if name is None:
        return found[0]
    if text in ("", "..."):
        own = name in ("label", "weight", "format", "on_error", "quarantine")
        values = {"label": " COLUMN", "weight": " COLUMN", "quarantine": " FILE"} if text else {}
        return (
            f"--{name.replace('_', '-')}{values.get(name, '')}"
            if own
            else f"-O {name}={'COLUMN' if name == 'text' else text}"
        )
    with suppress(ValueError, SyntaxError):
        return join(as_words({name: literal_eval(text)})) or found[0]
    return f"-O {name}={text}"


def as_option(option: str, value: Any, is_flag: bool = False) -> list[str]:
    """Return an option in the words of a command.

    >>> as_option("--log", False, is_flag=True), as_option("--shuffle", False), as_option("--x-max", None)
    (['--no-log'], ['--shuffle', 'false'], ['--x-max', 'none'])
    >>> as_option("--class-weight", {"a": 2.0, 1: 3.0})
    ['--class-weight', '"a"=2.0,1=3.0']
    """
    if is_flag:
        return [option if value else f"--no-{option[2:]}"]
    if value is None or isinstance(value, bool):
        return [option, str(value).lower()]
    if isinstance(value, dict):
        value = ",".join(f"{json.dumps(of) if isinstance(of, str) else of}={weight}" for of, weight in value.items())
    elif isinstance(value, list):
        value = ",".join(map(str, value))
    return [option, str(value)]


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


def maps_from(texts: tuple[str, ...]) -> "list[FeatureMap]":
    """Return the maps that were named, each with its parameters.

    >>> maps_from(("scale", "polynomial:degree=3,interaction_only=true"))
    [Scale(), Polynomial(degree=3, interaction_only=True)]
    """
    return [_map_from(*text.partition(":")[::2]) for text in texts]


def _map_from(name: str, parameters: str) -> "FeatureMap":
    from linsep.transforms import MAPS

    if name not in MAPS:
        close = get_close_matches(name, MAPS, 1)
        cure = f"did you mean {close[0]}?" if close else f"there are {', '.join(MAPS)}"
        raise UsageError(f"there is no map {name!r}; {cure}")
    known = MAPS[name]._get_param_names()
    given: dict[str, Any] = {}
    for pair in filter(None, parameters.split(",")):
        key, mark, text = pair.partition("=")
        if not mark or key not in known:
            raise UsageError(f"--map {name}:{pair}: its parameters are {', '.join(known)}, written as name=value")
        given[key] = json_or_word(text)
    return MAPS[name](**given)


def make_pipeline(maps: "list[FeatureMap]", learner: Any) -> Any:
    """Return a learner with maps before it; the learner itself, if there are none."""
    if not maps:
        return learner
    from sklearn.pipeline import Pipeline

    from linsep.transforms import MAPS

    names = [name for step in maps for name, kind in MAPS.items() if type(step) is kind]
    steps = [
        (f"{name}-{k}" if names.count(name) > 1 else name, step)
        for k, (name, step) in enumerate(zip(names, maps, strict=True))
    ]
    return Pipeline([*steps, ("learner", learner)])


def json_or_word(text: str) -> Any:
    """Return a JSON value, or a word.

    >>> json_or_word("[1, 2]"), json_or_word("true"), json_or_word("review")
    ([1, 2], True, 'review')
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
