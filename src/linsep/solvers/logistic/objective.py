"""The objective of logistic regression, for one column of weights, one a class, or all classes jointly.

f(W) = Σ_i c_i ℓ(x_i W) + Σ penalty_j W_j² / 2, where ℓ is -ln of the probability that the model gives to row i's
label: ln(1 + e^{-y w.x}) for each column on its own, or ln Σ_k e^{w_k.x} - w_y.x for a softmax over all columns.

A group is what one f belongs to: each column on its own, or all of a softmax. Sums over a group are arrays with one
entry for each column, or one for the softmax; both multiply (features + 1, columns).
"""

from typing import NamedTuple

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.products import largest_entry, times, times_transposed
from linsep.validation.errors import InvalidDataError

LEVEL = 1e-11
"""The sum of a column's residuals that counts as 0, relative to the sum of their sizes."""

BIAS_STEPS = 100
"""Steps to a bias at most: one of class weights 1e13 to 1 is at 30, and each step moves it by about 1 at first."""

MOST = 1e300
"""The limit of products of X, the row weights and the prior: float64 ends not far above."""

ROUNDING = 1e-13
"""Rounding error of a sum, relative to its terms."""


class LossTerms(NamedTuple):
    """The loss of each group at some scores, with its derivatives."""

    losses: Array
    """Σ c ℓ of each group."""
    residuals: Array
    """c (target - p), (rows, columns): the loss's gradient is -Xᵀ of it."""
    spread: Array
    """(rows, columns): c p (1 - p), or p itself for a softmax. Times the data on both sides, f's curvature."""
    margin: Array
    """The least y w.x of each group over the rows that count, or the least lead of the true class's score."""


class Iterate(NamedTuple):
    """Weights, and f there."""

    weights: Array
    scores: Array
    seen: LossTerms
    gradient: Array
    values: Array
    """f of each group."""

    @property
    def value(self) -> float:
        """The sum of f over all groups."""
        return float(self.values.sum())


class LogisticSolution(NamedTuple):
    """Weights, and how good they are."""

    weights: Array
    """(features + 1, columns)."""
    value: float
    """f, the negative log-likelihood (with the prior's share: of the posterior), summed over all groups."""
    history: list[float]
    """-f, the log-likelihood, at the start and after each step."""
    gradient_norm: float
    optimality: float
    """f - min f is at most this; NaN where there is no prior, and so no proof."""
    iterations: int
    converged: bool
    cause: int | None
    """The feature whose weight grows forever where f has no minimum, `features` for the constant one; else None."""

    @property
    def infinite(self) -> bool:
        """Return whether f has no minimum: it falls forever along some direction."""
        return self.cause is not None


class LogisticProblem(NamedTuple):
    """Rows, labels and prior: what f is made of."""

    data: Dense | Csr
    codes: Array
    row_weights: Array
    """The weight of each row, or an empty array where all weigh 1."""
    positives: Array
    """The class that a positive score of each column favours."""
    multinomial: bool
    penalty: Array
    """(features + 1, 1): 1 / σ², or 0 for a weight that no prior holds."""
    jobs: int

    @property
    def free_bias(self) -> bool:
        """Return whether there is a bias without a prior."""
        return self.data.bias != 0.0 and self.penalty[-1, 0] == 0.0

    @property
    def counts(self) -> Array:
        """The weight of each row, (rows, 1); (1, 1) where all weigh 1."""
        return self.row_weights[:, None] if len(self.row_weights) else np.ones((1, 1))

    def groups(self, table: Array) -> Array:
        """Return the sum of each group's entries."""
        sums = table.sum(axis=0)
        return sums.sum(keepdims=True) if self.multinomial else sums

    def targets(self) -> Array:
        """Return for each row and column whether the row is of the column's class."""
        return self.codes[:, None] == self.positives

    def evaluate(self, scores: Array) -> LossTerms:
        """Return the losses of these scores, (rows, columns), and how they change."""
        counts, targets = self.counts, self.targets()
        if self.multinomial:
            return self._evaluate_jointly(scores, counts, targets)
        margins = np.where(targets, scores, -scores)
        small = np.exp(-np.abs(margins))
        wrong = np.where(margins >= 0, small, 1.0) / (1.0 + small)
        losses = self.groups(counts * (np.log1p(small) + np.maximum(-margins, 0.0)))
        spread = counts * (small / (1.0 + small) ** 2)
        return LossTerms(losses, self.residuals(wrong, targets), spread, _least(margins, counts))

    def _evaluate_jointly(self, scores: Array, counts: Array, targets: Array) -> LossTerms:
        top = scores.argmax(axis=1)[:, None]
        below = scores - np.take_along_axis(scores, top, axis=1)
        shares = np.exp(below)
        np.put_along_axis(shares, top, 0.0, axis=1)
        rest = shares.sum(axis=1, keepdims=True)
        np.put_along_axis(shares, top, 1.0, axis=1)
        shares /= 1.0 + rest
        losses = self.groups(counts * (np.log1p(rest) - below[targets][:, None]))
        rivals = np.where(targets, -np.inf, below).max(axis=1, keepdims=True)
        margins = below[targets][:, None] - rivals
        return LossTerms(losses, self.residuals(shares, targets), shares, _least(margins, counts))

    def residuals(self, chances: Array, targets: Array) -> Array:
        """Return c (target - p), given each column's probability of the wrong class, or a softmax's of all classes.

        A softmax's residual of the true class is the sum of the other classes' shares: 1 - p would lose its digits.
        """
        right = np.where(targets, 0.0, chances).sum(axis=1, keepdims=True) if self.multinomial else chances
        return self.counts * np.where(targets, right, -chances)

    def balanced(self, residuals: Array) -> Array:
        """Return whether each group's residuals sum to 0 in each column, but for rounding: what a free bias asks."""
        even = np.abs(residuals.sum(axis=0)) <= 100 * LEVEL * np.abs(residuals).sum(axis=0)
        return even.all(keepdims=True) if self.multinomial else even

    def curved(self, spread: Array, moved: Array, lo: int, hi: int) -> Array:
        """Return how fast residuals of rows lo to hi fall when their scores move: the curvature without the data."""
        if not self.multinomial:
            return spread * moved
        turned = spread * (moved - (spread * moved).sum(axis=1, keepdims=True))
        return self.row_weights[lo:hi, None] * turned if len(self.row_weights) else turned

    def centred(self, weights: Array) -> Array:
        """Return the weights, a softmax's that no prior holds shifted to a mean of 0: the same probabilities."""
        if not self.multinomial:
            return weights
        return np.where(self.penalty == 0.0, weights - weights.mean(axis=1, keepdims=True), weights)

    def prior(self, weights: Array) -> Array:
        """Return the prior's share of f for each group."""
        squares = np.einsum("jk,jk,j->k", weights, weights, self.penalty[:, 0])
        return self.groups(squares[None]) / 2

    def certified(self, gradient: Array, residuals: Array) -> Array:
        """Return the certified gap f - min f <= σ² ||gradient||² / 2 of each group; NaN without a prior.

        The bound is the duality gap of the dual point that the residuals are. With a free bias a dual point's residuals
        sum to 0 in each column: that is where the bias's own gradient is 0, see :meth:`settle_bias`.
        """
        held = self.penalty[:-1]
        if not held.any() and len(held):
            return np.full_like(self.groups(gradient), np.nan)
        gaps = self.groups(gradient[:-1] ** 2 / held) / 2
        if not self.free_bias:
            return gaps + self.groups(gradient[-1:] ** 2 / self.penalty[-1]) / 2
        return np.where(self.balanced(residuals), gaps, np.inf)

    def at(self, weights: Array) -> Iterate:
        """Return f and its gradient at these weights."""
        scores = times(self.data, weights, self.jobs)
        return self.iterate(weights, scores, self.evaluate(scores))

    def iterate(self, weights: Array, scores: Array, seen: LossTerms) -> Iterate:
        """Return f and its gradient at weights of these scores."""
        gradient = self.penalty * weights - times_transposed(self.data, seen.residuals, self.jobs)
        return Iterate(weights, scores, seen, gradient, seen.losses + self.prior(weights))

    def solution(
        self, at: Iterate, history: list[float], gap: float, iterations: int, converged: bool, cause: int | None
    ) -> LogisticSolution:
        """Return the iterate at which a search ended; it did not converge where f has no minimum."""
        norm = float(np.sqrt((at.gradient**2).sum()))
        reached = converged and cause is None
        return LogisticSolution(self.centred(at.weights), at.value, history, norm, gap, iterations, reached, cause)

    def settle_bias(self, weights: Array, scores: Array, seen: LossTerms) -> LossTerms:
        """Move the biases, in place, to where their gradients are 0, all other weights held: Newton's method."""
        for _ in range(BIAS_STEPS):
            slope = seen.residuals.sum(axis=0)
            if (np.abs(slope) <= LEVEL * np.abs(seen.residuals).sum(axis=0)).all():
                break
            shift = self._bias_step(seen, slope)
            for _ in range(30):
                trial = self.evaluate(scores + shift)
                rises = trial.losses > (1.0 + ROUNDING) * seen.losses
                if not rises.any():
                    break
                shift = np.where(rises, shift / 2, shift)
            else:
                break
            scores += shift
            weights[-1] += shift / self.data.bias
            seen = trial
        return seen

    def _bias_step(self, seen: LossTerms, slope: Array) -> Array:
        if not self.multinomial:
            return slope / np.maximum(seen.spread.sum(axis=0), np.finfo(float).tiny)
        cross = (self.counts * seen.spread).T @ seen.spread
        np.fill_diagonal(cross, 0.0)  # each row of the curvature sums to 0: the diagonal p (1 - p) would lose digits
        return np.linalg.lstsq(np.diag(cross.sum(axis=1)) - cross, slope)[0]


def join_solutions(parts: list[LogisticSolution]) -> LogisticSolution:
    """Return problems that were solved one by one as one; a part that has ended stays where it is."""
    longest = max(len(part.history) for part in parts)
    histories = [part.history + part.history[-1:] * (longest - len(part.history)) for part in parts]
    return LogisticSolution(
        weights=np.hstack([part.weights for part in parts]),
        value=sum(part.value for part in parts),
        history=[sum(values) for values in zip(*histories, strict=True)],
        gradient_norm=float(np.linalg.norm([part.gradient_norm for part in parts])),
        optimality=sum(part.optimality for part in parts),
        iterations=max(part.iterations for part in parts),
        converged=all(part.converged for part in parts),
        cause=next((part.cause for part in parts if part.infinite), None),
    )


def problem_of(
    data: Dense | Csr, codes: Array, row_weights: Array, *, classes: int, multinomial: bool = False,
    prior_variance: float | None = 1.0, penalize_bias: bool = True, jobs: int = 1,
) -> LogisticProblem:  # fmt: skip
    """Return the problem of two classes (one column, unless multinomial) or more.

    `codes` are the classes of the rows (int32); of two classes, 1 is the positive one. With `multinomial` it is a
    softmax over one column a class; else a column a class against the rest, one for two classes. `prior_variance` is σ²
    of the Gaussian prior on each weight, None for no prior; with `penalize_bias` the prior holds the constant feature's
    weight too. See :mod:`linsep.solvers` for the others.
    """
    if prior_variance is not None and not prior_variance > 0:
        raise ValueError(f"prior_variance={prior_variance!r}: a variance is above 0; use None for no prior")
    refuse_overflow(data, row_weights, prior_variance)
    positives = np.arange(classes) if multinomial or classes > 2 else np.array([1])
    penalty = np.full((data.n_features + 1, 1), 0.0 if prior_variance is None else 1.0 / prior_variance)
    if not penalize_bias and data.bias != 0.0:
        penalty[-1] = 0.0
    return LogisticProblem(data, codes, row_weights, positives, multinomial, penalty, jobs)


def refuse_overflow(data: Dense | Csr, row_weights: Array, prior_variance: float | None) -> None:
    """Raise a ValueError where the gradient's square, the curvature or the prior could leave the numbers."""
    largest = largest_entry(data)
    with np.errstate(over="ignore"):
        total = float(row_weights.sum()) if len(row_weights) else float(data.n_rows)
    if not total * total <= MOST:
        raise InvalidDataError(
            f"the row weights add up to {total:g}, too much for float64: divide all of them by one factor"
        )
    if not max(1.0, total) * largest * max(1.0, total) * largest <= MOST:
        raise InvalidDataError(
            f"X has an entry of the size {largest:g}, too large to square: divide all of X by one factor"
        )
    if prior_variance is None:
        return
    if not prior_variance >= 1.0 / MOST:
        raise ValueError(f"prior_variance={prior_variance!r}: 1 / variance is too large for float64; use a larger one")
    if not max(1.0, total * largest) * max(1.0, total * largest) * prior_variance <= MOST:
        raise ValueError(f"prior_variance={prior_variance!r} is too large for float64 on these rows: None is no prior")


def _least(margins: Array, counts: Array) -> Array:
    return np.where(counts > 0, margins, np.inf).min(axis=0, initial=np.inf)
