"""Exports: text, drawings, programs, and models of other libraries."""

from hedgerow.export.code import export_code
from hedgerow.export.describe import export_text
from hedgerow.export.graphviz import export_graphviz
from hedgerow.export.onnx import to_onnx
from hedgerow.export.sklearn import to_sklearn
from hedgerow.export.svg import export_svg
from hedgerow.export.treelite import to_treelite

__all__ = ["export_code", "export_graphviz", "export_svg", "export_text", "to_onnx", "to_sklearn", "to_treelite"]
