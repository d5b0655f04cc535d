"""Models merged: against plain sums over the rows that each has added, and against averages of their weights."""

import pickle
import re
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import linsep
from linsep import AveragedPerceptron, LogisticRegression, OnlineClassifier, Pegasos, Perceptron, Winnow, rules
from linsep.models.merge import merge
from linsep.rules import Perceptron as Rule
from linsep.transforms import Scale
from linsep.validation.errors import InvalidDataError, ParameterError
from tests.contracts import table
from tests.contracts.table import ONLINE, answers, is_exact, problem, quiet, state
from tests.fits import replay, weights

build = partial(table.build, intercept_scaling=1.0)
"""Learners whose bias features agree, whatever the first rows of their shards."""

BY_SIGN = ["perceptron", "averaged-perceptron", "winnow", "balanced-winnow", "p-norm-perceptron"]
MERGED = [name for name, entry in ONLINE.items() if not entry.no_mixing]
every_merged = pytest.mark.parametrize("name", MERGED)
both_ways = pytest.mark.parametrize("how", ["average", "sum"])
machines = pytest.mark.parametrize(("classes", "multi_class"), [(2, "ovr"), (2, "joint"), (3, "ovr"), (3, "joint")])


def shards(classes=2, reals=False, sizes=(40, 25, 13)):
    """Rows and labels of several shards, of one problem."""
    X, y = problem(classes, reals, n=sum(sizes), seed=3)
    cuts = np.cumsum(sizes)[:-1]
    return list(zip(np.split(X, cuts), np.split(y, cuts), strict=True))


def trained(name, classes=2, multi_class="ovr", reals=False, **more):
    """One learner for each shard, all with the same classes."""
    power = {"p": 5.0} if name == "p-norm-perceptron" else {}
    return [
        build(name, multi_class=multi_class, **power, **more).partial_fit(X, y, classes=range(classes))
        for X, y in shards(classes, reals)
    ]


def sums(learner, X, y):
    """The sum of y x over the logged updates of a binary learner, the bias feature's last."""
    rows = learner.log_.rows
    return (2.0 * y[rows] - 1.0) @ np.column_stack([X, np.ones(len(X))])[rows]


def of_link(name, s):
    """The weights that belong to sums s, by the textbook."""
    if name == "winnow":
        e, b = np.exp(0.5 * s[:-1]), np.exp(0.5 * s[-1])
        return np.append(e, b - 1 / b) / (e.sum() + b + 1 / b)
    if name == "balanced-winnow":
        return (np.exp(0.5 * s) - np.exp(-0.5 * s)) / (np.exp(0.5 * s) + np.exp(-0.5 * s)).sum()
    if name == "p-norm-perceptron":
        return np.sign(s) * np.abs(s) ** 4 / np.linalg.norm(s, 5) ** 3
    return s


@both_ways
@pytest.mark.parametrize("name", [name for name in BY_SIGN if name != "averaged-perceptron"])
def test_what_is_merged_are_the_rows_that_were_added(name, how):
    models = trained(name)
    parts = [sums(m, X, y) for m, (X, y) in zip(models, shards(), strict=True)]
    counts = [m.t_ for m in models]
    s = np.sum(parts, axis=0) if how == "sum" else np.average(parts, axis=0, weights=counts)
    np.testing.assert_allclose(weights(merge(models, how=how)), of_link(name, s), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["averaged-perceptron", "pegasos", "logistic-regression", "passive-aggressive"])
def test_an_average_over_rounds_is_that_over_the_rounds_of_all(name):
    """The naive mean of the weights before each round of each shard."""
    own = {"readout": "average"} if name != "averaged-perceptron" else {}
    models = [
        quiet(build(name, fit_intercept=False, max_iter=2, **own).fit, X, y) for X, y in shards(sizes=(30, 20, 11))
    ]
    before = [
        w
        for m, (X, y) in zip(models, shards(sizes=(30, 20, 11)), strict=True)
        for w, x, _ in replay(m, X, 2 * y - 1)
        if x is not None
    ]
    assert len(before) == sum(m.t_ for m in models)
    merged = merge(models)
    np.testing.assert_allclose(merged.coef_[0], np.mean(before, axis=0), rtol=1e-11, atol=1e-13)


@every_merged
@machines
@pytest.mark.parametrize("share", [None, [3.0, 0.0, 1.5]])
def test_an_average_is_the_average_of_the_answers(name, classes, multi_class, share):
    """For weights that are not images of sums, whatever the readout; by rounds unless told."""
    models = trained(name, classes, multi_class, reals=True)
    merged = merge(models, weights=share)
    share = [m.t_ for m in models] if share is None else share
    if name in ("winnow", "balanced-winnow"):
        mean = np.average([m.exponents_ for m in models], axis=0, weights=share)
        np.testing.assert_allclose(merged.exponents_, mean, rtol=1e-12, atol=1e-14)
    elif name != "p-norm-perceptron":
        for what in ("coef_", "intercept_"):
            mean = np.average([getattr(m, what) for m in models], axis=0, weights=share)
            np.testing.assert_allclose(getattr(merged, what), mean, rtol=1e-12, atol=1e-14)
    scores = merged.decision_function(shards(classes, reals=True)[0][0])
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", BY_SIGN)
@machines
def test_a_sum_is_the_sum(name, classes, multi_class):
    models = trained(name, classes, multi_class)
    merged = merge(models, how="sum")
    if name in ("winnow", "balanced-winnow"):
        assert np.array_equal(merged.exponents_, sum(m.exponents_ for m in models))
    elif name == "perceptron":
        assert np.array_equal(merged.coef_, sum(m.coef_ for m in models))
        assert np.array_equal(merged.intercept_, sum(m.intercept_ for m in models))
    elif name == "averaged-perceptron":
        np.testing.assert_allclose(merged.coef_, sum(m.coef_ for m in models), rtol=1e-12, atol=1e-14)
    twice = merge(models[:1], how="sum", weights=[2.0])
    s = 2 * models[0]._state.link.s
    assert np.array_equal(twice._state.link.s, s)


@pytest.mark.parametrize("name", sorted(set(MERGED) - set(BY_SIGN)))
def test_scores_with_a_unit_are_not_summed(name):
    with pytest.raises(ParameterError, match=r"not summed: the rule .* reads the value of scores"):
        merge(trained(name), how="sum")


@pytest.mark.parametrize("name", sorted(set(ONLINE) - set(BY_SIGN)))
def test_the_sum_of_one_model_has_its_state(name):
    [model, *_] = trained(name)
    assert state(merge([model], how="sum")) == state(model)


@pytest.mark.parametrize(
    ("name", "how"), [*((name, "average") for name in ONLINE), *((name, "sum") for name in BY_SIGN)]
)
def test_one_model_is_itself_in_a_copy(name, how):
    [model, *_] = trained(name)
    twin = merge([model], how=how)
    assert state(twin) == state(model)
    X, y = shards()[1]
    twin.partial_fit(X, y)
    assert state(twin) != state(model)
    assert answers(twin) == answers(model.partial_fit(X, y))


@every_merged
@machines
def test_the_order_and_the_way_there_do_not_matter(name, classes, multi_class):
    """Averages by rounds of averages by rounds are averages by rounds."""
    a, b, c = trained(name, classes, multi_class, reals=True)
    X = shards(classes, reals=True)[0][0]
    once = merge([a, b, c]).decision_function(X)
    size = 1e-11 * np.abs(once).max()
    for other in (merge([c, b, a]), merge([merge([a, b]), c]), merge(m for m in (b, c, a))):
        np.testing.assert_allclose(other.decision_function(X), once, rtol=1e-9, atol=size)


@every_merged
@machines
def test_counts_add_up_and_there_is_no_log(name, classes, multi_class):
    models = trained(name, classes, multi_class)
    before = [state(m) for m in models]
    merged = merge(models)
    for what in ("mistakes_", "updates_", "skipped_", "t_"):
        assert np.array_equal(getattr(merged, what), sum(np.asarray(getattr(m, what)) for m in models))
    with pytest.raises(AttributeError, match="no log was kept: 3 models were merged"):
        _ = merged.log_
    assert merged.get_params() == models[0].get_params()
    assert [state(m) for m in models] == before


@every_merged
@machines
def test_training_goes_on(name, classes, multi_class):
    """Rows, batches and single ones: a carried copy goes the same way, and the answers are those of scoring."""
    models = trained(name, classes, multi_class)
    merged = merge(models)
    X, y = shards(classes)[0]
    assert [merged.predict_one(x) for x in X] == merged.predict(X).tolist()
    twin = pickle.loads(pickle.dumps(merged))
    rounds = merged.t_
    merged.partial_fit(X, y)
    for x, label in zip(X, y, strict=True):
        twin.learn_one(x, label)
    assert merged.t_ == twin.t_ == rounds + len(X)
    if is_exact(merged):
        assert answers(merged) == answers(twin)
    np.testing.assert_allclose(merged.coef_, twin.coef_, rtol=1e-10, atol=1e-12)
    more = shards(classes)[1]
    assert np.isfinite(merged.partial_fit(*more).coef_).all()
    quiet(merge(models).set_params(warm_start=True, max_iter=2).fit, *more)


@machines
def test_errors_add_up_where_all_are_known(classes, multi_class):
    models = trained("perceptron", classes, multi_class)
    assert merge(models).errors_ == sum(m.errors_ for m in models)
    unknown = trained("perceptron", classes, multi_class)[0]
    unknown._state.tally.errors[:] = -1  # as of a file that was written when threads counted no errors
    if classes == 3 and multi_class == "ovr":
        with pytest.raises(AttributeError, match="errors_ was not counted"):
            _ = merge([*models, unknown]).errors_
    else:
        assert merge([*models, unknown]).errors_ == sum(m.errors_ for m in [*models, unknown])


@pytest.mark.parametrize("name", ["romma", "logistic-regression", "pegasos"])
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_the_kept_norm_is_that_of_the_weights(name, multi_class):
    merged = merge(trained(name, 3, multi_class, reals=True))
    link = merged._state.link
    squares = np.sum((link.s * link.scale) ** 2, axis=0)
    np.testing.assert_allclose(link.norm2, [squares.sum(), 0, 0] if multi_class == "joint" else squares, rtol=1e-12)


LABELS = np.array(["a", "bb", "ccc", "dddd"])


def with_some_labels(name, multi_class, **more):
    """Learners that have met two labels, the two others, and three."""
    X, y = problem(4, n=60)
    learners = [build(name, multi_class=multi_class) for _ in range(3)]
    cuts = (y < 2, y >= 2, y > 0)
    return [m.partial_fit(X[c], LABELS[y[c]], **more) for m, c in zip(learners, cuts, strict=True)]


@pytest.mark.parametrize("name", ["perceptron", "balanced-winnow", "averaged-perceptron", "passive-aggressive"])
def test_labels_that_arrive_are_united(name):
    """A shard that never saw a label counts as one that was told of it beforehand."""
    merged, known = merge(with_some_labels(name, "ovr")), merge(with_some_labels(name, "ovr", classes=LABELS))
    assert merged.classes_.tolist() == LABELS.tolist()
    np.testing.assert_allclose(merged.coef_, known.coef_, rtol=1e-12, atol=1e-14)
    assert np.array_equal(merged.mistakes_, known.mistakes_)
    merged.partial_fit(np.eye(6)[:2], ["e", "a"])
    assert merged.classes_.tolist() == [*LABELS.tolist(), "e"]


def test_a_label_without_a_row_has_no_weight_among_pairs():
    models = with_some_labels("perceptron", "joint")
    total = np.zeros((4, 6))
    for model, known in zip(models, ([0, 1], [2, 3], [1, 2, 3]), strict=True):
        total[known] += model._state.link.s[:-1].T
    assert np.array_equal(merge(models, how="sum").coef_, total)


def test_names_are_kept():
    rows = [{"a": 1.0}, {"b": 2.0}, {"a": -1.0, "b": 1.0}]
    models = [Perceptron() for _ in range(2)]
    for model in models:
        for x, y in zip(rows, ["no", "yes", "no"], strict=True):
            model.learn_one(x, y)
    merged = merge(models, how="sum")
    assert merged.feature_names_in_.tolist() == ["a", "b"]
    merged.learn_one({"c": 1.0}, "yes")
    assert merged.n_features_in_ == 3
    assert models[0].n_features_in_ == 2


X, y = problem()
fitted = Perceptron(shuffle=False, max_iter=1)
REFUSED = {
    "no model": (list, ParameterError, "no model"),
    "a pipeline": (lambda: [make_pipeline(Scale(), Perceptron())], TypeError, "Pipeline.*last steps"),
    "something else": (lambda: [quiet(fitted.fit, X, y), 7], TypeError, r"models\[1\] is of type int"),
    "not fitted": (lambda: [quiet(fitted.fit, X, y), Perceptron()], NotFittedError, "not been fitted"),
    "another learner": (lambda: [fitted, quiet(Pegasos().fit, X, y)], ParameterError, r"models\[1\] is Pegasos"),
    "fewer features": (lambda: [fitted, quiet(Perceptron().fit, X[:, :4], y)], ParameterError, "features 4.* has 6"),
    "another bias": (
        lambda: [fitted, quiet(Perceptron(fit_intercept=False).fit, X, y)], ParameterError, "bias feature",
    ),
    "another form": (
        lambda: [fitted, Perceptron(multi_class="joint").partial_fit(X, y, classes=[0, 1])],
        ParameterError, "joint.*ovr",
    ),
    "another rate": (
        lambda: [Winnow(eta=e, x_max=None).partial_fit(X, y, classes=[0, 1]) for e in (0.5, 0.25)],
        ParameterError, r"rate or power is 0.25, models\[0\] has 0.5",
    ),
    "another parameter": (
        lambda: [Pegasos(alpha=a).partial_fit(X, y, classes=[0, 1]) for a in (0.5, 0.25)],
        ParameterError, r"parameter alpha = 0.25, models\[0\] has 0.5",
    ),
    "another readout": (
        lambda: [LogisticRegression(readout=r).partial_fit(X, y, classes=[0, 1]) for r in ("last", "average")],
        ParameterError, "readout average",
    ),
    "another rule": (
        lambda: [OnlineClassifier(r).partial_fit(X, y, classes=[0, 1]) for r in (Rule(), rules.PassiveAggressive())],
        ParameterError, "parameter rule = PassiveAggressive",
    ),
    "a rate set later": (
        lambda: [w := Winnow(x_max=None).partial_fit(X, y, classes=[0, 1]), merge([w]).set_params(eta=3.0)],
        ParameterError, "parameter eta = 3.0",
    ),
    "labels fixed and not": (lambda: [fitted, Perceptron().partial_fit(X, y)], ParameterError, "labels that arrive"),
    "other classes": (lambda: [fitted, quiet(Perceptron().fit, X, y + 1)], ParameterError, r"classes \[1, 2\]"),
    "labels of another type": (
        lambda: [Perceptron().partial_fit(X, labels) for labels in (y, y.astype(str))],
        InvalidDataError, "another type",
    ),
    "names in one": (
        lambda: [Perceptron().learn_one({"a": 1.0}, 0), Perceptron().partial_fit([[1.0]], [0])],
        ParameterError, r"only models\[0\] has feature names",
    ),
    "other names": (
        lambda: [Perceptron().learn_one({"a": 1.0, b: 1.0}, 0) for b in "bc"],
        ParameterError, "feature 'c' where .* 'b'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_models_that_can_not_be_merged_are_refused_by_name(case):
    models, error, reason = REFUSED[case]
    quiet(fitted.fit, X, y)
    with pytest.raises(error, match=reason):
        merge(models())


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"how": "vote"}, "how='vote'"),
        ({"weights": [1.0]}, "1 weights for 2 models"),
        ({"weights": [1.0, -1.0]}, r"weights\[1\]=-1.0"),
        ({"weights": [np.nan, 1.0]}, r"weights\[0\]=nan"),
        ({"weights": [np.inf, 1.0]}, r"weights\[0\]=inf"),
        ({"weights": [0, 0]}, "all weights are 0"),
    ],
)
def test_bad_arguments_are_refused(more, reason):
    model = quiet(fitted.fit, X, y)
    with pytest.raises(ParameterError, match=re.compile(reason)):
        merge([model, model], **more)


def test_sums_beyond_float64_are_refused():
    model = quiet(fitted.fit, X * 1e150, y)
    with pytest.raises(ParameterError, match="too large for float64"):
        merge([model, model], how="sum", weights=[1e200, 1e200])


def test_zero_rounds_count_alike():
    """Rows of class weight 0 make no round."""
    models = [Perceptron(class_weight={0: 0.0, 1: 0.0}).partial_fit(X, y, classes=[0, 1]) for _ in range(2)]
    merged = merge(models)
    assert merged.t_ == 0
    assert not merged.coef_.any()


def test_sample_weights_count_in_an_average_over_rounds():
    share = np.linspace(0.5, 3.0, len(X))
    a = AveragedPerceptron().partial_fit(X, y, classes=[0, 1], sample_weight=share)
    b = AveragedPerceptron().partial_fit(csr_array(X[::-1]), y[::-1], classes=[0, 1])
    mean = np.average([a.coef_, b.coef_], axis=0, weights=[share.sum(), len(X)])
    np.testing.assert_allclose(merge([a, b]).coef_, mean, rtol=1e-12)


def test_how_data_were_read_is_carried_where_all_agree(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n0 2:1\n1 4:1\n")
    (tmp_path / "b.svm").write_text("1 1:1 2:3\n0 2:1\n1 4:1\n")
    (tmp_path / "c.svm").write_text("1 1:1 2:3\n0 3:1\n1 4:1\n")
    models = []
    for name in "abc":
        data = linsep.read(tmp_path / f"{name}.svm", zero_based=False)
        linsep.save(quiet(build("perceptron").fit, data.X, data.y), tmp_path / name, data=data)
        models.append(linsep.load(tmp_path / name))
    first, same, other = models
    (tmp_path / "new.svm").write_text("1 1:1 3:5 4:2\n")
    assert linsep.read(tmp_path / "new.svm", like=merge([first, same])).X.toarray().tolist() == [[1, 0, 0, 2]]
    assert not hasattr(merge([first, other]), "form_")
    del same.form_
    assert not hasattr(merge([first, same]), "form_")
    assert not hasattr(merge([same, first]), "form_")
