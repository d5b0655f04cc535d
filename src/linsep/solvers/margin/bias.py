"""The best free bias for weights that are given."""

import numpy as np

from linsep.core.arrays import Array


def best_bias(scores: Array, signs: Array, costs: Array, soft: bool) -> float:
    """Return the b at which the sum of C_i loss(1 - y_i (s_i + b)) is least; the middle one of many for the hinge.

    The loss of row i bends at b = y_i - s_i: that of a positive row falls to the left of it, that of a negative row
    rises to the right of it. Between two bends, the sum is linear or quadratic.

    Examples
    --------
    >>> import numpy as np
    >>> best_bias(np.array([3.0, 0.0]), np.array([1.0, -1.0]), np.array([1.0, 1.0]), soft=False)
    -1.5
    """
    if not len(scores):
        return 0.0
    order = np.argsort(signs - scores, kind="stable")
    bends, positive, costs = (signs - scores)[order], signs[order] > 0.0, costs[order]

    def beside(amounts: Array) -> tuple[Array, Array]:
        """Sum the amounts of negative rows to the left and of positive rows to the right of each stretch."""
        left = np.append(0.0, np.cumsum(np.where(positive, 0.0, amounts)))
        right = np.append(np.cumsum(np.where(positive, amounts, 0.0)[::-1])[::-1], 0.0)
        return left, right

    left, right = beside(costs)
    if soft:
        weight, moment = left + right, np.add(*beside(costs * bends))
        k = int(np.argmax(np.append(weight[1:] * bends >= moment[1:], True)))
        ends = bends[max(k - 1, 0)] if k else -np.inf, bends[k] if k < len(bends) else np.inf
        return float(np.clip(moment[k] / weight[k], *ends)) if weight[k] > 0.0 else float(bends[min(k, len(bends) - 1)])
    rounding = 1e-12 * float(np.sum(costs))
    k = int(np.argmax(left - right >= -rounding))
    ends = bends[max(k - 1, 0)], bends[min(k, len(bends) - 1)]
    return float(ends[0] + ends[1]) / 2.0 if left[k] - right[k] <= rounding else float(ends[0])
