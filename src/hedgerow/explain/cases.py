"""Nearest training rows, and rules of leaves as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hedgerow.explain.question import Question, labels_of
from hedgerow.forest.proximity import heaviest_rows, weight_table
from hedgerow.forest.rows import Bags
from hedgerow.forest.walk import Tree, as_limit
from hedgerow.inference.predictor import Predictor
from hedgerow.table.bins import DATES, Codes, date_words, plain
from hedgerow.table.frames import index_names
from hedgerow.table.schema import Array, Kind
from hedgerow.tasks.classification.predictor import ClassificationPredictor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from hedgerow.table.schema import TableLike

#: Show the rules of at most this many classes.
MOST_RULES = 3
#: Name at most this many categories, and count the rest.
NAMED_CATEGORIES = 4


#: A class or a target, and the value of a feature; None is missing.
Label = str | bool | int | float
Value = str | bool | int | float | None


class Case(NamedTuple):
    """A training row and its weight in a prediction."""

    row: int
    label: Label | None
    weight: float
    values: dict[str, Value]
    name: str | None = None


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Training rows, with labels and values as far as they are available.

    Parameters
    ----------
    codes : (p, m)
    labels : (m,) array or None
        Their classes, or their targets.
    columns : list of (m,) arrays or None
        Their values; None if only codes have been kept.
    bags : Bags
        The bootstrap samples that the leaves count.
    names : list of m str, or None
        Names of the rows, if they have some.
    """

    codes: Codes
    labels: Array | None
    columns: list[Array] | None
    bags: Bags
    names: list[str] | None = None

    def values(self, predictor: Predictor, row: int) -> dict[str, Value]:
        """Return the values of one row by feature name.

        Without columns, the typical values of its bins.
        """
        codebook = predictor.codebook
        if self.columns is not None:
            return codebook.of_row(self.columns, row)
        return {name: codebook.value_of_code(j, int(self.codes[j, row])) for j, name in enumerate(codebook.names)}

    def case(self, predictor: Predictor, row: int, weight: float) -> Case:
        """Return a row with its weight in a prediction; its label is None if unavailable."""
        label = None if self.labels is None else self.labels[row]
        name = None if self.names is None else self.names[row]
        return Case(row, None if label is None else plain(label), weight, self.values(predictor, row), name)


def training_rows(
    predictor: Predictor,
    train: TableLike | None = None,
    y_train: ArrayLike | None = None,
) -> KnownRows | None:
    """Return the given training rows, or those the forest has kept, or None.

    A forest fitted with a bootstrap keeps codes and labels, but not after it was loaded or unpickled. Without a
    bootstrap it keeps none.
    """
    if train is not None:
        batch = predictor.read(train, all_features=True)
        labels = None if y_train is None else np.asarray(y_train)
        if labels is not None and labels.shape != (len(batch),):
            raise ValueError(
                f"y_train must have shape ({len(batch)},), one label per row of train, got {labels.shape}."
            )
        return KnownRows(batch.codes, labels, batch.columns, _bags(predictor), index_names(train))
    rows = predictor.known_rows
    if rows is None:
        return None
    return KnownRows(rows.codes, predictor.fitted.info.named(rows.target), None, _bags(predictor))


def nearest_cases(question: Question, training: KnownRows, k: int) -> list[list[Case]]:
    """Return at most `k` training rows with the largest weights in each prediction, largest first.

    The weight of a row is a mean over trees: its share of the leaf that the sample reaches, or 0 if it is in another.
    """
    predictor = question.predictor
    n_threads = predictor.threads(training.codes.shape[1] * predictor.forest.n_trees)
    table = weight_table(predictor.forest, question.codes, training.codes, training.bags, most=k, n_threads=n_threads)
    rows, weights = heaviest_rows(table, k)
    found = []
    for near, heavy in zip(rows, weights, strict=True):
        pairs = [(int(row), float(weight)) for row, weight in zip(near, heavy, strict=True) if row >= 0]
        found.append([training.case(predictor, row, weight) for row, weight in pairs])
    return found


def leaf_rules(question: Question, row: int) -> list[str]:
    """Describe the strongest leaf for each class of the set: the conditions on its path, and its rows."""
    predictor, counts = question.predictor, question.counts[row, :, : question.predictor.forest.n_classes]
    nodes = question.leaf_nodes[row]
    features_named: list[str] = []
    for label in question.likely(row)[:MOST_RULES]:
        others = np.delete(counts, label, axis=1)
        lead = counts[:, label] - (others.max(axis=1) if others.shape[1] else 0)
        tree = int(lead.argmax())
        if lead[tree] > 0:
            features_named.append(
                _rule(predictor, predictor.fitted.tree(tree), int(nodes[tree]), question.codes[:, row], counts[tree])
            )
    return list(dict.fromkeys(features_named))


def conditions(tree: Tree, node: int, codes: Array, missing_code: int) -> list[str]:
    """Describe the path to a node that a sample with the codes (p,) reaches, one condition per feature."""
    bounds: dict[int, list[float]] = {}
    allowed: dict[int, set[Value]] = {}
    used: list[int] = []
    while (above := int(tree.parent[node])) >= 0:
        feature = int(tree.feature[above])
        used.append(feature)
        if codes[feature] != missing_code:
            position = node - int(tree.first_child[above])
            known = tree.schema.categories[feature]
            if known is not None:
                kept = _categories(tree, above, position, known.tolist())
                allowed[feature] = allowed.get(feature, kept) & kept
            else:
                low_high = bounds.setdefault(feature, [-np.inf, np.inf])
                threshold = float(tree.threshold[above])
                if position == 0:
                    low_high[1] = min(low_high[1], threshold)
                else:
                    low_high[0] = max(low_high[0], threshold)
        node = above
    features = list(dict.fromkeys(reversed(used)))
    words = [_words(tree, j, bounds.get(j), allowed.get(j), codes[j] == missing_code) for j in features]
    return [word for word in words if word]


def number(value: float) -> str:
    """Format a number with few digits: ``0.1235``, ``1234``, ``12,346``."""
    if value == 0 or 1e-3 <= abs(value) < 1e9:
        return f"{value:.4g}" if abs(value) < 9999.5 else f"{value:,.0f}"
    return f"{value:.3g}"


def amount(value: float) -> str:
    """Format a number of rows, which weights can make fractional: ``2.5``, ``1,234``."""
    return number(value) if value < 999.5 else f"{value:,.0f}"


def number_or_date(value: float, column_type: Kind) -> str:
    """Format a number of a column with few digits, or as a date."""
    return date_words(value, column_type) if column_type in DATES else number(value)


def value_words(value: Value) -> str:
    """Format the value of a feature; None is missing."""
    if value is None:
        return "missing"
    return number(value) if isinstance(value, float) else str(value)


def class_words(label: Label) -> str:
    """Return the name of a class; numbers are preceded by "class"."""
    return label if isinstance(label, str) else f"class {label}"


def count_words(counts: Array, labels: list[Label]) -> str:
    """List class counts (K,), largest first: ``14 yes, 3 no``."""
    order = [k for k in np.argsort(-counts, kind="stable").tolist() if counts[k] > 0]
    parts = [
        f"{amount(float(counts[k]))} {'' if isinstance(labels[k], str) else 'of '}{class_words(labels[k])}"
        for k in order[:4]
    ]
    return ", ".join(parts + (["others"] if len(order) > 4 else [])) or "no case"


def _bags(predictor: Predictor) -> Bags:
    """Return the bootstrap samples.

    None if the trees were grown on different rows, so that leaves count all rows.
    """
    return Bags() if predictor.fitted.fingerprint is None else predictor.bags()


def _rule(predictor: ClassificationPredictor, tree: Tree, node: int, codes: Array, counts: Array) -> str:
    """Describe a leaf: ``x up to 3 and y above 2: 14 yes, 3 no``."""
    parts = " and ".join(conditions(tree, node, codes, predictor.codebook.missing_code)) or "all cases"
    return f"{parts}: {count_words(counts, labels_of(predictor))}"


def _categories(tree: Tree, node: int, position: int, known: list[Value]) -> set[Value]:
    """Return the categories that lead from a node to one of its children."""
    if tree.is_multiway[node]:
        return {known[position]} if position < len(known) else set()
    left = set(tree.categories_left(node))
    return left if position == 0 else set(known) - left


def _words(tree: Tree, feature: int, bounds: list[float] | None, allowed: set[Value] | None, missing: bool) -> str:
    """Describe the bounds or categories of a feature; empty if nothing is excluded."""
    name = tree.name_of(feature)
    if missing:
        return f"{name} missing"
    if allowed is not None:
        known = tree.schema.categories[feature]
        every = [] if known is None else known.tolist()
        kept, left_out = [c for c in every if c in allowed], [c for c in every if c not in allowed]
        if len(kept) <= max(len(left_out), 1):
            return f"{name} is {_or(kept)}"
        return f"{name} is not {_or(left_out)}" if left_out else ""
    low, high = bounds or (-np.inf, np.inf)
    if np.isinf(low) and np.isinf(high):
        return f"{name} known" if bounds else ""
    kind = tree.schema.kinds[feature]
    (least, is_least), (most, is_below) = as_limit(low), as_limit(high)
    lower, upper = (
        (("from", "after"), ("before", "up to")) if kind in DATES else (("at least", "above"), ("below", "up to"))
    )
    above = f"{name} {lower[0 if is_least else 1]} {number_or_date(least, kind)}"
    below = f"{upper[0 if is_below else 1]} {number_or_date(most, kind)}"
    if np.isinf(low):
        return f"{name} {below}"
    if np.isinf(high):
        return above
    if kind in DATES:
        return f"{above} and {below}"
    return f"{above} and {name} {below}" if is_least or is_below else f"{name} from {number(low)} to {number(high)}"


def _or(values: list[Value]) -> str:
    """Join categories: ``a, b or c``, and the number of others if there are many."""
    parts = [str(value) for value in values[:NAMED_CATEGORIES]]
    if len(values) > NAMED_CATEGORIES:
        parts.append(f"{len(values) - NAMED_CATEGORIES} others")
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " or " + parts[-1] if parts else "none known"
