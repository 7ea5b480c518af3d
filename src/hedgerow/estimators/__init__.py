"""Estimators: tables and targets -> fitted trees and forests, with the interface of scikit-learn."""

from hedgerow.estimators.classifiers import (
    DecisionTreeClassifier,
    ExtraTreeClassifier,
    ExtraTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
)
from hedgerow.estimators.pairwise import PairwiseTreesClassifier
from hedgerow.estimators.regressors import (
    DecisionTreeRegressor,
    ExtraTreeRegressor,
    ExtraTreesRegressor,
    RandomForestRegressor,
)
from hedgerow.estimators.unsupervised import RandomTreesEmbedding, UnsupervisedForest
from hedgerow.fit.incremental import merge
from hedgerow.storage import load, save

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "PairwiseTreesClassifier",
    "RandomDecisionTreesClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomTreesEmbedding",
    "UnsupervisedForest",
    "load",
    "merge",
    "save",
]
