"""Certificates: what is proved of data and of runs, in a small file that anyone can check again."""

import json
import math
import os
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from linsep.theory import checker, risk

FORMAT = "linsep certificate"
VERSION = 1
HOLDS, FAILS, NOT_CHECKED = "holds", "fails", "not checked"
UPDATES = "a certificate holds the updates of a run, not the rounds between them"


class CertificateError(ValueError):
    """A file that is no certificate."""


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """What was proved, with the witnesses that prove it.

    Made by :func:`linsep.certify` and by a learner's `certificate`; checked by :func:`linsep.verify`.

    Attributes
    ----------
    facts : dict
        All of it, as it stands in the file: the data's SHA-256, the witnesses of each problem, the runs, the claims.
    """

    facts: dict[str, Any]

    @property
    def claims(self) -> dict[str, Any]:
        """Every claim by its name, "problem: claim"; numbers are texts of nine digits, rounded outwards."""
        return self.facts["claims"]

    @property
    def problems(self) -> list[str]:
        """The names of the problems; the first is the one that the verdict is about."""
        return list(self.facts["problems"])

    @property
    def runs(self) -> list[str]:
        """The names of the runs that were played again; none in a certificate of data alone."""
        return list(self.facts["runs"])

    @property
    def remarks(self) -> list[str]:
        """What is not proved, and why."""
        return list(self.facts["data"]["remarks"])

    @property
    def verdict(self) -> str:
        """Whether the data are "separable", "not separable", or that is "open": the first problem's."""
        return self.claims[f"{self.problems[0]}: verdict"]

    def number(self, claim: str, name: str | None = None) -> float:
        """Return a claim of a problem or run as a float; infinity for a bound, 0 for a margin, that is not proved.

        Examples
        --------
        >>> from linsep import certify
        >>> cert = certify([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1])
        >>> cert.number("perceptron's margin at least"), cert.number("perceptron's mistakes at most")
        (0.999, 11.0)
        """
        value = self.claims.get(f"{name or self.problems[0]}: {claim}")
        return float(Decimal(value)) if value is not None else math.inf if "at most" in claim else 0.0

    def bounds(self, name: str | None = None) -> dict[str, float]:
        """Return the bounds on mistakes that are proved, by learner and passes.

        Examples
        --------
        >>> from linsep import certify
        >>> certify([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1], passes=1).bounds()
        {'perceptron': 11.0, 'Winnow': 99.3, 'balanced Winnow': 89.0, 'perceptron (T = 1)': 3.0}
        """
        found = {}
        for claim, value in self.claims.items():
            problem, _, what = claim.partition(": ")
            whose, mistakes, rest = what.partition("'s mistakes ")
            if problem == (name or self.problems[0]) and mistakes and rest.endswith("at most"):
                found[f"{whose} {rest.removesuffix('at most')}".strip()] = float(Decimal(value))
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate to a file, as JSON."""
        Path(path).write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        """Return the file's contents."""
        return json.dumps(self.facts, separators=(",", ":")) + "\n"

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Certificate":
        """Read a certificate from a file; whether it holds is for :func:`linsep.verify` to say."""
        return cls.parse(Path(path).read_bytes(), str(path))

    @classmethod
    def parse(cls, text: bytes, name: str) -> "Certificate":
        """Read a certificate from a file's contents."""
        try:
            facts = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CertificateError(f"{name} is not a certificate: {error}") from error
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            raise CertificateError(f'{name} is not a certificate: it does not say "format": "{FORMAT}"')
        if facts.get("version") != VERSION:
            raise CertificateError(
                f"{name} is a certificate of version {facts.get('version')}; this linsep reads version {VERSION}"
            )
        return cls(facts)

    def __repr__(self) -> str:
        data = self.facts["data"]
        what = f"{data['rows']:,} rows, {data['features']:,} features"
        return f"<Certificate: {self.verdict}; {what}; {len(self.claims)} claims>"


@dataclass(frozen=True)
class Result:
    """What became of each claim; true if none fails.

    Attributes
    ----------
    checks : list of (claim, status, detail)
        The status is "holds", "fails" or "not checked".
    """

    checks: list[tuple[str, str, str]]

    def __bool__(self) -> bool:
        return all(status != FAILS for _, status, _ in self.checks)

    @property
    def failures(self) -> list[tuple[str, str]]:
        """The claims that fail, with what is wrong."""
        return [(claim, detail) for claim, status, detail in self.checks if status == FAILS]

    def __str__(self) -> str:
        wide = max(len(claim) for claim, _, _ in self.checks)
        return "\n".join(f"{status:<12}{claim:<{wide}}  {detail}" for claim, status, detail in self.checks)


def verify(certificate: Any, X: Any, y: Any) -> Result:
    """Check every claim of a certificate against the data, in exact arithmetic.

    All is computed again by :mod:`linsep.theory.checker`, a short file that imports nothing of linsep. Claims about
    new rows rest on an assumption that no data can show, that rows are independent draws: their arithmetic is checked,
    and they are listed as not checked.

    Parameters
    ----------
    certificate : Certificate, or the dict in its file
        What is to be checked.
    X : array, sparse matrix or dataframe, (rows, features)
        The rows; dense and sparse ones are alike.
    y : array, (rows,)
        Their labels.

    Returns
    -------
    Result
        True if no claim fails; on other data false, with the reason.

    Examples
    --------
    >>> from linsep import certify, verify
    >>> X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], ["no", "yes", "yes"]
    >>> cert = certify(X, y)
    >>> bool(verify(cert, X, y)), bool(verify(cert, X[::-1], y))
    (True, False)
    """
    facts = certificate.facts if isinstance(certificate, Certificate) else certificate
    checks = checker.check(facts, X, y)
    if all(status != FAILS for _, status, _ in checks):
        checks += [(f"{name}: no other round was a mistake", NOT_CHECKED, UPDATES) for name in facts["runs"]]
        checks += [_checked_risk(facts, name) for name in facts.get("risk", {})]
    return Result(checks)


def risk_of(mistakes: int, rounds: int, confidence: float) -> dict[str, Any]:
    """Return what one pass says of new rows, if rows are independent draws."""
    found = risk.anytime(mistakes, rounds, confidence)
    return {
        "mistakes": mistakes, "rounds": rounds, "confidence": confidence,
        "estimate": float(risk.estimate(mistakes, rounds)),
        "at most": float(found.bound), "of the vote at most": float(found.vote),
        "assuming": "i.i.d. rows, one pass; not checked",
    }  # fmt: skip


def _checked_risk(facts: dict[str, Any], name: str) -> tuple[str, str, str]:
    """Return whether a run's risk follows from its mistakes."""
    stated = facts["risk"][name]
    try:
        again = risk_of(facts["claims"][f"{name}: mistakes"], facts["runs"][name]["rounds"], stated["confidence"])
    except (KeyError, TypeError, ValueError) as error:
        return f"{name}: risk", FAILS, f"it makes no sense: {error!r}"
    same = {k for k, v in again.items() if stated.get(k) == v} == set(stated)
    detail = f"{stated['at most']:.4g} at confidence {stated['confidence']:g}, assuming {stated['assuming']}"
    return f"{name}: risk", NOT_CHECKED if same else FAILS, detail if same else f"stated {stated}, found {again}"
