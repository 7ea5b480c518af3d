"""Coverage: probabilities of rows whose class is known -> thresholds that keep a promise."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.decide.base import Bools, Checked, Decision, OpinionLike, check_share, probability_and_log_odds
from hedgerow.decide.intervals import Floats
from hedgerow.decide.labels import columns_of_rows


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
    holds within each true class. With out-of-bag evidence it is only approximate: a training row is judged by about a
    third of the trees that judge a new row, which usually makes the sets larger than necessary, but no theorem says so.
    With fewer than ``target / (1 - target)`` rows (19 for 0.95), or of one class with ``per_class``, no threshold can
    keep the promise: then every class is kept, and a warning is issued.

    A set is never empty: if no class passes, the most probable one (the first of a tie) is chosen, which can only raise
    the coverage. Only ``opinion.probability`` is used, and ``opinion.log_odds`` if there are any.

    Parameters
    ----------
    target : float in (0, 1)
        The promised coverage.
    per_class : bool
        Whether each class has its own threshold, calibrated on the rows of that class (Mondrian).
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
        How many calibration rows each threshold comes from.

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
    learned_fields: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"threshold_": np.float64, "n_rows_": np.int64, "_by_log_odds": bool}
    )

    def __init__(self, target: float = 0.95, per_class: bool = False, score: str = "lac") -> None:
        self.target = target
        self.per_class = per_class
        self.score = score

    def calibrate(
        self, opinion: OpinionLike | ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None
    ) -> Coverage:
        """Learn the thresholds from rows whose class is known.

        Parameters
        ----------
        opinion : opinion or array-like (n, K)
            Opinion about rows from which the model has not learned (out-of-bag rows, or rows set aside), or their
            probabilities. Leave out rows that are in the bag of every tree.
        y : array-like (n,)
            The classes of these rows.
        classes : array-like (K,) or None
            The class of each column. None means the sorted distinct labels of ``y``.

        Returns
        -------
        Coverage
            The decision itself. Calibrate a ``clone`` if the object must not change.
        """
        check_share("target", self.target, "try 0.95")
        probability, log_odds = probability_and_log_odds(opinion)
        columns, order = columns_of_rows(y, probability, classes)
        self._by_log_odds = log_odds is not None
        own = np.take_along_axis(self._scores(probability, log_odds), columns[:, None], axis=1)[:, 0]
        groups = columns if self.per_class else np.zeros_like(columns)
        n_groups = len(order) if self.per_class else 1
        threshold = np.array([_threshold(own[groups == group], self.target) for group in range(n_groups)])
        n_rows = np.bincount(groups, minlength=n_groups)
        self.threshold_ = np.broadcast_to(threshold, order.shape).copy()
        self.n_rows_ = np.broadcast_to(n_rows, order.shape).copy()
        self._say_where_rows_are_few(order)
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
        chosen: Bools = self._scores(probability, opinion.log_odds) <= self.threshold_
        most_probable = np.arange(probability.shape[1]) == np.argmax(probability, axis=1)[:, None]
        return np.where(chosen.any(axis=1, keepdims=True), chosen, most_probable)

    @property
    def onnx(self) -> bool:
        """False for "aps": ONNX rounds its sums differently, and a sum that equals a threshold must stay equal."""
        return super().onnx and self.score == "lac"

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

    def _say_where_rows_are_few(self, classes: NDArray[Any]) -> None:
        """Warn if there were too few rows of some of the classes (K,) for a threshold that keeps the promise."""
        few = np.isinf(self.threshold_)
        if not few.any():
            return
        needed = f"it takes at least {rows_needed(self.target)} rows"
        if self.per_class:
            pairs = zip(classes[few].tolist(), self.n_rows_[few].tolist(), strict=True)
            there_are = ", ".join(f"{rows} of class {label!r}" for label, rows in pairs)
            needed, consequence = f"{needed} of each class", "these classes are kept in every set"
        else:
            there_are, consequence = f"{self.n_rows_[0]}", "every set holds all classes"
        warnings.warn(
            f"Too few rows to promise a coverage of {self.target:g}: {needed}, and there are {there_are}; "
            f"{consequence}. Lower the target, or calibrate on more rows.",
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


def _threshold(scores: Floats, target: float) -> float:
    """(n,) -> the ceil((n + 1) target)-th smallest, infinite if there are not that many."""
    # 0.56 * 25 is 14.000000000000002; without the tolerance, one row more than necessary would be required.
    rank = math.ceil((len(scores) + 1) * target - 1e-9)
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else math.inf
