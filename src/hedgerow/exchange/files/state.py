"""State: the part of a fitted model that does not depend on its target <-> JSON and arrays."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ModelFileError
from hedgerow.exchange.files.forests import forest_from_arrays, forest_to_arrays
from hedgerow.exchange.files.parameters import Decoder
from hedgerow.exchange.files.tables import bins_from_arrays, bins_to_arrays, schema_from_arrays, schema_to_arrays
from hedgerow.exchange.files.values import Arrays, Once
from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import COUNT_SENSES, MOST_DRAWS
from hedgerow.forest.training import Fingerprint
from hedgerow.judge.fitted import FitMetrics, Fitted
from hedgerow.params.checks import MAX_ROWS
from hedgerow.table import Schema
from hedgerow.table.bins import Bins

Json: TypeAlias = Any


class State(NamedTuple):
    """Table, bins, trees, seed and fingerprint of a file, checked."""

    schema: Schema
    bins: Bins
    forest: Forest
    seed: int
    fingerprint: Fingerprint | None


def state_to_contents(fitted: Fitted) -> tuple[dict[str, Json], Arrays]:
    """A fit -> its table, seed and bags as JSON, and the arrays of table, bins and forest."""
    table, arrays = schema_to_arrays(fitted.schema)
    arrays |= bins_to_arrays(fitted.bins) | forest_to_arrays(fitted.forest, fitted.bins)
    return {"table": table, "seed": fitted.seed, "bag": _bag_to_json(fitted.fingerprint)}, arrays


def state_from_contents(
    given: dict[str, Json],
    arrays: Arrays,
    n_classes: int,
    once: Once | None = None,
    *,
    moments: tuple[str, ...] = (),
) -> State:
    """The inverse of `state_to_contents`, everything checked; arrays that are used are removed from `arrays`."""
    once = once or Once()
    table = given["table"]
    schema = once.read(("table", repr(table)), arrays, lambda: schema_from_arrays(table, arrays))
    bins = once.read(("bins", id(schema)), arrays, lambda: bins_from_arrays(arrays, schema))
    weighted = given.get("weighted") is True
    forest, rows = forest_from_arrays(arrays, bins, n_classes, once, weighted=weighted, moments=moments)
    fingerprint = _bag_from_json(given["bag"], rows)
    return State(schema, bins, forest, checked_number("seed", given["seed"], int, 0, 2**63 - 1), fingerprint)


def chosen_features_from_json(given: dict[str, Json], n_features: int, decoder: Decoder) -> FitMetrics:
    """The number of features per split that was chosen out of bag, and the errors with other numbers."""
    if "max_features_" not in given:
        return FitMetrics()
    chosen = checked_number("max_features_", given["max_features_"], int, 1, n_features)
    errors = decoder.decode(given.get("max_features_errors_"))
    sound = isinstance(errors, dict) and all(
        type(number) is int and isinstance(error, float) for number, error in errors.items()
    )
    if not sound:
        raise ModelFileError("max_features_errors_ must be an error for each number of features, got something else")
    return FitMetrics(max_features=chosen, max_features_errors=dict(errors))


def check_known(given: Json, known: set[str]) -> None:
    """Refuse entries that an estimator of this kind does not have."""
    if not isinstance(given, dict) or not given.keys() <= known:
        raise ModelFileError(f"entries of fitted must be among {', '.join(sorted(known))}, got something else")


def checked_number(name: str, value: Any, kind: type, least: float, most: float) -> Any:
    """A number of this type, within its limits."""
    right = type(value) is int or (kind is float and type(value) is float)
    if not right or not least <= value <= most:
        raise ModelFileError(f"{name} must be a number from {least} to {most}, got {str(value)[:40]!r}")
    return kind(value)


def checked_score(value: Any) -> float:
    """An out-of-bag score: any number; NaN if every row was in the bags of all trees."""
    if type(value) is float and math.isnan(value):
        return value
    return float(checked_number("oob_score_", value, float, -math.inf, math.inf))


def _bag_to_json(bag: Fingerprint | None) -> Json:
    """The fingerprint of rows and bags, which a warm start compares -> JSON."""
    if bag is None:
        return "mixed"
    return bag._asdict() | {"rows": None if bag.rows is None else list(bag.rows)}


def _bag_from_json(given: Json, tree_rows: NDArray[np.uint64]) -> Fingerprint | None:
    """The inverse of `_bag_to_json`; the rows counted in each tree (T,) must agree with the bags."""
    if given == "mixed":
        return None
    if not isinstance(given, dict) or given.keys() != {"rows", "n_rows", "bag_mean", "leaf_counts"}:
        raise ModelFileError("bag must have rows, n_rows, bag_mean and leaf_counts, got something else")
    rows, leaf_counts = given["rows"], given["leaf_counts"]
    if rows is not None:
        if not isinstance(rows, list) or len(rows) != 2:
            raise ModelFileError("rows of bag must be two checksums, got something else")
        rows = tuple(checked_number("rows of bag", each, int, 0, 2**32 - 1) for each in rows)
    n_rows = checked_number("n_rows of bag", given["n_rows"], int, 1, MAX_ROWS)
    bag_mean = checked_number("bag_mean of bag", given["bag_mean"], float, -MOST_DRAWS, MOST_DRAWS)
    if not isinstance(leaf_counts, str) or leaf_counts not in COUNT_SENSES:
        raise ModelFileError(
            f"leaf_counts of bag must be one of {', '.join(COUNT_SENSES)}, got {str(leaf_counts)[:40]!r}"
        )
    right = {"all": tree_rows == n_rows, "inbag": tree_rows >= 0}.get(leaf_counts, tree_rows <= n_rows)
    if not right.all():
        raise ModelFileError(f"counts of each tree must add up to the {n_rows} training rows, got other sums")
    return Fingerprint(rows, n_rows, bag_mean, leaf_counts)
