"""How to read a certificate: the verdict, and whom the data favour, in a sentence each."""

from typing import TYPE_CHECKING, Any

from linsep.theory.lines import IN_PASSES, SEPARATORS, Line, counted, passes_of, table, times, told

if TYPE_CHECKING:
    from linsep.theory.certificates import Certificate

__all__ = ["Line", "favours", "report", "table", "verdict_sentence"]

ANY_ORDER = "{}'s mistakes at most"
NONE = "has/have a bound of neither"
MOST_NAMES = 6
"""Classes that a sentence names; more are counted."""


def verdict_sentence(cert: "Certificate") -> str:
    """Return the verdict in one sentence, with what it means for somebody who wants to train.

    Examples
    --------
    >>> from linsep import certify
    >>> verdict_sentence(certify([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]))
    'Separable: a hyperplane has every row on its side with a margin of ...'
    >>> verdict_sentence(certify([[1.0], [2.0]], [0, 1], bias=0))
    'Not separable: 2 rows, weighed, cancel exactly, so that every hyperplane through the origin has one of them on ...'
    """
    first = cert.problems[0]
    by_class = {_class_of(name): cert.claims[f"{name}: verdict"] for name in cert.problems if _class_of(name)}
    if by_class and _class_of(first):
        return f"By class against the rest{_without_bias(cert)}: {_together(by_class)}."
    needed = cert.verdict == "separable" and cert.claims.get("no bias: verdict") == "not separable"
    more = f"; against the rest, {_together(by_class)}" if by_class else ""
    more += "; without a bias the rows are not separable" if needed else ""
    return f"{_judged(cert, first)}{more}."


def short_verdict(cert: "Certificate") -> str:
    """Return the verdict in a few words, with what it is about if that is rows without a bias.

    Examples
    --------
    >>> from linsep import certify
    >>> short_verdict(certify([[1.0], [2.0]], [0, 1])), short_verdict(certify([[1.0], [2.0]], [0, 1], bias=0))
    ('separable', 'not separable without a bias')
    """
    return f"{cert.verdict}{_without_bias(cert)}"


def shown(text: str) -> str:
    r"""Return a text in one line, with what a terminal would obey escaped.

    Examples
    --------
    >>> print(shown("\x1b[31mred\n"))
    \x1b[31mred\n
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def favours(cert: "Certificate", problem: str | None = None) -> str:
    """Return in one sentence which of perceptron and Winnow the data favour, by their proved bounds, and why.

    Parameters
    ----------
    cert : Certificate
        What was proved.
    problem : str, optional
        Of `cert.problems`; by default the first or, for three classes and more, each class against the rest.

    Examples
    --------
    >>> from linsep import certify
    >>> favours(certify([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]))
    'The data favour the perceptron: at most 11 mistakes, against 88 of balanced Winnow ...'
    """
    by_class = {_class_of(name): _favoured(cert, name) for name in cert.problems if _class_of(name)}
    if problem is None and by_class:
        said = {c: f"favours/favour {_the(kind)}" if kind else NONE for c, kind in by_class.items()}
        return f"Against the rest, {_together(said)}."
    name = problem or cert.problems[0]
    best = _favoured(cert, name)
    if not best:
        return _neither(cert, name)
    least, vast = told(cert, name, ANY_ORDER.format(best)), _vast(cert, name, best)
    if name.startswith("pairs, "):
        return f"For pairs of classes only the perceptron's bound was sought: at most {times(least, 'mistake')}{vast}."
    rival = _favoured(cert, name, best == "perceptron")
    against = f"{told(cert, name, ANY_ORDER.format(rival))} of {_the(rival)}" if rival else "no bound of Winnow's"
    rate = " at its best rate" if best == "perceptron" and rival else ""
    why = _why(cert, name, best)
    return f"The data favour {_the(best)}: at most {times(least, 'mistake')}, against {against}{rate}, as {why}{vast}."


def report(cert: "Certificate") -> str:
    """Return a certificate as a short text: the verdict, the table, whom the data favour, what is not proved.

    Examples
    --------
    >>> from linsep import certify
    >>> print(report(certify([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1])))
    Separable: ...
    <BLANKLINE>
    bias 1
      verdict                     separable
      R                           3.317       the largest norm of a row
    ...
    """
    lines = table(cert)
    labels, values = (max(len(line[k]) for part in lines.values() for line in part) for k in (0, 1))
    parts = [shown(verdict_sentence(cert))]
    for name, part in lines.items():
        rows = [f"  {line.label:{labels}}  {line.value:{values}}  {line.note}".rstrip() for line in part]
        parts.append("\n".join(map(shown, [name, *rows])))
    return "\n\n".join([*parts, *map(shown, [favours(cert), *cert.remarks])])


def _without_bias(cert: "Certificate", name: str | None = None) -> str:
    """Return the words for a problem, by default the first, that has no bias; "" for any other."""
    return "" if cert.facts["problems"][name or cert.problems[0]]["bias"] else " without a bias"


def _class_of(problem: str) -> str:
    """Return the class that a problem tells from the rest; "" for pairs, and for two classes."""
    return problem.removeprefix("class ").rpartition(", ")[0] if problem.startswith("class ") else ""


def _the(kind: str) -> str:
    return "the perceptron" if kind == "perceptron" else kind


def _favoured(cert: "Certificate", name: str, winnow: bool | None = None) -> str:
    """Return who has the least bound, of all or of Winnow's kinds or not of them; "" if nobody has one."""
    kinds = [kind for kind in SEPARATORS if winnow is None or winnow == (kind != "perceptron")]
    known = [kind for kind in kinds if f"{name}: {kind}'s mistakes at most" in cert.claims]
    return min(known, key=lambda kind: cert.number(ANY_ORDER.format(kind), name), default="")


def _rounds(cert: "Certificate", name: str) -> int:
    """Return the rounds of as many passes as the bounds speak of at most."""
    return int(cert.facts["data"]["rows"]) * max(passes_of(cert, name), default=1)


def _judged(cert: "Certificate", name: str) -> str:
    """Return the verdict on a problem, without its full stop."""
    verdict, pairs = cert.claims[f"{name}: verdict"], name.startswith("pairs, ")
    hyperplane = "hyperplane" if cert.facts["problems"][name]["bias"] else "hyperplane through the origin"
    least, most, bound = (
        told(cert, name, f"perceptron's {what}") for what in ("margin at least", "margin at most", "mistakes at most")
    )
    if verdict == "separable":
        who = (
            f"weights{_without_bias(cert, name)} give every row's own class the highest score"
            if pairs
            else f"a {hyperplane} has every row on its side"
        )
        return (
            f"Separable: {who} with a margin of {least}, and none {'have' if pairs else 'has'} more than {most}, so "
            f"that a perceptron, in whatever order and however often it sees the rows, errs at most {times(bound)}"
        )
    if verdict == "not separable":
        rows = f"{_of_witness(cert, name)} {'pairs of a row and a rival class' if pairs else 'rows'}"
        who = (
            f"no weights{_without_bias(cert, name)} are right about all"
            if pairs
            else f"every {hyperplane} has one of them on its wrong side or on itself"
        )
        ends = f"no training{_without_bias(cert, name)} ends without mistakes"
        return f"Not separable: {rows}, weighed, cancel exactly, so that {who}, and {ends}"
    margin, rounds = cert.number("perceptron's margin at most", name), _rounds(cert, name)
    if margin > 0 and (cert.number("R at most", name) / margin) ** 2 >= rounds:
        span = f"{rounds:,}, the rounds of {counted(max(passes_of(cert, name)))}"
        return f"Open: the margin is at most {most}, so that no bound on mistakes below {span}, can come from it"
    return (
        f"Open: the margin is at most {most}, but neither a separator nor a proof that there is none was found in time"
    )


def _of_witness(cert: "Certificate", name: str) -> str:
    """Return how many rows the mixture has that proves that none separates."""
    mixture = cert.facts["problems"][name]["lambda"].get("margin")
    return "some" if mixture is None else f"{_weighed(mixture):,}"


def _weighed(vector: dict[str, Any]) -> int:
    return sum(int(v, 16) != 0 if isinstance(v, str) else v != 0 for v in vector["values"])


def _why(cert: "Certificate", name: str, best: str) -> str:
    """Return what a bound is below the other for: the rows' length, and how many features the separator needs."""
    few, features = _relevant(cert, name, best), int(cert.facts["data"]["features"])
    of = f"and u has its weight on about {few:,.0f} of {features:,} features" if few else "for their margin"
    known = f"rows are as long as {told(cert, name, 'R at most')} {of}"
    if best == "perceptron":
        return f"{known}, and (R/gamma)² is below 2 ln N (X/delta)²"
    return f"{known}, and 2 ln N (X/delta)² grows only with the logarithm of their number N"


def _relevant(cert: "Certificate", name: str, best: str) -> float:
    """Return how many features a separator needs, ||u||_1² / ||u||_2²; 0 where there is no witness of that name."""
    wanted = "margin" if best == "perceptron" else f"{best}'s margin"
    problem = cert.facts["problems"][name]
    vector = problem["w"].get(wanted) or problem["w"].get("margin")
    if vector is None:
        return 0.0
    features = int(cert.facts["data"]["features"])
    places = vector.get("at", range(len(vector["values"])))
    values = [
        abs(int(v, 16) if isinstance(v, str) else int(v))
        for j, v in zip(places, vector["values"], strict=True)
        if j < features
    ]
    return sum(values) ** 2 / (sum(v * v for v in values) or 1)


def _vast(cert: "Certificate", name: str, best: str) -> str:
    """Return what tells more, where a bound is beyond the rounds that it is of use for."""
    rounds, passes = _rounds(cert, name), passes_of(cert, name)
    if not passes or cert.number(ANY_ORDER.format(best), name) <= rounds:
        return ""
    proved = _proved(cert, name)
    more = f": at most {' and '.join(proved)} tells more" if proved else ""
    return f"; but that is beyond the {rounds:,} rounds of {counted(passes[-1])}{more}"


def _neither(cert: "Certificate", name: str) -> str:
    """Return that neither has a finite bound, and what is proved instead."""
    proved = _proved(cert, name)
    is_open = cert.claims[f"{name}: verdict"] == "open"
    why = f"no separator{_without_bias(cert, name)} {'is known' if is_open else 'exists'}"
    least = (
        f"the perceptron errs at most {' and '.join(proved)}" if proved else "nothing but the number of rounds is left"
    )
    return f"Neither the perceptron nor Winnow has a bound for every order and length, as {why}; {least}."


def _proved(cert: "Certificate", name: str) -> list[str]:
    """Return the bounds for so many passes, where they are below the number of rounds."""
    claims = {t: IN_PASSES.format(t) for t in passes_of(cert, name)}
    rows = int(cert.facts["data"]["rows"])
    useful = {t: claim for t, claim in claims.items() if cert.number(claim, name) < t * rows}
    return [f"{times(told(cert, name, claim))} in {counted(t)}" for t, claim in useful.items()]


def _together(said: dict[str, str]) -> str:
    """Return who it is said of, together where it is the same.

    >>> _together({"a": "separable", "b": "open", "c": "separable"})
    'classes a and c are separable, class b is open'
    """
    parts = []
    for what in dict.fromkeys(said.values()):
        names = [name for name, of in said.items() if of == what]
        shown = names[:MOST_NAMES] + ([f"{len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else [])
        who = f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
        many = len(names) > 1
        verb, _, rest = what.partition(" ") if "/" in what else ("is/are", "", what)
        parts.append(f"class{'es' * many} {who} {verb.split('/')[many]} {rest}")
    return ", ".join(parts)
