"""Checks of models before an export."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from hedgerow.forest.walk import Tree
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
