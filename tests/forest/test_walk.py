"""Reading trees: every row finds its leaf, every leaf says what it holds, and a person can follow."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.reference.grow import Node, Twin, node_from_arrays
from tests.reference.tables import Drawn, draw_case

from hedgerow import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
)
from hedgerow.criteria import resolve_criterion
from hedgerow.export import export_graphviz, export_svg, export_text
from hedgerow.export.svg import MOST_BOXES, lay_out
from hedgerow.forest.forest import Forest, join_forests
from hedgerow.forest.grow import grow_forest
from hedgerow.forest.prune import pruning_path
from hedgerow.forest.walk import Tree
from hedgerow.inference.fitted import fitted_of
from hedgerow.table.bins import encode

SPLITTERS = ["best", "random", "random_decision"]


def other_codes(case: Drawn, n_rows: int) -> NDArray[Any]:
    """Codes of rows the trees have not seen: any bin, and missing."""
    rng = np.random.default_rng(0)
    missing = np.iinfo(case.codes.dtype).max
    columns = [rng.integers(0, n_bins, n_rows) for n_bins in case.bins.n_bins]
    codes = np.array(columns, dtype=case.codes.dtype)
    codes[rng.random(codes.shape) < 0.1] = missing
    return codes


def shares_of(leaf: Node) -> NDArray[np.float64] | None:
    """What a leaf says; nothing when it is empty."""
    held = np.array(leaf.counts if leaf.weights is None else leaf.weights, dtype=float)
    return held / held.sum() if held.sum() > 0 else None


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_classes", [2, 3, 20])
@pytest.mark.parametrize("splitter", SPLITTERS)
def test_probability_is_the_mean_share_of_the_leaves_reached(splitter: str, n_classes: int, seed: int) -> None:
    case = draw_case(seed, n_classes, splitter, "gini", "nominal" if seed % 2 else "")
    forest = grow_forest(case.codes, case.bins, case.labels, case.settings, n_trees=3)
    codes = other_codes(case, 45)
    twin = Twin(codes, case.bins, case.labels, case.settings)
    trees = [node_from_arrays(forest, number, case.bins) for number in range(3)]
    expected = np.full((45, n_classes), 1 / n_classes)
    for row in range(45):
        said = [shares_of(twin._leaf_of(tree, row)) for tree in trees]
        heard = [shares for shares in said if shares is not None]
        if heard:
            expected[row] = np.mean(heard, axis=0)
    np.testing.assert_allclose(forest.probability(codes), expected, atol=1e-12)
    np.testing.assert_allclose(forest.probability(codes).sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("n_threads", [1, 2, 8])
@pytest.mark.parametrize("n_rows", [1, 7, 8, 9, 5000])
def test_blocks_of_rows_and_threads_read_alike(n_rows: int, n_threads: int) -> None:
    case = draw_case(5, 3, "best", "gini", "nominal")
    forest = grow_forest(case.codes, case.bins, case.labels, case.settings, n_trees=3)
    codes = other_codes(case, n_rows)
    one_by_one = [forest.probability(np.ascontiguousarray(codes[:, [row]]))[0] for row in range(min(n_rows, 50))]
    whole = forest.probability(codes, n_threads)
    assert np.array_equal(whole[:50], one_by_one)
    assert np.array_equal(forest.leaves(codes, n_threads), forest.leaves(codes))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize("focus", ["", "nominal"])
def test_rows_reach_the_same_leaves_together_and_one_by_one(focus: str, has_missing: bool, seed: int) -> None:
    # A block of rows passes the first levels of a tree by another way than a single row.
    case = draw_case(seed, 3, "random", "gini", focus)
    forest = grow_forest(case.codes, case.bins, case.labels, case.settings, n_trees=40)
    codes = other_codes(case, 300)
    if not has_missing:
        codes[codes == np.iinfo(codes.dtype).max] = 0
    one_by_one = [forest.leaf_nodes(np.ascontiguousarray(codes[:, [row]]))[0] for row in range(300)]
    assert np.array_equal(forest.leaf_nodes(codes), one_by_one)
    assert np.array_equal(forest.leaf_nodes(np.ascontiguousarray(codes[:, :65])), one_by_one[:65])


@pytest.fixture(scope="module")
def model() -> RandomForestClassifier:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(200, 3)), rng.integers(0, 6, 200)])
    X[rng.random(X.shape) < 0.05] = np.nan
    y = rng.integers(0, 3, 200)
    fitted = RandomForestClassifier(5, calibration=None, categorical_features=[3], random_state=0).fit(X, y)
    fitted.X = X
    return fitted


def test_rows_reach_leaves_by_a_path_from_the_root(model: Any) -> None:
    indicator, start = model.decision_path(model.X)
    reached = model.apply(model.X)
    for number, tree in enumerate(model.trees_):
        passed = indicator[:, start[number] : start[number + 1]].toarray().astype(bool)
        assert passed[:, 0].all()
        assert tree.is_leaf[reached[:, number]].all()
        assert np.array_equal(passed.sum(axis=1), tree.node_depth[reached[:, number]] + 1)
        for row in range(20):
            at, seen = int(reached[row, number]), set()
            while at >= 0:
                seen.add(at)
                at = int(tree.parent[at])
            assert set(np.flatnonzero(passed[row])) == seen


def test_a_single_tree_answers_without_a_tree_axis(model: Any) -> None:
    tree = DecisionTreeClassifier(random_state=0).fit(model.X, model.predict(model.X))
    assert tree.apply(model.X).shape == (200,)
    assert tree.decision_path(model.X).shape == (200, tree.tree_.n_nodes)


def test_counts_of_a_node_are_those_of_its_children(model: Any) -> None:
    for tree in model.trees_:
        assert tree.counts[0].sum() == 200
        for node in np.flatnonzero(~tree.is_leaf):
            children = tree.first_child[node] + np.arange(tree.n_children[node])
            assert np.array_equal(tree.counts[node], tree.counts[children].sum(axis=0))
            assert (tree.parent[children] == node).all()
            assert (tree.node_depth[children] == tree.node_depth[node] + 1).all()
        assert tree.depth == tree.node_depth.max()


def test_borrowed_leaves_do_not_count_twice() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 12, (100, 3)).astype(float), rng.integers(0, 2, 100)
    fitted = RandomDecisionTreesClassifier(5, categorical_features=[0, 1], random_state=0).fit(X, y)
    assert any(tree.is_borrowed.any() for tree in fitted.trees_)
    for tree in fitted.trees_:
        assert tree.counts[0].tolist() == np.bincount(y).tolist()
        own = tree.is_leaf & ~tree.is_borrowed
        assert tree.counts[own].sum() == 100


@pytest.mark.parametrize("n_classes", [8, 9, 300])
def test_counts_are_the_same_stored_densely_or_sparsely(n_classes: int) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(900, 3)), np.arange(900) % n_classes
    fitted = ExtraTreesClassifier(3, max_depth=4, random_state=0).fit(X, y)
    reached = fitted.apply(X)
    assert (fitted.forest_.entry_start is None) == (n_classes <= 8)
    for number, tree in enumerate(fitted.trees_):
        expected = np.zeros((tree.n_nodes, n_classes), dtype=np.int64)
        np.add.at(expected, (reached[:, number], y), 1)
        assert np.array_equal(tree.counts[tree.is_leaf], expected[tree.is_leaf])


def test_leaves_of_a_thousand_classes_store_only_what_they_hold() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(3000, 4)), rng.integers(0, 1000, 3000)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y).forest_
    assert forest.counts.min() > 0
    assert len(forest.counts) <= 3 * 3000
    assert forest.nbytes < 20 * 3 * 6000 + 10 * 3 * 3000


def test_a_node_takes_twelve_bytes(model: Any) -> None:
    forest = model.forest_
    assert forest.nodes.nbytes + forest.payload.nbytes == 12 * len(forest.nodes)


def test_joined_forests_answer_with_the_mean_of_both(model: Any) -> None:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 200)
    weighted = RandomForestClassifier(3, calibration=None, categorical_features=[3], random_state=9)
    weighted.fit(model.X, y, rng.random(200) + 0.5)
    codes = encode_for(model, model.X)
    joined = join_forests(model.forest_, weighted.forest_)
    expected = (5 * model.predict_proba(model.X) + 3 * weighted.predict_proba(model.X)) / 8
    np.testing.assert_allclose(joined.probability(codes), expected, atol=1e-12)
    assert joined.n_trees == 8


def encode_for(model: Any, X: Any) -> NDArray[Any]:
    from hedgerow.table import read_table

    return encode(read_table(X, fitted_of(model).schema), fitted_of(model).bins)


def test_wide_tables_read_only_the_features_they_need() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(80, 200)), rng.integers(0, 2, 80)
    fitted = RandomForestClassifier(3, calibration=None, random_state=0).fit(X, y)
    assert 0 < len(fitted.forest_.used_features) < 200
    np.testing.assert_array_equal(fitted.predict_proba(X), fitted.forest_.probability(encode_for(fitted, X)))


def test_predictions_are_the_likeliest_labels(model: Any) -> None:
    words = np.array(["x", "y", "z"])
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(60, 2)), words[rng.integers(0, 3, 60)]
    fitted = RandomForestClassifier(7, random_state=0).fit(X, y)
    probability = fitted.predict_proba(X)
    assert np.array_equal(fitted.predict(X), words[probability.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        assert np.array_equal(fitted.predict_log_proba(X), np.log(probability))


# ---- pruning ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 12])
def test_more_alpha_means_fewer_leaves_until_one_is_left(n_classes: int) -> None:
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.normal(size=(200, 2)), rng.integers(0, 5, 200)])
    y = rng.integers(0, n_classes, 200)
    whole = DecisionTreeClassifier(categorical_features=[2], random_state=0).fit(X, y)
    alphas = sorted({step.alpha for step in pruning_path(whole.tree_, "gini")})
    assert len(alphas) >= 5
    leaves = []
    for alpha in (0.0, *alphas[1:-1], alphas[-1] + 1e-9):
        fitted = DecisionTreeClassifier(ccp_alpha=alpha, categorical_features=[2], random_state=0).fit(X, y)
        leaves.append(fitted.get_n_leaves())
        assert fitted.tree_.counts[0].tolist() == np.bincount(y, minlength=n_classes).tolist()
        expected = np.zeros((fitted.tree_.n_nodes, n_classes), dtype=int)
        np.add.at(expected, (fitted.apply(X), y), 1)
        assert np.array_equal(fitted.tree_.counts[fitted.tree_.is_leaf], expected[fitted.tree_.is_leaf])
    assert leaves == sorted(leaves, reverse=True)
    assert leaves[0] > leaves[len(leaves) // 2] > leaves[-1] == 1


def test_the_path_ends_at_the_root_and_never_turns_back(model: Any) -> None:
    for tree in model.trees_:
        steps = list(pruning_path(tree, "gini"))
        alphas = np.array([step.alpha for step in steps])
        assert steps[-1].node == 0
        assert np.diff(alphas).min() >= -1e-12
        assert np.diff([step.impurity for step in steps]).min() >= -1e-12


# ---- for people ---------------------------------------------------------------------------------------------


def test_a_tree_can_be_read() -> None:
    X = np.array([[1.0, 0], [2.0, 0], [3.0, 1], [4.0, 1], [np.nan, 2]])
    y = ["no", "no", "yes", "yes", "yes"]
    fitted = DecisionTreeClassifier(random_state=0).fit(X[:, :1], y)
    assert fitted.tree_.to_text() == "\n".join(
        ["|--- x[0] <= 2.50", "|   |--- no: 2", "|--- x[0] > 2.50 or missing", "|   |--- yes: 3"]
    )
    nominal = DecisionTreeClassifier(categorical_features=[0], random_state=0).fit(X[:, 1:], y)
    lines = nominal.tree_.to_text().splitlines()
    assert sorted(line for line in lines if " in " in line) == sorted(
        ["|--- x[0] in [1.0, 2.0] or missing", "|--- x[0] in [0.0]"]
    )


def test_a_multiway_tree_can_be_read() -> None:
    X = np.array([["a"], ["a"], ["b"], ["b"]], dtype=object)
    fitted = RandomDecisionTreesClassifier(1, categorical_features=[0], random_state=0).fit(X, [0, 0, 1, 1])
    assert fitted.trees_[0].to_text().splitlines() == [
        "|--- x[0] = a",
        "|   |--- 0: 2",
        "|--- x[0] = b",
        "|   |--- 1: 2",
        "|--- x[0] missing or new",
        "|   |--- 0: 2, 1: 2",
    ]


def test_a_tree_can_be_walked(model: Any) -> None:
    node = model.trees_[0].root
    seen = 0
    while not node.is_leaf:
        assert len(node.questions) == len(node.children) == 2
        assert sum(node.counts.values()) == sum(sum(child.counts.values()) for child in node.children)
        node = max(node.children, key=lambda child: sum(child.counts.values()))
        seen += 1
    assert 0 < seen <= model.trees_[0].depth
    assert node.children == node.questions == []


def test_thresholds_send_values_where_the_text_says(model: Any) -> None:
    tree = model.trees_[0]
    reached = model.apply(model.X)[:, 0]
    passed = model.decision_path(model.X)[0][:, : tree.n_nodes].toarray().astype(bool)
    checked = 0
    for node in np.flatnonzero(~tree.is_leaf):
        feature, rows = tree.feature[node], np.flatnonzero(passed[:, node])
        values = model.X[rows, feature]
        left = np.isin(values, tree.categories_left(node)) if feature == 3 else values <= tree.threshold[node]
        left = np.where(np.isnan(values), tree.missing_left[node], left)
        assert np.array_equal(passed[rows, tree.first_child[node]], left)
        checked += 1
    assert checked == tree.n_nodes - tree.n_leaves
    assert len(np.unique(reached)) <= tree.n_leaves


def test_importances_are_shares_of_features_that_matter() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(400, 3))
    y = (X[:, 1] > 0).astype(int)
    for kind in (DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier, RandomDecisionTreesClassifier):
        importances = kind(random_state=0).fit(X, y).feature_importances_
        assert importances.shape == (3,)
        assert importances.sum() == pytest.approx(1)
        assert importances.argmax() == 1
    alone = DecisionTreeClassifier().fit(X, np.zeros(400, dtype=int)).feature_importances_
    assert alone.tolist() == [0, 0, 0]


# ---- trees made to be expensive ------------------------------------------------------------------


def chain(depth: int) -> Tree:
    """A tree that cuts off one leaf after the other."""
    node = np.arange(2 * depth + 1, dtype=np.uint64)
    is_leaf = (node % 2 == 1) | (node == 2 * depth)
    child = np.where(is_leaf, node, node + np.uint64(1)) << np.uint64(36)
    bits = np.where(is_leaf, np.uint64(0xFFFF), np.uint64(0)) | child
    payload = np.where(is_leaf, np.cumsum(is_leaf) - 1, 0).astype(np.int32)
    fitted = fitted_of(DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"]))
    arrays = {
        "nodes": bits,
        "payload": payload,
        "set_words": np.empty(0, np.uint64),
        "node_start": np.array([0, len(bits)]),
        "leaf_start": np.array([0, depth + 1]),
        "set_start": np.array([0, 0]),
        "depth": np.array([depth]),
        "counts": np.tile(np.array([1, 0, 0, 2], np.uint32), depth // 2 + 1)[: 2 * depth + 2],
    }
    return Tree(Forest.from_arrays(2, arrays), 0, fitted.bins, fitted.schema, np.array(["no", "yes"]))


def test_a_chain_of_20_000_nodes_is_text_and_a_picture_of_bounded_size() -> None:
    tree = chain(20_000)
    assert tree.node_depth.max() == tree.depth == 20_000
    rows = int(tree.counts[0].sum())
    text = tree.to_text(max_depth=10**6)
    assert len(text) < 10**6
    assert text.splitlines()[-1].endswith(" rows")
    assert len(tree.to_text().splitlines()) == 11 * 3 + 1
    picture = export_svg(tree)
    assert f"… {2 * (20_000 - 5)} nodes below" in picture
    assert f"{rows} rows" in picture
    whole = export_svg(tree, max_depth=None)
    assert whole.count("<title>") == MOST_BOXES - 1  # levels are drawn whole
    assert f"… {2 * 20_000 + 1 - (MOST_BOXES - 1)} nodes below" in whole


def test_a_set_of_40_000_categories_is_counted_not_listed() -> None:
    words = np.array([f"w{i:05}" for i in range(40_000)], dtype=object)
    X = np.repeat(words, 2)[:, None]
    y = np.repeat(np.arange(40_000) % 2, 2)
    tree = DecisionTreeClassifier(categorical_features=[0], max_depth=1, random_state=0).fit(X, y).tree_
    assert len(re.findall(r"… \d+,\d{3} more\]", tree.to_text())) == 2
    assert len(tree.to_text()) < 2_000
    assert len(export_svg(tree)) < 10_000
    assert tree.root.questions[0].startswith("x[0] in ['w0")
    small = DecisionTreeClassifier(categorical_features=[0], random_state=0).fit([["a"], ["b"]], [0, 1]).tree_
    assert small.root.questions == ["x[0] in ['a']", "x[0] in ['b'] or missing"]


def test_text_of_a_tree_controls_no_terminal() -> None:
    X = np.array([["a\x1b[2J"], ["b"]] * 4, dtype=object)
    tree = DecisionTreeClassifier(categorical_features=[0], random_state=0).fit(X, ["u\x9b", "v"] * 4).tree_
    assert all(line.isprintable() for line in tree.to_text().splitlines())
    assert "u\\x9b: 4" in tree.to_text()


@pytest.mark.parametrize("n_classes", [5, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_nodes_hold_the_rows_and_weights_of_their_tables(n_classes: int, weighted: bool) -> None:
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=(300, 3)), rng.integers(0, 6, 300)])
    y, weights = rng.integers(0, n_classes, 300), rng.integers(1, 9, 300) if weighted else None
    model = RandomDecisionTreesClassifier(2, categorical_features=[3], random_state=0).fit(X, y, weights)
    for tree in model.trees_:
        assert tree.rows.tolist() == tree.counts.sum(axis=1).tolist()
        some = np.arange(tree.n_nodes) % 2 == 0
        held = dict(tree.held(some))
        assert list(held) == np.flatnonzero(some)[::-1].tolist()
        for number, (labels, rows, heavy) in held.items():
            assert labels.tolist() == np.flatnonzero(tree.counts[number]).tolist()
            assert rows.tolist() == tree.counts[number, labels].tolist()
            np.testing.assert_allclose(heavy, tree.weights[number, labels])


@pytest.mark.parametrize(
    "draw",
    [
        lambda tree: tree.to_text(),
        lambda tree: export_text(tree, caution=1.0),
        lambda tree: export_svg(tree, caution=1.0),
        lambda tree: export_graphviz(tree, max_depth=5, caution=1.0),
    ],
)
def test_drawing_takes_memory_by_what_leaves_hold(draw: Callable[[Any], str]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 3)), rng.integers(0, 2000, 4000)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y).tree_
    tracemalloc.start()
    drawn = draw(tree)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(drawn) < 2_000_000
    assert peak < tree.n_nodes * 2000 * 8 // 4  # a table of all nodes and classes is four times as large


def test_a_bar_of_many_classes_has_the_largest_and_the_others_in_grey() -> None:
    y = np.repeat(np.arange(40), np.arange(40, 0, -1))
    tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(np.arange(len(y))[:, None] * 1.0, y).tree_
    root = lay_out(tree, max_depth=0, decimals=2, caution=None, top=0.0)[0]
    assert len(root.bar) == 21
    assert [share for _, share in root.bar[:20]] == pytest.approx([(40 - k) / len(y) for k in range(20)])
    assert sum(share for _, share in root.bar) == pytest.approx(1)
    assert export_svg(tree, max_depth=0).count(root.bar[-1][0]) == 1


# ---- importance of features, node by node -------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["gini", "entropy", "belief", "imprecise"])
@pytest.mark.parametrize("weighted", [False, True])
def test_nodes_of_many_classes_have_the_impurity_of_their_counts(criterion: str, weighted: bool) -> None:
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(400, 3)), rng.integers(0, 6, 400)])
    y, weights = rng.integers(0, 40, 400), rng.integers(1, 9, 400) if weighted else None
    for kind in (ExtraTreesClassifier, RandomDecisionTreesClassifier):
        model = kind(3, categorical_features=[3], random_state=0).fit(X, y, weights)
        for number, tree in enumerate(model.trees_):
            leaves = model.forest_.evidence.between(*model.forest_.leaf_start[number : number + 2])
            amount, impurity = leaves.impurity_at_nodes(tree.nodes, criterion)
            np.testing.assert_allclose(amount, tree.weights.sum(axis=1))
            np.testing.assert_allclose(impurity, resolve_criterion(criterion).impurity(tree.weights), atol=1e-12)


def test_importance_takes_memory_by_what_leaves_hold() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 3)), rng.integers(0, 2000, 6000)
    forest = RandomForestClassifier(2, random_state=0).fit(X, y)
    nodes = max(tree.n_nodes for tree in forest.trees_)
    tracemalloc.start()
    importance = forest.feature_importances_
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert importance.sum() == pytest.approx(1)
    assert peak < nodes * 2000 * 8 // 4  # a table of the nodes of one tree and all classes is four times as large
