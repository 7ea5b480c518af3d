"""Tables of costs and of metrics by group."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from hedgerow.explain.breakdown import Lines, cost_lines, figures_by, group_lines
from hedgerow.explain.report.request import ReportRequest, column_name
from hedgerow.tasks.classification.costs import Costs
from hedgerow.tasks.classification.evaluation import ClassificationEvaluation
from hedgerow.tasks.regression.evaluation import RegressionEvaluation


def class_tables(
    evaluated: ClassificationEvaluation | None, request: ReportRequest, classes: NDArray[Any]
) -> tuple[dict[str, Any], list[Lines]]:
    """A judgement of classes, and their own names (K,) -> figures of groups and costs; none if nothing is judged."""
    found, tables = group_tables(evaluated, request)
    if evaluated is not None and request.costs is not None:
        found["costs"] = evaluated.costs(Costs.of(request.costs, classes))
        tables.insert(0, cost_lines(found["costs"]))
    return found, tables


def group_tables(
    evaluated: ClassificationEvaluation | RegressionEvaluation | None, request: ReportRequest
) -> tuple[dict[str, Any], list[Lines]]:
    """A judgement -> the figures of groups; none if nothing is judged."""
    if evaluated is None or not request.by:
        return {}, []
    by, labels = figures_by(evaluated, request.by), request.labels or {}
    tables = [
        group_lines(
            column_name(name, labels), {labels.get(name, {}).get(group, group): groups[group] for group in groups}
        )
        for name, groups in by.items()
    ]
    return {"by": by}, tables
