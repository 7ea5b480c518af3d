"""Explanations as text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from typing import TypeVar

from hedgerow.decisions import all_decisions
from hedgerow.explain.cases import Case, amount, class_words, number, value_words
from hedgerow.explain.explanation import Explanation
from hedgerow.explain.regression import RegressionExplanation
from hedgerow.explain.survival import FollowedCase, SurvivalExplanation
from hedgerow.explain.words import percents, remedy_title, remedy_words
from hedgerow.util.text import printable_lines

_Explained = TypeVar("_Explained", Explanation, RegressionExplanation, SurvivalExplanation)

#: Columns of a line, and of the drawing of an interval.
WIDTH, BAR = 96, 41
#: Most features and classes that are shown.
MOST_FEATURES, MOST_CLASSES = 6, 8
#: Names of the quantities that contributions add up to.
UNITS = {"probability": "probability", "log_odds": "log-odds", "lower": "lower probability"}
#: Largest number of steps between round times.
MOST_STEPS = 6
#: Title of the nearest cases of a survival model.
NEAREST_FOLLOWED = "Nearest training cases (+ marks censored times)"
#: Most characters of a cell.
CELL = 18
#: The meaning of the line through the intervals.
WALL = "largest lower probability; classes with a smaller upper probability are ruled out."


def text_from_explanation(explanation: Explanation) -> str:
    """Return the text of an explanation, without characters that could control a terminal."""
    parts = [
        _wrapped(f"{explanation.title}: {explanation.sentence}", ""),
        _intervals(explanation),
        _section("Sources of uncertainty", _uncertainty(explanation)),
        _section(remedy_title(explanation), _remedies(explanation)),
        _section("Nearest training cases", _cases(explanation, shown_features, "class")),
        _section(
            "Strongest leaf for each class of the set",
            [_wrapped(rule, "  ", "    ") for rule in explanation.rules],
        ),
        _section(*_shap(explanation)),
    ]
    return printable_lines("\n\n".join(part for part in parts if part)) + "\n"


def text_from_regression(estimate: RegressionExplanation) -> str:
    """Return the text of an explanation of a regressor, without characters that could control a terminal."""
    parts = [
        _wrapped(f"{estimate.title}: {estimate.sentence}", ""),
        _section("Basis of the prediction", [_wrapped(line, "  - ", "    ") for line in support_words(estimate)]),
        _section("Nearest training cases", _cases(estimate, top_features, "target")),
        _section("Feature contributions to the prediction, and to the width of its bounds", _contributions(estimate)),
    ]
    return printable_lines("\n\n".join(part for part in parts if part)) + "\n"


def text_from_survival(explanation: SurvivalExplanation) -> str:
    """Return the text of an explanation of a survival model, without characters that could control a terminal."""
    contributions = survival_contribution_rows(explanation, _cell)
    parts = [
        _wrapped(f"{explanation.title}: {explanation.sentence}", ""),
        _section("Basis of the prediction", [_wrapped(line, "  - ", "    ") for line in followed_words(explanation)]),
        _section("Survival", _table(curve_rows(explanation), left=())),
        _section(NEAREST_FOLLOWED, _cases(explanation, top_survival_features, "time")),
        _section(
            survival_title(explanation),
            _table([["", "survival", "width"], *contributions], left=(0,)) if contributions else [],
        ),
    ]
    return printable_lines("\n\n".join(part for part in parts if part)) + "\n"


def followed_words(explanation: SurvivalExplanation) -> list[str]:
    """Describe median and restricted mean, the rows at risk, and the uncertainty by source, one line each."""
    unit = f" {explanation.unit}" if explanation.unit else ""
    last = number(explanation.curve.times[-1])
    median = number(explanation.median) if math.isfinite(explanation.median) else f"beyond {last}"
    parts = [explanation.aleatoric, explanation.epistemic, explanation.vacuity]
    lines = [
        f"survival at {explanation.when}: {explanation.survival:.1%}, bounds {explanation.lower:.1%} to"
        f" {explanation.upper:.1%} with caution {number(explanation.caution)}",
        f"median {median}{unit}; mean until {explanation.when}: {number(explanation.rmst)}{unit}",
        f"{amount(explanation.node_rows)} training rows per node, {amount(explanation.at_risk)} of them at risk after"
        f" {explanation.when}",
        "uncertainty: aleatoric {:.2f} bits, epistemic {:.2f} bits, vacuity {:.2f}".format(*parts),
    ]
    for each in explanation.incidence or ():
        lines.append(
            f"cause {each.cause} by {explanation.when}: {each.probability:.1%}, bounds {each.lower:.1%} to"
            f" {each.upper:.1%}"
        )
    if explanation.novelty is not None:
        lines.append(f"novelty p-value {explanation.novelty.p_value:.2g}, most unusual {explanation.novelty.feature}")
    return lines


def curve_rows(explanation: SurvivalExplanation) -> list[list[str]]:
    """Return a header, and survival, its bounds and the rows at risk at a few times."""
    times = sorted({*round_times(explanation.curve.times[-1])[1:], explanation.time})
    rows = [["time", "survival", "lower", "upper", "at risk"]]
    for time in times:
        survival, lower, upper, at_risk = explanation.curve.at(time)
        rows.append([number(time), f"{survival:.1%}", f"{lower:.1%}", f"{upper:.1%}", amount(round(at_risk, 1))])
    return rows


def round_times(last: float) -> list[float]:
    """Return round times from 0 to at most the last one, with steps of 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> round_times(809.0)
    [0.0, 200.0, 400.0, 600.0, 800.0]
    """
    if not last > 0:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(last / MOST_STEPS))
    step = next(power * digit for digit in (1, 2, 5, 10) if power * digit * MOST_STEPS >= last * (1 - 1e-9))
    return [step * place for place in range(int(last / step * (1 + 1e-9)) + 1)]


def survival_title(explanation: SurvivalExplanation) -> str:
    """Return the title of the table of contributions."""
    return f"Feature contributions to survival at {explanation.when}, and to the width of its bounds"


def survival_contribution_rows(explanation: SurvivalExplanation, cell: Callable[[str], str] = str) -> list[list[str]]:
    """Return name and value of the top features, and their contributions to survival and the width of its bounds."""
    found = explanation.contributions
    if found is None:
        return []
    columns = [[f"{each:+.3f}" for each in amounts] for amounts in (found.survival, found.width)]
    return _feature_rows(explanation, top_survival_features(explanation), found.features, columns, cell)


def top_survival_features(explanation: SurvivalExplanation, most: int = MOST_FEATURES) -> list[str]:
    """Return the features with the largest contributions to survival; without them, the first features."""
    found = explanation.contributions
    return list(explanation.values)[:most] if found is None else _largest(found.features, found.survival, most)


def support_words(estimate: RegressionExplanation) -> list[str]:
    """Describe the training rows behind a prediction, and the parts of its uncertainty, one line each."""
    lines, support = [], estimate.support
    if support is not None:
        lines.append(
            f"{support.rows:,} training rows (effective sample size {amount(support.effective)}); the middle 80% of"
            f" their targets lie from {number(support.low)} to {number(support.high)}"
        )
    lines.append(
        f"{amount(estimate.leaf_rows)} training {'row' if estimate.leaf_rows == 1 else 'rows'} in the median leaf"
    )
    more = f"{number(estimate.caution)} more {'row' if estimate.caution == 1 else 'rows'}"
    lines.append(
        f"bounds of the prediction {number(estimate.mean_lower)} to {number(estimate.mean_upper)}, if every leaf had"
        f" {more} of any training target"
    )
    lines.append(
        f"noise within leaves ± {number(estimate.noise)}, disagreement between trees ± {number(estimate.disagreement)}"
    )
    return lines


def top_features(estimate: RegressionExplanation, most: int = MOST_FEATURES) -> list[str]:
    """Return the features with the largest contributions to the prediction.

    Without them, the first features.
    """
    found = estimate.contributions
    if found is None:
        return list(estimate.values)[:most]
    return _largest(found.features, found.prediction, most)


def _largest(features: list[str], amounts: list[float], most: int) -> list[str]:
    """Return the features with the largest amounts."""
    size = {name: abs(value) for name, value in zip(features, amounts, strict=True)}
    return sorted((name for name in size if size[name] > 0), key=lambda name: -size[name])[:most]


def shown_features(explanation: Explanation, most: int = MOST_FEATURES) -> list[str]:
    """Return the features with the largest contributions to the label, the largest first.

    Without them, the first features.
    """
    shap = explanation.shap
    if shap is None:
        return list(explanation.values)[:most]
    width = shap.width or [0.0] * len(shap.label)
    size = {name: (abs(a), abs(b)) for name, a, b in zip(shap.features, shap.label, width, strict=True)}
    return sorted((name for name in size if max(size[name]) > 0), key=lambda name: size[name], reverse=True)[:most]


def shown_classes(explanation: Explanation) -> list[int]:
    """Return the indices of the classes to show: those of the set and the most probable others, in this order."""
    order = sorted(range(len(explanation.classes)), key=lambda k: -explanation.probability[k])
    kept = [k for k in order if explanation.classes[k] in explanation.set]
    others = [k for k in order if k not in kept]
    return sorted((kept + others)[:MOST_CLASSES], key=lambda k: -explanation.probability[k])


def decision_words(explanation: Explanation) -> str:
    """Describe rule, caution, decision and the size of the prediction set."""
    how = f"Rule {explanation.rule}, caution {number(explanation.caution)}, decision {explanation.decision}"
    size = "one class" if explanation.is_determinate else f"{len(explanation.set)} classes"
    if explanation.actions is not None:
        return f"{how} chooses the actions. By interval dominance, {size} in the prediction set."
    return f"{how}: {size} in the prediction set."


def by_bounds(explanation: Explanation) -> bool:
    """Return whether the decision rules out classes by their lower and upper probabilities."""
    named = all_decisions().get(explanation.decision)
    return named is not None and named.by_bounds


def _intervals(explanation: Explanation) -> str:
    """Draw the intervals of the classes, with a line at the largest lower probability.

    Mark those of the set.
    """
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
        in_set = "in set" if explanation.classes[k] in explanation.set else ""
        bounds = f"{explanation.lower[k]:.3f} to {explanation.upper[k]:.3f}"
        rows.append([_cell(explanation.classes[k]), f"{explanation.probability[k]:.3f}", bounds, "".join(line), in_set])
    head = ["class", "probability", "interval", "0" + "1".rjust(BAR - 1), ""]
    lines = _table([head, *rows], left=(0, 3, 4))
    hidden = len(explanation.classes) - len(shown)
    if hidden:
        lines.append(f"  … and {hidden} less probable classes")
    note = [f"  ┼ ┆ {WALL}"] if by_bounds(explanation) else []
    return "\n".join([*lines, "", f"  {decision_words(explanation)}", *note])


def _uncertainty(explanation: Explanation) -> list[str]:
    """List the sources of uncertainty with their percentages."""
    shares = percents([each.share for each in explanation.uncertainty])
    lines = [(share, each.text) for share, each in zip(shares, explanation.uncertainty, strict=True) if share > 0]
    return [_wrapped(text, f"  {share:>3}%  ", " " * 8) for share, text in lines]


def _remedies(explanation: Explanation) -> list[str]:
    return [_wrapped(line, "  - ", "    ") for line in remedy_words(explanation)]


def _contributions(estimate: RegressionExplanation) -> list[str]:
    """Format the largest contributions to the prediction and to the width of its bounds as a table."""
    rows = contribution_rows(estimate, _cell)
    return _table([["", "prediction", "width"], *rows], left=(0,)) if rows else []


def contribution_rows(estimate: RegressionExplanation, cell: Callable[[str], str] = str) -> list[list[str]]:
    """Return name and value of the top features, and their contributions to the prediction and its width."""
    found = estimate.contributions
    if found is None:
        return []
    columns = [[signed(each) for each in amounts] for amounts in (found.prediction, found.width)]
    return _feature_rows(estimate, top_features(estimate), found.features, columns, cell)


def shap_rows(explanation: Explanation, cell: Callable[[str], str] = str) -> list[list[str]]:
    """Return name and value of the top features, and their contributions to the label and, if known, the width."""
    shap = explanation.shap
    if shap is None:
        return []
    columns = [[f"{each:+.3f}" for each in amounts] for amounts in (shap.label, shap.width) if amounts]
    return _feature_rows(explanation, shown_features(explanation), shap.features, columns, cell)


def _feature_rows(
    explained: Explanation | RegressionExplanation | SurvivalExplanation,
    shown: Sequence[str],
    features: Sequence[str],
    columns: list[list[str]],
    cell: Callable[[str], str],
) -> list[list[str]]:
    """Return a row for each shown feature, given columns with a text for each of all features."""
    places = [features.index(name) for name in shown]
    words = [f"{cell(name)} = {cell(value_words(explained.values[name]))}" for name in shown]
    return [[row_words, *(column[at] for column in columns)] for row_words, at in zip(words, places, strict=True)]


def signed(value: float) -> str:
    """Format a number with its sign."""
    return f"{'-' if value < 0 else '+'}{number(abs(value))}"


def _cases(explanation: _Explained, features: Callable[[_Explained, int], list[str]], target_name: str) -> list[str]:
    """Format the sample and its nearest cases as a table, with as many values as fit."""
    if explanation.cases is None:
        return ["  not available: the model has not kept its training rows. Pass train (on the command line, --train)."]
    if not explanation.cases:
        return []
    for most in range(MOST_FEATURES, 0, -1):
        lines = _table(case_rows(explanation, features(explanation, most), target_name, _cell), left=(0, 2))
        if max(map(len, lines)) <= WIDTH:
            break
    return lines


def case_rows(
    explanation: Explanation | RegressionExplanation | SurvivalExplanation,
    names: list[str],
    target_name: str,
    cell: Callable[[str], str] = str,
) -> list[list[str]]:
    """Return a header, this sample and the nearest cases, with the values of the named features."""

    def values(of: Explanation | RegressionExplanation | SurvivalExplanation | Case | FollowedCase) -> list[str]:
        return [cell(value_words(of.values[name])) for name in names]

    rows = [["row", "weight", target_name, *map(cell, names)], ["this", "", "", *values(explanation)]]
    for case in explanation.cases or ():
        label = "?" if case.label is None else value_words(case.label)
        called = str(case.row) if case.name is None else cell(case.name)
        rows.append([called, f"{case.weight:.3f}", cell(label), *values(case)])
    return rows


def _shap(explanation: Explanation) -> tuple[str, list[str]]:
    """Return a title, and the largest contributions to label and width as a table."""
    shap = explanation.shap
    if shap is None:
        return "", []
    title = shap_title(explanation) + (", and to the width of its interval" if shap.width else "")
    rows = [["", "label", *(["width"] if shap.width else [])], *shap_rows(explanation, _cell)]
    shown = shown_features(explanation)
    rest = [at for at, name in enumerate(shap.features) if name not in shown]
    if rest:
        cells = [f"{len(rest)} others together", f"{sum(shap.label[at] for at in rest):+.3f}"]
        rows.append([*cells, *([f"{sum(shap.width[at] for at in rest):+.3f}"] if shap.width else [])])
    return title, _table(rows, left=(0,))


def shap_title(explanation: Explanation) -> str:
    """Return the title of the table of SHAP values."""
    unit = "" if explanation.shap is None else UNITS[explanation.shap.unit]
    return f"Feature contributions to the {unit} of {class_words(explanation.label)}"


def _section(title: str, lines: list[str]) -> str:
    """Return a title with lines below it; empty if there are no lines."""
    return "\n".join([title, *lines]) if lines else ""


def _table(rows: list[list[str]], left: tuple[int, ...]) -> list[str]:
    """Align cells; the columns in `left` are aligned left, the others right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _cell(value: object) -> str:
    """Format a value in one line of at most `CELL` characters."""
    words = " ".join(str(value).split()) or repr(str(value))
    return words if len(words) <= CELL else words[: CELL - 1] + "…"


def _wrapped(text: str, first: str, indent: str | None = None) -> str:
    """Break text into lines of at most `WIDTH` columns, not after ±; `indent` starts all lines but the first."""
    indent, text = first if indent is None else indent, text.replace("± ", "±\N{NO-BREAK SPACE}")
    lines = textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)
    return lines.replace("±\N{NO-BREAK SPACE}", "± ")
