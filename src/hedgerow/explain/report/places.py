"""Rules that describe where undecided rows concentrate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from hedgerow.explain.report.pack import evenly
from hedgerow.export.describe import Split, number_words, split_of
from hedgerow.forest.walk import Tree
from hedgerow.inference.predictor import predictor_of
from hedgerow.storage.values import estimator_named
from hedgerow.table import Factors, NamedColumns
from hedgerow.table.codebook import DATES, date_words
from hedgerow.table.schema import Kind

#: Show at most this many rules.
MOST_PLACES = 5
#: A place has at least this many rows, and at least this many undecided ones.
FEWEST, FEWEST_UNDECIDED = 10, 5
#: A place is shown if so many undecided rows would be rarer by chance than this, over all thresholds that were tried.
BY_CHANCE = 0.05
#: So many undecided rows of a place are its examples.
EXAMPLES = 5
#: Name at most this many categories, and count the rest.
MOST_NAMED = 4


@dataclass(frozen=True)
class Place:
    """Rows that meet some conditions: how many there are, how many of them are undecided, and some of these."""

    conditions: tuple[str, ...]
    rows: int
    undecided: int
    examples: tuple[int, ...] = ()

    @property
    def rate(self) -> float:
        """Share of the rows that are undecided."""
        return self.undecided / self.rows


def undecided_places(table: NamedColumns, is_open: NDArray[np.bool_]) -> list[Place]:
    """n rows and which are undecided (n,) -> at most five places with clearly more of them than elsewhere.

    A small tree is grown to tell undecided rows from decided ones; its leaves are the places. A leaf is left out if as
    many undecided rows could well be there by chance. Places describe the given rows; they do not predict.

    Parameters
    ----------
    table : NamedColumns
        The rows.
    is_open : bool (n,)
        Which of them are undecided.

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
    predictor = predictor_of(forest)  # a forest keeps its rows, so that the table is read once
    reached, tree = predictor.forest.leaf_nodes(predictor.fitted.rows.codes)[:, 0], predictor.fitted.tree(0)
    tried = n_rows * len(table.listed)
    gaps = [_has_gaps(column) for column in table.listed]
    places = []
    for leaf in np.unique(reached).tolist():
        here = reached == leaf
        undecided = np.flatnonzero(here & is_open)
        examples = tuple(evenly(undecided, EXAMPLES).tolist())
        place = Place(_conditions(tree, leaf, gaps), int(here.sum()), len(undecided), examples)
        if place.undecided >= FEWEST_UNDECIDED and _by_chance(place, is_open) * tried <= BY_CHANCE:
            places.append(place)
    # Sort by how many more rows are undecided than expected from the share of all rows.
    return sorted(places, key=lambda place: place.rows * is_open.mean() - place.undecided)[:MOST_PLACES]


def _by_chance(place: Place, is_open: NDArray[np.bool_]) -> float:
    """How probable as many undecided rows are among as many rows drawn at random from the table."""
    return float(hypergeom.sf(place.undecided - 1, len(is_open), int(is_open.sum()), place.rows))


@dataclass
class _Range:
    """What a path says about one feature."""

    name: str
    low: float = -np.inf
    high: float = np.inf
    allowed: list[Any] | None = None
    known: list[Any] = field(default_factory=list)
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
        """The condition in words."""
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

    def _keep(self, values: list[Any], every: list[Any]) -> None:
        """Keep only the categories that are still possible."""
        self.known = every
        self.allowed = [value for value in values if self.allowed is None or value in self.allowed]


def _conditions(tree: Tree, leaf: int, gaps: list[bool]) -> tuple[str, ...]:
    """A leaf -> the conditions that its rows meet, one per feature, in the order of the path."""
    path = [leaf]
    while tree.parent[path[-1]] >= 0:
        path.append(int(tree.parent[path[-1]]))
    ranges: dict[int, _Range] = {}
    for above, below in zip(path[:0:-1], path[-2::-1], strict=True):
        split = split_of(tree.at(above))
        request = ranges.setdefault(
            split.feature,
            _Range(split.name, kind=tree.schema.kinds[split.feature], missing=gaps[split.feature]),
        )
        request.take(split, below - int(tree.first_child[above]))
    return tuple(each.words() for each in ranges.values())


def _has_gaps(column: Any) -> bool:
    """A column -> whether a value is missing."""
    return bool((column.codes < 0).any() if isinstance(column, Factors) else np.isnan(column).any())


def _number_words(value: float, kind: Kind) -> str:
    """A threshold -> text without trailing zeros, or a date."""
    if kind in DATES:
        return date_words(value, kind)
    words = number_words(value, 2)
    return words if "e" in words or "." not in words else words.rstrip("0").rstrip(".")


def _category_words(allowed: list[Any], known: list[Any]) -> str:
    """Allowed and known categories -> ``is a or b``, or ``is not c`` if that is shorter."""
    others = [value for value in known if value not in allowed]
    if others and len(others) < len(allowed):
        return f"is not {_either(others)}"
    return f"is {_either(allowed)}"


def _either(values: list[Any]) -> str:
    """Values -> ``a, b or c``; only the first few are named."""
    named = [str(value) for value in (values if len(values) <= MOST_NAMED + 1 else values[:MOST_NAMED])]
    more = len(values) - len(named)
    named += [f"{more:,} others"] if more > 0 else []
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} or {named[-1]}"
