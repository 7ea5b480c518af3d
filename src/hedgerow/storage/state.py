"""The target-independent part of a fitted model, with its forest, as JSON and arrays."""

from __future__ import annotations

import math
import reprlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from hedgerow.errors import ModelFileError
from hedgerow.forest.class_counts import DENSE_CLASSES
from hedgerow.forest.forest import TYPES, Forest, counted_rows
from hedgerow.forest.grow import Fingerprint
from hedgerow.forest.leaf_masses import LeafMasses
from hedgerow.forest.leaf_ranges import LeafRanges, Usual, check_sketch
from hedgerow.forest.moments import MAX_TARGET, IncrementalMoments, LeafMoments, check_moments
from hedgerow.forest.nodes import Nodes, UnseenPolicy
from hedgerow.forest.payload import MOST_WEIGHT, LeafPayload
from hedgerow.forest.rows import COUNT_SENSES, MOST_DRAWS, Provenance, ProvenanceGrid
from hedgerow.inference.fitted import FitMetrics, Fitted, Learned
from hedgerow.inference.leakage import ALL_HASHES, MOST_MARKS, RowSketch, row_sketch
from hedgerow.inference.novelty import Novelty, has_novelty, learned_novelty
from hedgerow.params.checks import MAX_ROWS
from hedgerow.storage.parameters import Decoder
from hedgerow.storage.tables import bins_from_arrays, bins_to_arrays, schema_from_arrays, schema_to_arrays
from hedgerow.storage.values import Arrays, Once, take
from hedgerow.table import Schema
from hedgerow.table.bins import Bins
from hedgerow.table.schema import Array

Json: TypeAlias = Any


class State(NamedTuple):
    """Table, bins, trees, seed and fingerprint of a file, validated."""

    schema: Schema
    bins: Bins
    forest: Forest
    seed: int
    fingerprint: Fingerprint | None


def state_to_contents(fitted: Fitted) -> tuple[dict[str, Json], Arrays]:
    """Return table, seed and bags as JSON, and the arrays of table, bins and forest."""
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
    """Read the state, validated; arrays that are used are removed from `arrays`."""
    once = once or Once()
    table = given["table"]
    schema = once.read(("table", repr(table)), arrays, lambda: schema_from_arrays(table, arrays))
    bins = once.read(("bins", id(schema)), arrays, lambda: bins_from_arrays(arrays, schema))
    weighted = given.get("weighted") is True
    forest, rows = forest_from_arrays(arrays, bins, n_classes, once, weighted=weighted, moments=moments)
    fingerprint = _bag_from_json(given["bag"], rows)
    return State(schema, bins, forest, checked_number("seed", given["seed"], int, 0, 2**63 - 1), fingerprint)


def chosen_features_from_json(given: dict[str, Json], n_features: int, decoder: Decoder) -> FitMetrics:
    """Read the number of features chosen out of bag, and the errors of other numbers."""
    if "max_features_" not in given:
        return FitMetrics()
    chosen = checked_number("max_features_", given["max_features_"], int, 1, n_features)
    errors = decoder.decode(given.get("max_features_errors_"))
    sound = isinstance(errors, dict) and all(
        type(number) is int and isinstance(error, float) for number, error in errors.items()
    )
    if not sound:
        raise ModelFileError(f"malformed 'max_features_errors_' ({reprlib.repr(errors)}).")
    return FitMetrics(max_features=chosen, max_features_errors=dict(errors))


#: Entries of `learned_to_contents`.
LEARNED_KEYS = frozenset({"origins", "novelty", "marks", "reading"})


def learned_to_contents(fitted: Fitted) -> tuple[dict[str, Json], Arrays]:
    """Return origins, novelty and row sketch of a supervised fit as JSON and arrays."""
    parts = [origins_to_contents(fitted), novelty_to_contents(fitted), sketch_to_contents(fitted)]
    parts.append(reading_to_contents(fitted))
    contents: dict[str, Json] = {}
    arrays: Arrays = {}
    for part, held in parts:
        contents |= part
        arrays |= held
    return contents, arrays


def learned_from_contents(
    learned: Learned, state: State, given: dict[str, Json], arrays: Arrays, once: Once | None = None
) -> tuple[tuple[Provenance, ...], Forest]:
    """Read origins, novelty and row sketch; return the origins and the forest."""
    novelty_from_contents(learned, state, given, arrays, once)
    sketch_from_contents(learned, given, arrays, once)
    reading_from_contents(learned, given)
    origins, forest = origins_from_contents(state.forest, given, arrays)
    n_rows = sum(origin.n_rows for origin in origins)
    if origins and state.fingerprint is not None and state.fingerprint.n_rows > n_rows:
        raise ModelFileError(f"bags must be of the rows of all origins, got {state.fingerprint.n_rows:,} rows.")
    return origins, forest


#: Notation of the file of the training table: entries besides "missing" and "units", and the types of their values.
_READING: dict[str, type] = {
    "decimal": str,
    "thousands": str,
    "exact_text": bool,
    "dates": bool,
    "day_first": bool,
    "unit": str,
}


def reading_to_contents(fitted: Fitted) -> tuple[dict[str, Json], Arrays]:
    """Return how the file of the training table was read; empty for tables in memory."""
    known = fitted.learned.last("reading")
    return ({"reading": known[1]} if known is not None and known[1] else {}), {}


def reading_from_contents(learned: Learned, given: dict[str, Json]) -> None:
    """Read how the file of the training table was read, validated."""
    if "reading" not in given:
        return
    reading: Any = given["reading"]
    if not isinstance(reading, dict) or not all(_is_notation(name, value) for name, value in reading.items()):
        raise ModelFileError(f"malformed 'reading' ({reprlib.repr(reading)}).")
    learned.put("reading", None, dict(reading))


def _is_notation(name: str, value: Any) -> bool:
    """Test an entry of the notation."""
    if name == "missing":
        return isinstance(value, list) and all(isinstance(text, str) for text in value)
    if name == "units":
        return isinstance(value, dict) and all(isinstance(unit, str) for unit in value.values())
    return type(value) is _READING.get(name)


def check_known(given: Json, known: set[str]) -> None:
    """Raise `ModelFileError` for unknown entries."""
    if not isinstance(given, dict) or not given.keys() <= known:
        unknown = sorted(given.keys() - known) if isinstance(given, dict) else given
        raise ModelFileError(f"entries must be among {', '.join(sorted(known))}, got {reprlib.repr(unknown)}.")


def checked_number(name: str, value: Any, number_type: type, least: float, most: float) -> Any:
    """Validate the type and range of a number."""
    right = type(value) is int or (number_type is float and type(value) is float)
    if not right or not least <= value <= most:
        raise ModelFileError(f"{name} must be a number from {least} to {most}, got {str(value)[:40]!r}.")
    return number_type(value)


def checked_score(value: Any) -> float:
    """Validate an out-of-bag score; NaN if no row was out of bag."""
    if type(value) is float and math.isnan(value):
        return value
    return float(checked_number("oob_score_", value, float, -math.inf, math.inf))


def _bag_to_json(bag: Fingerprint | None) -> Json:
    """Return the fingerprint of rows and bags, which a warm start compares, as JSON."""
    if bag is None:
        return "mixed"
    told = bag._asdict() | {"rows": None if bag.rows is None else list(bag.rows)}
    return told if bag.n_groups else {name: value for name, value in told.items() if name != "n_groups"}


def _bag_from_json(given: Json, tree_rows: NDArray[np.uint64]) -> Fingerprint | None:
    """Read a fingerprint; its rows must match those counted in each tree (T,)."""
    if given == "mixed":
        return None
    if not isinstance(given, dict) or given.keys() - {"n_groups"} != {"rows", "n_rows", "bag_mean", "leaf_counts"}:
        raise ModelFileError(f"malformed 'bag' ({reprlib.repr(given)}).")
    rows, leaf_counts = given["rows"], given["leaf_counts"]
    if rows is not None:
        if not isinstance(rows, list) or len(rows) != 2:
            raise ModelFileError(f"malformed 'rows' of 'bag' ({reprlib.repr(rows)}).")
        rows = tuple(checked_number("rows of bag", each, int, 0, 2**32 - 1) for each in rows)
    n_rows = checked_number("n_rows of bag", given["n_rows"], int, 1, MAX_ROWS)
    bag_mean = checked_number("bag_mean of bag", given["bag_mean"], float, -MOST_DRAWS, MOST_DRAWS)
    if not isinstance(leaf_counts, str) or leaf_counts not in COUNT_SENSES:
        raise ModelFileError(
            f"leaf_counts of bag must be one of {', '.join(COUNT_SENSES)}, got {str(leaf_counts)[:40]!r}."
        )
    right = {"all": tree_rows == n_rows, "inbag": tree_rows >= 0}.get(leaf_counts, tree_rows <= n_rows)
    if not right.all():
        raise ModelFileError(f"counts of each tree must add up to the {n_rows:,} training rows.")
    n_groups = checked_number("n_groups of bag", given["n_groups"], int, 1, n_rows) if "n_groups" in given else 0
    return Fingerprint(rows, n_rows, bag_mean, leaf_counts, n_groups)


#: Numbers of an origin: name, type, smallest and largest value.
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
    """Return the origins as JSON and arrays; empty without support for updates."""
    if not fitted.origins:
        return {}, {}
    listed = []
    for origin in fitted.origins:
        known = vars(origin) | origin.grid._asdict()
        number = list(dict.fromkeys((origin.n_groups, origin.bag_groups))) if origin.n_groups else []
        listed.append([origin.leaf_counts, *(known[name] for name, *_ in _NUMBERS), *number])
    arrays: Arrays = {"origins.class_rows": np.array([origin.class_rows for origin in fitted.origins])}
    reported: dict[str, Json] = {"origins": listed}
    incremental = fitted.forest.evidence.incremental
    if incremental is not None:
        reported["later"] = True
        arrays |= {f"later.{name}": vars(incremental)[name] for name in _MOMENTS}
        arrays["later.sums"] = incremental.sums.reshape(-1, 6)
    return reported, arrays


def origins_from_contents(
    forest: Forest, given: dict[str, Json], arrays: Arrays
) -> tuple[tuple[Provenance, ...], Forest]:
    """Read the origins, validated; return them and the forest with its updates."""
    if "origins" not in given:
        return (), forest
    listed = given["origins"]
    if not isinstance(listed, list) or not 1 <= len(listed) <= forest.n_trees:
        raise ModelFileError(f"origins must be a list of 1 to {forest.n_trees:,} entries, got {reprlib.repr(listed)}.")
    rows = take(arrays, "origins.class_rows", np.float64, shape=(len(listed), forest.n_classes))
    if not ((rows >= 0) & (rows <= MAX_ROWS)).all():
        raise ModelFileError(f"array 'origins.class_rows' must be from 0 to {MAX_ROWS:,}.")
    origins = tuple(_origin_from(each, counted) for each, counted in zip(listed, rows, strict=True))
    if sum(origin.n_trees for origin in origins) != forest.n_trees:
        n_trees = sum(origin.n_trees for origin in origins)
        raise ModelFileError(f"origins must have {forest.n_trees:,} trees, got {n_trees:,}.")
    if given.get("later") is True:
        forest = replace(forest, evidence=_with_incremental(forest.evidence, arrays))
    return origins, forest


def _origin_from(given: Json, class_rows: Array) -> Provenance:
    """Read one origin."""
    n_numbers = len(_NUMBERS) + 1
    if not isinstance(given, list) or not 0 <= len(given) - n_numbers <= 2 or given[0] not in COUNT_SENSES:
        raise ModelFileError(f"malformed origin ({reprlib.repr(given)}).")
    numbers = {
        name: checked_number(f"{name} of an origin", value, kind, least, most)
        for value, (name, kind, least, most) in zip(given[1:n_numbers], _NUMBERS, strict=True)
    }
    if len(given) > n_numbers:
        numbers["n_groups"] = checked_number("n_groups of an origin", given[n_numbers], int, 1, numbers["n_rows"])
        most = min(numbers["n_groups"], numbers["bag_rows"])
        numbers["bag_groups"] = checked_number("bag_groups of an origin", given[-1], int, 1, most)
    if numbers["bag_rows"] > numbers["n_rows"]:
        raise ModelFileError(
            f"bag_rows of an origin must be at most n_rows, got {numbers['bag_rows']:,} and {numbers['n_rows']:,}."
        )
    grid = ProvenanceGrid(numbers.pop("centre"), numbers.pop("exponent"))
    return Provenance(leaf_counts=given[0], class_rows=tuple(class_rows.tolist()), grid=grid, **numbers)


def _with_incremental(leaves: LeafPayload, arrays: Arrays) -> LeafMoments:
    """Return leaves with their moments after growing and the sums of later rows."""
    moments = [take(arrays, f"later.{name}", np.float64, length=leaves.n_leaves) for name in _MOMENTS]
    if not isinstance(leaves, LeafMoments):
        raise ModelFileError("only regressors may have arrays 'later.…'.")
    if not ((moments[0] >= leaves.LEAST_WEIGHT) & (moments[0] <= MOST_WEIGHT)).all():
        raise ModelFileError(f"weights of leaves must be from {leaves.LEAST_WEIGHT} to {MOST_WEIGHT}.")
    check_moments(moments[1], moments[2])
    sums = take(arrays, "later.sums", np.int64, shape=(leaves.n_leaves, 6))
    return replace(leaves, incremental=IncrementalMoments(moments[0], moments[1], moments[2], sums.reshape(-1, 3, 2)))


def sketch_to_contents(fitted: Fitted) -> tuple[dict[str, Json], Arrays]:
    """Return the row sketch as JSON and arrays; empty without one."""
    marks = row_sketch(fitted)
    if marks is None:
        return {}, {}
    return {"marks": {"below": marks.below, "repeats": marks.repeats}}, {"marks": marks.kept}


def sketch_from_contents(learned: Learned, given: dict[str, Json], arrays: Arrays, once: Once | None = None) -> None:
    """Read the row sketch, validated; older files have none."""
    if "marks" in given:
        stored = given["marks"]
        learned.put(
            "marks", None, (once or Once()).read(("marks", repr(stored)), arrays, lambda: _row_sketch(stored, arrays))
        )


def _row_sketch(stored: Json, arrays: Arrays) -> RowSketch:
    """Read a row sketch from JSON and its array."""
    if not isinstance(stored, dict) or stored.keys() != {"below", "repeats"}:
        raise ModelFileError(f"malformed 'marks' ({reprlib.repr(stored)}).")
    below = checked_number("below of marks", stored["below"], int, 0, ALL_HASHES)
    repeats = checked_number("repeats of marks", stored["repeats"], float, 0, 1)
    kept = take(arrays, "marks", np.uint16).copy()
    if not 1 <= len(kept) <= MOST_MARKS or not (kept[1:] > kept[:-1]).all():
        raise ModelFileError(f"array 'marks' must be 1 to {MOST_MARKS:,} ascending numbers, got {len(kept):,}.")
    return RowSketch(kept, below, repeats)


#: Maximum number of scores in a file; earlier versions wrote this many, later ones fewer.
MAX_SCORES = 4096
#: Scores of training rows.
_SCORES = ("total", "single", "both")


def novelty_to_contents(fitted: Fitted) -> tuple[dict[str, Json], Arrays]:
    """Return novelty scores as JSON and arrays; empty without support for novelty."""
    if not has_novelty(fitted):
        return {}, {}
    known = learned_novelty(fitted)
    leaf_ranges, usual = known.leaf_ranges, known.leaf_ranges.usual
    arrays: Arrays = {"hulls.features": leaf_ranges.features, "hulls.marks": leaf_ranges.marks}
    arrays |= {"hulls.spread": usual.spread, "hulls.missing": usual.missing, "hulls.rows": usual.rows}
    return {"novelty": usual.n_rows}, arrays | {f"novelty.{name}": vars(known)[name] for name in _SCORES}


def novelty_from_contents(
    learned: Learned, state: State, given: dict[str, Json], arrays: Arrays, once: Once | None = None
) -> None:
    """Read novelty scores into `learned`, validated."""
    if "novelty" in given:
        n_rows = checked_number("novelty", given["novelty"], int, 1, MAX_ROWS)
        key = ("novelty", id(state.forest.structure), n_rows)
        learned.put("novelty", None, (once or Once()).read(key, arrays, lambda: _novelty_from(state, n_rows, arrays)))


def _novelty_from(state: State, n_rows: int, arrays: Arrays) -> Novelty:
    """Read leaf ranges and novelty scores."""
    leaf_ranges = _leaf_ranges_from(state, n_rows, arrays)
    total, single, both = (take(arrays, f"novelty.{name}", np.float64).copy() for name in _SCORES)
    alike = len(total) == len(single) == len(both) <= MAX_SCORES
    if not alike or not all(np.isfinite(each).all() and (np.diff(each) >= 0).all() for each in (total, single, both)):
        raise ModelFileError(f"novelty scores must be finite and ascending, at most {MAX_SCORES:,} each.")
    return Novelty(leaf_ranges, total, single, both)


def _leaf_ranges_from(state: State, n_rows: int, arrays: Arrays) -> LeafRanges:
    """Read leaf ranges, and the usual spread of each feature."""
    bins, n_features = state.bins, state.schema.n_features
    features = take(arrays, "hulls.features", np.int32, shape=(None, None))
    if len(features) > state.forest.n_trees:
        raise ModelFileError(
            f"array 'hulls.features' must have at most {state.forest.n_trees:,} trees, got {len(features):,}."
        )
    n_leaves = int(state.forest.leaf_start[len(features)])
    marks = take(arrays, "hulls.marks", np.uint16, shape=(n_leaves, features.shape[1]))
    spread = take(arrays, "hulls.spread", np.float64, length=n_features)
    missing = take(arrays, "hulls.missing", np.int64, length=n_features)
    rows = take(arrays, "hulls.rows", np.int64, length=int(bins.n_bins[bins.nominal == 1].sum()))
    known = features.min() >= 0 and features.max() < n_features and (np.diff(features, axis=1) > 0).all()
    if (
        not known
        or not ((spread >= 0) & np.isfinite(spread)).all()
        or not (_counted(missing, n_rows) and _counted(rows, n_rows))
    ):
        raise ModelFileError("arrays 'hulls.…' must have distinct features, finite spreads and non-negative rows.")
    leaf_ranges = LeafRanges(features, marks, Usual(n_rows, spread, missing, rows))
    if not check_sketch(leaf_ranges, state.forest, bins):
        raise ModelFileError("array 'hulls.marks' must have lower ends below upper ends.")
    return leaf_ranges


def _counted(rows: Array, n_rows: int) -> bool:
    """Test whether all values are numbers of rows."""
    return bool(((rows >= 0) & (rows <= n_rows)).all())


# ---- Trees and leaf payload of a forest as arrays, validated by the compiled core ------------------------------------


#: Nodes per thread of the validation; fewer take a few milliseconds.
_NODES_PER_THREAD = 1_000_000
#: Policies by their numbers in files; files of "larger" have no array.
_POLICIES = ("larger", "shares", "sum")


def forest_to_arrays(forest: Forest, bins: Bins) -> Arrays:
    """Return the arrays of a forest, and the number of rows that each tree counts."""
    arrays = {f"forest.{name}": array for name, array in forest.arrays().items()}
    return arrays | {"forest.rows": tree_rows(forest, bins)} | _unseen_to_arrays(forest.structure.unseen)


def forest_from_arrays(
    arrays: Arrays, bins: Bins, n_classes: int, once: Once, *, weighted: bool, moments: tuple[str, ...] = ()
) -> tuple[Forest, NDArray[np.uint64]]:
    """Read a forest and the number of rows that each tree counts, both validated."""
    trees = once.read(("trees", id(bins)), arrays, lambda: _trees_from(arrays, len(bins.n_bins)))
    key = ("leaves", id(trees), n_classes, weighted, moments)
    return once.read(key, arrays, lambda: _with_leaves(trees, arrays, bins, n_classes, weighted, moments))


@dataclass
class _Trees:
    """Nodes of all trees, and whether they have been validated."""

    nodes: Nodes
    checked: bool = False

    @cached_property
    def borrowed(self) -> NDArray[np.uint8]:
        """Borrowed leaves (L,)."""
        return self.nodes.borrowed_leaves()


def _trees_from(arrays: Arrays, n_features: int) -> _Trees:
    """Read the nodes of all trees, without validation."""
    given = {name: take(arrays, f"forest.{name}", dtype) for name, dtype in Nodes.TYPES.items()}
    return _Trees(replace(Nodes.from_arrays(given), unseen=_unseen_from_arrays(arrays, n_features)))


def _with_leaves(
    trees: _Trees, arrays: Arrays, bins: Bins, n_classes: int, weighted: bool, moments: tuple[str, ...]
) -> tuple[Forest, NDArray[np.uint64]]:
    """Read the leaves; return the validated forest and the rows of each tree."""
    absent = set(Nodes.TYPES) if n_classes > DENSE_CLASSES else {*Nodes.TYPES, "entry_start", "entry_class"}
    absent |= set() if weighted else {"weights"}
    absent |= {"values", "means", "variances", "halves"} - set(moments)
    absent |= {name for name in (*LeafMasses.TYPES, "halves") if f"forest.{name}" not in arrays}
    leaves = {name: take(arrays, f"forest.{name}", dtype) for name, dtype in TYPES.items() if name not in absent}
    forest = replace(Forest.from_arrays(n_classes, leaves | trees.nodes.arrays()), structure=trees.nodes)
    counted = tree_rows(forest, bins, trees.borrowed if trees.checked else None)
    trees.checked = True
    rows = take(arrays, "forest.rows", np.uint64, length=forest.n_trees)
    if not np.array_equal(rows, counted):
        raise ModelFileError("leaf counts must add up to the rows of each tree.")
    return forest, rows


def _unseen_to_arrays(unseen: UnseenPolicy | None) -> Arrays:
    """Return the policy number (p,) of each feature, 0 if it had missing values."""
    if unseen is None:
        return {}
    return {"forest.unseen": (unseen.gapless * _POLICIES.index(unseen.policy)).astype(np.uint8)}


def _unseen_from_arrays(arrays: Arrays, n_features: int) -> UnseenPolicy | None:
    """Read the policy for new values; older files send all rows to the larger side."""
    if "forest.unseen" not in arrays:
        return None
    given = take(arrays, "forest.unseen", np.uint8, length=n_features)
    numbers = set(given.tolist()) - {0}
    if len(numbers) > 1 or not numbers <= {1, 2}:
        raise ModelFileError(f"array 'forest.unseen' must be 0 and one of 1 and 2, got {sorted(numbers)[:10]}.")
    return UnseenPolicy((given > 0).astype(np.uint8), _POLICIES[numbers.pop() if numbers else 1])


def tree_rows(forest: Forest, bins: Bins, borrowed: NDArray[np.uint8] | None = None) -> NDArray[np.uint64]:
    """Validate the trees, and return the number of rows (T,) that each counts.

    `borrowed` leaves are given if the nodes have been validated already.
    """
    try:
        return counted_rows(forest, bins, max(1, min(cpu_count(), len(forest.nodes) // _NODES_PER_THREAD)), borrowed)
    except ValueError as reason:
        raise ModelFileError(str(reason)) from None
