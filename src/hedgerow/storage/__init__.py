"""Model files: fitted estimators as data that are safe to load from any source.

`container` (safetensors files), `values` (text and numbers as arrays), `tables`, `forests`, `parameters` and `state`
(the parts that all models have), `outputs` (multi-output models), `model` (`save` and `load`), `describe` (a summary
without reading the trees). Each task writes and reads the rest of a model. docs/reference/model-files.md documents the
format and its guarantees.
"""

from hedgerow.storage.describe import ModelFile, describe_file
from hedgerow.storage.model import load, save

__all__ = ["ModelFile", "describe_file", "load", "save"]
