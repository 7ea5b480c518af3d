"""Coverage: probabilities of rows whose class is known -> thresholds that keep a promise."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.decisions.base import Bools, Checked, Decision, OpinionLike, check_share, probability_and_log_odds
from hedgerow.decisions.intervals import Floats
from hedgerow.decisions.labels import columns_of_rows
from hedgerow.util.clusters import cluster_numbers


class Coverage(Decision):
    """Sets that hold the true class with a promised probability (split conformal prediction).

    `calibrate` computes the score of the true class for n rows from which the model has not learned. The threshold is
    the ``ceil((n + 1) * target)``-th smallest of these scores. `choose` keeps the classes whose score does not exceed
    the threshold.

    **The promise.** Suppose the calibration rows and the new row are exchangeable: they are drawn in the same way, and
    the same model gives an opinion about each without its label. Then the set holds the true class with probability at
    least ``target``, for any n and any model. The probability is at most ``target + 1/(n + 1)`` if scores do not tie
    and no set would be empty. This is an average over calibrations: for one calibration the coverage has a Beta
    distribution with a standard deviation of about ``sqrt(target (1 - target) / n)``. With ``per_class`` the promise
    holds within each true class, with ``groups`` within each group. With out-of-bag evidence it is only approximate: a
    training row is judged by about a third of the trees that judge a new row, which usually makes the sets larger than
    necessary, but no theorem says so. With fewer than ``target / (1 - target)`` rows (19 for 0.95), or of one class
    with ``per_class``, no threshold can keep the promise: then every class is kept, and a warning is issued.

    **Rows that belong together.** After a forest was fitted with ``groups`` (the visits of a patient), rows are not
    exchangeable, but groups are. Then a calibration row counts 1 / (rows of its group), and the threshold is the
    smallest score that reaches a share ``target`` of the G groups and one more with an infinite score (hierarchical
    conformal prediction). If the groups are exchangeable, and so are the rows within a group, the set contains the true
    class of a row of a *new* group with probability at least ``target``, an average over groups, not over rows. It
    takes ``target / (1 - target)`` groups. With ``per_class`` a group consists of its rows of the class. The
    parameter ``groups`` of this class is something else: it names a column, such as the hospital, within whose values
    the promise holds as well; such groups occur again, and have thresholds of their own.

    A set is never empty: if no class passes, the most probable one (the first of a tie) is chosen, which can only raise
    the coverage. Only ``opinion.probability`` is used, and ``opinion.log_odds`` if there are any.

    Parameters
    ----------
    target : float in (0, 1)
        The promised coverage.
    per_class : bool
        Whether each class has its own threshold, calibrated on the rows of that class (Mondrian).
    groups : str, int or None
        The name or number of a column with at most 100 distinct values, such as a hospital, a sex or a region: the rows
        with the same value are a group, and each group has its own threshold, calibrated on its rows alone. Missing
        values are a group; a category that is new counts as missing. A group with too few rows for a threshold, or
        without any, has the threshold of all rows, and a warning counts the former. A forest with this decision knows
        the groups of its rows; for other models, the opinion must have ``groups``, (n,).
    score : "lac" or "aps"
        "lac" is ``1 - probability`` of the class, or ``-log_odds`` if the opinion has them, which have the same order;
        it gives the smallest sets on average. "aps" is the total probability of all classes that are more probable (of
        equal classes, the first column counts as more probable); it gives larger sets for hard rows, and a more even
        coverage of easy and hard rows. It is not randomised: equal rows get equal sets.

    Attributes
    ----------
    threshold_ : float array (K,)
        Largest score with which each class is kept; infinite if there were too few rows.
    n_rows_ : int array (K,)
        How many calibration rows each threshold comes from; if rows belong together, how many groups of rows.
    groups_ : list of G str
        The groups of the calibration rows, if there are ``groups``; "" are missing values.
    group_threshold_, group_rows_ : float array (G, K), int array (G, K)
        The thresholds of each group, and how many rows it had.

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
        """Learn the thresholds from rows whose class is known.

        Parameters
        ----------
        opinion : opinion or array-like (n, K)
            Opinion about rows from which the model has not learned (out-of-bag rows, or rows set aside), or their
            probabilities. Leave out rows that are in the bag of every tree. With ``groups`` it must be an opinion of a
            forest with this decision, or have ``groups``, (n,).
        y : array-like (n,)
            The classes of these rows.
        classes : array-like (K,) or None
            The class of each column. None means the sorted distinct labels of ``y``.
        clusters : array-like (n,) or None
            Labels of groups of rows that belong together (``groups`` of ``fit``): the promise is then about a row of a
            new group. None means that rows are independent.

        Returns
        -------
        Coverage
            The decision itself. Calibrate a ``clone`` if the object must not change.
        """
        check_share("target", self.target, "try 0.95")
        probability, log_odds = probability_and_log_odds(opinion)
        columns, order = columns_of_rows(y, probability, classes)
        groups = None if self.groups is None else self._groups_of(opinion, len(columns))
        together = cluster_numbers(clusters, len(columns))
        self._by_log_odds = log_odds is not None
        own = np.take_along_axis(self._scores(probability, log_odds), columns[:, None], axis=1)[:, 0]
        self.threshold_, self.n_rows_ = self._learned_from(own, columns, len(order), together)
        self._say_where_rows_are_few(order, "rows" if together is None else "groups of rows")
        if groups is not None:
            self._calibrate_groups(own, columns, groups, together)
        return self

    def pick(self, opinion: Checked) -> Bools:
        """Opinion (n, K) -> bool (n, K)."""
        self.check_ready()
        probability = opinion.probability
        if probability.shape[1] != len(self.threshold_):
            raise ValueError(
                f"opinion must have the {len(self.threshold_)} classes of the calibration, got "
                f"{probability.shape[1]}; calibrate again"
            )
        chosen: Bools = self._scores(probability, opinion.log_odds) <= self._thresholds(opinion)
        most_probable = np.arange(probability.shape[1]) == np.argmax(probability, axis=1)[:, None]
        return np.where(chosen.any(axis=1, keepdims=True), chosen, most_probable)

    @property
    def learned_fields(self) -> Mapping[str, Any]:  # type: ignore[override]
        """What `calibrate` learns, and its type in a model file."""
        each = {"threshold_": np.float64, "n_rows_": np.int64, "_by_log_odds": bool}
        of_groups = {"groups_": [str], "group_threshold_": [np.float64], "group_rows_": [np.int64]}
        return each if self.groups is None else each | of_groups

    @property
    def is_ready(self) -> bool:
        """Whether thresholds have been learned, with groups also theirs."""
        return super().is_ready and (self.groups is None or "groups_" in vars(self))

    @property
    def onnx(self) -> bool:
        """False with groups, and for "aps": ONNX rounds its sums differently, and a sum must equal its threshold."""
        return super().onnx and self.score == "lac" and self.groups is None

    def _learned_from(
        self, own: Floats, columns: NDArray[np.int64], n_classes: int, clusters: NDArray[np.int64] | None
    ) -> tuple[Floats, NDArray[Any]]:
        """Scores of the true classes (n,), their columns (n,) -> thresholds (K,), rows that each comes from (K,)."""
        rows = [columns == k for k in range(n_classes)] if self.per_class else [np.ones(len(own), dtype=bool)]
        found = [_threshold(own[each], self.target, None if clusters is None else clusters[each]) for each in rows]
        threshold, number = zip(*found, strict=True)
        return np.broadcast_to(threshold, n_classes).copy(), np.broadcast_to(number, n_classes).copy()

    def _calibrate_groups(
        self, own: Floats, columns: NDArray[np.int64], groups: NDArray[Any], clusters: NDArray[np.int64] | None
    ) -> None:
        """Learn the thresholds of each group; where its rows are too few, it has those of all rows."""
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
            there_are = ", ".join(
                f"{int(rows[which].min())} in {name!r}"
                for name, rows, which in zip(self.groups_, self.group_rows_, few, strict=True)
                if which.any()
            )
            warnings.warn(
                f"Too few rows to promise a coverage of {self.target:g} to each group: it takes at least"
                f" {rows_needed(self.target)} rows{' of each class' if self.per_class else ''}, and there are"
                f" {there_are}; there the threshold of all rows is used. Join small groups, or calibrate on more rows.",
                UserWarning,
                stacklevel=3,
            )

    def _thresholds(self, opinion: Checked) -> Floats:
        """-> (K,), or (n, K) with groups: the largest score with which each class is kept."""
        if self.groups is None:
            return self.threshold_
        known = dict(zip(self.groups_, self.group_threshold_, strict=True))
        names, of_row = np.unique(self._groups_of(opinion, len(opinion.probability)), return_inverse=True)
        thresholds = [known.get(name, self.threshold_) for name in names.tolist()]
        return np.array(thresholds).reshape(-1, len(self.threshold_))[of_row]

    def _groups_of(self, opinion: Any, n_rows: int) -> NDArray[Any]:
        """An opinion -> the group of each row, as text (n,)."""
        groups = Checked(opinion).groups
        if groups is None or np.shape(groups) != (n_rows,):
            raise ValueError(
                f"opinion.groups must have the group of each of the {n_rows} rows for {self!r}, got"
                f" {'none' if groups is None else np.shape(groups)}; ask a forest with this decision"
            )
        return np.asarray(groups).astype(np.str_)

    def _scores(self, probability: Floats, log_odds: Any) -> Floats:
        """(n, K), (n, K) or None -> (n, K): how surprising it would be if each class were the true one."""
        if self.score == "lac":
            if not self._by_log_odds:
                return 1.0 - probability
            # The order is the same, and log-odds still differ where added evidence rounds probabilities to 0 and 1.
            strange: Floats = -(np.log(np.maximum(probability, 1e-300)) if log_odds is None else log_odds)
            return strange
        if self.score == "aps":
            order = np.argsort(-probability, axis=1, kind="stable")
            before = np.zeros_like(probability)
            ordered = np.take_along_axis(probability, order, axis=1)
            before[:, 1:] = np.cumsum(ordered[:, :-1], axis=1)
            scores = np.zeros_like(probability)
            np.put_along_axis(scores, order, before, axis=1)
            return scores
        raise ValueError(f"score must be 'lac' or 'aps', got {self.score!r}; choose one of them")

    def _say_where_rows_are_few(self, classes: NDArray[Any], units: str) -> None:
        """Warn if there were too few rows of some of the classes (K,) for a threshold that keeps the promise."""
        few = np.isinf(self.threshold_)
        if not few.any():
            return
        needed = f"it takes at least {rows_needed(self.target)} {units}"
        if self.per_class:
            pairs = zip(classes[few].tolist(), self.n_rows_[few].tolist(), strict=True)
            there_are = ", ".join(f"{rows} of class {label!r}" for label, rows in pairs)
            needed, consequence = f"{needed} of each class", "these classes are kept in every set"
        else:
            there_are, consequence = f"{self.n_rows_[0]}", "every set holds all classes"
        warnings.warn(
            f"Too few {units} to promise a coverage of {self.target:g}: {needed}, and there are {there_are}; "
            f"{consequence}. Lower the target, or calibrate on more {units}.",
            UserWarning,
            stacklevel=3,
        )


def rows_needed(target: float) -> int:
    """Smallest number of calibration rows with which a coverage can be promised: the least n >= target / (1 - target).

    Examples
    --------
    >>> rows_needed(0.95), rows_needed(0.9)
    (19, 9)
    """
    return math.ceil(target / (1 - target) - 1e-9)


def _threshold(scores: Floats, target: float, clusters: NDArray[np.int64] | None = None) -> tuple[float, int]:
    """Scores (n,) -> the ceil((n + 1) target)-th smallest, infinite if there are not that many, and n.

    With clusters (n,), a score counts 1 / (rows of its cluster), and n is the number of clusters.
    """
    order = np.argsort(scores, kind="stable")
    if clusters is None:
        n_units = len(scores)
        # 0.56 * 25 is 14.000000000000002; without the tolerance, one row more than necessary would be required.
        place = math.ceil((n_units + 1) * target - 1e-9) - 1
    else:
        sizes = np.bincount(clusters, minlength=1)
        n_units = int((sizes > 0).sum())
        reached = np.cumsum(1 / sizes[clusters[order]])
        place = int(np.searchsorted(reached, (n_units + 1) * target - 1e-9))
    return (float(scores[order[place]]) if place < len(scores) else math.inf), n_units
