"""Check runs whose shards were mixed, exactly. This file imports `checker.py` and `replay.py`, nothing else of linsep.

With `kernel_replay.py`, `schema.py` and `tails.py`, which those import, six files compute every claim.

Each shard sets out from the s of the mix before, and mu is its share of all shares of its mix. Then

    s_n = s_{n-1} + sum of mu (s_shard - s_{n-1}),    K_n = K_{n-1} + sum of mu (updates of the shard).

What a theorem states of s_k after k mistakes it states of s_n after K_n: a score is linear in s, and ||s||², ||s||_p²,
the logarithm of Winnow's Z and ||s - u||² are convex, so that a mix lies no higher than the mean of its shards.

Shards and shares follow from the order, the rule and the data: `run["shards"]` has the number of shards of consecutive
epochs, and `run["mixing"]` states what a share is. A run of version 1 states them as `run["mixes"]`, mixes in order,
each a list of shards [updates, share], and as `run["rows"]` the updates of them all.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .checker import DOWN, UP, Facts, SignedProblem, beside, power, stated
from .replay import Image


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

    mixing = True

    def moves(self, run: Facts, image: Any) -> tuple[list[tuple[int, int, bool]], Any]:
        """Return (row, step, whether it was listed) of each round that counts, and how many each shard of a mix had."""
        if "shards" in run:
            found = self.replay(run, image)
            return [(e.row, e.step if found.one else 1, e.listed) for e in found.events], found.mixes
        if np.bincount(np.array(run["rows"]) // (self.n // self.rows.n)).max() > run["passes"]:
            raise ValueError("a run has more updates by a row than it has passes")
        if sum(count for shards in run["mixes"] for count, _ in shards) != len(run["rows"]):
            raise ValueError("a run has updates that are in no mix")
        steps = run.get("steps", [1] * len(run["rows"]))
        return [(i, step, True) for i, step in zip(run["rows"], steps, strict=True)], run["mixes"]

    def mixes(
        self, run: Facts, power: Callable[[Any], Any], mirrored: range = range(0), image: Any = None
    ) -> Iterator[ReplayedMix]:
        """Play all shards again, -z where mirrored, and mix them; mixes without any update change nothing.

        `power` are the images of a sum from below and above, and `image` is how a replay computes them in floats.
        """
        rounds, mixes = self.moves(run, image)
        rows, s, done = self.entries((i for i, _, _ in rounds), mirrored), dict[int, Fraction](), 0
        passive, decided = run["theorem"] == "passive_aggressive", "shards" in run and image is None
        for shards in mixes:
            moves, mixed, total = list[Move](), dict[int, Fraction](), sum(share for _, share in shards)
            for count, share in shards:
                own, weight = dict[int, Any](), Fraction(share, total)
                for i, step, listed in rounds[done : done + count]:
                    self.tick()
                    at = [(j, x, own.get(j, s.get(j, 0))) for j, x in rows[i]]
                    terms = [power(v)[1] * x / Fraction(1 if mirrored else v or 1) for j, x, v in at]
                    if not passive and not decided:
                        self.decide(terms, [max(j, ~j) if "shards" in run else j for j, _ in rows[i]], listed)
                    if not listed and not passive:
                        continue
                    moves.append(Move(weight, i, Fraction(sum(terms))))
                    own |= {j: v + step * x for j, x, v in at}
                for j, v in own.items():
                    mixed[j] = mixed.get(j, Fraction()) + weight * (v - s.get(j, 0))
                done += count
            s = s | {j: s.get(j, 0) + move for j, move in mixed.items()}
            if moves:
                ends = [power(v) for v in s.values()]
                yield ReplayedMix(moves, sum(e[0] for e in ends), sum(e[1] for e in ends), s)

    def perceptron(self, run: Facts) -> Facts:
        """Return both lemmas at every mix, s_n·u against K_n gamma and ||s_n||_p² against (p - 1) K_n X_p²."""
        if not is_mixed(run):
            return super().perceptron(run)
        P, w, K, gain = Fraction(run["p"]), run["witness"], Fraction(), Fraction()
        image = self.cached(lambda s: [power(abs(s), way, P) for way in (DOWN, UP)])
        X2, least, second, first = self.longest(P, UP), self.scores[w].min(), list[Fraction](), list[Fraction]()
        norm2, hinge = Fraction(), Fraction()
        ww, losses = self.losses(f"delta {run['passes']}")
        floats = partial(Image, plain=0, rate=0.0, power=float(P)) if P != 2 else None
        for mix in self.mixes(run, image, image=floats):
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
        if not is_mixed(run):
            return super().passive_aggressive(run)
        soft = 1 / Fraction(run["C"]) / 2 if run["C"] else Fraction()
        moves = [move for mix in self.mixes(run, lambda s: (s * s, s * s)) for move in mix.moves]
        if "shards" in run:
            unit = Fraction(1, self.replayed[run["theorem"]].one)
        else:
            unit = self.unit**2 * Fraction(2) ** max(min(int(run["exponent"]), 9999), -9999)
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
        if not is_mixed(run):
            return super().winnow(run)
        k, X, eta, start = run["witness"], Fraction(self.entry), Fraction(run["rate"]), self.weights[run["norm"]]
        image = self.cached(lambda s: [beside("exp", eta * self.unit * s, way) for way in (DOWN, UP)])
        flat, total = beside("ln", (1 + beside("exp", -2 * eta * X, UP)) / 2, UP) + eta * X, int(abs(self.w[k]).sum())
        L, falls, before = eta * power(self.margin2(k, run["norm"]), DOWN) - flat, list[Fraction](), start
        K, highest = Fraction(), Fraction()
        mirrored = range(0 if run["norm"] == "l1" else self.columns, self.p)
        for mix in self.mixes(run, image, mirrored, partial(Image, plain=mirrored.start, rate=float(eta))):
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

    def count(self, run: Facts) -> int:
        """Return the updates of all shards."""
        return len(run["updates"] if "shards" in run else run["rows"])

    def counted(self, run: Facts, K: Fraction) -> Facts:
        """Return the mistakes of all shards, and their weighted sum, which the theorem bounds."""
        return {"mistakes": self.count(run), "mixed mistakes": stated(K, UP)}


def is_mixed(run: Facts) -> bool:
    """Return whether shards were mixed in a run."""
    return "mixes" in run or "shards" in run


def checker_of(certificate: Facts) -> type[SignedProblem]:
    """Return what plays the runs of a certificate again: the checker, or, where shards were mixed, this one."""
    return MixedProblem if any(is_mixed(run) for run in certificate["runs"].values()) else SignedProblem
