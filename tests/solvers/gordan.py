"""Whether rows are separable, without rounding and without a linear program: Gordan's theorem, set by set."""

from fractions import Fraction
from itertools import combinations


def minimal_witnesses(Z):
    """All minimal sets of rows that cancel out with positive weights: those with one dependency, of one sign."""
    rows = [[Fraction(v) for v in row] for row in Z.tolist()]
    sets = (chosen for k in range(1, Z.shape[1] + 2) for chosen in combinations(range(len(rows)), k))
    return [set(chosen) for chosen in sets if cancels([rows[i] for i in chosen])]


def separable(Z):
    """Whether some w has z·w > 0 for all rows z."""
    return not minimal_witnesses(Z)


def cancels(rows):
    """Whether the only combination of the rows that is 0 has positive coefficients."""
    columns, rank, leading = [list(column) for column in zip(*rows, strict=True)], 0, []
    for k in range(len(rows)):
        pivot = next((r for r in range(rank, len(columns)) if columns[r][k]), None)
        if pivot is None:
            continue
        columns[rank], columns[pivot] = columns[pivot], columns[rank]
        columns[rank] = [v / columns[rank][k] for v in columns[rank]]
        for r in range(len(columns)):
            if r != rank and columns[r][k]:
                columns[r] = [a - columns[r][k] * b for a, b in zip(columns[r], columns[rank], strict=True)]
        leading.append(k)
        rank += 1
    free = [k for k in range(len(rows)) if k not in leading]
    return len(free) == 1 and all(columns[r][free[0]] < 0 for r in range(rank))
