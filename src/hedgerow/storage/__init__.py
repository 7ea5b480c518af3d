"""Model files: a fitted estimator <-> a file of data that is safe to load, whoever wrote it.

`container` (text and arrays <-> the bytes of a safetensors file), `values` (text and numbers <-> arrays), `tables`,
`forests`, `parameters`, `state` (the parts that all models have <-> JSON and arrays), `outputs` (several outputs in one
file), `model` (`save` and `load`), `describe` (a file -> a summary, without reading its trees). The rest of a model is
written and read by its task. The format and its guarantees: docs/model-files.md.
"""

from hedgerow.storage.describe import ModelFile, describe_file
from hedgerow.storage.model import load, save

__all__ = ["ModelFile", "describe_file", "load", "save"]
