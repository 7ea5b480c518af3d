"""Checks of models before an export."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.forest.walk import Tree
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.predictor import predictor_of

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

_Format = TypeVar("_Format")


def exported(model: BaseEstimator, formats: Mapping[str, _Format]) -> tuple[Any, _Format]:
    """Return the predictor of a fitted model and its format, by prediction type.

    Raise an error if unsupported.
    """
    wanted = "forest must be a fitted classifier or regressor of hedgerow"
    predictor = predictor_of(model, wanted)
    if not predictor.predicts:
        raise TypeError(f"{wanted}, got {type(model).__name__}")
    if predictor.kind not in formats and not len(predictor.classes):
        raise NotImplementedError(f"This export does not support {type(model).__name__}.")
    if predictor.kind not in formats:
        raise NotImplementedError(
            f"This export does not support {type(model).__name__}, whose trees separate two classes each. Export single"
            " trees with export_code."
        )
    if model.novelty is not None:
        raise NotImplementedError(
            f"novelty must be None for an export, got {model.novelty!r}. Use set_params(novelty=None)."
        )
    return predictor, formats[predictor.kind]


class Support(NamedTuple):
    """Limits of the values that hedgerow treats as known, for each of p features.

    Numbers below `low` or above `high`, missing values where `gapless`, and new categories where `used` are out of
    support. Without `used` a feature has no limits.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    gapless: NDArray[np.bool_]
    used: NDArray[np.bool_]


def support_of(fitted: Fitted) -> Support:
    """Return the limits of known values; there are none with ``unseen="larger"``."""
    forest, n_features = fitted.forest, fitted.schema.n_features
    used, gapless = np.zeros((2, n_features), dtype=bool)
    if forest.structure.unseen is not None:
        used[forest.used_features] = True
        gapless[forest.gapless_features] = True
    low, high = fitted.codebook.far
    return Support(np.where(used, low, -np.inf), np.where(used, high, np.inf), gapless, used)


def check_averages(predictor: Any, trees: list[Tree], program: str) -> None:
    """Raise an error for rules that are not means over trees and for empty leaves.

    Warn of a calibrator.
    """
    if not predictor.is_mean:
        raise NotImplementedError(
            f"rule must be a mean over trees for {program}, got {predictor.plain_rule!r}. Use another rule, or to_onnx."
        )
    if predictor.skips_empty and not all(tree.counts[tree.is_leaf].sum(axis=1).all() for tree in trees):
        raise NotImplementedError(
            f"{program} does not support empty leaves, which the rule skips. Refit with leaf_counts='all'."
        )
    if predictor.is_calibrated:
        warnings.warn(
            f"{program} does not support calibrators, so its probabilities are uncalibrated. Use to_onnx to keep the"
            " calibrator, or set calibration=None for the same probabilities here.",
            UserWarning,
            stacklevel=3,
        )


def require(package: str) -> None:
    """Raise an ImportError if a package is not installed."""
    if find_spec(package) is None:
        raise ImportError(f"This export requires {package}. Install it with pip install {package}.")
