"""Run the contracts in both tiers: compiled, and in Python as small data are."""

import pytest

from linsep.engine.kernel_cache import compiling

AS_FOR_A_USER = ("test_contracts_threads", "test_sklearn_checks")
"""Files whose kernels choose the tier by their work."""
OF_THE_COMPILER = (
    "test_other_parameters_need_no_compiler", "test_a_second_process_loads_all_it_needs",
    "test_compiled_is_plain_python",
)  # fmt: skip
"""Tests of compiled code."""


def pytest_generate_tests(metafunc):
    """Run each test once in each of its tiers."""
    if metafunc.module.__name__.split(".")[-1] in AS_FOR_A_USER:
        tiers = ["auto"]
    elif metafunc.function.__name__ in OF_THE_COMPILER:
        tiers = ["always"]
    else:
        tiers = ["always", "never"]
    metafunc.parametrize("tier", tiers, indirect=True)


@pytest.fixture(autouse=True)
def tier(request, monkeypatch):
    """Choose the tier of all kernels that the test runs, also in its child processes."""
    monkeypatch.setenv("LINSEP_COMPILE", request.param)
    with compiling(request.param):
        yield
