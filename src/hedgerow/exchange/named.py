"""Named: the name of an estimator -> its class, looked up when asked for: the estimators stand above this room."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def estimator_named(name: str) -> Any:
    """The public estimator of that name."""
    return getattr(import_module("hedgerow.estimators"), name)
