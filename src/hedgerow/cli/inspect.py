"""`hedgerow inspect` and `hedgerow verify`: the contents of a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.cli.console import facts, grid, show, write_json
from hedgerow.cli.files.source import model_file
from hedgerow.cli.options import FileOptions
from hedgerow.decisions import decision_in_force
from hedgerow.errors import ModelFileError
from hedgerow.rules import resolve_rule
from hedgerow.storage import ModelFile, describe_file
from hedgerow.util.text import listed, number_of

#: Columns and categories that are shown; JSON has all of them.
MOST_COLUMNS = 30
MOST_CATEGORIES = 6


def inspect(options: FileOptions) -> None:
    """Read the header, report."""
    info = describe_file(model_file(options.model))
    if options.as_json:
        write_json(_plain(info))
    else:
        show(_facts(info), "", _columns(info))


def _facts(info: ModelFile) -> Any:
    """The contents of a file -> the table people read."""
    caution = "not known" if info.caution is None else f"{info.caution:g}"
    given = info.parameters
    chosen = ", chosen out of bag" if given.get("caution") == "auto" else ""
    shown = ("rule", "caution", "decision", "n_estimators")
    rest = ", ".join(f"{name}={value!r}" for name, value in given.items() if name not in shown and value is not None)
    opinion: dict[str, str] = {name: str(given[name]) for name in ("rule", "caution", "decision") if name in given}
    if "caution" in given:
        opinion["caution"] = caution + chosen
    if "rule" in given:
        opinion["decision"] = decision_in_force(given["decision"], resolve_rule(given["rule"]))
    if info.classes is not None:
        opinion["classes"] = f"{len(info.classes):,}: {listed(info.classes.tolist())}"
    return facts(
        [
            ("model", info.estimator),
            *opinion.items(),
            *([("outputs", str(info.n_outputs))] if info.n_outputs > 1 else []),
            ("features", f"{info.schema.n_features:,}, of them {sum(info.schema.nominal):,} nominal"),
            ("training rows", "not known" if info.n_rows is None else f"{info.n_rows:,}"),
            (
                "size",
                f"{number_of(info.n_trees, 'tree')}, {number_of(info.n_nodes, 'node')},"
                f" {number_of(info.n_leaves, 'leaf', 'leaves')}, {_bytes(info.n_bytes)}",
            ),
            ("written by", f"hedgerow {info.hedgerow_version}, format {info.format_version}"),
            ("other parameters", rest),
        ]
    )


def _columns(info: ModelFile) -> Any:
    """The schema -> a table, a row for each feature."""
    schema = info.schema
    rows = [
        [_name(info, number), schema.kinds[number], "" if known is None else listed(known.tolist(), MOST_CATEGORIES)]
        for number, known in enumerate(schema.categories[:MOST_COLUMNS])
    ]
    if schema.n_features > MOST_COLUMNS:
        rows.append([f"… and {schema.n_features - MOST_COLUMNS:,} more", "", ""])
    return grid("Features", ["name", "holds", "categories"], rows, left=3)


def _plain(info: ModelFile) -> dict[str, Any]:
    """The contents of a file -> JSON."""
    return {
        "estimator": info.estimator,
        "hedgerow_version": info.hedgerow_version,
        "format_version": info.format_version,
        "classes": None if info.classes is None else info.classes.tolist(),
        "features": [
            {
                "name": _name(info, number),
                "kind": info.schema.kinds[number],
                "categories": None if known is None else known.tolist(),
            }
            for number, known in enumerate(info.schema.categories)
        ],
        "parameters": {name: _plain_value(value) for name, value in info.parameters.items()},
        "caution": info.caution,
        "training_rows": info.n_rows,
        "outputs": info.n_outputs,
        "trees": info.n_trees,
        "nodes": info.n_nodes,
        "leaves": info.n_leaves,
        "bytes": info.n_bytes,
    }


def _name(info: ModelFile, number: int) -> str:
    """The name of a feature, or its number if the training table had no names."""
    return f"column {number}" if info.schema.names is None else info.schema.names[number]


def _plain_value(value: Any) -> Any:
    """A parameter -> JSON; rules and decisions as text, as Python writes them."""
    if isinstance(value, np.ndarray | tuple | list):
        return [_plain_value(each) for each in list(value)]
    if isinstance(value, np.generic):
        return value.item()
    plain = value is None or isinstance(value, str | int) or (isinstance(value, float) and np.isfinite(value))
    return value if plain else repr(value)


def _bytes(count: int) -> str:
    """``12.3 MB``."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000  # type: ignore[assignment]
    return f"{count:,.3g} GB"


def verify(options: FileOptions) -> None:
    """Check everything and say that it is sound; if it is not, raise the error."""
    path, as_json = options.model, options.as_json
    file = model_file(path)
    from hedgerow.storage import load  # imports scikit-learn, which takes a second: only for a path that exists

    try:
        model = load(file)
    except ModelFileError as reason:
        if as_json:
            write_json({"model": path, "sound": False, "reason": str(reason)})
        raise
    forest = model.forest_
    if as_json:
        write_json({"model": path, "sound": True, "reason": None})
        return
    show(
        facts(
            [
                (path, "sound"),
                ("estimator", type(model).__name__),
                (
                    "checked",
                    f"{number_of(forest.n_trees, 'tree')}, {number_of(len(forest.nodes), 'node')}, counts, columns,"
                    " classes, parameters",
                ),
            ]
        )
    )
