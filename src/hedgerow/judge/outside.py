"""Outside: a classifier and its training rows -> how good labels and sets are out of bag, in blocks of rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import rows_to_learn_on, with_probability
from hedgerow.belief.opinion import Opinion
from hedgerow.decisions import decide, resolve_decision
from hedgerow.judge.answer import ClassificationPredictor
from hedgerow.judge.calibration import CrossCalibrated
from hedgerow.judge.evidence import require_certain
from hedgerow.metrics import SetTally, tally_sets

#: Rows whose opinions are in memory at once, in each thread.
BLOCK_ROWS = 16_384


def oob_tally(now: ClassificationPredictor) -> SetTally | None:
    """The answers of a forest -> the tally of the rows that have a judge; None if no row has one.

    It is that of `ClassificationPredictor.try_out`, which has the opinions about all rows in memory.
    """
    evidence, decision = now.oob_evidence(), resolve_decision(now.asked_decision)
    target = now.oob_rows().target
    if not decision.is_ready:  # it is calibrated on the opinions about all rows
        trial, judged = now.try_out(evidence, evidence.rule, now.caution, now.asked_decision)
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
