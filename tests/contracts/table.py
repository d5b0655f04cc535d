"""The rows of the table of learners as the contracts need them: built alike, trained, compared to the last bit."""

import copy
import pickle
import warnings
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import joblib
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from linsep import LEARNERS
from linsep.engine.step import steps_by_one, takes_weights
from linsep.training import scoring
from linsep.training import state as training
from linsep.training.history import Support
from linsep.training.transaction import PREPARED

KERNELS = [
    (training, "learn_rows"),
    (training, "learn_classes"),
    (training, "learn_pairs"),
    (scoring, "score_rows"),
    (scoring, "score_classes"),
]
"""The compiled passes, and the modules that call them."""
ONLINE = {name: entry for name, entry in LEARNERS.items() if entry.online and not entry.small}
"""The rows of the table that go row by row and have weights; the others have contracts of their own."""
OWN = {"voted-perceptron": {"readout": "average"}}
"""What lets a learner answer with weights; for its other readouts see tests/estimators/test_voted.py and its like."""
REMEMBERED = ("_scorer", "_checked", "_hypotheses", "_written", "_committed", "table")
"""What parts of a learner have at hand to answer faster, and make again when needed."""
every_learner = pytest.mark.parametrize("name", ONLINE)


def is_weighted(learner):
    """Whether a row's weight may multiply a step of the learner."""
    return takes_weights(type(learner._parts(1, 1).rule))


WEIGHTED = [name for name, entry in ONLINE.items() if is_weighted(entry.make())]
"""The learners whose steps a row's weight multiplies; the others take the weights 0 and 1 only."""
weighted_learner = pytest.mark.parametrize("name", WEIGHTED)
unweighted_learner = pytest.mark.parametrize("name", sorted(set(ONLINE) - set(WEIGHTED)))


def build(name, **more):
    """A learner of the table without a limit on entries, walking the rows in order, with a full log."""
    kind = LEARNERS[name].learner
    free = {"x_max": None} if "x_max" in kind().get_params() else {}
    own = LEARNERS[name].row_by_row | free | OWN.get(name, {})
    return kind(**{"shuffle": False, "random_state": 0, "log": True, "max_iter": 3, "multi_class": "ovr"} | own | more)


def quiet(train, *args, **more):
    """Train; a run that max_iter ends compares as well as any other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return train(*args, **more)


def problem(classes=2, reals=False, n=40, p=6, noise=0.1, seed=0):
    """Rows with many zeros, small integers or reals, and labels that a linear rule explains but for some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) if reals else rng.integers(-3, 4, (n, p)).astype(float)
    X[rng.random((n, p)) < 0.3] = 0
    y = np.argmax(X @ rng.integers(-2, 3, (p, classes)), axis=1)
    wrong = rng.random(n) < noise
    y[wrong] = rng.integers(0, classes, wrong.sum())
    y[:classes] = range(classes)
    return X, y


@contextmanager
def named(case):
    """Name the case of a table in the message of a failure."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"The case: {case}.")
        raise


def mapped(learner):
    """A learner whose arrays are read-only memory maps."""
    with TemporaryDirectory() as folder:
        joblib.dump(learner, Path(folder, "learner"))
        return joblib.load(Path(folder, "learner"), mmap_mode="r")


CARRY = {"pickle": lambda a: pickle.loads(pickle.dumps(a)), "deepcopy": copy.deepcopy, "memory map": mapped}
every_carry = pytest.mark.parametrize("carry", CARRY.values(), ids=CARRY)


def is_exact(learner):
    """Whether a trained learner's sums are integers on integer data: its rule only asks for the score's sign."""
    return steps_by_one(type(learner._state.rule))


def bits(a):
    """An array as numbers that tell every bit, and read well where they differ."""
    return [float(v).hex() for v in np.ravel(a)] if np.asarray(a).dtype.kind == "f" else np.ravel(a).tolist()


def answers(learner):
    """The weights that answer and the counts, to the last bit."""
    names = ("classes_", "coef_", "intercept_", "mistakes_", "updates_", "skipped_", "t_")
    return {name: bits(getattr(learner, name)) for name in names}


def log(learner):
    """The log, to the last bit."""
    return {name: None if a is None else bits(a) for name, a in vars(learner.log_).items()}


def trace(learner):
    """All that a run leaves for its user."""
    return answers(learner) | log(learner)


def state(learner):
    """All that the learner is, as bytes, but for what is only remembered to answer faster."""
    return {name: _bytes(value) for name, value in vars(learner).items() if name not in PREPARED}


def _bytes(value):
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes() if value.dtype != object else value.tolist())
    if hasattr(value, "filled"):
        return [_bytes(a[: value.filled[0]]) for a in value[:-1]]
    if isinstance(value, Support):
        return [_bytes(value.rows()), _bytes(value.known)]  # there may be room for more, which means nothing
    if isinstance(value, (tuple, list)):
        return [_bytes(part) for part in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: _bytes(part) for name, part in vars(value).items() if name not in REMEMBERED}
    return repr(value)


def close(actual, expected, tolerance=1e-12):
    """The same weights to `tolerance` of the largest, and the same mistakes."""
    for name in ("coef_", "intercept_"):
        a, b = getattr(actual, name), getattr(expected, name)
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1e-300, np.abs(expected.coef_).max()))
    assert bits(actual.mistakes_) == bits(expected.mistakes_)
    assert bits(actual.updates_) == bits(expected.updates_)


def agree(actual, expected):
    """The same bits where sums are exact, 1e-12 elsewhere; for training on integers."""
    if is_exact(expected):
        assert answers(actual) == answers(expected)
    close(actual, expected)
