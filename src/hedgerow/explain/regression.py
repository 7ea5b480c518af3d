"""Explanations of regressors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.cases import Case, KnownRows, number, training_rows
from hedgerow.explain.explanation import Explained, finite
from hedgerow.explain.question import Array, missing_features
from hedgerow.explain.request import ExplainRequest, check_numbers
from hedgerow.explain.shap import ShapValues, explain_values
from hedgerow.explain.words import joined, name_few
from hedgerow.forest.proximity import weight_table
from hedgerow.inference.batch import Batch
from hedgerow.inference.predictor import predictor_of
from hedgerow.table.bins import Codes
from hedgerow.tasks.regression.predictor import COVERAGE, RegressionPredictor

Floats = NDArray[np.float64]

#: Samples are explained in blocks of this many.
BLOCK = 256
#: SHAP values are computed, unless asked otherwise, for forests of at most this many nodes.
MOST_NODES = 1_000_000


class RestsOn(NamedTuple):
    """The training rows behind a prediction.

    ``rows`` training rows share a leaf with the sample in some tree; they weigh as much as ``effective`` rows of equal
    weight. The middle 80 % of their targets, weighted, lie from ``low`` to ``high``.
    """

    rows: int
    effective: float
    low: float
    high: float


class Adds(NamedTuple):
    """What each feature adds to the prediction and to the width of its bounds, and both if no feature is known."""

    features: list[str]
    prediction: list[float]
    width: list[float]
    base: dict[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class RegressionExplanation(Explained):
    """Why a regressor predicts this number for one sample. Made by ``forest.explain(X)``.

    Attributes
    ----------
    row : int
        Number of the sample in the table.
    prediction : float
        The mean over trees.
    lower, upper : float or None
        The interval that holds `coverage` of such targets; None if the model has no out-of-bag residuals.
    coverage : float
        The share of targets that intervals should hold.
    mean_lower, mean_upper : float
        Bounds of the prediction, if every leaf had `caution` more rows.
    noise, disagreement : float
        Standard deviations: of targets within leaves (aleatoric), of leaves between trees (epistemic).
    leaf_rows : float
        Half of the trees find so many training rows or fewer in the leaf of the sample.
    rests : RestsOn or None
        The training rows behind the prediction; None if they are not known.
    missing, outside : list of str
        Features that trees ask about whose values are missing, or outside the training data.
    values : dict of str to value
        The sample; None where a value is missing or a new category.
    cases : list of Case or None
        The training rows with the largest weights; None if they are not known.
    adds : Adds or None
        What each feature adds; None if it was not asked for.
    name : str or None
        Name of the sample, if it has one.
    """

    row: int
    prediction: float
    lower: float | None
    upper: float | None
    coverage: float
    mean_lower: float
    mean_upper: float
    caution: float
    noise: float
    disagreement: float
    leaf_rows: float
    rests: RestsOn | None
    missing: list[str]
    outside: list[str]
    values: dict[str, Any]
    cases: list[Case] | None
    adds: Adds | None
    name: str | None = None

    @property
    def sentence(self) -> str:
        """The prediction, its interval and what it rests on, in one or two sentences."""
        start = f"It is about {number(self.prediction)}"
        if self.lower is not None and self.upper is not None:
            if math.isfinite(self.lower) and math.isfinite(self.upper):
                ends = f"between {number(self.lower)} and {number(self.upper)}"
                start += f"; {self.coverage:.0%} of such targets lie {ends}".replace("%", " %")
            else:
                start += "; there were too few training rows to say how far off it may be"
        return f"{start}. {self._reason()}"

    def _reason(self) -> str:
        """What the doubt is mostly made of."""
        causes = []
        if self.noise**2 + self.disagreement**2 > 0:
            noisy = self.noise >= self.disagreement
            causes.append(
                f"targets of similar rows differ by about ± {number(self.noise)}"
                if noisy
                else f"trees differ by about ± {number(self.disagreement)}, because few similar rows are known"
            )
        if self.missing:
            causes.append(f"{joined(name_few(self.missing))} {'is' if len(self.missing) == 1 else 'are'} missing")
        if self.outside:
            causes.append(f"{joined(name_few(self.outside))} outside the training data")
        return f"The doubt: {'; '.join(causes)}." if causes else "All similar rows have this target."

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain data for JSON."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain |= {
            "rests": None if self.rests is None else self.rests._asdict(),
            "cases": None if self.cases is None else [case._asdict() for case in self.cases],
            "adds": None if self.adds is None else self.adds._asdict(),
            "sentence": self.sentence,
        }
        return finite(plain)  # type: ignore[no-any-return]

    def to_text(self) -> str:
        """The explanation as lines for a terminal or a letter, without colours."""
        from hedgerow.explain.text import text_from_regression

        return text_from_regression(self)

    def html_sections(self) -> str:
        """Return the rows that it rests on, nearest cases and contributions."""
        from hedgerow.explain.html import sections_of_number

        return sections_of_number(self)


def explain_numbers(forest: Any, X: Any, request: ExplainRequest) -> list[RegressionExplanation]:
    """Explain the predictions of a regressor; arguments about classes are refused."""
    for name in ("immutable", "increasing", "decreasing", "wanted"):
        value = getattr(request, name)
        if value is not None and value != ():
            raise ValueError(f"{name} must be left out for a regressor, got {value!r}; it is about classes")
    check_numbers(request.cases, None)
    predictor: RegressionPredictor = predictor_of(forest)
    training = training_rows(predictor, request.train, request.y_train)
    batch = predictor.read(X, all_features=True)
    coverage = COVERAGE if request.coverage is None else request.coverage
    return list(
        explain_number_batch(predictor, batch, training, cases=request.cases, shap=request.shap, coverage=coverage)
    )


def explain_number_batch(
    predictor: RegressionPredictor,
    batch: Batch,
    training: KnownRows | None,
    *,
    cases: int,
    shap: bool | None = None,
    coverage: float = COVERAGE,
) -> Iterator[RegressionExplanation]:
    """Samples with the codes of all features -> an explanation of each."""
    if training is not None and training.labels is not None:
        training = replace(training, labels=np.asarray(training.labels, dtype=np.float64))
    with_shap = len(predictor.forest.nodes) <= MOST_NODES if shap is None else shap
    for first in range(0, len(batch), BLOCK):
        yield from _block(predictor, batch[first : first + BLOCK], training, first, cases, with_shap, coverage)


def _block(
    predictor: RegressionPredictor,
    batch: Batch,
    training: KnownRows | None,
    first: int,
    cases: int,
    shap: bool,
    coverage: float,
) -> Iterator[RegressionExplanation]:
    """A block of samples -> their explanations."""
    codes, columns = batch.codes, batch.columns
    predicted, bounds, parts = predictor.predicted(batch), predictor.bounds(batch), predictor.variance(codes)
    interval = predictor.interval(batch, coverage) if predictor.has_residuals else None
    sizes = np.median(
        predictor.forest.counts[predictor.forest.leaves(codes) + predictor.forest.leaf_start[:-1]], axis=1
    )
    behind = None if training is None else _behind(predictor, codes, training, cases)
    adds = _added(predictor, codes) if shap else None
    for row in range(len(batch)):
        rests, near = (None, None) if behind is None else behind[row]
        yield RegressionExplanation(
            row=first + row,
            prediction=float(predicted[row]),
            lower=None if interval is None else float(interval[row, 0]),
            upper=None if interval is None else float(interval[row, 1]),
            coverage=coverage,
            mean_lower=float(bounds[row, 0]),
            mean_upper=float(bounds[row, 1]),
            caution=predictor.caution,
            noise=math.sqrt(parts.aleatoric[row]),
            disagreement=math.sqrt(parts.epistemic[row]),
            leaf_rows=float(sizes[row]),
            rests=rests,
            missing=[predictor.codebook.names[j] for j in missing_features(predictor, codes[:, row])],
            outside=_out_of_range(predictor, columns, row),
            values=predictor.codebook.of_row(columns, row),
            cases=near,
            adds=None if adds is None else _of_row(predictor, adds, row),
        )


def _behind(
    predictor: RegressionPredictor, codes: Codes, training: KnownRows, cases: int
) -> list[tuple[RestsOn | None, list[Case]]]:
    """Codes (p, n) -> for each sample the rows behind its prediction, and the heaviest of them."""
    threads = predictor.threads(training.codes.shape[1] * predictor.forest.n_trees)
    table = weight_table(predictor.forest, codes, training.codes, training.bags, n_threads=threads)
    found = []
    for row in range(table.shape[0]):
        part = slice(table.indptr[row], table.indptr[row + 1])
        rows, weights = table.indices[part], table.data[part]
        heavy = np.lexsort((rows, -weights))[:cases]
        near = [training.case(predictor, int(rows[at]), float(weights[at])) for at in heavy]
        found.append((_rests(rows, weights, training), near))
    return found


def _rests(rows: Array, weights: Floats, training: KnownRows) -> RestsOn | None:
    """Training rows and their weights in a prediction -> how many they are, and where their targets lie."""
    if training.labels is None or not len(rows):
        return None
    targets = training.labels[rows]
    order = np.argsort(targets, kind="stable")
    passed = np.cumsum(weights[order]) / weights.sum()
    at = np.minimum(np.searchsorted(passed, [0.1, 0.9]), len(rows) - 1)
    low, high = targets[order][at].tolist()
    return RestsOn(len(rows), float(weights.sum() ** 2 / (weights**2).sum()), low, high)


def _added(predictor: RegressionPredictor, codes: Codes) -> tuple[ShapValues, ShapValues]:
    """Codes (p, n) -> what features add to the prediction, and to the width of its bounds; the trees are read once."""
    lower, upper = predictor.leaf_bounds()
    leaves = np.column_stack([predictor.leaf_values, upper - lower]) / predictor.forest.n_trees
    threads = predictor.threads(codes.shape[1] * predictor.forest.n_trees)
    values, base = explain_values(
        predictor.forest, codes, iter([(0, predictor.forest.n_trees, leaves)]), 2, n_threads=threads
    )
    return ShapValues(values[..., 0], base[0]), ShapValues(values[..., 1], base[1])


def _of_row(predictor: RegressionPredictor, adds: tuple[ShapValues, ShapValues], row: int) -> Adds:
    """One sample -> what each of its features adds."""
    prediction, width = adds
    base = {"prediction": float(prediction.base), "width": float(width.base)}
    return Adds(list(predictor.codebook.names), prediction.values[row].tolist(), width.values[row].tolist(), base)


def _out_of_range(predictor: RegressionPredictor, columns: list[Array], row: int) -> list[str]:
    """Numeric features that trees ask about and whose value lies outside the training data."""
    found = []
    for j in predictor.forest.used_features.tolist():
        if not predictor.fitted.bins.nominal[j]:
            low, high = predictor.codebook.range_of(j)
            if columns[j][row] < low or columns[j][row] > high:
                found.append(predictor.codebook.names[j])
    return found
