"""Search space of counterfactuals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.margins import margins_of
from hedgerow.explain.question import Array, Floats, only_class, tree_shares
from hedgerow.table.codebook import DATES, PARTS
from hedgerow.tasks.classification.predictor import ClassificationPredictor

Ints = NDArray[np.int64]


class Space:
    """Leaves and features of a forest, shared by the searches of all samples.

    Attributes
    ----------
    features : (F,) int64
        The features used by some tree.
    nominal, n_bins : (F,) uint8, int32
        Whether they are categorical, and their numbers of bins.
    contents : (L,) int32
        Index of the counts of each leaf among the D distinct ones.
    plausible : (D,) uint8
        Whether leaves with these counts have training rows.
    margins : dict or None
        Margins between classes for each of the distinct counts, if they determine the decision.
    costs : list of (codes,) float64 and float
        Typical values of the bins of each feature, and 1 / range.
    dates : dict of int to dict of int to str
        For each date used by some tree, its month and weekday if some tree uses them too. They cannot change alone.
    """

    def __init__(self, predictor: ClassificationPredictor) -> None:
        self.predictor, forest, bins = predictor, predictor.forest, predictor.fitted.bins
        self.features: Ints = forest.used_features
        self.nominal, self.n_bins = bins.nominal[self.features], bins.n_bins[self.features].astype(np.int32)
        if forest.weights is None:
            examples, self.contents = forest.distinct(predictor.threads(int(forest.leaf_start[-1])))
        else:  # nearly all leaves have different contents
            examples = np.arange(forest.leaf_start[-1])
            self.contents = examples.astype(np.int32)
        evidence = np.asarray(forest.evidence.read(examples))
        self.plausible = (evidence.sum(axis=1) > 0).astype(np.uint8)
        self.margins = margins_of(predictor, evidence)
        self.costs = [self._unit_costs(int(feature)) for feature in self.features]
        self.dates = self._dates()

    def arrays(self) -> dict[str, Any]:
        """Return the arguments of the search in the core, by name."""
        given = {"contents": self.contents, "plausible": self.plausible, "tree_shares": tree_shares(self.predictor)}
        known = {"features": self.features, "nominal": self.nominal, "n_classes": self.predictor.forest.n_classes}
        return given | known | (self.margins or {}) | {"alone": self.alone}

    def alone(self, leaves: list[float]) -> float:
        """Return the only class that remains for one leaf of each tree (T,), or -1."""
        return float(
            only_class(self.predictor, self.predictor.forest.evidence_at(np.array([leaves], dtype=np.int32)))[0]
        )

    def _dates(self) -> dict[int, dict[int, str]]:
        """Find the dates, and the parts of them that trees use."""
        names, kinds, used = self.predictor.codebook.names, self.predictor.codebook.schema.kinds, self.features.tolist()
        place = {names[feature]: feature for feature in used}
        found = {
            date: {place[names[date] + part]: part for part in PARTS if names[date] + part in place}
            for date in used
            if kinds[date] in DATES
        }
        return {date: parts for date, parts in found.items() if parts}

    def _unit_costs(self, feature: int) -> tuple[Floats, float]:
        """Return typical values of the bins of a numeric feature, and 1 / range."""
        if self.predictor.fitted.bins.nominal[feature]:
            return np.zeros(0), 0.0
        start, span = (
            self.predictor.fitted.bins.center_start[feature : feature + 2],
            self.predictor.codebook.span_of(feature),
        )
        return self.predictor.fitted.bins.centers[start[0] : start[1]], 1.0 / span if span > 0 else 0.0


def costs_of(space: Space, codes: Array, values: list[float], most: float) -> list[Floats]:
    """Return the cost of each bin (codes,) of each feature for one sample (p,).

    Empty for missing values.
    """
    missing, costs = space.predictor.codebook.missing_code, []
    for place, feature in enumerate(space.features.tolist()):
        at = int(codes[feature])
        if at == missing:
            costs.append(np.zeros(0))
            continue
        if space.nominal[place]:
            of_codes = np.ones(space.n_bins[place])
        else:
            centers, unit = space.costs[place]
            with np.errstate(invalid="ignore", over="ignore"):
                of_codes = np.abs(centers - _inside(centers, values[feature])) * unit
            of_codes = np.minimum(np.where(np.isnan(of_codes), 0.0, of_codes), most)
        of_codes[at] = 0.0
        costs.append(of_codes)
    return costs


def _inside(centers: Floats, value: float) -> float:
    """Replace an infinite value by the outermost typical value, to make differences finite."""
    return float(value) if np.isfinite(value) else float(centers[0] if value < 0 else centers[-1])
