"""The figures of two classes in a report are those of the metrics, and calibration is drawn where it is."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

from hedgerow import RandomForestClassifier
from hedgerow.explain.presenters.classification_page import GROUPS, calibration_plot
from hedgerow.explain.report.figures import predictions_for
from hedgerow.explain.report.plots import BOTTOM, LEFT, RIGHT, TOP
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.confusion import auc, rates


def test_two_classes_have_the_rates_of_the_rarer_one(cancer):
    forest, X, y = cancer
    made = forest.report(X, y, time_limit=0)
    rarer = "malignant" if (np.asarray(y) == "malignant").sum() < len(y) / 2 else "benign"
    expected = rates(np.asarray(y) == rarer, forest.predict(X) == rarer)
    area = auc(np.asarray(y) == rarer, forest.predict_proba(X)[:, list(forest.classes_).index(rarer)])
    found = made.figures["two_classes"]
    assert found == {name: each._asdict() for name, each in (expected | {"auc": area}).items()}
    assert f"<dt>Sensitivity</dt><dd><b>{100 * expected['sensitivity'].value:.1f}%</b>" in made.html
    assert f"<dt>AUC</dt><dd><b>{area.value:.3f}</b>" in made.html


def test_more_classes_have_none():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(10, random_state=0).fit(X[::2], y[::2])
    made = forest.report(X[1::2], y[1::2], time_limit=0)
    assert "two_classes" not in made.figures
    assert "Sensitivity" not in made.html
    assert "<b>Calibration.</b>" in made.html
    assert "<b>Calibration.</b>" not in forest.report(X[1::2], time_limit=0).html


def test_the_dots_lie_where_groups_have_their_share(cancer):
    forest, X, y = cancer
    predictions = predictions_for(predictor_of(forest), X, y)
    drawn = calibration_plot(forest.classes_, predictions)
    dots = np.array(re.findall(r"M([\d.]+) ([\d.]+)", drawn.path), dtype=float)
    place = int(np.bincount(predictions.truth).argmin())
    probability = predictions.opinion.probability[:, place]
    groups = np.array_split(np.argsort(probability, kind="stable"), GROUPS)
    across = [LEFT + (RIGHT - LEFT) * probability[rows].mean() for rows in groups]
    up = [BOTTOM - (BOTTOM - TOP) * (predictions.truth[rows] == place).mean() for rows in groups]
    assert dots == pytest.approx(np.column_stack([across, up]), abs=0.06)
    assert sum(line[0] == "whisker" for line in drawn.lines) == GROUPS
