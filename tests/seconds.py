"""How long tests take: the order in which they begin, and what a quick run omits.

`scripts/test --durations=0 -vv > LOG` and `python -m tests.seconds LOG` write the table `seconds.txt` again. It has the
test functions that take 0.2 s or more, all of their cases together; one that is not in it counts as short.
"""

import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

from linsep import LEARNERS

TABLE = Path(__file__).with_suffix(".txt")
LEAST, SLOW = 0.2, 0.3
"""The least seconds of a row of the table, and those from which on a quick run omits a test function."""
PROCESSES = ("tests/demo/test_demo.py", "tests/distributed/", "tests/docs/test_contributing.py")
"""Tests that start many processes before the first of them."""
LAST = "test_a_second_process_loads_all_it_needs"
"""A test that compiles what no other test has compiled before."""
LEARNER = re.compile("|".join(sorted(map(re.escape, LEARNERS), key=len, reverse=True)))


@cache
def table():
    """Return the seconds of test functions."""
    rows = (line.split(maxsplit=1) for line in TABLE.read_text(encoding="utf-8").splitlines())
    return {function: float(total) for total, function in rows}


def function_of(nodeid):
    """Return the test function without the parameters of a case."""
    return nodeid.partition("[")[0]


def part_of(nodeid):
    """Return the part of the tests that one process runs.

    A part is a file, but for contracts of compiled code: those of one learner are a part, so that no kernel is compiled
    in two processes. All tests of clusters are a part.
    """
    file, _, name = nodeid.partition("::")
    if file.startswith("tests/distributed/"):
        return "tests/distributed"
    if name.startswith(LAST):
        return name
    learner = LEARNER.search(name)
    if file.startswith("tests/contracts/") and "[always" in name and learner:
        return f"tests/contracts, {learner[0]}"
    return file


def is_slow(nodeid):
    """Return whether a quick run omits a test."""
    return nodeid.startswith(PROCESSES) or "[always" in nodeid or table().get(function_of(nodeid), 0) >= SLOW


def longest_first(nodeids):
    """Return the order of tests in which the parts that take longest come first."""
    cases = Counter(map(function_of, nodeids))
    parts = Counter()
    for nodeid in nodeids:
        function = function_of(nodeid)
        parts[part_of(nodeid)] += table().get(function, 0) / cases[function]
    return sorted(range(len(nodeids)), key=lambda k: (LAST in nodeids[k], -parts[part_of(nodeids[k])]))


def main(log):
    """Write the table from the output of a run."""
    totals = Counter()
    for line in Path(log).read_text(encoding="utf-8").splitlines():
        found = re.match(r"([\d.]+)s (?:call|setup|teardown) +(\S+?::[^\s\[]+)", line)
        if found:
            totals[found[2]] += float(found[1])
    rows = sorted((function, total) for function, total in totals.items() if total >= LEAST)
    TABLE.write_text("".join(f"{total:.1f} {function}\n" for function, total in rows), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
