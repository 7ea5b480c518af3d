"""Criteria: class counts of a node -> its impurity, which splits reduce."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, psi
from sklearn.base import BaseEstimator, clone

from hedgerow.belief import discord, mass_from_counts, non_specificity, total_uncertainty_from_counts, upper_entropy

__all__ = [
    "CRITERIA",
    "BeliefGain",
    "CredalC45",
    "Criterion",
    "Entropy",
    "GainRatio",
    "Gini",
    "ImpreciseGain",
    "NpiGain",
    "resolve_criterion",
]

#: The values from which ``lam="auto"`` chooses; 0 is not among them, because the imprecise Dirichlet model then never
#: splits.
LAMBDAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
#: Up to this many classes a multinomial mass needs no linear programme.
CLOSED_FORM = 3

Floats = NDArray[np.float64]


class Criterion(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no annotations
    """What a split should reduce. ``__init__`` only stores the parameters, as in scikit-learn's estimators.

    To add a criterion, derive from this class and write `impurity`. A line in `CRITERIA` gives it a name, which model
    files need. The impurity must not depend on the order of the classes, unless `ordered` says so.

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
    ordered : bool
        Whether the order of the classes matters.
    by_ratio : bool
        Whether features compete by gain divided by split information; only for criteria that are not compiled, and for
        "imprecise".
    """

    name: ClassVar[str]
    compiled: ClassVar[bool] = False
    in_sklearn: ClassVar[str | None] = None
    counts_absent: ClassVar[bool] = True
    ordered: ClassVar[bool] = False
    by_ratio: ClassVar[bool] = False

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
        known |= {"ordered": bool(self.ordered), "by_ratio": bool(self.by_ratio)}
        return known if self.compiled else known | self.in_python(n_classes)

    def in_python(self, n_classes: int) -> dict[str, Any]:
        """K -> what the core must know to ask Python for the impurity of a side."""

        def uncertainty(counts: list[float]) -> float:  # of the classes that occur, or of all if they are ordered
            padded = np.zeros((1, n_classes))
            padded[0, : len(counts)] = counts
            return float(self.impurity(padded)[0])

        return {"name": "python", "uncertainty": uncertainty}

    @property
    def is_resolved(self) -> bool:
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
        return np.asarray(1 - (shares_of(counts) ** 2).sum(axis=1))


class Entropy(Criterion):
    """The entropy of the class shares, in bits.

    Parameters
    ----------
    correction : {None, "miller", "grassberger"}, default=None
        The entropy of the shares of few rows is too low on average. "miller" adds (m - 1)/(2 n) nats, for m classes
        that occur in n rows (Miller 1955). "grassberger" replaces the logarithms of counts by a series with less
        bias (Grassberger 2003). Both are computed in Python and therefore slow, and nodes are split only if the
        corrected entropy falls.

    Examples
    --------
    >>> Entropy().impurity(np.array([[2.0, 2.0]]))
    array([1.])
    >>> Entropy("miller").impurity(np.array([[2.0, 2.0]])).round(4)
    array([1.1803])
    """

    name = "entropy"
    counts_absent = False

    def __init__(self, correction: str | None = None) -> None:
        self.correction = correction

    @property
    def compiled(self) -> bool:  # type: ignore[override]
        """The core has no corrections."""
        return self.correction is None

    @property
    def in_sklearn(self) -> str | None:  # type: ignore[override]
        """scikit-learn has no corrections either."""
        return "entropy" if self.correction is None else None

    def impurity(self, counts: Floats) -> Floats:
        """(N, K) -> (N,)."""
        if self.correction is None:
            return entropy_of(shares_of(counts))
        return _miller(counts) if self.correction == "miller" else _grassberger(counts)

    def check(self) -> None:
        """Refuse parameters out of range."""
        if self.correction not in (None, "miller", "grassberger"):
            raise ValueError(f"correction must be None, 'miller' or 'grassberger', got {self.correction!r}")


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
    ordinal : bool, default=False
        Only for "multinomial": whether the classes are ordered, as ``classes_`` lists them. Then only intervals of
        classes have mass, and no linear programme is needed. It is computed in Python and therefore slow.
    size_cost : float >= 0, default=0.0
        Only for ``lam="auto"``: what a leaf costs, in rows. The ``lam`` with the most held-out rows that are classified
        correctly, minus this cost of the leaves of a tree, is chosen.

    Examples
    --------
    >>> BeliefGain(lam=0.5).impurity(np.array([[0.0, 0.0], [50.0, 0.0], [25.0, 25.0]])).round(3)
    array([0.5  , 0.017, 0.5  ])
    """

    name = "belief"
    compiled = True

    def __init__(
        self,
        lam: float | str = 0.5,
        mass: str = "idm",
        caution: float = 1.0,
        alpha: float = 0.05,
        ordinal: bool = False,
        size_cost: float = 0.0,
    ) -> None:
        self.lam = lam
        self.mass = mass
        self.caution = caution
        self.alpha = alpha
        self.ordinal = ordinal
        self.size_cost = size_cost

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        """Whether the order of the classes matters."""
        return bool(self.ordinal)

    def impurity(self, counts: Floats) -> Floats:
        """(N, K) -> (N,): U in bits."""
        lam = _number(self.lam)
        if self.mass == "idm":
            return np.asarray(total_uncertainty_from_counts(counts, lam, self.caution))
        mass = mass_from_counts(counts, model="multinomial", alpha=self.alpha, ordinal=self.ordinal)
        return np.asarray((1 - lam) * non_specificity(mass) + lam * discord(mass))

    def check(self) -> None:
        """Refuse parameters out of range."""
        if self.lam != "auto" and not (is_number(self.lam) and 0 <= float(self.lam) <= 1):
            raise ValueError(f"lam must lie in [0, 1] or be 'auto', got {self.lam!r}; it is the share of discord")
        if self.mass not in ("idm", "multinomial"):
            raise ValueError(f"mass must be 'idm' or 'multinomial', got {self.mass!r}")
        check_caution(self.caution)
        if not (is_number(self.alpha) and 0 < self.alpha < 1):
            raise ValueError(f"alpha must lie between 0 and 1, got {self.alpha!r}; 0.05 is usual")
        if not isinstance(self.ordinal, bool | np.bool_):
            raise ValueError(f"ordinal must be True or False, got {self.ordinal!r}; it says that classes are ordered")
        if self.ordinal and self.mass != "multinomial":
            raise ValueError(
                f"mass must be 'multinomial' if ordinal is True, got {self.mass!r}, which has no sets of neighbours"
            )
        if not (is_number(self.size_cost) and self.size_cost >= 0):
            raise ValueError(
                f"size_cost must be a number >= 0, got {self.size_cost!r}; it is what a leaf costs in rows"
            )

    def in_core(self, n_classes: int) -> dict[str, Any]:
        """What the compiled core must know of it."""
        known = super().in_core(n_classes) | {"lam": _number(self.lam), "caution": float(self.caution)}
        if self.mass == "multinomial" and n_classes <= CLOSED_FORM and not self.ordinal:
            known |= {"name": "multinomial", "quantile": float(chdtri(1, self.alpha / n_classes))}
        elif self.mass == "multinomial":
            known |= self.in_python(n_classes)
        return known

    @property
    def is_resolved(self) -> bool:
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
    pessimism : float in [0, 1], default=1.0
        The share of the largest entropy; the rest is the smallest entropy that the model allows, with all unseen rows
        in the largest class. So the whole range of entropies counts (Fink and Crossman, 2013).

    Examples
    --------
    >>> ImpreciseGain().impurity(np.array([[3.0, 2.0], [3.0, 0.0]])).round(3)
    array([1.   , 0.811])
    >>> ImpreciseGain(pessimism=0.5).impurity(np.array([[3.0, 0.0]])).round(3)  # between 0 and 0.811
    array([0.406])
    """

    name = "imprecise"
    compiled = True

    def __init__(self, caution: float = 1.0, pessimism: float = 1.0) -> None:
        self.caution = caution
        self.pessimism = pessimism

    def impurity(self, counts: Floats) -> Floats:
        """(N, K) -> (N,): entropy in bits, between the lower and the upper one."""
        rows = np.asarray(counts, dtype=np.float64)
        upper = entropy_of(shares_of(_levelled(rows, self.caution)))
        if self.pessimism == 1:
            return upper
        poured = rows.copy()
        poured[np.arange(len(rows)), rows.argmax(axis=1)] += self.caution
        return np.asarray(self.pessimism * upper + (1 - self.pessimism) * entropy_of(shares_of(poured)))

    def check(self) -> None:
        """Refuse parameters out of range."""
        check_caution(self.caution)
        if not (is_number(self.pessimism) and 0 <= self.pessimism <= 1):
            raise ValueError(f"pessimism must lie in [0, 1], got {self.pessimism!r}; 1 is the largest entropy")

    def in_core(self, n_classes: int) -> dict[str, Any]:
        """What the compiled core must know of it."""
        known = super().in_core(n_classes)
        if known["name"] == "python":  # a subclass with its own impurity
            return known
        return known | {"name": "imprecise", "caution": float(self.caution), "lam": float(self.pessimism)}


class GainRatio(ImpreciseGain):
    """C4.5's gain ratio: the gain of a split divided by its split information, the entropy of left and right.

    Each feature offers the split with its largest gain. Among those that gain at least the average of all that gain
    something, the one with the largest ratio is made (Quinlan, 1993). Splits are binary, as in all trees of hedgerow,
    and the number of thresholds is not charged. Impurities, importances and pruning are by entropy; a node is split
    only if there is a gain.

    Parameters
    ----------
    caution : float >= 0, default=0.0
        Above 0, gains are of largest entropies, as in `CredalC45`.
    pessimism : float in [0, 1], default=1.0
        As in `ImpreciseGain`.

    Examples
    --------
    >>> GainRatio().impurity(np.array([[2.0, 2.0], [3.0, 1.0]])).round(3)
    array([1.   , 0.811])
    """

    name = "gain_ratio"
    compiled = True
    by_ratio = True

    def __init__(self, caution: float = 0.0, pessimism: float = 1.0) -> None:
        super().__init__(caution, pessimism)


class CredalC45(GainRatio):
    """Credal-C4.5: the gain ratio of the largest entropies of the imprecise Dirichlet model (Mantas and Abellán, 2014).

    Parameters
    ----------
    caution : float >= 0, default=1.0
        How many unseen rows a node keeps in reserve.
    pessimism : float in [0, 1], default=1.0
        As in `ImpreciseGain`.

    Examples
    --------
    >>> CredalC45().impurity(np.array([[3.0, 0.0]])).round(3)
    array([0.811])
    """

    name = "credal_c45"
    compiled = True

    def __init__(self, caution: float = 1.0, pessimism: float = 1.0) -> None:
        super().__init__(caution, pessimism)


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
    "gain_ratio": GainRatio,
    "credal_c45": CredalC45,
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


def shares_of(counts: Floats) -> Floats:
    """(N, K) -> (N, K), rows that sum to one; empty rows stay zero."""
    amount = counts.sum(axis=1, keepdims=True)
    return np.asarray(counts / np.where(amount > 0, amount, 1))


def entropy_of(share: Floats) -> Floats:
    """(N, K) -> (N,): entropy in bits."""
    return np.asarray(-(share * np.log2(np.where(share > 0, share, 1))).sum(axis=1))


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))


def check_caution(caution: Any) -> None:
    """Refuse a caution out of range."""
    if not (is_number(caution) and caution >= 0):
        raise ValueError(f"caution must be a number >= 0, got {caution!r}; 0 trusts the counts fully")


def _levelled(counts: Floats, caution: float) -> Floats:
    """(N, K) -> (N, K): `caution` more rows, added to the smallest classes so that these become equal."""
    ascending = np.sort(counts, axis=1)
    n_level = np.arange(1, counts.shape[1] + 1)
    levels = (np.cumsum(ascending, axis=1) + caution) / n_level
    # a level is right if it is above exactly as many classes as share it
    reached = np.maximum((ascending < levels).sum(axis=1), 1)
    level = np.take_along_axis(levels, reached[:, None] - 1, axis=1)
    return np.asarray(np.maximum(counts, level))


def _miller(counts: Floats) -> Floats:
    """(N, K) -> (N,): entropy in bits with Miller's correction."""
    total, occurring = counts.sum(axis=1), (counts > 0).sum(axis=1)
    missed = np.maximum(occurring - 1, 0) / (2 * np.log(2) * np.where(total > 0, total, 1))
    return np.asarray(entropy_of(shares_of(counts)) + missed)


def _grassberger(counts: Floats) -> Floats:
    """(N, K) -> (N,): log n minus the mean of G(n_k), in bits; G(n) = psi(n) + (-1)^n (psi((n+1)/2) - psi(n/2)) / 2.

    Counts that are no whole numbers, as with weights, lie on the line between their neighbours.
    """
    total = counts.sum(axis=1)
    amount = np.where(total > 0, total, 1)
    nats = np.log(amount) - (counts * _series(counts)).sum(axis=1) / amount
    return np.where(total > 0, np.maximum(nats, 0.0) / np.log(2), 0.0)


def _series(counts: Floats) -> Floats:
    """Numbers of rows -> G(n); 0 for 0."""
    floor = np.floor(counts)
    below, above = (np.where(whole > 0, _series_of_whole(np.maximum(whole, 1)), 0.0) for whole in (floor, floor + 1))
    return np.asarray(below + (counts - floor) * (above - below))


def _series_of_whole(n: Floats) -> Floats:
    """Whole numbers >= 1 -> G(n)."""
    sign = np.where(n % 2 == 0, 0.5, -0.5)
    return np.asarray(psi(n) + sign * (psi((n + 1) / 2) - psi(n / 2)))


def _number(lam: float | str) -> float:
    """lam -> float; refused if it is still to be chosen."""
    if isinstance(lam, str):
        raise ValueError(f"lam must be a number here, got {lam!r}; `fit` chooses one")
    return float(lam)
