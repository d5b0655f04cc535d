"""The program around the commands: failures are told, help has examples."""

from typing import Any

from typer.core import TyperGroup

from linsep.cli.failures import told
from linsep.cli.help import Helpful


class Frame(Helpful, TyperGroup):
    """A group of commands whose failures are one line and an exit code."""

    def main(self, *args: Any, **more: Any) -> Any:
        """Run the command that the arguments name, and exit with its code."""
        with told(lambda: "linsep"):
            code = super().main(*args, **{**more, "standalone_mode": False})
        raise SystemExit(code if isinstance(code, int) else 0)

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Parse the arguments before the command, within the parser, too: there --help and --version are printed."""
        with told(lambda: "linsep"):
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, within the parser: that would turn an interruption and a closed pipe to codes of its own."""
        with told(lambda: f"linsep {ctx.invoked_subcommand or ''}".strip()):
            return super().invoke(ctx)


def epilog(examples: str) -> str:
    """Return examples, one a line, as they stand under a command's help.

    >>> print(epilog("linsep demo"))
    Example
      linsep demo
    """
    lines = examples.strip().splitlines()
    return "\n".join([f"Example{'s' * (len(lines) > 1)}", *(f"  {line.strip()}" for line in lines)])
