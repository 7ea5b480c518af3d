"""Tables: a judgement, and what the reader asked of it -> costs and figures of groups, as numbers and as tables."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from hedgerow.explain.breakdown import Lines, cost_lines, figures_by, group_lines
from hedgerow.explain.report.request import ReportRequest, column_name
from hedgerow.tasks.classification.costs import Costs
from hedgerow.tasks.classification.evaluation import ClassificationEvaluation
from hedgerow.tasks.regression.evaluation import RegressionEvaluation


def class_tables(
    judged: ClassificationEvaluation | None, asked: ReportRequest, classes: NDArray[Any]
) -> tuple[dict[str, Any], list[Lines]]:
    """A judgement of classes, and their own names (K,) -> figures of groups and costs; none if nothing is judged."""
    found, tables = group_tables(judged, asked)
    if judged is not None and asked.costs is not None:
        found["costs"] = judged.costs(Costs.of(asked.costs, classes))
        tables.insert(0, cost_lines(found["costs"]))
    return found, tables


def group_tables(
    judged: ClassificationEvaluation | RegressionEvaluation | None, asked: ReportRequest
) -> tuple[dict[str, Any], list[Lines]]:
    """A judgement -> the figures of groups; none if nothing is judged."""
    if judged is None or not asked.by:
        return {}, []
    by, labels = figures_by(judged, asked.by), asked.labels or {}
    tables = [
        group_lines(
            column_name(name, labels), {labels.get(name, {}).get(group, group): groups[group] for group in groups}
        )
        for name, groups in by.items()
    ]
    return {"by": by}, tables
