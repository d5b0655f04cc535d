"""Search learners, maps and parameters by successive halving (Jamieson and Talwalkar, 2016).

All candidates learn a few of the rows, and are judged by rows that were set aside. The best third learns three times as
many rows, and so on until those that are left have learned all of them.
"""

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import ParameterSampler

from linsep.cli.jobs.comparing import Attempt, Candidate, Contest, set_aside
from linsep.cli.options.learners import described
from linsep.cli.terminal.progress import LearnerReport
from linsep.engine.arrays import Array
from linsep.estimators.registry import LEARNERS
from linsep.evaluation.search import search_space
from linsep.transforms.base import is_sparse

FACTOR = 3
"""One of this many candidates continues, with this many times the rows."""
FEWEST_ROWS = 500
"""The first round has at least so many rows, or all of them."""
FEW_COLUMNS = 40
"""Products of columns are tried where there are no more columns."""
WITHIN = ("scale:largest=entry",)
"""The map before learners whose entries are at most 1."""
DIGITS = 2
"""Numbers that are drawn are rounded to so many digits, so that commands can be read."""


class Result(NamedTuple):
    """A candidate with the last round that it took part in, from 1, the rows it learned there, and what came of it."""

    candidate: Candidate
    round: int
    rows: int
    attempt: Attempt


def draw_candidates(
    names: list[str], parameters: dict[str, Any], maps: tuple[str, ...], X: Any, classes: int, count: int, seed: int
) -> list[Candidate]:  # fmt: skip
    """Return candidates, each once: every learner with its defaults, then with maps and parameters drawn at random.

    Learners take turns. A learner whose table of values is used up has no more turns.
    """
    rng = np.random.default_rng(seed)
    choices = [maps] if maps else maps_to_try(X)
    base = {
        name: {of: value for of, value in parameters.items() if of in (*described(name), "random_state", "n_jobs")}
        for name in names
    }
    own = {name: maps or (WITHIN if "x_max" in described(name) and "x_max" not in parameters else ()) for name in names}
    found = [Candidate(name, base[name], own[name]) for name in names][:count]
    known, turns = {_key(of) for of in found}, list(names)
    while turns and len(found) < count:
        for name in list(turns):
            space = {of: some for of, some in search_space(LEARNERS[name].learner).items() if of not in parameters}
            if classes == 2:
                space.pop("multi_class", None)
            for _ in range(20):
                drawn = next(iter(ParameterSampler(space, 1, random_state=int(rng.integers(2**31))))) if space else {}
                rounded = {of: _rounded(value) for of, value in drawn.items()}
                chosen = {of: value for of, value in rounded.items() if value != described(name)[of].default}
                some = choices[int(rng.integers(len(choices)))] if LEARNERS[name].sizes_matter else own[name]
                candidate = Candidate(name, base[name], some, chosen)
                if _key(candidate) not in known:
                    break
            else:
                turns.remove(name)
                continue
            known.add(_key(candidate))
            found.append(candidate)
            if len(found) == count:
                break
    return found


def maps_to_try(X: Any) -> list[tuple[str, ...]]:
    """Return the maps that are tried: none, standardised columns and, of few dense columns, their products, too."""
    maps: list[tuple[str, ...]] = [(), ("standardize",)]
    if not is_sparse(X) and X.shape[1] <= FEW_COLUMNS:
        maps.append(("standardize", "polynomial:degree=2"))
    return maps


def round_sizes(rows: int, candidates: int) -> list[tuple[int, int]]:
    """Return for each round how many candidates learn how many rows.

    >>> round_sizes(30_000, 60), round_sizes(200, 60), round_sizes(10_000, 5)
    ([(60, 1111), (20, 3333), (7, 10000), (3, 30000)], [(60, 200)], [(5, 3333), (2, 10000)])
    """
    sizes = [(candidates, rows)]
    while sizes[0][1] // FACTOR >= FEWEST_ROWS and FACTOR ** len(sizes) < candidates:
        sizes.insert(0, (candidates, rows // FACTOR ** len(sizes)))
    return [(-(-candidates // FACTOR**k), size) for k, (_, size) in enumerate(sizes)]


def rows_of_rounds(y: Array, sizes: list[int], seed: int) -> list[Array]:
    """Return the rows of each round, all in the last: those of a round are among those of the next.

    They are chosen by the seed, with the same share of each class.

    >>> few, all = rows_of_rounds(np.repeat([0, 1], [60, 30]), [30, 90], seed=0)
    >>> int(np.sum(few < 60)), int(np.sum(few >= 60)), len(all)
    (20, 10, 90)
    """
    found = [np.arange(len(y))]
    for size in sizes[-2::-1]:
        within = found[0]
        found.insert(0, within[set_aside(y[within], size / len(within), seed)])
    return found


def halve(
    contest: Contest, candidates: list[Candidate], seed: int, tell: LearnerReport, time_limit: float | None = None
) -> Iterator[Result]:
    """Yield each candidate in each round, as it ends; those that could not be tried in time are left out."""
    began, standing = perf_counter(), dict(enumerate(candidates))
    sizes = round_sizes(len(contest.train.y), len(candidates))
    for number, chosen in enumerate(rows_of_rounds(contest.train.y, [size for _, size in sizes], seed), 1):
        rows = replace(contest, train=contest.train.some(chosen)) if len(chosen) < len(contest.train.y) else contest
        left = None if time_limit is None else max(time_limit - (perf_counter() - began), 0.0)
        named = {str(place): candidate for place, candidate in standing.items()}
        attempts = []
        for attempt in rows.attempts(named, tell, left):
            candidate = standing[int(attempt.name)]
            attempts.append(attempt)
            if not attempt.out_of_time:
                yield Result(candidate, number, len(rows.train.y), attempt)
        if number < len(sizes):
            able = [of for of in attempts if of.error is not None]
            best = sorted(able, key=lambda of: of.error or 0.0)[: sizes[number][0]]
            standing = {int(of.name): standing[int(of.name)] for of in best}


def leaders(results: list[Result]) -> list[Result]:
    """Return the last result of each candidate: those that came furthest first, by their error, then as drawn."""
    last = {id(result.candidate): result for result in results}
    return sorted(last.values(), key=lambda of: (of.attempt.error is None, -of.round, of.attempt.error or 0.0))


def _rounded(value: Any) -> Any:
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.{DIGITS}g}")
    return value.item() if isinstance(value, np.generic) else value


def _key(candidate: Candidate) -> tuple[Any, ...]:
    """Return the key that distinguishes candidates."""
    return candidate.learner, candidate.maps, *sorted((of, str(value)) for of, value in candidate.chosen.items())
