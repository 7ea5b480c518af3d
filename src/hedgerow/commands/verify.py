"""Verify: a model file -> whether all of it is sound."""

from __future__ import annotations

from hedgerow.commands.options.files import FileOptions
from hedgerow.commands.source import model_file
from hedgerow.commands.talk import facts, number_of, show, write_json
from hedgerow.errors import ModelFileError


def verify(options: FileOptions) -> None:
    """Check everything and say that it is sound; if it is not, raise the error."""
    path, as_json = options.model, options.as_json
    file = model_file(path)
    from hedgerow.exchange.files import load  # imports scikit-learn, which takes a second: only for a path that exists

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
