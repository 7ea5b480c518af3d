"""Parameters: the parameters of an estimator -> the same, checked, and the settings with which trees are grown."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.criteria import resolve_criterion
from hedgerow.decisions import resolve_decision
from hedgerow.fit.fields import Size, estimator, parameter, parameters_of
from hedgerow.fit.settings import (
    NO_BAGS_TO_FILL,
    NO_BAGS_TO_SCORE,
    bag_mean,
    is_bag_size,
    is_bootstrap,
    is_list_of_features,
    is_real,
    is_seed,
    is_share,
    is_whole,
    is_word,
    must,
    resolve_max_features,
    rows_from,
    seed_from,
    signs_from,
    weights_from,
)
from hedgerow.forest.grow import NO_LIMIT, GrowSettings
from hedgerow.forest.rows import COUNT_SENSES, MOST_DRAWS
from hedgerow.forest.threads import check_n_jobs
from hedgerow.forest.unseen import POLICIES
from hedgerow.metrics.scorers import SCORERS
from hedgerow.rules import resolve_rule
from hedgerow.table.bins import MAX_BINS, MOST_BINS
from hedgerow.target.classes import check_class_weights

_SWITCH = (bool, np.bool_)
_switch = must("True or False", lambda value: isinstance(value, _SWITCH))


@estimator
class Parameters:
    """The table of all parameters, in the order of signatures.

    An estimator takes the parameters that all estimators have, and those that it declares again with its own default.
    The other parameters have the value from this table, which has no effect; a parameter without a value is never read.
    """

    n_estimators: Any = parameter(
        init=False,
        kind='int or "auto"',
        about='Number of trees. "auto" grows trees until the out-of-bag error no longer falls, at most 1000 (needs a'
        " bootstrap); ``forest_.n_trees`` is their number, ``oob_trace_`` the error after each tree.",
        check=must("an int >= 1 or 'auto'", lambda value: is_whole(value, 1) or is_word(value, "auto")),
        needs_bags=lambda value: is_word(value, "auto"),
        needs_rows=lambda value: is_word(value, "auto"),
    )
    rule: Any = parameter(
        init=False,
        kind="str or Rule",
        about="How the leaves that a sample reaches are combined; see `hedgerow.rules`.",
        check=lambda name, value: resolve_rule(value),
        needs_bags=lambda value: resolve_rule(value).needs_weights,
        needs_rows=lambda value: resolve_rule(value).needs_weights,
        instead="one that learns no tree weights",
        on_fitted=True,
    )
    caution: Any = parameter(
        init=False,
        kind='float or "auto"',
        about='How many unseen rows each leaf keeps in reserve: 0 is the ordinary forest. "auto" chooses a value on'
        " out-of-bag evidence (``caution_``) in the fit, and again when rule or decision change, as long as the forest"
        " has its training rows.",
        check=must("a number >= 0 or 'auto'", lambda value: is_real(value, 0) or is_word(value, "auto")),
        needs_bags=lambda value: is_word(value, "auto"),
        needs_rows=lambda value: is_word(value, "auto"),
        instead="a number",
        on_fitted=True,
    )
    decision: Any = parameter(
        init=False,
        kind="str or Decision",
        about='How an opinion becomes a set of classes; see `hedgerow.decisions`. "auto" takes the sets of a rule that'
        " chooses sets itself (`mva`, `cdm_ave`, `cdm_vote`, `ndc`, `cr`, `interval_average`, `dominance_vote`), and"
        " interval dominance otherwise.",
        check=lambda name, value: resolve_decision(value),
        needs_rows=lambda value: resolve_decision(value).needs_calibration,
        instead="one that needs no calibration",
        on_fitted=True,
    )
    calibration: str | None = parameter(
        default=None,
        init=False,
        kind='"oob" or None',
        about='"oob" learns, on rows outside the bags, a map that makes probabilities better, and bounds and sets with'
        " them. ``calibration_`` is this map; if none was learned, as without bags, it gives the reason. None is the"
        " forest of the papers, whose probabilities are the mean of its leaves.",
        check=must("'oob' or None", lambda value: value is None or is_word(value, "oob")),
        on_fitted=True,
    )
    criterion: Any = parameter(
        default="gini",
        init=False,
        kind="str or Criterion",
        about='What a split should reduce: "gini" impurity, "entropy" (or "log_loss"), the uncertainty of a belief'
        ' function ("belief"), upper entropy ("imprecise"); see `hedgerow.criteria`.',
        check=lambda name, value: resolve_criterion(value),
        settle=lambda value, size: resolve_criterion(value),
        needs_rows=lambda value: not resolve_criterion(value).is_settled,
        instead="one that leaves nothing to be chosen",
    )
    splitter: str = parameter(
        default="best",
        init=False,
        kind='{"best", "random"}',
        about='"best" looks at all thresholds of a feature, "random" at one that is drawn.',
        check=must("'best' or 'random'", lambda value: is_word(value, "best", "random")),
        settle=lambda value, size: value,
        as_sklearn=True,
    )
    max_depth: int | None = parameter(
        default=None,
        kind="int or None",
        about="Length of the longest path from the root; None means no limit.",
        check=must("an int >= 1 or None", lambda value: value is None or is_whole(value, 1)),
        settle=lambda value, size: NO_LIMIT if value is None else min(int(value), NO_LIMIT),
        as_sklearn=True,
    )
    min_samples_split: int | float = parameter(
        default=2,
        kind="int or float",
        about="Number of rows that a node must have to be split; a float is a share of the training rows.",
        check=must("an int >= 2 or a float in (0, 1]", lambda value: is_whole(value, 2) or is_share(value)),
        settle=lambda value, size: rows_from(value, size.n_rows, 2),
        as_sklearn=True,
    )
    min_samples_leaf: int | float = parameter(
        default=1,
        kind="int or float",
        about="Number of rows that each side of a split must have; a float is a share of the training rows.",
        check=must("an int >= 1 or a float in (0, 1]", lambda value: is_whole(value, 1) or is_share(value)),
        settle=lambda value, size: rows_from(value, size.n_rows, 1),
        as_sklearn=True,
    )
    min_weight_fraction_leaf: float = parameter(
        default=0.0,
        init=False,
        kind="float",
        about="Share of the total weight of the tree that each side of a split must have.",
        check=must("a number in [0, 0.5]", lambda value: is_real(value, 0, 0.5)),
        settle=lambda value, size: float(value),
        as_sklearn=True,
    )
    max_features: Any = parameter(
        default=None,
        init=False,
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
        settle=lambda value, size: resolve_max_features(value, size.n_features),
        needs_bags=lambda value: is_word(value, "oob"),
        needs_rows=lambda value: is_word(value, "oob"),
    )
    constant_features: str = parameter(
        default="skip",
        init=False,
        kind='{"skip", "count"}',
        about='Whether drawn features that are constant in the node count for ``max_features``: "skip" draws others in'
        ' their place, "count" counts them, as scikit-learn does, so that fewer features compete.',
        check=must("'skip' or 'count'", lambda value: is_word(value, "skip", "count")),
        settle=lambda value, size: value,
    )
    feature_weights: Any = parameter(
        default=None,
        init=False,
        kind="array-like of float of shape (n_features,), dict or None",
        about="How likely each feature is drawn, in proportion to these numbers; a dict maps feature names to them, and"
        " gives the others 1. A feature with 0 is never looked at, one with infinity at every split, before and besides"
        " the ``max_features`` that are drawn. None draws all features alike.",
    )
    max_leaf_nodes: int | None = parameter(
        default=None,
        kind="int or None",
        about="Largest number of leaves of a tree. With a limit, the node with the largest gain is split next.",
        check=must("an int >= 2 or None", lambda value: value is None or is_whole(value, 2)),
        settle=lambda value, size: 0 if value is None else min(int(value), NO_LIMIT),
        as_sklearn=True,
    )
    min_impurity_decrease: float = parameter(
        default=0.0,
        init=False,
        kind="float",
        about="A split must reduce the impurity of the whole tree by at least this much.",
        check=must("a number >= 0", lambda value: is_real(value, 0)),
        settle=lambda value, size: float(value),
        as_sklearn=True,
    )
    bootstrap: bool | str = parameter(
        default=False,
        init=False,
        kind='bool or "multinomial"',
        about="Whether each tree is grown on a bootstrap sample (independent Poisson multiplicities, keyed by row) or"
        ' on all rows. "multinomial" draws exactly ``max_samples`` rows with replacement, but not on a cluster.',
        check=must("True, False or 'multinomial'", is_bootstrap),
        as_sklearn=True,
    )
    max_samples: Any = parameter(
        default=None,
        init=False,
        kind="int, float or None",
        about="Expected size of the bootstrap sample: a number of rows, or how often a row is drawn on average, up to"
        f" {MOST_DRAWS} times; None means as many rows as the table has.",
        check=must(f"an int >= 1, a float in (0, {MOST_DRAWS}] or None", is_bag_size),
        needs_bags=lambda value: value is not None,
        instead="None",
        without_bags=NO_BAGS_TO_FILL,
    )
    oob_score: Any = parameter(
        default=False,
        init=False,
        kind="bool, str or callable",
        about="Whether to judge the forest on out-of-bag rows: True by accuracy, a str by the metric of sets of that"
        " name, a callable by ``metric(y, prediction)``.",
        check=must(
            "True, False, a callable or the name of a metric",
            lambda value: isinstance(value, _SWITCH) or callable(value) or is_word(value, "accuracy", *SCORERS),
        ),
        needs_bags=bool,
        needs_rows=bool,
        instead="False",
        without_bags=NO_BAGS_TO_SCORE,
    )
    novelty: float | None = parameter(
        default=None,
        init=False,
        kind="float or None",
        about="The p-value of `predict_novelty` below which a sample is a stranger: the smaller its p-value, the more"
        " its bounds and its set open up. 0.01 is a good value; None answers strangers like all others.",
        check=must("a number in (0, 1] or None", lambda value: value is None or (is_real(value, 0, 1) and value > 0)),
        needs_bags=lambda value: value is not None,
        instead="None",
        on_fitted=True,
    )
    unseen: str = parameter(
        default="larger",
        init=False,
        kind='{"shares", "sum", "larger"}',
        about='Where a sample with a value that no training row had goes at a split on it. "shares" sends it down both'
        ' sides, weighted by their shares of the training rows, "sum" adds up the rows of the leaves on both sides;'
        ' bounds and sets hold for every known value in its place. "larger" is as sure as ever, on the larger side.',
        check=must(f"one of {', '.join(POLICIES)}", lambda value: is_word(value, *POLICIES)),
    )
    class_weight: Any = parameter(
        default=None,
        init=False,
        kind='{"balanced", "balanced_subsample"}, dict, list or None',
        about="Weights of the classes, with several outputs a list with one entry for each. They change splits and"
        " class shares, but never the amount of evidence.",
        check=lambda name, value: check_class_weights(value),
    )
    monotonic_cst: Any = parameter(
        default=None,
        init=False,
        kind="array-like of int of shape (n_features,), dict or None",
        about="Only for two classes: 1 if the probability of the second may only rise with a feature, -1 if it may only"
        " fall, otherwise 0; a dict maps feature names to these.",
    )
    categorical_features: Any = parameter(
        default="from_dtype",
        kind='"from_dtype", array-like of bool, int or str, or None',
        about="Which features are nominal; by default those that are text or categorical in a data frame.",
    )
    immutable_features: Any = parameter(
        default=None,
        init=False,
        kind="list of int or str, or None",
        about="Features, by number or name, that nobody can change, such as age. What would settle a case (`explain`,"
        " `report`) leaves them as they are; predictions do not depend on it.",
        check=must("a list of names or numbers of features, or None", is_list_of_features),
        on_fitted=True,
    )
    max_bins: int | str | None = parameter(
        default="auto",
        kind='int, "auto" or None',
        about="Largest number of bins of a numeric column, 255 to 65,535. A column with more distinct values is cut"
        " into so many, the finest at both ends. None means 65,535, chosen from all rows instead of a sample."
        ' "auto" tells all values apart in a table of at most 4,096 rows; for longer tables it is 255, the fastest:'
        " more bins take two bytes a cell, and 4,096 take about twice as long.",
        check=must(
            f"an int from {MAX_BINS} to {MOST_BINS}, 'auto' or None",
            lambda value: value is None or is_word(value, "auto") or (is_whole(value, MAX_BINS) and value <= MOST_BINS),
        ),
    )
    label_rounds: int = parameter(
        init=False,
        kind="int",
        about="Only for uncertain labels: how many rounds, at most, out-of-bag opinions of the trees refine the labels;"
        " 0 uses the labels as given.",
        check=must("an int >= 0", lambda value: is_whole(value, 0)),
    )
    leaf_counts: str = parameter(
        default="all",
        init=False,
        kind='{"all", "inbag", "distinct", "oob"}',
        about='Which rows a leaf counts: "all" training rows that reach it, rows of the bootstrap sample as often as it'
        ' holds them ("inbag") or once each ("distinct"), or only rows outside the sample ("oob").',
        check=must(f"one of {', '.join(COUNT_SENSES)}", lambda value: is_word(value, *COUNT_SENSES)),
        settle=lambda value, size: value,
        needs_bags=lambda value: is_word(value, "oob"),
        instead="'all', 'inbag' or 'distinct'",
    )
    leaf_rows: bool = parameter(
        default=False,
        init=False,
        kind="bool",
        about="Whether pickles and files contain the training rows of the leaves, for `predict_quantiles`. A model that"
        " was fitted in the same process does not need it.",
        check=_switch,
        needs_rows=bool,
        instead="False",
    )
    ccp_alpha: float = parameter(
        default=0.0,
        init=False,
        kind="float",
        about="Cost of a leaf in cost-complexity pruning: branches that gain less than this for each leaf are cut.",
        check=must("a number >= 0", lambda value: is_real(value, 0) or isinstance(value, bool)),
    )
    sparse_output: bool = parameter(
        init=False,
        kind="bool",
        about="Whether leaves are returned as a sparse array; False returns a dense one, which `set_output` can turn"
        " into a data frame.",
        check=_switch,
        on_fitted=True,
    )
    warm_start: bool = parameter(
        default=False,
        init=False,
        kind="bool",
        about="Whether another call of `fit` keeps the trees and only adds the missing ones.",
        check=_switch,
        needs_rows=bool,
        instead="False",
    )
    n_jobs: int | None = parameter(
        default=None,
        init=False,
        kind="int or None",
        about="Number of threads; None means one, or what `joblib.parallel_config` sets; -1 means all.",
        check=lambda name, value: check_n_jobs(value),
        on_fitted=True,
        as_sklearn=True,
    )
    random_state: Any = parameter(
        default=None,
        kind="int, RandomState or None",
        about="Seed of all random draws. The same int gives the same forest, bit for bit.",
        check=must("an int from 0 to 2**32 - 1, a RandomState or None", is_seed),
    )
    verbose: int = parameter(
        default=0,
        init=False,
        kind="int",
        about="1 shows a progress bar on a terminal.",
        check=must("an int >= 0 or a bool", lambda value: isinstance(value, bool) or is_whole(value, 0)),
    )


def check_parameters(estimator: Any) -> None:
    """Refuse values that are wrong for every table, and values that contradict each other, before a table is read."""
    rows = parameters_of(estimator)
    for name, row in rows.items():
        value = getattr(estimator, name)
        row.check(name, value)
        if row.needs_bags(value) and not estimator.bootstrap:
            advice = f"; {row.without_bags}" if "bootstrap" in rows else ""
            raise ValueError(f"{name} must be {row.instead} without a bootstrap, got {value!r}{advice}")
    if estimator.warm_start and isinstance(estimator.n_estimators, str):
        raise ValueError(f"n_estimators must be an int in a warm start, got {estimator.n_estimators!r}")


def check_on_fitted(estimator: Any) -> None:
    """Refuse wrong values of parameters that a fitted model uses; `set_params` may have changed them since `fit`."""
    for name, row in parameters_of(estimator).items():
        if row.on_fitted:
            row.check(name, getattr(estimator, name))


def check_once_fitted(estimator: Any) -> None:
    """Refuse values that no fit takes; those that only another fit reads may have been set to None since."""
    for name, row in parameters_of(estimator).items():
        value = getattr(estimator, name)
        if row.on_fitted or value is not None:
            row.check(name, value)


def resolve_settings(estimator: Any, n_rows: int, n_features: int, names: Any, n_classes: int) -> GrowSettings:
    """Turn shares and words among the parameters of an estimator into numbers, for a table of this size."""
    for name, row in parameters_of(estimator).items():
        row.check(name, getattr(estimator, name))
    size, rows = Size(n_rows, n_features), estimator._parameters.items()
    settled = {name: row.settle(getattr(estimator, name), size) for name, row in rows if row.settle}
    return GrowSettings(
        **settled,
        bag_mean=bag_mean(estimator.bootstrap, estimator.max_samples, n_rows),
        seed=seed_from(estimator.random_state),
        monotonic=signs_from(estimator.monotonic_cst, n_features, names, n_classes),
        feature_weights=weights_from(estimator.feature_weights, n_features, names),
    )
