"""Load all rows of some files, with their labels, and apply feature maps."""

from typing import TYPE_CHECKING, Any

import typer

from linsep.cli.terminal.text import say
from linsep.validation.errors import InvalidDataError

if TYPE_CHECKING:
    from linsep.data.dataset import Dataset


def load_rows(ctx: typer.Context, data: list[str], remark: bool = True) -> "Dataset":
    """Return the rows that a command is given, as it was told to read and to map them; weights of rows are left out."""
    from dataclasses import replace

    import linsep
    from linsep.cli.options.common import learner_options, reader_options
    from linsep.cli.options.maps import maps_from
    from linsep.cli.terminal.progress import reading_bar

    maps = maps_from(learner_options(ctx).maps)
    with reading_bar("reading", remark) as tell:
        rows = linsep.read(data, progress=tell, **reader_options(ctx))
    if not len(rows):
        raise InvalidDataError(f"{', '.join(data)}: there are no rows")
    if rows.weights is not None and remark:
        say(f"{ctx.command_path}: weights of rows are left out: what is proved is of rows that weigh alike")
    X: Any = rows.X
    for step in maps:
        X = step.fit_transform(X)
    return replace(rows, X=X, weights=None)
