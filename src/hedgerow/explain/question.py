"""Question: a fitted forest and samples -> what every part of an explanation starts from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.belief import Opinion, Rule, Setting, merge_states
from hedgerow.decide import Decision, decide
from hedgerow.forest.forest import Forest
from hedgerow.forest.lift import lift_distinct
from hedgerow.forest.walk import Tree
from hedgerow.judge.answer import ClassAnswers
from hedgerow.table import Schema
from hedgerow.table.bins import EXACT_ROWS, Bins, Codes, encode

Array = NDArray[Any]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Samples are explained in blocks of about this many cells of rows × trees × classes.
BLOCK_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class Model:
    """What a fitted classifier thinks with; nothing of it changes while samples are explained.

    Parameters
    ----------
    trees, bins, schema, classes : Forest, Bins, Schema, (K,) array
        The forest, and what its codes and counts mean.
    rule, setting, weights, decision : Rule, Setting, (T,) float64 or None, Decision
        How the leaves become a set.
    exact : bool
        Whether every value of the training table is its own bin.
    """

    trees: Forest
    bins: Bins
    schema: Schema
    classes: Array
    rule: Rule
    setting: Setting
    weights: Floats | None
    decision: Decision
    exact: bool

    @cached_property
    def names(self) -> tuple[str, ...]:
        """(p,): the features' names, or ``x[i]``."""
        return self.schema.names or tuple(f"x[{feature}]" for feature in range(self.schema.n_features))

    @cached_property
    def missing_code(self) -> int:
        """The code of a missing value."""
        return int(np.iinfo(self.bins.code_type).max)

    @cached_property
    def labels(self) -> list[Any]:
        """(K,): the classes as Python knows them."""
        return [plain(label) for label in self.classes.tolist()]

    @cached_property
    def walks(self) -> list[Tree]:
        """(T,): the trees, to walk."""
        return [Tree(self.trees, t, self.bins, self.schema, self.classes) for t in range(self.trees.n_trees)]

    @cached_property
    def tree_shares(self) -> Floats:
        """(T,): the weights of the trees, summing to one."""
        weights = np.ones(self.trees.n_trees) if self.weights is None else self.weights
        total = weights.sum()
        return np.asarray(weights / total if total > 0 else np.full(len(weights), 1 / len(weights)))

    def counts(self, codes: Codes) -> Floats:
        """Codes (p, n) -> (n, T, K): evidence in the leaves reached."""
        return self.trees.evidence_at(self.trees.leaves(np.ascontiguousarray(codes)))

    def opinion(self, counts: Floats, caution: float | None = None) -> Opinion:
        """Evidence (n, T, K) -> opinion under the rule, perhaps with another caution."""
        setting = self.setting if caution is None else replace(self.setting, caution=caution)
        states = lift_distinct(self.rule, counts.reshape(-1, counts.shape[2]), setting)
        states = states.reshape(*counts.shape[:2], -1)
        if self.weights is not None:
            states = states * self.weights[None, :, None]
        return self.rule.finish(merge_states(states, self.rule.merge), setting)

    def chosen(self, counts: Floats, caution: float | None = None) -> Bools:
        """Evidence (n, T, K) -> bool (n, K): the classes that remain."""
        return decide(self.opinion(counts, caution), self.decision)

    def alone(self, counts: Floats, caution: float | None = None) -> NDArray[np.int64]:
        """Evidence (n, T, K) -> (n,): the only class that remains, -1 where there are several."""
        chosen = self.chosen(counts, caution)
        return np.where(chosen.sum(axis=1) == 1, chosen.argmax(axis=1), -1)

    def range_of(self, feature: int) -> tuple[float, float]:
        """Smallest and largest training value of a numeric feature; of a binned column its outermost bins."""
        centers = self.bins.centers[self.bins.center_start[feature] : self.bins.center_start[feature + 1]]
        low, high = float(centers[0]), float(centers[-1])
        cuts = self.bins.cuts_of(feature)
        if self.exact or not len(cuts):
            return low, high
        # A centre is the middle of its bin, so the bin ends as far beyond it as it begins before.
        return min(low, 2 * low - float(cuts[0])), max(high, 2 * high - float(cuts[-1]))

    def span_of(self, feature: int) -> float:
        """How far the finite training values of a numeric feature lie apart; 0 where all are equal."""
        centers = self.bins.centers[self.bins.center_start[feature] : self.bins.center_start[feature + 1]]
        low, high = self.range_of(feature)
        finite = centers[np.isfinite(centers)]
        if not len(finite):
            return 0.0
        low, high = (low if np.isfinite(low) else finite[0]), (high if np.isfinite(high) else finite[-1])
        return float(min(2 * (high / 2 - low / 2), np.finfo(np.float64).max))

    def value_of_code(self, feature: int, code: int) -> Any:
        """A code -> a value of that bin, a category, or None for missing."""
        if code == self.missing_code:
            return None
        categories = self.schema.categories[feature]
        if categories is not None:
            return plain(categories[code])
        return self._as_kind(feature, float(self.bins.centers[self.bins.center_start[feature] + code]))

    def value(self, feature: int, cell: Any) -> Any:
        """A cell of a column as the forest reads it -> number, category, or None for missing and unseen."""
        categories = self.schema.categories[feature]
        if categories is not None:
            return None if cell < 0 else plain(categories[int(cell)])
        return None if np.isnan(cell) else self._as_kind(feature, float(cell))

    def _as_kind(self, feature: int, number: float) -> Any:
        return bool(number) if self.schema.kinds[feature] == "boolean" and number in (0, 1) else number


@dataclass(frozen=True, eq=False)
class Question:
    """Some samples, what they reach, and what the forest says of them.

    Parameters
    ----------
    model : Model
    columns : list of (n,) arrays
        The values: floats, or category numbers.
    codes : (p, n)
    counts : (n, T, K) float64
        Evidence in the leaves reached.
    opinion, chosen : Opinion, bool (n, K)
        What the forest says.
    """

    model: Model
    columns: list[Array]
    codes: Codes
    counts: Floats
    opinion: Opinion
    chosen: Bools

    @property
    def n_samples(self) -> int:
        """n."""
        return int(self.codes.shape[1])

    @cached_property
    def label(self) -> NDArray[np.int64]:
        """(n,): number of the most probable class."""
        return np.asarray(self.opinion.probability.argmax(axis=1))

    @cached_property
    def leaf_nodes(self) -> NDArray[np.int32]:
        """(n, T): the node that is the leaf reached, within each tree."""
        return self.model.trees.leaf_nodes(self.codes)

    @property
    def is_open(self) -> Bools:
        """(n,): whether several classes remain."""
        return np.asarray(self.chosen.sum(axis=1) > 1)

    def values(self, row: int) -> dict[str, Any]:
        """Feature name -> value of one sample."""
        model = self.model
        return {name: model.value(j, self.columns[j][row]) for j, name in enumerate(model.names)}

    def missing(self, row: int) -> list[int]:
        """Features that trees ask about and that one sample has no value for."""
        used = self.model.trees.used_features
        return [int(j) for j in used[self.codes[used, row] == self.model.missing_code]]


def model_of(now: ClassAnswers) -> Model:
    """A fitted classifier as it answers now -> what it thinks with."""
    fitted = now.fitted
    rows = EXACT_ROWS + 1 if fitted.fingerprint is None else fitted.fingerprint.n_rows
    if fitted.origins:  # rows that came later have not moved the cuts
        rows = fitted.origins[0].bag_rows
    return Model(
        trees=fitted.forest,
        bins=fitted.bins,
        schema=fitted.schema,
        classes=now.classes,
        rule=now.rule,
        setting=now.setting,
        weights=now.weights,
        decision=now.decision,
        exact=rows <= EXACT_ROWS,
    )


def read_columns(now: ClassAnswers, X: Any) -> tuple[list[Array], Codes]:
    """A table -> its columns, (n,) each, as floats or category numbers, and its codes (p, n)."""
    table = now.table(X)
    columns = [column for _, block in table.column_blocks() for column in block]
    return columns, encode(table, now.fitted.bins, n_threads=now.threads(table.n_rows))


def questions(model: Model, columns: list[Array], codes: Codes) -> Iterator[tuple[int, Question]]:
    """Columns and codes of n samples -> blocks of them, each with the number of its first sample."""
    cells = model.trees.n_trees * model.trees.n_classes
    block = max(1, BLOCK_CELLS // cells)
    for first in range(0, codes.shape[1], block):
        part = np.ascontiguousarray(codes[:, first : first + block])
        counts = model.counts(part)
        opinion = model.opinion(counts)
        chosen = decide(opinion, model.decision)
        if chosen.shape[1] != len(model.classes):
            raise ValueError(
                f"decision must choose among the {len(model.classes)} classes to be explained, got"
                f" {model.decision!r}, which chooses among {chosen.shape[1]} actions; set another decision"
            )
        listed = [column[first : first + block] for column in columns]
        yield first, Question(model, listed, part, counts, opinion, chosen)


def plain(value: Any) -> Any:
    """A value of NumPy or of anything else -> a number, boolean or text of Python."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float | bool) else str(value)
