"""The parameters that every online learner has."""

import inspect
import re
from numbers import Integral, Real
from typing import Any, ClassVar, TypedDict

from sklearn.utils._param_validation import Interval, StrOptions

from linsep.learners.mixing import MIXINGS

SEE = """    **shared
        Those of every online learner: see :class:`linsep.learners.parameters.Parameters`."""
"""What stands in a learner's source for the parameters described here."""


class SharedButIntercept(TypedDict, total=False):
    """The parameters that every online learner has, with the same default."""

    max_iter: int
    tol: float | None
    n_iter_no_change: int
    shuffle: bool | str
    select: str | None
    random_state: Any
    intercept_scaling: float
    warm_start: bool
    class_weight: Any
    multi_class: str
    n_jobs: int | None
    shards: int | None
    mixing: str
    log: bool | str


class Shared(SharedButIntercept, total=False):
    """The parameters that every online learner has."""

    fit_intercept: bool


class Parameters:
    """What all learners are told, beside what is a learner's own; a learner's own documentation repeats it.

    Parameters
    ----------
    max_iter : int, default=10
        The most epochs (with `select`: the most updates).
    tol : float or None, default=None
        None: stop after an epoch without an update. A number: stop as well when the epoch's share
        of mistakes has not fallen by more than `tol` below the best for `n_iter_no_change` epochs.
    n_iter_no_change : int, default=5
        See `tol`.
    shuffle : bool, "blocks" or "once", default=True
        True: a new random order each epoch, `default_rng([seed, epoch]).permutation(n)`; "once": the first epoch's
        in all; False: as the rows stand. "blocks": blocks of 64 rows in a new random order each epoch, and within
        all blocks one more; two thirds of the time of True on large sparse data, as neighbours in memory stay near.
        Rows that stand in groups of one label are better mixed by True.
    select : None, "first", "worst" or "random", default=None
        None: epochs. Otherwise the textbook's batch loop: locate a misclassified row (the first, the one of least
        margin, a random one), update on it, look again. Every update looks at all rows: for small data.
    random_state : int, RandomState or None, default=None
        The seed, or where to draw it from.
    fit_intercept : bool, default=True
        Whether rows get a constant feature.
    intercept_scaling : float, default=1.0
        The constant feature's value, beta in the theorems.
    warm_start : bool, default=False
        Whether `fit` goes on from where the last one stopped; k epochs and then l more equal k + l at once.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the sample weight of each class's rows.
    multi_class : "ovr" or "pair", default="ovr"
        One machine a class against the rest, or one machine for all: the true class against its best rival.
    n_jobs : int or None, default=None
        Threads for shards, for one-vs-rest classes and for prediction; never changes a bit. Without `shards` one
        binary machine in order gains nothing from a second thread.
    shards : int or None, default=None
        None: row after row, by one machine. A number: iterative parameter mixing. The order of each epoch is cut into
        so many shards; each is learned from the weights that the epoch began with, and at its end they are mixed,
        s + sum of share (s_shard - s) / sum of shares. Part of the algorithm: other shards are another model. On
        separable data the mistakes, each times its shard's weight in the mix, keep within the learner's bound.
    mixing : "uniform", "rows" or "mistakes", default="uniform"
        A shard's share in the mix: 1, its rows, or the mistakes that it made in the epoch (if none did: 1).
    log : bool or "auto", default="auto"
        Whether to keep `log_`. "auto": unless the rule moves on nearly every row, or the log outgrows 5 % of the data
        (or 1 MiB, if that is more).
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [None, Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean", StrOptions({"blocks", "once"})],
        "select": [None, StrOptions({"first", "worst", "random"})],
        "random_state": ["random_state"],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "warm_start": ["boolean"],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "multi_class": [StrOptions({"ovr", "pair"})],
        "n_jobs": [None, Integral],
        "shards": [None, Interval(Integral, 1, None, closed="left")],
        "mixing": [StrOptions(set(MIXINGS))],
        "log": ["boolean", StrOptions({"auto"})],
    }

    def __init__(
        self,
        *,
        max_iter: int = 10,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        shuffle: bool | str = True,
        select: str | None = None,
        random_state: Any = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        warm_start: bool = False,
        class_weight: Any = None,
        multi_class: str = "ovr",
        n_jobs: int | None = None,
        shards: int | None = None,
        mixing: str = "uniform",
        log: bool | str = "auto",
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.select = select
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.n_jobs = n_jobs
        self.shards = shards
        self.mixing = mixing
        self.log = log

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Write the shared parameters out in the signature and the documentation of a subclass that takes them."""
        super().__init_subclass__(**kwargs)
        if cls.__doc__ and SEE in cls.__doc__:
            cls.__doc__ = cls.__doc__.replace(SEE, _shared_texts(own_names(cls)))
        if "__init__" in vars(cls):
            own, shared = inspect.signature(cls.__init__), inspect.signature(Parameters.__init__)
            named = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
            rest = [p for p in shared.parameters.values() if p.name not in own.parameters]
            cls.__init__.__signature__ = own.replace(parameters=[*named, *rest])  # type: ignore[attr-defined]


def own_names(kind: type) -> set[str]:
    """Return the parameters that a class declares itself."""
    return set(inspect.signature(vars(kind)["__init__"]).parameters) if "__init__" in vars(kind) else set()


def _shared_texts(left_out: set[str]) -> str:
    """Return what is said of the shared parameters, but for some."""
    text = (Parameters.__doc__ or "").split("----------\n")[1].rstrip()
    parts = re.split(r"^(?=    \w+ : )", text, flags=re.MULTILINE)
    return "".join(part for part in parts if part.split(" : ")[0].strip() not in left_out).rstrip()
