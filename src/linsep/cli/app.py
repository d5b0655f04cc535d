"""The commands as one program: failures are one line and an exit code, help has examples."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from linsep import __version__
from linsep.cli.commands import (
    bench,
    certify,
    compare,
    convert,
    demo,
    evaluate,
    figures,
    fit,
    inspect,
    predict,
    tune,
    verify,
)
from linsep.cli.errors import report_errors
from linsep.cli.options.command import Command, DataCommand, LearnerCommand, MapCommand, RunCommand, TrialsCommand
from linsep.cli.options.help import HelpPage


class CommandGroup(HelpPage, TyperGroup):
    """A group of commands whose failures are one line and an exit code."""

    def main(self, *args: Any, **more: Any) -> Any:
        """Run the command that the arguments name, and exit with its code."""
        with report_errors(lambda: "linsep"):
            code = super().main(*args, **{**more, "standalone_mode": False})
        raise SystemExit(code if isinstance(code, int) else 0)

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Parse the arguments before the command, within the parser, too: there --help and --version are printed."""
        with report_errors(lambda: "linsep"):
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, within the parser: that would turn an interruption and a closed pipe to codes of its own."""
        with report_errors(lambda: f"linsep {ctx.invoked_subcommand or ''}".strip()):
            return super().invoke(ctx)


def epilog(examples: str) -> str:
    """Return examples, one a line, as they stand under a command's help.

    >>> print(epilog("linsep demo"))
    Example
      linsep demo
    """
    lines = examples.strip().splitlines()
    return "\n".join([f"Example{'s' * (len(lines) > 1)}", *(f"  {line.strip()}" for line in lines)])


app = typer.Typer(
    name="linsep",
    cls=CommandGroup,
    help="Online linear classifiers with certified mistake bounds.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo", cls=Command, epilog=epilog(demo.EXAMPLES))(demo.run)
app.command("fit", cls=LearnerCommand, epilog=epilog(fit.EXAMPLES))(fit.run)
app.command("predict", cls=DataCommand, epilog=epilog(predict.EXAMPLES))(predict.run)
app.command("evaluate", cls=DataCommand, epilog=epilog(evaluate.EXAMPLES))(evaluate.run)
app.command("compare", cls=TrialsCommand, epilog=epilog(compare.EXAMPLES))(compare.run)
app.command("tune", cls=TrialsCommand, epilog=epilog(tune.EXAMPLES))(tune.run)
app.command("certify", cls=RunCommand, epilog=epilog(certify.EXAMPLES))(certify.run)
app.command("verify", cls=MapCommand, epilog=epilog(verify.EXAMPLES))(verify.run)
app.command("inspect", cls=Command, epilog=epilog(inspect.EXAMPLES))(inspect.run)
app.command("convert", cls=DataCommand, epilog=epilog(convert.EXAMPLES))(convert.run)
app.command("figures", cls=Command, epilog=epilog(figures.EXAMPLES))(figures.run)
app.command("bench", cls=DataCommand, epilog=epilog(bench.EXAMPLES))(bench.run)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"linsep {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None: ...
