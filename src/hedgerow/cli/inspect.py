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
    about = describe_file(model_file(options.model))
    if options.as_json:
        write_json(_plain(about))
    else:
        show(_facts(about), "", _columns(about))


def _facts(about: ModelFile) -> Any:
    """The contents of a file -> the table people read."""
    caution = "not known" if about.caution is None else f"{about.caution:g}"
    given = about.parameters
    chosen = ", chosen out of bag" if given.get("caution") == "auto" else ""
    shown = ("rule", "caution", "decision", "n_estimators")
    rest = ", ".join(f"{name}={value!r}" for name, value in given.items() if name not in shown and value is not None)
    opinion: dict[str, str] = {name: str(given[name]) for name in ("rule", "caution", "decision") if name in given}
    if "caution" in given:
        opinion["caution"] = caution + chosen
    if "rule" in given:
        opinion["decision"] = decision_in_force(given["decision"], resolve_rule(given["rule"]))
    if about.classes is not None:
        opinion["classes"] = f"{len(about.classes):,}: {listed(about.classes.tolist())}"
    return facts(
        [
            ("model", about.estimator),
            *opinion.items(),
            *([("outputs", str(about.n_outputs))] if about.n_outputs > 1 else []),
            ("features", f"{about.schema.n_features:,}, of them {sum(about.schema.nominal):,} nominal"),
            ("training rows", "not known" if about.n_rows is None else f"{about.n_rows:,}"),
            (
                "size",
                f"{number_of(about.n_trees, 'tree')}, {number_of(about.n_nodes, 'node')},"
                f" {number_of(about.n_leaves, 'leaf', 'leaves')}, {_bytes(about.n_bytes)}",
            ),
            ("written by", f"hedgerow {about.hedgerow_version}, format {about.format_version}"),
            ("other parameters", rest),
        ]
    )


def _columns(about: ModelFile) -> Any:
    """The schema -> a table, a row for each feature."""
    schema = about.schema
    rows = [
        [_name(about, number), schema.kinds[number], "" if known is None else listed(known.tolist(), MOST_CATEGORIES)]
        for number, known in enumerate(schema.categories[:MOST_COLUMNS])
    ]
    if schema.n_features > MOST_COLUMNS:
        rows.append([f"… and {schema.n_features - MOST_COLUMNS:,} more", "", ""])
    return grid("Features", ["name", "holds", "categories"], rows, left=3)


def _plain(about: ModelFile) -> dict[str, Any]:
    """The contents of a file -> JSON."""
    return {
        "estimator": about.estimator,
        "hedgerow_version": about.hedgerow_version,
        "format_version": about.format_version,
        "classes": None if about.classes is None else about.classes.tolist(),
        "features": [
            {
                "name": _name(about, number),
                "kind": about.schema.kinds[number],
                "categories": None if known is None else known.tolist(),
            }
            for number, known in enumerate(about.schema.categories)
        ],
        "parameters": {name: _plain_value(value) for name, value in about.parameters.items()},
        "caution": about.caution,
        "training_rows": about.n_rows,
        "outputs": about.n_outputs,
        "trees": about.n_trees,
        "nodes": about.n_nodes,
        "leaves": about.n_leaves,
        "bytes": about.n_bytes,
    }


def _name(about: ModelFile, number: int) -> str:
    """The name of a feature, or its number if the training table had no names."""
    return f"column {number}" if about.schema.names is None else about.schema.names[number]


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
