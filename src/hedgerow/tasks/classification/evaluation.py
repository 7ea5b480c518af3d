"""Outside: a classifier and its training rows -> how good labels and sets are out of bag, in blocks of rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import rows_to_learn_on, with_probability
from hedgerow.belief.opinion import Opinion
from hedgerow.decisions import decide, resolve_decision
from hedgerow.inference.calibration import CrossCalibrated
from hedgerow.inference.evidence import CAUTIONS, require_certain, score_sets
from hedgerow.metrics import SetTally, tally_sets
from hedgerow.rules import resolve_rule
from hedgerow.tasks.classification.predictor import ClassificationPredictor

#: Rows whose opinions are in memory at once, in each thread.
BLOCK_ROWS = 16_384


def oob_tally(now: ClassificationPredictor) -> SetTally | None:
    """The answers of a forest -> the tally of the rows that have a judge; None if no row has one.

    It is that of `ClassificationPredictor.try_out`, which has the opinions about all rows in memory.
    """
    evidence, decision = now.oob_evidence(), resolve_decision(now.given_decision)
    target = now.oob_rows().target
    if not decision.is_ready:  # it is calibrated on the opinions about all rows
        trial, judged = now.try_out(evidence, evidence.rule, now.caution, now.given_decision)
        return _tally(now, target.labels[judged], trial.opinion, trial.sets) if judged.any() else None
    require_certain(evidence.known)
    rows = np.flatnonzero(evidence.judged & evidence.known)
    if not len(rows):
        return None
    opinion_of = evidence.as_forest().combine_some(now.weights)
    maps = None
    if now.is_calibrated:
        some = rows[rows_to_learn_on(len(rows), len(now.classes))]
        weights = None if target.sure_weights is None else target.sure_weights[some]
        maps = CrossCalibrated.learned_on(some, opinion_of(some).probability, target.labels[some], weights)

    def tally_of(part: NDArray[np.int64]) -> SetTally:
        opinion = opinion_of(part)
        if maps is not None and not maps.learned.why:
            opinion = with_probability(opinion, maps.of(opinion.probability, part))
        if evidence.groups is not None:
            opinion = replace(opinion, groups=evidence.groups[part])
        return _tally(now, target.labels[part], opinion, decide(opinion, decision))

    with ThreadPoolExecutor(now.threads(len(rows))) as pool:
        first, *others = pool.map(tally_of, np.split(rows, range(BLOCK_ROWS, len(rows), BLOCK_ROWS)))
    return sum(others, start=first)


def _tally(now: ClassificationPredictor, labels: NDArray[Any], opinion: Opinion, sets: NDArray[np.bool_]) -> SetTally:
    """Class numbers (n,), opinion and sets of n rows -> tally."""
    numbers = np.arange(len(now.classes))
    found = tally_sets(labels, opinion.probability.argmax(axis=1), sets, classes=numbers)
    return replace(found, classes=now.classes)


__all__ = ["CAUTIONS", "tried"]

_NAMES = ("rule", "caution", "decision")


def tried(now: ClassificationPredictor, metric: Any, over: dict[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    """Values of rule, caution and decision -> all combinations with their scores, best first; no tree is grown again.

    `metric` is a name of `hedgerow.metrics.scorer`, "accuracy", or a function ``metric(y, sets)``; larger is better.
    """
    _check(over)
    evidence, target, calibrator = now.oob_evidence(), now.oob_rows().target, now.cross_calibration()
    results = []
    for values in product(*over.values()):
        setting = dict(zip(over, values, strict=True))
        rule = resolve_rule(setting.get("rule", now.plain_rule))
        caution = float(setting.get("caution", now.caution))
        decision = setting.get("decision", now.given_decision)
        trial, judged = now.try_out(evidence, rule, caution, decision, calibrator=calibrator)
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
