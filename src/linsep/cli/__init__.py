"""The command line.

:func:`main` loads the commands; a command loads the learners and their compiler only when it needs them.
"""

from linsep.cli.startup import end_work, handle_signals, postpone_garbage


def main() -> None:
    """Run the command that the arguments name."""
    handle_signals()
    postpone_garbage()
    from linsep.cli.app import app
    from linsep.cli.terminal.text import guard_streams

    guard_streams()
    try:
        app()
    finally:
        end_work()
