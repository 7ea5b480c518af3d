"""Model files: fitted estimators as data that are safe to load from any source.

`container` (safetensors files), `values` (text and numbers as arrays), `tables`, `parameters` and `state` (the parts
that all models have), `model` (`save`, `load`, and a summary without reading the trees). Each task writes and reads the
rest of a model. docs/reference/model-files.md documents the format and its guarantees.
"""

from hedgerow.storage.model import ModelFile, describe_file, load, save

__all__ = ["ModelFile", "describe_file", "load", "save"]
