"""Export: a tree -> text, a drawing, or a program that needs nothing of hedgerow."""

from hedgerow.export.code import export_code
from hedgerow.export.graphviz import export_graphviz
from hedgerow.export.svg import export_svg
from hedgerow.export.text import export_text

__all__ = ["export_code", "export_graphviz", "export_svg", "export_text"]
