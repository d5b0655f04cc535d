"""Choose the tiers of each contract: compiled code, Python, both, or by the work as for a user.

`test_compiled_is_plain_python` asserts that both tiers leave the same bits, for every learner and kind of data. The
contracts of what has the same bits, of threads, and of what the tiers detect in ways of their own (rows and weights
that are refused) run in both. The others are about code that is the same in both tiers, and run in Python.
"""

import pytest

from linsep.engine.tiers import compiling

BOTH, COMPILED, AS_FOR_A_USER = ["always", "never"], ["always"], ["auto"]
IN_PYTHON = ["never"]
OF_USERS = ("test_contracts_batch", "test_contracts_threads", "test_sklearn_checks")
OF_TESTS = {
    "test_compiled_is_plain_python": COMPILED,  # and the other tier
    "test_hostile_rows_compiled": COMPILED,
    "test_hostile_rows_of_variants_compiled": COMPILED,
    "test_scikit_learn": AS_FOR_A_USER,
    "test_scikit_learn_of_a_precomputed_kernel": AS_FOR_A_USER,
    # about compiled code
    "test_other_parameters_need_no_compiler": COMPILED,
    "test_a_second_process_loads_all_it_needs": COMPILED,
    "test_a_memory_mapped_learner_needs_no_kernel_of_its_own": COMPILED,
    # so much work that a user has it compiled
    "test_a_log_that_outgrows_the_data_is_given_up": COMPILED,
    "test_a_rule_that_shrinks_goes_on_though_nothing_is_added": COMPILED,
    "test_log_auto_stops_when_it_outgrows_the_data": COMPILED,
    "test_the_log_of_a_stream_may_grow_with_the_stream": COMPILED,
} | dict.fromkeys(
    [
        "test_a_refused_row_changes_nothing", "test_a_single_row_beyond_float64_changes_nothing",
        "test_dense_is_csr", "test_learn_one_is_partial_fit_is_fit",
        "test_single_precision_and_long_indices", "test_single_precision_in_many_blocks",
        "test_sums_of_1e305_are_refused", "test_threads_change_no_bit", "test_weights_stay_finite_whatever_is_learned",
    ],
    BOTH,
)  # fmt: skip


def pytest_generate_tests(metafunc):
    """Run each test once in each of its tiers."""
    module = metafunc.module.__name__.rpartition(".")[2]
    if module in OF_USERS:
        tiers = AS_FOR_A_USER
    else:
        tiers = OF_TESTS.get(metafunc.function.__name__, BOTH if module == "test_contracts" else IN_PYTHON)
    metafunc.parametrize("tier", tiers, indirect=True)


@pytest.fixture(autouse=True)
def tier(request, monkeypatch):
    """Choose the tier of all kernels that the test runs, also in its child processes."""
    monkeypatch.setenv("LINSEP_COMPILE", request.param)
    with compiling(request.param):
        yield
