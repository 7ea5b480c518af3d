"""Summary of a fitted model, as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.decisions import decision_in_force
from hedgerow.inference.predictor import Predictor, predictor_of
from hedgerow.tasks.classification.predictor import ClassificationPredictor
from hedgerow.util.text import in_groups, printable

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

#: Number of features shown.
MOST_FEATURES = 12
#: Number of classes named.
MOST_CLASSES = 8

_STYLE = """
.hedgerow-about{font:14px/1.5 system-ui,sans-serif;margin:.5rem 0;color:#1d2b1f;background:#fff;padding:.2rem 1rem}
.hedgerow-about h4{font-size:1rem;margin:.6rem 0 .2rem}
.hedgerow-about table{border-collapse:collapse}
.hedgerow-about th,.hedgerow-about td{text-align:left;font-weight:normal;padding:.1rem .8rem .1rem 0;vertical-align:top}
.hedgerow-about th{color:#526155}
.hedgerow-about i{display:inline-block;height:.7em;background:#2e7d4f}
@media (prefers-color-scheme:dark){.hedgerow-about{color:#e3ebe4;background:#18201a}.hedgerow-about th{color:#9fb0a2}}
""".strip()


@dataclass(frozen=True)
class Summary:
    """Summary of a fitted model; notebooks display it as a table.

    Attributes
    ----------
    title : str
        The class of the model.
    facts : tuple of (str, str)
        Facts about the data, the trees, the opinion and out-of-bag rows.
    importances : tuple of (str, float)
        The most important features, with their shares of the decrease in impurity.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    importances: tuple[tuple[str, float], ...]

    def to_text(self) -> str:
        """Return the summary as plain text."""
        wide = max(len(name) for name, _ in (*self.facts, *self.importances))
        lines = [self.title, "", *(f"{name:<{wide}}  {value}" for name, value in self.facts)]
        shares = [f"{name:<{wide}}  {share:6.1%}" for name, share in self.importances]
        return "\n".join(lines + (["", "Share of the decrease in impurity", *shares] if shares else []))

    def to_html(self) -> str:
        """Return the summary as a self-contained fragment of HTML; every name is escaped."""
        facts = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self.facts)
        most = max((share for _, share in self.importances), default=0.0) or 1.0
        shares = "".join(
            f'<tr><th>{escape(name)}</th><td><i style="width:{12 * share / most:.2f}rem"></i> {share:.1%}</td></tr>'
            for name, share in self.importances
        )
        features = f"<h4>Share of the decrease in impurity</h4><table>{shares}</table>" if shares else ""
        return (
            f'<section class="hedgerow-about"><style>{_STYLE}</style>'
            f"<h4>{escape(self.title)}</h4><table>{facts}</table>{features}</section>"
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return self.to_text()


def describe(model: BaseEstimator, *, uncertainty: bool = True) -> Summary:
    """Summarise a fitted model: data, trees, decision rule, out-of-bag uncertainty and features.

    Parameters
    ----------
    model : fitted tree or forest
        A classifier, a regressor, or an unsupervised forest; for a multi-output model, pass one of ``outputs_``.
    uncertainty : bool, default=True
        Whether to compute the share of undecided out-of-bag rows, which takes as long as a prediction for all training
        rows. It is available only for forests that were fitted in this process.

    Returns
    -------
    Summary
        ``print`` writes it, a notebook shows it, ``to_html`` returns it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import RandomForestClassifier
    >>> from hedgerow.explain import describe
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> summary = describe(RandomForestClassifier(20, random_state=0).fit(X, y))
    >>> dict(summary.facts)["trained on"], summary.importances[0][0]
    ('150 rows, 4 features', 'petal length (cm)')
    """
    predictor = predictor_of(model)
    parts = [_data(predictor), _trees(predictor)]
    if predictor.combines_leaves:
        parts += [_opinion(predictor), _uncertainty(predictor) if uncertainty else {}]
    score = predictor.fitted.figures.oob_score
    if score is not None:
        parts.append({"out-of-bag score": f"{score:.3f}"})
    facts = tuple((name, printable(value)) for part in parts for name, value in part.items())
    return Summary(type(model).__name__, facts, _importances(predictor))


def _data(predictor: Predictor) -> dict[str, str]:
    """Describe the training table."""
    schema, n_rows, names = predictor.fitted.schema, predictor.n_training_rows, predictor.classes.tolist()
    nominal = sum(schema.nominal)
    rows = "unknown number of rows" if n_rows is None else f"{n_rows:,} rows{in_groups(predictor.n_training_groups)}"
    facts = {
        "trained on": f"{rows}, {schema.n_features:,} features" + (f", {nominal:,} categorical" if nominal else "")
    }
    if names:
        more = f" … and {len(names) - MOST_CLASSES:,} more" if len(names) > MOST_CLASSES else ""
        facts["classes"] = f"{len(names):,}: {', '.join(map(str, names[:MOST_CLASSES]))}{more}"
    return facts


def _trees(predictor: Predictor) -> dict[str, str]:
    """Describe the number and the size of the trees."""
    forest = predictor.forest
    leaves, depths = np.diff(forest.leaf_start), forest.depth
    value = f"{forest.n_trees:,}, with {leaves.mean():,.0f} leaves and a depth of {depths.mean():.1f} on average"
    return {"trees": value if forest.n_trees > 1 else f"1, with {leaves[0]:,} leaves and a depth of {depths[0]}"}


def _opinion(predictor: ClassificationPredictor) -> dict[str, str]:
    """Describe rule, caution, decision and calibration."""
    calibrated = (
        "calibrated on out-of-bag rows" if predictor.is_calibrated else f"uncalibrated ({predictor.calibration.why})"
    )
    decided = decision_in_force(predictor.given_decision, predictor.plain_rule)
    return {
        "opinion": f"{predictor.plain_rule!r}, caution {_caution(predictor)}, decision {decided}",
        "probabilities": calibrated,
    }


def _caution(predictor: ClassificationPredictor) -> str:
    """Format the caution.

    A loaded model may not have the rows from which "auto" chooses it.
    """
    try:
        return f"{predictor.caution:g}"
    except (AttributeError, ValueError):
        return "unknown"


def _uncertainty(predictor: ClassificationPredictor) -> dict[str, str]:
    """Describe the sets of out-of-bag rows; empty if there are none."""
    rows = predictor.fitted.oob_rows
    if rows is None or rows.target.known is not None:
        return {}
    trial = predictor.try_out(
        predictor.oob_evidence(), predictor.plain_rule, predictor.caution, predictor.given_decision
    )
    sets, truth = trial.sets, trial.judged.labels
    single, covers = sets.sum(axis=1) == 1, sets[np.arange(len(sets)), truth]
    right = f", {covers[single].mean():.1%} of them correctly" if single.any() else ""
    return {"out of bag": f"{single.mean():.1%} of rows decided{right}; coverage of sets {covers.mean():.1%}"}


def _importances(predictor: Predictor) -> tuple[tuple[str, float], ...]:
    """Return the most important features.

    None for unsupervised forests, whose splits are random.
    """
    if not predictor.predicts or predictor.fitted.criterion is None:
        return ()
    shares = np.nan_to_num(predictor.fitted.importances().mean(axis=0))
    order = np.argsort(-shares, kind="stable")[:MOST_FEATURES]
    name_of = predictor.fitted.trees()[0].name_of
    used = [feature for feature in order.tolist() if shares[feature] > 0]
    return tuple((printable(name_of(feature)), float(shares[feature])) for feature in used)
