"""Rules that choose the best set of classes from averages."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from hedgerow.belief.opinion import Opinion
from hedgerow.rules.base import Floats, Setting
from hedgerow.rules.mean import Average
from hedgerow.rules.registry import register
from hedgerow.rules.utility import Utility, best_prefix, first_of, utility_of_size


@register(lambda: CdmAve(utility="u80"), lambda: CdmAve(utility="f1"))
class CdmAve(Average):
    """CDM-Ave: the set A of largest g(|A|) Bel(A).

    Bel(A) is the sum of averaged lower probabilities, or 1 if A contains all classes.

    Parameters
    ----------
    utility : {"u65", "u80", "f1"} or callable, default "u65"
        Utility g of a correct set of a given size; a callable takes one size.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[5, 4, 0]], [[9, 0, 0]]], CdmAve()).chosen
    array([[ True,  True, False],
           [ True, False, False]])
    """

    name: ClassVar[str] = "cdm_ave"
    chooses = True

    def __init__(self, utility: Utility = "u65") -> None:
        self.utility = utility

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion with the best set chosen."""
        opinion = super().finish(state, setting)
        worth = utility_of_size(self.utility, setting.n_classes)
        return replace(opinion, chosen=best_prefix(opinion.lower, worth, 1.0))


@register(lambda: Ndc(utility="f1"))
class Ndc(CdmAve):
    """NDC: the set A of largest g(|A|) P(A), with averaged probabilities.

    Parameters
    ----------
    utility : {"u65", "u80", "f1"} or callable, default "u65"
        As in `CdmAve`.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[5, 4, 0]], [[9, 0, 0]]], Ndc()).chosen
    array([[ True,  True, False],
           [ True, False, False]])
    """

    name: ClassVar[str] = "ndc"

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion with the best set chosen."""
        opinion = Average.finish(self, state, setting)
        worth = utility_of_size(self.utility, setting.n_classes)
        return replace(opinion, chosen=best_prefix(opinion.probability, worth, 1.0))


@register(lambda: Cr(epsilon=0.2))
class Cr(Average):
    """CR: the smallest set of top classes with probability at least 1 - epsilon.

    Without any evidence, all classes are chosen.

    Parameters
    ----------
    epsilon : float in [0, 1), default 0.05
        Probability that may be excluded.

    Examples
    --------
    >>> from hedgerow import combine
    >>> combine([[[90, 8, 2]]], Cr(epsilon=0.05)).chosen
    array([[ True,  True, False]])
    """

    name: ClassVar[str] = "cr"
    chooses = True

    def __init__(self, epsilon: float = 0.05) -> None:
        self.epsilon = epsilon

    def finish(self, state: Floats, setting: Setting) -> Opinion:
        """Return the opinion with the smallest sufficient set chosen."""
        if not 0 <= self.epsilon < 1:
            raise ValueError(f"epsilon must lie in [0, 1), got {self.epsilon!r}. 0.05 keeps 95% of the probability.")
        opinion = super().finish(state, setting)
        order = np.argsort(-opinion.probability, axis=1, kind="stable")
        total = np.cumsum(np.take_along_axis(opinion.probability, order, axis=1), axis=1)
        last = np.argmax(total >= 1.0 - self.epsilon - 1e-12, axis=1)
        unknown = opinion.vacuity[:, None] == 1.0  # a uniform distribution does not order the classes
        return replace(opinion, chosen=first_of(order, last) | unknown)
