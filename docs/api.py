"""The reference page, made of the public names: those of ``hedgerow`` and of its public modules (``__all__``).

``python docs/api.py`` writes ``reference/api.rst``; a test compares them.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import hedgerow

PAGE = Path(__file__).parent / "reference" / "api.rst"
#: The public modules, in the order of the page, and their titles.
MODULES = {
    "rules": "Combination rules",
    "decisions": "Decisions",
    "metrics": "Metrics",
    "explain": "Explanations",
    "plot": "Plots",
    "structure": "Structure of a table",
    "criteria": "Split criteria",
    "labels": "Uncertain labels",
    "belief": "Belief functions",
    "theory": "Theory",
    "datasets": "Data sets",
    "dask": "Dask",
}
#: What the page says about a module in addition to its names.
NOTES = {
    "rules": "Rules also have :doc:`a page each <methods/index>`.",
    "decisions": "Decisions are also on :doc:`one page <methods/decisions>` with their formulas.",
    "belief": "See :doc:`/explanation/belief`, which has a table of mass functions with their formulas.",
    "dask": "Needs ``pip install '.[dask]'``; see :doc:`/how-to/scale`.",
}
ESTIMATORS, CALLS, EXPORT, ERRORS = "Estimators", "Opinions, samples and files", "Export", "Errors"


def page() -> str:
    """The text of the page."""
    names = [name for name in dir(hedgerow) if not inspect.ismodule(getattr(hedgerow, name))]
    names.remove("__version__")
    grouped = {title: [name for name in names if group_of(name) == title] for title in (ESTIMATORS, CALLS, EXPORT)}
    parts = [heading("Python API", "="), "``hedgerow.__version__`` is the version of the package.\n"]
    parts += [section(title, "hedgerow", inside) for title, inside in grouped.items()]
    modules = {name for name in dir(hedgerow) if inspect.ismodule(getattr(hedgerow, name))}
    if modules != set(MODULES):
        raise ValueError(f"MODULES must list the public modules; these differ: {sorted(modules ^ set(MODULES))}")
    for module, title in MODULES.items():
        parts.append(section(title, f"hedgerow.{module}", getattr(hedgerow, module).__all__, NOTES.get(module)))
    parts.append(section(ERRORS, "hedgerow", [name for name in names if group_of(name) == ERRORS]))
    return "\n".join(parts)


def group_of(name: str) -> str:
    """A public name of the package -> the section in which it is."""
    thing = getattr(hedgerow, name)
    if is_estimator(thing):
        return ESTIMATORS
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return ERRORS
    return EXPORT if name.startswith(("export_", "to_")) else CALLS


def section(title: str, module: str, names: list[str], note: str | None = None) -> str:
    """Names of a module -> the lines of their section; estimators have a template of their own."""
    home: Any = hedgerow if module == "hedgerow" else getattr(hedgerow, module.removeprefix("hedgerow."))
    lines = [heading(title, "-"), *([note, ""] if note else []), f".. currentmodule:: {module}", ""]
    estimators = [name for name in names if is_estimator(getattr(home, name))]
    others = [name for name in names if name not in estimators]
    for listed, template in ((estimators, ["   :template: estimator.rst"]), (others, [])):
        if listed:
            lines += [
                ".. autosummary::",
                "   :toctree: api",
                *template,
                "",
                *(f"   {name}" for name in listed),
                "",
            ]
    return "\n".join(lines)


def is_estimator(thing: Any) -> bool:
    """Return whether a public name is a class that can be fitted."""
    return inspect.isclass(thing) and callable(getattr(thing, "fit", None)) and hasattr(thing, "get_params")


def heading(title: str, line: str) -> str:
    """A title, underlined."""
    return f"{title}\n{line * len(title)}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
