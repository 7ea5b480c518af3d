"""Risk: probabilities of rows whose class is known -> a threshold above which few decisions are wrong."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr

from hedgerow.decisions.base import Bools, Checked, Decision, OpinionLike, check_share, probability_and_log_odds
from hedgerow.decisions.intervals import Floats
from hedgerow.decisions.labels import columns_of_rows
from hedgerow.util.clusters import cluster_numbers, one_of_each

#: So many shares of the calibration rows, the surest first, are tested one after the other.
LEVELS = 50
#: The first share is so large that so many errors among its rows are forgiven. With less, chance ends the sequence too
#: often: on 22 tables and 300 to 2,000 calibration rows, Risk(0.05) then decides 1 to 3 points fewer of the rows.
FORGIVEN = 2


class Risk(Decision):
    """One class where errors are rare enough; all classes everywhere else.

    A row is decided if its largest probability is above a threshold. `calibrate` finds the threshold on n rows from
    which the model has not learned. It tests growing shares of them, the surest first: of k rows, w have another class
    than the most probable one. If the error were above ``error``, so few errors would have a probability of at most
    P(Binomial(k, error) <= w). While that is at most ``1 - confidence``, the test succeeds and more rows are added. The
    threshold is that of the last share that succeeds (fixed-sequence testing, "learn then test"). If already the first
    test fails, no threshold keeps the promise: then nothing is decided, and a warning is issued.

    **The promise.** Suppose the calibration rows and new rows are drawn independently and in the same way, and
    probabilities do not tie. Then with probability ``confidence`` over calibrations, at most a share ``error`` of all
    rows that are decided later is decided wrongly, for any n and any model. With out-of-bag evidence it is only
    approximate: a training row is judged by about a third of the trees that judge a new row. It is about all decided
    rows together, not about each class or group.

    **Rows that belong together.** After a forest was fitted with ``groups`` (the visits of a patient), only groups are
    independent. Then one row of each group is drawn at random, and the threshold is found on these rows alone. If
    groups are drawn independently and in the same way, the promise holds for one row, drawn at random, of each *new*
    group. The number of groups is what counts: 0.05 and 0.95 take at least 59.

    Parameters
    ----------
    error : float in (0, 1)
        The share of decisions that may be wrong.
    confidence : float in (0, 1)
        In which share of calibrations the promise must hold.

    Attributes
    ----------
    threshold_ : float
        Rows are decided if their largest probability is above it (its logarithm, if the calibration had log-odds);
        infinite if no threshold keeps the promise.
    share_ : float
        The share of the calibration rows that is decided.
    n_rows_ : int
        How many calibration rows there were; if rows belong together, how many groups of rows.

    References
    ----------
    A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei: Learn then test: calibrating predictive algorithms to
    achieve risk control. Annals of Applied Statistics 19 (2025).

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
        """Learn the threshold from rows whose class is known.

        Parameters
        ----------
        opinion : opinion or array-like (n, K)
            Opinion about rows from which the model has not learned (out-of-bag rows, or rows set aside), or their
            probabilities.
        y : array-like (n,)
            The classes of these rows.
        classes : array-like (K,) or None
            The class of each column. None means the sorted distinct labels of ``y``.
        clusters : array-like (n,) or None
            Labels of groups of rows that belong together (``groups`` of ``fit``): the promise is then about rows of new
            groups. None means that rows are independent.

        Returns
        -------
        Risk
            The decision itself. Calibrate a ``clone`` if the object must not change.
        """
        for name, share in (("error", self.error), ("confidence", self.confidence)):
            check_share(name, share, "try Risk(0.05, 0.95)")
        probability, log_odds = probability_and_log_odds(opinion)
        columns, _ = columns_of_rows(y, probability, classes)
        self._by_log_odds = log_odds is not None
        sure = self._sureness(probability, log_odds)
        wrong = probability.argmax(axis=1) != columns
        together = cluster_numbers(clusters, len(columns))
        if together is not None:
            some = one_of_each(together)
            sure, wrong = sure[some], wrong[some]
        self.threshold_ = lowest_threshold(sure, wrong, self.error, self.confidence)
        self.n_rows_ = len(sure)
        self.share_ = float((sure > self.threshold_).sum() / max(1, self.n_rows_))
        self._say_if_nothing_is_decided("rows" if together is None else "groups of rows")
        return self

    def pick(self, opinion: Checked) -> Bools:
        """Opinion (n, K) -> bool (n, K)."""
        self.check_ready()
        probability = opinion.probability
        is_open = self._sureness(probability, opinion.log_odds) <= self.threshold_
        chosen: Bools = np.arange(probability.shape[1]) == np.argmax(probability, axis=1)[:, None]
        return chosen | is_open[:, None]

    def _sureness(self, probability: Floats, log_odds: Any) -> Floats:
        """(n, K), (n, K) or None -> (n,): how sure the most probable class is."""
        said = probability
        if self._by_log_odds:  # the same order; they still differ where added evidence rounds probabilities to 1
            said = np.log(np.maximum(probability, 1e-300)) if log_odds is None else log_odds
        largest: Floats = said.max(axis=1)
        return largest

    def _say_if_nothing_is_decided(self, units: str) -> None:
        """Warn if no threshold keeps the promise."""
        if self.threshold_ < math.inf:
            return
        needed = decisions_needed(self.error, self.confidence)
        few = self.n_rows_ < needed
        reason = (
            f"it takes at least {needed} {units}, and there are {self.n_rows_}" if few else "too many errors are sure"
        )
        warnings.warn(
            f"No threshold promises at most {self.error:g} wrong decisions with confidence {self.confidence:g}: "
            f"{reason}; every row is left open. Allow more errors, or calibrate on more {units}.",
            UserWarning,
            stacklevel=3,
        )


def decisions_needed(error: float, confidence: float, n_wrong: int = 0) -> int:
    """Smallest number of decisions that shows an error of at most `error` with `confidence` if so many are wrong.

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


def lowest_threshold(sure: Floats, wrong: NDArray[np.bool_], error: float, confidence: float) -> float:
    """How sure n rows are (n,), whether their label is wrong (n,) -> the lowest threshold that keeps the promise.

    Rows above the threshold are decided. If k rows lie above the next one, this next one is the threshold of k: given
    where it lies, the k rows are drawn independently from all rows above it, so their errors are binomial. A threshold
    lies among those with a larger error only after one at which the error is exactly `error`, where the test fails with
    probability `confidence`; so testing may go on without paying for it until a test fails.
    """
    falling = -np.sort(-sure, kind="stable")
    errors = np.concatenate([[0], np.cumsum(wrong[np.argsort(-sure, kind="stable")])])
    found, needed = math.inf, decisions_needed(error, confidence)
    first = min(len(sure), decisions_needed(error, confidence, FORGIVEN))
    for k in _shares(len(sure), first) if first >= needed else ():
        threshold = float(falling[k]) if k < len(sure) else -math.inf
        above = int(np.searchsorted(-falling, -threshold, side="left"))  # fewer than k if rows tie
        if above < needed:
            continue
        if bdtr(int(errors[above]), above, error) > 1 - confidence:
            break
        found = threshold
    return found


def _shares(n_rows: int, first: int) -> NDArray[np.int64]:
    """How many of n rows are tested, one number after the other."""
    shares = np.ceil(np.arange(1, LEVELS + 1) * n_rows / LEVELS).astype(np.int64)
    return np.unique(np.maximum(shares, first))
