"""Polynomial and interaction features."""

from collections.abc import Callable, Iterable
from itertools import zip_longest
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from linsep.maps.base import FeatureMap, check_array
from linsep.maps.monomials import Monomials
from linsep.maps.terms import Term, Terms, parsed, spelled

MOST_DEGREE = 1 << 16
"""The highest degree: the powers beyond are 0, 1 or infinite for all but a few numbers."""
MOST_NAMES = 10**7
"""Names that are written out; wider results have `name_of`."""


class Polynomial(FeatureMap):
    """Products of features: all up to a degree, or those named in a list.

    A separator that is linear in these features is a polynomial in the old ones. Columns are in the order of
    scikit-learn's PolynomialFeatures: by degree, then x0 x0, x0 x1, ..., x1 x1, ... From sparse rows only products of
    stored entries are made, however many columns there are: they may be more than 2^31. Products are computed in
    float64, whatever the type of the rows.

    Parameters
    ----------
    degree : int or (int, int), default=2
        The highest degree, or the lowest and the highest.
    interaction_only : bool, default=False
        Whether no feature is multiplied by itself.
    include_bias : bool, default=False
        Whether the first column is 1; a learner with `fit_intercept=True` has a bias already.
    terms : list or None, default=None
        The products themselves, instead of all up to a degree: texts such as "x0 x3^2", with the names of the columns
        (x0, x1, ... where they have none), or tuples of column numbers such as (0, 3, 3). "1" or () is the constant.

    Attributes
    ----------
    term_factors_, term_lengths_ : arrays of int
        Where terms are given: the columns of all of their factors, one after another, and how many each has.

    Examples
    --------
    >>> Polynomial().fit_transform([[2.0, 3.0]])
    array([[2., 3., 4., 6., 9.]])

    The feature map of the lecture, [x1, x2] -> [x1, x2, x1^5]:

    >>> Polynomial(terms=["x0", "x1", "x0^5"]).fit_transform([[2.0, 3.0]])
    array([[ 2.,  3., 32.]])
    """

    _facts: ClassVar[frozenset[str]] = FeatureMap._facts | {"term_factors_", "term_lengths_"}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "interaction_only": ["boolean"],
        "include_bias": ["boolean"],
        "terms": [None, "array-like"],
    }

    def __init__(
        self, degree: int | tuple[int, int] = 2, interaction_only: bool = False, include_bias: bool = False,
        terms: Iterable[str | Term] | None = None,
    ) -> None:  # fmt: skip
        self.degree = degree
        self.interaction_only = interaction_only
        self.include_bias = include_bias
        self.terms = terms

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the features, such as "x0 x3^2"."""
        names = super().get_feature_names_out(input_features)
        if self.n_features_out_ > MOST_NAMES:
            raise ValueError(f"{self.n_features_out_:,} names are too many: ask name_of(column) for single ones")
        return np.array([spelled(term, names.__getitem__) for term in self._products()], dtype=object)

    def name_of(self, column: int) -> str:
        """Return the name of one feature, however many there are."""
        check_is_fitted(self)
        if not 0 <= column < self.n_features_out_:
            raise ValueError(f"column {column} is not one of the {self.n_features_out_:,} columns")
        names = getattr(self, "feature_names_in_", None)
        return self._name(column, "x{}".format if names is None else names.__getitem__)

    def _name(self, column: int, before: Callable[[int], str]) -> str:
        return spelled(self._products().term(column), before)

    def _learn(self, X: Any) -> None:
        if self.terms is None:
            return
        if (self.degree, self.interaction_only, self.include_bias) != (2, False, False):
            raise ValueError("terms name all products: leave degree, interaction_only and include_bias out")
        terms = list(parsed(self.terms, self.n_features_in_, getattr(self, "feature_names_in_", None)))
        self.term_factors_ = np.array([j for term in terms for j in term], np.int64)
        self.term_lengths_ = np.array([len(term) for term in terms], np.int64)

    def _columns(self) -> int:
        columns = self._products().columns
        if columns <= 0:
            what = f"degree={self.degree!r}" if self.terms is None else "terms=[]"
            raise ValueError(f"{what} makes no product of {self.n_features_in_} columns")
        return columns

    def _mapped(self, X: Any) -> Any:
        return self._products().of(X)

    def _products(self) -> Monomials | Terms:
        """Return the products, one for each column."""
        if self.terms is not None:
            parts = np.split(self.term_factors_, np.cumsum(self.term_lengths_))[:-1]
            return Terms([tuple(part.tolist()) for part in parts])
        low, high = self._degrees()
        return Monomials(self.n_features_in_, low, high, bool(self.include_bias), not self.interaction_only)

    def _degrees(self) -> tuple[int, int]:
        """Return the lowest and the highest degree."""
        degree: Any = self.degree
        bounds = [1, degree] if isinstance(degree, Integral) else list(degree)
        whole = [int(bound) for bound in bounds if isinstance(bound, Integral)]
        if not len(whole) == len(bounds) == 2 or not 0 <= whole[0] <= whole[1] or whole[1] < 1:
            raise ValueError(f"degree={degree!r} must be a number from 1 on, or the lowest and the highest degree")
        if whole[1] > MOST_DEGREE:
            raise ValueError(f"degree={degree!r:.40} is too high: the highest degree is {MOST_DEGREE:,}")
        return whole[0], whole[1]

    def _check_facts(self) -> None:
        if self.terms is None:
            super()._check_facts()
            return
        lengths, factors = (check_array(self, name, np.int64) for name in ("term_lengths_", "term_factors_"))
        if np.any((lengths < 0) | (lengths > len(factors))) or lengths.sum() != len(factors):
            raise ValueError("its terms have another number of factors than they say")
        super()._check_facts()
        begin, names = 0, getattr(self, "feature_names_in_", None)
        for term, length in zip_longest(parsed(self.terms, self.n_features_in_, names), lengths.tolist()):
            if term is None or length is None or list(term) != factors[begin : begin + length].tolist():
                raise ValueError("its terms are not those that it was fitted with")
            begin += length
