"""Explanations as HTML; every name and value is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from hedgerow.explain.cases import number
from hedgerow.explain.explanation import Explained, Explanation
from hedgerow.explain.regression import RegressionExplanation
from hedgerow.explain.survival import FollowedCase, SurvivalExplanation
from hedgerow.explain.text import (
    NEAREST_FOLLOWED,
    WALL,
    by_bounds,
    case_rows,
    contribution_rows,
    curve_rows,
    decision_words,
    followed_words,
    round_times,
    shap_rows,
    shap_title,
    shown_classes,
    shown_features,
    support_words,
    survival_contribution_rows,
    survival_title,
    top_features,
    top_survival_features,
)
from hedgerow.explain.words import percents, remedy_title, remedy_words
from hedgerow.util.text import tied

#: Colours and fonts are those of the report.
STYLE = """
.hedgerow-why{--card:#fff;--ink:#1f2421;--soft:#5d665f;--line:#dcdcd2;--track:#ecebe3;--accent:#2c6e4f;--open:#b27400;
--serif:"Iowan Old Style","Palatino Linotype",Palatino,"URW Palladio L",P052,Georgia,serif;
font:400 15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",sans-serif;max-width:56rem;
margin:1rem auto;padding:1.1rem 1.4rem 1.3rem;color:var(--ink);background:var(--card);border:1px solid var(--line);
border-radius:10px}
.hedgerow-why h3{font:600 1.35rem/1.2 var(--serif);margin:0 0 .5rem;overflow-wrap:anywhere}
.hedgerow-why h3+p{font:400 1.1rem/1.5 var(--serif)}
.hedgerow-why h4{font-size:.95rem;font-weight:600;margin:1.6rem 0 .4rem}
.hedgerow-why table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem}
.hedgerow-why .wide{overflow-x:auto}
.hedgerow-why th,.hedgerow-why td{text-align:left;padding:.3rem .9rem .3rem 0;border-bottom:1px solid var(--line)}
.hedgerow-why th{color:var(--soft);font-weight:600;font-size:.85rem}
.hedgerow-why tr:last-child>*{border-bottom:0}
.hedgerow-why .n{text-align:right;white-space:nowrap}
.hedgerow-why ul{margin:.2rem 0;padding-left:1.2rem}
.hedgerow-why svg{vertical-align:middle;max-width:100%}
.hedgerow-why .in{fill:var(--accent)}.hedgerow-why .out{fill:var(--line)}.hedgerow-why .dot{fill:var(--ink)}
.hedgerow-why svg.curve{display:block;height:auto;margin:.4rem 0}.hedgerow-why .tick{fill:var(--soft);font-size:12px}
.hedgerow-why .band{fill:var(--accent);opacity:.25}.hedgerow-why .line{fill:none;stroke:var(--accent);stroke-width:2}
.hedgerow-why .half{stroke:var(--soft);stroke-dasharray:3 4}.hedgerow-why .end{stroke:var(--ink)}
.hedgerow-why .source{fill:var(--open)}.hedgerow-why .wall{stroke:var(--open)}.hedgerow-why .frame{fill:var(--track)}
@media (prefers-color-scheme:dark){.hedgerow-why{--card:#1c2023;--ink:#e8e6df;--soft:#a0a79f;--line:#343a3c;
--track:#2a2f31;--accent:#6fbf95;--open:#e0a83a}}
""".strip()
#: Style of a whole page, in addition.
PAGE_STYLE = """
body{margin:0;padding:2rem 1rem;background:#fbfaf6;color:#1f2421;font:400 1rem/1.55 system-ui,sans-serif}
header{max-width:56rem;margin:0 auto}.kicker{margin:0;color:#2c6e4f;font-size:.85rem;font-weight:600;
letter-spacing:.06em}
h1{margin:.2rem 0 1rem;font:600 2rem/1.2 "Iowan Old Style","Palatino Linotype",Palatino,"URW Palladio L",P052,serif}
@media (prefers-color-scheme:dark){body{background:#15181a;color:#e8e6df}.kicker{color:#6fbf95}}
""".strip()

#: The content security policy of a page: nothing may be loaded or run.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def html_from(explanation: Explained) -> str:
    """Return an explanation as a fragment."""
    return f'<section class="hedgerow-why"><style>{STYLE}</style>{_body(explanation)}</section>'


def page_from_explanations(explanations: Iterable[Explained], title: str) -> str:
    """Return a whole page of explanations, one below the other."""
    sections = "".join(f'<section class="hedgerow-why">{_body(each)}</section>\n' for each in explanations)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{PAGE_STYLE}{STYLE}</style></head>\n"
        f'<body>\n<header><p class="kicker">hedgerow explain</p><h1>{escape(title)}</h1></header>\n'
        f"{sections}</body></html>\n"
    )


def _body(explanation: Explained) -> str:
    start = f"<h3>{escape(explanation.title)}</h3><p>{escape(explanation.sentence)}</p>"
    return tied(start + explanation.html_sections())


def sections_of_number(explanation: RegressionExplanation) -> str:
    """Return the sections of an explanation of a regressor."""
    support = _section("Basis of the prediction", _list(support_words(explanation)))
    near = _section("Nearest training cases", _cases(explanation, top_features(explanation), "target"))
    return support + near + _contributions(explanation)


def sections_of_survival(explanation: SurvivalExplanation) -> str:
    """Return the sections of an explanation of a survival model."""
    contributions = survival_contribution_rows(explanation)
    head = ["", "survival", "width of its bounds"]
    numbers = _table(curve_rows(explanation), right=(0, 1, 2, 3, 4))
    parts = [
        _section("Survival, with its bounds", curve_svg(explanation) + numbers),
        _section("Basis of the prediction", _list(followed_words(explanation))),
        _section(
            NEAREST_FOLLOWED, _follow_up(explanation) + _cases(explanation, top_survival_features(explanation), "time")
        ),
        _section(survival_title(explanation), _table([head, *contributions], right=(1, 2)) if contributions else ""),
    ]
    return "".join(parts)


#: Width and height of the drawing of a curve, its margins to the left, above and below, and the height of a case.
CURVE_WIDTH, CURVE_HEIGHT, LEFT, TOP, BELOW, CASE_HEIGHT = 560, 206, 46, 10, 22, 18


def curve_svg(explanation: SurvivalExplanation) -> str:
    """Draw the curve with its band, and lines at the time and at one half."""
    curve, last = explanation.curve, explanation.curve.times[-1]
    edge = steps_path(curve.times, curve.upper, last), steps_path(curve.times, curve.lower, last, backwards=True)
    at, half = _x(explanation.time, last), _y(0.5)
    ticks = "".join(
        f'<text class="tick" x="{min(_x(time, last), CURVE_WIDTH - 14):.1f}" y="{CURVE_HEIGHT + 16}"'
        f' text-anchor="middle">{number(time)}</text>'
        for time in round_times(last)
    ) + "".join(
        f'<text class="tick" x="{LEFT - 6}" y="{_y(level) + 4:.1f}" text-anchor="end">{level:.0%}</text>'
        for level in (0.0, 0.5, 1.0)
    )
    return (
        f'<svg class="curve" viewBox="0 0 {CURVE_WIDTH} {CURVE_HEIGHT + BELOW}" width="{CURVE_WIDTH}" role="img"'
        f' aria-label="{escape(explanation.sentence)}">'
        f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{CURVE_WIDTH - LEFT}" height="{CURVE_HEIGHT - TOP}"/>'
        f'<path class="band" d="M{edge[0]}L{edge[1]}Z"/>'
        f'<path class="line" d="M{steps_path(curve.times, curve.survival, last)}"/>'
        f'<line class="wall" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{CURVE_HEIGHT}"/>'
        f'<line class="half" x1="{LEFT}" x2="{CURVE_WIDTH}" y1="{half:.1f}" y2="{half:.1f}"/>{ticks}</svg>'
    )


def steps_path(times: list[float], values: list[float], last: float, *, backwards: bool = False) -> str:
    """Return the points of a right-continuous curve, from its last time if it runs backwards."""
    points = [(_x(times[0], last), _y(values[0]))]
    for time, before, after in zip(times[1:], values, values[1:], strict=False):
        points += [(_x(time, last), _y(before)), (_x(time, last), _y(after))]
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in (reversed(points) if backwards else points))


def _x(time: float, last: float) -> float:
    """Return the horizontal place of a time."""
    return LEFT + (CURVE_WIDTH - LEFT) * min(time / last, 1.0) if last > 0 else float(LEFT)


def _y(value: float) -> float:
    """Return the vertical place of a probability."""
    return TOP + (CURVE_HEIGHT - TOP) * (1 - value)


def _follow_up(explanation: SurvivalExplanation) -> str:
    """Draw the times of the nearest cases as lines on the axis of the curve, with a dot for each event."""
    cases = [case for case in explanation.cases or () if case.time is not None]
    last = explanation.curve.times[-1]
    if not cases:
        return ""
    lines = "".join(_followed(case, place, last) for place, case in enumerate(cases))
    height = CASE_HEIGHT * len(cases)
    return (
        f'<svg class="curve" viewBox="0 0 {CURVE_WIDTH} {height}" width="{CURVE_WIDTH}" role="img"'
        f' aria-label="Times of the nearest cases; dots are events">{lines}</svg>'
    )


def _followed(case: FollowedCase, place: int, last: float) -> str:
    """Draw the time of one case."""
    y, end = CASE_HEIGHT * (place + 0.5), _x(case.time or 0.0, last)
    mark = (
        f'<circle class="dot" cx="{min(end, CURVE_WIDTH - 4):.1f}" cy="{y}" r="4"/>'
        if case.event
        else f'<line class="end" x1="{end:.1f}" x2="{end:.1f}" y1="{y - 5}" y2="{y + 5}"/>'
    )
    name = f'<text class="tick" x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{case.row}</text>'
    return f'{name}<line class="end" x1="{LEFT}" x2="{end:.1f}" y1="{y}" y2="{y}"/>{mark}'


def sections_of_class(explanation: Explanation) -> str:
    """Return the sections of an explanation of a classifier."""
    parts = [
        _intervals(explanation),
        _section("Sources of uncertainty", _uncertainty(explanation)),
        _section(remedy_title(explanation), _list(remedy_words(explanation))),
        _section("Nearest training cases", _cases(explanation, shown_features(explanation), "class")),
        _section("Strongest leaf for each class of the set", _list(explanation.rules)),
        _shap(explanation),
    ]
    return "".join(parts)


def _intervals(explanation: Explanation) -> str:
    """Draw the intervals of the classes, with a line at the largest lower probability."""
    wall = max(explanation.lower)
    rows = []
    for k in shown_classes(explanation):
        label, in_set = explanation.classes[k], explanation.classes[k] in explanation.set
        low, high, at = explanation.lower[k], explanation.upper[k], explanation.probability[k]
        words = f"{label}: {low:.3f} to {high:.3f}, probability {at:.3f}"
        rows.append(
            _row(label, f"{at:.3f}", f"{low:.3f} to {high:.3f}", right=(1, 2)).removesuffix("</tr>")
            + f'<td><svg width="240" height="18" role="img" aria-label="{escape(words)}">'
            '<rect class="frame" x="0.5" y="2.5" width="239" height="13"/>'
            f'<rect class="{"in" if in_set else "out"}" x="{240 * low:.1f}" y="5"'
            f' width="{max(240 * (high - low), 1):.1f}" height="8"/>'
            f'<line class="wall" x1="{240 * wall:.1f}" x2="{240 * wall:.1f}" y1="0" y2="18"/>'
            f'<circle class="dot" cx="{240 * at:.1f}" cy="9" r="3"/></svg></td>'
            f"<td>{'in set' if in_set else ''}</td></tr>"
        )
    head = '<tr><th>class</th><th class="n">probability</th><th class="n">interval</th><th></th><th></th></tr>'
    words = " ".join([decision_words(explanation), *([f"Line: {WALL}"] if by_bounds(explanation) else [])])
    return f'<div class="wide"><table>{head}{"".join(rows)}</table></div><p>{escape(words)}</p>'


def _uncertainty(explanation: Explanation) -> str:
    shares = percents([each.share for each in explanation.uncertainty])
    lines = [(share, each.text) for share, each in zip(shares, explanation.uncertainty, strict=True) if share > 0]
    bars = [
        f'<tr><td class="n">{share}%</td><td><svg width="100" height="12" aria-hidden="true">'
        f'<rect class="source" x="0" y="1" width="{share}" height="10"/></svg></td><td>{escape(text)}</td></tr>'
        for share, text in lines
    ]
    return f"<table>{''.join(bars)}</table>" if bars else ""


def _cases(
    explanation: Explanation | RegressionExplanation | SurvivalExplanation, names: list[str], target_name: str
) -> str:
    if explanation.cases is None:
        return "<p>Not available: the model has not kept its training rows.</p>"
    if not explanation.cases:
        return ""
    return _table(case_rows(explanation, names, target_name), right=tuple(range(3, 3 + len(names))))


def _contributions(estimate: RegressionExplanation) -> str:
    rows = contribution_rows(estimate)
    title = "Feature contributions to the prediction, and to the width of its bounds"
    return _section(title, _table([["", "prediction", "width of its bounds"], *rows], right=(1, 2)) if rows else "")


def _shap(explanation: Explanation) -> str:
    rows = shap_rows(explanation)
    head = ["", "label", "width of the interval"][: len(rows[0])] if rows else []
    return _section(shap_title(explanation), _table([head, *rows], right=(1, 2)) if rows else "")


def _section(title: str, body: str) -> str:
    return f"<h4>{escape(title)}</h4>{body}" if body else ""


def _list(lines: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>" if lines else ""


def _table(rows: list[list[str]], right: tuple[int, ...]) -> str:
    """Return a table that scrolls if it is too wide.

    Columns in `right` are aligned right.
    """
    head, *others = (_row(*cells, right=right) for cells in rows)
    head = head.replace("<td", "<th").replace("</td>", "</th>")
    return f'<div class="wide"><table>{head}{"".join(others)}</table></div>'


def _row(*cells: object, right: tuple[int, ...] = ()) -> str:
    """Return a row of a table; cells at the positions in `right` are aligned right."""
    tags = ['<td class="n">' if place in right else "<td>" for place in range(len(cells))]
    return "<tr>" + "".join(f"{tag}{escape(str(cell))}</td>" for tag, cell in zip(tags, cells, strict=True)) + "</tr>"
