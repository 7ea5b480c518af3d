"""Out-of-bag metrics of a classifier, and groups of decisions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import Calibration
from hedgerow.decisions import Decision, resolve_decision
from hedgerow.forest.grow import TrainingRows
from hedgerow.inference.calibration import cross_calibrated, given_to_calibrators
from hedgerow.inference.evidence import Evidence, Trial, require_certain, score_sets
from hedgerow.inference.fitted import Fitted
from hedgerow.table.bins import Codes

Floats = NDArray[np.float64]


def needs_trial(metric: Any) -> bool:
    """Return whether a metric needs prediction sets and not only labels."""
    return not (metric is True or metric == "accuracy" or callable(metric))


def oob_metrics(
    metric: Any,
    classes: NDArray[Any],
    rows: TrainingRows,
    evidence: Evidence,
    trial: Trial,
    used: NDArray[np.bool_],
    calibration: Calibration,
) -> tuple[float, Floats]:
    """Return ``oob_score_`` and ``oob_decision_function_`` of a trial."""
    if calibration.why or (used != evidence.is_covered).any():
        opinion = evidence.combine(weights=trial.weights)
        probability = calibration.of(given_to_calibrators(opinion, evidence.rule.views))
    else:  # rows that are not in the trial are in all bags
        probability = np.zeros((len(used), len(classes)))
    if not calibration.why:
        probability[used] = trial.opinion.probability
    score = _score(metric, classes[rows.target.labels][used], classes, probability[used], trial)
    return score, _probability_of_all(rows, evidence, probability, trial.weights, calibration)


def soft_label_metrics(
    metric: Any, classes: NDArray[Any], rows: TrainingRows, evidence: Evidence, calibration: Calibration
) -> tuple[float, Floats]:
    """Compute `oob_metrics` for a metric of labels, with one (n, K) array in memory.

    The result is bitwise identical.
    """
    require_certain(evidence.known)
    used, labels = evidence.is_covered & evidence.known, rows.target.labels
    probability = evidence.as_forest().probability()
    if not calibration.why:
        cross_calibrated(probability, np.flatnonzero(used), labels, rows.target.sure_weights, rows.groups)
        if (unsure := evidence.is_covered & ~used).any():
            probability[unsure] = calibration.of(evidence.probability()[unsure])
    y, label = classes[labels[used]], probability.argmax(axis=1)
    score = np.nan  # if every row is in the bags of all trees
    if len(y) and not callable(metric):
        score = float(np.mean(classes[label[used]] == y))
    if calibration.why:
        probability = evidence.probability()
    if len(y) and callable(metric):
        score = float(metric(y, classes[probability.argmax(axis=1)[used]]))
    return score, _probability_of_all(rows, evidence, probability, None, calibration)


def _score(metric: Any, y: NDArray[Any], classes: NDArray[Any], probability: Floats, trial: Trial) -> float:
    """Return ``oob_score_``; NaN without out-of-bag rows of certain class."""
    if not len(y):
        return np.nan
    if callable(metric):
        return float(metric(y, classes[probability.argmax(axis=1)]))
    return score_sets("accuracy" if metric is True else metric, classes, y, trial.opinion, trial.sets)


def _probability_of_all(
    rows: TrainingRows, evidence: Evidence, probability: Floats, weights: Floats | None, calibration: Calibration
) -> Floats:
    """Return ``oob_decision_function_``, (m, K), for all rows passed to `fit`."""
    probability[~evidence.is_covered] = 1 / probability.shape[1]
    if rows.kept is None:
        return probability
    # Rows without weight are in no bag, so all trees predict them.
    everyone = replace(evidence, codes=rows.all_codes, oob_mask=None)
    of_all = calibration.of(given_to_calibrators(everyone.combine(weights=weights), evidence.rule.views))
    of_all[rows.kept] = probability
    return of_all


#: Largest number of distinct values of a group column; more leave too few rows per group.
MOST_GROUPS = 100


def groups_in(fitted: Fitted, codes: Codes, decision: str | Decision) -> NDArray[np.str_] | None:
    """Return the group of each row as text, (n,), "" if missing; None without groups."""
    column = group_column(fitted, decision)
    if column is None:
        return None
    codebook, n_values = fitted.codebook, int(fitted.bins.n_bins[column])
    names = [str(codebook.value_of_code(column, code)) for code in range(n_values)]
    found: NDArray[np.str_] = np.array([*names, ""])[np.minimum(codes[column], n_values)]
    return found


def group_column(fitted: Fitted, decision: str | Decision) -> int | None:
    """Return the index of the group column of a decision; None without groups."""
    groups = None if isinstance(decision, str) else resolve_decision(decision).groups
    if groups is None:
        return None
    column = _column_of(fitted, groups)
    if fitted.bins.n_bins[column] > MOST_GROUPS:
        raise ValueError(
            f"groups must name a column with at most {MOST_GROUPS} distinct values, got {groups!r} with"
            f" {int(fitted.bins.n_bins[column])}. Add a column that bins its values, and refit."
        )
    return column


def _column_of(fitted: Fitted, groups: Any) -> int:
    """Return the index of a column given by name or index."""
    names, n_features = fitted.codebook.names, fitted.schema.n_features
    if isinstance(groups, str) and groups in names:
        return names.index(groups)
    if isinstance(groups, int | np.integer) and not isinstance(groups, bool) and 0 <= groups < n_features:
        return int(groups)
    known = ", ".join(map(repr, names[:10])) + (" …" if len(names) > 10 else "")
    raise ValueError(f"groups must be the name or index of one of the {n_features} columns ({known}), got {groups!r}.")
