"""What an epoch costs beside learning, at a million weights, on two worker processes of this machine; bytes moved.

Each of eight shards has two rows, x and 2x, of opposite labels: no weights separate them, so that every shard learns
something in every epoch, and learning itself takes next to no time. Where all columns of x have a value, dense weights
travel; where 75 have one, few do. Values are not those of float32, and so travel as float64. Seconds are those from the
last shard of an epoch to the last shard of the next; the first epoch, which reads the file, is left out.
"""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.timing import Row
from linsep import AveragedPerceptron, Perceptron, Winnow, distributed
from linsep.data.npz.writer import Writer
from linsep.distributed import TrainingStatus

WEIGHTS, FEW, SHARDS, EPOCHS = 1_000_000, 1_000, 8, 12
FILLED = {"dense": WEIGHTS, "sparse": 75}
"""Columns of a row that have a value."""
LEARNERS: dict[str, Any] = {
    "perceptron": partial(Perceptron, fit_intercept=False),
    "averaged perceptron": partial(AveragedPerceptron, fit_intercept=False),
    "Winnow": partial(Winnow, eta=1e-3),
}
"""A bias would separate x from 2x, but not by Winnow's weights, none of which is below 0."""
MOST = 0.3
"""Seconds that an epoch may take."""


class Cost(NamedTuple):
    """What an epoch takes."""

    learner: str
    kind: str
    """dense or sparse."""
    weights: int
    shards: int
    best: float
    """Seconds of the fastest epoch."""
    median: float
    sent: int
    """Bytes of weights in an epoch, to the workers (counted once) and back."""
    plain: int
    """Those that dense float64 would take."""

    def row(self) -> Row:
        """Return the line of the table."""
        moved = f"{self.sent / 1e6:,.1f} MB moved, {self.plain / 1e6:,.0f} MB as dense float64; "
        note = moved + f"best {1e3 * self.best:.0f} ms"
        work = f"overhead of an epoch, {self.weights:,} {self.kind} weights, {self.learner}"
        return Row(work, f"{MOST} s", self.median, MOST, 1.0, note)


def write(path: Path, columns: int, filled: int, shards: int) -> None:
    """Write two rows for each shard."""
    rng = np.random.default_rng(0)
    with Writer(path) as writer:
        for _ in range(shards):
            places = np.sort(rng.choice(columns, filled, replace=False)) if filled < columns else np.arange(columns)
            x = sp.csr_array((rng.random(filled) / 2, places, [0, filled]), shape=(1, columns))
            writer.write(sp.csr_array(sp.vstack([x, 2 * x])), np.array([1, -1]))


def measure(client: Any, path: Path, name: str, kind: str, weights: int, shards: int, epochs: int) -> Cost:
    """Return what an epoch over a file of two rows a shard costs."""
    ends: list[TrainingStatus] = []

    def note(progress: TrainingStatus) -> None:
        if progress.epoch and progress.shards == progress.of:
            ends.append(progress)

    model = LEARNERS[name](shards=shards, max_iter=epochs, random_state=0, log=False)
    distributed.fit(model, path, client=client, progress=note)
    seconds = np.array([after.seconds - before.seconds for before, after in pairwise(ends)])
    sent = np.diff([progress.sent for progress in ends])
    back = 2 if name.startswith("averaged") else 1  # an average sends the sum of its weights as well
    return Cost(
        name, kind, weights, shards, float(seconds.min()), float(np.median(seconds)), int(sent.max()),
        8 * weights * (1 + back * shards),
    )  # fmt: skip


def costs(epochs: int = EPOCHS) -> Iterator[Cost]:
    """Yield what epochs of a million weights cost; then of a thousand, which is the price of tasks alone."""
    with TemporaryDirectory() as folder, distributed.local_workers(2) as client:
        for kind, filled in FILLED.items():
            path = Path(folder) / f"{kind}.npz"
            write(path, WEIGHTS, filled, SHARDS)
            for name in LEARNERS:
                yield measure(client, path, name, kind, WEIGHTS, SHARDS, epochs)
        path = Path(folder) / "few.npz"
        write(path, FEW, FEW, SHARDS)
        yield measure(client, path, "averaged perceptron", "dense", FEW, SHARDS, epochs)
