"""A certificate as lines of a table, for terminals and pages: numbers are short, and still true."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from linsep.theory.certificates import Certificate

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
