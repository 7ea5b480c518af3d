"""Decide, slowly: every decision by its definition, row by row, with linear programmes and all subsets."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

PRECISE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
SOLVED = 1e-9


@dataclass(frozen=True)
class PlainOpinion:
    """The arrays a decision reads, (n, K) each."""

    lower: Any
    upper: Any
    probability: Any
    chosen: Any = None


def lowest_expectation(gamble: NDArray[Any], lower: NDArray[Any], upper: NDArray[Any]) -> float:
    """(K,), (K,), (K,) -> min of gamble.p over the distributions between the bounds."""
    bounds = list(zip(lower, upper, strict=True))
    sums_to_one = np.ones((1, len(gamble)))
    solution = linprog(gamble, A_eq=sums_to_one, b_eq=[1.0], bounds=bounds, method="highs", options=PRECISE)
    assert solution.status == 0, solution.message
    return float(solution.fun)


def tightest_bounds(lower: NDArray[Any], upper: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """(K,), (K,) -> (K,), (K,): smallest and largest probability of each class over the set."""
    each = np.eye(len(lower))
    low = np.array([lowest_expectation(gamble, lower, upper) for gamble in each])
    high = np.array([-lowest_expectation(-gamble, lower, upper) for gamble in each])
    return low, high


def undominated(utility: NDArray[Any], lower: NDArray[Any], upper: NDArray[Any]) -> NDArray[np.bool_]:
    """(A, K), (K,), (K,) -> (A,): b is dropped if some a is worth more at its worst than b at its best."""
    worst = [lowest_expectation(action, lower, upper) for action in utility]
    best = [-lowest_expectation(-action, lower, upper) for action in utility]
    return np.array([all(low <= high + SOLVED for low in worst) for high in best])


def maximal(utility: NDArray[Any], lower: NDArray[Any], upper: NDArray[Any]) -> NDArray[np.bool_]:
    """(A, K), (K,), (K,) -> (A,): b is dropped if some a is worth more under every distribution."""
    return np.array(
        [all(lowest_expectation(rival - action, lower, upper) <= SOLVED for rival in utility) for action in utility]
    )


def admissible(utility: NDArray[Any], lower: NDArray[Any], upper: NDArray[Any]) -> NDArray[np.bool_]:
    """(A, K), (K,), (K,) -> (A,): some distribution makes the action optimal."""
    n_classes = utility.shape[1]
    bounds = [*zip(lower, upper, strict=True), (None, None)]
    kept = []
    for action in utility:
        # Variables p and margin; the largest margin with action.p >= rival.p + margin for every rival.
        rivals = np.column_stack([utility - action, np.ones(len(utility))])
        solution = linprog(
            np.append(np.zeros(n_classes), -1.0),
            A_ub=rivals,
            b_ub=np.zeros(len(rivals)),
            A_eq=np.append(np.ones(n_classes), 0.0)[None],
            b_eq=[1.0],
            bounds=bounds,
            method="highs",
            options=PRECISE,
        )
        assert solution.status == 0, solution.message
        kept.append(-solution.fun >= -SOLVED)
    return np.array(kept)


def best_worth(size_utility: list[float], weight: NDArray[Any], frame_is_sure: bool) -> dict[tuple[int, ...], float]:
    """g(1..K), (K,) -> the worth g(|A|) P(A) of every non-empty set A of classes."""
    n_classes = len(weight)
    worth = {}
    for size in range(1, n_classes + 1):
        for members in combinations(range(n_classes), size):
            belief = 1.0 if frame_is_sure and size == n_classes else float(sum(weight[list(members)]))
            worth[members] = size_utility[size - 1] * belief
    return worth


def baseline_of_cautious_forests(lower: float, upper: float) -> list[bool]:
    """Bounds of class 1 -> chosen, as printed: 1 if lower > 1/2, 0 if upper < 1/2, both otherwise."""
    if lower > 0.5:
        return [False, True]
    if upper < 0.5:
        return [True, False]
    return [True, True]
