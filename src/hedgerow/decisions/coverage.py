"""Split conformal prediction sets."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
from hedgerow.util.runtime import cluster_numbers, computed


class Coverage(Decision):
    """Prediction sets that contain the true class with a target probability.

    This is split conformal prediction. `calibrate` computes the score of the true class for n rows that were not used
    for fitting. The threshold is the ``ceil((n + 1) * target)``-th smallest of these scores. `choose` keeps the classes
    whose score does not exceed the threshold.

    **Guarantee.** Suppose the calibration rows and the new row are exchangeable: they are drawn in the same way, and
    the same model gives an opinion about each without its label. Then the set contains the true class with probability
    at least ``target``, for any n and any model. The probability is at most ``target + 1/(n + 1)`` if scores do not tie
    and no set would be empty. The guarantee is marginal, an average over calibrations: for one calibration the coverage
    has a Beta distribution with a standard deviation of about ``sqrt(target (1 - target) / n)``. With ``per_class`` the
    guarantee holds within each true class, with ``groups`` within each group.

    With out-of-bag evidence it is approximate: a training row is evaluated by about a third of the trees that evaluate
    a new row, which usually makes the sets larger than necessary, but no theorem ensures it. With fewer than
    ``target / (1 - target)`` rows (19 for 0.95), or rows of one class with ``per_class``, no threshold has the
    guarantee: then every class is kept, and a warning is issued.

    **Grouped rows.** After a fit with ``groups`` (such as the visits of a patient), rows are not exchangeable, but
    groups are. Then a calibration row counts 1 / (rows of its group), and the threshold is the smallest score that
    reaches a share ``target`` of the G groups and one more with an infinite score (hierarchical conformal prediction).
    If the groups are exchangeable, and so are the rows within a group, the set contains the true class of a row of a
    *new* group with probability at least ``target``, an average over groups, not over rows. It takes ``target / (1 -
    target)`` groups. With ``per_class`` a group consists of its rows of the class. The parameter ``groups`` of this
    class is different: it names a column, such as the hospital, within whose values the guarantee holds as well. Such
    groups recur, and have their own thresholds.

    A set is never empty: if no class passes, the most probable one (the first of a tie) is chosen, which can only raise
    the coverage. Only ``opinion.probability`` is used, and ``opinion.log_odds`` if it exists.

    Parameters
    ----------
    target : float in (0, 1)
        Target coverage.
    per_class : bool
        Whether each class has its own threshold, calibrated on the rows of that class (Mondrian).
    groups : str, int or None
        Name or number of a column with at most 100 distinct values, such as a hospital, a sex or a region. The rows
        with the same value are a group, and each group has its own threshold, calibrated on its rows alone. Missing
        values are a group; a new category counts as missing. A group with too few rows for a threshold, or without any,
        has the threshold of all rows; a warning lists the former. A forest with this decision fills in the groups of
        its rows; for other models, the opinion must have ``groups``, (n,).
    score : "lac" or "aps"
        "lac" is ``1 - probability`` of the class, or ``-log_odds`` if the opinion has them, which have the same order;
        it gives the smallest sets on average. "aps" is the total probability of all classes that are more probable (of
        equal classes, the first column counts as more probable); it gives larger sets for hard rows, and a more even
        coverage of easy and hard rows. It is not randomised: equal rows get equal sets.

    Attributes
    ----------
    threshold_ : float array (K,)
        Largest score of a class in the set; infinite if there were too few rows.
    n_rows_ : int array (K,)
        Number of calibration rows per threshold; with grouped rows, number of groups.
    groups_ : list of G str
        Groups of the calibration rows, with ``groups``; "" are missing values.
    group_threshold_, group_rows_ : float array (G, K), int array (G, K)
        Thresholds of each group, and its numbers of rows.

    References
    ----------
    Y. Lee, R. F. Barber, R. Willett: Distribution-free inference with hierarchical data. arXiv 2306.06342 (2023).

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> y = np.array([0] * 9 + [1] * 10)
    >>> probability = np.where(y[:, None] == [0, 1], 0.8, 0.2)
    >>> probability[0] = [0.4, 0.6]
    >>> decision = Coverage(0.95).calibrate(probability, y)
    >>> decision.threshold_.tolist()
    [0.6, 0.6]
    >>> new = SimpleNamespace(lower=[[0, 0]] * 2, upper=[[1, 1]] * 2, probability=[[0.9, 0.1], [0.45, 0.55]])
    >>> decision.choose(new).tolist()
    [[True, False], [True, True]]
    """

    needs_calibration = True

    def __init__(
        self, target: float = 0.95, per_class: bool = False, score: str = "lac", groups: str | int | None = None
    ) -> None:
        self.target = target
        self.per_class = per_class
        self.score = score
        self.groups = groups

    def calibrate(
        self,
        opinion: OpinionLike | ArrayLike,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Coverage:
        """Learn the thresholds from rows with known classes.

        Parameters
        ----------
        opinion : opinion or array-like (n, K)
            Opinion about rows that were not used for fitting (out-of-bag or held-out rows), or their probabilities.
            Drop rows that are in every bootstrap sample. With ``groups`` it must be an opinion of a forest with this
            decision, or have ``groups``, (n,).
        y : array-like (n,)
            Classes of these rows.
        classes : array-like (K,) or None
            Class of each column. None means the sorted distinct labels of ``y``.
        clusters : array-like (n,) or None
            Labels of groups of dependent rows (``groups`` of ``fit``): the guarantee is then for a row of a new group.
            None means that rows are independent.

        Returns
        -------
        Coverage
            The decision itself. Calibrate a ``clone`` to keep the object unchanged.
        """
        check_share("target", self.target, "Try 0.95.")
        probability, log_odds = probability_and_log_odds(opinion)
        columns, order = columns_of_rows(y, probability, classes)
        groups = None if self.groups is None else groups_of_rows(self, opinion, len(columns))
        together = cluster_numbers(clusters, len(columns))
        self._by_log_odds = log_odds is not None
        own = np.take_along_axis(self._scores(probability, log_odds), columns[:, None], axis=1)[:, 0]
        self.threshold_, self.n_rows_ = self._learned_from(own, columns, len(order), together)
        self._warn_if_rows_are_few(order, "rows" if together is None else "groups of rows")
        if groups is not None:
            self._calibrate_groups(own, columns, groups, together)
        return self

    def pick(self, opinion: Checked) -> Bools:
        """Return prediction sets, bool (n, K)."""
        self.check_ready()
        probability = opinion.probability
        if probability.shape[1] != len(self.threshold_):
            raise ValueError(
                f"opinion must have the {len(self.threshold_)} classes of the calibration, got {probability.shape[1]}."
                " Calibrate again."
            )
        chosen: Bools = self._scores(probability, opinion.log_odds) <= self._thresholds(opinion)
        most_probable = np.arange(probability.shape[1]) == np.argmax(probability, axis=1)[:, None]
        return np.where(chosen.any(axis=1, keepdims=True), chosen, most_probable)

    @computed
    def learned_fields(self) -> Mapping[str, Any]:
        """Attributes that `calibrate` sets, and their types in a model file."""
        each = {"threshold_": np.float64, "n_rows_": np.int64, "_by_log_odds": bool}
        of_groups = {"groups_": [str], "group_threshold_": [np.float64], "group_rows_": [np.int64]}
        return each if self.groups is None else each | of_groups

    @property
    def is_ready(self) -> bool:
        """True if thresholds have been learned, also those of groups."""
        return super().is_ready and (self.groups is None or "groups_" in vars(self))

    @property
    def onnx(self) -> bool:
        """False with groups, and for "aps", whose sums ONNX may round differently."""
        return super().onnx and self.score == "lac" and self.groups is None

    def _learned_from(
        self, own: Floats, columns: NDArray[np.int64], n_classes: int, clusters: NDArray[np.int64] | None
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Return thresholds and numbers of rows, (K,) each, from scores (n,)."""
        rows = [columns == k for k in range(n_classes)] if self.per_class else [np.ones(len(own), dtype=bool)]
        found = [_threshold(own[each], self.target, None if clusters is None else clusters[each]) for each in rows]
        threshold, number = zip(*found, strict=True)
        return np.broadcast_to(threshold, n_classes).copy(), np.broadcast_to(number, n_classes).copy()

    def _calibrate_groups(
        self, own: Floats, columns: NDArray[np.int64], groups: NDArray[np.str_], clusters: NDArray[np.int64] | None
    ) -> None:
        """Learn the thresholds of groups; groups of few rows use those of all rows."""
        n_classes = len(self.threshold_)
        names, of_row = np.unique(groups, return_inverse=True)
        inside = [of_row == group for group in range(len(names))]
        found = [
            self._learned_from(own[rows], columns[rows], n_classes, None if clusters is None else clusters[rows])
            for rows in inside
        ]
        threshold = np.array([each for each, _ in found]).reshape(-1, n_classes)
        few = np.isinf(threshold)
        self.groups_ = names.tolist()
        self.group_threshold_ = np.where(few, self.threshold_, threshold)
        self.group_rows_ = np.array([rows for _, rows in found], dtype=np.int64).reshape(-1, n_classes)
        if few.any() and np.isfinite(self.threshold_).any():
            counts = ", ".join(
                f"{int(rows[which].min())} in {name!r}"
                for name, rows, which in zip(self.groups_, self.group_rows_, few, strict=True)
                if which.any()
            )
            warnings.warn(
                f"Too few rows for a coverage of {self.target:g} in each group: it takes at least"
                f" {rows_needed(self.target)} rows{' of each class' if self.per_class else ''}, got {counts}."
                " These groups use the threshold of all rows. Join small groups, or calibrate on more rows.",
                UserWarning,
                stacklevel=3,
            )

    def _thresholds(self, opinion: Checked) -> Floats:
        """Return the largest scores of classes in a set, (K,), or (n, K) with groups."""
        if self.groups is None:
            return self.threshold_
        known = dict(zip(self.groups_, self.group_threshold_, strict=True))
        names, of_row = np.unique(groups_of_rows(self, opinion, len(opinion.probability)), return_inverse=True)
        thresholds = [known.get(name, self.threshold_) for name in names.tolist()]
        return np.array(thresholds).reshape(-1, len(self.threshold_))[of_row]

    def _scores(self, probability: Floats, log_odds: Floats | None) -> Floats:
        """Return non-conformity scores (n, K) of all classes."""
        if self.score == "lac":
            scores = ordering_scores(probability, log_odds, self._by_log_odds)
            return -scores if self._by_log_odds else 1.0 - scores
        if self.score == "aps":
            order = np.argsort(-probability, axis=1, kind="stable")
            before = np.zeros_like(probability)
            ordered = np.take_along_axis(probability, order, axis=1)
            before[:, 1:] = np.cumsum(ordered[:, :-1], axis=1)
            scores = np.zeros_like(probability)
            np.put_along_axis(scores, order, before, axis=1)
            return scores
        raise ValueError(f"score must be 'lac' or 'aps', got {self.score!r}.")

    def _warn_if_rows_are_few(self, classes: NDArray[np.generic], units: str) -> None:
        """Warn if some classes (K,) have too few rows for a threshold with a guarantee."""
        few = np.isinf(self.threshold_)
        if not few.any():
            return
        needed = f"it takes at least {rows_needed(self.target)} {units}"
        if self.per_class:
            pairs = zip(classes[few].tolist(), self.n_rows_[few].tolist(), strict=True)
            counts = ", ".join(f"{rows} of class {label!r}" for label, rows in pairs)
            needed, consequence = f"{needed} of each class", "These classes are in every set"
        else:
            counts, consequence = f"{self.n_rows_[0]}", "Every set contains all classes"
        warnings.warn(
            f"Too few {units} for a coverage of {self.target:g}: {needed}, got {counts}. "
            f"{consequence}. Lower the target, or calibrate on more {units}.",
            UserWarning,
            stacklevel=3,
        )


def rows_needed(target: float) -> int:
    """Return the fewest calibration rows, n >= target / (1 - target).

    Examples
    --------
    >>> rows_needed(0.95), rows_needed(0.9)
    (19, 9)
    """
    return math.ceil(target / (1 - target) - 1e-9)


def _threshold(scores: Floats, target: float, clusters: NDArray[np.int64] | None = None) -> tuple[float, int]:
    """Return the ceil((n + 1) target)-th smallest score, or infinity, and n.

    With clusters (n,), a score counts 1 / (rows of its cluster), and n is the number of clusters.
    """
    order = np.argsort(scores, kind="stable")
    if clusters is None:
        n_units = len(scores)
        # 0.56 * 25 is 14.000000000000002; without the tolerance, one row more than necessary would be required
        place = math.ceil((n_units + 1) * target - 1e-9) - 1
    else:
        sizes = np.bincount(clusters, minlength=1)
        n_units = int((sizes > 0).sum())
        reached = np.cumsum(1 / sizes[clusters[order]])
        place = int(np.searchsorted(reached, (n_units + 1) * target - 1e-9))
    return (float(scores[order[place]]) if place < len(scores) else math.inf), n_units
