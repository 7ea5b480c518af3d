"""Selective classification with risk control."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr

from hedgerow.decisions.base import (
    Bools,
    Checked,
    Decision,
    Floats,
    OpinionLike,
    check_share,
    columns_of_rows,
    ordering_scores,
    probability_and_log_odds,
)
from hedgerow.util.runtime import cluster_numbers, one_of_each

#: Number of nested calibration subsets tested, most confident rows first.
LEVELS = 50
#: The first subset is large enough to forgive this many errors. With fewer, chance ends the sequence too often: on 22
#: tables and 300 to 2,000 calibration rows, Risk(0.05) then decides 1 to 3 points fewer of the rows.
FORGIVEN = 2
#: Where testing starts (share of the calibration rows), and the share of the significance level spent there. With one
#: start, a few confident errors end the sequence: on 4,699 patients (Framingham), Risk(0.05) then decides 23% of the
#: rows with a standard deviation of 27 points over seeds, and with five starts 53% with 2 points.
STARTS = {0.0: 0.5, 0.1: 0.125, 0.25: 0.125, 0.5: 0.125, 0.75: 0.125}


class Risk(Decision):
    """Abstain unless errors are rare enough: one class for confident rows, else all.

    A row is decided if its largest probability is above a threshold. `calibrate` finds the threshold on n rows that
    were not used for fitting. It tests nested subsets of them, most confident rows first. Of k rows, w have another
    class than the most probable one. If the error rate were above ``error``, the probability of this few errors would
    be at most P(Binomial(k, error) <= w). If that is at most the significance level of the subset, the test succeeds,
    and its level passes on to the next subset. Five subsets have a level of their own, half of ``1 - confidence`` for
    the first one, so a few confident errors do not end the search (fallback procedure, "learn then test"). The
    threshold is that of the last subset that succeeds. If no test succeeds, no threshold has the guarantee: then the
    decision abstains on all rows, and a warning is issued.

    **Guarantee.** Suppose the calibration rows and new rows are drawn independently and in the same way, and
    probabilities do not tie. Then with probability ``confidence`` over calibrations, at most a share ``error`` of the
    rows decided later is decided wrongly, for any n and any model. With out-of-bag evidence it is approximate: a
    training row is evaluated by about a third of the trees that evaluate a new row. It holds for all decided rows
    together, not for each class or group.

    **Grouped rows.** After a fit with ``groups`` (such as the visits of a patient), only groups are independent. Then
    one row of each group is drawn at random, and the threshold is found on these rows alone. If groups are drawn
    independently and in the same way, the guarantee holds for one row, drawn at random, of each *new* group. The number
    of groups counts: 0.05 and 0.95 take at least 59.

    Parameters
    ----------
    error : float in (0, 1)
        Largest share of wrong decisions.
    confidence : float in (0, 1)
        Share of calibrations in which the guarantee must hold.

    Attributes
    ----------
    threshold_ : float
        Rows are decided if their largest probability is above it (its logarithm, if the calibration had log-odds);
        infinite if no threshold has the guarantee.
    share_ : float
        Share of decided calibration rows.
    n_rows_ : int
        Number of calibration rows; with grouped rows, number of groups.

    References
    ----------
    A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei: Learn then test: calibrating predictive algorithms to
    achieve risk control. Annals of Applied Statistics 19 (2025). B. Wiens: A fixed sequence Bonferroni procedure for
    testing multiple endpoints. Pharmaceutical Statistics 2 (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> sure = np.linspace(0.5, 1, 400)
    >>> probability = np.column_stack([sure, 1 - sure])
    >>> y = np.where((sure < 0.75) & (np.arange(400) % 4 == 0), 1, 0)
    >>> decision = Risk(error=0.05, confidence=0.95).calibrate(probability, y)
    >>> round(decision.threshold_, 3), round(decision.share_, 2)
    (0.729, 0.54)
    >>> new = SimpleNamespace(lower=[[0, 0]] * 2, upper=[[1, 1]] * 2, probability=[[0.9, 0.1], [0.4, 0.6]])
    >>> decision.choose(new).tolist()
    [[True, False], [True, True]]
    """

    needs_calibration = True
    learned_fields: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"threshold_": float, "share_": float, "n_rows_": int, "_by_log_odds": bool}
    )

    def __init__(self, error: float = 0.05, confidence: float = 0.95) -> None:
        self.error = error
        self.confidence = confidence

    def calibrate(
        self,
        opinion: OpinionLike | ArrayLike,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Risk:
        """Learn the threshold from rows with known classes.

        Parameters
        ----------
        opinion : opinion or array-like (n, K)
            Opinion about rows that were not used for fitting (out-of-bag or held-out rows), or their probabilities.
        y : array-like (n,)
            Classes of these rows.
        classes : array-like (K,) or None
            Class of each column. None means the sorted distinct labels of ``y``.
        clusters : array-like (n,) or None
            Labels of groups of dependent rows (``groups`` of ``fit``): the guarantee is then for rows of new groups.
            None means that rows are independent.

        Returns
        -------
        Risk
            The decision itself. Calibrate a ``clone`` to keep the object unchanged.
        """
        for name, share in (("error", self.error), ("confidence", self.confidence)):
            check_share(name, share, "Try Risk(0.05, 0.95).")
        probability, log_odds = probability_and_log_odds(opinion)
        columns, _ = columns_of_rows(y, probability, classes)
        self._by_log_odds = log_odds is not None
        confidence = self._confidence(probability, log_odds)
        wrong = probability.argmax(axis=1) != columns
        together = cluster_numbers(clusters, len(columns))
        if together is not None:
            drawn = one_of_each(together)
            confidence, wrong = confidence[drawn], wrong[drawn]
        self.threshold_ = lowest_threshold(confidence, wrong, self.error, self.confidence)
        self.n_rows_ = len(confidence)
        self.share_ = float((confidence > self.threshold_).sum() / max(1, self.n_rows_))
        self._warn_if_nothing_is_decided("rows" if together is None else "groups of rows")
        return self

    def pick(self, opinion: Checked) -> Bools:
        """Return prediction sets, bool (n, K), of one class or all classes."""
        self.check_ready()
        probability = opinion.probability
        undecided = self._confidence(probability, opinion.log_odds) <= self.threshold_
        chosen: Bools = np.arange(probability.shape[1]) == np.argmax(probability, axis=1)[:, None]
        return chosen | undecided[:, None]

    def _confidence(self, probability: Floats, log_odds: Floats | None) -> Floats:
        """Return the largest probability (n,), or the largest log-odds."""
        largest: Floats = ordering_scores(probability, log_odds, self._by_log_odds).max(axis=1)
        return largest

    def _warn_if_nothing_is_decided(self, units: str) -> None:
        """Warn if no threshold has the guarantee."""
        if self.threshold_ < math.inf:
            return
        needed = decisions_needed(self.error, self.confidence)
        if self.n_rows_ < needed:
            reason = f"it takes at least {needed} {units}, got {self.n_rows_}"
        else:
            reason = "too many confident predictions are wrong"
        warnings.warn(
            f"No threshold limits wrong decisions to {self.error:g} with confidence {self.confidence:g}: "
            f"{reason}. All rows are undecided. Allow more errors, or calibrate on more {units}.",
            UserWarning,
            stacklevel=3,
        )


def decisions_needed(error: float, confidence: float, n_wrong: int = 0) -> int:
    """Return the fewest decisions that show an error rate with confidence.

    `n_wrong` of them may be wrong.

    Examples
    --------
    >>> decisions_needed(0.05, 0.95), decisions_needed(0.01, 0.95), decisions_needed(0.05, 0.95, n_wrong=2)
    (59, 299, 124)
    """
    too_few, enough = n_wrong, n_wrong + 1
    while bdtr(n_wrong, enough, error) > 1 - confidence:
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if bdtr(n_wrong, middle, error) > 1 - confidence:
            too_few = middle
        else:
            enough = middle
    return enough


def lowest_threshold(scores: Floats, wrong: NDArray[np.bool_], error: float, confidence: float) -> float:
    """Return the lowest threshold of the scores (n,) with the guarantee, or infinity."""
    return min(thresholds_with_guarantee(scores, wrong, error, confidence), default=math.inf)


def thresholds_with_guarantee(scores: Floats, wrong: NDArray[np.bool_], error: float, confidence: float) -> list[float]:
    """Return the thresholds of the scores (n,) that have the guarantee together, in descending order.

    Rows above the threshold are decided. If k rows lie above the next one, this next one is the threshold of k: given
    its score, the k rows are drawn independently from all rows above it, so their errors are binomial.
    """
    errors = np.concatenate([[0], np.cumsum(wrong[np.argsort(-scores, kind="stable")])])

    def is_shown(above: int, level: float) -> bool:
        return bool(bdtr(int(errors[above]), above, error) <= level)

    return thresholds_shown(scores, is_shown, error, confidence)


def thresholds_shown(
    scores: Floats, is_shown: Callable[[int, float], bool], error: float, confidence: float
) -> list[float]:
    """Return the thresholds for which a test of the highest scores succeeds, in descending order.

    `is_shown` tests a number of rows at a significance level. A test that succeeds passes its level on to the next one.
    A failed test loses it, and only the next start has a level again. So the levels at which thresholds with a larger
    error are first tested sum to at most ``1 - confidence``.
    """
    falling = -np.sort(-scores, kind="stable")
    found, level = [], 0.0
    needed = decisions_needed(error, confidence)
    sizes = _subset_sizes(len(scores), error, confidence)
    for k, own in zip(sizes, _own_levels(sizes, len(scores)), strict=True):
        level += own
        threshold = float(falling[k]) if k < len(scores) else -math.inf
        above = int(np.searchsorted(-falling, -threshold, side="left"))  # fewer than k if rows tie
        if above < needed:
            continue
        if is_shown(above, level * (1 - confidence)):
            found.append(threshold)
        else:
            level = 0.0
    return found


def _subset_sizes(n_rows: int, error: float, confidence: float) -> NDArray[np.int64]:
    """Return the sizes of the nested subsets, in ascending order."""
    first = min(n_rows, decisions_needed(error, 1 - STARTS[0.0] * (1 - confidence), FORGIVEN))
    sizes = np.ceil(np.arange(1, LEVELS + 1) * n_rows / LEVELS).astype(np.int64)
    return np.unique(np.maximum(sizes, first))


def _own_levels(sizes: NDArray[np.int64], n_rows: int) -> Floats:
    """Return the share of the significance level that starts at each subset; the shares sum to one."""
    levels = np.zeros(len(sizes))
    for start, share in STARTS.items():
        levels[np.searchsorted(sizes, start * n_rows)] += share
    return levels
