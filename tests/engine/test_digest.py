"""The digest of a rule: a change anywhere that its step reads is a change of the digest."""

import importlib.util
import pkgutil
import re
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

import linsep
from linsep import rules
from linsep.engine.digest import digest_of, engine_digest
from linsep.engine.flatten import flatten
from linsep.engine.tiers import Tiered
from linsep.models.encoding import RULES

RULE = """
from math import exp
from typing import NamedTuple
import numpy as np
from numba import njit

LIMIT = 0.5
PAIR = (1.0, (2.0, "a"))

@njit
def compiled(x):
    return 2 * x

def deeper(x):
    return x + 1

def helper(x, c=3.0):
    return deeper(x) * exp(c) * np.sqrt(4.0)

def make(k):
    def inner(x):
        return k * x
    return inner

closed = make(5.0)

class Rule(NamedTuple):
    C: float = 1.0

    def step(self, score, y, xx):
        return y * helper(score) * LIMIT * PAIR[0] + compiled(score) + closed(score)

    def loss(self, score, y, w1):
        return 0.0 if y * score > 0 else 1.0

    def pull(self, t):
        return self.C / t
"""

CHANGES = {
    "a helper": ("deeper(x) * exp(c)", "deeper(x) + exp(c)"),
    "a helper's helper": ("return x + 1", "return x + 2"),
    "a helper's default": ("c=3.0", "c=4.0"),
    "a constant": ("LIMIT = 0.5", "LIMIT = 0.25"),
    "a constant's type": ("LIMIT = 0.5", "LIMIT = 1"),
    "a nested constant": ('"a"', '"b"'),
    "a compiled helper": ("2 * x", "3 * x"),
    "what a closure holds": ("make(5.0)", "make(6.0)"),
    "the order of its fields": ("C: float = 1.0", "D: float = 1.0\n    C: float = 1.0"),
    "the step": ("y * helper", "-y * helper"),
    "the loss": ("else 1.0", "else 2.0"),
    "the pull": ("self.C / t", "self.C * t"),
    "a function of the same name": ("from math import exp", "from numpy import exp"),
}

UNKNOWN = {
    "a list": "[1.0, 2.0]",
    "an array": "np.ones(2)",
    "an object": "object()",
}


@pytest.fixture
def rule_of(tmp_path):
    """Import source text as a module of its own, always under the same name, and return its rule."""
    names = []

    def load(text, name="users_rule"):
        (tmp_path / f"{name}.py").write_text(dedent(text))
        spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        names.append(name)
        # Not through the loader: its cached bytecode knows a change by the second.
        exec(compile((tmp_path / f"{name}.py").read_text(), str(tmp_path / f"{name}.py"), "exec"), vars(module))
        return getattr(module, "Rule", None)

    yield load
    for name in names:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_anywhere_is_another_digest(rule_of, change):
    before = digest_of(rule_of(RULE))
    assert before is not None
    assert digest_of(rule_of(RULE)) == before
    old, new = CHANGES[change]
    assert old in RULE
    assert digest_of(rule_of(RULE.replace(old, new))) != before


def test_a_change_elsewhere_is_none(rule_of):
    before = digest_of(rule_of(RULE))
    assert digest_of(rule_of(RULE + "\nUNUSED = 3\n")) == before
    assert digest_of(rule_of("# a comment\n" + RULE)) == before
    assert digest_of(rule_of(RULE.replace("C: float = 1.0", "C: float = 2.0"))) == before


def test_a_helper_behind_a_module(rule_of):
    """helpers.scale: the module's name says nothing about the function. Without a digest is right as well."""
    rule = """
    from typing import NamedTuple
    import users_helpers

    class Rule(NamedTuple):
        def step(self, score, y, xx):
            return y * users_helpers.scale(score)
    """
    rule_of("def scale(x):\n    return 2 * x\n", "users_helpers")
    before = digest_of(rule_of(rule))
    rule_of("def scale(x):\n    return 3 * x\n", "users_helpers")
    after = digest_of(rule_of(rule))
    assert after is None or after != before


@pytest.mark.parametrize("value", UNKNOWN)
def test_what_cannot_be_known_has_no_digest(rule_of, value):
    assert digest_of(rule_of(RULE.replace("LIMIT = 0.5", f"LIMIT = {UNKNOWN[value]}"))) is None


def test_a_rule_that_is_nowhere_has_no_digest():
    class Rule(rules.Perceptron):
        pass

    assert digest_of(Rule) is None
    for home in ("__main__", "a_module_that_is_not_imported"):
        Rule.__module__ = home
        assert digest_of(Rule) is None


def test_our_own_rules_have_one_each():
    own = list(RULES.values())
    assert {getattr(rules, name) for name in rules.__all__} <= set(own)
    digests = {digest_of(rule) for rule in own}
    assert None not in digests
    assert len(digests) == len(own)
    assert engine_digest() not in digests


def test_the_digest_covers_every_file_that_kernels_inline():
    """It reads one folder; `data` has a digest of its own, and numba itself reads the kernel's own file."""
    package = Path(linsep.__file__).parent
    texts = {path.relative_to(package): path.read_text() for path in package.rglob("*.py")}
    inlined = {path: re.findall(r"@inlined\ndef (\w+)", text) for path, text in texts.items() if "@inlined" in text}
    elsewhere = {path: names for path, names in inlined.items() if path.parts[0] not in ("data", "engine")}
    assert all(path.parent.name == "engine" for path in inlined if path.parts[0] == "engine")
    for path, names in elsewhere.items():
        for other in texts.keys() - {path}:
            module = ".".join(path.with_suffix("").parts)
            assert not re.search(rf"from linsep\.{module} import .*\b({'|'.join(names)})\b", texts[other]), (
                path,
                other,
            )


def flat_functions():
    """Yield the flat functions of the modules of the package, by name."""
    for module in pkgutil.walk_packages(linsep.__path__, "linsep."):
        if module.name.split(".")[1] in ("engine", "solvers", "theory", "training", "transforms", "compat", "kernels"):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, Tiered) and value.flat:
                    yield f"{module.name}.{name}", value


def test_flat_functions_read_only_what_their_identity_covers():
    """Their source, with all that is inlined, is in the identity; other values are the engine's, NumPy's or Python's.

    A number of NumPy's is in the source by its name; a function compiled apart is in the identity by its source.
    """
    found = dict(flat_functions())
    assert len(found) > 12
    for name, function in found.items():
        _, values, apart = flatten(function.template, function.name)
        for used, value in values.items():
            if isinstance(value, (float, np.generic)):
                assert used.strip("_").endswith(re.sub(r"\W", "_", str(value)).strip("_")), (name, used)
            elif hasattr(value, "py_func"):
                assert any(source.startswith(f"def {value.py_func.__name__}(") for source in apart), (name, used)
            else:
                home = getattr(value, "__module__", None) or type(value).__module__
                assert home.split(".")[0] in ("builtins", "math", "numpy") or home.startswith("linsep.engine."), name
