"""Estimators: tables and labels -> fitted trees and forests, as scikit-learn's users know them."""

from hedgerow.estimators.classifiers import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
)
from hedgerow.estimators.regressors import DecisionTreeRegressor, ExtraTreesRegressor, RandomForestRegressor

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomDecisionTreesClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
