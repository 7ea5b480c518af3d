"""Conversion of LaTeX formulas to MathML, which browsers draw without a script from the network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

_NEW_LINE = re.compile(r"\\\\(?:\[[^\]]*\])?")
_UNKNOWN = re.compile(r"\\[A-Za-z]+")


def setup(app: Any) -> None:
    """Make the renderer known to Sphinx as ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))


def _visit_inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(_drawn(node.astext(), "inline"))
    raise nodes.SkipNode


def _visit_block(writer: Any, node: nodes.Element) -> None:
    lines = _NEW_LINE.split(node.astext())
    writer.body.append('<div class="math">' + "".join(_drawn(line, "block") for line in lines) + "</div>")
    raise nodes.SkipNode


def _drawn(formula: str, display: str) -> str:
    """Convert LaTeX to MathML; raise an error for unknown commands."""
    text = convert(" ".join(formula.split()), display=display)
    if unknown := _UNKNOWN.findall(text):
        raise ValueError(f"formulas must use commands that latex2mathml knows, got {unknown} in {formula!r}")
    return str(text)
