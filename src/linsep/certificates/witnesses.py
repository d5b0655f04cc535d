"""Search witnesses: weights and mixtures of rows that prove margins and bounds.

All searches are done in floats and prove nothing. What they find is rounded to short integers, and the claims are
computed from these by :mod:`linsep.certificates.checker`, exactly: a poor search gives weak claims, never wrong ones.
"""

import itertools
import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.certificates.checker import CheckedRows, OutOfTimeError, SignedProblem, clock
from linsep.certificates.kernel_replay import KernelReplay, KernelUnits, kernel_work
from linsep.certificates.reading import matrix_of
from linsep.certificates.schema import ProblemKey, integers
from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.exact.dependencies import LONGEST, short, witness, written
from linsep.solvers.exact.disjoint import disjoint_combinations, fewer_errors
from linsep.solvers.exact.simplex import decide_exactly
from linsep.solvers.margin.coordinate_descent import squared_norms
from linsep.solvers.margin.delta import DeltaBound, delta_bound
from linsep.solvers.margin.hard import HardMargin, separator
from linsep.solvers.margin.soft import soft_margin
from linsep.solvers.products import times, times_transposed
from linsep.solvers.programs.l1_margin import l1_margin
from linsep.solvers.programs.linear_program import separate
from linsep.solvers.programs.program_rows import Budget, separates
from linsep.theory.bounds import shifting_delta_trick

if TYPE_CHECKING:
    from linsep.certificates.theorems import Run, Theorem

LOSS = 1e-3
"""The most that rounding may cost a bound of margins, relatively."""
TIGHT = 0.006
"""The relative gap of such a bound at which a search ends: with the rounding of both sides it stays under 1 %."""
CLOSER = 0.1
"""Factor of precision of the Delta trick's bound for one pass, which converges fast."""
SMALL = 1 << 20
"""Entries of the data up to which margins are followed to the end, useful or not."""
STARTS = 4
"""Number of weights from which the search for few errors starts."""
FEW = 4096
"""Rows of a mixture that may be solved for in rationals, at most."""

MOST_KERNEL_WORK = 1 << 35
"""Operations of kernel values beyond which a run is not replayed."""
MOST_DECIDED = 400
"""Rows up to which it is decided exactly whether a kernel's feature space separates them."""

BracketCallback = Callable[[str, float, float], None]
Witnesses = dict[str, dict[str, Any]]


class Search(NamedTuple):
    """Rows of a problem in which witnesses are searched, and the limits of the search."""

    data: Dense | Csr
    """The rows, with their constant feature."""
    signs: Array
    """+1 or -1 for each row."""
    passes: int = 10
    """T, the passes for which a bound is wanted besides that for one."""
    deadline: float | None = None
    """The value of time.monotonic() at which to stop."""
    watch: BracketCallback | None = None
    """Called with the name of a number and its bracket, each time that has become narrower."""
    jobs: int = 1
    """Threads."""

    @property
    def largest_entry(self) -> float:
        """The largest |entry|, the constant feature included."""
        return max(float(np.abs(self.data.values).max(initial=0.0)), abs(self.data.bias))

    def scores(self, w: Array) -> Array:
        """Return z_i·w for all rows."""
        return self.signs * times(self.data, w[:, None], self.jobs)[:, 0]

    def point(self, mixture: Array) -> Array:
        """Return the sum of lambda_i z_i."""
        return times_transposed(self.data, (self.signs * mixture)[:, None], self.jobs)[:, 0]

    def until(self, share: float) -> float | None:
        """Return the time at which a share of what is left is spent."""
        now = time.monotonic()
        return None if self.deadline is None else now + share * max(self.deadline - now, 0.0)

    def watching(self, name: str, squared: bool = False) -> Callable[[float, float], None] | None:
        """Return the callable that reports one bracket, or the squares of its ends, to `watch`."""
        watch, power = self.watch, 2 if squared else 1
        return None if watch is None else lambda lower, upper: watch(name, lower**power, upper**power)

    def margin(self, w: Array) -> float:
        """Return min_i z_i·w / ||w||."""
        return float(self.scores(w).min() / np.linalg.norm(w))

    def distance(self, mixture: Array) -> float:
        """Return ||sum of lambda_i z_i|| / sum of lambda_i."""
        total = mixture.sum()
        return float(np.linalg.norm(self.point(mixture)) / total) if total > 0 else math.inf

    def payoff(self, mixture: Array, signed: bool) -> float:
        """Return the margin that no weights of L1 norm 1, of any sign or none below 0, can exceed."""
        q = self.point(mixture)
        sizes = np.append(np.abs(q[:-1]) if signed else q[:-1], np.abs(q[-1:])[: int(self.data.bias != 0)])
        return float(sizes.max() / mixture.sum()) if mixture.sum() > 0 else math.inf

    def read(self, vector: dict[str, Any]) -> Array:
        """Return a witness w as floats; its unit is left out, as no margin depends on it."""
        w, values = np.zeros(self.data.n_features + 1), integers(vector)
        beyond = max((v.bit_length() for v in values), default=0) - 500
        w[vector.get("at", slice(len(values)))] = [float(v >> beyond if beyond > 0 else v) for v in values]
        return w

    def hinge_witness(self, found: Witnesses, C: float | None, power: int) -> dict[str, Any]:
        """Return the u of about the least ||u||² + 2 C sum of losses^power; a separator of margin 1 if C is None."""
        if C is None:
            u = self.read(found["w"]["margin"])
            least = self.scores(u).min()
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                u *= (1 + LOSS / 4) / least
                certain = least > 0 and self.scores(u).min() >= 1 + 1e-9
            if not certain:  # float64 cannot hold the margin
                return self.stretched(found["w"]["margin"])
            return short(u, lambda w: self.scores(w).min() >= 1 + 1e-9)
        loss: Literal["l1", "l2"] = "l1" if power == 1 else "l2"
        u = soft_margin(self.data, self.signs, np.zeros(0), C=C, loss=loss, jobs=self.jobs).weights

        def cost(w: Array) -> float:
            return float(w @ w + 2 * C * (np.maximum(1.0 - self.scores(w), 0.0) ** power).sum())

        return short(u, lambda w: cost(w) <= (1 + LOSS / 2) * cost(u))

    def stretched(self, vector: dict[str, Any]) -> dict[str, Any]:
        """Return a witness w that separates with the power of two as its unit that brings the least score to [1, 2]."""
        rows = signed_rows(self.data, self.signs, np.arange(self.data.n_rows))
        values = dict(zip(vector.get("at", itertools.count()), integers(vector), strict=False))
        ends, entries = rows.indptr.tolist(), [*zip(rows.indices.tolist(), rows.data.tolist(), strict=True)]
        least = min(
            sum((Fraction(z) * values.get(j, 0) for j, z in entries[lo:hi]), Fraction(0))
            for lo, hi in itertools.pairwise(ends)
        )
        exponent = least.denominator.bit_length() - least.numerator.bit_length()
        return vector | {"exponent": exponent + (Fraction(2) ** exponent * least < 1)}


class SearchResult(NamedTuple):
    """Result of a search."""

    witnesses: Witnesses
    """{"w": {name: vector}, "lambda": {name: vector}}, as the checker reads them."""
    once: DeltaBound
    """The bound for one pass; from it and from `dual` the search for another bias may start."""
    dual: Array
    """The mixture of rows that bounds the margin."""
    length: float
    """R / gamma, the root of the perceptron's bound; infinite where no separator was found."""


@np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
def find(search: Search, *, games: bool = True, start: SearchResult | None = None) -> SearchResult:
    """Search for witnesses of the margin, of Winnow's margins, and of the bounds for one and for T passes.

    If `games` is False, not of Winnow's margins; `start` is what was found for the same rows with another bias.

    Examples
    --------
    >>> X = Dense(np.array([[2.0], [0.0]]), bias=1.0)
    >>> find(Search(X, np.array([1.0, -1.0])), games=False).witnesses["lambda"]["margin"]
    {'exponent': -6, 'values': [16, 48]}
    """
    n, radius = search.data.n_rows, radius_of(search.data)
    found: Witnesses = {"w": {}, "lambda": {}}
    once = _find_bound(search, radius, 1, start.once if start else None, found)
    enough = radius / math.sqrt(n * search.passes) if search.data.values.size > SMALL else 0.0
    hard = separator(
        search.data, search.signs, enough=enough, tol=TIGHT / 2, start=start.dual if start else once.dual,
        deadline=search.until(0.6), watch=search.watching("margin"), jobs=search.jobs,
    )  # fmt: skip
    if search.passes > 1:
        _find_bound(search, radius, search.passes, hard if hard.separable else once, found)
    hard = retry_with_program(search, hard)
    if hard.separable:
        least = (1 - LOSS / 2) * search.margin(hard.weights)
        found["w"]["margin"] = short(hard.weights, lambda w: search.margin(w) >= least > 0)
    cancels = hard.separable is False and _find_cancelling_rows(search, hard, found)
    if not cancels and search.data.values.size <= SMALL:
        hard = _decide(search, hard, found)
    if "margin" not in found["lambda"]:
        most = max((1 + LOSS / 2) * search.distance(hard.dual), enough)
        found["lambda"]["margin"] = short(hard.dual, lambda a: search.distance(a) <= most)
        if games:
            _find_l1_margin(search, hard, found, "balanced Winnow's margin", signed=True)
            _find_l1_margin(search, hard, found, "Winnow's margin", signed=False)
    return SearchResult(found, once, hard.dual, radius / hard.lower if hard.separable and hard.lower > 0 else math.inf)


def retry_with_program(search: Search, hard: HardMargin) -> HardMargin:
    """Solve a linear program where the search left small data open: programs scale columns that differ much."""
    left = 60.0 if search.deadline is None else search.deadline - time.monotonic()
    if hard.separable is not None or search.data.values.size > SMALL or left <= 0:
        return hard
    try:
        found = separate(search.data, search.signs, np.zeros(0), Budget(time_limit=left))
    except ValueError:  # the program would take too much memory, as for millions of columns
        return hard
    if found.separable:
        lower = float(search.scores(found.weights).min()) / float(np.linalg.norm(found.weights))
        return hard._replace(weights=found.weights, lower=lower, separable=True)
    return hard._replace(dual=found.dual, separable=False) if found.separable is False else hard


def _decide(search: Search, hard: HardMargin, found: Witnesses) -> HardMargin:
    """Write down an exact proof of the verdict, unless the w found in floats is one; nothing after the deadline."""
    rows = signed_rows(search.data, search.signs, np.arange(search.data.n_rows))
    if hard.separable and separates(rows, search.read(found["w"]["margin"])):
        return hard
    sizes = np.sqrt(abs(rows).power(2).sum(axis=1))
    order = np.lexsort((np.nan_to_num(search.scores(hard.weights) / sizes), -(hard.dual * sizes)))
    decision = decide_exactly(rows, order, deadline=search.until(0.5))
    if decision is None:
        return hard
    if decision.dual:
        found["w"].pop("margin", None)
        found["lambda"]["margin"] = written(decision.dual)
        return hard._replace(separable=False)
    found["w"]["margin"] = written(decision.weights, decision.exponent)
    weights = search.read(found["w"]["margin"])
    return hard._replace(weights=weights, lower=search.margin(weights), separable=True)


def _find_bound(
    search: Search, radius: float, passes: int, start: DeltaBound | HardMargin | None, found: Witnesses
) -> DeltaBound:
    """Find the Delta trick's bound for so many passes, and write down what proves it."""
    bound = delta_bound(
        search.data, search.signs, radius=radius, passes=passes, tol=TIGHT * (CLOSER if passes == 1 else 1),
        start=start, deadline=search.until(0.5), jobs=search.jobs,
        watch=search.watching(f"mistakes (T = {passes})", squared=True),
    )  # fmt: skip

    def length(w: Array) -> float:
        w = np.ldexp(w, bound.exponent)
        misses = np.maximum(1.0 - search.scores(w), 0.0)
        return radius * float(np.linalg.norm(w)) + math.sqrt(passes) * float(np.linalg.norm(misses))

    def value(a: Array) -> float:
        sizes = np.linalg.norm(a) / math.sqrt(passes), np.linalg.norm(search.point(a)) / radius
        return float(a.sum() / max(*sizes)) if max(*sizes) > 0 else 0.0

    trivial = bound.upper >= (1 - 1e-6) * math.sqrt(passes * search.data.n_rows)
    weights = np.zeros_like(bound.weights) if trivial else bound.weights
    vector = short(weights, lambda w: length(w) <= (1 + CLOSER * LOSS / 2) * bound.upper)
    found["w"][f"delta {passes}"] = vector | {"exponent": vector["exponent"] + bound.exponent}
    found["lambda"][f"delta {passes}"] = short(bound.dual, lambda a: value(a) >= (1 - CLOSER * LOSS / 2) * bound.lower)
    return bound


def radius_of(data: Dense | Csr) -> float:
    """Return the largest ||x_i||, the constant feature included."""
    return math.hypot(math.sqrt(float(squared_norms(data).max(initial=0.0))), data.bias)


def _find_cancelling_rows(search: Search, hard: HardMargin, found: Witnesses) -> bool:
    """Solve for the witness that the data are not separable in rationals; return whether there is one."""
    support = hard.support
    if len(support) > FEW:
        return False
    rows = signed_rows(search.data, search.signs, support)
    weights = witness(rows, hard.dual[support], deadline=search.until(0.3))
    if weights is None:
        return False
    mixture = [0] * search.data.n_rows
    for i, weight in zip(support.tolist(), weights, strict=True):
        mixture[i] = weight
    found["lambda"]["margin"] = written(mixture)
    return True


def signed_rows(data: Dense | Csr, signs: Array, chosen: Array) -> Any:
    """Return some rows z_i as a csr_array of float64, the constant feature in the last column."""
    rows = data.take(chosen).to_scipy().astype(np.float64)
    bias = sp.csr_array(np.full((len(chosen), 1), data.bias))
    return sp.csr_array(sp.diags_array(signs[chosen]) @ sp.hstack([rows, bias]))


def _find_l1_margin(search: Search, hard: HardMargin, found: Witnesses, name: str, *, signed: bool) -> None:
    """Write down what proves a margin of Winnow's, where that is more than the margin's own witnesses prove."""
    weights = (1 + signed) * search.data.n_features + 2 * (search.data.bias != 0)
    rounds = search.data.n_rows * search.passes
    enough = search.largest_entry * math.sqrt(2 * math.log(max(weights, 2)) / rounds)
    enough = enough if search.data.values.size > SMALL else 0.0
    game = l1_margin(
        search.data, search.signs, signed=signed, enough=enough, tol=TIGHT / 2,
        starts=[(hard.weights if hard.separable else None, hard.dual)],
        deadline=search.until(0.5), watch=search.watching(name),
    )  # fmt: skip
    if game.lower > 0:
        least = (1 - LOSS / 2) * game.lower
        found["w"][name] = short(game.weights, lambda u: bool(search.scores(u).min() >= least * np.abs(u).sum()))
    most = game.upper + LOSS / 2 * abs(game.upper) if game.upper > enough or game.upper <= 0 else enough
    if search.payoff(hard.dual, signed) > most:
        found["lambda"][name] = short(game.dual, lambda mixture: search.payoff(mixture, signed) <= most)


@np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
def find_fewest_errors(search: Search, found: Witnesses, rivals: int = 1) -> list[dict[str, Any]]:
    """Add weights of few errors to the witnesses; return disjoint combinations of rows that cancel, one error each.

    `rivals` is the number of signed rows of each row of the data.
    """
    n = search.data.n_rows
    Z = signed_rows(search.data, search.signs, np.arange(n))
    Z.sum_duplicates()
    Z.eliminate_zeros()

    def errors(w: Array) -> int:
        return int(np.sum(Z @ w <= 0))

    known, radius = [search.read(vector) for vector in found["w"].values()], radius_of(search.data)
    if min(map(errors, known)):
        costs = np.array([1.0, 10.0, 100.0]) / radius**2 if 1e-100 < radius < 1e100 else ()
        known += [soft_margin(search.data, search.signs, np.zeros(0), C=C, loss="l1").weights for C in costs]
        for seed, w in enumerate(sorted(known, key=errors)[:STARTS]):
            known.append(fewer_errors(Z, w, deadline=search.until(0.1), seed=seed))
    w = min(known, key=errors)
    few = errors(w)
    found["w"]["fewest errors"] = short(w, lambda of: errors(of) <= few)
    combinations = disjoint_combinations(Z, np.arange(n) // rivals, w, deadline=search.deadline) if few else []
    texts = [[v if v < LONGEST else hex(v) for v in of.values] for of in combinations]
    return [{"at": of.rows, "values": values} for of, values in zip(combinations, texts, strict=True)]


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def best_bias(search: Search, found: Witnesses) -> tuple[float, float]:
    """Return the constant feature's value for which the bound of the weights found is least, and by what it is less.

    beta² = R |b| / ||w||, rounded to six bits, as the bound is flat there. The root of the bound, R(beta) ||w(beta)||,
    becomes R ||w|| + |b|: the second number is that, divided by what it was. (0, 1) where there is no best value.
    """
    w = search.read(found["w"]["margin" if "margin" in found["w"] else "delta 1"])
    radius = radius_of(search.data._replace(bias=0.0))
    size, lift = float(np.linalg.norm(w[:-1])), abs(float(w[-1])) * search.data.bias
    beta = math.sqrt(radius * (lift / size)) if size > 0 else 0.0
    before = math.hypot(radius, search.data.bias) * float(np.linalg.norm(w))
    if not (0 < beta < math.inf and 0 < before < math.inf):
        return 0.0, 1.0
    mantissa, exponent = math.frexp(beta)
    return math.ldexp(round(mantissa * 64), exponent - 6), (radius * size + lift) / before


PIECES, MARGINS, SIZES = (2, 4, 8, 16), (1.0, 10.0, 100.0), (0.25, 0.5, 0.75, 1.0, 1.5)
"""The numbers of pieces, costs of losses times R², and sizes of weights that are tried for weights that shift."""


@np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
def find_pieces(search: Search, order: Array) -> list[dict[str, Any]]:
    """Return weights for pieces of the rounds, a soft margin each, that bound the mistakes of a perceptron by least.

    `order` has the row of each round. All rounds count, not those of mistakes alone: of these the best weights in
    hindsight would be 0, which prove that there are no more mistakes than mistakes.
    """
    data, radius = search.data, radius_of(search.data)
    best: tuple[float, list[int], list[Array]] = (math.inf, [len(order)], [np.zeros(data.n_features + 1)])
    for count in (1, *PIECES) if 1e-100 < radius < 1e100 else ():
        cuts = np.unique(np.linspace(0, len(order), count + 1).astype(np.int64))
        for C in np.array(MARGINS) / radius**2:
            if search.deadline is not None and time.monotonic() >= search.deadline:
                break
            u, losses = [], []
            for lo, hi in itertools.pairwise(cuts.tolist()):
                rows = order[lo:hi]
                part = Search(data.take(rows), search.signs[rows])
                u.append(soft_margin(part.data, part.signs, np.zeros(0), C=C, loss="l2").weights)
                losses.append(part.scores(u[-1]))
            path = float(np.linalg.norm(u[-1])) + sum(float(np.linalg.norm(b - a)) for a, b in itertools.pairwise(u))
            scores = np.concatenate(losses)
            for size in SIZES:
                bound = shifting_delta_trick(
                    radius, size * path, 0.0, float(np.linalg.norm(np.maximum(1 - size * scores, 0)))
                )
                if bound < best[0]:
                    best = bound, np.diff(cuts).tolist(), [size * w for w in u]
    _, rounds, weights = best
    return [{"rounds": k, **short(w, _near(w))} for k, w in zip(rounds, weights, strict=True)]


def _near(w: Array) -> Callable[[Array], bool]:
    """Return a test of whether a rounded vector is near w."""
    return lambda of: bool(np.linalg.norm(of - w) <= LOSS * np.linalg.norm(w))


@np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
def find_in_kernel(search: Search, kernel: dict[str, Any], updates: Array) -> dict[str, Any] | str:
    """Return a kernel's parameters with a separator or cancelling rows in its feature space; or why a run is too long.

    The signed kernel values G are exact. A separator has G alpha > 0, so that the rows of G are separated by alpha;
    candidates are the run's own last weights, and those of the largest margin in floats. Rows cancel if lambda·G is 0.
    """
    tick = clock(None if search.deadline is None else max(search.deadline - time.monotonic(), 0.0))
    try:
        return _search_kernel(search, kernel, updates, tick)
    except OutOfTimeError:
        return "not replayed, as its kernel values were not computed within the time limit"


def _search_kernel(
    search: Search, kernel: dict[str, Any], updates: Array, tick: Callable[[], None]
) -> dict[str, Any] | str:
    """Search as `find_in_kernel` does, with a function that raises an error at the deadline."""
    n, bias = search.data.n_rows, float(search.data.bias)
    facts = kernel | {"separator": None, "cancelling": None, "updates": [1] * len(updates)}
    rows = CheckedRows(matrix_of(search.data), np.where(search.signs > 0, "+", "-"), ["-", "+"], tick)
    few, all_rows = np.unique(updates), kernel_work(facts, rows, bias, n)
    work = kernel_work(facts, rows, bias)
    if isinstance(work, str):
        return f"too long to be played again in exact arithmetic: {work}"
    whole = not isinstance(all_rows, str) and all_rows <= MOST_KERNEL_WORK
    if work > MOST_KERNEL_WORK:
        return f"too long to be played again in exact arithmetic: some {work:.2g} operations"
    problem = SignedProblem(rows, {"bias": bias, "positive": "+", "w": {}, "lambda": {}}, ["-", "+"])
    played = KernelReplay(problem, facts)
    known = np.arange(n) if whole else few
    G = played.gram(known)
    candidates = [np.bincount(np.searchsorted(known, updates), minlength=len(known)).astype(object)]
    if whole:
        top = int(played.diagonal.max())
        near = np.array(G / top, np.float64)
        values, vectors = np.linalg.eigh((near + near.T) / 2)
        kept = values > 1e-15 * values.max()
        features = Dense(frozen(np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]))), 0.0)
        hard = separator(features, np.ones(n), enough=0.0, tol=TIGHT / 2, deadline=search.until(0.5), jobs=search.jobs)

        def cost(a: Array) -> float:
            scores = near @ a
            return float(a @ scores) / float(scores.min()) ** 2 if scores.min() > 0 else math.inf

        most = (1 + LOSS) * cost(hard.dual)
        vector = short(hard.dual, lambda a: cost(a) <= most)
        of = np.zeros(n, object)
        of[vector.get("at", slice(n))] = integers(vector)
        candidates.append(of)
    bounds = list[tuple[Fraction, int]]()
    for k, alpha in enumerate(candidates):
        scores = G @ alpha
        if scores.min() > 0:
            bounds.append((Fraction(int((scores[known] * alpha).sum()), int(scores.min()) ** 2), k))
    best = candidates[min(bounds)[1]] if bounds else None
    if best is None and whole:
        # Rows cancel monomial by monomial, whatever the factors above 0: with factors of 1, more values fit floats.
        ones = {"degree": kernel["degree"], "gamma": 1.0, "coef0": float(kernel["coef0"] > 0)}
        played.kernel = KernelUnits(ones, problem.low, float(bias > 0))
        weights, cancelling = _decide_in_kernel(played.gram(known), search.until(0.5))
        best = weights if weights is not None and (G @ weights).min() > 0 else None
        if cancelling is not None:
            return kernel | {"separator": None, "cancelling": _weights_of_rows(cancelling, known)}
    return kernel | {"separator": None if best is None else _weights_of_rows(best, known), "cancelling": None}


def _weights_of_rows(values: Array, rows: Array) -> dict[str, Any]:
    """Return integers of rows as a run has them, without zeros and common factors."""
    used, common = np.flatnonzero(values), math.gcd(*values.tolist())
    written = [v // common for v in values[used].tolist()]
    return {"at": rows[used].tolist(), "values": [v if abs(v) < LONGEST else hex(v) for v in written]}


def _decide_in_kernel(G: Array, deadline: float | None) -> tuple[Array | None, Array | None]:
    """Return exact weights of rows that separate in a kernel's feature space, or rows that cancel; or neither.

    Two rows cancel if they are equal there and have other labels. All others are decided if floats hold the values.
    """
    n, diagonal = len(G), G.diagonal()
    zero = np.flatnonzero((diagonal == 0).astype(bool))
    opposite = (G + diagonal == 0).astype(bool)  # ||z_i + z_j||² = 0
    twins = [zero[:1]] if len(zero) else np.argwhere(opposite & opposite.T)
    if len(twins):
        return None, np.isin(np.arange(n), twins[0]).astype(int).astype(object)
    if n > MOST_DECIDED:
        return None, None
    common = math.gcd(*G.ravel().tolist())
    H = G // common
    if abs(H).max() >= 1 << 53:
        return None, None
    decision = decide_exactly(H.astype(np.float64), deadline=deadline)
    if decision is None:
        return None, None
    if decision.dual:
        return None, np.array([*decision.dual, None], object)[:-1]
    weights = np.zeros(n, object)
    weights[:] = [int(v) for v in decision.weights]
    return weights, None


def write_run(
    theorem: "Theorem", run: "Run", search: Search, found: Witnesses, key: ProblemKey
) -> dict[str, Any] | str:
    """Return a run as the checker reads it, or why its theorem does not apply; PA's witness is added to those found."""
    held = theorem.witness(run, search, found)
    if isinstance(held, str):
        return held
    facts = {"theorem": theorem.name, "problem": str(key), **held, "passes": run.passes, "rounds": run.rounds}
    assert run.updates is not None
    facts |= {"order": run.order, "updates": np.diff(run.updates, prepend=0).tolist()}
    facts |= {} if run.rivals is None else {"rivals": run.rivals.tolist()}
    facts |= {} if run.shards is None else {"shards": run.shards, "mixing": run.mixing}
    return facts | ({"arrive": True} if run.arrive else {})


def pair_rows(data: Dense | Csr, codes: Array, classes: int) -> Csr:
    """Return the rows of the multiclass problem: [x, beta] in the columns of its class, its negative in a rival's.

    Row i becomes classes - 1 rows, one for each other class in order.

    Examples
    --------
    >>> X = pair_rows(Dense(np.array([[5.0], [7.0]]), bias=1.0), np.array([0, 2]), 3)
    >>> sp.csr_array((X.values, X.indices, X.indptr)).toarray()
    array([[ 5.,  1., -5., -1.,  0.,  0.],
           [ 5.,  1.,  0.,  0., -5., -1.],
           [-7., -1.,  0.,  0.,  7.,  1.],
           [ 0.,  0., -7., -1.,  7.,  1.]])
    """
    n, width, rivals = data.n_rows, data.n_features + 1, classes - 1
    Z = signed_rows(data, np.ones(n), np.arange(n))
    other = np.arange(rivals)
    rival = (other + (other >= codes[:, None])).ravel()
    own, which = np.repeat(codes, rivals), np.repeat(np.arange(n), rivals)
    counts = np.repeat(np.diff(Z.indptr)[which], 2)
    indptr = np.append(0, np.cumsum(counts))
    starts = np.repeat(np.repeat(Z.indptr[which], 2) - indptr[:-1], counts)
    places = np.arange(indptr[-1]) + starts
    block = np.repeat(np.column_stack([own, rival]).ravel(), counts)
    sign = np.repeat(np.tile([1.0, -1.0], len(which)), counts)
    indices = (block * width + Z.indices[places]).astype(np.int32)
    values = sign * Z.data[places]
    return Csr(frozen(values), frozen(indices), frozen(indptr[::2].astype(np.int32)), classes * width, 0.0)
