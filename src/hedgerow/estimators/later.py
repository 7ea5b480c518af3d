"""Later: a fitted forest and rows that arrive later -> the forest with their evidence, more trees, signs of drift."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hedgerow.estimators.trees import MAX_ROWS, MIXED, Earlier, Growing, Seen
from hedgerow.fit.parameters import (
    check_opinion,
    check_switches,
    require_count,
    resolve_settings,
    thread_count,
)
from hedgerow.fit.progress import with_callbacks
from hedgerow.forest.add import add_rows
from hedgerow.forest.fold import StateCache
from hedgerow.forest.forest import Forest
from hedgerow.forest.rows import Bags, Grid, Origin, drawn_once
from hedgerow.judge.drift import Drift, Sample, find_drift
from hedgerow.table import Schema, check_table
from hedgerow.table.bins import Bins, Codes, encode
from hedgerow.target.classes import MAX_CLASSES, among_classes, make_labels, read_classes, read_weights, weigh_rows
from hedgerow.target.uncertain import read_labels

Floats = NDArray[np.float64]

#: Drift is looked for in at most so many old and so many new rows, evenly spread.
DRIFT_ROWS = 20_000


def leaves_are_sums(model: Any) -> bool:
    """Whether leaves are plain sums of their rows, as `partial_fit` needs them; as scikit-learn asks."""
    if getattr(model, "criterion_", getattr(model, "criterion", None)) == "absolute_error":
        raise AttributeError(
            "partial_fit needs leaves that are means, got medians; use criterion='squared_error' for rows to be added"
        )
    if getattr(model, "monotonic_cst", None) is not None:
        raise AttributeError("partial_fit needs monotonic_cst=None, got constraints, which new rows may break")
    return True


class LaterMixin:
    """What forests of both kinds do with rows that arrive later."""

    #: Whether leaves of all trees count the same classes.
    _can_be_added_to: ClassVar[bool] = True

    forest_: Forest
    n_estimators: Any
    _bins: Bins
    _schema: Schema
    _seed: int
    _bag: Any
    _seen: Seen
    _origins: tuple[Origin, ...]

    @with_callbacks
    def grow_more(self, n: int, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Add trees that are grown on all rows seen so far.

        Where no `partial_fit` came between, the forest is the one that a fit with all the trees would have grown, bit
        for bit. ``n_estimators`` becomes the number of trees there are.

        Parameters
        ----------
        n : int
            How many.
        X, y, sample_weight : default=None
            All rows seen so far, in the order in which they came. They need not be given to a forest that was fitted
            here, which still has them in bins (a byte or two per cell); one that was unpickled, loaded or merged has
            not.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hedgerow import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y).grow_more(5)
        >>> at_once = RandomForestClassifier(15, random_state=0).fit(X, y)
        >>> (forest.predict_proba(X) == at_once.predict_proba(X)).all()
        np.True_
        """
        check_is_fitted(self)
        n_more, there = require_count("n", n), self.forest_.n_trees
        if self._one_tree or self._bag == MIXED or not of_one_table(self._known_origins()):
            raise ValueError(
                "grow_more must be asked of a forest whose trees have all counted the same rows, got a single tree, a"
                " merged forest, or one warm-started on other rows; fit another forest and hedgerow.merge the two"
            )
        earlier = Earlier(
            self.forest_, self._bins, self._schema, getattr(self, "classes_", None), self._seed, self._bag
        )
        seen = self._seen_so_far(X, y, sample_weight, earlier)
        how = Growing(n_trees=there + n_more)
        self._finish_fit(X, y, seen.training, self._bins, (seen.codes, seen.all_codes), earlier, how)
        self.n_estimators = self.forest_.n_trees
        return self

    def drift(
        self,
        X: Any,
        y: Any = None,
        *,
        reference: Any = None,
        min_rows: int = 20,
        n_permutations: int = 199,
        random_state: Any = 0,
    ) -> Drift:
        """Whether new rows are of the same kind as those the forest was fitted to.

        New rows are compared with the training rows leaf by leaf, each training row in the trees that have not seen it.
        Where they go, and with `y` which labels they have there, is compared with what relabelling old and new rows at
        random would give.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,), default=None
            Their labels or targets.
        reference : X or (X, y), default=None
            Old rows to compare with that were not used to grow the trees: needed where the forest draws no bags, or
            was unpickled, loaded or merged.
        min_rows : int, default=20
            A branch that fewer rows reach, old and new together, is looked at as one leaf.
        n_permutations : int, default=199
            Random relabellings; the smallest p-value is one over one more than this.
        random_state : int or Generator, default=0
            Of the relabellings.

        Returns
        -------
        Drift
            ``p_value``, and which features and leaves it is about; ``print`` it.
        """
        check_is_fitted(self)
        require_count("min_rows", min_rows)
        require_count("n_permutations", n_permutations)
        labelled, classes = y is not None, self._classes_with(y)
        new = self._drift_rows(X, y, classes)
        old = self._old_rows(labelled) if reference is None else self._reference_rows(reference, labelled, classes)
        return find_drift(
            self.trees_,  # type: ignore[attr-defined]
            self._sample_of(old),
            self._sample_of(new if old.judges is None else self._as_later(new)),
            classes=classes,
            min_rows=int(min_rows),
            n_permutations=int(n_permutations),
            random_state=random_state,
        )

    # ---- what has been seen ---------------------------------------------------------

    def _known_origins(self) -> tuple[Origin, ...]:
        """What the trees know of the rows they have counted."""
        if not hasattr(self, "_origins"):
            self._origins = (_origin_from_model(self),)
        return self._origins

    def _origins_after(self, training: Any, forest: Forest, earlier: Earlier | None) -> tuple[Origin, ...]:
        """What they know after a fit, or after more trees."""
        there = earlier.forest.n_trees if earlier else 0
        before = self._known_origins() if earlier else ()
        grown = training.origin(forest.n_trees - there, there)
        if not before or grown.n_trees == 0:
            return before or (grown,)
        same = replace(before[-1], n_trees=grown.n_trees, first_tree=there)
        if same == grown and before[-1].first_tree + before[-1].n_trees == there:
            return (*before[:-1], replace(before[-1], n_trees=before[-1].n_trees + grown.n_trees))
        return (*before, grown)

    def _seen_so_far(self, X: Any, y: Any, sample_weight: Any, earlier: Earlier) -> Seen:
        """All rows seen, from memory or handed in again, with settings for further trees."""
        n_rows = self._known_origins()[-1].n_rows
        if X is None:
            seen: Seen | None = getattr(self, "_seen", None)
            if seen is None:
                raise ValueError(
                    "X and y must be handed in again to grow more trees on, got none; a forest that was unpickled or"
                    " loaded has not kept them"
                )
        else:
            training = self._read_again(X, y, sample_weight, earlier)
            all_codes = encode(training.table, self._bins, n_threads=thread_count(getattr(self, "n_jobs", None)))
            codes = all_codes if training.kept is None else np.ascontiguousarray(all_codes[:, training.kept])
            if codes.shape[1] != n_rows:
                raise ValueError(f"X must be the {n_rows} rows seen so far, got {codes.shape[1]}")
            seen = Seen(self._with_shares(training, self._bins, codes, 1), codes, all_codes)
            counted = self._known_origins()[-1].class_rows
            if not np.allclose(seen.training.origin(1, 0).class_rows, counted):
                raise ValueError(f"y must hold the labels seen so far, {counted[:10]} of each class, got others")
        return replace(seen, training=self._further(seen, earlier))

    def _further(self, seen: Seen, earlier: Earlier) -> Any:
        """Training rows -> the same, with the parameters of now and the seed and bags of the trees that are there."""
        training, before = seen.training, self._known_origins()[0]
        schema, n_classes = training.table.schema, len(getattr(self, "classes_", (None,)))
        settings = resolve_settings(self, seen.codes.shape[1], schema.n_features, schema.names, n_classes)
        settings = self._adapted(training, replace(settings, seed=earlier.seed))
        if settings.bag_mean > 0 and before.bag_mean > 0:  # a number of rows was a share of the first table
            settings = replace(settings, bag_mean=before.bag_mean)
        same = self._bag[2:] == (settings.bag_mean, settings.leaf_counts)
        return replace(training, settings=settings, bag=earlier.bag if same else MIXED)

    def _read_later(self, X: Any, n_threads: int) -> Codes:
        """Rows that arrive later -> codes (p, m), all features where the forest keeps its rows."""
        if not hasattr(self, "_seen"):
            codes: Codes = self._codes(X)
            return codes
        return encode(check_table(self, X, self._schema), self._bins, n_threads=n_threads)

    def _bag_after(self, origins: tuple[Origin, ...], codes: Codes, labels: NDArray[Any]) -> Any:
        """The fingerprint of rows and bags after these have been counted."""
        if self._bag == MIXED or not all(drawn_once(origin) for origin in origins):
            return MIXED
        rows, _, bag_mean, leaf_counts = self._bag
        if rows is not None:
            rows = (zlib.crc32(labels.data, rows[0]), zlib.crc32(np.ascontiguousarray(codes).data, rows[1]))
        return (rows, origins[-1].n_rows, bag_mean, leaf_counts)

    def _remember_later(self, known: dict[str, Any], stale: set[str]) -> None:
        """The only place where a partial fit changes the estimator: after everything has succeeded."""
        for name in stale:
            self.__dict__.pop(name, None)
        for name, value in known.items():
            setattr(self, name, value)

    # ---- drift ------------------------------------------------------------------------

    def _drift_rows(self, X: Any, y: Any, classes: NDArray[Any] | None) -> _Rows:
        """Rows and labels of the user, at most so many."""
        codes = self._codes(X)
        labels = None if y is None else self._labels_of(y, codes.shape[1], classes)
        some = spread(codes.shape[1])
        return _Rows(np.ascontiguousarray(codes[:, some]), None if labels is None else labels[some], some, None)

    def _reference_rows(self, reference: Any, labelled: bool, classes: NDArray[Any] | None) -> _Rows:
        """Rows to compare with that no tree has seen."""
        pair = isinstance(reference, tuple) and len(reference) == 2
        if labelled and not pair:
            raise ValueError("reference must be a pair (X, y) where y is given, got X alone; hand in its labels")
        X, y = reference if pair else (reference, None)
        return self._drift_rows(X, y if labelled else None, classes)

    def _old_rows(self, labelled: bool) -> _Rows:
        """The training rows, each with the trees that have not seen it."""
        codes, labels, seed, bag_mean = self._bagged_rows()
        some = spread(codes.shape[1])
        judges = Bags(seed, bag_mean, codes.shape[1]).outside_each(self.forest_.n_trees, some)
        return _Rows(np.ascontiguousarray(codes[:, some]), labels[some] if labelled else None, some, judges)

    def _as_later(self, rows: _Rows) -> _Rows:
        """New rows with the trees whose bags they would not be in, had they come with the others: as many as those."""
        codes, _, seed, bag_mean = self._bagged_rows()
        n_rows = codes.shape[1]
        bags = Bags(seed, bag_mean, n_rows)
        return rows._replace(judges=bags.outside_each(self.forest_.n_trees, n_rows + rows.numbers))

    def _sample_of(self, rows: _Rows) -> Sample:
        nodes = self.forest_.leaf_nodes(rows.codes, self._reading_threads(rows.codes.shape[1]))
        return Sample(nodes, rows.judges, rows.labels)

    # ---- what classifiers and regressors do in their own way ----------------------------

    _codes: Any
    _reading_threads: Any
    _read_training: Any
    _read_again: Any
    _with_shares: Any
    _finish_fit: Any
    _bagged_rows: Any
    _labels_of: Any
    _classes_with: Any
    _adapted: Any
    _one_tree: ClassVar[bool]


class LaterClassifier(LaterMixin):
    """What forests that count classes do with rows that arrive later."""

    classes_: NDArray[Any]
    n_classes_: int
    _prior: Floats

    @available_if(leaves_are_sums)  # type: ignore[untyped-decorator]
    @with_callbacks
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add the evidence of new rows to the leaves that exist; no tree changes its splits.

        It does not matter in how many parts rows come: the leaves hold what they would hold had all been counted at
        once. Later rows are numbered after the earlier ones and have their draw in every tree's bag like those, so
        ``leaf_counts`` keeps its meaning, and out-of-bag evidence is that of all rows seen.

        A forest that has not been fitted is fitted to these rows, and `classes` must be given: hand in many, since
        further ones grow no trees. `grow_more` does.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            New rows, with the columns of the first ones. Categories that are new count as missing.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur. In later calls it may be left out, or may declare new ones besides those known.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, as in `fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hedgerow import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(10, random_state=0).fit(X[::2], y[::2])
        >>> forest.partial_fit(X[1::2], y[1::2]).evidence(X[:1]).counts[0, 0]
        array([50.,  0.,  0.])
        """
        if not hasattr(self, "forest_"):
            self._fit(X, y, sample_weight, classes=_first_classes(classes))
            return self
        check_switches(self)
        check_opinion(self)
        self._refuse_what_cannot_be_added(y)
        known = _declared(self.classes_, classes)
        n_threads = thread_count(getattr(self, "n_jobs", None))
        codes = self._read_later(X, n_threads)
        numbers, weights, kept = self._read_later_labels(y, known, sample_weight, codes.shape[1])
        codes = codes if kept is None else np.ascontiguousarray(codes[:, kept])
        forest, origins = self._widened(known)
        if origins[0].n_rows + len(numbers) >= MAX_ROWS:
            raise ValueError(f"X must bring the rows seen to fewer than 2**31, got {len(numbers)} more; fit again")
        forest = add_rows(forest, origins, codes, numbers, weights, n_threads)
        later = tuple(origin.after(numbers) for origin in origins)
        self._remember_later(*self._known_later(known, forest, later, codes, numbers, weights))
        return self

    # ---- stages of partial_fit ---------------------------------------------------------

    def _refuse_what_cannot_be_added(self, y: Any) -> None:
        """Refuse class weights that depend on all rows, and labels that are not certain."""
        class_weight = getattr(self, "class_weight", None)
        if isinstance(class_weight, str):
            raise ValueError(
                f"class_weight must be None or a dict for partial_fit, got {class_weight!r}, which depends on all rows;"
                " give the weights as numbers"
            )
        labels = read_labels(y)
        if labels is not None:
            raise ValueError("y must be certain labels for partial_fit, got uncertain ones; fit them with the others")

    def _read_later_labels(
        self, y: Any, known: NDArray[Any], sample_weight: Any, n_rows: int
    ) -> tuple[NDArray[np.uint16], Floats | None, NDArray[np.intp] | None]:
        """Labels and weights -> class numbers and weights of the rows that weigh something, and which those are."""
        found, numbers = read_classes(y, n_rows)
        numbers = among_classes(found, known)[numbers]
        weights = read_weights(sample_weight, n_rows)
        weights = weigh_rows(numbers, known, weights, getattr(self, "class_weight", None))
        kept = None
        if weights is not None and (weights == 0).any():
            kept = np.flatnonzero(weights)
            numbers, weights = numbers[kept], weights[kept]
        return numbers.astype(np.uint16), weights, kept

    def _widened(self, known: NDArray[Any]) -> tuple[Forest, tuple[Origin, ...]]:
        """The forest with room for all classes that may occur."""
        origins = self._known_origins()
        if len(known) == len(self.classes_):
            return self.forest_, origins
        places = among_classes(self.classes_, known)
        wider = tuple(widened(origin, places, len(known)) for origin in origins)
        return self.forest_.widen(places, len(known)), wider

    def _known_later(
        self,
        classes: NDArray[Any],
        forest: Forest,
        origins: tuple[Origin, ...],
        codes: Codes,
        numbers: NDArray[np.uint16],
        weights: Floats | None,
    ) -> tuple[dict[str, Any], set[str]]:
        """What the estimator knows after these rows, by name, and what it must forget; nothing of it changes yet."""
        bag = self._bag_after(origins, codes, numbers)
        seen: Seen | None = getattr(self, "_seen", None)
        known: dict[str, Any] = {"classes_": classes, "n_classes_": len(classes), "forest_": forest}
        known |= {"_origins": origins, "_bag": bag, "_prior": prior_of(origins), "_cache": StateCache()}
        stale = {"oob_score_", "oob_decision_function_", "_seen", "_traced"}
        if len(classes) != len(self.classes_):
            stale.add("_calibrated")
        if bag == MIXED or seen is None or seen.training.blurred is not None:
            return known, stale | {"_bagged"}
        seen = known["_seen"] = _with_rows(seen, bag, classes, codes, numbers, weights)
        if not hasattr(self, "_bagged"):
            return known, stale
        # To be learned again when needed.
        stale |= {"caution_", "_cautious", "tree_weights_", "_learned", "_calibrated"}
        known["_bagged"] = seen.training.bagged(seen.codes)
        if getattr(self, "oob_score", False):
            n_threads = thread_count(getattr(self, "n_jobs", None))
            known |= self._judge_out_of_bag(forest, seen.all_codes, seen.codes, seen.training, n_threads)
        return known, stale

    def _read_again(self, X: Any, y: Any, sample_weight: Any, earlier: Earlier) -> Any:
        """All rows seen; classes that were declared need not occur."""
        return self._read_training(X, y, sample_weight, earlier, earlier.classes)

    def _adapted(self, training: Any, settings: Any) -> Any:
        """Settings for rows of uncertain class are about weights."""
        from hedgerow.fit.refine import settings_for_shares

        return settings if training.blurred is None else settings_for_shares(settings, len(training.numbers))

    def _bagged_rows(self) -> tuple[Codes, NDArray[Any], int, float]:
        """The training rows, their labels, and how their bags were drawn."""
        bagged = getattr(self, "_bagged", None)
        if bagged is None:
            raise ValueError(NO_OLD_ROWS)
        return bagged.codes, bagged.labels, bagged.seed, bagged.bag_mean

    def _classes_with(self, y: Any) -> NDArray[Any]:
        """The classes known, and after them those that new rows bring: a new class is drift, not an error."""
        if y is None:
            return self.classes_
        found = read_classes(y, len(y))[0]
        new = [name for name in found.tolist() if name not in set(self.classes_.tolist())]
        return np.array([*self.classes_.tolist(), *new], dtype=object) if new else self.classes_

    def _labels_of(self, y: Any, n_rows: int, classes: NDArray[Any]) -> NDArray[np.intp]:
        """Labels -> class numbers."""
        found, numbers = read_classes(y, n_rows)
        return np.asarray(among_classes(found, classes)[numbers])

    _fit: Any
    _judge_out_of_bag: Any
    _bagged: Any


NO_OLD_ROWS = (
    "reference must be given where a forest draws no bags or has not kept its training rows, got None; hand in old rows"
    " that were not used to grow the trees"
)


class _Rows(NamedTuple):
    """Rows: codes (p, n), labels (n,) or None, their numbers among all (n,), and who may judge them (n, T) or None."""

    codes: Codes
    labels: NDArray[Any] | None
    numbers: NDArray[np.int64]
    judges: NDArray[np.bool_] | None


def of_one_table(origins: tuple[Origin, ...]) -> bool:
    """Whether all trees have counted the same rows, in bags that are numbered through."""
    first, there = origins[0], 0
    for origin in origins:
        same = (origin.seed, origin.n_rows, origin.class_rows) == (first.seed, first.n_rows, first.class_rows)
        if not same or origin.first_tree != there:
            return False
        there += origin.n_trees
    return True


def widened(origin: Origin, places: NDArray[np.intp], n_classes: int) -> Origin:
    """An origin that knows of more classes: class k of before is ``places[k]`` now."""
    rows = np.zeros(n_classes)
    rows[places] = origin.class_rows
    return replace(origin, class_rows=tuple(rows.tolist()))


def prior_of(origins: tuple[Origin, ...]) -> Floats:
    """-> (K,): shares of the classes in the rows seen; one without rows counts as half a row."""
    counts = np.maximum(np.sum([origin.class_rows for origin in origins], axis=0), 0.5)
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def spread(n_rows: int) -> NDArray[np.int64]:
    """-> at most `DRIFT_ROWS` of n row numbers, evenly spread."""
    return np.linspace(0, n_rows - 1, min(n_rows, DRIFT_ROWS)).astype(np.int64)


def _first_classes(classes: Any) -> NDArray[Any]:
    """The classes that the first call must declare."""
    if classes is None:
        raise ValueError(
            "classes must be passed on the first call to partial_fit, got None; list all classes that may occur"
        )
    return _distinct(classes)


def _declared(known: NDArray[Any], classes: Any) -> NDArray[Any]:
    """Classes known (K,) and classes declared now -> all of them, sorted."""
    if classes is None:
        return known
    declared = _distinct(classes)
    lost = [name for name in known.tolist() if name not in set(declared.tolist())]
    if lost:
        raise ValueError(
            f"classes must hold those known so far, got a list without {lost[:5]}; add new ones, keep the old"
        )
    return known if len(declared) == len(known) else declared


def _distinct(classes: Any) -> NDArray[Any]:
    """Classes as given -> sorted, each once."""
    distinct = np.unique(column_or_1d(np.asarray(classes)))
    if not 1 <= len(distinct) <= MAX_CLASSES:
        raise ValueError(f"classes must be 1 to {MAX_CLASSES} labels, got {len(distinct)}")
    return np.asarray(distinct)


def _with_rows(
    seen: Seen,
    bag: object,
    classes: NDArray[Any],
    codes: Codes,
    numbers: NDArray[np.uint16],
    weights: Floats | None,
) -> Seen:
    """The rows a forest has kept, and those that have come."""
    training = seen.training
    places = among_classes(training.classes, classes)
    together = np.concatenate([places[training.labels.numbers], numbers]).astype(np.intp)
    heavy = None
    if weights is not None or training.weights is not None:
        before, after = len(training.labels.numbers), len(numbers)
        given = [np.ones(before) if training.weights is None else training.weights]
        heavy = np.concatenate([*given, np.ones(after) if weights is None else weights])
    all_codes, kept = seen.all_codes, training.kept
    if kept is not None:
        kept = np.concatenate([kept, all_codes.shape[1] + np.arange(len(numbers))]).astype(np.uint32)
    whole = np.concatenate([seen.codes, codes], axis=1)
    everything = whole if kept is None else np.concatenate([all_codes, codes], axis=1)
    labels = make_labels(together, len(classes), heavy)
    settled = replace(training, classes=classes, labels=labels, weights=heavy, kept=kept, bag=bag)
    return Seen(settled, whole, everything)


def _origin_from_model(model: Any) -> Origin:
    """What an older file tells of the rows a forest has counted."""
    if model._bag == MIXED or model.forest_.weights is not None:
        raise ValueError(
            "partial_fit, grow_more and merge must be given a forest of this version, got one from an older file that"
            " was weighted or warm-started on other rows; fit it again"
        )
    _, n_rows, bag_mean, leaf_counts = model._bag
    grown = Origin(model.forest_.n_trees, 0, model._seed, bag_mean, leaf_counts, n_rows, n_rows, (float(n_rows),))
    if not hasattr(model, "_prior"):
        return replace(grown, grid=Grid.of(*model._range))
    return replace(grown, class_rows=_class_rows(model._prior, n_rows))


def _class_rows(prior: Floats, n_rows: int) -> tuple[float, ...]:
    """Class shares (K,) in n rows -> rows of each class (K,); shares count half a row where a class has none."""
    for n_absent in range(len(prior) + 1):
        rows = np.rint(2 * prior * (n_rows + n_absent / 2)) / 2
        if (rows == 0.5).sum() == n_absent:
            break
    return tuple(np.where(rows == 0.5, 0.0, rows).tolist())
