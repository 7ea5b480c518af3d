"""Groups: codes of rows and a decision that makes a promise for each group -> the group of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.decisions import Decision, resolve_decision
from hedgerow.judge.fitted import Fitted
from hedgerow.table.bins import Codes

#: A column with more distinct values has no groups for which something could be promised.
MOST_GROUPS = 100


def groups_in(fitted: Fitted, codes: Codes, decision: str | Decision) -> NDArray[np.str_] | None:
    """Codes (p, n) -> the group of each row as text (n,), "" for missing; None if the decision has no groups."""
    column = group_column(fitted, decision)
    if column is None:
        return None
    codebook, n_values = fitted.codebook, int(fitted.bins.n_bins[column])
    names = [str(codebook.value_of_code(column, code)) for code in range(n_values)]
    found: NDArray[np.str_] = np.array([*names, ""])[np.minimum(codes[column], n_values)]
    return found


def group_column(fitted: Fitted, decision: str | Decision) -> int | None:
    """The number of the column whose values are the groups of a decision; None if it has no groups."""
    groups = None if isinstance(decision, str) else resolve_decision(decision).groups
    if groups is None:
        return None
    column = _column_of(fitted, groups)
    if fitted.bins.n_bins[column] > MOST_GROUPS:
        raise ValueError(
            f"groups must name a column with at most {MOST_GROUPS} distinct values, got {groups!r} with"
            f" {int(fitted.bins.n_bins[column])}; add a column that cuts it into a few ranges, and fit again"
        )
    return column


def _column_of(fitted: Fitted, groups: Any) -> int:
    """The name or number of a column -> its number."""
    names, n_features = fitted.codebook.names, fitted.schema.n_features
    if isinstance(groups, str) and groups in names:
        return names.index(groups)
    if isinstance(groups, int | np.integer) and not isinstance(groups, bool) and 0 <= groups < n_features:
        return int(groups)
    some = ", ".join(map(repr, names[:10])) + (" …" if len(names) > 10 else "")
    raise ValueError(f"groups must be the name or number of one of the {n_features} columns, {some}, got {groups!r}")
