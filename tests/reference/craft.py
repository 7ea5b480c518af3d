"""Craft: a sound model file and chance -> a file that someone has changed who knows the format.

The container is always sound, and what follows from other parts (the rows of each tree, their depths, the number of
training rows, shares that add up to one) is computed again, so that only the contents can be wrong.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.reference.mutate import change_json

from hedgerow.criteria import CRITERIA
from hedgerow.decisions import all_decisions
from hedgerow.rules import resolve_rule, rule_names
from hedgerow.storage.container import TYPES, FileContents, read_bytes, write_file
from hedgerow.storage.parameters import Encoder
from hedgerow.storage.tables import CATEGORY_TYPES, KINDS
from hedgerow.storage.values import public_estimators

Array = NDArray[Any]

#: Numbers at the edges of what arithmetic can do.
EDGES = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-9, 1e9, 1e15, 2.0**53, 1e50, 1e100, 1e149, 1e150, 1e151, 1e155, 1e200, 1e300),
    *(1e307, 1.7e308, -1e150, -1e308, 5e-324, 1e-320, 1e-300, 1e-250, 1e-160, np.nan, np.inf, -np.inf),
)
WHOLE = (
    0,
    1,
    -1,
    2,
    3,
    7,
    254,
    255,
    256,
    65_534,
    65_535,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**53,
    2**62,
    2**63 - 1,
    -(2**63),
)
TEXTS = (
    *(
        "",
        " ",
        "a",
        "a\0b",
        "\0",
        "\n",
        "\x1b[31m",
        "\ud800",
        "\udfff\ud800",
        "é",
        "e\u0301",
        "\u202e",
        "𝔘",
        "=1+1",
        "<b>&\"'",
    ),
    *("nan", "None", "1", "x" * 300, "]]>", "\u2028", "'; DROP TABLE rows", "{0}", "%s", "$x^2$", "\\", "-", "rows"),
)


class Parts(NamedTuple):
    """A model file, taken apart."""

    metadata: dict[str, str]
    model: dict[str, Any]
    arrays: dict[str, Array]


Change = Callable[[Parts, list[Parts], Random], None]


def taken_apart(data: bytes) -> Parts:
    """The bytes of a sound file -> its parts, to be changed."""
    metadata, arrays = read_bytes(data)
    return Parts(dict(metadata), json.loads(metadata["model"]), {name: array.copy() for name, array in arrays.items()})


def put_together(parts: Parts) -> bytes:
    """The inverse of `taken_apart`."""
    file = io.BytesIO()
    write_file(file, FileContents({**parts.metadata, "model": json.dumps(parts.model)}, parts.arrays))
    return file.getvalue()


def crafted(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """A sound file -> one to three changes of it; now and then those that are not settled elsewhere."""
    parts = taken_apart(data)
    rest = [output_of(taken_apart(other), 0) for other in chance.sample(others, 1)]
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        try:
            _changed(chance.choice(CHANGES), parts, rest, chance)
        except (LookupError, ValueError, TypeError, OverflowError, AttributeError):
            continue  # this file has nothing of the kind, or another change has made it unreadable
    if chance.random() < 0.95:
        settle(parts)
    return put_together(parts)


def _changed(change: Change, parts: Parts, others: list[Parts], chance: Random) -> None:
    """Change a file; of a model of several outputs one of them, more often than not."""
    if "outputs" not in parts.model or change is change_outputs or chance.random() < 0.1:
        change(parts, others, chance)
        return
    number = chance.randrange(len(parts.model["outputs"]))
    alone = output_of(parts, number)
    change(alone, others, chance)
    put_back(parts, number, alone)


def output_of(parts: Parts, number: int) -> Parts:
    """A file -> the parts of one of its outputs; all of them if it has only one."""
    if "outputs" not in parts.model:
        return parts
    prefix = f"{number}."
    own = {name.removeprefix(prefix): array for name, array in parts.arrays.items() if name.startswith(prefix)}
    shared = {name: array for name, array in parts.arrays.items() if not name.partition(".")[0].isdigit()}
    return Parts(parts.metadata, parts.model["outputs"][number], shared | own)


def put_back(parts: Parts, number: int, alone: Parts) -> None:
    """The inverse of `output_of`: what an output shares with others stays shared, what is new is its own."""
    shared = {name for name in parts.arrays if not name.partition(".")[0].isdigit()}
    for name in [name for name in parts.arrays if name.startswith(f"{number}.") or name in shared - {*alone.arrays}]:
        del parts.arrays[name]
    for name, array in alone.arrays.items():
        parts.arrays[name if name in shared else f"{number}.{name}"] = array
    if "estimator" in alone.model:
        parts.model["estimator"] = alone.model.pop("estimator")


# ---- what follows from other parts -----------------------------------------------------------------------------------


def settle(parts: Parts) -> None:
    """Compute again what other parts decide, as far as these can be read."""
    for number in range(len(outputs) if isinstance(outputs := parts.model.get("outputs"), list) else 0):
        if isinstance(outputs[number], dict):
            alone = output_of(parts, number)
            settle(alone)
            put_back(parts, number, alone)
    for settled in (_settle_depths, _settle_rows, _settle_prior):
        try:
            with np.errstate(all="ignore"):
                settled(parts)
        except (LookupError, ValueError, TypeError, OverflowError, AttributeError):
            continue


def _settle_depths(parts: Parts) -> None:
    nodes, start = parts.arrays["forest.nodes"], parts.arrays["forest.node_start"]
    for tree in range(len(start) - 1):
        bits = [int(each) for each in nodes[start[tree] : start[tree + 1]]]
        level = [0] * len(bits)
        for at, each in enumerate(bits):
            child, kind, code = each >> 36, each >> 33 & 3, each & 0xFFFF
            if child > at:
                for below in range(child, min(child + (code + 1 if kind == 2 else 2), len(bits))):
                    level[below] = level[at] + 1
        parts.arrays["forest.depth"][tree] = max(level)


def _settle_rows(parts: Parts) -> None:
    arrays = parts.arrays
    counts, leaf_start, node_start = (arrays[f"forest.{name}"] for name in ("counts", "leaf_start", "node_start"))
    n_leaves = int(leaf_start[-1])
    if "forest.entry_start" in arrays:
        ends = np.concatenate([[0], np.cumsum(counts.astype(np.int64))])
        held = np.diff(ends[arrays["forest.entry_start"]])
    else:
        held = counts.astype(np.int64).reshape(n_leaves, -1).sum(axis=1)
    for tree in range(len(leaf_start) - 1):
        own = held[leaf_start[tree] : leaf_start[tree + 1]].copy()
        span = slice(node_start[tree], node_start[tree + 1])
        nodes, payload = arrays["forest.nodes"][span], arrays["forest.payload"][span]
        is_leaf = (nodes >> np.uint64(36)) == np.arange(len(nodes), dtype=np.uint64)
        borrowed = is_leaf & ((nodes >> np.uint64(35) & np.uint64(1)) == 1)
        own[payload[borrowed]] = 0
        arrays["forest.rows"][tree] = own.sum()
    bag = parts.model["bag"]
    if isinstance(bag, dict) and bag["leaf_counts"] == "all" and len(set(arrays["forest.rows"].tolist())) == 1:
        bag["n_rows"] = int(arrays["forest.rows"][0])


def _settle_prior(parts: Parts) -> None:
    prior = parts.arrays["prior"]
    if (prior > 0).all() and np.isfinite(prior.sum()):
        parts.arrays["prior"] = prior / prior.sum()


# ---- changes ---------------------------------------------------------------------------------------------------------


def change_parameter(parts: Parts, others: list[Parts], chance: Random) -> None:
    """A parameter is something else."""
    parameters = parts.model["parameters"]
    name = chance.choice([*parameters, "rule", "caution", "decision", "criterion", "calibration", "novelty"])
    if name in parameters:
        parameters[name] = _odd_parameter(name, chance)


def change_entry(parts: Parts, others: list[Parts], chance: Random) -> None:
    """Something else in the JSON is another value, gone or new."""
    key = chance.choice([name for name in parts.model if name != "parameters"])
    parts.model[key] = change_json(parts.model[key], chance)


def change_fitted(parts: Parts, others: list[Parts], chance: Random) -> None:
    """A figure is gone, another, or that of another model."""
    fitted = parts.model["fitted"]
    key = chance.choice(sorted({*fitted, *others[0].model["fitted"]}))
    how = chance.random()
    if how < 0.4:
        fitted.pop(key, None)
    elif how < 0.7:
        fitted[key] = chance.choice([*WHOLE, *(edge for edge in EDGES if np.isfinite(edge)), True, None, [], {}])
    else:
        fitted[key] = change_json(fitted.get(key, others[0].model["fitted"].get(key)), chance)


def change_kind(parts: Parts, others: list[Parts], chance: Random) -> None:
    """It says that it is another estimator."""
    parts.model["estimator"] = chance.choice(list(public_estimators()))


def change_cells(parts: Parts, others: list[Parts], chance: Random) -> None:
    """A few cells of an array are odd, or are those of other cells."""
    array = parts.arrays[_some_array(parts, chance)]
    cells = array.reshape(-1)
    for _ in range(chance.choice([1, 1, 2, 5]) if cells.size else 0):
        cells[chance.randrange(cells.size)] = _odd_cell(cells, chance)


def change_array(parts: Parts, others: list[Parts], chance: Random) -> None:
    """All cells of an array change: they are one number, grow, shrink, or change places."""
    name = _some_array(parts, chance)
    array = parts.arrays[name]
    with np.errstate(all="ignore"):
        if chance.random() < 0.4:
            array[...] = _odd_cell(array.reshape(-1), chance)
        elif array.dtype.kind == "f" and chance.random() < 0.6:
            array *= chance.choice([1e300, 1e156, 1e100, 1e-100, 1e-300, -1.0, 0.0, 3.0])
        else:
            order = chance.choice([np.sort, np.flip, _shuffled(chance)])
            array[...] = order(array.reshape(-1)).reshape(array.shape)


def change_weights(parts: Parts, others: list[Parts], chance: Random) -> None:
    """What leaves hold is another number, in all of them or in some."""
    names = [name for name in parts.arrays if name.split(".")[-1] in _HELD]
    array = parts.arrays[chance.choice(names)].reshape(-1)
    some = slice(None) if chance.random() < 0.3 else [chance.randrange(array.size) for _ in range(3)]
    array[some] = _odd_cell(array, chance)


def change_type(parts: Parts, others: list[Parts], chance: Random) -> None:
    """An array is of another type, or has another shape."""
    name = _some_array(parts, chance)
    with np.errstate(all="ignore"):
        array = parts.arrays[name].astype(chance.choice([*TYPES.values()]))
    shapes = [(-1,), array.shape, (-1, 1), (1, -1), (-1, 2)]
    parts.arrays[name] = array.reshape(chance.choice(shapes))


def resize_array(parts: Parts, others: list[Parts], chance: Random) -> None:
    """An array is shorter, longer, or empty."""
    name = _some_array(parts, chance)
    array = parts.arrays[name]
    length = max(0, chance.choice([0, len(array) - 1, len(array) + 1, len(array) // 2, 2 * len(array)]))
    parts.arrays[name] = np.resize(array, (length, *array.shape[1:])) if length else array[:0].reshape(-1)


def swap_arrays(parts: Parts, others: list[Parts], chance: Random) -> None:
    """Two arrays change places, or one is that of another model, is called otherwise, or is not there."""
    one, other = _some_array(parts, chance), _some_array(parts, chance)
    how = chance.random()
    if how < 0.3:
        parts.arrays[one], parts.arrays[other] = parts.arrays[other], parts.arrays[one]
    elif how < 0.8:
        name = chance.choice(list(others[0].arrays))
        parts.arrays[name] = others[0].arrays[name].copy()
    elif how < 0.9:
        parts.arrays[f"{other}."] = parts.arrays.pop(one)
    else:
        parts.arrays.pop(one)


def change_node(parts: Parts, others: list[Parts], chance: Random) -> None:
    """A node asks something else: another feature, bin or side for gaps, or has other children."""
    nodes = parts.arrays["forest.nodes"]
    at = chance.randrange(len(nodes))
    shift, width = chance.choice([(36, 28), (16, 17), (16, 17), (33, 2), (35, 1), (35, 1), (0, 16), (0, 16), (0, 16)])
    field = int(nodes[at]) >> shift & (1 << width) - 1
    value = chance.choice(
        [0, 1, 2, 3, field + 1, max(field - 1, 0), field ^ 1, at, (1 << width) - 1, chance.randrange(70)]
    )
    mask = ((1 << width) - 1) << shift
    nodes[at] = int(nodes[at]) & ~mask | value << shift & mask


def change_payload(parts: Parts, others: list[Parts], chance: Random) -> None:
    """What a node points to is something else; of a split by threshold it should not matter."""
    payload = parts.arrays["forest.payload"]
    for _ in range(chance.choice([1, 1, 4])):
        payload[chance.randrange(len(payload))] = chance.choice([-1, 0, 1, 2, len(payload), 2**31 - 1, -(2**31), 10**6])


def change_words(parts: Parts, others: list[Parts], chance: Random) -> None:
    """Other categories go left: of bits any, of a list the others, one less, or one that is next to one listed."""
    words, nodes = parts.arrays["forest.set_words"], parts.arrays["forest.nodes"]
    listed = [at for at, bits in enumerate(nodes.tolist()) if bits >> 33 & 3 == 1 and bits & 0x8000]
    if not listed or chance.random() < 0.3:
        words[chance.randrange(len(words))] = chance.choice([0, 2**64 - 1, chance.getrandbits(64), 1])
        return
    at, how = chance.choice(listed), chance.choice(["others", "fewer", "next"])
    if how == "next":
        place, step = chance.randrange(len(words)), chance.choice([1, 2**16, 2**32, 2**48])
        words[place] = np.uint64((int(words[place]) + step) % 2**64)
    else:
        nodes[at] = int(nodes[at]) ^ 0x4000 if how == "others" else int(nodes[at]) - 1


def change_texts(parts: Parts, others: list[Parts], chance: Random) -> None:
    """Names of columns, categories or classes are odd, equal, or in another order."""
    stems = [name.removesuffix(".text") for name in parts.arrays if name.endswith(".text")]
    stem = chance.choice(stems)
    texts = _texts(parts, stem)
    for _ in range(chance.choice([1, 1, 3])):
        texts[chance.randrange(len(texts))] = chance.choice([*TEXTS, *texts])
    if chance.random() < 0.7 and stem != "table.names":
        texts.sort()
    parts.arrays.update(_text_to_arrays(stem, texts))
    if stem == "classes" and parts.model["classes"] != "object":
        parts.model["classes"] = f"U{max(map(len, texts)) or 1}"


def change_names(parts: Parts, others: list[Parts], chance: Random) -> None:
    """Columns have names where they had none, or none where they had."""
    n_features = len(parts.arrays["table.kind"])
    if parts.model["table"]["named"]:
        parts.model["table"]["named"] = False
        for name in ("table.names.text", "table.names.text_start"):
            parts.arrays.pop(name)
    else:
        parts.model["table"]["named"] = True
        parts.arrays.update(
            _text_to_arrays("table.names", [chance.choice(TEXTS) + str(each) for each in range(n_features)])
        )


def change_classes(parts: Parts, others: list[Parts], chance: Random) -> None:
    """Classes are of another type, or at the edges of it."""
    n_classes = len(parts.arrays["prior"])
    for name in ("classes", "classes.text", "classes.text_start"):
        parts.arrays.pop(name, None)
    word = chance.choice(["int64", "uint64", "int8", "uint8", "float64", "float32", "float16", "bool", "object", "U"])
    if word in ("object", "U"):
        texts = sorted(
            {*chance.sample(TEXTS, min(n_classes, len(TEXTS))), *(f"c{each:05}" for each in range(n_classes))}
        )
        texts = texts[:n_classes]
        parts.arrays.update(_text_to_arrays("classes", texts))
        parts.model["classes"] = word if word == "object" else f"U{max(map(len, texts))}"
        return
    parts.model["classes"] = word
    if word == "bool":
        parts.arrays["classes"] = np.arange(n_classes, dtype=np.uint8)
    elif "int" in word:
        limits = np.iinfo(word)
        found = {limits.min, limits.max, *range(n_classes)}
        parts.arrays["classes"] = np.array(sorted(found)[-n_classes:], dtype=word)
    else:
        found = {-np.inf, -1e300, 5e-324, 0.5, np.inf, *map(float, range(n_classes))}
        with np.errstate(all="ignore"):
            parts.arrays["classes"] = np.array(sorted(chance.sample(sorted(found), n_classes)), dtype=word)


def change_columns(parts: Parts, others: list[Parts], chance: Random) -> None:
    """A column says that it is of another kind, or its categories are of another type."""
    at = chance.randrange(len(parts.arrays["table.kind"]))
    if chance.random() < 0.5:
        parts.arrays["table.kind"][at] = chance.randrange(len(KINDS))
    else:
        parts.arrays["table.category_type"][at] = chance.randrange(len(CATEGORY_TYPES))


def change_cuts(parts: Parts, others: list[Parts], chance: Random) -> None:
    """Thresholds are at the edges of what a double holds, in order all the same."""
    cuts, start = parts.arrays["bins.cuts"], parts.arrays["bins.cut_start"]
    at = chance.randrange(len(start) - 1)
    span = slice(int(start[at]), int(start[at + 1]))
    own = cuts[span]
    own[chance.randrange(len(own))] = chance.choice(EDGES)
    cuts[span] = np.sort(own)


def change_outputs(parts: Parts, others: list[Parts], chance: Random) -> None:
    """An output comes twice, is gone, changes places with another, or a model of one output says that it has two."""
    if "outputs" not in parts.model:
        contents = {name: parts.model.pop(name) for name in [*parts.model] if name != "estimator"}
        parts.model.update(outputs=[contents] * chance.choice([1, 2, 3]), oob_score_=None)
        return
    outputs, at = parts.model["outputs"], chance.randrange(2)
    how = chance.random()
    if how < 0.3:
        outputs[0], outputs[1] = outputs[1], outputs[0]
    elif how < 0.6:
        alone = output_of(parts, at)
        outputs.append(json.loads(json.dumps(alone.model)))
        parts.arrays.update({f"{len(outputs) - 1}.{name}": array.copy() for name, array in alone.arrays.items()})
        put_back(parts, len(outputs) - 1, output_of(parts, len(outputs) - 1))
    elif how < 0.8:
        parts.model["oob_score_"] = chance.choice([*WHOLE, *EDGES[:-3], True, None, [], "x"])
    else:
        del outputs[at]


def change_versions(parts: Parts, others: list[Parts], chance: Random) -> None:
    """Another version has written it."""
    key = chance.choice(["format_version", "hedgerow_version"])
    parts.metadata[key] = chance.choice(["1.0", "1.1", "1.99", "2.0", "2.1", "3.0", "", "0", *TEXTS])


_HELD = (
    "counts",
    "weights",
    "values",
    "means",
    "variances",
    "weight",
    "mean",
    "variance",
    "sums",
    "range",
    "residuals",
    "calibration_offsets",
    "calibration_mix",
    "total",
    "single",
    "both",
    "spread",
)
#: Those that files survive more often come more often.
CHANGES: list[Change] = [
    *[change_parameter] * 6,
    *[change_weights] * 4,
    *(change_cells, change_node, change_texts, change_fitted, change_cuts) * 3,
    *(change_array, change_words, change_names, change_classes, change_kind) * 2,
    *(change_entry, change_type, resize_array, swap_arrays, change_payload, change_columns, change_versions),
    *[change_outputs] * 2,
]


def _some_array(parts: Parts, chance: Random) -> str:
    return chance.choice(list(parts.arrays))


def _texts(parts: Parts, stem: str) -> list[str]:
    data, start = parts.arrays[f"{stem}.text"].tobytes(), parts.arrays[f"{stem}.text_start"].tolist()
    return [data[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(start)]


def _text_to_arrays(name: str, texts: list[str]) -> dict[str, Array]:
    """As files have them, and half characters too."""
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    start = np.cumsum([0, *map(len, parts)])
    return {f"{name}.text": np.frombuffer(b"".join(parts), dtype=np.uint8), f"{name}.text_start": start}


def _shuffled(chance: Random) -> Callable[[Array], Array]:
    seed = chance.getrandbits(32)
    return lambda flat: np.random.default_rng(seed).permutation(flat)


def _odd_cell(cells: Array, chance: Random) -> Any:
    """A value at the edge of arithmetic or of the type, or another cell's, or one beside it."""
    if cells.dtype.kind == "f":
        limit = float(np.finfo(cells.dtype).max)
        edges = [edge for edge in EDGES if not abs(edge) > limit or np.isinf(edge)]
        return chance.choice([*edges, float(chance.choice(cells.tolist()))])
    limits, other = np.iinfo(cells.dtype), int(chance.choice(cells.tolist()))
    near = [other, other - 1, other + 1, other * 2]
    return min(max(chance.choice([*WHOLE, *near, *near, *near]), limits.min), limits.max)


def _odd_parameter(name: str, chance: Random) -> Any:
    """JSON of a parameter: of its kind, more often than not, and odd."""
    encoder = Encoder()
    makers: dict[str, Callable[[], Any]] = {
        "rule": lambda: {
            "rule": (rule := chance.choice(rule_names())),
            "parameters": _odd_settings(resolve_rule(rule), chance),
        },
        "decision": lambda: _odd_decision(chance),
        "criterion": lambda: _odd_criterion(chance),
        "caution": lambda: encoder.encode(chance.choice([*EDGES, True, False, "auto", None, 3, 10**30 % 2**63]), name),
        "n_jobs": lambda: chance.choice([None, 1, 2, -1, 0, 1024, 1025, -1024, True, 1.0, "1"]),
        "leaf_rows": lambda: chance.choice([True, False, None, 0, 1, "yes", [], [0, 0]]),
        "monotonic_cst": lambda: chance.choice([None, [0, 0, 0, 0], [1, 0, 0, 0], [2], "x", {"dict": [["w", 1]]}]),
        "calibration": lambda: chance.choice([None, "oob", "oob", True, "x"]),
        "novelty": lambda: encoder.encode(chance.choice([*EDGES, 0.01, 0.3, 1, True, None, "x"]), name),
        "class_weight": lambda: chance.choice([None, "balanced", "balanced_subsample", "x", {"dict": [[0, 1.0]]}]),
    }
    plain = [
        *WHOLE,
        *(edge for edge in EDGES if np.isfinite(edge)),
        None,
        True,
        False,
        "auto",
        "x",
        "",
        [],
        [1.0],
        {"float": "nan"},
    ]
    return makers[name]() if name in makers and chance.random() < 0.85 else chance.choice(plain)


def _odd_decision(chance: Random) -> Any:
    name, decision = chance.choice(sorted(all_decisions().items()))
    if chance.random() < 0.3:
        return name
    return {"decision": type(decision).__name__, "parameters": _odd_settings(decision, chance)}


def _odd_criterion(chance: Random) -> Any:
    name = chance.choice(sorted(CRITERIA))
    if chance.random() < 0.3:
        return chance.choice([name, "squared_error", "absolute_error", "poisson"])
    return {"criterion": name, "parameters": _odd_settings(CRITERIA[name](), chance)}


def _odd_settings(held: Any, chance: Random) -> dict[str, Any]:
    """Parameters of a rule, decision or criterion, one of them odd."""
    encoder = Encoder()
    own = {name: encoder.encode(value, name) for name, value in held.get_params(deep=False).items()}
    words = [
        "u65",
        "u80",
        "f1",
        "f_beta",
        "learned",
        "size",
        "precision",
        "equal",
        "aps",
        "lac",
        "lower",
        "median",
        "max",
    ]
    lists = [[1.0], [1.0, 0.5], [1.0, 0.5, 0.3], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0, 0.0]], [[]], [], [1e308, 1e308]]
    odd = [encoder.encode(edge, "it") for edge in EDGES]
    if own and chance.random() < 0.8:
        own[chance.choice(list(own))] = chance.choice(
            [*odd, *words, *words, *lists, None, True, False, "authors", "log"]
        )
    return own
