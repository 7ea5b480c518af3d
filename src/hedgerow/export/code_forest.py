"""Programs of forests in Python, C or JavaScript, with probabilities, bounds and sets.

A program consists of tables of numbers, written here, and of functions from the folder ``programs``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.calibrate import Calibration, Views
from hedgerow.decisions.credal import Dominance
from hedgerow.export.describe import (
    Category,
    Support,
    are_doubles,
    c_number,
    c_strings,
    exported,
    python_tuple,
    require_certain_labels,
    support_of,
)
from hedgerow.forest.walk import Tree
from hedgerow.inference.predictor import Predictor
from hedgerow.table.schema import Array
from hedgerow.tasks.classification.predictor import ClassificationPredictor
from hedgerow.tasks.regression.predictor import RegressionPredictor

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

#: Types of nodes: leaves, thresholds, sets of categories (both with missing values to the right or to the left), and
#: nodes with a child for each category.
LEAF, RIGHT, LEFT, SET_RIGHT, SET_LEFT, EACH = range(6)


Ints = NDArray[np.int64]
#: Type, feature, first child and threshold of nodes, and the sets of subset splits.
_Nodes = tuple[Ints, Ints, Ints, NDArray[np.float64], list[tuple[int, Array]]]


@dataclass(frozen=True)
class Tables:
    """A forest as tables; nodes are numbered over all trees.

    Attributes
    ----------
    roots : (T,) first node of each tree
    way, feature, child : (N,)
        Type, feature and first child of each node; for a leaf, `child` is a row of `lines`.
    number : (N,)
        A threshold, or the start of a set of categories in `left`.
    left : (S,)
        For each set and category, 1 if the category goes left.
    lines : (U, K) or (U, 3)
        Distinct leaves: class counts, or a prediction with its lower and upper bound.
    """

    roots: NDArray[np.int64]
    way: NDArray[np.int64]
    feature: NDArray[np.int64]
    child: NDArray[np.int64]
    number: NDArray[np.float64]
    left: NDArray[np.int64]
    lines: NDArray[np.float64]


@dataclass(frozen=True)
class Info:
    """Everything besides the tables.

    A regressor has no classes, an uncalibrated classifier no calibrator.
    """

    title: str
    features: list[str]
    categories: dict[int, Array]
    caution: float
    support: Support
    classes: list[Category] | None = None
    calibrator: Mapping[str, Any] | None = None


def forest_code(model: BaseEstimator, language: str, name: str) -> str:
    """Write a classifier with the rule "average", or a regressor, as a program."""
    predictor, (lines_of, more) = exported(model, _FORMATS)
    require_certain_labels(predictor)
    tables, trees = tables_of(predictor, lines_of(predictor)), predictor.fitted.trees()
    info = _info(predictor, trees[0], f"A forest of {len(trees)} trees; written by hedgerow.")
    info = replace(info, **more(predictor)) if more else info
    body = files("hedgerow.export").joinpath(f"programs/{predictor.kind}.{_ENDINGS[language]}").read_text("utf-8")
    return _WRITERS[language](tables, info, name) + body.replace("NAME", name)


def tables_of(predictor: Predictor, lines: NDArray[np.float64]) -> Tables:
    """Convert a forest to tables, given the values of its leaves (L, C)."""
    trees = predictor.fitted.trees()
    different, line = np.unique(lines, axis=0, return_inverse=True)
    sizes = [tree.n_nodes for tree in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    parts = [_nodes_of(tree, int(root)) for tree, root in zip(trees, roots, strict=True)]
    way, feature, child, number = (np.concatenate([part[column] for part in parts]) for column in range(4))
    start, left = 0, []
    for part, root in zip(parts, roots.tolist(), strict=True):
        for node, goes_left in part[4]:
            number[root + node] = start
            left.append(goes_left)
            start += len(goes_left)
    is_leaf = way == LEAF
    child[is_leaf] = line.ravel()[child[is_leaf]]
    flat = np.concatenate(left).astype(np.int64) if left else np.zeros(1, dtype=np.int64)
    return Tables(roots, way, feature, child, number, flat, different)


def _nodes_of(tree: Tree, root: int) -> _Nodes:
    """Return type, feature, first child or leaf, and threshold of the nodes of a tree, and its sets."""
    nominal = np.array([known is not None for known in tree.schema.categories], dtype=bool)
    feature = np.where(tree.is_leaf, 0, tree.feature)
    in_set = ~tree.is_leaf & nominal[feature] & ~tree.is_multiway
    way = np.where(tree.missing_left, LEFT, RIGHT)
    way = np.where(in_set, np.where(tree.missing_left, SET_LEFT, SET_RIGHT), way)
    way = np.where(tree.is_leaf, LEAF, np.where(tree.is_multiway, EACH, way))
    child = np.where(tree.is_leaf, tree.leaves[0] + tree.nodes.payload, root + tree.first_child)
    number = np.where(way < SET_RIGHT, np.where(tree.is_leaf, 0.0, tree.threshold), 0.0)
    sets = [(node, tree.codes_left(np.array([node]))[0]) for node in np.flatnonzero(in_set).tolist()]
    return way.astype(np.int64), feature.astype(np.int64), child.astype(np.int64), number.astype(np.float64), sets


def _checked_counts(predictor: ClassificationPredictor) -> NDArray[np.float64]:
    """Return the class counts (L, K) of all leaves; with views, also their class shares at each depth, (L, K + D · K).

    Raise an error for unsupported settings.
    """
    if not predictor.plain_rule.plain_mean:
        raise NotImplementedError(
            f"rule must be 'average' for export_code of a forest, got {predictor.plain_rule!r}. Use to_onnx."
        )
    if not isinstance(predictor.decision, Dominance) or predictor.decision.has_actions:
        raise NotImplementedError(
            f"decision must be 'dominance' for export_code of a forest, got {predictor.decision!r}. Use to_onnx."
        )
    if predictor.novelty_level is not None:
        raise NotImplementedError(f"novelty must be None for export_code, got {predictor.novelty_level!r}.")
    forest, views = predictor.forest, predictor.rule.views
    counts = [np.asarray(forest.evidence_in(tree), dtype=np.float64) for tree in range(forest.n_trees)]
    if views is None:
        return np.concatenate(counts)
    if forest.n_trees < views.kinds:
        raise NotImplementedError(
            f"n_estimators must be at least {views.kinds} for export_code of a mixed forest, got {forest.n_trees}."
        )
    shares = forest.viewed(views).shares_at(np.arange(forest.leaf_start[-1]))
    return np.hstack([np.concatenate(counts), shares.reshape(len(shares), -1)])


def _numbers(predictor: RegressionPredictor) -> NDArray[np.float64]:
    """Return prediction, lower and upper bound of all leaves (L, 3)."""
    return np.asarray(predictor.leaf_states(), dtype=np.float64)


def _info(predictor: ClassificationPredictor | RegressionPredictor, tree: Tree, title: str) -> Info:
    """Describe a forest without its classes."""
    used = {int(feature) for each in predictor.fitted.trees() for feature in np.unique(each.feature[~each.is_leaf])}
    names = [tree.name_of(feature) for feature in range(tree.schema.n_features)]
    nominal = {i: known for i, known in enumerate(tree.schema.categories) if known is not None and i in used}
    return Info(title, names, nominal, float(predictor.caution), support_of(predictor.fitted))


def _classes(predictor: ClassificationPredictor) -> dict[str, Any]:
    """Return the classes, and the parameters of the calibrator if there is one."""
    return {
        "classes": predictor.classes.tolist(),
        "calibrator": _constants(predictor.calibration) if predictor.is_calibrated else None,
    }


def _constants(learned: Calibration) -> dict[str, Any]:
    """Return the constants of a calibrator: those of one view if it acts on the probabilities of the forest."""
    views = Views(1, (1,)) if learned.views is None else learned.views
    weights = [learned.slope] if learned.weights is None else learned.weights.tolist()
    found = {name: value for name, value in learned.numbers().items() if name != "slope"}
    return found | {"kinds": views.kinds, "depths": len(views.least), "weights": weights}


def _python(tables: Tables, info: Info, name: str) -> str:
    """Write the tables in Python."""
    lines = [f'"""{info.title}"""', "", "import math", ""]
    if info.classes is not None:
        lines += [f"CLASSES = {python_tuple(info.classes)}", f"MAP = {info.calibrator!r}"]
    lines += [f"FEATURES = {python_tuple(info.features)}", f"CAUTION = {info.caution!r}"]
    known = ", ".join(f"{i}: {python_tuple(each.tolist())}" for i, each in info.categories.items())
    lines.append(f"CATEGORIES = {{{known}}}")
    lines += [f"_{key.upper()} = {python_tuple(values)}" for key, values in _limits(info.support)]
    lines += [f"_{key.upper()} = {python_tuple(values)}" for key, values in _columns(tables)]
    rows = ", ".join(python_tuple(row) for row in tables.lines.tolist())
    return "\n".join([*lines, f"_LINES = ({rows},)"]) + "\n"


def _c(tables: Tables, info: Info, name: str) -> str:
    """Write the tables in C."""
    sizes = {"n_features": len(info.features), "n_trees": len(tables.roots), "n_columns": tables.lines.shape[1]}
    lines = [f"/* {info.title}", "   Do not compile with -ffast-math: missing values are NaN. */"]
    lines += ["#include <math.h>", "#include <stddef.h>", ""]
    if info.classes is not None:
        sizes["n_classes"] = len(info.classes)
        lines.append(f"static const double {name}_caution = {c_number(info.caution)};")
        lines.append(f"const char *const {name}_classes[] = {c_strings(info.classes)};")
    lines += [f"enum {{ {name}_{key} = {size} }};" for key, size in sizes.items()]
    lines.append(f"const char *const {name}_features[] = {c_strings(info.features)};")
    lines += _c_categories(info.categories, len(info.features), name)
    lines += [] if info.classes is None else _c_calibrator(info.calibrator, len(info.classes), name)
    for key, values in _limits(info.support):
        kind = "double" if key in ("low", "high") else "int"
        lines.append(f"static const {kind} {name}_{key}[] = {{{', '.join(map(c_number, values or [0.0]))}}};")
    lines.append(f"enum {{ {name}_n_checked = {int(info.support.used.sum())} }};")
    for key, values in _columns(tables):
        kind = "double" if key == "number" else "int"
        lines.append(f"static const {kind} {name}_{key}[] = {{{', '.join(map(c_number, values))}}};")
    rows = ", ".join(c_number(value) for value in tables.lines.ravel().tolist())
    return "\n".join([*lines, f"static const double {name}_lines[] = {{{rows}}};"]) + "\n"


def _c_categories(nominal: dict[int, Array], n_features: int, name: str) -> list[str]:
    """Write the numbers of categories of each feature, and their codes, in C."""
    lines, sizes, starts = [], [-1] * n_features, [0] * n_features
    values: list[float] = []
    for feature, known in nominal.items():
        sizes[feature], starts[feature] = len(known), len(values)
        if are_doubles(known):
            values += [float(value) for value in known.tolist()]
        else:
            values += [float(place) for place in range(len(known))]
            lines.append(f"const char *const {name}_categories_{feature}[] = {c_strings([*known.tolist(), None])};")
    for key, numbers in (("n_known", sizes), ("first_known", starts)):
        lines.append(f"static const int {name}_{key}[] = {{{', '.join(map(str, numbers))}}};")
    shown = ", ".join(map(c_number, values or [0.0]))
    return [*lines, f"static const double {name}_known[] = {{{shown}}};"]


def _c_calibrator(learned: Mapping[str, Any] | None, n_classes: int, name: str) -> list[str]:
    """Write the calibrator in C; without one, unused numbers."""
    blank: dict[str, Any] = {"floor": 0.0, "gain": 1.0, "mix": None, "offsets": [0.0] * n_classes}
    constants = learned or blank | {"kinds": 1, "depths": 1, "weights": [1.0]}
    mix = np.zeros((n_classes, n_classes)) if constants["mix"] is None else np.array(constants["mix"])
    sizes = {"is_mapped": int(learned is not None), "n_kinds": constants["kinds"], "n_depths": constants["depths"]}
    lines = [f"enum {{ {name}_{key} = {size} }};" for key, size in sizes.items()]
    lines += [f"static const double {name}_{key} = {c_number(constants[key])};" for key in ("floor", "gain")]
    arrays = {"weights": constants["weights"], "mix": mix.ravel().tolist(), "offsets": constants["offsets"]}
    for key, values in arrays.items():
        lines.append(f"static const double {name}_{key}[] = {{{', '.join(map(c_number, values))}}};")
    return lines


def _javascript(tables: Tables, info: Info, name: str) -> str:
    """Write the tables in JavaScript."""
    for known in info.categories.values():
        if known.dtype.kind in "iuf" and not are_doubles(known):
            raise NotImplementedError(
                f"categories must be text, or exact as doubles, for JavaScript, got {max(known.tolist())!r}."
            )
    categories = {str(i): known.tolist() for i, known in info.categories.items()}
    constants: dict[str, object] = {"CLASSES": info.classes, "MAP": info.calibrator, "FEATURES": info.features}
    constants |= {"CAUTION": info.caution, "CATEGORIES": categories}
    lines = [f"// {info.title}", '"use strict";']
    # "<" is escaped, so no name can end a script element.
    written = {key: json.dumps(value).replace("<", "\\u003c") for key, value in constants.items()}
    lines += [f"const {name}_{key} = {value};" for key, value in written.items()]
    for key, values in [*_limits(info.support), *_columns(tables), ("lines", tables.lines.tolist())]:
        # JSON has no infinity; 1e999 is read as infinite
        lines.append(f"const {name}_{key} = {json.dumps(values).replace('Infinity', '1e999')};")
    return "\n".join(lines) + "\n"


def _limits(support: Support) -> list[tuple[str, list[float]]]:
    """Return the features that trees use, by number, and their limits, by name."""
    used = np.flatnonzero(support.used)
    columns = {"checked": used, "low": support.low[used], "high": support.high[used]}
    columns["gapless"] = support.gapless[used].astype(np.int64)
    return [(name, values.tolist()) for name, values in columns.items()]


def _columns(tables: Tables) -> list[tuple[str, list[float]]]:
    """Return the one-dimensional tables, by name."""
    columns = {
        "roots": tables.roots,
        "way": tables.way,
        "feature": tables.feature,
        "child": tables.child,
        "number": tables.number,
        "left": tables.left,
    }
    return [(name, values.tolist()) for name, values in columns.items()]


#: The values of leaves, and further information about the forest, by prediction type.
_FORMATS: dict[str, tuple[Callable[[Any], NDArray[np.float64]], Callable[[Any], dict[str, Any]] | None]] = {
    "classes": (_checked_counts, _classes),
    "numbers": (_numbers, None),
}
_ENDINGS = {"python": "py.txt", "c": "c.txt", "javascript": "js.txt"}
_WRITERS: dict[str, Callable[[Tables, Info, str], str]] = {
    "python": _python,
    "c": _c,
    "javascript": _javascript,
}
