"""Tune: a fitted forest and settings to try -> how good each setting is on out-of-bag rows."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from hedgerow.judge.answer import ClassificationPredictor
from hedgerow.judge.evidence import CAUTIONS, score_sets
from hedgerow.rules import resolve_rule

__all__ = ["CAUTIONS", "tried"]

_NAMES = ("rule", "caution", "decision")


def tried(now: ClassificationPredictor, metric: Any, over: dict[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    """Values of rule, caution and decision -> all combinations with their scores, best first; no tree is grown again.

    `metric` is a name of `hedgerow.metrics.scorer`, "accuracy", or a function ``metric(y, sets)``; larger is better.
    """
    _check(over)
    evidence, target = now.oob_evidence(), now.oob_rows().target
    results = []
    for values in product(*over.values()):
        setting = dict(zip(over, values, strict=True))
        rule = resolve_rule(setting.get("rule", now.plain_rule))
        caution = float(setting.get("caution", now.caution))
        trial, judged = now.try_out(evidence, rule, caution, setting.get("decision", now.asked_decision))
        y = now.classes[target.labels[judged]]
        results.append((score_sets(metric, now.classes, y, trial.opinion, trial.sets), setting))
    return sorted(results, key=lambda result: -result[0])


def _check(over: dict[str, Any]) -> None:
    """Refuse parameters and values that cannot be tried."""
    unknown = [name for name in over if name not in _NAMES]
    if unknown or not over or not all(len(values) for values in over.values()):
        raise ValueError(
            f"over must map 'rule', 'caution' or 'decision' to non-empty lists, got {over!r}; for other"
            " parameters trees must be grown again, as GridSearchCV does"
        )
    for caution in over.get("caution", []):
        if not (isinstance(caution, int | float | np.number) and caution >= 0):
            raise ValueError(f"caution in over must be a number >= 0, got {caution!r}; list numbers to try")
