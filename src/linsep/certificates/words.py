"""Describe a certificate in words: table rows with true rounding, the verdict, the reading of it."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from linsep.certificates.certificate import Certificate


DIGITS = 4
"""Digits that numbers are shown with."""
IN_PASSES = "perceptron's mistakes (T = {}) at most"
SEPARATORS = {"perceptron": "hyperplane", "Winnow": "u >= 0", "balanced Winnow": "u"}
"""Whose bounds are compared, and what must separate the rows for each."""
NO_BOUND = "no bound"
WEIGHTED, WEIGHTED_LABEL = "mixed mistakes", "weighted mistakes"
"""The claim of a mixed run that its theorem bounds, the sum of mistakes times their shards' weights mu; its line."""
MU_SUM, MU_LOSSES = "sum of mu * mistakes over", "sum of mu * losses²"
LETTERS = "R: the length of the longest row, X: the largest |entry|, the constant feature included"
"""What the letters of a table mean, where there is no room for notes."""


class Line(NamedTuple):
    """A line of a table."""

    label: str
    value: str
    note: str = ""


def outward(number: Any, up: bool) -> str:
    """Return a number with few digits, rounded up or down so that what is said with it stays true.

    Examples
    --------
    >>> outward("150.602304", up=True), outward("0.748964348", up=False), outward("15343079000000", up=True)
    ('150.7', '0.7489', '1.535e13')
    >>> outward("12345.01", up=True), outward("-0.599999999", up=True), outward("2.5E-9", up=False)
    ('12,346', '-0.5999', '2.5e-9')
    """
    value = Decimal(number)
    size = value.adjusted() if value else 0
    digits = max(DIGITS, size + 1) if size < 9 else DIGITS
    short = Context(digits, ROUND_CEILING if up else ROUND_FLOOR).plus(value).normalize()
    if not short or -5 < size < 9:
        return f"{short:,f}"
    mantissa, _, exponent = f"{short:e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def told(cert: "Certificate", name: str, claim: str) -> str:
    """Return a claim of a problem or run as it is shown: "at most" rounded up, "at least" down; "" if it is not made.

    Bounds on mistakes are shown without what is behind the point, as mistakes are whole; but not those of a mixed run,
    whose mistakes are weighted.

    Examples
    --------
    >>> from linsep import certify
    >>> cert = certify([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1])
    >>> told(cert, "bias 1", "R at most"), told(cert, "bias 1", "perceptron's mistakes at most")
    ('3.317', '11')
    """
    value = cert.claims.get(f"{name}: {claim}")
    if value is None:
        return ""
    counts = "mistakes" in claim and not is_mixed(cert, name)
    whole = Decimal(value).to_integral_value(ROUND_FLOOR) if counts else value
    return outward(whole, up="at most" in claim or claim == WEIGHTED)


def is_mixed(cert: "Certificate", name: str) -> bool:
    """Return whether a name is that of a run whose shards were mixed.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]
    >>> cert = Perceptron(shuffle=False, shards=2).fit(X, y).certificate(X, y)
    >>> is_mixed(cert, "run"), is_mixed(cert, "bias 1"), told(cert, "run", "mixed mistakes")
    (True, False, '1')
    """
    return "mixes" in cert.facts.get("runs", {}).get(name, {})


def share(part: float, digits: int = 2) -> str:
    """Return a share in percent, with so many digits.

    Examples
    --------
    >>> share(0.05), share(0.10763, digits=3), share(0.000312), share(1.0), share(0.0)
    ('5 %', '10.8 %', '0.031 %', '100 %', '0 %')
    """
    return f"{100 * part:.{digits}g} %" if part < 0.9995 else "100 %"


def counted(passes: int) -> str:
    """Return a number of passes in words.

    Examples
    --------
    >>> counted(1), counted(1000)
    ('1 pass', '1,000 passes')
    """
    return f"{passes:,} pass{'es' * (passes != 1)}"


def times(number: str, word: str = "time") -> str:
    """Return a number as it is shown, and what is counted.

    Examples
    --------
    >>> times("1"), times("1,385", "mistake")
    ('1 time', '1,385 mistakes')
    """
    return f"{number} {word}{'s' * (number != '1')}"


def passes_of(cert: "Certificate", name: str) -> list[int]:
    """Return the numbers of passes that a problem has bounds for, the fewest first.

    Examples
    --------
    >>> from linsep import certify
    >>> passes_of(certify([[0.0, 1.0], [2.0, 0.0]], [0, 1], passes=20), "bias 1")
    [1, 20]
    """
    start, end = f"{name}: {IN_PASSES}".split("{}")
    claims = [claim for claim in cert.claims if claim.startswith(start) and claim.endswith(end)]
    return sorted(int(claim[len(start) : -len(end)]) for claim in claims)


def table(cert: "Certificate") -> dict[str, list[Line]]:
    """Return what is proved of each problem and each run, as lines of (label, value, note).

    Examples
    --------
    >>> from linsep import certify
    >>> lines = table(certify([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]))
    >>> list(lines), lines["bias 1"][0]
    (['bias 1', 'no bias'], Line(label='verdict', value='separable', note=''))
    """
    return {name: _problem(cert, name) for name in cert.problems} | {name: _run(cert, name) for name in cert.runs}


def _problem(cert: "Certificate", name: str) -> list[Line]:
    lines = [Line("verdict", cert.claims[f"{name}: verdict"])]
    known = {"R": "the largest norm of a row", "X": "the largest |entry|"}
    lines += [Line(letter, told(cert, name, f"{letter} at most"), about) for letter, about in known.items()]
    kinds = [kind for kind in SEPARATORS if f"{name}: {kind}'s margin at most" in cert.claims]
    lines += [_margin(cert, name, kind) for kind in kinds]
    for kind in kinds:
        bound = told(cert, name, f"{kind}'s mistakes at most")
        formula = "(R/gamma)²" if kind == "perceptron" else "ln N / L*, at the best rate"
        lines.append(Line(f"{kind}'s mistakes", bound or NO_BOUND, f"{formula}; in any order" if bound else ""))
        lines += _passes(cert, name) if kind == "perceptron" else []
    size = told(cert, name, "sample size")
    if size:
        epsilon, delta = (float(cert.facts["problems"][name][of]) for of in ("epsilon", "delta"))
        lines.append(Line("VC dimension", told(cert, name, "VC dimension")))
        lines.append(Line("sample size", size, f"error below {share(epsilon)} with probability {share(1 - delta)}"))
    return lines


def _margin(cert: "Certificate", name: str, kind: str) -> Line:
    least, most = (told(cert, name, f"{kind}'s margin at {end}") for end in ("least", "most"))
    if least:
        gap = 1 - cert.number(f"{kind}'s margin at least", name) / cert.number(f"{kind}'s margin at most", name)
        return Line(f"{kind}'s margin", least if least == most else f"{least} to {most}", f"gap {share(gap)}")
    known = cert.number(f"{kind}'s margin at most", name) <= 0
    of = " through the origin" * (kind == "perceptron" and not cert.facts["problems"][name]["bias"])
    note = f"no {SEPARATORS[kind]}{of} {'separates' if known else 'was found that separates'}"
    return Line(f"{kind}'s margin", f"at most {most}", note)


def _passes(cert: "Certificate", name: str) -> list[Line]:
    lines, rows = [], cert.facts["data"]["rows"]
    for passes in passes_of(cert, name):
        bound = cert.number(IN_PASSES.format(passes), name)
        none = f"no less than the {rows * passes:,} rounds"
        gap = 1 - cert.number(f"the least such bound (T = {passes}) at least", name) / bound if bound else 0.0
        note = none if bound >= rows * passes else f"whether separable or not; gap {share(gap)}"
        label = f"  in {counted(passes)}"
        lines.append(Line(label, told(cert, name, IN_PASSES.format(passes)), note))
    return lines


def _run(cert: "Certificate", name: str) -> list[Line]:
    run = cert.facts["runs"][name]
    span = f"in {run['rounds']:,} rounds, {counted(run['passes'])}"
    lines = [Line("mistakes", told(cert, name, "mistakes"), span)]
    if is_mixed(cert, name):
        lines = [
            lines[0]._replace(note=f"of all shards, {span}"),
            Line(WEIGHTED_LABEL, told(cert, name, WEIGHTED), f"{MU_SUM} {mixes_told(run['mixes'])}"),
        ]
    of = {"perceptron": _of_perceptron, "winnow": _of_winnow, "passive_aggressive": _of_aggressive}[run["theorem"]]
    lines += of(cert, name)
    risk = cert.facts.get("risk", {}).get(name)
    if risk:
        note = f"confidence {share(risk['confidence'])}; assuming {risk['assuming']}"
        lines.append(Line("error on new rows", f"at most {share(risk['at most'], 3)}", note))
        lines.append(Line("  estimate", share(risk["estimate"], 3), "mistakes / rounds"))
        lines.append(Line("  of the vote", f"at most {share(risk['of the vote at most'], 3)}", "twice the bound"))
    return lines


def mixes_told(mixes: list[list[list[int]]]) -> str:
    """Return mixes in a few words: how many, and of how many shards.

    Examples
    --------
    >>> mixes_told([[[2, 1], [0, 1]], [[1, 1], [0, 1]]]), mixes_told([[[5, 1]], [[1, 7], [0, 6], [2, 7]]])
    ('2 mixes of 2 shards', '2 mixes of 1 to 3 shards')
    """
    least, most = min(map(len, mixes)), max(map(len, mixes))
    span = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    return f"{times(f'{len(mixes):,}', 'mix').replace('mixs', 'mixes')} of {times(span, 'shard')}"


def _of_perceptron(cert: "Certificate", name: str) -> list[Line]:
    p = float(cert.facts["runs"][name]["p"])
    mixed = is_mixed(cert, name)
    s, k, where = ("s_n", "K_n", "at every mix n") if mixed else ("s_k", "k", "at every mistake k")
    square = f"{k} R²" if p == 2 else f"(p - 1) {k} X²"
    allowed, regret = told(cert, name, "mistakes at most"), told(cert, name, "mistakes at most, by the regret")
    ratios = [told(cert, name, "lemma 1, ratio at least"), told(cert, name, "lemma 2, ratio at most")]
    formula = "(R/gamma)²" if p == 2 else "the p-norm perceptron's bound"
    losses = "weighted losses" if mixed else "losses"
    return [
        Line("  allowed", allowed or NO_BOUND, formula if allowed else "no separator is known"),
        *([Line("  by the regret", regret, f"allowed by the {losses} of a w on the mistakes")] if regret else []),
        *([Line("first lemma", f"{s}·u >= {ratios[0]} {k} gamma", f"{where}; 1 would do")] if ratios[0] else []),
        Line("second lemma", f"||{s}||² <= {ratios[1]} {square}", f"{where}; 1 would do"),
        Line("margin", f"at most {told(cert, name, 'margin at most')}", f"||{s}|| / {k}, the run as a dual point"),
    ]


def _of_winnow(cert: "Certificate", name: str) -> list[Line]:
    allowed = told(cert, name, "mistakes at most")
    needed = f"L >= {told(cert, name, 'L at least')}"
    note = f"{needed}, which each must" if allowed else f"{needed}: at this rate there is no guarantee"
    fall = told(cert, name, "each fall of the potential at least")
    by = "for each weighted mistake of a mix; " if is_mixed(cert, name) else ""
    return [
        Line("  allowed", allowed or NO_BOUND, "ln N / L"),
        Line("each fall of KL", f"at least {fall}", f"{by}{note}"),
    ]


def _of_aggressive(cert: "Certificate", name: str) -> list[Line]:
    losses, bound = told(cert, name, "losses² at most"), told(cert, name, "bound at most")
    first, mixed = bool(cert.facts["runs"][name]["first"]), is_mixed(cert, name)
    about = f"on the {'weighted ' * mixed}{'mistakes' if first else 'sum of losses²'}"
    return [
        Line("losses²", losses, MU_LOSSES if mixed else "their sum"),
        Line("  allowed", bound, f"{about}, by the best u of the hinge loss"),
    ]


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
