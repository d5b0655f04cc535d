"""The order in which tests begin, and the parts of them that processes share.

Both are only about time: a test that takes long should not begin last, and no kernel is compiled in two processes.
"""

import re

from linsep import LEARNERS

LONGEST = (
    "tests/docs/test_contributing.py", "tests/demo/test_demo.py", "tests/cli/test_app.py",
    "tests/cli/commands/test_workers.py", "tests/docs/test_readme.py", "tests/cli/commands/test_predict.py",
    "tests/distributed", "tests/cli/test_errors.py", "tests/cli/commands/test_certify.py",
    "tests/contracts/test_references_multiclass.py", "tests/plots/test_ticks.py", "tests/data/test_pass_cache.py",
    "tests/engine/test_kernel_cache.py", "tests/cli/test_startup.py", "tests/data/test_vw.py",
    "tests/cli/options/test_readouts.py", "tests/certificates/test_checker.py",
)  # fmt: skip
"""The parts that take longest, after the contracts of compiled code."""
LAST = "test_a_second_process_loads_all_it_needs"
"""A test that compiles what no other test has compiled before."""
QUICK = ("averaged-perceptron", "winnow", "pegasos")
"""The learners of which a quick run tests the contracts: an average, exponential weights, a rule that shrinks."""
LEARNER = re.compile("|".join(sorted(map(re.escape, LEARNERS), key=len, reverse=True)))


def is_compiled(nodeid: str) -> bool:
    """Return whether a test is a contract of compiled code."""
    return nodeid.startswith("tests/contracts/") and "[always" in nodeid


def is_left_out(nodeid: str) -> bool:
    """Return whether a quick run omits a test that is not slow: a contract of compiled code, or of another learner."""
    name = nodeid.partition("::")[2]
    learner = LEARNER.search(name.partition("[")[2]) if nodeid.startswith("tests/contracts/") else None
    return is_compiled(nodeid) or (learner is not None and learner[0] not in QUICK)


def part_of(nodeid: str) -> str:
    """Return the part of the tests that one process runs.

    A part is a file, but for contracts of compiled code: those of one learner are a part, so that no kernel is compiled
    in two processes. All tests of clusters are a part.
    """
    file, _, name = nodeid.partition("::")
    if file.startswith("tests/distributed/"):
        return "tests/distributed"
    if name.startswith(LAST):
        return name
    if is_compiled(nodeid) and (learner := LEARNER.search(name)):
        return f"tests/contracts, {learner[0]}"
    return file


def place_of(nodeid: str) -> int:
    """Return the key by which tests are sorted, so that the parts that take longest come first."""
    if LAST in nodeid:
        return len(LONGEST) + 1
    if is_compiled(nodeid):
        return -1
    part = part_of(nodeid)
    return LONGEST.index(part) if part in LONGEST else len(LONGEST)
