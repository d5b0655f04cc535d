"""Commands that share options: of data and, if they train, of learners, which are loaded when such a command is run."""

import json
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from linsep.cli.errors import UsageError
from linsep.cli.options.common import DEFAULT, SEED, LearnerOptions, SharedOptions, json_or_word, known_learner
from linsep.cli.options.help import HelpPage
from linsep.cli.startup import collect_garbage, load_scikit_learn

FORMATS = ("svmlight", "vw", "text", "csv", "tsv", "parquet", "arrow", "binary")
MAPS = ("polynomial", "bias", "scale", "scale-columns", "standardize", "delta-trick")
"""Formats of files, and feature maps; a test holds them to their tables, which take long to load."""
READER = (
    "alternate_sign", "analyzer", "binary", "block_bytes", "block_rows", "cache", "categories", "columns", "delimiter",
    "dtype", "format", "header", "idf", "ignore", "keep_names", "label", "lowercase", "missing", "n_features",
    "named_labels", "ngram_range", "norm", "on_error", "quarantine", "strict", "text", "text_features", "verify",
    "vocabulary", "weight", "words", "zero_based",
)  # fmt: skip
"""Options of the reader; a test holds them to its formats."""
MOST_THREADS = 4096


RESERVED = (
    "self", "source", "target", "like", "progress", "learner", "model", "y", "client", "what", "epochs", "checkpoint",
    "once",
)  # fmt: skip
"""Parameters of what reads data that commands set themselves; a test holds them to its functions."""


RARE = (
    "restart", "open_labels", "window", "scheduler", "json", "brief", "quiet", "weight", "on_error", "quarantine",
    "vocabulary", "threads", "option", "map", "epsilon", "confidence", "bias", "passes", "risk", "shifting", "scaling",
)  # fmt: skip
"""Options of commands that train which help shows only if a learner is named, so that the others fit on a screen."""


def _learner_names() -> list[tuple[str, str]]:
    """Return the learners and what each is, for shells that complete names."""
    from linsep.estimators.registry import LEARNERS

    return [(name, entry.summary) for name, entry in LEARNERS.items()]


def _of_data(
    format: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"{', '.join(FORMATS)}; detected if omitted.")
    ] = None,
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of labels, in tables.")] = None,
    weight: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of weights, in tables.")] = None,
    on_error: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="A malformed row: raise, skip or quarantine. Default: raise."),
    ] = None,
    quarantine: Annotated[Path | None, typer.Option(metavar="FILE", help="The file of malformed rows.")] = None,
    vocabulary: Annotated[
        bool | None,
        typer.Option(
            "--vocabulary/--no-vocabulary",
            show_default=False,
            help="Give each word a named column instead of hashing words.",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-O",
            metavar="NAME=VALUE",
            help="Any other option of the reader; repeatable.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(metavar="N", max=MOST_THREADS, help="Threads; never change a result. Default: all cores."),
    ] = None,
) -> None:
    """Declare the options of commands that read data."""


Maps = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="NAME[:P=V,...]",
        help=f"A feature map; repeatable, applied in order: {', '.join(MAPS)}.",
    ),
]


def _of_training(
    learner: Annotated[
        str,
        typer.Option(
            "--learner", "-l", metavar="NAME", autocompletion=_learner_names,
            help="LEARNERS.",
        ),
    ] = DEFAULT,
    map: Maps = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The seed of the order of rows.")] = SEED,
) -> None:  # fmt: skip
    """Declare the options of a command that trains one learner."""


def _of_trials(
    learner: Annotated[
        list[str] | None,
        typer.Option(
            "--learner", "-l", metavar="NAME", autocompletion=_learner_names,
            help="A learner to try; repeatable: LEARNERS. Default: all but those for small data.",
        ),
    ] = None,
    map: Maps = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The seed of the split and the order.")] = SEED,
) -> None:  # fmt: skip
    """Declare the options of a command that trains several learners."""


def _of_runs(
    learner: Annotated[
        str | None,
        typer.Option(
            "--learner", "-l", metavar="NAME", autocompletion=_learner_names,
            help="Also train a learner and certify its run: LEARNERS.",
        ),
    ] = None,
    map: Maps = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The seed of the order of rows.")] = SEED,
) -> None:  # fmt: skip
    """Declare the options of a command that may train one learner."""


def _of_maps(map: Maps = None) -> None:
    """Declare the option of a command that maps features and trains nothing."""


@cache
def declare(function: Callable[..., Any], panel: str | None = None) -> list[Any]:
    """Return the parameters that typer makes of a function's signature."""
    app = typer.Typer(add_completion=False)
    app.command()(function)
    params = typer.main.get_command(app).params
    for param in params:
        param.rich_help_panel = panel or getattr(param, "rich_help_panel", None)  # type: ignore[attr-defined]
    return params


@cache
def _of_learners(shown: tuple[str, ...]) -> list[Any]:
    """Return the parameters of all learners as options; help shows those of some learners."""
    from linsep.cli.options.learners import signature

    def holder() -> None: ...

    made = signature(shown)
    holder.__signature__ = made  # type: ignore[attr-defined]
    holder.__annotations__ = {name: parameter.annotation for name, parameter in made.parameters.items()}
    return declare(holder)


class Command(HelpPage, TyperCommand):
    """A command with linsep's form of help."""

    needs: str | None = None
    """The module that nearly all of its kind load when they are run."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, once what it needs is loaded."""
        if self.needs is not None:
            load_scikit_learn()
            import_module(self.needs)
        collect_garbage()
        return super().invoke(ctx)


class DataCommand(Command):
    """A command that reads data: it has the reader's options."""

    needs = "linsep.cli.jobs.reading"

    def added(self, ctx: Any) -> list[Any]:
        """Return the options that the command has beside its own."""
        return declare(_of_data, "Data")

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the command's own options and those that it shares with others; --help comes last."""
        *own, last = super().get_params(ctx)
        return [*own, *self.added(ctx), last]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; keep shared options apart from the command's own."""
        ctx.obj = SharedOptions()
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            own = {param.name for param in self.params}
            self.keep(ctx, {name: ctx.params.pop(name) for name in list(ctx.params) if name not in own})
        return rest

    def keep(self, ctx: Any, values: dict[str, Any]) -> None:
        """Set the options of data in the context."""
        names = ("format", "label", "weight", "on_error", "quarantine")
        options: dict[str, Any] = {name: values[name] for name in names if values[name] is not None}
        options |= {name: json_or_word(options[name]) for name in ("label", "weight") if name in options}
        for pair in values.get("option") or ():
            name, mark, text = pair.partition("=")
            name = name.replace("-", "_")
            if not mark:
                raise UsageError(f"-O {pair}: write it as name=value")
            if name in RESERVED:
                raise UsageError(f"-O {pair}: {name} is no option of the reader; leave it out")
            options[name] = json_or_word(text)
        if "quarantine" in options:
            options["quarantine"] = _path(options["quarantine"])
            options.setdefault("on_error", "quarantine")
            if options["on_error"] != "quarantine":
                raise UsageError(
                    f"--quarantine goes with --on-error quarantine: remove --on-error {options['on_error']}"
                )
        elif options.get("on_error") == "quarantine":
            raise UsageError("--on-error quarantine needs a file for the rows: add --quarantine FILE")
        if values.get("threads") == 0:
            raise UsageError("--threads 0: there would be no thread to run on; give 1 or more, or omit --threads")
        if values.get("threads") is not None:
            options["n_jobs"] = values["threads"]
        _check_threads(options.get("n_jobs"))
        if values.get("vocabulary") is not None:
            options["vocabulary"] = values["vocabulary"]
        ctx.obj.reader = options


class MapCommand(DataCommand):
    """A command that reads data and maps their features."""

    def added(self, ctx: Any) -> list[Any]:
        """Return the options that the command has beside its own."""
        return [*declare(_of_maps, "Data"), *super().added(ctx)]

    def keep(self, ctx: Any, values: dict[str, Any]) -> None:
        """Set the options of data and of learners in the context."""
        super().keep(ctx, values)
        ctx.obj.learner = LearnerOptions(maps=tuple(values["map"] or ()))


class LearnerCommand(DataCommand):
    """A command that trains: it has the options of learners, too."""

    training: Callable[..., None] = staticmethod(_of_training)
    named: tuple[str, ...] = ()
    """The learners among the arguments, before they are parsed."""

    @property
    def rare(self) -> tuple[str, ...]:
        """The options that help leaves out."""
        return () if self.named else RARE

    def added(self, ctx: Any) -> list[Any]:
        """Return the options that the command has beside its own."""
        learners = dict(_learner_names())
        shown = tuple(name for name in self.named if name in learners)
        training = declare(self.training)
        training[0].help = training[0].help.replace("LEARNERS", ", ".join(learners))
        own = {param.name for param in self.params}
        of_learners = [param for param in _of_learners(shown) if param.name not in own]
        return [*training, *super().added(ctx), *of_learners]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look for the learner first, as help depends on it."""
        load_scikit_learn()
        self.named = tuple(_named_learners(args))
        return super().parse_args(ctx, args)

    def keep(self, ctx: Any, values: dict[str, Any]) -> None:
        """Set the options of data and of learners in the context."""
        from linsep.cli.options.learners import names

        super().keep(ctx, values)
        named = values["learner"] or []
        learners = tuple(map(known_learner, [named] if isinstance(named, str) else named))
        parameters = {name: values[name] for name in names() if values.get(name) is not None}
        parameters = {name: _parameter(name, text, learners) for name, text in parameters.items()}
        parameters["random_state"] = values["seed"]
        if values["threads"] is not None:
            parameters["n_jobs"] = values["threads"]
        seed_given = getattr(ctx.get_parameter_source("seed"), "name", "") == "COMMANDLINE"
        ctx.obj.learner = LearnerOptions(learners, parameters, tuple(values["map"] or ()), self.named, seed_given)


class TrialsCommand(LearnerCommand):
    """A command that trains several learners."""

    training = staticmethod(_of_trials)


class RunCommand(LearnerCommand):
    """A command that trains a learner if one is named."""

    training = staticmethod(_of_runs)


def _named_learners(args: list[str]) -> list[str]:
    """Return the learners that the arguments name, as far as they go.

    >>> _named_learners(["a.svm", "--learner", "winnow", "--learner=romma", "-l", "pegasos", "--", "-l", "x"])
    ['winnow', 'romma', 'pegasos']
    """
    words = args[: args.index("--")] if "--" in args else args
    pairs = zip(words, [*words[1:], ""], strict=False)
    named = ((word, after) if word in ("--learner", "-l") else word.split("=", 1) for word, after in pairs)
    return [pair[1] for pair in named if len(pair) == 2 and pair[0] in ("--learner", "-l")]


def _parameter(name: str, text: Any, learners: tuple[str, ...]) -> Any:
    """Return a parameter's value, as the learners that were named take it."""
    from linsep.cli.options.learners import described, option, owners

    if isinstance(text, bool):
        return text
    having = [learner for learner in learners if name in described(learner)] or owners(name)
    try:
        return described(having[0])[name].value(text)
    except ValueError as error:
        raise UsageError(f"{option(name)}: {error}") from None


def _check_threads(n_jobs: Any) -> None:
    """Refuse a number of threads that is none."""
    from linsep.engine.runtime import threads

    try:
        threads(n_jobs)
    except ValueError as error:
        raise UsageError(str(error).replace("n_jobs=", "--threads ").replace("n_jobs", "--threads")) from None


def _path(value: Any) -> Path:
    """Return the file that malformed rows are written to."""
    if isinstance(value, (str, Path)):
        return Path(value)
    raise UsageError(f"-O quarantine={json.dumps(value)}: it is the path of a file; write --quarantine FILE")
