"""Decision-tree ensembles that know when they do not know."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hedgerow import belief as belief
    from hedgerow import criteria as criteria
    from hedgerow import dask as dask
    from hedgerow import datasets as datasets
    from hedgerow import explain as explain
    from hedgerow import labels as labels
    from hedgerow import metrics as metrics
    from hedgerow import plot as plot
    from hedgerow import rules as rules
    from hedgerow import structure as structure
    from hedgerow import theory as theory
    from hedgerow.belief import Opinion as Opinion
    from hedgerow.belief import combine as combine
    from hedgerow.decide import decide as decide
    from hedgerow.errors import CheckpointError as CheckpointError
    from hedgerow.errors import HedgerowError as HedgerowError
    from hedgerow.errors import ModelFileError as ModelFileError
    from hedgerow.estimators import DecisionTreeClassifier as DecisionTreeClassifier
    from hedgerow.estimators import DecisionTreeRegressor as DecisionTreeRegressor
    from hedgerow.estimators import ExtraTreeClassifier as ExtraTreeClassifier
    from hedgerow.estimators import ExtraTreeRegressor as ExtraTreeRegressor
    from hedgerow.estimators import ExtraTreesClassifier as ExtraTreesClassifier
    from hedgerow.estimators import ExtraTreesRegressor as ExtraTreesRegressor
    from hedgerow.estimators import PairwiseTreesClassifier as PairwiseTreesClassifier
    from hedgerow.estimators import RandomDecisionTreesClassifier as RandomDecisionTreesClassifier
    from hedgerow.estimators import RandomForestClassifier as RandomForestClassifier
    from hedgerow.estimators import RandomForestRegressor as RandomForestRegressor
    from hedgerow.estimators import RandomTreesEmbedding as RandomTreesEmbedding
    from hedgerow.estimators import UnsupervisedForest as UnsupervisedForest
    from hedgerow.estimators import load as load
    from hedgerow.estimators import merge as merge
    from hedgerow.estimators import save as save
    from hedgerow.exchange.export import export_code as export_code
    from hedgerow.exchange.export import export_graphviz as export_graphviz
    from hedgerow.exchange.export import export_svg as export_svg
    from hedgerow.exchange.export import export_text as export_text
    from hedgerow.exchange.export import to_onnx as to_onnx
    from hedgerow.exchange.export import to_sklearn as to_sklearn
    from hedgerow.exchange.export import to_treelite as to_treelite
    from hedgerow.study.resample import bootstrap as bootstrap
    from hedgerow.table import UncertainTable as UncertainTable

    __version__: str

#: Every public name, by the module it comes from. A name is imported when it is first used, so that ``hedgerow --help``
#: need not wait for scikit-learn: 0.2 s instead of 1.2 s.
_PUBLIC = {
    "hedgerow": "decide labels",  # modules
    "hedgerow.belief": "Opinion combine",
    "hedgerow.errors": "CheckpointError HedgerowError ModelFileError",
    "hedgerow.estimators": """
        DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor ExtraTreesClassifier
        ExtraTreesRegressor PairwiseTreesClassifier RandomDecisionTreesClassifier RandomForestClassifier
        RandomForestRegressor RandomTreesEmbedding UnsupervisedForest load merge save
    """,
    "hedgerow.exchange.export": """
        export_code export_graphviz export_svg export_text to_onnx to_sklearn to_treelite
    """,
    "hedgerow.study.resample": "bootstrap",
    "hedgerow.table": "UncertainTable",
    # Modules that ``from hedgerow import *`` leaves alone: some need packages that are not always there.
    "hedgerow.*": "belief criteria dask datasets explain metrics plot rules structure theory",
}
_HOME = {name: home for home, names in _PUBLIC.items() for name in names.split()}

__all__ = sorted(["__version__", *(name for name, home in _HOME.items() if home != "hedgerow.*")])


def __getattr__(name: str) -> Any:
    """A public name -> the object, imported now; afterwards it is an ordinary attribute."""
    if name == "__version__":
        value: Any = _version()
    elif name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    elif _HOME[name] in ("hedgerow", "hedgerow.*"):
        return import_module(f"hedgerow.{name}")
    else:
        value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, and no others."""
    return sorted({*_HOME, "__version__"})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hedgerow")
    except PackageNotFoundError:
        return "0+unknown"
