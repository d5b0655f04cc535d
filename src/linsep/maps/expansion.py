"""The compiled loop that multiplies out the entries of sparse rows."""

import numpy as np

from linsep.core.arrays import Array
from linsep.core.kernel_cache import cached_njit


@cached_njit(nogil=True)
def expand(
    values: Array, columns: Array, indptr: Array, width: int, ends: Array, repeats: bool,
    products: Array, numbers: Array,
) -> None:  # fmt: skip
    """Write all monomials of each sparse row, and their columns, in rising order.

    Those of degree m end before column ends[m]; -1 leaves that degree out. From the end back, the monomial
    j_1 <= ... <= j_m has the column end - N(j_1, m) + N(j_1, m-1) - N(j_2, m-1) + ... - N(j_m, 1), where N(j, r) counts
    the monomials of r factors from j on; without repeats, each + N(j, r) is N(j + 1, r). Since N(j, 1) = width - j, the
    inner loop only multiplies and adds.
    """
    top = len(ends) - 1
    longest = 0
    for i in range(len(indptr) - 1):
        longest = max(longest, indptr[i + 1] - indptr[i])
    here = np.empty((top + 1, longest), np.int64)
    after = np.empty((top + 1, longest), np.int64)
    place = np.empty(top + 1, np.int64)
    product = np.empty(top + 1)
    base = np.empty(top + 1, np.int64)
    numbered = len(numbers) > 0
    out = 0
    for i in range(len(indptr) - 1):
        start, k = indptr[i], indptr[i + 1] - indptr[i]
        for q in range(k):
            here[0, q] = after[0, q] = 1
            for r in range(1, top + 1):
                factor = width - columns[start + q] + (r - 1 if repeats else 1 - r)
                whole, rest = divmod(here[r - 1, q], r)
                here[r, q] = whole * factor + rest * factor // r
                after[r, q] = here[r, q] - (0 if repeats else after[r - 1, q])
        if ends[0] >= 0:
            products[out] = 1.0
            if numbered:
                numbers[out] = ends[0] - 1
            out += 1
        for degree in range(1, top + 1):
            level = 0 if ends[degree] >= 0 else -1
            place[0], product[0], base[0] = 0, 1.0, ends[degree]
            while level >= 0:
                q, left = place[level], degree - level
                if left > 1 and q + (1 if repeats else left) <= k:
                    place[level + 1] = q if repeats else q + 1
                    product[level + 1] = product[level] * values[start + q]
                    base[level + 1] = base[level] - here[left, q] + after[left - 1, q]
                    level += 1
                    continue
                if left == 1:
                    p, b = product[level], base[level] - width
                    for q in range(place[level], k):
                        products[out] = p * values[start + q]
                        if numbered:
                            numbers[out] = b + columns[start + q]
                        out += 1
                level -= 1
                if level >= 0:
                    place[level] += 1
