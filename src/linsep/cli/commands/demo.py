"""`linsep demo`: every learner on four data sets, and a page with pictures."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linsep.cli.options.outputs import check_writable, interruptible, make_folder

if TYPE_CHECKING:
    from linsep.demo.data_sets import DataSet
    from linsep.demo.trials import Trial

EXAMPLES = """
linsep demo
linsep demo --quick --out pictures --report demo.html
"""
FIRST_STEPS = """\
from sklearn.datasets import load_iris
from linsep import Perceptron, verify

X, y = load_iris(return_X_y=True)
X, y = X[:100], y[:100]  # setosa, versicolor

clf = Perceptron(max_iter=100, random_state=0).fit(X, y)
cert = clf.certificate(X, y)
print(cert.verdict, clf.mistakes_, "<=", cert.max_mistakes())  # separable 13 <= 171
print(bool(verify(cert, X, y)))  # every claim again, in exact arithmetic
"""
"""First steps in Python; the README's example is the same."""


def run(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder of the output.")] = Path(
        "linsep-demo"
    ),
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE.html", help="The page. Default: report.html in FOLDER.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the splits, the orders and the text.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Less data and fewer epochs.")] = False,
) -> None:
    """Train every learner on four data sets, and write a page.

    The data are iris, breast cancer, digits and a generated text. Tables and a proof are printed. The page has pictures
    of it all, and needs matplotlib. The folder gets a table of digits, too, to try the other commands on. The first run
    compiles the learners, which takes about a minute; what is compiled is kept on disk.
    """
    if report is not None:
        import_module("linsep.demo.report")  # so that a missing package is an error before the work
        if not report.absolute().is_relative_to(out.absolute()):
            check_writable("--report", report)
    make_folder(out)
    if report is not None:
        check_writable("--report", report)
    with interruptible(report or out / "report.html", in_place=[out / "digits.csv", out / "new.csv"]):
        _demo(out, report, seed, quick)


def _demo(out: Path, report: Path | None, seed: int, quick: bool) -> None:
    """Train, print, and write the page and the tables."""
    # Loaded here and not above: `linsep --help` must not wait for the compiler.
    from linsep.demo.data_sets import data_sets
    from linsep.demo.digits_study import read_digits
    from linsep.demo.next_steps import prepare
    from linsep.demo.screen import Screen
    from linsep.demo.trials import certify_run, trials

    screen = Screen()
    screen.headline("Every learner on four data sets", f"seed {seed}{', quick' if quick else ''}")
    done: list[tuple[DataSet, list[Trial]]] = []
    for data in data_sets(seed, quick):
        with screen.progress(data.name) as tell:
            results = list(trials(data, seed, tell))
        screen.results(data, results)
        done.append((data, results))
    screen.notes([trial for _, results in done for trial in results])
    with screen.busy("proving"):
        proof = certify_run(done[0][0])
    screen.proof(proof)
    with screen.busy("asking all hypotheses of a run"):
        runs = read_digits(done[2][0], seed, quick)
    screen.votes(runs)
    pages = _pages()
    steps = prepare(done[2][0], out, drawn=pages is not None)
    page, pictures = None, []
    if pages is not None:
        page = report or out / "report.html"
        with screen.busy("drawing the report"):
            way = pages.boundary()
            pictures = pages.save_boundary(way, out)
            pages.demo_report(done, seed, way, proof, runs, steps, FIRST_STEPS).write(page)
    screen.summary(done)
    screen.files(page, pictures)
    screen.next_steps(steps)


def _pages() -> Any:
    """Return what draws, or None where matplotlib is not installed."""
    try:
        from linsep.demo import report
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("jinja2", "matplotlib"):
            raise
        return None
    return report
