"""Inner and outer errors of every candidate, by data set and way to grow trees.

All candidates are kept, and the summary chooses by the inner errors, for any grid and any rule for ties. These
alternatives are therefore compared on the same trees, at no cost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import DecisionTreeClassifier
from hedgerow.belief import mass_from_counts, mass_from_pairs
from hedgerow.criteria import BeliefGain
from hedgerow.datasets import Dataset, load_dataset
from hedgerow.study.experiments.frame import Arguments, Result, Unit
from hedgerow.study.experiments.sutton_2012.paper import PAPER

QUARTERS = 4  # test sets of one repetition: the decimals of Table 3 allow no smaller number
#: Draw of the test sets; part of every unit's arguments, to exclude results of other draws.
DRAWS = "independent"
INNER_FOLDS: int = PAPER["protocol"]["inner_folds"]
LAMS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
COARSE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
THRESHOLDS = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)
#: Ways to grow trees, their tuned parameter and its candidates.
WAYS: dict[str, dict[str, Any]] = {
    "CART": {"grow": "gini", "candidates": THRESHOLDS},
    "IDM": {"grow": "belief", "candidates": LAMS},
    "multi": {"grow": "belief", "candidates": LAMS, "mass": "multinomial"},
    "combination": {"grow": "pairs", "candidates": COARSE},
}
#: Details that the paper leaves open, besides grid and ties: name -> (way to grow trees, changed settings).
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "s = 0.5": ("IDM", {"caution": 0.5}),
    "s = 2": ("IDM", {"caution": 2.0}),
    "s = 5": ("IDM", {"caution": 5.0}),
    "α = 0.01": ("multi", {"alpha": 0.01}),
    "α = 0.15, the printed quantile": ("multi", {"alpha": 0.15}),
    "α = 0.5": ("multi", {"alpha": 0.5}),
    "decision by belief": ("combination", {"decision": "belief"}),
    "decision by plausibility": ("combination", {"decision": "plausibility"}),
    "CART, children of 10 / 11 rows": ("CART", {"other_rows": True}),
    "IDM, children of 10 / 11 rows": ("IDM", {"other_rows": True}),
    "multi, children of 10 / 11 rows": ("multi", {"other_rows": True}),
    "CART, quarters stratified": ("CART", {"stratified": True}),
    "IDM, quarters stratified": ("IDM", {"stratified": True}),
    "CART, nominal values as numbers": ("CART", {"as_numbers": True}),
    "IDM, nominal values as numbers": ("IDM", {"as_numbers": True}),
    "CART, a yes or no per nominal value": ("CART", {"as_dummies": True}),
    "IDM, a yes or no per nominal value": ("IDM", {"as_dummies": True}),
    'lam="auto", five folds': ("IDM", {"auto": True}),
}
#: The other coding of categorical features: values as numbers in alphabetical order (b < o < x).
CODED = {"CART": "CART, nominal values as numbers", "IDM": "IDM, nominal values as numbers"}
#: Repetitions in full and in a quick run, and how many share a file.
RUNS = {"table": (8, 2, 2), "variant": (8, 0, 2), "curve": (10, 10, 5)}
CURVE_LAMS = tuple(round(0.05 * step, 2) for step in range(21))
SLOW_LAMS = tuple(round(0.1 * step, 1) for step in range(11))
#: Curves of Figure 1: the paper states neither the mass nor the minimum number of rows in a child.
CURVES: dict[str, dict[str, Any]] = {
    "IDM": {"min_rows": 11},
    "IDM, children of any size": {"min_rows": 1},
}
SLOW_CURVE = "multinomial"
TABLE_OF = {name: number for number in (1, 3) for name in PAPER[f"table_{number}"]["rows"]}
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Rows to fit, classes, rows to test -> predicted classes (candidates, n) and leaves (candidates,).
Grow = Callable[[Floats, Ints, Floats], tuple[Ints, Ints]]


def plan(sets: Sequence[str], quick: bool) -> list[Unit]:
    """Return the units: both tables, the alternatives, and the curves."""
    units = []
    for title, name in PAPER["sets"].items():
        if name not in sets:
            continue
        if title == PAPER["figure_1"]["set"]:
            units += _curves(name, quick)
            continue
        told = PAPER[f"table_{TABLE_OF[title]}"]
        ways = ["CART", "IDM"] if TABLE_OF[title] == 1 else list(told["columns"])
        for way in ways:
            units += _blocks("table", title, name, quick, RUNS["table"], way=way)
        for variant, (way, changed) in VARIANTS.items():
            if way in ways and not (changed.keys() & {"as_numbers", "as_dummies"} and title != "Tic-tac"):
                runs = RUNS["table" if variant in CODED.values() else "variant"]  # both codings in a quick run, too
                units += _blocks("variant", title, name, quick, runs, way=way, variant=variant)
    return units


def work(arguments: Arguments, data: Path | None) -> Result:
    """Run a unit, in a process of its own."""
    dataset = load_dataset(arguments["set"], data=data)
    if arguments["kind"] == "curve":
        return curve(*read(dataset)[:2], range(*arguments["repetitions"]), **CURVES[arguments["curve"]])
    if arguments["kind"] == "slow curve":
        return slow_curve(*read(dataset)[:2], arguments["fold"])
    title = next(title for title, name in PAPER["sets"].items() if name == arguments["set"])
    changed = VARIANTS[arguments["variant"]][1] if arguments["kind"] == "variant" else {}
    return evaluate_split(dataset, TABLE_OF[title], arguments["way"], range(*arguments["repetitions"]), **changed)


def evaluate_split(
    dataset: Dataset,
    table: int,
    way: str,
    repetitions: Sequence[int],
    *,
    other_rows: bool = False,
    stratified: bool = False,
    as_numbers: bool = False,
    as_dummies: bool = False,
    auto: bool = False,
    **mass: Any,
) -> Result:
    """Return inner and outer errors (repetitions, quarters, candidates) and sizes."""
    X, y, nominal = read(dataset, as_numbers=as_numbers, as_dummies=as_dummies)
    min_rows = PAPER[f"table_{4 - table if other_rows else table}"]["min_rows"]
    grow = _grow_auto(min_rows, nominal) if auto else _grow(way, min_rows, nominal, mass)
    found: dict[str, list[Any]] = {"inner": [], "outer": [], "leaves": []}
    for repetition in repetitions:
        rows = [_evaluate_one(X, y, fit, test, grow, auto) for fit, test in quarters(y, repetition, stratified)]
        for position, name in enumerate(found):
            found[name].append([row[position] for row in rows])
    return {**found, "rows": len(y) // QUARTERS}


def _evaluate_one(
    X: Floats, y: Ints, fit: Ints, test: Ints, grow: Grow, auto: bool
) -> tuple[list[int], list[int], list[int]]:
    """Return inner errors, outer errors and leaves of every candidate on one split."""
    guessed, leaves = grow(X[fit], y[fit], X[test])
    outer = (guessed != y[test]).sum(axis=1)
    inner = np.zeros_like(outer)
    if not auto:
        for train, held_out in inner_folds(y[fit]):
            inner += (grow(X[fit][train], y[fit][train], X[fit][held_out])[0] != y[fit][held_out]).sum(axis=1)
    return inner.tolist(), outer.tolist(), leaves.tolist()


def quarters(y: Ints, repetition: int, stratified: bool = False) -> Iterator[tuple[Ints, Ints]]:
    """Yield rows to fit and a random quarter of the rows to test, four times.

    Each quarter is drawn from all rows independently of the others. Its size is rounded down, as in Table 2.

    Examples
    --------
    >>> [(len(fit), len(test)) for fit, test in quarters(np.repeat([0, 1, 2], 50), 0)]
    [(113, 37), (113, 37), (113, 37), (113, 37)]
    """
    size = len(y) // QUARTERS
    for draw in range(QUARTERS):
        order = np.random.default_rng([repetition, draw]).permutation(len(y))
        if stratified:  # every fourth row of each class
            order = order[np.argsort(y[order], kind="stable")]
            order = np.concatenate([order[start::QUARTERS] for start in range(QUARTERS)])
        yield np.sort(order[size:]), np.sort(order[:size])


def inner_folds(y: Ints, seed: int = 0) -> Iterator[tuple[Ints, Ints]]:
    """Yield rows to fit and held-out rows of ten stratified folds."""
    order = np.random.default_rng(seed).permutation(len(y))
    by_class = order[np.argsort(y[order], kind="stable")]
    for start in range(INNER_FOLDS):
        held_out = np.sort(by_class[start::INNER_FOLDS])
        yield np.setdiff1d(by_class, held_out), held_out


def read(dataset: Dataset, *, as_numbers: bool = False, as_dummies: bool = False) -> tuple[Floats, Ints, Any]:
    """Return numbers (n, p), class indices (n,), and the categorical features."""
    y: Ints = np.unique(dataset.y, return_inverse=True)[1].astype(np.int64)
    if not dataset.info.nominal:
        return dataset.as_floats(), y, None
    columns = [np.unique(column.to_pylist(), return_inverse=True)[1] for column in dataset.X.itercolumns()]
    if as_dummies:
        return np.stack([column == value for column in columns for value in np.unique(column)], axis=1) * 1.0, y, None
    X = np.stack(columns, axis=1).astype(np.float64)
    return X, y, None if as_numbers else list(range(X.shape[1]))


def curve(X: Floats, y: Ints, repetitions: Sequence[int], min_rows: int) -> Result:
    """Return ten-fold errors and mean leaves (repetitions, lams) with the IDM."""
    grow = belief_trees(CURVE_LAMS, min_rows)
    errors, leaves = [], []
    for repetition in repetitions:
        folds = [_one_fold(X, y, train, test, grow) for train, test in inner_folds(y, repetition)]
        errors.append(np.sum([fold[0] for fold in folds], axis=0).tolist())
        leaves.append(np.mean([fold[1] for fold in folds], axis=0).tolist())
    return {"errors": errors, "leaves": leaves, "rows": len(y)}


def slow_curve(X: Floats, y: Ints, fold: int) -> Result:
    """Run one fold with the multinomial mass: a linear programme per count vector."""
    train, test = list(inner_folds(y))[fold]
    start = time.process_time()
    grow = belief_trees(SLOW_LAMS, PAPER["table_3"]["min_rows"], mass="multinomial")
    errors, leaves = _one_fold(X, y, train, test, grow)
    return {"errors": errors, "leaves": leaves, "rows": len(test), "seconds": round(time.process_time() - start, 1)}


def _one_fold(X: Floats, y: Ints, train: Ints, test: Ints, grow: Grow) -> tuple[list[int], list[int]]:
    """Return errors and leaves of every candidate on a split."""
    guessed, leaves = grow(X[train], y[train], X[test])
    return (guessed != y[test]).sum(axis=1).tolist(), leaves.tolist()


def _grow(way: str, min_rows: int, nominal: Any, changed: dict[str, Any]) -> Grow:
    """Return a function that grows trees in a way, with changed settings."""
    info = {**WAYS[way], **changed}
    kind, candidates = info.pop("grow"), info.pop("candidates")
    if kind == "gini":
        return gini_trees(candidates, min_rows, nominal)
    if kind == "pairs":
        return pairwise_trees(candidates, min_rows, **info)
    return belief_trees(candidates, min_rows, nominal, **info)


def _grow_auto(min_rows: int, nominal: Any) -> Grow:
    """Return the library's own choice of lam as the only candidate."""

    def grow(X: Floats, y: Ints, X_test: Floats) -> tuple[Ints, Ints]:
        tree = DecisionTreeClassifier(
            criterion=BeliefGain("auto"), min_samples_leaf=min_rows, categorical_features=nominal, random_state=0
        ).fit(X, y)
        return np.array([tree.predict(X_test)]), np.array([tree.get_n_leaves()])

    return grow


def _curves(name: str, quick: bool) -> list[Unit]:
    """Return the units of Figure 1; those with linear programmes one fold at a time."""
    units = []
    for label in CURVES:
        units += _blocks("curve", PAPER["figure_1"]["set"], name, quick, RUNS["curve"], curve=label)
    if not quick:
        for fold in range(INNER_FOLDS):
            arguments = {"kind": "slow curve", "set": name, "fold": fold}
            units.append(Unit(f"slow_curve-{name}-{fold}", arguments, cost=SLOW_COST))
    return units


#: Seconds of one repetition on one core, by set and way; used only for the order of units and the progress bar.
SLOW_COST = 24.0
COSTS = {
    "Blood transfusion": 0.5, "Statlog heart": 0.6, "Tic-tac": 1.5, "Breast-cancer": 0.6, "Pima": 1.8, "Haberman": 0.5,
    "Iris": 0.5, "Balance scale": 0.5, "Wine": 0.6, "Breast Tissue": 0.3,
}  # fmt: skip
FACTORS = {"CART": 0.1, "IDM": 1.0, "multi": 1.6, "combination": 5.0}


def _blocks(kind: str, title: str, name: str, quick: bool, runs: tuple[int, int, int], **also: Any) -> list[Unit]:
    """Return one unit per block of repetitions."""
    in_full, in_brief, block = runs
    units = []
    for start in range(0, in_brief if quick else in_full, block):
        label = "-".join("".join(c if c.isalnum() or c == "." else "_" for c in value) for value in also.values())
        arguments = {"kind": kind, "set": name, "repetitions": [start, start + block], "draws": DRAWS, **also}
        cost = block * COSTS[title] * FACTORS.get(also.get("way", "IDM"), 1.0)
        units.append(Unit(f"{kind}-{name}-{label}-{start:02d}", arguments, cost=cost))
    return units


def belief_trees(lams: Sequence[float], min_rows: int, nominal: Any = None, **mass: Any) -> Grow:
    """Return a function that grows one tree for each candidate of lam."""

    def grow(X: Floats, y: Ints, X_test: Floats) -> tuple[Ints, Ints]:
        trees = [_tree(BeliefGain(lam, **mass), min_rows, nominal).fit(X, y) for lam in lams]
        return np.array([tree.predict(X_test) for tree in trees]), np.array([tree.get_n_leaves() for tree in trees])

    return grow


def gini_trees(thresholds: Sequence[float], min_rows: int, nominal: Any = None) -> Grow:
    """Return a function that grows one tree for each candidate of the least gain.

    The gain is that of the node itself, as in the paper's equation 1, so all candidates are tops of one tree: a node is
    a leaf if its best split, or that of a node above it, gains no more than the threshold.
    """

    def grow(X: Floats, y: Ints, X_test: Floats) -> tuple[Ints, Ints]:
        model = _tree("gini", min_rows, nominal).fit(X, y)
        tree, reached = model.tree_, model.apply(X_test)
        least = least_gain_above(tree.parent, tree.counts)
        guesses, leaves = [], []
        for threshold in thresholds:
            stop = _last_open(tree.parent, least > threshold)
            guesses.append(model.classes_[tree.counts.argmax(axis=1)[stop[reached]]])
            leaves.append(len(np.unique(stop[tree.is_leaf])))
        return np.array(guesses), np.array(leaves)

    return grow


def pairwise_trees(lams: Sequence[float], min_rows: int, decision: str = "pignistic") -> Grow:
    """Return a function that combines a tree per pair of classes for each lam."""

    def grow(X: Floats, y: Ints, X_test: Floats) -> tuple[Ints, Ints]:
        pairs = list(combinations(np.unique(y).tolist(), 2))
        guesses, leaves = [], []
        for lam in lams:
            masses, n_leaves = [], 0
            for pair in pairs:
                rows = np.isin(y, pair)
                model = _tree(BeliefGain(lam), min_rows).fit(X[rows], y[rows])
                masses.append(mass_from_counts(model.tree_.counts[model.apply(X_test)], model="dabt"))
                n_leaves += model.get_n_leaves()
            guesses.append(decide_among_pairs(np.stack(masses, axis=1), len(np.unique(y)), decision))
            leaves.append(n_leaves)
        return np.array(guesses), np.array(leaves)

    return grow


def least_gain_above(parent: Ints, counts: Ints) -> Floats:
    """Return the least Gini gain (N,) among the splits above each node."""
    amount = counts.sum(axis=1)
    impurity = 1 - ((counts / np.maximum(amount, 1)[:, None]) ** 2).sum(axis=1)
    gain = impurity.copy()
    below = np.arange(1, len(parent))
    np.subtract.at(gain, parent[below], amount[below] / amount[parent[below]] * impurity[below])
    least = np.full(len(parent), np.inf)
    for node in below:  # parents precede their children
        least[node] = min(least[parent[node]], gain[parent[node]])
    return least


def decide_among_pairs(masses: Floats, n_classes: int, decision: str) -> Ints:
    """Return classes (n,) by pignistic probability, belief or plausibility."""
    combined = mass_from_pairs(masses)
    subsets = np.arange(1 << n_classes)
    members = (subsets[:, None] >> np.arange(n_classes)) & 1  # (2^K, K)
    size = members.sum(axis=1, keepdims=True)
    shares = {
        "pignistic": members / np.maximum(size, 1),
        "belief": members * (size == 1),
        "plausibility": members,
    }[decision]
    # rounding must not separate equal classes
    chosen: Ints = (combined @ shares).round(9).argmax(axis=1)
    return chosen


def _tree(criterion: Any, min_rows: int, nominal: Any = None) -> DecisionTreeClassifier:
    """Return a tree as in the paper: all features, and a minimum number of rows."""
    return DecisionTreeClassifier(
        criterion=criterion, min_samples_leaf=min_rows, categorical_features=nominal, random_state=0
    )


def _last_open(parent: Ints, is_open: NDArray[np.bool_]) -> Ints:
    """Return the node itself (N,) if it is open, else the last open node above it."""
    stop = np.arange(len(parent))
    for node in range(1, len(parent)):
        if not is_open[node]:
            stop[node] = stop[parent[node]]
    return stop
