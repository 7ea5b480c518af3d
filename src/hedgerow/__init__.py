"""Decision-tree ensembles that know when they do not know."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hedgerow import labels
    from hedgerow.belief import Opinion, combine
    from hedgerow.decide import decide
    from hedgerow.errors import CheckpointError, HedgerowError, ModelFileError
    from hedgerow.estimators import (
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        PairwiseTreesClassifier,
        RandomDecisionTreesClassifier,
        RandomForestClassifier,
        RandomForestRegressor,
        RandomTreesEmbedding,
        UnsupervisedForest,
        merge,
    )
    from hedgerow.exchange.export import (
        export_code,
        export_graphviz,
        export_svg,
        export_text,
        to_onnx,
        to_sklearn,
        to_treelite,
    )
    from hedgerow.exchange.files import load, save
    from hedgerow.study.resample import bootstrap

    __version__: str

__all__ = [
    "CheckpointError",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "HedgerowError",
    "ModelFileError",
    "Opinion",
    "PairwiseTreesClassifier",
    "RandomDecisionTreesClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomTreesEmbedding",
    "UnsupervisedForest",
    "__version__",
    "bootstrap",
    "combine",
    "decide",
    "export_code",
    "export_graphviz",
    "export_svg",
    "export_text",
    "labels",
    "load",
    "merge",
    "save",
    "to_onnx",
    "to_sklearn",
    "to_treelite",
]

#: Where each public name lives. Names are imported when first used, so that ``hedgerow --help`` need not wait for
#: scikit-learn: 0.2 s instead of 1.2 s.
_HOME = {
    "CheckpointError": "hedgerow.errors",
    "DecisionTreeClassifier": "hedgerow.estimators",
    "DecisionTreeRegressor": "hedgerow.estimators",
    "ExtraTreesClassifier": "hedgerow.estimators",
    "ExtraTreesRegressor": "hedgerow.estimators",
    "HedgerowError": "hedgerow.errors",
    "ModelFileError": "hedgerow.errors",
    "Opinion": "hedgerow.belief",
    "PairwiseTreesClassifier": "hedgerow.estimators",
    "RandomDecisionTreesClassifier": "hedgerow.estimators",
    "RandomForestClassifier": "hedgerow.estimators",
    "RandomForestRegressor": "hedgerow.estimators",
    "RandomTreesEmbedding": "hedgerow.estimators",
    "UnsupervisedForest": "hedgerow.estimators",
    "bootstrap": "hedgerow.study.resample",
    "combine": "hedgerow.belief",
    "decide": "hedgerow.decide",
    "export_code": "hedgerow.exchange.export",
    "export_graphviz": "hedgerow.exchange.export",
    "export_svg": "hedgerow.exchange.export",
    "export_text": "hedgerow.exchange.export",
    "load": "hedgerow.exchange.files",
    "merge": "hedgerow.estimators",
    "save": "hedgerow.exchange.files",
    "to_onnx": "hedgerow.exchange.export",
    "to_sklearn": "hedgerow.exchange.export",
    "to_treelite": "hedgerow.exchange.export",
}

#: Modules that are public as such.
_MODULES = {
    "belief",
    "criteria",
    "dask",
    "datasets",
    "explain",
    "labels",
    "metrics",
    "plot",
    "rules",
    "structure",
    "theory",
}


def __getattr__(name: str) -> Any:
    """A public name -> the object, imported now; afterwards it is an ordinary attribute."""
    if name == "__version__":
        value: Any = _version()
    elif name in _MODULES:
        value = import_module(f"hedgerow.{name}")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What is there and what can be had."""
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hedgerow")
    except PackageNotFoundError:
        return "0+unknown"


class _Package(ModuleType):
    """``hedgerow.decide`` is the function, also after Python has imported the folder of that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """By name: a function of ``__main__`` that mentions the package travels to workers of Dask, Spark and Ray."""
        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Package
