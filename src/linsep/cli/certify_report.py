"""The page about a certificate; it needs matplotlib."""

from math import log
from pathlib import Path
from shlex import join

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from linsep.cli.answering import name_of
from linsep.cli.pictured import Pictured, Problem, entry_of, other_run, perceptron_run, problem_of, winnow_run
from linsep.core.examples import Array, Dense
from linsep.data.dataset import Dataset
from linsep.data.inputs import frozen
from linsep.learners.learner import Learner
from linsep.plots.bound_curve import bounds
from linsep.plots.lemma_curve import MOST, squeeze
from linsep.plots.majority_curve import versus
from linsep.plots.noise_curve import noise, noisy_runs
from linsep.plots.potential_curve import potential
from linsep.plots.report import Code, Column, Fact, Part, Picture, Report, Section, Table, Text
from linsep.solvers.margin.delta import delta_bound
from linsep.theory import majority
from linsep.theory.bounds import fall
from linsep.theory.certificates import Certificate
from linsep.theory.lines import IN_PASSES, SEPARATORS, Line, counted, table
from linsep.theory.paths import perceptron_path, winnow_path
from linsep.theory.reading import favours, verdict_sentence

SIZES, RELEVANT, ROUNDS = (32, 100, 316, 1_000, 3_162, 10_000, 31_623), 5, 4_000
"""The experiment: numbers of features, those that matter, rows."""
NOISY_ROWS = 600
HOW = (
    "Numbers are rounded so that what is said stays true. Every claim was computed in exact arithmetic from the rows "
    "and the witnesses in the certificate; anyone can check it again."
)


def certify_report(
    cert: Certificate, rows: Dataset, learner: Learner | None, data: list[str], said: list[str], out: Path | None
) -> Report:
    """Return the page; `said` is how the data are read, in the words of a command."""
    problem, names = problem_of(cert, rows.X, rows.y), ", ".join(data)
    run = perceptron_run(cert, problem, learner)
    about = "A certificate" if learner is None else f"A certificate, with a run of {name_of(learner)}"
    sections = [
        Section("What is proved", [Text(verdict_sentence(cert)), *tables(cert), Text(HOW)]),
        Section("A run against its bounds", [*_own(cert, problem, learner), *run_parts(cert, problem, run, learner)]),
        Section("Perceptron or Winnow?", [Text(favours(cert)), *_experiments(cert, problem, learner)]),
        *([Section("What is not proved", [Text("\n\n".join(cert.remarks))])] if cert.remarks else []),
        Section("Again, and by others", [Code(_commands(learner, data, said, out))]),
    ]
    return Report(f"What is proved of {names}", about, tiles(cert, problem, run, learner), sections)


def tiles(cert: Certificate, problem: Problem, run: Pictured, learner: Learner | None) -> list[Fact]:
    """Return what matters most."""
    shown = (other_run(cert, learner) if learner is not None else None) or run
    who = name_of(learner) if shown.certified and learner is not None else "a perceptron"
    lines = {line.label: line for line in table(cert)[problem.name]}
    of = f"class {problem.about} against the rest; " if problem.about else ""
    margin, least = lines["perceptron's margin"], lines["perceptron's margin"].value.partition(" to ")
    kinds = {kind: cert.number(f"{kind}'s mistakes at most", problem.name) for kind in SEPARATORS}
    best = min(kinds, key=lambda kind: kinds[kind] if kind != "perceptron" else float("inf"))
    winnow = f"at most, in any order; {best}'s: " + lines[f"{best}'s mistakes"].value
    upper = f"at most {least[2]}, " if least[1] else ""
    return [
        Fact("verdict", cert.verdict, "" if not problem.about else "for pairs of classes"),
        Fact("margin", least[0], f"{of}{upper}{margin.note}"),
        Fact("perceptron's mistakes", lines["perceptron's mistakes"].value, f"{of}{winnow}"),
        *([Fact("mistakes made", len(shown.rounds), f"{of}{who}, {counted(shown.passes)}")] if shown.total else []),
    ]


def tables(cert: Certificate) -> list[Part]:
    """Return problems as columns, or as rows where they are many, and a table for each of few runs."""
    lines = table(cert)
    problems = {name: {line.label: line.value for line in lines[name]} for name in cert.problems}
    labels = list(dict.fromkeys(label for of in problems.values() for label in of))
    if len(cert.facts["data"]["classes"]) > 2:
        columns = [label for label in labels if label not in ("R", "X", "VC dimension", "sample size")]
        rows = [[name, *(of.get(label, "–") for label in columns)] for name, of in problems.items()]
        made: list[Part] = [Table(["", *(Column(label.strip(), "right") for label in columns)], rows)]
    else:
        rows = [[_below(label), *(of.get(label, "–") for of in problems.values())] for label in labels]
        made = [Table(["", *(Column(name, "right") for name in problems)], rows, caption="Of the data")]
    return [*made, *_of_runs({name: lines[name] for name in cert.runs})]


def _of_runs(runs: dict[str, list[Line]]) -> list[Part]:
    """Return a table of one run with its notes, or of several without."""
    if len(runs) == 1:
        (name, lines), *_ = runs.items()
        rows = [[_below(line.label), line.value, line.note] for line in lines]
        return [Table(["", Column("value", "right"), "note"], rows, caption=f"Of the {name}")]
    labels = list(dict.fromkeys(line.label for lines in runs.values() for line in lines))
    found = {name: {line.label: line.value for line in lines} for name, lines in runs.items()}
    rows = [[_below(label), *(of.get(label, "–") for of in found.values())] for label in labels]
    return [Table(["", *(Column(name, "right") for name in found)], rows, caption="Of the runs")] if runs else []


def _below(label: str) -> str:
    """Return a label that belongs to the one above it with a mark, as spaces are not seen on a page."""
    return f"… {label.strip()}" if label.startswith(" ") else label


def _own(cert: Certificate, problem: Problem, learner: Learner | None) -> list[Part]:
    """Return the mistakes of a certified run that is none of a perceptron, below its own bound."""
    run = other_run(cert, learner) if learner is not None else None
    if run is None or learner is None:
        return []
    proved = f"{run.certified}: mistakes at most" in cert.claims
    bound = cert.number("mistakes at most", run.certified) if proved else float("inf")
    allowed = {"its theorem's bound": bound}
    drawn = bounds(run.rounds, run.total, allowed, ax=_axes(3.9))
    who = name_of(learner)
    return [
        Text(f"First the run that is certified, of {who}."),
        Picture(drawn, f"Mistakes of {who} over rounds, below their bound", f"{who}, {counted(run.passes)}."),
        *(_potential(cert, problem, run) if run.norm else []),
    ]


def run_parts(cert: Certificate, problem: Problem, run: Pictured, learner: Learner | None) -> list[Part]:
    """Return the mistakes under their bounds, and the two lemmas where the rows are separable."""
    who = f"the {name_of(learner)}" if run.certified and learner is not None else "a perceptron"
    of = f", class {problem.about} against the rest" if problem.about else ""
    order = "" if run.certified else ", in the order of the rows"
    if run.refused:
        return [Text(f"A perceptron can't take these rows: {run.refused}.")]
    drawn = bounds(run.rounds, run.total, _allowed(cert, problem, run), ax=_axes(3.9))
    parts: list[Part] = [
        Text(f"The run is that of {who}{of}: {counted(run.passes)}{order}."),
        Picture(drawn, "Mistakes over rounds, below their bounds", "The curve can't cross any of the lines above it."),
    ]
    u, margin = problem.witness("margin"), cert.number("perceptron's margin at least", problem.name)
    radius = cert.number("R at most", problem.name)
    if u is None or not margin > 0 or not len(run.rows):
        return [
            *parts,
            Text("The lemmas need a separator: none is known, so there is no (R/gamma)² to be squeezed below."),
        ]
    if (radius / margin) ** 2 > min(MOST, 1e12):
        return [*parts, Text("The margin is too small for a picture of the lemmas that squeeze the run.")]
    path = perceptron_path(problem.mistaken(run.rows, problem.bias), u)
    curve = squeeze(path.dots, path.squares, radius=radius, margin=margin, ax=_axes(3.9))
    caption = (
        "Each mistake lengthens v·u by gamma at least (first lemma) and ||v||² by R² at most (second lemma): where the "
        "two lines meet, no mistake is left."
    )
    return [*parts, Picture(curve, "Two lemmas squeeze a run", caption)]


def _allowed(cert: Certificate, problem: Problem, run: Pictured) -> dict[str, float]:
    """Return the bounds that a run is under."""
    found = {
        "(R/γ)²": cert.number("perceptron's mistakes at most", problem.name),
        f"Delta trick, {counted(run.passes)}": cert.number(IN_PASSES.format(run.passes), problem.name),
    }
    if run.certified:
        found["regret"] = cert.number("mistakes at most, by the regret", run.certified)
    return found


def _experiments(cert: Certificate, problem: Problem, learner: Learner | None) -> list[Part]:
    """Return Winnow's potential on these rows, the race of both on drawn rows, and bounds as labels turn wrong."""
    races = [majority.versus(features, RELEVANT, ROUNDS) for features in SIZES]
    made = [[race.perceptron for race in races], [race.winnow for race in races]]
    race = versus(SIZES, *made, relevant=RELEVANT, rounds=ROUNDS, ax=_axes(4.4))
    winnow, runs = winnow_run(cert, problem, learner), noisy_runs(_tightest, rows=NOISY_ROWS)
    turned = noise(runs.shares, runs.mistakes, runs.bounds, rows=runs.rows, ax=_axes(4.4))
    return [
        *(_potential(cert, problem, winnow) if winnow is not None and not winnow.certified else []),
        Text("Not of these data, but what to expect: rows that are drawn at random."),
        Picture(race, "Perceptron against Winnow as features are added",
                f"The majority of {RELEVANT} among N features: Winnow pays for the others by ln N, the perceptron by "
                "N."),
        Picture(turned, "The Delta-trick bound as labels turn wrong",
                "Rows that a hyperplane separates until their labels are turned round: the bound stays above the "
                "mistakes, separable or not."),
    ]  # fmt: skip


def _potential(cert: Certificate, problem: Problem, run: Pictured) -> list[Part]:
    """Return Winnow's potential falling, where it has a bound and made mistakes."""
    if not len(run.rows):
        return []
    balanced = run.norm == "l1"
    who = "balanced Winnow" if balanced else "Winnow"
    u = problem.witness(f"{who}'s margin")
    u = problem.witness("margin") if u is None and balanced else u
    margin, entries = cert.number(f"{who}'s margin at least", problem.name), entry_of(problem)
    if u is None or not margin > 0 or fall(margin, entries, run.rate) <= 0:
        return []
    biases = [problem.bias] if balanced else [problem.bias, -problem.bias]
    u = u if balanced else np.concatenate([u[:-1], np.maximum([u[-1], -u[-1]], 0.0)])
    rows = problem.mistaken(run.rows, *biases) if problem.bias else problem.mistaken(run.rows)
    u = u if problem.bias else u[: problem.X.shape[1]]
    weights = (1 + balanced) * problem.X.shape[1] + 2 * bool(problem.bias)
    values = winnow_path(rows, u, run.rate, balanced=balanced)
    start = max(log(max(weights, 2)), float(values[0]))
    drawn = potential(values, progress=fall(margin, entries, run.rate), start=start, ax=_axes(3.9))
    order = "the certified run" if run.certified else "one pass in the order of the rows, at the best rate"
    caption = f"{who} on these rows, {order}: each mistake brings the weights nearer to u, by L at least."
    return [Picture(drawn, "Winnow's potential falls at each mistake", caption)]


def _tightest(X: Array, signs: Array) -> float:
    radius = float(np.linalg.norm(X, axis=1).max())
    return delta_bound(Dense(frozen(X), 0.0), signs, radius=radius, tol=0.01).upper ** 2


def _axes(height: float) -> Axes:
    """Return axes of half a page's width."""
    return Figure(figsize=(5.2, height), layout="constrained").add_subplot()


def _commands(learner: Learner | None, data: list[str], said: list[str], out: Path | None) -> str:
    cert = str(out or "data.cert")
    trains = ["--learner", name_of(learner)] if learner is not None else []
    certify = join(["linsep", "certify", *data, *said, *trains, "-o", cert])
    return f"{certify}\n{join(['linsep', 'verify', cert, *data, *said])}"
