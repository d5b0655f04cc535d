"""scikit-learn's own checks, the legacy group too, on every map of the table and on their other forms."""

import pytest

from linsep.transforms import DeltaTrick
from tests.sklearn_checks import cases, name_of
from tests.transforms.forms import FORMS

TRAINING_ROWS = "fit_transform gives training rows, which have columns of their own; transform rows to be predicted"
# Each of these must fail: one that begins to pass is to be taken off the list.
FAILS = {
    DeltaTrick: {
        "check_transformer_data_not_an_array": TRAINING_ROWS,
        "check_transformer_general": TRAINING_ROWS,
    }
}


def name(value):
    return name_of(value) if hasattr(value, "func") else repr(value)


@pytest.mark.parametrize(
    ("form", "check"), [case for form in FORMS for case in cases(form, FAILS.get(type(form), {}))], ids=name
)
def test_scikit_learn(form, check):
    check(form)
