"""Screening for one class with limits on the errors of each kind."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    groups_of_rows,
    ordering_scores,
    probability_and_log_odds,
)
from hedgerow.decisions.risk import decisions_needed, thresholds_with_guarantee
from hedgerow.util.runtime import cluster_numbers, one_of_each

#: Limits on errors among rows without the class, and among rows with it.
LIMITS = ("sensitivity", "npv", "specificity", "ppv")


class Screening(Decision):
    """Rule one class out or in where errors of each kind are rare enough, else abstain.

    A row is decided as negative, without the class ``positive``, if the probability of this class is below a low
    threshold, and as positive if it is above a high one. `calibrate` finds both on n rows that were not used for
    fitting. ``sensitivity`` and ``npv`` (negative predictive value) limit the low threshold; ``specificity`` and
    ``ppv`` (positive predictive value) limit the high one. A side without a limit decides nothing: with ``specificity``
    and ``ppv`` None, rows are ruled out or undecided.

    The sensitivity falls as the low threshold rises. So the threshold is an order statistic: of n positive rows, k lie
    below the (k + 1)-th smallest probability, and the largest k is used for which P(Binomial(n, 1 - sensitivity) <= k)
    is at most the significance level. The specificity is treated alike. Predictive values need not fall, so they are
    tested as `Risk` tests errors. Of the pairs of thresholds with the guarantee, the one that leaves the fewest
    calibration rows undecided is used.

    **Guarantee.** Suppose the calibration rows and new rows are drawn independently and in the same way, and
    probabilities do not tie. Then with probability ``confidence`` over calibrations, all limits that are set hold
    together (each is tested at its part of ``1 - confidence``, a Bonferroni correction): at least a share
    ``sensitivity`` of positive rows is not ruled out, at least a share ``npv`` of the rows ruled out is negative, at
    least a share ``specificity`` of negative rows is not ruled in, and at least a share ``ppv`` of the rows ruled in is
    positive. With ``groups`` this holds for each group by itself. With out-of-bag evidence it is approximate, as for
    `Risk`, and so is it for groups of dependent rows (``groups`` of ``fit``), of which one row each is drawn.

    Parameters
    ----------
    sensitivity : float in (0, 1) or None
        Least share of positive rows that are not ruled out: with 0.98, at most 2% of the diseased are called healthy.
    specificity : float in (0, 1) or None
        Least share of negative rows that are not ruled in.
    npv : float in (0, 1) or None
        Least share of negative rows among those ruled out.
    ppv : float in (0, 1) or None
        Least share of positive rows among those ruled in.
    positive : label or None
        The class to detect. None means the last class.
    confidence : float in (0, 1)
        Share of calibrations in which the guarantee must hold.
    groups : str, int or None
        Name or number of a column, such as a hospital, within whose values the guarantee holds as well, as for
        `Coverage`. A group without enough calibration rows is undecided, and a warning lists it.

    Attributes
    ----------
    low_, high_ : float array (K,)
        Rows are ruled out below the entry of ``positive`` in ``low_`` and ruled in above that in ``high_``; thresholds
        of the other classes are infinite. They are logarithms if the calibration had log-odds.
    share_ : float
        Share of decided calibration rows.
    n_rows_ : int
        Number of calibration rows; with grouped rows, number of groups.
    groups_ : list of G str
        Groups of the calibration rows, with ``groups``; "" are missing values.
    group_low_, group_high_ : float array (G, K)
        Thresholds of each group.

    References
    ----------
    A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei: Learn then test: calibrating predictive algorithms to
    achieve risk control. Annals of Applied Statistics 19 (2025).

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> ill = np.arange(1000) / 1000
    >>> y = np.where(np.arange(1000) % 97 == 0, 1 - (ill > 0.5), ill > 0.5).astype(int)
    >>> decision = Screening(sensitivity=0.95, ppv=0.9).calibrate(np.column_stack([1 - ill, ill]), y)
    >>> decision.low_.round(2).tolist(), decision.high_.round(2).tolist()
    ([-inf, 0.5], [inf, 0.5])
    >>> new = SimpleNamespace(lower=[[0, 0]] * 2, upper=[[1, 1]] * 2, probability=[[0.9, 0.1], [0.2, 0.8]])
    >>> decision.choose(new).tolist()
    [[True, False], [False, True]]
    """

    needs_calibration = True

    def __init__(
        self,
        sensitivity: float | None = 0.95,
        specificity: float | None = 0.95,
        *,
        npv: float | None = None,
        ppv: float | None = None,
        positive: Any = None,
        confidence: float = 0.95,
        groups: str | int | None = None,
    ) -> None:
        self.sensitivity = sensitivity
        self.specificity = specificity
        self.npv = npv
        self.ppv = ppv
        self.positive = positive
        self.confidence = confidence
        self.groups = groups

    def calibrate(
        self,
        opinion: OpinionLike | ArrayLike,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Screening:
        """Learn the thresholds from rows with known classes.

        Parameters
        ----------
        opinion : opinion or array-like (n, K)
            Opinion about rows that were not used for fitting (out-of-bag or held-out rows), or their probabilities.
            With ``groups`` it must be an opinion of a forest with this decision, or have ``groups``, (n,).
        y : array-like (n,)
            Classes of these rows.
        classes : array-like (K,) or None
            Class of each column. None means the sorted distinct labels of ``y``.
        clusters : array-like (n,) or None
            Labels of groups of dependent rows (``groups`` of ``fit``): the guarantee is then for rows of new groups.
            None means that rows are independent.

        Returns
        -------
        Screening
            The decision itself. Calibrate a ``clone`` to keep the object unchanged.
        """
        self._check_limits()
        probability, log_odds = probability_and_log_odds(opinion)
        columns, order = columns_of_rows(y, probability, classes)
        column = self._column_of_positive(order)
        groups = None if self.groups is None else groups_of_rows(self, opinion, len(columns))
        self._by_log_odds = log_odds is not None
        rows = _Rows(ordering_scores(probability, log_odds, self._by_log_odds)[:, column], columns == column)
        together = cluster_numbers(clusters, len(columns))
        if together is not None:
            drawn = one_of_each(together)
            rows, groups = rows.take(drawn), None if groups is None else groups[drawn]
        self.low_, self.high_ = self._thresholds_of(rows, column, len(order))
        self.n_rows_ = len(rows.score)
        if groups is not None:
            self._calibrate_groups(rows, groups, column, len(order))
        self.share_ = self._share_decided(rows, groups, column)
        self._warn_if_a_side_is_undecided(rows, str(order[column]), "rows" if together is None else "groups of rows")
        return self

    def pick(self, opinion: Checked) -> Bools:
        """Return prediction sets, bool (n, K): without the class, of the class alone, or of all classes."""
        self.check_ready()
        probability = opinion.probability
        if probability.shape[1] != len(self.low_):
            raise ValueError(
                f"opinion must have the {len(self.low_)} classes of the calibration, got {probability.shape[1]}."
                " Calibrate again."
            )
        scores = ordering_scores(probability, opinion.log_odds, self._by_log_odds)
        low, high = self._thresholds(opinion)
        ruled_in: Bools = scores > high
        kept: Bools = scores >= low
        return np.where(ruled_in.any(axis=1, keepdims=True), ruled_in, kept)

    @property
    def learned_fields(self) -> Mapping[str, Any]:  # type: ignore[override]
        """Attributes that `calibrate` sets, and their types in a model file."""
        each = {"low_": np.float64, "high_": np.float64, "share_": float, "n_rows_": int, "_by_log_odds": bool}
        of_groups = {"groups_": [str], "group_low_": [np.float64], "group_high_": [np.float64]}
        return each if self.groups is None else each | of_groups

    @property
    def is_ready(self) -> bool:
        """True if thresholds have been learned, also those of groups."""
        return super().is_ready and (self.groups is None or "groups_" in vars(self))

    @property
    def onnx(self) -> bool:
        """False with groups."""
        return super().onnx and self.groups is None

    def _check_limits(self) -> None:
        """Raise unless some limits are set, and all are shares."""
        if all(limit is None for limit in self._limits.values()):
            raise ValueError("Screening must have at least one of sensitivity, npv, specificity and ppv, got None.")
        for name, limit in self._limits.items():
            if limit is not None:
                check_share(name, limit, "Try 0.95, or None for no limit.")
        check_share("confidence", self.confidence, "Try 0.95.")

    def _column_of_positive(self, classes: NDArray[Any]) -> int:
        """Return the column of the class to detect."""
        known = classes.tolist()
        if self.positive is None:
            return len(known) - 1
        if self.positive not in known:
            raise ValueError(f"positive must be one of the classes {known[:10]}, got {self.positive!r}.")
        column: int = known.index(self.positive)
        return column

    def _thresholds_of(self, rows: _Rows, column: int, n_classes: int) -> tuple[Floats, Floats]:
        """Return low and high thresholds, (K,) each, of which those of other classes are infinite."""
        lows = _possible_lows(rows, self.sensitivity, self.npv, self._level)
        highs = -_possible_lows(rows.mirrored(), self.specificity, self.ppv, self._level)[::-1]
        low, high = np.full(n_classes, -np.inf), np.full(n_classes, np.inf)
        low[column], high[column] = _best_pair(rows, lows if n_classes > 1 else lows[:1], highs)
        return low, high

    def _calibrate_groups(self, rows: _Rows, groups: NDArray[np.str_], column: int, n_classes: int) -> None:
        """Learn the thresholds of each group from its rows alone."""
        names, of_row = np.unique(groups, return_inverse=True)
        inside = [np.flatnonzero(of_row == group) for group in range(len(names))]
        found = [self._thresholds_of(rows.take(members), column, n_classes) for members in inside]
        self.groups_ = names.tolist()
        self.group_low_ = np.array([low for low, _ in found]).reshape(-1, n_classes)
        self.group_high_ = np.array([high for _, high in found]).reshape(-1, n_classes)
        undecided = np.isinf(self.group_low_[:, column]) & np.isinf(self.group_high_[:, column])
        if undecided.any():
            few = ", ".join(
                f"{len(members)} in {name!r}"
                for name, members, open_ in zip(self.groups_, inside, undecided, strict=True)
                if open_
            )
            warnings.warn(
                f"No threshold keeps the limits of {self!r} in some groups ({few} rows). They are undecided. Join small"
                " groups, or calibrate on more rows.",
                UserWarning,
                stacklevel=3,
            )

    def _thresholds(self, opinion: Checked) -> tuple[Floats, Floats]:
        """Return low and high thresholds, (K,) each, or (n, K) with groups; unknown groups are undecided."""
        if self.groups is None:
            return self.low_, self.high_
        n_rows, n_classes = opinion.probability.shape
        low = dict(zip(self.groups_, self.group_low_, strict=True))
        high = dict(zip(self.groups_, self.group_high_, strict=True))
        names, of_row = np.unique(groups_of_rows(self, opinion, n_rows), return_inverse=True)
        undecided = np.full(n_classes, np.inf)
        lows = np.array([low.get(name, -undecided) for name in names.tolist()]).reshape(-1, n_classes)
        highs = np.array([high.get(name, undecided) for name in names.tolist()]).reshape(-1, n_classes)
        return lows[of_row], highs[of_row]

    def _share_decided(self, rows: _Rows, groups: NDArray[np.str_] | None, column: int) -> float:
        """Return the share of decided calibration rows."""
        low, high = self.low_[column], self.high_[column]
        if groups is not None:
            of_row = np.searchsorted(self.groups_, groups)
            low, high = self.group_low_[of_row, column], self.group_high_[of_row, column]
        return float(((rows.score < low) | (rows.score > high)).sum() / max(1, len(rows.score)))

    def _warn_if_a_side_is_undecided(self, rows: _Rows, label: str, units: str) -> None:
        """Warn if a limit leaves no threshold: nothing can be ruled out, or nothing ruled in."""
        n_positive, level = int(rows.positive.sum()), 1 - self._level
        sides = {
            "out": (self.low_, {"sensitivity": n_positive, "npv": len(rows.score)}),
            "in": (self.high_, {"specificity": len(rows.score) - n_positive, "ppv": len(rows.score)}),
        }
        for side, (threshold, found) in sides.items():
            limits = {name: self._limits[name] for name in found if self._limits[name] is not None}
            if not limits or np.isfinite(threshold).any():
                continue
            few = [
                f"{name}={limit:g} takes at least {decisions_needed(1 - limit, level)} {units}"
                f" {'' if name in ('npv', 'ppv') else 'of the class ' if side == 'out' else 'of other classes '}"
                f"(got {found[name]})"
                for name, limit in limits.items()
                if limit is not None and found[name] < decisions_needed(1 - limit, level)
            ]
            reason = ", ".join(few) or "too many confident predictions are wrong"
            warnings.warn(
                f"No threshold rules {label!r} {side} with confidence {self.confidence:g}: {reason}. Relax the limit,"
                f" or calibrate on more {units}.",
                UserWarning,
                stacklevel=3,
            )

    @property
    def _level(self) -> float:
        """Significance level of each limit."""
        return (1 - self.confidence) / sum(limit is not None for limit in self._limits.values())

    @property
    def _limits(self) -> dict[str, float | None]:
        """Limits by name."""
        return {name: self.get_params()[name] for name in LIMITS}


@dataclass(frozen=True)
class _Rows:
    """Calibration rows: scores of the class to detect, (n,), and whether they have it, (n,)."""

    score: Floats
    positive: NDArray[np.bool_]

    def take(self, rows: NDArray[np.integer[Any]]) -> _Rows:
        """Return some rows."""
        return _Rows(self.score[rows], self.positive[rows])

    def mirrored(self) -> _Rows:
        """Return the rows with all other classes as the class to detect."""
        return _Rows(-self.score, ~self.positive)


def _possible_lows(rows: _Rows, sensitivity: float | None, npv: float | None, level: float) -> Floats:
    """Return the low thresholds with the guarantee, in ascending order; the first is -inf."""
    if sensitivity is None and npv is None:
        return np.array([-np.inf])
    most = math.inf if sensitivity is None else _largest_cut(rows.score[rows.positive], 1 - sensitivity, level)
    if npv is None:
        return np.unique([-math.inf, *rows.score[rows.score < most], most])
    # The least probable rows come first, as the most confident ones do for `Risk`.
    tested = thresholds_with_guarantee(-rows.score, rows.positive, 1 - npv, 1 - level)
    return np.unique([-math.inf, *(-threshold for threshold in tested if -threshold <= most)])


def _largest_cut(scores: Floats, share: float, level: float) -> float:
    """Return the largest score below which at most a `share` of all scores lies, at a significance level, or -inf."""
    n_scores = len(scores)
    below = int(np.searchsorted(bdtr(np.arange(n_scores), n_scores, share), level, side="right"))
    return float(np.sort(scores)[below - 1]) if below else -math.inf


def _best_pair(rows: _Rows, lows: Floats, highs: Floats) -> tuple[float, float]:
    """Return the low and high threshold, not crossing, that decide most rows, then those with the fewest errors."""
    pairs = [(float(lows[np.searchsorted(lows, high, side="right") - 1]), float(high)) for high in highs]
    ordered, positive = np.sort(rows.score), np.sort(rows.score[rows.positive])
    low, high = np.array(pairs).T
    n_low = np.searchsorted(ordered, low, side="left")
    n_high = len(ordered) - np.searchsorted(ordered, high, side="right")
    missed = np.searchsorted(positive, low, side="left")
    detected = len(positive) - np.searchsorted(positive, high, side="right")
    best = np.lexsort((missed + n_high - detected, -(n_low + n_high)))[0]
    return pairs[int(best)]
