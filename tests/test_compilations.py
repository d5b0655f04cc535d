"""The budget of compilations. The hook in conftest.py puts this test at the end of the run."""

from tests.kernels import MOST, count


def test_the_whole_run_needs_few_kernels():
    assert count() <= MOST
