"""scikit-learn: a fitted classifier of ours -> one of scikit-learn's with the same trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble
from sklearn import tree as single

from hedgerow.exchange.export.averaged import check_averages, node_answers
from hedgerow.exchange.export.fitted import FittedClassifier, FittedRegressor, fitted_model
from hedgerow.fit.fields import parameters_of
from hedgerow.fit.parameters import NUMBER_CRITERIA
from hedgerow.forest.walk import NumberTree, Tree
from hedgerow.target.criteria import resolve_criterion

Floats = NDArray[np.float64]

_CRITERIA = ("gini", "entropy", "log_loss")
#: What we know how to fill in of a node of scikit-learn.
_FIELDS = {
    "left_child",
    "right_child",
    "feature",
    "threshold",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
    "missing_go_to_left",
}


def to_sklearn(forest: Any) -> Any:
    """A forest as one of scikit-learn, with the same trees and the same predictions.

    Everything that reads scikit-learn's forests can read the result: ``plot_tree``, TreeSHAP, converters, inspection.
    It knows nothing of evidence: bounds and sets stay behind.

    Parameters
    ----------
    forest : fitted classifier or regressor
        A tree or forest of hedgerow, all features numeric; a classifier with a rule that averages distributions of the
        leaves ("average" and its kin).

    Returns
    -------
    estimator of scikit-learn
        A ``DecisionTreeClassifier``, ``RandomForestClassifier``, ``ExtraTreesClassifier`` or the like regressor, with
        ``apply`` equal to ours, node for node, and ``predict_proba`` or ``predict`` equal up to rounding. Missing
        values go the same way. Since scikit-learn rounds every table to single precision before it looks at it, this
        holds for values that single precision can tell from the thresholds; infinities, which are values to us, are
        refused there.

    Notes
    -----
    scikit-learn has no public way to make a tree from arrays. An estimator is fitted there on a table of nothing, and
    its trees are then made anew from the state that pickle would hand them (``__reduce__``, ``__setstate__``): what
    scikit-learn itself relies on, and checks. Fields we do not know are refused rather than guessed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> from hedgerow.exchange.export import to_sklearn
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> theirs = to_sklearn(forest)
    >>> theirs
    RandomForestClassifier(n_estimators=10)
    >>> bool((theirs.apply(X) == forest.apply(X)).all())
    True
    """
    fitted = fitted_model(forest)
    check_averages(fitted, "scikit-learn")
    nominal = [fitted.trees[0].name_of(feature) for feature in np.flatnonzero(fitted.schema.nominal).tolist()]
    if nominal:
        raise NotImplementedError(
            f"features must be numeric for scikit-learn, got the nominal {nominal[:5]}; encode them before fitting,"
            " or use to_onnx"
        )
    theirs = _template(forest, fitted)
    places = [theirs] if not hasattr(theirs, "estimators_") else theirs.estimators_
    for place, tree in zip(places, fitted.trees, strict=True):
        place.tree_ = _their_tree(place.tree_, tree, node_answers(fitted, tree), theirs.criterion)
    return theirs


def _template(forest: Any, fitted: FittedClassifier | FittedRegressor) -> Any:
    """An estimator of scikit-learn with as many trees, features and classes, fitted on a table of nothing."""
    parameters = {name: getattr(forest, name) for name, row in parameters_of(forest).items() if row.as_sklearn}
    numbers = isinstance(fitted, FittedRegressor)
    criteria = NUMBER_CRITERIA if numbers else _CRITERIA
    parameters["criterion"] = forest.criterion if forest.criterion in criteria else criteria[0]
    if forest._one_tree:
        theirs: Any = (single.DecisionTreeRegressor if numbers else single.DecisionTreeClassifier)(**parameters)
    else:
        kind = ("RandomForest" if forest._splitter == "best" else "ExtraTrees") + (
            "Regressor" if numbers else "Classifier"
        )
        theirs = getattr(ensemble, kind)(len(fitted.trees), **parameters)
    labels = np.ones(2) if isinstance(fitted, FittedRegressor) else fitted.classes
    theirs.fit(np.zeros((len(labels), fitted.schema.n_features)), labels)
    if fitted.schema.names is not None:
        theirs.feature_names_in_ = np.array(fitted.schema.names, dtype=object)
    return theirs


def _their_tree(empty: Any, tree: Tree, answers: Floats, criterion: str) -> Any:
    """A tree of scikit-learn, a tree of ours, what its nodes say (N, K) -> a new one of theirs with our nodes."""
    kind, arguments, state = empty.__reduce__()
    dtype = state["nodes"].dtype
    if set(dtype.names) != _FIELDS:
        raise NotImplementedError(
            f"nodes of scikit-learn's trees must have the fields {sorted(_FIELDS)}, got {sorted(dtype.names)};"
            " this version of scikit-learn is newer than this version of hedgerow"
        )
    nodes = np.zeros(tree.n_nodes, dtype=dtype)
    leaf, nothing = tree.is_leaf, -2
    nodes["left_child"] = tree.first_child  # -1 for leaves, as there
    nodes["right_child"] = np.where(leaf, -1, tree.first_child + 1)
    nodes["feature"] = np.where(leaf, nothing, tree.feature)
    nodes["threshold"] = np.where(leaf, nothing, tree.threshold)
    nodes["impurity"], nodes["weighted_n_node_samples"] = _impurity(tree, criterion)
    nodes["n_node_samples"] = tree.counts.sum(axis=1)
    nodes["missing_go_to_left"] = tree.missing_left
    values = np.ascontiguousarray(answers[:, None, :])
    theirs = kind(*arguments)
    theirs.__setstate__({**state, "max_depth": tree.depth, "node_count": len(nodes), "nodes": nodes, "values": values})
    return theirs


def _impurity(tree: Tree, criterion: str) -> tuple[Floats, Floats]:
    """-> (N,), (N,): impurity and weight of each node."""
    if isinstance(tree, NumberTree):
        return tree.impurity(criterion), tree.weight
    return resolve_criterion(criterion).impurity(tree.weights), tree.weights.sum(axis=1)
