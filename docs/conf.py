"""Sphinx configuration: ``sphinx-build -W docs build/docs``."""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import mathml
import methods

import hedgerow

project = "hedgerow"
copyright = "The hedgerow developers"
author = "The hedgerow developers"
release = version = hedgerow.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["build", "_build", "gallery", "**/GALLERY_HEADER.rst"]
default_role = "py:obj"
suppress_warnings = ["config.cache"]
nitpicky = False

# ---- pages ------------------------------------------------------------------------------------------------------

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
# Pages also link to files outside docs/, for people who read the project as text.
myst_url_schemes = ["http", "https", "mailto"]

methods.write_pages(Path(__file__).parent / "reference" / "methods")

# ---- reference --------------------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_default_options = {"inherited-members": False}
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()
templates_path = ["_templates"]

# ---- gallery ----------------------------------------------------------------------------------------------------

# Examples print the same wherever they are built: no colours, no warning about the backend.
os.environ.setdefault("NO_COLOR", "1")
warnings.filterwarnings("ignore", message=".*non-GUI backend.*")

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "tutorials/examples",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
    "backreferences_dir": None,
}

# ---- looks ------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_context = {"default_mode": "auto"}
html_title = "hedgerow"
html_static_path = ["_static"]
html_css_files = ["hedgerow.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        "explanation/comparison": [],  # wide tables
        "how-to/from-scikit-learn": [],
        "reference/capabilities": [],
        "reference/index": [],
    },
    "header_links_before_dropdown": 6,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars: dict[str, list[str]] = {"index": []}


# ---- docstrings -------------------------------------------------------------------------------------------------

_LITERAL = re.compile(r"(``.*?``)")
_BARS = re.compile(r"\|([A-Za-z][^|`]*)\|")
_LABEL = re.compile(r":ref:`([^`<]*?)(?: <[^`]*>)?`")


def clean_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Keep Sphinx from reading |A| as a substitution, and turn references to scikit-learn's pages into plain words."""
    for number, line in enumerate(lines):
        parts = _LITERAL.split(line)
        parts[::2] = [_LABEL.sub(r"\1", _BARS.sub(r"\\|\1\\|", part)) for part in parts[::2]]
        lines[number] = "".join(parts)


def include_contributing(app: Any, name: str, source: list[str]) -> None:
    """Show CONTRIBUTING.md, whose links start at the root of the project, on the page of contributors."""
    if name == "contributing/index":
        path = Path(__file__).parents[1] / "CONTRIBUTING.md"
        app.env.note_dependency(str(path))
        text = path.read_text(encoding="utf-8")
        text = text.replace("](docs/", "](../").replace("[SECURITY.md](SECURITY.md)", "`SECURITY.md`")
        source[0] = source[0].replace("CONTRIBUTING.md\n", text, 1)


def setup(app: Any) -> None:
    """Draw formulas as MathML; clean docstrings before numpydoc reads them."""
    app.connect("source-read", include_contributing)
    mathml.setup(app)
    app.connect("autodoc-process-docstring", clean_docstring, priority=400)
