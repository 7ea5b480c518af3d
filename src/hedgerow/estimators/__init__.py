"""Estimators: tables and labels -> fitted trees and forests, as scikit-learn's users know them."""

from hedgerow.estimators.classifiers import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
)
from hedgerow.estimators.pairwise import PairwiseTreesClassifier

__all__ = [
    "DecisionTreeClassifier",
    "ExtraTreesClassifier",
    "PairwiseTreesClassifier",
    "RandomDecisionTreesClassifier",
    "RandomForestClassifier",
]
