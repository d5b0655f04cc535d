"""The whole run: hypothesis without a clock; the processor time and the compiled kernels, printed last.

Hypothesis tries the same examples in every run, so that a change is judged by what it changed. To look for new ones:
`pytest --hypothesis-profile=explore`, which tries others each time.
"""

import gc
import os
import signal
import sys

import pytest
from hypothesis import settings

from linsep.validation import inputs
from tests import kernel_count

settings.register_profile("explore", deadline=None)
settings.register_profile("linsep", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("linsep")

gc.set_threshold(100_000, 20, 20)  # compilers make millions of objects that stay
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as where the run is in the background of a script
    signal.signal(signal.SIGINT, signal.default_int_handler)
NEEDED = set()
"""The kernels that the run needed, in all of its processes."""
SECONDS = []
"""The processor time of each process."""


def pytest_configure(config):
    """Ask the processes that share the tests (`pytest -n 2`) for their kernels, where there are any; close figures."""
    config.pluginmanager.register(Figures())
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(Processes())


def pytest_xdist_make_scheduler(config, log):
    """Give each file to one of the processes; those that want the cluster of tests/distributed to the same."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return "tests/distributed" if nodeid.startswith("tests/distributed/") else super()._split_scope(nodeid)

    return ByFile(config, log)


class Figures:
    """Closes what a test has drawn, doctests of the package among them: matplotlib warns of many open figures."""

    def pytest_runtest_teardown(self):
        """Close all figures, if there can be any."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close("all")


class Processes:
    """Hears of processes that are done with their share of the tests."""

    def pytest_testnodedown(self, node):
        """Add the kernels of a process."""
        NEEDED.update(getattr(node, "workeroutput", {}).get("kernels", ()))
        SECONDS.append(getattr(node, "workeroutput", {}).get("seconds", 0.0))


def pytest_sessionfinish(session):
    """Collect the kernels and the processor time; a process that has a share of the tests sends its own."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["kernels"] = sorted(kernel_count.names())
        session.config.workeroutput["seconds"] = processor_time()
        return
    NEEDED.update(kernel_count.names())
    SECONDS.append(processor_time())


def processor_time():
    """The processor time of this process and of those that it has waited for, in seconds."""
    return sum(os.times()[:4])


def pytest_terminal_summary(terminalreporter):
    """Print what the run cost."""
    terminalreporter.write_line(f"{sum(SECONDS):.0f} s of processor time; {len(NEEDED)} kernels compiled or loaded")


@pytest.fixture
def types_as_they_are(monkeypatch):
    """Little data are read in their own types, as much data are."""
    monkeypatch.setattr(inputs, "LITTLE", -1)
