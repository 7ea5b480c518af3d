"""Estimators: tables and labels -> fitted trees and forests, as scikit-learn's users know them."""

from hedgerow.estimators.classifiers import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
)
from hedgerow.estimators.pairwise import PairwiseTreesClassifier
from hedgerow.estimators.regressors import DecisionTreeRegressor, ExtraTreesRegressor, RandomForestRegressor
from hedgerow.estimators.unsupervised import RandomTreesEmbedding, UnsupervisedForest
from hedgerow.fit.merge import merge

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "PairwiseTreesClassifier",
    "RandomDecisionTreesClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomTreesEmbedding",
    "UnsupervisedForest",
    "merge",
]
