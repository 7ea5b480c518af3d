"""Grow: a tree as the documents say it, one split after another, by trying everything.

Nothing here is fast, clever or shared with the core but the rules, which are spelled out where they decide
something. Amounts (multiplicities, or weights in fixed point) are Python integers, so sums are exact.

Rules that the formulas leave open, in the order in which they matter:

* Features are drawn without replacement (a partial Fisher-Yates shuffle of 0 … p-1 from the node's own draws)
  until `max_features` of those drawn vary in the node *and* some split has been found; with
  ``constant_features="count"`` those that do not vary count, too. A split into pure sides ends the search.
* Of equally good splits the first one tried wins: features in the order drawn, missing values right before
  left, lower thresholds before higher. Splits are compared by a score in double precision: the sum of the
  qualities of the two sides, in which splits that are equal on paper may differ in the last bit; for the Gini
  gain of two unweighted classes a fraction that is free of rounding.
* Between two occupied codes the split stands at the last code whose centre is not above the middle of theirs.
* Missing values that a node has not seen, and categories it has not seen, follow the side with more rows; with
  equally many, the right.
* Categories are ordered by the share of one class, then by their number, missing last; with two classes the
  class is the second, with up to eight (unweighted) every class present in turn, otherwise the eight
  commonest, ties to the lower number.
* A feature with more than 32 categories is cut between groups: the categories of the node, in the order of a draw
  each, are divided into as many groups as there are twenties of rows, at least 2, if that is fewer than categories. A
  group has the share of its rows, and is not divided.
* Best first: of equal gains the node that was made earlier.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.reference.draws import GROUP, GROW, Bag, Draws, derive_key


@dataclass
class Node:
    """A node of a tree, its children inside it; what a test compares."""

    kind: str = "leaf"
    feature: int | None = None
    code: int | None = None  # last code that goes left at a threshold
    left: frozenset[int] | None = None  # categories that go left at a subset
    missing_left: bool | None = None
    children: list[Node] = field(default_factory=list)
    borrowed: bool = False
    counts: list[int] | None = None
    weights: list[float] | None = None

    def walk(self) -> Iterator[Node]:
        """This node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


class Row(NamedTuple):
    """A row in the bag: its number in the table, its class, how often it is there, what that weighs."""

    number: int
    label: int
    times: int
    amount: int


@dataclass
class Place:
    """A node that is still to be split, and what it has inherited."""

    node: Node
    rows: list[Row]
    depth: int
    key: int
    lower: float = 0.0
    upper: float = 1.0
    used: frozenset[int] = frozenset()
    born: int = 0


@dataclass
class Split:
    """A way to send rows left (true) and right."""

    feature: int
    code: int | None = None
    left: frozenset[int] | None = None
    right: frozenset[int] | None = None
    missing_left: bool = False
    missing_seen: bool = False
    score: float = -math.inf


def gini(amounts: list[int]) -> float:
    """Amounts of the classes on one side -> n (1 - Gini impurity)."""
    return float(sum(a * a for a in amounts)) / float(sum(amounts)) if any(amounts) else 0.0


def entropy(amounts: list[int]) -> float:
    """Amounts of the classes on one side -> -n times entropy in bits, in whole units of 2⁻¹⁶ bit."""
    return float(sum(map(n_log_n, amounts)) - n_log_n(sum(amounts))) * 2.0**-16


def n_log_n(amount: int) -> int:
    """n log₂ n in units of 2⁻¹⁶, rounded half up."""
    return 0 if amount <= 1 else round_half_up(float(amount) * math.log2(amount) * 65536.0)


def _by_weight(draws: Draws, weights: list[float], left: list[int]) -> int:
    """Features that are left -> the place of the next: the first if it is always looked at, otherwise by its share."""
    if math.isinf(weights[left[0]]):
        return 0
    rest = draws.unit() * sum(weights[feature] for feature in left)
    for place, feature in enumerate(left[:-1]):
        if rest < weights[feature]:
            return place
        rest -= weights[feature]
    return len(left) - 1


def round_half_up(value: float) -> int:
    """A number >= 0 -> the nearest integer."""
    whole = int(value)
    return whole + (value - whole >= 0.5)


CRITERIA: dict[str, Callable[[list[int]], float]] = {"gini": gini, "entropy": entropy}


def side_quality(criterion: Any, n_classes: int, weight_unit: float) -> Callable[[list[int]], float]:
    """A criterion -> amounts of the classes on one side -> their quality."""
    if criterion.name in CRITERIA:
        return CRITERIA[criterion.name]
    if criterion.name == "belief" and criterion.mass == "idm":
        return lambda amounts: belief_quality(amounts, n_classes, criterion.lam, criterion.caution / weight_unit)
    return lambda amounts: (
        -sum(amounts) * float(criterion.impurity(np.array([amounts], dtype=np.float64) * weight_unit)[0])
    )


def belief_quality(amounts: list[int], n_classes: int, lam: float, caution: float) -> float:
    """Amounts -> -n U of the imprecise Dirichlet mass, class by class in whole units of 2⁻¹⁶ bit."""
    total = float(sum(amounts))
    if total == 0:
        return 0.0
    units = sum(round_half_up(a * math.log2(n_classes * float(a) + caution) * 65536.0) for a in amounts if a > 0)
    share = total / (total + caution)
    certain = lam * total * math.log2(n_classes * (total + caution))
    unspecific = (1 - lam) * caution * math.log2(n_classes)
    return share * lam / 65536.0 * float(units) + -share * (certain + unspecific)


class Twin:
    """Grows the same trees as the core from codes (p, n), `Bins`, `ClassLabels` and `GrowthParams`."""

    def __init__(self, codes: NDArray[Any], bins: Any, labels: Any, settings: Any) -> None:
        self.missing = int(np.iinfo(codes.dtype).max)
        self.codes: list[list[int]] = codes.tolist()
        self.n_features, self.n_rows = codes.shape
        self.bins, self.labels, self.settings = bins, labels, settings
        self.n_classes = labels.n_classes
        self.numbers: list[int] = labels.numbers.tolist()
        self.row_weights = None if labels.weights is None else labels.weights.tolist()
        criterion = settings.criterion
        self.side_quality = side_quality(criterion, self.n_classes, labels.weight_unit)
        self.needs_gain = criterion.name not in ("gini", "entropy")
        self.is_exact = self.n_classes == 2 and self.row_weights is None and criterion.name == "gini"

    def grow(self, number: int) -> Node:
        """Tree number `number`."""
        settings = self.settings
        self.times = Bag(settings.seed, number, self.n_rows, settings.bag_mean).multiplicities()
        rows = self._bagged_rows()
        self.total = sum(row.amount for row in rows)
        self.least_amount = math.ceil(settings.min_weight_fraction_leaf * float(self.total))
        self.leaves: list[tuple[Node, list[Row], Place]] = []
        self.n_born = 0
        root = Place(Node(), rows, 0, derive_key(derive_key(settings.seed, GROW), number))
        if settings.max_leaf_nodes:
            self._grow_best_first(root)
        else:
            self._grow_all(root)
        self._count(root.node)
        return root.node

    # ---- rows -----------------------------------------------------------------------------------------------

    def _bagged_rows(self) -> list[Row]:
        """Rows with their amounts: multiplicities, or weights times multiplicities, balanced where asked for."""
        bagged = [i for i in range(self.n_rows) if self.times[i] > 0]
        amounts = [self.times[i] * (self.row_weights[i] if self.row_weights else 1) for i in bagged]
        self.factors = [1.0] * self.n_classes
        if self.labels.balance_bag:
            for label in range(self.n_classes):
                of_class = sum(a for a, i in zip(amounts, bagged, strict=True) if self.numbers[i] == label)
                if of_class:
                    self.factors[label] = float(sum(amounts)) / (self.n_classes * float(of_class))
            amounts = [self._balanced(a, self.numbers[i]) for a, i in zip(amounts, bagged, strict=True)]
        return [Row(i, self.numbers[i], self.times[i], a) for i, a in zip(bagged, amounts, strict=True)]

    def _balanced(self, weight: int, label: int) -> int:
        """Rule: a balanced weight is a whole number of units, at least one."""
        if not self.labels.balance_bag:
            return weight
        return max(1, round_half_up(float(weight) * self.factors[label]))

    def _code(self, row: Row, feature: int) -> int:
        return self.codes[feature][row.number]

    def _amounts(self, rows: Iterable[Row]) -> list[int]:
        """Rows -> (K,) amounts."""
        amounts = [0] * self.n_classes
        for row in rows:
            amounts[row.label] += row.amount
        return amounts

    # ---- growing --------------------------------------------------------------------------------------------

    def _grow_all(self, place: Place) -> None:
        if self._is_terminal(place):
            self._make_leaf(place)
        elif self.settings.splitter == "random_decision":
            self._split_randomly(place)
        else:
            split, _ = self._find_split(place)
            if split is None:
                self._make_leaf(place)
            else:
                for child in self._children(place, split):
                    self._grow_all(child)

    def _grow_best_first(self, root: Place) -> None:
        frontier: list[tuple[float, int, Place, Split]] = []
        fresh, n_ends = [root], 1
        while True:
            for place in fresh:
                split, gain = (None, 0.0) if self._is_terminal(place) else self._find_split(place)
                if split is None:
                    self._make_leaf(place)
                else:
                    frontier.append((-gain, place.born, place, split))
            if not frontier or n_ends >= self.settings.max_leaf_nodes:
                break
            frontier.sort(key=lambda entry: entry[:2])
            _, _, place, split = frontier.pop(0)
            n_ends += 1
            fresh = self._children(place, split)
        for _, _, place, _ in frontier:
            self._make_leaf(place)

    def _is_terminal(self, place: Place) -> bool:
        """Sizes are numbers of different rows, whatever they weigh."""
        size, settings = len(place.rows), self.settings
        pure = len({row.label for row in place.rows}) == 1 and settings.splitter != "random_decision"
        return (
            pure
            or size < max(2, settings.min_samples_split, 2 * settings.min_samples_leaf)
            or place.depth >= settings.max_depth
        )

    def _make_leaf(self, place: Place) -> None:
        place.node.kind = "leaf"
        self.leaves.append((place.node, place.rows, place))

    def _children(self, place: Place, split: Split) -> list[Place]:
        """Carry a split out -> left and right."""
        left = [row for row in place.rows if self._goes_left(row, split)]
        right = [row for row in place.rows if not self._goes_left(row, split)]
        larger_left = len(left) > len(right)
        node = place.node
        node.feature = split.feature
        node.missing_left = split.missing_left if split.missing_seen else larger_left
        if split.left is None:
            node.kind, node.code = "threshold", split.code
        else:
            known = range(int(self.bins.n_bins[split.feature]))
            assert split.right is not None
            node.kind = "subset"
            node.left = frozenset(known) - split.right if larger_left else split.left
        places = []
        for side, rows in enumerate((left, right)):
            self.n_born += 1
            key = derive_key(place.key, side)
            places.append(
                Place(Node(), rows, place.depth + 1, key, place.lower, place.upper, place.used, born=self.n_born)
            )
        self._bound(split.feature, places)
        node.children = [child.node for child in places]
        return places

    def _goes_left(self, row: Row, split: Split) -> bool:
        code = self._code(row, split.feature)
        if code == self.missing:
            return split.missing_left
        return code in split.left if split.left is not None else code <= split.code  # type: ignore[operator]

    # ---- the search -----------------------------------------------------------------------------------------

    def _find_split(self, place: Place) -> tuple[Split | None, float]:
        """The best split of the features drawn, and its gain; None where there is none worth making."""
        draws = Draws(place.key)
        best: Split | None = None
        n_counted = 0
        perfect = self._perfect_score(place)
        weights = self.settings.feature_weights
        order, max_features = list(range(self.n_features)), self.settings.max_features
        if weights is not None:
            always = [feature for feature in order if np.isinf(weights[feature])]
            order = always + [feature for feature in order if 0 < weights[feature] < np.inf]
            max_features += len(always)
        for drawn in range(len(order)):
            if n_counted >= max_features and best is not None:
                break
            other = drawn + (
                draws.below(len(order) - drawn) if weights is None else _by_weight(draws, weights, order[drawn:])
            )
            order[drawn], order[other] = order[other], order[drawn]
            feature = order[drawn]
            varies = len({self._code(row, feature) for row in place.rows}) > 1
            n_counted += varies or self.settings.constant_features == "count"
            if not varies:
                continue
            for scan in self._scans(place, feature, draws):
                allowed = [split for split in scan if self._is_allowed(place, split)]
                if not allowed:
                    continue
                first_best = max(allowed, key=lambda split: split.score)
                if best is None or first_best.score > best.score:
                    best = first_best
            if best is not None and best.score >= perfect:
                break
        if best is None:
            return None, 0.0
        gain = self._gain(place, best)
        enough = gain / float(self.total) + 1e-15 >= self.settings.min_impurity_decrease
        enough = enough and gain / float(sum(self._amounts(place.rows))) + 1e-15 >= self.settings.min_gain
        enough = enough and (not self.needs_gain or gain > self._least_gain(place))
        return (best if enough else None), gain

    def _scans(self, place: Place, feature: int, draws: Draws) -> Iterator[list[Split]]:
        """The splits on one feature: one list for each order of bins, in the order in which they are tried."""
        nominal = bool(self.bins.nominal[feature])
        if self.settings.splitter == "best":
            scans = self._subsets(place, feature) if nominal else self._thresholds(place, feature)
        else:
            make = self._drawn_subset if nominal else self._drawn_threshold
            scans = iter([[make(place, feature, draws)]])
        for scan in scans:
            for split in scan:
                self._judge(place, split)
            yield scan

    def _judge(self, place: Place, split: Split) -> None:
        """Set the score that compares a split with the others of its node."""
        everything = self._amounts(place.rows)
        left = self._amounts(row for row in place.rows if self._goes_left(row, split))
        right = [a - b for a, b in zip(everything, left, strict=True)]
        if self.is_exact:
            difference = sum(everything) * left[1] - everything[1] * sum(left)
            split.score = float(difference**2) / float(sum(left) * sum(right))
        else:
            split.score = self.side_quality(left) + self.side_quality(right)

    def _gain(self, place: Place, split: Split) -> float:
        """What a split adds to the quality of its node."""
        everything = self._amounts(place.rows)
        if self.is_exact:
            return 2 * split.score / float(sum(everything))
        return split.score - self.side_quality(everything)

    def _least_gain(self, place: Place) -> float:
        """What a gain must exceed, in bits times rows."""
        return 2.0**-12

    def _perfect_score(self, place: Place) -> float:
        """The score of two pure sides."""
        everything = self._amounts(place.rows)
        if self.is_exact:
            return float(everything[0]) * float(everything[1])
        if self.needs_gain:
            return math.inf
        return float(sum(everything)) if self.settings.criterion.name == "gini" else 0.0

    def _values(self, place: Place, feature: int) -> tuple[list[int], bool]:
        """Codes that occur, ascending, and whether some are missing."""
        codes = {self._code(row, feature) for row in place.rows}
        return sorted(codes - {self.missing}), self.missing in codes

    def _thresholds(self, place: Place, feature: int) -> Iterator[list[Split]]:
        """With missing values on the right, "all values left" is a place too."""
        values, has_missing = self._values(place, feature)
        for missing_left in (False, True) if has_missing else (False,):
            codes = [self._code_between(feature, low, high, 0.5) for low, high in pairwise(values)]
            if has_missing and not missing_left:
                codes.append(self._last_code(feature))
            yield [Split(feature, code, None, None, missing_left, has_missing) for code in codes]

    def _last_code(self, feature: int) -> int:
        return int(self.bins.n_bins[feature]) - 1

    def _code_between(self, feature: int, low: int, high: int, fraction: float) -> int:
        """The last code from low to high-1 whose centre is not above the point between; infinite ends: by rank."""
        start = int(self.bins.center_start[feature])
        centers = self.bins.centers[start : start + int(self.bins.n_bins[feature])].tolist()
        point = centers[low] * (1 - fraction) + centers[high] * fraction
        if high == low + 1:
            return low
        if not abs(point) < float(np.finfo(np.float64).max):
            return low + int((high - low) * fraction)
        return max([low, *(code for code in range(low, high) if centers[code] <= point)])

    def _subsets(self, place: Place, feature: int) -> Iterator[list[Split]]:
        """Cuts of the categories ordered by the share of a class."""
        amounts = {code: self._amounts(rows) for code, rows in self._by_code(place, feature).items()}
        for label in self._ordering_classes(place):
            shares = {code: amount[label] / sum(amount) for code, amount in amounts.items()}
            yield self._cuts(place, feature, shares)

    def _cuts(self, place: Place, feature: int, shares: dict[int, float]) -> list[Split]:
        """Cuts of categories, or of groups of them, in the order of shares by code."""
        n_groups = max(len(place.rows) // 20, 2)
        grouped = int(self.bins.n_bins[feature]) > 32 and n_groups < len(shares)
        if grouped:
            shares = self._shares_of_groups(place, feature, shares, n_groups)
        ranked = sorted(shares, key=lambda code: (shares[code], code))
        return [
            self._subset(feature, ranked[:cut], ranked[cut:])
            for cut in range(1, len(ranked))
            if not grouped or shares[ranked[cut - 1]] != shares[ranked[cut]]
        ]

    def _shares_of_groups(
        self, place: Place, feature: int, shares: dict[int, float], n_groups: int
    ) -> dict[int, float]:
        n_rows = {code: len(rows) for code, rows in self._by_code(place, feature).items()}
        key = derive_key(derive_key(place.key, GROUP), feature)
        last = int(self.bins.n_bins[feature])  # stands for missing values
        drawn = sorted(n_rows, key=lambda code: (derive_key(key, min(code, last)), code))
        group_of = {code: at * n_groups // len(drawn) for at, code in enumerate(drawn)}
        sums = [[0.0, 0.0] for _ in range(n_groups)]
        for code in sorted(shares):
            sums[group_of[code]][0] += float(n_rows[code])
            sums[group_of[code]][1] += n_rows[code] * shares[code]
        return {code: sums[group_of[code]][1] / sums[group_of[code]][0] for code in shares}

    def _by_code(self, place: Place, feature: int) -> dict[int, list[Row]]:
        groups: dict[int, list[Row]] = {}
        for row in place.rows:
            groups.setdefault(self._code(row, feature), []).append(row)
        return groups

    def _ordering_classes(self, place: Place) -> list[int]:
        amounts = self._amounts(place.rows)
        if self.n_classes == 2:
            return [1]
        present = [label for label in range(self.n_classes) if amounts[label] > 0]
        if self.row_weights is None and self.n_classes <= 8:
            return present
        return sorted(present, key=lambda label: (-amounts[label], label))[:8]

    def _subset(self, feature: int, left: list[int], right: list[int]) -> Split:
        known = frozenset({self.missing})
        return Split(
            feature,
            None,
            frozenset(left) - known,
            frozenset(right) - known,
            self.missing in left,
            self.missing in left or self.missing in right,
        )

    def _drawn_threshold(self, place: Place, feature: int, draws: Draws) -> Split:
        """Rule: a coin for the missing values (if any, and if values vary), then a uniform point."""
        values, has_missing = self._values(place, feature)
        low, high = values[0], values[-1]
        missing_left = has_missing and low != high and draws.coin()
        last = low == high
        code = self._last_code(feature) if last else self._code_between(feature, low, high, draws.unit())
        return Split(feature, code, None, None, missing_left, has_missing)

    def _drawn_subset(self, place: Place, feature: int, draws: Draws) -> Split:
        """Rule: one category always left, another always right, a coin for each of the rest (missing is one)."""
        codes = sorted({self._code(row, feature) for row in place.rows})
        always_left = draws.below(len(codes))
        always_right = (always_left + 1 + draws.below(len(codes) - 1)) % len(codes)
        coins = [draws.coin() for _ in codes]
        coins[always_left], coins[always_right] = True, False
        left = [code for code, coin in zip(codes, coins, strict=True) if coin]
        return self._subset(feature, left, [code for code in codes if code not in left])

    # ---- what a split must respect --------------------------------------------------------------------------

    def _is_allowed(self, place: Place, split: Split) -> bool:
        left = [row for row in place.rows if self._goes_left(row, split)]
        right = [row for row in place.rows if not self._goes_left(row, split)]
        if min(len(left), len(right)) < self.settings.min_samples_leaf:
            return False
        if min(sum(self._amounts(left)), sum(self._amounts(right))) < self.least_amount:
            return False
        if self.settings.monotonic is None:
            return True
        sign = self.settings.monotonic[split.feature]
        shares = self._share(left), self._share(right)
        inside = all(place.lower <= share <= place.upper for share in shares)
        return inside and sign * (shares[1] - shares[0]) >= 0

    def _share(self, rows: list[Row]) -> float:
        """Share of the last class."""
        amounts = self._amounts(rows)
        return float(amounts[-1]) / float(sum(amounts))

    def _bound(self, feature: int, places: list[Place]) -> None:
        """Below a monotonic split each side stays on its side of the mean of the two shares."""
        sign = 0 if self.settings.monotonic is None else self.settings.monotonic[feature]
        if sign == 0:
            return
        middle = (self._share(places[0].rows) + self._share(places[1].rows)) / 2
        low, high = places if sign > 0 else reversed(places)
        low.upper, high.lower = middle, middle

    # ---- random decision trees ------------------------------------------------------------------------------

    def _split_randomly(self, place: Place) -> None:
        """As many tries as there are features; labels are never looked at."""
        draws = Draws(place.key)
        for _ in range(self.n_features):
            feature = draws.below(self.n_features)
            if self.bins.nominal[feature]:
                children = self._multiway(place, feature)
            else:
                children = self._at_drawn_row(place, feature, draws)
            if children:
                for child in children:
                    self._grow_all(child)
                return
        self._make_leaf(place)

    def _at_drawn_row(self, place: Place, feature: int, draws: Draws) -> list[Place]:
        """The value of a row drawn in proportion to its amount (rows in order of value, missing last).

        Rules: a missing value is no threshold; "below the lowest bin" is none either; missing values get a
        coin, seen or not.
        """
        drawn = draws.below_wide(sum(row.amount for row in place.rows))
        inclusive, missing_left = draws.coin(), draws.coin()
        ordered = sorted((self._code(row, feature), row) for row in place.rows)
        passed = list(accumulate(row.amount for _, row in ordered))
        value = next(code for (code, _), reached in zip(ordered, passed, strict=True) if drawn < reached)
        if value == self.missing or (value == 0 and not inclusive):
            return []
        split = Split(feature, value if inclusive else value - 1, None, None, missing_left, True)
        left = [row for row in place.rows if self._goes_left(row, split)]
        right = [row for row in place.rows if not self._goes_left(row, split)]
        if min(len(left), len(right)) < max(1, self.settings.min_samples_leaf):
            return []
        if min(sum(self._amounts(left)), sum(self._amounts(right))) < self.least_amount:
            return []
        return self._children(place, split)

    def _multiway(self, place: Place, feature: int) -> list[Place]:
        """One child per category and one for missing; the second largest must keep its rows."""
        if feature in place.used:
            return []
        groups = self._by_code(place, feature)
        sizes = sorted((len(rows) for rows in groups.values()), reverse=True)
        if len(sizes) < 2 or sizes[1] < self.settings.min_samples_leaf:
            return []
        node = place.node
        node.kind, node.feature = "multiway", feature
        children = []
        for side, code in enumerate([*range(int(self.bins.n_bins[feature])), self.missing]):
            child, rows = Node(), groups.get(code, [])
            node.children.append(child)
            if rows:
                key = derive_key(place.key, side + 2)
                children.append(Place(child, rows, place.depth + 1, key, used=place.used | {feature}, born=place.born))
            else:  # the sum of the siblings' leaves is the node itself
                child.borrowed = True
                self.leaves.append((child, place.rows, place))
        return children

    # ---- evidence -------------------------------------------------------------------------------------------

    def _count(self, root: Node) -> None:
        """What the leaves hold, in the sense asked for."""
        sense = self.settings.leaf_counts
        outside: dict[int, list[int]] = {}
        for i in range(self.n_rows):
            if self.times[i] == 0:
                outside.setdefault(id(self._leaf_of(root, i)), []).append(i)
        for leaf, rows, place in self.leaves:
            counts, fixed = [0] * self.n_classes, [0] * self.n_classes
            for row in rows if sense != "oob" else []:
                counts[row.label] += row.times if sense == "inbag" else 1
                fixed[row.label] += row.amount if sense == "inbag" else row.amount // row.times
            for i in outside.get(id(leaf), []) if sense in ("all", "oob") else []:
                counts[self.numbers[i]] += 1
                if self.row_weights is not None:
                    fixed[self.numbers[i]] += self._balanced(self.row_weights[i], self.numbers[i])
            leaf.counts = counts
            if self.row_weights is not None:
                leaf.weights = [float(f) * self.labels.weight_unit for f in fixed]
            if self.settings.monotonic is not None:
                leaf.weights = self._kept_in_bounds(leaf.weights or [float(c) for c in counts], place)

    def _kept_in_bounds(self, weights: list[float], place: Place) -> list[float]:
        """Evidence from outside the bag may not push the share of the last class over its bounds."""
        everything = weights[0] + weights[1]
        last = min(max(weights[1], place.lower * everything), place.upper * everything)
        return [everything - last, last]

    def _leaf_of(self, node: Node, row: int) -> Node:
        while node.children:
            assert node.feature is not None
            code = self.codes[node.feature][row]
            if node.kind == "multiway":
                node = node.children[-1] if code == self.missing else node.children[code]
                continue
            if code == self.missing:
                goes_left = node.missing_left
            elif node.left is None:
                assert node.code is not None
                goes_left = code <= node.code
            else:
                goes_left = code in node.left
            node = node.children[0 if goes_left else 1]
        return node


def node_from_arrays(forest: Any, number: int, bins: Any) -> Node:
    """Tree `number` of a `Forest` -> nodes, read from its arrays as their documentation describes them."""
    first, last = forest.node_start[number], forest.node_start[number + 1]
    bits, payload = forest.nodes[first:last].tolist(), forest.payload[first:last].tolist()
    words = forest.set_words[forest.set_start[number] : forest.set_start[number + 1]].tolist()
    counts = forest.leaf_counts(number).tolist()
    weights = None if forest.weights is None else forest.leaf_counts(number, weighted=True).tolist()

    def read(at: int) -> Node:
        threshold, feature = bits[at] & 0xFFFF, (bits[at] >> 16) & 0x1FFFF
        kind, flag, child = (bits[at] >> 33) & 3, bool((bits[at] >> 35) & 1), bits[at] >> 36
        if child == at:
            leaf = payload[at]
            return Node(borrowed=flag, counts=counts[leaf], weights=None if weights is None else weights[leaf])
        if kind == 2:
            children = [read(child + side) for side in range(threshold + 1)]
            return Node("multiway", feature, children=children)
        children = [read(child), read(child + 1)]
        if kind == 0:
            return Node("threshold", feature, threshold, None, flag, children)
        n_bins = int(bins.n_bins[feature])
        if threshold & 0x8000:
            listed = {words[payload[at] + i // 4] >> 16 * (i % 4) & 0xFFFF for i in range(threshold & 0x3FFF)}
            left = frozenset(range(n_bins)) - listed if threshold & 0x4000 else frozenset(listed)
        else:
            left = frozenset(c for c in range(n_bins) if words[payload[at] + c // 64] >> (c % 64) & 1)
        return Node("subset", feature, None, left, flag, children)

    return read(0)


def best_of_all_subsets(groups: dict[int, list[int]], criterion: str) -> float:
    """Category -> amounts of the classes; the best quality over every way to divide the categories in two."""
    codes = sorted(groups)
    quality = CRITERIA[criterion]
    best = -math.inf
    for size in range(1, len(codes)):
        for left in combinations(codes, size):
            sides = [
                [sum(column) for column in zip(*(groups[c] for c in side), strict=True)]
                for side in (left, [c for c in codes if c not in left])
            ]
            best = max(best, quality(sides[0]) + quality(sides[1]))
    return best
