"""Output of the demo: results on stdout, progress on stderr and only on a terminal."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill, indent

from rich.table import Table

from linsep import __version__
from linsep.certificates.words import rounded, verdict_sentence
from linsep.cli.terminal.output import Text, short, stderr, stdout, table
from linsep.cli.terminal.progress import LearnerBar, LearnerReport
from linsep.cli.terminal.text import word
from linsep.demo.data_sets import DataSet
from linsep.demo.digits_study import ABOUT, METHODS, StudyRun
from linsep.demo.next_steps import NextSteps
from linsep.demo.trials import LIMITED, ONLINE, RAN_OUT, CertifiedRun, Trial
from linsep.training.votes import reading_name

NARROW = 76
"""Columns below which the last table has no room for the bounds: they are listed before it."""
Done = tuple[DataSet, Sequence[Trial]]


class Screen:
    """The demo's output, from top to bottom."""

    def __init__(self) -> None:
        self.out, self.err = stdout(), stderr()
        self.compiling = 0.0

    def headline(self, *parts: str) -> None:
        """Print a headline."""
        self.out.print(Text(" · ".join([f"linsep {__version__}", *parts]), style="bold"))
        self._say(
            "Each X is divided by its largest entry, one factor for the whole set: Winnow takes entries up to 1, and a "
            "separator of the one is a separator of the other."
        )

    @contextmanager
    def progress(self, title: str) -> Iterator[LearnerReport]:
        """Show a bar over the learners while they train."""
        bar = LearnerBar(self.err, len(ONLINE))
        with bar.shown(title) as tell:
            yield tell
        self.compiling += bar.compiling

    def results(self, data: DataSet, trials: Sequence[Trial]) -> None:
        """Show a data set and its table."""
        rows, features = data.X.shape
        self.out.print()
        self.out.print(Text.assemble((data.name, "bold cyan"), f", {data.about}"))
        several = f"; mistakes of all {data.classes} one-vs-rest classifiers" if data.classes > 2 else ""
        self._say(
            f"{rows:,} training rows, {len(data.y_test):,} test rows; {features:,} features, divided by "
            f"{data.factor:.4g}; {data.classes} classes; at most {data.epochs} epochs{several}"
        )
        self.out.print(_table(trials))

    def notes(self, trials: Sequence[Trial]) -> None:
        """Explain marks, times and letters."""
        self.out.print()
        if not all(trial.settled for trial in trials):
            self._note(RAN_OUT, "still made mistakes in its last epoch: not separable, or more epochs are needed")
        if any(trial.limited for trial in trials):
            self._note(LIMITED, "by its nature can't fit every data set: see its description")
        first = f"; compiling took {self.compiling:.0f} s on top, once" if self.compiling >= 1 else ""
        self._note("rows/s", f"rows learned from in a second, in the fastest of a few fits, on one thread{first}")
        self._note("bound", "for separable rows in any order: R is their largest norm, gamma the margin of the best u")
        if self.out.width < NARROW:
            for name, bound in {trial.name: trial.bound for trial in trials}.items():
                self._note("", f"{name}: {bound}")

    @contextmanager
    def busy(self, work: str) -> Iterator[None]:
        """Show the name of a work that prints nothing itself."""
        if not self.err.is_terminal:
            yield
            return
        with self.err.status(work):
            yield

    def proof(self, proof: CertifiedRun) -> None:
        """Show what is proved of one set, and of a perceptron on it."""
        cert, many = proof.certificate, len(proof.result.checks)
        self.out.print(Text("\nA certificate", style="bold cyan"))
        self._say(f"Iris, {proof.y[proof.y != 'other'][0]} or not. {verdict_sentence(cert)}")
        made, allowed = (rounded(cert, "run", claim) for claim in ("mistakes", "mistakes at most"))
        self._say(f"In one pass it makes {made} mistakes; {allowed} are allowed.")
        verdict = f"True, {many} claims" if proof.result else f"False, {proof.result.failures[0][0]} fails"
        self._say(f"Checked again, in exact arithmetic: {verdict}.")

    def votes(self, runs: Sequence[StudyRun]) -> None:
        """Show the error of each readout."""
        self.out.print(Text("\nWhich hypothesis should predict?", style="bold cyan"))
        self._say(ABOUT)
        self.out.print(vote_table(runs))

    def summary(self, done: Sequence[Done]) -> None:
        """Show all learners on all data sets, in one table."""
        self.out.print(Text("\nTest errors", style="bold cyan"))
        self.out.print(_summary(done, bounds=self.out.width >= NARROW))

    def files(self, page: Path | None, pictures: Sequence[Path]) -> None:
        """Print the paths of the page and the picture, or how to get them."""
        self.out.print()
        if page is None:
            self.out.print("No report: its pictures need matplotlib, pip install 'linsep[plot]'")
            return
        for name, file in zip(["Report", "Picture", *[""] * len(pictures)], [page, *pictures], strict=False):
            link = f"link {file.absolute().as_uri()}"
            self.out.print(Text.assemble((f"{name:9}", "bold"), (word(file), link)), soft_wrap=True)

    def next_steps(self, steps: NextSteps) -> None:
        """Show what to try next."""
        self.out.print(Text("\nNext, on a file of your own; as they are, these learn the digits above", style="bold"))
        for command in steps.commands(self.out.width - 3):
            self.out.print(Text(indent(command, "  "), style="green"), soft_wrap=True)
        if find_spec("pyarrow") is None:
            self.out.print("Tables need pyarrow first: pip install 'linsep[arrow]'")

    def _say(self, sentence: str) -> None:
        self.out.print(Text(fill(sentence, self.out.width - 1)))

    def _note(self, mark: str, meaning: str) -> None:
        self.out.print(Text(fill(f"{mark:8}{meaning}", self.out.width - 1, subsequent_indent=" " * 8), style="dim"))


def vote_table(runs: Sequence[StudyRun]) -> Table:
    """Return a table of methods by degrees, at the end of each run."""
    made = table("readout", *(f">d = {run.degree}, T = {run.epochs[-1]:g}" for run in runs), pad=True)
    least = [min(shares[-1] for shares in run.errors.values()) for run in runs]
    for method in METHODS:
        errors = [run.errors[method][-1] for run in runs]
        cells = [
            Text(f"{100 * error:.1f} %", style="bold green" if error == best else "")
            for error, best in zip(errors, least, strict=True)
        ]
        made.add_row(reading_name(*method), *cells)
    made.add_section()
    made.add_row("mistakes while learning", *(f"{run.mistakes[-1]:,}" for run in runs))
    made.add_row("distinct rows among them", *(f"{run.support[-1]:,}" for run in runs))
    return made


def _table(trials: Sequence[Trial]) -> Table:
    made = table("learner", ">mistakes", ">test error", ">rows/s", pad=True)
    best = min(trial.test_error for trial in trials)
    for trial in trials:
        cells = [Text(trial.marked), Text(f"{trial.mistakes:,}")]
        made.add_row(*cells, _error(trial.test_error, best), Text(short(trial.rows_per_second)))
    return made


def _summary(done: Sequence[Done], bounds: bool) -> Table:
    made = table("learner", *(f">{data.name.replace(' ', chr(10))}" for data, _ in done), pad=True)
    if bounds:
        made.add_column("bound on mistakes")
    best = [min(trial.test_error for trial in trials) for _, trials in done]
    for of_learner in zip(*(trials for _, trials in done), strict=True):
        errors = [_error(trial.test_error, least) for trial, least in zip(of_learner, best, strict=True)]
        made.add_row(Text(of_learner[0].name), *errors, *([Text(of_learner[0].bound)] if bounds else []))
    return made


def _error(share: float, best: float) -> Text:
    return Text(f"{100 * share:.1f} %", style="bold green" if share == best else "")
