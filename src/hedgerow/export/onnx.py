"""Export to ONNX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hedgerow.belief.masses.pairwise import Programme, programme_of
from hedgerow.belief.opinion import Opinion, opinion_from_bounds
from hedgerow.decisions import Decision
from hedgerow.decisions.base import Checked, tightened
from hedgerow.export.describe import (
    BranchQuestion,
    Category,
    Support,
    exported,
    questions_of,
    require,
    require_certain_labels,
    support_of,
)
from hedgerow.export.recorder import NotExpressible, Recorded, Recorder, spread
from hedgerow.inference.fitted import Fitted
from hedgerow.table import Schema
from hedgerow.table.schema import Array
from hedgerow.tasks.classification.predictor import ClassificationPredictor
from hedgerow.tasks.regression.predictor import RegressionPredictor
from hedgerow.util.text import require_text

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto, ValueInfoProto
    from sklearn.base import BaseEstimator


#: First versions whose tree ensembles support doubles, set membership and separate leaves.
ML_OPSET, OPSET, IR_VERSION = 5, 18, 10
_AT_MOST, _MEMBER = 0, 6
#: Indices of missing and of new categories, and one that no category has.
MISSING, NEW, NONE = -1.0, -2.0, -3.0
_NODE_LISTS = (
    "nodes_featureids",
    "nodes_missing_value_tracks_true",
    "nodes_truenodeids",
    "nodes_falsenodeids",
    "nodes_trueleafs",
    "nodes_falseleafs",
)
Floats = NDArray[np.float64]
#: Limit of pivots per focal set; six were enough for 200 samples of up to nine classes.
PIVOTS_PER_SET = 100


def to_onnx(forest: BaseEstimator, *, float_type: str = "double") -> ModelProto:
    """Convert a forest to an ONNX model with the same predictions, bounds and sets.

    One ``TreeEnsemble`` finds the leaf in each tree, a table contains the states of the leaves under the forest's rule
    and caution, and other operators apply the rule. Everything is in double precision, so onnxruntime agrees with
    hedgerow up to rounding. To change `rule`, `caution` or `decision`, set it and export again. The states of all trees
    are in memory at once, so predict a few thousand rows at a time.

    Parameters
    ----------
    forest : fitted classifier or regressor
        A tree or forest of hedgerow.
    float_type : {"double", "float"}, default="double"
        Type of numeric inputs. Single-precision inputs are converted to double precision, so predictions are those of
        the forest for the rounded values.

    Returns
    -------
    onnx.ModelProto
        If no feature is text, the input is ``X`` (n, p); NaN is missing, categories that are numbers stay numbers.
        If a feature is text, each feature is an input (n, 1) under its name (``x0``, ``x1``, ... without names), with
        text as strings; the empty string is missing, because ONNX has no missing strings.
        Outputs of a classifier: ``label`` (n,), ``probability``, ``lower`` and ``upper`` (n, K) in double precision,
        ``set`` (n, K) of bool. Outputs of a regressor: ``prediction``, ``lower`` and ``upper`` (n,). The last output,
        ``out_of_support`` (n,) of bool, flags rows with a value that no training row has. Their bounds and sets are
        vacuous, and contain those of the forest.

    Raises
    ------
    ValueError
        If features are separate inputs and a name is empty or reserved.
    NotImplementedError
        For the rules "credal_trees" and "pcr6", for "cdm_vote" with more than ten classes, for decisions with a utility
        matrix or groups, for ``Coverage(score="aps")``, for `novelty`, and for uncertain labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> from hedgerow.export import to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = to_onnx(RandomForestClassifier(10, random_state=0).fit(X, y))  # doctest: +SKIP
    >>> [output.name for output in model.graph.output]  # doctest: +SKIP
    ['label', 'probability', 'lower', 'upper', 'set', 'out_of_support']
    """
    require("onnx")
    if float_type not in ("double", "float"):
        raise ValueError(f"float_type must be 'double' or 'float', got {float_type!r}.")
    (predictor, outputs_of), recorder = exported(forest, _OUTPUTS), Recorder()
    require_certain_labels(predictor)
    inputs, features = _read_inputs(
        recorder, predictor.fitted.schema, np.float64 if float_type == "double" else np.float32
    )
    outside = _out_of_support(recorder, features, support_of(predictor.fitted), predictor.fitted.schema)
    leaves = _leaf_states(recorder, predictor, features)
    return _model(recorder, inputs, outputs_of(recorder, predictor, leaves, outside))


def _read_inputs(recorder: Recorder, schema: Schema, dtype: DTypeLike) -> tuple[list[ValueInfoProto], str]:
    """Return the inputs of the graph, and the name of the doubles (n, p) that the trees read."""
    from onnx.helper import make_tensor_value_info, np_dtype_to_tensor_dtype

    number, text = (np_dtype_to_tensor_dtype(np.dtype(kind)) for kind in (dtype, object))
    if not any(_is_text(known) for known in schema.categories):
        inputs = [make_tensor_value_info("X", number, ["n", schema.n_features])]
        return inputs, _with_places(recorder, _widened(recorder, "X", dtype), schema)
    names = schema.names or tuple(f"x{feature}" for feature in range(schema.n_features))
    _check_names(names)
    inputs, columns = [], []
    for name, known in zip(names, schema.categories, strict=True):
        inputs.append(make_tensor_value_info(name, text if _is_text(known) else number, ["n", 1]))
        column = name if _is_text(known) else _widened(recorder, name, dtype)
        columns.append(column if known is None else _places(recorder, column, known, name))
    return inputs, recorder.add("Concat", *columns, axis=1)


def _check_names(names: tuple[str, ...]) -> None:
    """Raise a ValueError for names of columns that are empty or reserved in the graph."""
    taken = {"label", "probability", "set", "prediction", "lower", "upper", "out_of_support"}
    for name in names:
        if not name or name in taken or Recorder.makes(name):
            raise ValueError(
                f"names of columns must be non-empty and not reserved in the ONNX graph, got {name!r}. Rename the"
                " column and refit."
            )
    require_text(names, "names of columns")


def _widened(recorder: Recorder, name: str, dtype: DTypeLike) -> str:
    """Convert numbers to doubles."""
    return name if dtype == np.float64 else recorder.cast(name, np.float64)


def _with_places(recorder: Recorder, table: str, schema: Schema) -> str:
    """Replace categories in the doubles (n, p) by their indices."""
    if not any(schema.nominal):
        return table
    axis, parts = recorder.constant(np.array([1])), []
    for feature, known in enumerate(schema.categories):
        span = [recorder.constant(np.array([bound])) for bound in (feature, feature + 1)]
        column = recorder.add("Slice", table, *span, axis)
        parts.append(column if known is None else _places(recorder, column, known, f"feature {feature}"))
    return recorder.add("Concat", *parts, axis=1)


def _places(recorder: Recorder, column: str, known: Array, name: str) -> str:
    """Convert categories to their indices as doubles, `MISSING` or `NEW` for others."""
    from onnx.numpy_helper import from_array

    require_text(known.tolist(), f"categories of {name}")
    if len(known) == 0:  # without values in training, everything is missing
        return recorder.add("Mul", recorder.cast(recorder.add("IsNaN", column), np.float64), recorder.constant(-1.0))
    if not _is_text(known):
        places = recorder.add(
            "LabelEncoder",
            column,
            domain="ai.onnx.ml",
            keys_tensor=from_array(np.array([_as_double(value, name) for value in known.tolist()])),
            values_tensor=from_array(np.arange(len(known), dtype=np.float64)),
            default_tensor=from_array(np.array([NEW])),
        )
        missing = recorder.add("IsNaN", column)
        return recorder.add("Where", missing, recorder.constant(np.array([[MISSING]])), places)
    texts, numbers = [str(value) for value in known], list(range(len(known)))
    if "" not in texts:
        texts, numbers = [*texts, ""], [*numbers, int(MISSING)]
    places = recorder.add(
        "LabelEncoder",
        column,
        domain="ai.onnx.ml",
        keys_strings=texts,
        values_int64s=numbers,
        default_int64=int(NEW),
    )
    return recorder.cast(places, np.float64)


def _as_double(value: float, name: str) -> float:
    """Convert a category to an equal double; raise a ValueError if there is none."""
    number = float(value)
    if number != value:
        raise ValueError(f"categories of {name} must be exact as doubles, got {value!r}. Convert them to text.")
    return number


def _is_text(known: Array | None) -> bool:
    """Return whether the categories of a feature are text."""
    return known is not None and known.dtype.kind in "OUT"


def _out_of_support(recorder: Recorder, features: str, support: Support, schema: Schema) -> Recorded:
    """Record whether rows have values that no training row has, (n, 1) of bool."""
    values = Recorded(recorder, features, np.zeros((1, schema.n_features)))
    nominal = np.array(schema.nominal, dtype=bool)
    low = np.where(nominal & support.used, np.where(support.gapless, MISSING, NEW) + 0.5, support.low)
    missing = Recorded(recorder, recorder.add("IsNaN", features), np.zeros((1, schema.n_features), dtype=bool))
    outside: Recorded = (values < low) | (values > support.high) | (missing & support.gapless)
    return cast("Recorded", outside.any(axis=1, keepdims=True))


def _leaf_states(
    recorder: Recorder, predictor: ClassificationPredictor | RegressionPredictor, features: str
) -> Recorded:
    """Record the states (n, T, S) of the leaves reached."""
    states, of_leaf = np.unique(predictor.leaf_states(), axis=0, return_inverse=True)
    places = _tree_ensemble(recorder, predictor.fitted, features, of_leaf.ravel())
    found = recorder.add("Gather", recorder.constant(states), recorder.cast(places, np.int64), axis=0)
    return Recorded(recorder, found, np.repeat(states[:1][None], predictor.forest.n_trees, axis=1))


def _numbers(
    recorder: Recorder, predictor: RegressionPredictor, leaves: Recorded, outside: Recorded
) -> list[ValueInfoProto]:
    """Record the outputs of a regressor from the states of leaves (n, T, 3)."""
    mean, states = leaves.sum(axis=1) / float(leaves.shape[1]), predictor.leaf_states()
    widest = {"lower": float(states[:, 1].min()), "upper": float(states[:, 2].max())}
    for column, name in enumerate(("prediction", "lower", "upper")):
        values: Any = mean[:, column]
        values = np.where(outside[:, 0], widest[name], values) if name in widest else values
        recorder.add("Identity", values.name, output=name)
    return [*(_output(name, np.float64) for name in ("prediction", "lower", "upper")), _flag(recorder, outside)]


def _flag(recorder: Recorder, outside: Recorded) -> ValueInfoProto:
    """Record the output ``out_of_support`` (n,)."""
    recorder.add("Identity", outside[:, 0].name, output="out_of_support")
    return _output("out_of_support", np.bool_)


def _opinions(
    recorder: Recorder, predictor: ClassificationPredictor, leaves: Recorded, outside: Recorded
) -> list[ValueInfoProto]:
    """Record the outputs of a classifier from the states of leaves (n, T, S)."""
    rule, weights = predictor.rule, predictor.weights
    merged: Any = _merged(leaves if weights is None else leaves * weights[:, None], rule.merge)
    try:
        if not rule.onnx and rule.merge == "stack":
            raise NotExpressible("needs all leaves of a sample at once")
        opinion: Any = rule.finish_plainly(merged, predictor.setting)
    except NotExpressible as error:
        raise NotImplementedError(f"rule must be expressible in ONNX, got {rule!r}, which {error}.") from error
    return _decided(recorder, predictor, opinion, merged, outside)


def _of_pairs(
    recorder: Recorder, predictor: ClassificationPredictor, leaves: Recorded, outside: Recorded
) -> list[ValueInfoProto]:
    """Record the outputs of pairwise trees from the masses of leaves (n, pairs, 4)."""
    return _decided(recorder, predictor, opinion_of_pairs(recorder, leaves, len(predictor.classes)), leaves, outside)


def _decided(
    recorder: Recorder, predictor: ClassificationPredictor, opinion: Any, merged: Any, outside: Recorded
) -> list[ValueInfoProto]:
    """Record the outputs of a classifier from its opinion; `merged` is any result with as many rows."""
    decision = predictor.decision
    try:
        chosen = _chosen_by(decision, opinion)
    except NotExpressible as error:
        raise NotImplementedError(f"decision must be expressible in ONNX, got {decision!r}, which {error}.") from error
    classes = predictor.classes.astype(np.int64) if predictor.classes.dtype.kind in "iu" else predictor.classes
    require_text(classes.tolist(), "classes")
    best = recorder.add("ArgMax", opinion.probability.name, axis=1, keepdims=0)
    recorder.add("Gather", recorder.constant(classes), best, output="label", axis=0)
    outputs = [_output("label", object if classes.dtype.kind in "OUT" else classes.dtype)]
    answers = {"probability": opinion.probability, "lower": opinion.lower, "upper": opinion.upper, "set": chosen}
    vacuous = {"lower": 0.0, "upper": 1.0}
    for name, values in answers.items():
        result = values.name if isinstance(values, Recorded) else spread(recorder, values, merged.name)
        if name in vacuous:
            result = recorder.add("Where", outside.name, recorder.constant(np.array([[vacuous[name]]])), result)
        elif name == "set":
            result = recorder.add("Or", outside.name, result)
        recorder.add("Identity", result, output=name)
        outputs.append(_output(name, values.dtype, len(classes)))
    return [*outputs, _flag(recorder, outside)]


def _chosen_by(decision: Decision, opinion: Opinion) -> Any:
    """Record the prediction sets (n, K) of a decision for a recorded opinion."""
    if decision.has_actions:
        raise NotExpressible("has a utility matrix")
    if not decision.onnx:
        raise NotExpressible("is not a decision of hedgerow.decisions that supports ONNX")
    return decision.pick(_Unchecked(opinion))


class _Unchecked(Checked):
    """A recorded opinion, whose values cannot be checked."""

    @cached_property
    def bounds(self) -> Any:
        """Reachable lower and upper probabilities, (n, K) each."""
        return tightened(self._opinion.lower, self._opinion.upper)

    @cached_property
    def probability(self) -> Any:
        """Probabilities (n, K)."""
        return self._opinion.probability

    @property
    def chosen(self) -> Any:
        """Sets (n, K) that the rule chooses, or None."""
        return self._opinion.chosen


_OUTPUTS: dict[str, Callable[[Recorder, Any, Recorded, Recorded], list[ValueInfoProto]]] = {
    "classes": _opinions,
    "numbers": _numbers,
    "pairs": _of_pairs,
}


def _merged(leaves: Any, merge: str) -> Any:
    """Merge states (n, T, S) to (n, S), or to (n, 2 S) for "both".

    "stack" leaves them unchanged.
    """
    if merge == "stack":
        return leaves
    if merge == "add":
        return leaves.sum(axis=1)
    largest = leaves.max(axis=1)
    return largest if merge == "max" else np.hstack([largest, leaves.sum(axis=1)])


def _output(name: str, dtype: DTypeLike, *shape: int) -> ValueInfoProto:
    """Declare an output (n, ...)."""
    from onnx.helper import make_tensor_value_info, np_dtype_to_tensor_dtype

    return make_tensor_value_info(name, np_dtype_to_tensor_dtype(np.dtype(dtype)), ["n", *shape])


def _tree_ensemble(recorder: Recorder, fitted: Fitted, features: str, of_leaf: NDArray[np.int64]) -> str:
    """Record the state numbers (n, T) of the leaves reached, given those of all leaves (L,)."""
    nodes, leaves, roots = _Nodes(fitted.schema), _Leaves(), []
    for number, tree in enumerate(fitted.trees()):
        leaf = np.where(tree.is_leaf, tree.nodes.payload, 0)  # of a subset split it is the index of its words
        root, states = len(nodes), of_leaf[leaf + fitted.forest.leaf_start[number]]
        for question in questions_of(tree):
            nodes.add(question, root, partial(leaves.add, number, states))
        roots.append(root)
    return recorder.add(
        "TreeEnsemble",
        features,
        domain="ai.onnx.ml",
        n_targets=fitted.forest.n_trees,
        aggregate_function=1,
        post_transform=0,
        tree_roots=roots,
        **nodes.attributes(),
        **leaves.attributes(),
    )


class _Leaves:
    """Leaves of all trees; each adds its state number to the column of its tree."""

    def __init__(self) -> None:
        self.target: list[int] = []
        self.weight: list[float] = []

    def add(self, tree: int, states: NDArray[np.int64], node: int) -> int:
        """Add a leaf by its node, and return its number."""
        self.target.append(tree)
        self.weight.append(float(states[node]))
        return len(self.target) - 1

    def attributes(self) -> dict[str, Any]:
        """Return the attributes by their names in ONNX."""
        return {"leaf_targetids": self.target, "leaf_weights": _tensor(self.weight, np.float64)}


class _Nodes:
    """Inner nodes of all trees, attribute by attribute."""

    def __init__(self, schema: Schema) -> None:
        self._place = [None if known is None else _place_of(known) for known in schema.categories]
        self._listed: dict[str, list[int]] = {name: [] for name in _NODE_LISTS}
        self._modes: list[int] = []
        self._splits: list[float] = []
        self._members: list[float] = []

    def __len__(self) -> int:
        return len(self._modes)

    def add(self, question: BranchQuestion, root: int, leaf: Callable[[int], int]) -> None:
        """Add a question; `leaf` adds a leaf by its node."""
        listed = self._listed
        listed["nodes_featureids"].append(question.feature)
        listed["nodes_missing_value_tracks_true"].append(int(question.missing_yes))
        for side, (is_leaf, number) in (("true", question.yes), ("false", question.no)):
            listed[f"nodes_{side}leafs"].append(int(is_leaf))
            listed[f"nodes_{side}nodeids"].append(leaf(number) if is_leaf else root + number)
        if question.among is None:
            assert question.threshold is not None
            self._modes.append(_AT_MOST)
            self._splits.append(question.threshold)
            return
        place = self._place[question.feature]
        assert place is not None
        self._modes.append(_MEMBER)
        self._splits.append(0.0)
        # A list must not be empty.
        self._members += [*sorted(float(place[value]) for value in question.among)] or [NONE]
        self._members.append(np.nan)  # NaN ends a list

    def attributes(self) -> dict[str, Any]:
        """Return the attributes by their names in ONNX."""
        attributes: dict[str, Any] = dict(self._listed)
        attributes["nodes_modes"] = _tensor(self._modes, np.uint8)
        attributes["nodes_splits"] = _tensor(self._splits, np.float64)
        if self._members:
            attributes["membership_values"] = _tensor(self._members, np.float64)
        return attributes


def _place_of(known: Array) -> dict[Category, int]:
    """Return the index of each category."""
    return {value: place for place, value in enumerate(known.tolist())}


def _tensor(values: Sequence[float], dtype: DTypeLike) -> TensorProto:
    """Convert a list to a tensor."""
    from onnx.numpy_helper import from_array

    return from_array(np.array(values, dtype=dtype))


def _model(recorder: Recorder, inputs: list[ValueInfoProto], outputs: list[ValueInfoProto]) -> ModelProto:
    """Assemble and check the model."""
    from onnx import checker, helper

    graph = helper.make_graph(recorder.nodes, "hedgerow", inputs, outputs, initializer=recorder.initializers)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="hedgerow")
    checker.check_model(model)
    return model


#: Tolerances for rounding errors of masses, and of the slopes of masses that are 0. With four to six classes slopes are
#: as small as 1e-8, because many masses fit the pairs almost equally well.
MASS_NOISE, SLOPE_NOISE = 1e-9, 1e-13


def opinion_of_pairs(recorder: Recorder, leaves: Recorded, n_classes: int) -> Opinion:
    """Record belief, plausibility and pignistic probability from the masses of leaves (n, pairs, 4)."""
    if n_classes == 1:
        sure = np.ones((1, 1))
        one = Recorded(recorder, spread(recorder, sure, leaves.name), sure)
        return opinion_from_bounds(one, one, one, one[:, 0] * 0.0)  # type: ignore[arg-type]
    focal = programme_of(n_classes).focal
    members, sizes = focal.astype(np.float64), focal.sum(axis=1, keepdims=True)
    shares = np.hstack([members / sizes, members * (sizes == 1), members])
    answers = _product(_mass(recorder, leaves, programme_of(n_classes)), shares)
    probability, lower, upper = np.hsplit(answers, 3)
    return opinion_from_bounds(probability, lower, upper, probability[:, 0] * 0.0)


def _mass(recorder: Recorder, leaves: Recorded, programme: Programme) -> Any:
    """Record the masses of the focal sets (n, F) from the masses of leaves (n, pairs, 4)."""
    n_sets = len(programme.focal)
    wanted = np.hstack([leaves[:, pair, :] for pair in range(leaves.shape[1])])
    tableau, basic = _start(wanted, programme), np.zeros_like(_product(wanted, programme.basis))
    names = [recorder._new_name(), recorder._new_name()]
    limit, go = recorder.constant(np.int64(PIVOTS_PER_SET * n_sets)), recorder.constant(np.bool_(True))
    inputs = [limit, go, tableau.name, basic.name]
    loop = recorder._onnx.helper.make_node("Loop", inputs, names, body=_body(recorder, n_sets))
    recorder.nodes.append(loop)
    ended, used = Recorded(recorder, names[0], tableau.example), Recorded(recorder, names[1], basic.example)
    masses = np.maximum(ended[:, :, n_sets] * used, 0.0)
    return masses / masses.sum(axis=1, keepdims=True)


def _start(wanted: Any, programme: Programme) -> Any:
    """Record M and q, concatenated to (n, F, F + 1), for the wanted masses of pairs (n, 4 P).

    M = AᵀA, where A has the columns of `triangle` minus the wanted point, and a row of ones; q = -Aᵀ(0, …, 0, 1).
    """
    slopes, point = _product(wanted, programme.restrict), _product(wanted, programme.basis)
    away = (point * point).sum(axis=1, keepdims=True)[:, :, None] + 1.0
    fixed = (programme.triangle.T @ programme.triangle)[None]
    square = fixed - slopes[:, :, None] - slopes[:, None, :] + away
    pieces = [np.hstack([square[:, place, :], slopes[:, :1] * 0.0 - 1.0])[:, None, :] for place in range(len(fixed[0]))]
    return np.hstack(pieces)


def _body(outer: Recorder, n_sets: int) -> Any:
    """Build the body of the loop, which updates the condition, the tableau and the basic variables."""
    helper, types = outer._onnx.helper, outer._onnx.TensorProto
    inner = Recorder()
    inner._names = outer._names  # names must differ from those of the outer graph
    number, go, given, before = (inner._new_name() for _ in range(4))
    tableau = Recorded(inner, given, np.ones((1, n_sets, n_sets + 1)))
    basic = Recorded(inner, before, np.zeros((1, n_sets)))
    after, now_basic = _pivot(tableau, basic, n_sets)
    any_negative = inner.add("ReduceMax", inner.cast(_negative(after, now_basic, n_sets).name, np.int64), keepdims=0)
    results = [inner.cast(any_negative, np.bool_), after.name, now_basic.name]
    outer._names = inner._names
    sizes: list[Any] = [[], ["n", n_sets, n_sets + 1], ["n", n_sets]]
    kinds = [types.BOOL, types.DOUBLE, types.DOUBLE]
    inputs = [helper.make_tensor_value_info(number, types.INT64, [])]
    inputs += [helper.make_tensor_value_info(*each) for each in zip((go, given, before), kinds, sizes, strict=True)]
    outputs = [helper.make_tensor_value_info(*each) for each in zip(results, kinds, sizes, strict=True)]
    return helper.make_graph(inner.nodes, "pivot", inputs, outputs, inner.initializers)


def _pivot(tableau: Any, basic: Any, n_sets: int) -> tuple[Any, Any]:
    """Pivot on the first negative variable of each sample.

    Update the tableau (n, F, F + 1) and basis (n, F).
    """
    negative = _negative(tableau, basic, n_sets)
    first = np.argmax(negative, axis=1)[:, None] == np.arange(n_sets)
    chosen = (first & negative).astype(np.float64)
    row = (chosen[:, :, None] * tableau).sum(axis=1)
    column = (tableau[:, :, :n_sets] * chosen[:, None, :]).sum(axis=2)
    pivot = (row[:, :n_sets] * chosen).sum(axis=1, keepdims=True) + (1.0 - chosen.sum(axis=1, keepdims=True))
    wide = np.hstack([chosen, chosen[:, :1] * 0.0])
    after = tableau - (column + chosen)[:, :, None] * (row - wide)[:, None, :] / pivot[:, :, None]
    return after, abs(basic - chosen)


def _negative(tableau: Any, basic: Any, n_sets: int) -> Any:
    """Record which masses, or slopes of masses that are 0, are negative (n, F)."""
    return tableau[:, :, n_sets] < np.where(basic > 0.0, -MASS_NOISE, -SLOPE_NOISE)


def _product(values: Any, matrix: Floats) -> Any:
    """Multiply recorded values (n, a) by a constant matrix (a, b)."""
    recorder = values.recorder
    name = recorder.add("MatMul", values.name, recorder.constant(matrix))
    return Recorded(recorder, name, values.example @ matrix)
