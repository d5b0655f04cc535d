"""`linsep bench`: how fast it is, here and on these data."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from linsep.cli.options.common import Json, quarantine_file, reader_options
from linsep.cli.options.outputs import check_targets, interruptible
from linsep.cli.terminal.text import words
from linsep.validation.errors import InvalidDataError

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = """
linsep bench
linsep bench train.svm --json
"""
ENOUGH, FEWEST, MOST = 1.0, 3, 20
"""Seconds after which nothing is repeated, and how often it is at least and at most."""


class Timing(NamedTuple):
    """The best of some runs of a piece of work."""

    work: str
    seconds: float
    runs: int
    rows: int
    nonzeros: int
    bytes: int | None = None


def run(
    ctx: typer.Context,
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="DATA...", show_default=False, help="Files to read. Default: generated rows."),
    ] = None,
    rows: Annotated[int, typer.Option(metavar="N", min=100, help="How many rows are made up.")] = 50_000,
    json: Json = False,
) -> None:
    """Time reading, training and prediction.

    The data are yours, or sparse rows that are generated; they have to fit into memory. The best of several runs is
    printed. Compiling is not timed.
    """
    from linsep.cli.terminal.output import Text, print_json, stderr, stdout

    check_targets({}, list(data or []), quarantine_file(ctx))
    console = stderr()
    with (
        interruptible(in_place=[quarantine_file(ctx)]),
        _files(data, rows) as files,
        console.status("timing") if console.is_terminal else nullcontext() as status,
    ):

        def tell(work: str) -> None:
            if status is not None:
                status.update(Text(f"timing {work}"))

        timings = list(time_work(files, reader_options(ctx), tell))
    if json:
        print_json({"runs": [timing._asdict() for timing in timings], **about()})
    else:
        show(stdout(), data, timings)


@contextmanager
def _files(data: list[str] | None, rows: int) -> Iterator[list[str]]:
    """Give the files, or one with rows made up."""
    from tempfile import TemporaryDirectory

    if data:
        yield data
        return
    with TemporaryDirectory() as folder:
        file = Path(folder) / "rows.svm"
        write_rows(file, rows)
        yield [str(file)]


def write_rows(file: Path, rows: int, features: int = 20_000, each: int = 60, seed: int = 0) -> None:
    """Write rows of up to 60 entries, by Zipf's law, with labels that a sparse vector gives but for some noise."""
    import numpy as np
    import scipy.sparse as sp
    from sklearn.datasets import dump_svmlight_file

    rng = np.random.default_rng(seed)
    columns = (features ** rng.random(rows * each)).astype(np.int32) - 1
    where = np.repeat(np.arange(rows, dtype=np.int32), each), columns
    X = sp.coo_array((rng.integers(1, 100, rows * each) / 100, where), shape=(rows, features)).tocsr()
    score: Any = X @ (rng.normal(size=features) * (rng.random(features) < 0.2))
    labels = np.where(score > np.median(score), 1, -1) * np.where(rng.random(rows) < 0.02, -1, 1)
    dump_svmlight_file(X, labels, str(file), zero_based=False)


def time_work(files: list[str], options: dict[str, Any], tell: Callable[[str], None]) -> Iterator[Timing]:
    """Time reading, one pass of each learner, and prediction."""
    import linsep
    from linsep.cli.errors import explain
    from linsep.cli.jobs.training import fit_quietly
    from linsep.data.sources import sources_of

    tell("reading")
    data = linsep.read(files, **options)
    X, y = data
    if not len(y):
        raise InvalidDataError(f"{', '.join(files)}: there are no rows")
    size = sum(source.size or 0 for source in sources_of(files)) or None
    entries = int(X.nnz if hasattr(X, "nnz") else X.size)
    yield Timing("reading", *best(lambda: linsep.read(files, **options)), len(y), entries, size)
    trained, trouble = None, None
    for name, entry in linsep.LEARNERS.items():
        if entry.small:
            continue
        tell(name)
        learner = entry.make_online(random_state=0, **({"max_iter": 1} if entry.online else {}))
        try:
            yield Timing(name, *best(partial(fit_quietly, learner, X, y)), len(y), entries)
            trained = learner
        except ValueError as error:
            if explain(error) is None:
                raise
            trouble = error
    if trained is None:
        assert trouble is not None
        raise trouble
    tell("prediction")
    yield Timing("prediction", *best(partial(trained.predict, X)), len(y), entries)


def best(work: Callable[[], Any]) -> tuple[float, int]:
    """Return the seconds of the fastest of some runs after a first, and how many there were."""
    work()
    times: list[float] = []
    while len(times) < FEWEST or (sum(times) < ENOUGH and len(times) < MOST):
        began = perf_counter()
        work()
        times.append(perf_counter() - began)
    return min(times), len(times)


def about() -> dict[str, Any]:
    """Return what the numbers depend on."""
    import os
    import platform

    import numba
    import numpy as np

    from linsep import __version__

    return {
        "linsep": __version__, "python": platform.python_version(), "numpy": np.__version__,
        "numba": numba.__version__, "system": platform.platform(), "cores": os.cpu_count(),
    }  # fmt: skip


def show(console: "Console", data: list[str] | None, timings: list[Timing]) -> None:
    """Print what was timed."""
    from linsep.cli.terminal.output import note, seconds, short, size, table, title

    first = timings[0]
    title(console, f"linsep on {words(data) if data else 'rows made up'}")
    length = f", {size(first.bytes)}" if first.bytes else ""
    note(console, f"{first.rows:,} rows, {first.nonzeros:,} entries that are not 0{length}")
    console.print()
    made = table("work", ">time", ">rows/s", ">entries/s", ">bytes/s")
    for timing in timings:
        speed = size(timing.bytes / timing.seconds) if timing.bytes else ""
        rows, entries = (short(count / timing.seconds) for count in (timing.rows, timing.nonzeros))
        made.add_row(timing.work, seconds(timing.seconds), rows, entries, speed)
    console.print(made)
    console.print()
    parts = about()
    note(console, "A learner's time is that of one pass in a random order, on one thread, or of a solver that sees all "
         "rows at once. Each is the best of "
         f"{min(timing.runs for timing in timings)} runs or more, after a first.")  # fmt: skip
    note(console, ", ".join(f"{name} {parts[name]}" for name in ("linsep", "python", "numpy", "numba", "system"))
         + f", {parts['cores']} cores")  # fmt: skip
