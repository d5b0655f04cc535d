"""A new process: import and a tiny fit, compiled code on disk, against scikit-learn's import and fit.

Both sides are a fresh Python that imports numpy and one Perceptron class, fits it on the same 20 x 3 dense
rows and leaves; the wall clock runs from the start of the process to its end. The first round fills
linsep's cache on disk and the file system's. "no slower than 1.5 x its time" is a ratio of at least 1 /
1.5.
"""

import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter

from benchmarks.timing import Line, Row, race

PROGRAM = """
import numpy as np
from {module} import Perceptron
X = np.random.default_rng(0).normal(size=(20, 3))
Perceptron(random_state=0).fit(X, X[:, 0] > 0)
"""


def process(module: str) -> None:
    """Run the program in a new Python."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM.format(module=module)], check=True)


def lines(repeats: int) -> Iterator[Line]:
    """Yield the row of this group."""
    result = race(lambda: process("linsep"), lambda: process("sklearn.linear_model"), repeats, perf_counter)
    yield Row(
        "a new process: import, tiny fit",
        "scikit-learn, the same",
        result.ours,
        result.peer,
        1 / 1.5,
        "warm cache",
    )
