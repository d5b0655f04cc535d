"""Pages of the command line reference: one for each command, from the declared options."""

import re
from inspect import cleandoc

import typer

from linsep.cli.app import app
from linsep.cli.options.command import LearnerCommand
from linsep.estimators.registry import LEARNERS


def pages():
    """Return the text of each page by its file name."""
    group = typer.main.get_command(app)
    made = {f"{name}.md": page_of(name, command) for name, command in group.commands.items()}
    rows = [f"| [`linsep {name}`]({name}.md) | {first_sentence(c.help)} |" for name, c in group.commands.items()]
    learners = [
        f"## {entry.name}\n\n`--learner {name}`\n\n{table(learner_params(group, name))}"
        for name, entry in LEARNERS.items()
    ]
    made["learners.md"] = "# Options of each learner\n\n" + "\n\n".join(learners) + "\n"
    made["index.md"] = "\n".join([
        "# Commands and options", "",
        "The tables on these pages are generated from the commands. [The command line](../../command-line.md) explains",
        "how the commands work together, and has exit codes and environment variables.", "",
        "| command | effect |", "|---|---|", *rows, "",
        "`linsep --version` prints the version. Options of learners have [a page](learners.md).", "",
        "```{toctree}", ":hidden:", "", *group.commands, "learners", "```", "",
    ])  # fmt: skip
    return made


def page_of(name, command):
    """Return the page of a command: usage, text, examples and options."""
    ctx = typer.Context(command, info_name=f"linsep {name}")
    if isinstance(command, LearnerCommand):
        command.named = ()
    params = [param for param in command.get_params(ctx) if visible(param)]
    arguments = [param for param in params if param.param_type_name == "argument"]
    usage = " ".join([f"linsep {name}", "[OPTIONS]", *map(argument, arguments)])
    parts = [f"# linsep {name}", f"```text\n{usage}\n```", cleandoc(command.help or "")]
    if command.epilog:
        lines = [line.strip() for line in command.epilog.splitlines()[1:]]
        parts.append("```sh\n" + "\n".join(lines) + "\n```")
    if arguments:
        parts.append(
            "| argument | meaning |\n|---|---|\n"
            + "\n".join(f"| {cell(f'`{argument(p)}`')} | {cell(p.help)} |" for p in arguments)
        )
    panels = {}
    for param in params:
        if param.param_type_name != "argument" and "--help" not in param.opts:
            panel = (getattr(param, "rich_help_panel", None) or "Options").replace("COMMAND", f"linsep {name}")
            panels.setdefault(panel.partition(":")[0].partition(";")[0], []).append(param)
    parts += [f"## {panel}\n\n{table(chosen)}" for panel, chosen in panels.items()]
    if isinstance(command, LearnerCommand):
        parts.append("Further options depend on the learner: see [options of each learner](learners.md).")
    return "\n\n".join(parts) + "\n"


def learner_params(group, name):
    """Return the options of one learner."""
    command = group.commands["fit"]
    ctx = typer.Context(command, info_name="linsep fit")
    command.named = ()
    common = {param.name for param in command.get_params(ctx) if visible(param)}
    command.named = (name,)
    params = [param for param in command.get_params(ctx) if visible(param)]
    command.named = ()
    return [param for param in params if param.name not in common]


def visible(param):
    """Whether help shows an option."""
    return not getattr(param, "hidden", False) and getattr(param, "rich_help_panel", None) != "none"


def table(params):
    """Return options as a table."""
    rows = [f"| {cell(' '.join(f'`{name}`' for name in names(param)))} | {cell(text(param))} |" for param in params]
    return "\n".join(["| option | effect |", "|---|---|", *rows])


def argument(param):
    """Return how an argument is written."""
    name = (param.metavar or param.name).upper()
    return name if param.required or name.startswith("[") else f"[{name}]"


def names(param):
    """Return how an option is written, the short name first."""
    written = [*sorted(param.opts, key=len), *param.secondary_opts]
    if not getattr(param, "is_flag", False):
        written[-1] += f" {param.metavar or param.name.upper()}"
    return written


def text(param):
    """Return what an option does, and its default if the text does not have the default."""
    default = param.default
    plain = isinstance(default, (int, float, str)) and not isinstance(default, bool) and param.show_default
    return (param.help or "") + (f" Default: {default}." if plain and "Default:" not in (param.help or "") else "")


def first_sentence(words):
    """Return the first sentence of a help text."""
    return cell(" ".join(cleandoc(words or "").split("\n\n")[0].split()))


def cell(words):
    """Return text that can be a cell of a Markdown table."""
    parts = re.split(r"(`[^`]*`)", (words or "").replace("\n", " ").replace("|", r"\|"))
    parts[::2] = [part.replace("*", r"\*").replace("<", "&lt;") for part in parts[::2]]
    return "".join(parts)
