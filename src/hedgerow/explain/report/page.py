"""Reports as self-contained HTML files."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import hedgerow
from hedgerow.explain.cases import number as number_words
from hedgerow.explain.presenters import presenter_of
from hedgerow.explain.report.pack import cut, safe_json
from hedgerow.explain.report.request import Parts, ReportRequest, checked_groups, checked_names
from hedgerow.export.svg import COLOURS
from hedgerow.table.frames import index_names
from hedgerow.util.disk import write_whole
from hedgerow.util.text import in_groups, tied, whole

if TYPE_CHECKING:
    from markupsafe import Markup
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike

#: Default number of rows with evidence in the page.
MAX_CASES = 1000
#: Default time limit of the search for counterfactuals, in seconds.
SECONDS = 5.0
#: Number of features listed with the model.
LISTED_FEATURES = 40


@dataclass(frozen=True, repr=False)
class Report:
    """A report: one self-contained HTML file.

    Attributes
    ----------
    html : str
        The page.
    figures : dict
        Its figures: ``rows``, ``indeterminate`` (undecided rows of a classifier), ``novel`` (None if the forest
        has no novelty), ``places`` and, if classes or targets are given, the metrics.
    """

    html: str
    figures: dict[str, Any]

    def save(self, path: str | Path) -> Path:
        """Write the report to a file atomically, and return its path."""
        write_whole(path, self.html.encode())
        return Path(path)

    def _repr_html_(self) -> str:
        """Return the report in a frame, for notebooks."""
        return f'<iframe title="hedgerow report" width="100%" height="900" srcdoc="{escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        rows = f"{self.figures['rows']:,} rows"
        if "indeterminate" in self.figures:
            rows += f", {self.figures['indeterminate']:,} undecided"
        return f"Report({rows}, {len(self.html.encode()) / 1e6:.2f} MB)"


def make_report(
    forest: BaseEstimator,
    X: TableLike,
    y: ArrayLike | None = None,
    *,
    names: ArrayLike | None = None,
    title: str = "Predictions and their uncertainty",
    max_cases: int = MAX_CASES,
    explained: str = "some",
    time_limit: float = SECONDS,
    train: TableLike | None = None,
    y_train: ArrayLike | None = None,
    first_row: int = 0,
    immutable: Iterable[int | str] | None = None,
    labels: Mapping[str, Mapping[str, str]] | None = None,
    coverage: float | None = None,
    by: Mapping[str, ArrayLike] | None = None,
    costs: Any = None,
    groups: ArrayLike | None = None,
    progress: Callable[[int, int], None] | None = None,
    time: float | None = None,
) -> Report:
    """Make a report with metrics, rules that describe undecided rows, and details of each case.

    Readers can change rule, caution and decision; the page then recomputes all opinions from the leaf counts.

    Parameters
    ----------
    forest : fitted classifier, regressor or survival model of hedgerow
        The page starts with its rule, caution and decision. The report of a regressor shows intervals, that of a
        survival model curves.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Held-out rows.
    y : array-like of shape (n_samples,), default=None
        Classes, targets, or times and events of X; without them the report has no metrics.
    names : array-like of shape (n_samples,), default=None
        Names of the rows; None uses the index of a pandas frame, or row numbers.
    title : str
        Title of the report.
    max_cases : int, default=1000
        Number of rows shown in detail, undecided ones first; fewer if their leaves take too much space.
    explained : {"some", "all"}, default="some"
        Undecided rows to explain in words: "some" explains the hundred most uncertain ones and a few of each rule
        about undecided rows, within half a megabyte; "all" explains all that are shown in detail.
    time_limit : float, default=5.0
        Seconds to search for counterfactuals of undecided rows, for all rows together; 0 means no search. If it is too
        short, the counterfactuals may not be the smallest, which the page notes, and may differ between runs.
    train, y_train : as X and y, default=None
        Training rows and their classes, for the nearest cases; required only if the forest has not kept them, for
        instance after loading.
    first_row : int, default=0
        Number of the first row of X and of the training rows.
    immutable : iterable of int or str, default=None
        Features, by number or name, that counterfactuals must not change; None means the ``immutable_features`` of the
        forest.
    labels : mapping of str to mapping of str to str, default=None
        Readable names of values (as text) by column; the value "" names the column itself. A column that is not a
        feature names the classes.
    coverage : float, default=None
        Target coverage of the intervals of a regressor; None means 0.9.
    by : mapping of str to array-like of shape (n_samples,), default=None
        Columns, by name, whose values divide the rows into groups, with metrics for each group. Numeric columns with
        many values are divided into four groups. Requires y.
    costs : mapping of str to array-like of shape (n_classes,), or data frame, default=None
        Actions of a classifier and their costs for each true class, in the order of ``classes_``; the report shows the
        mean cost per row. An action "look again" applies to undecided rows. Requires y.
    groups : array-like of shape (n_samples,), default=None
        Group labels of dependent rows, such as the visits of a patient; the page counts groups too.
    progress : callable, default=None
        Function that is called with the number of rows explained so far, and the total.
    time : float, default=None
        For survival models: the time at which rows are decided; None means the middle of ``event_times_``.

    Returns
    -------
    Report
        Its attribute ``html`` is the page; ``save(path)`` writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X[::2], y[::2])
    >>> report = make_report(forest, X[1::2], y[1::2])
    >>> report.figures["rows"], "</html>" in report.html
    (75, True)
    """
    presenter = presenter_of(forest)
    if y is None and (by or costs is not None):
        raise ValueError("by and costs require y.")
    called = checked_names(index_names(X) if names is None else names, _n_rows(X))
    request = ReportRequest(
        called, max_cases, explained, time_limit, train, y_train, first_row, immutable, labels, coverage,
        checked_groups(by, _n_rows(X)), costs, progress or (lambda done, total: None), time,
    )  # fmt: skip
    request.check()
    parts: Parts = presenter.page(forest, X, y, request)
    n_groups = None if groups is None else _n_groups(groups, _n_rows(X))
    page = _rendered(parts, request, title, in_groups(n_groups))
    return Report(whole(page), parts.plain if n_groups is None else {**parts.plain, "groups": n_groups})


def page_from(template: str, scripts: tuple[str, ...], data: Any, **context: Any) -> str:
    """Render a template with its style and scripts, which are names of assets."""
    from markupsafe import Markup

    ready, style, script = _assets(template, scripts)
    html: str = ready.render(
        version=hedgerow.__version__,
        policy=f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        style=Markup(style),  # assets are trusted; everything from the data is escaped or JSON
        script=Markup(script),
        data=Markup(safe_json(data)),
        **context,
    )
    return html


@lru_cache(maxsize=4)
def _assets(template: str, scripts: tuple[str, ...]) -> tuple[Any, str, str]:
    """Return the compiled template, the style and the script."""
    import jinja2

    assets = files("hedgerow.explain.report") / "assets"
    read = {name: (assets / name).read_text(encoding="utf-8") for name in (*scripts, "style.css")}
    script = "(() => {\n'use strict';\n" + "".join(read[name] for name in scripts) + "})();\n"
    style = read["style.css"] + _class_colours()
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_tied,
        loader=jinja2.FunctionLoader(lambda name: (assets / name).read_text(encoding="utf-8")),
    )
    environment.filters |= {
        "cut": cut,
        "broken": _broken,
        "approximate": _approximate,
        "percent": "{:.1%}".format,
        "short": number_words,
    }
    return environment.get_template(template), style, script


def _rendered(parts: Parts, request: ReportRequest, title: str, in_groups: str = "") -> str:
    """Render the parts of a report."""
    figures = parts.figures
    novel = [] if figures.novel is None else [row for row, *_ in figures.novel.listed]
    return page_from(
        f"{parts.template}.html",
        ("kit.js", *parts.scripts),
        parts.data,
        title=title,
        figures=figures,
        notices=parts.notices,
        n=figures.n_rows,
        in_groups=in_groups,
        features=figures.features[:LISTED_FEATURES],
        n_features=len(figures.features),
        top_importance=max((feature.importance for feature in figures.features), default=0.0) or 1.0,
        called={row: request.called(row) for row in novel},
        **parts.context,
    )


def _n_rows(X: Any) -> int:
    """Return the number of rows of a table."""
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape is not None else len(X)


def _n_groups(groups: ArrayLike, n_rows: int) -> int:
    """Return the number of distinct groups of n rows."""
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(f"groups must have one label for each of the {n_rows} rows, got shape {labels.shape}.")
    return len(np.unique(labels))


def _tied(value: object) -> object:
    """Prevent line breaks between a number and its sign.

    Style, script and data, which are markup, do not change.
    """
    return tied(value) if type(value) is str else value


def _approximate(expected: float) -> str:
    """Format an expected number of rows."""
    return "less than one" if expected < 1 else f"about {expected:,.0f}"


def _broken(text: object) -> Markup:
    """Cut a text, and allow line breaks after underscores but not within dates."""
    from markupsafe import Markup

    parts = re.split(r"(\d{4}-\d\d-\d\d(?: \d\d:\d\d)?)", tied(cut(text)))
    whole = Markup('<span class="exact">{}</span>')
    return Markup("").join(
        whole.format(part) if place % 2 else Markup("_<wbr>").join(part.split("_")) for place, part in enumerate(parts)
    )


def _class_colours() -> str:
    """Return the style of the classes, in colours suitable for colour-blind readers."""
    return "".join(
        f".k{k} {{ fill: {colour}; background-color: {colour}; }} .line.k{k} {{ fill: none; stroke: {colour}; }}\n"
        for k, colour in enumerate(COLOURS)
    )


def _digest(text: str) -> str:
    """Return the hash of a script or style for a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
