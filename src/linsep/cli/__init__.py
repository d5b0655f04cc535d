"""The command line, one command a file.

Only what every command needs is imported here; the learners and their compiler are loaded by the command that trains.
"""

from typing import Annotated

import typer

from linsep import __version__
from linsep.cli import bench, certify, compare, convert, demo, evaluate, figures, fit, inspect, predict, verify
from linsep.cli.commands import Command, DataCommand, LearnerCommand, MapCommand, RunCommand, TrialsCommand
from linsep.cli.frame import Frame, epilog
from linsep.cli.lean import start_lean
from linsep.cli.terminal import guard_streams

__all__ = ["app", "main"]

app = typer.Typer(
    name="linsep",
    cls=Frame,
    help="Linear separators that prove their own mistake bounds.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo", cls=Command, epilog=epilog(demo.EXAMPLES))(demo.run)
app.command("fit", cls=LearnerCommand, epilog=epilog(fit.EXAMPLES))(fit.run)
app.command("predict", cls=DataCommand, epilog=epilog(predict.EXAMPLES))(predict.run)
app.command("evaluate", cls=DataCommand, epilog=epilog(evaluate.EXAMPLES))(evaluate.run)
app.command("compare", cls=TrialsCommand, epilog=epilog(compare.EXAMPLES))(compare.run)
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


def main() -> None:
    """Run the command that the arguments name."""
    start_lean()
    guard_streams()
    app()
