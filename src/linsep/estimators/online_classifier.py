"""An online learner for a user-defined rule."""

from numbers import Real
from typing import Any, ClassVar, Literal, Unpack

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from linsep.engine.step import reads_sign_only, shrinks
from linsep.estimators.base.online import READOUTS, OnlineLearner, Shared
from linsep.estimators.base.own_rule import check_own_rule
from linsep.estimators.p_norm import default_power, refuse_no_power
from linsep.estimators.romma import AGGRESSIVE
from linsep.rules import AggressiveRomma
from linsep.training.state import Parts
from linsep.training.weights import FORMS
from linsep.validation.errors import ParameterError

LINKS = {"additive", *FORMS}


class OnlineClassifier(OnlineLearner):
    """Any rule x any link x any readout.

    A rule is a `typing.NamedTuple` of numbers with a method `step`; see :mod:`linsep.engine.step` for its two forms.
    It is compiled on first use and runs as fast as the rules that come with the library.

    Parameters
    ----------
    rule : NamedTuple with a method `step`
        The update rule.
    link : "additive", "exponential", "sinh" or "p-norm", default="additive"
        Map from the sum of the updates to the weights. Scores of all but the first are known only up to a positive
        factor: a rule that uses the score's value is refused there, and so is a rule that shrinks.
    eta : float, default=0.5
        The rate of the exponential and the sinh link.
    p : float, optional
        The p of the p-norm link; by default 2 ln N for the N weights that training begins with.
    readout : "last" or "average", default="last"
        The weights that predict; the average needs additive weights.
    **shared
        Those of every online learner: see :class:`linsep.estimators.base.online.OnlineLearner`.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from linsep import OnlineClassifier
    >>> class Margin(NamedTuple):  # a perceptron that wants a margin of its own
    ...     want: float = 1.0
    ...
    ...     def step(self, score, y, xx):
    ...         return y if y * score <= self.want else 0.0
    >>> clf = OnlineClassifier(Margin(0.5), shuffle=False).fit([[0, 1], [1, 0], [2, 1], [1, 2]], [-1, 1, 1, -1])
    >>> clf.score([[3, 0], [0, 3]], [1, -1])
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineLearner._parameter_constraints,
        "rule": [HasMethods("step")],
        "link": [StrOptions(LINKS)],
        "eta": [Interval(Real, 0, None, closed="neither")],
        "p": [None, Interval(Real, 2, None, closed="left")],
        "readout": [StrOptions(set(READOUTS))],
    }

    def __init__(
        self,
        rule: Any,
        *,
        link: Literal["additive", "exponential", "sinh", "p-norm"] = "additive",
        eta: float = 0.5,
        p: float | None = None,
        readout: Literal["last", "average"] = "last",
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(**shared)
        self.rule = rule
        self.link = link
        self.eta = eta
        self.p = p
        self.readout = readout

    @property
    def _no_mixing(self) -> str:
        return AGGRESSIVE if isinstance(self.rule, AggressiveRomma) else ""

    def _parts(self, features: int, rows: int | None) -> Parts:
        check_own_rule(self.rule)
        name = type(self.rule).__name__
        if self.link != "additive":
            if not reads_sign_only(type(self.rule)):
                raise ParameterError(
                    f"the rule {name} uses the score's value, and {self.link} scores are known only up to a positive "
                    'factor: use link="additive", or mark the rule @promises(reads="sign") if the sign is all it needs'
                )
            if shrinks(type(self.rule)):
                raise ParameterError(f'the rule {name} may shrink the weights, which needs link="additive"')
            if self.readout == "average":
                raise ParameterError(
                    f'readout="average" needs link="additive": {self.link} weights have no running average'
                )
        power = (self.p if self.p is not None else default_power(features + self.fit_intercept)) - 1
        return Parts(self.rule, self.link, power if self.link == "p-norm" else self.eta, READOUTS[self.readout])

    def _check_open_width(self) -> None:
        if self.link == "p-norm":
            refuse_no_power(self.p)
