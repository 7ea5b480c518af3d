"""`hedgerow tune`: a model with the best rule, caution and decision out of bag."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.cli.console import grid, show
from hedgerow.cli.evaluation import read_costs
from hedgerow.cli.exit_codes import UsageError
from hedgerow.cli.files.paths import STREAM
from hedgerow.cli.files.sheet import Array
from hedgerow.cli.fit import fit
from hedgerow.cli.match import checked_caution, checked_decision, checked_rule
from hedgerow.cli.options import TuneOptions
from hedgerow.explain.presenters import presenter_for
from hedgerow.inference.evidence import CAUTIONS
from hedgerow.metrics import determinacy, single_set_accuracy
from hedgerow.util.text import score

if TYPE_CHECKING:
    from hedgerow.estimators.supervised import SupervisedTrees

#: Maximum number of settings shown.
MOST_SHOWN = 8


def tune(options: TuneOptions) -> None:
    """Fit a model, choose its settings out of bag, and save it."""
    if not presenter_for(options).has_classes or options.model in ("tree", "random-decision"):
        raise UsageError("hedgerow tune requires a classification forest. Remove --regression, or use --model forest.")
    if (options.by == "cost") != (options.costs is not None):
        raise UsageError("--by cost and --costs FILE require each other. Add the other one.")
    over = _settings(options)
    fit(options, lambda model: _tuned(model, options, over))


def _settings(options: TuneOptions) -> dict[str, list[Any]]:
    """Return the values to try of each parameter."""
    cautions = _listed(options.cautions)
    return {
        "rule": [checked_rule(name) for name in _listed(options.rules)] or [options.rule],
        "caution": [float(checked_caution(each, auto=False)) for each in cautions] or list(CAUTIONS),
        "decision": [name for name in _listed(options.decisions) if checked_decision(name)] or [options.decision],
    }


def _listed(text: str | None) -> list[str]:
    return [] if text is None else [each.strip() for each in text.split(",") if each.strip()]


def _tuned(model: SupervisedTrees, options: TuneOptions, over: dict[str, list[Any]]) -> dict[str, Any]:
    """Set the best setting of a fitted forest; return the results for JSON."""
    try:
        model.tune(_metric(model, options), over)
    except (AttributeError, ValueError) as reason:
        raise UsageError(f"Invalid combination of settings: {reason}") from None
    if not options.as_json:
        words = {"cost": "mean cost", "risk": f"decided, error <= {options.risk:g}"}
        what, sign = words.get(options.by, options.by), -1 if options.by == "cost" else 1
        rows = [
            [setting["rule"], f"{setting['caution']:g}", str(setting["decision"]), score(sign * value)]
            for value, setting in model.tuning_[:MOST_SHOWN]
        ]
        title = f"Best of {len(model.tuning_):,} settings, out of bag"
        show(grid(title, ["rule", "caution", "decision", what], rows, left=3), "", stderr=options.out == STREAM)
    return {"tuning": [{"score": value, **setting} for value, setting in model.tuning_]}


def _metric(model: SupervisedTrees, options: TuneOptions) -> str | Callable[[Array, Array], float]:
    """Return the metric: a name, or a function of true classes and sets to maximise."""
    classes = model.classes_
    if options.by == "cost":
        costs = read_costs(str(options.costs), classes, options)
        if costs.of_sets(np.ones((1, len(classes)), dtype=bool)) is None:
            raise UsageError("--by cost requires a column for each class and a column 'look again' in --costs.")

        def cheapness(y: Array, sets: Array) -> float:
            return -costs.mean(np.searchsorted(classes, y), costs.of_sets(sets))  # type: ignore[arg-type]

        return cheapness
    if options.by == "risk":

        def decided(y: Array, sets: Array) -> float:
            right = single_set_accuracy(y, sets, classes=classes)
            wrong = 0.0 if right is None else 1 - right
            return determinacy(y, sets, classes=classes) if wrong <= options.risk else -wrong

        return decided
    return options.by
