"""Hunt for data whose separability is decided wrongly, or not at all.

`python -m benchmarks.separability [cases] [seed]` certifies random data of 20 hostile kinds, compares each problem's
verdict with that of an exact simplex method, and verifies each certificate. The test run tries a few cases of each.
"""

import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.sparse import csr_array

from linsep import certify, verify

Array = np.ndarray[Any, Any]
Rng = np.random.Generator
Data = tuple[Any, list[int]]
"""Rows and labels."""
BIASES = (1.0, 1.0, 0.0, 1e-3, 1e3)


def labels(X: Array, rng: Rng) -> list[int]:
    """Return labels of two classes: at random, by a halfspace, or by a halfspace but for one row."""
    with np.errstate(all="ignore"):
        scores = np.nan_to_num(X * rng.choice([1.0, -1.0, 2.0], X.shape[1])).sum(axis=1)
    y = (scores > np.median(scores)).astype(int)
    way = rng.integers(4)
    if way == 0:
        y = rng.integers(0, 2, len(X))
    elif way == 1:
        y[rng.integers(len(X))] ^= 1
    return [int(v) for v in y]


def shape(rng: Rng) -> tuple[int, int]:
    """Return a number of rows and of features."""
    return int(rng.integers(2, 14)), int(rng.integers(1, 6))


def small(rng: Rng) -> Array:
    """Return rows of small integers."""
    return rng.integers(-3, 4, shape(rng)).astype(float)


def two_classes(rows: Callable[[Rng], Array]) -> Callable[[Rng], Data]:
    """Return a kind of data from a function that makes rows."""

    def make(rng: Rng) -> Data:
        X = rows(rng)
        return X, labels(X, rng)

    return make


def powers(X: Array, rng: Rng, *, rows: int = 0, columns: int = 0) -> Array:
    """Return rows and columns times powers of two from 2^-900 to 2^900."""
    X = np.ldexp(X, rng.integers(-rows, rows + 1, (len(X), 1)))
    return np.ldexp(X, rng.integers(-columns, columns + 1, X.shape[1]))


def ties(rng: Rng) -> Array:
    """Return rows that differ by units in the last place."""
    n, p = shape(rng)
    X = np.tile(rng.normal(size=p), (n, 1))
    return X + rng.integers(-1, 2, X.shape) * np.spacing(X)


def twins(rng: Rng) -> Array:
    """Return rows of which most occur twice."""
    X = rng.normal(size=shape(rng))
    return X[rng.integers(0, max(len(X) // 2, 1), len(X))]


def zeros(rng: Rng) -> Array:
    """Return rows with few entries, some with none."""
    X = small(rng)
    return X * (rng.random(X.shape) < 0.3)


def collinear(rng: Rng) -> Array:
    """Return rows near a line, and exactly on it but for rounding."""
    n, p = shape(rng)
    return rng.integers(-9, 10, (n, 1)) * rng.choice([0.1, 1.0, 0.3], p) + rng.choice([0.0, 0.7], p)


def wide(rng: Rng) -> Array:
    """Return more features than rows, the rows sometimes dependent."""
    X = rng.integers(-2, 3, (int(rng.integers(2, 9)), int(rng.integers(20, 120)))).astype(float)
    if rng.integers(2):
        X[-1] = X[: len(X) - 1].mean(axis=0)
    return X


def tall(rng: Rng) -> Array:
    """Return many rows of few features."""
    return np.round(rng.normal(size=(int(rng.integers(60, 160)), int(rng.integers(1, 4)))), int(rng.integers(1, 12)))


def single(rng: Rng) -> Array:
    """Return float32 rows near the ends of their range."""
    X = rng.normal(size=shape(rng)) * np.float64(10.0) ** rng.choice([-40, -38, 0, 37])
    return (X * 10.0 ** rng.choice([-2, 0, 1], X.shape[1])).astype(np.float32)


def duplicates(rng: Rng) -> Data:
    """Return a CSR matrix that names columns twice, in any order, in either width of indices."""
    n, p = shape(rng)
    counts = rng.integers(0, 2 * p, n)
    ends = np.append(0, np.cumsum(counts))
    values = rng.choice([-1.0, 1.0, 0.5, 0.1, 2.0**40], ends[-1])
    kind = rng.choice([np.int32, np.int64])
    X = csr_array((values, rng.integers(0, p, ends[-1]).astype(kind), ends.astype(kind)), shape=(n, p))
    return X, labels(X.toarray(), rng)


def several(rng: Rng) -> Data:
    """Return three or four classes, scaled."""
    X = powers(rng.integers(-2, 3, (int(rng.integers(4, 9)), int(rng.integers(1, 4)))).astype(float), rng, columns=300)
    classes = int(rng.integers(3, 5))
    return X, [*range(classes), *(int(v) for v in rng.integers(0, classes, len(X) - classes))]


def timestamps(rng: Rng) -> Array:
    """Return Unix times beside small numbers."""
    n = int(rng.integers(3, 12))
    X = 1.7e9 + 3600.0 * rng.permutation(n)[:, None] + rng.choice([0.0, 0.001, 1e-6])
    return np.hstack([X, rng.integers(0, 2, (n, int(rng.integers(0, 3))))])


def nearly_cancelling(rng: Rng) -> Array:
    """Return rows whose last is a mixture of the others, rounded."""
    X = rng.normal(size=shape(rng)) + 1e6 * rng.integers(0, 2)
    mixture = rng.random(len(X) - 1)
    X[-1] = mixture / mixture.sum() @ X[:-1]
    return X


KINDS: dict[str, Callable[[Rng], Data]] = {
    "integers": two_classes(small),
    "dyadics": two_classes(lambda rng: small(rng) * 2.0 ** rng.integers(-4, 5)),
    "column scales": two_classes(lambda rng: powers(small(rng), rng, columns=900)),
    "row scales": two_classes(lambda rng: powers(small(rng), rng, rows=900)),
    "both scales": two_classes(lambda rng: powers(small(rng), rng, rows=450, columns=450)),
    "subnormals": two_classes(lambda rng: small(rng) * 5e-324),
    "1-ulp ties": two_classes(ties),
    "twins": two_classes(twins),
    "zeros": two_classes(zeros),
    "collinear": two_classes(collinear),
    "one feature": two_classes(lambda rng: rng.choice([1e8, 1.0, 1e16], 1) + rng.integers(-9, 9, (shape(rng)[0], 1))),
    "wide": two_classes(wide),
    "tall": two_classes(tall),
    "float32 over 1e±40": two_classes(single),
    "CSR with duplicates": duplicates,
    "several classes": several,
    "large integers": two_classes(lambda rng: rng.integers(-(2**53), 2**53, shape(rng)).astype(float)),
    "mixed magnitudes": two_classes(lambda rng: np.ldexp(s := small(rng), rng.integers(-900, 901, s.shape))),
    "timestamps": two_classes(timestamps),
    "nearly cancelling": two_classes(nearly_cancelling),
}


def signed_rows(problem: dict[str, Any], X: Any, y: list[int], classes: list[str]) -> list[list[Fraction]]:
    """Return the rows z_i of a problem: y_i [x_i, beta], or those of pairs of classes."""
    table = X.toarray() if hasattr(X, "toarray") else X
    rows = [[Fraction(float(v)) for v in [*x, problem["bias"]]] for x in np.asarray(table).tolist()]
    if problem["positive"] is not None:
        return [z if str(c) == problem["positive"] else [-v for v in z] for z, c in zip(rows, y, strict=True)]
    nothing = [Fraction(0)] * len(rows[0])
    negative = [[-v for v in z] for z in rows]
    return [
        [v for c in classes for v in (z if c == str(own) else minus if c == rival else nothing)]
        for z, minus, own in zip(rows, negative, y, strict=True)
        for rival in classes
        if rival != str(own)
    ]


def separable(rows: list[list[Fraction]]) -> bool:
    """Return whether some w has w·z > 0 for all rows z, by the simplex method in fractions with Bland's rule.

    The method minimises the sum of artificial variables of sum lambda_i z_i = 0, sum lambda_i = 1, lambda >= 0. The
    rows are separable if and only if that sum stays above 0 (Gordan).
    """
    lines = [[*entries, Fraction(0)] for entries in zip(*rows, strict=True) if any(entries)]
    lines.append([Fraction(1)] * (len(rows) + 1))
    basis = [-1] * len(lines)
    costs = [sum(column, Fraction(0)) for column in zip(*lines, strict=True)]
    while (enter := next((j for j, cost in enumerate(costs[:-1]) if cost > 0), None)) is not None:
        ratios = [(line[-1] / line[enter], basis[i], i) for i, line in enumerate(lines) if line[enter] > 0]
        leave = min(ratios)[2]
        pivot = [v / lines[leave][enter] for v in lines[leave]]
        for i, line in enumerate(lines):
            factor = line[enter]
            if factor:
                lines[i] = (
                    pivot if i == leave else [a - factor * b if b else a for a, b in zip(line, pivot, strict=True)]
                )
        factor, basis[leave] = costs[enter], enter
        costs = [a - factor * b for a, b in zip(costs, pivot, strict=True)]
    return costs[-1] > 0


def judge(X: Any, y: list[int], bias: float) -> Counter[str]:
    """Certify data and compare each verdict with the oracle; return counts of problems, and of what went wrong."""
    counts: Counter[str] = Counter(cases=1)
    try:
        cert = certify(X, y, bias=bias, passes=2)
        counts["rejected"] += not verify(cert, X, y)
        for name, problem in cert.facts["problems"].items():
            verdict = cert.claims[f"{name}: verdict"]
            truth = separable(signed_rows(problem, X, y, cert.facts["data"]["classes"]))
            counts["problems"] += 1
            counts["open"] += verdict == "open"
            counts["wrong"] += verdict not in ("open", "separable" if truth else "not separable")
    except Exception:  # the hunt goes on, and its table counts the crash
        traceback.print_exc()
        counts["crashes"] += 1
    return counts


def hunt(kind: str, cases: int, seed: int) -> Counter[str]:
    """Judge some cases of a kind, and print the data of each that fails."""
    total: Counter[str] = Counter()
    for case in range(cases):
        rng = np.random.default_rng([seed, case])
        X, y = KINDS[kind](rng)
        bias = float(rng.choice(BIASES))
        counts = judge(X, y, bias)
        if any(counts[name] for name in ("wrong", "open", "crashes", "rejected")):
            table = X.toarray() if hasattr(X, "toarray") else X
            print(f"{kind}, case {case}: {dict(counts)}: certify({table.tolist()}, {y}, bias={bias})", file=sys.stderr)
        total += counts
    return total


def main(cases: int, seed: int) -> int:
    """Print the table; return how many cases failed."""
    names = ("cases", "problems", "wrong", "open", "rejected", "crashes")
    table = Table(*("kind", *names, "seconds"), title=f"Verdicts against an exact oracle (seed {seed})")
    whole: Counter[str] = Counter()
    began = time.perf_counter()
    for kind in KINDS:
        start = time.perf_counter()
        counts = hunt(kind, cases, seed)
        table.add_row(kind, *(f"{counts[name]:,}" for name in names), f"{time.perf_counter() - start:.1f}")
        whole += counts
    table.add_row("all", *(f"{whole[name]:,}" for name in names), f"{time.perf_counter() - began:.1f}")
    Console(width=100).print(table)
    return sum(whole[name] for name in names[2:])


if __name__ == "__main__":
    cases, seed = [*map(int, sys.argv[1:3]), *(50, 0)[len(sys.argv) - 1 :]]
    sys.exit(main(cases, seed) > 0)
