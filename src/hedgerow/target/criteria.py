"""Criteria: class counts of a node -> its impurity, which splits reduce."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri
from sklearn.base import BaseEstimator, clone

from hedgerow.belief import discord, mass_from_counts, non_specificity, total_uncertainty_from_counts, upper_entropy

__all__ = [
    "CRITERIA",
    "BeliefGain",
    "Criterion",
    "Entropy",
    "Gini",
    "ImpreciseGain",
    "NpiGain",
    "resolve_criterion",
]

Floats = NDArray[np.float64]

#: The values from which ``lam="auto"`` chooses; 0 is not among them, because the imprecise Dirichlet model then never
#: splits.
LAMBDAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


CLOSED_FORM = 3
"""Up to this many classes a multinomial mass needs no linear programme."""


class Criterion(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no annotations
    """What a split should reduce. ``__init__`` only stores the parameters, as in scikit-learn's estimators.

    To add a criterion, derive from this class and write `impurity`. A line in `CRITERIA` gives it a name, which model
    files need. The impurity must not depend on the order of the classes.

    Attributes
    ----------
    name : str
        The short name under which `resolve_criterion` finds the criterion.
    compiled : bool
        Whether the core has a criterion of this name. Otherwise the core calls `impurity` for each side of a split that
        is new to it, which is slow, and splits only if there is a gain. A subclass does not inherit this attribute: it
        must set it again if it computes the same.
    in_sklearn : str or None
        The name of the same criterion in scikit-learn. A subclass does not inherit this attribute.
    counts_absent : bool
        Whether classes without rows change the impurity. If not, nodes of many classes take less time and memory. A
        subclass does not inherit this attribute.
    """

    name: ClassVar[str]
    compiled: ClassVar[bool] = False
    in_sklearn: ClassVar[str | None] = None
    counts_absent: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        """Reset what says how impurity is computed unless the subclass sets it: its arithmetic may differ."""
        super().__init_subclass__(**options)
        cls.compiled = vars(cls).get("compiled", False)
        cls.in_sklearn = vars(cls).get("in_sklearn")
        cls.counts_absent = vars(cls).get("counts_absent", True)

    def impurity(self, counts: Floats) -> Floats:
        """Class counts of nodes (N, K) -> their impurities (N,)."""
        raise NotImplementedError(f"a criterion must define impurity, got none in {type(self).__name__}")

    def check(self) -> None:
        """Refuse parameters out of range."""

    def in_core(self, n_classes: int) -> dict[str, Any]:
        """What the compiled core must know of it."""
        known = {"name": self.name, "lam": 1.0, "caution": 0.0, "quantile": 0.0, "uncertainty": None}
        return known if self.compiled else known | self.in_python(n_classes)

    def in_python(self, n_classes: int) -> dict[str, Any]:
        """K -> what the core must know to ask Python for the impurity of a side."""

        def uncertainty(counts: list[float]) -> float:  # of the classes that occur
            padded = np.zeros((1, n_classes))
            padded[0, : len(counts)] = counts
            return float(self.impurity(padded)[0])

        return {"name": "python", "uncertainty": uncertainty}

    @property
    def is_settled(self) -> bool:
        """Whether every parameter is a number; otherwise `fit` chooses one of `candidates`."""
        return True

    def candidates(self) -> list[Criterion]:
        """-> criteria without open parameters, from the one that splits least to the one that splits most."""
        return [self]


class Gini(Criterion):
    """The probability that two rows of a node differ in class: 1 - sum of squared shares.

    Examples
    --------
    >>> Gini().impurity(np.array([[2.0, 2.0]]))
    array([0.5])
    """

    name = "gini"
    compiled = True
    in_sklearn = "gini"
    counts_absent = False

    def impurity(self, counts: Floats) -> Floats:
        """(N, K) -> (N,)."""
        return np.asarray(1 - (_shares(counts) ** 2).sum(axis=1))


class Entropy(Criterion):
    """The entropy of the class shares, in bits.

    Examples
    --------
    >>> Entropy().impurity(np.array([[2.0, 2.0]]))
    array([1.])
    """

    name = "entropy"
    compiled = True
    in_sklearn = "entropy"
    counts_absent = False

    def impurity(self, counts: Floats) -> Floats:
        """(N, K) -> (N,)."""
        return _entropy(_shares(counts))


class BeliefGain(Criterion):
    """The uncertainty U of the mass that the counts of a node justify: a node is split only if U falls.

    U = (1 - lam) non-specificity + lam discord (Sutton-Charani et al., 2012). Non-specificity is large if a node has
    little evidence, discord if its evidence is divided. Small nodes are unspecific, so a tree stops growing by itself;
    rows of one class always stay together.

    Parameters
    ----------
    lam : float in [0, 1] or "auto", default=0.5
        The share of discord. With 0 and "idm" no node is ever split; 1 with little caution is information gain.
        "auto" chooses one of 0.1, 0.2, ..., 1 by cross-validation within `fit` (``criterion_``).
    mass : {"idm", "multinomial"}, default="idm"
        How counts become a mass: by the imprecise Dirichlet model, or by simultaneous confidence intervals (Denœux,
        2006), which with more than three classes need linear programmes and make growing slow.
    caution : float >= 0, default=1.0
        Only for "idm": how many unseen rows a node keeps in reserve.
    alpha : float in (0, 1), default=0.05
        Only for "multinomial": one minus the confidence level of the intervals.

    Examples
    --------
    >>> BeliefGain(lam=0.5).impurity(np.array([[0.0, 0.0], [50.0, 0.0], [25.0, 25.0]])).round(3)
    array([0.5  , 0.017, 0.5  ])
    """

    name = "belief"
    compiled = True

    def __init__(self, lam: float | str = 0.5, mass: str = "idm", caution: float = 1.0, alpha: float = 0.05) -> None:
        self.lam = lam
        self.mass = mass
        self.caution = caution
        self.alpha = alpha

    def impurity(self, counts: Floats) -> Floats:
        """(N, K) -> (N,): U in bits."""
        lam = _number(self.lam)
        if self.mass == "idm":
            return np.asarray(total_uncertainty_from_counts(counts, lam, self.caution))
        mass = mass_from_counts(counts, model="multinomial", alpha=self.alpha)
        return np.asarray((1 - lam) * non_specificity(mass) + lam * discord(mass))

    def check(self) -> None:
        """Refuse parameters out of range."""
        if self.lam != "auto" and not (_is_number(self.lam) and 0 <= float(self.lam) <= 1):
            raise ValueError(f"lam must lie in [0, 1] or be 'auto', got {self.lam!r}; it is the share of discord")
        if self.mass not in ("idm", "multinomial"):
            raise ValueError(f"mass must be 'idm' or 'multinomial', got {self.mass!r}")
        _check_caution(self.caution)
        if not (_is_number(self.alpha) and 0 < self.alpha < 1):
            raise ValueError(f"alpha must lie between 0 and 1, got {self.alpha!r}; 0.05 is usual")

    def in_core(self, n_classes: int) -> dict[str, Any]:
        """What the compiled core must know of it."""
        known = super().in_core(n_classes) | {"lam": _number(self.lam), "caution": float(self.caution)}
        if self.mass == "multinomial" and n_classes <= CLOSED_FORM:
            known |= {"name": "multinomial", "quantile": float(chdtri(1, self.alpha / n_classes))}
        elif self.mass == "multinomial":
            known |= self.in_python(n_classes)
        return known

    @property
    def is_settled(self) -> bool:
        """Whether every parameter is a number."""
        return self.lam != "auto"

    def candidates(self) -> list[Criterion]:
        """One criterion for each share of discord."""
        return [clone(self).set_params(lam=lam) for lam in LAMBDAS]


class ImpreciseGain(Criterion):
    """The largest entropy that the imprecise Dirichlet model of a node allows (Abellán and Moral, 2003).

    Parameters
    ----------
    caution : float >= 0, default=1.0
        How many unseen rows a node keeps in reserve; they are added to its smallest classes.

    Examples
    --------
    >>> ImpreciseGain().impurity(np.array([[3.0, 2.0], [3.0, 0.0]])).round(3)
    array([1.   , 0.811])
    """

    name = "imprecise"
    compiled = True

    def __init__(self, caution: float = 1.0) -> None:
        self.caution = caution

    def impurity(self, counts: Floats) -> Floats:
        """(N, K) -> (N,): upper entropy in bits."""
        return _entropy(_shares(_levelled(np.asarray(counts, dtype=np.float64), self.caution)))

    def check(self) -> None:
        """Refuse parameters out of range."""
        _check_caution(self.caution)

    def in_core(self, n_classes: int) -> dict[str, Any]:
        """What the compiled core must know of it."""
        return super().in_core(n_classes) | {"caution": float(self.caution)}


class NpiGain(Criterion):
    """The largest entropy that nonparametric predictive inference allows in a node (Abellán, Baker and Coolen, 2011).

    The probability of a class of n_k rows lies between (n_k - 1)/n and (n_k + 1)/n. So there is nothing to choose:
    doubt is worth one row, whatever the number of classes. It is computed in Python and therefore slow.

    Examples
    --------
    >>> NpiGain().impurity(np.array([[4.0, 0.0, 0.0], [2.0, 2.0, 0.0]])).round(4)
    array([1.0613, 1.5613])
    """

    name = "npi"

    def impurity(self, counts: Floats) -> Floats:
        """(N, K) -> (N,): upper entropy in bits."""
        rows = np.asarray(counts, dtype=np.float64)
        total = rows.sum(axis=1, keepdims=True)
        amount = np.where(total > 0, total, 1.0)
        lower, upper = np.maximum(rows - 1, 0.0) / amount, np.minimum(rows + 1, amount) / amount
        return np.where(total[:, 0] > 0, upper_entropy(lower, upper), 0.0)


#: Names of criteria; "log_loss" is scikit-learn's other name for entropy.
CRITERIA: dict[str, type[Criterion]] = {
    "gini": Gini,
    "entropy": Entropy,
    "log_loss": Entropy,
    "belief": BeliefGain,
    "imprecise": ImpreciseGain,
    "npi": NpiGain,
}


def resolve_criterion(criterion: str | Criterion) -> Criterion:
    """A criterion's name or a criterion -> the criterion, its parameters checked.

    Parameters
    ----------
    criterion : str or Criterion

    Returns
    -------
    Criterion

    Examples
    --------
    >>> resolve_criterion("belief")
    BeliefGain()
    """
    if isinstance(criterion, Criterion):
        criterion.check()
        return criterion
    if isinstance(criterion, str) and criterion in CRITERIA:
        return CRITERIA[criterion]()
    raise ValueError(f"criterion must be a Criterion or one of {', '.join(CRITERIA)}, got {criterion!r}")


def _shares(counts: Floats) -> Floats:
    """(N, K) -> (N, K), rows that sum to one; empty rows stay zero."""
    amount = counts.sum(axis=1, keepdims=True)
    return np.asarray(counts / np.where(amount > 0, amount, 1))


def _entropy(share: Floats) -> Floats:
    """(N, K) -> (N,): entropy in bits."""
    return np.asarray(-(share * np.log2(np.where(share > 0, share, 1))).sum(axis=1))


def _levelled(counts: Floats, caution: float) -> Floats:
    """(N, K) -> (N, K): `caution` more rows, added to the smallest classes so that these become equal."""
    ascending = np.sort(counts, axis=1)
    n_level = np.arange(1, counts.shape[1] + 1)
    levels = (np.cumsum(ascending, axis=1) + caution) / n_level
    # a level is right if it is above exactly as many classes as share it
    reached = np.maximum((ascending < levels).sum(axis=1), 1)
    level = np.take_along_axis(levels, reached[:, None] - 1, axis=1)
    return np.asarray(np.maximum(counts, level))


def _number(lam: float | str) -> float:
    """lam -> float; refused if it is still to be chosen."""
    if isinstance(lam, str):
        raise ValueError(f"lam must be a number here, got {lam!r}; `fit` chooses one")
    return float(lam)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))


def _check_caution(caution: Any) -> None:
    if not (_is_number(caution) and caution >= 0):
        raise ValueError(f"caution must be a number >= 0, got {caution!r}; 0 trusts the counts fully")
