"""Decision-tree ensembles that know when they do not know."""

from importlib.metadata import PackageNotFoundError, version

from hedgerow import labels
from hedgerow.belief import Opinion, combine
from hedgerow.decide import decide
from hedgerow.errors import HedgerowError, ModelFileError
from hedgerow.estimators import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    PairwiseTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
)
from hedgerow.files import load, save

try:
    __version__ = version("hedgerow")
except PackageNotFoundError:
    __version__ = "0+unknown"

__all__ = [
    "DecisionTreeClassifier",
    "ExtraTreesClassifier",
    "HedgerowError",
    "ModelFileError",
    "Opinion",
    "PairwiseTreesClassifier",
    "RandomDecisionTreesClassifier",
    "RandomForestClassifier",
    "__version__",
    "combine",
    "decide",
    "labels",
    "load",
    "save",
]
