"""Decision-tree ensembles that know when they do not know."""

from importlib.metadata import PackageNotFoundError, version

from hedgerow.belief import Opinion, combine
from hedgerow.decide import decide
from hedgerow.errors import HedgerowError, ModelFileError
from hedgerow.estimators import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.files import load, save

try:
    __version__ = version("hedgerow")
except PackageNotFoundError:
    __version__ = "0+unknown"

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "HedgerowError",
    "ModelFileError",
    "Opinion",
    "RandomDecisionTreesClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "__version__",
    "combine",
    "decide",
    "load",
    "save",
]
