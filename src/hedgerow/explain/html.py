"""HTML: explanations -> a self-contained fragment or page; every name and value is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from hedgerow.explain.cases import class_words, value_words
from hedgerow.explain.explanation import Explanation
from hedgerow.explain.text import UNITS, WALL, by_bounds, decision_words, shown_classes, shown_features
from hedgerow.explain.words import percents, settle_words

STYLE = """
.hedgerow-why{font:15px/1.5 system-ui,sans-serif;max-width:56rem;margin:1rem 0;padding:.2rem 1rem}
.hedgerow-why{color:#1d2b1f;background:#fff}
.hedgerow-why h3{font-size:1.1rem;margin:.6rem 0}
.hedgerow-why h4{font-size:1rem;margin:1rem 0 .3rem}
.hedgerow-why table{border-collapse:collapse}
.hedgerow-why .wide{overflow-x:auto}
.hedgerow-why th,.hedgerow-why td{text-align:left;padding:.15rem .8rem .15rem 0;font-weight:normal;white-space:nowrap}
.hedgerow-why th{color:#526155}
.hedgerow-why .n{text-align:right;font-variant-numeric:tabular-nums}
.hedgerow-why td.t{white-space:normal;vertical-align:top}
.hedgerow-why ul{margin:.2rem 0;padding-left:1.2rem}
.hedgerow-why svg{vertical-align:middle}
.hedgerow-why .in{fill:#2e7d4f}.hedgerow-why .out{fill:#a9b5ab}.hedgerow-why .dot{fill:#1d2b1f}
.hedgerow-why .wall{stroke:#b3541e}.hedgerow-why .frame{fill:none;stroke:#c9d2ca}
@media (prefers-color-scheme:dark){.hedgerow-why{color:#e3ebe4;background:#18201a}.hedgerow-why th{color:#9fb0a2}
.hedgerow-why .in{fill:#5fbf85}.hedgerow-why .out{fill:#56635a}.hedgerow-why .dot{fill:#fff}
.hedgerow-why .wall{stroke:#f0a06b}.hedgerow-why .frame{stroke:#3a463d}}
""".strip()

#: The content security policy of a page: nothing may be loaded or run.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def html_from_explanation(explanation: Explanation) -> str:
    """An explanation -> what `Explanation.to_html` returns."""
    return f'<section class="hedgerow-why"><style>{STYLE}</style>{_body(explanation)}</section>'


def page_from_explanations(explanations: Iterable[Explanation]) -> str:
    """Explanations -> a whole page, one below the other."""
    sections = "".join(f'<section class="hedgerow-why">{_body(each)}</section>\n' for each in explanations)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>Why is this row undecided?</title><style>{STYLE}</style></head>\n"
        f"<body>\n{sections}</body></html>\n"
    )


def _body(explanation: Explanation) -> str:
    parts = [
        f"<h3>{escape(explanation.title)}</h3><p>{escape(explanation.sentence)}</p>",
        _intervals(explanation),
        _section("Where the doubt comes from", _doubt(explanation)),
        _section("What would settle it", _list(settle_words(explanation))),
        _section("Nearest training cases", _cases(explanation)),
        _section("The weightiest leaf of each class that remains", _list(explanation.rules)),
        _shap(explanation),
    ]
    return "".join(parts)


def _intervals(explanation: Explanation) -> str:
    """Classes with their intervals, and the largest lower bound as a line through all of them."""
    wall = max(explanation.lower)
    rows = []
    for k in shown_classes(explanation):
        label, remains = explanation.classes[k], explanation.classes[k] in explanation.set
        low, high, at = explanation.lower[k], explanation.upper[k], explanation.probability[k]
        words = f"{label}: {low:.3f} to {high:.3f}, probability {at:.3f}"
        rows.append(
            _row(label, f"{at:.3f}", f"{low:.3f} to {high:.3f}", right=(1, 2)).removesuffix("</tr>")
            + f'<td><svg width="240" height="18" role="img" aria-label="{escape(words)}">'
            '<rect class="frame" x="0.5" y="2.5" width="239" height="13"/>'
            f'<rect class="{"in" if remains else "out"}" x="{240 * low:.1f}" y="5"'
            f' width="{max(240 * (high - low), 1):.1f}" height="8"/>'
            f'<line class="wall" x1="{240 * wall:.1f}" x2="{240 * wall:.1f}" y1="0" y2="18"/>'
            f'<circle class="dot" cx="{240 * at:.1f}" cy="9" r="3"/></svg></td>'
            f"<td>{'remains' if remains else ''}</td></tr>"
        )
    head = '<tr><th>class</th><th class="n">probability</th><th class="n">interval</th><th></th><th></th></tr>'
    words = " ".join([decision_words(explanation), *([f"The line is {WALL}"] if by_bounds(explanation) else [])])
    return f'<div class="wide"><table>{head}{"".join(rows)}</table></div><p>{escape(words)}</p>'


def _doubt(explanation: Explanation) -> str:
    shares = percents([each.share for each in explanation.doubt])
    lines = [(share, each.text) for share, each in zip(shares, explanation.doubt, strict=True) if share > 0]
    bars = [
        f'<tr><td class="n">{share} %</td><td><svg width="100" height="12" aria-hidden="true">'
        f'<rect class="in" x="0" y="1" width="{share}" height="10"/></svg></td><td class="t">{escape(text)}</td></tr>'
        for share, text in lines
    ]
    return f"<table>{''.join(bars)}</table>" if bars else ""


def _cases(explanation: Explanation) -> str:
    if explanation.cases is None:
        return "<p>Not known: the model does not hold its training rows.</p>"
    if not explanation.cases:
        return ""
    names = shown_features(explanation)
    right = tuple(range(3, 3 + len(names)))
    head = "<th>row</th><th>weight</th><th>class</th>" + "".join(f'<th class="n">{escape(name)}</th>' for name in names)
    own = _row("this", "", "", *(value_words(explanation.values[name]) for name in names), right=right)
    rows = [
        _row(
            case.row,
            f"{case.weight:.3f}",
            "?" if case.label is None else case.label,
            *(value_words(case.values[name]) for name in names),
            right=right,
        )
        for case in explanation.cases
    ]
    return f'<div class="wide"><table><tr>{head}</tr>{own}{"".join(rows)}</table></div>'


def _shap(explanation: Explanation) -> str:
    shap = explanation.shap
    if shap is None:
        return ""
    title = f"What each value adds to the {UNITS[shap.unit]} of {class_words(explanation.label)}"
    rows = []
    for name in shown_features(explanation):
        at = shap.features.index(name)
        width = [f"{shap.width[at]:+.3f}"] if shap.width else []
        words = f"{name} = {value_words(explanation.values[name])}"
        rows.append(_row(words, f"{shap.label[at]:+.3f}", *width, right=(1, 2)))
    wide = '<th class="n">width of the interval</th>' if shap.width else ""
    head = f'<tr><th></th><th class="n">label</th>{wide}</tr>'
    return _section(title, f'<div class="wide"><table>{head}{"".join(rows)}</table></div>' if rows else "")


def _section(title: str, body: str) -> str:
    return f"<h4>{escape(title)}</h4>{body}" if body else ""


def _list(lines: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>" if lines else ""


def _row(*cells: Any, right: tuple[int, ...] = ()) -> str:
    """Cells -> a row of a table; cells at the places in `right` are aligned right."""
    tags = ['<td class="n">' if place in right else "<td>" for place in range(len(cells))]
    return "<tr>" + "".join(f"{tag}{escape(str(cell))}</td>" for tag, cell in zip(tags, cells, strict=True)) + "</tr>"
