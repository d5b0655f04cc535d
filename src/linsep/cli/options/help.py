"""The pages of --help: plain text in two columns, of which the first is coloured on a terminal."""

import os
import sys
from collections.abc import Iterator
from inspect import cleandoc
from textwrap import fill, wrap
from typing import Any

import typer

from linsep.cli.terminal.text import LEAST, columns

WIDEST, NAMES = 100, 26
"""Columns of a page, and those of names at most."""
NO_PANEL = "none"
"""The panel of options that shells complete, and that help does not show."""
TOGETHER = "\xa0"
"""A space at which no line is broken."""


class HelpPage:
    """A command whose help is a page of this kind."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        formatter.write(page(self, ctx))


def page(command: Any, ctx: Any) -> str:
    """Return a command's help."""
    width = min(columns(), WIDEST) - 1
    params = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
    params = [param for param in params if getattr(param, "rich_help_panel", None) != NO_PANEL]
    params = [param for param in params if param.name not in getattr(command, "rare", ())]
    arguments = [param for param in params if param.param_type_name == "argument"]
    pieces = ["[OPTIONS]", *map(_argument, arguments), *(["COMMAND ..."] if hasattr(command, "commands") else [])]
    parts = [f"{_styled('Usage:', bold=True)} {ctx.command_path} {' '.join(pieces)}"]
    parts += [fill(paragraph, width) for paragraph in cleandoc(command.help or "").split("\n\n")]
    sections = [(name, rows) for name, rows in _sections(command, ctx, arguments, params) if rows]
    column = min(max(len(called) for _, rows in sections for called, _ in rows), NAMES)
    column = column if width - column - 4 >= LEAST else 0
    parts += [_section(name, rows, column, width) for name, rows in sections]
    if command.epilog:
        name, *lines = command.epilog.splitlines()
        parts.append("\n".join([_styled(name, bold=True), *lines]))
    return "\n\n".join(parts) + "\n"


Rows = list[tuple[str, str]]


def _sections(command: Any, ctx: Any, arguments: list[Any], params: list[Any]) -> Iterator[tuple[str, Rows]]:
    yield "Arguments", [(_argument(param), param.help or "") for param in arguments]
    commands = getattr(command, "commands", {})
    yield "Commands", [(name, _first_sentence(sub.help or "")) for name, sub in commands.items() if not sub.hidden]
    panels: dict[str, Rows] = {"Options": []}
    for param in params:
        if param.param_type_name != "argument":
            panel = (getattr(param, "rich_help_panel", None) or "Options").replace("COMMAND", ctx.command_path)
            panels.setdefault(panel, []).append((_names(param), _text(param, ctx)))
    yield from panels.items()


def _section(name: str, rows: Rows, column: int, width: int) -> str:
    """Return a heading and rows of names and texts; a name too long for its column has a line of its own.

    On a narrow terminal the column is 0 wide, and texts are below their names.
    """
    lines, edge = [_styled(fill(name, width, break_on_hyphens=False), bold=True)], " " * (column + 4)
    for called, text in rows:
        texts = wrap(text, width - len(edge), break_long_words=False, break_on_hyphens=False) or [""]
        if len(called) > column:
            lines.append("  " + _styled(called, fg="cyan"))
        else:
            lines.append("  " + _styled(called, fg="cyan") + edge[len(called) + 2 :] + texts.pop(0))
        lines += [edge + line for line in texts]
    return "\n".join(line.rstrip() for line in lines).replace(TOGETHER, " ")


def _argument(param: Any) -> str:
    name = (param.metavar or param.name).upper()
    return name if param.required or name.startswith("[") else f"[{name}]"


def _names(param: Any) -> str:
    """Return how an option is written: -o, --out FILE.

    Short names come first, and switches that can be turned off have both names.
    """
    both = ", ".join(sorted(param.opts, key=len))
    if param.secondary_opts:
        long = param.opts[0].removeprefix("--")
        return f"--[no-]{long}" if param.secondary_opts == [f"--no-{long}"] else f"{both} / {param.secondary_opts[0]}"
    if getattr(param, "is_flag", False):
        return both
    return f"{both} {param.metavar or param.name.upper()}"


def _text(param: Any, ctx: Any) -> str:
    """Return the help of an option, with its default if it is informative."""
    default = param.get_default(ctx, call=False)
    shown = param.show_default and default is not False and default not in (None, (), []) and not callable(default)
    ends = " (required)" if param.required else f" [default: {default}]" if shown else ""
    return (param.help or "") + ends.replace("default: ", f"default:{TOGETHER}")


def _first_sentence(text: str) -> str:
    return " ".join(cleandoc(text).split("\n\n")[0].split()).split(". ")[0].rstrip(".")


def _styled(text: str, **style: Any) -> str:
    coloured = sys.stdout is not None and sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return typer.style(text, **style) if coloured else text
