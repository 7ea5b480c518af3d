"""Decision-tree ensembles that know when they do not know."""

from importlib.metadata import PackageNotFoundError, version

from hedgerow.belief import Opinion, combine
from hedgerow.decide import decide
from hedgerow.errors import HedgerowError, ModelFileError
from hedgerow.estimators import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomDecisionTreesClassifier,
    RandomForestClassifier,
)
from hedgerow.export import export_code, export_graphviz, export_svg, export_text
from hedgerow.files import load, save
from hedgerow.resample import bootstrap

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
    "RandomDecisionTreesClassifier",
    "RandomForestClassifier",
    "__version__",
    "bootstrap",
    "combine",
    "decide",
    "export_code",
    "export_graphviz",
    "export_svg",
    "export_text",
    "load",
    "save",
]
