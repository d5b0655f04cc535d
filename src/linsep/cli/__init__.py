"""The command line.

:func:`main` loads the commands; a command loads the learners and their compiler only when it needs them.
"""

from linsep.cli.startup import exit_at_signals, postpone_imports


def main() -> None:
    """Run the command that the arguments name."""
    with exit_at_signals():
        postpone_imports()
        from linsep.cli.app import app
        from linsep.cli.terminal.text import guard_streams

        guard_streams()
    app()
