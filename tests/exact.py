"""References without rounding: Fractions for the rational learners, as many digits as it takes for Winnow."""

from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction

import numpy as np

from tests.references import Run


def fractions(X):
    """The same floats as exact numbers, on which the rational learners run without rounding."""
    return np.array([[Fraction(float(v)) for v in row] for row in X], dtype=object)


def exponential_sign(eta, s, x):
    """The exact sign of the sum of x_j e^(eta s_j) for integers s and x, and its share of the absolute terms.

    Equal s are gathered first. What is left vanishes only if each coefficient does (Lindemann-Weierstrass),
    so that more digits always decide.
    """
    levels, digits = {}, 30
    for level, value in zip(s.tolist(), x.tolist(), strict=True):
        levels.setdefault(level, []).append(int(value))
    while any(map(sum, levels.values())):
        with localcontext(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN):
            images = {level: (Decimal(eta) * (level - max(levels))).exp() for level in levels}
            total = sum(sum(values) * images[level] for level, values in levels.items())
            size = sum(abs(sum(values)) * images[level] for level, values in levels.items())
            if abs(total) > size * Decimal(10) ** (5 - digits):
                terms = sum(sum(map(abs, values)) * images[level] for level, values in levels.items())
                return (1 if total > 0 else -1), float(abs(total) / terms)
        digits *= 2
    return 0, 0.0


def exact_winnow(eta, X, y, order):
    """Winnow on integers at any eta: a Run whose `w` is the integer state s.

    A sum under 1e-14 of its terms is more than floats can tell, except before the first mistake.
    """
    s, run = np.zeros(X.shape[1], int), Run()
    for t, i in enumerate(order, start=1):
        present = X[i] != 0
        sign, share = exponential_sign(eta, s[present], X[i][present])
        if share < 1e-14 and present.any() and run.mistakes:
            run.tie = min(run.tie, t)
        if y[i] * sign <= 0:
            run.mistakes.append((t, int(i)))
            s = s + (y[i] * X[i]).astype(int)
    run.w = s
    return run
