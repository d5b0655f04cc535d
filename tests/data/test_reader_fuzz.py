"""A sample of the inputs of `python -m benchmarks.fuzz`."""

import pytest

from linsep.engine.tiers import compiling
from tests.data.reader_fuzz import CHECKS, run

INPUTS = {"npz": 40, "compressed": 60, "parquet": 40, "arrow": 40, "feather": 40}


@pytest.mark.parametrize("tier", ["always", "never"])
@pytest.mark.parametrize("format", CHECKS)
def test_random_files_are_read_as_a_plain_reference_reads_them(format, tier):
    """In both tiers: compiled, and in Python as short texts are."""
    with compiling(tier):
        outcome = run(format, seed=1, first=0, inputs=INPUTS.get(format, 100))
    assert not outcome.failures
    assert outcome.rows
    assert outcome.malformed or format in INPUTS, "the sample has malformed rows"
