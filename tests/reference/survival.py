"""Survival by definition: estimates, bounds, tests of splits and metrics, one loop per sum."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def steps(time: Any, event: Any, entry: Any = None) -> tuple[Floats, Floats, Floats]:
    """Distinct times, events at each, and rows at risk just before each."""
    time, event = np.asarray(time, float), np.asarray(event, bool)
    entry = np.full(len(time), -np.inf) if entry is None else np.asarray(entry, float)
    distinct = np.unique(time)
    died = np.array([(event & (time == each)).sum() for each in distinct], dtype=float)
    at_risk = np.array([((time >= each) & (entry < each)).sum() for each in distinct], dtype=float)
    return distinct, died, at_risk


def rows_after(time: Any, at: Any, entry: Any = None) -> Floats:
    """Rows at risk just after each time."""
    entry = np.full(len(time), -np.inf) if entry is None else np.asarray(entry, float)
    return np.array([((np.asarray(time) > each) & (entry <= each)).sum() for each in np.atleast_1d(at)], dtype=float)


def at_times(distinct: Floats, values: Any, at: Any, before: float) -> Floats:
    """The last value of a step function at each time."""
    place = np.searchsorted(distinct, np.atleast_1d(at), side="right")
    return np.concatenate([[before], values])[place]


def kaplan_meier(time: Any, event: Any, at: Any, entry: Any = None) -> Floats:
    """The product of 1 - d / n."""
    distinct, died, at_risk = steps(time, event, entry)
    return at_times(distinct, np.cumprod(1 - died / at_risk), at, 1.0)


def nelson_aalen(time: Any, event: Any, at: Any, entry: Any = None) -> Floats:
    """The sum of d / n."""
    distinct, died, at_risk = steps(time, event, entry)
    return at_times(distinct, np.cumsum(died / at_risk), at, 0.0)


def bounds(time: Any, event: Any, s: float, at: Any, entry: Any = None) -> tuple[Floats, Floats]:
    """Lower and upper survival of the imprecise Dirichlet process of strength s."""
    distinct, died, at_risk = steps(time, event, entry)
    upper = at_times(distinct, np.cumprod((s + at_risk - died) / (s + at_risk)), at, 1.0)
    after = rows_after(time, at, entry)
    return upper * after / (s + after), upper


def incidence(time: Any, cause: Any, at: Any, n_causes: int, s: float = 0.0, entry: Any = None) -> Floats:
    """Cumulative incidence of each cause: Aalen–Johansen, or the lower one with strength s, (t, C)."""
    distinct, _, at_risk = steps(time, np.asarray(cause) > 0, entry)
    before, sums, found = 1.0, np.zeros(n_causes), []
    for each, n in zip(distinct, at_risk, strict=True):
        died = np.array([((time == each) & (cause == k)).sum() for k in range(1, n_causes + 1)], dtype=float)
        sums = sums + before * died / (s + n)
        before *= 1 - died.sum() / (s + n)
        found.append(sums)
    place = np.searchsorted(distinct, np.atleast_1d(at), side="right")
    return np.vstack([np.zeros((1, n_causes)), found])[place]


def posterior_mean(cells: int, prior: Floats, data: list[list[int]]) -> Floats:
    """Posterior mean of a Dirichlet distribution on cells; a row may lie in any of its cells."""
    mean, total = np.zeros(cells), 0.0
    for choice in itertools.product(*data):
        counts, weight = list(prior), 1.0
        for cell in choice:
            weight *= counts[cell]
            counts[cell] += 1
        mean += weight * np.array(counts) / (sum(prior) + len(data))
        total += weight
    return mean / total


def log_rank(left: Any, time: Any, event: Any, weights: Any = None, entry: Any = None) -> float:
    """U² / V of two groups."""
    weight = np.ones(len(time)) if weights is None else weights
    entry = np.full(len(time), -np.inf) if entry is None else entry
    difference = variance = 0.0
    for each in np.unique(time[event]):
        at_risk, dies = (time >= each) & (entry < each), (time == each) & event
        n, n_left = weight[at_risk].sum(), weight[at_risk & left].sum()
        d, d_left = weight[dies].sum(), weight[dies & left].sum()
        difference += d_left - n_left * d / n
        if n > 1:
            variance += d * (n - d) * n_left * (n - n_left) / (n**2 * (n - 1))
    return float(difference**2 / variance) if variance > 0 else 0.0


# ---- metrics -------------------------------------------------------------------------------------


def censoring(train: Any, at: Any) -> Floats:
    """Kaplan–Meier of remaining uncensored; rows with an event at a time are not at risk of censoring then."""
    time, event = train
    distinct = np.unique(time[~event])
    factors = []
    for each in distinct:
        ends = ((time == each) & ~event).sum()
        factors.append(1 - ends / ((time > each).sum() + ends))
    return at_times(distinct, np.cumprod(factors), at, 1.0)


def comparable(time: Any, event: Any, row: int) -> NDArray[np.bool_]:
    """Rows that are known to live longer than an event row."""
    return (time > time[row]) | ((time == time[row]) & ~event)


def harrell(time: Any, event: Any, risk: Any) -> float:
    """Harrell's C by all pairs."""
    right = pairs = 0.0
    for row in np.flatnonzero(event):
        others = comparable(time, event, row)
        pairs += others.sum()
        right += (risk[row] > risk[others]).sum() + 0.5 * (risk[row] == risk[others]).sum()
    return float(right / pairs)


def uno(train: Any, test: Any, risk: Any, tau: float = math.inf) -> float:
    """Uno's C by all pairs."""
    time, event = test
    remaining = censoring(train, time)
    right = pairs = 0.0
    for row in np.flatnonzero(event & (time < tau)):
        others, weight = comparable(time, event, row), remaining[row] ** -2
        pairs += weight * others.sum()
        right += weight * ((risk[row] > risk[others]).sum() + 0.5 * (risk[row] == risk[others]).sum())
    return float(right / pairs)


def brier(train: Any, test: Any, survival: Any, at: Any) -> Floats:
    """Brier scores, row by row."""
    time, event = test
    own, of_time = censoring(train, time), censoring(train, at)
    scores = []
    for column, each in enumerate(at):
        total = 0.0
        for row in range(len(time)):
            if time[row] > each:
                total += (1 - survival[row, column]) ** 2 / of_time[column]
            elif event[row]:
                total += survival[row, column] ** 2 / own[row]
        scores.append(total / len(time))
    return np.array(scores)


def auc(train: Any, test: Any, risk: Any, at: Any) -> Floats:
    """Cumulative/dynamic AUC by all pairs."""
    time, event = test
    remaining, found = censoring(train, time), []
    for each in at:
        right = total = 0.0
        for case in np.flatnonzero((time <= each) & event):
            for control in np.flatnonzero(time > each):
                right += ((risk[case] > risk[control]) + 0.5 * (risk[case] == risk[control])) / remaining[case]
                total += 1 / remaining[case]
        found.append(right / total if total else np.nan)
    return np.array(found)


def d_calibration(survival: Any, event: Any, bins: int = 10) -> Floats:
    """Counts of bins, row by row."""
    counts = np.zeros(bins)
    for own, seen in zip(np.maximum(survival, 1e-5), event, strict=True):
        number = math.ceil(bins * own)
        if seen:
            counts[number - 1] += 1
        else:
            counts[: number - 1] += 1 / (bins * own)
            counts[number - 1] += 1 - (number - 1) / (bins * own)
    return counts
