"""Unlabelled: what fitted trees without labels know <-> JSON and arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from hedgerow.errors import ModelFileError
from hedgerow.estimators.unsupervised import RandomTreesEmbedding, UnsupervisedForest
from hedgerow.exchange.files.classifiers import (
    bag_from_json,
    bag_to_json,
    checked_number,
    checked_threads,
    reading_threads,
)
from hedgerow.exchange.files.forests import forest_from_arrays, forest_to_arrays
from hedgerow.exchange.files.parameters import Decoder, Encoder
from hedgerow.exchange.files.tables import bins_from_arrays, bins_to_arrays, schema_from_arrays, schema_to_arrays
from hedgerow.exchange.files.values import Arrays, take
from hedgerow.table import remember_features

Json: TypeAlias = Any
Unlabelled: TypeAlias = RandomTreesEmbedding | UnsupervisedForest

KEYS = frozenset({"parameters", "table", "seed", "bag", "fitted"})


def unlabelled_to_contents(model: Unlabelled) -> tuple[dict[str, Json], Arrays]:
    """Fitted trees -> JSON and arrays; the training table is not saved."""
    checked_threads(model.n_jobs)
    encoder = Encoder()
    table, arrays = schema_to_arrays(model._schema)
    arrays |= bins_to_arrays(model._bins) | forest_to_arrays(model.forest_, model._bins, reading_threads(model))
    if isinstance(model, RandomTreesEmbedding):
        arrays |= {"ranges": model._ranges}
    contents = {
        "parameters": encoder.parameters(model),
        "table": table,
        "seed": model._seed,
        "bag": bag_to_json(model._bag),
        "fitted": {},
    }
    return contents, arrays | encoder.arrays


def unlabelled_from_contents(kind: type[Unlabelled], given: dict[str, Json], arrays: Arrays) -> Unlabelled:
    """The inverse of `unlabelled_to_contents`, everything checked; arrays that are used leave `arrays`."""
    n_classes = 1 if kind is RandomTreesEmbedding else 2
    model = kind(**Decoder(arrays, n_classes).parameters(given["parameters"], kind))
    checked_threads(model.n_jobs)
    schema = schema_from_arrays(given["table"], arrays)
    bins = bins_from_arrays(arrays, schema)
    threads = reading_threads(model)
    model.forest_, rows = forest_from_arrays(arrays, bins, n_classes, weighted=False, n_threads=threads)
    model._bins, model._schema, model._bag = bins, schema, bag_from_json(given["bag"], rows)
    model._seed = checked_number("seed", given["seed"], int, 0, 2**63 - 1)
    if isinstance(model, RandomTreesEmbedding):
        model._ranges = take(arrays, "ranges", np.float64, shape=(schema.n_features, 2)).copy()
        low, high = model._ranges.T
        if (low > high).any():
            raise ModelFileError("ranges must go from the lowest to the highest value of each feature, got others")
    remember_features(model, schema)
    return model
