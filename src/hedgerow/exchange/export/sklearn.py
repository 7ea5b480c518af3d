"""scikit-learn: a fitted estimator of ours -> one of scikit-learn's with the same trees."""

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

#: The fields of scikit-learn's nodes that we can fill.
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
    """A forest of scikit-learn with the same trees and the same predictions.

    Everything that reads scikit-learn's forests can read the result: ``plot_tree``, TreeSHAP, converters, inspection.
    It has no evidence, and so no bounds and no sets.

    Parameters
    ----------
    forest : fitted classifier or regressor
        A tree or forest of hedgerow with numeric features only; a classifier must have a rule that averages
        distributions of the leaves, such as "average".

    Returns
    -------
    estimator of scikit-learn
        A ``DecisionTreeClassifier``, ``RandomForestClassifier``, ``ExtraTreesClassifier`` or the corresponding
        regressor, with ``apply`` equal to ours, node for node, and ``predict_proba`` or ``predict`` equal up to
        rounding. Missing values go the same way. Since scikit-learn first rounds every table to single precision, this
        holds for values that single precision can tell from the thresholds. scikit-learn refuses infinities, which are
        values for us.

    Notes
    -----
    scikit-learn has no public way to make a tree from arrays. So a scikit-learn estimator is fitted on a table of
    zeros, and its trees are then made again from the state that pickle uses (``__reduce__``, ``__setstate__``), which
    scikit-learn itself relies on and checks. Nodes with unknown fields are refused.

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
    """An estimator of scikit-learn with as many trees, features and classes, fitted on a table of zeros."""
    parameters = {name: getattr(forest, name) for name, row in parameters_of(forest).items() if row.as_sklearn}
    numbers = isinstance(fitted, FittedRegressor)
    parameters["criterion"] = _their_criterion(forest.criterion, numbers)
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


def _their_criterion(criterion: Any, numbers: bool) -> str:
    """What scikit-learn calls a criterion; its usual one where it knows none of the kind."""
    if numbers:
        return str(criterion) if criterion in NUMBER_CRITERIA else NUMBER_CRITERIA[0]
    if criterion == "log_loss":  # scikit-learn, too, has two names for it
        return "log_loss"
    return resolve_criterion(criterion).in_sklearn or "gini"


def _their_tree(empty: Any, tree: Tree, answers: Floats, criterion: str) -> Any:
    """A tree of scikit-learn, a tree of ours, the answers of its nodes (N, K) -> a new tree of scikit-learn."""
    kind, arguments, state = empty.__reduce__()
    dtype = state["nodes"].dtype
    if set(dtype.names) != _FIELDS:
        raise NotImplementedError(
            f"nodes of scikit-learn's trees must have the fields {sorted(_FIELDS)}, got {sorted(dtype.names)};"
            " this version of scikit-learn is newer than this version of hedgerow"
        )
    nodes = np.zeros(tree.n_nodes, dtype=dtype)
    leaf, nothing = tree.is_leaf, -2
    nodes["left_child"] = tree.first_child  # -1 for leaves, as in scikit-learn
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
    """A tree -> impurity (N,) and weight (N,) of each node."""
    if isinstance(tree, NumberTree):
        return tree.impurity(criterion), tree.weight
    return resolve_criterion(criterion).impurity(tree.weights), tree.weights.sum(axis=1)
