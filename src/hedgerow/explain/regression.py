"""Explanations of regressors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.cases import Case, KnownRows, Value, number, training_rows
from hedgerow.explain.explanation import Explained, ExplainRequest, check_numbers, finite
from hedgerow.explain.question import missing_features
from hedgerow.explain.shap import ShapValues, explain_values
from hedgerow.explain.words import joined, name_few
from hedgerow.forest.proximity import weight_table
from hedgerow.inference.batch import Batch
from hedgerow.inference.predictor import Predictor, predictor_of
from hedgerow.table.bins import Codes
from hedgerow.table.schema import Array
from hedgerow.tasks.regression.predictor import COVERAGE, RegressionPredictor

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike

Floats = NDArray[np.float64]

#: Samples are explained in blocks of this many.
BLOCK = 256
#: By default larger forests have no SHAP values, because every node is visited for each sample.
MOST_NODES = 1_000_000


class TrainingSupport(NamedTuple):
    """Training rows behind a prediction.

    ``rows`` training rows share a leaf with the sample in some tree; their effective sample size is ``effective``.
    The weighted middle 80% of their targets lie from ``low`` to ``high``.
    """

    rows: int
    effective: float
    low: float
    high: float


class Contributions(NamedTuple):
    """Feature contributions to the prediction and to the width of its bounds; ``base`` has both without features."""

    features: list[str]
    prediction: list[float]
    width: list[float]
    base: dict[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class RegressionExplanation(Explained):
    """Explanation of one prediction of a regressor, as returned by ``forest.explain(X)``.

    Attributes
    ----------
    row : int
        Number of the sample in the table.
    prediction : float
        The mean over trees.
    lower, upper : float or None
        The prediction interval; None if the model has no out-of-bag residuals.
    coverage : float
        Target coverage of the interval.
    mean_lower, mean_upper : float
        Bounds of the prediction, if every leaf had `caution` more rows.
    noise, disagreement : float
        Standard deviations: of targets within leaves (aleatoric), of leaves between trees (epistemic).
    leaf_rows : float
        Median over trees of the number of training rows in the leaf of the sample.
    support : TrainingSupport or None
        The training rows behind the prediction; None if they are not available.
    missing, out_of_range : list of str
        Features used by some tree whose values are missing, or outside the training range.
    values : dict of str to value
        The sample; None where a value is missing or a new category.
    cases : list of Case or None
        The training rows with the largest weights; None if they are not available.
    contributions : Contributions or None
        Feature contributions; None if not requested.
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
    support: TrainingSupport | None
    missing: list[str]
    out_of_range: list[str]
    values: dict[str, Value]
    cases: list[Case] | None
    contributions: Contributions | None
    name: str | None = None

    @property
    def sentence(self) -> str:
        """The prediction, its interval and the main sources of uncertainty, in one or two sentences."""
        start = f"Prediction: {number(self.prediction)}"
        if self.lower is not None and self.upper is not None:
            if math.isfinite(self.lower) and math.isfinite(self.upper):
                start += f", {self.coverage:.0%} interval {number(self.lower)} to {number(self.upper)}"
            else:
                start += f", too few training rows for a {self.coverage:.0%} interval"
        return f"{start}. {self._uncertainty_words()}"

    def _uncertainty_words(self) -> str:
        """Describe the main sources of uncertainty."""
        causes = []
        if self.noise**2 + self.disagreement**2 > 0:
            noisy = self.noise >= self.disagreement
            causes.append(
                f"noise of similar training rows ± {number(self.noise)}"
                if noisy
                else f"tree disagreement ± {number(self.disagreement)}, with few similar training rows"
            )
        if self.missing:
            causes.append(f"{joined(name_few(self.missing))} {'is' if len(self.missing) == 1 else 'are'} missing")
        if self.out_of_range:
            causes.append(f"{joined(name_few(self.out_of_range))} outside the training range")
        return f"Uncertainty: {'; '.join(causes)}." if causes else "All similar training rows have this target."

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data for JSON."""
        plain = vars(self) | {
            "support": None if self.support is None else self.support._asdict(),
            "cases": None if self.cases is None else [case._asdict() for case in self.cases],
            "contributions": None if self.contributions is None else self.contributions._asdict(),
            "sentence": self.sentence,
        }
        return {name: finite(value) for name, value in plain.items()}

    def to_text(self) -> str:
        """Return the explanation as plain text, without colours."""
        from hedgerow.explain.text import text_from_regression

        return text_from_regression(self)

    def html_sections(self) -> str:
        """Return supporting rows, nearest cases and contributions."""
        from hedgerow.explain.html import sections_of_number

        return sections_of_number(self)


def explain_numbers(forest: BaseEstimator, X: TableLike, request: ExplainRequest) -> list[RegressionExplanation]:
    """Explain the predictions of a regressor."""
    for name in ("immutable", "increasing", "decreasing", "wanted", "time"):
        value = getattr(request, name)
        if value is not None and value != ():
            raise ValueError(f"{name} must be None for a regressor, got {value!r}.")
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
    """Explain each sample of a batch that was read with all features."""
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
    """Explain a block of samples."""
    codes, columns = batch.codes, batch.columns
    predicted, bounds, parts = predictor.predicted(batch), predictor.bounds(batch), predictor.variance(codes)
    interval = predictor.interval(batch, coverage) if predictor.has_residuals else None
    sizes = np.median(
        predictor.forest.counts[predictor.forest.leaves(codes) + predictor.forest.leaf_start[:-1]], axis=1
    )
    behind = None if training is None else _behind(predictor, codes, training, cases)
    contributions = _contributions(predictor, codes) if shap else None
    for row in range(len(batch)):
        support, near = (None, None) if behind is None else behind[row]
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
            support=support,
            missing=[predictor.codebook.names[j] for j in missing_features(predictor, codes[:, row])],
            out_of_range=out_of_range(predictor, columns, row),
            values=predictor.codebook.of_row(columns, row),
            cases=near,
            contributions=None if contributions is None else _of_row(predictor, contributions, row),
        )


def _behind(
    predictor: RegressionPredictor, codes: Codes, training: KnownRows, cases: int
) -> list[tuple[TrainingSupport | None, list[Case]]]:
    """Return for each sample (p, n) the rows behind its prediction, and those with the largest weights."""
    threads = predictor.threads(training.codes.shape[1] * predictor.forest.n_trees)
    table = weight_table(predictor.forest, codes, training.codes, training.bags, n_threads=threads)
    found = []
    for row in range(table.shape[0]):
        part = slice(table.indptr[row], table.indptr[row + 1])
        rows, weights = table.indices[part], table.data[part]
        heavy = np.lexsort((rows, -weights))[:cases]
        near = [training.case(predictor, int(rows[at]), float(weights[at])) for at in heavy]
        found.append((_support(rows, weights, training), near))
    return found


def _support(rows: Array, weights: Floats, training: KnownRows) -> TrainingSupport | None:
    """Summarise the training rows with a weight in a prediction."""
    if training.labels is None or not len(rows):
        return None
    targets = training.labels[rows]
    order = np.argsort(targets, kind="stable")
    passed = np.cumsum(weights[order]) / weights.sum()
    at = np.minimum(np.searchsorted(passed, [0.1, 0.9]), len(rows) - 1)
    low, high = targets[order][at].tolist()
    return TrainingSupport(len(rows), float(weights.sum() ** 2 / (weights**2).sum()), low, high)


def _contributions(predictor: RegressionPredictor, codes: Codes) -> tuple[ShapValues, ShapValues]:
    """Compute Shapley values of the prediction and of the width of its bounds, in one pass over the trees."""
    lower, upper = predictor.leaf_bounds()
    leaves = np.column_stack([predictor.leaf_values, upper - lower]) / predictor.forest.n_trees
    threads = predictor.threads(codes.shape[1] * predictor.forest.n_trees)
    values, base = explain_values(
        predictor.forest, codes, iter([(0, predictor.forest.n_trees, leaves)]), 2, n_threads=threads
    )
    return ShapValues(values[..., 0], base[0]), ShapValues(values[..., 1], base[1])


def _of_row(predictor: RegressionPredictor, shap: tuple[ShapValues, ShapValues], row: int) -> Contributions:
    """Return the feature contributions of one sample."""
    prediction, width = shap
    base = {"prediction": float(prediction.base), "width": float(width.base)}
    return Contributions(
        list(predictor.codebook.names), prediction.values[row].tolist(), width.values[row].tolist(), base
    )


def out_of_range(predictor: Predictor, columns: list[Array], row: int) -> list[str]:
    """List the numeric features used by some tree whose values are outside the training range."""
    found = []
    for j in predictor.forest.used_features.tolist():
        if not predictor.fitted.bins.nominal[j]:
            low, high = predictor.codebook.range_of(j)
            if columns[j][row] < low or columns[j][row] > high:
                found.append(predictor.codebook.names[j])
    return found
