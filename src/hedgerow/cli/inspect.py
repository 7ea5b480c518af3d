"""`hedgerow inspect` and `hedgerow verify`: contents of model files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.cli.console import facts, grid, show, write_json
from hedgerow.cli.files.source import model_file
from hedgerow.cli.options import FileOptions
from hedgerow.decisions import decision_in_force
from hedgerow.errors import ModelFileError
from hedgerow.rules import resolve_rule
from hedgerow.storage import ModelFile, describe_file
from hedgerow.util.text import in_groups, listed, number_of

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

#: Maximum number of columns and categories shown; JSON has all.
MOST_COLUMNS = 30
MOST_CATEGORIES = 6


def inspect(options: FileOptions) -> None:
    """Read the header of a model file and print its contents."""
    info = describe_file(model_file(options.model))
    if options.as_json:
        write_json(_plain(info))
    else:
        show(_facts(info), "", _columns(info))


def _facts(info: ModelFile) -> Table:
    """Format the contents of a model file."""
    caution = "unknown" if info.caution is None else f"{info.caution:g}"
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
            ("features", f"{info.schema.n_features:,}, of them {sum(info.schema.nominal):,} categorical"),
            ("training rows", "unknown" if info.n_rows is None else f"{info.n_rows:,}{in_groups(info.n_groups)}"),
            (
                "size",
                f"{number_of(info.n_trees, 'tree')}, {number_of(info.n_nodes, 'node')},"
                f" {number_of(info.n_leaves, 'leaf', 'leaves')}, {_bytes(info.n_bytes)}",
            ),
            ("written by", f"hedgerow {info.hedgerow_version}, format {info.format_version}"),
            ("other parameters", rest),
        ]
    )


def _columns(info: ModelFile) -> Group:
    """Format the schema, a row for each feature."""
    schema = info.schema
    rows = [
        [_name(info, number), schema.kinds[number], "" if known is None else listed(known.tolist(), MOST_CATEGORIES)]
        for number, known in enumerate(schema.categories[:MOST_COLUMNS])
    ]
    if schema.n_features > MOST_COLUMNS:
        rows.append([f"… and {schema.n_features - MOST_COLUMNS:,} more", "", ""])
    return grid("Features", ["name", "holds", "categories"], rows, left=3)


def _plain(info: ModelFile) -> dict[str, Any]:
    """Return the contents of a model file as JSON."""
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
        **({"training_groups": info.n_groups} if info.n_groups else {}),
        "outputs": info.n_outputs,
        "trees": info.n_trees,
        "nodes": info.n_nodes,
        "leaves": info.n_leaves,
        "bytes": info.n_bytes,
    }


def _name(info: ModelFile, number: int) -> str:
    """Return the name of a feature, or its number if the model has no names."""
    return f"column {number}" if info.schema.names is None else info.schema.names[number]


def _plain_value(value: object) -> Any:
    """Return a parameter as JSON; rules and decisions become their repr."""
    if isinstance(value, np.ndarray | tuple | list):
        return [_plain_value(each) for each in list(value)]
    if isinstance(value, np.generic):
        return value.item()
    plain = value is None or isinstance(value, str | int) or (isinstance(value, float) and np.isfinite(value))
    return value if plain else repr(value)


def _bytes(count: int) -> str:
    """Format a number of bytes, such as ``12.3 MB``."""
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} GB"


def verify(options: FileOptions) -> None:
    """Check a model file completely; raise `ModelFileError` if it is corrupt."""
    path, as_json = options.model, options.as_json
    file = model_file(path)
    from hedgerow.storage import load  # imports scikit-learn, which takes a second: only for existing paths

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
