"""Define the theorems that runs are held to: their parameters, the witness that each needs, and the lines of a report.

A theorem is checked by the method of the checker that has its name; `schema.THEOREMS` has the form of its parameters.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from linsep.certificates.mixed_checker import is_mixed
from linsep.certificates.schema import LARGEST, LARGEST_P, MOST_DEGREE, SMALLEST, MistakeBound
from linsep.certificates.witnesses import find_in_kernel
from linsep.certificates.words import NO_BOUND, Line, counted, names_mixed_run, rounded
from linsep.engine.arrays import Array
from linsep.theory.bounds import best_rate, fall

if TYPE_CHECKING:
    from linsep.certificates.certificate import Certificate
    from linsep.certificates.witnesses import Search, Witnesses

FARTHEST = 50_000
"""The most by which the logarithm of a weight of Winnow may change in a run that is certified."""


class Run(NamedTuple):
    """The updates of a run on signed rows."""

    rows: Array
    """The signed row of each update."""
    steps: Array | None
    """The step of each update; None if every step is 1."""
    passes: int
    """The most times that a row was seen."""
    rounds: int
    """The rounds, those without an update included."""
    mixes: list[list[list[int]]] | None = None
    """Updates and share of each shard, mix by mix; empty without shards."""
    updates: Array | None = None
    """The number of the round of each update, from 1."""
    rivals: Array | None = None
    """In pairs of classes, the rival of each such update."""
    arrive: bool = False
    """In pairs of classes, whether each class competes from its first row on: labels arrived one by one."""
    shards: list[list[int]] | None = None
    """Pairs of a number of shards and a number of epochs; 1 for epochs without a mix."""
    mixing: str = "uniform"
    """The kind of share of a shard."""
    order: Any = "rows"
    """The order of the rows: as they are, or the seed and the scheme that shuffled them, and in how many epochs."""

    def weights(self) -> Array:
        """Return the weight of each update in the sum of all.

        Examples
        --------
        >>> Run(np.array([4, 0, 2]), None, 1, 9, [[[1, 1], [2, 3]]]).weights()
        array([0.25, 0.75, 0.75])
        """
        if self.mixes is None:
            return np.ones(len(self.rows))
        counts, shares, totals = np.array([(*s, sum(q for _, q in mix)) for mix in self.mixes for s in mix]).T
        return np.repeat(shares / totals, counts)


@dataclass(frozen=True)
class Theorem(ABC):
    """A bound that a run is held to. The fields of a subclass are the parameters that a run in a file has."""

    name: ClassVar[str]
    """The name in the file, and of the method of the checker."""
    unit_steps: ClassVar[bool] = True
    """If True, the theorem is about runs whose updates are mistakes and have the step 1: rows weigh the same."""

    @classmethod
    def read(cls, run: dict[str, Any]) -> Self:
        """Return the theorem with the parameters of a run."""
        return cls(**{parameter.name: run[parameter.name] for parameter in fields(cls)})

    @property
    def needs_powers(self) -> bool:
        """Return whether replaying a run takes a power or an exponential for each entry of a mistaken row."""
        return False

    def exponent(self, entry: float, updates: int) -> float:
        """Return the most by which the logarithm of a weight may change in so many updates by rows up to an entry."""
        return 0.0

    @abstractmethod
    def witness(self, run: Run, search: "Search", found: "Witnesses") -> dict[str, Any] | str:
        """Return the parameters and the witness of a run for the file, or the reason why the theorem does not apply."""

    def bounds(self, name: str, run: dict[str, Any]) -> dict[str, str]:
        """Return the claims that bound the mistakes of a run, by what each holds for."""
        return {"at every mix" if is_mixed(run) else "in any order": f"{name}: mistakes at most"}

    @abstractmethod
    def lines(self, cert: "Certificate", name: str) -> list[Line]:
        """Return what is proved of a run, as lines of a table."""


def _out_of_range(name: str, value: float) -> str:
    return f"{name} = {value:g} is not from {SMALLEST:g} to {LARGEST:g}, the values that can be checked"


@dataclass(frozen=True)
class PerceptronTheorem(Theorem):
    """Bound of the p-norm perceptron, (p - 1) X_p² / gamma²; for p = 2 that is Novikoff's, (R/gamma)².

    Two lemmas hold after k mistakes: s_k·u >= k gamma, and ||s_k||_p² <= (p - 1) k X_p².
    """

    name = "perceptron"
    p: float = 2.0

    @property
    def needs_powers(self) -> bool:
        """True but for p = 2."""
        return self.p != 2

    def witness(self, run: Run, search: "Search", found: "Witnesses") -> dict[str, Any] | str:
        """Choose the weights of the least bound: those of the least ||u||_q for their margin."""
        if not search.data.bias and not search.data.values.any():
            return "no guarantee: all rows are zeros, and each round is a mistake"
        if self.p > LARGEST_P:
            return f"p = {self.p:g} is beyond {LARGEST_P}, the largest that is checked"

        def length(name: str) -> float:
            u = search.read(found["w"][name])
            least = float(search.scores(u).min())
            return float(np.linalg.norm(u, ord=self.p / (self.p - 1))) / least if least > 0 else math.inf

        best = min(found["w"], key=lambda name: (length(name), name != f"delta {run.passes}"))
        return {"p": self.p, "witness": best}

    def bounds(self, name: str, run: dict[str, Any]) -> dict[str, str]:
        """Add the bound for the run's own passes, and that of weights that shift."""
        passes = run["passes"]
        own = {f"in {passes} pass{'es' * (passes > 1)}": f"{run['problem']}: {MistakeBound('perceptron', passes)}"}
        shift = {"by weights that shift": f"{name}: mistakes at most, by weights that shift"} if "pieces" in run else {}
        return super().bounds(name, run) | (own | shift if self.p == 2 else {})

    def lines(self, cert: "Certificate", name: str) -> list[Line]:
        """Show both lemmas, the bound, and the bound by the losses."""
        mixed = names_mixed_run(cert, name)
        s, k, where = ("s_n", "K_n", "at every mix n") if mixed else ("s_k", "k", "at every mistake k")
        square, formula = f"(p - 1) {k} X²", "the p-norm perceptron's bound"
        if self.p == 2:
            square, formula = f"{k} R²", "(R/gamma)²"
        claims = "mistakes at most", "mistakes at most, by the regret", "margin at most"
        shift = rounded(cert, name, "mistakes at most, by weights that shift")
        pieces = cert.claims.get(f"{name}: pieces", 1)
        allowed, regret, margin = (rounded(cert, name, claim) for claim in claims)
        first, second = (rounded(cert, name, f"lemma {of}") for of in ("1, ratio at least", "2, ratio at most"))
        losses = f"allowed by the {'weighted ' * mixed}losses of a w on the mistakes"
        return [
            Line("  allowed", allowed or NO_BOUND, formula if allowed else "no separator is known"),
            *([Line("  by the regret", regret, losses)] if regret else []),
            *([Line("  by shifting", shift, f"weights for {counted(pieces, 'piece')} of the rounds")] if shift else []),
            *([Line("first lemma", f"{s}·u >= {first} {k} gamma", f"{where}; 1 would do")] if first else []),
            Line("second lemma", f"||{s}||² <= {second} {square}", f"{where}; 1 would do"),
            Line("margin", f"at most {margin}", f"||{s}|| / {k}, the run as a dual point"),
        ]


@dataclass(frozen=True)
class WinnowTheorem(Theorem):
    """Bound of Winnow, ln N / L: each mistake lowers KL(u || w) by L at least."""

    name = "winnow"
    norm: Literal["simplex", "l1"]
    """No weight below 0, or weights of any sign: balanced Winnow."""
    rate: float
    """Winnow's eta."""

    @property
    def needs_powers(self) -> bool:
        """True: an exponential for each entry."""
        return True

    def exponent(self, entry: float, updates: int) -> float:
        """Return the rate times the sum of the entries."""
        return self.rate * entry * updates

    def witness(self, run: Run, search: "Search", found: "Witnesses") -> dict[str, Any] | str:
        """Choose a u of the largest L1 margin, if the rate is not too large for the margin."""
        if not SMALLEST <= self.rate <= LARGEST:
            return _out_of_range("rate", self.rate)
        names = ["Winnow's margin"] if self.norm == "simplex" else ["balanced Winnow's margin", "margin"]
        name = next((name for name in names if name in found["w"]), None)
        if name is None:
            sign = "u >= 0" if self.norm == "simplex" else "u"
            return f"no guarantee: no {sign} was found that separates the rows, and without one Winnow has no bound"
        u, entry = search.read(found["w"][name]), search.largest_entry
        margin = float(search.scores(u).min() / np.abs(u).sum())
        if fall(margin, entry, self.rate) <= 0:
            return (
                f"no guarantee: at the rate {self.rate:.3g} a mistake may raise the potential; for the margin "
                f"{margin:.3g} of the data the best rate is {best_rate(margin, entry):.3g}"
            )
        if self.exponent(entry, len(run.rows)) > FARTHEST:
            return "its weights span too many orders of magnitude for the exact check"
        return asdict(self) | {"witness": name}

    def lines(self, cert: "Certificate", name: str) -> list[Line]:
        """Show the bound, and the least fall of the potential."""
        allowed, needed = (rounded(cert, name, claim) for claim in ("mistakes at most", "L at least"))
        least = rounded(cert, name, "each fall of the potential at least")
        by = "for each weighted mistake of a mix; " if names_mixed_run(cert, name) else ""
        note = f"L >= {needed}{', which each must' if allowed else ': at this rate there is no guarantee'}"
        return [
            Line("  allowed", allowed or NO_BOUND, "ln N / L"),
            Line("each fall of KL", f"at least {least}", f"{by}{note}"),
        ]


@dataclass(frozen=True)
class PassiveAggressiveTheorem(Theorem):
    """Bounds by the hinge losses of any u: PA-I's mistakes, the squared losses of PA-II, and those of PA."""

    name = "passive_aggressive"
    unit_steps = False
    C: float | None
    """The aggressiveness of PA-I and PA-II; None for PA."""
    first: bool
    """If True, the rule is PA-I."""

    def witness(self, run: Run, search: "Search", found: "Witnesses") -> dict[str, Any] | str:
        """Add weights of small hinge losses to those found."""
        if self.C is not None and not SMALLEST <= self.C <= LARGEST:
            return _out_of_range("C", self.C)
        if self.C is None and "margin" not in found["w"]:
            return "no guarantee: PA has a bound only for rows that can be separated; PA-I and PA-II have one for all"
        C = None if self.C is None else self.C * run.passes
        found["w"]["hinge"] = search.hinge_witness(found, C, power=1 if self.first else 2)
        return asdict(self)

    def bounds(self, name: str, run: dict[str, Any]) -> dict[str, str]:
        """Bound the mistakes of PA-I alone."""
        return {"by the losses of a w": f"{name}: bound at most"} if self.first else {}

    def lines(self, cert: "Certificate", name: str) -> list[Line]:
        """Show the losses, and the bound on them or on the mistakes."""
        losses, bound = (rounded(cert, name, f"{of} at most") for of in ("losses²", "bound"))
        mixed = names_mixed_run(cert, name)
        about = f"on the {'weighted ' * mixed}{'mistakes' if self.first else 'sum of losses²'}"
        return [
            Line("losses²", losses, "sum of mu * losses²" if mixed else "their sum"),
            Line("  allowed", bound, f"{about}, by the best u of the hinge loss"),
        ]


@dataclass(frozen=True)
class RommaTheorem(Theorem):
    """Bound of ROMMA, R² ||u||² for rows with z·u >= 1: k / R² <= ||w||² <= ||u||² after k mistakes (Li and Long)."""

    name = "romma"
    unit_steps = False
    aggressive: bool
    """If True, rows of a margin below 1 are updates, too."""

    def witness(self, run: Run, search: "Search", found: "Witnesses") -> dict[str, Any] | str:
        """Choose the weights of the largest margin."""
        if run.shards is not None:
            return "not replayed: the exact check covers ROMMA's theorem for one run, not for mixed shards"
        if "margin" not in found["w"]:
            return "no guarantee: ROMMA has a bound only for rows that can be separated"
        return asdict(self) | {"witness": "margin"}

    def lines(self, cert: "Certificate", name: str) -> list[Line]:
        """Show both lemmas and the bound."""
        allowed, margin = (rounded(cert, name, claim) for claim in ("mistakes at most", "margin at most"))
        first, second = (rounded(cert, name, f"lemma {of}") for of in ("1, ratio at least", "2, ratio at most"))
        return [
            Line("  allowed", allowed or NO_BOUND, "R² ||u||²" if allowed else "no separator is known"),
            *(
                [Line("first lemma", f"||w_k||² >= {first} k / R²", "after every mistake k; 1 would do")]
                if first
                else []
            ),
            *(
                [Line("second lemma", f"||w_k||² <= {second} ||u||²", "after every update; 1 would do")]
                if second
                else []
            ),
            Line("margin", f"at most {margin}", "||v|| / sum of steps, the run as a dual point"),
        ]


@dataclass(frozen=True)
class KernelPerceptronTheorem(Theorem):
    """Novikoff's bound in the feature space of K(x, z) = (coef0 + gamma x·z)^degree + beta²: (R/gamma)², R² = max K."""

    name = "kernel_perceptron"
    degree: int
    gamma: float
    coef0: float

    def witness(self, run: Run, search: "Search", found: "Witnesses") -> dict[str, Any] | str:
        """Search a separator as weights of rows, or rows that cancel in the feature space."""
        if run.shards is not None:
            return "not replayed: the exact check covers a kernel perceptron's theorem for one run, not for shards"
        if self.degree > MOST_DEGREE:
            return f"degree = {self.degree} is beyond {MOST_DEGREE}, the largest that is checked"
        if self.coef0 < 0:
            return f"no guarantee: coef0 = {self.coef0:g} is below 0, and the kernel may be no inner product"
        for name, value in (("gamma", self.gamma), ("coef0", self.coef0)):
            if value and not SMALLEST <= value <= LARGEST:
                return _out_of_range(name, value)
        if not (search.data.values.any() or search.data.bias or self.coef0):
            return "no guarantee: all rows are zeros, and each round is a mistake"
        return find_in_kernel(search, asdict(self), run.rows)

    def lines(self, cert: "Certificate", name: str) -> list[Line]:
        """Show the verdict in the feature space, both lemmas and the bound."""
        claims = "mistakes at most", "margin at least", "margin at most"
        allowed, least, most = (rounded(cert, name, claim) for claim in claims)
        first, second = (rounded(cert, name, f"lemma {of}") for of in ("1, ratio at least", "2, ratio at most"))
        verdict = cert.claims[f"{name}: verdict in the feature space"]
        run, power = cert.facts["runs"][name], f"^{self.degree}" if self.degree > 1 else ""
        plus = " + beta²" if cert.facts["problems"][run["problem"]]["bias"] else ""
        kernel = f"({self.coef0:g} + {self.gamma:g} x·z){power}{plus}"
        witness = run["separator"] or run["cancelling"]
        rows = counted(len(witness["at"]), "row") if witness else ""
        about = {"separable": f"weights of {rows} separate", "not separable": f"{rows}, weighed, cancel"}
        return [
            Line("  allowed", allowed or NO_BOUND, "(R/gamma)² in the feature space" if allowed else "no separator"),
            Line("feature space", verdict, about.get(verdict, "neither a separator nor cancelling rows are known")),
            Line("kernel", f"at most {rounded(cert, name, 'K(x, x) at most')}", f"K(x, x) = R² of K(x, z) = {kernel}"),
            *([Line("first lemma", f"v_k·u >= {first} k gamma", "at every mistake k; 1 would do")] if first else []),
            Line("second lemma", f"||v_k||² <= {second} k R²", "at every mistake k; 1 would do"),
            Line("margin", f"{least} to {most}" if least else f"at most {most}", "in the feature space; ||v_k|| / k"),
        ]


THEOREMS: dict[str, type[Theorem]] = {
    theorem.name: theorem
    for theorem in (
        PerceptronTheorem, WinnowTheorem, PassiveAggressiveTheorem, RommaTheorem, KernelPerceptronTheorem,
    )
}  # fmt: skip


def theorem_of(run: dict[str, Any]) -> Theorem:
    """Return the theorem that a run in a certificate is held to.

    Examples
    --------
    >>> theorem_of({"theorem": "perceptron", "p": 2.0, "witness": "margin", "rows": [0]})
    PerceptronTheorem(p=2.0)
    """
    return THEOREMS[run["theorem"]].read(run)
