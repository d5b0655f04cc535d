"""Hunt for files that a reader reads otherwise than a plain reference: `python -m benchmarks.fuzz --inputs 1000000`.

The inputs are shared among the formats, or the one that `--format` names. Input k of a format depends on the seed and k
alone: `--format csv --seed 0 --first 123 --inputs 1` repeats input 123. Inputs run in a process of their own, as a
damaged file may end it. The test run tries a small sample of the same inputs.
"""

import sys
from argparse import ArgumentParser
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from tests.data.reader_fuzz import CHECKS, Outcome, run

CHUNK = 1000
"""Inputs of a task: if its process ends, the table names so many."""


def outcomes(format: str, seed: int, first: int, inputs: int) -> list[Outcome]:
    """Run the inputs of a format in another process; a task whose process ends is a failure."""
    found, pool = [], None
    for begin in range(first, first + inputs, CHUNK):
        pool = pool or ProcessPoolExecutor(1, get_context("spawn"))
        count = min(CHUNK, first + inputs - begin)
        try:
            found.append(pool.submit(run, format, seed, begin, count).result())
        except BrokenProcessPool:
            found.append(Outcome(count, 0, 0, 0.0, [(begin, f"the process ended at this input or one of {count} on")]))
            pool = None
    if pool is not None:
        pool.shutdown()
    return found


def main() -> int:
    """Run inputs of all formats, print a table and the failures; return 1 if there are any."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=10_000, help="inputs of all formats together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first input of each format")
    parser.add_argument("--format", choices=CHECKS, action="append", help="a format, or several; default: all")
    asked = parser.parse_args()
    formats, failed = asked.format or list(CHECKS), 0
    print(f"{'format':<12}{'inputs':>10}{'rows':>12}{'malformed':>12}{'failures':>10}{'seconds':>9}")
    for format in formats:
        done = outcomes(format, asked.seed, asked.first, -(-asked.inputs // len(formats)))
        inputs, rows, malformed, seconds = (sum(values) for values in list(zip(*done, strict=True))[:4])
        failures = [failure for outcome in done for failure in outcome.failures]
        print(f"{format:<12}{inputs:>10,}{rows:>12,}{malformed:>12,}{len(failures):>10,}{seconds:>9.0f}", flush=True)
        for k, reason in failures[:20]:
            print(f"  --format {format} --seed {asked.seed} --first {k} --inputs 1: {reason}")
        failed += len(failures)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
