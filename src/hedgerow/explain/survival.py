"""Explanations of survival models at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.explain.cases import KnownRows, Value, amount, number, training_rows
from hedgerow.explain.explanation import Explained, ExplainRequest, check_numbers, finite
from hedgerow.explain.question import missing_features
from hedgerow.explain.regression import BLOCK, MOST_NODES, out_of_range
from hedgerow.explain.shap import curve_shap
from hedgerow.explain.words import joined, name_few
from hedgerow.forest.proximity import heaviest_rows, weight_table
from hedgerow.inference.batch import Batch
from hedgerow.inference.predictor import predictor_of
from hedgerow.metrics.survival import read_rows
from hedgerow.table.bins import Codes
from hedgerow.tasks.survival.predictor import SurvivalPredictor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator

    from hedgerow.table.schema import TableLike

Floats = NDArray[np.float64]

#: Survival probability that separates the two predictions of `predict_set`.
THRESHOLD = 0.5
#: The sentence mentions novelty up to this p-value.
NOVEL = 0.01


class FollowedCase(NamedTuple):
    """A training row and its weight in a prediction; time and event are None if they are not available."""

    row: int
    time: float | None
    event: int | None
    weight: float
    values: dict[str, Value]
    name: str | None = None

    @property
    def label(self) -> str | None:
        """The time, followed by + if it is censored, and by the cause if it is not the first."""
        if self.time is None or self.event is None:
            return None
        return number(self.time) + {0: "+", 1: ""}.get(self.event, f" (cause {self.event})")


class SurvivalCurve(NamedTuple):
    """Survival and its bounds at 0 and at ``event_times_``.

    ``at_risk`` is the mean number of training rows in the nodes whose curves are pooled: at the start, and after each
    time.
    """

    times: list[float]
    survival: list[float]
    lower: list[float]
    upper: list[float]
    at_risk: list[float]

    def at(self, time: float) -> tuple[float, float, float, float]:
        """Return survival, its bounds and the rows at risk at a time."""
        place = int(np.searchsorted(self.times[1:], time, side="right"))
        return self.survival[place], self.lower[place], self.upper[place], self.at_risk[place]


class CauseIncidence(NamedTuple):
    """Probability of an event of a cause until a time, and its bounds."""

    cause: int
    probability: float
    lower: float
    upper: float


class SurvivalContributions(NamedTuple):
    """Feature contributions to survival at the time and to the width of its bounds; ``base`` is without features."""

    features: list[str]
    survival: list[float]
    width: list[float]
    base: dict[str, float]


class NovelFeature(NamedTuple):
    """The novelty p-value of a sample, and its most unusual feature."""

    p_value: float
    feature: str


@dataclass(frozen=True, eq=False, repr=False)
class SurvivalExplanation(Explained):
    """Explanation of one prediction of a survival model at a time, as returned by ``forest.explain(X, time=...)``.

    Attributes
    ----------
    row : int
        Number of the sample in the table.
    time : float
        The time.
    unit : str or None
        Unit of times, such as "days", if the name of the column is one or times are differences of dates.
    survival, lower, upper : float
        Survival probability at the time, and its bounds.
    set : list of {"event", "no event"}
        What remains possible by the time, as in `predict_set`; undecided samples have both.
    caution : float
        Pseudo-count of the bounds.
    median, rmst : float
        Median survival time (infinite beyond the last event), and the restricted mean until the time.
    at_risk, node_rows : float
        Mean number of training rows in the nodes whose curves are pooled: at risk after the time, and all.
    incidence : list of CauseIncidence or None
        Probability of an event of each cause until the time; None without competing causes.
    aleatoric, epistemic, vacuity : float
        Uncertainty by source, as in `predict_uncertainty`.
    curve : SurvivalCurve
        The survival curve with its bounds.
    novelty : NovelFeature or None
        Novelty of the sample; None without out-of-bag rows.
    missing, out_of_range : list of str
        Features used by some tree whose values are missing, or outside the training range.
    values : dict of str to value
        The sample; None where a value is missing or a new category.
    cases : list of FollowedCase or None
        The training rows with the largest weights; None if they are not available.
    contributions : SurvivalContributions or None
        Feature contributions; None if not requested.
    name : str or None
        Name of the sample, if it has one.
    """

    row: int
    time: float
    unit: str | None
    survival: float
    lower: float
    upper: float
    set: list[str]
    caution: float
    median: float
    rmst: float
    at_risk: float
    node_rows: float
    incidence: list[CauseIncidence] | None
    aleatoric: float
    epistemic: float
    vacuity: float
    curve: SurvivalCurve
    novelty: NovelFeature | None
    missing: list[str]
    out_of_range: list[str]
    values: dict[str, Value]
    cases: list[FollowedCase] | None
    contributions: SurvivalContributions | None
    name: str | None = None

    @property
    def is_determinate(self) -> bool:
        """True if the event by the time, or survival beyond it, is ruled out."""
        return len(self.set) == 1

    @property
    def when(self) -> str:
        """The time with its unit."""
        return time_words(self.time, self.unit)

    @property
    def sentence(self) -> str:
        """The bounds of survival at the time and the sources of uncertainty, in a few sentences."""
        between = f"between {self.lower:.0%} and {self.upper:.0%}"
        if not self.is_determinate:
            start = f"Undecided at {self.when}: survival {between}."
        elif self.set == ["event"]:
            start = f"Event by {self.when} is more likely: survival {between}."
        else:
            start = f"Survival beyond {self.when} is more likely: {between}."
        return f"{start} {self._evidence_words()}"

    def _evidence_words(self) -> str:
        """Describe the rows at risk, missing and unusual values, and novelty."""
        rows = f"{amount(self.at_risk)} training {'row' if self.at_risk == 1 else 'rows'}"
        sentences = [f"{rows} per node remain at risk after that."]
        if self.missing:
            sentences.append(f"{joined(name_few(self.missing))} {'is' if len(self.missing) == 1 else 'are'} missing.")
        if self.out_of_range:
            is_are = "is" if len(self.out_of_range) == 1 else "are"
            sentences.append(f"{joined(name_few(self.out_of_range))} {is_are} outside the training range.")
        if self.novelty is not None and self.novelty.p_value <= NOVEL:
            sentences.append(f"Novel, most of all {self.novelty.feature} (p-value {self.novelty.p_value:.2g}).")
        return " ".join(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data for JSON; ``docs/reference/explanation-schema.md`` lists them."""
        plain = vars(self) | {
            "determinate": self.is_determinate,
            "curve": self.curve._asdict(),
            "incidence": None if self.incidence is None else [each._asdict() for each in self.incidence],
            "novelty": None if self.novelty is None else self.novelty._asdict(),
            "cases": None if self.cases is None else [case._asdict() for case in self.cases],
            "contributions": None if self.contributions is None else self.contributions._asdict(),
            "sentence": self.sentence,
        }
        return {name: finite(value) for name, value in plain.items()}

    def to_text(self) -> str:
        """Return the explanation as plain text, without colours."""
        from hedgerow.explain.text import text_from_survival

        return text_from_survival(self)

    def html_sections(self) -> str:
        """Return the curve, evidence, nearest cases and contributions."""
        from hedgerow.explain.html import sections_of_survival

        return sections_of_survival(self)


def explain_curves(forest: BaseEstimator, X: TableLike, request: ExplainRequest) -> list[SurvivalExplanation]:
    """Explain the predictions of a survival model at a time."""
    for name in ("immutable", "increasing", "decreasing", "wanted", "coverage"):
        value = getattr(request, name)
        if value is not None and value != ():
            raise ValueError(f"{name} must be None for a survival model, got {value!r}.")
    check_numbers(request.cases, None)
    predictor: SurvivalPredictor = predictor_of(forest)
    batch = predictor.read(X, all_features=True)
    training = known_followed(predictor, request.train, request.y_train)
    found = explain_curve_batch(predictor, batch, training, cases=request.cases, shap=request.shap, time=request.time)
    return list(found)


@dataclass(frozen=True, eq=False)
class FollowedRows:
    """Training rows, with times and events (m,) as far as they are available."""

    rows: KnownRows
    times: Floats | None
    events: NDArray[np.intp] | None

    def case(self, predictor: SurvivalPredictor, row: int, weight: float) -> FollowedCase:
        """Return a row with its weight in a prediction."""
        known = self.times is not None and self.events is not None
        time, event = (float(self.times[row]), int(self.events[row])) if known else (None, None)  # type: ignore[index]
        name = None if self.rows.names is None else self.rows.names[row]
        return FollowedCase(row, time, event, weight, self.rows.values(predictor, row), name)


def known_followed(
    predictor: SurvivalPredictor, train: TableLike | None, y_train: ArrayLike | None
) -> FollowedRows | None:
    """Return the given training rows, or those the forest has kept, or None."""
    rows = training_rows(predictor, train)
    if rows is None:
        return None
    if train is not None:
        y = None if y_train is None else read_rows(y_train, rows.codes.shape[1])
        return FollowedRows(rows, None if y is None else y.times, None if y is None else y.causes)
    kept = predictor.known_rows
    return None if kept is None else FollowedRows(rows, kept.target.given.times, kept.target.given.causes)


def explain_curve_batch(
    predictor: SurvivalPredictor,
    batch: Batch,
    training: FollowedRows | None,
    *,
    cases: int,
    shap: bool | None = None,
    time: float | None = None,
) -> Iterator[SurvivalExplanation]:
    """Explain each sample of a batch that was read with all features."""
    with_shap = len(predictor.forest.nodes) <= MOST_NODES if shap is None else shap
    at = predictor.middle if time is None else float(time)
    for first in range(0, len(batch), BLOCK):
        yield from _block(predictor, batch[first : first + BLOCK], training, first, cases, with_shap, at)


def decide(lower: Floats, upper: Floats) -> NDArray[np.bool_]:
    """Return whether the event, and survival, remain possible (n, 2), given bounds of survival (n,)."""
    return np.column_stack([lower <= THRESHOLD, upper >= THRESHOLD])


def _block(
    predictor: SurvivalPredictor,
    batch: Batch,
    training: FollowedRows | None,
    first: int,
    cases: int,
    shap: bool,
    time: float,
) -> Iterator[SurvivalExplanation]:
    """Explain a block of samples."""
    times = [0.0, *predictor.info.times.tolist()]
    curves, bounds, risk = predictor.curves(batch), predictor.bounds(batch), predictor.at_risk(batch)
    parts, median = predictor.uncertainty(batch, time), predictor.median(curves)
    rmst = predictor.rmst(curves, time) if time > 0 else np.zeros(len(batch))
    incidence = _incidence(predictor, batch, time)
    near = None if training is None or not cases else _nearest(predictor, batch.codes, training, cases)
    contributions = _contributions(predictor, batch.codes, time) if shap else None
    for row in range(len(batch)):
        values = (curves[row], *bounds[row].T, risk[row, 1:])
        curve = SurvivalCurve(times, *(each.tolist() for each in values))
        survival, lower, upper, remain = curve.at(time)
        kept = decide(np.array([lower]), np.array([upper]))[0]
        yield SurvivalExplanation(
            row=first + row,
            time=time,
            unit=unit_of(predictor),
            survival=survival,
            lower=lower,
            upper=upper,
            set=[name for name, possible in zip(("event", "no event"), kept, strict=True) if possible],
            caution=float(predictor.params.caution or 0),
            median=float(median[row]),
            rmst=float(rmst[row]),
            at_risk=remain,
            node_rows=float(risk[row, 0]),
            incidence=None if incidence is None else incidence[row],
            aleatoric=float(parts.aleatoric[row]),
            epistemic=float(parts.epistemic[row]),
            vacuity=float(parts.vacuity[row]),
            curve=curve,
            novelty=_novelty(predictor, batch, row),
            missing=[predictor.codebook.names[j] for j in missing_features(predictor, batch.codes[:, row])],
            out_of_range=out_of_range(predictor, batch.columns, row),
            values=predictor.codebook.of_row(batch.columns, row),
            cases=near[row] if near is not None else None if training is None else [],
            contributions=None if contributions is None else contributions[row],
        )


def time_words(time: float, unit: str | None) -> str:
    """Format a time with its unit."""
    return f"{number(time)} {unit}" if unit else f"time {number(time)}"


def unit_of(predictor: SurvivalPredictor) -> str | None:
    """Return the unit of times that the command line has kept, or None."""
    known = predictor.fitted.learned.last("reading")
    unit = None if known is None else known[1].get("unit")
    return None if unit is None else str(unit)


def _nearest(predictor: SurvivalPredictor, codes: Codes, training: FollowedRows, most: int) -> list[list[FollowedCase]]:
    """Return for each sample (p, n) the training rows with the largest weights, largest first."""
    known = training.rows
    threads = predictor.threads(known.codes.shape[1] * predictor.forest.n_trees)
    table = weight_table(predictor.forest, codes, known.codes, known.bags, most=most, n_threads=threads)
    rows, weights = heaviest_rows(table, most)
    pairs = [zip(near.tolist(), heavy.tolist(), strict=True) for near, heavy in zip(rows, weights, strict=True)]
    return [[training.case(predictor, row, weight) for row, weight in each if row >= 0] for each in pairs]


def _incidence(predictor: SurvivalPredictor, batch: Batch, time: float) -> list[list[CauseIncidence]] | None:
    """Return the cumulative incidence of each cause for each sample; None without competing causes."""
    if predictor.info.n_causes == 1:
        return None
    column = predictor.columns_of(time)[0]
    of_samples = np.concatenate(
        [predictor.incidence(batch)[:, column, :, None], predictor.incidence_bounds(batch)[:, column]], axis=2
    )
    return [[CauseIncidence(cause, *each) for cause, each in enumerate(causes, 1)] for causes in of_samples.tolist()]


def _contributions(predictor: SurvivalPredictor, codes: Codes, time: float) -> list[SurvivalContributions]:
    """Return the feature contributions of each sample (p, n)."""
    survival, width = curve_shap(predictor, codes, time)
    names, base = list(predictor.codebook.names), {"survival": float(survival.base), "width": float(width.base)}
    each = zip(survival.values.tolist(), width.values.tolist(), strict=True)
    return [SurvivalContributions(names, of_survival, of_width, base) for of_survival, of_width in each]


def _novelty(predictor: SurvivalPredictor, batch: Batch, row: int) -> NovelFeature | None:
    """Return the novelty of a sample."""
    if batch.novelty is None:
        return None
    p_value = float(batch.novelty.p_value[row])
    return None if math.isnan(p_value) else NovelFeature(p_value, predictor.codebook.names[batch.novelty.feature[row]])
