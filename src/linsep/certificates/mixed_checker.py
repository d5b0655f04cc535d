"""Check runs whose shards were mixed; exact, and built on :mod:`linsep.certificates.checker` alone.

`run["mixes"]` lists mixes in order, each a list of shards [updates, share], and `run["rows"]` the updates of them all.
Each shard sets out from the s of the mix before, and mu is its share of all shares of its mix. Then

    s_n = s_{n-1} + sum of mu (s_shard - s_{n-1}),    K_n = K_{n-1} + sum of mu (updates of the shard).

What a theorem says of s_k after k mistakes it says of s_n after K_n: a score is linear in s, and ||s||², ||s||_p², the
logarithm of Winnow's Z and ||s - u||² are convex, so that a mix lies no higher than the mean of its shards.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .checker import DOWN, UP, Facts, SignedProblem, beside, power, stated


class Move(NamedTuple):
    """An update: its weight mu, its row, and the row's score before it."""

    weight: Fraction
    row: int
    score: Fraction


class ReplayedMix(NamedTuple):
    """The updates of a mix, and the sum of the images of its s, from below and above."""

    moves: list[Move]
    low: Fraction
    high: Fraction
    s: dict[int, Fraction]

    def sum(self, values: Any = None) -> Fraction:
        """Return the sum of the weights of its updates, each times the value of its row."""
        return Fraction(sum(move.weight * (1 if values is None else values[move.row]) for move in self.moves))


class MixedProblem(SignedProblem):
    """Signed rows, and runs on them whose shards were mixed."""

    def mixes(self, run: Facts, image: Callable[[Any], Any], mirrored: range = range(0)) -> Iterator[ReplayedMix]:
        """Play all shards again, -z where mirrored, and mix them; mixes without any update change nothing."""
        rows, s, steps = {i: list[Any]() for i in range(self.n)}, dict[int, Fraction](), run.get("steps")
        if np.bincount(np.array(run["rows"]) // (self.n // self.rows.n)).max() > run["passes"]:
            raise ValueError("a run has more updates by a row than it has passes")
        for i, c, z in self.each(np.isin(np.arange(self.n), run["rows"])):
            rows[i] = [*zip(c, z, strict=True), *((~j, -x) for j, x in zip(c, z, strict=True) if j in mirrored)]
        done = 0
        for shards in run["mixes"]:
            moves, mixed, total = list[Move](), dict[int, Fraction](), sum(share for _, share in shards)
            for count, share in shards:
                own, weight = dict[int, Any](), Fraction(share, total)
                for k in range(done, done + count):
                    at = [(j, x, own.get(j, s.get(j, 0))) for j, x in rows[run["rows"][k]]]
                    terms = [image(v)[1] * x / Fraction(1 if mirrored else v or 1) for j, x, v in at]
                    if steps is None and sum(terms) * 10**9 > sum(map(abs, terms)):
                        raise ValueError("an update of a run was no mistake")
                    moves.append(Move(weight, run["rows"][k], Fraction(sum(terms))))
                    own |= {j: v + (1 if steps is None else steps[k]) * x for j, x, v in at}
                for j, v in own.items():
                    mixed[j] = mixed.get(j, Fraction()) + weight * (v - s.get(j, 0))
                done += count
            s = s | {j: s.get(j, 0) + move for j, move in mixed.items()}
            if moves:
                ends = [image(v) for v in s.values()]
                yield ReplayedMix(moves, sum(e[0] for e in ends), sum(e[1] for e in ends), s)
        if done != len(run["rows"]):
            raise ValueError("a run has updates that are in no mix")

    def perceptron(self, run: Facts) -> Facts:
        """Return both lemmas at every mix, s_n·u against K_n gamma and ||s_n||_p² against (p - 1) K_n X_p²."""
        if "mixes" not in run:
            return super().perceptron(run)
        P, w, K, gain = Fraction(run["p"]), run["witness"], Fraction(), Fraction()
        image = lru_cache(1 << 16)(lambda s: [power(abs(s), way, P) for way in (DOWN, UP)])
        X2, least, second, first = self.longest(P, UP), self.scores[w].min(), list[Fraction](), list[Fraction]()
        norm2, hinge = Fraction(), Fraction()
        ww, losses = self.losses(f"delta {run['passes']}")
        for mix in self.mixes(run, image):
            K, gain, hinge = K + mix.sum(), gain + mix.sum(self.scores[w]), hinge + mix.sum(losses)
            norm2 = power(mix.high, UP, 2 / P) * self.unit**2
            second.append(norm2 / K)
            first.append(gain / (K * max(least, 1)))
        worst = max(second) / (P - 1) / self.longest(P, DOWN)
        out = self.counted(run, K) | {"lemma 2, ratio at most": stated(worst, UP)}
        out["margin at most"] = stated(power(norm2, UP) / K, UP)
        if least > 0:
            size = power(sum(power(abs(x), UP, P / (P - 1)) for x in self.w[w]), UP, 2 - 2 / P)
            bound = (P - 1) * size * X2 / (least * self.unit) ** 2
            out |= {"lemma 1, ratio at least": stated(min(first), DOWN), "mistakes at most": stated(bound, UP)}
            out["mistakes within the bound"] = bound * max(worst, 1) >= K
        regret = power(self.radius2 * ww, UP) + power(self.radius2 * ww + 4 * hinge, UP)
        return out | ({"mistakes at most, by the regret": stated(regret**2 / 4, UP)} if P == 2 else {})

    def passive_aggressive(self, run: Facts) -> Facts:
        """Return the hinge bounds, with every loss times its weight; a row weighs what its updates weigh together."""
        if "mixes" not in run:
            return super().passive_aggressive(run)
        unit = self.unit**2 * Fraction(2) ** max(min(int(run["exponent"]), 9999), -9999)
        soft = 1 / Fraction(run["C"]) / 2 if run["C"] else Fraction()
        moves = [move for mix in self.mixes(run, lambda s: (s * s, s * s)) for move in mix.moves]
        losses = [(move.weight, 1 - move.score * unit) for move in moves]
        weights = dict[int, Fraction]()
        for move in moves:
            weights[move.row] = weights.get(move.row, Fraction()) + move.weight
        K, total = (
            Fraction(sum(m for m, q in losses if q >= 1)),
            sum((m * max(q, Fraction()) ** 2 for m, q in losses), Fraction()),
        )
        ww, *sums = self.fit("hinge")
        first, second = (ww + (max(weights.values()) * q / soft if q else 0) for q in sums)
        bound = max(self.radius2, 2 * soft) * first if run["first"] else (self.radius2 + soft) * second
        out = self.counted(run, K) | {"mistakes": sum(q >= 1 for _, q in losses), "losses² at most": stated(total, UP)}
        within = (K if run["first"] else total) <= bound
        return out | {"bound at most": stated(Fraction(bound), UP), "within the bound": within}

    def winnow(self, run: Facts) -> Facts:
        """Return by how much each mix lowers KL(u || w) for each of its weighted mistakes, and L, by which it must."""
        if "mixes" not in run:
            return super().winnow(run)
        k, X, eta, start = run["witness"], Fraction(self.entry), Fraction(run["rate"]), self.weights[run["norm"]]
        image = lru_cache(1 << 16)(lambda s: [beside("exp", eta * self.unit * s, way) for way in (DOWN, UP)])
        flat, total = beside("ln", (1 + beside("exp", -2 * eta * X, UP)) / 2, UP) + eta * X, int(abs(self.w[k]).sum())
        L, falls, before = eta * power(self.margin2(k, run["norm"]), DOWN) - flat, list[Fraction](), start
        K, highest = Fraction(), Fraction()
        for mix in self.mixes(run, image, range(0 if run["norm"] == "l1" else self.rows.p, self.p)):
            rest = start - len(mix.s)  # the images of sums that are 0
            gain = eta * self.unit * mix.sum(self.scores[k]) / total
            falls.append((gain - beside("ln", (rest + mix.high) / before, UP)) / mix.sum())
            before, K, highest = rest + mix.low, K + mix.sum(), max(Fraction(), *mix.s.values())
        out: Facts = {"L at least": stated(L, DOWN), "each fall of the potential at least": stated(min(falls), DOWN)}
        out["each fall is at least L"] = min(falls) >= Fraction(out["L at least"])
        out["mistakes at most"] = stated(beside("ln", start, UP) / (L or 1), UP)
        out["margin at most"] = stated(highest * self.unit / K, UP)
        return self.counted(run, K) | (out if L > 0 else {})

    def losses(self, k: str) -> tuple[Fraction, Any]:
        """Return ||w||² of a witness w, and (1 - z_i·w)+ of every row."""
        scale = Fraction(2) ** max(min(int(self.known["w"][k]["exponent"]), 9999), -9999)
        misses = np.maximum(1 - self.scores[k] * (self.unit * scale), 0)
        return Fraction((self.w[k] ** 2).sum()) * scale**2, misses

    def counted(self, run: Facts, K: Fraction) -> Facts:
        """Return the mistakes of all shards, and their weighted sum, which the theorem bounds."""
        return {"mistakes": len(run["rows"]), "mixed mistakes": stated(K, UP)}


def checker_of(certificate: Facts) -> type[SignedProblem]:
    """Return what plays the runs of a certificate again: the checker, or, where shards were mixed, this one."""
    return MixedProblem if any("mixes" in run for run in certificate["runs"].values()) else SignedProblem
