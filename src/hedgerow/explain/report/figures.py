"""Metrics and facts of a report."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow import metrics
from hedgerow.belief.opinion import Opinion
from hedgerow.decisions import Decision, columns_from_labels
from hedgerow.explain.presenters.base import HasGroups, Lines, cost_lines, figures_by, group_lines
from hedgerow.explain.report.places import Place, undecided_places
from hedgerow.explain.report.request import ReportRequest, column_name
from hedgerow.explain.report.values import usual_words
from hedgerow.inference.batch import Batch
from hedgerow.inference.novelty import PredictionNovelty
from hedgerow.inference.predictor import Predictor
from hedgerow.metrics import SetConfusion
from hedgerow.rules import Rule
from hedgerow.table import Factors, NamedColumns
from hedgerow.table.bins import DATES, Codes
from hedgerow.table.schema import Array
from hedgerow.tasks.classification.costs import Costs
from hedgerow.tasks.classification.evaluation import ClassificationEvaluation
from hedgerow.tasks.classification.predictor import ClassificationPredictor

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike

Floats = NDArray[np.float64]

#: In a wider confusion matrix, columns of sets with several classes are summed.
WIDEST = 8
#: Default significance level of novelty, and number of novel rows listed.
NOVEL, LISTED_NOVEL = 0.01, 50
#: Meaning of a caution of 0.
ZERO_CAUTION = "; no larger caution has a higher out-of-bag u65, so intervals have no width"
#: Number of features that describe undecided rows, the most important ones.
DESCRIBING = 12


@dataclass(frozen=True, eq=False)
class ReportData:
    """Predictions for n rows, and their true classes if given."""

    batch: Batch
    table: NamedColumns  # the same rows, with readable names
    opinion: Opinion
    chosen: NDArray[np.bool_]  # (n, K)
    truth: NDArray[np.int64] | None  # (n,): indices of the true classes

    @property
    def label(self) -> NDArray[np.int64]:
        """Index of the most probable class (n,)."""
        return np.asarray(self.opinion.probability.argmax(axis=1))

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Mask of undecided rows (n,)."""
        return np.asarray(self.chosen.sum(axis=1) > 1)

    @property
    def wrong(self) -> NDArray[np.bool_] | None:
        """Mask of wrong labels (n,)."""
        return None if self.truth is None else np.asarray(self.label != self.truth)


@dataclass(frozen=True)
class Feature:
    """A feature: its type, its values in training, its missing values in the report, and its importance."""

    name: str
    nominal: bool
    training: str
    missing: int
    importance: float


@dataclass(frozen=True)
class NovelRows:
    """Rows with novelty p-values at or below the level."""

    level: float
    number: int
    listed: list[tuple[int, float, str, bool]]  # row, p-value, most unusual feature, whether it is uncertain


@dataclass(frozen=True, eq=False)
class ReportFigures:
    """Content of the report of a classifier, except the cases."""

    n_rows: int
    n_open: int
    n_wrong: int | None
    wrong_and_open: int | None
    metrics: list[tuple[str, str, str]]  # name, value, meaning
    values: dict[str, float | None]  # the same, as numbers
    confusion: Confusion | None
    places: list[Place]
    novel: NovelRows | None
    model: list[tuple[str, str]]
    features: list[Feature]


@dataclass(frozen=True)
class Confusion:
    """Numbers of rows of each true class by set, as displayed."""

    columns: list[str]
    rows: list[tuple[str, list[int]]]


def predictions_for(predictor: ClassificationPredictor, X: TableLike, y: ArrayLike | None = None) -> ReportData:
    """Predict the rows, and check their classes (n,) if given."""
    batch = predictor.read(X, all_features=True)
    opinion = predictor.opinion(batch)
    truth = None
    if y is not None:
        given = np.asarray(y)
        if given.shape != (len(opinion),):
            raise ValueError(f"y must have shape ({len(opinion)},), one class per row of X, got {given.shape}.")
        truth = columns_from_labels(given, len(predictor.classes), predictor.classes)[0]
    return ReportData(batch, columns_of(batch), opinion, predictor.class_sets(opinion), truth)


def figures_of(
    forest: BaseEstimator,
    predictor: ClassificationPredictor,
    predictions: ReportData,
    importance: Floats,
    training: Codes | None,
) -> ReportFigures:
    """Compute the figures of the report, given importances (p,) and training rows (p, m)."""
    wrong, is_open = predictions.wrong, predictions.is_open
    values = _values(predictor.classes, predictions)
    return ReportFigures(
        n_rows=len(is_open),
        n_open=int(is_open.sum()),
        n_wrong=None if wrong is None else int(wrong.sum()),
        wrong_and_open=None if wrong is None else int((wrong & is_open).sum()),
        metrics=_metric_rows(values),
        values=values,
        confusion=None if predictions.truth is None else _confusion(predictor.classes, predictions),
        places=undecided_places(most_important(importance, predictions.table), is_open),
        novel=novel_rows(forest, predictions.batch.novelty, predictions.table, predictions.is_open),
        model=_model_facts(forest, predictor),
        features=features_of(importance, predictor, predictions.table, training),
    )


def novel_rows(
    forest: BaseEstimator, novelty: PredictionNovelty | None, table: NamedColumns, is_open: NDArray[np.bool_]
) -> NovelRows | None:
    """List the novel rows, the most unusual first.

    None if the forest does not support novelty.
    """
    if novelty is None:
        return None
    level, p = forest.novelty or NOVEL, novelty.p_value
    order = np.lexsort([novelty.within, p])[: int((p <= level).sum())].tolist()
    listed = [
        (row, float(p[row]), name_of(table, int(novelty.feature[row])), bool(is_open[row]))
        for row in order[:LISTED_NOVEL]
    ]
    return NovelRows(level, len(order), listed)


def most_important(importance: Floats, table: NamedColumns) -> NamedColumns:
    """Select the most important columns; rules about others would be chance."""
    order = np.argsort(-importance, kind="stable")[:DESCRIBING].tolist()
    names = tuple(name_of(table, number) for number in order)
    return NamedColumns(names, [table.listed[number] for number in order], table.dates)


def name_of(table: NamedColumns, number: int) -> str:
    """Return the name of a column, or ``x[i]``."""
    return table.names[number] if table.names else f"x[{number}]"


def _values(classes: Array, predictions: ReportData) -> dict[str, float | None]:
    """Compute the metrics of labels and sets.

    Without true classes, only those that do not need them.
    """
    sets = predictions.chosen
    known: dict[str, float | None] = {
        "determinacy": float(np.mean(~predictions.is_open)),
        "mean_set_size": float(sets.sum(axis=1).mean()),
    }
    if predictions.truth is None:
        return known
    y, labels = classes[predictions.truth], classes[predictions.label]
    return {
        "accuracy": float(np.mean(labels == y)),
        "determinacy": known["determinacy"],
        "single_set_accuracy": metrics.single_set_accuracy(y, sets, classes=classes),
        "abstention_accuracy": metrics.abstention_accuracy(y, sets, labels, classes=classes),
        "coverage": metrics.coverage(y, sets, classes=classes),
        "mean_set_size": known["mean_set_size"],
        "u65": metrics.u65(y, sets, classes=classes),
        "u80": metrics.u80(y, sets, classes=classes),
    }


#: Name, format and meaning of each metric.
_MEANING = {
    "accuracy": ("Accuracy", "%", "of all labels are correct"),
    "determinacy": ("Decided", "%", "of the sets contain one class"),
    "single_set_accuracy": ("Accuracy of decided rows", "%", "of these labels are correct"),
    "abstention_accuracy": ("Accuracy of undecided rows", "%", "of these labels are correct"),
    "coverage": ("Coverage", "%", "of the sets contain the true class"),
    "mean_set_size": ("Mean set size", "2", "classes; 1 if all rows are decided"),
    "u65": ("u65", "3", "utility: a correct class counts 1, a set of two classes with the true one 0.65"),
    "u80": ("u80", "3", "utility: like u65, but such a set counts 0.80"),
}


def _metric_rows(values: dict[str, float | None]) -> list[tuple[str, str, str]]:
    """Return name, formatted value and meaning of each metric."""
    lines = []
    for key, value in values.items():
        name, form, meaning = _MEANING[key]
        shown = "–" if value is None else f"{value:.1%}" if form == "%" else f"{value:.{form}f}"
        lines.append((name, shown, meaning))
    return lines


def _confusion(classes: Array, predictions: ReportData) -> Confusion:
    """Count the rows of each true class by set.

    If there are many, sum those of sets with several classes.
    """
    assert predictions.truth is not None
    found: SetConfusion = metrics.confusion_matrix_with_sets(
        classes[predictions.truth], predictions.chosen, classes=classes
    )
    counts, heads, n_classes = found.counts, list(found.column_labels), len(classes)
    if len(heads) > max(WIDEST, n_classes):
        counts = np.hstack([counts[:, :n_classes], counts[:, n_classes:].sum(axis=1, keepdims=True)])
        heads = [*heads[:n_classes], "more than one"]
    return Confusion(heads, [(str(name), row) for name, row in zip(classes.tolist(), counts.tolist(), strict=True)])


def class_tables(
    evaluated: ClassificationEvaluation | None, request: ReportRequest, classes: Array
) -> tuple[dict[str, Any], list[Lines]]:
    """Return metrics by group and costs, also as tables, given the original classes (K,); empty if not evaluated."""
    found, tables = group_tables(evaluated, request)
    if evaluated is not None and request.costs is not None:
        found["costs"] = evaluated.costs(Costs.of(request.costs, classes))
        tables.insert(0, cost_lines(found["costs"]))
    return found, tables


def group_tables(evaluated: HasGroups | None, request: ReportRequest) -> tuple[dict[str, Any], list[Lines]]:
    """Return metrics by group, also as tables; empty if not evaluated."""
    if evaluated is None or not request.by:
        return {}, []
    by, labels = figures_by(evaluated, request.by), request.labels or {}
    tables = [
        group_lines(
            column_name(name, labels), {labels.get(name, {}).get(group, group): groups[group] for group in groups}
        )
        for name, groups in by.items()
    ]
    return {"by": by}, tables


def _model_facts(forest: BaseEstimator, predictor: ClassificationPredictor) -> list[tuple[str, str]]:
    """Return names and values that describe the model."""
    trees = predictor.forest
    caution = f"{predictor.caution:g}" + (", chosen on out-of-bag rows" if isinstance(forest.caution, str) else "")
    if isinstance(forest.caution, str) and predictor.caution == 0:
        caution += ZERO_CAUTION
    classes = [str(name) for name in predictor.classes.tolist()]
    named = ", ".join(classes[:8]) + (f" … ({len(classes):,} in all)" if len(classes) > 8 else "")
    facts = [
        ("Model", type(forest).__name__),
        ("Trees", f"{trees.n_trees:,} with {int(trees.leaf_start[-1]):,} leaves"),
        ("Rule", in_words(predictor.plain_rule)),
        ("Calibration", _calibration_words(predictor)),
        ("Caution", caution),
        ("Decision", in_words(predictor.decision)),
        ("Classes", named),
    ]
    score = predictor.fitted.figures.oob_score
    if score is not None:
        facts.append(("Out-of-bag score", f"{score:.3f}"))
    return facts


def _calibration_words(predictor: ClassificationPredictor) -> str:
    """Describe the calibrator, or why there is none."""
    calibration = predictor.calibration
    if calibration.why:
        return f"none: {calibration.why}"
    return f"fitted to {calibration.n_rows:,} out-of-bag rows"


def in_words(made: Rule | Decision) -> str:
    """Describe a rule or decision by its name and the first sentence of its docstring."""
    about = (type(made).__doc__ or "").strip().split("\n\n")[0].replace("``", "").replace("`", "")
    about = " ".join(about.split())
    if re.search(r"[\[\]=<>Σ]", about):  # formulas would confuse readers
        return about.split(":")[0] if ":" in about else plain_name(made)
    return f"{plain_name(made)}: {about}"


def plain_name(made: Rule | Decision) -> str:
    """Return the name of a rule or decision in words, with the parameters that are not the defaults."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(made).__name__)
    unusual = re.search(r"\((.*)\)$", str(made), re.S)
    return words + (f" ({unusual[1].replace('=', ' ')})" if unusual and unusual[1] else "")


def features_of(importance: Floats, predictor: Predictor, table: NamedColumns, training: Codes | None) -> list[Feature]:
    """Describe the columns of a table, the most important first."""
    found = []
    for number in np.argsort(-importance, kind="stable").tolist():
        column = table.listed[number]
        gaps = column.codes < 0 if isinstance(column, Factors) else np.isnan(column)
        nominal = isinstance(column, Factors)
        found.append(
            Feature(
                name_of(table, number),
                nominal,
                usual_words(predictor, number, training),
                int(gaps.sum()),
                float(importance[number]),
            )
        )
    return found


def columns_of(batch: Batch) -> NamedColumns:
    """Return the columns of a batch.

    Categorical ones with the categories of the training table.
    """
    assert batch.table is not None
    schema, listed = batch.table.schema, list[Any](batch.columns)
    for number, known in enumerate(schema.categories):
        if known is not None:
            listed[number] = Factors(listed[number], known)
    kinds = zip(schema.names or (), schema.kinds, strict=False)
    return NamedColumns(schema.names, listed, {name for name, kind in kinds if kind in DATES})


def page_rule(rule: Rule) -> dict[str, Any]:
    """Describe a rule for the script: ``name`` (None if it does not support the rule), ``options`` and ``text``.

    Examples
    --------
    >>> from hedgerow.rules import Eva
    >>> page_rule(Eva())
    {'name': 'eva', 'options': {'correction': 'log', 'smoothing': 0.1}, 'text': 'Eva'}
    """
    name, options = rule.on_page() or (None, {})
    return {"name": name, "options": dict(sorted(options.items())), "text": plain_name(rule)}


def page_decision(decision: Decision) -> dict[str, Any]:
    """Describe a decision for the script: ``name`` (None if it does not support it), ``options`` and ``text``.

    Examples
    --------
    >>> from hedgerow.decisions import Hurwicz
    >>> page_decision(Hurwicz(0.3))
    {'name': 'hurwicz', 'options': {'optimism': 0.3}, 'text': 'Hurwicz (optimism 0.3)'}
    """
    name, options = decision.on_page() or (None, {})
    return {"name": name, "options": options, "text": plain_name(decision)}
