"""Imprecise criteria: class counts of a node -> entropies that its imprecise model allows, and gain ratios of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.belief import upper_entropy
from hedgerow.target.criterion import Criterion, Floats, check_caution, entropy_of, is_number, shares_of


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


def _levelled(counts: Floats, caution: float) -> Floats:
    """(N, K) -> (N, K): `caution` more rows, added to the smallest classes so that these become equal."""
    ascending = np.sort(counts, axis=1)
    n_level = np.arange(1, counts.shape[1] + 1)
    levels = (np.cumsum(ascending, axis=1) + caution) / n_level
    # a level is right if it is above exactly as many classes as share it
    reached = np.maximum((ascending < levels).sum(axis=1), 1)
    level = np.take_along_axis(levels, reached[:, None] - 1, axis=1)
    return np.asarray(np.maximum(counts, level))
