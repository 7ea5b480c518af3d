"""Programs of forests in Python, C or JavaScript, with probabilities, bounds and sets.

A program is tables of numbers, written here, and the functions that read them, which are files beside this one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.decisions.credal import Dominance
from hedgerow.export.describe import are_doubles, c_number, c_strings, python_tuple
from hedgerow.export.models import exported
from hedgerow.forest.walk import Tree

#: What a node is: a leaf, a threshold, a set of categories (each with missing values going right or left), or a child
#: for each category.
LEAF, RIGHT, LEFT, SET_RIGHT, SET_LEFT, EACH = range(6)


@dataclass(frozen=True)
class Tables:
    """A forest as tables; nodes are numbered over all trees.

    Attributes
    ----------
    roots : (T,) first node of each tree
    way, feature, child : (N,)
        What a node is, its feature, and its first child; for a leaf, `child` is a line of `lines`.
    number : (N,)
        A threshold, or where the categories of a set begin in `left`.
    left : (S,)
        For each set and category, 1 if the category goes left.
    lines : (U, K) or (U, 3)
        The different kinds of leaves: the rows of each class, or a prediction and its lower and upper bound.
    """

    roots: NDArray[np.int64]
    way: NDArray[np.int64]
    feature: NDArray[np.int64]
    child: NDArray[np.int64]
    number: NDArray[np.float64]
    left: NDArray[np.int64]
    lines: NDArray[np.float64]


def forest_code(model: Any, language: str, name: str) -> str:
    """A fitted classifier under the rule "average", or a regressor -> the text of a program."""
    predictor, (lines_of, more) = exported(model, {"classes": (_checked_counts, _classes), "numbers": (_numbers, None)})
    tables, trees = tables_of(predictor, lines_of(predictor)), predictor.fitted.trees()
    info = _info(predictor, trees[0], f"A forest of {len(trees)} trees; written by hedgerow.") | (
        more(predictor) if more else {}
    )
    body = files("hedgerow.export").joinpath(f"programs/{predictor.kind}.{_ENDINGS[language]}").read_text("utf-8")
    return _WRITERS[language](tables, info, name) + body.replace("NAME", name)


def tables_of(predictor: Any, lines: NDArray[np.float64]) -> Tables:
    """Answers, what each leaf says (L, C) -> the forest as tables."""
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


def _nodes_of(tree: Tree, root: int) -> tuple[Any, ...]:
    """A tree, the number of its root -> way, feature, first child or leaf, threshold of its nodes; and its sets."""
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


def _checked_counts(predictor: Any) -> NDArray[np.float64]:
    """Answers of a classifier -> (L, K): the rows of each class in every leaf; refused unless trees are averaged."""
    if not predictor.plain_rule.plain_mean:
        raise NotImplementedError(
            f"rule must be 'average' for code of a forest, got {predictor.plain_rule!r}; choose it with set_params, or"
            " use to_onnx, which supports more rules"
        )
    if not isinstance(predictor.decision, Dominance) or predictor.decision.has_actions:
        raise NotImplementedError(
            f"decision must be 'dominance' for code of a forest, got {predictor.decision!r}; choose it with set_params,"
            " or use to_onnx, which supports more decisions"
        )
    if predictor.novelty_level is not None:
        raise NotImplementedError(
            "novelty must be None for code of a forest, got a level; code does not look for strangers"
        )
    forest = predictor.forest
    return np.concatenate([np.asarray(forest.evidence_in(tree), dtype=np.float64) for tree in range(forest.n_trees)])


def _numbers(predictor: Any) -> NDArray[np.float64]:
    """Answers of a regressor -> (L, 3): prediction, lower and upper bound of every leaf."""
    return np.asarray(predictor.leaf_states(), dtype=np.float64)


def _info(predictor: Any, tree: Tree, title: str) -> dict[str, Any]:
    """Answers, one of the trees -> everything besides the tables, by name."""
    used = {int(feature) for each in predictor.fitted.trees() for feature in np.unique(each.feature[~each.is_leaf])}
    names = [tree.name_of(feature) for feature in range(tree.schema.n_features)]
    nominal = {i: known for i, known in enumerate(tree.schema.categories) if known is not None and i in used}
    return {"title": title, "features": names, "categories": nominal, "caution": float(predictor.caution)}


def _classes(predictor: Any) -> dict[str, Any]:
    """Answers of a classifier -> its classes, and the numbers of its map if it has one."""
    return {
        "classes": predictor.classes.tolist(),
        "map": predictor.calibration.numbers() if predictor.is_calibrated else None,
    }


def _python(tables: Tables, info: dict[str, Any], name: str) -> str:
    """The tables in Python."""
    lines = [f'"""{info["title"]}"""', "", "import math", ""]
    if "classes" in info:
        lines += [f"CLASSES = {python_tuple(info['classes'])}", f"MAP = {info['map']!r}"]
    lines += [f"FEATURES = {python_tuple(info['features'])}", f"CAUTION = {info['caution']!r}"]
    known = ", ".join(f"{i}: {python_tuple(each.tolist())}" for i, each in info["categories"].items())
    lines.append(f"CATEGORIES = {{{known}}}")
    lines += [f"_{key.upper()} = {python_tuple(values)}" for key, values in _columns(tables)]
    rows = ", ".join(python_tuple(row) for row in tables.lines.tolist())
    return "\n".join([*lines, f"_LINES = ({rows},)"]) + "\n"


def _c(tables: Tables, info: dict[str, Any], name: str) -> str:
    """The tables in C."""
    sizes = {"n_features": len(info["features"]), "n_trees": len(tables.roots), "n_columns": tables.lines.shape[1]}
    lines = [f"/* {info['title']}", "   Do not compile with -ffast-math: missing values are NaN. */"]
    lines += ["#include <math.h>", "#include <stddef.h>", ""]
    if "classes" in info:
        sizes["n_classes"] = len(info["classes"])
        lines.append(f"static const double {name}_caution = {c_number(info['caution'])};")
        lines.append(f"const char *const {name}_classes[] = {c_strings(info['classes'])};")
    lines += [f"enum {{ {name}_{key} = {size} }};" for key, size in sizes.items()]
    lines.append(f"const char *const {name}_features[] = {c_strings(info['features'])};")
    lines += _c_categories(info["categories"], len(info["features"]), name)
    lines += _c_map(info["map"], len(info["classes"]), name) if "classes" in info else []
    for key, values in _columns(tables):
        kind = "double" if key == "number" else "int"
        lines.append(f"static const {kind} {name}_{key}[] = {{{', '.join(map(c_number, values))}}};")
    rows = ", ".join(c_number(value) for value in tables.lines.ravel().tolist())
    return "\n".join([*lines, f"static const double {name}_lines[] = {{{rows}}};"]) + "\n"


def _c_categories(nominal: dict[int, NDArray[Any]], n_features: int, name: str) -> list[str]:
    """Which features are nominal: how many categories, and the numbers that stand for them in C."""
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


def _c_map(learned: dict[str, Any] | None, n_classes: int, name: str) -> list[str]:
    """The map of a calibrated forest in C; without one, numbers that are not read."""
    blank: dict[str, Any] = {"floor": 0.0, "slope": 1.0, "gain": 1.0, "mix": None, "offsets": [0.0] * n_classes}
    constants = learned or blank
    mix = np.zeros((n_classes, n_classes)) if constants["mix"] is None else np.array(constants["mix"])
    lines = [f"enum {{ {name}_is_mapped = {int(learned is not None)} }};"]
    lines += [f"static const double {name}_{key} = {c_number(constants[key])};" for key in ("floor", "slope", "gain")]
    for key, values in (("mix", mix.ravel().tolist()), ("offsets", constants["offsets"])):
        lines.append(f"static const double {name}_{key}[] = {{{', '.join(map(c_number, values))}}};")
    return lines


def _javascript(tables: Tables, info: dict[str, Any], name: str) -> str:
    """The tables in JavaScript."""
    for known in info["categories"].values():
        if known.dtype.kind in "iuf" and not are_doubles(known):
            raise NotImplementedError(
                "categories must be text or numbers that a double holds for JavaScript, got larger ones; pass them as"
                " text"
            )
    categories = {str(i): known.tolist() for i, known in info["categories"].items()}
    constants = {"CLASSES": info.get("classes"), "MAP": info.get("map"), "FEATURES": info["features"]}
    constants |= {"CAUTION": info["caution"], "CATEGORIES": categories}
    lines = [f"// {info['title']}", '"use strict";']
    # Without "<", no name ends the script element of a page into which the program is copied.
    written = {key: json.dumps(value).replace("<", "\\u003c") for key, value in constants.items()}
    lines += [f"const {name}_{key} = {value};" for key, value in written.items()]
    for key, values in [*_columns(tables), ("lines", tables.lines.tolist())]:
        # JSON has no infinity; a threshold beyond all numbers reads as infinite
        lines.append(f"const {name}_{key} = {json.dumps(values).replace('Infinity', '1e999')};")
    return "\n".join(lines) + "\n"


def _columns(tables: Tables) -> list[tuple[str, list[Any]]]:
    """The tables of one column, by name."""
    names = ("roots", "way", "feature", "child", "number", "left")
    return [(name, getattr(tables, name).tolist()) for name in names]


_ENDINGS = {"python": "py.txt", "c": "c.txt", "javascript": "js.txt"}
_WRITERS: dict[str, Callable[[Tables, dict[str, Any], str], str]] = {
    "python": _python,
    "c": _c,
    "javascript": _javascript,
}
