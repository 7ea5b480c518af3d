"""Programs in Python, C or JavaScript without dependencies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hedgerow.export.code_forest import forest_code
from hedgerow.export.describe import (
    Split,
    are_doubles,
    c_number,
    c_strings,
    python_tuple,
    python_value,
    split_of,
    tree_of,
)
from hedgerow.forest.walk import RegressionTree, Tree, node_evidence
from hedgerow.inference.predictor import predictor_of
from hedgerow.params.table import TreeEstimator

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

#: Branches at this depth become functions of their own, because parsers limit nesting.
DEEPEST = 24


class _Language(Protocol):
    """Syntax of a programming language."""

    def __init__(self, tree: Tree, name: str) -> None:
        """Write a tree, with `name` as prefix of all names."""

    def head(self) -> Iterator[str]:
        """Yield the lines before the functions of nodes."""

    def opening(self, number: int) -> str:
        """Return the first line of the function of a node."""

    def closing(self) -> list[str]:
        """Return the last lines of a function."""

    def conditions(self, split: Split) -> list[str]:
        """Return a condition for each child except the last, in the order of the tests."""

    def branch(self, condition: str | None, first: bool) -> str:
        """Return the line that opens a branch; the last branch has the condition None."""

    def end(self) -> list[str]:
        """Return the lines after the branches of a node."""

    def leaf(self, number: int) -> str:
        """Return the statement that returns the evidence of a leaf."""

    def call(self, number: int) -> str:
        """Return the statement that calls the function of a node."""

    def tail(self) -> Iterator[str]:
        """Yield the lines after the functions of nodes."""


def export_code(tree: Tree | BaseEstimator, *, language: str = "python", name: str = "tree") -> str:
    """Export a tree or a forest as a stand-alone program with the same predictions.

    Parameters
    ----------
    tree : Tree, fitted classifier or regressor
        A tree or a forest. A forest must have the rule "average" and decide by interval dominance, the defaults; the
        program includes its calibrator. For other rules and decisions see `to_onnx`.
    language : {"python", "c", "javascript"}, default="python"
        Python 3, C99, or JavaScript (ES2015). For JavaScript pass an estimator, not a `Tree`.
    name : str, default="tree"
        Prefix of the names of the functions.

    Returns
    -------
    str
        A module with functions of one sample ``x``, its values in the order of the training table. In Python and
        JavaScript None, null and NaN are missing, and categories are passed unchanged. In C every value is a double,
        NaN is missing, and a category that is text is replaced by its index in ``<name>_categories_<feature>``, or -1
        if it is new. New categories count as missing, as with ``unseen="larger"``.

        For a tree, ``<name>_evidence`` returns the class counts in the leaf reached, ``<name>_probability`` their
        shares, ``<name>_predict`` the class (its number in C). For a forest, ``<name>_probability``, ``<name>_bounds``
        (lower and upper), ``<name>_set`` and ``<name>_predict`` correspond to `predict_proba`, `predict_bounds`,
        `predict_set` and `predict`. For a regressor there are only ``<name>_predict`` and, if it is a forest,
        ``<name>_bounds``.

    Examples
    --------
    >>> from hedgerow import DecisionTreeClassifier, RandomForestClassifier
    >>> from hedgerow.export import export_code
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"]
    >>> program = {}
    >>> exec(export_code(DecisionTreeClassifier().fit(X, y)), program)
    >>> program["tree_predict"]([1.5]), program["tree_evidence"]([None])
    ('no', (0.0, 2.0))
    >>> exec(export_code(RandomForestClassifier(20, random_state=0).fit(X, y), name="forest"), program)
    >>> program["forest_set"]([1.5]), program["forest_predict"]([4.0])
    (['no'], 'yes')
    """
    if language not in ("python", "c", "javascript"):
        raise ValueError(f"language must be 'python', 'c' or 'javascript', got {language!r}.")
    if not isinstance(name, str) or not (name.isidentifier() and name.isascii()):
        raise ValueError(f"name must be an ASCII identifier, got {name!r}.")
    one_tree = not isinstance(tree, TreeEstimator) or tree._single_tree
    if not one_tree or (language == "javascript" and not isinstance(tree, Tree)):
        return forest_code(tree, language, name)
    if language == "javascript":
        raise ValueError("language must be 'python' or 'c' for a Tree, got 'javascript'. Pass the estimator instead.")
    found = tree_of(tree)
    if not isinstance(tree, Tree | RegressionTree) and type(found) is Tree and not len(predictor_of(tree).classes):
        name = type(tree).__name__
        raise NotImplementedError(f"This export does not support {name}. Share the model file (hedgerow.save) instead.")
    languages: dict[tuple[str, type[Tree]], type[_Language]] = {
        ("python", Tree): _Python,
        ("python", RegressionTree): _PythonNumbers,
        ("c", Tree): _C,
        ("c", RegressionTree): _CNumbers,
    }
    writer = languages[language, type(found)](found, name)
    functions = [line for start in _starts(found) for line in _function(found, start, writer)]
    return "\n".join([*writer.head(), *functions, *writer.tail()]) + "\n"


def _starts(tree: Tree) -> list[int]:
    """List the nodes with their own function, deepest first, because C functions are declared before use."""
    own = ~tree.is_leaf & (tree.node_depth % DEEPEST == 0)
    own[0] = True
    nodes = np.flatnonzero(own)
    return list(nodes[np.argsort(-tree.node_depth[nodes], kind="stable")].tolist())


def _function(tree: Tree, start: int, writer: _Language) -> Iterator[str]:
    """Yield the lines of the function of a node: its branches, down to leaves or to other functions."""
    yield writer.opening(start)
    pending: list[tuple[int, int] | str] = [(start, 1)]  # nodes with their indentation, and finished lines
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
            continue
        number, indent = item
        pad = "    " * indent
        if tree.is_leaf[number]:
            yield pad + writer.leaf(number)
        elif number != start and tree.node_depth[number] % DEEPEST == 0:
            yield pad + writer.call(number)
        else:
            pending.extend(reversed(_branches(tree, number, indent, writer)))
    yield from writer.closing()


def _branches(tree: Tree, number: int, indent: int, writer: _Language) -> list[tuple[int, int] | str]:
    """Return the lines that open the branches of an inner node, and its children between them."""
    node, pad = tree.at(number), "    " * indent
    conditions = [*writer.conditions(split_of(node)), None]
    items: list[tuple[int, int] | str] = []
    for i, (child, condition) in enumerate(zip(node.children, conditions, strict=True)):
        items += [pad + writer.branch(condition, i == 0), (child.number, indent + 1)]
    return items + [pad + line for line in writer.end()]


class _Python:
    """Python 3."""

    def __init__(self, tree: Tree, name: str) -> None:
        self._tree, self._name, self._evidence = tree, name, node_evidence(tree)

    def head(self) -> Iterator[str]:
        tree = self._tree
        yield f'"""A decision tree of {tree.n_nodes} nodes as functions; written by hedgerow."""'
        yield ""
        yield from self.classes()
        features = [tree.name_of(feature) for feature in range(tree.schema.n_features)]
        yield f"FEATURES = {python_tuple(features)}"

    def classes(self) -> Iterator[str]:
        yield f"CLASSES = {python_tuple(self._tree.classes.tolist())}"

    def opening(self, number: int) -> str:
        return f"\n\ndef _{self._name}_{number}(x):"

    def closing(self) -> list[str]:
        return []

    def conditions(self, split: Split) -> list[str]:
        value = f"x[{split.feature}]"
        if split.categories is not None:
            return [f"{value} == {python_value(category)}" for category in split.categories]
        if split.left is not None and split.right is not None:
            chosen = split.right if split.missing_left else split.left
            inside = f"{value} in {python_tuple(chosen)}"
            return [f"not {inside}" if split.missing_left else inside]
        assert split.threshold is not None
        if math.isinf(split.threshold):
            return [f"{value} == {value}"]
        # Comparisons with NaN are false, so the form of the condition decides the branch of NaN.
        number = python_value(split.threshold)
        return [f"not {value} > {number}" if split.missing_left else f"{value} <= {number}"]

    def branch(self, condition: str | None, first: bool) -> str:
        return "else:" if condition is None else f"{'if' if first else 'elif'} {condition}:"

    def end(self) -> list[str]:
        return []

    def leaf(self, number: int) -> str:
        return f"return {python_tuple(self._evidence[number].tolist())}"

    def call(self, number: int) -> str:
        return f"return _{self._name}_{number}(x)"

    def tail(self) -> Iterator[str]:
        name, n_classes = self._name, len(self._tree.classes)
        yield f"""

def {name}_evidence(x):
    \"\"\"Return the class counts in the leaf that a sample reaches; None and NaN are missing.\"\"\"
    return _{name}_0([float("nan") if value is None else value for value in x])


def {name}_probability(x):
    \"\"\"Return the share of each class; equal shares if the leaf is empty.\"\"\"
    evidence = {name}_evidence(x)
    total = sum(evidence)
    return [rows / total if total else 1 / {n_classes} for rows in evidence]


def {name}_predict(x):
    \"\"\"Return the most probable class.\"\"\"
    evidence = {name}_evidence(x)
    return CLASSES[evidence.index(max(evidence))]"""


class _PythonNumbers(_Python):
    """Python 3, for a regression tree."""

    def classes(self) -> Iterator[str]:
        yield from ()

    def leaf(self, number: int) -> str:
        return f"return {_predicted(self._tree, number)!r}"

    def tail(self) -> Iterator[str]:
        yield f"""

def {self._name}_predict(x):
    \"\"\"Return the prediction for a sample; None and NaN are missing.\"\"\"
    return _{self._name}_0([float("nan") if value is None else value for value in x])"""


class _C:
    """C99."""

    def __init__(self, tree: Tree, name: str) -> None:
        self._tree, self._name, self._evidence = tree, name, node_evidence(tree)
        self._uses_sets = False  # whether `among` is used: C compilers warn about unused functions

    def head(self) -> Iterator[str]:
        tree, name = self._tree, self._name
        yield f"/* A decision tree of {tree.n_nodes} nodes as functions; written by hedgerow."
        yield "   Do not compile with -ffast-math: missing values are NaN. */"
        yield "#include <math.h>"
        yield "#include <stddef.h>"
        yield ""
        yield f"enum {{ {name}_n_features = {tree.schema.n_features} }};"
        yield from self.classes()
        names = [tree.name_of(feature) for feature in range(tree.schema.n_features)]
        yield f"const char *const {name}_features[] = {c_strings(names)};"
        for feature in np.unique(tree.feature[~tree.is_leaf]).tolist():
            known = tree.schema.categories[feature]
            if known is not None and not are_doubles(known):
                yield f"const char *const {name}_categories_{feature}[] = {c_strings([*known.tolist(), None])};"
        if not self._uses_sets:
            return
        yield ""
        yield "static int among(double value, const double *values, size_t n) {"
        yield "    size_t i;"
        yield "    for (i = 0; i < n; ++i)"
        yield "        if (values[i] == value) return 1;"
        yield "    return 0;"
        yield "}"

    def classes(self) -> Iterator[str]:
        name, classes = self._name, self._tree.classes
        yield f"enum {{ {name}_n_classes = {len(classes)} }};"
        yield f"const char *const {name}_classes[] = {c_strings(classes.tolist())};"

    def opening(self, number: int) -> str:
        return f"\nstatic const double *{self._name}_node_{number}(const double *x) {{"

    def closing(self) -> list[str]:
        return ["}"]

    def conditions(self, split: Split) -> list[str]:
        value = f"x[{split.feature}]"
        if split.categories is not None:
            return [f"{value} == {number}" for number in self._numbers(split.feature, split.categories)]
        if split.left is not None and split.right is not None:
            chosen = self._numbers(split.feature, split.right if split.missing_left else split.left)
            self._uses_sets |= bool(chosen)
            inside = f"among({value}, (const double[]){{{', '.join(chosen)}}}, {len(chosen)})" if chosen else "0"
            return [f"!{inside}" if split.missing_left else inside]
        assert split.threshold is not None
        if math.isinf(split.threshold):
            return [f"{value} == {value}"]
        number = c_number(split.threshold)
        return [f"!({value} > {number})" if split.missing_left else f"{value} <= {number}"]

    def branch(self, condition: str | None, first: bool) -> str:
        if condition is None:
            return "} else {"
        return f"if ({condition}) {{" if first else f"}} else if ({condition}) {{"

    def end(self) -> list[str]:
        return ["}"]

    def leaf(self, number: int) -> str:
        rows = ", ".join(map(c_number, self._evidence[number].tolist()))
        return f"static const double rows[] = {{{rows}}}; return rows;"

    def call(self, number: int) -> str:
        return f"return {self._name}_node_{number}(x);"

    def tail(self) -> Iterator[str]:
        name = self._name
        yield f"""
/* Return the class counts in the leaf that a sample reaches. */
const double *{name}_evidence(const double *x) {{
    return {name}_node_0(x);
}}

/* Write the share of each class; equal shares if the leaf is empty. */
void {name}_probability(const double *x, double *share) {{
    const double *rows = {name}_evidence(x);
    double total = 0;
    int k;
    for (k = 0; k < {name}_n_classes; ++k) total += rows[k];
    for (k = 0; k < {name}_n_classes; ++k) share[k] = total > 0 ? rows[k] / total : 1.0 / {name}_n_classes;
}}

/* Return the number of the most probable class. */
int {name}_predict(const double *x) {{
    const double *rows = {name}_evidence(x);
    int k, best = 0;
    for (k = 1; k < {name}_n_classes; ++k)
        if (rows[k] > rows[best]) best = k;
    return best;
}}"""

    def _numbers(self, feature: int, values: list[Any]) -> list[str]:
        """Convert categories to numbers in C: the categories themselves if they are numbers, else their indices."""
        known = self._tree.schema.categories[feature]
        assert known is not None
        if are_doubles(known):
            return [c_number(float(value)) for value in values]
        place = {value: number for number, value in enumerate(known.tolist())}
        return [c_number(float(place[value])) for value in values]


class _CNumbers(_C):
    """C99, for a regression tree."""

    def classes(self) -> Iterator[str]:
        yield from ()

    def opening(self, number: int) -> str:
        return f"\nstatic double {self._name}_node_{number}(const double *x) {{"

    def leaf(self, number: int) -> str:
        return f"return {c_number(_predicted(self._tree, number))};"

    def tail(self) -> Iterator[str]:
        yield f"""
/* Return the prediction for a sample. */
double {self._name}_predict(const double *x) {{
    return {self._name}_node_0(x);
}}"""


def _predicted(tree: Tree, number: int) -> float:
    """Return the prediction of a leaf of a regression tree."""
    values = tree.evidence.values
    assert values is not None
    return float(values[number])
