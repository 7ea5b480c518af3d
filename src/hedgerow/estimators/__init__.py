"""Estimators: tables and labels -> fitted trees and forests, as scikit-learn's users know them."""

from hedgerow.estimators.classifiers import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
)

__all__ = [
    "DecisionTreeClassifier",
    "ExtraTreesClassifier",
    "RandomDecisionTreesClassifier",
    "RandomForestClassifier",
]
