"""Decision rules on credal sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import block_diag, csr_array

from hedgerow.decisions.base import (
    TIE,
    ActionDecision,
    Bools,
    Checked,
    Floats,
    best_distribution,
    checked_utility,
    lower_expectation,
    shared_out,
    tie_of,
    upper_expectation,
)

#: Margins of the linear programme up to this share of the largest difference of utilities are ties.
MARGIN = 1e-9

#: Programmes solved at once, as independent blocks of one, to pay the overhead once.
BLOCK = 128

#: Tolerances of the HiGHS solver; its default of 1e-7 is too coarse to recognise a tie.
PRECISE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Dominance(ActionDecision):
    """Interval dominance: drop class b if some class a has ``lower[a] > upper[b]``.

    With two classes this is the baseline of cautious forests: class 1 if its lower probability is above 1/2, class 0 if
    the upper probability of class 1 is below 1/2, both otherwise. A tie (to 1e-12) drops no class, so both classes
    remain if a bound is exactly 1/2.

    Parameters
    ----------
    utility : mapping of str to array-like (K,), array-like (A, K) or None
        Utility of each action if each class is true. Action b is dropped if the lower expected utility of some action a
        is above the upper expected utility of b. None means one action per class, of utility 1 if that class is true.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> opinion = SimpleNamespace(lower=[[0.6, 0.1], [0.4, 0.3]], upper=[[0.9, 0.4], [0.7, 0.6]],
    ...                           probability=[[0.8, 0.2], [0.6, 0.4]])
    >>> Dominance().choose(opinion).tolist()
    [[True, False], [True, True]]
    """

    page = "dominance"

    def pick(self, opinion: Checked) -> Bools:
        """Return the undominated classes, or actions with a utility matrix."""
        lower, upper = opinion.bounds
        if self.utility is None:
            return _undominated(lower, upper, TIE)
        utility = checked_utility(self.utility, lower.shape[1])
        worst, best = lower_expectation(utility, lower, upper), upper_expectation(utility, lower, upper)
        return _undominated(worst, best, tie_of(utility))

    @property
    def by_bounds(self) -> bool:
        """True without a utility matrix."""
        return not self.has_actions


class Maximality(ActionDecision):
    """Maximality: drop class b if a class a is better under every distribution.

    That is, b is dropped if the lower expectation of ``utility[a] - utility[b]`` is above 0. Without a utility matrix
    this equals interval dominance on reachable intervals; with one it drops more. A tie (to 1e-12) drops no class.

    Parameters
    ----------
    utility : mapping of str to array-like (K,), array-like (A, K) or None
        Utility of each action if each class is true. None means one action per class, of utility 1 if that class is
        true.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> opinion = SimpleNamespace(lower=[[0.4, 0.3]], upper=[[0.7, 0.6]], probability=[[0.6, 0.4]])
    >>> Maximality().choose(opinion).tolist()
    [[True, True]]
    >>> Maximality(utility=[[1, 0], [0.9, -0.2]]).choose(opinion).tolist()
    [[True, False]]
    """

    page = "dominance"  # the same without a utility matrix

    def pick(self, opinion: Checked) -> Bools:
        """Return the maximal classes, or actions with a utility matrix."""
        lower, upper = opinion.bounds
        if self.utility is None:
            # Between reachable bounds p_a = lower_a and p_b = upper_b are attained together: the other
            # classes must take 1 - lower_a - upper_b, which lies between their summed lower bounds
            # (upper_b is reachable: upper_b + sum of the other lower <= 1) and their summed upper bounds
            # (lower_a is reachable: lower_a + sum of the other upper >= 1). Hence the lower expectation
            # of 1_a - 1_b is lower_a - upper_b, and maximality is interval dominance.
            return _undominated(lower, upper, TIE)
        return _maximal(checked_utility(self.utility, lower.shape[1]), lower, upper)

    @property
    def by_bounds(self) -> bool:
        """True without a utility matrix."""
        return not self.has_actions


class EAdmissibility(ActionDecision):
    """E-admissibility: keep class a if it is optimal under some distribution.

    This keeps the fewest classes of the three credal decisions: E-admissible classes are maximal, and maximal classes
    are not dominated. Without a utility matrix the result has a closed form. With one, a linear programme (HiGHS) is
    solved for each action that maximality does not exclude and that no known distribution makes optimal. Tied classes
    are kept; a tie is a difference of up to 1e-12 in the closed form, and of up to 1e-9 of the largest difference of
    utilities in the linear programme.

    Parameters
    ----------
    utility : mapping of str to array-like (K,), array-like (A, K) or None
        Utility of each action if each class is true. None means one action per class, of utility 1 if that class is
        true.

    Examples
    --------
    The third class is not dominated. But even at its largest probability, 0.25, another class must be more probable.

    >>> from types import SimpleNamespace
    >>> opinion = SimpleNamespace(lower=[[0.2, 0.2, 0.1]], upper=[[0.7, 0.7, 0.25]],
    ...                           probability=[[0.4, 0.4, 0.2]])
    >>> Dominance().choose(opinion).tolist(), EAdmissibility().choose(opinion).tolist()
    ([[True, True, True]], [[True, True, False]])
    """

    page = "e_admissibility"

    def pick(self, opinion: Checked) -> Bools:
        """Return the E-admissible classes, or actions with a utility matrix."""
        lower, upper = opinion.bounds
        if self.utility is None:
            return _admissible_classes(lower, upper)
        return _admissible_actions(checked_utility(self.utility, lower.shape[1]), lower, upper)

    @property
    def follows_dominance(self) -> bool:
        """True without a utility matrix.

        If p_a = lower_a and p_b = upper_b >= lower_a, a is not the only optimum.
        """
        return not self.has_actions


def _undominated(lower: Floats, upper: Floats, tie: float) -> Bools:
    """Return actions whose upper value is not below the largest lower value."""
    if type(upper) is np.ndarray and len(upper) == 1:  # plain numbers take a third of the time
        least = max(lower[0].tolist()) - tie
        return np.array([[value >= least for value in upper[0].tolist()]])
    kept: Bools = upper >= lower.max(axis=1, keepdims=True) - tie
    return kept


def _maximal(utility: Floats, lower: Floats, upper: Floats) -> Bools:
    """Return the actions that no other beats under every distribution, (n, A)."""
    tie = tie_of(utility)
    kept = np.ones((len(lower), len(utility)), dtype=bool)
    for rival in utility:
        kept &= lower_expectation(rival - utility, lower, upper) <= tie
    return kept


def _admissible_classes(lower: Floats, upper: Floats) -> Bools:
    """Return classes that are optimal for some distribution between the bounds."""
    # Class a is optimal for some p of the set iff there is a value t of p_a in [lower_a, upper_a] such
    # that the others fit under it: lower_j <= t, and 1 - t lies between sum_{j != a} lower_j and
    # sum_{j != a} min(upper_j, t). Since upper_a is reachable, the former holds for every t <= upper_a.
    # The other two conditions are t >= max lower and t + sum_{j != a} min(upper_j, t) >= 1. If some t satisfies them,
    # every larger t does, so it is enough to check t = upper_a:
    #     upper_a >= max_j lower_j   and   sum_j min(upper_j, upper_a) >= 1.
    ordered = np.sort(upper, axis=1)
    n_classes = upper.shape[1]
    summed = np.cumsum(ordered, axis=1)
    above = np.arange(n_classes - 1, -1, -1)
    under_the_cap = summed + ordered * above
    capped = np.zeros_like(upper)
    np.put_along_axis(capped, np.argsort(upper, axis=1, kind="stable"), under_the_cap, axis=1)
    # The class of the largest upper bound is always kept, even if rounded bounds sum to a little less than 1.
    needed = np.minimum(1.0, summed[:, -1:])
    kept: Bools = _undominated(lower, upper, TIE) & (capped >= needed - TIE)
    return kept


def _admissible_actions(utility: Floats, lower: Floats, upper: Floats) -> Bools:
    """Return actions that are optimal for some distribution between the bounds."""
    tie = tie_of(utility)
    points = [shared_out(lower, upper)]
    points += [best_distribution(action, lower, upper) for action in utility]
    known = np.zeros((len(lower), len(utility)), dtype=bool)
    for point in points:
        expected = np.einsum("nk,ak->na", point, utility)
        known |= expected >= expected.max(axis=1, keepdims=True) - tie
    row, action = np.nonzero(_maximal(utility, lower, upper) & ~known)
    scaled = utility / max(float(np.ptp(utility, axis=0).max()), np.finfo(np.float64).tiny)
    known[row, action] = largest_margins(scaled, action, lower[row], upper[row]) >= -MARGIN
    return known


def largest_margins(utility: Floats, action: NDArray[np.intp], lower: Floats, upper: Floats) -> Floats:
    """Return max over p of min over b of p.(utility[a] - utility[b]), or 0."""
    margins = np.zeros(len(action))
    for start in range(0, len(action), BLOCK):
        block = slice(start, start + BLOCK)
        margins[block] = _block_margins(utility, action[block], lower[block], upper[block])
    return margins


def _block_margins(utility: Floats, action: NDArray[np.intp], lower: Floats, upper: Floats) -> Floats:
    """Solve m programmes with variables (p, margin) as one."""
    n_programmes, n_classes = lower.shape
    total = np.clip(1.0, lower.sum(axis=1), upper.sum(axis=1))
    bounds = np.full((n_programmes, n_classes + 1, 2), (-np.inf, 0.0))
    bounds[:, :-1, 0], bounds[:, :-1, 1] = lower, upper
    rivals = [_rival_rows(utility, int(a)) for a in action]
    one_sum = csr_array(np.append(np.ones(n_classes), 0.0)[None])
    solution = linprog(
        np.tile(np.append(np.zeros(n_classes), -1.0), n_programmes),
        A_ub=block_diag(rivals, format="csr"),
        b_ub=np.zeros(sum(rows.shape[0] for rows in rivals)),
        A_eq=block_diag([one_sum] * n_programmes, format="csr"),
        b_eq=total,
        bounds=bounds.reshape(-1, 2),
        method="highs",
        options=PRECISE,
    )
    if solution.status != 0:
        raise RuntimeError(
            f"linear programme of E-admissibility failed: {solution.message}. "
            "Use decision='maximality' and report the utility matrix."
        )
    margins: Floats = solution.x.reshape(n_programmes, n_classes + 1)[:, -1]
    return margins


def _rival_rows(utility: Floats, action: int) -> csr_array:
    """Return the rows of margin <= p.(utility[a] - utility[b]) for each rival b."""
    worse = np.delete(utility, action, axis=0) - utility[action]
    return csr_array(np.column_stack([worse, np.ones(len(worse))]))
