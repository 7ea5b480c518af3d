"""Unlabelled: the state of fitted trees without labels <-> JSON and arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from hedgerow.errors import ModelFileError
from hedgerow.forest.target import FeatureRanges, TargetInfo
from hedgerow.inference.fitted import Fitted, fitted_of, publish
from hedgerow.params.checks import check_once_fitted
from hedgerow.storage.parameters import Decoder, Encoder
from hedgerow.storage.state import state_from_contents, state_to_contents
from hedgerow.storage.values import Arrays, take

Json: TypeAlias = Any

KEYS = frozenset({"parameters", "table", "seed", "bag", "fitted"})


def unlabelled_to_contents(model: Any) -> tuple[dict[str, Json], Arrays]:
    """Fitted trees -> JSON and arrays; the training table is not saved."""
    check_once_fitted(model)
    encoder, fitted = Encoder(), fitted_of(model)
    state, arrays = state_to_contents(fitted)
    if isinstance(fitted.info, FeatureRanges) and fitted.info.ranges is not None:
        arrays |= {"ranges": fitted.info.ranges}
    contents = {"parameters": encoder.parameters(model), **state, "fitted": {}}
    return contents, arrays | encoder.arrays


def unlabelled_from_contents(kind: type, given: dict[str, Json], arrays: Arrays) -> Any:
    """The inverse of `unlabelled_to_contents`, everything checked; arrays that are used are removed from `arrays`."""
    names: tuple[str, ...] = kind._leaf_names  # type: ignore[attr-defined]
    model = Decoder(arrays, len(names)).estimator(given["parameters"], kind)
    check_once_fitted(model)
    state = state_from_contents(given, arrays, len(names))
    info = TargetInfo(np.array(names))
    if len(names) == 1:
        ranges = take(arrays, "ranges", np.float64, shape=(state.schema.n_features, 2)).copy()
        if (ranges[:, 0] > ranges[:, 1]).any():
            raise ModelFileError("ranges must go from the lowest to the highest value of each feature, got others")
        info = FeatureRanges(np.array(names), ranges)
    fitted = Fitted(
        schema=state.schema,
        bins=state.bins,
        info=info,
        forest=state.forest,
        criterion=None,
        seed=state.seed,
        fingerprint=state.fingerprint,
    )
    return publish(model, fitted)
