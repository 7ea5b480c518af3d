"""Decision-tree ensembles that know when they do not know."""

from importlib.metadata import PackageNotFoundError, version

from hedgerow.estimators import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
)

try:
    __version__ = version("hedgerow")
except PackageNotFoundError:
    __version__ = "0+unknown"

__all__ = [
    "DecisionTreeClassifier",
    "ExtraTreesClassifier",
    "RandomDecisionTreesClassifier",
    "RandomForestClassifier",
    "__version__",
]
