"""Newcomers: a fitted forest and new rows -> whether they are of the same kind as the training rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.rows import spread_evenly
from hedgerow.judge.base import Predictor
from hedgerow.judge.drift import Drift, Sample, find_drift
from hedgerow.table.bins import Codes

#: At most this many old rows and this many new rows, evenly spread, are compared.
DRIFT_ROWS = 20_000


class Newcomers(NamedTuple):
    """Rows: codes (p, n), labels (n,) or None, their numbers among all rows (n,), and their judges or None."""

    codes: Codes
    labels: NDArray[Any] | None
    rows: NDArray[np.int64]
    oob_mask: NDArray[np.bool_] | None = None


def compare(
    now: Predictor, new: Newcomers, reference: Newcomers | None, classes: NDArray[Any] | None, **options: Any
) -> Drift:
    """Compare new rows with the training rows, each in the trees whose bags do not hold it, or with a reference."""
    old = _training_rows(now, new.labels is not None) if reference is None else reference
    if old.oob_mask is not None:
        new = _as_later(now, new)
    samples = (_sample_of(now, rows) for rows in (old, new))
    return find_drift(now.fitted.trees(), *samples, classes=classes, **options)


def newcomers(codes: Codes, labels: NDArray[Any] | None) -> Newcomers:
    """Codes (p, n) and labels (n,) -> at most `DRIFT_ROWS` of these rows."""
    some = spread_evenly(codes.shape[1], DRIFT_ROWS)
    return Newcomers(np.ascontiguousarray(codes[:, some]), None if labels is None else labels[some], some)


def _training_rows(now: Predictor, labelled: bool) -> Newcomers:
    """The training rows, each with its judges."""
    rows = now.fitted.oob_rows
    if rows is None:
        raise ValueError(
            "reference must be given if a forest draws no bags or has not kept its training rows, got None; pass"
            " old rows that were not used to grow the trees"
        )
    some = spread_evenly(rows.n_rows, DRIFT_ROWS)
    oob_mask = rows.bags.outside_each(now.forest.n_trees, some)
    labels = rows.target.truth[some] if labelled else None
    return Newcomers(rows.codes_of(some), labels, some, oob_mask)


def _as_later(now: Predictor, new: Newcomers) -> Newcomers:
    """New rows with judges that are drawn as if they were training rows, so that they have as many judges as these."""
    rows = now.fitted.oob_rows
    assert rows is not None
    return new._replace(oob_mask=rows.bags.outside_each(now.forest.n_trees, rows.n_rows + new.rows))


def _sample_of(now: Predictor, rows: Newcomers) -> Sample:
    nodes = now.forest.leaf_nodes(rows.codes, now.threads(rows.codes.shape[1]))
    return Sample(nodes, rows.oob_mask, rows.labels)
