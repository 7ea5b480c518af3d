"""Metrics and facts of a report."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import metrics
from hedgerow.belief.opinion import Opinion
from hedgerow.decisions import Decision, columns_from_labels
from hedgerow.explain.question import chosen_classes
from hedgerow.explain.report.places import Place, undecided_places
from hedgerow.explain.report.values import usual_words
from hedgerow.inference.batch import Batch
from hedgerow.inference.novelty import PredictionNovelty
from hedgerow.inference.predictor import Predictor
from hedgerow.metrics import SetConfusion
from hedgerow.rules import Rule
from hedgerow.table import Factors, NamedColumns
from hedgerow.table.bins import Codes
from hedgerow.table.codebook import DATES
from hedgerow.tasks.classification.predictor import ClassificationPredictor

Floats = NDArray[np.float64]

#: If the confusion matrix has more columns, those of larger sets are added up.
WIDEST = 8
#: The level of p-values at which a row is a stranger, unless the forest has one, and how many strangers are listed.
STRANGE, LISTED_STRANGERS = 0.01, 50
#: What it means that 0 was chosen.
ZERO_CAUTION = "; no other would have made sets better, so intervals have no width"
#: Undecided rows are described by this many features, the most important ones.
DESCRIBING = 12


@dataclass(frozen=True, eq=False)
class ReportData:
    """The answers of a forest for n rows, and their true classes if known."""

    batch: Batch
    table: NamedColumns  # the same rows, with names that a reader knows
    opinion: Opinion
    chosen: NDArray[np.bool_]  # (n, K)
    truth: NDArray[np.int64] | None  # (n,): labels of the true classes

    @property
    def label(self) -> NDArray[np.int64]:
        """(n,): label of the most probable class."""
        return np.asarray(self.opinion.probability.argmax(axis=1))

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """(n,): whether more than one class remains."""
        return np.asarray(self.chosen.sum(axis=1) > 1)

    @property
    def wrong(self) -> NDArray[np.bool_] | None:
        """(n,): whether the label is not the true class."""
        return None if self.truth is None else np.asarray(self.label != self.truth)


@dataclass(frozen=True)
class Feature:
    """A column: its kind, its values in training, its missing values here, and its importance."""

    name: str
    nominal: bool
    training: str
    missing: int
    importance: float


@dataclass(frozen=True)
class NovelRows:
    """Rows that are not like the training rows: those whose p-value is at most the level."""

    level: float
    number: int
    listed: list[tuple[int, float, str, bool]]  # row, p-value, strangest feature, whether the answer is doubtful


@dataclass(frozen=True, eq=False)
class ReportFigures:
    """Everything in a report except the cases themselves."""

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
    """Rows of each true class by set, as they are shown."""

    columns: list[str]
    rows: list[tuple[str, list[int]]]


def predictions_for(predictor: ClassificationPredictor, X: Any, y: Any = None) -> ReportData:
    """A forest, n rows and perhaps their classes (n,) -> its answers."""
    batch = predictor.read(X, all_features=True)
    opinion = predictor.opinion(batch)
    truth = None
    if y is not None:
        given = np.asarray(y)
        if given.shape != (len(opinion),):
            raise ValueError(
                f"y must have one class for each of the {len(opinion)} rows of X, got shape {given.shape};"
                " leave it out if the classes are not known"
            )
        truth = columns_from_labels(given, len(predictor.classes), predictor.classes)[0]
    return ReportData(batch, columns_of(batch), opinion, chosen_classes(predictor, opinion), truth)


def figures_of(
    forest: Any, predictor: ClassificationPredictor, predictions: ReportData, importance: Floats, training: Codes | None
) -> ReportFigures:
    """A forest, its answers, the importance of its features (p,), training rows (p, m) -> figures of the report."""
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
    forest: Any, novelty: PredictionNovelty | None, table: NamedColumns, is_open: NDArray[np.bool_]
) -> NovelRows | None:
    """How unusual rows are -> those that are strangers, the strangest first; None if the forest cannot tell."""
    if novelty is None:
        return None
    level, p = forest.novelty or STRANGE, novelty.p_value
    order = np.lexsort([novelty.within, p])[: int((p <= level).sum())].tolist()
    listed = [
        (row, float(p[row]), name_of(table, int(novelty.feature[row])), bool(is_open[row]))
        for row in order[:LISTED_STRANGERS]
    ]
    return NovelRows(level, len(order), listed)


def most_important(importance: Floats, table: NamedColumns) -> NamedColumns:
    """The most important columns, with names; rules about the others would be chance."""
    order = np.argsort(-importance, kind="stable")[:DESCRIBING].tolist()
    names = tuple(name_of(table, number) for number in order)
    return NamedColumns(names, [table.listed[number] for number in order], table.dates)


def name_of(table: NamedColumns, number: int) -> str:
    """The column's name, or ``x[i]``."""
    return table.names[number] if table.names else f"x[{number}]"


def _values(classes: NDArray[Any], predictions: ReportData) -> dict[str, float | None]:
    """Answers -> figures of labels and sets; without true classes, only those that do not need them."""
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


#: The name of each figure, its format, and what it means.
_MEANING = {
    "accuracy": ("Accuracy", "%", "of all labels are right"),
    "determinacy": ("Decided", "%", "of the rows: one class remains"),
    "single_set_accuracy": ("Right where decided", "%", "of the decided rows"),
    "abstention_accuracy": ("Right where undecided", "%", "of the labels, if they were used anyway"),
    "coverage": ("Coverage", "%", "of the sets hold the true class"),
    "mean_set_size": ("Classes per set", "2", "on average; 1 is fully decided"),
    "u65": ("u65", "3", "a right pair of classes is worth 0.65, a right single class 1"),
    "u80": ("u80", "3", "the same, but a right pair of classes is worth 0.80"),
}


def _metric_rows(values: dict[str, float | None]) -> list[tuple[str, str, str]]:
    """Figures -> name, formatted value, meaning."""
    lines = []
    for key, value in values.items():
        name, form, codebook = _MEANING[key]
        shown = "–" if value is None else f"{100 * value:.1f} %" if form == "%" else f"{value:.{form}f}"
        lines.append((name, shown, codebook))
    return lines


def _confusion(classes: NDArray[Any], predictions: ReportData) -> Confusion:
    """Answers -> rows of each true class by set; if there are many larger sets, they are added up."""
    assert predictions.truth is not None
    found: SetConfusion = metrics.confusion_matrix_with_sets(
        classes[predictions.truth], predictions.chosen, classes=classes
    )
    counts, heads, n_classes = found.counts, list(found.column_labels), len(classes)
    if len(heads) > max(WIDEST, n_classes):
        counts = np.hstack([counts[:, :n_classes], counts[:, n_classes:].sum(axis=1, keepdims=True)])
        heads = [*heads[:n_classes], "more than one"]
    return Confusion(heads, [(str(name), row) for name, row in zip(classes.tolist(), counts.tolist(), strict=True)])


def _model_facts(forest: Any, predictor: ClassificationPredictor) -> list[tuple[str, str]]:
    """A forest -> names and values that describe the model."""
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
        ("Calibration", _mapin_words(predictor)),
        ("Caution", caution),
        ("Decision", in_words(predictor.decision)),
        ("Classes", named),
    ]
    score = predictor.fitted.figures.oob_score
    if score is not None:
        facts.append(("Out-of-bag score", f"{score:.3f}"))
    return facts


def _mapin_words(predictor: ClassificationPredictor) -> str:
    """Whether probabilities are mapped by what out-of-bag rows teach, and if not, why."""
    learned = predictor.calibration
    if learned.why:
        return f"none: {learned.why}"
    return f"probabilities are mapped by what was learned on {learned.n_rows:,} out-of-bag rows"


def in_words(made: Any) -> str:
    """A rule or decision -> its name, and the first sentence about it."""
    about = (type(made).__doc__ or "").strip().split("\n\n")[0].replace("``", "").replace("`", "")
    about = " ".join(about.split())
    if re.search(r"[\[\]=<>Σ]", about):  # a formula is for another page
        return about.split(":")[0] if ":" in about else plain_name(made)
    return f"{plain_name(made)}: {about}"


def plain_name(made: Any) -> str:
    """A rule or decision -> the words of its name, and the parameters that are not the usual ones."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(made).__name__)
    unusual = re.search(r"\((.*)\)$", str(made), re.S)
    return words + (f" ({unusual[1].replace('=', ' ')})" if unusual and unusual[1] else "")


def features_of(importance: Floats, predictor: Predictor, table: NamedColumns, training: Codes | None) -> list[Feature]:
    """A table -> its columns, the most important first."""
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
    """Rows that a model has read -> their columns, nominal ones with the categories of the training table."""
    assert batch.table is not None
    schema, listed = batch.table.schema, list[Any](batch.columns)
    for number, known in enumerate(schema.categories):
        if known is not None:
            listed[number] = Factors(listed[number], known)
    kinds = zip(schema.names or (), schema.kinds, strict=False)
    return NamedColumns(schema.names, listed, {name for name, kind in kinds if kind in DATES})


def page_rule(rule: Rule) -> dict[str, Any]:
    """A rule -> ``name`` in the script (None if the script does not have it), ``options`` and ``text``.

    Examples
    --------
    >>> from hedgerow.rules import Eva
    >>> page_rule(Eva())
    {'name': 'eva', 'options': {'correction': 'log', 'smoothing': 0.1}, 'text': 'Eva'}
    """
    name, options = rule.on_page() or (None, {})
    return {"name": name, "options": dict(sorted(options.items())), "text": plain_name(rule)}


def page_decision(decision: Decision) -> dict[str, Any]:
    """A decision -> ``name`` in the script (None if the script does not have it), ``options`` and ``text``.

    Examples
    --------
    >>> from hedgerow.decisions import Hurwicz
    >>> page_decision(Hurwicz(0.3))
    {'name': 'hurwicz', 'options': {'optimism': 0.3}, 'text': 'Hurwicz (optimism 0.3)'}
    """
    name, options = decision.on_page() or (None, {})
    return {"name": name, "options": options, "text": plain_name(decision)}
