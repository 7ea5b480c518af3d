"""Metrics of right-censored times: concordance, Brier scores, AUC and D-calibration.

A row has a time and an event; without the event the time is censored. At equal times events come before censorings.
Rows whose fate is unknown at a time are represented by others, with weights 1 / G (inverse probability of censoring),
where G is the Kaplan–Meier estimate of remaining uncensored. Conventions and values are those of scikit-survival.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Largest number of competing causes.
MOST_CAUSES = 20


class DCalibration(NamedTuple):
    """Counts of rows by predicted survival at their own time, and a test that they are uniform."""

    counts: Floats
    statistic: float
    p_value: float


class DynamicAUC(NamedTuple):
    """AUC at each time, and its mean weighted by the events between the times."""

    auc: Floats
    mean: float


class SurvivalTimes(NamedTuple):
    """Times and events of rows, (n,) each."""

    times: Floats
    events: Bools


def harrell_c(y: Any, risk: ArrayLike) -> float:
    """Return Harrell's concordance index: the share of comparable pairs in the right order.

    The earlier event must have the higher risk; equal risks count half. A pair is comparable if the earlier time is an
    event, or if both times are equal and one of them is an event. Time grows as n log n.

    Parameters
    ----------
    y : structured array, data frame or array of shape (n, 2), or pair of arrays
        Times and events, as in `RandomSurvivalForest.fit`.
    risk : array-like (n,)
        Predicted risks; higher means earlier.

    Returns
    -------
    float
        NaN if no pair is comparable.

    Examples
    --------
    >>> harrell_c(([1.0, 2.0, 3.0, 4.0], [True, False, True, True]), [4, 3, 1, 2])
    0.75
    """
    concordant, comparable = concordant_pairs(y, risk)
    return concordant / comparable if comparable else np.nan


def uno_c(y: Any, risk: ArrayLike, *, y_train: Any = None, tau: float | None = None) -> float:
    """Return Uno's concordance index, which does not depend on the censoring.

    Pairs are weighted by 1 / G² at the earlier time.

    Parameters
    ----------
    y, risk
        As in `harrell_c`.
    y_train : as y, default=None
        Rows from which the censoring distribution G is estimated; None means `y`.
    tau : float, default=None
        Events from this time on do not count; None counts all.

    Returns
    -------
    float
        NaN if no pair is comparable.

    Examples
    --------
    >>> round(uno_c(([1.0, 2.0, 3.0, 4.0], [True, False, True, True]), [4, 3, 1, 2]), 4)
    0.5714
    """
    scores = _risks(risk)
    times, events = read_survival(y, len(scores))
    within = events if tau is None else events & (times < tau)
    pairs = _Pairs.of(times, events, scores, within)
    of_events = _weights(_censoring(y if y_train is None else y_train), times[pairs.rows]) ** 2
    comparable = of_events @ pairs.comparable
    return float(of_events @ pairs.concordant / comparable) if comparable else np.nan


def survival_brier(y: Any, survival: ArrayLike, times: ArrayLike, *, y_train: Any = None) -> Floats:
    """Return the Brier score at each time, weighted for censoring.

    Parameters
    ----------
    y : as in `harrell_c`
        Times and events.
    survival : array-like (n, t)
        Predicted probability of survival at each time.
    times : array-like (t,)
        Ascending times.
    y_train : as y, default=None
        Rows from which the censoring distribution is estimated; None means `y`.

    Returns
    -------
    ndarray (t,)

    Examples
    --------
    >>> y = ([1.0, 2.0, 3.0, 4.0], [True, False, True, True])
    >>> survival_brier(y, [[0.5, 0.0]] * 4, [1.0, 3.0]).round(4).tolist()
    [0.25, 0.375]
    """
    wanted = _times(times)
    predicted = np.asarray(survival, dtype=np.float64)
    rows = read_survival(y, len(predicted))
    if predicted.shape != (len(rows.times), len(wanted)):
        raise ValueError(f"survival must have shape {(len(rows.times), len(wanted))}, got {predicted.shape}.")
    censoring = _censoring(y if y_train is None else y_train)
    dead = rows.events[:, None] & (rows.times[:, None] <= wanted)
    alive = rows.times[:, None] > wanted
    used = rows.events & (rows.times <= wanted[-1])
    of_dead = np.zeros(len(rows.times))
    of_dead[used] = _weights(censoring, rows.times[used])
    of_alive = _weights(censoring, wanted, np.asarray(alive.any(axis=0)))
    losses = dead * of_dead[:, None] * predicted**2 + alive * of_alive * (1 - predicted) ** 2
    return np.asarray(losses.mean(axis=0))


def integrated_brier(y: Any, survival: ArrayLike, times: ArrayLike, *, y_train: Any = None) -> float:
    """Return the Brier score integrated over the times by the trapezoidal rule, divided by their range.

    Parameters
    ----------
    y, survival, times, y_train
        As in `survival_brier`; at least two times.

    Returns
    -------
    float

    Examples
    --------
    >>> y = ([1.0, 2.0, 3.0, 4.0], [True, False, True, True])
    >>> integrated_brier(y, [[0.5, 0.0]] * 4, [1.0, 3.0])
    0.3125
    """
    wanted = _times(times)
    if len(wanted) < 2:
        raise ValueError(f"times must have at least two entries, got {len(wanted)}. Use survival_brier for one.")
    scores = survival_brier(y, survival, wanted, y_train=y_train)
    return float(np.trapezoid(scores, wanted) / (wanted[-1] - wanted[0]))


def dynamic_auc(y: Any, risk: ArrayLike, times: ArrayLike, *, y_train: Any = None) -> DynamicAUC:
    """Return the cumulative/dynamic AUC: how well risks separate the rows with an event until each time.

    Controls are the rows beyond the time; cases are weighted by 1 / G at their own time.

    Parameters
    ----------
    y, times, y_train
        As in `survival_brier`.
    risk : array-like (n,) or (n, t)
        Predicted risks, or a column of risks for each time.

    Returns
    -------
    DynamicAUC
        ``auc`` (t,), NaN at times without cases or controls, and ``mean``, weighted by the falls of the Kaplan–Meier
        estimate of `y` between the times.

    Examples
    --------
    >>> found = dynamic_auc(([1.0, 2.0, 3.0, 4.0], [True, False, True, True]), [4, 3, 1, 2], [1.0, 3.0])
    >>> found.auc.round(4).tolist()
    [1.0, 0.4]
    """
    wanted = _times(times)
    scores = np.asarray(risk, dtype=np.float64)
    rows = read_survival(y, len(scores))
    columns = np.broadcast_to(scores[:, None] if scores.ndim == 1 else scores, (len(scores), len(wanted)))
    censoring = _censoring(y if y_train is None else y_train)
    used = rows.events & (rows.times <= wanted[-1])
    weights = np.zeros(len(rows.times))
    weights[used] = _weights(censoring, rows.times[used])
    auc = np.array(
        [
            _auc(column, weights * (rows.times <= time), rows.times > time)
            for time, column in zip(wanted, columns.T, strict=True)
        ]
    )
    alive = kaplan_meier_at(rows.times, rows.events, wanted)
    falls = -np.diff(alive, prepend=1.0)
    return DynamicAUC(auc, float(auc @ falls / (1 - alive[-1])) if len(auc) > 1 else float(auc[0]))


def d_calibration(y: Any, survival: ArrayLike, *, bins: int = 10) -> DCalibration:
    """Test whether predicted survival at the rows' own times is uniform, as it is for calibrated curves.

    A censored row is spread over the bins below its predicted survival (Haider et al., JMLR 21, 2020).

    Parameters
    ----------
    y : as in `harrell_c`
        Times and events.
    survival : array-like (n,)
        Predicted survival of each row at its own time.
    bins : int, default=10
        Number of bins of equal width.

    Returns
    -------
    DCalibration
        ``counts`` (bins,), from low to high survival, ``statistic`` (chi-squared) and its ``p_value``.

    Examples
    --------
    >>> d_calibration(([1.0, 2.0], [True, True]), [0.9, 0.2], bins=2).counts.tolist()
    [1.0, 1.0]
    """
    at_time = np.asarray(survival, dtype=np.float64)
    events = read_survival(y, len(at_time)).events
    if not ((at_time >= 0) & (at_time <= 1)).all():
        raise ValueError(f"survival must be from 0 to 1, got {at_time[~((at_time >= 0) & (at_time <= 1))][0]}.")
    bounded = np.maximum(at_time, 1e-5)
    bin_of = np.ceil(bins * bounded).astype(np.intp) - 1
    counts = np.bincount(bin_of[events], minlength=bins).astype(np.float64)
    censored, share = bin_of[~events], 1 / (bins * bounded[~events])
    counts += np.bincount(censored, 1 - censored * share, minlength=bins)
    below = np.bincount(censored, share, minlength=bins)
    counts += below.sum() - np.cumsum(below)
    statistic = float(bins / len(events) * ((counts - len(events) / bins) ** 2).sum())
    return DCalibration(counts, statistic, float(chi2.sf(statistic, bins - 1)))


# ---- times and events ----------------------------------------------------------------------------


class SurvivalRows(NamedTuple):
    """Times, causes of events (0 for censored rows) and entries of n rows; entries are None if all rows enter at 0."""

    times: Floats
    causes: NDArray[np.intp]
    entries: Floats | None

    @property
    def events(self) -> Bools:
        """Whether an event was observed."""
        return self.causes > 0


def read_survival(y: Any, n_rows: int | None = None) -> SurvivalTimes:
    """Read times and events, of any cause, from a structured array, a frame, an array or a tuple of arrays."""
    rows = read_rows(y, n_rows)
    return SurvivalTimes(rows.times, rows.events)


def read_rows(y: Any, n_rows: int | None = None) -> SurvivalRows:
    """Read times, causes and entries: two columns, or three with entries."""
    first, second, *more = _columns(y)
    times, events = (second, first) if first.dtype == bool else (first, second)
    times = times.astype(np.float64)
    n_rows = len(times) if n_rows is None else n_rows
    for column in (times, events, *more):
        if len(column) != n_rows:
            raise ValueError(f"X and y must have the same number of rows, got {n_rows} and {len(column)}.")
    if not np.isfinite(times).all() or (times < 0).any():
        bad = times[~np.isfinite(times) | (times < 0)][0]
        raise ValueError(f"times must be finite and >= 0, got {bad:g}. Drop rows without a time.")
    causes = np.asarray(events, dtype=np.float64)
    wrong = ~((causes >= 0) & (causes <= MOST_CAUSES) & (causes == np.floor(causes)))
    if wrong.any():
        raise ValueError(
            f"events must be False or 0 for censored rows, and True or 1 for events; competing causes are 1, 2, … up to"
            f" {MOST_CAUSES}, got {causes[wrong][0]:g}."
        )
    if not causes.any():
        raise ValueError("y must have at least one event, got only censored rows.")
    return SurvivalRows(times, causes.astype(np.intp), _entries(more[0], times) if more else None)


def with_entry(y: Any, entry: ArrayLike | None) -> Any:
    """Return y with a third column of entries; y itself without entries."""
    return y if entry is None else (*_columns(y)[:2], np.asarray(entry, dtype=np.float64))


def concordant_pairs(y: Any, risk: ArrayLike) -> tuple[float, float]:
    """Count the pairs in the right order, ties half, and the comparable pairs; their ratio is Harrell's index."""
    scores = _risks(risk)
    pairs = _Pairs.of(*read_survival(y, len(scores)), scores)
    return float(pairs.concordant.sum()), float(pairs.comparable.sum())


def kaplan_meier_at(
    times: Floats, events: Bools, at: Floats, *, censoring: bool = False, entries: Floats | None = None
) -> Floats:
    """Return the Kaplan–Meier estimate of survival, or of remaining uncensored, at given times.

    Rows with an event at a time are not at risk of censoring at this time. Rows are at risk after their entry.
    """
    distinct, number = np.unique(times, return_inverse=True)
    leaving, dying = np.bincount(number).astype(float), np.bincount(number, events).astype(float)
    at_risk = np.cumsum(leaving[::-1])[::-1]
    if entries is not None:
        at_risk = at_risk - (len(times) - np.searchsorted(np.sort(entries), distinct, side="left"))
    if censoring:
        at_risk, dying = at_risk - dying, leaving - dying
    curve = np.cumprod(1 - np.divide(dying, at_risk, out=np.zeros_like(dying), where=at_risk > 0))
    return np.append(1.0, curve)[np.searchsorted(distinct, at, side="right")]


def _columns(y: Any) -> list[NDArray[Any]]:
    """Return the columns of y as arrays: time and event, and the entry if there is a third one."""
    frame = nw.from_native(y, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        columns = [column.to_numpy() for column in frame.iter_columns()]
    elif isinstance(y, np.ndarray) and y.dtype.names is not None:
        columns = [y[name] for name in y.dtype.names]
    elif isinstance(y, np.ndarray) and y.ndim == 2:
        columns = list(y.T)
    else:
        columns = [np.asarray(column) for column in (y if isinstance(y, list | tuple) else ())]
    if len(columns) not in (2, 3):
        raise ValueError(
            "y must have two columns, the time and whether the event was observed, or three with the time of entry,"
            f" got {len(columns)}."
        )
    return columns


def _entries(given: NDArray[Any], times: Floats) -> Floats | None:
    """Return the entries (n,), checked; None if all rows are at risk from the start."""
    entries = given.astype(np.float64)
    late = ~(entries < times) & (entries > 0)
    if np.isnan(entries).any() or late.any():
        at = np.flatnonzero(np.isnan(entries) | late)[0]
        raise ValueError(
            f"entry must be less than the time of its row, got {entries[at]:g} for the time {times[at]:g}."
            " Drop rows that enter after their time."
        )
    return entries if (entries > 0).any() else None


# ---- weights -------------------------------------------------------------------------------------


def _censoring(y: Any) -> SurvivalTimes:
    """Read the rows from which the censoring distribution is estimated."""
    return read_survival(y)


def _weights(rows: SurvivalTimes, at: Floats, needed: Bools | None = None) -> Floats:
    """Return 1 / G at times (m,); raise if G is zero at a time that is needed."""
    remaining = kaplan_meier_at(rows.times, rows.events, at, censoring=True)
    lost = (remaining <= 0) if needed is None else (remaining <= 0) & needed
    if lost.any():
        raise ValueError(
            f"times must be before all rows of y_train are censored, got {at[lost][0]:g}. Use earlier times or tau."
        )
    return 1 / np.where(remaining > 0, remaining, 1.0)


def _risks(risk: ArrayLike) -> Floats:
    """Return risks (n,) without NaN."""
    scores = np.asarray(risk, dtype=np.float64)
    if scores.ndim != 1 or np.isnan(scores).any():
        raise ValueError(f"risk must have shape (n,) without NaN, got {scores.shape}.")
    return scores


def _times(times: ArrayLike) -> Floats:
    """Return times (t,), which must ascend."""
    wanted = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if wanted.ndim != 1 or not len(wanted) or not (np.diff(wanted) > 0).all():
        raise ValueError("times must be ascending and not empty.")
    return wanted


# ---- pairs ---------------------------------------------------------------------------------------


class _Pairs(NamedTuple):
    """For each event: its row, the number of comparable later rows, and of those in the right order."""

    rows: NDArray[np.intp]
    comparable: Floats
    concordant: Floats

    @classmethod
    def of(cls, times: Floats, events: Bools, risk: Floats, within: Bools | None = None) -> _Pairs:
        """Count the pairs of the events `within`; None means all."""
        order = np.lexsort((events, -times))  # late times first; at equal times censored rows first
        ranks = np.unique(risk, return_inverse=True)[1][order]
        judged = np.flatnonzero((events if within is None else within)[order])
        late, alive = -times[order], ~events[order]
        later = np.searchsorted(late, late[judged], side="left")
        censored = np.concatenate([[0], np.cumsum(alive)])
        same = censored[np.searchsorted(late, late[judged], side="right")] - censored[later]
        below, equal = _count_before(ranks, later + same, ranks[judged])
        return cls(order[judged], (later + same).astype(float), below + 0.5 * equal)


def _count_before(
    ranks: NDArray[np.intp], ends: NDArray[np.intp], values: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Count the entries of ``ranks[:end]`` that are below, and that equal, a value, for each end and value.

    This is a wavelet matrix: each bit, from the highest, sorts the ranks stably by that bit, and every prefix becomes
    a range of either half. All queries go together, so m log m steps are a few array operations per bit.
    """
    begin, end = np.zeros_like(ends), ends.copy()
    below = np.zeros_like(ends)
    for bit in range(int(ranks.max(initial=0)).bit_length() - 1, -1, -1):
        is_one = (ranks >> bit) & 1 == 1
        zeros = np.concatenate([[0], np.cumsum(~is_one)])
        one = (values >> bit) & 1 == 1
        below += np.where(one, zeros[end] - zeros[begin], 0)
        begin = np.where(one, zeros[-1] + begin - zeros[begin], zeros[begin])
        end = np.where(one, zeros[-1] + end - zeros[end], zeros[end])
        ranks = np.concatenate([ranks[~is_one], ranks[is_one]])
    return below, end - begin


def _auc(risk: Floats, cases: Floats, controls: Bools) -> float:
    """Return the probability that a weighted case has a higher risk than a control; ties count half."""
    ranks = np.unique(risk, return_inverse=True)[1]
    of_controls = np.bincount(ranks, controls)
    below = np.cumsum(of_controls) - 0.5 * of_controls
    total = cases.sum() * controls.sum()
    return float(cases @ below[ranks] / total) if total > 0 else np.nan
