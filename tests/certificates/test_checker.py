"""The checker against the definitions in fractions: data, products, bounds, runs, and every number rounded outwards."""

import ast
import json
import math
import subprocess
import sys
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from scipy.sparse import coo_array, csc_matrix, csr_array, csr_matrix

from linsep import Perceptron, certify
from linsep.certificates import checker, kernel_replay, replay, schema, tails
from tests.certificates import plain

FILES = [Path(module.__file__) for module in (checker, kernel_replay, replay, schema, tails)]
"""The checker: files that import one another, and of linsep nothing else."""
TINY, HUGE = 5e-324, 1.7976931348623157e308
some = settings(max_examples=25, phases=[Phase.explicit, Phase.reuse, Phase.generate])
wild = st.sampled_from(
    [0.0, TINY, -TINY, 2.2e-308, -1e-160, 1e-16, 1 - 2.0**-53, 1.0, -1.5, 3.0, -1e16, 1e160, -1e300, HUGE]
)
plainer = st.integers(-8, 8).map(lambda v: v / 4)


def test_it_needs_numpy_and_the_standard_library_alone():
    for path in FILES:
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
        beside = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level}
        assert beside <= {of.stem for of in FILES}
        assert {name.partition(".")[0] for name in names} <= {*sys.stdlib_module_names, "numpy"}
        assert not {"eval", "exec", "__import__", "open"} & {node.id for node in nodes if isinstance(node, ast.Name)}


def alone(folder, program):
    """What a program prints that has a copy of the checker's files, in the folder `alone`, and not linsep."""
    (folder / "alone").mkdir()
    for path in FILES:
        (folder / "alone" / path.name).write_bytes(path.read_bytes())
    start = "import json, sys\nsys.modules['linsep'] = None\nsys.path.insert(0, '.')\n"
    done = subprocess.run(
        [sys.executable, "-I", "-c", start + program],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_it_works_alone(tmp_path):
    X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], ["a", "b", "b"]
    run = Perceptron(random_state=0).fit(X, y).certificate(X, y).facts
    listed = {**run["problems"]["bias 1"], "more": 1}
    forged = {**run, "problems": {**run["problems"], "bias 1": listed}}
    (tmp_path / "cert.json").write_text(json.dumps([certify(X, y).facts, run, forged, X, y]))
    program = (
        "from alone.checker import check\n"
        "*certs, X, y = json.load(open('cert.json'))\n"
        "print([sorted({s for _, s, _ in check(cert, X, y)}) for cert in certs])\n"
        "print({s for _, s, _ in check(certs[0], X[::-1], y)})\n"
        "print([m for m in sys.modules if m.partition('.')[0] in ('scipy', 'sklearn', 'numba')])"
    )
    assert alone(tmp_path, program) == ["[['holds'], ['holds'], ['fails']]", "{'fails'}", "[]"]


X = np.array([[0.0, 1.5, -2.0], [3.0, 0.0, 0.25], [0.0, 0.0, 0.0], [1.0, 0.0, -7.0]])
Y = ["no", "yes", "no", "yes"]


def forms():
    """The same rows in all forms."""
    unsorted = csr_array(X)
    for i in range(len(X)):
        row = slice(*unsorted.indptr[i : i + 2])
        unsorted.indices[row], unsorted.data[row] = unsorted.indices[row][::-1].copy(), unsorted.data[row][::-1].copy()
    unsorted.has_sorted_indices = False
    r, c = np.nonzero(X)
    twice = csr_array((np.repeat(X[r, c] / 2, 2), np.repeat(c, 2), 2 * csr_array(X).indptr), shape=X.shape)
    zeros = csr_array((X.ravel(), np.tile([0, 1, 2], 4), 3 * np.arange(5)), shape=X.shape)
    long = csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    signed = np.where(X == 0, -0.0, X)
    return {
        "lists": X.tolist(), "fortran": np.asfortranarray(X), "part": np.repeat(X, 2, axis=0)[::2],
        "float32": X.astype(np.float32), "float16": X.astype(np.float16), "-0": signed, "sparse -0": csr_array(signed),
        "csr": csr_array(X), "matrix": csr_matrix(X), "csc": csc_matrix(X), "coo": coo_array(X), "unsorted": unsorted,
        "twice": twice, "zeros": zeros, "long": long, "float32 csr": csr_array(X.astype(np.float32)),
        "backwards": X[::-1][::-1], "big-endian": X.astype(">f8"),
    }  # fmt: skip


@pytest.mark.parametrize("name", forms())
def test_all_forms_of_the_rows_are_one(name):
    given_form = forms()[name]
    rows = checker.CheckedRows(given_form, Y, ["no", "yes"])
    assert rows.sha256 == plain.sha256(X, Y, ["no", "yes"])
    assert np.array_equal(np.asarray(given_form.todense() if hasattr(given_form, "todense") else given_form), X)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, bool, np.float32])
def test_integers_are_the_floats_they_are(dtype):
    whole = np.array([[0, 1], [1, 1], [1, 0]])
    for form in (np.asarray, csr_array):
        rows = checker.CheckedRows(form(whole.astype(dtype)), [0, 1, 1], ["0", "1"])
        assert rows.sha256 == plain.sha256(whole, ["0", "1", "1"], ["0", "1"])


def test_a_row_is_read_alike_in_blocks_of_any_size(monkeypatch):
    whole = checker.CheckedRows(X, Y, ["no", "yes"]).sha256
    for size in (1, 2, 3, 5):
        monkeypatch.setattr(checker, "BLOCK_ENTRIES", size)
        assert {checker.CheckedRows(form, Y, ["no", "yes"]).sha256 for form in (X, csr_array(X))} == {whole}


def test_any_change_of_the_data_changes_their_digest():
    def digest(X, y, classes=("no", "yes")):
        return checker.CheckedRows(X, y, list(classes)).sha256

    seen = {
        digest(X, Y),
        digest(X[::-1], Y),
        digest(X, Y[::-1]),
        digest(X[:, ::-1], Y),
        digest(-X, Y),
        digest(X, Y, ("yes", "no")),
    }
    seen |= {
        digest(X[:-1], Y[:-1]),
        digest(X[:, :2], Y),
        digest(np.hstack([X, X[:, :1] * 0]), Y),
        digest(X, Y, ("no", "yes", "so")),
    }
    seen |= {digest(X.reshape(6, 2), Y + Y[:2]), digest(X.T, Y[:3])}
    for place in np.ndindex(X.shape):
        for way in (-np.inf, np.inf):
            other = X.copy()
            other[place] = np.nextafter(other[place], way)
            seen.add(digest(other, Y))
    assert len(seen) == 12 + 2 * X.size


@pytest.mark.parametrize(
    "labels", [[0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0], ["0", "1", "0", "1"], np.array([0, 1, 0, 1], np.int8)]
)
def test_labels_are_known_by_their_names(labels):
    assert checker.CheckedRows(X, labels, ["0", "1"]).sha256 == plain.sha256(X, ["0", "1", "0", "1"], ["0", "1"])


def test_labels_that_differ_are_never_one():
    with pytest.raises(ValueError, match=r"1\.0"):
        checker.CheckedRows(X, ["1", "1.0", "1", "1.0"], ["1", "2"])


def test_integers_that_are_no_floats_are_refused():
    for wide in (np.array([[2**53 + 1]]), np.array([[2**63 + 1]], np.uint64), csr_array(np.array([[2**60 + 1]]))):
        with pytest.raises(ValueError, match="row 0"):
            checker.CheckedRows(wide, ["a"], ["a"])


def test_integers_that_are_no_floats_are_refused_in_rows_with_columns_in_any_order():
    for columns in ([2, 0], [0, 0]):
        wide = csr_array((np.array([1, 2**53 + 1]), np.array(columns), np.array([0, 2])), shape=(1, 3))
        with pytest.raises(ValueError, match="row 0"):
            checker.CheckedRows(wide, ["a"], ["a"])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(bad):
    for form in (np.asarray, csr_array):
        with pytest.raises(ValueError, match="row 1"):
            checker.CheckedRows(form([[1.0], [bad]]), ["a", "a"], ["a"])


def test_the_longest_row_is_found_though_floats_lose_more_the_more_entries_rows_have():
    class Wide(checker.SignedProblem):
        """Two rows of a billion entries; the sums of the floats are those that rounding leaves."""

        def __init__(self):
            self.n, self.features, self.entry, self.unit, self.beta = 2, 10**9, 0.5, Fraction(1), 0.0
            self.rows = SimpleNamespace(n=2, norms=lambda beta: np.array([0.5, 0.5 * (1 - 1e-7)]))
            self.cached = lambda compute: compute

        def each(self, wanted):
            return ((i, [0], [z]) for i, z in enumerate([2, 3]) if wanted[i])

    assert Wide().longest(Fraction(2), checker.UP) == 9


@st.composite
def certificates(draw, entries=plainer, classes=2, names=("margin", "delta 1", "delta 3"), beta=(1.0, 0.0, 0.75)):
    """Rows, labels, and a certificate without claims: its witnesses are any numbers."""
    n, p = draw(st.integers(classes, 5)), draw(st.integers(1, 3))
    X = np.array(draw(st.lists(st.lists(entries, min_size=p, max_size=p), min_size=n, max_size=n)))
    y = draw(
        st.permutations(
            [*range(classes), *draw(st.lists(st.integers(0, classes - 1), min_size=n - classes, max_size=n - classes))]
        )
    )
    labels = ["abc"[code] for code in y]
    rows, width = (n * (classes - 1), classes * (p + 1)) if classes > 2 else (n, p + 1)
    bits = draw(st.sampled_from([2, 20, 53, 70, 300]))

    def vector(least, size):
        values = draw(st.lists(st.integers(least, 2**bits), min_size=size, max_size=size))
        return {"exponent": draw(st.integers(-80, 3)), "values": [v if abs(v) < 2**60 else hex(v) for v in values]}

    def mixture():
        some = vector(0, rows)
        return some | {"values": [draw(st.integers(1, 9)), *some["values"][1:]]}

    problem = {
        "positive": None if classes > 2 else "b",
        "games": classes == 2,
        "bias": draw(st.sampled_from(beta)),
        "epsilon": "0.1",
        "delta": "0.02",
    }
    problem |= {"w": {k: vector(-(2**bits), width) for k in names}, "lambda": {k: mixture() for k in names}}
    if not problem["bias"]:
        problem["w"] = {k: w | {"values": [*w["values"][:-1], 0]} for k, w in problem["w"].items()}
    data = {"rows": n, "features": p, "classes": list("abc"[:classes]), "remarks": []}
    name = f"bias {problem['bias']:g}" if problem["bias"] else "no bias"
    facts = {"format": "linsep certificate", "version": 1, "data": data, "runs": {}, "risk": {}}
    return X, labels, facts | {"problems": {name if classes == 2 else f"pairs, {name}": problem}}


def separating(X, y, facts):
    """The same certificate for rows that its first weights separate: labels are what they say, rows in doubt go."""
    (problem,) = facts["problems"].values()
    w = plain.whole(problem["w"]["margin"], X.shape[1] + 1)
    scores = [plain.dot(z, w) for z in plain.signed(X, ["b"] * len(y), "b", problem["bias"])]
    keep = [i for i, score in enumerate(scores) if score]
    for name, witness in problem["lambda"].items():
        problem["lambda"][name] = witness | {"values": [1, *[witness["values"][i] for i in keep][1:]]}
    facts["data"]["rows"] = len(keep)
    return X[keep], ["b" if scores[i] > 0 else "a" for i in keep], facts


def agreed(X, y, facts):
    """Hold all claims of the checker against the definitions."""
    rows = checker.CheckedRows(X, y, facts["data"]["classes"])
    facts["data"]["sha256"] = rows.sha256
    found, proved = checker.claims(facts, rows), plain.claims(facts, X, y)
    found.pop("witnesses: sha256")
    assert set(found) == set(proved)
    wrong = {k: (found[k], proved[k]) for k in proved if not plain.true(k, found[k], proved[k])}
    assert not wrong
    return proved


@some
@given(certificates())
def test_all_claims_of_a_problem_are_those_of_the_definitions(made):
    agreed(*made)


@some
@given(certificates(), st.booleans())
def test_claims_of_what_is_separable(made, upside):
    X, y, facts = made
    (problem,) = facts["problems"].values()
    if upside:
        problem["w"]["margin"]["values"] = [3, *[1] * (X.shape[1] - 1), bool(problem["bias"])]
    X, y, facts = separating(X, y, facts)
    assume(len(y) > 0)
    proved = agreed(X, y, facts)
    assert {v for k, v in proved.items() if k.endswith("verdict")} == {"separable"}
    assert any("perceptron's mistakes at most" in k for k in proved)
    assert any("balanced Winnow's mistakes at most" in k for k in proved)
    assert not upside or any(": Winnow's mistakes at most" in k for k in proved)


@pytest.mark.slow
@some
@given(certificates(wild, beta=(1.0, 0.0, TINY, 1e300)))
def test_claims_are_exact_on_wild_exponents(made):
    agreed(*made)


@some
@given(certificates(wild))
def test_products_are_exact_on_wild_exponents(made):
    X, y, facts = made
    (known,) = facts["problems"].values()
    problem = checker.SignedProblem(checker.CheckedRows(csr_array(X), y, ["a", "b"]), known, ["a", "b"])
    Z = plain.signed(X, y, "b", known["bias"])
    for k, w in problem.w.items():
        assert [s * problem.unit for s in problem.scores[k]] == [plain.dot(z, w) for z in Z]
        assert [q * problem.unit for q in problem.point[k]] == plain.mixed(problem.dual[k], Z)
    assert problem.radius2 == max(plain.dot(z, z) for z in Z)
    assert problem.entry == max(abs(v) for z in Z for v in z)


@settings(max_examples=15)
@given(certificates(classes=3))
def test_claims_of_pairs_of_classes(made):
    agreed(*made)


def test_products_are_exact_in_blocks_of_any_size(monkeypatch):
    facts = certify(X, Y, passes=2).facts
    whole = checker.claims(facts, checker.CheckedRows(X, Y, ["no", "yes"]))
    for size in (1, 4, 9):
        monkeypatch.setattr(checker, "BLOCK_ENTRIES", size)
        assert checker.claims(facts, checker.CheckedRows(csr_array(X), Y, ["no", "yes"])) == whole


def played(data, made, **run):
    """A certificate with a run on it."""
    X, y, facts = made
    X, y, facts = separating(X, y, facts) if data.draw(st.booleans()) else made
    (name,) = facts["problems"]
    if not len(y):
        return None
    rows = data.draw(st.lists(st.integers(0, len(y) - 1), min_size=1, max_size=6))
    passes = max(3, max(map(rows.count, rows)))
    if passes == 3:
        facts["runs"] = {
            "run": {"problem": name, "witness": "margin", "passes": 3, "rounds": 3 * len(y), "rows": rows} | run
        }
        facts["runs"]["run"]["rounds"] = max(len(rows), 3 * len(y))
    return X, y, facts


def mistaken(X, y, facts, weights):
    """Leave only the rounds of a run that are mistakes, weights(s) being those for the sum s; None if none is."""
    (problem,), (one,) = facts["problems"].values(), facts["runs"].values()
    Z, rows = plain.rows_of(problem, X, y, facts["data"]["classes"]), []
    s = [Fraction(0)] * len(Z[0])
    for i in one["rows"]:
        if plain.dot(Z[i], weights(s)) <= 0:
            rows.append(i)
            s = [a + b for a, b in zip(s, Z[i], strict=True)]
    one["rows"] = rows
    return X, y, facts


@pytest.mark.slow
@pytest.mark.parametrize("p", [2.0, 3.0, 4.5])
@some
@given(data=st.data(), made=certificates())
def test_both_lemmas_of_a_run(p, data, made):
    made = played(data, made, theorem="perceptron", p=p)
    assume(made and made[2]["runs"])
    image = (lambda s: s) if p == 2 else lambda s: [math.copysign(abs(v) ** (p - 1), v) for v in map(float, s)]
    X, y, facts = mistaken(*made, lambda s: [Fraction(v) for v in image(s)])
    assume(np.any(X) or facts["problems"][facts["runs"]["run"]["problem"]]["bias"])
    agreed(X, y, facts)


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["simplex", "l1"])
@some
@given(data=st.data(), made=certificates(), rate=st.sampled_from([0.01, 0.25, 1.0, 7.5]))
def test_the_falls_of_winnows_potential(norm, data, made, rate):
    (problem,) = made[2]["problems"].values()
    if norm == "simplex":
        values = problem["w"]["margin"]["values"]
        problem["w"]["margin"]["values"] = [hex(abs(int(v, 16))) if isinstance(v, str) else abs(v) for v in values]
    X, y, facts = separating(*made)
    assume(np.any(X))
    made = played(data, (X, y, facts), theorem="winnow", norm=norm, rate=rate)
    assume(made and made[2]["runs"])
    X, y, facts = _winnows_mistakes(*made, norm == "l1", rate)
    assume(facts["runs"]["run"]["rows"])
    agreed(X, y, facts)


def _winnows_mistakes(X, y, facts, balanced, rate):
    """Leave only the rounds that are mistakes of Winnow."""
    p = X.shape[1]

    def weights(s):
        up, down = ([Fraction(math.exp(way * rate * float(v))) for v in s] for way in (1, -1))
        return [a - b if balanced or j == p else a for j, (a, b) in enumerate(zip(up, down, strict=True))]

    return mistaken(X, y, facts, weights)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "C"), [(True, 0.5), (True, 8.0), (False, 0.5), (False, None)])
@some
@given(data=st.data(), made=certificates(names=("margin", "hinge")))
def test_the_losses_of_passive_aggressive(first, C, data, made):
    X, y, facts = separating(*made) if C is None else made
    assume(np.any(X))  # nothing is learned from no rows, or rows of zeros
    (name,) = facts["problems"]
    problem = facts["problems"][name]
    if C is None:
        problem["w"]["hinge"] = problem["w"]["margin"] | {"exponent": 100}
    order = data.draw(st.permutations([*range(len(y))] * 2))
    rows, steps = _passive_aggressive(plain.signed(X, y, "b", problem["bias"]), order, first, C)
    run = {"theorem": "passive_aggressive", "problem": name, "C": C, "first": first, "exponent": -60, "steps": steps}
    facts["runs"] = {"run": run | {"passes": 2, "rounds": len(order), "rows": rows}}
    agreed(X, y, facts)


def _passive_aggressive(Z, order, first, C):
    """The rows and steps, in units of 2^-60, of a run."""
    w, rows, steps = [Fraction(0)] * len(Z[0]), [], []
    for i in order:
        loss, norm2 = 1 - plain.dot(Z[i], w), plain.dot(Z[i], Z[i])
        if loss > 0 and norm2:
            step = min(Fraction(C), loss / norm2) if first else loss / (norm2 + (1 / Fraction(2 * C) if C else 0))
            rows.append(i)
            steps.append(int(step * 2**60))
            w = [a + Fraction(steps[-1], 2**60) * b for a, b in zip(w, Z[i], strict=True)]
    return rows, steps


fractions = st.fractions(min_value=Fraction(1, 10**40), max_value=10**40)


@settings(max_examples=100)
@given(
    fractions,
    st.sampled_from([Fraction(1, 2), Fraction(3), Fraction(9, 2), Fraction(2, 9), Fraction(4, 3), Fraction(10, 7)]),
)
def test_powers_are_rounded_outwards(a, e):
    down, up = (checker.power(a, way, e) for way in (checker.DOWN, checker.UP))
    assert down**e.denominator <= a**e.numerator <= up**e.denominator
    assert up <= down * (1 + Fraction(1, 10**45))


@pytest.mark.slow
@settings(max_examples=100)
@given(fractions, st.sampled_from([Fraction(1), Fraction(-3, 7), Fraction(1, 10**30), Fraction(20)]))
def test_logarithms_and_exponentials_are_rounded_outwards(a, q):
    near = [plain.log(a), plain.MANY.exp(plain.real(q))]
    for name, x, true in zip(("ln", "exp"), (a, q), near, strict=True):
        down, up = (checker.beside(name, x, way) for way in (checker.DOWN, checker.UP))
        assert down <= Fraction(true) * (1 + Fraction(x != 1, 10**70)) or a == 1
        assert down <= Fraction(true) <= up
        assert up - down <= abs(up) / 10**45


@settings(max_examples=100)
@given(st.fractions(), st.sampled_from([0, -400, 400, -30, 30]))
def test_numbers_are_stated_in_nine_digits_outwards(q, scale):
    q *= Fraction(10) ** scale
    down, up = (Decimal(checker.stated(q, way)) for way in (checker.DOWN, checker.UP))
    assert Fraction(down) <= q <= Fraction(up)
    assert Fraction(up) - Fraction(down) <= abs(q) / 10**8
    assert len(plain.MANY.normalize(up).as_tuple().digits) <= 9


def test_the_callers_decimals_do_not_matter():
    facts = certify(X, Y, passes=2).facts
    for rounded in ({"prec": 3}, {"Emax": 2, "Emin": -2}):
        with localcontext(**rounded):
            assert {status for _, status, _ in checker.check(facts, X, Y)} == {"holds"}
    assert getcontext().prec == 28


def test_the_sample_size_and_the_vc_dimension():
    facts = certify(X, Y, passes=1, epsilon=0.1, delta=0.01).facts
    for name, dimension in (("bias 1", 4), ("no bias", 3)):
        assert facts["claims"][f"{name}: VC dimension"] == dimension
        size = max(4 / 0.1 * math.log2(2 / 0.01), 8 * dimension / 0.1 * math.log2(13 / 0.1))
        assert facts["claims"][f"{name}: sample size"] == math.ceil(size)
