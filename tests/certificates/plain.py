"""References for certificates: the definitions in fractions, term by term, and whether rows can be separated."""

import hashlib
import json
import math
import struct
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np

from tests.certificates import plain_kernel, plain_mixes, plain_replay

MANY = Context(prec=80, Emin=MIN_EMIN, Emax=MAX_EMAX)
NORMS = {"l2": "perceptron's", "simplex": "Winnow's", "l1": "balanced Winnow's"}


def real(number):
    """A fraction to 80 digits."""
    number = Fraction(number)
    return MANY.divide(Decimal(number.numerator), Decimal(number.denominator))


def power(number, exponent):
    """number^exponent to about 78 digits, for a number that is not below 0."""
    with localcontext(MANY):
        return (real(exponent) * real(number).ln()).exp() if number else Decimal(0)


def log(number):
    """The natural logarithm to 80 digits."""
    return MANY.ln(real(number))


def dense(X):
    """The rows as lists of fractions, whatever they came as."""
    X = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=np.float64)
    return [[Fraction(v) for v in row] for row in X.tolist()]


def sha256(X, y, classes):
    """What binds a certificate to data: sizes and classes, then labels, row lengths, columns and values, each apart."""
    rows = [[(j, float(v)) for j, v in enumerate(row) if v] for row in dense(X)]
    head = json.dumps([len(rows), len(dense(X)[0]), len(y), classes]).encode()
    parts = [struct.pack("<q", classes.index(label)) for label in y], [struct.pack("<q", len(row)) for row in rows]
    parts += (
        [struct.pack("<q", j) for row in rows for j, _ in row],
        [struct.pack("<d", v) for row in rows for _, v in row],
    )
    digests = [hashlib.sha256(head + b"".join(part)).digest() for part in parts]
    return hashlib.sha256(b"".join(digests)).hexdigest()


def signed(X, y, positive, bias):
    """The rows z_i = y_i [x_i, beta]."""
    rows = zip(dense(X), y, strict=True)
    return [[v if label == positive else -v for v in [*row, Fraction(bias)]] for row, label in rows]


def pairs(X, y, classes, bias):
    """The rows of pairs: [x, beta] in the columns of its class, its negative in those of each rival in turn."""
    found = []
    for row, label in zip(dense(X), y, strict=True):
        x = [*row, Fraction(bias)]
        for rival in (c for c in classes if c != label):
            blocks = {label: x, rival: [-v for v in x]}
            found.append([v for c in classes for v in blocks.get(c, [Fraction(0)] * len(x))])
    return found


def separable(Z):
    """Whether some w has z·w > 0 for all rows: none has iff a mixture of rows is 0 (Gordan).

    The simplex method in fractions with Bland's rule looks for that mixture: it drives the sum of the artificial
    variables of sum lambda_i z_i = 0, sum lambda_i = 1 to its minimum.
    """
    columns = [[*row, Fraction(1)] for row in Z]
    m = len(columns[0])
    table = [[c[i] for c in columns] + [Fraction(i == m - 1)] for i in range(m)]
    cost = [sum(row[j] for row in table) for j in range(len(Z) + 1)]
    basis = [None] * m
    while (enter := next((j for j in range(len(Z)) if cost[j] > 0), None)) is not None:
        ratios = [
            (row[-1] / row[enter], -1 if b is None else b, i)
            for i, (row, b) in enumerate(zip(table, basis, strict=True))
            if row[enter] > 0
        ]
        _, _, leave = min(ratios)
        pivot = [v / table[leave][enter] for v in table[leave]]
        table = [
            pivot if i == leave else [a - row[enter] * b for a, b in zip(row, pivot, strict=True)]
            for i, row in enumerate(table)
        ]
        cost = [a - cost[enter] * b for a, b in zip(cost, pivot, strict=True)]
        basis[leave] = enter
    return cost[-1] > 0


class NonsenseError(ValueError):
    """A certificate whose witnesses no theorem speaks about."""


class UnreadableError(ValueError):
    """A witness that is no list of numbers: it proves what it proves, but here that is not computed."""


def _numbers(values):
    """Whether they are integers."""
    return all(type(v) is int for v in values)


def sensible(facts, n, p):
    """Refuse what would make a claim mean something else than its name says."""
    data, runs = facts["data"], facts["runs"]
    require((data["rows"], data["features"]) == (n, p), "rows and features are those of the data")
    require(isinstance(data["classes"], list) and len(set(data["classes"])) == len(data["classes"]), "classes differ")
    for problem in facts["problems"].values():
        require(math.isfinite(float(problem["bias"])), "the bias is a number")
    for name, run in runs.items():
        problem = facts["problems"][run["problem"]]
        if "updates" in run:
            continue
        rows = run["rows"]
        size = n * (len(data["classes"]) - 1) if problem["positive"] is None else n
        require(all(type(i) is int and 0 <= i < size for i in rows), "rows are numbers of rows")
        require(rows and type(run["passes"]) is int, "there are passes, and mistakes")
        require(max(map(rows.count, rows)) <= run["passes"], "no row is seen more often than there are passes")
        require(len(rows) <= run["rounds"] <= run["passes"] * n, "mistakes are rounds, and rounds are in passes")
        require("p" not in run or Fraction(run["p"]) >= 2, "the lemma needs p >= 2")
        require(run.get("C") is None or run["C"] > 0, "C is positive")
        require(name not in facts["risk"] or (run["passes"], run["rounds"]) == (1, n), "the risk is that of one pass")


def require(holds, what):
    """Raise an error unless it holds."""
    if not holds:
        raise NonsenseError(what)


def whole(witness, size):
    """A witness in full: integers."""
    at, values = witness.get("at", [*range(size)]), witness["values"]
    if not isinstance(at, list) or not isinstance(values, list) or len(at) != len(values) or not _numbers(at):
        raise UnreadableError(f"{witness} is no vector")
    found = {j % size: int(v, 16) if isinstance(v, str) else int(v) for j, v in zip(at, values, strict=True)}
    return [found.get(j, 0) for j in range(size)]


def dot(a, b):
    """The sum of products."""
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def mixed(a, Z):
    """The sum of a_i z_i."""
    return [dot(a, column) for column in zip(*Z, strict=True)]


def rows_of(problem, X, y, classes):
    """The signed rows of a problem, whose columns may be scaled."""
    if "scale" in problem:
        X = np.asarray(X.todense() if hasattr(X, "todense") else X, float)
        scale = problem["scale"]
        powers = dict(zip(scale.get("at", range(X.shape[1])), scale["values"], strict=True))
        X = X * [2.0 ** powers.get(j, 0) for j in range(X.shape[1])]
    if problem["positive"] is None:
        return pairs(X, y, classes, problem["bias"])
    return signed(X, y, problem["positive"], problem["bias"])


def claims(facts, X, y):
    """What the witnesses prove: {claim: value}, numbers to 80 digits; y are the names of the classes."""
    classes, found = facts["data"]["classes"], {}
    sensible(facts, len(y), len(dense(X)[0]))
    for name, problem in facts["problems"].items():
        found[name] = of_problem(problem, rows_of(problem, X, y, classes), len(dense(X)[0]))
    for name, run in facts["runs"].items():
        problem = facts["problems"][run["problem"]]
        if run["theorem"] == "kernel_perceptron":
            found[name] = plain_kernel.claims(run, problem, X, y)
            continue
        theorem = {
            "perceptron": perceptron, "winnow": winnow, "passive_aggressive": passive_aggressive, "romma": romma,
        }[run["theorem"]]  # fmt: skip
        Z, more = rows_of(problem, X, y, classes), {}
        if "shards" in run:
            codes = [classes.index(label) for label in y]
            run, more = plain_mixes.replayed(run, Z, codes, len(dense(X)[0]))
            theorem = plain_mixes.THEOREMS[run["theorem"]]
        elif "updates" in run:
            run, more = replayed(run, problem, Z, [classes.index(label) for label in y], len(dense(X)[0]))
        found[name] = theorem(run, problem, Z) | more
    if facts.get("version") == 2:
        for name, problem in facts["problems"].items():
            if "sample size" in found[name]:
                found[name]["sample size is for"] = f"epsilon {problem['epsilon']}, delta {problem['delta']}"
        for name, run in facts["runs"].items():
            found[name] |= {"confidence": repr(float(run["confidence"]))} if "confidence" in run else {}
    return {f"{name}: {claim}": value for name, more in found.items() for claim, value in more.items()}


def replayed(run, problem, Z, codes, p):
    """A run that lists its rows, and what is claimed of its rounds."""
    n, run = len(codes), run | {"codes": codes}
    if run["theorem"] == "passive_aggressive":
        found, more = plain_replay.played(run, Z, n, lambda s: s, passive_rule(run, Z))
        return run | {"losses": [max(1 - score, 0) for _, score, _, _ in found]}, more
    if run["theorem"] == "romma":
        rule = RommaRule(run["aggressive"], step_unit(Z))
        found, more = plain_replay.played(run, Z, n, rule.weigh, rule)
        return run | {"found": found}, more
    weigh = weights_of(run, p)
    with localcontext(MANY):
        found, more = plain_replay.played(run, Z, n, weigh, lambda score, z: (score <= 0, 1))
    more["final sums, sha256"] = plain_replay.sums(found, Z, p + 1, len(Z[0]) // (p + 1))
    return run | {"rows": [row for row, _, _, is_update in found if is_update]}, more


def passive_rule(run, Z):
    """What says of a score and a row whether passive-aggressive makes an update, and its step in the format's units."""
    C, unit = run["C"] and Fraction(run["C"]), step_unit(Z)

    def due(score, z):
        loss, norm2 = 1 - score, dot(z, z)
        if loss <= 0 or not norm2:
            return False, Fraction(0)
        step = loss / (norm2 + (1 / (2 * C) if C and not run["first"] else 0))
        return True, unit * round((min(C, step) if run["first"] else step) / unit)

    return due


def step_unit(Z):
    """The power of two of which steps are multiples."""
    largest = max(abs(float(v)) for z in Z for v in z)
    return Fraction(2) ** (-80 - 2 * math.frexp(largest * math.sqrt(len(Z[0])))[1])


class RommaRule:
    """What says of a score and a row whether ROMMA makes an update, its step on v, and the score below which it does.

    Its weights are w = v / (v·z), with z the row of the last update.
    """

    def __init__(self, aggressive, unit):
        self.aggressive, self.unit, self.keep, self.z, self.last, self.v = aggressive, unit, 1, None, Fraction(0), [0]

    def weigh(self, v):
        self.v, self.last = v, dot(v, self.z) if self.z else Fraction(0)
        return v

    def __call__(self, score, z):
        norm2, self.z, self.keep = dot(z, z), z, 1
        if not self.last:
            return norm2 > 0, self.rounded(1 / norm2) if norm2 else 0, 0
        w, s = [v / self.last for v in self.v], score / self.last
        length2 = dot(w, w)
        if self.aggressive and norm2 * length2 <= s < 1:
            self.keep = 0
            return norm2 > 0, self.rounded(1 / norm2), self.last
        due = norm2 > 0 and (s < 1 if self.aggressive else s <= 0)
        step = 0
        if due:
            den = norm2 * length2 - s * s
            kept, added = (norm2 * length2 - s) / den, length2 * (1 - s) / den
            step = self.rounded(added / kept * self.last)
        return due, step, self.last if self.aggressive else 0

    def rounded(self, step):
        return self.unit * round(step / self.unit)


def weights_of(run, p):
    """What says of sums which weights they mean."""
    if run["theorem"] == "winnow":
        eta, first = Fraction(run["rate"]), 0 if run["norm"] == "l1" else p

        def weigh(s):
            with localcontext(MANY):
                up, down = ([real(way * eta * v).exp() for v in s] for way in (1, -1))
                return [a - b if j >= first else a for j, (a, b) in enumerate(zip(up, down, strict=True))]

        return weigh
    if run["p"] == 2:
        return lambda s: s
    return lambda s: [power(abs(v), Fraction(run["p"]) - 1).copy_sign(real(v)) for v in s]


def norm_of(norm, w):
    """The L2 or L1 norm of weights, to 80 digits."""
    return power(dot(w, w), Fraction(1, 2)) if norm == "l2" else real(sum(map(abs, w)))


def of_problem(problem, Z, p):
    """The claims of a problem."""
    W = {k: whole(v, len(Z[0])) for k, v in problem["w"].items()}
    A = {k: whole(v, len(Z)) for k, v in problem["lambda"].items()}
    bias, paired, half = bool(problem["bias"]), problem["positive"] is None, Fraction(1, 2)
    require(all(min(a) >= 0 and any(a) for a in A.values()), "mixtures are mixtures")
    R2, entry = max(dot(z, z) for z in Z), max(abs(v) for z in Z for v in z)
    proved = any(min(dot(z, w) for z in Z) > 0 for w in W.values())
    ruled_out = any(not any(mixed(a, Z)) for a in A.values())
    require(not (proved and ruled_out), "both cannot be")
    found = {"verdict": "separable" if proved else "not separable" if ruled_out else "open"}
    found |= {"R at most": power(R2, half), "X at most": real(entry)}
    with localcontext(MANY):
        for norm in NORMS if problem["games"] else ["l2"]:
            best, least = Decimal(0), None
            for w in W.values():
                if any(w) and not (norm == "simplex" and min([*w[:-1], 0]) < 0):
                    best = max(best, real(min(dot(z, w) for z in Z)) / norm_of(norm, w))
            for a in A.values():
                q = [Fraction(v) / sum(a) for v in mixed(a, Z)]
                sides = {"simplex": [*q[:-1], abs(q[-1])], "l1": list(map(abs, q))}
                most = power(dot(q, q), half) if norm == "l2" else real(max(sides[norm]))
                least = most if least is None else min(least, most)
            found[f"{NORMS[norm]} margin at most"] = least
            if best > 0:
                found[f"{NORMS[norm]} margin at least"] = best
                weights = {"simplex": p, "l1": 2 * p}.get(norm, 0) + 2 * bias
                bound = real(R2) / best**2 if norm == "l2" else winnows_bound(best / real(entry), weights)
                found[f"{NORMS[norm]} mistakes at most"] = bound
        for name in [k for k in W if k.startswith("delta ")]:
            T, a, q = int(name[6:]), A[name], mixed(A[name], Z)
            ww, _, squares = fit(problem, name, Z)
            found[f"perceptron's mistakes (T = {T}) at most"] = (power(R2 * ww, half) + power(T * squares, half)) ** 2
            limits = [Fraction(T) / dot(a, a), *([R2 / dot(q, q)] if any(q) else [])]
            found[f"the least such bound (T = {T}) at least"] = real(min(limits) * sum(a) ** 2)
        if "combinations" in problem:
            found |= fewest_errors(problem, W, Z, len(Z[0]) // (p + 1) - 1 if paired else 1, ruled_out)
        if not paired:
            e, d = Fraction(problem["epsilon"]), Fraction(problem["delta"])
            found["VC dimension"] = p + bias
            log2 = [log(2 / d) / log(2), log(13 / e) / log(2)]
            found["sample size"] = math.ceil(max(4 / real(e) * log2[0], 8 * (p + bias) / real(e) * log2[1]))
    return found


def fewest_errors(problem, W, Z, rivals, ruled_out):
    """Bounds of the fewest rows that weights get wrong: sets of rows that cancel, and the errors of each witness."""
    sets = [dict(zip(of["at"], map(as_integer, of["values"]), strict=True)) for of in problem["combinations"]]
    rows = [{i // rivals for i in of} for of in sets]
    require(len(set().union(*rows)) == sum(map(len, rows)), "combinations are disjoint")
    for of in sets:
        require(min(of.values()) > 0 and min(of) >= 0, "factors are above 0")
        require(not any(sum(a * Z[i][j] for i, a in of.items()) for j in range(len(Z[0]))), "rows cancel")
    errors = {k: len({i // rivals for i, z in enumerate(Z) if dot(z, w) <= 0}) for k, w in W.items()}
    more = {"errors of the model": errors["model"]} if "model" in errors else {}
    least = max(len(sets), int(ruled_out))
    return {"fewest errors at least": least, "fewest errors at most": min(errors.values())} | more


def as_integer(value):
    """A number of a witness; long ones are texts in base 16."""
    return int(value, 16) if isinstance(value, str) else int(value)


def winnows_bound(r, weights):
    """ln N / L* at a margin r of the largest entry; with more digits for a small r, as L* is about r²/2."""
    with localcontext(MANY, prec=100 - 3 * min(r.adjusted(), 0)):
        fall = sum((q * q.ln() for q in (1 + r, 1 - r) if q), Decimal(0)) / 2
        return Decimal(weights).ln() / fall


def fit(problem, name, Z, rows=None):
    """||w||², and the sums of (1 - z_i·w)+ and of its square."""
    unit = Fraction(2) ** problem["w"][name]["exponent"]
    w = [unit * v for v in whole(problem["w"][name], len(Z[0]))]
    misses = [max(1 - dot(Z[i], w), 0) for i in (range(len(Z)) if rows is None else rows)]
    return dot(w, w), sum(misses), dot(misses, misses)


def perceptron(run, problem, Z):
    """Both lemmas, at every mistake, of the perceptron in a p-norm."""
    P, u, rows = Fraction(run["p"]), whole(problem["w"][run["witness"]], len(Z[0])), run["rows"]
    k, s, worst, ratios = len(rows), [Fraction(0)] * len(Z[0]), Decimal(0), []
    least = min(dot(z, u) for z in Z)
    with localcontext(MANY):
        X2 = max(power_norm2(z, P) for z in Z)
        for j, i in enumerate(rows, 1):
            require(mistake([power(abs(v), P - 1).copy_sign(real(v)) for v in s], Z[i]), "updates are mistakes")
            s = [a + b for a, b in zip(s, Z[i], strict=True)]
            worst = max(worst, power_norm2(s, P) / (real(P - 1) * j * X2))
            ratios.append(dot(s, u) / (j * least) if least > 0 else 0)
        found = {"mistakes": k, "lemma 2, ratio at most": worst}
        found["margin at most"] = power_norm2(s, P).sqrt() / k
        if least > 0:
            bound = real(P - 1) * power_norm2(u, P / (P - 1)) * X2 / real(least) ** 2
            found |= {"lemma 1, ratio at least": real(min(ratios)), "mistakes at most": bound}
            found["mistakes within the bound"] = True
        if P == 2:
            ww, hinge, _ = fit(problem, f"delta {run['passes']}", Z, rows)
            a = max(dot(z, z) for z in Z) * ww
            found["mistakes at most, by the regret"] = ((real(a).sqrt() + real(a + 4 * hinge).sqrt()) / 2) ** 2
    return found


def mistake(w, z):
    """Whether weights of 80 digits err on a row, or nearly so: a learner in floats cannot tell."""
    terms = [a * real(b) for a, b in zip(w, z, strict=True)]
    return sum(terms) <= Decimal("1e-9") * sum(map(abs, terms))


def power_norm2(z, P):
    """The square of the P-norm."""
    return power_of(sum((power(abs(v), P) for v in z), Decimal(0)), 2 / P)


def power_of(number, exponent):
    """A power of a number of 80 digits."""
    with localcontext(MANY):
        return (real(exponent) * number.ln()).exp() if number else Decimal(0)


def winnow(run, problem, Z):
    """The fall of KL(u || w) at each mistake, in the 2p (+ 2) weights that Winnow has inside."""
    balanced, bias = run["norm"] == "l1", bool(problem["bias"])
    u, eta = whole(problem["w"][run["witness"]], len(Z[0])), Fraction(run["rate"])

    def spread(v, apart):
        """The vector on Winnow's own weights; apart: a weight's sign says which of two it is."""
        plus, minus = ([max(x, 0) for x in v], [max(-x, 0) for x in v]) if apart else (v, [-x for x in v])
        ends = [plus[-1], minus[-1]] * bias
        return [*plus[:-1], *(minus[:-1] if balanced else []), *ends]

    require(balanced or min([*u[:-1], 0]) >= 0, "Winnow's weights are not below 0")
    target, s, falls = spread(u, True), [Fraction(0)] * len(spread(u, True)), []
    entry = max(abs(v) for z in Z for v in z)
    margin = Fraction(min(dot(z, u) for z in Z)) / sum(target)
    with localcontext(MANY):
        L = real(eta * margin) - ((real(eta * entry).exp() + real(-eta * entry).exp()) / 2).ln()
        for i in run["rows"]:
            z = spread(Z[i], False)
            after = [a + b for a, b in zip(s, z, strict=True)]
            require(mistake([real(eta * v).exp() for v in s], z), "updates are mistakes")
            sums = [sum((real(eta * v).exp() for v in t), Decimal(0)) for t in (s, after)]
            falls.append(real(eta * dot(z, target) / sum(target)) - (sums[1] / sums[0]).ln())
            s = after
        found = {"mistakes": len(falls)}
        if L > 0 and margin > 0:
            found |= {"L at least": L, "each fall of the potential at least": min(falls)}
            found |= {"each fall is at least L": True, "mistakes at most": Decimal(len(s)).ln() / L}
            found["margin at most"] = real(max(0, *s) / Fraction(len(falls)))
    return found


def passive_aggressive(run, problem, Z):
    """The losses, and the bounds of PA, PA-I and PA-II."""
    unit, C, T = Fraction(2) ** run.get("exponent", 0), run["C"] and Fraction(run["C"]), run["passes"]
    w, losses, R2 = [Fraction(0)] * len(Z[0]), run.get("losses", []), max(dot(z, z) for z in Z)
    for i, step in zip(run.get("rows", []), run.get("steps", []), strict=True):
        losses.append(max(1 - dot(Z[i], w), 0))
        w = [a + step * unit * b for a, b in zip(w, Z[i], strict=True)]
    ww, hinge, squares = fit(problem, "hinge", Z)
    k, total = sum(q >= 1 for q in losses), dot(losses, losses)
    if run["first"]:
        bound = max(R2, 1 / C) * (ww + 2 * C * T * hinge)
    else:
        require(C or not squares, "PA needs a u of margin 1")
        bound = (R2 + 1 / (2 * C)) * (ww + 2 * C * T * squares) if C else R2 * ww
    return {"mistakes": k, "losses² at most": real(total), "bound at most": real(bound), "within the bound": True}


def romma(run, problem, Z):
    """The squared length of w = v / (v·z) after each update, against k / R² and 1 / gamma²."""
    u, R2 = whole(problem["w"][run["witness"]], len(Z[0])), max(dot(z, z) for z in Z)
    least, k, v, total, last, lengths = min(dot(z, u) for z in Z), 0, [0] * len(Z[0]), 0, 0, []
    for row, score, step, listed in run["found"]:
        k += score <= 0
        if not listed:
            continue
        z = Z[row]
        own = dot(v, v)
        # Aggressive ROMMA forgets v where the new row alone meets the constraint of all before.
        alone = own and run["aggressive"] and own * dot(z, z) <= score * last
        v, total = ([0] * len(v), 0) if alone else (v, total)
        v, total = [a + step * b for a, b in zip(v, z, strict=True)], total + step
        last = dot(v, z)
        lengths.append((dot(v, v) / last**2, k))
    found = {"mistakes": k, "margin at most": power(dot(v, v), Fraction(1, 2)) / real(total)}
    if least > 0:
        gamma2 = Fraction(least) ** 2 / dot(u, u)
        found |= {"lemma 1, ratio at least": real(min(q * R2 / made for q, made in lengths))}
        found |= {"lemma 2, ratio at most": real(max(q for q, _ in lengths) * gamma2)}
        found |= {"mistakes at most": real(R2 / gamma2), "mistakes within the bound": True}
    return found


def true(claim, stated, exact):
    """Whether a statement follows from the exact number, and is within 1e-8 of it."""
    if not isinstance(exact, Decimal):
        return stated == exact
    with localcontext(MANY):
        stated, slack = Decimal(stated), abs(exact) * Decimal("1e-60")
        near = abs(stated - exact) <= abs(exact) * Decimal("1.1e-8") + Decimal("1e-45")
        return near and (
            stated >= exact - slack if claim.endswith("at most") or "at most, " in claim else stated <= exact + slack
        )
