"""The whole run: hypothesis without a clock, tests shared among processes, and what the run cost.

Hypothesis tries the same examples in every run, so that a change is judged by what it changed. To look for new ones:
`pytest --hypothesis-profile=explore`, which tries others each time.
"""

import gc
import os
import signal
import sys
import time

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings
from numba.core import event

from linsep.validation import inputs
from tests import processes
from tests.schedule import is_left_out, part_of, place_of

settings.register_profile("explore", deadline=None)
settings.register_profile("linsep", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=10)
settings.load_profile("linsep")

gc.set_threshold(100_000, 20, 20)  # compilers make millions of objects that stay
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as where the run is in the background of a script
    signal.signal(signal.SIGINT, signal.default_int_handler)
COSTS = []
"""The processor time of each process, and its share for compiling, in seconds."""
LIMIT = 2
"""A run fails if it takes more processor time than so many goals."""


class Compiler(event.Listener):
    """Measures the processor time of compiling; functions that are compiled for another count once."""

    def __init__(self):
        self.depth, self.seconds = 0, 0.0

    def on_start(self, event):
        """Begin to measure where nothing is being compiled."""
        if self.depth == 0:
            self.seconds -= time.process_time()
        self.depth += 1

    def on_end(self, event):
        """Add the time where the outermost function is done."""
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.process_time()


COMPILER = Compiler()
event.register("numba:compile", COMPILER)


def pytest_addoption(parser):
    """Add the options of `scripts/test`."""
    about = f"Report a run that takes more processor time, and fail one that takes {LIMIT} times as much."
    parser.addoption("--processor-goal", type=float, metavar="SECONDS", help=about)
    parser.addoption("--quick", action="store_true", help="Omit slow tests, and most contracts.")


def pytest_configure(config):
    """Collect the costs of the processes that share the tests (`pytest -n 2`), if any; close figures after tests."""
    config.addinivalue_line(
        "markers", "slow: all cases together take a second or more; omitted by scripts/test --quick"
    )
    if config.getoption("quick"):
        settings.load_profile("quick")
    config.pluginmanager.register(Figures())
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(Processes())


def pytest_xdist_make_scheduler(config, log):
    """Give each part of the tests to one of the processes."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByPart(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return part_of(nodeid)

    return ByPart(config, log)


def pytest_collection_modifyitems(config, items):
    """Begin with the parts that take long; omit slow tests and most contracts from a quick run."""
    if config.getoption("quick"):
        slow = [item for item in items if item.get_closest_marker("slow") or is_left_out(item.nodeid)]
        config.hook.pytest_deselected(items=slow)
        kept = set(items).difference(slow)
        items[:] = [item for item in items if item in kept]
    items.sort(key=lambda item: place_of(item.nodeid))


def pytest_collection_finish():
    """Spare the garbage collector the modules and tests, which stay."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Look for doctests in the package alone: the tests have none, and are many."""
    found = yield
    return [part for part in found if not isinstance(part, DoctestModule)]


class Figures:
    """Closes what a test has drawn, doctests of the package among them: matplotlib warns of many open figures."""

    def pytest_runtest_teardown(self):
        """Close all figures, if there can be any."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close("all")


class Processes:
    """Collects the costs of the processes that share the tests."""

    def pytest_testnodedown(self, node):
        """Add the costs of a process that is done."""
        COSTS.append(getattr(node, "workeroutput", {}).get("cost", (0.0, 0.0)))


def pytest_sessionfinish(session):
    """Measure the cost of this process; one that shares the tests sends it. Fail a run that takes far too long."""
    processes.stop()
    own, children = sum(os.times()[:2]), sum(os.times()[2:4])
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["cost"] = own + children, COMPILER.seconds
        return
    COSTS.append((own if session.config.getoption("numprocesses", None) else own + children, COMPILER.seconds))
    goal = session.config.getoption("processor_goal")
    if goal is not None and sum(total for total, _ in COSTS) > LIMIT * goal:
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    """Print what the run cost, in red if it took more than the goal."""
    total, compiling = map(sum, zip(*COSTS, strict=True))
    line = f"{total:.0f} s of processor time, {compiling:.0f} s of it to compile kernels"
    goal = config.getoption("processor_goal")
    above = goal is not None and total > goal
    if above:
        line += f"; ABOVE THE GOAL of {goal:.0f} s"
        line += f", and the run FAILS, as it took more than {LIMIT * goal:.0f} s" if total > LIMIT * goal else ""
    terminalreporter.write_line(line, red=above)


@pytest.fixture
def types_as_they_are(monkeypatch):
    """Little data are read in their own types, as much data are."""
    monkeypatch.setattr(inputs, "LITTLE", -1)
