"""Mutate: a model file and chance -> a file that was damaged, or tampered with by someone who knows the format."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from hedgerow.storage.container import MAX_HEADER, TYPES

Header = dict[str, Any]

_ODD = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        7,
        255,
        65_535,
        65_536,
        2**28,
        2**31,
        2**32,
        2**53,
        2**63,
        2**64,
        -(2**63),
        10**30,
    ),
    *(
        0.5,
        -0.5,
        1e308,
        1e-320,
        -1e308,
        "",
        "x",
        "auto",
        "average",
        "eva",
        "mva",
        "cdm_vote",
        "gini",
        "\ud800",
        "U9999999",
    ),
    *([], [0], [[]], {}, {"float": "nan"}, {"float": "inf"}, {"float": "-inf"}, {"tuple": []}, {"dict": [[1, 2]]}),
    *({"array": "forest.nodes", "dtype": "uint64"}, {"array": "parameters.0", "dtype": "float64"}),
    *({"rule": "laplace", "parameters": {"alpha": -1}}, {"rule": "os.system", "parameters": {}}),
    *({"decision": "Coverage", "parameters": {"target": 2}}, {"decision": "EAdmissibility", "parameters": {}}),
    *(
        "RandomForestClassifier",
        "DecisionTreeClassifier",
        "RandomDecisionTreesClassifier",
        "sklearn.svm.SVC",
        "1.7",
        "2.0",
    ),
]


def mutated(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """A file -> one to three mutations of it, or now and then one that is all header."""
    if chance.random() < 0.003:
        return chance.choice(BLOATED)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        data = chance.choice(MUTATIONS)(data, others, chance)
    return data


def flip_bits(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """A few bits change."""
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 8, 64])):
        if changed:
            changed[_place(len(changed), chance)] ^= 1 << chance.randrange(8)
    return bytes(changed)


def overwrite_bytes(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """A short stretch becomes noise, zeros or ones."""
    at, length = _place(len(data), chance), chance.choice([1, 2, 4, 8, 64, 512])
    with_what = chance.choice([bytes(length), b"\xff" * length, chance.randbytes(length)])
    return (data[:at] + with_what + data[at + length :])[: len(data)]


def cut_or_extend(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """The end is missing, or something follows it, or a stretch is lost or comes twice."""
    at, to = sorted((_place(len(data), chance), _place(len(data), chance)))
    more = chance.randbytes(chance.choice([1, 7, 8, 4096]))
    return chance.choice([data[:at], data + more, data[:at] + data[to:], data[:to] + data[at:], data[:8], b""])


def splice(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """The beginning of one file, the end of another."""
    other = chance.choice(others)
    at = _place(min(len(data), len(other)) or 1, chance)
    return data[:at] + other[at:]


def change_header(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """Something in the JSON about the arrays is another value."""
    return _with_header(data, lambda header, body: (change_json(header, chance), body))


def change_model(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """Something in the JSON about the model is another value."""

    def change(header: Header, body: bytes) -> tuple[Any, bytes]:
        model = change_json(json.loads(header["__metadata__"]["model"]), chance)
        header["__metadata__"]["model"] = json.dumps(model)
        return header, body

    return _with_header(data, change)


def change_array(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """A few cells of an array have values at the edges of their type, or those of other cells."""

    def change(header: Header, body: bytes) -> tuple[Any, bytes]:
        name = chance.choice([name for name in header if name != "__metadata__"])
        begin, end = header[name]["data_offsets"]
        cells = np.frombuffer(body[begin:end], TYPES[header[name]["dtype"]]).copy()
        for _ in range(chance.choice([1, 1, 2, 5]) if len(cells) else 0):
            cells[chance.randrange(len(cells))] = odd_cell(cells, chance)
        return header, body[:begin] + cells.tobytes() + body[end:]

    return _with_header(data, change)


def change_node(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """A node has another child (itself, its parent, one outside), feature, kind or threshold."""

    def change(header: Header, body: bytes) -> tuple[Any, bytes]:
        begin, end = header["forest.nodes"]["data_offsets"]
        nodes = np.frombuffer(body[begin:end], np.uint64).copy()
        at = chance.randrange(len(nodes))
        shift, width = chance.choice([(36, 28), (36, 28), (16, 17), (33, 2), (35, 1), (0, 16)])
        value = chance.choice(
            [0, 1, at, at + 1, max(at - 1, 0), len(nodes), (1 << width) - 1, chance.randrange(1 << width)]
        )
        mask = ((1 << width) - 1) << shift
        nodes[at] = (int(nodes[at]) & ~mask) | ((value << shift) & mask)
        return header, body[:begin] + nodes.tobytes() + body[end:]

    return _with_header(data, change)


def resize_array(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """An array is shorter or longer, and the header says so everywhere."""

    def change(header: Header, body: bytes) -> tuple[Any, bytes]:
        name = chance.choice([name for name in header if name != "__metadata__"])
        begin, end = header[name]["data_offsets"]
        size = TYPES[header[name]["dtype"]].itemsize
        length = max(0, (end - begin) // size + chance.choice([-8, -2, -1, 1, 2, 8]))
        held = (body[begin:end] + chance.randbytes(64))[: length * size]
        body, by = body[:begin] + held + body[end:], len(held) - (end - begin)
        for other, place in header.items():
            if other != "__metadata__" and place["data_offsets"][0] >= end and other != name:
                place["data_offsets"] = [at + by for at in place["data_offsets"]]
        header[name] |= {"shape": [length], "data_offsets": [begin, begin + len(held)]}
        return header, body

    return _with_header(data, change)


def swap_arrays(data: bytes, others: list[bytes], chance: Random) -> bytes:
    """Two arrays have each other's place, or one is called like another, or is not there."""

    def change(header: Header, body: bytes) -> tuple[Any, bytes]:
        one, other = chance.choices([name for name in header if name != "__metadata__"], k=2)
        if chance.random() < 0.5:
            header[one], header[other] = header[other], header[one]
        elif chance.random() < 0.5:
            header[chance.choice([f"{other}.", "parameters.0", "table.names.text"])] = header.pop(one)
        else:
            header.pop(one)
        return header, body

    return _with_header(data, change)


def _all_header(text: str) -> bytes:
    """JSON -> a file of nothing else."""
    held = text.encode() + b" " * (-len(text.encode()) % 8)
    return len(held).to_bytes(8, "little") + held


def _repeated(item: str) -> bytes:
    """A file whose header, as long as a header may be, is a list of the same thing over and over."""
    return _all_header('{"a":[' + ",".join([item] * ((MAX_HEADER - 16) // (len(item.encode()) + 1))) + "]}")


#: Headers that take as much memory as JSON can.
BLOATED = [
    *map(_repeated, ["[]", "{}", "[0]", '{"":0}', "[[]]", "1.5", '""', "12345678901234567890", '"\u0100"', '"é"']),
    _all_header('{"' + "\u0100" * 170_000 + '":1}'),
    _all_header('{"a":' * 100_000),
    _all_header(
        '{"__metadata__":{"format":"hedgerow-model","format_version":"1.0","model":"{' + "[]," * 300_000 + '"}}'
    ),
]

MUTATIONS: list[Callable[[bytes, list[bytes], Random], bytes]] = [
    *(flip_bits, overwrite_bytes, cut_or_extend, splice, change_header, swap_arrays, resize_array),
    *(change_model, change_model, change_array, change_array, change_node, change_node),
]


def _place(length: int, chance: Random) -> int:
    """Anywhere, more often near the beginning."""
    return min(max(length - 1, 0), int(length * chance.random() ** chance.choice([1, 4])))


def _with_header(data: bytes, change: Callable[[Header, bytes], tuple[Any, bytes]]) -> bytes:
    """Change the header and what follows it; a file whose header cannot be read any more stays as it is."""
    try:
        n_header = int.from_bytes(data[:8], "little")
        header, body = change(json.loads(data[8 : 8 + n_header]), data[8 + n_header :])
        text = json.dumps(header).encode()
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return data
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + body


def change_json(value: Any, chance: Random) -> Any:
    """Somewhere in plain data: another value, a key that is gone, new or another's, an item twice."""
    if isinstance(value, dict) and value and chance.random() < 0.93:
        key = chance.choice(list(value))
        how = chance.random()
        if how < 0.85:
            return {**value, key: change_json(value[key], chance)}
        if how < 0.93:
            return {name: held for name, held in value.items() if name != key}
        return {**value, chance.choice([*value, "new"]): value[key]}
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        return chance.choice([[*value[:at], change_json(value[at], chance), *value[at + 1 :]], value * 2, value[:at]])
    if isinstance(value, int) and chance.random() < 0.4:
        return value + chance.choice([-8, -1, 1, 8, value, 2**62])
    return chance.choice(_ODD)


def odd_cell(cells: np.ndarray[Any, Any], chance: Random) -> Any:
    """A value at the edge of the type, or that of another cell, or one beside it."""
    other = cells[chance.randrange(len(cells))]
    if cells.dtype.kind == "f":
        return chance.choice([np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, -1e-300, other])
    limits = np.iinfo(cells.dtype)
    beside = min(max(int(other) + chance.choice([-1, 1]), limits.min), limits.max)
    return chance.choice([limits.min, limits.max, 0, 1, limits.max // 2, other, beside, beside])
