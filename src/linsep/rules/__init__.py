"""The rules: how far to move, each a pure function as the lecture writes it."""

from linsep.rules.hinge import Hinge
from linsep.rules.logistic import Logistic
from linsep.rules.passive_aggressive import PassiveAggressive, PassiveAggressiveI, PassiveAggressiveII
from linsep.rules.perceptron import Perceptron
from linsep.rules.romma import AggressiveRomma, Romma
from linsep.rules.solved import Solved
from linsep.rules.widrow_hoff import WidrowHoff

__all__ = [
    "AggressiveRomma",
    "Hinge",
    "Logistic",
    "PassiveAggressive",
    "PassiveAggressiveI",
    "PassiveAggressiveII",
    "Perceptron",
    "Romma",
    "Solved",
    "WidrowHoff",
]
