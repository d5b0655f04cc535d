"""Files of calibrated learners: the same to the bit, going on as one run, and refused where a map is none."""

import json

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import linsep
from linsep import AveragedPerceptron, ModelError, Perceptron, load, save
from linsep.cli.pages.evaluation import scores_by_probabilities
from linsep.estimators.calibration import METHODS, CalibratedClassifier
from linsep.evaluation.scoring import predictions
from linsep.models import archive
from linsep.models.pipelines import learner_of
from linsep.transforms import Scale
from linsep.validation.labels import margins_of, predicted_labels
from tests.contracts.table import bits, build, every_learner, problem, quiet
from tests.models.test_forged import ARRAYS, VALUES, changed, forged, leaves, use

every_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.linsep"


def again(model, path):
    save(model, path)
    return load(path)


def same(one, other, X):
    """Whether two models answer alike to the bit, and by the same maps."""
    assert bits(one.predict_proba(X)) == bits(other.predict_proba(X))
    assert bits(one.decision_function(X)) == bits(other.decision_function(X))
    assert one.predict(X).tolist() == other.predict(X).tolist()
    pairs = zip(one.calibration_, other.calibration_, strict=True)
    return all(type(a) is type(b) and all(bits(c) == bits(d) for c, d in zip(a, b, strict=True)) for a, b in pairs)


@pytest.mark.slow
@every_method
@pytest.mark.parametrize("on", ["held-out", "progressive", "prefit"])
@pytest.mark.parametrize("classes", [2, 3])
def test_what_is_saved_is_what_is_loaded(method, on, classes, path):
    X, y = problem(classes, n=60, noise=0.3)
    labels = np.array(["a", "b", "c"])[y]
    learner = Perceptron(random_state=1)
    learner = quiet(learner.fit, X, labels) if on == "prefit" else learner
    model = quiet(CalibratedClassifier(learner, method=method, on=on, cv=3, window=40).fit, X, labels)
    other = again(model, path)
    assert same(model, other, X)
    told, mine = other.get_params(), model.get_params()
    assert {name: told[name] for name in told if name != "estimator"} == {
        of: mine[of] for of in mine if of != "estimator"
    }
    assert [bits(part) for part in other._recent] == [bits(part) for part in model._recent]
    for each in (model, other):
        quiet(each.partial_fit, X, labels)
    assert same(model, other, X)
    for each in (model, other):
        quiet(each.fit, X, labels)
    assert same(model, other, X)


@pytest.mark.slow
@every_learner
@every_method
def test_a_stream_goes_on_as_in_one_run(name, method, path):
    X, y = problem(3, n=60)
    y[:30] = np.minimum(y[:30], 1)  # a label comes late
    first = CalibratedClassifier(build(name), method=method, window=25).partial_fit(X[:40], y[:40])
    second = again(first, path)
    for model in (first, second):
        model.partial_fit(X[40:], y[40:])
    assert same(first, second, X)
    at_once = CalibratedClassifier(build(name), method=method, window=25)
    at_once.partial_fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    assert same(at_once, second, X)


def test_scores_that_are_not_known_yet_are_kept(path):
    X, y = problem(4, n=60)
    y[:40] = np.minimum(y[:40], 2)
    model = CalibratedClassifier(Perceptron()).partial_fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    assert np.isnan(model._recent.scores).any()
    assert same(model, again(model, path), X)


def test_one_label_and_no_map_yet(path):
    model = CalibratedClassifier(Perceptron()).partial_fit([[1.0], [2.0]], ["a", "a"])
    other = again(model, path)
    for each in (model, other):
        each.partial_fit([[-1.0], [3.0]], ["b", "a"])
    assert same(model, other, [[1.0], [-1.0]])


def test_the_learner_that_was_given_is_stored_untrained(path):
    X, y = problem(n=60)
    model = quiet(CalibratedClassifier(Perceptron(random_state=np.random.RandomState(5))).fit, X, y)
    other = again(model, path)
    assert not hasattr(other.estimator, "coef_")
    assert other.estimator.random_state.randint(1 << 30) == np.random.RandomState(5).randint(1 << 30)


@every_method
def test_pipelines_end_in_one(method, path):
    X, y = problem(3, n=60)
    model = quiet(
        make_pipeline(Scale(), CalibratedClassifier(AveragedPerceptron(random_state=0), method=method)).fit, X, y
    )
    other = again(model, path)
    assert bits(other.predict_proba(X)) == bits(model.predict_proba(X))
    assert learner_of(other) is other.steps[-1][1].estimator_
    assert isinstance(learner_of(other), AveragedPerceptron)


def test_how_data_were_read_is_kept_until_others_are_learned(path, tmp_path):
    (tmp_path / "rows.svm").write_text("".join(f"{k % 2} 1:{k % 3} 3:{k % 5}\n" for k in range(40)))
    rows = linsep.read(tmp_path / "rows.svm", zero_based=False)
    model = quiet(CalibratedClassifier(Perceptron(random_state=0)).fit, rows.X, rows.y)
    save(model, path, data=rows)
    other = load(path)
    assert linsep.read(tmp_path / "rows.svm", like=other).X.shape == rows.X.shape
    quiet(other.fit, rows.X, rows.y)
    assert not hasattr(other, "form_")


def test_what_can_not_be_saved_is_told(path):
    X, y = problem(n=60)
    model = CalibratedClassifier(LinearSVC(), cv=2).fit(X, y)
    with pytest.raises(ValueError, match="LinearSVC is none of these"):
        save(model, path)
    inner = CalibratedClassifier(Perceptron(random_state=0), on="progressive")
    with pytest.raises(ValueError, match="CalibratedClassifier is none of these"):
        save(quiet(CalibratedClassifier(inner, cv=2).fit, X, y), path)
    with pytest.raises(ValueError, match="Pipeline is none of these"):
        save(quiet(CalibratedClassifier(make_pipeline(Scale(), Perceptron()), cv=2).fit, X, y), path)
    with pytest.raises(ValueError, match="not been fitted"):
        save(clone(model), path)


X, Y = problem(3, n=40, p=3)


@pytest.fixture(scope="module", params=METHODS)
def held(request, tmp_path_factory):
    """What the file of a small model holds, and a path to forge one at."""
    path = tmp_path_factory.mktemp("forged") / "model.linsep"
    save(CalibratedClassifier(build("perceptron"), method=request.param, window=20).partial_fit(X, Y), path)
    return path, *archive.read(path)


@pytest.mark.slow
def test_anything_else_is_refused_or_harmless(held):
    path, about, arrays = held
    assert use(forged(path, about, arrays))
    told = {name: of for name, of in about["model"]["calibrated"].items() if name not in ("learner", "template")}
    for k, way in enumerate([*leaves(told), ("learner",), ("template",)]):
        way = ("model", "calibrated", *way)
        for value in VALUES[k % 3 :: 3]:
            use(forged(path, changed(about, way, value), arrays))
    for name in (name for name in arrays if ".calibration." in name):
        for change in ARRAYS.values():
            with np.errstate(all="ignore"):
                use(forged(path, about, {**arrays, name: change(arrays[name])}))


def at(place, value):
    """A change of one number of an array."""

    def other(array):
        array = array.copy()
        array[place] = value
        return array

    return other


WRONG = {
    "platt": [
        ("platt", at((0, 0), np.nan), "not finite"), ("platt", at((2, 1), np.inf), "not finite"),
        ("platt", at((1, 2), -1.0), "lacks its fit"), ("platt", at((1, 2), np.nan), "lacks its fit"),
        ("platt", at((1, 3), 0.5), "lacks its fit"), ("platt", at((1, 3), np.inf), "lacks its fit"),
        ("platt", at((1, 4), 2.0), "lacks its fit"), ("platt", lambda a: a[:2], r"float64\[2, 5\]"),
        ("recent.scores", at((3, 1), np.inf), "not finite"), ("recent.scores", lambda a: a[:, :2], "recent.scores"),
        ("recent.scores", lambda a: a[:, 0], "recent.scores"), ("recent.codes", lambda a: a[1:], "recent.codes"),
        ("recent.codes", at(0, 3), "an unknown class"), ("recent.codes", at(0, -1), "an unknown class"),
        ("recent.weights", at(2, 0.0), "weight"), ("recent.weights", at(2, np.nan), "weight"),
        ("recent.weights", at(2, np.inf), "weight"), ("recent.weights", lambda a: a.astype(np.float32), "float32"),
    ],
    "isotonic": [
        ("x", at(0, np.nan), "not in order"), ("x", at(1, -np.inf), "not in order"), ("x", at(1, 1e9), "not in order"),
        ("y", at(0, -0.1), "none, or fall"), ("y", at(-1, 1.1), "none, or fall"), ("y", at(0, np.nan), "none, or fall"),
        ("y", at(0, 1.0), "none, or fall"), ("y", lambda a: a[1:], r"calibration\.y"),
        ("x", lambda a: a[1:], "corners"), ("corners", at(0, 0), "corners"), ("corners", at(0, 1 << 62), "corners"),
        ("corners", lambda a: a[:2], "corners"), ("corners", lambda a: -a, "corners"),
    ],
}  # fmt: skip


def test_maps_that_are_none_are_refused(held):
    path, about, arrays = held
    for name, change, why in WRONG[about["model"]["calibrated"]["maps"]]:
        name = f"model.calibration.{name}"
        with pytest.raises(ModelError, match=f"though its checksums match: .*{why}"):
            load(forged(path, about, {**arrays, name: change(arrays[name])}))


def test_descriptions_that_are_none_are_refused(held):
    path, about, arrays = held
    inside = ("model", "calibrated")
    wrong = [
        (("rows",), -1, "count"), (("rows",), True, "count"), (("maps",), "sigmoid", "does not exist"),
        (("parameters", "cv"), 1, "InvalidParameterError"), (("parameters", "estimator"), 3, "TypeError"),
        (("parameters", "depth"), 3, "no parameter"), (("template", "learner"), "tree", "no learner"),
        (("template", "parameters", "max_iter"), 0, "InvalidParameterError"),
        (("learner",), about["model"], "calibrated twice"),
    ]  # fmt: skip
    for way, value, why in wrong:
        with pytest.raises(ModelError, match=f"though its checksums match: .*{why}"):
            load(forged(path, changed(about, (*inside, *way), value), arrays))


@every_method
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
@pytest.mark.parametrize("K", [2, 3])
def test_json_carries_the_calibration(K, multi_class, method, tmp_path):
    X, y = problem(K)
    clf = CalibratedClassifier(AveragedPerceptron(random_state=0, multi_class=multi_class), method=method, cv=3)
    quiet(clf.fit, X, y)
    linsep.export_json(clf, tmp_path / "m.json")
    told = json.loads((tmp_path / "m.json").read_text())
    scores = np.array([
        [of["bias"] + sum(w * x[int(name[1:])] for name, w in of["weights"].items()) for of in told["weights"]]
        for x in X
    ])  # fmt: skip
    if told["calibration"]["relative"]:
        scores = np.stack([s - np.max(np.delete(scores, k, axis=1), axis=1) for k, s in enumerate(scores.T)], axis=1)
    assert told["calibration"]["method"] == method
    parts = []
    for of, column in zip(told["calibration"]["maps"], scores.T, strict=True):
        sigmoid = "slope" in of
        parts.append(expit(of["slope"] * column + of["offset"]) if sigmoid else np.interp(column, of["x"], of["y"]))
    found = np.stack(parts if K > 2 else [1 - parts[0], parts[0]], axis=1)
    np.testing.assert_allclose(found / found.sum(axis=1, keepdims=True), clf.predict_proba(X), atol=1e-9)
    for piped in (clf, make_pipeline(Scale().fit(X), clf)):
        with pytest.raises(TypeError, match=r"no place for the calibration.*use export_json"):
            linsep.export_csv(piped, tmp_path / "m.csv")
    assert not (tmp_path / "m.csv").exists()
    linsep.export_csv(clf.estimator_, tmp_path / "m.csv")


@every_method
@pytest.mark.parametrize("K", [2, 3])
def test_margins_of_a_page_agree_with_the_predictions(K, method):
    X, y = problem(K, n=300)
    y = np.where(np.random.default_rng(0).random(300) < 0.3, np.roll(y, 1), y)
    clf = quiet(CalibratedClassifier(Perceptron(random_state=0), method=method, cv=3).fit, X, y)
    found = predictions(clf, X)
    scores = scores_by_probabilities(found, clf.classes_)
    assert predicted_labels(scores, clf.classes_).tolist() == clf.predict(X).tolist() == found.labels.tolist()
    margins = margins_of(np.searchsorted(clf.classes_, y), scores)
    assert ((margins <= 0) == (found.labels != y)).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_a_temperature_is_kept(classes, path):
    X, y = problem(classes, n=80, noise=0.3)
    model = quiet(CalibratedClassifier(Perceptron(random_state=1), method="temperature", cv=3).fit, X, y)
    other = again(model, path)
    assert same(model, other, X)
    assert bits(other.partial_fit(X, y).predict_proba(X)) == bits(model.partial_fit(X, y).predict_proba(X))


@pytest.mark.parametrize("slope", [np.nan, np.inf, -1.0])
def test_a_temperature_that_is_none_is_refused(slope, path):
    X, y = problem(3, n=80)
    save(quiet(CalibratedClassifier(Perceptron(), method="temperature", cv=3).fit, X, y), path)

    about, arrays = archive.read(path)
    (name,) = (of for of in arrays if of.endswith(".temperature"))
    with pytest.raises(ModelError, match="temperature of its calibration is not a finite number"):
        load(forged(path, about, {**arrays, name: np.array([slope])}))


def test_folds_are_not_kept_and_ensembles_are_refused(path):
    X, y = problem(2, n=80, noise=0.3)
    model = quiet(CalibratedClassifier(Perceptron(), cv=StratifiedKFold(3)).fit, X, y)
    other = again(model, path)
    assert same(model, other, X)
    assert other.cv == 5
    with pytest.raises(ValueError, match="set ensemble=False, and fit again"):
        save(quiet(CalibratedClassifier(Perceptron(), ensemble=True).fit, X, y), path)
