"""A forger of certificates: honest runs on random rows, changed in many ways, with all claims recomputed.

`python -m benchmarks.forged_certificates [seconds] [seed]` runs it for long. A certificate that `verify` accepts must
state what an independent replay in fractions finds: :mod:`tests.certificates.plain`.
"""

import copy
import hashlib
import json
import time
import warnings

import numpy as np

from linsep import (
    ROMMA,
    AveragedPerceptron,
    BalancedWinnow,
    KernelPerceptron,
    PassiveAggressive,
    Perceptron,
    PNormPerceptron,
    VotedPerceptron,
    Winnow,
    verify,
)
from linsep.certificates import checker
from linsep.certificates.certificate import risks_of
from linsep.certificates.mixed_checker import checker_of
from tests.certificates import plain, plain_mixes, plain_replay

SEALED = ("data", "problems", "runs")
LEARNERS = {
    "perceptron": lambda **how: Perceptron(**how),
    "average": lambda **how: AveragedPerceptron(**how),
    "voted": lambda **how: VotedPerceptron(**how),
    "joint": lambda **how: Perceptron(multi_class="joint", **how),
    "p-norm": lambda **how: PNormPerceptron(p=3.0, **how),
    "winnow": lambda **how: Winnow(eta=0.01, x_max=8.0, **how),
    "balanced winnow": lambda **how: BalancedWinnow(eta=0.02, x_max=8.0, **how),
    "PA": lambda **how: PassiveAggressive(variant="PA-I", C=0.5, log=True, **how),
    "PA-II": lambda **how: PassiveAggressive(variant="PA-II", C=0.5, log=True, **how),
    "ROMMA": lambda **how: ROMMA(log=True, **how),
    "aggressive ROMMA": lambda **how: ROMMA(aggressive=True, log=True, **how),
    "kernel": lambda **how: KernelPerceptron(degree=3, coef0=0.0, gamma=0.25, log=True, **how),
    "shards": lambda **how: Perceptron(shards=3, mixing="mistakes", **how),
    "joint shards": lambda **how: Perceptron(multi_class="joint", shards=2, mixing="rows", **how),
    "winnow shards": lambda **how: Winnow(eta=0.01, x_max=8.0, shards=2, mixing="mistakes", **how),
    "p-norm shards": lambda **how: PNormPerceptron(p=3.0, shards=3, mixing="rows", **how),
    "PA shards": lambda **how: PassiveAggressive(variant="PA-I", C=0.5, log=True, shards=2, mixing="mistakes", **how),
}


def honest(name, rng, classes=2):
    """A certificate of a run on rows that some u >= 0 separates, with its rows, labels and learner."""
    X = rng.integers(-16, 17, (int(rng.integers(8, 20)), 3)) / 4 + rng.integers(0, 2) / 3
    u = np.array([1.0, 0.5, 0.25]) if classes == 2 else rng.normal(size=(3, classes))
    scores = X @ u
    keep = np.abs(scores) > 0.3 if classes == 2 else np.ptp(scores, axis=1) > 0.2
    X, scores = X[keep], scores[keep]
    codes = (scores > 0).astype(int) if classes == 2 else np.argmax(scores, axis=1)
    y = np.array(["a", "b", "c"])[codes]
    if len(set(y.tolist())) < classes:
        return honest(name, rng, classes)
    shuffle = [True, False, "once", "blocks"][int(rng.integers(4))]
    clf = LEARNERS[name](max_iter=int(rng.integers(1, 4)), random_state=int(rng.integers(99)), shuffle=shuffle)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(X, y)
        return json.loads(clf.certificate(X, y).text()), X, y


def updates_of(facts):
    """The run that is forged: the first; its updates may be changed."""
    return next(iter(facts["runs"].values()))


def dropped(facts, rng):
    run = updates_of(facts)
    k = int(rng.integers(len(run["updates"])))
    gone = run["updates"].pop(k)
    if k < len(run["updates"]):
        run["updates"][k] += gone
    run.get("rivals", [0] * (k + 1)).pop(k)


def added(facts, rng):
    run = updates_of(facts)
    listed = np.cumsum(run["updates"])
    free = np.setdiff1d(np.arange(1, run["rounds"] + 1), listed)
    if len(free):
        new = int(rng.choice(free))
        place = int(np.searchsorted(listed, new))
        run["updates"] = np.diff(np.insert(listed, place, new), prepend=0).tolist()
        if "rivals" in run:
            run["rivals"].insert(place, int(rng.integers(3)))


def moved(facts, rng):
    run = updates_of(facts)
    k = int(rng.integers(len(run["updates"])))
    run["updates"][k] = max(1, run["updates"][k] + int(rng.choice([-1, 1])))


def repeated(facts, rng):
    run = updates_of(facts)
    run["updates"].insert(1, 0)
    run.get("rivals", []).insert(1, 0)


def reordered(facts, rng):
    run = updates_of(facts)
    run["updates"] = run["updates"][::-1]


def other_order(facts, rng):
    run = updates_of(facts)
    other = {"seed": int(rng.integers(1000)), "shuffle": "epoch", "epochs": run["passes"]}
    run["order"] = other if run["order"] == "rows" else rng.choice(["rows", "once"]).item()
    if run["order"] == "once":
        run["order"] = other | {"shuffle": "once"}


def other_rival(facts, rng):
    run = updates_of(facts)
    if "rivals" in run:
        k = int(rng.integers(len(run["rivals"])))
        run["rivals"][k] = int(rng.integers(3))


def steps_stated(facts, rng):
    run = updates_of(facts)
    run |= {"steps": [1] * len(run["updates"]), "exponent": 0}


def rows_listed(facts, rng):
    run = updates_of(facts)
    run |= {"rows": [0] * len(run["updates"])}
    run.pop("updates")
    run.pop("order")


def phantom_class(facts, rng):
    facts["data"]["classes"].append("phantom")


def permuted_classes(facts, rng):
    facts["data"]["classes"].reverse()


def dropped_problem(facts, rng):
    facts["problems"].pop(next(iter(facts["problems"])))


def renamed_witness(facts, rng):
    problem = next(iter(facts["problems"].values()))
    problem["w"]["trust me"] = next(iter(problem["w"].values()))


def unknown_key(facts, rng):
    places = [facts["data"], *facts["problems"].values(), *facts["runs"].values()]
    places[int(rng.integers(len(places)))]["proved by"] = "me"


def huge_rate(facts, rng):
    run = updates_of(facts)
    run["rate"] = 1e250


def huge_bias(facts, rng):
    for problem in facts["problems"].values():
        problem["bias"] = 1e300


def other_C(facts, rng):
    run = updates_of(facts)
    if "C" in run:
        run["C"] *= 2


def other_p(facts, rng):
    run = updates_of(facts)
    if "p" in run:
        run["p"] += 1.0


def other_shards(facts, rng):
    run = updates_of(facts)
    if "shards" in run:
        run["shards"][0][int(rng.integers(2))] += int(rng.choice([-1, 1]))


def other_mixing(facts, rng):
    run = updates_of(facts)
    if "shards" in run:
        run["mixing"] = rng.choice(["uniform", "rows", "mistakes"]).item()


def shards_invented(facts, rng):
    run = updates_of(facts)
    run |= {"shards": [[2, 1]], "mixing": "uniform"}


def shares_stated(facts, rng):
    run = updates_of(facts)
    run["mixes"] = [[[len(run["updates"]), 1]]]


def rows_chosen(facts, rng):
    run = updates_of(facts)
    run["order"] = rng.integers(0, facts["data"]["rows"], run["rounds"]).tolist()


def other_variant(facts, rng):
    run = updates_of(facts)
    for key in {"aggressive", "first"} & {*run}:
        run[key] = not run[key]


def epochs_added(facts, rng):
    run = updates_of(facts)
    run["rounds"] += facts["data"]["rows"]


def combination_invented(facts, rng):
    problem = next(iter(facts["problems"].values()))
    rows = sorted({int(i) for i in rng.integers(0, facts["data"]["rows"], 3)})
    problem["combinations"] = [{"at": rows, "values": rng.integers(0, 3, len(rows)).tolist()}]


def scale_invented(facts, rng):
    problem = next(iter(facts["problems"].values()))
    problem["scale"] = {"values": rng.integers(-9, 9, facts["data"]["features"]).tolist()}


def other_kernel(facts, rng):
    run = updates_of(facts)
    if "degree" in run:
        key = rng.choice(["degree", "gamma", "coef0"]).item()
        run[key] = {"degree": 4 - run["degree"], "gamma": run["gamma"] * 0.5, "coef0": 1.0}[key]


def other_separator(facts, rng):
    run = updates_of(facts)
    if run.get("separator"):
        k = int(rng.integers(len(run["separator"]["values"])))
        run["separator"]["values"][k] = int(rng.integers(-9, 10))


def phantom_rows(facts, rng):
    run = updates_of(facts)
    if run.get("separator"):
        run["separator"]["at"][-1] = facts["data"]["rows"] + int(rng.integers(3))


def cancelling_invented(facts, rng):
    run = updates_of(facts)
    if "cancelling" in run:
        run |= {"separator": None, "cancelling": {"at": [0, 1, 2], "values": rng.integers(1, 5, 3).tolist()}}


def risk_of_a_chosen_seed(facts, rng):
    run = updates_of(facts)
    if isinstance(run["order"], dict):
        run["compression"] = 0.95


def risk_of_no_model(facts, rng):
    next(iter(facts["problems"].values()))["held out"] = 0.95


ATTACKS = {
    of.__name__.replace("_", " "): of
    for of in (
        dropped, added, moved, repeated, reordered, other_order, other_rival, steps_stated, rows_listed, phantom_class,
        permuted_classes, dropped_problem, renamed_witness, unknown_key, huge_rate, huge_bias, other_C, other_p,
        other_variant, epochs_added, other_shards, other_mixing, shards_invented, shares_stated, rows_chosen,
        other_kernel, other_separator, phantom_rows, cancelling_invented,
        combination_invented, scale_invented, risk_of_a_chosen_seed, risk_of_no_model,
    )
}  # fmt: skip


def recomputed(facts, X, y):
    """What a forger makes of it who lets the checker compute all claims; None where the checker refuses."""
    facts = copy.deepcopy(facts)
    try:
        rows = checker.CheckedRows(X, y, facts["data"]["classes"])
        facts["data"]["sha256"] = rows.sha256
        with np.errstate(all="ignore"):
            facts["claims"] = checker.claims(facts, rows, checker_of(facts))
        facts["risk"] = risks_of(facts["runs"], facts["claims"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError):
        return None
    text = json.dumps([facts[k] for k in SEALED], sort_keys=True)
    facts["claims"]["witnesses: sha256"] = hashlib.sha256(text.encode()).hexdigest()
    return json.loads(json.dumps(facts))


def negated(facts, X):
    """Rows on which no update was made, negated after the training."""
    run = updates_of(facts)
    rows = plain_replay.rows_of_rounds(run, len(X))
    never = np.setdiff1d(np.arange(len(X)), [rows[t] for t in plain_replay.rounds_of(run)])
    other = X.copy()
    other[never] *= -1
    return other


def untrue(facts, X, y):
    """The claims that an independent replay does not find."""
    try:
        proved = plain.claims(facts, X, y.tolist())
    except (plain.NonsenseError, KeyError, TypeError, ValueError) as error:
        return [repr(error)]
    sums = [f"{name}: final sums, sha256" for name, run in facts["runs"].items() if "shards" in run]
    return [
        k
        for k in {**proved, **facts["claims"]}
        if k not in ("witnesses: sha256", *sums)
        and not (k in proved and k in facts["claims"] and plain_mixes.true(k, facts["claims"][k], proved[k]))
    ]


def attacked(name, rng):
    """Yield (attack, whether it was believed, what is untrue of it) for each attack on one run."""
    facts, X, y = honest(name, rng, 3 if name.startswith("joint") else 2)
    if not facts["runs"]:
        return
    yield "none", verify(facts, X, y), untrue(facts, X, y)
    for attack, change in ATTACKS.items():
        other = copy.deepcopy(facts)
        change(other, rng)
        if other == facts:
            continue
        forged = recomputed(other, X, y)
        believed = [f for f in (other, forged) if f is not None and verify(f, X, y)]
        yield attack, bool(believed), [claim for f in believed for claim in untrue(f, X, y)]
    turned = negated(facts, X)
    if np.any(turned != X):
        forged = recomputed(facts, turned, y)
        believed = forged is not None and verify(forged, turned, y)
        yield "negated rows", believed, untrue(forged, turned, y) if believed else []


def main(seconds, seed):
    """Attack for so long, print how often each attack was tried and believed, and return the forgeries believed."""
    rng, began, tried, bad = np.random.default_rng(seed), time.monotonic(), {}, 0
    while time.monotonic() - began < seconds:
        name = list(LEARNERS)[int(rng.integers(len(LEARNERS)))]
        for attack, believed, wrong in attacked(name, rng):
            counts = tried.setdefault(attack, [0, 0, 0])
            counts[0], counts[1], counts[2] = counts[0] + 1, counts[1] + bool(believed), counts[2] + bool(wrong)
            if wrong:
                print(f"{name}, {attack}: {wrong[:3]}")
    for attack, (count, believed, wrong) in tried.items():
        bad += wrong + (attack == "none" and believed < count)
        print(f"{attack:<18} {count:>6} tried {believed:>6} accepted as what they are {wrong:>6} with a false claim")
    return bad
