"""Sizes: what travels between workers -> its bytes, so that Dask knows when to spill and what is dear to send.

Dask asks an object it does not know for the size of its shell: some fifty bytes, whatever arrays it holds.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from dask.sizeof import sizeof

from hedgerow.cluster.describe import Targets
from hedgerow.cluster.part import Part, Plan
from hedgerow.cluster.training import Weighed
from hedgerow.forest.counts import Counts
from hedgerow.forest.forest import Forest
from hedgerow.forest.moments import Moments
from hedgerow.forest.nodes import Nodes
from hedgerow.table.bins import Bins
from hedgerow.target.base import Labels, Numbers


def bytes_held(held: Any) -> int:
    """A dataclass -> bytes of what its fields hold."""
    return int(sum(sizeof(getattr(held, each.name)) for each in fields(held)))


for _kind in (Bins, Counts, Forest, Labels, Moments, Nodes, Numbers, Part, Plan, Targets, Weighed):
    sizeof.register(_kind, bytes_held)  # type: ignore[no-untyped-call]
