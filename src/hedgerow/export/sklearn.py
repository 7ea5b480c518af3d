"""Export to scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble
from sklearn import tree as single

from hedgerow.criteria import resolve_criterion
from hedgerow.export.models import check_averages, exported
from hedgerow.forest.walk import Tree
from hedgerow.inference.fitted import Fitted
from hedgerow.params.checks import parameters_of
from hedgerow.params.table import NUMBER_CRITERIA

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


#: Parameters that scikit-learn turns into C numbers and memory while it fits: the table of zeros does not need them.
_SIZES = {"max_depth", "max_leaf_nodes", "min_samples_leaf", "min_samples_split"}
#: Parameters of trees that are grown already: told, so that the estimator says how it was made, but not used.
_COPIED = (
    "max_features",
    "class_weight",
    "bootstrap",
    "max_samples",
    "min_impurity_decrease",
    "ccp_alpha",
    "monotonic_cst",
)
#: In place of the seed of a tree, from which scikit-learn would draw a bag that the tree never had.
_NO_SEED = "estimators_samples_ of the hedgerow forest has the bags; this"


def to_sklearn(forest: Any) -> Any:
    """A forest of scikit-learn with the same trees and the same predictions.

    Everything that reads scikit-learn's forests can read the result: ``plot_tree``, TreeSHAP, converters, inspection.
    It has no evidence, and so no bounds and no sets. Nor has it a place for the map of a calibrated forest: its
    probabilities are those before the map, as with ``calibration=None``, and a warning says so.

    Parameters
    ----------
    forest : fitted classifier or regressor
        A tree or forest of hedgerow with numeric features only; a classifier must have a rule that averages
        distributions of the leaves, such as "average".

    Returns
    -------
    estimator of scikit-learn
        A ``DecisionTreeClassifier``, ``RandomForestClassifier``, ``ExtraTreesClassifier`` or the corresponding
        regressor, with ``apply`` equal to ours, node for node, and ``predict_proba`` (before any map) or ``predict``
        equal up to rounding. Missing values go the same way. Since scikit-learn first rounds every table to single
        precision, this holds for values that single precision can tell from the thresholds. scikit-learn refuses
        infinities, which are values for us. It has our parameters as far as scikit-learn has them, but not the bags:
        ``estimators_samples_`` is not there, and whoever draws bags from the seeds of the trees gets an error.

    Notes
    -----
    scikit-learn has no public way to make a tree from arrays. So a scikit-learn estimator is fitted on a table of
    zeros, and its trees are then made again from the state that pickle uses (``__reduce__``, ``__setstate__``), which
    scikit-learn itself relies on and checks. Nodes with unknown fields are refused.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> from hedgerow.export import to_sklearn
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, calibration=None, random_state=0).fit(X, y)
    >>> theirs = to_sklearn(forest)
    >>> theirs
    RandomForestClassifier(n_estimators=10)
    >>> bool((theirs.apply(X) == forest.apply(X)).all())
    True
    """
    predictor, task_format = exported(forest, _FORMATS)
    schema, trees = predictor.fitted.schema, predictor.fitted.trees()
    check_averages(predictor, trees, "scikit-learn")
    nominal = [trees[0].name_of(feature) for feature in np.flatnonzero(schema.nominal).tolist()]
    if nominal:
        raise NotImplementedError(
            f"features must be numeric for scikit-learn, got the nominal {nominal[:5]}; encode them before fitting,"
            " or use to_onnx"
        )
    theirs = _template(forest, predictor, task_format)
    places = [theirs] if forest._single_tree else theirs.estimators_
    for number, (place, tree) in enumerate(zip(places, trees, strict=True)):
        impurity = _impurity_of(predictor.fitted, number, tree, theirs.criterion)
        place.tree_ = _their_tree(place.tree_, tree, predictor.node_predictions(tree)[0], impurity)
    return theirs


def _impurity_of(fitted: Fitted, number: int, tree: Tree, criterion: str) -> Floats:
    """-> (N,): the impurity of each node of a tree; NaN for absolute errors if they are not known."""
    if fitted.impurities is not None and criterion == fitted.criterion:
        return fitted.impurities[slice(*fitted.forest.node_start[number : number + 2])]
    if criterion == "absolute_error":
        return np.full(tree.n_nodes, np.nan)
    return tree.evidence.impurity(criterion)


def _template(forest: Any, predictor: Any, task_format: _Format) -> Any:
    """An estimator of scikit-learn with as many trees, features and classes, fitted on a table of zeros."""
    shared = {name: getattr(forest, name) for name, row in parameters_of(forest).items() if row.as_sklearn}
    parameters = {name: value for name, value in shared.items() if value is not None}
    if "bootstrap" in parameters:
        parameters["bootstrap"] = bool(parameters["bootstrap"])
    parameters["criterion"] = task_format.criterion(predictor.fitted.criterion)
    if parameters["criterion"] == "entropy" and forest.criterion == "log_loss":  # scikit-learn, too, has both names
        parameters["criterion"] = "log_loss"
    sizes = {name: parameters.pop(name) for name in _SIZES & parameters.keys()}
    if forest._single_tree:
        theirs: Any = getattr(single, f"DecisionTree{task_format.ending}")(**parameters)
    else:
        name = "RandomForest" if forest.splitter == "best" else "ExtraTrees"
        theirs = getattr(ensemble, f"{name}{task_format.ending}")(predictor.forest.n_trees, **parameters)
    labels, schema = task_format.labels(predictor), predictor.fitted.schema
    theirs.fit(np.zeros((len(labels), schema.n_features)), labels)
    if schema.names is not None:
        theirs.feature_names_in_ = np.array(schema.names, dtype=object)
    theirs.set_params(**sizes, **_copied_params(forest, predictor.fitted, theirs.get_params(deep=False)))
    for each in [] if forest._single_tree else theirs.estimators_:
        each.set_params(**sizes, random_state=_NO_SEED if forest.bootstrap else each.random_state)
    for name in ("_n_samples", "_n_samples_bootstrap"):  # without them, no bags are made up
        vars(theirs).pop(name, None)
    return theirs


def _copied_params(forest: Any, fitted: Fitted, theirs: dict[str, Any]) -> dict[str, Any]:
    """The parameters with which the trees were grown, as far as scikit-learn's estimator has them."""
    known = {**dict.fromkeys(parameters_of(forest)), "bootstrap": None}
    copied = {name: getattr(forest, name) for name in _COPIED if name in theirs and name in known}
    if copied.get("max_features") == "oob":
        copied["max_features"] = fitted.figures.max_features or theirs["max_features"]
    if "bootstrap" in copied:
        copied["bootstrap"] = bool(copied["bootstrap"])  # "multinomial" is what theirs always is
    return copied


def _class_criterion(criterion: Any) -> str:
    """What scikit-learn calls a criterion; its usual one where it has no name for it."""
    return resolve_criterion(criterion).in_sklearn or "gini"


def _number_criterion(criterion: Any) -> str:
    """The same for numbers."""
    return str(criterion) if criterion in NUMBER_CRITERIA else NUMBER_CRITERIA[0]


class _Format(NamedTuple):
    """What an estimator of scikit-learn is called, its criterion, and labels to fit it to."""

    ending: str
    criterion: Callable[[Any], str]
    labels: Callable[[Any], NDArray[Any]]


_FORMATS = {
    "classes": _Format("Classifier", _class_criterion, lambda predictor: predictor.classes),
    "numbers": _Format("Regressor", _number_criterion, lambda predictor: np.ones(2)),
}


def _their_tree(empty: Any, tree: Tree, predictions: Floats, impurity: Floats) -> Any:
    """A tree of theirs, one of ours, answers (N, K) and impurities (N,) of its nodes -> a new tree of scikit-learn."""
    task_format, arguments, state = empty.__reduce__()
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
    nodes["impurity"], nodes["weighted_n_node_samples"] = impurity, tree.evidence.amount
    nodes["n_node_samples"] = tree.counts.sum(axis=1)
    nodes["missing_go_to_left"] = tree.missing_left
    values = np.ascontiguousarray(predictions[:, None, :])
    theirs = task_format(*arguments)
    theirs.__setstate__({**state, "max_depth": tree.depth, "node_count": len(nodes), "nodes": nodes, "values": values})
    return theirs
