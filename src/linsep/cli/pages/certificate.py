"""The page about a certificate; it needs matplotlib."""

from math import ceil, floor, inf, log
from shlex import join
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes

from linsep.certificates.certificate import Certificate
from linsep.certificates.checker import vector
from linsep.certificates.reading import class_name
from linsep.certificates.schema import MistakeBound, ProblemKey
from linsep.certificates.theorems import KernelPerceptronTheorem, PerceptronTheorem, Run, WinnowTheorem
from linsep.certificates.words import (
    LETTERS,
    SEPARATORS,
    WEIGHTED,
    Line,
    counted,
    favours,
    names_mixed_run,
    passes_of,
    rounded,
    short_verdict,
    table,
    verdict_sentence,
)
from linsep.cli.jobs.models import name_of
from linsep.cli.jobs.training import fit_quietly
from linsep.cli.pages.evaluation import file_names, without_folders
from linsep.cli.terminal.certificate import few, in_full, in_short, mistakes_made, mixes_of, remarks_of
from linsep.data.dataset import Dataset
from linsep.engine.arrays import Array
from linsep.estimators.base.learner import Learner
from linsep.estimators.perceptron import Perceptron
from linsep.estimators.winnow import Winnow
from linsep.plots import style
from linsep.plots.report import Code, Column, Fact, Part, Picture, Report, Section, Table, Text, axes
from linsep.plots.run_curves import MOST, amount, bounds, mistakes, mixes, potential, squeeze
from linsep.theory.bounds import best_rate, fall
from linsep.theory.paths import perceptron_path, winnow_path
from linsep.validation.errors import InvalidDataError

HOW = (
    "Numbers are rounded so that each statement stays true. Every claim is computed in exact arithmetic from the rows "
    "and the witnesses in the certificate; anyone can check it again."
)
MIXED = (
    "Shards of an epoch start from the same weights, and are mixed at its end. A theorem bounds the sum of their "
    "mistakes times their weights in the mix, over all epochs; the mistakes of all shards together may be more."
)

BOUNDS = {"(R/γ)²": "in any order, (R/γ)²", "regret": "by the losses of some weights in this run"}
"""The names of bounds beside their numbers."""


class Problem(NamedTuple):
    """Two classes of rows, a class of several against the rest or pairs, and what the certificate calls that."""

    name: str
    about: str
    """The class that captions name; "" if there are only two."""
    X: Any
    signs: Array
    """Of rows against the rest; all 1 for pairs."""
    bias: float
    known: dict[str, Any]
    """The problem in the certificate."""
    codes: Array = np.zeros(0, np.int64)
    """The number of each row's class, for pairs."""
    rivals: int = 0
    """The other classes, for pairs."""

    def witness(self, name: str) -> Array | None:
        """Return weights by their name, the bias last; None if there are none."""
        found = self.known["w"].get(name)
        size = (self.X.shape[1] + 1) * (1 + self.rivals)
        return None if found is None else vector(found, size).astype(np.float64)

    def mistaken(self, rows: Array, *biases: float) -> Any:
        """Return y x of some rows, and y times the value of each constant feature; of pairs x and -x in two places."""
        which, rival = np.divmod(rows, self.rivals) if self.rivals else (rows, rows)
        signs = self.signs[which]
        constants = np.outer(signs, biases)
        if not sp.issparse(self.X):
            made: Any = np.hstack([signs[:, None] * np.asarray(self.X, np.float64)[which], constants])
        else:
            X: Any = self.X
            made = sp.csr_array(sp.hstack([sp.diags_array(signs) @ X.tocsr()[which], sp.csr_array(constants)]))
        return made if not self.rivals else self._in_two_places(sp.coo_array(made), self.codes[which], rival)

    def _in_two_places(self, made: Any, own: Array, rival: Array) -> Any:
        """Return rows for the weights of all classes: as they are for their own class, negated for its rival."""
        rival, width = rival + (rival >= own), made.shape[1]
        columns = [made.col + width * of.astype(np.int64)[made.row] for of in (own, rival)]
        places = np.tile(made.row, 2), np.concatenate(columns)
        values = np.concatenate([made.data, -made.data])
        return sp.csr_array((values, places), shape=(made.shape[0], width * (1 + self.rivals)))


class DrawnRun(NamedTuple):
    """A run: the rounds and rows of its mistakes, how many rounds there were, or why there were none."""

    rounds: Array
    rows: Array
    total: int
    passes: int
    certified: str = ""
    """The name of the run in the certificate, if it is certified."""
    rate: float = 0.0
    """Winnow's."""
    norm: str = ""
    """Winnow's: simplex, or l1 for the balanced one."""
    refused: str = ""
    """The error of the learner, if it can't take the rows."""
    p: float = 2.0
    """A perceptron's."""
    weights: Array | None = None
    """Of a run whose shards were mixed, what each mistake weighs."""
    ends: Array | None = None
    """The same: how many mistakes there are up to each mix, from 0."""

    @property
    def counts(self) -> Array:
        """The mistakes at the start and after each one, or of a mixed run, weighted, after each mix."""
        if self.weights is None:
            return np.arange(len(self.rows) + 1)
        return np.append(0.0, np.cumsum(self.weights))[self.ends]

    def weighed(self, rows: Any) -> Any:
        """Return the rows of the mistakes, each times its weight: their sums are those of the run at its mixes."""
        if self.weights is None:
            return rows
        if not sp.issparse(rows):
            return self.weights[:, None] * rows
        made: Any = rows
        return sp.csr_array(sp.diags_array(self.weights) @ made)

    def at_mixes(self, path: Array) -> Array:
        """Return what a path through all mistakes has at those places that the theorems speak of."""
        return path if self.ends is None else path[self.ends]


def certify_report(
    cert: Certificate, rows: Dataset, learner: Learner | None, data: list[str], again: list[list[str]]
) -> Report:
    """Return the page; `again` are the commands that make the certificate once more, and check it."""
    problem = problem_of(cert, rows.X, rows.y)
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
        Section("Perceptron or Winnow?", [Text(favours(cert)), *_winnow(cert, problem, learner)]),
        *([Section("What is not proved", [Text("\n\n".join(map(_sentence, remarks)))])] if remarks else []),
        Section("Again, and by others", [Code("\n".join(join(without_folders(words)) for words in again))]),
    ]
    return Report(f"What is proved of {file_names(data)}", about, [*tiles(cert, problem, run), *shown], sections)


def _sentence(remark: str) -> str:
    """Return a remark as a sentence.

    >>> _sentence("no guarantee: the rows were shuffled")
    'No guarantee: the rows were shuffled.'
    """
    return f"{remark[:1].upper()}{remark[1:]}{'' if remark.endswith('.') else '.'}"


def tiles(cert: Certificate, problem: Problem, run: DrawnRun | None) -> list[Fact]:
    """Return what matters most of the problem that is pictured; the strongest bound where there are several."""
    lines = {line.label: line for line in table(cert)[problem.name]}
    verdict = short_verdict(cert) if len(cert.problems) == 1 else cert.claims[f"{problem.name}: verdict"]
    of = f"{problem.about}; " if problem.about else ""
    margin, least = lines["perceptron's margin"], lines["perceptron's margin"].value.partition(" to ")
    upper = f"at most {least[2]}, " if least[1] else ""
    return [
        Fact("verdict", verdict, problem.about),
        Fact("margin", least[0], f"{of}{upper}{margin.note}"),
        strongest(cert, problem, run)
        or Fact("perceptron's mistakes", lines["perceptron's mistakes"].value, of + _beside(cert, problem)),
    ]


def strongest(cert: Certificate, problem: Problem, run: DrawnRun | None) -> Fact | None:
    """Return the least of the bounds on the mistakes of a run, with its name; None where none is finite."""
    limits = {} if run is None or run.refused else allowed(cert, problem, run)
    name = min(limits, key=limits.__getitem__, default="")
    if not name or not limits[name] < inf:
        return None
    of = f"{problem.about}; " if problem.about else ""
    weighted = "weighted " if run is not None and run.weights is not None else ""
    return Fact(f"{weighted}mistakes at most", f"{ceil(limits[name]):,}", of + BOUNDS.get(name, name))


def _beside(cert: Certificate, problem: Problem) -> str:
    """Describe the perceptron's bound, and Winnow's beside it."""
    bounds_of = {kind: rounded(cert, problem.name, MistakeBound(kind)) for kind in SEPARATORS}
    note = "at most, in any order" if bounds_of["perceptron"] else "for every order and length"
    if not problem.known["games"]:
        return note
    known = [kind for kind in SEPARATORS if kind != "perceptron" and bounds_of[kind]]
    if not known:
        return f"{note}; {'nor' if not bounds_of['perceptron'] else 'and no bound'} of Winnow's"
    best = min(known, key=lambda kind: cert.number(MistakeBound(kind), problem.name))
    return f"{note}; {best}'s: at most {bounds_of[best]}"


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
    return (
        f"; {rounded(cert, name, WEIGHTED)} weighted, which is what bounds are about"
        if names_mixed_run(cert, name)
        else ""
    )


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
    text = f"The run is that of {who}: {counted(made, 'mistake')} in all."
    why = "Its theorem bounds losses; see the table." if cert.runs else "No bound is proved for it; see below why."
    drawn = mistakes(learner, ax=axes(3.6)) if log is not None and len(log) else None
    return [Text(f"{text} {why}"), *([Picture(drawn, f"The run of {who}", f"{who}, as it went.")] if drawn else [])]


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


def run_parts(cert: Certificate, problem: Problem, run: DrawnRun, learner: Learner | None) -> list[Part]:
    """Return the mistakes under their bounds, and what the proof is made of: two lemmas, or Winnow's potential."""
    of = f", {problem.about}" if problem.about else ""
    if run.refused:
        return [Text(f"A perceptron can't take these rows: {run.refused}.")]
    limits, below = allowed(cert, problem, run), "The curve can't cross any of the lines above it."
    if run.weights is None:
        drawn, what = (
            bounds(run.rounds, run.total, limits, ax=axes(3.9)),
            "Mistakes over rounds, below their bounds",
        )
    else:
        drawn, what = (
            mixes(run.counts, limits, ax=axes(3.9)),
            "Weighted mistakes, mix by mix, below their bounds",
        )
        below = f"A mistake counts as the weight mu of its shard in the mix. {below}"
    parts: list[Part] = [
        Text(f"The run is that of {_who(run, learner)}{of}: {_way(run)}."),
        Picture(drawn, what, below),
    ]
    if run.norm:
        return [*parts, *_potential(cert, problem, run)]
    return parts if run.p != 2 else [*parts, *_lemmas(cert, problem, run)]


def _who(run: DrawnRun, learner: Learner | None) -> str:
    return name_of(learner) if run.certified and learner is not None else "a perceptron"


def _way(run: DrawnRun) -> str:
    how = "" if run.weights is None else ", shards mixed after each"
    return counted(run.passes, "pass") + (how if run.certified else " in the order of the rows")


def _lemmas(cert: Certificate, problem: Problem, run: DrawnRun) -> list[Part]:
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
    curve = squeeze(dots, squares, radius=radius, margin=margin, counts=counts, ax=axes(3.9))
    curve = curve if counts is not None else _whole(curve, (radius / margin) ** 2, most)
    return [Picture(curve, "Two lemmas squeeze a run", caption)]


def _whole(ax: Axes, drawn: float, bound: float) -> Axes:
    """Write a bound on mistakes as the tables do: mistakes are whole."""
    before, after = amount(drawn), amount(floor(bound))
    style.head(ax, ax.get_title(loc="left").replace(before, after))
    for text in ax.texts:
        text.set_text(text.get_text().replace(before, after))
    return ax


def allowed(cert: Certificate, problem: Problem, run: DrawnRun) -> dict[str, float]:
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


def _winnow(cert: Certificate, problem: Problem, learner: Learner | None) -> list[Part]:
    """Return Winnow's potential on these rows, unless the certified run is Winnow's and is drawn above."""
    run = winnow_run(cert, problem, learner)
    return [] if run is None or run.certified else _potential(cert, problem, run)


def _potential(cert: Certificate, problem: Problem, run: DrawnRun) -> list[Part]:
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
    drawn = potential(values, progress=progress, start=start, counts=counts, ax=axes(3.9))
    drawn = drawn if counts is not None else _whole(drawn, start / progress, most)
    order = (
        "the certified run" if run.certified else "for comparison: one pass in the order of the rows, at the best rate"
    )
    each, by = ("mistake", "L") if counts is None else ("mix", "L times its weighted mistakes")
    caption = f"{who} on these rows, {order}: each {each} brings the weights nearer to u, by {by} at least."
    return [Picture(drawn, f"Winnow's potential falls at each {each}", caption)]


def problem_of(cert: Certificate, X: Any, y: Any) -> Problem:
    """Return the problem that is pictured: of a certified run if there is one, else of two classes or one of several.

    The first that is separable is taken, or the first of all.
    """
    classes, problems = cert.facts["data"]["classes"], cert.facts["problems"]
    names = [run["problem"] for run in cert.facts["runs"].values()] or cert.problems[:1]
    if len(classes) > 2 and not cert.runs:
        names = [name for name in cert.problems if problems[name]["positive"] is not None]
    name = next((name for name in names if cert.claims[f"{name}: verdict"] == "separable"), names[0])
    known, bias = problems[name], float(problems[name]["bias"])
    labels = [class_name(label) for label in np.asarray(y).tolist()]
    if known["positive"] is None:
        codes = np.array([classes.index(label) for label in labels])
        return Problem(name, "pairs of classes", X, np.ones(len(labels)), bias, known, codes, len(classes) - 1)
    own = np.array([label == known["positive"] for label in labels])
    about = f"class {known['positive']} against the rest" if len(classes) > 2 else ""
    return Problem(name, about, X, np.where(own, 1.0, -1.0), bias, known)


def certified_run(cert: Certificate, problem: Problem, learner: Learner | None) -> DrawnRun | None:
    """Return the run on a problem that is certified, if its updates are its mistakes, as passive-aggressive's are not.

    Its rounds are in the learner's log. A kernel's run is left out, as its weights are not those of features.
    """
    for name, run in cert.facts["runs"].items():
        theorem = cert.theorem(name)
        drawn = theorem.unit_steps and not isinstance(theorem, KernelPerceptronTheorem)
        if run["problem"] == problem.name and drawn:
            found = DrawnRun(
                _rounds(cert, problem.name, learner), cert.updated_rows(name, problem.codes), run["rounds"],
                run["passes"], name,
            )  # fmt: skip
            found = _mixed(found, cert.mixes(name)) if names_mixed_run(cert, name) else found
            if isinstance(theorem, WinnowTheorem):
                return found._replace(rate=float(theorem.rate), norm=theorem.norm)
            assert isinstance(theorem, PerceptronTheorem)
            return found._replace(p=float(theorem.p))
    return None


def perceptron_run(cert: Certificate, problem: Problem, learner: Learner | None) -> DrawnRun:
    """Return the run that is certified if it is a perceptron's, else one pass of a perceptron in the rows' order."""
    own = certified_run(cert, problem, learner)
    if own is not None and own.p == 2 and not own.norm:
        return own
    return _trained(Perceptron(**_in_order(problem)), problem)


def winnow_run(cert: Certificate, problem: Problem, learner: Learner | None) -> DrawnRun | None:
    """Return Winnow's run that is certified, or one pass at the best rate; None where no u >= 0 is known to do."""
    own = certified_run(cert, problem, learner)
    if own is not None and own.norm:
        return own
    margin, entries = cert.number("Winnow's margin at least", problem.name), entry_of(problem)
    if not 0 < margin < entries:
        return None
    eta = best_rate(margin, entries)
    return _trained(Winnow(eta=eta, x_max=None, **_in_order(problem)), problem)._replace(rate=eta, norm="simplex")


def entry_of(problem: Problem) -> float:
    """Return the largest |entry| of the rows, the constant feature included."""
    values: Any = problem.X.data if hasattr(problem.X, "indptr") else problem.X
    return max(float(np.abs(values).max(initial=0.0)), problem.bias)


def _in_order(problem: Problem) -> dict[str, Any]:
    bias = {"fit_intercept": True, "intercept_scaling": problem.bias} if problem.bias else {"fit_intercept": False}
    return {"max_iter": 1, "shuffle": False, "log": True, **bias}


def _trained(learner: Any, problem: Problem) -> DrawnRun:
    try:
        fit_quietly(learner, problem.X, problem.signs)
    except InvalidDataError as error:
        return DrawnRun(np.zeros(0, np.int64), np.zeros(0, np.int64), 0, 1, refused=str(error))
    return DrawnRun(learner.log_.rounds, learner.log_.rows, len(problem.signs), 1)


def _mixed(run: DrawnRun, mixes: list[list[list[int]]]) -> DrawnRun:
    """Return a run with the weights of its mistakes, and where its mixes are."""
    counts = [sum(count for count, _ in mix) for mix in mixes]
    weights = Run(run.rows, None, run.passes, run.total, mixes).weights()
    return run._replace(weights=weights, ends=np.append(0, np.cumsum(counts)))


def _rounds(cert: Certificate, problem: str, learner: Any) -> Array:
    """Return the rounds of a run's updates, from the log of all runs."""
    log, key = learner.log_, ProblemKey.parse(problem)
    chosen = slice(None) if key.kind != "class" else log.classes == cert.facts["data"]["classes"].index(key.label)
    rounds: Array = log.rounds[chosen]
    return rounds
