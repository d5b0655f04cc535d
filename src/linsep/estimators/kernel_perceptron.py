"""The kernel perceptron: a perceptron in the feature space of a kernel, with dual weights."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Unpack

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from linsep.certificates.certify import LabelledRows
from linsep.certificates.theorems import KernelPerceptronTheorem, Theorem
from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.runtime import threads
from linsep.estimators.base.online import SharedButIntercept
from linsep.estimators.base.own_rule import check_own_rule
from linsep.estimators.base.run_certificate import NO_THEOREM
from linsep.estimators.base.voter import Voter
from linsep.kernels.functions import NAMES, Linear, Polynomial, kernel_named
from linsep.rules import Perceptron as Rule
from linsep.training.dual_weights import DualWeights
from linsep.training.history import History
from linsep.training.state import Parts
from linsep.validation.errors import InvalidDataError, ParameterError
from linsep.validation.inputs import refuse_bad_entries

MEGABYTE = 1 << 20
ABOUT = (
    "the claims about the data are about the features given; those about the run are about the kernel's feature space"
)
NOT_REPLAYED = (
    "the run is not replayed: the exact check covers polynomial and linear kernels, and this kernel is another; the "
    "claims are about the data alone, in the features given"
)
NO_STREAM = "a precomputed kernel covers all rows: use fit, or a kernel that is computed from the rows"


class KernelPerceptron(Voter):
    """The voted perceptron with a kernel: v_k.phi(x) is the sum of y_j K(x_j, x) over the first k mistakes.

    On a mistake the row's own weight changes, a_i += y; other rules can replace the perceptron's. Rows are learned in
    blocks, whose kernel values all classes share. The perceptron's bound holds with R² the largest K(x, x) and gamma
    the margin in the feature space. Source: Freund and Schapire (1999); the kernel, Aizerman et al. (1964).

    Parameters
    ----------
    kernel : "linear", "poly", "rbf", "precomputed" or function, default="poly"
        x.y; (coef0 + gamma x.y)^degree; exp(-gamma ||x - y||²). "precomputed": X is the matrix itself, (rows, rows) to
        fit and (points, rows) to predict. A function is given two tables (or sparse matrices) of rows A and B, and
        returns the table (len(A), len(B)) of their values; it must be symmetric.
    degree : int, default=2
        That of "poly".
    gamma : float, optional
        By default 1 for "poly" and 1 / features for "rbf".
    coef0 : float, default=1.0
        That of "poly".
    rule : NamedTuple with a method `step`, optional
        The update rule. Default: the perceptron's. See :mod:`linsep.rules`.
    readout : "vote", "plurality", "random", "last", "average" or "longest", default="vote"
        The weights that predict, as for :class:`linsep.VotedPerceptron`; may be changed after training.
    normalize : bool, default=False
        If True, every v_k is divided by its length first; may be changed after training.
    max_support : int, optional
        The most rows to keep; a run that needs more is refused, and nothing is learned from the call.
    cache_size : float, default=256.0
        Megabytes for kernel values that `fit` keeps from epoch to epoch.
    fit_intercept : bool, default=False
        If True, add `intercept_scaling`² to the kernel: a constant feature in the feature space. "auto" adds 1.
    **shared
        Those of every online learner: see :class:`linsep.estimators.base.online.OnlineLearner`.

    Examples
    --------
    >>> from linsep import KernelPerceptron
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]  # no line separates these
    >>> clf = KernelPerceptron(degree=2, shuffle=False, max_iter=20, readout="last").fit(X, y)
    >>> clf.predict(X), clf.n_support_
    (array([0, 0, 1, 1]), 4)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Voter._parameter_constraints,
        "kernel": [StrOptions(set(NAMES)), callable],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "gamma": [None, Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "rule": [None, HasMethods("step")],
        "cache_size": [Interval(Real, 0, None, closed="left")],
    }

    _traits = replace(Voter._traits, weights_of_rows=True)
    _no_weights = (
        "KernelPerceptron has weights of rows, and none of features to export: train VotedPerceptron on those that "
        "linsep.transforms.Polynomial writes out, or keep the model with save"
    )

    def _new_history(self, bias: float) -> History | None:
        return History(None)

    def _new_dual(self, features: int) -> DualWeights | None:
        return DualWeights(features)

    def __init__(
        self,
        *,
        kernel: Literal["linear", "poly", "rbf", "precomputed"] | Callable[[Any, Any], Any] = "poly",
        degree: int = 2,
        gamma: float | None = None,
        coef0: float = 1.0,
        rule: Any = None,
        readout: Literal["vote", "plurality", "random", "last", "average", "longest"] = "vote",
        normalize: bool = False,
        max_support: int | None = None,
        cache_size: float = 256.0,
        fit_intercept: bool = False,
        **shared: Unpack[SharedButIntercept],
    ) -> None:
        super().__init__(**shared)
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.rule = rule
        self.readout = readout
        self.normalize = normalize
        self.max_support = max_support
        self.cache_size = cache_size
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KernelPerceptron":
        """Train on all rows, epoch after epoch; see :meth:`linsep.Perceptron.fit`.

        With kernel="precomputed", X is the square matrix of kernel values of all rows.
        """
        return super().fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> "KernelPerceptron":
        """Make one pass over these rows, from where the last one stopped; see :meth:`linsep.Perceptron.partial_fit`."""
        if self.kernel == "precomputed":
            raise ParameterError(NO_STREAM)
        return super().partial_fit(X, y, classes, sample_weight)

    def learn_one(self, x: Any, y: Any) -> "KernelPerceptron":
        """Learn from one row; see :meth:`linsep.Perceptron.learn_one`."""
        if self.kernel == "precomputed":
            raise ParameterError(NO_STREAM)
        return self._learn_alone(x, y)

    def certificate(self, X: Any, y: Any, **plan: Any) -> Any:
        """Certify the data in the features given, and the run in the kernel's feature space.

        Polynomial and linear kernels are covered, for two classes and for each class against the rest: every round is
        replayed in integers and held against Novikoff's bound in the feature space. With other kernels, the claims are
        about the data alone. For the parameters, see :meth:`linsep.Perceptron.certificate`.

        Examples
        --------
        >>> from linsep import KernelPerceptron, verify
        >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
        >>> cert = KernelPerceptron(degree=2, shuffle=False, max_iter=20).fit(X, y).certificate(X, y)
        >>> cert.verdict, cert.claims["run: verdict in the feature space"], bool(verify(cert, X, y))
        ('not separable', 'separable', True)
        """
        if self.kernel == "precomputed":
            raise ParameterError(
                "a certificate is about rows, and a precomputed kernel has none: use kernel='poly' or 'linear', or "
                "certify the rows alone with linsep.certify(X, y)"
            )
        return super().certificate(X, y, **plan)

    def _theorem(self) -> tuple[Theorem | None, list[str]]:
        state = self._fitted()
        kernel = None if state.history is None else state.history.kernel
        if type(state.rule) is not Rule or state.pair:
            return None, [NO_THEOREM.format(type(self).__name__ + " in pairs of classes" * state.pair)]
        if isinstance(kernel, Linear):
            return KernelPerceptronTheorem(1, 1.0, 0.0), [*self._of_the_readout(), ABOUT]
        if isinstance(kernel, Polynomial):
            theorem = KernelPerceptronTheorem(int(kernel.degree), float(kernel.gamma), float(kernel.coef0))
            return theorem, [*self._of_the_readout(), ABOUT]
        return None, [NOT_REPLAYED]

    def _trains_to_the_same_log(self, rows: LabelledRows) -> bool:
        return True  # the checker replays every round in integers, and refuses other rows

    @property
    def dual_coef_(self) -> Array:
        """Return the coefficients of the rows of `support_` in the weights: (classes, rows); (1, rows) for two."""
        self._check_linear()
        shares, _, divisors = self._hypotheses().dual(self.readout, self.normalize)
        return self._of_classes((shares / divisors).T, axis=0, flat=False)

    def _weights(self) -> Array:
        self._fitted()
        raise AttributeError("weights in a kernel's feature space are not written out: see dual_coef_ and support_")

    @property
    def _reads_first_row(self) -> bool:
        return False  # the bias is in the kernel's feature space, where the size of an entry means nothing

    def _parts(self, features: int, rows: int | None) -> Parts:
        if self.rule is None:
            return Parts(Rule())
        check_own_rule(self.rule)
        return Parts(self.rule)

    def _configure(self, state: Any) -> None:
        super()._configure(state)
        kernel = kernel_named(self.kernel, state.first_features, self.degree, self.gamma, self.coef0, state.bias)
        history, dual = state.history, state.dual
        if history.kernel not in (None, kernel):
            raise ParameterError(f"training can't resume with another kernel: it began with {history.kernel}; call fit")
        width = 1 if self.kernel == "precomputed" else dual.width
        if history.support is not None and history.support.data.n_features != width:
            raise ValueError(f"the rows that were kept have not the {width} features of this kernel")
        history.kernel, dual.jobs, dual.digested = kernel, threads(self.n_jobs), bool(self.warm_start)
        dual.cache_bytes = int(self.cache_size * MEGABYTE)

    def _check_entries(self, data: Dense | Csr) -> None:
        refuse_bad_entries(data)
        shape = data.n_rows, data.n_features
        if self.kernel == "precomputed" and shape[0] != shape[1]:
            raise InvalidDataError(f"a precomputed kernel has a row and a column for each example; X has shape {shape}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
