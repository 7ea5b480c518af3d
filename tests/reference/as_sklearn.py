"""A pytest plugin: scikit-learn's names of trees and forests -> hedgerow's classes, for scikit-learn's own tests."""

from __future__ import annotations

import sklearn.ensemble
import sklearn.tree

import hedgerow

FORESTS = """
    RandomForestClassifier RandomForestRegressor ExtraTreesClassifier ExtraTreesRegressor RandomTreesEmbedding
"""
TREES = "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor"

for module, names in ((sklearn.ensemble, FORESTS), (sklearn.tree, TREES)):
    for name in names.split():
        setattr(module, name, getattr(hedgerow, name))
