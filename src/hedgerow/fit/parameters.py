"""Parameters: what the user set -> how trees are grown, every number checked and resolved."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count
from joblib.parallel import get_active_backend
from sklearn.utils import check_random_state

from hedgerow.belief import resolve_rule
from hedgerow.decide import resolve_decision
from hedgerow.forest.grow import NO_LIMIT, GrowSettings
from hedgerow.forest.rows import COUNT_SENSES
from hedgerow.judge.oob import MOST_TREES
from hedgerow.metrics.scorers import SCORERS
from hedgerow.target.criteria import resolve_criterion

#: What `resolve_max_features` says of a number that out-of-bag rows are to choose.
TO_BE_CHOSEN = 0
_FEATURE_WORDS = "'sqrt', 'log2', 'oob'"
NUMBER_CRITERIA = ("squared_error", "absolute_error", "poisson")

#: The one description of every parameter; `documented` puts those of a class into its docstring.
DESCRIPTIONS = {
    "n_estimators": (
        'int or "auto", default=100\n    Number of trees. "auto" grows until the out-of-bag error no longer falls, at'
        " most 1000 (needs a bootstrap); ``forest_.n_trees`` says how many, ``oob_trace_`` why."
    ),
    "criterion": (
        'str or Criterion, default="gini"\n'
        '    What a split should reduce: "gini" impurity, "entropy" (or "log_loss"), the uncertainty of a belief'
        ' function ("belief"), upper entropy ("imprecise"); see `hedgerow.criteria`.'
    ),
    "max_depth": "int or None, default=None\n    Longest path from the root; None lets trees grow to the end.",
    "min_samples_split": (
        "int or float, default=2\n    Rows a node must have to be split; a float is a share of the training rows."
    ),
    "min_samples_leaf": (
        "int or float, default=1\n    Rows each side of a split must keep; a float is a share of the training rows."
    ),
    "min_weight_fraction_leaf": (
        "float, default=0.0\n    Share of the tree's total weight each side of a split must keep."
    ),
    "max_features": (
        '{"sqrt", "log2", "oob"}, int, float or None\n    Features looked at per split, counting only those that vary'
        ' in the node; None means all, a float is a share. "oob" takes the number with the least out-of-bag error'
        " (``max_features_``; needs a bootstrap)."
    ),
    "max_leaf_nodes": (
        "int or None, default=None\n    With a limit, the node that gains most is split next until it is reached."
    ),
    "min_impurity_decrease": (
        "float, default=0.0\n    A split must reduce the impurity of the whole tree by at least this much."
    ),
    "bootstrap": (
        "bool, default=True\n    Whether each tree sees a bootstrap sample (independent Poisson multiplicities,"
        " keyed by row) or all rows."
    ),
    "max_samples": (
        "int, float or None, default=None\n    Expected size of the bootstrap sample: rows, or a share of them;"
        " None means as many as there are rows."
    ),
    "oob_score": (
        "bool, str or callable, default=False\n    Whether to judge the forest on the rows its trees have not seen: by"
        " accuracy, a metric of sets by name, or ``metric(y, prediction)``."
    ),
    "rule": (
        'str or Rule, default="average"\n    How the leaves a sample reaches are combined; see `hedgerow.rules`. Can be'
        " changed on a fitted forest."
    ),
    "caution": (
        'float or "auto", default=1.0\n    How many unseen rows each leaf keeps in reserve: 0 is the ordinary forest.'
        ' "auto" chooses on out-of-bag evidence (``caution_``): when fitted, and again when rule or decision change,'
        " while the forest still has its training rows. Can be changed on a fitted forest."
    ),
    "decision": (
        'str or Decision, default="dominance"\n    Which classes remain, given the bounds; see `hedgerow.decide`. Can'
        " be changed on a fitted forest."
    ),
    "class_weight": (
        '{"balanced", "balanced_subsample"}, dict or None, default=None\n    Weights of the classes. They change'
        " splits and shares, never the amount of evidence."
    ),
    "monotonic_cst": (
        "array-like of int of shape (n_features,), dict or None, default=None\n    For two classes: 1 where the"
        " probability of the second may only rise with a feature, -1 where it may only fall, 0 elsewhere;"
        " a dict maps feature names to these."
    ),
    "categorical_features": (
        '"from_dtype", array-like of bool, int or str, or None, default="from_dtype"\n    Which features are nominal:'
        " by default those that are text or categorical in a data frame."
    ),
    "leaf_counts": (
        '{"all", "inbag", "distinct", "oob"}, default="all"\n    Which rows a leaf counts: all training rows that fall'
        " into it, bootstrap multiplicities, distinct rows of the bootstrap sample, or only rows outside it."
    ),
    "leaf_rows": (
        "bool, default=False\n    Whether leaves keep their training rows in pickles too, for `predict_quantiles`; a"
        " model fitted here finds them when asked."
    ),
    "ccp_alpha": (
        "float, default=0.0\n    Cost of a leaf in cost-complexity pruning: branches that are not worth it are cut."
    ),
    "label_rounds": (
        "int, default=5\n    Where labels are uncertain: how many times, at most, the trees' judgement of rows they"
        " have not seen makes them less so; 0 takes the labels as they are given."
    ),
    "sparse_output": (
        "bool, default=True\n    Whether leaves come as a sparse array; False gives a dense one, which `set_output` can"
        " turn into a data frame."
    ),
    "warm_start": "bool, default=False\n    Whether a further `fit` keeps the trees and adds the missing ones.",
    "n_jobs": "int or None, default=None\n    Threads; None means one, or what `joblib.parallel_config` says; -1 all.",
    "random_state": "int, RandomState or None, default=None\n    The same int gives the same forest, bit for bit.",
    "verbose": "int, default=0\n    1 shows a progress bar on a terminal.",
}

_Class = TypeVar("_Class", bound=type)


def documented(**defaults: str) -> Callable[[_Class], _Class]:
    """Fill a class's docstring with the descriptions of its own parameters.

    `defaults` replaces a description where the class's differs.
    """

    def fill(cls: _Class) -> _Class:
        names = [name for name in cls.__init__.__code__.co_varnames[1:] if name in DESCRIPTIONS]  # type: ignore[misc]
        lines = [f"{name} : {defaults.get(name, DESCRIPTIONS[name])}" for name in names]
        text = "\n".join(lines).replace("\n", "\n    ")
        cls.__doc__ = (cls.__doc__ or "").replace("{parameters}", text)
        return cls

    return fill


def resolve_settings(estimator: Any, n_rows: int, n_features: int, names: Any, n_classes: int) -> GrowSettings:
    """Check the parameters of an estimator against its table and turn shares and words into numbers."""

    def get(name: str, default: Any = None) -> Any:
        return getattr(estimator, name, default)

    leaf_counts = get("leaf_counts", "all")
    _require(
        isinstance(leaf_counts, str) and leaf_counts in COUNT_SENSES,
        "leaf_counts",
        f"one of {', '.join(COUNT_SENSES)}",
        leaf_counts,
    )
    bootstrap = bool(get("bootstrap", False))
    if leaf_counts == "oob" and not bootstrap:
        raise ValueError(
            "leaf_counts must be 'all', 'inbag' or 'distinct' without a bootstrap, got 'oob': no row is outside"
            " the sample; set bootstrap=True"
        )
    max_depth, max_leaf_nodes = get("max_depth"), get("max_leaf_nodes")
    if max_depth is not None:
        _require_integer("max_depth", max_depth, 1)
    if max_leaf_nodes is not None:
        _require_integer("max_leaf_nodes", max_leaf_nodes, 2)
    decrease = get("min_impurity_decrease", 0.0)
    _require(_is_real(decrease) and decrease >= 0, "min_impurity_decrease", "a number >= 0", decrease)
    fraction = get("min_weight_fraction_leaf", 0.0)
    _require(
        _is_real(fraction) and 0 <= fraction <= 0.5,
        "min_weight_fraction_leaf",
        "a number in [0, 0.5]",
        fraction,
    )
    return GrowSettings(
        splitter=estimator._splitter,
        criterion=_criterion_of(estimator),
        leaf_counts=leaf_counts,
        max_features=resolve_max_features(get("max_features"), n_features),
        max_depth=NO_LIMIT if max_depth is None else min(int(max_depth), NO_LIMIT),
        min_samples_split=max(2, _rows("min_samples_split", get("min_samples_split", 2), n_rows, 2)),
        min_samples_leaf=_rows("min_samples_leaf", get("min_samples_leaf", 1), n_rows, 1),
        min_weight_fraction_leaf=float(fraction),
        max_leaf_nodes=0 if max_leaf_nodes is None else min(int(max_leaf_nodes), NO_LIMIT),
        min_impurity_decrease=float(decrease),
        bag_mean=_bag_mean(bootstrap, get("max_samples"), n_rows),
        seed=seed_from(get("random_state")),
        monotonic=_monotonic(get("monotonic_cst"), n_features, names, n_classes),
    )


def seed_from(random_state: Any) -> int:
    """What trees are keyed by; a generator moves on."""
    if isinstance(random_state, int):
        return _seed_from_number(random_state)
    return int(check_random_state(random_state).randint(0, 2**63 - 1, dtype=np.int64))


@lru_cache(maxsize=1024)
def _seed_from_number(number: int) -> int:
    """The same number gives the same seed; making a generator takes as long as growing two small trees."""
    return int(check_random_state(number).randint(0, 2**63 - 1, dtype=np.int64))


def _criterion_of(estimator: Any) -> Any:
    """The criterion of labels as an object, that of numbers as its word."""
    criterion, words = getattr(estimator, "criterion", "gini"), getattr(estimator, "_criteria", None)
    if words is None:
        return resolve_criterion(criterion)
    known = isinstance(criterion, str) and criterion in words
    _require(known, "criterion", f"one of {', '.join(words)}", criterion)
    return criterion


def check_opinion(estimator: Any) -> None:
    """Refuse a rule, caution or decision that does not exist, before anything is grown."""
    rule = resolve_rule(estimator.rule)
    if rule.needs_weights and not getattr(estimator, "bootstrap", False):
        raise ValueError(f"rule must not learn weights without a bootstrap, got {rule!r}: out-of-bag rows teach them")
    resolve_decision(estimator.decision)
    caution = estimator.caution
    if isinstance(caution, str):
        _require(caution == "auto", "caution", "a number >= 0 or 'auto'", caution)
        if not getattr(estimator, "bootstrap", False):
            raise ValueError(
                "caution must be a number without a bootstrap, got 'auto': it is chosen on out-of-bag rows"
            )
    else:
        _require(_is_real(caution) and caution >= 0, "caution", "a number >= 0 or 'auto'", caution)


def check_caution(caution: Any, *, or_auto: bool = False) -> float:
    """A caution that is a number; of a classifier it might have been chosen."""
    constraint = "a number >= 0 or 'auto'" if or_auto else "a number >= 0"
    _require(_is_real(caution) and caution >= 0, "caution", constraint, caution)
    return float(caution)


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse what is no number of threads; `set_params` may have changed it since `fit`."""
    _require(n_jobs is None or (_is_integer(n_jobs) and n_jobs != 0), "n_jobs", "None or an int other than 0", n_jobs)


def check_switches(estimator: Any) -> None:
    """Refuse switches that are not switches, before anything is read or grown."""

    def get(name: str, default: Any = None) -> Any:
        return getattr(estimator, name, default)

    for name in ("bootstrap", "warm_start"):
        value = get(name, False)
        _require(isinstance(value, bool | np.bool_), name, "True or False", value)
    rounds = get("label_rounds", 0)
    _require(_is_integer(rounds) and rounds >= 0, "label_rounds", "an int >= 0", rounds)
    oob_score, verbose, n_jobs = get("oob_score", False), get("verbose", 0), get("n_jobs")
    known = isinstance(oob_score, str) and oob_score in ("accuracy", *SCORERS)
    switch = callable(oob_score) or isinstance(oob_score, bool | np.bool_) or known
    _require(switch, "oob_score", "True, False, a callable or the name of a metric", oob_score)
    if oob_score and not get("bootstrap", False):
        raise ValueError(f"oob_score must be False without a bootstrap, got {oob_score!r}; set bootstrap=True")
    for name, word in (("n_estimators", "auto"), ("max_features", "oob")):
        value = get(name)
        if isinstance(value, str) and value == word and not get("bootstrap", False):
            raise ValueError(
                f"{name} must not be {word!r} without a bootstrap: out-of-bag rows decide it; got {word!r}"
            )
    if get("warm_start", False) and isinstance(get("n_estimators"), str):
        raise ValueError(f"n_estimators must be an int in a warm start, got {get('n_estimators')!r}")
    whole = isinstance(verbose, bool) or (_is_integer(verbose) and verbose >= 0)
    _require(whole, "verbose", "an int >= 0 or a bool", verbose)
    check_n_jobs(n_jobs)


def thread_count(n_jobs: int | None) -> int:
    """``n_jobs`` as joblib means it -> threads; None is what `joblib.parallel_config` says, else one.

    Not `joblib.effective_n_jobs`, which answers for processes and so says 1 inside a daemonic one.
    """
    wanted = get_active_backend()[1] if n_jobs is None else n_jobs
    if wanted is None:
        return 1
    return max(1, cpu_count() + 1 + wanted) if wanted < 0 else int(wanted)


def require_count(name: str, value: Any) -> int:
    """A number of things, at least one."""
    _require_integer(name, value, 1)
    return int(value)


def most_trees(n_estimators: Any) -> int:
    """``n_estimators`` -> how many trees there may be at most."""
    if isinstance(n_estimators, str):
        _require(n_estimators == "auto", "n_estimators", "an int >= 1 or 'auto'", n_estimators)
        return MOST_TREES
    _require_integer("n_estimators", n_estimators, 1)
    return int(n_estimators)


def resolve_max_features(value: Any, n_features: int) -> int:
    """Words, shares and numbers -> how many varying features a split looks at."""
    if value is None:
        return n_features
    if isinstance(value, str):
        _require(value in ("sqrt", "log2", "oob"), "max_features", f"{_FEATURE_WORDS}, an int, a float or None", value)
        if value == "oob":
            return TO_BE_CHOSEN
        root = math.sqrt(n_features) if value == "sqrt" else math.log2(n_features)
        return max(1, int(root))
    if _is_integer(value):
        _require(value >= 1, "max_features", "at least 1", value)
        return min(int(value), n_features)
    _require(
        _is_real(value) and 0 < value <= 1,
        "max_features",
        f"{_FEATURE_WORDS}, an int >= 1, a float in (0, 1] or None",
        value,
    )
    return max(1, int(value * n_features))


def _rows(name: str, value: Any, n_rows: int, least: int) -> int:
    """A number of rows, or a share of them -> rows."""
    if _is_integer(value):
        _require(value >= least, name, f"an int >= {least} or a float in (0, 1]", value)
        return min(int(value), 2**31)
    _require(_is_real(value) and 0 < value <= 1, name, f"an int >= {least} or a float in (0, 1]", value)
    share: int = math.ceil(value * n_rows)
    return max(least, share)


def _bag_mean(bootstrap: bool, max_samples: Any, n_rows: int) -> float:
    """Size of the bootstrap sample -> expected multiplicity of a row, 0 for no bootstrap."""
    if not bootstrap:
        if max_samples is not None:
            raise ValueError(f"max_samples must be None without a bootstrap, got {max_samples!r}; set bootstrap=True")
        return 0.0
    if max_samples is None:
        return 1.0
    if _is_integer(max_samples):
        _require(
            1 <= max_samples <= n_rows,
            "max_samples",
            f"between 1 and the {n_rows} training rows",
            max_samples,
        )
        return int(max_samples) / n_rows
    _require(
        _is_real(max_samples) and 0 < max_samples <= 1,
        "max_samples",
        "an int, a float in (0, 1] or None",
        max_samples,
    )
    return max(float(max_samples), 1 / n_rows)


def _monotonic(given: Any, n_features: int, names: Any, n_classes: int) -> list[int] | None:
    """Constraints by position or name -> one sign per feature, None when there are none."""
    if given is None:
        return None
    if isinstance(given, dict):
        unknown = [name for name in given if names is None or name not in set(names)]
        if unknown:
            raise ValueError(
                f"monotonic_cst must name features of the table, got {unknown[:5]}; use their names or an array"
            )
        signs = [given.get(name, 0) for name in names]
    else:
        signs = list(np.asarray(given).ravel().tolist())
    _require(
        len(signs) == n_features,
        "monotonic_cst",
        f"one sign for each of the {n_features} features",
        signs[:10],
    )
    _require(all(sign in (-1, 0, 1) for sign in signs), "monotonic_cst", "made of -1, 0 and 1", signs[:10])
    if not any(signs):
        return None
    if n_classes > 2:
        raise ValueError(
            f"monotonic_cst must be None for more than two classes, got constraints for {n_classes} classes"
        )
    return [int(sign) for sign in signs]


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _require_integer(name: str, value: Any, least: int) -> None:
    right = _is_integer(value) and value >= least
    _require(right, name, f"an int >= {least}", value)


def _require(condition: bool, name: str, constraint: str, value: Any) -> None:
    if not condition:
        raise ValueError(f"{name} must be {constraint}, got {value!r}")
