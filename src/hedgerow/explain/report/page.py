"""Reports: one self-contained HTML page."""

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
from typing import Any

import hedgerow
from hedgerow.explain.cases import number as number_words
from hedgerow.explain.presenters.registry import explaining_presenter
from hedgerow.explain.report.pack import cut, safe_json
from hedgerow.explain.report.request import Parts, ReportRequest, checked_groups, checked_names
from hedgerow.export.svg import COLOURS
from hedgerow.table.output import index_names
from hedgerow.util.disk import write_whole
from hedgerow.util.text import tied, whole

#: By default the page keeps the evidence of this many rows.
MAX_CASES = 1000
#: By default the search for smallest changes takes this many seconds.
SECONDS = 5.0
#: Features listed with the model.
LISTED_FEATURES = 40


@dataclass(frozen=True, repr=False)
class Report:
    """A finished report: one self-contained HTML page.

    Attributes
    ----------
    html : str
        The page.
    figures : dict
        Its figures: ``rows``, ``indeterminate`` (of a classifier), ``strangers`` (None if the forest cannot tell),
        ``places`` and, if the classes or targets are known, the metrics.
    """

    html: str
    figures: dict[str, Any]

    def save(self, path: str | Path) -> Path:
        """Write the page to a file, which appears whole or not at all -> its path."""
        write_whole(path, self.html.encode())
        return Path(path)

    def _repr_html_(self) -> str:
        """The page in a frame, for notebooks."""
        return f'<iframe title="hedgerow report" width="100%" height="900" srcdoc="{escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        predictions = f"{self.figures['rows']:,} rows"
        if "indeterminate" in self.figures:
            predictions += f", {self.figures['indeterminate']:,} undecided"
        return f"Report({predictions}, {len(self.html.encode()) / 1e6:.2f} MB)"


def make_report(
    forest: Any,
    X: Any,
    y: Any = None,
    *,
    names: Any = None,
    title: str = "What the forest knows, and what it does not",
    max_cases: int = MAX_CASES,
    explained: str = "some",
    time_limit: float = SECONDS,
    train: Any = None,
    y_train: Any = None,
    first_row: int = 0,
    immutable: Iterable[int | str] | None = None,
    labels: Mapping[str, Mapping[str, str]] | None = None,
    coverage: float | None = None,
    by: Mapping[str, Any] | None = None,
    costs: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """A fitted forest and rows -> a page with metrics, where the undecided cases are, and the details of each case.

    The reader can change rule, caution and decision; the page then folds the leaf counts of the cases again.

    Parameters
    ----------
    forest : fitted classifier or regressor of hedgerow
        The page starts with its rule, caution and decision; that of a regressor is about intervals.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Rows the forest has not been trained on.
    y : array-like of shape (n_samples,), default=None
        Their classes or targets; without them the report has no metrics.
    names : array-like of shape (n_samples,), default=None
        Names of the rows; None uses the index of a pandas frame, or their numbers.
    title : str
        The headline.
    max_cases : int, default=1000
        Most rows that are shown in detail, undecided ones first; fewer if their leaves take too much space.
    explained : {"some", "all"}, default="some"
        Which undecided rows are explained in words: the most doubtful hundred and a few of each place where undecided
        rows are, as far as they fit into half a megabyte; or all that are shown in detail.
    time_limit : float, default=5.0
        Seconds to search for the smallest changes that would settle undecided rows, for all rows together; 0 means no
        search. If this is too short, the changes found may not be the smallest, the page says so, and another run may
        find others.
    train, y_train : as X and y, default=None
        The training rows and their classes, to show those nearest to an undecided row if the forest has not kept them,
        as after loading.
    first_row : int, default=0
        Number of the first row, both of X and of the training rows.
    immutable : iterable of int or str, default=None
        Features, by number or name, that the smallest change must not change; None means the ``immutable_features``
        of the forest.
    labels : mapping of str to mapping of str to str, default=None
        Readable names: column -> value as text -> name; the value "" names the column itself. A column that is no
        feature is about the classes.
    coverage : float, default=None
        Of a regressor: the share of targets that intervals should hold; None means .9.
    by : mapping of str to array-like of shape (n_samples,), default=None
        Columns, by name, whose values divide the rows into groups; the page has the figures of each group. Many
        different numbers are divided into four groups. Needs y.
    costs : mapping of str to array-like of shape (n_classes,), or data frame, default=None
        Of a classifier: actions and what each costs if each class is true, in the order of ``classes_``; the page
        has the cost of a row if one follows the model. An action "look again" is for undecided rows. Needs y.
    progress : callable, default=None
        Is called with the number of rows explained so far, and of all that will be.

    Returns
    -------
    Report
        With ``html``, ``figures`` and ``save(path)``.

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
    presenter = explaining_presenter(forest, "report")
    if y is None and (by or costs is not None):
        raise ValueError("y must be given with by and costs, got none; both need to know what is true")
    called = checked_names(index_names(X) if names is None else names, _n_rows(X))
    request = ReportRequest(
        called, max_cases, explained, time_limit, train, y_train, first_row, immutable, labels, coverage,
        checked_groups(by, _n_rows(X)), costs, progress or (lambda done, total: None),
    )  # fmt: skip
    request.check()
    parts: Parts = presenter.page(forest, X, y, request)
    page = _rendered(parts, request, title)
    return Report(whole(page), parts.plain)


def page_from(template: str, scripts: tuple[str, ...], data: Any, **context: Any) -> str:
    """A template and scripts among the assets, and what they show -> a page that contains its style and script."""
    from markupsafe import Markup

    ready, style, script = _assets(template, scripts)
    return ready.render(  # type: ignore[no-any-return]
        version=hedgerow.__version__,
        policy=f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        style=Markup(style),  # style and script are our own files; everything from the data is escaped or JSON
        script=Markup(script),
        data=Markup(safe_json(data)),
        **context,
    )


@lru_cache(maxsize=4)
def _assets(template: str, scripts: tuple[str, ...]) -> tuple[Any, str, str]:
    """-> the compiled template, the style and the script, which are the same in all pages of a kind."""
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
        "about": _roughly,
        "percent": lambda share: f"{100 * share:.1f} %",
        "short": number_words,
    }
    return environment.get_template(template), style, script


def _rendered(parts: Parts, request: ReportRequest, title: str) -> str:
    """The parts of a page -> the page."""
    figures = parts.figures
    novel = [] if figures.novel is None else [row for row, *_ in figures.novel.listed]
    return page_from(
        f"{parts.template}.html",
        ("kit.js", *parts.scripts),
        parts.data,
        title=title,
        figures=figures,
        n=figures.n_rows,
        features=figures.features[:LISTED_FEATURES],
        n_features=len(figures.features),
        top_importance=max((feature.importance for feature in figures.features), default=0.0) or 1.0,
        called={row: request.called(row) for row in novel},
        **parts.context,
    )


def _n_rows(X: Any) -> int:
    """The number of rows of any table."""
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape is not None else len(X)


def _tied(predictions: Any) -> Any:
    """What a template says -> the same without a place to break the line between a number and its sign."""
    return (
        tied(predictions) if type(predictions) is str else predictions
    )  # not what is already markup: style, script and data


def _roughly(expected: float) -> str:
    """How many rows are expected -> words."""
    return "less than one" if expected < 1 else f"about {expected:,.0f}"


def _broken(text: Any) -> Any:
    """A text -> its beginning, with places to break the line after underscores and none within dates."""
    from markupsafe import Markup

    parts = re.split(r"(\d{4}-\d\d-\d\d(?: \d\d:\d\d)?)", tied(cut(text)))
    whole = Markup('<span class="exact">{}</span>')
    return Markup("").join(
        whole.format(part) if place % 2 else Markup("_<wbr>").join(part.split("_")) for place, part in enumerate(parts)
    )


def _class_colours() -> str:
    """The style of the classes, in colours that colour-blind readers can tell apart."""
    return "".join(
        f".k{k} {{ fill: {colour}; background-color: {colour}; }} .line.k{k} {{ fill: none; stroke: {colour}; }}\n"
        for k, colour in enumerate(COLOURS)
    )


def _digest(text: str) -> str:
    """A script or style -> its name in a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
