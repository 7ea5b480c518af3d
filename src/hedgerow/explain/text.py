"""Explanations as text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from hedgerow.decisions import all_decisions
from hedgerow.explain.cases import Case, amount, class_words, number, value_words
from hedgerow.explain.explanation import Explanation
from hedgerow.explain.regression import RegressionExplanation
from hedgerow.explain.words import percents, remedy_words
from hedgerow.util.text import printable_lines

#: Columns of a line, and of the picture of an interval.
WIDTH, BAR = 96, 41
#: Most features and classes that are shown.
MOST_FEATURES, MOST_CLASSES = 6, 8
#: The names of the quantities that features add to.
UNITS = {"probability": "probability", "log_odds": "log-odds", "lower": "lower probability"}
#: Most characters of a cell.
CELL = 18
#: What the line through the intervals means.
WALL = "the largest lower bound: a class whose interval ends before it is ruled out."


def text_from_explanation(explanation: Explanation) -> str:
    """An explanation -> what `Explanation.to_text` returns, without characters that could control a terminal."""
    parts = [
        _wrapped(f"{explanation.title}: {explanation.sentence}", ""),
        _intervals(explanation),
        _section("Where the doubt comes from", _uncertainty(explanation)),
        _section("What would settle it", _remedies(explanation)),
        _section("Nearest training cases", _cases(explanation, shown_features, "class")),
        _section(
            "The weightiest leaf of each class that remains",
            [_wrapped(rule, "  ", "    ") for rule in explanation.rules],
        ),
        _section(*_shap(explanation)),
    ]
    return printable_lines("\n\n".join(part for part in parts if part)) + "\n"


def text_from_regression(estimate: RegressionExplanation) -> str:
    """An explanation of a number -> what `RegressionExplanation.to_text` returns, safe for a terminal."""
    parts = [
        _wrapped(f"{estimate.title}: {estimate.sentence}", ""),
        _section("What it rests on", [_wrapped(line, "  - ", "    ") for line in rests_words(estimate)]),
        _section("Nearest training cases", _cases(estimate, added_features, "target")),
        _section("What each value adds to the prediction, and to the width of its bounds", _adds(estimate)),
    ]
    return printable_lines("\n\n".join(part for part in parts if part)) + "\n"


def rests_words(estimate: RegressionExplanation) -> list[str]:
    """An explanation of a number -> what the prediction rests on, one line each."""
    lines, rests = [], estimate.rests
    if rests is not None:
        lines.append(
            f"{rests.rows:,} training rows, which weigh as much as {amount(rests.effective)} equal ones; the middle"
            f" 80 % of their targets lie from {number(rests.low)} to {number(rests.high)}"
        )
    lines.append(f"half of the trees find {amount(estimate.leaf_rows)} or fewer similar rows")
    more = f"{number(estimate.caution)} more {'row' if estimate.caution == 1 else 'rows'}"
    lines.append(
        f"with {more} of any known target in every leaf, the prediction would lie between"
        f" {number(estimate.mean_lower)} and {number(estimate.mean_upper)}"
    )
    lines.append(
        f"noise within leaves ± {number(estimate.noise)}, disagreement between trees ± {number(estimate.disagreement)}"
    )
    return lines


def added_features(estimate: RegressionExplanation, most: int = MOST_FEATURES) -> list[str]:
    """The features that add most to the prediction; without SHAP values, the first features."""
    adds = estimate.adds
    if adds is None:
        return list(estimate.values)[:most]
    size = {name: abs(value) for name, value in zip(adds.features, adds.prediction, strict=True)}
    return sorted((name for name in size if size[name] > 0), key=lambda name: -size[name])[:most]


def shown_features(explanation: Explanation, most: int = MOST_FEATURES) -> list[str]:
    """The features that add most to label and width; without SHAP values, the first features."""
    shap = explanation.shap
    if shap is None:
        return list(explanation.values)[:most]
    width = shap.width or [0.0] * len(shap.label)
    unit = max(map(abs, shap.label), default=0.0) or 1.0
    wide = max(map(abs, width), default=0.0) or 1.0
    weight = {name: abs(a) / unit + abs(b) / wide for name, a, b in zip(shap.features, shap.label, width, strict=True)}
    return sorted((name for name in weight if weight[name] > 0), key=lambda name: -weight[name])[:most]


def shown_classes(explanation: Explanation) -> list[int]:
    """Labels of the classes to show: those that remain and the most probable others, most probable first."""
    order = sorted(range(len(explanation.classes)), key=lambda k: -explanation.probability[k])
    kept = [k for k in order if explanation.classes[k] in explanation.set]
    others = [k for k in order if k not in kept]
    return sorted((kept + others)[:MOST_CLASSES], key=lambda k: -explanation.probability[k])


def decision_words(explanation: Explanation) -> str:
    """The settings, and how many classes remain."""
    how = f"Rule {explanation.rule}, caution {number(explanation.caution)}, decision {explanation.decision}"
    remain = "one class remains" if explanation.is_determinate else f"{len(explanation.set)} classes remain"
    return f"{how}: {remain}."


def by_bounds(explanation: Explanation) -> bool:
    """Whether a class is ruled out if the lower bound of another is above its interval."""
    named = all_decisions().get(explanation.decision)
    return named is not None and named.by_bounds


def _intervals(explanation: Explanation) -> str:
    """Classes with pictures of their intervals, a mark at the largest lower bound, and which classes remain."""
    shown = shown_classes(explanation)
    wall = round(max(explanation.lower) * (BAR - 1))
    rows = []
    for k in shown:
        low, high, at = (
            round(value * (BAR - 1))
            for value in (explanation.lower[k], explanation.upper[k], explanation.probability[k])
        )
        line = ["·" if wall == place else " " for place in range(BAR)]
        line[low : high + 1] = "─" * (high + 1 - low)
        line[wall] = "┼" if low <= wall <= high else "┆"
        line[at] = "●"
        remains = "remains" if explanation.classes[k] in explanation.set else ""
        bounds = f"{explanation.lower[k]:.3f} to {explanation.upper[k]:.3f}"
        rows.append(
            [_cell(explanation.classes[k]), f"{explanation.probability[k]:.3f}", bounds, "".join(line), remains]
        )
    head = ["class", "probability", "interval", "0" + "1".rjust(BAR - 1), ""]
    lines = _table([head, *rows], left=(0, 3, 4))
    hidden = len(explanation.classes) - len(shown)
    if hidden:
        lines.append(f"  … and {hidden} less probable classes")
    note = [f"  ┼ ┆ {WALL}"] if by_bounds(explanation) else []
    return "\n".join([*lines, "", f"  {decision_words(explanation)}", *note])


def _uncertainty(explanation: Explanation) -> list[str]:
    """Lines with percentages and causes."""
    shares = percents([each.share for each in explanation.doubt])
    lines = [(share, each.text) for share, each in zip(shares, explanation.doubt, strict=True) if share > 0]
    return [_wrapped(text, f"  {share:>3} %  ", " " * 9) for share, text in lines]


def _remedies(explanation: Explanation) -> list[str]:
    return [_wrapped(line, "  - ", "    ") for line in remedy_words(explanation)]


def _adds(estimate: RegressionExplanation) -> list[str]:
    """A table: what the weightiest features add to the prediction and to the width of its bounds."""
    rows = added_rows(estimate, _cell)
    return _table([["", "prediction", "width"], *rows], left=(0,)) if rows else []


def added_rows(estimate: RegressionExplanation, cell: Callable[[str], str] = str) -> list[list[str]]:
    """The weightiest features -> name and value, what these add to the prediction, and to the width of its bounds."""
    adds = estimate.adds
    if adds is None:
        return []
    columns = [[signed(each) for each in amounts] for amounts in (adds.prediction, adds.width)]
    return _feature_rows(estimate, added_features(estimate), adds.features, columns, cell)


def shap_rows(explanation: Explanation, cell: Callable[[str], str] = str) -> list[list[str]]:
    """The weightiest features -> name and value, what these add to the label and, if it is known, to the width."""
    shap = explanation.shap
    if shap is None:
        return []
    columns = [[f"{each:+.3f}" for each in amounts] for amounts in (shap.label, shap.width) if amounts]
    return _feature_rows(explanation, shown_features(explanation), shap.features, columns, cell)


def _feature_rows(
    explained: Explanation | RegressionExplanation,
    shown: Sequence[str],
    features: Sequence[str],
    columns: list[list[str]],
    cell: Callable[[str], str],
) -> list[list[str]]:
    """The features to show, and columns with a text for each of all features -> a row for each shown feature."""
    places = [features.index(name) for name in shown]
    words = [f"{cell(name)} = {cell(value_words(explained.values[name]))}" for name in shown]
    return [[row_words, *(column[at] for column in columns)] for row_words, at in zip(words, places, strict=True)]


def signed(value: float) -> str:
    """A number -> text with its sign."""
    return f"{'-' if value < 0 else '+'}{number(abs(value))}"


def _cases(explanation: Any, features: Callable[[Any, int], list[str]], truth: str) -> list[str]:
    """A table: this sample, and below it the cases, with as many values as fit; `truth` is what is known of cases."""
    if explanation.cases is None:
        return [
            "  not known: the model does not hold its training rows; pass them as train (--train on the command line)"
        ]
    if not explanation.cases:
        return []
    for most in range(MOST_FEATURES, 0, -1):
        lines = _table(case_rows(explanation, features(explanation, most), truth, _cell), left=(0, 2))
        if max(map(len, lines)) <= WIDTH:
            break
    return lines


def case_rows(
    explanation: Explanation | RegressionExplanation, names: list[str], truth: str, cell: Callable[[str], str] = str
) -> list[list[str]]:
    """Some features -> a head, this sample and the nearest cases, with the values of these features."""

    def values(of: Explanation | RegressionExplanation | Case) -> list[str]:
        return [cell(value_words(of.values[name])) for name in names]

    rows = [["row", "weight", truth, *map(cell, names)], ["this", "", "", *values(explanation)]]
    for case in explanation.cases or ():
        label = "?" if case.label is None else value_words(case.label)
        rows.append([str(case.row), f"{case.weight:.3f}", cell(label), *values(case)])
    return rows


def _shap(explanation: Explanation) -> tuple[str, list[str]]:
    """A title and a table: what the weightiest features add to label and width."""
    shap = explanation.shap
    if shap is None:
        return "", []
    title = shap_title(explanation) + (", and to the width of its interval" if shap.width else "")
    rows = [["", "label", *(["width"] if shap.width else [])], *shap_rows(explanation, _cell)]
    shown = shown_features(explanation)
    rest = [at for at, name in enumerate(shap.features) if name not in shown]
    if rest:
        cells = [f"{len(rest)} others", f"{sum(shap.label[at] for at in rest):+.3f}"]
        rows.append([*cells, *([f"{sum(shap.width[at] for at in rest):+.3f}"] if shap.width else [])])
    return title, _table(rows, left=(0,))


def shap_title(explanation: Explanation) -> str:
    """What the table of SHAP values shows."""
    unit = "" if explanation.shap is None else UNITS[explanation.shap.unit]
    return f"What each value adds to the {unit} of {class_words(explanation.label)}"


def _section(title: str, lines: list[str]) -> str:
    """A title and lines below it; empty if there are no lines."""
    return "\n".join([title, *lines]) if lines else ""


def _table(rows: list[list[str]], left: tuple[int, ...]) -> list[str]:
    """Cells -> aligned lines; the columns in `left` are aligned left, the others right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _cell(value: Any) -> str:
    """A value -> at most `CELL` characters in one line."""
    words = " ".join(str(value).split()) or repr(str(value))
    return words if len(words) <= CELL else words[: CELL - 1] + "…"


def _wrapped(text: str, first: str, later: str | None = None) -> str:
    """Text -> lines of at most `WIDTH` columns; a number and its percent sign stay on one line."""
    tied = text.replace(" %", "\N{NO-BREAK SPACE}%")
    later = first if later is None else later
    lines = textwrap.fill(tied, WIDTH, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
    return lines.replace("\N{NO-BREAK SPACE}%", " %")
