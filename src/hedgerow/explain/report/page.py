"""Page: a forest, rows and their classes -> one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hedgerow
from hedgerow.exchange.export.svg import COLOURS
from hedgerow.explain.report.cases import pack_cases
from hedgerow.explain.report.figures import Figures, Said, figures_of, name_of, said_of, training_range
from hedgerow.explain.report.pack import cut, packed, safe_json
from hedgerow.explain.report.settings import page_decision, page_rule
from hedgerow.explain.report.why import WHY_BYTES, explanations_of, worth_explaining
from hedgerow.judge.answer import ClassAnswers, answers_of
from hedgerow.safe.disk import write_whole
from hedgerow.table import Factors

#: By default the page keeps the evidence of this many rows.
MAX_CASES = 1000
#: By default the search for smallest changes takes this many seconds.
SECONDS = 5.0
#: A case shows the values of this many features, the most important ones.
SHOWN_FEATURES = 12
#: Features listed with the model.
LISTED_FEATURES = 40
#: Undecided rows that are shown if scripts are off.
PLAIN_ROWS = 200
#: Digits of the values shown with a case.
DIGITS = 6


@dataclass(frozen=True, repr=False)
class Report:
    """A finished report: one self-contained HTML page.

    Attributes
    ----------
    html : str
        The page.
    figures : dict
        Its figures: ``rows``, ``indeterminate``, ``strangers`` (None if the forest cannot tell), ``places`` and, if the
        classes are known, the metrics.
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
        said = f"{self.figures['rows']:,} rows, {self.figures['indeterminate']:,} undecided"
        return f"Report({said}, {len(self.html.encode()) / 1e6:.2f} MB)"


def make_report(
    forest: Any,
    X: Any,
    y: Any = None,
    *,
    names: Any = None,
    title: str = "What the forest knows, and what it does not",
    max_cases: int = MAX_CASES,
    cases: str = "some",
    seconds: float = SECONDS,
    train: Any = None,
    y_train: Any = None,
    first: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """A fitted forest and rows -> a page with metrics, where the undecided cases are, and the details of each case.

    The reader can change rule, caution and decision; the page then folds the leaf counts of the cases again.

    Parameters
    ----------
    forest : fitted classifier of hedgerow
        The page starts with its rule, caution and decision.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Rows the forest has not been trained on.
    y : array-like of shape (n_samples,), default=None
        Their classes; without them the report has no metrics.
    names : array-like of shape (n_samples,), default=None
        Names of the rows; None uses their numbers.
    title : str
        The headline.
    max_cases : int, default=1000
        Most rows that are shown in detail, undecided ones first; fewer if their leaves take too much space.
    cases : {"some", "all"}, default="some"
        Which undecided rows are explained in words: the most doubtful hundred and a few of each place where undecided
        rows are, as far as they fit into half a megabyte; or all that are shown in detail.
    seconds : float, default=5.0
        How long to search for the smallest changes that would settle undecided rows, for all rows together; 0 means no
        search. If this is too short, the changes found may not be the smallest, the page says so, and another run may
        find others.
    train, y_train : as X and y, default=None
        The training rows and their classes, to show those nearest to an undecided row if the forest has not kept them,
        as after loading.
    first : int, default=0
        Number of the first row, both of X and of the training rows.
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
    now = _checked(forest, max_cases, cases, seconds)
    said = said_of(now, X, y)
    called = _names(names, len(said.is_open))
    importance = forest.feature_importances_
    figures = figures_of(forest, now, said, importance)
    wanted = worth_explaining(said, figures.places)
    rows, evidence = pack_cases(now.forest, said.codes, said.is_open, max_cases, wanted)
    undecided = rows[said.is_open[rows]]
    asked: dict[str, Any] = {"room": WHY_BYTES, "seconds": seconds, "train": train, "y_train": y_train, "first": first}
    if cases == "all":
        wanted, asked["room"] = undecided, None
    wanted = wanted[np.isin(wanted, rows)]
    why = explanations_of(forest, now, said, wanted, progress=progress, **asked)
    data = _data(now, said, called, rows, first, importance) | {
        "evidence": evidence,
        "why": {place: why[row] for place, row in enumerate(rows.tolist()) if row in why},
        "unexplained": len(undecided) - len(why),
    }
    called = called or [str(row + first) for row in range(len(said.is_open))]
    page = _rendered(forest, said, figures, data, called, title)
    return Report(page.encode(errors="backslashreplace").decode(), _plain(figures))  # no halves of surrogate pairs


def _data(
    now: ClassAnswers,
    said: Said,
    called: list[str] | None,
    rows: NDArray[np.int64],
    first: int,
    importance: NDArray[np.float64],
) -> dict[str, Any]:
    """Answers -> the data of the page's script, without evidence and explanations."""
    truth = None if said.truth is None else packed(said.truth[rows])
    return {
        "classes": [cut(name) for name in now.classes.tolist()],
        "prior": now.about.prior.tolist(),
        "nRows": len(said.is_open),
        "nTrees": int(now.forest.n_trees),
        "settings": {
            "caution": now.caution,
            "rule": page_rule(now.rule),
            "decision": page_decision(now.decision),
        },
        "rows": packed(rows + first),
        "names": None if called is None else [called[row] for row in rows.tolist()],
        "truth": truth,
        "label": packed(said.label[rows]),
        "sets": [np.flatnonzero(said.chosen[row]).tolist() for row in rows.tolist()],
        "features": _values(importance, now, said, rows),
    }


def _values(
    importance: NDArray[np.float64], now: ClassAnswers, said: Said, rows: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Rows -> their values in the most important features."""
    shown = []
    for number in np.argsort(-importance, kind="stable")[:SHOWN_FEATURES].tolist():
        column = said.table.listed[number]
        feature: dict[str, Any] = {"name": cut(name_of(said.table, number))}
        if isinstance(column, Factors):
            codes = np.asarray(column.codes)[rows]
            used, code = np.unique(codes[codes >= 0], return_inverse=True)
            where = np.full(len(rows), -1)
            where[codes >= 0] = code
            feature |= {"categories": [cut(value) for value in column.values[used].tolist()], "values": where.tolist()}
        else:
            numbers = [float(f"{value:.{DIGITS}g}") for value in np.asarray(column, dtype=np.float64)[rows].tolist()]
            finite = [value if np.isfinite(value) else None if np.isnan(value) else str(value) for value in numbers]
            feature |= {"values": finite, "range": training_range(now, number)}
        shown.append(feature)
    return shown


def _rendered(forest: Any, said: Said, figures: Figures, data: dict[str, Any], called: list[str], title: str) -> str:
    """Everything -> the page."""
    import jinja2
    from markupsafe import Markup

    assets = files("hedgerow.explain.report") / "assets"
    texts = {name: (assets / name).read_text(encoding="utf-8") for name in ("page.html", "style.css", "arithmetic.js")}
    script = "(() => {\n'use strict';\n" + texts["arithmetic.js"] + (assets / "page.js").read_text("utf-8") + "})();\n"
    style = texts["style.css"] + _class_colours()
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"cut": cut, "percent": lambda share: f"{100 * share:.1f} %"}
    undecided = np.flatnonzero(said.is_open)[:PLAIN_ROWS].tolist()
    return environment.from_string(texts["page.html"]).render(
        title=title,
        version=hedgerow.__version__,
        figures=figures,
        features=figures.features[:LISTED_FEATURES],
        n_features=len(figures.features),
        top_importance=max((feature.importance for feature in figures.features), default=0.0) or 1.0,
        called=called,
        plain_rows=[_plain_row(forest, said, row, called) for row in undecided],
        policy=f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        style=Markup(style),  # style and script are our own files; everything from the data is escaped or JSON
        script=Markup(script),
        data=Markup(safe_json(data)),
    )


def _plain_row(forest: Any, said: Said, row: int, called: list[str]) -> tuple[str, str, str, str]:
    """An undecided row -> its name, the classes that remain, the most probable one with its bounds, the true one."""
    label = int(said.label[row])
    remains = " or ".join(cut(name) for name in forest.classes_[said.chosen[row]].tolist())
    bounds = f"{100 * said.opinion.lower[row, label]:.1f} to {100 * said.opinion.upper[row, label]:.1f} %"
    truth = "" if said.truth is None else cut(forest.classes_[said.truth[row]])
    return called[row], remains, f"{cut(forest.classes_[label])}: {bounds}", truth


def _plain(figures: Figures) -> dict[str, Any]:
    """Figures -> plain Python."""
    places = [
        {"conditions": list(place.conditions), "rows": place.rows, "undecided": place.undecided}
        for place in figures.places
    ]
    strangers = None if figures.strangers is None else figures.strangers.number
    known = {"rows": figures.n_rows, "indeterminate": figures.n_open, "strangers": strangers}
    return known | figures.values | {"places": places}


def _class_colours() -> str:
    """The style of the classes, in colours that colour-blind readers can tell apart."""
    return "".join(
        f".k{k} {{ fill: {colour}; background-color: {colour}; }} .line.k{k} {{ fill: none; stroke: {colour}; }}\n"
        for k, colour in enumerate(COLOURS)
    )


def _digest(text: str) -> str:
    """A script or style -> its name in a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _names(names: Any, n_rows: int) -> list[str] | None:
    """Names (n,) or None -> text or None."""
    if names is None:
        return None
    called = [cut(name) for name in np.asarray(names).tolist()]
    if len(called) != n_rows:
        raise ValueError(f"names must have one name for each of the {n_rows} rows, got {len(called)}; pass those of X")
    return called


def _checked(forest: Any, max_cases: int, cases: str, seconds: float) -> ClassAnswers:
    """A forest as it answers now; models without classes and wrong options are refused."""
    now: ClassAnswers = answers_of(forest)
    if not now.combines_leaves:
        raise TypeError(
            f"forest must be a classification tree or forest, got {type(forest).__name__}; a report is about classes"
        )
    if not (isinstance(max_cases, int | np.integer) and max_cases >= 1):
        raise ValueError(f"max_cases must be a whole number >= 1, got {max_cases!r}; 1000 is usual")
    if cases not in ("some", "all"):
        raise ValueError(
            f"cases must be 'some' or 'all', got {cases!r}; 'all' explains every undecided row of the page"
        )
    if not seconds >= 0:
        raise ValueError(f"seconds must be a number >= 0, got {seconds!r}; 0 means no search")
    return now
