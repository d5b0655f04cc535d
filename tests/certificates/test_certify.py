"""Certificates of data and runs: known answers, all forms of data, and what the arguments mean."""

import itertools
import json
import math
import os
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris

from linsep import (
    AveragedPerceptron,
    BalancedWinnow,
    Certificate,
    CertificateError,
    PassiveAggressive,
    Perceptron,
    PNormPerceptron,
    Winnow,
    certify,
    verify,
)
from linsep.certificates import checker
from tests.certificates import plain

X = np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, 0.5], [0.0, -3.0], [4.0, 0.25]])
Y = ["b", "b", "a", "a", "b"]
TABLE = np.array([[-1, -2], [-3, 3], [3, -3], [3, -1], [2, -3], [-2, 1], [-1, -3], [3, 2], [0, 1], [-2, -3]], float)
LABELS = np.array([1, -1, 1, 1, 1, -1, 1, 1, -1, 1])


def bracket(cert, whose, name=None):
    """The margin's bracket."""
    return [cert.number(f"{whose} margin at {end}", name) for end in ("least", "most")]


@pytest.mark.parametrize("p", [1, 2, 5, 16])
def test_unit_vectors_allow_p_mistakes_and_no_fewer(p):
    cert = certify(np.eye(p), np.ones(p), bias=0)
    assert cert.verdict == "separable"
    assert cert.number("perceptron's mistakes at most") == p
    assert cert.claims["no bias: R at most"] == "1"
    assert cert.claims["no bias: perceptron's mistakes (T = 1) at most"] == str(p)
    assert bracket(cert, "perceptron's") == pytest.approx([p**-0.5] * 2, rel=1e-8)
    assert bracket(cert, "Winnow's") == pytest.approx([1 / p] * 2, rel=2e-3)


def test_attributes_for_what_people_ask():
    cert = certify(X, Y, passes=3)
    low, high = cert.margin
    assert cert.separable
    assert [low, high] == bracket(cert, "perceptron's")
    assert cert.radius == pytest.approx(np.sqrt(1 + (X**2).sum(axis=1).max()), rel=1e-8)
    signs, rows = np.where(np.array(Y) == "b", 1, -1), np.column_stack([X, np.ones(len(X))])
    assert np.min(signs * (rows @ cert.witness)) / np.linalg.norm(cert.witness) == pytest.approx(low, rel=1e-6)
    assert cert.max_mistakes() == math.floor((cert.radius / low) ** 2)
    assert cert.max_mistakes("winnow") == math.floor(cert.number("Winnow's mistakes at most"))
    assert cert.max_mistakes(passes=1) <= len(X)
    assert cert.max_mistakes(passes=3) <= 3 * len(X)
    with pytest.raises(ValueError, match="states no bound of perceptron for passes=2; certify with passes=2"):
        cert.max_mistakes(passes=2)
    with pytest.raises(ValueError, match="learner='romma' has no bound"):
        cert.max_mistakes("romma")


def test_attributes_of_data_that_are_not_separable_or_open():
    cross = certify([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    assert cross.separable is False
    assert cross.margin == (0.0, 0.0)
    assert cross.max_mistakes() == math.inf
    assert cross.witness is None
    assert Certificate(cross.facts | {"claims": {}}).separable is None


def test_the_witness_separates_also_where_the_search_for_the_margin_finds_none():
    rows, labels = np.array([[2.0**-50], [1.0], [-1.0], [-(2.0**-50)]]), np.array([1, 1, -1, -1])
    cert = certify(rows, labels, passes=1)
    assert cert.separable
    assert verify(cert, rows, labels)
    assert (labels * (np.column_stack([rows, np.ones(4)]) @ cert.witness) > 0).all()


def test_a_learner_of_more_classes_than_rows_has_a_certificate_that_holds():
    rows, labels = X[:2], ["a", "b"]
    clf = Perceptron(shuffle=False).partial_fit(rows, labels, classes=["a", "b", "c"])
    assert verify(clf.certificate(rows, labels), rows, labels)


def test_classes_without_rows_are_listed_apart():
    rows, labels = X[:2], ["a", "b"]
    for more, multi_class, runs in (("abc", "ovr", ["run"]), ("abcd", "joint", [])):
        clf = Perceptron(shuffle=False, multi_class=multi_class).partial_fit(rows, labels, classes=list(more))
        cert = clf.certificate(rows, labels)
        assert verify(cert, rows, labels)
        assert (cert.facts["data"]["classes"], cert.facts["data"]["known"]) == (["a", "b"], list(more[2:]))
        assert cert.runs == runs
        assert any("the learner has classes that no row has: 'c'" in remark for remark in cert.remarks) == (not runs)


@pytest.mark.parametrize(
    ("learner", "reason"),
    [
        (PassiveAggressive(C=1e301, log=True), r"C = 1e\+301 is not from 1e-300 to 1e\+300"),
        (PassiveAggressive(C=1e-301, log=True), "C = 1e-301 is not from"),
        (Winnow(eta=1e-301, x_max=4.0), "rate = 1e-301 is not from"),
    ],
)
def test_parameters_beyond_what_is_checked_are_named_and_the_rest_is_certified(learner, reason):
    rows, labels = np.abs(X[:4]), ["b", "b", "a", "b"]
    learner = learner.set_params(shuffle=False, max_iter=1).partial_fit(rows, labels, classes=["a", "b"])
    cert = learner.certificate(rows, labels)
    assert verify(cert, rows, labels)
    assert cert.runs == []
    assert any(re.search(reason, remark) for remark in cert.remarks), cert.remarks


def test_a_confidence_beyond_what_is_checked_is_named_and_the_rest_is_certified():
    clf = Perceptron(shuffle=False, max_iter=1).partial_fit(X, Y, classes=["a", "b"])
    assert clf.certificate(X, Y).risk
    cert = clf.certificate(X, Y, delta=1e-10)
    assert verify(cert, X, Y)
    assert cert.runs == ["run"]
    assert not cert.risk
    assert "no risk is stated: delta=1e-10 is not from 1e-09 to 0.999999999" in cert.remarks


def test_passes_are_an_integer_of_at_most_18_digits():
    assert verify(certify(X, Y, passes=3.0), X, Y)
    with pytest.raises(ValueError, match="passes=1000000000000000000 is too large: use at most 999,999,"):
        certify(X, Y, passes=10**18)


@pytest.mark.parametrize("order", [*itertools.permutations(range(3)), (4, 0, 3, 1, 2)])
def test_on_unit_vectors_each_order_makes_p_mistakes(order):
    rows = np.eye(len(order))[list(order)]
    clf = Perceptron(fit_intercept=False, shuffle=False).partial_fit(rows, np.ones(len(order)), classes=[-1, 1])
    cert = clf.certificate(rows, np.ones(len(order)))
    assert cert.claims["run: mistakes"] == len(order) == cert.number("mistakes at most", "run")
    assert cert.claims["run: lemma 2, ratio at most"] == "1"
    assert cert.claims["run: lemma 1, ratio at least"] == "1"
    assert verify(cert, rows, np.ones(len(order)))


def test_the_table_of_ten_rows():
    clf = Perceptron(fit_intercept=False, log=True).partial_fit(TABLE, LABELS)
    cert = clf.certificate(TABLE, LABELS)
    assert cert.claims["run: mistakes"] == 4
    assert cert.claims["run: mistakes within the bound"] is True
    assert cert.number("mistakes at most, by the regret", "run") >= 4
    assert (cert.facts["risk"]["run"]["estimate"], cert.facts["risk"]["run"]["rounds"]) == (0.4, 10)
    assert cert.facts["risk"]["run"]["at most"] >= 0.4
    assert [status for claim, status, _ in verify(cert, TABLE, LABELS).checks if claim == "run: risk"] == [
        "not checked"
    ]


def test_the_balanced_example_of_the_notes():
    cert = certify([[1.0, 0.7, -0.4]], [1], bias=0, passes=1)
    facts = json.loads(json.dumps(cert.facts))
    facts["problems"]["no bias"]["w"] = {k: {"exponent": 0, "values": [5, 2, -3, 0]} for k in ("margin", "delta 1")}
    claims = checker.claims(facts, checker.CheckedRows([[1.0, 0.7, -0.4]], [1], ["1"]))
    assert float(claims["no bias: balanced Winnow's margin at least"]) == pytest.approx(0.76, abs=2e-9)
    assert "no bias: Winnow's margin at least" not in claims


def test_the_majority_of_3_among_5():
    rows = np.array([*itertools.product([-1.0, 1.0], repeat=5)])
    y = np.sign(rows[:, :3].sum(axis=1)).astype(int)
    cert = certify(rows, y, bias=0)
    for whose, weights in (("Winnow's", 5), ("balanced Winnow's", 10)):
        lower, upper = bracket(cert, whose)
        assert lower <= 1 / 3 <= upper
        assert upper - lower <= 0.01 / 3
        best = (4 / 3 * math.log(4 / 3) + 2 / 3 * math.log(2 / 3)) / 2
        assert cert.number(f"{whose} mistakes at most") == pytest.approx(math.log(weights) / best, rel=0.01)
    assert cert.number("perceptron's mistakes at most") == pytest.approx(15, rel=0.005)
    assert cert.number("perceptron's mistakes at most") >= 15


def test_iris():
    iris = load_iris()
    names = iris.target_names[iris.target]
    cert = certify(iris.data, names, passes=1)
    verdicts = {name: cert.claims[f"{name}: verdict"] for name in cert.problems}
    assert verdicts == {
        "pairs, bias 1": "not separable", "class setosa, bias 1": "separable",
        "class versicolor, bias 1": "not separable", "class virginica, bias 1": "not separable",
    }  # fmt: skip
    assert verify(cert, iris.data, names)
    assert cert.number("perceptron's mistakes at most", "class setosa, bias 1") < 225


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", 0), ("epsilon", 1.0), ("epsilon", -1), ("delta", -0.1), ("delta", math.nan), ("bias", -1),
        ("bias", math.inf), ("bias", math.nan), ("passes", 0), ("passes", 1.5), ("time_limit", 0), ("time_limit", -1.0),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense_are_named(name, value):
    with pytest.raises(ValueError, match=f"{name}={value}"):
        certify(X, Y, **{name: value})


def test_data_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        certify([[math.nan], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="4"):
        certify(X, Y[:-1])
    with pytest.raises(ValueError, match="0 sample"):
        certify(np.zeros((0, 2)), [])


@pytest.mark.parametrize("bias", [1e155, 1e300])
def test_a_bias_whose_square_is_no_float_is_refused(bias):
    with pytest.raises(ValueError, match="too large, as its square is beyond float64: use at most 1e"):
        certify([[0.0], [1.0]], [0, 1], bias=bias)
    X, y = [[0.0], [1.0]], [0, 1]
    assert verify(certify(X, y, bias=1e154), X, y)


def test_zero_and_minus_zero_are_one_label():
    X = np.array([[1.0], [2.0], [5.0]])
    for y in ([-0.0, 0.0, 1.0], [0.0, -0.0, 1.0], [-0.0, -0.0, 1.0]):
        cert = certify(X, y)
        assert cert.facts["data"]["classes"] == ["0", "1"]
        assert verify(cert, X, y)
        assert verify(cert, X, [0, 0, 1])


def test_texts_that_look_like_one_number_are_two_labels():
    cert = certify([[1.0], [2.0]], ["1", "1.0"])
    assert cert.facts["data"]["classes"] == ["1", "1.0"]
    assert verify(cert, [[1.0], [2.0]], ["1", "1.0"])
    assert not verify(cert, [[1.0], [2.0]], ["1", "1"])


@pytest.mark.parametrize("seconds", [1e-9, 1e-3])
def test_whatever_the_time_the_certificate_holds(seconds):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 12))
    y = rng.integers(0, 2, 300)
    cert = certify(rows, y, time_limit=seconds)
    assert verify(cert, rows, y)
    full = certify(rows, y)
    assert full.number("perceptron's mistakes (T = 1) at most") <= 1.01 * cert.number(
        "perceptron's mistakes (T = 1) at most"
    )


def test_watching_the_brackets_close():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 5))
    y = (rows @ [1, -1, 2, 0, 0.5] > 0).astype(int)
    seen = {}
    certify(rows, y, bias=0, watch=lambda name, lower, upper: seen.setdefault(name, []).append((lower, upper)))
    brackets_of = {name: np.array(pairs).T for name, pairs in seen.items() if not np.isnan(pairs).any()}
    assert {"margin", "mistakes (T = 1)", "mistakes (T = 10)"} <= set(brackets_of)
    for name, (lower, upper) in brackets_of.items():
        assert np.all(lower <= upper + 1e-9 * np.abs(upper)), name
        assert np.all(lower[1:] >= lower[:-1] - 1e-9 * np.abs(lower[1:])), name
        assert np.all(upper[1:] <= upper[:-1] + 1e-9 * np.abs(upper[1:])), name


@pytest.mark.slow
def test_all_forms_of_the_data_have_one_certificate():
    forms = (
        X,
        X.tolist(),
        csr_array(X),
        X.astype(np.float32),
        csr_array(X.astype(np.float32)),
        pd.DataFrame(X),
        np.asfortranarray(X),
    )
    certs = [certify(form, Y, passes=2) for form in forms]
    assert len({cert.facts["data"]["sha256"] for cert in certs}) == 1
    for cert, form in itertools.product(certs, forms):
        assert verify(cert, form, Y)


LABELLED = {
    "numbers": [1, 1, 0, 0, 1],
    "truths": [True, True, False, False, True],
    "floats": [1.0, 1.0, -1.0, -1.0, 1.0],
    "texts": ["x", "x", "w", "w", "x"],
    "bytes": np.array([7, 7, 3, 3, 7], np.uint8),
    "categories": pd.Series(["u", "u", "t", "t", "u"], dtype="category"),
    "objects": np.array(list("bbaab"), object),
}


@pytest.mark.parametrize("labels", LABELLED.values(), ids=LABELLED)
def test_labels_of_all_types(labels):
    cert = certify(X, labels, passes=1)
    assert verify(cert, X, labels)
    assert {k: v for k, v in cert.claims.items() if "sha256" not in k} == {
        k: v for k, v in certify(X, Y, passes=1).claims.items() if "sha256" not in k
    }
    flipped = np.asarray(labels)[[2, 0, 1, 3, 4]]
    assert not verify(cert, X, flipped)


def test_the_order_of_labels_is_that_of_the_classes_not_of_the_rows():
    back = certify(X[::-1], Y[::-1], passes=1)
    assert back.facts["data"]["classes"] == ["a", "b"]
    assert back.facts["data"]["sha256"] != certify(X, Y, passes=1).facts["data"]["sha256"]
    assert back.verdict == "separable"


def test_a_certificate_is_written_to_its_file_alone(tmp_path, monkeypatch):
    (tmp_path / "cert.json.part").write_text("the user's own")
    flushed, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: flushed.append(fsync(file)))
    certify(X, Y).save(tmp_path / "cert.json")
    assert sorted(os.listdir(tmp_path)) == ["cert.json", "cert.json.part"]
    assert (tmp_path / "cert.json.part").read_text() == "the user's own"
    assert len(flushed) == 2


def test_a_certificate_survives_its_file(tmp_path):
    cert = certify(X, Y)
    cert.save(tmp_path / "cert.json")
    again = Certificate.load(tmp_path / "cert.json")
    assert again.facts == json.loads(json.dumps(cert.facts))
    assert verify(again, X, Y)
    assert (again.verdict, again.problems, again.bounds()) == (cert.verdict, cert.problems, cert.bounds())
    for text in (
        "",
        "{}",
        "[]",
        "null",
        '{"format": "other"}',
        '{"format": "linsep certificate", "version": 3}',
        '{"format": "linsep certificate", "version": true}',
        '{"format": "linsep certificate", "version": 2, "version": 2}',
        "[" * 10**5,
    ):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(CertificateError, match=r"other\.json"):
            Certificate.load(tmp_path / "other.json")


def test_the_passes_are_those_asked_for():
    assert [k for k in certify(X, Y, bias=0, passes=7).claims if "(T = " in k] == [
        f"no bias: {what} (T = {T}) {end}"
        for T in (1, 7)
        for what, end in (("perceptron's mistakes", "at most"), ("the least such bound", "at least"))
    ]
    assert not any("(T = 10)" in k for k in certify(X, Y, passes=1).claims)


def test_without_a_bias_there_is_but_one_problem():
    cert = certify(X, Y, bias=0)
    assert cert.problems == ["no bias"]
    assert cert.claims["no bias: VC dimension"] == 2
    assert certify(X, Y).problems[:2] == ["bias 1", "no bias"]


def test_the_best_bias_lowers_the_bound():
    far = np.array([[101.0], [102.0], [98.0], [99.0]])
    cert = certify(far, [1, 1, 0, 0])
    best = [name for name in cert.problems if name.startswith("best bias")]
    assert len(best) == 1
    bounds = [cert.number("perceptron's mistakes at most", name) for name in ("bias 1", best[0])]
    assert bounds[1] < bounds[0] / 10
    assert bounds[1] == pytest.approx((102 + 100) ** 2, rel=0.02)
    assert verify(cert, far, [1, 1, 0, 0])


def test_brackets_are_within_one_per_cent():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(60, 4))
    u = np.array([1.0, -2.0, 0.5, 0.0])
    rows = rows[abs(rows @ u) > 0.3]
    cert = certify(rows, (rows @ u > 0).astype(int))
    assert cert.verdict == "separable"
    for name in cert.problems:
        for T in (1, 10):
            most = cert.number(f"perceptron's mistakes (T = {T}) at most", name)
            assert cert.number(f"the least such bound (T = {T}) at least", name) >= 0.99 * most
        for whose in ["perceptron's"] + ["balanced Winnow's"] * (not name.startswith("best")):
            lower, upper = bracket(cert, whose, name)
            assert 0 < lower <= upper <= 1.005 * lower


def test_certificates_are_small():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(100, 8))
    y = (rows @ rng.normal(size=8) > 0).astype(int)
    assert len(json.dumps(certify(rows, y).facts)) < 20_000
    flipped = np.where(rng.random(100) < 0.1, 1 - y, y)
    cert = certify(rows, flipped)
    assert cert.verdict == "not separable"
    assert len(json.dumps(cert.facts)) < 40_000
    clf = Perceptron(shuffle=False, max_iter=500).fit(rows, y)
    assert len(json.dumps(clf.certificate(rows, y).facts)) < 25_000


def test_other_data_are_refused_with_the_reason():
    cert = certify(X, Y)
    for rows, y in ((X + 1e-15, Y), (X, Y[::-1]), (X[:3], Y[:3]), (X[:, :1], Y)):
        result = verify(cert, rows, y)
        assert not result
        assert "other rows or labels" in str(result)
    assert "fails" in str(verify(cert, X, list("cbaab")))
    assert bool(verify(cert.facts, X, Y)) is True


@pytest.mark.parametrize("learner", [Winnow, BalancedWinnow])
def test_each_mistake_of_winnow_lowers_the_potential_by_l(learner):
    rng = np.random.default_rng(6)
    rows = rng.choice([-1.0, 1.0], (400, 20))
    y = np.sign(rows[:, :3].sum(axis=1)).astype(int)
    clf = learner(delta=1 / 3, fit_intercept=False, shuffle=False, max_iter=20).fit(rows, y)
    cert = clf.certificate(rows, y)
    assert cert.claims["run: mistakes"] == len(clf.log_) <= cert.number("mistakes at most", "run")
    assert cert.claims["run: each fall is at least L"] is True
    assert cert.number("mistakes at most", "run") <= 1.01 * math.log(20 * (1 + (learner is BalancedWinnow))) / 0.0566
    assert verify(cert, rows, y)


RUNS = {
    "perceptron": Perceptron(max_iter=3),
    "perceptron, no bias": Perceptron(max_iter=3, fit_intercept=False),
    "averaged": AveragedPerceptron(max_iter=2, intercept_scaling=2.0),
    "p-norm": PNormPerceptron(p=3.5, max_iter=2),
    "balanced winnow": BalancedWinnow(eta=0.05, x_max=None, max_iter=2),
    "PA": PassiveAggressive(variant="PA", max_iter=2, log=True),
    "PA-I": PassiveAggressive(C=0.25, max_iter=2, log=True),
    "PA-II": PassiveAggressive(C=4.0, variant="PA-II", max_iter=2, log=True),
    "pairs": Perceptron(max_iter=2, multi_class="joint"),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize(("name", "classes"), [*((name, 2) for name in RUNS), ("perceptron", 3), ("pairs", 3)])
def test_all_that_is_said_of_a_run_is_true(name, noise, classes):
    rng = np.random.default_rng([3, classes])
    rows = rng.normal(size=(12, 2))
    codes = np.argmax(rows @ rng.normal(size=(2, classes)) + noise * rng.normal(size=(12, classes)), axis=1)
    codes[:classes] = range(classes)
    y = np.array(list("abc"))[codes]
    clf = clone(RUNS[name]).set_params(random_state=4).fit(rows, y)
    cert = clf.certificate(rows, y)
    assert verify(cert, rows, y)
    proved = plain.claims(cert.facts, rows, y.tolist())
    assert {k for k in cert.claims if k != "witnesses: sha256"} == set(proved)
    assert [k for k, value in proved.items() if not plain.true(k, cert.claims[k], value)] == []
    assert cert.runs or cert.remarks


TABLES = {
    "pandas": lambda columns, y: (pd.DataFrame(columns), pd.Series(y)),
    "polars": lambda columns, y: (pl.DataFrame(columns), pl.Series(y)),
    "arrow": lambda columns, y: (pa.table(columns), pa.array(y)),
    "chunks": lambda columns, y: (pa.table(columns), pa.chunked_array([y[:1], y[1:]])),
    "dictionary": lambda columns, y: (pa.table(columns), pa.array(y).dictionary_encode()),
    "batch": lambda columns, y: (pa.record_batch(columns), pa.array(y)),
}
COLUMNS = {"column_names": [0.0, 2.0, 3.0], "b": [1, 0, 1]}


@pytest.mark.slow
@pytest.mark.parametrize("labels", [[0, 1, 1], ["no", "yes", "yes"], [-1.0, 1.0, 1.0], [False, True, True]])
@pytest.mark.parametrize("kind", TABLES)
def test_tables_are_read_as_fit_reads_them(kind, labels):
    rows, y = TABLES[kind](COLUMNS, labels)
    plain = np.column_stack([*COLUMNS.values()])
    cert = certify(rows, y)
    assert cert.claims == certify(plain, labels).claims
    assert verify(cert, rows, y)
    assert verify(cert, plain, labels)
    learner = Perceptron(shuffle=False).fit(rows, y)
    assert verify(learner.certificate(rows, y), rows, y)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_integers_of_tables_that_are_no_floats_are_refused(kind):
    rows, y = TABLES[kind]({"a": [2**53 + 1, 0], "b": [0.5, 1.0]}, [0, 1])
    with pytest.raises(ValueError, match="9007199254740993, which no float of 64 bits equals"):
        certify(rows, y)
    assert not verify(certify([[2.0**53, 0.5], [0.0, 1.0]], [0, 1]), rows, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_verify_reads_what_certify_reads():
    for rows, y in (
        (X, np.array(Y)[:, None]), (np.array(X, object), Y), (np.asarray(X, np.float32), Y), (csc_array(X), Y)
    ):  # fmt: skip
        assert verify(certify(rows, y), rows, y)
    for entry in ("0", Decimal("0.1"), None):
        rows = np.array(X, object)
        rows[0, 0] = entry
        with pytest.raises(ValueError, match="row 0, column 0 holds"):
            certify(rows, Y)


def test_n_jobs_is_read_as_learners_read_it():
    known = certify(X, Y).facts
    for jobs in (-1, 2, None):
        assert certify(X, Y, n_jobs=jobs).facts == known
    with pytest.raises(ValueError, match="n_jobs == 0 has no meaning"):
        certify(X, Y, n_jobs=0)
