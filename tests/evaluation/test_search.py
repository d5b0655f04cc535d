"""The table of values to try: every value suits every learner that has the parameter."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingRandomSearchCV, ParameterGrid, ParameterSampler
from sklearn.utils._param_validation import make_constraint

from linsep.estimators.registry import LEARNERS
from linsep.evaluation.search import BY_LEARNER, search_space


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_take_all_values(name):
    kind = LEARNERS[name].learner
    space = search_space(kind)
    assert not {"random_state", "n_jobs", "log"} & set(space)
    lists = all(isinstance(some, list) for some in space.values())
    for drawn in ParameterGrid(space) if lists else ParameterSampler(space, 40, random_state=0):
        for parameter, value in drawn.items():
            constraints = map(make_constraint, kind._parameter_constraints[parameter])
            assert any(of.is_satisfied_by(value) for of in constraints), (parameter, value)


def test_learners_of_the_table_exist():
    names = {entry.name for entry in LEARNERS.values()}
    assert set(BY_LEARNER) <= names
    for entry in LEARNERS.values():
        assert set(BY_LEARNER.get(entry.name, {})) <= set(entry.learner._get_param_names())


def test_searches_of_scikit_learn_take_it():
    X, y = load_iris(return_X_y=True)
    learner = LEARNERS["passive-aggressive"].make(random_state=0)
    fixed = {"max_iter": [10], "multi_class": ["auto"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = HalvingRandomSearchCV(learner, search_space(learner) | fixed, n_candidates=6, cv=3, random_state=0)
        search.fit(X, y)
    assert search.best_score_ > 0.7
    assert np.isfinite(search.best_params_["C"])
