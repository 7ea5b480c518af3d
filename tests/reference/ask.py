"""Ask: a fitted model, whoever wrote it -> every public question about it, and how it may refuse to answer.

A question is a name and a function without arguments. A model from a file answers each of them, or refuses in one of
the ways listed in `REFUSALS`.
"""

from __future__ import annotations

import copy
import io
import pickle
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.base import clone

import hedgerow
from hedgerow import explain, plot, structure
from hedgerow.decisions import all_decisions
from hedgerow.estimators.classifier import TreesClassifier
from hedgerow.estimators.regressor import TreesRegressor
from hedgerow.estimators.survival import SurvivalTrees
from hedgerow.estimators.trees import BaseTrees
from hedgerow.inference.fitted import fitted_of
from hedgerow.rules import rule_names
from hedgerow.table import Factors, NamedColumns, Schema

Question = tuple[str, Callable[[], Any]]

#: Which questions a sound model may refuse, and by which exceptions; docs/reference/model-files.md says why.
REFUSALS: dict[type[Exception], str] = {
    AttributeError: """
        estimators_samples_
        caution_ feature_names_in_ label_shares_ leaf_size_ max_features_ max_features_errors_ oob_decision_function_
        oob_errors_
        oob_evidence_ oob_prediction_ oob_score_ oob_trace_ tree_weights_ tuning_
        drift evidence explain grow_more merge nearest_rows partial_fit predict_uncertainty predict_variance report
        row_weights tune LeafEvidenceDisplay
    """,
    ValueError: """
        predict_action predict_belief predict_distribution predict_frame predict_interval predict_lower predict_mass
        predict_novelty predict_quantiles predict_set predict_uncertainty quantile_ranks
        calibrate describe explain report score_samples shap_values
        nearest_rows row_weights proximity_oob outlier_scores debiased_importance oob_permutation_importance
        drift fit grow_more merge partial_fit to_onnx importance_test cost_complexity_pruning_path fit_transform
        export_code
        CautionPathDisplay IntervalDisplay ProximityMapDisplay RiskCoverageDisplay TernaryDisplay
    """,
    TypeError: "explain export_code merge shap_values to_onnx to_sklearn to_treelite CautionPathDisplay",
    NotImplementedError: "export_code to_onnx to_sklearn to_treelite",
}
#: Other rules and decisions that every model is asked under.
_RULES = tuple(sorted(rule_names()))
_DECISIONS = tuple(name for name, decision in all_decisions().items() if not decision.needs_calibration)
_LANGUAGES = ("python", "c", "javascript")
_WHATS = ("probability", "lower", "upper", "width", "log_odds", "vacuity", "conflict", "epistemic")
#: What every model is asked.
CENTRAL = {"apply", "predict", "predict_proba", "predict_bounds", "predict_interval", "transform", "other rules"}
#: A picture of a model whose turn is a multiple of this has a figure of its own; the others share one.
_OWN_FIGURE = 16
#: An output is an ordinary model, whose answers are asked of every file and other questions of one file in so many.
_OUTPUT_TURNS = 4
#: Another rule, which is a parameter that is set after loading, is tried on one model in so many.
_RULE_TURNS = 4


def is_refusal(question: str, reason: BaseException) -> bool:
    """Whether a question may be refused by this exception, and it says in words what is missing."""
    may = any(type(reason) is kind and question.split()[0] in named.split() for kind, named in REFUSALS.items())
    may |= (
        type(reason) in (AttributeError, ValueError)
        and re.search("(one output, got|multi-output models).*outputs_", str(reason)) is not None
    )
    return (
        may
        and re.search(r"must .*, got|is there .*, got|has no |requires |does not support", str(reason), re.DOTALL)
        is not None
    )


def rows_for(schema: Schema, n_rows: int, seed: int = 0) -> Any:
    """A schema -> a table that fits it, with gaps and infinities."""
    rng = np.random.default_rng(seed)
    columns = []
    for known in schema.categories:
        if known is None:
            column = np.round(rng.normal(size=n_rows), 2).astype(object)
            column[[0, -1]] = np.nan, np.inf
        else:
            column = np.array([*known.tolist(), None], dtype=object)[rng.integers(0, len(known) + 1, n_rows)]
        columns.append(column)
    plain = all(known is None for known in schema.categories)
    table = np.stack(columns, axis=1).astype(np.float64 if plain else object)
    if schema.names is None:
        return table
    # Names and categories of crafted files may have halves of surrogate pairs, which only objects hold.
    framed = pd.DataFrame(table, columns=pd.Index(schema.names, dtype=object), dtype=object)
    for place in [place for place, known in enumerate(schema.categories) if known is None]:
        framed.isetitem(place, table[:, place].astype(np.float64))
    return framed


def _columns_of(frame: pd.DataFrame, schema: Schema) -> NamedColumns:
    """A frame -> the same table as the command line has it."""
    listed: list[Any] = []
    for place, known in enumerate(schema.categories):
        cells = frame.iloc[:, place].to_numpy()
        if known is not None:
            number = {value: code for code, value in enumerate(known.tolist())}
            cells = Factors(np.array([number.get(cell, -1) for cell in cells]), np.asarray(known))
        listed.append(cells)
    return NamedColumns(schema.names, listed)


def _first(X: Any, n_rows: int) -> Any:
    return X.some(np.arange(n_rows)) if isinstance(X, NamedColumns) else X[:n_rows]


def questions(model: Any, n_rows: int = 6, turn: int | None = None) -> Iterator[Question]:
    """A fitted model -> everything that can be asked of it, under all rules and decisions or those whose turn it is."""
    schema = fitted_of(model).schema
    X = rows_for(schema, n_rows)
    if turn is not None and schema.names is not None:  # frames take long to read: 2 ms
        yield "apply", lambda X=X: model.apply(X)
        X = _columns_of(X, schema)
    yield from _of_any(model, X, turn)
    if fitted_of(model).outputs:
        yield from _of_several(model, X)
        for place, (name, ask) in enumerate(questions(model.outputs_[-1], n_rows, turn)):
            if turn is None or name in CENTRAL or (turn + place) % _OUTPUT_TURNS == 0:
                yield f"{name} of an output", ask
    elif isinstance(model, TreesClassifier):
        yield from _of_classes(model, X, turn)
    elif isinstance(model, TreesRegressor):
        yield from _of_numbers(model, X, turn)
    elif isinstance(model, SurvivalTrees):
        yield from _of_times(model, X, turn)
    else:
        yield from _of_rows(model, X)


def _of_any(model: Any, X: Any, turn: int | None) -> Iterator[Question]:
    """What every model is asked."""
    depth = 4 if _has_own_figure(turn) else turn % 2
    for name in _properties(type(model)):
        yield name, lambda name=name: getattr(model, name)
    for show in (repr, dir):
        yield show.__name__, lambda show=show: show(model)
    yield "_repr_html_", lambda: model._repr_html_()
    yield "save", lambda: _same_after(model, X, _saved_and_loaded)
    yield "pickle", lambda: _same_after(model, X, lambda it: pickle.loads(pickle.dumps(it)))
    yield "deepcopy", lambda: _same_after(model, X, copy.deepcopy)
    yield "clone", lambda: clone(model).get_params()
    yield "set_params", lambda: copy.copy(model).set_params(max_depth=1)
    yield "apply", lambda: model.apply(X)
    yield "decision_path", lambda: model.decision_path(X)
    yield "embed", lambda: model.embed(X)
    yield "proximity", lambda: (model.proximity(X), model.proximity(X, _first(X, 2), top=2))
    yield "row_weights", lambda: _sum_to_one(model.row_weights(X, X))
    yield "nearest_rows", lambda: model.nearest_rows(X, 2, X)
    yield "proximity_oob", lambda: model.proximity(oob=True)
    for name in ("to_sklearn", "to_onnx", "to_treelite"):
        yield name, lambda name=name: getattr(hedgerow, name)(model)
    yield "trees_", lambda: [_walked(tree) for tree in model.trees_[:2]]
    yield "export", lambda: [_exported(tree) for tree in model.trees_[:1]]
    yield "export_code", lambda: _programs(model, _LANGUAGES if turn is None else (_LANGUAGES[turn % 3],))
    if getattr(type(model), "_single_tree", False):
        yield "get_depth", lambda: (model.get_depth(), model.get_n_leaves())
    yield "TreeDisplay", lambda: plot.TreeDisplay.from_estimator(model, max_depth=depth, ax=_axes(turn))
    yield "describe", lambda: explain.describe(model).to_text().encode()
    yield "first_use_depth", lambda: explain.first_use_depth(model)
    yield "split_counts", lambda: explain.split_counts(model)
    yield "proximity_map", lambda: structure.proximity_map(model, X)
    yield "cluster_rows", lambda: structure.cluster_rows(model, 2, X)
    yield "outlier_scores", lambda: structure.outlier_scores(model, X)
    for name in ("oob_permutation_importance", "debiased_importance", "importance_test"):
        yield name, lambda name=name: getattr(explain, name)(model)


def _of_classes(model: Any, X: Any, turn: int | None) -> Iterator[Question]:
    """What a classifier is asked."""
    y = _some_labels(model, X.shape[0])
    pairs = isinstance(model, hedgerow.PairwiseTreesClassifier)
    rules, decisions = (names if turn is None else names[turn % len(names) :][:1] for names in (_RULES, _DECISIONS))
    yield "predict_proba", lambda: _distributions(model, X)
    yield "predict", lambda: (model.predict(X), model.predict_log_proba(X))
    yield "predict_set", lambda: (_sets(model, X), model.predict(X, return_set=True))
    yield "score", lambda: model.score(X, y)
    yield "predict_confidence", lambda: _p_values(model.predict_confidence(X))
    yield "predict_uncertainty", lambda: _finite(*model.predict_uncertainty(X))
    yield "predict_uncertainty credal", lambda: _finite(*model.predict_uncertainty(X, "credal"))
    yield "predict_action", lambda: model.predict_action(X, _costs(model))
    yield "predict_belief", lambda: _ordered(model.predict_belief(X, (0.2, 0.8)))
    yield "predict_frame", lambda: model.predict_frame(X)
    for mass in ("idm",) if pairs else ("idm", "multinomial"):
        yield f"predict_mass {mass}", lambda mass=mass: model.predict_mass(X, **({} if pairs else {"model": mass}))
    yield "predict_variance", lambda: model.predict_variance(X)
    yield "evidence", lambda: [model.evidence(X).combine(rule, caution=2.0) for rule in rules]
    tried = () if pairs or (turn is not None and turn // 16 % _RULE_TURNS) else rules
    yield "other rules", lambda: [_under(model, X, rule=rule, decision="rule") for rule in tried]
    yield "other decisions", lambda: [_sets(copy.copy(model).set_params(decision=name), X) for name in decisions]
    yield "explain", lambda: [why.to_text() + why.to_html() for why in model.explain(_first(X, 2), time_limit=0)]
    yield "report", lambda: model.report(_first(X, 2), y[:2], time_limit=0).html
    yield "tune", lambda: copy.copy(model).tune()
    yield "calibrate", lambda: _distributions(copy.copy(model).calibrate(X, y), X)
    whats = _WHATS if turn is None else (None, _WHATS[turn % len(_WHATS)])
    yield "shap_values", lambda: [explain.shap_values(model, _first(X, 2), what) for what in whats]
    yield "permutation_importance", lambda: explain.permutation_importance(model, X, y, n_repeats=1, random_state=0)
    yield from _later(model, X, y)
    yield from _pictures(model, X, y, turn)


def _pictures(model: Any, X: Any, y: NDArray[Any], turn: int | None) -> Iterator[Question]:
    """The pictures of a classifier; those on shared axes are of two rows."""
    large = _has_own_figure(turn)
    X, y = (X, y) if large else (_first(X, 2), y[:2])
    cautions = {} if large else {"cautions": (0.0, 2.0)}
    one = X if large else _first(X, 1)
    yield "IntervalDisplay", lambda: plot.IntervalDisplay.from_estimator(model, one, ax=_axes(turn))
    yield "TernaryDisplay", lambda: plot.TernaryDisplay.from_estimator(model, one, ax=_axes(turn))
    yield "RiskCoverageDisplay", lambda: plot.RiskCoverageDisplay.from_estimator(model, X, y, ax=_axes(turn))
    yield "CautionPathDisplay", lambda: plot.CautionPathDisplay.from_estimator(model, X, y, ax=_axes(turn), **cautions)
    yield "LeafEvidenceDisplay", lambda: plot.LeafEvidenceDisplay.from_estimator(model, _first(X, 1), ax=_axes(turn))
    yield "ImportanceDisplay", lambda: plot.ImportanceDisplay.from_estimator(model, ax=_axes(turn))
    yield "ProximityMapDisplay", lambda: plot.ProximityMapDisplay.from_estimator(model, X, y, ax=_axes(turn))


def _of_numbers(model: Any, X: Any, turn: int | None) -> Iterator[Question]:
    """What a regressor is asked."""
    y = _some_numbers(model, X.shape[0])
    yield "predict", lambda: _finite(model.predict(X), *model.predict(X, return_std=True))
    yield "predict_bounds", lambda: _bounds(model, X)
    yield "predict_uncertainty", lambda: _finite(*model.predict_uncertainty(X))
    yield "predict_frame", lambda: model.predict_frame(X)
    yield "predict_variance", lambda: model.predict_variance(X)
    yield "predict_interval", lambda: _ordered(model.predict_interval(X))
    yield "predict_interval", lambda: _ordered(model.predict_interval(X, method="jackknife+"))
    yield "predict_quantiles", lambda: _finite(model.predict_quantiles(X, weighting="row"), model.predict_quantiles(X))
    yield "predict_belief", lambda: _ordered(model.predict_belief(X, (-1.0, 1.0)))
    yield "predict_distribution", lambda: _finite(model.predict_distribution(X).mean)
    yield "predict_fuzzy_numbers", lambda: _finite(model.predict_fuzzy_numbers(X).belief(-1.0, 1.0))
    yield "quantile_ranks", lambda: _finite(model.quantile_ranks(X, y))
    yield "score", lambda: model.score(X, y)
    yield "shap_values", lambda: _finite(explain.shap_values(model, X).values)
    yield "explain", lambda: [why.to_text() + why.to_html() for why in model.explain(_first(X, 2), time_limit=0)]
    yield "report", lambda: model.report(_first(X, 2), y[:2], time_limit=0).html
    yield "permutation_importance", lambda: explain.permutation_importance(model, X, y, n_repeats=1, random_state=0)
    yield from _later(model, X, y)
    yield "ImportanceDisplay", lambda: plot.ImportanceDisplay.from_estimator(model, ax=_axes(turn))


def _of_times(model: Any, X: Any, turn: int | None) -> Iterator[Question]:
    """What a survival forest is asked."""
    y = np.column_stack([np.full(X.shape[0], model.event_times_[0]), np.arange(X.shape[0]) % 2])
    yield "predict", lambda: _finite(model.predict(X))
    yield "predict_bounds", lambda: _finite(model.predict_bounds(X))
    for name in ("predict_survival_function", "predict_cumulative_hazard_function"):
        yield name, lambda name=name: _finite(getattr(model, name)(X), getattr(model, name)(X, times=[0.0]))
    yield "predict_quantile", lambda: model.predict_quantile(X, [0.1, 0.5])
    yield "predict_rmst", lambda: _finite(model.predict_rmst(X), model.predict_rmst(X, bounds=True))
    yield "predict_lower", lambda: model.predict_lower(X)
    yield "predict_uncertainty", lambda: _finite(*model.predict_uncertainty(X))
    yield "predict_set", lambda: model.predict_set(X)
    yield "predict_cumulative_incidence", lambda: _finite(model.predict_cumulative_incidence(X, bounds=True))
    yield "predict_frame", lambda: model.predict_frame(X)
    yield "SurvivalDisplay", lambda: plot.SurvivalDisplay.from_estimator(model, _first(X, 2), ax=_axes(turn))
    yield "score", lambda: model.score(X, y)
    yield "explain", lambda: model.explain(X)
    yield "report", lambda: model.report(_first(X, 3), y[:3]).html
    yield from _later(model, X, y)


def _of_several(model: Any, X: Any) -> Iterator[Question]:
    """What a model of several outputs is asked; each answer is that of an output, which is an ordinary model."""
    outputs = model.outputs_
    if isinstance(model, TreesClassifier):
        columns = [_some_labels(output, X.shape[0]) for output in outputs]
        y = pd.DataFrame({at: pd.Series(each, dtype=_held_as(each)) for at, each in enumerate(columns)})
        for name in ("predict_proba", "predict_bounds", "predict_set", "predict_uncertainty"):
            yield name, lambda name=name: _each_output(model, outputs, X, name)
        yield "predict_variance", lambda: model.predict_variance(X)
        yield "predict_action", lambda: model.predict_action(X, {"a": [0.0, 1.0]})
        yield "predict_belief", lambda: [_ordered(each) for each in model.predict_belief(X, (0.2, 0.8))]
        yield "predict_mass", lambda: model.predict_mass(X)
        yield "evidence", lambda: model.evidence(X)
        yield "calibrate", lambda: copy.copy(model).calibrate(X, y)
    else:
        y = np.column_stack([_some_numbers(output, X.shape[0]) for output in outputs])
        for name in ("predict_bounds", "predict_uncertainty", "predict_interval", "predict_quantiles"):
            yield name, lambda name=name: _each_output(model, outputs, X, name)
        yield "predict_belief", lambda: [_ordered(each) for each in model.predict_belief(X, (-1.0, 1.0))]
        yield "predict_fuzzy_numbers", lambda: [_finite(each.contour(0.0)) for each in model.predict_fuzzy_numbers(X)]
        yield "predict_distribution", lambda: [_finite(each.mean) for each in model.predict_distribution(X)]
    yield "predict", lambda: _each_column(model.predict(X), [output.predict(X) for output in outputs])
    yield "score", lambda: model.score(X, y)
    yield from _later(model, X, y)
    for name in ("explain", "report", "tune"):
        yield name, lambda name=name: getattr(model, name)(*() if name == "tune" else (X,))
    for name in ("shap_values", "permutation_importance"):
        given = {} if name == "shap_values" else {"y": y, "n_repeats": 1}
        yield name, lambda name=name, given=given: getattr(explain, name)(model, X, **given)


def _costs(model: Any) -> dict[str, list[float]]:
    """Two actions, of which the first costs nothing for the first class."""
    return {"wait": [float(k > 0) for k in range(len(model.classes_))], "act": [0.5] * len(model.classes_)}


def _of_rows(model: Any, X: Any) -> Iterator[Question]:
    """What trees without labels are asked."""
    yield "transform", lambda: (model.transform(X), copy.copy(model).set_output(transform="default").transform(X))
    yield "fit_transform", lambda: clone(model).set_params(n_estimators=2).fit_transform(X)
    yield "get_feature_names_out", lambda: model.get_feature_names_out()
    yield "score_samples", lambda: model.score_samples(X)
    yield "fit", lambda: clone(model).set_params(n_estimators=2).fit(X)


def _later(model: Any, X: Any, y: NDArray[Any]) -> Iterator[Question]:
    """What is asked when rows arrive later."""
    yield "partial_fit", lambda: copy.copy(model).partial_fit(X, y).predict(X)
    yield "grow_more", lambda: copy.copy(model).grow_more(1, X, y)
    yield "predict_novelty", lambda: _p_values(model.predict_novelty(X))
    yield "drift", lambda: model.drift(X, y, reference=(X, y), n_permutations=9)
    yield "suggest", lambda: model.suggest(X, 2)
    yield "merge", lambda: hedgerow.merge(model, model).predict(X)
    if getattr(type(model), "_single_tree", False):
        yield "cost_complexity_pruning_path", lambda: copy.copy(model).cost_complexity_pruning_path(X, y)
    fewer = {"n_estimators": 2} if "n_estimators" in model.get_params() and not model.warm_start else {}
    yield "fit", lambda: copy.copy(model).set_params(**fewer).fit(X, y)


def _has_own_figure(turn: int | None) -> bool:
    return turn is None or turn % _OWN_FIGURE == 0


def _axes(turn: int | None) -> Any:
    """None for a new figure, or the axes that pictures share, empty: new axes take longer than most pictures."""
    if _has_own_figure(turn):
        return None
    ax = _shared_axes()
    for artist in [*ax.lines, *ax.patches, *ax.texts, *ax.collections, *ax.images, *ax.artists]:
        artist.remove()
    return ax


class _BareAxes(Axes):
    """Axes on which shapes and limits are as everywhere, and texts are only looked at: laying them out takes long."""

    def set_yticks(self, ticks: Any, labels: Any = (), **_: Any) -> None:
        """Look at the texts beside the axis."""
        _texts(labels)
        _finite(ticks)

    def set_xticks(self, ticks: Any, labels: Any = (), **_: Any) -> None:
        """Look at the texts below the axis."""
        self.set_yticks(ticks, labels)

    def legend(self, handles: Any = (), **_: Any) -> None:
        """Look at the texts of the legend."""
        _texts([each.get_label() for each in handles])

    def tick_params(self, *_: Any, **__: Any) -> None:
        """Nothing here depends on the model."""

    def grid(self, *_: Any, **__: Any) -> None:
        """Nothing here depends on the model."""


def _texts(labels: Any) -> None:
    assert all(isinstance(label, str) for label in labels), "a text in a picture is none"


@lru_cache(maxsize=1)
def _shared_axes() -> Any:
    return Figure().add_subplot(axes_class=_BareAxes)


def _some_labels(model: Any, n_rows: int) -> NDArray[Any]:
    return np.asarray(model.classes_[np.arange(n_rows) % len(model.classes_)])


def _held_as(values: NDArray[Any]) -> Any:
    """The type in which a data frame holds these values and no others."""
    return object if values.dtype.kind in "OU" else values.dtype


def _some_numbers(model: Any, n_rows: int) -> NDArray[np.float64]:
    return np.linspace(fitted_of(model).info.low, fitted_of(model).info.high, n_rows)


def _each_output(model: Any, outputs: list[Any], X: Any, name: str) -> None:
    """The answer is the list of the answers of the outputs."""
    together, alone = getattr(model, name)(X), [getattr(output, name)(X) for output in outputs]
    assert len(together) == len(alone), "an output is missing"
    assert all(np.array_equal(one, other) for one, other in zip(together, alone, strict=True)), "another answer"


def _each_column(table: NDArray[Any], columns: list[NDArray[Any]]) -> None:
    assert all((table[:, at] == column).all() for at, column in enumerate(columns)), "another column"


def _properties(kind: type) -> list[str]:
    """Public attributes that are computed when asked for."""
    found = [name for name in dir(BaseTrees if kind is None else kind) if not name.startswith("_")]
    return [name for name in found if isinstance(_declared(kind, name), property)]


def _declared(kind: type, name: str) -> Any:
    return next((vars(each)[name] for each in kind.__mro__ if name in vars(each)), None)


def _saved_and_loaded(model: Any) -> Any:
    file = io.BytesIO()
    hedgerow.save(model, file)
    return hedgerow.load(io.BytesIO(file.getvalue()))


def _same_after(model: Any, X: Any, passed: Callable[[Any], Any]) -> None:
    """The same answers after it was passed on."""
    ask = next(name for name in ("predict_proba", "predict", "score_samples", "apply") if hasattr(model, name))
    if ask == "score_samples":
        ask = "apply"
    other = passed(model)
    before, after = getattr(model, ask)(X), getattr(other, ask)(X)
    pairs = zip(before, after, strict=True) if isinstance(before, list) else [(before, after)]
    assert all(np.array_equal(one, another) for one, another in pairs), f"another {ask}"


def _under(model: Any, X: Any, **parameters: Any) -> None:
    other = copy.copy(model).set_params(**parameters)
    _distributions(other, X)
    _sets(other, X)


def _distributions(model: Any, X: Any) -> None:
    """Probabilities add up to one and lie within their bounds."""
    probability, bounds = model.predict_proba(X), model.predict_bounds(X)
    _finite(probability, bounds)
    assert (np.abs(probability.sum(axis=1) - 1) < 1e-9).all(), "probabilities do not add up to one"
    lower, upper = bounds[..., 0], bounds[..., 1]
    assert ((lower >= 0) & (lower <= upper) & (upper <= 1)).all(), "bounds are no bounds"
    assert ((lower <= probability + 1e-9) & (probability <= upper + 1e-9)).all(), "probabilities outside their bounds"


def _sets(model: Any, X: Any) -> None:
    """No set is empty."""
    assert model.predict_set(X).any(axis=1).all(), "a set is empty"


def _bounds(model: Any, X: Any) -> None:
    """Predictions lie within their bounds."""
    predicted, bounds = model.predict(X), model.predict_bounds(X)
    _finite(predicted, bounds)
    slack = 1e-9 * np.abs(predicted) + 1e-300
    assert ((bounds[:, 0] - slack <= predicted) & (predicted <= bounds[:, 1] + slack)).all(), "outside the bounds"


def _ordered(bounds: NDArray[Any]) -> None:
    assert (bounds[..., 0] <= bounds[..., 1]).all(), "an interval is none"


def _finite(*arrays: Any) -> None:
    assert all(np.isfinite(each).all() for each in arrays), "an answer is not finite"


def _p_values(found: NDArray[Any]) -> None:
    assert ((found > 0) & (found <= 1)).all(), "a p-value is none"


def _sum_to_one(weights: Any) -> None:
    sums = weights.sum(axis=1)
    assert ((np.abs(sums - 1) < 1e-9) | (sums == 0)).all(), "weights do not add up to one"


def _walked(tree: Any) -> str:
    """A tree from its root to its leaves."""
    pending = [tree.root]
    while pending:
        node = pending.pop()
        _ = node.counts, node.questions
        pending += node.children
    return repr(tree) + tree.to_text()


def _programs(model: Any, languages: tuple[str, ...]) -> None:
    """Programs that say what a model says; the one in Python can be compiled, whatever classes are called."""
    for language in languages:
        program = hedgerow.export_code(model, language=language)
        if language == "python":
            compile(program, "program", "exec", dont_inherit=True)


def _exported(tree: Any) -> str:
    said = [hedgerow.export_text(tree), hedgerow.export_svg(tree), hedgerow.export_graphviz(tree)]
    return "".join(said + [hedgerow.export_code(tree, language=language) for language in ("python", "c")])
