"""Weights by name, as JSON and CSV: read back by Python's own readers, to the bit."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from linsep import LogisticRegression, Perceptron, __version__
from linsep.models.named_weights import export_csv, export_json, named_weights
from linsep.transforms import Bias, Polynomial
from tests.contracts.table import build, every_learner, problem, quiet

HOSTILE = [
    "",
    " ",
    "a,b",
    'say "no"',
    "two\nlines",
    "\r",
    "\r\n",
    "\ud800",
    "\udcff x",
    "\0",
    "=1+1",
    "☃",
    "'",
    "x" * 9999,
]


def from_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def from_csv(path):
    with open(path, encoding="utf-8", errors="surrogatepass", newline="") as file:
        [head, *lines] = csv.reader(file)
    assert head == ["class", "part", "name", "weight"]
    return lines


def tables(learner, names):
    """What must be in a file, from `coef_` by a plain loop."""
    return [
        {name: value for name, value in zip(names, row.tolist(), strict=True) if value != 0} for row in learner.coef_
    ]


@pytest.mark.slow
@every_learner
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_files_hold_every_weight_to_the_bit(name, classes, multi_class, tmp_path):
    X, y = problem(classes, reals=True)
    X[:, 2] = 0
    labels = np.array(["no", "yes", "perhaps"])
    learner = quiet(build(name, multi_class=multi_class).fit, X, labels[y])
    names = [f"f{j}" for j in range(6)]
    expected = tables(learner, names)
    positive = learner.classes_[1:] if classes == 2 else learner.classes_

    export_json(learner, tmp_path / "a.json", names)
    told = from_json(tmp_path / "a.json")
    assert told["linsep"] == __version__
    assert (told["learner"], told["features"]) == (type(learner).__name__, 6)
    assert told["classes"] == learner.classes_.tolist()
    assert [part["class"] for part in told["weights"]] == positive.tolist()
    assert {part["against"] for part in told["weights"]} == {learner.classes_[0] if classes == 2 else None}
    assert [part["bias"] for part in told["weights"]] == learner.intercept_.tolist()
    assert [part["weights"] for part in told["weights"]] == expected

    export_csv(learner, tmp_path / "a.csv", names)
    lines = from_csv(tmp_path / "a.csv")
    assert [(a, float(d)) for a, b, _, d in lines if b == "bias"] == list(
        zip(positive.tolist(), learner.intercept_.tolist(), strict=True)
    )
    for label, weights in zip(positive.tolist(), expected, strict=True):
        found = [(c, float(d)) for a, b, c, d in lines if (a, b) == (label, "feature")]
        assert found == list(weights.items())


def with_weights(weights):
    """A learner that has these weights."""
    return Perceptron(fit_intercept=False, shuffle=False).partial_fit([weights], [1], classes=[0, 1])


@pytest.mark.slow
@given(
    names=st.lists(st.text(st.characters(exclude_categories=())), min_size=1, max_size=8, unique=True),
    data=st.data(),
)
def test_any_names_and_numbers_are_read_back(names, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    weights = data.draw(st.lists(numbers, min_size=len(names), max_size=len(names)))
    learner = with_weights(weights)
    expected = {name: value for name, value in zip(names, weights, strict=True) if value != 0}
    export_json(learner, folder / "a.json", names)
    export_csv(learner, folder / "a.csv", names)
    assert from_json(folder / "a.json")["weights"][0]["weights"] == expected
    assert {c: float(d) for _, b, c, d in from_csv(folder / "a.csv") if b == "feature"} == expected


def test_hostile_names_survive(tmp_path):
    learner = Perceptron()
    learner.learn_one({name: 1.0 + k for k, name in enumerate(HOSTILE)}, "b\n,")
    learner.learn_one({HOSTILE[0]: 5.0}, "\ud800a")
    export_json(learner, tmp_path / "a.json")
    export_csv(learner, tmp_path / "a.csv")
    [part] = from_json(tmp_path / "a.json")["weights"]
    assert (part["class"], part["against"]) == ("\ud800a", "b\n,")
    assert list(part["weights"]) == [name for name, w in zip(HOSTILE, learner.coef_[0], strict=True) if w]
    assert len(part["weights"]) == len(HOSTILE)
    features = [(c, float(d)) for _, b, c, d in from_csv(tmp_path / "a.csv") if b == "feature"]
    assert features == list(part["weights"].items())


def test_names_come_from_where_they_are():
    X, y = problem(reals=True, p=3)
    assert named_weights(quiet(Perceptron().fit, X, y))[0].names.tolist() == ["x0", "x1", "x2"]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    learner = quiet(Perceptron().fit, frame, y)
    assert named_weights(learner)[0].names.tolist() == ["a", "b", "c"]
    assert named_weights(learner, "col{}".format)[0].names.tolist() == ["col0", "col1", "col2"]
    assert named_weights(learner, np.array(["p", "q", "r"]))[0].names.tolist() == ["p", "q", "r"]
    last = Perceptron(fit_intercept=False, random_state=0)
    piped = quiet(make_pipeline(Polynomial(terms=["a", "b c"]), Bias(), last).fit, frame, y)
    assert named_weights(piped)[0].names.tolist() == ["a", "b c", "bias"]
    scaled = quiet(make_pipeline(StandardScaler(), Perceptron()).fit, frame, y)
    assert named_weights(scaled)[0].names.tolist() == ["a", "b", "c"]
    alone = quiet(make_pipeline(Perceptron()).fit, frame, y)
    assert named_weights(alone)[0].names.tolist() == ["a", "b", "c"]


def test_a_function_is_asked_only_where_there_is_a_weight():
    asked = []
    learner = with_weights([0.0, 2.0, 0.0, 3.0])
    [part] = named_weights(learner, lambda j: asked.append(j) or f"name {j}")
    assert asked == [1, 3]
    assert dict(zip(part.names, part.weights, strict=True)) == {"name 1": 2.0, "name 3": 3.0}


def test_labels_keep_their_type(tmp_path):
    X, y = problem()
    for labels in (np.array([-1, 1]), np.array([False, True]), np.array([1.0, 3.0])):
        export_json(quiet(Perceptron().fit, X, labels[y]), tmp_path / "a.json")
        told = from_json(tmp_path / "a.json")
        assert told["classes"] == labels.tolist()
        assert type(told["weights"][0]["class"]) is type(labels.tolist()[0])


@pytest.mark.parametrize("known", [1, 2, 3])
def test_labels_that_arrive(known):
    X, y = problem(3)
    learner = LogisticRegression().partial_fit(X[y < known], y[y < known])
    parts = named_weights(learner)
    assert [part.label for part in parts] == ([1] if known == 2 else list(range(known)))
    for part, row in zip(parts, learner.coef_, strict=True):
        assert part.weights.tolist() == row[row != 0].tolist()


def test_no_weights_at_all(tmp_path):
    learner = Perceptron().partial_fit(np.eye(3), [0, 0, 0], classes=[0, 1])
    learner._state.link.s[:] = 0
    learner._state._scorer = None
    export_json(learner, tmp_path / "a.json")
    export_csv(learner, tmp_path / "a.csv")
    assert from_json(tmp_path / "a.json")["weights"] == [{"class": 1, "against": 0, "bias": 0.0, "weights": {}}]
    assert from_csv(tmp_path / "a.csv") == [["1", "bias", "", "0.0"]]


X, y = problem(p=3)
REFUSED = {
    "too few": (["a", "b"], ValueError, "2 names for the 3 features"),
    "twice": (["a", "b", "a"], ValueError, "'a' is that of two columns"),
    "no string": (["a", 7, "c"], TypeError, "column 1 is 7"),
    "a function of nothing": (lambda j: None, TypeError, "column 0 is None"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("export", [export_json, export_csv])
def test_bad_names_are_refused_and_the_old_file_stays(case, export, tmp_path):
    names, error, reason = REFUSED[case]
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(error, match=reason):
        export(with_weights([1.0, 2.0, 3.0]), path, names)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_models_without_weights_or_names_are_refused(tmp_path):
    with pytest.raises(NotFittedError):
        named_weights(Perceptron())
    with pytest.raises(TypeError, match="got 7"):
        export_json(7, tmp_path / "a")
    nameless = quiet(make_pipeline(FunctionTransformer(), Perceptron()).fit, X, y)
    with pytest.raises(ValueError, match=r"do not name their columns.*give names"):
        named_weights(nameless)
    assert named_weights(nameless, "x{}".format)
    dates = np.array(["2020-01-01", "2021-01-01"], "M8[D]")
    with pytest.raises(ValueError, match="no form in JSON"):
        export_json(quiet(Perceptron().fit, X, dates[y]), tmp_path / "a")


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    export_csv(with_weights([1.0]), path)
    before = path.read_bytes()
    monkeypatch.setattr(csv, "writer", lambda file: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export_csv(with_weights([2.0]), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_many_weights_are_written_piece_by_piece(tmp_path):
    weights = np.random.default_rng(0).normal(size=200_001)
    learner = with_weights(weights)
    export_json(learner, tmp_path / "a.json")
    export_csv(learner, tmp_path / "a.csv")
    assert list(from_json(tmp_path / "a.json")["weights"][0]["weights"].values()) == weights.tolist()
    assert [float(d) for *_, d in from_csv(tmp_path / "a.csv")[1:]] == weights.tolist()
