"""Programme: an action and a credal set -> the largest margin by which some distribution prefers it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import block_diag, csr_array

from hedgerow.decisions.intervals import Floats

#: How many programmes are solved at once, as independent blocks of one, so that the overhead is paid once.
BLOCK = 128

#: Tolerance of the solver HiGHS; its default of 1e-7 is too coarse to recognise a tie.
PRECISE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def largest_margins(utility: Floats, action: NDArray[np.intp], lower: Floats, upper: Floats) -> Floats:
    """(A, K), (m,), (m, K), (m, K) -> (m,): max over p of min over b of p.(utility[a] - utility[b]), or 0."""
    margins = np.zeros(len(action))
    for start in range(0, len(action), BLOCK):
        block = slice(start, start + BLOCK)
        margins[block] = _block_margins(utility, action[block], lower[block], upper[block])
    return margins


def _block_margins(utility: Floats, action: NDArray[np.intp], lower: Floats, upper: Floats) -> Floats:
    """(A, K), (m,), (m, K), (m, K) -> (m,): one linear programme whose variables are (p, margin), m times."""
    n_questions, n_classes = lower.shape
    total = np.clip(1.0, lower.sum(axis=1), upper.sum(axis=1))
    bounds = np.full((n_questions, n_classes + 1, 2), (-np.inf, 0.0))
    bounds[:, :-1, 0], bounds[:, :-1, 1] = lower, upper
    rivals = [_rival_rows(utility, int(a)) for a in action]
    one_sum = csr_array(np.append(np.ones(n_classes), 0.0)[None])
    solution = linprog(
        np.tile(np.append(np.zeros(n_classes), -1.0), n_questions),
        A_ub=block_diag(rivals, format="csr"),
        b_ub=np.zeros(sum(rows.shape[0] for rows in rivals)),
        A_eq=block_diag([one_sum] * n_questions, format="csr"),
        b_eq=total,
        bounds=bounds.reshape(-1, 2),
        method="highs",
        options=PRECISE,
    )
    if solution.status != 0:
        raise RuntimeError(
            f"the linear programme of E-admissibility must have a solution, got: {solution.message}; "
            "use maximality, which needs no linear programme, and report the utility matrix"
        )
    margins: Floats = solution.x.reshape(n_questions, n_classes + 1)[:, -1]
    return margins


def _rival_rows(utility: Floats, action: int) -> csr_array:
    """(A, K), a -> (A - 1, K + 1): margin <= p.(utility[a] - utility[b]) for each rival b."""
    worse = np.delete(utility, action, axis=0) - utility[action]
    return csr_array(np.column_stack([worse, np.ones(len(worse))]))
