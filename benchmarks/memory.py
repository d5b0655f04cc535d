"""Peak memory of `fit` on canonical input, beyond the data themselves.

Each case is a process of its own that makes or loads the data, fits a few rows so that compiled code is
loaded, and then measures one `fit` of all rows: the growth of the resident set to its peak (Linux) and the
peak of the memory that Python and numpy allocate (tracemalloc); the larger one counts. What is allowed: the
weights twice (with what an average keeps beside them), the log, the order, and 5 % of the data.
"""

import gc
import json
import sys
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import linsep
from benchmarks import data
from benchmarks.data import DataMissing
from benchmarks.timing import Line, Row, Skip, in_child

CASES = {
    "200,000 sparse rows, in order": ("sparse", "Perceptron", False),
    "200,000 sparse rows, shuffled, averaged": ("sparse", "AveragedPerceptron", True),
    "MNIST, 10 classes, shuffled, averaged": ("mnist", "AveragedPerceptron", True),
}
LOG_PARTS = ("rows", "rounds", "classes", "amounts", "keeps")
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def resident(field: str) -> int:
    """Return VmRSS (now) or VmHWM (the highest so far) in bytes; 0 where the system does not tell."""
    if not STATUS.exists():
        return 0
    lines = [line for line in STATUS.read_text().splitlines() if line.startswith(field)]
    return 1024 * int(lines[0].split()[1])


def peak_of_fit(model: Any, X: Any, y: Any) -> int:
    """Return the peak memory of a fit beyond what was held before."""
    gc.collect()
    tracemalloc.start()
    if CLEAR.exists():
        CLEAR.write_text("5")
    before = resident("VmRSS")
    model.fit(X, y)
    grown = resident("VmHWM") - before
    traced = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return max(grown, traced)


def bytes_of(*arrays: Any) -> int:
    """Return the size of arrays, None counting nothing."""
    return sum(array.nbytes for array in arrays if array is not None)


def measure(case: str) -> dict[str, int]:
    """Return the peak of a case and the sizes that its allowance is made of."""
    source, learner, shuffle = CASES[case]
    X, y = data.sparse() if source == "sparse" else data.mnist()[:2]
    warnings.simplefilter("ignore")
    model = getattr(linsep, learner)(max_iter=2, shuffle=shuffle, random_state=0)
    model.fit(X[:500], y[:500])
    peak = peak_of_fit(model, X, y)
    averaged = 2 if learner.startswith("Averaged") else 1
    log = getattr(model, "log_", None)  # it is dropped where it outgrows 5 % of the data
    return {
        "peak": peak,
        "weights": averaged * bytes_of(model.coef_, model.intercept_),
        "log": bytes_of(*(getattr(log, part, None) for part in LOG_PARTS)),
        "order": 8 * X.shape[0] if shuffle else 0,
        "data": bytes_of(X.data, X.indices, X.indptr) if source == "sparse" else bytes_of(X),
    }


def row_of(case: str, sizes: dict[str, int]) -> Row:
    """Return the table's row: the peer is the allowance."""
    allowed = 2 * sizes["weights"] + sizes["log"] + sizes["order"] + 0.05 * sizes["data"]
    parts = ", ".join(f"{name} {sizes[name] / 1e6:.1f}" for name in ("weights", "log", "order", "data"))
    work = f"peak memory of fit: {case}"
    return Row(work, "2 weights + log + order + 5 % of data", sizes["peak"], allowed, 1.0, f"{parts} MB", unit="B")


def lines(repeats: int) -> Iterator[Line]:
    """Yield the rows of this group; memory needs no repeats."""
    for case, (source, _, _) in CASES.items():
        try:
            if source == "mnist":
                data.mnist()
        except DataMissing as missing:
            yield Skip(f"peak memory of fit: {case}", str(missing))
            continue
        yield row_of(case, in_child("benchmarks.memory", case))


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
