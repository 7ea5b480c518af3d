"""Origins: which rows each group of trees has counted, and sums of later rows <-> JSON and arrays."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from hedgerow.errors import ModelFileError
from hedgerow.exchange.files.state import checked_number
from hedgerow.exchange.files.values import Array, Arrays, take
from hedgerow.forest.forest import Forest
from hedgerow.forest.leaves import MOST_WEIGHT, LeafPayload
from hedgerow.forest.moments import IncrementalMoments, LeafMoments, check_moments
from hedgerow.forest.rows import COUNT_SENSES, MOST_DRAWS, Grid, Provenance
from hedgerow.judge.fitted import Fitted
from hedgerow.params.checks import MAX_ROWS
from hedgerow.target.numbers import MAX_TARGET

Json: TypeAlias = Any

#: The numbers of an origin: name, type, smallest and largest value.
_NUMBERS: tuple[tuple[str, type, float, float], ...] = (
    ("n_trees", int, 1, MAX_ROWS),
    ("first_tree", int, 0, MAX_ROWS),
    ("seed", int, 0, 2**63 - 1),
    ("bag_mean", float, -MOST_DRAWS, MOST_DRAWS),
    ("bag_rows", int, 1, MAX_ROWS),
    ("n_rows", int, 1, MAX_ROWS),
    ("weight_scale", float, math.ulp(0.0), math.nextafter(math.inf, 0)),
    ("weight_unit", float, 2.0**-50, 1),
    ("centre", float, -MAX_TARGET, MAX_TARGET),
    ("exponent", int, -1100, 1100),
)
_MOMENTS = ("weight", "mean", "variance")


def origins_to_contents(fitted: Fitted) -> tuple[dict[str, Json], Arrays]:
    """A fit -> JSON and arrays; empty if later rows cannot be added to it."""
    if not fitted.origins:
        return {}, {}
    listed = []
    for origin in fitted.origins:
        known = vars(origin) | origin.grid._asdict()
        listed.append([origin.leaf_counts, *(known[name] for name, *_ in _NUMBERS)])
    arrays: Arrays = {"origins.class_rows": np.array([origin.class_rows for origin in fitted.origins])}
    reported: dict[str, Json] = {"origins": listed}
    later = fitted.forest.evidence.later
    if later is not None:
        reported["later"] = True
        arrays |= {f"later.{name}": vars(later)[name] for name in _MOMENTS}
        arrays["later.sums"] = later.sums.reshape(-1, 6)
    return reported, arrays


def origins_from_contents(
    forest: Forest, given: dict[str, Json], arrays: Arrays
) -> tuple[tuple[Provenance, ...], Forest]:
    """The inverse of `origins_to_contents`, everything checked -> origins, and the forest with what came later."""
    if "origins" not in given:
        return (), forest
    listed = given["origins"]
    if not isinstance(listed, list) or not 1 <= len(listed) <= forest.n_trees:
        raise ModelFileError("origins must be a list with at most one entry for each tree, got something else")
    rows = take(arrays, "origins.class_rows", np.float64, shape=(len(listed), forest.n_classes))
    if not ((rows >= 0) & (rows <= MAX_ROWS)).all():
        raise ModelFileError("origins must have counted a number of rows of each class, got others")
    origins = tuple(_origin_from(each, counted) for each, counted in zip(listed, rows, strict=True))
    if sum(origin.n_trees for origin in origins) != forest.n_trees:
        raise ModelFileError(f"origins must be those of {forest.n_trees} trees, got another number")
    if given.get("later") is True:
        forest = replace(forest, evidence=_with_later(forest.evidence, arrays))
    return origins, forest


def _origin_from(given: Json, class_rows: Array) -> Provenance:
    """One origin."""
    if not isinstance(given, list) or len(given) != len(_NUMBERS) + 1 or given[0] not in COUNT_SENSES:
        raise ModelFileError(f"an origin must be a word and {len(_NUMBERS)} numbers, got something else")
    numbers = {
        name: checked_number(f"{name} of an origin", value, kind, least, most)
        for value, (name, kind, least, most) in zip(given[1:], _NUMBERS, strict=True)
    }
    if numbers["bag_rows"] > numbers["n_rows"]:
        raise ModelFileError("an origin must have counted the rows it was grown on, got fewer")
    grid = Grid(numbers.pop("centre"), numbers.pop("exponent"))
    return Provenance(leaf_counts=given[0], class_rows=tuple(class_rows.tolist()), grid=grid, **numbers)


def _with_later(leaves: LeafPayload, arrays: Arrays) -> LeafMoments:
    """Leaves with their evidence after growing, and the sums of later rows."""
    moments = [take(arrays, f"later.{name}", np.float64, length=leaves.n_leaves) for name in _MOMENTS]
    if not isinstance(leaves, LeafMoments):
        raise ModelFileError("moments of leaves after growing must be of a regression, got something else")
    if not ((moments[0] >= leaves.LEAST_WEIGHT) & (moments[0] <= MOST_WEIGHT)).all():
        raise ModelFileError("leaves must have had weights of ordinary size after growing, got others")
    check_moments(moments[1], moments[2])
    sums = take(arrays, "later.sums", np.int64, shape=(leaves.n_leaves, 6))
    return replace(leaves, later=IncrementalMoments(moments[0], moments[1], moments[2], sums.reshape(-1, 3, 2)))
