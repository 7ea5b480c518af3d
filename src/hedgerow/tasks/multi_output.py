"""Multi-output task: its target and predictor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.errors import ModelFileError
from hedgerow.fit.run import FitRun
from hedgerow.fit.task import SupervisedTask
from hedgerow.forest.forest import Forest
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.multioutput import MultiOutputLeaves
from hedgerow.forest.target import CoreTarget, ReadTarget, TargetInfo, Weighing, columns_of, read_weights
from hedgerow.inference.batch import Batch
from hedgerow.inference.fitted import Fitted, fitted_of, publish
from hedgerow.inference.oob import Trace
from hedgerow.inference.predictor import Predictor
from hedgerow.params.table import Params, TreeEstimator
from hedgerow.storage.model import join_outputs, split_outputs
from hedgerow.storage.parameters import Decoder, Encoder
from hedgerow.storage.state import checked_score
from hedgerow.storage.values import Arrays, Once
from hedgerow.table import Schema
from hedgerow.table.bins import Codes
from hedgerow.table.schema import TargetLike
from hedgerow.util.runtime import computed

Floats = NDArray[np.float64]


class MultiOutput(SupervisedTask):
    """Multi-output classification or regression, with one forest for all outputs.

    Trees are grown for all outputs together, and evaluated per output. `Fitted.outputs` has an ordinary fit per output.

    Parameters
    ----------
    inner : SupervisedTask
        The task of a single output.
    """

    name = "multi-output"
    file_keys = frozenset({"outputs", "oob_score_"})

    def __init__(self, inner: SupervisedTask) -> None:
        self._inner = inner

    def read_y(
        self,
        model: TreeEstimator,
        y: TargetLike | None,
        sample_weight: ArrayLike | None,
        n_rows: int,
        before: Fitted | None = None,
        classes: ArrayLike | None = None,
    ) -> ReadTarget:
        """Read all columns and weights of rows with positive weight."""
        columns = columns_of(y) or []
        weights = read_weights(sample_weight, n_rows)
        for column, class_weight in zip(columns, _class_weights(model, len(columns)), strict=True):
            weights = self._inner.weigh_column(column, weights, n_rows, class_weight)
        earlier = [None] * len(columns) if before is None else before.outputs
        pairs = zip(columns, earlier, strict=True)
        read = [self._inner.read_column(model, column, weights, n_rows, each) for column, each in pairs]
        return ReadTarget(MultiOutputTarget(tuple(each.target for each in read)), read[0].kept)

    def first_classes(self, classes: Any) -> NoReturn:
        """Raise: `partial_fit` does not support multi-output models."""
        _refuse_more_rows()

    def read_more_y(
        self,
        model: TreeEstimator,
        y: TargetLike | None,
        sample_weight: ArrayLike | None,
        n_rows: int,
        before: Fitted,
        classes: ArrayLike | None = None,
    ) -> NoReturn:
        """Raise: `partial_fit` does not support multi-output models."""
        _refuse_more_rows()

    def growth(self, model: TreeEstimator, target: MultiOutputTarget, schema: Schema) -> GrowthParams:
        """Return the growth parameters."""
        if model.monotonic_cst is not None:
            raise ValueError(
                f"monotonic_cst must be None for multi-output y, got {model.monotonic_cst!r}. Fit a forest per output."
            )
        settings = self._inner.growth(model, target.outputs[0], schema)
        if not isinstance(settings.criterion, str) and settings.criterion.in_sklearn is None:
            allowed = (
                "'squared_error', 'absolute_error' or 'poisson'"
                if settings.criterion.of_numbers
                else "'gini' or 'entropy'"
            )
            raise ValueError(
                f"criterion must be {allowed} for multi-output y, got {model.criterion!r}. Fit a forest per output."
            )
        return settings

    def oob_trace(self, run: FitRun) -> MultiOutputTrace:
        """Return a trace of the mean out-of-bag error of the outputs."""
        return MultiOutputTrace([self._inner.oob_trace(each) for each in _each(run)])

    def oob_error(self, forest: Forest, run: FitRun) -> float:
        """Return the mean out-of-bag error of the outputs."""
        pairs = zip(forest.outputs(), _each(run), strict=True)
        return float(np.mean([self._inner.oob_error(output, each) for output, each in pairs]))

    def predictor(self, fitted: Fitted, params: Params, estimator: type) -> MultiOutputPredictor:
        """Return the predictor of all outputs."""
        return MultiOutputPredictor(self._inner.predictor, fitted, params, estimator)

    def dump(self, model: TreeEstimator) -> tuple[dict[str, Any], Arrays]:
        """Return the JSON and arrays of each output, and the common out-of-bag score."""
        outputs, arrays = join_outputs(self._inner.dump(output) for output in model.outputs_)
        score = Encoder().encode(fitted_of(model).figures.oob_score, "oob_score_")
        return {"outputs": outputs, "oob_score_": score}, arrays

    def load(self, estimator: type, given: dict[str, Any], arrays: Arrays, once: Once | None = None) -> Any:
        """Read a fitted model; all outputs share one table and one set of trees."""
        once = Once() if once is None else once
        models = [self._inner.load(estimator, *output, once) for output in split_outputs(given, arrays)]
        score = Decoder({}, 1).decode(given["oob_score_"])
        score = None if score is None else checked_score(score)
        return publish(models[0], _whole([fitted_of(model) for model in models], score))


def _whole(outputs: list[Fitted], score: float | None) -> Fitted:
    """Join the fits of all outputs; raise unless they have the same trees."""
    first = outputs[0]
    for output in outputs[1:]:
        same = output.forest.structure is first.forest.structure  # it was read once
        if (
            not same
            or output.bins is not first.bins
            or (output.seed, output.fingerprint) != (first.seed, first.fingerprint)
            or output.learned.last("novelty") != first.learned.last("novelty")
        ):
            raise ModelFileError("malformed 'outputs': all outputs must share table, trees, bags and novelty scores")
    predictions = [output.figures.oob_predictions for output in outputs]
    lengths = {None if each is None else len(each) for each in predictions}
    if len(lengths) > 1:
        raise ModelFileError(f"malformed 'outputs': numbers of out-of-bag predictions must agree, got {lengths}")
    leaves = MultiOutputLeaves(tuple(output.forest.evidence for output in outputs))
    info = MultiOutputInfo(first.info.names, tuple(output.info for output in outputs))
    figures = replace(first.figures, oob_score=score, oob_predictions=None)
    forest = Forest(first.forest.structure, leaves)
    return replace(first, forest=forest, info=info, figures=figures, outputs=tuple(outputs))


def _class_weights(model: TreeEstimator, n_outputs: int) -> list[Any]:
    """Return ``class_weight`` of each output."""
    given = model.get_params(deep=False).get("class_weight")
    if given == "balanced_subsample" or isinstance(given, dict):
        raise ValueError(f"class_weight must be None, 'balanced' or a list with one entry per output, got {given!r}.")
    if not isinstance(given, list):
        return [given] * n_outputs
    if len(given) != n_outputs:
        raise ValueError(
            f"class_weight must have one entry for each of {n_outputs} outputs, got {len(given)}: number of elements in"
            " class_weight should match number of outputs."
        )
    return given


def _each(run: FitRun) -> list[FitRun]:
    """Return the run of each output alone."""
    rows = run.rows
    return [replace(run, rows=replace(rows, target=target)) for target in rows.target.outputs]


def _refuse_more_rows() -> NoReturn:
    raise ValueError("partial_fit does not support multi-output models. Use model.outputs_[i].")


# ---- Multi-output targets --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MultiOutputInfo(TargetInfo):
    """Target info of each output, in the order of the columns of y.

    `names` are those of the first output.
    """

    outputs: tuple[TargetInfo, ...]  # type: ignore[misc]


@dataclass(frozen=True)
class MultiOutputCore(CoreTarget):
    """Targets of all outputs, as the core takes them.

    The weight of a row is the same in all outputs.
    """

    outputs: tuple[CoreTarget, ...]

    @computed
    def n_classes(self) -> int:
        """Number of classes of the first output, which is the one whose rows are counted."""
        return self.outputs[0].n_classes

    @property
    def parts(self) -> tuple[CoreTarget, ...]:
        """Target of each output."""
        return self.outputs

    def fields(self, criterion: Any) -> dict[str, Any]:
        """Return the fields of all outputs, prefixed by the index of the output."""
        each: dict[str, Any] = {"kind": "several", "n_outputs": len(self.outputs)}
        for number, output in enumerate(self.outputs):
            each |= {f"{number}.{name}": value for name, value in output.fields(criterion).items()}
        return each


@dataclass(frozen=True, eq=False)
class MultiOutputTarget:
    """Targets of n training rows with m outputs."""

    outputs: tuple[Any, ...]

    kind: ClassVar[str] = "several"
    labels: ClassVar[None] = None
    own: ClassVar[None] = None
    own_masses: ClassVar[None] = None
    known: ClassVar[None] = None
    judged: ClassVar[None] = None

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return int(self.outputs[0].n_rows)

    @property
    def identity(self) -> NDArray[np.generic]:
        """Array that is equal for two tables with the same targets."""
        return np.column_stack([output.identity for output in self.outputs])

    @property
    def class_rows(self) -> tuple[float, ...]:
        """Number of rows of each class of the first output."""
        rows: tuple[float, ...] = self.outputs[0].class_rows
        return rows

    @property
    def info(self) -> MultiOutputInfo:
        """Target info of each output."""
        each = tuple(output.info for output in self.outputs)
        return MultiOutputInfo(each[0].names, each)

    def for_core(self) -> MultiOutputCore:
        """Return the targets as the core takes them."""
        return MultiOutputCore(tuple(output.for_core() for output in self.outputs))

    def weighing(self) -> Weighing:
        """Return the rounding of weights of later rows."""
        rounding: Weighing = self.outputs[0].weighing()
        return rounding


# ---- Predictor of multi-output models --------------------------------------------------------------------------------


#: Methods that return a list with the result of each output.
LISTED = (
    "belief_between",
    "bounds",
    "confidence",
    "credal_uncertainty",
    "distribution",
    "evidence",
    "fuzzy_numbers",
    "jackknife",
    "mass",
    "probability",
    "quantiles",
    "sets",
    "uncertainty",
    "variance",
)


class MultiOutputPredictor(Predictor):
    """Predictor of a multi-output model, with an ordinary predictor per output.

    Parameters
    ----------
    make : callable
        `Task.predictor` of a single output.
    fitted, params, estimator
        As in `Predictor`.
    """

    kind = "several"

    def __init__(
        self, make: Callable[[Fitted, Params, type[Any]], Any], fitted: Fitted, params: Params, estimator: type[Any]
    ) -> None:
        super().__init__(fitted, params, estimator)
        self.outputs = [make(output, params, estimator) for output in fitted.outputs]
        self.takes_uncertain = self.outputs[0].takes_uncertain

    @property
    def wanted_features(self) -> NDArray[np.uint8] | None:
        """Features to encode in a wide table, (p,); None means all."""
        wanted: NDArray[np.uint8] | None = self.outputs[0].wanted_features  # all outputs have the same trees
        return wanted

    @property
    def known_rows(self) -> Any:
        """Training rows, if the outputs know theirs; otherwise None."""
        return self.fitted.rows if self.outputs[0].known_rows is not None else None

    @property
    def classes(self) -> list[NDArray[np.generic]]:  # type: ignore[override]
        """Classes of each output."""
        return [output.classes for output in self.outputs]

    def labels(self, batch: Batch) -> NDArray[np.generic]:
        """Return the most probable class of each output, (n, m)."""
        return side_by_side([output.labels(batch) for output in self.outputs])

    def labels_and_sets(self, batch: Batch) -> tuple[NDArray[np.generic], list[NDArray[np.bool_]]]:
        """Return labels, (n, m), and the prediction sets of each output, (n, K) each."""
        labels, sets = zip(*(output.labels_and_sets(batch) for output in self.outputs), strict=True)
        return side_by_side(list(labels)), list(sets)

    def uncertainty_score(self, batch: Batch) -> Floats:
        """Return the mean uncertainty score of the outputs, (n,)."""
        return np.asarray(np.mean([output.uncertainty_score(batch) for output in self.outputs], axis=0))

    def klir_score(self, batch: Batch) -> Floats:
        """Return the mean of the outputs, (n,)."""
        return np.asarray(np.mean([output.klir_score(batch) for output in self.outputs], axis=0))

    def predicted(self, batch: Batch) -> Floats:
        """Return predicted targets, (n, m)."""
        return np.column_stack([output.predicted(batch) for output in self.outputs])

    def interval(self, batch: Batch, coverage: float, method: str = "auto") -> list[Floats]:
        """Return the intervals (n, 2) of each output, or those of a box for all outputs together."""
        if method == "joint":
            found: list[Floats] = self.outputs[0].joint_intervals(batch, coverage, self.outputs, self.fitted.learned)
            return found
        return [output.interval(batch, coverage, method) for output in self.outputs]

    def standard_deviation(self, codes: Codes) -> Floats:
        """Return standard deviations, (n, m)."""
        return np.column_stack([output.standard_deviation(codes) for output in self.outputs])

    def quantile_ranks(self, codes: Codes | None, y: TargetLike | None, *how: Any) -> Floats:
        """Return the rank of each target (n, m) in its predicted distribution, (n, m)."""
        numbers = np.asarray(y)
        if numbers.ndim != 2 or numbers.shape[1] != len(self.outputs):
            raise ValueError(f"y must have one column per output ({len(self.outputs)}), got shape {numbers.shape}.")
        return np.column_stack(
            [each.quantile_ranks(codes, column, *how) for each, column in zip(self.outputs, numbers.T, strict=True)]
        )

    def evaluate_oob(self, metric: Any) -> Fitted:
        """Return the fit with out-of-bag metrics of each output and of all together."""
        figures = self.fitted.figures
        alone = True if callable(metric) else metric  # a function scores all outputs together
        outputs = tuple(output.evaluate_oob(alone) for output in self.outputs)
        if metric and outputs[0].figures.oob_predictions is not None:
            figures = replace(figures, oob_score=self._oob_score(metric, outputs))
        return replace(self.fitted, outputs=outputs, figures=figures)

    def learn(self) -> None:
        """Resolve caution, tree weights, calibrator and decision of each output now."""
        for output in self.outputs:
            output.learn()

    def for_file(self) -> Fitted:
        """Return the fit without its training rows, as a pickle stores it."""
        outputs = tuple(output.for_file() for output in self.outputs)
        return replace(self.fitted.without_rows(), outputs=outputs)

    def _oob_score(self, metric: Any, outputs: tuple[Fitted, ...]) -> float:
        """Score all outputs together; for a named metric, return the mean."""
        if isinstance(metric, str):
            return float(np.mean([output.figures.oob_score for output in outputs]))
        rows = self.fitted.rows
        assert rows is not None
        seen = rows.oob_mask.number(self.forest.n_trees) > 0
        if not seen.any():
            return np.nan
        pairs = zip(self.outputs, outputs, strict=True)
        predicted = [output.named(_kept(fitted.figures.oob_predictions, rows.kept)[seen]) for output, fitted in pairs]
        each = zip(self.outputs, rows.target.outputs, strict=True)
        truth = [output.named_truth(target.truth[seen]) for output, target in each]
        score = metric if callable(metric) else self.outputs[0].whole_score
        return float(score(side_by_side(truth), side_by_side(predicted)))

    def __getattr__(self, name: str) -> Any:
        if name in LISTED:
            return lambda *given: [getattr(output, name)(*given) for output in self.outputs]
        raise AttributeError(
            f"{name} does not support multi-output models, got one with {len(self.fitted.outputs)} outputs. Use"
            " model.outputs_[i]."
        )


class MultiOutputTrace:
    """Mean out-of-bag error of all outputs after each tree."""

    def __init__(self, traces: list[Trace]) -> None:
        self._traces = traces

    @property
    def errors(self) -> list[float]:
        """Mean error after each tree."""
        errors: list[float] = np.mean([trace.errors for trace in self._traces], axis=0).tolist()
        return errors

    def extend(self, forest: Forest, n_threads: int = 1) -> None:
        """Add those trees of a forest that are not in the trace yet."""
        for trace, output in zip(self._traces, forest.outputs(), strict=True):
            trace.extend(output, n_threads)

    def standard_error(self, error: float) -> float:
        """Return the mean of the standard errors, because outputs may be correlated."""
        return float(np.mean([trace.standard_error(trace.errors[-1]) for trace in self._traces]))


def side_by_side(columns: list[Any]) -> NDArray[np.generic]:
    """Stack columns (n,) to (n, m); as objects if text and numbers are mixed."""
    columns = [np.asarray(column) for column in columns]
    if len({column.dtype.kind in "OUT" for column in columns}) > 1:
        columns = [column.astype(object) for column in columns]
    return np.column_stack(columns)


def _kept(predictions: Any, kept: NDArray[np.uint32] | None) -> Any:
    """Return the predictions of rows with positive weight."""
    return predictions if kept is None else predictions[kept]
