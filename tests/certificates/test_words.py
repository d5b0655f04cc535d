"""What is said of a certificate follows from its claims, and rounding keeps it true."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linsep import Certificate, Perceptron, certify
from linsep.certificates.words import favours, outward, report, rounded, table, verdict_sentence

APART = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]
MIXED = [[1.0], [2.0], [3.0]], [0, 1, 0]


def shown(text):
    return Decimal(text.replace(",", ""))


@given(st.decimals(-10_000_000_000_000, 10_000_000_000_000, allow_nan=False, places=9))
def test_numbers_are_rounded_outwards_and_by_little(value):
    above, below = shown(outward(str(value), up=True)), shown(outward(str(value), up=False))
    assert below <= value <= above
    assert above - below <= abs(value) / 999
    assert len(outward(str(value), up=True)) <= 12


def claims_of(cert, name):
    return {
        claim.removeprefix(f"{name}: "): value for claim, value in cert.claims.items() if claim.startswith(f"{name}: ")
    }


def test_the_table_says_what_the_claims_say():
    cert = certify(*APART)
    for name, lines in table(cert).items():
        known, values = claims_of(cert, name), {line.label: line.value for line in lines}
        assert values["verdict"] == known["verdict"]
        low, _, high = values["perceptron's margin"].partition(" to ")
        assert shown(low) <= Decimal(known["perceptron's margin at least"])
        assert shown(high) >= Decimal(known["perceptron's margin at most"])
        assert shown(values["perceptron's mistakes"]) == int(Decimal(known["perceptron's mistakes at most"]))
        assert shown(values["VC dimension"]) == known["VC dimension"]
    assert [line.label for line in table(cert)["bias 1"]][-2:] == ["VC dimension", "sample size"]


def test_mistakes_are_whole_and_what_is_not_claimed_is_empty():
    cert = Certificate({"claims": {"a: mistakes at most": "6.99", "a: R at most": "6.9999"}})
    assert rounded(cert, "a", "mistakes at most") == "6"
    assert rounded(cert, "a", "R at most") == "7"
    assert rounded(cert, "b", "R at most") == ""


def test_dense_rows_with_few_relevant_features_favour_winnow():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 60))
    cert = certify(X, X[:, 0] > 0, bias=0)
    said = favours(cert)
    assert said.startswith("The data favour Winnow: ")
    assert "about 1 of 60 features" in said
    assert cert.bounds()["Winnow"] < cert.bounds()["perceptron"]


def test_few_features_that_all_matter_favour_the_perceptron():
    cert = certify(*APART)
    assert favours(cert).startswith("The data favour the perceptron: at most 11 mistakes")
    assert cert.bounds()["perceptron"] < min(cert.bounds()["Winnow"], cert.bounds()["balanced Winnow"])


def test_without_a_separator_what_is_proved_is_named():
    cert = certify(*MIXED)
    assert verdict_sentence(cert).startswith("Not separable: 3 rows, weighed, cancel exactly")
    said = favours(cert)
    assert said.startswith("Neither the perceptron nor Winnow has a bound")
    assert "in 10 passes" in said


def test_a_bias_that_is_needed_is_told():
    said = verdict_sentence(certify([[1.0], [2.0]], [0, 1]))
    assert said.startswith("Separable: ")
    assert said.endswith("without a bias the rows are not separable.")


def open_certificate(radius, margin, rows):
    claims = {"verdict": "open", "R at most": str(radius), "perceptron's margin at most": str(margin)}
    claims |= {"Winnow's margin at most": "1", "balanced Winnow's margin at most": "1"}
    claims |= {"perceptron's mistakes (T = 10) at most": "60", "the least such bound (T = 10) at least": "59"}
    problem = {"positive": "1", "bias": 1.0, "games": True, "epsilon": "0.05", "delta": "0.05", "w": {}, "lambda": {}}
    data = {"rows": rows, "features": 3, "classes": ["0", "1"], "sha256": "", "remarks": ["a remark"]}
    return Certificate({
        "data": data, "problems": {"bias 1": problem}, "runs": {}, "risk": {},
        "claims": {f"bias 1: {claim}": value for claim, value in claims.items()},
    })  # fmt: skip


@pytest.mark.parametrize(
    ("margin", "words"),
    [("0.01", "no bound on mistakes below 1,000, the rounds of 10 passes"), ("0.5", "nor a proof that there is none")],
)
def test_open_says_how_small_the_margin_is_and_never_not_separable(margin, words):
    cert = open_certificate(1.0, margin, 100)
    said = verdict_sentence(cert)
    assert said.startswith(f"Open: the margin is at most {margin}, ")
    assert words in said
    assert "not separable" not in report(cert).lower()
    assert "at most 60 times in 10 passes" in favours(cert)
    assert report(cert).endswith("a remark")


def test_a_margin_far_below_the_length_of_the_rows_is_told():
    assert "no bound on mistakes below 1,000" in verdict_sentence(open_certificate("1e150", "1e-150", 100))


def test_many_classes_are_spoken_of_together():
    X = np.vstack([np.eye(4), 2 * np.eye(4), [[1.0, 0, 0, 0]]])
    cert = certify(X, [0, 1, 2, 3, 0, 1, 2, 3, 3])
    assert "classes 1 and 2 are separable, classes 0 and 3 are not separable" in verdict_sentence(cert) or (
        "classes 0 and 3 are not separable, classes 1 and 2 are separable" in verdict_sentence(cert)
    )
    assert "classes 0 and 3 have a bound of neither" in favours(cert)
    assert favours(cert, "class 1, bias 1").startswith("The data favour ")


def test_a_class_without_a_name_is_spoken_of():
    cert = certify(np.eye(3), ["", "a", "b"], passes=1)
    assert "classes , a and b are separable" in verdict_sentence(cert)
    assert favours(cert) == "Against the rest, classes , a and b favour the perceptron."


def test_the_text_of_a_certificate_is_the_report_and_every_sentence_is_one():
    X, y = APART
    cert = Perceptron(shuffle=False).fit(X, y).certificate(X, y)
    assert str(cert) == report(cert)
    assert "\n\nrun\n  mistakes " in str(cert)
    assert "first lemma" in str(cert)
    for said in (verdict_sentence(cert), favours(cert)):
        assert said.endswith(".")
        assert ". " not in said
        assert "\n" not in said
