"""The constant feature's value: fixed values against rules that read it off the first row, after one pass.

    python -m benchmarks.bias [--rows 3000] [--orders 5] [--seconds 600]

Each set is cut to at most `--rows` rows to learn from and as many to be judged by, which are drawn anew for each
order; the first row of the order is the one that a rule reads. A figure is the error in per cent after one pass: of
the last weights, before each row, for the perceptron, passive-aggressive and Pegasos; of the average, on the rows to
be judged by, for the averaged perceptron and logistic regression. It is the mean over the orders. The excess of a
rule on a set is its error less that of the best fixed value for that set and learner, the mean over the learners.
Real sets are those of LINSEP_DATA; without it their rows are skipped.
"""

import gzip
import warnings
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import typer
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.feature_extraction.text import HashingVectorizer

import linsep
from benchmarks import data
from benchmarks.data import Array, DataMissing

FIXED = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""The fixed values."""
POINTS = 0.5
"""How much higher than the best fixed value's the error of a rule may be."""


def quantile_of_mass(entries: Array, power: float, share: float = 0.5) -> float:
    """Return the entry at which the entries so far, the largest first, have a share of the sum of a power of all."""
    falling = np.sort(entries)[::-1]
    mass = np.cumsum(falling**power)
    return float(falling[np.searchsorted(mass, share * mass[-1])])


RULES: dict[str, Callable[[Array], float]] = {
    "median": lambda a: quantile_of_mass(a, 0),
    "middle of the sum": lambda a: quantile_of_mass(a, 1),
    "middle of the squares": lambda a: quantile_of_mass(a, 2),
    "contraharmonic mean": lambda a: float(a @ a / a.sum()),
    "cubic mean": lambda a: float(np.mean(a**3)) ** (1 / 3),
    "largest": lambda a: float(a.max()),
    "root mean square": lambda a: float(np.sqrt(np.mean(a * a))),
    "norm": lambda a: float(np.linalg.norm(a)),
    "norm / 3": lambda a: float(np.linalg.norm(a)) / 3,
}
"""Rules: the value as a function of the sizes |x_j| of the first row's nonzero entries."""
LEARNERS: dict[str, tuple[Callable[..., Any], bool]] = {
    "perceptron": (linsep.Perceptron, False),
    "averaged": (linsep.AveragedPerceptron, True),
    "passive-aggressive": (linsep.PassiveAggressive, False),
    "pegasos": (linsep.Pegasos, False),
    "logistic": (lambda **how: linsep.LogisticRegression(solver="sgd", readout="average", **how), True),
}
"""The learners, and whether they are judged on other rows."""


class Set(NamedTuple):
    """All rows of a set and their labels."""

    X: Any
    y: Array


def standardized(X: Any, y: Any) -> Set:
    """Return the rows with columns of mean 0 and standard deviation 1."""
    std = X.std(axis=0)
    return Set((X - X.mean(axis=0)) / np.where(std > 0, std, 1.0), y)


def both(split: data.Split) -> Set:
    """Return the rows of both parts of a set."""
    stack = sp.vstack if sp.issparse(split.X) else np.vstack
    return Set(stack([split.X, split.X_test]), np.concatenate([split.y, split.y_test]))


def npz(name: str, *parts: str) -> Set:
    """Return a dense set as it is stored."""
    Xs, ys = [], []
    for part in parts:
        with np.load(data._folder(name, f"{part}.npz") / f"{part}.npz") as file:
            Xs.append(file["X"].astype(np.float64))
            ys.append(file["y"].astype(np.int64))
    return Set(np.vstack(Xs), np.concatenate(ys))


def hashed_messages() -> Set:
    """Return short messages as hashed words, each row of norm 1."""
    folder = data._folder("sms_spam", "all.txt.gz")
    with gzip.open(folder / "all.txt.gz", "rt", encoding="utf-8", newline="\n") as file:
        labels, texts = zip(*(line.rstrip("\n").split("\t", 1) for line in file), strict=True)
    return Set(HashingVectorizer(n_features=1 << 16).fit_transform(texts), np.array(labels))


def offset() -> Set:
    """Return few features far from 0: the boundary is, too."""
    X, y = make_classification(6000, 5, n_informative=4, n_redundant=0, class_sep=1.5, random_state=0)
    return Set(X + 20, y)


def narrow() -> Set:
    """Return two features of standard size."""
    X, y = make_classification(6000, 2, n_informative=2, n_redundant=0, class_sep=1.0, random_state=1)
    return Set(X, y)


def unbalanced(n: int = 6000) -> Set:
    """Return one-hot rows, of which 6 % are positive."""
    rng = np.random.default_rng(2)
    sizes = rng.integers(2, 40, 30)
    codes = np.array([np.minimum(rng.geometric(2 / size, n) - 1, size - 1) for size in sizes]).T
    starts = np.cumsum(sizes) - sizes
    X = sp.csr_matrix((np.ones(n * 30), (codes + starts).ravel(), np.arange(n + 1) * 30), shape=(n, sizes.sum()))
    score = X @ rng.normal(size=sizes.sum()) + rng.logistic(size=n)
    return Set(X, (score > np.quantile(score, 0.94)).astype(int))


def wide() -> Set:
    """Return dense rows of a thousand features."""
    X, y = make_classification(6000, 1000, n_informative=60, n_redundant=0, random_state=3)
    return Set(X, y)


SETS: dict[str, Callable[[], Set]] = {
    "rcv1_small_vw": lambda: Set(*data.two_classes("rcv1_small_vw")),
    "sms_spam, hashed, unit rows": hashed_messages,
    "20newsgroups, tf-idf": lambda: both(data.newsgroups()),
    "20newsgroups, counts": lambda: Set(*data.newsgroup_counts()),
    "a9a": lambda: both(data.a9a()),
    "agaricus": lambda: Set(*data.two_classes("agaricus")),
    "MNIST, 0 to 255": lambda: (lambda s: Set(np.rint(s.X_test * 255.0), s.y_test))(data.mnist()),
    "USPS": lambda: npz("usps", "train", "test"),
    "covtype, raw": lambda: npz("covtype", "all"),
    "covtype, columns to 1": lambda: both(data.covtype()),
    "spambase, raw": lambda: npz("spambase", "train", "test"),
    "heart_scale": lambda: Set(*data.two_classes("heart_scale")),
    "zipf text, generated": lambda: Set(*data.zipf(6000, 20_000)),
    "digits": lambda: Set(*load_digits(return_X_y=True)),
    "wine": lambda: Set(*load_wine(return_X_y=True)),
    "breast cancer": lambda: Set(*load_breast_cancer(return_X_y=True)),
    "breast cancer, standardized": lambda: standardized(*load_breast_cancer(return_X_y=True)),
    "offset, 5 features": offset,
    "narrow, 2 features": narrow,
    "one-hot, 6 % positive": unbalanced,
    "dense, 1000 features": wide,
}


def sizes(X: Any) -> Array:
    """Return the sizes of the nonzero entries of the first row."""
    row = X[[0]].toarray() if sp.issparse(X) else X[:1]
    return np.abs(row[row != 0]).astype(np.float64)


def one_pass(rows: Set, most: int, orders: int, stop: float) -> dict[str, dict[str, float]]:
    """Return the error by learner and choice, the mean over the orders."""
    sums: dict[str, dict[str, list[float]]] = {name: {} for name in LEARNERS}
    for seed in range(orders):
        if perf_counter() > stop and seed:
            break
        order = np.random.default_rng(seed).permutation(len(rows.y))
        n = min(most, len(order) // 2)
        X, y, X_test, y_test = rows.X[order[:n]], rows.y[order[:n]], rows.X[order[-n:]], rows.y[order[-n:]]
        first = sizes(X)
        chosen = {f"{beta:g}": beta for beta in FIXED}
        chosen |= {name: rule(first) if len(first) else 1.0 for name, rule in RULES.items()}
        for name, (make, judged) in LEARNERS.items():
            for what, beta in chosen.items():
                clf = make(max_iter=1, shuffle=False, random_state=0, log=False, intercept_scaling=beta).fit(X, y)
                error = 1 - clf.score(X_test, y_test) if judged else clf.errors_ / clf.t_
                sums[name].setdefault(what, []).append(100 * error)
    return {name: {what: float(np.mean(errors)) for what, errors in by.items()} for name, by in sums.items()}


def excess(errors: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return by choice and learner how much higher the error is than with the best fixed value."""
    best = {name: min(by[f"{beta:g}"] for beta in FIXED) for name, by in errors.items()}
    choices = next(iter(errors.values()))
    return {what: {name: by[what] - best[name] for name, by in errors.items()} for what in choices}


def measured(most: int, orders: int, seconds: float) -> Iterator[tuple[str, dict[str, dict[str, float]]]]:
    """Yield each set and its errors."""
    stop = perf_counter() + seconds
    for k, (name, load) in enumerate(SETS.items()):
        left = (stop - perf_counter()) / (len(SETS) - k)
        try:
            yield name, one_pass(load(), most, orders, perf_counter() + left)
        except DataMissing as missing:
            print(f"{name}: skipped, {missing}")


def run(
    rows: Annotated[int, typer.Option(help="The most rows to learn from.")] = 3000,
    orders: Annotated[int, typer.Option(help="The orders of each set.")] = 5,
    seconds: Annotated[float, typer.Option(help="When to stop drawing orders.")] = 600,
    details: Annotated[bool, typer.Option(help="Print the errors of each learner too.")] = False,
) -> None:
    """Print the tables."""
    warnings.simplefilter("ignore")
    choices = [*(f"{beta:g}" for beta in FIXED), *RULES]
    table: dict[str, dict[str, dict[str, float]]] = {}
    for name, errors in measured(rows, orders, seconds):
        table[name] = excess(errors)
        means = {what: float(np.mean(list(by.values()))) for what, by in table[name].items()}
        print(f"{name:30s}" + "  ".join(f"{what} {means[what]:.2f}" for what in choices), flush=True)
        if details:
            for learner, by in errors.items():
                print(f"    {learner:20s}" + "  ".join(f"{what} {by[what]:.2f}" for what in choices))
    print()
    for what in choices:
        means_ = [float(np.mean(list(by[what].values()))) for by in table.values()]
        within = sum(mean <= POINTS for mean in means_)
        found = f"mean {np.mean(means_):.2f}, worst {max(means_):.2f}"
        print(f"{what:22s} within {POINTS:g} points on {within} of {len(means_)} sets; {found}")


if __name__ == "__main__":
    typer.run(run)
