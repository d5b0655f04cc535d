"""What can't go together in `linsep fit`, said before any work."""

from pathlib import Path

from linsep.cli.errors import UsageError
from linsep.cli.options.common import LearnerOptions
from linsep.cli.options.workers import Crew


def checked(test: list[str] | None, holdout: float | None, calibrate: str | None, resume: Path | None) -> None:
    """Refuse wrong values, and what contradicts itself."""
    if holdout is not None and not 0 < holdout < 1:
        raise UsageError(f"--holdout {holdout:g}: it is a share of the rows, between 0 and 1")
    if test and holdout is not None:
        raise UsageError("--test and --holdout both say what to judge the model by: give one of them")
    if calibrate not in (None, "sigmoid", "isotonic"):
        raise UsageError(f"--calibrate {calibrate}: there are sigmoid and isotonic")
    if resume is not None and calibrate is not None:
        raise UsageError(f"--calibrate: {resume} goes on with what it has")


def shared_by(crew: Crew | None, told: LearnerOptions, stream: bool) -> str | None:
    """Return what says that files are learned in shards, in the words of the command; None if nothing does.

    >>> shared_by(Crew(2), LearnerOptions((), {}), False), shared_by(None, LearnerOptions((), {"shards": 4}), True)
    ('--workers 2', '--stream --shards 4')
    """
    shards = told.parameters.get("shards")
    if crew is not None:
        return crew.said
    return f"--stream --shards {shards}" if stream and shards is not None else None


def refuse_for_shards(
    said: str, holdout: float | None, calibrate: str | None, resume: Path | None, maps: tuple[str, ...],
    open_labels: bool,
) -> None:  # fmt: skip
    """Refuse what is not for rows in shards."""
    if holdout is not None:
        raise UsageError(f"--holdout takes rows from all of them: with {said}, judge the model by --test FILE")
    if calibrate is not None:
        raise UsageError(
            f"--calibrate looks at each row before it is learned, in one process: leave it out with {said}"
        )
    if resume is not None:
        raise UsageError(f"--resume: {said} begins anew; a run of it that was cut off goes on by itself")
    if maps:
        raise UsageError(
            f"--map looks at all rows before the first is learned, and {said} can't: convert the data first"
        )
    if open_labels:
        raise UsageError(f"--open-labels: {said} looks for all labels first, and is not resumed")
