"""A sample of the inputs of `python -m benchmarks.fuzz`."""

import numpy as np
import pytest

from linsep.data.compiled import csv, svmlight
from linsep.data.compiled.numbers import exactly, fives
from linsep.engine.tiers import compiling
from tests.data.reader_fuzz import CHECKS, run

INPUTS = {"npz": 40, "compressed": 60, "parquet": 40, "arrow": 40, "feather": 40}


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["always", "never"])
@pytest.mark.parametrize("format", CHECKS)
def test_random_files_are_read_as_a_plain_reference_reads_them(format, tier):
    """In both tiers: compiled, and in Python as short texts are."""
    with compiling(tier):
        outcome = run(format, seed=1, first=0, inputs=INPUTS.get(format, 100))
    assert not outcome.failures
    assert outcome.rows
    assert outcome.malformed or format in INPUTS, "the sample has malformed rows"


CELLS = [
    "0",
    "-0",
    "1",
    "-2",
    "+3.",
    ".5",
    "1.50",
    "-1e3",
    "5E-1",
    "1e-320",
    "16777217",
    "3.5e38",
    "123456789012345678901",
    "1e999",
    ".",
    "e5",
    "1e",
    "x",
    "_1",
]
CELLS += ["", "0.1000000014901161193847656250", "1_0", "nan", "1" * 400, " 1"]
ODDS = np.array([8.0] * 9 + [0.3] * (len(CELLS) - 9))


@pytest.mark.parametrize("single", [False, True])
def test_csv_in_python_leaves_what_the_loop_leaves(single):
    rng, read = np.random.default_rng(0), 0
    for _ in range(1000):
        places = rng.permutation([0, 1, 2, csv.LETTERS, csv.SKIP][: rng.integers(1, 6)])
        shape = int(rng.integers(1, 4)), len(places)
        rows = rng.choice(CELLS, shape, p=ODDS / ODDS.sum())
        ends = rng.choice(["\n", "\r\n", "\r", "\n\n"], shape[0], p=[0.9, 0.08, 0.01, 0.01])
        text = "".join(",".join(row) + end for row, end in zip(rows, ends, strict=True)) + "\n" * (ends[-1] == "\r")
        outcomes = []
        for function in (csv.fill_numbers.plain, csv.fill_numbers.template):
            values, aside, letters = np.zeros((9, 2)), np.zeros((9, 2)), np.zeros(len(text), np.uint8)
            marks, hard = np.zeros(10, np.int64), np.zeros((50, 4), np.int64)
            memory = memoryview(np.frombuffer(text.encode(), np.uint8))
            with np.errstate(all="ignore"):
                n, h = function(memory, ord(","), places, values, aside, letters, marks, hard, fives(), single)
            for row, place, begin, end in hard[:h].tolist():
                (values if place < 2 else aside)[row, place % 2] = float(text[begin:end])
            fine = n >= 0 and np.isfinite(values).all() and np.isfinite(aside).all()
            outcomes.append([a[: max(n, 0)].tobytes() for a in (values, aside, letters, marks)] if fine else None)
        assert outcomes[0] == outcomes[1], text
        read += outcomes[0] is not None
    assert 200 < read < 950


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_svmlight_in_python_leaves_what_the_loop_leaves(dtype):
    rng, read = np.random.default_rng(0), 0
    for _ in range(1000):
        words = []
        for _ in range(rng.integers(1, 4)):
            last = 0
            words.append(rng.choice(["", " "], p=[0.9, 0.1]) + rng.choice(CELLS, p=ODDS / ODDS.sum()))
            for _ in range(rng.integers(0, 4)):
                last += int(rng.choice([0, 1, 2, 5_000_000_000], p=[0.02, 0.5, 0.46, 0.02]))
                words.append(f"{rng.choice([' ', chr(9), '  '])}{last}:{rng.choice(CELLS, p=ODDS / ODDS.sum())}")
            words.append(rng.choice(["\n", " \r\n", "# x\n", " qid:1\n", "\n\n"], p=[0.88, 0.09, 0.01, 0.01, 0.01]))
        text = "".join(words)
        outcomes = []
        for function in (svmlight.read_rows.plain, svmlight.read_rows.template):
            labels, places, indptr = np.zeros(20), np.zeros(20, np.int64), np.zeros(21, np.int64)
            indices, values = np.zeros(99, np.int32), np.zeros(99, dtype)
            faults, hard = np.zeros((20, 2), np.int64), np.zeros((20, 3), np.int64)
            counts = np.array([0, 0, 0, 0, 1 << 40, -1, 0])
            memory = memoryview(np.frombuffer(text.encode(), np.uint8))
            with np.errstate(all="ignore"):
                stop = function(memory, 0, labels, places, indptr, indices, values, faults, hard, fives(), counts)
            finite = True
            for entry, begin, end in hard[: counts[3]].tolist():
                number = exactly(text[begin:end].encode(), np.float64 if entry < 0 else dtype)
                finite = finite and np.isfinite(number)
                if entry < 0:
                    labels[-entry - 1] = number
                else:
                    values[entry] = number
            n, m = counts[:2]
            parts = labels[:n], places[:n], indptr[: n + 1], indices[:m], values[:m], faults[: counts[2]]
            outcomes.append([int(stop), finite, counts[[0, 1, 2, 4, 5, 6]].tolist(), *(a.tobytes() for a in parts)])
        assert outcomes[0] == outcomes[1], text
        read += outcomes[0][2][2] == 0
    assert 200 < read < 950
