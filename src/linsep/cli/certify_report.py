"""The page about a certificate; it needs matplotlib."""

from math import floor, inf, log
from shlex import join

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from linsep.certificates.certificate import Certificate
from linsep.certificates.schema import MistakeBound
from linsep.certificates.words import (
    LETTERS,
    SEPARATORS,
    WEIGHTED,
    Line,
    counted,
    favours,
    is_mixed,
    passes_of,
    rounded,
    short_verdict,
    table,
    verdict_sentence,
)
from linsep.cli.answering import name_of
from linsep.cli.certificate_screen import mistakes_made, remarks_of
from linsep.cli.pictured import Pictured, Problem, certified_run, entry_of, perceptron_run, problem_of, winnow_run
from linsep.cli.shard_table import few, in_full, in_short, mixes_of
from linsep.data.dataset import Dataset
from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Dense
from linsep.estimators.base.learner import Learner
from linsep.plots import style
from linsep.plots.bound_curve import bounds, mixes
from linsep.plots.curves import amount
from linsep.plots.lemma_curve import MOST, potential, squeeze
from linsep.plots.majority_curve import versus
from linsep.plots.mistake_curve import mistakes
from linsep.plots.noise_curve import noise, noisy_runs
from linsep.plots.report import Code, Column, Fact, Part, Picture, Report, Section, Table, Text
from linsep.solvers.margin.delta import delta_bound
from linsep.theory import majority
from linsep.theory.bounds import fall
from linsep.theory.paths import perceptron_path, winnow_path

SIZES, RELEVANT, ROUNDS = (32, 100, 316, 1_000, 3_162, 10_000, 31_623), 5, 4_000
"""The experiment: numbers of features, those that matter, rows."""
NOISY_ROWS = 600
HOW = (
    "Numbers are rounded so that what is said stays true. Every claim was computed in exact arithmetic from the rows "
    "and the witnesses in the certificate; anyone can check it again."
)
MIXED = (
    "Shards of an epoch set out from the same weights, and are mixed at its end. A theorem bounds the sum of their "
    "mistakes times their weights in the mix, over all epochs; the mistakes of all shards together may be more."
)


def certify_report(
    cert: Certificate, rows: Dataset, learner: Learner | None, data: list[str], again: list[list[str]]
) -> Report:
    """Return the page; `again` are the commands that make the certificate once more, and check it."""
    problem, names = problem_of(cert, rows.X, rows.y), ", ".join(data)
    about = "A certificate" if learner is None else f"A certificate, with a run of {name_of(learner)}"
    remarks, made = remarks_of(cert, learner), mistakes_made(cert, learner)
    run = certified_run(cert, problem, learner)
    own = f"{problem.about}, " if problem.about else ""
    if made and run is None:
        parts, shown = _logged(cert, learner), _made(cert, problem, learner)
    else:
        run = run or perceptron_run(cert, problem, learner)
        parts = run_parts(cert, problem, run, learner)
        note = f"{_who(run, learner)}, {own}{_way(run)}{_weighted(cert, run.certified)}"
        shown = [Fact("mistakes made", len(run.rounds), note)] if run.total else []
    sections = [
        Section("What is proved", [Text(verdict_sentence(cert)), *tables(cert), Text(HOW)]),
        Section(
            "A run against its bounds" if run is not None else "The run", [*parts, *_shards(cert, problem, learner)]
        ),
        Section("Perceptron or Winnow?", [Text(favours(cert)), *_experiments(cert, problem, learner)]),
        *([Section("What is not proved", [Text("\n\n".join(remarks))])] if remarks else []),
        Section("Again, and by others", [Code("\n".join(map(join, again)))]),
    ]
    return Report(f"What is proved of {names}", about, [*tiles(cert, problem), *shown], sections)


def tiles(cert: Certificate, problem: Problem) -> list[Fact]:
    """Return what matters most."""
    lines = {line.label: line for line in table(cert)[problem.name]}
    of = f"{problem.about}; " if problem.about else ""
    margin, least = lines["perceptron's margin"], lines["perceptron's margin"].value.partition(" to ")
    upper = f"at most {least[2]}, " if least[1] else ""
    return [
        Fact("verdict", short_verdict(cert), "for pairs of classes" if cert.keys[0].kind == "pairs" else ""),
        Fact("margin", least[0], f"{of}{upper}{margin.note}"),
        Fact("perceptron's mistakes", lines["perceptron's mistakes"].value, of + _beside(cert, problem)),
    ]


def _beside(cert: Certificate, problem: Problem) -> str:
    """Return what is to be said of the perceptron's bound, and Winnow's beside it."""
    bounds_of = {kind: rounded(cert, problem.name, MistakeBound(kind)) for kind in SEPARATORS}
    said = "at most, in any order" if bounds_of["perceptron"] else "for every order and length"
    if not problem.known["games"]:
        return said
    known = [kind for kind in SEPARATORS if kind != "perceptron" and bounds_of[kind]]
    if not known:
        return f"{said}; {'nor' if not bounds_of['perceptron'] else 'and no bound'} of Winnow's"
    best = min(known, key=lambda kind: cert.number(MistakeBound(kind), problem.name))
    return f"{said}; {best}'s: at most {bounds_of[best]}"


def _made(cert: Certificate, problem: Problem, learner: Learner | None) -> list[Fact]:
    """Return the mistakes of a run that has no bound on its mistakes at each round, or none at all."""
    assert learner is not None
    made, of = mistakes_made(cert, learner), ""
    name = next((name for name, run in cert.facts["runs"].items() if run["problem"] == problem.name), "")
    if name:
        made, of = {name: made[name]}, f"{problem.about}, " if problem.about else ""
    passes, more = counted(int(learner.n_iter_), "pass"), _weighted(cert, name) if name else "; no guarantee"
    return [Fact("mistakes made", sum(made.values()), f"{name_of(learner)}, {of}{passes}{more}")]


def _weighted(cert: Certificate, name: str) -> str:
    """Return what the mistakes of a mixed run weigh, which is what its bounds are about; "" of any other run."""
    return f"; {rounded(cert, name, WEIGHTED)} weighted, which is what bounds are about" if is_mixed(cert, name) else ""


def _shards(cert: Certificate, problem: Problem, learner: Learner | None) -> list[Part]:
    """Return the mistakes of each shard in each epoch, and their weights, of the problem that is pictured."""
    known, classes = mixes_of(learner), cert.facts["data"]["classes"]
    if known is None:
        return []
    positive = problem.known["positive"]
    state = classes.index(positive) if positive is not None and known.mistakes.ndim > 1 else 0
    found = (in_full if few(known) else in_short)(known, state)
    of = f", {problem.about}" if problem.about and known.mistakes.ndim > 1 else ""
    about = "mistakes × weight mu of each shard" if few(known) else "mistakes of the shards"
    return [
        Table([Column(name, "right") for name in found.columns], found.rows, caption=f"By epoch, {about}{of}"),
        *([Text(MIXED)] if cert.runs else []),
    ]


def _logged(cert: Certificate, learner: Learner | None) -> list[Part]:
    """Return the run of a learner as its log has it, where no bound can be drawn above it."""
    made = sum(mistakes_made(cert, learner).values())
    who, log = name_of(learner), getattr(learner, "log_", None)
    said = f"The run is that of {who}: {counted(made, 'mistake')} in all."
    why = "Its theorem bounds losses; see the table." if cert.runs else "No bound is proved for it; see below why."
    drawn = mistakes(learner, ax=_axes(3.6)) if log is not None and len(log) else None
    return [Text(f"{said} {why}"), *([Picture(drawn, f"The run of {who}", f"{who}, as it went.")] if drawn else [])]


def tables(cert: Certificate) -> list[Part]:
    """Return problems as columns, or as rows where they are many, and a table for each of few runs."""
    lines = table(cert)
    problems = {name: {line.label: line.value for line in lines[name]} for name in cert.problems}
    labels = list(dict.fromkeys(label for of in problems.values() for label in of))
    if len(cert.facts["data"]["classes"]) > 2:
        margins = {label: label.removesuffix(" margin") for label in labels if label.endswith(" margin")}
        counts = {label: label.strip().removesuffix(" mistakes") for label in labels if _counts(label)}
        made: list[Part] = [
            _by_class(problems, {"verdict": "verdict", **margins}, "Margins"),
            _by_class(problems, counts, "Mistakes at most, in any order"),
        ]
    else:
        rows = [[_below(label), *(of.get(label, "–") for of in problems.values())] for label in labels]
        made = [
            Table(["", *(Column(name, "right") for name in problems)], rows, caption="Of the data"),
            Text(f"{LETTERS}."),
        ]
    return [*made, *_of_runs({name: lines[name] for name in cert.runs})]


def _by_class(problems: dict[str, dict[str, str]], columns: dict[str, str], caption: str) -> Table:
    """Return a table with a row for each problem, and columns by their labels."""
    rows = [[name, *(of.get(label, "–") for label in columns)] for name, of in problems.items()]
    return Table(["", *(Column(name, "right") for name in columns.values())], rows, caption=caption)


def _counts(label: str) -> bool:
    return label.endswith(" mistakes") or label.startswith("  in ")


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


def run_parts(cert: Certificate, problem: Problem, run: Pictured, learner: Learner | None) -> list[Part]:
    """Return the mistakes under their bounds, and what the proof is made of: two lemmas, or Winnow's potential."""
    of = f", {problem.about}" if problem.about else ""
    if run.refused:
        return [Text(f"A perceptron can't take these rows: {run.refused}.")]
    limits, below = allowed(cert, problem, run), "The curve can't cross any of the lines above it."
    if run.weights is None:
        drawn, what = bounds(run.rounds, run.total, limits, ax=_axes(3.9)), "Mistakes over rounds, below their bounds"
    else:
        drawn, what = mixes(run.counts, limits, ax=_axes(3.9)), "Weighted mistakes, mix by mix, below their bounds"
        below = f"A mistake counts as the weight mu of its shard in the mix. {below}"
    parts: list[Part] = [
        Text(f"The run is that of {_who(run, learner)}{of}: {_way(run)}."),
        Picture(drawn, what, below),
    ]
    if run.norm:
        return [*parts, *_potential(cert, problem, run)]
    return parts if run.p != 2 else [*parts, *_lemmas(cert, problem, run)]


def _who(run: Pictured, learner: Learner | None) -> str:
    return name_of(learner) if run.certified and learner is not None else "a perceptron"


def _way(run: Pictured) -> str:
    how = "" if run.weights is None else ", shards mixed after each"
    return counted(run.passes, "pass") + (how if run.certified else " in the order of the rows")


def _lemmas(cert: Certificate, problem: Problem, run: Pictured) -> list[Part]:
    """Return the two lemmas where the rows are separable."""
    u, margin = problem.witness("margin"), cert.number("perceptron's margin at least", problem.name)
    radius, most = (cert.number(f"{what} at most", problem.name) for what in ("R", "perceptron's mistakes"))
    if u is None or not margin > 0 or not len(run.rows):
        return [Text("The lemmas need a separator: none is known, so there is no (R/gamma)² to be squeezed below.")]
    if (radius / margin) ** 2 > min(MOST, 1e12):
        return [Text("The margin is too small for a picture of the lemmas that squeeze the run.")]
    path = perceptron_path(run.weighed(problem.mistaken(run.rows, problem.bias)), u)
    dots, squares, counts = run.at_mixes(path.dots), run.at_mixes(path.squares), None
    caption = (
        "Each mistake lengthens v·u by gamma at least (first lemma) and ||v||² by R² at most (second lemma): where the "
        "two lines meet, no mistake is left."
    )
    if run.weights is not None:
        counts = run.counts
        caption = (
            "At every mix, v·u is at least gamma times the weighted mistakes so far (first lemma), and ||v||², which a "
            "mean never raises above that of its shards, at most R² times them (second lemma): where the two lines "
            "meet, no mistake is left."
        )
    curve = squeeze(dots, squares, radius=radius, margin=margin, counts=counts, ax=_axes(3.9))
    curve = curve if counts is not None else _whole(curve, (radius / margin) ** 2, most)
    return [Picture(curve, "Two lemmas squeeze a run", caption)]


def _whole(ax: Axes, drawn: float, bound: float) -> Axes:
    """Write a bound on mistakes as the tables do: mistakes are whole."""
    before, after = amount(drawn), amount(floor(bound))
    style.head(ax, ax.get_title(loc="left").replace(before, after))
    for text in ax.texts:
        text.set_text(text.get_text().replace(before, after))
    return ax


def allowed(cert: Certificate, problem: Problem, run: Pictured) -> dict[str, float]:
    """Return the bounds that hold for a run: for the perceptron's those of its passes or more, else its theorem's."""
    if run.norm or run.p != 2:
        found = {"its theorem's bound": cert.number("mistakes at most", run.certified)}
    else:
        found = {"(R/γ)²": cert.number(MistakeBound("perceptron"), problem.name)}
        passes = next((t for t in passes_of(cert, problem.name) if t >= run.passes), None)
        if passes is not None:
            most = cert.number(MistakeBound("perceptron", passes), problem.name)
            found[f"Delta trick, {counted(passes, 'pass')}"] = most
        if run.certified:
            found["regret"] = cert.number("mistakes at most, by the regret", run.certified)
    if run.weights is not None:
        return found
    return {name: float(floor(bound)) if bound < inf else bound for name, bound in found.items()}


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
    values = run.at_mixes(winnow_path(run.weighed(rows), u, run.rate, balanced=balanced))
    start = max(log(max(weights, 2)), float(values[0]))
    progress = fall(margin, entries, run.rate)
    most = cert.number("mistakes at most", run.certified) if run.certified else start / progress
    counts = None if run.weights is None else run.counts
    drawn = potential(values, progress=progress, start=start, counts=counts, ax=_axes(3.9))
    drawn = drawn if counts is not None else _whole(drawn, start / progress, most)
    order = (
        "the certified run" if run.certified else "for comparison: one pass in the order of the rows, at the best rate"
    )
    each, by = ("mistake", "L") if counts is None else ("mix", "L times its weighted mistakes")
    caption = f"{who} on these rows, {order}: each {each} brings the weights nearer to u, by {by} at least."
    return [Picture(drawn, f"Winnow's potential falls at each {each}", caption)]


def _tightest(X: Array, signs: Array) -> float:
    radius = float(np.linalg.norm(X, axis=1).max())
    return delta_bound(Dense(frozen(X), 0.0), signs, radius=radius, tol=0.01).upper ** 2


def _axes(height: float) -> Axes:
    """Return axes of half a page's width."""
    return Figure(figsize=(5.2, height), layout="constrained").add_subplot()
