"""Outside: the tally of out-of-bag labels and sets, made block by block, is that of all rows at once."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import RandomForestClassifier
from hedgerow.decisions import Coverage
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics import tally_sets
from hedgerow.tasks.classification import evaluation as outside


def table(n_rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    return X, np.array(["a", "b", "c"])[np.digitize(X[:, 0] + rng.normal(size=n_rows), [-0.5, 0.8])]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"calibration": None},
        {"rule": "dempster"},
        {"rule": "weighted_average"},
        {"rule": "average", "leaf_counts": "inbag"},
        {"decision": Coverage(0.9)},
        {"bootstrap": "multinomial"},
    ],
    ids=str,
)
def test_blocks_make_the_tally_of_all_rows(parameters: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "BLOCK_ROWS", 37)
    X, y = table()
    weight = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0 + np.arange(len(y)) % 3)
    now = predictor_of(RandomForestClassifier(12, random_state=0, **parameters).fit(X, y, sample_weight=weight))
    evidence = now.oob_evidence()
    trial = now.try_out(evidence, evidence.rule, now.caution, now.given_decision)
    labels = trial.judged.labels
    whole = tally_sets(
        now.classes[labels], now.named(trial.opinion.probability), trial.sets, classes=now.classes
    ).figures()
    assert outside.oob_tally(now).figures() == whole
    assert whole["rows"] == len(labels) > 200


def test_no_judge_means_no_tally() -> None:
    X, y = table(12)
    now = predictor_of(RandomForestClassifier(1, max_samples=8.0, random_state=0).fit(X, y))
    assert not now.oob_evidence().is_covered.any()
    assert outside.oob_tally(now) is None
