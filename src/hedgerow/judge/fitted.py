"""Fitted: everything a fit publishes, in one object that never changes; and what is learned from it later."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock, RLock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow.forest.forest import Forest
from hedgerow.forest.lift import StateCache
from hedgerow.forest.rows import Origin
from hedgerow.forest.training import Fingerprint, TrainingRows
from hedgerow.forest.walk import NumberTree, Tree
from hedgerow.table import Schema
from hedgerow.table.bins import EXACT_ROWS, Bins
from hedgerow.table.meaning import Meaning
from hedgerow.target.base import About

_Value = TypeVar("_Value")
_Model = TypeVar("_Model")


@dataclass(frozen=True, eq=False, repr=False)
class Figures:
    """What a fit reports besides its trees; None where it was not asked for.

    Parameters
    ----------
    oob_score : float
        How good the forest is on rows its trees have not seen.
    oob_answers : (n, K) or (n,) float64
        Probabilities or predictions for the training rows by trees that have not seen them.
    max_features, max_features_errors : int, dict
        The number of features that out-of-bag rows have chosen, and the errors with the numbers tried.
    label_shares : (n, K) float64
        Expected shares of the classes, where labels were uncertain.
    tuning : list of (float, dict)
        Scores of the settings that `tune` has tried.
    """

    oob_score: float | None = None
    oob_answers: NDArray[np.float64] | None = None
    max_features: int | None = None
    max_features_errors: dict[int, float] | None = None
    label_shares: NDArray[np.float64] | None = None
    tuning: list[tuple[float, dict[str, Any]]] | None = None


class Learned:
    """What was chosen on out-of-bag rows, each with the parameters it was chosen for. Threads may share it.

    Nothing here has to be forgotten by hand: other parameters are another key.
    """

    def __init__(self, known: dict[str, tuple[Any, Any]] | None = None) -> None:
        self._known = dict(known or {})
        self._lock = RLock()
        #: Held by what makes another fit of this one, so that two threads do not start from the same.
        self.changing = RLock()

    def get(self, what: str, key: Any, make: Callable[[], _Value]) -> _Value:
        """What was learned under this key; it is made now where it is not known."""
        found = self._known.get(what)
        if found is not None and found[0] == key:
            return found[1]  # type: ignore[no-any-return]
        with self._lock:
            found = self._known.get(what)
            if found is None or found[0] != key:
                found = (key, make())
                self._known[what] = found
            return found[1]

    def put(self, what: str, key: Any, value: Any) -> None:
        """Keep what has been learned already."""
        with self._lock:
            self._known[what] = (key, value)

    def last(self, what: str) -> tuple[Any, Any] | None:
        """The key and the value learned last; None where nothing was."""
        return self._known.get(what)

    def without(self, *what: str) -> Learned:
        """The same but for these."""
        return Learned({name: found for name, found in self._known.items() if name not in what})

    def __reduce__(self) -> tuple[Any, ...]:
        return Learned, (dict(self._known),)


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """A fitted model. An estimator holds one, and a fit replaces it by another in one assignment.

    Parameters
    ----------
    schema, bins : Schema, Bins
        What the columns are, and how their values become codes.
    about : About
        The classes and their shares, or the range of the numbers.
    forest : Forest
        The trees.
    criterion : Criterion or str
        What the trees were grown by.
    seed : int
        What they were drawn with.
    fingerprint : Fingerprint or None
        Rows and bags of all trees; None where trees were grown on different ones.
    origins : tuple of Origin
        What the trees have counted; empty where no rows can be added.
    rows : TrainingRows or None
        The training rows, where they have been kept.
    figures, learned : Figures, Learned
        What the fit reports, and what has been learned on out-of-bag rows.
    cache : StateCache
        States of leaves under the rules asked for last.
    """

    schema: Schema
    bins: Bins
    about: About
    forest: Forest
    criterion: Any
    seed: int
    fingerprint: Fingerprint | None
    origins: tuple[Origin, ...] = ()
    rows: TrainingRows | None = None
    figures: Figures = field(default_factory=Figures)
    learned: Learned = field(default_factory=Learned)
    cache: StateCache = field(default_factory=StateCache)

    @property
    def bagged(self) -> TrainingRows | None:
        """The training rows where trees have left some of them out; None otherwise."""
        return self.rows if self.rows is not None and self.rows.has_bags else None

    @cached_property
    def wanted_features(self) -> NDArray[np.uint8] | None:
        """(p,): of a wide table, which features some tree looks at; None for all."""
        if self.schema.n_features <= 64:
            return None
        wanted = np.zeros(self.schema.n_features, dtype=np.uint8)
        wanted[self.forest.used_features] = 1
        return wanted

    @cached_property
    def meaning(self) -> Meaning:
        """What the codes of its table mean."""
        rows = EXACT_ROWS + 1 if self.fingerprint is None else self.fingerprint.n_rows
        if self.origins:  # later rows do not change the cuts
            rows = self.origins[0].bag_rows
        return Meaning(self.bins, self.schema, exact=rows <= EXACT_ROWS)

    def tree(self, number: int) -> Tree:
        """One of the trees, to look at and to walk."""
        if self.forest.values is not None:
            return NumberTree(self.forest, number, self.bins, self.schema)
        return Tree(self.forest, number, self.bins, self.schema, self.about.names)

    def trees(self) -> list[Tree]:
        """All of them."""
        return [self.tree(number) for number in range(self.forest.n_trees)]

    def without_rows(self) -> Fitted:
        """As a pickle or a file keeps it: without the training rows and what can be computed again."""
        return replace(self, rows=None, cache=StateCache())


def fitted_of(model: Any) -> Fitted:
    """A fitted estimator of ours -> what its fit has published, read once."""
    fitted: Fitted | None = model.__dict__.get("_fitted")
    if fitted is None:
        check_is_fitted(model)
        raise TypeError(f"model must be a fitted estimator of hedgerow, got {type(model).__name__}")
    return fitted


def with_fitted(model: _Model, fitted: Fitted) -> _Model:
    """Publish: the one assignment that makes an estimator a fitted one."""
    model._fitted = fitted  # type: ignore[attr-defined]
    return model


def changed(model: _Model, change: Callable[[Fitted | None], Fitted]) -> _Model:
    """Replace the fit of an estimator by one that is made of it; None stands for no fit yet.

    Threads that change an estimator at once come one after the other, each starting from what the one before has made.
    """
    while True:
        before: Fitted | None = model.__dict__.get("_fitted")
        with nullcontext() if before is None else before.learned.changing:
            if model.__dict__.get("_fitted") is not before:
                continue
            after = change(before)
            with _PUBLISHING:
                if model.__dict__.get("_fitted") is before:
                    return with_fitted(model, after)


#: Held while one fit is compared with another and replaced.
_PUBLISHING = Lock()
