"""Summary of a fitted model, as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from hedgerow.decisions import decision_in_force
from hedgerow.inference.predictor import predictor_of
from hedgerow.util.text import printable

#: Features that are shown.
MOST_FEATURES = 12
#: Classes that are named.
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
    """One page about a fitted model; a notebook shows it as a table.

    Attributes
    ----------
    title : str
        The class of the model.
    facts : tuple of (str, str)
        What is said about the data, the trees, the opinion and the rows outside the bags.
    importances : tuple of (str, float)
        The features that reduce impurity most, and their shares.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    importances: tuple[tuple[str, float], ...]

    def to_text(self) -> str:
        """The page as lines."""
        wide = max(len(name) for name, _ in (*self.facts, *self.importances))
        lines = [self.title, "", *(f"{name:<{wide}}  {value}" for name, value in self.facts)]
        shares = [f"{name:<{wide}}  {share:6.1%}" for name, share in self.importances]
        return "\n".join(lines + (["", "Share of the decrease in impurity", *shares] if shares else []))

    def to_html(self) -> str:
        """The page as a self-contained fragment of HTML; every name is escaped."""
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


def describe(model: Any, *, doubt: bool = True) -> Summary:
    """One page about a fitted model: its data, its trees, how it decides, its out-of-bag doubt, its features.

    Parameters
    ----------
    model : fitted tree or forest
        A classifier, a regressor, or trees without labels; of several outputs, one of ``outputs_``.
    doubt : bool, default=True
        Whether to ask how many rows outside the bags are left undecided, which takes as long as a prediction for all
        training rows. Only forests fitted in this process know it.

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
    >>> about = describe(RandomForestClassifier(20, random_state=0).fit(X, y))
    >>> dict(about.facts)["trained on"], about.importances[0][0]
    ('150 rows, 4 features', 'petal length (cm)')
    """
    predictor = predictor_of(model)
    parts = [_data(predictor), _trees(predictor)]
    if predictor.combines_leaves:
        parts += [_opinion(predictor), _uncertainty(predictor) if doubt else {}]
    score = predictor.fitted.figures.oob_score
    if score is not None:
        parts.append({"out-of-bag score": f"{score:.3f}"})
    facts = tuple((name, printable(value)) for part in parts for name, value in part.items())
    return Summary(type(model).__name__, facts, _importances(predictor))


def _data(predictor: Any) -> dict[str, str]:
    """What the training table was like."""
    schema, n_rows, names = predictor.fitted.schema, predictor.n_training_rows, predictor.classes.tolist()
    nominal = sum(schema.nominal)
    rows = "rows not known" if n_rows is None else f"{n_rows:,} rows"
    facts = {"trained on": f"{rows}, {schema.n_features:,} features" + (f", {nominal:,} nominal" if nominal else "")}
    if names:
        more = f" … and {len(names) - MOST_CLASSES:,} more" if len(names) > MOST_CLASSES else ""
        facts["classes"] = f"{len(names):,}: {', '.join(map(str, names[:MOST_CLASSES]))}{more}"
    return facts


def _trees(predictor: Any) -> dict[str, str]:
    """How many trees there are, and how large they are."""
    forest = predictor.forest
    leaves, depths = np.diff(forest.leaf_start), forest.depth
    value = f"{forest.n_trees:,}, with {leaves.mean():,.0f} leaves and a depth of {depths.mean():.1f} on average"
    return {"trees": value if forest.n_trees > 1 else f"1, with {leaves[0]:,} leaves and a depth of {depths[0]}"}


def _opinion(predictor: Any) -> dict[str, str]:
    """How leaves become answers."""
    mapped = (
        "mapped by what out-of-bag rows teach"
        if predictor.is_calibrated
        else f"as the leaves say ({predictor.calibration.why})"
    )
    decided = decision_in_force(predictor.given_decision, predictor.plain_rule)
    return {
        "opinion": f"{predictor.plain_rule!r}, caution {_caution(predictor)}, decision {decided}",
        "probabilities": mapped,
    }


def _caution(predictor: Any) -> str:
    """The caution in use; a loaded model may not know which one its rows would choose."""
    try:
        return f"{predictor.caution:g}"
    except (AttributeError, ValueError):
        return "not known"


def _uncertainty(predictor: Any) -> dict[str, str]:
    """How the model decides about rows outside the bags; nothing if it has none."""
    rows = predictor.fitted.oob_rows
    if rows is None or rows.target.known is not None:
        return {}
    trial, used = predictor.try_out(
        predictor.oob_evidence(), predictor.plain_rule, predictor.caution, predictor.given_decision
    )
    sets, truth = trial.sets, rows.target.labels[used]
    single, holds = sets.sum(axis=1) == 1, sets[np.arange(len(sets)), truth]
    right = f", {holds[single].mean():.1%} of them right" if single.any() else ""
    return {"out of bag": f"{single.mean():.1%} of rows decided{right}; {holds.mean():.1%} of sets hold the true class"}


def _importances(predictor: Any) -> tuple[tuple[str, float], ...]:
    """The features that matter most; none for trees without labels, which were grown on noise."""
    if not predictor.predicts or predictor.fitted.criterion is None:
        return ()
    shares = np.nan_to_num(predictor.fitted.importances().mean(axis=0))
    order = np.argsort(-shares, kind="stable")[:MOST_FEATURES]
    name_of = predictor.fitted.trees()[0].name_of
    used = [feature for feature in order.tolist() if shares[feature] > 0]
    return tuple((printable(name_of(feature)), float(shares[feature])) for feature in used)
