"""Training tables on a cluster, out-of-bag samples, and progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.cluster.limits import Rows
from hedgerow.cluster.part import Described, Part, PartPlan, encode_rows, find_cuts, sample_columns, schema_of_all, see
from hedgerow.fit.distributed import DistributedTarget, PartitionTarget, Weighed, WeighedTable
from hedgerow.fit.engine import Engine, Handle
from hedgerow.forest.grow import GrowthParams
from hedgerow.forest.rows import Provenance
from hedgerow.forest.target import TargetInfo, check_total_weight
from hedgerow.inference.fitted import Fitted
from hedgerow.inference.oob import Sample
from hedgerow.params.checks import check_n_rows
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
    """

    schema: Schema
    plan: PartPlan
    parts: list[Handle]
    part_rows: list[int]
    info: TargetInfo
    tally: dict[str, Any]

    def origin(self, n_trees: int) -> Provenance:
        """Return the provenance of trees grown on these rows."""
        bags = self.plan.bags
        return Provenance(n_trees, 0, bags.seed, bags.mean, bags.leaf_counts, bags.n_rows, bags.n_rows, **self.tally)


def read_on_cluster(
    engine: Engine,
    partitions: Sequence[Any],
    target: DistributedTarget,
    settings_for: SettingsFor,
    categorical_features: Any = None,
    max_bins: int | str | None = "auto",
) -> ClusterTable:
    """Read, check and encode a table on its workers."""
    given = engine.read("see", partial(see, target, categorical_features), partitions)
    seen: list[Described] = engine.gather(engine.each("seen", _first, given), "partition {} (see)")
    check_n_rows(sum(each.n_rows for each in seen))
    schema = schema_of_all(seen)
    check_total_weight(any(each.weighs for each in seen))
    target = target.known(engine, [each.summary for each in seen if each.n_rows], given)
    table = WeighedTable.of(engine, given, target)
    resolved = target.resolve(table, partial(settings_for, schema))
    gaps = resolved.settings.splitter == "random_decision"
    bins = _find_bins(engine, partitions, table, schema, max_bins, gaps)
    parts = engine.read(
        "encode", partial(_encode_part, schema, bins, resolved.make), partitions, table.parts, table.first_rows
    )
    missing = np.max(engine.gather(engine.each("missing", _missing_in, parts), "partition {} (encode)"), axis=0)
    engine.forget(table.parts)
    empty = resolved.make(Weighed(np.empty(0), np.empty(0) if table.is_weighted else None))
    plan = PartPlan(bins, resolved.settings, table.n_rows, missing, empty)
    return ClusterTable(schema, plan, parts, table.part_rows, resolved.info, resolved.tally)


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
    schema: Schema, bins: Bins, make: Callable[[Weighed], PartitionTarget], rows: Rows, weighed: Weighed, first_row: int
) -> Part:
    """Return the part of a partition, given its rows and weighed targets."""
    return Part(first_row, encode_rows(schema, bins, rows, weighed), make(weighed))


def _missing_in(part: Part) -> NDArray[np.uint8]:
    """Return whether each feature has missing values, (p,)."""
    return np.asarray((part.codes == np.iinfo(part.codes.dtype).max).any(axis=1), dtype=np.uint8)


def _first(given: tuple[Described, Any]) -> Described:
    return given[0]


def sample_on_cluster(
    engine: Engine, estimator: Any, target: DistributedTarget, training: ClusterTable
) -> list[Handle]:
    """Take the rows for out-of-bag learning from each part.

    They are the same as on one machine; the list is empty if nothing is learned.
    """
    plan = training.plan
    if plan.bags.mean == 0:
        return []
    some = target.rows_to_learn_on(estimator, plan.n_rows, len(training.info.names))
    return [] if some is None else engine.ask("sampled", _sample, training.parts, some)


def learn_on_cluster(
    engine: Engine,
    samples: list[Handle],
    estimator: Any,
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
    parts: list[Sample] = engine.gather(engine.ask("asked", _narrow, samples, used), "partition {} (asked)")
    rows = np.concatenate([part.rows for part in parts])
    codes = np.zeros((fitted.schema.n_features, len(rows)), dtype=fitted.bins.code_type)
    codes[used] = np.concatenate([part.codes for part in parts], axis=1)
    weights = [part.weights for part in parts if part.weights is not None]
    truth = np.concatenate([part.labels for part in parts])
    sample = Sample(rows, codes, truth, np.concatenate(weights) if weights else None)
    target.learn(estimator, fitted, sample, training.plan.bags, reading_threads(estimator.n_jobs, len(rows)))


def _sample(part: Part, some: NDArray[np.int64]) -> Sample:
    """Return the rows of the whole table, given by number, that are in this part."""
    rows = some[(some >= part.first_row) & (some < part.first_row + part.n_rows)]
    at = rows - part.first_row
    target = part.target.take(at)
    return Sample(rows, np.ascontiguousarray(part.codes[:, at]), target.truth, target.core.weights)


def _narrow(sample: Sample, features: NDArray[np.int64]) -> Sample:
    """Return a sample with the codes of some features only."""
    return sample._replace(codes=np.ascontiguousarray(sample.codes[features]))
