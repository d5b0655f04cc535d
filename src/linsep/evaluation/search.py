"""Search space of each learner: one table of distributions, by parameter."""

from typing import Any

from scipy.stats import loguniform

SPACE: dict[str, Any] = {
    "C": loguniform(1e-3, 1e2),
    "alpha": loguniform(1e-6, 1e-1),
    "eta0": loguniform(1e-3, 1.0),
    "prior_variance": loguniform(1e-3, 1e3),
    "p": [None, 2.0, 3.0, 6.0, 12.0],
    "horizon": loguniform(1e2, 1e5),
    "max_iter": [1, 3, 10, 30],
    "multi_class": ["auto", "ovr"],
    "readout": ["last", "average"],
    "variant": ["PA-I", "PA-II"],
    "loss": ["hinge", "squared_hinge"],
    "aggressive": [False, True],
}
"""The values of each parameter. A learner is searched over those parameters that it has."""
BY_LEARNER: dict[str, dict[str, Any]] = {
    "VotedPerceptron": {"readout": ["vote", "average"]},
    "KernelPerceptron": {"readout": ["vote", "average"], "degree": [2, 3, 4]},
    "LogisticRegression": {"max_iter": None, "eta0": None, "readout": None},
    "LinearProgram": {"max_iter": None, "objective": ["hinge", "l1-margin"]},
    "MaxMargin": {"max_iter": None},
    "LeastSquares": {"max_iter": None},
    "NaiveBayes": {
        "kind": ["multinomial", "complement", "bernoulli", "gaussian"],
        "alpha": loguniform(1e-3, 1e1),
        "variance": ["pooled", "per-class"],
    },
}
"""Values of a learner that differ from the table; None for a parameter that is not searched."""


def search_space(learner: Any) -> dict[str, Any]:
    """Return the values to try for each parameter of a learner, as scikit-learn's searches take them.

    A list holds the values; anything else is a distribution of :mod:`scipy.stats`.

    Parameters
    ----------
    learner : learner or class of learners

    Examples
    --------
    >>> import linsep
    >>> sorted(search_space(linsep.ROMMA))
    ['aggressive', 'max_iter', 'multi_class', 'readout']
    """
    kind: Any = learner if isinstance(learner, type) else type(learner)
    own = BY_LEARNER.get(kind.__name__, {})
    known = kind._get_param_names()
    values = {name: own.get(name, SPACE.get(name)) for name in [*SPACE, *own] if name in known}
    return {name: some for name, some in values.items() if some is not None}
