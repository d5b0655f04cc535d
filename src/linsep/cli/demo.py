"""`linsep demo`: every learner on four data sets, and a picture."""

from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated

import typer

FIRST_STEPS = """\
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from linsep import AveragedPerceptron

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

clf = AveragedPerceptron(max_iter=100, tol=1e-3, random_state=0)
clf.fit(X_train, y_train)
print(clf.score(X_test, y_test))  # about 0.95
print(clf.mistakes_)  # of each digit's machine while it learned
"""
"""What to try after the demo; the README's example is the same."""


def run(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder that the pictures are written to.")] = Path(
        "linsep-demo"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Of the splits, the orders and the generated set.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Less data and fewer epochs.")] = False,
) -> None:
    """Train every learner on iris, breast cancer, digits and a generated text; print the tables, draw a picture.

    The first run compiles the learners, which takes about a minute; what is compiled is kept on disk.

    Example: linsep demo --out pictures
    """
    _make_folder(out)

    # Loaded here and not above: `linsep --help` must not wait for the compiler.
    from linsep.cli.data_sets import data_sets
    from linsep.cli.screen import Screen
    from linsep.cli.trials import trials

    screen = Screen()
    screen.headline("Every learner on four data sets", f"seed {seed}{', quick' if quick else ''}")
    shown = []
    for data in data_sets(seed, quick):
        with screen.progress(data.name) as tell:
            results = list(trials(data, seed, tell))
        screen.results(data, results)
        shown += results
    screen.notes(shown)
    screen.pictures(_draw(out))
    screen.first_steps(FIRST_STEPS)


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=out).close()
    except OSError as error:
        typer.echo(f"linsep demo: can't write to the folder {out}: {error.strerror}", err=True)
        raise typer.Exit(2) from None


def _draw(out: Path) -> list[Path]:
    """Draw the perceptron's way on two iris classes; return the files, none where matplotlib is not installed."""
    try:
        from linsep.cli.picture import draw_boundary
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        return []
    return draw_boundary(out)
