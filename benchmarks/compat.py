"""Compare linsep.compat with scikit-learn on real sets: test accuracy and time, with the same parameters and seeds.

    LINSEP_DATA=... python -m benchmarks.compat                 all sets
    LINSEP_DATA=... python -m benchmarks.compat usps --seeds 5  one set, more seeds

Each class is trained with its default parameters, once for each seed, both sides in turn. Columns: mean test accuracy
of scikit-learn and of linsep in per cent, their difference in points, the standard error of the difference over the
seeds, mean epochs, and the ratio of processor times, scikit-learn's / linsep's. With two classes both visit rows in the
same order, so that the weights are the same to rounding. Large sets are cut to ROWS rows; dense columns of raw numbers
are scaled to mean 0 and variance 1.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import linear_model
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import linsep.compat as compat
from benchmarks import data
from benchmarks.data import DataMissing, Split
from benchmarks.timing import clock
from linsep.engine.tiers import compiling

ROWS = 4_000
POINTS = 0.3
"""How much lower a mean accuracy may be."""
CLASSES: dict[str, tuple[str, dict[str, Any]]] = {
    "Perceptron": ("Perceptron", {}),
    "PassiveAggressiveClassifier": ("PassiveAggressiveClassifier", {}),
    "SGDClassifier": ("SGDClassifier", {}),
    "SGDClassifier, log_loss": ("SGDClassifier", {"loss": "log_loss"}),
    "SGDClassifier, average": ("SGDClassifier", {"average": True}),
    "SGDClassifier, l1": ("SGDClassifier", {"penalty": "l1"}),
    "SGDClassifier, pa1": ("SGDClassifier", {"learning_rate": "pa1", "eta0": 1.0, "penalty": None}),
}


def scaled(split: Split) -> Split:
    """Return dense rows with columns of mean 0 and variance 1."""
    scaler = StandardScaler().fit(split.X.astype(np.float64))
    return split._replace(X=scaler.transform(split.X), X_test=scaler.transform(split.X_test))


def cut(split: Split) -> Split:
    """Return the first rows of a shuffled set."""
    some = np.random.default_rng(0).permutation(split.X.shape[0])[:ROWS]
    return split._replace(X=split.X[some], y=split.y[some])


def folder(name: str) -> Split:
    """Return a set that has a file to train and one to test, or is split."""
    home = data._folder(name, "train.npz")
    parts: list[Any] = []
    for file in ("train.npz", "test.npz"):
        path = home / file
        if path.exists():
            with np.load(path, allow_pickle=False) as arrays:
                y = arrays["y"]
                X = arrays["X"] if "X" in arrays else sp.csr_array(sp.load_npz(path)).astype(np.float64)
            parts += [X, y]
    if len(parts) == 2:
        X, X_test, y, y_test = train_test_split(*parts, test_size=0.3, random_state=0)
        return Split(X, y, X_test, y_test)
    width = max(parts[0].shape[1], parts[2].shape[1])
    for at in (0, 2):
        if sp.issparse(parts[at]):
            parts[at].resize((parts[at].shape[0], width))
    return Split(*parts)


SETS: dict[str, Callable[[], Split]] = {
    "mnist": lambda: cut(data.mnist()),
    "usps": lambda: folder("usps"),
    "20newsgroups": lambda: cut(data.newsgroups()),
    "a9a": lambda: cut(folder("a9a")),
    "covtype": lambda: scaled(cut(data.covtype())),
    "rcv1_small_vw": lambda: folder("rcv1_small_vw"),
    "spambase": lambda: scaled(folder("spambase")),
    "agaricus": lambda: folder("agaricus"),
    "heart_scale": lambda: folder("heart_scale"),
}


def trained(home: Any, name: str, parameters: dict[str, Any], seed: int, split: Split) -> tuple[float, float, int]:
    """Return the test accuracy in per cent, the processor time of training, and the epochs."""
    model = getattr(home, name)(random_state=seed, **parameters)
    spent, _ = clock(partial(model.fit, split.X, split.y), process_time)
    return 100.0 * float(model.score(split.X_test, split.y_test)), spent, int(model.n_iter_)


def rows(split: Split, seeds: int) -> Iterator[tuple[str, Any]]:
    """Yield each class and its accuracies, times and epochs: (2 sides, seeds, 3)."""
    for label, (name, parameters) in CLASSES.items():
        trained(compat, name, parameters, 0, split)  # compiles
        sides = [
            [trained(home, name, parameters, seed, split) for home in (linear_model, compat)] for seed in range(seeds)
        ]
        yield label, np.array(sides).transpose(1, 0, 2)


def compiled_rows(split: Split, seeds: int) -> Iterator[tuple[str, Any]]:
    """Yield the same with all kernels compiled, as they are after the first few million products."""
    with compiling("always"):
        yield from rows(split, seeds)


def main() -> int:
    """Print the table; return 1 if a mean accuracy is lower by more than POINTS, beyond two standard errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)}; all by default")
    parser.add_argument("--seeds", type=int, default=3, help="the number of seeds; 3 by default")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lower, ratios = 0, []
    print(f"{'set':14} {'class':28} {'theirs':>7} {'ours':>7} {'differ':>7} {'+-':>5} {'epochs':>11} {'speed':>6}")
    for name in args.sets or SETS:
        try:
            split = SETS[name]()
        except DataMissing as missing:
            print(f"{name:14} {missing}")
            continue
        for label, found in compiled_rows(split, args.seeds):
            (theirs, ours), times, epochs = (
                found[..., 0].mean(axis=1),
                found[..., 1].sum(axis=1),
                found[..., 2].mean(axis=1),
            )
            differ = found[1, :, 0] - found[0, :, 0]
            error = differ.std(ddof=1) / len(differ) ** 0.5 if len(differ) > 1 else 0.0
            low = differ.mean() < -POINTS and differ.mean() + 2 * error < -POINTS
            lower += low
            ratios.append(times[0] / times[1])
            print(
                f"{name:14} {label:28} {theirs:7.2f} {ours:7.2f} {differ.mean():+7.2f} {error:5.2f} "
                f"{epochs[0]:5.0f}/{epochs[1]:<5.0f} {ratios[-1]:6.2f}{'  lower' if low else ''}",
                flush=True,
            )
    if ratios:
        print(f"speed: {np.exp(np.mean(np.log(ratios))):.2f} in the geometric mean; {lower} accuracies are lower")
    return int(lower > 0)


if __name__ == "__main__":
    sys.exit(main())
