"""The table of parameters: their values, meaning and checks.

An estimator writes its constructor out and lists the rows of its parameters in `_parameters`. The name is not
scikit-learn's ``_parameter_constraints``, because scikit-learn would read the rows by its own rules, and its messages
say less. To add a parameter, add a row and a field of `Params` here, two lines in the constructor of each class that
takes it, and its use.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from types import MappingProxyType
from typing import Any, TypeVar

from hedgerow.criteria import Criterion, resolve_criterion
from hedgerow.decisions import Decision, resolve_decision
from hedgerow.forest.rows import COUNT_SENSES, MOST_DRAWS
from hedgerow.forest.unseen import POLICIES
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
from hedgerow.util.threads import check_n_jobs

NUMBER_CRITERIA = ("squared_error", "absolute_error", "poisson")
#: What scikit-learn has called the squared error in a criterion that makes the same splits.
FRIEDMAN_MSE = "friedman_mse"
#: What to do without a bootstrap, in the words of scikit-learn.
NO_BAGS_TO_SCORE = "Out of bag estimation only available if bootstrap=True"
NO_BAGS_TO_FILL = (
    "`max_sample` cannot be set if `bootstrap=False`. Either switch to `bootstrap=True` or set `max_sample=None`."
)

_Class = TypeVar("_Class", bound=type)


@dataclass(frozen=True)
class Parameter:
    """One row of the table of parameters.

    Attributes
    ----------
    kind, about : str
        Text for the docstring: which values it may have, and what it does.
    check : callable (name, value) -> object
        Raises an error if the value is not allowed.
    needs_bags, needs_rows : callable value -> bool
        Whether a value requires a bootstrap, and whether the training rows must settle it.
    instead : str
        What the parameter must be if it cannot be settled; part of an error message.
    without_bags : str
        What to do if a value needs a bootstrap and the forest has no bags; part of an error message. Where
        scikit-learn has the same error, these are its words, so that people who search for them find the cause.
    on_fitted : bool
        Whether the parameter may be changed on a fitted model.
    as_sklearn : bool
        Whether the parameter means the same in scikit-learn's trees, for every value.
    """

    kind: str
    about: str
    check: Callable[[str, Any], object] = lambda name, value: None
    needs_bags: Callable[[Any], bool] = lambda value: False
    needs_rows: Callable[[Any], bool] = lambda value: False
    instead: str = "given"
    without_bags: str = "set bootstrap=True"
    on_fitted: bool = False
    as_sklearn: bool = False

    def described(self, name: str, default: Any) -> str:
        """The lines about the parameter in a docstring."""
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        later = " Can be changed on a fitted model." if self.on_fitted else ""
        return f"{name} : {self.kind}, default={shown}\n    {self.about}{later}"


def rows_of(*names: str, variants: Mapping[str, Parameter] | None = None) -> Mapping[str, Parameter]:
    """Names of parameters -> their rows; `variants` has the rows that differ from the table."""
    unknown = [name for name in names if name not in PARAMETERS]
    if unknown:
        raise TypeError(f"{unknown[0]} must be one of the parameters {', '.join(PARAMETERS)}, got another")
    table = {**PARAMETERS, **(variants or {})}
    return MappingProxyType({name: table[name] for name in names})


def with_parameters_described(cls: _Class) -> _Class:
    """Replace ``{parameters}`` in the docstring of a class by descriptions of the parameters of its constructor."""
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
        about='Number of trees. "auto" grows trees until the out-of-bag error no longer falls, at most 1000 (needs a'
        " bootstrap); ``forest_.n_trees`` is their number, ``oob_trace_`` the error after each tree.",
        check=must("an int >= 1 or 'auto'", lambda value: is_whole(value, 1) or is_word(value, "auto")),
        needs_bags=lambda value: is_word(value, "auto"),
        needs_rows=lambda value: is_word(value, "auto"),
    ),
    "rule": Parameter(
        kind="str or Rule",
        about="How the leaves that a sample reaches are combined; see `hedgerow.rules`.",
        check=lambda name, value: resolve_rule(value),
        needs_bags=lambda value: resolve_rule(value).needs_weights,
        needs_rows=lambda value: resolve_rule(value).needs_weights,
        instead="one that learns no tree weights",
        on_fitted=True,
    ),
    "caution": Parameter(
        kind='float or "auto"',
        about='Pseudo-count s of the imprecise Dirichlet model; 0 collapses the intervals. "auto" maximises out-of-bag'
        " u65 (``caution_``) in the fit, and again when rule or decision change, as long as the forest"
        " has its training rows.",
        check=must("a number >= 0 or 'auto'", lambda value: is_real(value, 0) or is_word(value, "auto")),
        needs_bags=lambda value: is_word(value, "auto"),
        needs_rows=lambda value: is_word(value, "auto"),
        instead="a number",
        on_fitted=True,
    ),
    "decision": Parameter(
        kind="str or Decision",
        about='How an opinion becomes a set of classes; see `hedgerow.decisions`. "auto" takes the sets of a rule that'
        " chooses sets itself (`mva`, `cdm_ave`, `cdm_vote`, `ndc`, `cr`, `interval_average`, `dominance_vote`), and"
        " interval dominance otherwise.",
        check=lambda name, value: resolve_decision(value),
        needs_rows=lambda value: resolve_decision(value).needs_calibration,
        instead="one that needs no calibration",
        on_fitted=True,
    ),
    "calibration": Parameter(
        kind='"oob" or None',
        about='"oob" learns, on rows outside the bags, a map that makes probabilities better, and bounds and sets with'
        " them. ``calibration_`` is this map; if none was learned, as without bags, it gives the reason. None is the"
        " forest of the papers, whose probabilities are the mean of its leaves.",
        check=must("'oob' or None", lambda value: value is None or is_word(value, "oob")),
        on_fitted=True,
    ),
    "criterion": Parameter(
        kind="str or Criterion",
        about='What a split should reduce: "gini" impurity, "entropy" (or "log_loss"), the uncertainty of a belief'
        ' function ("belief"), upper entropy ("imprecise"); see `hedgerow.criteria`.',
        check=lambda name, value: resolve_criterion(value),
        needs_rows=lambda value: not resolve_criterion(value).is_resolved,
        instead="one that leaves nothing to be chosen",
    ),
    "splitter": Parameter(
        kind='{"best", "random"}',
        about='"best" looks at all thresholds of a feature, "random" at one that is drawn.',
        check=must("'best' or 'random'", lambda value: is_word(value, "best", "random")),
        as_sklearn=True,
    ),
    "max_depth": Parameter(
        kind="int or None",
        about="Length of the longest path from the root; None means no limit.",
        check=must("an int >= 1 or None", lambda value: value is None or is_whole(value, 1)),
        as_sklearn=True,
    ),
    "min_samples_split": Parameter(
        kind="int or float",
        about="Number of rows that a node must have to be split; a float is a share of the training rows.",
        check=must("an int >= 2 or a float in (0, 1]", lambda value: is_whole(value, 2) or is_share(value)),
        as_sklearn=True,
    ),
    "min_samples_leaf": Parameter(
        kind="int or float",
        about="Number of rows that each side of a split must have; a float is a share of the training rows.",
        check=must("an int >= 1 or a float in (0, 1]", lambda value: is_whole(value, 1) or is_share(value)),
        as_sklearn=True,
    ),
    "min_weight_fraction_leaf": Parameter(
        kind="float",
        about="Share of the total weight of the tree that each side of a split must have.",
        check=must("a number in [0, 0.5]", lambda value: is_real(value, 0, 0.5)),
        as_sklearn=True,
    ),
    "max_features": Parameter(
        kind='{"sqrt", "log2", "oob"}, int, float or None',
        about="Number of features to look at for each split; see ``constant_features``. None means all, a float is a"
        ' share. "oob" chooses the number with the smallest out-of-bag error (``max_features_``; needs a'
        " bootstrap).",
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
        about='Whether drawn features that are constant in the node count for ``max_features``: "skip" draws others in'
        ' their place, "count" counts them, as scikit-learn does, so that fewer features compete.',
        check=must("'skip' or 'count'", lambda value: is_word(value, "skip", "count")),
    ),
    "feature_weights": Parameter(
        kind="array-like of float of shape (n_features,), dict or None",
        about="How likely each feature is drawn, in proportion to these numbers; a dict maps feature names to them, and"
        " gives the others 1. A feature with 0 is never looked at, one with infinity at every split, before and besides"
        " the ``max_features`` that are drawn. None draws all features alike.",
    ),
    "max_leaf_nodes": Parameter(
        kind="int or None",
        about="Largest number of leaves of a tree. With a limit, the node with the largest gain is split next.",
        check=must("an int >= 2 or None", lambda value: value is None or is_whole(value, 2)),
        as_sklearn=True,
    ),
    "min_impurity_decrease": Parameter(
        kind="float",
        about="A split must reduce the impurity of the whole tree by at least this much.",
        check=must("a number >= 0", lambda value: is_real(value, 0)),
        as_sklearn=True,
    ),
    "bootstrap": Parameter(
        kind='bool or "multinomial"',
        about="Whether each tree is grown on a bootstrap sample (independent Poisson multiplicities, keyed by row) or"
        ' on all rows. "multinomial" draws exactly ``max_samples`` rows with replacement, but not on a cluster.',
        check=must("True, False or 'multinomial'", is_bootstrap),
        as_sklearn=True,
    ),
    "max_samples": Parameter(
        kind="int, float or None",
        about="Expected size of the bootstrap sample: a number of rows, or how often a row is drawn on average, up to"
        f" {MOST_DRAWS} times; None means as many rows as the table has.",
        check=must(f"an int >= 1, a float in (0, {MOST_DRAWS}] or None", is_bag_size),
        needs_bags=lambda value: value is not None,
        instead="None",
        without_bags=NO_BAGS_TO_FILL,
    ),
    "oob_score": Parameter(
        kind="bool, str or callable",
        about="Whether to judge the forest on out-of-bag rows: True by accuracy, a str by the metric of sets of that"
        " name, a callable by ``metric(y, prediction)``.",
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
        about="The p-value of `predict_novelty` below which a sample is a stranger: the smaller its p-value, the more"
        " its bounds and its set open up. 0.01 is a good value; None answers strangers like all others.",
        check=must("a number in (0, 1] or None", lambda value: value is None or (is_real(value, 0, 1) and value > 0)),
        needs_bags=lambda value: value is not None,
        instead="None",
        on_fitted=True,
    ),
    "unseen": Parameter(
        kind='{"shares", "sum", "larger"}',
        about='Where a sample with a value that no training row had goes at a split on it. "shares" sends it down both'
        ' sides, weighted by their shares of the training rows, "sum" adds up the rows of the leaves on both sides;'
        ' bounds and sets hold for every known value in its place. "larger" is as sure as ever, on the larger side.',
        check=must(f"one of {', '.join(POLICIES)}", lambda value: is_word(value, *POLICIES)),
    ),
    "class_weight": Parameter(
        kind='{"balanced", "balanced_subsample"}, dict, list or None',
        about="Weights of the classes, with several outputs a list with one entry for each. They change splits and"
        " class shares, but never the amount of evidence.",
        check=lambda name, value: check_class_weights(value),
    ),
    "monotonic_cst": Parameter(
        kind="array-like of int of shape (n_features,), dict or None",
        about="Only for two classes: 1 if the probability of the second may only rise with a feature, -1 if it may only"
        " fall, otherwise 0; a dict maps feature names to these.",
    ),
    "categorical_features": Parameter(
        kind='"from_dtype", array-like of bool, int or str, or None',
        about="Which features are nominal; by default those that are text or categorical in a data frame.",
    ),
    "immutable_features": Parameter(
        kind="list of int or str, or None",
        about="Features, by number or name, that nobody can change, such as age. What would settle a case (`explain`,"
        " `report`) leaves them as they are; predictions do not depend on it.",
        check=must("a list of names or numbers of features, or None", is_list_of_features),
        on_fitted=True,
    ),
    "max_bins": Parameter(
        kind='int, "auto" or None',
        about="Largest number of bins of a numeric column, 255 to 65,535. A column with more distinct values is cut"
        " into so many, the finest at both ends. None means 65,535, chosen from all rows instead of a sample."
        ' "auto" tells all values apart in a table of at most 4,096 rows; for longer tables it is 255, the fastest:'
        " more bins take two bytes a cell, and 4,096 take about twice as long.",
        check=must(
            f"an int from {MAX_BINS} to {MOST_BINS}, 'auto' or None",
            lambda value: value is None or is_word(value, "auto") or (is_whole(value, MAX_BINS) and value <= MOST_BINS),
        ),
    ),
    "label_rounds": Parameter(
        kind="int",
        about="Only for uncertain labels: how many rounds, at most, out-of-bag opinions of the trees refine the labels;"
        " 0 uses the labels as given.",
        check=must("an int >= 0", lambda value: is_whole(value, 0)),
    ),
    "leaf_counts": Parameter(
        kind='{"all", "inbag", "distinct", "oob"}',
        about='Which rows a leaf counts: "all" training rows that reach it, rows of the bootstrap sample as often as it'
        ' holds them ("inbag") or once each ("distinct"), or only rows outside the sample ("oob").',
        check=must(f"one of {', '.join(COUNT_SENSES)}", lambda value: is_word(value, *COUNT_SENSES)),
        needs_bags=lambda value: is_word(value, "oob"),
        instead="'all', 'inbag' or 'distinct'",
    ),
    "leaf_rows": Parameter(
        kind="bool",
        about="Whether pickles and files contain the training rows of the leaves, for `predict_quantiles`. A model that"
        " was fitted in the same process does not need it.",
        check=_switch,
        needs_rows=bool,
        instead="False",
    ),
    "ccp_alpha": Parameter(
        kind="float",
        about="Cost of a leaf in cost-complexity pruning: branches that gain less than this for each leaf are cut.",
        check=must("a number >= 0", lambda value: is_real(value, 0) or isinstance(value, bool)),
    ),
    "sparse_output": Parameter(
        kind="bool",
        about="Whether leaves are returned as a sparse array; False returns a dense one, which `set_output` can turn"
        " into a data frame.",
        check=_switch,
        on_fitted=True,
    ),
    "warm_start": Parameter(
        kind="bool",
        about="Whether another call of `fit` keeps the trees and only adds the missing ones.",
        check=_switch,
        needs_rows=bool,
        instead="False",
    ),
    "n_jobs": Parameter(
        kind="int or None",
        about="Number of threads; None means one, or what `joblib.parallel_config` sets; -1 means all.",
        check=lambda name, value: check_n_jobs(value),
        on_fitted=True,
        as_sklearn=True,
    ),
    "random_state": Parameter(
        kind="int, RandomState or None",
        about="Seed of all random draws. The same int gives the same forest, bit for bit.",
        check=must("an int from 0 to 2**32 - 1, a RandomState or None", is_seed),
    ),
    "verbose": Parameter(
        kind="int",
        about="1 shows a progress bar on a terminal.",
        check=must("an int >= 0 or a bool", lambda value: isinstance(value, bool) or is_whole(value, 0)),
    ),
}

#: A caution without "auto".
PLAIN_CAUTION = Parameter(
    kind="float",
    about="How many unseen rows each leaf keeps in reserve for `predict_bounds`.",
    check=must("a number >= 0", lambda value: is_real(value, 0)),
    on_fitted=True,
)

#: What differs in a regression.
REGRESSION: Mapping[str, Parameter] = {
    "caution": PLAIN_CAUTION,
    "criterion": Parameter(
        kind='{"squared_error", "absolute_error", "poisson"}',
        about="What a split should reduce: the squared error, the absolute error (leaves predict medians, and growing"
        ' is log n times slower), or the Poisson deviance of targets >= 0. scikit-learn\'s "friedman_mse" is the'
        " squared error under another name.",
        check=must(
            f"one of {', '.join(NUMBER_CRITERIA)}", lambda value: is_word(value, *NUMBER_CRITERIA, FRIEDMAN_MSE)
        ),
    ),
    "oob_score": Parameter(
        kind="bool or callable",
        about="Whether to judge the forest on out-of-bag rows: True by R², a callable by ``metric(y, prediction)``.",
        check=must("True, False or a callable", lambda value: is_switch(value) or callable(value)),
        needs_bags=bool,
        needs_rows=bool,
        instead="False",
        without_bags=NO_BAGS_TO_SCORE,
    ),
    "monotonic_cst": Parameter(
        kind="array-like of int of shape (n_features,), dict or None",
        about="1 if the prediction may only rise with a feature, -1 if it may only fall, otherwise 0; a dict maps"
        " feature names to these.",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Params:
    """The parameters of an estimator at one moment.

    A parameter that the class does not take has the value of the class attribute, or None if there is none.
    `set_params` does not change a snapshot.

    Examples
    --------
    >>> from hedgerow import DecisionTreeRegressor
    >>> params = Params.of(DecisionTreeRegressor(max_depth=3))
    >>> params.max_depth, params.bootstrap, params.rule
    (3, False, None)
    >>> params.key
    (None, 1.0, None, None, None, None, False)
    """

    calibration: str | None
    criterion: str | Criterion
    splitter: str
    max_depth: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float
    min_weight_fraction_leaf: float
    max_features: Any
    constant_features: str
    feature_weights: Any
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    bootstrap: bool | str
    max_samples: Any
    oob_score: Any
    novelty: float | None
    unseen: str
    class_weight: Any
    monotonic_cst: Any
    categorical_features: Any
    immutable_features: Any
    max_bins: int | str | None
    leaf_counts: str
    leaf_rows: bool
    ccp_alpha: float
    warm_start: bool
    n_jobs: int | None
    random_state: Any
    verbose: int
    n_estimators: int | str | None = None
    rule: str | Rule | None = None
    caution: float | str | None = None
    decision: str | Decision | None = None
    label_rounds: int | None = None
    sparse_output: bool | None = None

    @classmethod
    def of(cls, estimator: Any) -> Params:
        """Take a snapshot of the parameters of an estimator."""
        kind: type = type(estimator)
        snapshot = object.__new__(cls)  # every prediction takes one: half the time of the constructor
        vars(snapshot).update(_class_values(kind))
        vars(snapshot).update({name: value for name, value in vars(estimator).items() if name in PARAMETERS})
        return snapshot

    @property
    def key(self) -> tuple[str | float | None, ...] | None:
        """The parameters on which predictions of a fitted model depend, as the key of its predictor.

        None if one of them is an object, such as a rule, because its own parameters can change.
        """
        return key_of(self)


def key_of(holder: Any) -> tuple[Any, ...] | None:
    """Return the key of `Params`, or of an estimator without a snapshot, which would take longer.

    The key of an estimator does not contain class attributes.
    """
    given = vars(holder)
    kind: type = type(holder)
    values = _keyed_of(kind)(given)
    features = given.get("immutable_features")
    if features is not None:
        if not isinstance(features, list | tuple):
            return None
        values += tuple(features)
    return values if _PLAIN.issuperset(map(type, values)) else None


#: Parameters on which predictors depend, besides the features that counterfactuals must not change.
_KEYED = ("rule", "caution", "decision", "calibration", "novelty", "n_jobs", "leaf_rows")


@lru_cache(maxsize=128)
def _keyed_of(kind: type) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """Return a function that reads the parameters of a class on which its predictors depend."""
    own = getattr(kind, "_parameters", PARAMETERS)
    names = [name for name in _KEYED if name in own]
    return itemgetter(*names) if len(names) > 1 else lambda given: tuple(map(given.get, names))


#: Types of values that cannot change.
_PLAIN = frozenset((str, int, float, bool, type(None)))


@lru_cache(maxsize=128)
def _class_values(kind: type) -> Mapping[str, Any]:
    """A class -> the values of all parameters that it has without taking them, None for the others."""
    return {name: getattr(kind, name, None) for name in PARAMETERS}
