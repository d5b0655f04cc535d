"""Run scikit-learn's own tests of the classes that linsep.compat replaces, against linsep.compat.

    python -m benchmarks.sklearn_tests              all test files, in separate processes
    python -m benchmarks.sklearn_tests test_sgd     one of them

The test files are those of the installed scikit-learn, and nothing of them is copied. Before pytest imports a file, the
classes in `sklearn.linear_model` are replaced by those of `linsep.compat`. Tests that make none of these classes (such
as those of SGDOneClassSVM) are not counted.
"""

import argparse
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

COMPAT = ("Perceptron", "PassiveAggressiveClassifier", "PassiveAggressiveRegressor", "SGDClassifier", "SGDRegressor")
FILES = {
    "test_perceptron": ("linear_model/tests/test_perceptron.py", COMPAT),
    "test_passive_aggressive": ("linear_model/tests/test_passive_aggressive.py", COMPAT),
    "test_sgd": ("linear_model/tests/test_sgd.py", COMPAT),
}
REASONS = (
    (
        r"_average_coef|_standard_|NoneType. object is not subscriptable",
        "private attributes, or a patched private class",
    ),
    (r"DID NOT WARN.*FutureWarning|deprecated", "scikit-learn's own deprecation of the class"),
    (
        r"assert 0\.\d+ > 0\.8 .*where 0\.\d+ = score",
        "early stopping: scikit-learn scores the rows set aside without the weights' scale, linsep with it",
    ),
)
"""What a failure's text says of its reason; a text without any of these is a reason of its own."""


class Adapter:
    """Replaces scikit-learn's classes in each test module by linsep's, and notes which tests make any of them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.outcomes: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.used: set[str] = set()
        self.current = ""
        compat = importlib.import_module("linsep.compat")
        home = importlib.import_module("sklearn.linear_model")
        for name in names:
            kind = getattr(compat, name)
            setattr(home, name, kind)
            self._watch(kind)

    def _watch(self, kind: Any) -> None:
        made = kind.__init__

        def noted(learner: Any, *args: Any, **kwargs: Any) -> None:
            self.used.add(self.current)
            made(learner, *args, **kwargs)

        noted.__signature__ = inspect.signature(made)  # type: ignore[attr-defined]
        noted.__wrapped__ = made  # type: ignore[attr-defined]
        kind.__init__ = noted

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note the test that begins."""
        self.current = nodeid

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note how a test ended."""
        if report.when == "call" or report.failed:
            self.outcomes[report.nodeid] = "failed" if report.failed else report.outcome
        if report.failed:
            text = str(report.longrepr)
            errors = re.findall(r"^E +(.*)$", text, re.MULTILINE)
            self.texts[report.nodeid] = " ".join(errors[:4])


def reason(text: str) -> str:
    """Return the reason of a failure in a few words."""
    return next((words for pattern, words in REASONS if re.search(pattern, text, re.DOTALL)), text[:150])


def run(name: str, verbose: bool) -> int:
    """Run one test file in this process and print its table."""
    path, names = FILES[name]
    folder = Path(importlib.import_module("sklearn").__file__ or "").parent
    file = folder / path
    if not file.exists():
        print(f"{name}: skipped, as the installed scikit-learn has no {path}")
        return 0
    adapter = Adapter(names)
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--tb=short", "-c", os.devnull]
    with open(os.devnull, "w") as nowhere:
        shown, sys.stdout = sys.stdout, nowhere
        try:
            pytest.main([str(file), "--rootdir", str(folder), *options], plugins=[adapter])
        finally:
            sys.stdout = shown
    ours = {test: outcome for test, outcome in adapter.outcomes.items() if test in adapter.used}
    counts = Counter(ours.values())
    print(f"{name}: {counts['passed']} passed, {counts['failed']} failed of {len(ours)} tests that use linsep")
    grouped: dict[str, list[str]] = {}
    for test, outcome in ours.items():
        if outcome == "failed":
            grouped.setdefault(reason(adapter.texts.get(test, "")), []).append(test.rpartition("::")[2])
    for why, tests in sorted(grouped.items(), key=lambda item: -len(item[1])):
        print(f"  {len(tests):3d}  {why}")
        if verbose:
            print("       " + ", ".join(tests))
    return 0


def main() -> int:
    """Run the chosen test files, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*FILES, []], help="the test files; all by default")
    parser.add_argument("--verbose", action="store_true", help="name the tests that failed")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.here:
        return run(args.names[0], args.verbose)
    for name in args.names or FILES:
        command = [sys.executable, "-m", "benchmarks.sklearn_tests", name, "--here"]
        subprocess.run([*command, *(["--verbose"] if args.verbose else [])], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
