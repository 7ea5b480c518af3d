"""Files: a fitted estimator <-> a file of data that is safe to load, whoever wrote it.

`container` (text and arrays <-> the bytes of a safetensors file), `values` (text and numbers <-> arrays), `tables`,
`forests`, `parameters`, `classifiers` (the parts of a model <-> JSON and arrays), `model` (`save` and `load`, and the
list of estimators), `describe` (a file -> a summary, without reading its trees). The format and its promises:
docs/model-files.md.
"""

from hedgerow.storage.describe import ModelFile, describe_file
from hedgerow.storage.model import load, save

__all__ = ["ModelFile", "describe_file", "load", "save"]
