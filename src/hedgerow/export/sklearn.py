"""Export to scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble
from sklearn import tree as single

from hedgerow.criteria import resolve_criterion
from hedgerow.export.describe import check_averages, exported
from hedgerow.forest.walk import Tree
from hedgerow.inference.fitted import Fitted
from hedgerow.params.checks import parameters_of
from hedgerow.params.table import NUMBER_WORDS

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Floats = NDArray[np.float64]

#: Supported fields of scikit-learn's nodes.
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


#: Parameters left out while scikit-learn fits a table of zeros, because they would cost memory or overflow.
_SIZES = {"max_depth", "max_leaf_nodes", "min_samples_leaf", "min_samples_split"}
#: Parameters that document how the trees were grown; they have no effect any more.
_COPIED = (
    "max_features",
    "class_weight",
    "bootstrap",
    "max_samples",
    "min_impurity_decrease",
    "ccp_alpha",
    "monotonic_cst",
)
#: Replaces the seeds of trees, from which scikit-learn would draw wrong bootstrap samples.
_NO_SEED = "use estimators_samples_ of the hedgerow forest instead of this"


def to_sklearn(forest: BaseEstimator) -> Any:
    """Convert a forest to scikit-learn, with the same trees and predictions.

    The result works with tools for scikit-learn's forests: ``plot_tree``, TreeSHAP, converters, inspection. It has no
    bounds and no prediction sets. Its probabilities are uncalibrated, as with ``calibration=None``; a calibrated forest
    emits a warning.

    Parameters
    ----------
    forest : fitted classifier or regressor
        A tree or forest of hedgerow with numeric features only; a classifier must have a rule that is a mean over
        trees, such as "average".

    Returns
    -------
    estimator of scikit-learn
        A ``DecisionTreeClassifier``, ``RandomForestClassifier``, ``ExtraTreesClassifier`` or the corresponding
        regressor, with equal ``apply``, node for node, and ``predict_proba`` (uncalibrated) or ``predict`` equal up to
        rounding, also for missing values. scikit-learn rounds tables to single precision, so this holds for values
        whose rounding does not cross a threshold; it does not support infinities. Parameters are copied as far as
        scikit-learn has them. Bootstrap samples are not: ``estimators_samples_`` raises an error.

    Notes
    -----
    scikit-learn has no public constructor of trees from arrays. `to_sklearn` fits a scikit-learn estimator to a table
    of zeros, and replaces its trees through the state of pickles (``__reduce__``, ``__setstate__``), which scikit-learn
    checks. Versions of scikit-learn whose nodes have other fields raise an error.

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
            f"features must be numeric for scikit-learn, got the categorical {nominal[:5]}. Encode them before fitting,"
            " or use to_onnx."
        )
    theirs = _template(forest, predictor, task_format)
    places = [theirs] if forest._single_tree else theirs.estimators_
    for number, (place, tree) in enumerate(zip(places, trees, strict=True)):
        impurity = _impurity_of(predictor.fitted, number, tree, theirs.criterion)
        place.tree_ = _their_tree(place.tree_, tree, predictor.node_predictions(tree)[0], impurity)
    return theirs


def _impurity_of(fitted: Fitted, number: int, tree: Tree, criterion: str) -> Floats:
    """Return the impurity of each node of a tree (N,).

    NaN for absolute errors that are not stored.
    """
    if fitted.impurities is not None and criterion == fitted.criterion:
        return fitted.impurities[slice(*fitted.forest.node_start[number : number + 2])]
    if criterion == "absolute_error":
        return np.full(tree.n_nodes, np.nan)
    return tree.evidence.impurity(criterion)


def _template(forest: BaseEstimator, predictor: Any, task_format: _Format) -> Any:
    """Fit an estimator of scikit-learn with as many trees, features and classes to a table of zeros."""
    shared = {name: getattr(forest, name) for name, row in parameters_of(forest).items() if row.as_sklearn}
    parameters = {name: value for name, value in shared.items() if value is not None}
    if "bootstrap" in parameters:
        parameters["bootstrap"] = bool(parameters["bootstrap"])
    parameters["criterion"] = task_format.criterion(predictor.fitted.criterion)
    if parameters["criterion"] == "entropy" and forest.criterion == "log_loss":  # scikit-learn has both names, too
        parameters["criterion"] = "log_loss"
    sizes = {name: parameters.pop(name) for name in _SIZES & parameters.keys()}
    if forest._single_tree:
        theirs: Any = getattr(single, f"DecisionTree{task_format.suffix}")(**parameters)
    else:
        name = "RandomForest" if forest.splitter in ("best", "mixed") else "ExtraTrees"
        theirs = getattr(ensemble, f"{name}{task_format.suffix}")(predictor.forest.n_trees, **parameters)
    labels, schema = task_format.labels(predictor), predictor.fitted.schema
    theirs.fit(np.zeros((len(labels), schema.n_features)), labels)
    if schema.names is not None:
        theirs.feature_names_in_ = np.array(schema.names, dtype=object)
    theirs.set_params(**sizes, **_copied_params(forest, predictor.fitted, theirs.get_params(deep=False)))
    for each in [] if forest._single_tree else theirs.estimators_:
        each.set_params(**sizes, random_state=_NO_SEED if forest.bootstrap else each.random_state)
    for name in ("_n_samples", "_n_samples_bootstrap"):  # without them, scikit-learn draws no bootstrap samples
        vars(theirs).pop(name, None)
    return theirs


def _copied_params(forest: BaseEstimator, fitted: Fitted, theirs: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with which the trees were grown, as far as scikit-learn has them."""
    known = {**dict.fromkeys(parameters_of(forest)), "bootstrap": None}
    copied = {name: getattr(forest, name) for name in _COPIED if name in theirs and name in known}
    if copied.get("max_features") == "oob":
        copied["max_features"] = fitted.figures.max_features or theirs["max_features"]
    if "bootstrap" in copied:
        copied["bootstrap"] = bool(copied["bootstrap"])  # scikit-learn always draws "multinomial" samples
    return copied


def _class_criterion(criterion: Any) -> str:
    """Return scikit-learn's name of a criterion, or its default."""
    return resolve_criterion(criterion).in_sklearn or "gini"


def _number_criterion(criterion: Any) -> str:
    """Return scikit-learn's name of a regression criterion, or its default."""
    return criterion if isinstance(criterion, str) else NUMBER_WORDS[0]


class _Format(NamedTuple):
    """Suffix of the estimators of scikit-learn, their criterion, and labels to fit them to."""

    suffix: str
    criterion: Callable[[Any], str]
    labels: Callable[[Any], NDArray[np.generic]]


_FORMATS = {
    "classes": _Format("Classifier", _class_criterion, lambda predictor: predictor.classes),
    "numbers": _Format("Regressor", _number_criterion, lambda predictor: np.ones(2)),
}


def _their_tree(empty: Any, tree: Tree, predictions: Floats, impurity: Floats) -> Any:
    """Convert a tree with predictions (N, K) and impurities (N,) of its nodes to scikit-learn."""
    task_format, arguments, state = empty.__reduce__()
    dtype = state["nodes"].dtype
    if set(dtype.names) != _FIELDS:
        raise NotImplementedError(
            f"nodes of scikit-learn's trees must have the fields {sorted(_FIELDS)}, got {sorted(dtype.names)}."
            " This version of scikit-learn is not supported."
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
