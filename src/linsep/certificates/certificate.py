"""Certificates: load, save, print and verify."""

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from linsep.certificates import checker, words
from linsep.certificates.mixed_checker import checker_of, is_mixed
from linsep.certificates.passes import ReadingError, StreamedProblem, StreamedRows
from linsep.certificates.reading import matrix_of, read_labels, read_rows, shorten
from linsep.certificates.replay import epochs_of, spans_of
from linsep.certificates.schema import (
    FORMAT,
    KINDS,
    LISTED,
    MOST_MIXES,
    VERSION,
    FormError,
    MistakeBound,
    ProblemKey,
    check_form,
    distinct,
    integers,
    seed_of,
    whole,
)
from linsep.certificates.theorems import Theorem, theorem_of
from linsep.data.streaming import Stream
from linsep.engine.arrays import Array
from linsep.engine.atomic_write import atomic_write
from linsep.engine.runtime import one_blas_thread
from linsep.theory import risk
from linsep.theory.exchangeability import LabelOrder
from linsep.validation.errors import ParameterError

FAILS, NOT_CHECKED = "fails", "not checked"
ASSUMED = "assumed; their labels do not contradict it"
UPDATES = "this run lists the rows of its updates, not the rounds between them"
LOGGED = "they are taken from its log"
BOUNDED = {"perceptron": "perceptron", "winnow": "Winnow", "balanced-winnow": "balanced Winnow"}
"""Learners with a bound on their mistakes, and their names in claims."""
NOT_PROVED = {"margin at least": 0.0, "margin at most": math.inf, "mistakes at most": math.inf}
"""The values of those claims on a learner that are not stated."""
REPORTED = {"margin": "l2", "Winnow's margin": "simplex", "balanced Winnow's margin": "l1"}
"""Weights that reports are taken from, and the norm of the margin that they prove."""


class CertificateError(ValueError):
    """A file that is no certificate."""


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """Claims about data and runs, with the witnesses that prove them.

    Made by :func:`linsep.certify` and by a learner's `certificate`; checked by :func:`linsep.verify`.

    Attributes
    ----------
    facts : dict
        The contents of the file: the data's SHA-256, the witnesses of each problem, the runs, the claims.
    """

    facts: dict[str, Any]

    @property
    def claims(self) -> dict[str, Any]:
        """Every claim by its name, "problem: claim"; numbers are texts of nine digits, rounded outwards."""
        return self.facts["claims"]

    @property
    def keys(self) -> list[ProblemKey]:
        """The problems, those that the verdict is about first: pairs of classes, or those with a bias."""
        known = map(ProblemKey.parse, self.facts["problems"])
        return sorted(known, key=lambda key: (KINDS.index(key.kind), not key.bias))

    @property
    def problems(self) -> list[str]:
        """The names of the problems, those that the verdict is about first."""
        return list(map(str, self.keys))

    @property
    def runs(self) -> list[str]:
        """The names of the runs that were played again; empty in a certificate of data alone."""
        return list(self.facts["runs"])

    @property
    def remarks(self) -> list[str]:
        """Remarks on what is not proved, and why."""
        return list(self.facts["data"]["remarks"])

    @property
    def verdict(self) -> str:
        """Verdict on the data: "separable", "not separable" or "open": that of the first problem, or of all pairs."""
        first = self.keys[0]
        return "open" if first.kind == "class" else self.claims.get(f"{first}: verdict", "open")

    @property
    def separable(self) -> bool | None:
        """True or False where the certificate proves it, None where that is open; see `verdict`."""
        return {"separable": True, "not separable": False}.get(self.verdict)

    @property
    def margin(self) -> tuple[float, float]:
        """The proved bounds of the perceptron's margin, from below and from above; 0 from below if none is proved."""
        return self.number("perceptron's margin at least"), self.number("perceptron's margin at most")

    @property
    def radius(self) -> float:
        """The R of the bounds: the largest norm of a row, the constant feature included.

        Of more than two classes, √2 times that: a row is added to one class and subtracted from another.
        """
        return self.number("R at most")

    @property
    def witness(self) -> Array | None:
        """The weights that separate the rows, the constant feature's last; None unless the data are separable."""
        return self.weights() if self.separable else None

    def max_mistakes(self, learner: str = "perceptron", passes: int | None = None) -> float:
        """Return the most mistakes that a learner can make on these rows, infinity if no bound is proved.

        Parameters
        ----------
        learner : {"perceptron", "winnow", "balanced-winnow"}, default="perceptron"
            The learner; Winnow's bounds are those of the best rate.
        passes : int or None, default=None
            If a number, the bound holds for so many passes over the rows, whether they are separable or not; the
            certificate states it for the perceptron, for one pass and for `passes=` of :func:`linsep.certify`. If None,
            it holds for any number of passes, in any order.

        Examples
        --------
        >>> from linsep import certify
        >>> cert = certify([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1], passes=10)
        >>> cert.separable, cert.max_mistakes(), cert.max_mistakes(passes=1), cert.max_mistakes("winnow")
        (True, 11, 3, 99)
        """
        if learner not in BOUNDED:
            raise ValueError(f"learner={learner!r} has no bound; use one of {sorted(BOUNDED)}")
        try:
            bound = self.number(MistakeBound(BOUNDED[learner], passes))
        except KeyError:
            raise ValueError(
                f"the certificate states no bound of {learner} for passes={passes}; certify with passes={passes}, "
                "for the perceptron"
            ) from None
        return bound if math.isinf(bound) else math.floor(bound)

    def number(self, claim: str | MistakeBound, name: str | ProblemKey | None = None) -> float:
        """Return a claim of a problem or run as a float; infinity for a bound, 0 for a margin, that is not proved.

        Examples
        --------
        >>> from linsep import certify
        >>> cert = certify([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1])
        >>> cert.number("perceptron's margin at least"), cert.number("perceptron's mistakes at most")
        (0.999, 11.0)
        """
        name = self._known(name)
        value = self.claims.get(f"{name}: {claim}")
        if value is None:
            learner, _, end = str(claim).partition("'s ")
            if learner not in BOUNDED.values() or end not in NOT_PROVED:
                raise KeyError(f"{name!r} has no claim {str(claim)!r}, but {list(self.claims_of(name))}")
            return NOT_PROVED[end]
        try:
            return float(Decimal(value))
        except (ArithmeticError, TypeError, ValueError):
            raise KeyError(f"the claim {str(claim)!r} is no number: {value!r}") from None

    def claims_of(self, name: str | ProblemKey) -> dict[str, Any]:
        """Return the claims of a problem or run."""
        start = f"{name}: "
        owned = {claim.removeprefix(start): value for claim, value in self.claims.items() if claim.startswith(start)}
        return {claim: value for claim, value in owned.items() if ": " not in claim}  # names may hold ": ", not claims

    def _known(self, name: str | ProblemKey | None) -> str:
        """Return the name of a problem or run that the certificate has, by default the first problem's."""
        name = str(self.keys[0] if name is None else name)
        if name not in self.facts["problems"] and name not in self.facts["runs"]:
            raise KeyError(f"no problem or run is called {name!r}, but {[*self.problems, *self.runs]}")
        return name

    def weights(self, witness: str = "margin", problem: str | None = None) -> Array:
        """Return the weights of a witness as floats, such as those of the largest margin, the constant feature's last.

        A weight beyond the range of floats is infinite.

        Examples
        --------
        >>> from linsep import certify
        >>> certify([[0.0], [2.0]], [0, 1]).weights().round(2)
        array([ 2., -1.])
        """
        facts = self.facts["problems"][self._known(problem)]
        if witness not in facts["w"]:
            raise KeyError(f"no weights are called {witness!r}, but {list(facts['w'])}")
        vector = facts["w"][witness]
        vectors = len(self.facts["data"]["classes"]) if facts["positive"] is None else 1
        w = np.zeros(vectors * (self.facts["data"]["features"] + 1))
        w[vector.get("at", slice(None))] = [_scale(v, vector["exponent"]) for v in integers(vector)]
        return w.reshape(vectors, -1) if vectors > 1 else w

    @property
    def risk(self) -> dict[str, Any]:
        """Bounds on the error on new rows, of each run of one pass, if rows are independent draws (not checked)."""
        return self.facts["risk"]

    @property
    def scaling(self) -> Array | None:
        """The factor of each column in the scaled problem, a power of two; None without `scaling=True`.

        Examples
        --------
        >>> from linsep import certify
        >>> X, y = [[1.0, 600.0], [2.0, -500.0], [-1.0, 700.0], [-2.0, -700.0]], [1, 1, 0, 0]
        >>> cert = certify(X, y, scaling=True, passes=100)
        >>> bool(cert.scaling[0] > 1000 * cert.scaling[1])
        True
        >>> cert.max_mistakes(), cert.number("perceptron's mistakes at most", cert.problems[-1])
        (487357, 4.0...)
        """
        scaled = next((key for key in self.keys if key.kind == "scaled"), None)
        if scaled is None:
            return None
        scale, factors = self.facts["problems"][str(scaled)]["scale"], np.ones(self.facts["data"]["features"])
        factors[scale.get("at", slice(None))] = np.ldexp(1.0, np.array(scale["values"], np.int64))
        return factors

    def fewest_errors(self, problem: str | None = None) -> tuple[int, int]:
        """Return bounds of the fewest rows that any hyperplane gets wrong; certify with `least_error=True`.

        Wrong is a row with y w·x <= 0. Every w errs in each of some disjoint sets of rows that cancel, and weights that
        are in the certificate err on the second number of rows.

        Examples
        --------
        >>> from linsep import certify
        >>> certify([[0.0], [1.0], [2.0], [2.0]], [0, 1, 0, 1], least_error=True).fewest_errors()
        (1, 1)
        """
        least, most = (self.number(f"fewest errors at {end}", problem) for end in ("least", "most"))
        return int(least), int(most)

    def bounds(self, name: str | None = None) -> dict[str, float]:
        """Return the bounds on mistakes that are proved, by learner and passes.

        Examples
        --------
        >>> from linsep import certify
        >>> certify([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1], passes=1).bounds()
        {'perceptron': 11.0, 'Winnow': 99.3, 'balanced Winnow': 89.0, 'perceptron (T = 1)': 3.0}
        """
        claims = self.claims_of(self._known(name)).items()
        return {bound.label: float(Decimal(value)) for claim, value in claims if (bound := MistakeBound.parse(claim))}

    def theorem(self, run: str) -> Theorem:
        """Return the theorem that a run is held to."""
        if run not in self.runs:
            raise KeyError(f"no run is called {run!r}, but {self.runs}")
        return theorem_of(self.facts["runs"][run])

    def allowed(self, run: str = "run") -> dict[str, float]:
        """Return the bounds on mistakes that hold for a run: those of its own theorem and its own passes.

        Of a mixed run they bound the claim "mixed mistakes", in which each shard's mistakes have its weight in the mix;
        the mistakes of all shards together may be more.

        Examples
        --------
        >>> from linsep import Perceptron
        >>> X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]
        >>> Perceptron(shuffle=False, max_iter=2).fit(X, y).certificate(X, y).allowed()
        {'in any order': 11.0, 'in 2 passes': 5.68}
        >>> Perceptron(shuffle=False, max_iter=2, shards=2).fit(X, y).certificate(X, y).allowed()
        {'weighted, at every mix': 11.0, 'weighted, in 2 passes': 5.68}
        """
        theorem, facts = self.theorem(run), self.facts["runs"][run]
        bounds = theorem.bounds(run, facts)
        known = {label: float(Decimal(self.claims[claim])) for label, claim in bounds.items() if claim in self.claims}
        return {f"weighted, {label}": bound for label, bound in known.items()} if is_mixed(facts) else known

    def updated_rows(self, run: str = "run", codes: Array | None = None) -> Array:
        """Return the row of each update of a run, in order; a problem of pairs has a row for each rival of a row.

        Parameters
        ----------
        run : str, default="run"
            The name of the run.
        codes : array, optional
            For pairs of classes, the number of each row's class among the certificate's.

        Examples
        --------
        >>> from linsep import Perceptron
        >>> X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]
        >>> Perceptron(shuffle=False, max_iter=2).fit(X, y).certificate(X, y).updated_rows()
        array([0, 1])
        """
        facts, data = self.facts["runs"][run], self.facts["data"]
        if "updates" not in facts:
            return np.array(facts["rows"], np.int64)
        rounds = np.cumsum(facts["updates"]) - 1
        epochs = islice(epochs_of(facts, data["rows"], None), int(rounds[-1]) // data["rows"] + 1)
        rows = [order[rounds[rounds // data["rows"] == k] - k * data["rows"]] for k, order in enumerate(epochs)]
        found = np.concatenate(rows)
        if "rivals" not in facts:
            return found
        if codes is None:
            raise ValueError("codes=None: the updates of pairs of classes depend on the labels; give their codes")
        rivals = np.array(facts["rivals"], np.int64)
        return found * (len(data["classes"]) - 1) + rivals - (rivals > np.asarray(codes)[found])

    def mixes(self, run: str = "run") -> list[list[list[int]]]:
        """Return the mixes of a run, each a list of its shards: [updates, share]; empty if no shards were mixed.

        Shares by mistakes are those of runs whose updates are their mistakes.

        Examples
        --------
        >>> from linsep import Perceptron
        >>> X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]
        >>> Perceptron(shuffle=False, max_iter=2, shards=2).fit(X, y).certificate(X, y).mixes()
        [[[1, 1], [1, 1]], [[0, 1], [0, 1]]]
        """
        facts, n = self.facts["runs"][run], self.facts["data"]["rows"]
        if "shards" not in facts:
            return list(facts.get("mixes", []))
        rounds, found = np.cumsum(facts["updates"]) - 1, []
        epochs = max(int(rounds[-1]) // n + 1, sum(of for _, of in facts["shards"]))
        for epoch in range(min(epochs, MOST_MIXES)):
            spans = spans_of(facts, epoch, min(n, facts["rounds"] - epoch * n))
            ends = np.searchsorted(rounds, epoch * n + np.array([0, *(hi for _, hi in spans)]))
            counts = np.diff(ends).tolist()
            shares = {"uniform": [1] * len(spans), "rows": [hi - lo for lo, hi in spans], "mistakes": counts}
            share = shares[facts["mixing"]] if len(spans) > 1 and any(shares[facts["mixing"]]) else [1] * len(spans)
            if len(spans) > 1 or counts[0]:
                found.append([list(shard) for shard in zip(counts, share, strict=True)])
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate to a file, as JSON; a file of that name stays whole until all is written."""
        with atomic_write(path) as draft:
            Path(draft).write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        """Return the file's contents."""
        return json.dumps(self.facts, separators=(",", ":")) + "\n"

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Certificate":
        """Read a certificate from a file; :func:`linsep.verify` checks whether it holds."""
        if Path(path).is_dir() or "\0" in os.fspath(path):
            raise CertificateError(f"{os.fspath(path)!r} is not a certificate: name a file")
        return cls.parse(Path(path).read_bytes(), str(path))

    @classmethod
    def parse(cls, text: bytes, name: str) -> "Certificate":
        """Read a certificate from a file's contents."""
        try:
            facts = json.loads(text, object_pairs_hook=distinct)
        except (ValueError, RecursionError) as error:
            raise CertificateError(f"{name} is not a certificate: {error}") from error
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            raise CertificateError(f'{name} is not a certificate: it lacks "format": "{FORMAT}"')
        if not whole(LISTED, VERSION)(facts.get("version")):
            known = f"this linsep reads versions {LISTED} and {VERSION}"
            raise CertificateError(f"{name} is a certificate of version {facts.get('version')!r}; {known}")
        return cls(facts)

    def __str__(self) -> str:
        return words.report(self)

    def __repr__(self) -> str:
        data = self.facts["data"]
        what = f"{data['rows']:,} rows, {data['features']:,} features"
        return f"<Certificate: {words.short_verdict(self)}; {what}; {len(self.claims)} claims>"


def _scale(value: int, exponent: int) -> float:
    """Return value 2^exponent as a float, infinite if it is beyond the range of floats."""
    try:
        return float(value * Fraction(2) ** exponent)
    except OverflowError:
        return math.copysign(math.inf, value)


@dataclass(frozen=True)
class Result:
    """The status of each claim after a check; true if no claim fails, and none was left out.

    Attributes
    ----------
    checks : list of (claim, status, detail)
        The status is "holds", "fails", "not checked" (no data can show it), "not in time", or "needs rows" (it can't
        be checked on a stream).
    """

    checks: list[tuple[str, str, str]]

    def __bool__(self) -> bool:
        return all(status not in (FAILS, checker.NOT_IN_TIME, checker.NEEDS_ROWS) for _, status, _ in self.checks)

    @property
    def unchecked(self) -> list[str]:
        """The claims that were not checked within the time limit, or not on a stream."""
        left_out = checker.NOT_IN_TIME, checker.NEEDS_ROWS
        return [claim for claim, status, _ in self.checks if status in left_out]

    @property
    def failures(self) -> list[tuple[str, str]]:
        """The claims that fail, with what is wrong."""
        return [(claim, detail) for claim, status, detail in self.checks if status == FAILS]

    def __str__(self) -> str:
        lines = [(words.shown(claim), status, words.shown(detail)) for claim, status, detail in self.checks]
        wide = max(len(claim) for claim, _, _ in lines)
        return "\n".join(f"{status:<12}{claim:<{wide}}  {detail}" for claim, status, detail in lines)


def verify(
    certificate: Any, X: Any, y: Any = None, *, orders: Sequence[Any] | None = None, time_limit: float | None = None
) -> Result:
    """Check every claim of a certificate against the data, in exact arithmetic.

    All is computed again by six files, which import nothing else of linsep: :mod:`linsep.certificates.checker`, its
    `schema`, `replay`, `kernel_replay` and `tails`, and `mixed_checker` for runs whose shards were mixed.
    Claims about new rows assume that rows are independent draws, which no data can show: their arithmetic is checked,
    and they are listed as not checked.

    Parameters
    ----------
    certificate : Certificate, a file's name, or the dict in a file
        The certificate to check.
    X : array, sparse matrix, dataframe, (rows, features), or Stream
        The rows; dense and sparse ones are alike. A :func:`linsep.stream` is checked block by block, in the memory
        that a block takes, by a pass for the SHA-256 and one for each problem. The claims of runs are then
        "needs rows": a replay needs all rows in memory.
    y : array, (rows,)
        Their labels; omit the labels of a stream.
    orders : sequence of arrays, optional
        The order of each shuffled epoch. Default: drawn with numpy from the seed in the certificate. Needed only if
        another version of numpy draws other orders; a claim has the SHA-256 of those of the training.
    time_limit : float, optional
        Seconds for the arithmetic. Claims that are not checked by then are "not in time", and the result is false.

    Returns
    -------
    Result
        True if every claim that can be checked holds; on other data false, with the reason. It raises no error for any
        contents and data.

    Raises
    ------
    CertificateError
        If a file is named that is no certificate.
    ValueError
        If time_limit is not above 0.
    DataError
        If a stream has a malformed row, or can be read only once.
    OSError
        If a file is named that can't be read.

    Examples
    --------
    >>> from linsep import certify, verify
    >>> X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], ["no", "yes", "yes"]
    >>> cert = certify(X, y)
    >>> bool(verify(cert, X, y)), bool(verify(cert, X[::-1], y))
    (True, False)
    """
    if isinstance(certificate, (str, os.PathLike)):
        certificate = Certificate.load(certificate)
    facts = certificate.facts if isinstance(certificate, Certificate) else certificate
    if time_limit is not None and not time_limit > 0:
        raise ParameterError(f"time_limit={time_limit} leaves no time: it must be above 0 seconds, or None")
    if isinstance(X, Stream) and y is not None:
        raise ParameterError("y= is given beside a stream, which has labels of its own: remove y")
    try:
        with one_blas_thread():  # products of blocks are small: more threads would only wait for each other
            return Result(_check_claims(facts, X, y, orders, time_limit))
    except ReadingError as error:
        raise error.__cause__ or error from None
    except FormError as error:
        return Result([("certificate", FAILS, str(error))])
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        return Result([("certificate", FAILS, f"the certificate does not fit these data: {error!r}")])


def _check_claims(facts: Any, X: Any, y: Any, orders: Any, time_limit: float | None) -> list[tuple[str, str, str]]:
    """Return the status of each claim; raise an error for a certificate that makes no sense."""
    check_form(facts)
    if isinstance(X, Stream):
        return _check_stream(facts, X, time_limit)
    try:
        data = read_rows(X)
        names, codes = read_labels(y, data.n_rows)
        _refuse_other_labels(names, codes, facts["data"]["classes"])
        if facts["version"] == VERSION and names != facts["data"]["classes"]:
            return [("data", FAILS, "the certificate's classes are not the labels, in their order")]
    except Exception as error:  # methods of X and y, which may be of any type, raise whatever they like
        return [("data", FAILS, str(error) or repr(error))]
    kind, proofs = proofs_of(checker_of(facts))
    checks = checker.check(facts, matrix_of(data), np.array(names)[codes], kind, orders, time_limit)
    if Result(checks):
        checks += _find_misnamed(facts["problems"], proofs) + _list_assumptions(facts)
        checks += _list_risks(facts, _orders_of_labels(facts, codes, orders))
    return checks


def _check_stream(facts: Any, rows: Stream, time_limit: float | None) -> list[tuple[str, str, str]]:
    """Return the status of each claim about rows that are read block by block."""
    (kind, proofs), seen = proofs_of(StreamedProblem), list[StreamedRows]()

    def read(classes: list[str], tick: Any) -> StreamedRows:
        seen.append(StreamedRows(rows, (facts["data"]["rows"], facts["data"]["features"]), classes, tick))
        if facts["version"] == VERSION and seen[0].names != classes:
            raise ValueError("the certificate's classes are not the labels, in their order")
        return seen[0]

    checks = checker.check_rows(facts, read, kind, None, time_limit)
    if Result(checks):
        problems = [name for name, of in facts["problems"].items() if {"held out", "PAC-Bayes"} & {*of}]
        checks += _find_misnamed(facts["problems"], proofs) + _list_assumptions(facts)
        checks += _list_risks(facts, dict.fromkeys(problems, seen[0].labels))
    return checks


def proofs_of(kind: type[checker.SignedProblem]) -> tuple[type[checker.SignedProblem], list[dict[str, dict[str, str]]]]:
    """Return a checker that also records, for each problem in order, which witnesses prove what reports show.

    A record is {"w": {name: proof}, "lambda": {name: proof}}: `name` is the witness that reports are taken from, and
    `proof` is `name` if that proves the margin or the verdict, and else a witness that does. A name without a proof, as
    nothing was proved, is left out.
    """
    proofs: list[dict[str, dict[str, str]]] = []

    class Recorded(kind):  # type: ignore[misc, valid-type]
        def claims(self) -> dict[str, Any]:
            w: dict[str, str] = {}
            for name, norm in REPORTED.items() if self.known["games"] else [("margin", "l2")]:
                margins = {k: self.margin2(k, norm) for k in self.w}
                best = max(margins, key=lambda k: margins[k])
                if margins[best]:
                    w[name] = name if margins.get(name) else best
            cancel = sorted((k for k, q in self.point.items() if not q.any()), key=lambda k: (k != "margin", k))
            proofs.append({"w": w, "lambda": {"margin": cancel[0]} if cancel else {}})
            return super().claims()

    return Recorded, proofs


def _find_misnamed(problems: dict[str, Any], proofs: list[dict[str, dict[str, str]]]) -> list[tuple[str, str, str]]:
    """Return a failure for each witness that reports use and that does not prove what they show."""
    return [
        (f"{name}: witnesses", FAILS, f"{side} {witness!r} does not prove it, but {proof!r} does")
        for (name, problem), found in zip(problems.items(), proofs, strict=True)
        for side, named in found.items()
        for witness, proof in named.items()
        if proof != witness in problem[side] and (side == "w" or words.cancelling(problem) is not None)
    ]


def _refuse_other_labels(names: list[str], codes: Array, classes: list[str]) -> None:
    """Raise a ValueError that names the first row whose label the certificate does not have."""
    other = np.array([name not in classes for name in names])[codes]
    if other.any():
        row = int(np.flatnonzero(other)[0])
        raise ValueError(f"label {shorten(names[codes[row]])} of row {row} is not among the certificate's labels")


def _list_assumptions(facts: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return what no checker can prove: risks, and the rounds between the updates of runs that list their rows."""
    runs = [(name, run) for name, run in facts["runs"].items() if "updates" not in run]
    checks = [(f"{name}: no other round was a mistake", NOT_CHECKED, UPDATES) for name, _ in runs]
    steps = [name for name, run in runs if not theorem_of(run).unit_steps]
    checks += [(f"{name}: its steps are the rule's", NOT_CHECKED, LOGGED) for name in steps]
    mixed = [name for name, run in runs if "mixes" in run]
    checks += [(f"{name}: its shards, and their shares in each mix", NOT_CHECKED, LOGGED) for name in mixed]
    again = risks_of(facts["runs"], facts["claims"])
    if facts["risk"] != again:
        return [*checks, ("risk", FAILS, f"stated {facts['risk']}, found {again}")]
    detail = "{at most:.4g} at confidence {confidence:g}, assuming {assuming}"
    return checks + [(f"{name}: risk", NOT_CHECKED, detail.format_map(of)) for name, of in again.items()]


def _orders_of_labels(facts: dict[str, Any], codes: Array, given: Any) -> dict[str, LabelOrder]:
    """Return the order of the labels of each problem and run that states a risk."""
    runs = {name: run for name, run in facts["runs"].items() if "compression" in run}
    orders = {name: codes[next(epochs_of(run, len(codes), given))] for name, run in runs.items()}
    orders |= {name: codes for name, of in facts["problems"].items() if {"held out", "PAC-Bayes"} & {*of}}
    return {name: label_order(order) for name, order in orders.items()}


def _list_risks(facts: dict[str, Any], orders: dict[str, LabelOrder]) -> list[tuple[str, str, str]]:
    """Return what bounds on risks assume, and a failure where the order of the labels refutes that."""
    checks = []
    for name, order in orders.items():
        refuted = refuted_order(order, facts["data"]["classes"])
        checks.append((f"{name}: rows are independent draws", FAILS if refuted else NOT_CHECKED, refuted or ASSUMED))
    runs = [name for name in orders if name in facts["runs"]]
    unseen = "parameters were fixed before the rows were seen"
    checks += [(f"{name}: {unseen}", NOT_CHECKED, "no data can show it") for name in runs]
    kept = [name for name, of in facts["problems"].items() if "held out" in of]
    return checks + [(f"{name}: the model never saw these rows", NOT_CHECKED, "no data can show it") for name in kept]


def label_order(codes: Array) -> LabelOrder:
    """Return the order of labels, to be tested."""
    labels = LabelOrder()
    labels.add(codes)
    return labels


def refuted_order(labels: LabelOrder, classes: list[str]) -> str:
    """Return why labels in this order are those of no random order; "" if nothing contradicts it."""
    found = labels.test()
    return f"the class {classes[found.label]} has {found.what}" if found.refuted else ""


def data_seed(X: Any, y: Any) -> int:
    """Return the seed that follows from the data alone: the first 32 bits of their SHA-256 in certificates.

    A risk holds for an order of the rows that was fixed before the run. A seed could be chosen for a small risk; this
    one can't be.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]
    >>> clf = Perceptron(random_state=data_seed(X, y)).fit(X, y)
    >>> clf.certificate(X, y, risk=True).claims["run: rows updated"]
    2
    """
    data = read_rows(X)
    names, codes = read_labels(y, data.n_rows)
    return seed_of(checker.CheckedRows(matrix_of(data), np.array(names)[codes], names).sha256)


def risks_of(runs: dict[str, Any], claims: dict[str, Any]) -> dict[str, Any]:
    """Return the risk of each run that states a confidence: those of one pass."""
    return {
        name: _risk(claims[f"{name}: mistakes"], run["rounds"], run["confidence"])
        for name, run in runs.items()
        if "confidence" in run
    }


def _risk(mistakes: int, rounds: int, confidence: float) -> dict[str, Any]:
    """Return the risk on new rows after one pass, if rows are independent draws."""
    found = risk.anytime(mistakes, rounds, confidence)
    return {
        "mistakes": mistakes, "rounds": rounds, "confidence": confidence,
        "estimate": float(risk.estimate(mistakes, rounds)),
        "at most": _round_up(float(found.bound)), "of the vote at most": _round_up(float(found.vote)),
        "assuming": "i.i.d. rows, one pass; not checked",
    }  # fmt: skip


def _round_up(value: float) -> float:
    """Return a number rounded up to nine digits, so that it is the same wherever it is computed."""
    return min(float(checker.stated(Fraction(value) * (1 + Fraction(1, 10**13)), checker.UP)), 1.0)
