"""Export to treelite."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.export.describe import (
    BranchQuestion,
    check_averages,
    exported,
    questions_of,
    require,
    require_certain_labels,
    support_of,
)
from hedgerow.forest.walk import Tree
from hedgerow.table import Schema

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Floats = NDArray[np.float64]


def to_treelite(forest: BaseEstimator, *, bounds: bool = False) -> Any:
    """Convert a forest to a treelite model that returns class probabilities or means.

    Probabilities and bounds are uncalibrated, as with ``calibration=None``; a calibrated forest emits a warning.

    Parameters
    ----------
    forest : fitted classifier or regressor
        A tree or forest of hedgerow; a classifier must have a rule that is a mean over trees, such as "average".
    bounds : bool, default=False
        Whether the model has three targets, probability (or mean), lower and upper, instead of one; some runtimes do
        not support multiple targets.

    Returns
    -------
    treelite.Model
        Thresholds and leaves are doubles. Its input has the features in the order of training; NaN is missing. A
        categorical feature is the index of its category among those of training, in ascending order, or any other
        number for a new category. ``treelite.gtil.predict`` returns (n, 1, K), or (n, 3, K) with
        bounds; K is 1 for a regressor.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> from hedgerow.export import to_treelite
    >>> X, y = load_iris(return_X_y=True)
    >>> to_treelite(RandomForestClassifier(10, calibration=None, random_state=0).fit(X, y)).num_tree  # doctest: +SKIP
    10
    """
    require("treelite")
    predictor, task_format = exported(forest, _FORMATS)
    if bounds:
        require_certain_labels(predictor)
    schema, trees = predictor.fitted.schema, predictor.fitted.trees()
    check_averages(predictor, trees, "treelite")
    if bounds and support_of(predictor.fitted).used.any():
        warnings.warn(
            "treelite does not widen bounds of rows with out-of-support values. Use to_onnx, whose output"
            " out_of_support flags them, or fit with unseen='larger'.",
            UserWarning,
            stacklevel=2,
        )
    builder = _builder(task_format, schema.n_features, len(trees), len(predictor.info.names), 3 if bounds else 1)
    for tree in trees:
        answers = predictor.node_predictions(tree)
        builder.start_tree()
        _write_tree(builder, schema, tree, np.hstack(answers) if bounds else answers[0])
        builder.end_tree()
    return builder.commit()


class _Format(NamedTuple):
    """Name of a task in treelite, class of a leaf (-1 for all), and postprocessor."""

    task: str
    class_id: int
    postprocessor: str


_FORMATS = {"classes": _Format("kMultiClf", -1, "identity_multiclass"), "numbers": _Format("kRegressor", 0, "identity")}


def _builder(task_format: _Format, n_features: int, n_trees: int, k: int, n_targets: int) -> Any:
    """Return the builder of a treelite model."""
    from treelite.model_builder import Metadata, ModelBuilder, PostProcessorFunc, TreeAnnotation

    return ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=Metadata(
            num_feature=n_features,
            task_type=task_format.task,
            average_tree_output=True,
            num_target=n_targets,
            num_class=[k] * n_targets,
            leaf_vector_shape=(n_targets, k),
        ),
        tree_annotation=TreeAnnotation(
            num_tree=n_trees,
            target_id=[-1 if n_targets > 1 else 0] * n_trees,  # -1 means a value for each target in a leaf
            class_id=[task_format.class_id] * n_trees,
        ),
        postprocessor=PostProcessorFunc(name=task_format.postprocessor),
        base_scores=[0.0] * (n_targets * k),
    )


def _write_tree(builder: Any, schema: Schema, tree: Tree, values: Floats) -> None:
    """Write questions and leaves under unique numbers, questions first."""
    questions = questions_of(tree)

    def key(target: tuple[bool, int], side: int) -> int:
        is_leaf, number = target
        if tree.is_leaf[0]:  # treelite needs two leaves
            return len(questions) + side
        return len(questions) + number if is_leaf else number

    leaves: dict[int, int] = {}
    for number, question in enumerate(questions):
        targets = (question.yes, question.no)
        yes, no = (key(target, side) for side, target in enumerate(targets))
        leaves.update({at: target[1] for at, target in zip((yes, no), targets, strict=True) if target[0]})
        builder.start_node(number)
        _write_question(builder, schema, question, yes, no)
        builder.end_node()
    for at, node in leaves.items():
        builder.start_node(at)
        leaf_value = values[node].tolist()
        builder.leaf(leaf_value if len(leaf_value) > 1 else leaf_value[0])
        builder.end_node()


def _write_question(builder: Any, schema: Schema, question: BranchQuestion, yes: int, no: int) -> None:
    """Write a question whose answer yes leads to the left child."""
    if question.among is None:
        builder.numerical_test(
            feature_id=question.feature,
            threshold=question.threshold,
            default_left=question.missing_yes,
            opname="<=",
            left_child_key=yes,
            right_child_key=no,
        )
        return
    known = schema.categories[question.feature]
    assert known is not None
    place = {value: number for number, value in enumerate(known.tolist())}
    builder.categorical_test(
        feature_id=question.feature,
        default_left=False,
        category_list=sorted(place[value] for value in question.among),
        category_list_right_child=False,
        left_child_key=yes,
        right_child_key=no,
    )
