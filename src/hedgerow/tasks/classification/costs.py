"""Costs of actions, the cheapest action, and the expected cost of decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief.masses.frame import row_products
from hedgerow.decisions.single import ExpectedUtility
from hedgerow.table.schema import Array
from hedgerow.util.text import folded

Floats = NDArray[np.float64]

#: Action that defers the decision.
LOOK_AGAIN = "look again"


@dataclass(frozen=True)
class Costs:
    """Cost of each action for each true class."""

    actions: tuple[str, ...]  # (A,)
    table: Floats  # (K, A)
    of_class: NDArray[np.int64]  # (K,), the action named after each class; -1 if there is none

    @classmethod
    def of(cls, given: Costs | Mapping[Any, Any], classes: Array) -> Costs:
        """Read costs: a mapping from each action to K costs, in the order of `classes` or by class.

        A pandas data frame has a column for each action, and a row for each class.
        """
        if isinstance(given, Costs):
            return given
        try:
            items = dict(given.items())
        except AttributeError:
            got = type(given).__name__
            raise TypeError(f"costs must map each action to the costs for each class, got {got}.") from None
        _check_orientation(given, items, classes)
        table = {str(action): _costs_by_class(costs, classes, action) for action, costs in items.items()}
        if not table:
            raise ValueError("costs must have at least one action, got an empty mapping.")
        actions = [folded(action) for action in table]
        same = [actions.index(name) if name in actions else -1 for name in map(folded, map(str, classes.tolist()))]
        return cls(tuple(table), np.stack(list(table.values()), axis=1), np.array(same, dtype=np.int64))

    def cheapest(self, probability: Floats) -> NDArray[np.int64]:
        """Return the action with the lowest expected cost for probabilities (n, K), (n,)."""
        opinion = SimpleNamespace(lower=probability, upper=probability, probability=probability)
        return np.asarray(ExpectedUtility(-self.table.T).choose(opinion).argmax(axis=1))

    def of_sets(self, sets: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """Return the action of each prediction set, (n,).

        A set of one class gives the action of that class, any other set `LOOK_AGAIN`. Returns None if one of these
        actions has no costs.
        """
        again = [number for number, action in enumerate(self.actions) if folded(action) == LOOK_AGAIN]
        if not again or (self.of_class < 0).any():
            return None
        return np.where(sets.sum(axis=1) == 1, self.of_class[sets.argmax(axis=1)], again[0])

    def mean(self, truth: NDArray[np.int64], actions: NDArray[np.int64]) -> float:
        """Return the mean cost per row of actions (n,), given true classes (n,)."""
        return float(self.table[truth, actions].mean())

    def expected(self, probability: Floats) -> Floats:
        """Return the expected cost of each action for probabilities (n, K), (n, A)."""
        return row_products(probability, self.table)

    def figures(self, truth: NDArray[np.int64], probability: Floats, sets: NDArray[np.bool_]) -> dict[str, float]:
        """Return the mean cost per row of several ways to act on predictions."""
        found = {"cheapest_action": self.mean(truth, self.cheapest(probability))}
        by_sets = self.of_sets(sets)
        if by_sets is not None:
            found["sets"] = self.mean(truth, by_sets)
        if (self.of_class >= 0).all():
            found["labels"] = self.mean(truth, self.of_class[probability.argmax(axis=1)])
        always = {
            f"always {action}": float(self.table[truth, place].mean()) for place, action in enumerate(self.actions)
        }
        return found | always


def _check_orientation(given: Any, items: Mapping[Any, Any], classes: Array) -> None:
    """Raise if actions may have been confused with classes: lists without class names, or a transposed frame."""
    try:
        transposed = given.columns.name is not None and given.index.name is None
    except AttributeError:
        transposed = False
    if transposed:
        raise ValueError(
            f"costs must have a row for each class and a column for each action, got columns named"
            f" {given.columns.name!r}. Transpose them if actions are rows."
        )
    actions = {folded(str(action)) for action in items}
    if actions == {folded(str(name)) for name in classes.tolist()} and any(map(_is_list, items.values())):
        raise ValueError(
            "costs must be given by class if actions have the names of the classes, because lists could be costs of an"
            " action or of a class. Pass {action: {class: cost}}, or a frame with a row for each class."
        )


def _is_list(costs: Any) -> bool:
    """Return whether costs have no class names."""
    return _labels_of(costs) is None


def _costs_by_class(costs: Any, classes: Array, action: object) -> Floats:
    """Return the costs (K,) of an action in the order of the classes, given in this order or with class names."""
    names = [str(name) for name in classes.tolist()]
    labels = _labels_of(costs)
    if labels is not None:
        if sorted(labels) != sorted(names):
            raise ValueError(
                f"costs must have a row for each class ({', '.join(names)}) and a column for each action, got the rows"
                f" {', '.join(labels)} for {action!r}. Transpose them if actions are rows."
            )
        costs = [costs[key] for key in sorted(costs.keys(), key=lambda key: names.index(str(key)))]
    found = np.asarray(costs, dtype=np.float64)
    if found.shape != classes.shape or not np.isfinite(found).all():
        raise ValueError(
            f"costs must have a finite number for each of the {len(classes)} classes, in the order of classes_,"
            f" got shape {found.shape} for {action!r}."
        )
    return found


def _labels_of(costs: Any) -> list[str] | None:
    """Return the names in a mapping or a pandas series; None for lists and a series without names."""
    try:
        labels = [str(key) for key in costs.keys()]  # noqa: SIM118  # a series iterates over its values
    except AttributeError:
        return None
    unnamed = not isinstance(costs, Mapping) and labels == [str(number) for number in range(len(labels))]
    return None if unnamed else labels
