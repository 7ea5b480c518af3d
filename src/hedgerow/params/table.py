"""The table of parameters: types, descriptions and checks.

An estimator spells out its constructor and lists the rows of its parameters in `_parameters`. The name is not
scikit-learn's ``_parameter_constraints``, because scikit-learn would validate the rows by its own rules, with less
specific messages. To add a parameter, add a row and a field of `Params` here, two lines in the constructor of each
class that takes it, and its use.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from hedgerow.criteria import NUMBER_CRITERIA, Criterion, resolve_criterion
from hedgerow.decisions import Decision, resolve_decision
from hedgerow.forest.nodes import POLICIES
from hedgerow.forest.rows import COUNT_SENSES, MOST_DRAWS
from hedgerow.metrics.scorers import SCORERS
from hedgerow.params.checks import (
    check_class_weights,
    is_bag_size,
    is_bootstrap,
    is_list_of_features,
    is_real,
    is_seed,
    is_share,
    is_switch,
    is_whole,
    is_word,
    must,
)
from hedgerow.rules import Rule, resolve_rule
from hedgerow.table.bins import MAX_BINS, MOST_BINS
from hedgerow.util.runtime import check_n_jobs

#: Words for criteria of continuous targets.
NUMBER_WORDS = ("squared_error", "absolute_error", "poisson")
#: scikit-learn's name of a criterion that makes the same splits as the squared error.
FRIEDMAN_MSE = "friedman_mse"
#: scikit-learn's messages for forests without bootstrap, for people who search for them.
NO_BAGS_TO_SCORE = "Out of bag estimation only available if bootstrap=True"
NO_BAGS_TO_FILL = (
    "`max_sample` cannot be set if `bootstrap=False`. Either switch to `bootstrap=True` or set `max_sample=None`."
)

_Class = TypeVar("_Class", bound=type)

# Types of parameters with several forms; the table below describes their values.
MaxFeatures: TypeAlias = int | float | str | None
FeatureWeights: TypeAlias = ArrayLike | Mapping[str, float] | None
OobScore: TypeAlias = bool | str | Callable[..., float]
ClassWeight: TypeAlias = str | dict[Any, float] | Sequence[str | dict[Any, float] | None] | None
MonotonicCst: TypeAlias = ArrayLike | Mapping[str, int] | None
CategoricalFeatures: TypeAlias = ArrayLike | None
ImmutableFeatures: TypeAlias = Sequence[int | str] | None
RandomState: TypeAlias = int | np.random.RandomState | None


@dataclass(frozen=True)
class Parameter:
    """A row of the parameter table.

    Attributes
    ----------
    kind, about : str
        Type and description for the docstring.
    check : callable of (name, value)
        Raises an error if the value is invalid; that of a criterion returns the criterion.
    needs_bags, needs_rows : callable of a value
        Whether a value requires bootstrap, and whether it is chosen on training rows.
    instead : str
        Constraint on the parameter where nothing can be chosen on training rows; part of an error message.
    without_bags : str
        scikit-learn's message for a value that requires bootstrap, if it has one.
    on_fitted : bool
        Whether the parameter may be changed on a fitted model.
    as_sklearn : bool
        Whether every value has the same meaning in scikit-learn's trees.
    """

    kind: str
    about: str
    check: Callable[[str, Any], object] = lambda name, value: None
    needs_bags: Callable[[Any], bool] = lambda value: False
    needs_rows: Callable[[Any], bool] = lambda value: False
    instead: str = "an explicit value"
    without_bags: str = ""
    on_fitted: bool = False
    as_sklearn: bool = False

    def described(self, name: str, default: Any) -> str:
        """Return the lines about the parameter in a docstring."""
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        later = " Can be changed on a fitted model." if self.on_fitted else ""
        return f"{name} : {self.kind}, default={shown}\n    {self.about}{later}"


def rows_of(*names: str, variants: Mapping[str, Parameter] | None = None) -> Mapping[str, Parameter]:
    """Return the rows of named parameters; `variants` replace rows of the table."""
    unknown = [name for name in names if name not in PARAMETERS]
    if unknown:
        raise TypeError(f"names must be parameters of the table ({', '.join(PARAMETERS)}), got {unknown[0]!r}.")
    table = {**PARAMETERS, **(variants or {})}
    return MappingProxyType({name: table[name] for name in names})


def with_parameters_described(cls: _Class) -> _Class:
    """Replace ``{parameters}`` in the docstring of a class by descriptions."""
    given = inspect.signature(cls).parameters
    rows: Mapping[str, Parameter] = cls._parameters  # type: ignore[attr-defined]
    described = "\n".join(row.described(name, given[name].default) for name, row in rows.items())
    cls.__doc__ = (cls.__doc__ or "").replace("{parameters}", described.replace("\n", "\n    "))
    return cls


_switch = must("True or False", is_switch)

#: All parameters, in the order of signatures.
PARAMETERS: Mapping[str, Parameter] = {
    "n_estimators": Parameter(
        kind='int or "auto"',
        about='Number of trees. "auto" grows trees until the out-of-bag error stops falling, at most 1,000, and'
        " requires bootstrap; ``forest_.n_trees`` is their number, ``oob_trace_`` the error after each tree.",
        check=must("an int >= 1 or 'auto'", lambda value: is_whole(value, 1) or is_word(value, "auto")),
        needs_bags=lambda value: is_word(value, "auto"),
        needs_rows=lambda value: is_word(value, "auto"),
    ),
    "rule": Parameter(
        kind="str or Rule",
        about="Combination rule for the leaves that a sample reaches; see `hedgerow.rules`.",
        check=lambda name, value: resolve_rule(value),
        needs_bags=lambda value: resolve_rule(value).needs_weights,
        needs_rows=lambda value: resolve_rule(value).needs_weights,
        instead="a rule that learns no tree weights",
        on_fitted=True,
    ),
    "caution": Parameter(
        kind='float or "auto"',
        about='Pseudo-count s of the imprecise Dirichlet model; 0 collapses the intervals. "auto" maximises out-of-bag'
        " u65 (``caution_``) in `fit`, and again when rule or decision change while the forest has its training rows.",
        check=must("a number >= 0 or 'auto'", lambda value: is_real(value, 0) or is_word(value, "auto")),
        needs_bags=lambda value: is_word(value, "auto"),
        needs_rows=lambda value: is_word(value, "auto"),
        instead="a number",
        on_fitted=True,
    ),
    "decision": Parameter(
        kind="str or Decision",
        about="Decision rule that turns lower and upper probabilities into prediction sets; see"
        ' `hedgerow.decisions`. "auto" uses the sets of a rule that chooses sets itself (`mva`, `cdm_ave`,'
        " `cdm_vote`, `ndc`, `cr`, `credal_trees`, `interval_average`, `dominance_vote`), and interval dominance"
        " otherwise.",
        check=lambda name, value: resolve_decision(value),
        needs_rows=lambda value: resolve_decision(value).needs_calibration,
        instead="a decision rule without calibration",
        on_fitted=True,
    ),
    "calibration": Parameter(
        kind='"oob" or None',
        about='"oob" calibrates probabilities, bounds and sets on out-of-bag rows. ``calibration_`` is the calibrator;'
        " if there is none, for instance without bootstrap, ``calibration_.why`` is the reason. None returns the raw"
        " mean of the leaves.",
        check=must("'oob' or None", lambda value: value is None or is_word(value, "oob")),
        on_fitted=True,
    ),
    "criterion": Parameter(
        kind="str or Criterion",
        about='Split criterion: "gini" impurity, "entropy" (or "log_loss"), uncertainty of a belief function ("belief")'
        ' or upper entropy ("imprecise"); see `hedgerow.criteria`.',
        check=lambda name, value: resolve_criterion(value),
        needs_rows=lambda value: not resolve_criterion(value).is_resolved,
        instead='a criterion without "auto"',
    ),
    "splitter": Parameter(
        kind='{"best", "random"}',
        about='"best" tries all thresholds of a feature, "random" a single random one.',
        check=must("'best' or 'random'", lambda value: is_word(value, "best", "random")),
        as_sklearn=True,
    ),
    "max_depth": Parameter(
        kind="int or None",
        about="Maximum depth of a tree; None means no limit.",
        check=must("an int >= 1 or None", lambda value: value is None or is_whole(value, 1)),
        as_sklearn=True,
    ),
    "min_samples_split": Parameter(
        kind="int or float",
        about="Minimum number of rows of a node to be split; a float is a share of the training rows.",
        check=must("an int >= 2 or a float in (0, 1]", lambda value: is_whole(value, 2) or is_share(value)),
        as_sklearn=True,
    ),
    "min_samples_leaf": Parameter(
        kind="int or float",
        about="Minimum number of rows on each side of a split; a float is a share of the training rows.",
        check=must("an int >= 1 or a float in (0, 1]", lambda value: is_whole(value, 1) or is_share(value)),
        as_sklearn=True,
    ),
    "min_weight_fraction_leaf": Parameter(
        kind="float",
        about="Minimum share of the total weight of the tree on each side of a split.",
        check=must("a number in [0, 0.5]", lambda value: is_real(value, 0, 0.5)),
        as_sklearn=True,
    ),
    "max_features": Parameter(
        kind='{"sqrt", "log2", "oob"}, int, float or None',
        about="Number of features to try per split; see ``constant_features``. None means all; a float is a share."
        ' "oob" chooses the number with the smallest out-of-bag error (``max_features_``), and requires bootstrap.',
        check=must(
            "'sqrt', 'log2', 'oob', an int >= 1, a float in (0, 1] or None",
            lambda value: (
                value is None or is_word(value, "sqrt", "log2", "oob") or is_whole(value, 1) or is_share(value)
            ),
        ),
        needs_bags=lambda value: is_word(value, "oob"),
        needs_rows=lambda value: is_word(value, "oob"),
    ),
    "constant_features": Parameter(
        kind='{"skip", "count"}',
        about="Whether features that are constant in the node count towards ``max_features``."
        ' "skip" draws others in their place; "count" counts them, so fewer features compete.',
        check=must("'skip' or 'count'", lambda value: is_word(value, "skip", "count")),
    ),
    "feature_weights": Parameter(
        kind="array-like of float of shape (n_features,), dict or None",
        about="Relative probabilities of drawing each feature for a split; a dict maps feature names to weights, 1 for"
        " the others. A feature of weight 0 is never tried; one of infinite weight is tried at every split, in addition"
        " to the ``max_features`` that are drawn. None means equal weights.",
    ),
    "max_leaf_nodes": Parameter(
        kind="int or None",
        about="Maximum number of leaves of a tree, which is then grown best-first; None means no limit.",
        check=must("an int >= 2 or None", lambda value: value is None or is_whole(value, 2)),
        as_sklearn=True,
    ),
    "min_impurity_decrease": Parameter(
        kind="float",
        about="Minimum decrease in the impurity of the whole tree by a split.",
        check=must("a number >= 0", lambda value: is_real(value, 0)),
        as_sklearn=True,
    ),
    "min_gain": Parameter(
        kind="float",
        about="Minimum decrease in the impurity of the node itself by a split, whatever its share of the rows.",
        check=must("a number >= 0", lambda value: is_real(value, 0)),
    ),
    "bootstrap": Parameter(
        kind='bool or "multinomial"',
        about="Whether each tree is grown on a bootstrap sample (independent Poisson multiplicities, keyed by row) or"
        ' on all rows. "multinomial" draws exactly ``max_samples`` rows with replacement, and requires the whole table'
        " on one machine.",
        check=must("True, False or 'multinomial'", is_bootstrap),
        as_sklearn=True,
    ),
    "max_samples": Parameter(
        kind="int, float or None",
        about="Expected size of the bootstrap sample: a number of rows, or as a float the expected draws per row, at"
        f" most {MOST_DRAWS}; None means as many rows as the table has.",
        check=must(f"an int >= 1, a float in (0, {MOST_DRAWS}] or None", is_bag_size),
        needs_bags=lambda value: value is not None,
        instead="None",
        without_bags=NO_BAGS_TO_FILL,
    ),
    "oob_score": Parameter(
        kind="bool, str or callable",
        about="Whether to compute the out-of-bag score. True means accuracy, a str the metric of sets of that name (see"
        " `hedgerow.metrics.scorer`), a callable ``metric(y, prediction)``.",
        check=must(
            "True, False, a callable or the name of a metric",
            lambda value: is_switch(value) or callable(value) or is_word(value, "accuracy", *SCORERS),
        ),
        needs_bags=bool,
        needs_rows=bool,
        instead="False",
        without_bags=NO_BAGS_TO_SCORE,
    ),
    "novelty": Parameter(
        kind="float or None",
        about="Significance level of `predict_novelty` below which bounds and sets of novel samples widen, the more the"
        " smaller the p-value; 0.01 is recommended. None treats novel samples like all others.",
        check=must("a number in (0, 1] or None", lambda value: value is None or (is_real(value, 0, 1) and value > 0)),
        needs_bags=lambda value: value is not None,
        instead="None",
        on_fitted=True,
    ),
    "unseen": Parameter(
        kind='{"shares", "sum", "larger"}',
        about="Treatment of out-of-support values, such as new categories. At a split on the feature,"
        ' "shares" averages both sides, weighted by their training rows, and "sum" adds up the rows of the leaves on'
        " both sides. Bounds and sets then widen until they hold for every known value in its place."
        ' "larger" follows the side with more training rows and does not widen.',
        check=must(f"one of {', '.join(POLICIES)}", lambda value: is_word(value, *POLICIES)),
    ),
    "class_weight": Parameter(
        kind='{"balanced", "balanced_subsample"}, dict, list or None',
        about="Weights of the classes; for multi-output models, a list with one entry per output. They change splits"
        " and class shares, but never the amount of evidence.",
        check=lambda name, value: check_class_weights(value),
    ),
    "monotonic_cst": Parameter(
        kind="array-like of int of shape (n_features,), dict or None",
        about="Monotonicity constraints, only for two classes: 1 if the probability of the second class may only rise"
        " with a feature, -1 if it may only fall, otherwise 0. A dict maps feature names to these.",
    ),
    "categorical_features": Parameter(
        kind='"from_dtype", array-like of bool, int or str, or None',
        about='Categorical features, by mask, number or name. "from_dtype" means the text and categorical columns of a'
        " data frame, None no features.",
    ),
    "immutable_features": Parameter(
        kind="list of int or str, or None",
        about="Features, by number or name, that counterfactuals of `explain` and `report` must not change, such as"
        " age. Predictions do not depend on this parameter.",
        check=must("a list of names or numbers of features, or None", is_list_of_features),
        on_fitted=True,
    ),
    "max_bins": Parameter(
        kind='int, "auto" or None',
        about="Maximum number of bins of a numeric column, from 255 to 65,535. A column with more distinct values is"
        " split into this many bins, narrowest in the tails. None means 65,535, found from all rows instead of a"
        ' sample. "auto" gives every distinct value a bin in tables of at most 4,096 rows, and means 255, the fastest,'
        " for larger ones. More bins need two bytes per cell, and 4,096 bins take about twice as long.",
        check=must(
            f"an int from {MAX_BINS} to {MOST_BINS}, 'auto' or None",
            lambda value: value is None or is_word(value, "auto") or (is_whole(value, MAX_BINS) and value <= MOST_BINS),
        ),
    ),
    "label_rounds": Parameter(
        kind="int",
        about="Only for uncertain labels: maximum number of rounds in which out-of-bag predictions refine the labels;"
        " 0 uses the labels as given.",
        check=must("an int >= 0", lambda value: is_whole(value, 0)),
    ),
    "leaf_counts": Parameter(
        kind='{"all", "inbag", "distinct", "oob", "groups"}',
        about='Rows that a leaf counts: "all" training rows that reach it, rows of the bootstrap sample with'
        ' multiplicity ("inbag") or once each ("distinct"), or only out-of-bag rows ("oob").'
        ' "groups" counts the `groups` of `fit` in the sample: a group with several rows in a leaf counts once there,'
        " shared among its classes.",
        check=must(f"one of {', '.join(COUNT_SENSES)}", lambda value: is_word(value, *COUNT_SENSES)),
        needs_bags=lambda value: is_word(value, "oob", "groups"),
        instead="'all', 'inbag' or 'distinct'",
    ),
    "leaf_rows": Parameter(
        kind="bool",
        about="Whether pickles and model files contain the training rows of the leaves, which `predict_quantiles`"
        " needs after loading.",
        check=_switch,
        needs_rows=bool,
        instead="False",
    ),
    "ccp_alpha": Parameter(
        kind="float",
        about="Cost per leaf in minimal cost-complexity pruning: branches that gain less than this per leaf are cut.",
        check=must("a number >= 0", lambda value: is_real(value, 0) or isinstance(value, bool)),
    ),
    "sparse_output": Parameter(
        kind="bool",
        about="Whether `transform` returns a sparse array; False returns a dense one, which `set_output` can turn into"
        " a data frame.",
        check=_switch,
        on_fitted=True,
    ),
    "warm_start": Parameter(
        kind="bool",
        about="Whether `fit` keeps the existing trees and adds trees up to ``n_estimators``.",
        check=_switch,
        needs_rows=bool,
        instead="False",
    ),
    "n_jobs": Parameter(
        kind="int or None",
        about="Number of threads. None means one, or the number set by `joblib.parallel_config`; -1 means all.",
        check=lambda name, value: check_n_jobs(value),
        on_fitted=True,
        as_sklearn=True,
    ),
    "random_state": Parameter(
        kind="int, RandomState or None",
        about="Seed of all random draws. The same int gives a bitwise identical forest.",
        check=must("an int from 0 to 2**32 - 1, a RandomState or None", is_seed),
    ),
    "verbose": Parameter(
        kind="int",
        about="1 shows a progress bar on a terminal.",
        check=must("an int >= 0 or a bool", lambda value: isinstance(value, bool) or is_whole(value, 0)),
    ),
}

#: `caution` without "auto".
PLAIN_CAUTION = Parameter(
    kind="float",
    about="Pseudo-count s of each leaf in `predict_bounds`; 0 collapses the intervals.",
    check=must("a number >= 0", lambda value: is_real(value, 0)),
    on_fitted=True,
)


def number_criterion(value: object) -> str | Criterion:
    """Return a criterion of regression: a word, or an object after a check.

    "friedman_mse" is an alias of "squared_error".
    """
    if isinstance(value, Criterion) and value.of_numbers:
        value.check()
        return value
    if is_word(value, *NUMBER_CRITERIA):
        return NUMBER_CRITERIA[str(value)]()
    if is_word(value, FRIEDMAN_MSE):
        return NUMBER_WORDS[0]
    if is_word(value, *NUMBER_WORDS):
        return str(value)
    raise ValueError(
        f"criterion must be one of {', '.join((*NUMBER_WORDS, *NUMBER_CRITERIA))} or a BeliefVariance, got {value!r}."
    )


#: Rows that differ for regression.
REGRESSION: Mapping[str, Parameter] = {
    "caution": PLAIN_CAUTION,
    "criterion": Parameter(
        kind='{"squared_error", "absolute_error", "poisson", "belief"} or BeliefVariance',
        about="Split criterion: squared error, absolute error (leaves predict medians, and growing is log n times"
        ' slower), Poisson deviance of targets >= 0, or uncertainty of a belief function ("belief"; see'
        ' `hedgerow.criteria.BeliefVariance`). scikit-learn\'s "friedman_mse" is an alias of "squared_error".',
        check=lambda name, value: number_criterion(value),
        needs_rows=lambda value: isinstance(value, Criterion) and not value.is_resolved,
        instead='a criterion without "auto"',
    ),
    "oob_score": Parameter(
        kind="bool or callable",
        about="Whether to compute the out-of-bag score. True means R², a callable ``metric(y, prediction)``.",
        check=must("True, False or a callable", lambda value: is_switch(value) or callable(value)),
        needs_bags=bool,
        needs_rows=bool,
        instead="False",
        without_bags=NO_BAGS_TO_SCORE,
    ),
    "monotonic_cst": Parameter(
        kind="array-like of int of shape (n_features,), dict or None",
        about="Monotonicity constraints: 1 if the prediction may only rise with a feature, -1 if it may only fall,"
        " otherwise 0. A dict maps feature names to these.",
    ),
}


class TreeEstimator(BaseEstimator):
    """Parameters and capabilities of the public classes, as the layers below them read them."""

    #: Rows of the parameter table that a class takes, in the order of its constructor.
    _parameters: ClassVar[Mapping[str, Parameter]]

    # Parameters that every class takes.
    max_depth: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float | str
    categorical_features: CategoricalFeatures
    max_bins: int | str | None
    random_state: RandomState

    # Defaults of parameters that a class does not take.
    calibration: str | None = None
    criterion: str | Criterion = "gini"
    splitter: str = "best"
    min_weight_fraction_leaf: float = 0.0
    max_features: MaxFeatures = None
    constant_features: str = "skip"
    feature_weights: FeatureWeights = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    min_gain: float = 0.0
    bootstrap: bool | str = False
    max_samples: int | float | None = None
    oob_score: OobScore = False
    novelty: float | None = None
    unseen: str = "larger"
    class_weight: ClassWeight = None
    monotonic_cst: MonotonicCst = None
    immutable_features: ImmutableFeatures = None
    leaf_counts: str = "all"
    leaf_rows: bool = False
    ccp_alpha: float = 0.0
    warm_start: bool = False
    n_jobs: int | None = None
    verbose: int = 0

    # Capabilities of a class that other layers read.
    #: Whether the model is a single tree.
    _single_tree: ClassVar[bool] = False
    #: Whether leaves can count later rows.
    _incremental: ClassVar[bool] = False
    #: Whether a fitted model keeps the binned training rows.
    _keeps_training_rows: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class Params:
    """A snapshot of the parameters of an estimator.

    A parameter that the class does not take has the value of the class attribute, or None if there is none.
    `set_params` does not change a snapshot.

    Examples
    --------
    >>> from hedgerow import DecisionTreeRegressor
    >>> params = Params.of(DecisionTreeRegressor(max_depth=3))
    >>> params.max_depth, params.bootstrap, params.rule
    (3, False, None)
    """

    calibration: str | None
    criterion: str | Criterion
    splitter: str
    max_depth: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float
    min_weight_fraction_leaf: float
    max_features: MaxFeatures
    constant_features: str
    feature_weights: FeatureWeights
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    min_gain: float
    bootstrap: bool | str
    max_samples: int | float | None
    oob_score: OobScore
    novelty: float | None
    unseen: str
    class_weight: ClassWeight
    monotonic_cst: MonotonicCst
    categorical_features: CategoricalFeatures
    immutable_features: ImmutableFeatures
    max_bins: int | str | None
    leaf_counts: str
    leaf_rows: bool
    ccp_alpha: float
    warm_start: bool
    n_jobs: int | None
    random_state: RandomState
    verbose: int
    n_estimators: int | str | None = None
    rule: str | Rule | None = None
    caution: float | str | None = None
    decision: str | Decision | None = None
    label_rounds: int | None = None
    sparse_output: bool | None = None

    @classmethod
    def of(cls, estimator: TreeEstimator) -> Params:
        """Take a snapshot of the parameters of an estimator."""
        kind: type = type(estimator)
        snapshot = object.__new__(cls)  # twice as fast as the constructor, and every prediction takes a snapshot
        vars(snapshot).update(_class_values(kind))
        vars(snapshot).update({name: value for name, value in vars(estimator).items() if name in PARAMETERS})
        return snapshot


@lru_cache(maxsize=128)
def _class_values(kind: type) -> Mapping[str, Any]:
    """Return the class attributes in place of parameters, None if missing."""
    return {name: getattr(kind, name, None) for name in PARAMETERS}
