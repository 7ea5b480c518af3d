"""Checks of models before an export."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, TypeVar

from hedgerow.forest.walk import Tree
from hedgerow.inference.predictor import predictor_of

_Format = TypeVar("_Format")


def exported(model: Any, formats: Mapping[str, _Format]) -> tuple[Any, _Format]:
    """A fitted tree or forest, how each kind of answers is written -> its answers, and how these are written."""
    wanted = "forest must be a fitted classifier or regressor of hedgerow"
    predictor = predictor_of(model, wanted)
    if not predictor.predicts:
        raise TypeError(f"{wanted}, got {type(model).__name__}")
    if predictor.kind not in formats and not len(predictor.classes):
        raise NotImplementedError(f"forest must predict classes or numbers for this export, got {type(model).__name__}")
    if predictor.kind not in formats:
        raise NotImplementedError(
            f"forest must have trees that are about all classes, got {type(model).__name__}, whose trees are about two"
            " each; export them one by one with export_code"
        )
    if model.novelty is not None:
        raise NotImplementedError(
            f"novelty must be None for an export, got {model.novelty!r}: other programs do not know what leaves have"
            " seen; set_params(novelty=None), and ask predict_novelty where hedgerow runs"
        )
    return predictor, formats[predictor.kind]


def check_averages(predictor: Any, trees: list[Tree], program: str) -> None:
    """Refuse rules whose probability is not a mean over trees, and trees with empty leaves; warn of a map."""
    if not predictor.is_mean:
        raise NotImplementedError(
            f"rule must average distributions of the leaves for {program}, got {predictor.plain_rule!r}; choose another"
            " with set_params, or use to_onnx, which supports more rules"
        )
    if predictor.skips_empty and not all(tree.counts[tree.is_leaf].sum(axis=1).all() for tree in trees):
        raise NotImplementedError(
            f"leaves must hold rows for {program}, got empty leaves, which {program} cannot leave out of a mean;"
            " fit with leaf_counts='all'"
        )
    if predictor.is_calibrated:
        warnings.warn(
            f"{program} has no place for the map of a calibrated forest, so its probabilities will be those before the"
            " map; set calibration=None before exporting to have the same here, or use to_onnx, which keeps the map",
            UserWarning,
            stacklevel=3,
        )


def require(package: str, extra: str) -> None:
    """Refuse if a package is not installed."""
    if find_spec(package) is None:
        raise ImportError(f"{package} must be installed for this, got none; pip install 'hedgerow[{extra}]'")
