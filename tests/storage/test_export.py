"""Trees that leave the library: text, drawings and programs say what the tree says."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from tests.reference.models import MODELS

from hedgerow import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
)
from hedgerow.export import export_code, export_graphviz, export_svg, export_text
from hedgerow.export.code import DEEPEST
from hedgerow.forest.walk import Tree
from hedgerow.inference.fitted import fitted_of

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
NAMES = sorted(MODELS)


def rows_of(X: Any) -> list[list[Any]]:
    """A table as lists of Python values, None for missing."""
    frame = pd.DataFrame(X).astype(object)
    return frame.where(frame.notna(), None).to_numpy().tolist()


def shares_of(tree: Any, leaf: int) -> np.ndarray:
    """(K,): what the tree says in a leaf; all classes alike where it holds nothing."""
    weights = tree.weights[leaf]
    return weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))


def chain_model() -> DecisionTreeClassifier:
    """A tree that cuts off one row after the other: class by class, as deep as it has rows."""
    X = np.zeros((3 * DEEPEST, 3 * DEEPEST))
    X[np.triu_indices(3 * DEEPEST)] = 1
    weights = 4.0 ** -np.arange(3 * DEEPEST)
    return DecisionTreeClassifier(random_state=0).fit(X, np.arange(3 * DEEPEST) % 2, weights)


# ---- programs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_python_program_answers_as_the_tree(name: str) -> None:
    model, asked = MODELS[name]()
    nodes = np.asarray(model.apply(asked)).reshape(len(asked), -1)
    for number, tree in enumerate(model.trees_):
        program: dict[str, Any] = {}
        exec(export_code(tree, name="oak"), program)
        for row, values in enumerate(rows_of(asked)):
            leaf = int(nodes[row, number])
            np.testing.assert_allclose(program["oak_probability"](values), shares_of(tree, leaf), rtol=1e-15)
            assert sum(program["oak_evidence"](values)) == pytest.approx(tree.counts[leaf].sum(), rel=1e-15)


def test_a_python_program_predicts_what_the_estimator_predicts() -> None:
    model, asked = MODELS["tree"]()
    program: dict[str, Any] = {}
    exec(export_code(model), program)
    assert [program["tree_predict"](values) for values in rows_of(asked)] == model.predict(asked).tolist()
    assert program["CLASSES"] == tuple(model.classes_.tolist())


def test_values_on_a_threshold_go_where_the_tree_sends_them() -> None:
    model, _ = MODELS["tree"]()
    program: dict[str, Any] = {}
    exec(export_code(model), program)
    thresholds = model.tree_.threshold[np.isfinite(model.tree_.threshold)]
    assert len(thresholds) >= 3
    values = np.concatenate([thresholds, np.nextafter(thresholds, np.inf), [-np.inf, np.inf]])
    X = np.repeat(values[:, None], 4, axis=1)
    assert [program["tree_predict"](row) for row in X.tolist()] == model.predict(X).tolist()


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_programs_of_a_regression_tree_give_the_numbers_of_its_leaves(criterion: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X).sum(axis=1) + rng.normal(size=200)
    model = DecisionTreeRegressor(criterion=criterion, max_depth=5, random_state=0).fit(X, y)
    program: dict[str, Any] = {}
    exec(export_code(model), program)
    assert [program["tree_predict"](row) for row in X.tolist()] == model.predict(X).tolist()
    assert not {"CLASSES", "tree_evidence", "tree_probability"} & program.keys()
    if COMPILER is None:
        return
    library = Compiled(model.tree_, tmp_path, 0)._library
    library.oak_predict.restype = ctypes.c_double
    assert [library.oak_predict((ctypes.c_double * 3)(*row)) for row in X.tolist()] == model.predict(X).tolist()


def test_a_deep_tree_becomes_several_functions() -> None:
    model = chain_model()
    assert model.get_depth() > 2 * DEEPEST
    code = export_code(model)
    assert max(len(line) - len(line.lstrip()) for line in code.splitlines()) <= 4 * (DEEPEST + 1)
    program: dict[str, Any] = {}
    exec(code, program)
    rng = np.random.default_rng(0)
    X = (rng.random((300, model.n_features_in_)) < 0.5).astype(float)
    assert [program["tree_predict"](row) for row in X.tolist()] == model.predict(X).tolist()


class Compiled:
    """A C program as a library."""

    def __init__(self, tree: Any, folder: Path, number: int) -> None:
        source, library = folder / f"tree{number}.c", folder / f"tree{number}.so"
        source.write_text(export_code(tree, language="c", name="oak"), encoding="utf-8")
        assert COMPILER is not None
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
        subprocess.run([COMPILER, *flags, "-o", str(library), str(source)], check=True)
        self._tree, self._library = tree, ctypes.CDLL(str(library))

    def probability(self, values: list[float]) -> list[float]:
        """One sample -> (K,)."""
        share = (ctypes.c_double * len(self._tree.classes))()
        self._library.oak_probability((ctypes.c_double * len(values))(*values), share)
        return list(share)

    def predict(self, values: list[float]) -> int:
        """One sample -> class number."""
        return int(self._library.oak_predict((ctypes.c_double * len(values))(*values)))

    def strings(self, name: str, length: int) -> list[str]:
        """A list of strings of the program."""
        held = (ctypes.c_char_p * length).in_dll(self._library, name)
        return [(text or b"").decode("utf-8") for text in held]


def doubles_of(X: Any, tree: Any) -> list[list[float]]:
    """A table as the C program wants it: text as the place in its list of categories, NaN for missing."""
    columns = []
    for feature, column in enumerate(np.array(rows_of(X), dtype=object).T):
        known = tree.schema.categories[feature]
        place = {} if known is None else {value: float(i) for i, value in enumerate(known.tolist())}
        text = known is not None and known.dtype == object
        columns.append([np.nan if v is None else place.get(v, -1.0) if text else float(v) for v in column])
    return [list(row) for row in zip(*columns, strict=True)]


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on the path")
@pytest.mark.parametrize("name", NAMES)
def test_a_c_program_answers_as_the_tree(name: str, tmp_path: Path) -> None:
    model, asked = MODELS[name]()
    nodes = np.asarray(model.apply(asked)).reshape(len(asked), -1)
    for number, tree in enumerate(model.trees_[:1]):
        program = Compiled(tree, tmp_path, number)
        for row, values in enumerate(doubles_of(asked, tree)):
            expected = shares_of(tree, int(nodes[row, number]))
            np.testing.assert_allclose(program.probability(values), expected, rtol=1e-15)
            assert expected[program.predict(values)] == expected.max()


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on the path")
def test_a_c_program_of_a_deep_tree_compiles_and_keeps_every_name(tmp_path: Path) -> None:
    X = pd.DataFrame({'a"b\\??/\n': ["é", "\x00nul", "??="] * 20, "b": np.arange(60.0)})
    model = DecisionTreeClassifier(random_state=0).fit(X, (np.arange(60) % 3 + np.arange(60) // 20) % 2)
    program = Compiled(model.tree_, tmp_path, 0)
    expected = [label.replace("\x00nul", "") for label in fitted_of(model).schema.categories[0].tolist()]
    assert program.strings("oak_categories_0", 3) == expected
    assert program.strings("oak_features", 2) == list(X.columns)
    deep = chain_model()
    program = Compiled(deep.tree_, tmp_path, 1)
    rows = (np.random.default_rng(0).random((100, deep.n_features_in_)) < 0.5).astype(float)
    assert [program.predict(row) for row in rows.tolist()] == deep.predict(rows).tolist()


@pytest.mark.parametrize(("changed", "word"), [({"language": "cobol"}, "language"), ({"name": "a b"}, "name")])
def test_code_refuses_what_it_cannot_spell(changed: dict[str, str], word: str) -> None:
    with pytest.raises(ValueError, match=f"{word} must be"):
        export_code(MODELS["tree"]().model, **changed)


@pytest.mark.parametrize("export", [export_graphviz, export_svg, export_text])
def test_a_forest_is_no_tree(export: Any) -> None:
    with pytest.raises(TypeError, match=r"pass one of forest\.trees_"):
        export(MODELS["forest"]().model)


# ---- text ---------------------------------------------------------------------------------------------------


def test_text_shows_bounds_of_the_likeliest_class() -> None:
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    plain, cautious = export_text(tree), export_text(tree, caution=1)
    assert plain == tree.tree_.to_text()
    assert "1: 49, 2: 5 (1 in [0.89, 0.91])" in cautious  # 49/55 and 50/55
    with pytest.raises(ValueError, match="caution must be"):
        export_text(tree, caution=-1)


# ---- drawings -----------------------------------------------------------------------------------------------


def awkward_tree() -> Any:
    """Names and labels that break careless writers."""
    words = ['<b> & "q"', "back\\slash", "line\nbreak", "", "ünï", "x" * 80]
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {'feature "<&>" \\': np.array(words, dtype=object)[rng.integers(0, 6, 90)], "n": rng.normal(size=90)}
    )
    y = np.array(words, dtype=object)[rng.integers(0, 6, 90)]
    return RandomForestClassifier(1, max_depth=6, random_state=0).fit(X, y).trees_[0]


DRAWN = {
    **{name: lambda name=name: MODELS[name]().model.trees_[0] for name in NAMES},
    "awkward": awkward_tree,
    "one leaf": lambda: DecisionTreeClassifier().fit([[1.0], [2.0]], [0, 0]).tree_,
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # pydot's own
@pytest.mark.parametrize("name", ["awkward", "forest", "one leaf", "random", "tree"])
def test_dot_has_every_node_and_edge_once(name: str) -> None:
    pydot = pytest.importorskip("pydot")
    tree = DRAWN[name]()
    (graph,) = pydot.graph_from_dot_data(export_graphviz(tree, caution=1.0))
    drawn = [node.get_name() for node in graph.get_nodes() if node.get_name() not in ("node", "edge", '"\\n"')]
    assert drawn == [str(number) for number in range(tree.n_nodes)]
    edges = {(int(edge.get_source()), int(edge.get_destination())) for edge in graph.get_edges()}
    assert edges == {(int(tree.parent[number]), number) for number in range(1, tree.n_nodes)}
    assert len(graph.get_edges()) == tree.n_nodes - 1


def test_dot_stops_where_it_is_told() -> None:
    tree = MODELS["tree"]().model.tree_
    text = export_graphviz(tree, max_depth=1)
    assert text.count("[label=") == (tree.node_depth <= 1).sum() + 2
    assert "…" in text


def boxes_of(svg: str) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of every node of a drawing."""
    root = ElementTree.fromstring(svg)
    space = "{http://www.w3.org/2000/svg}"
    boxes = []
    for group in root.iter(f"{space}g"):
        rect = group.find(f"{space}rect")
        x, y, width, height = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
        boxes.append((x, y, x + width, y + height))
    return boxes


@pytest.mark.parametrize("max_depth", [0, 2, None])
@pytest.mark.parametrize("name", sorted(DRAWN))
def test_boxes_of_a_drawing_lie_on_the_page_and_never_on_each_other(name: str, max_depth: int | None) -> None:
    tree = DRAWN[name]()
    svg = export_svg(tree, max_depth=max_depth, caution=2.0)
    boxes = boxes_of(svg)
    shown = tree.node_depth <= (tree.n_nodes if max_depth is None else max_depth)
    assert len(boxes) == shown.sum()
    root = ElementTree.fromstring(svg)
    width, height = float(root.get("width")), float(root.get("height"))
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert left >= 0
        assert top >= 0
        assert right <= width
        assert bottom <= height
        for other in boxes[:i]:
            assert right < other[0] or other[2] < left or bottom < other[1] or other[3] < top


def test_bars_of_a_leaf_are_its_class_shares() -> None:
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y).tree_
    root = ElementTree.fromstring(export_svg(tree))
    space = "{http://www.w3.org/2000/svg}"
    for number, group in enumerate(root.iter(f"{space}g")):
        bars = [float(rect.get("width")) for rect in group.findall(f"{space}rect")[1:]]
        held = tree.counts[number][tree.counts[number] > 0]
        np.testing.assert_allclose(np.array(bars) / sum(bars), held / held.sum(), atol=0.002)  # a tenth of a pixel


@given(st.lists(st.text(st.characters(exclude_categories=[]), max_size=9), min_size=6, max_size=6, unique=True))
@example(["\x1b[2J", "\x00", "&<>\"'", "\ud800", "\uffff\ufffe", "]]>\x7f\x9b"])
def test_a_picture_is_well_formed_whatever_things_are_called(names: list[str]) -> None:
    X = pd.DataFrame({"a": np.arange(8.0), "b": np.array(list("pqrs") * 2, dtype=object)})
    fitted = fitted_of(DecisionTreeClassifier(random_state=0).fit(X, np.array(list("uvvu") * 2)))
    kept = {"names": tuple(names[:2]), "categories": (None, np.array([*names[2:4], "r", "s"], dtype=object))}
    schema = replace(fitted.schema, **kept)
    tree = Tree(fitted.forest, 0, fitted.bins, schema, np.array(names[4:], dtype=object))
    root = ElementTree.fromstring(export_svg(tree, max_depth=None, caution=1.0).encode())
    assert len(list(root.iter("{http://www.w3.org/2000/svg}g"))) == tree.n_nodes
    export_graphviz(tree, caution=1.0).encode()


def test_hidden_nodes_are_counted() -> None:
    tree = MODELS["tree"]().model.tree_
    assert f"… {tree.n_nodes - 1} nodes below" in export_svg(tree, max_depth=0)


def test_a_multiway_split_names_each_answer() -> None:
    X = np.array([["a"], ["a"], [""], [""]], dtype=object)
    fitted = RandomDecisionTreesClassifier(1, categorical_features=[0], random_state=0).fit(X, [0, 0, 1, 1])
    text = export_graphviz(fitted.trees_[0])
    assert '[label="a"]' in text
    assert "[label=\"''\"]" in text
    assert '[label="missing or new"]' in text
