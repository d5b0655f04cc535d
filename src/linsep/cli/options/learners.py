"""The parameters of learners as options, made from the table: signatures state the defaults, docstrings what they mean.

Loads the learners, so that only a command that trains may import it.
"""

import inspect
import json
import re
from functools import cache
from numbers import Integral
from typing import Annotated, Any, NamedTuple

import typer
from sklearn.utils._param_validation import Interval, StrOptions, make_constraint

from linsep.cli.options.common import SEED, as_option
from linsep.cli.options.help import NO_PANEL
from linsep.estimators.base.learner import Learner
from linsep.estimators.registry import LEARNERS

OTHERWISE = {"max_iter": "epochs", "random_state": "seed", "n_jobs": "threads"}
"""Parameters whose options have other names."""
LEFT_OUT = ("random_state", "n_jobs", "warm_start", "rule")
"""Parameters without an option of their own: the first two are stated for every command, --resume is the third, and a
rule is Python."""
COMMON = {
    "max_iter": "Epochs, or the most steps of a solver.",
}
"""Parameters that help shows if no learner is named, each in a sentence."""
LEARNER_PANEL = "Learner; `COMMAND --learner NAME --help` shows all options"
OF_SHARDS = ("shards", "mixing")
"""Parameters of learners that mix."""
WORDS = {"true": True, "false": False}
NONE, LIST = "none", "array-like"


class Described(NamedTuple):
    """A parameter, as a learner describes it."""

    default: Any
    constraints: tuple[Any, ...]
    text: str

    @property
    def choices(self) -> list[str]:
        """The words that it may be."""
        of_strings = [sorted(kind.options) for kind in self.constraints if isinstance(kind, StrOptions)]
        yes_or_no = list(WORDS) if "boolean" in self.constraints else []
        return [*yes_or_no, *(word for words in of_strings for word in words), *self._none]

    @property
    def _none(self) -> list[str]:
        return [NONE] if None in self.constraints else []

    @property
    def is_flag(self) -> bool:
        """True if the parameter is only true or false."""
        return self.constraints == ("boolean",)

    @property
    def form(self) -> str:
        """The form of a value, for help."""
        numbers = [
            "INTEGER" if kind.type is Integral else "NUMBER" for kind in self.constraints if isinstance(kind, Interval)
        ]
        pairs = ["LABEL=WEIGHT,..."] if dict in self.constraints else []
        lists = ["NUMBER,..."] if LIST in self.constraints else []
        return "|".join([*numbers, *pairs, *lists, *self.choices])

    def value(self, text: str) -> Any:
        """Parse the text of a value; raise a ValueError that names the valid values.

        >>> described("winnow")["x_max"].value("none"), described("winnow")["eta"].value("1e-2")
        (None, 0.01)
        """
        if text.lower() == NONE and None in self.constraints:
            return None
        if text.lower() in WORDS and "boolean" in self.constraints:
            return WORDS[text.lower()]
        for kind in self.constraints:
            meant = _meant(text, kind)
            if meant is not None and make_constraint(kind).is_satisfied_by(meant):
                return meant
        raise ValueError(f"{text!r} is not {self._wanted}")

    @property
    def _wanted(self) -> str:
        numbers = [_range(kind) for kind in self.constraints if isinstance(kind, Interval)]
        pairs = ["pairs label=weight"] if dict in self.constraints else []
        pairs += ["numbers with commas between"] if LIST in self.constraints else []
        *first, last = [*numbers, *pairs, *map(repr, self.choices)]
        return f"{', '.join(first)} or {last}" if first else last


def _meant(text: str, kind: Any) -> Any:
    """Return a text as a number, a word or weights of labels, or None where it is no such thing."""
    if isinstance(kind, StrOptions):
        return text
    try:
        if isinstance(kind, Interval):
            return int(text) if kind.type is Integral else float(text)
        if kind == LIST:
            return [float(number) if "." in number else int(number) for number in text.split(",")]
        return weights_of(text) if kind is dict else None
    except ValueError:
        return None


def _range(kind: Any) -> str:
    """Return the numbers of an interval in words; all of ours end nowhere, and most begin at a number."""
    number = "a whole number" if kind.type is Integral else "a number"
    if kind.left is None:
        return number
    return f"{number} {'of at least' if kind.closed == 'left' else 'above'} {kind.left:g}"


def weights_of(text: str) -> dict[Any, float]:
    """Return weights of labels, from JSON or from pairs; a label that looks like a number is one, unless in quotes.

    >>> weights_of("spam=2,ham=0.5"), weights_of('{"1": 3}'), weights_of('"1"=3')
    ({'spam': 2.0, 'ham': 0.5}, {1: 3.0}, {'1': 3.0})
    """
    if text.lstrip().startswith("{"):
        pairs = list(json.loads(text).items())
    else:
        pairs = [pair.rpartition("=")[::2] for pair in text.split(",")]
    return {_label(name.strip()): float(weight) for name, weight in pairs}


def _label(text: str) -> Any:
    if re.fullmatch('".+"', text):
        return text[1:-1]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    if not text:
        raise ValueError("a label is missing")
    return text


def option(name: str) -> str:
    """Return the option for a parameter.

    >>> option("max_iter"), option("fit_intercept"), option("C")
    ('--epochs', '--fit-intercept', '--C')
    """
    return "--" + OTHERWISE.get(name, name).replace("_", "-")


@cache
def described(learner: str) -> dict[str, Described]:
    """Return the parameters of a learner that are options: those that leave a choice."""
    kind = LEARNERS[learner].learner
    texts = _texts(kind)
    return {
        name: Described(parameter.default, tuple(kind._parameter_constraints[name]), texts.get(name, ""))
        for name, parameter in inspect.signature(kind).parameters.items()
        if name not in LEFT_OUT
        and kind._parameter_constraints[name] != [None]
        and not (name in OF_SHARDS and LEARNERS[learner].no_mixing)
    }


def _texts(kind: type[Learner]) -> dict[str, str]:
    """Return a learner's description of each parameter, on one line; functions are omitted.

    Under `python -OO` there are no docstrings, and so no texts.
    """
    section = (inspect.getdoc(kind) or "").partition("Parameters\n----------\n")[2].split("\n\n")[0]
    heads = re.split(r"^(\w[\w, ]*)(?: : .*)?\n", section, flags=re.MULTILINE)[1:]
    by_names = {some: " ".join(text.split()) for some, text in zip(heads[::2], heads[1::2], strict=True)}
    return {
        name: re.sub(r" A function [^.]*\.", "", text) for some, text in by_names.items() for name in some.split(", ")
    }


def owners(name: str) -> list[str]:
    """Return the learners that have a parameter.

    >>> owners("eta")
    ['winnow', 'balanced-winnow']
    """
    return [learner for learner in LEARNERS if name in described(learner)]


def names() -> list[str]:
    """Return all parameters that are options, those of most learners first."""
    found = dict.fromkeys(name for learner in LEARNERS for name in described(learner))
    return sorted(found, key=lambda name: -len(owners(name)))


def signature(shown: tuple[str, ...]) -> inspect.Signature:
    """Return a signature whose parameters are the options; help shows those of some learners, or COMMON if none."""
    return inspect.Signature([_as_parameter(name, shown) for name in names()])


def _as_parameter(name: str, shown: tuple[str, ...]) -> inspect.Parameter:
    having = owners(name)
    wanted = [learner for learner in having if learner in shown]
    parameter = described((wanted or having)[0])[name]
    common = not shown and name in COMMON
    flags = option(name) + (f"/--no-{option(name)[2:]}" if parameter.is_flag else "")
    about = typer.Option(
        flags,
        help=COMMON[name] if common else _help(name, wanted or having),
        metavar=None if parameter.is_flag else parameter.form if common else _forms(name, wanted or having),
        show_default=False,
        hidden=bool(shown) and not wanted,
        rich_help_panel=LEARNER_PANEL if common else _panel(having, wanted or having) if shown else NO_PANEL,
        autocompletion=lambda: parameter.choices,
    )
    kind = bool | None if parameter.is_flag else str | None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, about])


def _forms(name: str, learners: list[str]) -> str:
    """Return how values of a parameter look, for all of these learners."""
    forms = (form for learner in learners for form in described(learner)[name].form.split("|"))
    return "|".join(dict.fromkeys(forms))


def _panel(having: list[str], shown: list[str]) -> str:
    """Return the heading of a parameter in the help of the shown learners."""
    if set(having) == set(LEARNERS):
        return "Every learner"
    online = [learner for learner, entry in LEARNERS.items() if entry.online]
    missing = [learner for learner in online if learner not in having]
    if len(missing) <= 2 and set(shown) & set(online):
        but = f" but {' and '.join(missing)}" if missing else ""
        return ", ".join([f"Every learner that goes row by row{but}", *(of for of in shown if of not in online)])
    return f"Only {', '.join(shown)}"


def _help(name: str, learners: list[str]) -> str:
    """Return what a parameter means, and its default; for each learner if they differ in that."""
    texts: dict[str, list[str]] = {}
    for learner in learners:
        parameter = described(learner)[name]
        default = parameter.default if isinstance(parameter.default, str) else str(parameter.default).lower()
        shown = "" if re.search(r"\bdefault\b", parameter.text) else f" [default:\xa0{default}]"
        texts.setdefault(_of_options(parameter.text) + shown, []).append(learner)
    if len(texts) == 1:
        return next(iter(texts))
    return " ".join(f"{_called(some)}: {text}" for text, some in texts.items())


def _called(some: list[str]) -> str:
    """Return learners by their names, or by what most of them are.

    >>> _called(["winnow", "max-margin"]), _called([name for name, entry in LEARNERS.items() if entry.online])
    ('winnow, max-margin', 'learners that go row by row')
    """
    online = {learner for learner, entry in LEARNERS.items() if entry.online}
    missing = sorted(online - set(some))
    if len(missing) > len(online) / 2:
        return ", ".join(some)
    but = f" (but {', '.join(missing)})" if missing else ""
    return ", ".join([f"learners that go row by row{but}", *(learner for learner in some if learner not in online)])


def parameter_words(parameters: dict[str, Any], learners: list[str]) -> list[str]:
    """Return the parameters that some learners have in the words of a command.

    >>> parameter_words({"max_iter": 5, "eta": 0.5, "aggressive": True, "random_state": 1}, ["perceptron"])
    ['--epochs', '5', '--seed', '1']
    """
    words = []
    for name, value in parameters.items():
        having = [learner for learner in learners if name in described(learner)]
        if name == "random_state":
            words += ["--seed", str(value)] if value != SEED else []
        elif name != "n_jobs" and having:
            words += as_option(option(name), value, described(having[0])[name].is_flag)
    return words


def in_options(text: str) -> str:
    """Return a message about parameters, as Python has it, in the words of the command line.

    >>> in_options("X has the entry 9, beyond x_max=1: raise max_iter"), in_options("C=0.0 is too small")
    ('X has the entry 9, beyond --x-max 1: raise --epochs', '--C 0.0 is too small')
    >>> in_options('map X by Scale(largest="entry")')
    'map X by --map scale:largest=entry'
    """
    text = re.sub(r'\bScale\((\w+)="(\w+)"\)', r"--map scale:\1=\2", text)
    known = {*names(), *OTHERWISE}
    assigned = "|".join(map(re.escape, known))
    text = re.sub(rf"(?<![\w-])({assigned})=(?=\S)", lambda found: f"{option(found[1])} ", text)
    long = "|".join(re.escape(name) for name in known if "_" in name)
    return re.sub(rf"(?<![\w-])({long})\b=?", lambda found: option(found[1]), text)


def _of_options(text: str) -> str:
    """Return a text of Python's in the words of the command line: options for parameters in backticks, words bare."""
    known = {*names(), *LEFT_OUT}
    called = {entry.learner.__name__: name for name, entry in LEARNERS.items()}
    text = re.sub(r":class:`linsep\.(\w+)`", lambda found: called[found[1]], text)
    text = re.sub(r'`(\w+)="?(\w+)"?`', lambda found: f"{option(found[1])} {found[2]}", text)
    text = re.sub(r"`(\w+)`", lambda found: option(found[1]) if found[1] in known else found[1], text)
    text = re.sub(r"\b(None|True|False)\b", lambda found: found[1].lower(), text)
    return re.sub(r'[`"]', "", text)
