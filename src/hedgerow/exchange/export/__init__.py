"""Export: a tree -> text, a drawing or a program; a forest -> a model of another library."""

from hedgerow.exchange.export.code import export_code
from hedgerow.exchange.export.graphviz import export_graphviz
from hedgerow.exchange.export.onnx import to_onnx
from hedgerow.exchange.export.sklearn import to_sklearn
from hedgerow.exchange.export.svg import export_svg
from hedgerow.exchange.export.text import export_text
from hedgerow.exchange.export.treelite import to_treelite

__all__ = ["export_code", "export_graphviz", "export_svg", "export_text", "to_onnx", "to_sklearn", "to_treelite"]
