"""Describe a certificate in words: the verdict, tables, and which learner the data favour; roundings stay true."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from linsep.certificates.mixed_checker import is_mixed
from linsep.certificates.schema import MistakeBound, ProblemKey, integers

if TYPE_CHECKING:
    from linsep.certificates.certificate import Certificate

DIGITS = 4
"""Digits that numbers are shown with."""
SEPARATORS = {"perceptron": "hyperplane", "Winnow": "u >= 0", "balanced Winnow": "u"}
"""Learners whose bounds are compared, and the separator that each requires."""
NO_BOUND = "no bound"
WEIGHTED, WEIGHTED_LABEL = "mixed mistakes", "weighted mistakes"
"""The claim of a mixed run that its theorem bounds, the sum of mistakes times their shards' weights mu; its line."""
LETTERS = "R: the length of the longest row, X: the largest |entry|, the constant feature included"
"""Meaning of the letters of a table, where there is no room for notes."""
NEITHER = "has/have a bound of neither"
MOST_NAMES = 6
"""Classes that a sentence names; more are counted."""


class Line(NamedTuple):
    """A line of a table."""

    label: str
    value: str
    note: str = ""


def outward(number: Any, up: bool) -> str:
    """Return a number with few digits, rounded up or down so that a bound stays true.

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


def rounded(cert: "Certificate", name: str | ProblemKey, claim: str | MistakeBound) -> str:
    """Return a claim of a problem or run with few digits, "at most" rounded up, "at least" down; "" if not stated.

    Bounds on mistakes are shown without what is behind the point, as mistakes are whole; but not those of a mixed run,
    whose mistakes are weighted.

    Examples
    --------
    >>> from linsep import certify
    >>> cert = certify([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1])
    >>> rounded(cert, "bias 1", "R at most"), rounded(cert, "bias 1", "perceptron's mistakes at most")
    ('3.317', '11')
    """
    value = cert.claims.get(f"{name}: {claim}")
    if value is None:
        return ""
    counts = "mistakes" in str(claim) and not names_mixed_run(cert, name)
    whole = Decimal(value).to_integral_value(ROUND_FLOOR) if counts else value
    return outward(whole, up="at most" in str(claim) or claim == WEIGHTED)


def _decimal(cert: "Certificate", name: str | ProblemKey, claim: str | MistakeBound) -> Decimal:
    """Return a claim as it is stated: as a float, a tiny margin would be 0, and a vast bound infinite."""
    return Decimal(cert.claims[f"{name}: {claim}"])


def names_mixed_run(cert: "Certificate", name: str | ProblemKey) -> bool:
    """Return whether a name is that of a run whose shards were mixed.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]
    >>> cert = Perceptron(shuffle=False, shards=2).fit(X, y).certificate(X, y)
    >>> names_mixed_run(cert, "run"), names_mixed_run(cert, "bias 1"), rounded(cert, "run", "mixed mistakes")
    (True, False, '1')
    """
    return is_mixed(cert.facts.get("runs", {}).get(name, {}))


def share(part: float, digits: int = 2) -> str:
    """Return a share in percent, with so many digits.

    Examples
    --------
    >>> share(0.05), share(0.10763, digits=3), share(0.000312), share(1.0), share(0.0)
    ('5 %', '10.8 %', '0.031 %', '100 %', '0 %')
    """
    return f"{100 * part:.{digits}g} %" if part < 0.9995 else "100 %"


def counted(number: int | str, noun: str) -> str:
    """Return a number, or the text that shows it, with the noun that it counts.

    Examples
    --------
    >>> counted(1, "pass"), counted(1000, "pass"), counted("1", "time"), counted("1,385", "mistake")
    ('1 pass', '1,000 passes', '1 time', '1,385 mistakes')
    """
    text = number if isinstance(number, str) else f"{number:,}"
    return f"{text} {noun}{('es' if noun[-1] in 'sx' else 's') * (text != '1')}"


def passes_of(cert: "Certificate", name: str | ProblemKey) -> list[int]:
    """Return the numbers of passes that a problem has bounds for, the fewest first.

    Examples
    --------
    >>> from linsep import certify
    >>> passes_of(certify([[0.0, 1.0], [2.0, 0.0]], [0, 1], passes=20), "bias 1")
    [1, 20]
    """
    bounds = map(MistakeBound.parse, cert.claims_of(name))
    return sorted(bound.passes for bound in bounds if bound is not None and bound.passes is not None)


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
    joint = ProblemKey.parse(name).kind == "pairs"
    norm = "the largest norm of a row, times √2 as it counts for two classes" if joint else "the largest norm of a row"
    known = {"R": norm, "X": "the largest |entry|"}
    lines += [Line(letter, rounded(cert, name, f"{letter} at most"), about) for letter, about in known.items()]
    if (scale := cert.facts["problems"][name].get("scale")) is not None:
        powers = [*scale["values"], *([0] if "at" in scale else [])]
        about = f"factors of the columns; the constant feature is {ProblemKey.parse(name).bias:g}"
        lines.append(Line("scaling", f"2^{min(powers)} to 2^{max(powers)}", about))
    kinds = [kind for kind in SEPARATORS if f"{name}: {kind}'s margin at most" in cert.claims]
    lines += [_margin(cert, name, kind) for kind in kinds]
    for kind in kinds:
        bound = rounded(cert, name, MistakeBound(kind))
        formula = "(R/gamma)²" if kind == "perceptron" else "ln N / L*, at the best rate"
        lines.append(Line(f"{kind}'s mistakes", bound or NO_BOUND, f"{formula}; in any order" if bound else ""))
        lines += _passes(cert, name) if kind == "perceptron" else []
    if f"{name}: fewest errors at least" in cert.claims:
        least, most = (rounded(cert, name, f"fewest errors at {end}") for end in ("least", "most"))
        of = counted(len(cert.facts["problems"][name]["combinations"]), "disjoint set")
        span = least if least == most else f"{least} to {most}"
        lines.append(Line("fewest errors", span, f"rows with y w·x <= 0 for the best w; {of} of rows that cancel"))
    if (model := cert.claims.get(f"{name}: errors of the model")) is not None:
        lines.append(Line("errors of the model", f"{model:,}", "rows with y w·x <= 0 for its own weights"))
    lines += _risks(cert, name)
    size = rounded(cert, name, "sample size")
    if size:
        epsilon, delta = (float(cert.facts["problems"][name][of]) for of in ("epsilon", "delta"))
        lines.append(Line("VC dimension", rounded(cert, name, "VC dimension")))
        lines.append(Line("sample size", size, f"error below {share(epsilon)} with probability {share(1 - delta)}"))
    return lines


RISKS = {
    "risk of the model on held-out rows": ("held out", "the model's errors on these rows, if it never saw them"),
    "risk of the model by PAC-Bayes": ("PAC-Bayes", "by the margins of the model's weights"),
    "risk of the last weights": ("compression", "by the rows of the updates"),
}
"""Claims about new rows, the key of their confidence, and what they are computed from."""


def _risks(cert: "Certificate", name: str) -> list[Line]:
    """Return the bounds on risks of a problem or run; a bound by PAC-Bayes is on twice the risk of random weights."""
    lines, facts = [], cert.facts["problems"].get(name) or cert.facts["runs"].get(name, {})
    for claim, (key, what) in RISKS.items():
        if (value := cert.claims.get(f"{name}: {claim} at most")) is not None:
            confidence = facts[key]["confidence"] if key == "PAC-Bayes" else facts[key]
            note = f"{what}; confidence {share(confidence)}; assuming i.i.d. rows, not checked"
            most = min(float(Decimal(outward(Decimal(value) * 100, up=True).replace(",", ""))), 100.0)
            lines.append(Line(claim.replace(" of the model", ""), f"at most {most:g} %", note))
    return lines


def _margin(cert: "Certificate", name: str, kind: str) -> Line:
    least, most = (rounded(cert, name, f"{kind}'s margin at {end}") for end in ("least", "most"))
    upper = _decimal(cert, name, f"{kind}'s margin at most")
    if least:
        gap = share(1 - float(_decimal(cert, name, f"{kind}'s margin at least") / upper))
        return Line(f"{kind}'s margin", least if least == most else f"{least} to {most}", f"gap {gap}")
    known = upper <= 0
    of = " through the origin" * (kind == "perceptron" and not cert.facts["problems"][name]["bias"])
    note = f"no {SEPARATORS[kind]}{of} {'separates' if known else 'was found that separates'}"
    return Line(f"{kind}'s margin", f"at most {most}", note)


def _passes(cert: "Certificate", name: str) -> list[Line]:
    lines, rows = [], cert.facts["data"]["rows"]
    for passes in passes_of(cert, name):
        bound = MistakeBound("perceptron", passes)
        most = _decimal(cert, name, bound)
        gap = 1 - float(_decimal(cert, name, bound.tightness) / most) if most else 0.0
        useless = f"no less than the {rows * passes:,} rounds"
        note = useless if most >= rows * passes else f"whether separable or not; gap {share(gap)}"
        lines.append(Line(f"  in {counted(passes, 'pass')}", rounded(cert, name, bound), note))
    return lines


def _run(cert: "Certificate", name: str) -> list[Line]:
    run = cert.facts["runs"][name]
    span = f"in {run['rounds']:,} rounds, {counted(run['passes'], 'pass')}"
    lines = [Line("mistakes", rounded(cert, name, "mistakes"), span)]
    if names_mixed_run(cert, name):
        over = f"sum of mu * mistakes over {mixes_in_words(cert.mixes(name))}"
        lines = [
            lines[0]._replace(note=f"of all shards, {span}"),
            Line(WEIGHTED_LABEL, rounded(cert, name, WEIGHTED), over),
        ]
    lines += cert.theorem(name).lines(cert, name) + _risks(cert, name)
    risk = cert.facts.get("risk", {}).get(name)
    if risk:
        note = f"confidence {share(risk['confidence'])}; assuming {risk['assuming']}"
        lines.append(Line("error on new rows", f"at most {share(risk['at most'], 3)}", note))
        lines.append(Line("  estimate", share(risk["estimate"], 3), "mistakes / rounds"))
        lines.append(Line("  of the vote", f"at most {share(risk['of the vote at most'], 3)}", "twice the bound"))
    return lines


def mixes_in_words(mixes: list[list[list[int]]]) -> str:
    """Return mixes in a few words: how many, and of how many shards.

    Examples
    --------
    >>> mixes_in_words([[[2, 1], [0, 1]], [[1, 1], [0, 1]]]), mixes_in_words([[[5, 1]], [[1, 7], [0, 6], [2, 7]]])
    ('2 mixes of 2 shards', '2 mixes of 1 to 3 shards')
    """
    least, most = min(map(len, mixes)), max(map(len, mixes))
    span = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    return f"{counted(len(mixes), 'mix')} of {counted(span, 'shard')}"


def verdict_sentence(cert: "Certificate") -> str:
    """Return the verdict in one sentence, with its meaning for training.

    Examples
    --------
    >>> from linsep import certify
    >>> verdict_sentence(certify([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]))
    'Separable: a hyperplane has every row on its side with a margin of ...'
    >>> verdict_sentence(certify([[1.0], [2.0]], [0, 1], bias=0))
    'Not separable: 2 rows, weighed, cancel exactly, so that every hyperplane through the origin has one of them on ...'
    """
    first = cert.keys[0]
    by_class = {key.label: cert.claims[f"{key}: verdict"] for key in cert.keys if key.kind == "class"}
    if first.kind == "class":
        return f"By class against the rest{_without_bias(first)}: {_group_by_predicate(by_class)}."
    needed = cert.verdict == "separable" and cert.claims.get(f"{ProblemKey(0.0)}: verdict") == "not separable"
    more = f"; against the rest, {_group_by_predicate(by_class)}" if by_class else ""
    more += "; without a bias the rows are not separable" if needed else ""
    return f"{_verdict_clause(cert, first)}{more}."


def short_verdict(cert: "Certificate") -> str:
    """Return the verdict in a few words, with what it is about if that is rows without a bias.

    Examples
    --------
    >>> from linsep import certify
    >>> short_verdict(certify([[1.0], [2.0]], [0, 1])), short_verdict(certify([[1.0], [2.0]], [0, 1], bias=0))
    ('separable', 'not separable without a bias')
    """
    return f"{cert.verdict}{_without_bias(cert.keys[0])}"


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
        The certificate to describe.
    problem : str, optional
        Of `cert.problems`; by default the first or, for three classes and more, each class against the rest.

    Examples
    --------
    >>> from linsep import certify
    >>> favours(certify([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 1]))
    'The data favour the perceptron: at most 11 mistakes, against 88 of balanced Winnow ...'
    """
    classes = [key for key in cert.keys if key.kind == "class"]
    if problem is None and classes:
        best_of = {key.label: _best_learner(cert, key) for key in classes}
        parts = {name: f"favours/favour {_the(kind)}" if kind else NEITHER for name, kind in best_of.items()}
        return f"Against the rest, {_group_by_predicate(parts)}."
    key = cert.keys[0] if problem is None else ProblemKey.parse(problem)
    best = _best_learner(cert, key)
    if not best:
        return _no_bound_sentence(cert, key)
    least, vast = counted(_allowed(cert, key, best), "mistake"), _useless_clause(cert, key, best)
    if key.kind == "pairs":
        return f"For pairs of classes only the perceptron's bound was sought: at most {least}{vast}."
    rival = _best_learner(cert, key, best == "perceptron")
    against = f"{_allowed(cert, key, rival)} of {_the(rival)}" if rival else "no bound of Winnow's"
    rate = " at its best rate" if best == "perceptron" and rival else ""
    why = _reason(cert, key, best)
    return f"The data favour {_the(best)}: at most {least}, against {against}{rate}, as {why}{vast}."


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


def _without_bias(key: ProblemKey) -> str:
    return "" if key.bias else " without a bias"


def _the(kind: str) -> str:
    return "the perceptron" if kind == "perceptron" else kind


def _allowed(cert: "Certificate", key: ProblemKey, kind: str) -> str:
    return rounded(cert, key, MistakeBound(kind))


def _best_learner(cert: "Certificate", key: ProblemKey, winnow: bool | None = None) -> str:
    """Return the learner of the least bound, of all or of Winnow's kinds or not of them; "" if none has a bound."""
    kinds = [kind for kind in SEPARATORS if winnow is None or winnow == (kind != "perceptron")]
    known = [kind for kind in kinds if f"{key}: {MistakeBound(kind)}" in cert.claims]
    return min(known, key=lambda kind: cert.number(MistakeBound(kind), key), default="")


def _most_rounds(cert: "Certificate", key: ProblemKey) -> int:
    """Return the rounds of the most passes that a bound is stated for."""
    return int(cert.facts["data"]["rows"]) * max(passes_of(cert, key), default=1)


def _verdict_clause(cert: "Certificate", key: ProblemKey) -> str:
    """Return the verdict on a problem, without its full stop."""
    pairs, bias = key.kind == "pairs", _without_bias(key)
    hyperplane = "hyperplane" if key.bias else "hyperplane through the origin"
    least, most = (rounded(cert, key, f"perceptron's margin at {end}") for end in ("least", "most"))
    verdict = cert.claims[f"{key}: verdict"]
    if verdict == "separable":
        who = (
            f"weights{bias} give every row's own class the highest score"
            if pairs
            else (f"a {hyperplane} has every row on its side")
        )
        return (
            f"Separable: {who} with a margin of {least}, and none {'have' if pairs else 'has'} more than {most}, so "
            "that a perceptron makes, in any order and any number of passes, at most "
            f"{counted(_allowed(cert, key, 'perceptron'), 'mistake')}"
        )
    if verdict == "not separable":
        mixture = cancelling(cert.facts["problems"][str(key)])
        count = "some" if mixture is None else f"{sum(v != 0 for v in integers(mixture)):,}"
        rows = f"{count} {'pairs of a row and a rival class' if pairs else 'rows'}"
        who = (
            f"no weights{bias} are right about all"
            if pairs
            else (f"every {hyperplane} has one of them on its wrong side or on itself")
        )
        ends = f"no training{bias} ends without mistakes"
        return f"Not separable: {rows}, weighed, cancel exactly, so that {who}, and {ends}"
    margin, rounds = _decimal(cert, key, "perceptron's margin at most"), _most_rounds(cert, key)
    if margin > 0 and _decimal(cert, key, "R at most") / margin >= Decimal(rounds).sqrt():
        span = f"{rounds:,}, the rounds of {counted(max(passes_of(cert, key)), 'pass')}"
        return f"Open: the margin is at most {most}, so that no bound on mistakes below {span}, can come from it"
    return (
        f"Open: the margin is at most {most}, but neither a separator nor a proof that there is none was found in time"
    )


def cancelling(problem: dict[str, Any]) -> dict[str, Any] | None:
    """Return the mixture of rows that is reported as the proof of "not separable"; `verify` checks that it cancels.

    None if the problem has mixtures for Winnow's margins: the proof may be one of them, and not that for the margin.
    """
    mixtures = problem["lambda"]
    return None if any(f"{kind}'s margin" in mixtures for kind in SEPARATORS) else mixtures.get("margin")


def _reason(cert: "Certificate", key: ProblemKey, best: str) -> str:
    """Return the reason for the smaller bound: the length of the rows, and how many features the separator needs."""
    few, features = _relevant(cert, key, best), int(cert.facts["data"]["features"])
    of = f"and u has its weight on about {few:,.0f} of {features:,} features" if few else "for their margin"
    known = f"rows are as long as {rounded(cert, key, 'R at most')} {of}"
    if best == "perceptron":
        return f"{known}, and (R/gamma)² is below 2 ln N (X/delta)²"
    return f"{known}, and 2 ln N (X/delta)² grows only with the logarithm of their number N"


def _relevant(cert: "Certificate", key: ProblemKey, best: str) -> float:
    """Return how many features a separator needs, ||u||_1² / ||u||_2²; 0 where there is no witness of that name."""
    w, features = cert.facts["problems"][str(key)]["w"], int(cert.facts["data"]["features"])
    vector = w.get("margin" if best == "perceptron" else f"{best}'s margin") or w.get("margin")
    if vector is None:
        return 0.0
    places = vector.get("at", range(len(vector["values"])))
    values = [abs(v) for j, v in zip(places, integers(vector), strict=True) if j < features]
    return sum(values) ** 2 / (sum(v * v for v in values) or 1)


def _useless_clause(cert: "Certificate", key: ProblemKey, best: str) -> str:
    """Return what is proved for fewer passes, where a bound is beyond the rounds of the most passes."""
    rounds, passes = _most_rounds(cert, key), passes_of(cert, key)
    if not passes or cert.number(MistakeBound(best), key) <= rounds:
        return ""
    proved = _useful_bounds(cert, key)
    more = f": at most {' and '.join(proved)} is tighter" if proved else ""
    return f"; but that is beyond the {rounds:,} rounds of {counted(passes[-1], 'pass')}{more}"


def _no_bound_sentence(cert: "Certificate", key: ProblemKey) -> str:
    """Return that neither has a finite bound, and what is proved instead."""
    proved = _useful_bounds(cert, key)
    exists = "is known" if cert.claims[f"{key}: verdict"] == "open" else "exists"
    least = (
        f"the perceptron errs at most {' and '.join(proved)}" if proved else "nothing but the number of rounds is left"
    )
    return (
        "Neither the perceptron nor Winnow has a bound for every order and length, as "
        f"no separator{_without_bias(key)} {exists}; {least}."
    )


def _useful_bounds(cert: "Certificate", key: ProblemKey) -> list[str]:
    """Return the bounds for so many passes, where they are below the number of rounds."""
    bounds = {t: MistakeBound("perceptron", t) for t in passes_of(cert, key)}
    useful = {t: of for t, of in bounds.items() if cert.number(of, key) < t * int(cert.facts["data"]["rows"])}
    return [f"{counted(rounded(cert, key, of), 'time')} in {counted(t, 'pass')}" for t, of in useful.items()]


def _group_by_predicate(parts: dict[str, str]) -> str:
    """Return a predicate of each class, with the classes of the same predicate together.

    >>> _group_by_predicate({"a": "separable", "b": "open", "c": "separable"})
    'classes a and c are separable, class b is open'
    """
    phrases = []
    for predicate in dict.fromkeys(parts.values()):
        names = [name for name, of in parts.items() if of == predicate]
        shown = names[:MOST_NAMES] + ([f"{len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else [])
        who = f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
        many = len(names) > 1
        verb, _, rest = predicate.partition(" ") if "/" in predicate else ("is/are", "", predicate)
        phrases.append(f"class{'es' * many} {who} {verb.split('/')[many]} {rest}")
    return ", ".join(phrases)
