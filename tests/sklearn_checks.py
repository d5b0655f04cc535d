"""scikit-learn's own checks, the legacy group too, as cases for pytest."""

from sklearn.utils.estimator_checks import estimator_checks_generator

ARRAY_API = "check_array_api_input"
"""Needs an environment variable before scipy is imported; linsep takes no other arrays than numpy's."""


def cases(estimator, fails):
    """All checks of an estimator; those that are expected to fail, with their reasons, must."""
    options = {"legacy": True, "expected_failed_checks": fails, "mark": "xfail", "xfail_strict": True}
    for case in estimator_checks_generator(estimator, **options):
        _, check = case.values if hasattr(case, "values") else case
        if check.func.__name__ != ARRAY_API:
            yield case


def name_of(check):
    """`check_fit1d`, with the check's own arguments if it has any."""
    return "-".join([check.func.__name__, *map(str, check.keywords.values())])
