"""Models of shards that were mixed: saved and loaded, forged, merged."""

import numpy as np
import pytest

from linsep import LEARNERS, ModelError, Pegasos, Perceptron, load, save
from linsep.models import archive
from linsep.models.merge import merge
from linsep.training.mixing import MIXINGS
from tests.contracts.table import bits, build, problem, quiet, state, trace

MIXED = [name for name, entry in LEARNERS.items() if entry.online and not entry.no_mixing]
WAYS = {"binary": {}, "classes": {"classes": 3}, "pairs": {"classes": 3, "multi_class": "joint"}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.linsep"


def again(model, path):
    save(model, path)
    return load(path)


def told(learner):
    return trace(learner) | {of: bits(a) for of, a in vars(learner.mixes_).items()}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("way", WAYS)
def test_training_goes_on_as_in_one_run(name, way, path):
    how = {"shards": 4, "mixing": "mistakes", "shuffle": True, **WAYS[way]}
    X, y = problem(how.pop("classes", 2), reals=True, noise=0.3)
    first = quiet(build(name, max_iter=2, warm_start=True, **how).fit, X, y)
    before = state(first)
    second = again(first, path)
    assert state(first) == before == state(second)
    assert told(second) == told(first)
    quiet(second.fit, X, y)
    assert told(second) == told(quiet(build(name, max_iter=4, **how).fit, X, y))


@pytest.mark.parametrize("mixing", MIXINGS)
def test_the_weights_of_a_mix_are_kept_to_the_bit(mixing, path):
    X, y = problem(3, noise=0.3)
    first = quiet(build("perceptron", shards=7, mixing=mixing).fit, X, y)
    second = again(first, path)
    for of, array in vars(first.mixes_).items():
        other = getattr(second.mixes_, of)
        assert (other.dtype, other.shape, other.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert (second.shards, second.mixing) == (7, mixing)


def test_a_model_without_shards_has_no_mixes(path):
    X, y = problem()
    assert not hasattr(again(quiet(build("perceptron").fit, X, y), path), "mixes_")
    assert not any("mixed" in name for name in archive.read(path)[1])


def test_weights_that_are_mostly_zero(path):
    """Stored sparsely, and asked sparsely: the mixes are there all the same, and training goes on."""
    X, y = problem(n=40)
    wide = np.zeros((40, 6000))
    wide[:, [3, 900, 2000, 4000, 5000, 5999]] = X
    how = {"shards": 4, "warm_start": True, "shuffle": False, "max_iter": 2, "random_state": 0, "alpha": 0.1}
    for learner in (quiet(Pegasos(readout=r, log=True, **how).fit, wide, y) for r in ("last", "average")):
        second = again(learner, path)
        assert told(second) == told(learner)
        assert bits(second.sparsify().mixes_.weights) == bits(learner.mixes_.weights)
        third = again(second, path)
        quiet(learner.fit, wide, y)
        assert told(quiet(third.densify().fit, wide, y)) == told(learner)


def test_labels_that_come_after_a_mix(path):
    """What was written is read again, with as many columns as there are labels."""
    X, y = problem(4, n=60)
    learner = Perceptron(warm_start=True, random_state=0, max_iter=2).partial_fit(X, np.minimum(y, 1))
    quiet(learner.set_params(shards=3).fit, X, np.minimum(y, 1))
    assert bits(again(learner, path).mixes_.mistakes) == bits(learner.mixes_.mistakes)
    learner.set_params(shards=None).partial_fit(X, y)
    second = again(learner, path)
    assert bits(second.mixes_.mistakes) == bits(learner.mixes_.mistakes)
    assert told(quiet(second.set_params(shards=3).fit, X, y)) == told(quiet(learner.set_params(shards=3).fit, X, y))


def changed(array, place, value):
    other = array.copy()
    other[place] = value
    return other


# Of each array, what it might be instead: (array) -> array.
FORGED = {
    "numbers": {
        "floats": lambda a: a.astype(float),
        "short": lambda a: a[:-1],
        "empty": lambda a: a[:0],
        "narrow": lambda a: a[:, :3],
        "wide": lambda a: np.hstack([a, a]),
        "flat": lambda a: a.ravel(),
        "one number": lambda a: np.array(3),
        "negative": lambda a: changed(a, (2, 3), -1),
        "no first shard": lambda a: changed(a, (0, 1), 1),
        "int32": lambda a: a.astype(np.int32),
    },
    "mistakes": {
        "floats": lambda a: a.astype(float),
        "short": lambda a: a[:-1],
        "empty": lambda a: a[:0],
        "one column": lambda a: a[:, :1],
        "flat": lambda a: a.ravel(),
        "negative": lambda a: changed(a, (1, 0), -1),
        "bools": lambda a: a.astype(bool),
    },
    "shares": {
        "floats": lambda a: a / 3,
        "long": lambda a: np.vstack([a, a]),
        "one column": lambda a: a[:, :1],
        "negative": lambda a: changed(a, (1, 0), -1),
        "all 0": np.zeros_like,
        "a mix of 0": lambda a: changed(a, slice(0, 4), 0),
        "a class of 0": lambda a: changed(a, (slice(4, 8), 1), 0),
        "too many": lambda a: np.full_like(a, 1 << 62),
    },
}
CASES = [(of, case) for of, cases in FORGED.items() for case in cases]


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """What a file of a small mixed model holds: two mixes of four shards, three classes."""
    path = tmp_path_factory.mktemp("mixed") / "model.linsep"
    X, y = problem(3, noise=0.4)
    save(quiet(build("averaged-perceptron", shards=4, max_iter=2, mixing="mistakes").fit, X, y), path)
    return archive.read(path)


def forged(path, about, arrays):
    """Write a file whose sums are right, whatever it holds."""
    archive.write(path, {name: of for name, of in about.items() if name not in ("tensors", "format")}, arrays)
    return path


@pytest.mark.parametrize(("of", "case"), CASES)
def test_forged_mixes_are_refused(of, case, held, path):
    about, arrays = held
    name = f"model.mixed.{of}"
    other = {**arrays, name: FORGED[of][case](arrays[name])}
    with pytest.raises(ModelError, match="though its checksums match") as caught:
        load(forged(path, about, other))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("of", FORGED)
def test_mixes_with_a_part_missing_are_refused(of, held, path):
    about, arrays = held
    with pytest.raises(ModelError):
        load(forged(path, about, {name: a for name, a in arrays.items() if name != f"model.mixed.{of}"}))


def test_the_file_that_was_not_forged_is_read(held, path):
    about, arrays = held
    learner = load(forged(path, about, arrays))
    assert len(learner.mixes_) == 8
    assert {name for name in arrays if "mixed" in name} == {f"model.mixed.{of}" for of in FORGED}


# Numbers that are counts, and yet of no run.
IMPOSSIBLE = {
    "more mistakes than rows": ("mistakes", lambda a: changed(a, (1, 0), 1000)),
    "an epoch before the last": ("numbers", lambda a: changed(a, (slice(4, 8), 0), 0)),
    "shards out of order": ("numbers", lambda a: changed(a, (slice(1, 3), 1), [2, 1])),
    "rounds that are not there": ("numbers", lambda a: changed(a, (7, 3), 1 << 40)),
    "shares beyond all rounds": ("shares", lambda a: np.full_like(a, (1 << 62) + 5)),
    "shards of more rows than can be counted": ("numbers", lambda a: changed(a, (3, 3), (1 << 63) - 1)),
    "more mistakes than were made": ("mistakes", lambda a: a + 2),
    "shares of another mixing": ("shares", lambda a: a + np.arange(8)[:, None] * 100),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_mixes_of_no_run_are_refused(case, held, path):
    about, arrays = held
    of, change = IMPOSSIBLE[case]
    name = f"model.mixed.{of}"
    with pytest.raises(ModelError, match=r"its (mixes|shards) (are|made)|without shards"):
        load(forged(path, about, {**arrays, name: change(arrays[name])}))


def test_rounds_that_overlap_are_refused(held, path):
    """What belongs to which shard is told by its rounds: a certificate plays them again."""
    about, arrays = held
    for place, value in (((5, 2), 0), ((2, 3), 0), ((0, 2), 3)):
        other = changed(arrays["model.mixed.numbers"], place, value)
        with pytest.raises(ModelError, match="though its checksums match"):
            load(forged(path, about, {**arrays, "model.mixed.numbers": other}))


@pytest.mark.parametrize("epoch", [0, 5, 1 << 33])
def test_mixes_of_epochs_that_were_not_made_are_refused(held, path, epoch):
    """The certificate of a run has a place for each epoch."""
    about, arrays = held
    numbers = arrays["model.mixed.numbers"].copy()
    end = numbers[:, 0] == numbers[0 if epoch == 0 else -1, 0]
    numbers[end, 0] = epoch
    with pytest.raises(ModelError, match="its mixes are of epochs that it did not have"):
        load(forged(path, about, {**arrays, "model.mixed.numbers": numbers}))


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("way", WAYS)
def test_learners_that_were_mixed_are_merged(name, way, path):
    """Each has run on rows of its own; together they have no mixes, and can be mixed from there."""
    how = dict(WAYS[way])
    X, y = problem(how.pop("classes", 2), n=90, noise=0.3)
    y[[30, 31, 32, 60, 61, 62]] = y[[0, 1, 2, 0, 1, 2]]
    own = {"p": 3.0} if name == "p-norm-perceptron" else {}
    models = [
        quiet(
            build(name, shards=3, warm_start=True, intercept_scaling=1.0, **own, **how).fit,
            X[k : k + 30],
            y[k : k + 30],
        )
        for k in (0, 30, 60)
    ]
    before = [state(model) for model in models]
    merged = merge(models)
    assert [state(model) for model in models] == before
    assert not hasattr(merged, "mixes_")
    assert merged.t_ == sum(model.t_ for model in models)
    assert bits(merged.mistakes_) == bits(sum(model.mistakes_ for model in models))
    if name in ("perceptron", "averaged-perceptron", "passive-aggressive", "romma", "logistic-regression", "pegasos"):
        mean = np.average([m.coef_ for m in models], axis=0, weights=[m.t_ for m in models])
        np.testing.assert_allclose(merged.coef_, mean, rtol=1e-12, atol=1e-12)
    quiet(merged.fit, X, y)
    assert len(merged.mixes_) == 3 * merged.n_iter_
    assert bits(again(merged, path).coef_) == bits(merged.coef_)


def test_one_model_alone_keeps_its_mixes():
    X, y = problem()
    learner = quiet(build("perceptron", shards=3).fit, X, y)
    assert told(merge([learner])) == told(learner)
    assert not hasattr(merge([learner], weights=[2.0], how="sum"), "mixes_")
