"""Contracts about machine code: made once, kept on disk."""

import json
import subprocess
import sys

import pytest
from numba import typeof

from linsep.engine import passes
from linsep.validation import inputs
from tests.contracts.table import KERNELS, ONLINE, OWN, WEIGHTED, build, every_learner, problem, quiet
from tests.kernel_count import count

# Other numbers for each learner's own parameters, integers among them: they are data, not types.
OTHER = {
    "voted-perceptron": [{"readout": "last"}, {"normalize": True}, {"max_support": 100}, {"log": "auto"}],
    "winnow": [{"eta": 2}, {"eta": 0.01}, {"x_max": 5}],
    "balanced-winnow": [{"eta": 2}, {"eta": 0.01}, {"x_max": 5}],
    "p-norm-perceptron": [{"p": 3}, {"p": 3.5}],
    "passive-aggressive": [{"C": 2}, {"C": 0.01}],
    "logistic-regression": [{"eta0": 1}, {"power_t": 0.5}, {"prior_variance": 2, "prior_rows": 40}],
    "pegasos": [{"alpha": 1}, {"alpha": 0.25}],
}
SHARED = [
    {"shuffle": True, "random_state": 3},
    {"max_iter": 1},
    {"tol": 1e-3},
    {"fit_intercept": False},
    {"intercept_scaling": 2},
]

CHILD = """
import json, sys
from tests.contracts.table import build, problem, quiet
from tests.kernel_count import dispatchers
for name in sys.argv[1:]:
    for classes in (2, 3):
        X, y = problem(classes)
        quiet(build(name).fit, X, y).predict(X)
stats = [d.stats for d in dispatchers() if d.signatures]
print(json.dumps([sum(sum(s.cache_hits.values()) for s in stats), sum(sum(s.cache_misses.values()) for s in stats)]))
"""


def trained(names):
    for name in names:
        for classes in (2, 3):
            X, y = problem(classes)
            quiet(build(name).fit, X, y).predict(X)


def watched(make, seen):
    """The kernel, or what makes one, noting the types that it is called with."""

    def kernel(*args):
        seen.add(tuple(map(typeof, args)))
        return make(*args)

    return kernel


@every_learner
@pytest.mark.parametrize("classes", [2, 3])
def test_other_parameters_need_no_compiler(name, classes, monkeypatch):
    """Neither here nor, by the types of the arguments, in a process that has not compiled much yet."""
    X, y = problem(classes)
    seen = set()
    for module, kind in KERNELS:
        make = getattr(passes, kind)
        monkeypatch.setattr(module, kind, lambda *kinds, make=make: watched(make(*kinds), seen))
    monkeypatch.setattr(inputs, "first_beyond", watched(inputs.first_beyond, seen))
    quiet(build(name, **({"x_max": 4.0} if "winnow" in name else {})).fit, X, y).predict(X)
    before, types = count(), set(seen)
    weights = {"class_weight": {0: 1, 1: 2 if name in WEIGHTED else 1}}
    for other in [*SHARED, weights] + OTHER.get(name, []) + ([] if name in OWN else [{"log": False}]):
        learner = build(name, **other)
        quiet(learner.fit, X, y).predict(X)
        learner.partial_fit(X[:5], y[:5])
        assert seen == types, other
    assert count() == before


def test_a_second_process_loads_all_it_needs(pytestconfig):
    """Every learner, two classes and three, each in two kernels; nothing is compiled again."""
    trained(ONLINE)
    child = [sys.executable, "-c", CHILD, *ONLINE]
    done = subprocess.run(child, cwd=pytestconfig.rootpath, capture_output=True, text=True, check=True)
    hits, misses = json.loads(done.stdout)
    assert misses == 0
    assert hits >= 2 * len(ONLINE)
