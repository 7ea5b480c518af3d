"""Split criteria: impurities of class counts, and one of the moments of continuous targets."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, psi
from sklearn.base import BaseEstimator, clone

from hedgerow.belief import discord, mass_from_counts, non_specificity, total_uncertainty_from_counts, upper_entropy
from hedgerow.util.runtime import computed

__all__ = [
    "CRITERIA",
    "BeliefGain",
    "BeliefVariance",
    "CredalC45",
    "Criterion",
    "Entropy",
    "GainRatio",
    "Gini",
    "ImpreciseGain",
    "NpiGain",
    "resolve_criterion",
]

#: Candidates of ``lam="auto"``. 0 is not among them, because the imprecise Dirichlet model then never splits.
LAMBDAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
#: Largest number of classes for which a multinomial mass needs no linear programme.
CLOSED_FORM = 3

Floats = NDArray[np.float64]
#: Description of a criterion for the compiled core.
CoreCriterion = dict[str, Any]


class Criterion(BaseEstimator):
    """Base class of split criteria. ``__init__`` only stores the parameters.

    To add a criterion, derive from this class and write `impurity`. A line in `CRITERIA` gives it a name, which model
    files need. The impurity must not depend on the order of the classes, unless `ordered` is True.

    Attributes
    ----------
    name : str
        Short name of the criterion, for `resolve_criterion`.
    compiled : bool
        Whether the core has a criterion of this name. Otherwise the core calls `impurity` for each new side of a split,
        which is slow, and splits only if there is a gain. A subclass does not inherit this attribute: it must set it
        again if it computes the same.
    in_sklearn : str or None
        Name of the same criterion in scikit-learn. A subclass does not inherit this attribute.
    counts_absent : bool
        Whether classes without rows change the impurity. If not, nodes of many classes take less time and memory. A
        subclass does not inherit this attribute.
    ordered : bool
        Whether the order of the classes matters.
    by_ratio : bool
        Whether features compete by gain divided by split information; only for criteria that are not compiled, and for
        "imprecise".
    split_caution : float
        Rows added to the side of larger impurity when the sides of a split are weighted; for the same criteria.
    of_numbers : bool
        Whether it is a criterion of continuous targets, for regressors.
    reads_masses : bool
        Whether the impurity of nodes with uncertain labels is that of the masses of their sets of classes
        (`impurity_of_sets`), and not of expected class shares.
    """

    name: ClassVar[str]
    compiled: ClassVar[bool] = False
    in_sklearn: ClassVar[str | None] = None
    counts_absent: ClassVar[bool] = True
    ordered: ClassVar[bool] = False
    by_ratio: ClassVar[bool] = False
    split_caution: ClassVar[float] = 0.0
    of_numbers: ClassVar[bool] = False
    reads_masses: ClassVar[bool] = False

    def __init_subclass__(cls, **options: object) -> None:
        """Reset attributes about the arithmetic unless the subclass sets them."""
        super().__init_subclass__(**options)
        cls.compiled = vars(cls).get("compiled", False)
        cls.in_sklearn = vars(cls).get("in_sklearn")
        cls.counts_absent = vars(cls).get("counts_absent", True)

    def impurity(self, counts: Floats) -> Floats:
        """Return the impurities (N,) of class counts (N, K) of nodes."""
        raise NotImplementedError(f"{type(self).__name__} must define impurity. See hedgerow.criteria.Criterion.")

    def impurity_of_sets(self, amounts: Floats, sets: NDArray[np.bool_]) -> Floats:
        """Return the impurities (N,) of masses (N, F) of sets of classes (F, K), for criteria that read masses."""
        raise NotImplementedError(f"{type(self).__name__} must define impurity_of_sets if it reads masses.")

    def in_core_of_sets(self, sets: NDArray[np.bool_]) -> CoreCriterion:
        """Return the description for the core of a criterion that reads masses of sets of classes (F, K)."""
        known = self.in_core(sets.shape[1]) | {"name": "sets", "ordered": True}
        return known | {"sets": np.ascontiguousarray(sets, dtype=np.uint8).ravel()}

    def check(self) -> None:
        """Raise if a parameter is out of range."""

    def in_core(self, n_classes: int) -> CoreCriterion:
        """Return the description of the criterion for the compiled core."""
        known = {"name": self.name, "lam": 1.0, "caution": 0.0, "quantile": 0.0, "uncertainty": None}
        known |= {"ordered": bool(self.ordered), "by_ratio": bool(self.by_ratio)}
        known |= {"split_caution": float(self.split_caution)}
        return known if self.compiled else known | self.in_python(n_classes)

    def in_python(self, n_classes: int) -> CoreCriterion:
        """Return a description by which the core calls `impurity`."""

        def uncertainty(counts: list[float]) -> float:  # of the classes that occur, or of all if they are ordered
            padded = np.zeros((1, n_classes))
            padded[0, : len(counts)] = counts
            return float(self.impurity(padded)[0])

        return {"name": "python", "uncertainty": uncertainty}

    @property
    def is_resolved(self) -> bool:
        """True if every parameter is a number; else `fit` chooses a candidate."""
        return True

    def candidates(self) -> list[Criterion]:
        """Return resolved criteria, from the one that splits least to the most."""
        return [self]


class Gini(Criterion):
    """Gini impurity: the probability that two rows of a node differ in class.

    It is 1 - sum of squared shares.

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
        """Return the impurities (N,) of class counts (N, K)."""
        return np.asarray(1 - (shares_of(counts) ** 2).sum(axis=1))


class Entropy(Criterion):
    """Entropy of the class shares, in bits.

    Parameters
    ----------
    correction : {None, "miller", "grassberger"}, default=None
        Correction of the downward bias of few rows. "miller" adds (m - 1)/(2 n) nats, for m classes that occur in n
        rows (Miller 1955). "grassberger" replaces the logarithms of counts by a series with less bias (Grassberger
        2003). Both are computed in Python and therefore slow, and nodes are split only if the corrected entropy falls.

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

    @computed
    def compiled(self) -> bool:
        """True if the core has the criterion, which has no corrections."""
        return self.correction is None

    @computed
    def in_sklearn(self) -> str | None:
        """Name in scikit-learn, which has no corrections."""
        return "entropy" if self.correction is None else None

    def impurity(self, counts: Floats) -> Floats:
        """Return the impurities (N,) of class counts (N, K)."""
        if self.correction is None:
            return entropy_of(shares_of(counts))
        return _miller(counts) if self.correction == "miller" else _grassberger(counts)

    def check(self) -> None:
        """Raise if a parameter is out of range."""
        if self.correction not in (None, "miller", "grassberger"):
            raise ValueError(f"correction must be None, 'miller' or 'grassberger', got {self.correction!r}.")


class BeliefGain(Criterion):
    """Uncertainty U of the mass of a node's counts; nodes are split only if U falls.

    U = (1 - lam) non-specificity + lam discord (Sutton-Charani et al., 2012). Non-specificity is large if a node has
    little evidence, discord if its evidence is divided. Small nodes are unspecific, so trees stop growing without
    further limits; rows of one class always stay together. With uncertain labels and "idm", U is that of the extended
    imprecise Dirichlet model (Utkin, 2005), which keeps the masses of sets of classes.

    Parameters
    ----------
    lam : float in [0, 1] or "auto", default=0.5
        Share of discord. With 0 and "idm" no node is ever split; 1 with little caution is information gain. "auto"
        chooses one of 0.1, 0.2, ..., 1 by cross-validation within `fit` (``criterion_``).
    mass : {None, "idm", "multinomial"}, default=None
        Model of the mass: the imprecise Dirichlet model, or simultaneous confidence intervals (Denœux, 2006), which
        with more than three classes need linear programmes and make growing slow. None is "multinomial" if ``ordinal``
        is True, otherwise "idm".
    caution : float >= 0, default=1.0
        Only for "idm": pseudo-count *s* of the imprecise Dirichlet model.
    alpha : float in (0, 1), default=0.05
        Only for "multinomial": one minus the confidence level of the intervals.
    ordinal : bool, default=False
        Whether the classes are ordered, as in ``classes_``. Then the mass is multinomial, only intervals of classes
        have mass, and no linear programme is needed. It is computed in Python and therefore slow.
    size_cost : float >= 0, default=0.0
        Only for ``lam="auto"``: cost of a leaf, in rows. The chosen ``lam`` maximises the number of correctly
        classified held-out rows, minus this cost of the leaves of a tree.

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
        mass: str | None = None,
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

    @computed
    def ordered(self) -> bool:
        """True if the order of the classes matters."""
        return bool(self.ordinal)

    def impurity(self, counts: Floats) -> Floats:
        """Return U (N,) in bits of class counts (N, K)."""
        lam = _number(self.lam)
        if not self._is_multinomial:
            return np.asarray(total_uncertainty_from_counts(counts, lam, self.caution))
        mass = mass_from_counts(counts, model="multinomial", alpha=self.alpha, ordinal=self.ordinal)
        return np.asarray((1 - lam) * non_specificity(mass) + lam * discord(mass))

    @property
    def reads_masses(self) -> bool:  # type: ignore[override]
        """True if the mass is that of the imprecise Dirichlet model."""
        return self.compiled and not self._is_multinomial

    def impurity_of_sets(self, amounts: Floats, sets: NDArray[np.bool_]) -> Floats:
        """Return U (N,) in bits of masses (N, F), in rows, of sets of classes (F, K).

        Examples
        --------
        >>> sets = np.array([[True, False], [False, True], [True, True]])
        >>> BeliefGain(lam=0.5).impurity_of_sets(np.array([[2.0, 0.0, 2.0], [2.0, 0.0, 0.0]]), sets).round(3)
        array([0.403, 0.254])
        """
        lam, size, n_classes = _number(self.lam), sets.sum(axis=1), sets.shape[1]
        total = amounts.sum(axis=1) + self.caution
        pignistic = amounts / size @ sets + self.caution / n_classes
        unspecific = amounts @ np.log2(size) + self.caution * np.log2(n_classes)
        share = np.divide(pignistic @ sets.T, total[:, None], out=np.ones_like(amounts), where=amounts > 0)
        conflict = -(amounts * np.log2(np.minimum(share, 1.0))).sum(axis=1)
        weighed = (1 - lam) * unspecific + lam * conflict
        return np.asarray(np.divide(weighed, total, out=np.zeros_like(total), where=total > 0))

    def check(self) -> None:
        """Raise if a parameter is out of range."""
        _check_lam(self.lam)
        if self.mass not in (None, "idm", "multinomial"):
            raise ValueError(f"mass must be None, 'idm' or 'multinomial', got {self.mass!r}.")
        check_caution(self.caution)
        if not (is_number(self.alpha) and 0 < self.alpha < 1):
            raise ValueError(f"alpha must lie between 0 and 1, got {self.alpha!r}. 0.05 is usual.")
        if not isinstance(self.ordinal, bool | np.bool_):
            raise ValueError(f"ordinal must be True or False, got {self.ordinal!r}.")
        if self.ordinal and self.mass == "idm":
            raise ValueError(f"mass must be 'multinomial' or None if ordinal=True, got {self.mass!r}.")
        if not (is_number(self.size_cost) and self.size_cost >= 0):
            raise ValueError(f"size_cost must be a finite non-negative number, got {self.size_cost!r}.")

    def in_core(self, n_classes: int) -> CoreCriterion:
        """Return the description of the criterion for the compiled core."""
        known = super().in_core(n_classes) | {"lam": _number(self.lam), "caution": float(self.caution)}
        if self._is_multinomial and n_classes <= CLOSED_FORM and not self.ordinal:
            known |= {"name": "multinomial", "quantile": float(chdtri(1, self.alpha / n_classes))}
        elif self._is_multinomial:
            known |= self.in_python(n_classes)
        return known

    @property
    def _is_multinomial(self) -> bool:
        """True if the mass is from simultaneous confidence intervals."""
        return bool(self.ordinal) if self.mass is None else self.mass == "multinomial"

    @property
    def is_resolved(self) -> bool:
        """True if every parameter is a number."""
        return self.lam != "auto"

    def candidates(self) -> list[Criterion]:
        """Return one criterion for each share of discord."""
        return [clone(self).set_params(lam=lam) for lam in LAMBDAS]


class ImpreciseGain(Criterion):
    """Largest entropy that the imprecise Dirichlet model of a node allows.

    See Abellán and Moral (2003).

    Parameters
    ----------
    caution : float >= 0, default=1.0
        Pseudo-count *s* of the imprecise Dirichlet model, which goes to the smallest classes of a node.
    pessimism : float in [0, 1], default=1.0
        Share of the largest entropy; the rest is the smallest entropy that the model allows, with the pseudo-count in
        the largest class. Values between 0 and 1 count the whole range of entropies (Fink and Crossman, 2013).

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
        """Return entropies (N,) in bits, between the lower and the upper one."""
        rows = np.asarray(counts, dtype=np.float64)
        upper = entropy_of(shares_of(_levelled(rows, self.caution)))
        if self.pessimism == 1:
            return upper
        raised = rows.copy()
        raised[np.arange(len(rows)), rows.argmax(axis=1)] += self.caution
        return np.asarray(self.pessimism * upper + (1 - self.pessimism) * entropy_of(shares_of(raised)))

    def check(self) -> None:
        """Raise if a parameter is out of range."""
        check_caution(self.caution)
        if not (is_number(self.pessimism) and 0 <= self.pessimism <= 1):
            raise ValueError(f"pessimism must lie in [0, 1], got {self.pessimism!r}. 1 is the largest entropy.")

    def in_core(self, n_classes: int) -> CoreCriterion:
        """Return the description of the criterion for the compiled core."""
        known = super().in_core(n_classes)
        if known["name"] == "python":  # a subclass with its own impurity
            return known
        return known | {"name": "imprecise", "caution": float(self.caution), "lam": float(self.pessimism)}


class GainRatio(ImpreciseGain):
    """C4.5's gain ratio: the gain of a split divided by its split information.

    Split information is the entropy of left and right. Each feature offers the split with its largest gain. Among those
    that gain at least the average of all positive gains, the one with the largest ratio is made (Quinlan, 1993). Splits
    are binary, as in all trees of hedgerow, and the number of thresholds is not charged. Impurities, importances and
    pruning are by entropy; a node is split only if there is a gain.

    Parameters
    ----------
    caution : float >= 0, default=0.0
        Above 0, gains are of largest entropies, and sides weighted by frequency (Abellán and Moral 2003).
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
    """Credal-C4.5: the gain ratio of largest entropies (Mantas and Abellán 2014).

    Entropies are the largest that the imprecise Dirichlet model allows, of the classes and of the sides of a split: a
    side of n_i among n rows has the probability n_i/(n + s), and (n_i + s)/(n + s) if its entropy is larger than that
    of the other. ``GainRatio(caution=1.0)`` weights the sides by frequency instead. Impurities, importances and pruning
    are by frequency in both.

    Parameters
    ----------
    caution : float >= 0, default=1.0
        Pseudo-count *s* of both imprecise Dirichlet models.
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

    @computed
    def split_caution(self) -> float:
        """Rows added to the side of larger entropy."""
        return float(self.caution)


class NpiGain(Criterion):
    """Largest entropy of a node under approximate nonparametric predictive inference (A-NPI).

    The probability of a class of n_k rows lies between (n_k - 1)/n and (n_k + 1)/n. These intervals are the
    approximation of Abellán, Baker and Coolen (2011): the exact model of NPI allows fewer distributions within them.
    There is no parameter: the imprecision is one row, for any number of classes. It is computed in Python and therefore
    slow.

    Examples
    --------
    >>> NpiGain().impurity(np.array([[4.0, 0.0, 0.0], [2.0, 2.0, 0.0]])).round(4)
    array([1.0613, 1.5613])
    """

    name = "npi"

    def impurity(self, counts: Floats) -> Floats:
        """Return upper entropies (N,) in bits."""
        rows = np.asarray(counts, dtype=np.float64)
        total = rows.sum(axis=1, keepdims=True)
        amount = np.where(total > 0, total, 1.0)
        lower, upper = np.maximum(rows - 1, 0.0) / amount, np.minimum(rows + 1, amount) / amount
        return np.where(total[:, 0] > 0, upper_entropy(lower, upper), 0.0)


class BeliefVariance(Criterion):
    """Uncertainty U of the mass of a node's targets, for regressors; nodes are split only if U falls.

    Under the imprecise Dirichlet model, each of the n targets of a node has the mass 1 / (n + s), and the range [a, b]
    of all training targets has the mass s / (n + s). U = (1 - lam) imprecision + lam variance: imprecision is
    s / (n + s) (b - a)² / 4, the largest variance within the range times its mass, and variance is that of the
    pignistic distribution, in which s rows are uniform between a and b. It carries `BeliefGain`, U of class counts,
    over to continuous targets; this extension is hedgerow's, not that of a paper. Small nodes are imprecise, so trees
    stop growing without further limits. ``lam=1`` with little caution is the squared error of CART.

    Row weights are divided by their mean. Importances and pruning use U with the number of rows of a node.

    Parameters
    ----------
    lam : float in [0, 1] or "auto", default=0.5
        Share of the variance. With 0, no node is ever split. "auto" chooses one of 0.1, 0.2, ..., 1 by the squared
        error in cross-validation within `fit` (``criterion_``).
    caution : float >= 0, default=0.03
        Pseudo-count *s* of the imprecise Dirichlet model. The default was chosen on five tables; with 1, trees stop too
        early unless the noise is about as large as the range of the targets.
    low, high : float, default=None
        Ends a and b of the range of all possible targets. None means the smallest and the largest training target.

    Examples
    --------
    >>> moments = [[5, 4.0, 10.0]]  # number, mean and variance of the targets 1, 2, 3, 4 and 10
    >>> BeliefVariance(lam=0.5, caution=2.0, low=1, high=10).impurity(np.array(moments)).round(6)
    array([7.658163])
    """

    name = "belief"
    compiled = True
    of_numbers = True

    def __init__(
        self, lam: float | str = 0.5, caution: float = 0.03, low: float | None = None, high: float | None = None
    ) -> None:
        self.lam = lam
        self.caution = caution
        self.low = low
        self.high = high

    def impurity(self, counts: Floats) -> Floats:
        """Return U (N,) of the number, mean and variance of the targets of nodes, (N, 3)."""
        if self.low is None or self.high is None:
            raise ValueError(f"low and high must be numbers here, got {self.low!r} and {self.high!r}.")
        lam, rows = _number(self.lam), counts[:, 0]
        unknown = np.divide(self.caution, rows + self.caution, out=np.zeros(len(rows)), where=rows + self.caution > 0)
        width, away = self.high - self.low, counts[:, 1] - (self.low + self.high) / 2
        # variance within both parts of the mixture, and between their means
        variance = (1 - unknown) * counts[:, 2] + unknown * width**2 / 12 + unknown * (1 - unknown) * away**2
        return np.asarray((1 - lam) * unknown * width**2 / 4 + lam * variance)

    def check(self) -> None:
        """Raise if a parameter is out of range."""
        _check_lam(self.lam)
        check_caution(self.caution)
        for name, end in (("low", self.low), ("high", self.high)):
            if not (end is None or is_number(end)):
                raise ValueError(f"{name} must be a finite number or None, got {end!r}.")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low must be at most high, got {self.low!r} and {self.high!r}.")

    def over(self, low: float, high: float) -> BeliefVariance:
        """Return the criterion with the range of training targets where none was given.

        Raises
        ------
        ValueError
            If training targets lie outside the range that was given.
        """
        if (self.low is not None and self.low > low) or (self.high is not None and self.high < high):
            raise ValueError(
                f"low and high must enclose the targets, got {self.low!r} and {self.high!r} for targets from {low:g} to"
                f" {high:g}. None means their range."
            )
        ends = {"low": low if self.low is None else self.low, "high": high if self.high is None else self.high}
        return cast("BeliefVariance", clone(self).set_params(**ends))

    @property
    def is_resolved(self) -> bool:
        """True if ``lam`` is a number."""
        return self.lam != "auto"

    def candidates(self) -> list[Criterion]:
        """Return one criterion for each share of variance."""
        return [clone(self).set_params(lam=lam) for lam in LAMBDAS]


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


#: Names of criteria of continuous targets that are objects; the others are scikit-learn's words.
NUMBER_CRITERIA: dict[str, type[Criterion]] = {"belief": BeliefVariance}


def resolve_criterion(criterion: str | Criterion) -> Criterion:
    """Return the criterion of classes with this name, or a criterion after a check.

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
    if isinstance(criterion, Criterion) and not criterion.of_numbers:
        criterion.check()
        return criterion
    if isinstance(criterion, str) and criterion in CRITERIA:
        return CRITERIA[criterion]()
    raise ValueError(f"criterion must be a Criterion or one of {', '.join(CRITERIA)}, got {criterion!r}.")


def shares_of(counts: Floats) -> Floats:
    """Normalise rows (N, K); empty rows stay zero."""
    amount = counts.sum(axis=1, keepdims=True)
    return np.asarray(counts / np.where(amount > 0, amount, 1))


def entropy_of(share: Floats) -> Floats:
    """Return entropies (N,) in bits."""
    return np.asarray(-(share * np.log2(np.where(share > 0, share, 1))).sum(axis=1))


def is_number(value: object) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))


def check_caution(caution: Any) -> None:
    """Raise if caution is out of range."""
    if not (is_number(caution) and caution >= 0):
        raise ValueError(f"caution must be a finite non-negative number, got {caution!r}. 0 collapses the intervals.")


def _levelled(counts: Floats, caution: float) -> Floats:
    """Add `caution` rows to the smallest classes, which become equal."""
    ascending = np.sort(counts, axis=1)
    n_level = np.arange(1, counts.shape[1] + 1)
    levels = (np.cumsum(ascending, axis=1) + caution) / n_level
    # a level is right if exactly as many classes lie below it as share it
    reached = np.maximum((ascending < levels).sum(axis=1), 1)
    level = np.take_along_axis(levels, reached[:, None] - 1, axis=1)
    return np.asarray(np.maximum(counts, level))


def _miller(counts: Floats) -> Floats:
    """Return entropies (N,) in bits with Miller's correction."""
    total, occurring = counts.sum(axis=1), (counts > 0).sum(axis=1)
    missed = np.maximum(occurring - 1, 0) / (2 * np.log(2) * np.where(total > 0, total, 1))
    return np.asarray(entropy_of(shares_of(counts)) + missed)


def _grassberger(counts: Floats) -> Floats:
    """Return log n minus the mean of G(n_k), in bits.

    G(n) = psi(n) + (-1)^n (psi((n+1)/2) - psi(n/2)) / 2; weighted counts between integers are interpolated linearly.
    """
    total = counts.sum(axis=1)
    amount = np.where(total > 0, total, 1)
    nats = np.log(amount) - (counts * _series(counts)).sum(axis=1) / amount
    return np.where(total > 0, np.maximum(nats, 0.0) / np.log(2), 0.0)


def _series(counts: Floats) -> Floats:
    """Return G(n) of counts; 0 for 0."""
    floor = np.floor(counts)
    below, above = (np.where(whole > 0, _series_of_whole(np.maximum(whole, 1)), 0.0) for whole in (floor, floor + 1))
    return np.asarray(below + (counts - floor) * (above - below))


def _series_of_whole(n: Floats) -> Floats:
    """Return G(n) of integers >= 1."""
    sign = np.where(n % 2 == 0, 0.5, -0.5)
    return np.asarray(psi(n) + sign * (psi((n + 1) / 2) - psi(n / 2)))


def _check_lam(lam: Any) -> None:
    """Raise if lam is neither a share nor "auto"."""
    if lam != "auto" and not (is_number(lam) and 0 <= float(lam) <= 1):
        raise ValueError(f"lam must lie in [0, 1] or be 'auto', got {lam!r}.")


def _number(lam: float | str) -> float:
    """Return lam as a float; raise if it is still to be chosen."""
    if isinstance(lam, str):
        raise ValueError(f"lam must be a number here, got {lam!r}. `fit` chooses one.")
    return float(lam)
