"""Figures of the benchmarks, and the pages that quote them.

``results.json`` holds every figure, with the date and the command of its run; ``benchmarks/record.py`` writes it.
``python docs/results.py`` fills ``explanation/benchmarks.md`` from its template. Other pages quote few figures:
`QUOTES` lists them, and a test compares them with the file.
"""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
RESULTS = DOCS / "results.json"
TEMPLATE, PAGE = DOCS / "explanation" / "benchmarks.md.in", DOCS / "explanation" / "benchmarks.md"
NOTE = "<!-- written by docs/results.py from benchmarks.md.in and results.json -->\n"
#: ``{{section/row/figure:format}}``
_FIELD = re.compile(r"\{\{([^{}:]+)(?::([^{}]+))?\}\}")

#: Sentences with figures on other pages, as templates.
QUOTES: dict[str, tuple[str, ...]] = {
    "../README": (
        "lower than that of scikit-learn's forest by {{mixed forests/mixed forest, 300/log-loss:~.3f}} (SE) on"
        " {{mixed forests/sets}} real data sets of at most 2,000 rows, and is better on"
        " {{mixed forests/mixed forest, 300/log-loss/better}} of them, in"
        " {{mixed forests/mixed forest, 300/time of fit and prediction/value:.2f}} of the time",
        "better than CatBoost with its defaults on"
        " {{mixed forests, boosting/mixed forest, compared with CatBoost/log-loss/better}} of"
        " {{mixed forests, boosting/sets}} such sets",
        "`RandomForestClassifier` gains {{probabilities/forest/log-loss:~.3f}}",
        "CatBoost with its defaults is tied: the difference is"
        " {{probabilities/forest, compared with CatBoost/log-loss:~.3f}}",
    ),
    "explanation/guarantees": (
        "Log-loss fell on {{probabilities, up to 13,000 rows/forest/log-loss/better}} of"
        " {{probabilities, up to 13,000 rows/forest/log-loss/sets}} real sets",
        "90% intervals covered {{intervals/forest/coverage:.3f}} of the targets",
    ),
    "explanation/calibration": ("90% intervals cover {{intervals/forest/coverage:.3f}} of the targets",),
    "how-to/coverage-and-risk": ("On 20 real sets the target is met in {{risk/Risk/kept/value:.1%}} of calibrations",),
    "how-to/novelty": (
        "about {{novelty, abstention/ordinary rows/value:.1%}} of them become undecided",
        "On {{unseen/sets}} real sets with the most important feature hidden, the error of decisions is"
        " {{unseen/best feature hidden/shares/error:.1%}}, and {{unseen/best feature hidden/larger/error:.1%}} with"
        ' `unseen="larger"`',
    ),
    "how-to/updating": ("On {{active learning/sets}} real sets, accuracy is higher than with random rows",),
    "how-to/groups": (
        "It takes {{groups, cost/10,000 x 20/warning:.1%}} of the processor time of a fit to 10,000 × 20",
        "counting adds {{groups, cost/100,000 x 50/leaves:.0%}} to the processor time",
        "is {{groups, simulated/2/yes/coverage:.3f}} to {{groups, simulated/8, labels vary/yes/coverage:.3f}}",
        "and {{groups, real/pbc2, death/yes/coverage:.3f}} for pbc2",
    ),
    "how-to/command-line": (
        "Of {{monitor/batches}} halves of {{monitor/sets}} real tables without a shift,"
        " {{monitor/alarms without a shift}} raised one",
        "moved by half a standard deviation, {{monitor/alarms with a shift}} did (`{{monitor/command}}`,"
        " {{monitor/date}})",
    ),
    "how-to/regression": (
        "| `BeliefVariance(0.5)` | × {{stopping/lam 0.5/error:.2f}} | × {{stopping/lam 0.5/leaves:.2f}} |",
        '| `BeliefVariance("auto")` | × {{stopping/lam auto/error:.2f}} | × {{stopping/lam auto/leaves:.2f}} |',
        '| `BeliefVariance("auto", caution=0.01)` | × {{stopping/lam auto, caution 0.01/error:.2f}} | ×'
        " {{stopping/lam auto, caution 0.01/leaves:.2f}} |",
        "| `BeliefVariance(0.5, caution=1.0)` | × {{stopping/lam 0.5, caution 1/error:.2f}} | ×"
        " {{stopping/lam 0.5, caution 1/leaves:.2f}} |",
    ),
    "how-to/uncertain-inputs": (
        "| midpoints | {{inputs/midpoints/0.5:+.3f}} | {{inputs/midpoints/1:+.3f}} | {{inputs/midpoints/2:+.3f}} |",
        "| missing values | {{inputs/missing values/0.5:+.3f}} | {{inputs/missing values/1:+.3f}} |"
        " {{inputs/missing values/2:+.3f}} |",
        "| eight drawn copies | {{inputs/eight drawn copies/0.5:+.3f}} |"
        " {{inputs/eight drawn copies/1:+.3f}} | {{inputs/eight drawn copies/2:+.3f}} |",
        "| intervals without refining | {{inputs/intervals without refining/0.5:+.3f}} |"
        " {{inputs/intervals without refining/1:+.3f}} | {{inputs/intervals without refining/2:+.3f}} |",
        "| the true values | {{inputs/the true values/0.5:+.3f}} | {{inputs/the true values/1:+.3f}} |"
        " {{inputs/the true values/2:+.3f}} |",
        "Accuracy differs from that of midpoints by at most {{inputs/accuracy:.3f}}",
        "Refining helped on the four sets on which it was chosen ({{inputs/refining where it was chosen:.3f}} at the",
    ),
    "how-to/uncertain-labels": (
        "(forests {{labels/splits on masses/crowd:+.3f}} with labels of a crowd,"
        " {{labels/splits on masses/blurred:+.3f}} with 30% blurred ones",
        "Calibration on expected shares lowers log-loss by {{labels/calibration/log-loss:~.3f}}",
        "by {{labels/masses/forests:.3f}} (forests) and {{labels/masses/single trees:.3f}} (single trees",
        "On one of the six, forests lose {{labels/masses/worst set:~.3f}}",
    ),
    "explanation/distributed": (
        "take {{cluster/gathered:.1f}} times the time of one machine if the table is gathered, and"
        " {{cluster/tops:.1f}} times with tops",
    ),
}


def load() -> dict[str, Any]:
    """Return all results: section -> date, command, figures."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def render(template: str, results: dict[str, Any] | None = None) -> str:
    """Fill in the figures of a template."""
    results = load() if results is None else results
    return _FIELD.sub(lambda field: _shown(results, *field.groups()), template)


def page() -> str:
    """Return the text of the page of benchmarks."""
    head, rest = TEMPLATE.read_text(encoding="utf-8").split("\n", 1)
    return f"{head}\n\n{NOTE}{render(rest)}"


def _shown(results: dict[str, Any], path: str, form: str | None) -> str:
    """Return a figure as people read it: a value with its standard error, a range, a date, or text.

    A format that starts with ``~`` leaves out the sign.
    """
    section, *keys = path.split("/")
    found = results[section]
    if keys in (["date"], ["command"]):
        return _day(found["date"]) if keys == ["date"] else str(found["command"])
    found = found["figures"]
    for key in keys:
        found = found[key]
    if isinstance(found, list):
        return " to ".join(format(each, form or "") for each in found)
    if isinstance(found, dict):
        error = f" ± {_number(found['error'], (form or '').lstrip('+'))}" if "error" in found else ""
        return f"{_number(found['value'], form)}{error}"
    return _number(found, form)


def _number(value: float, form: str | None) -> str:
    """Return a number with a typographic minus; of a share, the standard error has the same digits."""
    if form and form.startswith("~"):
        value, form = abs(value), form[1:]
    return format(value, form or "").replace("-", "−")


def _day(text: str) -> str:
    """``2026-11-17`` -> ``17 November 2026``."""
    day = date.fromisoformat(text)
    return f"{day.day} {day:%B %Y}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
