"""Training tables on a cluster, out-of-bag samples, and progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.cluster.limits import Rows
from hedgerow.cluster.part import Described, Part, PartPlan, encode_rows, find_cuts, sample_columns, schema_of_all, see
from hedgerow.fit.distributed import DistributedTarget, Engine, Handle, PartitionTarget, Weighed, WeighedTable
from hedgerow.fit.groups import groups_of_parts, labels_of_part
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.rows import Bags, Groups, Provenance
from hedgerow.forest.target import TargetInfo, check_total_weight
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Sample
from hedgerow.params.checks import check_n_rows
from hedgerow.params.table import TreeEstimator
from hedgerow.table import Schema
from hedgerow.table.bins import Bins, bin_limits
from hedgerow.util.runtime import reading_threads


@contextmanager
def progress_on_cluster(verbose: int, n_trees: int) -> Iterator[Callable[[int, str], None]]:
    """Show progress on stderr; yield a function of trees done and a text.

    A bar is shown if `verbose` and stderr is a terminal. If stderr is not a terminal and `verbose` is at least 2, each
    new text is printed as a line.
    """
    if verbose and sys.stderr.isatty():
        yield from _bar(n_trees)
    elif verbose > 1:
        last = ""

        def write(done: int, what: str) -> None:
            nonlocal last
            if what != last:
                last = what
                print(f"{done}/{n_trees} trees: {what}", file=sys.stderr)

        yield write
    else:
        yield lambda done, what: None


def _bar(n_trees: int) -> Iterator[Callable[[int, str], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = [
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("trees"),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    ]
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=n_trees)

        def show(done: int, what: str) -> None:
            bar.update(task, completed=done, description=what)

        yield show


#: Growth parameters, given the schema, the rows and the classes of a table.
SettingsFor = Callable[[Schema, int, int], GrowthParams]
#: Returns growth parameters for bootstrap samples of groups.
WithGroups = Callable[[GrowthParams, "Groups | None"], GrowthParams]
Array = NDArray[Any]


@dataclass(frozen=True)
class ClusterTable:
    """A training table on a cluster.

    Parameters
    ----------
    schema : Schema
        Schema of the whole table.
    plan : PartPlan
        Data that all tasks share.
    parts : list of handles
        The `Part` of each partition, in the order of the table.
    part_rows : list of int
        Number of rows of each part.
    info : TargetInfo
        The part of the target that a fitted model keeps.
    tally : dict
        Fields of `Provenance` about the rows, in addition to their number and bags.
    groups : Groups or None
        Groups of all rows.
    """

    schema: Schema
    plan: PartPlan
    parts: list[Handle]
    part_rows: list[int]
    info: TargetInfo
    tally: dict[str, Any]
    groups: Groups | None = None

    @property
    def bags(self) -> Bags:
        """Bootstrap samples of rows or groups."""
        return replace(self.plan.bags, groups=self.groups)

    def origin(self, n_trees: int) -> Provenance:
        """Return the provenance of trees grown on these rows."""
        bags = self.plan.bags
        tally = self.tally | {"bag_groups": self.n_groups, "n_groups": self.n_groups}
        return Provenance(n_trees, 0, bags.seed, bags.mean, bags.leaf_counts, bags.n_rows, bags.n_rows, **tally)

    @property
    def n_groups(self) -> int:
        """Number of groups that bags are drawn from; 0 without bags or groups."""
        return self.plan.n_groups if self.plan.bags.mean else 0


def read_on_cluster(
    engine: Engine,
    partitions: Sequence[Any],
    target: DistributedTarget,
    settings_for: SettingsFor,
    categorical_features: Any = None,
    max_bins: int | str | None = "auto",
    with_groups: WithGroups | None = None,
) -> ClusterTable:
    """Read, check and encode a table on its workers.

    `with_groups` changes the growth parameters for bootstrap samples of groups; without it, groups are not read.
    """
    given = engine.read("see", partial(see, target, categorical_features), partitions)
    seen: list[Described] = engine.gather(engine.each("seen", _first, given), "partition {} (see)")
    check_n_rows(sum(each.n_rows for each in seen))
    schema = schema_of_all(seen)
    check_total_weight(any(each.weighs for each in seen))
    target = target.known(engine, [each.summary for each in seen if each.n_rows], given)
    table = WeighedTable.of(engine, given, target)
    groups = None if with_groups is None else _read_groups(engine, partitions, table)
    resolved = target.resolve(table, partial(settings_for, schema))
    settings = resolved.settings if with_groups is None else with_groups(resolved.settings, groups)
    gaps = resolved.settings.splitter == "random_decision"
    bins = _find_bins(engine, partitions, table, schema, max_bins, gaps)
    units = _split(groups, table)
    parts = engine.read(
        "encode", partial(_encode_part, schema, bins, resolved.make), partitions, table.parts, table.first_rows, units
    )
    missing = np.max(engine.gather(engine.each("missing", _missing_in, parts), "partition {} (encode)"), axis=0)
    engine.forget(table.parts)
    empty = resolved.make(Weighed(np.empty(0), np.empty(0) if table.is_weighted else None))
    n_groups = 0 if groups is None else groups.n_groups
    plan = PartPlan(bins, settings, table.n_rows, missing, empty, n_groups=n_groups)
    return ClusterTable(schema, plan, parts, table.part_rows, resolved.info, resolved.tally, groups)


def _read_groups(engine: Engine, partitions: Sequence[Any], table: WeighedTable) -> Groups | None:
    """Number the groups of all rows; None if every row is a group of its own."""
    there = engine.read("groups", _groups_of_part, partitions, table.parts)
    found: list[tuple[Array, NDArray[np.uint32]]] = engine.gather(there, "partition {} (groups)")
    engine.forget(there)
    return groups_of_parts([labels for labels, _ in found], [of_row for _, of_row in found])


def _groups_of_part(rows: Rows, weighed: Weighed) -> tuple[Array, NDArray[np.uint32]]:
    """Return the labels of the groups of a partition (g,), and the place of each row among them (n,)."""
    return labels_of_part(rows.groups, len(rows.X), weighed.rows)


def _split(groups: Groups | None, table: WeighedTable) -> list[NDArray[np.uint32] | None]:
    """Return the groups of the rows of each partition."""
    if groups is None:
        return [None] * len(table.parts)
    return np.split(groups.of_row, table.first_rows[1:])  # type: ignore[return-value]


def _find_bins(
    engine: Engine,
    partitions: Sequence[Any],
    table: WeighedTable,
    schema: Schema,
    max_bins: int | str | None,
    gaps: bool,
) -> Bins:
    """Find the bins of the table from a sample of the rows of all partitions."""
    sample_rows, most_bins = bin_limits(table.n_rows, max_bins)
    columns = (table.parts, table.first_rows)
    samples = engine.read("sample", partial(sample_columns, schema, table.n_rows, sample_rows), partitions, *columns)
    cuts = engine.one("cuts", partial(find_cuts, schema, most_bins, gaps), *samples)
    engine.wait(samples, "partition {} (sample)")
    bins: Bins = engine.fetch(cuts, "the bin edges")
    engine.forget(samples)
    return bins


def _encode_part(
    schema: Schema,
    bins: Bins,
    make: Callable[[Weighed], PartitionTarget],
    rows: Rows,
    weighed: Weighed,
    first_row: int,
    units: NDArray[np.uint32] | None,
) -> Part:
    """Return the part of a partition, given its rows, weighed targets and groups."""
    return Part(first_row, encode_rows(schema, bins, rows, weighed), make(weighed), units)


def _missing_in(part: Part) -> NDArray[np.uint8]:
    """Return whether each feature has missing values, (p,)."""
    return np.asarray((part.codes == np.iinfo(part.codes.dtype).max).any(axis=1), dtype=np.uint8)


def _first(given: tuple[Described, Any]) -> Described:
    return given[0]


def sample_on_cluster(
    engine: Engine, estimator: TreeEstimator, target: DistributedTarget, training: ClusterTable
) -> list[Handle]:
    """Take the rows for out-of-bag learning from each part.

    They are the same as on one machine; the list is empty if nothing is learned.
    """
    plan = training.plan
    if plan.bags.mean == 0:
        return []
    some = target.rows_to_learn_on(estimator, training.bags, len(training.info.names))
    return [] if some is None else engine.ask("sampled", _sample, training.parts, some)


def learn_on_cluster(
    engine: Engine,
    samples: list[Handle],
    estimator: TreeEstimator,
    target: DistributedTarget,
    training: ClusterTable,
    fitted: Fitted,
) -> None:
    """Make the out-of-bag choices of a fit on samples of all parts.

    Only the codes of features that trees use are sent.
    """
    if not samples:
        return
    used = fitted.forest.used_features
    parts: list[Sample] = engine.gather(engine.ask("asked", _with_features, samples, used), "partition {} (asked)")
    rows = np.concatenate([part.rows for part in parts])
    codes = np.zeros((fitted.schema.n_features, len(rows)), dtype=fitted.bins.code_type)
    codes[used] = np.concatenate([part.codes for part in parts], axis=1)
    weights = [part.weights for part in parts if part.weights is not None]
    truth = np.concatenate([part.labels for part in parts])
    sample = Sample(rows, codes, truth, np.concatenate(weights) if weights else None)
    target.learn(estimator, fitted, sample, training.bags, reading_threads(estimator.n_jobs, len(rows)))


def _sample(part: Part, chosen: NDArray[np.int64]) -> Sample:
    """Return the rows of the whole table, given by number, that are in this part."""
    rows = chosen[(chosen >= part.first_row) & (chosen < part.first_row + part.n_rows)]
    at = rows - part.first_row
    target = part.target.take(at)
    return Sample(rows, np.ascontiguousarray(part.codes[:, at]), target.truth, target.core.weights)


def _with_features(sample: Sample, features: NDArray[np.int64]) -> Sample:
    """Return a sample with the codes of some features only."""
    return sample._replace(codes=np.ascontiguousarray(sample.codes[features]))
