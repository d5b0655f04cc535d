"""References for runs whose shards were mixed: every shard played again in fractions, and a mix as their mean."""

from decimal import Decimal, localcontext
from fractions import Fraction

from tests.certificates import plain, plain_replay

WEIGHTED = "mixed mistakes"


def played(run, size, update, weights=None):
    """All mixes of a run: (s, [(mu, row, s before it), ...]) of each; `update` says what a row adds to s."""
    s, done, found = [Fraction(0)] * size, 0, []
    for shards in run["mixes"]:
        total, ends, moves = sum(share for _, share in shards), [], []
        for count, share in shards:
            own = s
            for k in range(done, done + count):
                moves.append((Fraction(share, total), run["rows"][k], own))
                if weights is not None:
                    plain.require(plain.mistake(weights(own), update(k)), "updates are mistakes")
                own = plain_sum(own, update(k))
            done += count
            ends.append((Fraction(share, total), own))
        s = [sum((mu * end[j] for mu, end in ends), Fraction(0)) for j in range(size)]
        found.append((s, moves))
    plain.require(done == len(run["rows"]), "each update is in a mix")
    return found


def plain_sum(a, b):
    """The sum of two vectors."""
    return [x + y for x, y in zip(a, b, strict=True)]


def counts_of(mixes):
    """The weighted mistakes after each mix."""
    return [sum((mu for _, moves in mixes[: n + 1] for mu, *_ in moves), Fraction(0)) for n in range(len(mixes))]


def perceptron(run, problem, Z):
    """Both lemmas at each mix with mistakes."""
    P, u = Fraction(run["p"]), plain.whole(problem["w"][run["witness"]], len(Z[0]))
    least, ratios, worst = min(plain.dot(z, u) for z in Z), [], Decimal(0)
    with localcontext(plain.MANY):
        X2 = max(plain.power_norm2(z, P) for z in Z)
        image = _p_norm_weights(P)
        mixes = played(run, len(Z[0]), lambda k: Z[run["rows"][k]], image)
        for (s, moves), K in zip(mixes, counts_of(mixes), strict=True):
            if moves:
                worst = max(worst, plain.power_norm2(s, P) / (plain.real(P - 1) * plain.real(K) * X2))
                ratios.append(plain.dot(s, u) / (K * least) if least > 0 else 0)
        found = {"mistakes": len(run["rows"]), WEIGHTED: plain.real(K), "lemma 2, ratio at most": worst}
        found["margin at most"] = plain.power_norm2(s, P).sqrt() / plain.real(K)
        if least > 0:
            bound = plain.real(P - 1) * plain.power_norm2(u, P / (P - 1)) * X2 / plain.real(least) ** 2
            found |= {"lemma 1, ratio at least": plain.real(min(ratios)), "mistakes at most": bound}
            found["mistakes within the bound"] = True
            assert plain.real(K) <= bound * max(worst, 1) * (1 + Decimal("1e-70"))  # equal up to 80 digits
        if P == 2:
            hinge = sum(
                (mu * plain.fit(problem, f"delta {run['passes']}", Z, [i])[1] for _, m in mixes for mu, i, _ in m),
                Fraction(0),
            )
            a = max(plain.dot(z, z) for z in Z) * plain.fit(problem, f"delta {run['passes']}", Z)[0]
            regret = ((plain.real(a).sqrt() + plain.real(a + 4 * hinge).sqrt()) / 2) ** 2
            assert plain.real(K) <= regret * max(worst, 1) * (1 + Decimal("1e-60"))
            found["mistakes at most, by the regret"] = regret
    return found


def _p_norm_weights(P):
    return lambda s: [plain.power(abs(v), P - 1).copy_sign(plain.real(v)) for v in s]


def passive_aggressive(run, problem, Z):
    """The losses times their weights. A row's own loss under u counts as often as its updates weigh, at the most."""
    unit, C = Fraction(2) ** run["exponent"], run["C"] and Fraction(run["C"])
    R2 = max(plain.dot(z, z) for z in Z)
    mixes = played(run, len(Z[0]), lambda k: [run["steps"][k] * unit * v for v in Z[run["rows"][k]]])
    losses = [(mu, max(1 - plain.dot(Z[i], s), Fraction(0))) for _, moves in mixes for mu, i, s in moves]
    heaviest = max(sum((mu for _, m in mixes for mu, i, _ in m if i == row), Fraction(0)) for row in run["rows"])
    ww, hinge, squares = plain.fit(problem, "hinge", Z)
    K, total = sum((mu for mu, q in losses if q >= 1), Fraction(0)), sum((mu * q * q for mu, q in losses), Fraction(0))
    if run["first"]:
        bound = max(R2, 1 / C) * (ww + 2 * C * heaviest * hinge)
    else:
        plain.require(C or not squares, "PA needs a u of margin 1")
        bound = (R2 + 1 / (2 * C)) * (ww + 2 * C * heaviest * squares) if C else R2 * ww
    found = {"mistakes": sum(q >= 1 for _, q in losses), WEIGHTED: plain.real(K), "losses² at most": plain.real(total)}
    return found | {"bound at most": plain.real(bound), "within the bound": (K if run["first"] else total) <= bound}


def winnow(run, problem, Z):
    """The fall of KL(u || w) at each mix, for each of its weighted mistakes."""
    balanced, bias = run["norm"] == "l1", bool(problem["bias"])
    u, eta = plain.whole(problem["w"][run["witness"]], len(Z[0])), Fraction(run["rate"])

    def spread(v, apart):
        plus, minus = ([max(x, 0) for x in v], [max(-x, 0) for x in v]) if apart else (v, [-x for x in v])
        return [*plus[:-1], *(minus[:-1] if balanced else []), *([plus[-1], minus[-1]] * bias)]

    plain.require(balanced or min([*u[:-1], 0]) >= 0, "Winnow's weights are not below 0")
    target, entry = spread(u, True), max(abs(v) for z in Z for v in z)
    margin = Fraction(min(plain.dot(z, u) for z in Z)) / sum(target)
    with localcontext(plain.MANY):
        L = plain.real(eta * margin) - ((plain.real(eta * entry).exp() + plain.real(-eta * entry).exp()) / 2).ln()

        def exponentials(s):
            return [plain.real(eta * v).exp() for v in s]

        def potential(s):
            return sum(exponentials(s)).ln() - plain.real(eta * plain.dot(s, target) / sum(target))

        mixes = played(run, len(target), lambda k: spread(Z[run["rows"][k]], False), exponentials)
        K, falls, before = counts_of(mixes)[-1], [], [Fraction(0)] * len(target)
        for s, moves in mixes:
            if moves:
                falls.append((potential(before) - potential(s)) / plain.real(sum(mu for mu, *_ in moves)))
            before = s
        found = {"mistakes": len(run["rows"]), WEIGHTED: plain.real(K)}
        if L > 0 and margin > 0:
            found |= {"L at least": L, "each fall of the potential at least": min(falls)}
            found |= {"each fall is at least L": True, "mistakes at most": Decimal(len(s)).ln() / L}
            found["margin at most"] = plain.real(max(0, *s) / K)
            assert plain.real(K) <= found["mistakes at most"] * (1 + Decimal("1e-8"))
    return found


def replayed(run, Z, codes, p):
    """A run with shards as version 1 states it: its rows and mixes, from the order, the rule and the data."""
    run = run | {"codes": codes}
    if run["theorem"] == "passive_aggressive":
        weigh, due = (lambda s: s), plain.passive_rule(run, Z)
    else:
        weigh, due = plain.weights_of(run, p), (lambda score, z: (score <= 0, 1))
    with localcontext(plain.MANY):
        found, more, mixes = plain_replay.mixed(run, Z, len(codes), weigh, due)
    steps = {"steps": [step for _, _, step, _ in found], "exponent": 0} if "C" in run else {}
    return run | {"rows": [row for row, *_ in found], "mixes": mixes, "sums": True} | steps, more


THEOREMS = {"perceptron": perceptron, "winnow": winnow, "passive_aggressive": passive_aggressive}


def claims(facts, X, y):
    """What the witnesses prove of runs, mixed or not; y are the names of the classes."""
    found = {}
    for name, run in facts["runs"].items():
        problem = facts["problems"][run["problem"]]
        Z = plain.rows_of(problem, X, y, facts["data"]["classes"])
        more = {}
        if "shards" in run:
            classes = facts["data"]["classes"]
            run, more = replayed(run, Z, [classes.index(label) for label in y], len(plain.dense(X)[0]))
        theorem = THEOREMS[run["theorem"]] if "mixes" in run else getattr(plain, run["theorem"])
        if "sums" not in run:
            plain.require(max(map(run["rows"].count, run["rows"])) <= run["passes"], "a row is seen once in a pass")
        found |= {f"{name}: {k}": v for k, v in {**theorem(run, problem, Z), **more}.items()}
    return found


def true(claim, stated, exact):
    """Whether a statement follows from the exact number; the weighted sum is one that is rounded up."""
    return plain.true(f"{claim} at most" if claim.endswith(WEIGHTED) else claim, stated, exact)


def untrue(facts, X, y):
    """The claims of runs that do not follow from the witnesses, with what does."""
    proved = claims(facts, X, y)
    stated = {k: v for k, v in facts["claims"].items() if k.partition(": ")[0] in facts["runs"]}
    wrong = {k: (stated.get(k), proved.get(k)) for k in stated | proved if (k in stated) != (k in proved)}
    wrong = {k: of for k, of in wrong.items() if not k.endswith("final sums, sha256")}  # see test_the_final_sums
    return wrong | {k: (stated[k], proved[k]) for k in proved if k in stated and not true(k, stated[k], proved[k])}
