"""Rules that describe where undecided rows concentrate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from hedgerow.explain.report.pack import evenly
from hedgerow.export.describe import Category, Split, number_words, split_of
from hedgerow.forest.walk import Tree
from hedgerow.inference.predictor import predictor_of
from hedgerow.storage.values import estimator_named
from hedgerow.table import Factors, NamedColumns
from hedgerow.table.bins import DATES, date_words
from hedgerow.table.frames import Listed
from hedgerow.table.schema import Kind

#: Show at most this many rules.
MOST_PLACES = 5
#: Fewest rows of a place, and fewest undecided ones.
FEWEST, FEWEST_UNDECIDED = 10, 5
#: Significance level of a place, corrected for the number of thresholds tried.
BY_CHANCE = 0.05
#: Number of undecided rows of a place that are its examples.
EXAMPLES = 5
#: Name at most this many categories, and count the rest.
MOST_NAMED = 4


@dataclass(frozen=True)
class Place:
    """Rows that meet conditions: their number, the number of undecided ones, and examples of these."""

    conditions: tuple[str, ...]
    rows: int
    undecided: int
    examples: tuple[int, ...] = ()

    @property
    def rate(self) -> float:
        """Fraction of undecided rows."""
        return self.undecided / self.rows


def undecided_places(table: NamedColumns, is_open: NDArray[np.bool_]) -> list[Place]:
    """Find at most five places where undecided rows concentrate.

    The places are leaves of a small tree that separates undecided from decided rows. Leaves whose number of undecided
    rows is not significant are left out. Places describe the given rows; they do not predict.

    Parameters
    ----------
    table : NamedColumns
        The rows.
    is_open : bool (n,)
        Which rows are undecided.

    Returns
    -------
    list of Place

    Examples
    --------
    >>> x = np.arange(40.0)
    >>> found = undecided_places(NamedColumns(("age",), [x]), (x > 9) & (x < 20))
    >>> [(place.conditions, place.undecided, place.rows) for place in found]
    [(('age between 9.5 and 19.5',), 10, 10)]
    """
    n_rows = len(is_open)
    if not is_open.any() or is_open.all():
        return []
    small = {"max_leaf_nodes": 10, "max_depth": 4, "min_samples_leaf": max(FEWEST, n_rows // 50), "max_features": None}
    forest = estimator_named("RandomForestClassifier")(1, bootstrap=False, random_state=0, **small).fit(table, is_open)
    predictor = predictor_of(forest)  # a forest keeps its rows, so the table is binned once
    reached, tree = predictor.forest.leaf_nodes(predictor.fitted.rows.codes)[:, 0], predictor.fitted.tree(0)
    tried = n_rows * len(table.listed)
    has_missing = [_has_missing(column) for column in table.listed]
    places = []
    for leaf in np.unique(reached).tolist():
        here = reached == leaf
        undecided = np.flatnonzero(here & is_open)
        examples = tuple(evenly(undecided, EXAMPLES).tolist())
        place = Place(_conditions(tree, leaf, has_missing), int(here.sum()), len(undecided), examples)
        if place.undecided >= FEWEST_UNDECIDED and _by_chance(place, is_open) * tried <= BY_CHANCE:
            places.append(place)
    # Largest excess of undecided rows first.
    return sorted(places, key=lambda place: place.rows * is_open.mean() - place.undecided)[:MOST_PLACES]


def _by_chance(place: Place, is_open: NDArray[np.bool_]) -> float:
    """Return the probability of at least as many undecided rows among randomly drawn rows."""
    return float(hypergeom.sf(place.undecided - 1, len(is_open), int(is_open.sum()), place.rows))


@dataclass
class _Range:
    """Constraints of a path on one feature."""

    name: str
    low: float = -np.inf
    high: float = np.inf
    allowed: list[Category] | None = None
    known: list[Category] = field(default_factory=list)
    kind: Kind = "number"
    missing: bool = True
    only_missing: bool = False

    def take(self, split: Split, child: int) -> None:
        """Add one step of the path."""
        left = child == 0
        if split.categories is not None:
            self._keep([split.categories[child]] if child < len(split.categories) else [], split.categories)
            self.missing &= child == len(split.categories)
            self.only_missing |= child == len(split.categories)
        elif split.left is not None and split.right is not None:
            self._keep(split.left if left else split.right, split.left + split.right)
            self.missing &= split.missing_left == left
            self.only_missing |= not (split.left if left else split.right)
        elif split.threshold is not None and np.isinf(split.threshold):
            self.missing &= not left
            self.only_missing |= not left
        elif split.threshold is not None:
            self.low, self.high = (
                (self.low, min(self.high, split.threshold)) if left else (max(self.low, split.threshold), self.high)
            )
            self.missing &= split.missing_left == left

    def words(self) -> str:
        """Describe the condition."""
        if self.only_missing:
            return f"{self.name} missing"
        tail = " or missing" if self.missing else ""
        if self.allowed is not None:
            return f"{self.name} {_category_words(self.allowed, self.known)}{tail}"
        low, high = (_number_words(value, self.kind) for value in (self.low, self.high))
        above, most = ("after", "up to") if self.kind in DATES else ("above", "at most")
        if np.isinf(self.low) and np.isinf(self.high):
            return f"{self.name} known"
        if np.isinf(self.low):
            return f"{self.name} {most} {high}{tail}"
        if np.isinf(self.high):
            return f"{self.name} {above} {low}{tail}"
        both = f"after {low} and up to {high}" if self.kind in DATES else f"between {low} and {high}"
        return f"{self.name} {both}{tail}"

    def _keep(self, values: list[Category], every: list[Category]) -> None:
        """Keep only the categories that are still possible."""
        self.known = every
        self.allowed = [value for value in values if self.allowed is None or value in self.allowed]


def _conditions(tree: Tree, leaf: int, has_missing: list[bool]) -> tuple[str, ...]:
    """Describe the conditions of a leaf, one per feature, in the order of the path."""
    path = [leaf]
    while tree.parent[path[-1]] >= 0:
        path.append(int(tree.parent[path[-1]]))
    ranges: dict[int, _Range] = {}
    for above, below in zip(path[:0:-1], path[-2::-1], strict=True):
        split = split_of(tree.at(above))
        limits = ranges.setdefault(
            split.feature,
            _Range(split.name, kind=tree.schema.kinds[split.feature], missing=has_missing[split.feature]),
        )
        limits.take(split, below - int(tree.first_child[above]))
    return tuple(each.words() for each in ranges.values())


def _has_missing(column: Listed) -> bool:
    """Return whether a column has missing values."""
    return bool((column.codes < 0).any() if isinstance(column, Factors) else np.isnan(np.asarray(column)).any())


def _number_words(value: float, column_type: Kind) -> str:
    """Format a threshold without trailing zeros, or as a date."""
    if column_type in DATES:
        return date_words(value, column_type)
    words = number_words(value, 2)
    return words if "e" in words or "." not in words else words.rstrip("0").rstrip(".")


def _category_words(allowed: list[Category], known: list[Category]) -> str:
    """Describe the allowed categories: ``is a or b``, or ``is not c`` if that is shorter."""
    others = [value for value in known if value not in allowed]
    if others and len(others) < len(allowed):
        return f"is not {_either(others)}"
    return f"is {_either(allowed)}"


def _either(values: list[Category]) -> str:
    """Join values: ``a, b or c``, and the number of others if there are many."""
    named = [str(value) for value in (values if len(values) <= MOST_NAMED + 1 else values[:MOST_NAMED])]
    more = len(values) - len(named)
    named += [f"{more:,} others"] if more > 0 else []
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} or {named[-1]}"
