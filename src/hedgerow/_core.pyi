from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

def find_bins(
    columns: list[NDArray[Any]] | NDArray[Any],
    chosen: NDArray[np.uint32] | None,
    sample_rows: int,
    max_bins: int,
    n_threads: int,
    gaps: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]: ...
def encode_into(
    columns: list[NDArray[Any]] | NDArray[Any],
    first_feature: int,
    cuts: NDArray[np.float64],
    cut_start: NDArray[np.int64],
    wanted: NDArray[np.uint8] | None,
    n_threads: int,
    out: NDArray[Any],
) -> None: ...
def give_back_memory() -> None: ...
def keep_memory() -> None: ...
def grow(
    codes: NDArray[Any],
    bins: dict[str, Any],
    target: dict[str, Any],
    options: dict[str, Any],
    first_tree: int,
    n_trees: int,
    n_threads: int,
    progress: Callable[[int], bool] | None,
    below: dict[str, Any] | None,
) -> dict[str, Any]: ...
def check_forest(
    nodes: NDArray[np.uint64],
    payload: NDArray[np.int32],
    set_words: NDArray[np.uint64],
    node_start: NDArray[np.int64],
    leaf_start: NDArray[np.int64],
    set_start: NDArray[np.int64],
    depth: NDArray[np.int64],
    counts: NDArray[np.uint32],
    entry_start: NDArray[np.int64] | None,
    entry_class: NDArray[np.uint16] | None,
    weights: NDArray[np.float64] | None,
    n_classes: int,
    n_bins: NDArray[np.int64],
    nominal: NDArray[np.uint8],
    borrowed: NDArray[np.uint8] | None,
    n_threads: int,
) -> NDArray[np.uint64]: ...
def quantiles(
    leaves: NDArray[np.int32],
    leaf_start: NDArray[np.int64],
    row_start: NDArray[np.int64],
    ranks: NDArray[np.uint32],
    values: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    wanted: NDArray[np.float64],
    trees_alike: bool,
    interpolation: int | None,
    n_threads: int,
) -> NDArray[np.float64]: ...
def bag(
    seed: int,
    tree: int,
    n_rows: int,
    mean: float,
    first: int = 0,
    last: int | None = None,
    units: NDArray[np.uint32] | None = None,
) -> NDArray[np.uint32]: ...
def meet(
    leaves: NDArray[np.int32],
    others: RowsInLeaves,
    leaf_start: NDArray[np.int64],
    meeting: int,
    first_row: int,
    most: int,
    n_threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]: ...

class RowsInLeaves:
    def __init__(
        self,
        leaves: NDArray[np.int32],
        leaf_start: NDArray[np.int64],
        present: int,
        seed: int,
        bag_mean: float,
        units: NDArray[np.uint32] | None = None,
    ) -> None: ...

def sampled_rows(n_rows: int, limit: int, first: int, n: int) -> NDArray[np.uint32]: ...

class NodeEntries:
    def __init__(
        self,
        nodes: NDArray[np.uint64],
        payload: NDArray[np.int32],
        start: NDArray[np.int64],
        label: NDArray[np.uint16],
        amount: NDArray[np.float64],
    ) -> None: ...
    def next(self, most: int) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.float64]]: ...

def largest_margins(contents: NDArray[np.int32], starts: NDArray[np.int64], **arrays: Any) -> NDArray[np.float64]: ...
def node_sums(nodes: NDArray[np.uint64], payload: NDArray[np.int32], leaves: NDArray[Any]) -> NDArray[Any]: ...
def arrived(
    codes: NDArray[Any],
    nodes: NDArray[np.uint64],
    payload: NDArray[np.int32],
    set_words: NDArray[np.uint64],
    asked: NDArray[np.uint32],
    seed: int,
    tree: int,
    n_rows: int,
    bag_mean: float,
    first_row: int,
    inside: bool,
    outside: bool,
    units: NDArray[np.uint32] | None = None,
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]: ...

class RowsInNodes:
    def __init__(
        self,
        seed: int,
        tree: int,
        n_rows: int,
        bag_mean: float,
        first_row: int,
        part_rows: int,
        units: NDArray[np.uint32] | None = None,
    ) -> None: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def rows(
        self,
        codes: NDArray[Any],
        nodes: NDArray[np.uint64],
        payload: NDArray[np.int32],
        set_words: NDArray[np.uint64],
        asked: NDArray[np.uint32],
        keeps: bool,
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]: ...
    def sums(
        self,
        codes: NDArray[Any],
        nodes: NDArray[np.uint64],
        payload: NDArray[np.int32],
        set_words: NDArray[np.uint64],
        asked: NDArray[np.uint32],
        keeps: bool,
        n_bins: NDArray[np.int64],
        labels: NDArray[np.uint16] | None,
        n_cells: int,
        start: NDArray[np.int64],
        features: NDArray[np.uint32],
    ) -> NDArray[np.uint32]: ...

def histograms(
    codes: NDArray[Any],
    n_bins: NDArray[np.int64],
    rows: NDArray[np.uint32],
    row_start: NDArray[np.int64],
    labels: NDArray[np.uint16] | None,
    amounts: NDArray[Any],
    sums: NDArray[np.float64] | None,
    n_cells: int,
    start: NDArray[np.int64],
    features: NDArray[np.uint32],
) -> NDArray[Any]: ...

class Top:
    def __init__(
        self,
        bins: dict[str, Any],
        target: dict[str, Any],
        options: dict[str, Any],
        n_rows: int,
        first_tree: int,
        n_trees: int,
        gather_rows: int,
    ) -> None: ...
    def plant(self, totals: NDArray[np.float64]) -> bool: ...
    def balance(self, tree: int) -> NDArray[np.float64] | None: ...
    def sketch(self, tree: int) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.uint64]]: ...
    def questions(
        self, most_bytes: int
    ) -> list[tuple[int, NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint32]]]: ...
    def level(self) -> tuple[int, int, int]: ...
    def answer(self, sums: NDArray[np.float64], seen: NDArray[np.float64] | None) -> None: ...
    def groups(self, tree: int, row_bytes: int, most_bytes: int) -> list[tuple[NDArray[np.uint32], int]]: ...
    def heritage(self, tree: int, nodes: NDArray[np.uint32]) -> dict[str, Any]: ...
    def graft(self, tree: int, nodes: NDArray[np.uint32], arrays: dict[str, Any], early: NDArray[np.uint8]) -> None: ...
    def counted(self, tree: int) -> list[list[int]]: ...
    def count(self, tree: int, sums: NDArray[np.int64]) -> None: ...
    def tree(self, number: int) -> dict[str, Any]: ...

class Reader:
    def __init__(
        self,
        nodes: NDArray[np.uint64],
        payload: NDArray[np.int32],
        set_words: NDArray[np.uint64],
        node_start: NDArray[np.int64],
        leaf_start: NDArray[np.int64],
        set_start: NDArray[np.int64],
        counts: NDArray[np.uint32],
        entry_start: NDArray[np.int64] | None,
        entry_class: NDArray[np.uint16] | None,
        weights: NDArray[np.float64] | None,
        n_classes: int,
    ) -> None: ...
    def average(self, codes: NDArray[Any], n_threads: int) -> NDArray[np.float64]: ...
    def average_outside(
        self,
        codes: NDArray[Any],
        rows: NDArray[np.int64],
        n_rows: int,
        seed: int,
        bag_mean: float,
        labels: NDArray[np.uint16] | None,
        n_threads: int,
        units: NDArray[np.uint32] | None = None,
    ) -> NDArray[np.float64]: ...
    def average_known(
        self, codes: NDArray[Any], shares: NDArray[np.float64], distinct: NDArray[np.int32], n_threads: int
    ) -> NDArray[np.float64]: ...
    def leaf_spans(
        self, least: NDArray[np.int64], n_threads: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]: ...
    def curves(
        self,
        reached: NDArray[np.int32],
        spans: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]],
        depth_weights: NDArray[np.float64],
        layout: tuple[int, int, NDArray[np.uint16]],
        kind: str,
        caution: float,
        own: NDArray[np.uint16] | None,
        n_threads: int,
    ) -> NDArray[np.float64]: ...
    def ancestors(
        self, least: NDArray[np.int64], n_threads: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint16], NDArray[np.float64], NDArray[np.float64]]: ...
    def views(
        self,
        codes: NDArray[Any],
        place: NDArray[np.int32],
        start: NDArray[np.int64],
        label: NDArray[np.uint16],
        counts: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        shape: tuple[int, int, int],
        bags: tuple[NDArray[np.int64], int, int, float, NDArray[np.uint16] | None, NDArray[np.uint32] | None] | None,
        n_threads: int,
    ) -> NDArray[np.float64]: ...
    def distinct(self, n_threads: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
    def marks(
        self,
        codes: NDArray[Any],
        drawn: NDArray[np.int32],
        n_bins: NDArray[np.int64],
        nominal: NDArray[np.uint8],
        seed: int,
        bag_mean: float,
        first_tree: int,
        n_threads: int,
        units: NDArray[np.uint32] | None = None,
    ) -> NDArray[np.uint16]: ...
    def strangeness(
        self,
        codes: NDArray[Any],
        cells: NDArray[np.float64],
        places: NDArray[np.int32],
        features: NDArray[np.int32],
        nominal: NDArray[np.uint8],
        n_bins: NDArray[np.int64],
        marks: NDArray[np.uint16],
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        spread: NDArray[np.float64],
        absent: NDArray[np.float64],
        start: NDArray[np.int64],
        missing: NDArray[np.float64],
        present: NDArray[np.float64],
        far: float,
        bags: tuple[NDArray[np.int64], int, int, float, int, NDArray[np.uint32] | None] | None,
        n_threads: int,
    ) -> tuple[Any, Any, NDArray[np.float64]]: ...
    def covers(self, amounts: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def mixed_counts(
        self,
        codes: NDArray[Any],
        covers: NDArray[np.float64],
        gapless: NDArray[np.uint8],
        pooled: bool,
        n_threads: int,
    ) -> NDArray[np.float64]: ...
    def mixed_states(
        self,
        codes: NDArray[Any],
        states: NDArray[np.float64],
        rows: NDArray[np.float64],
        covers: NDArray[np.float64],
        gapless: NDArray[np.uint8],
        pooled: bool,
        n_threads: int,
    ) -> NDArray[np.float64]: ...
    def leaves(self, codes: NDArray[Any], n_threads: int, as_nodes: bool) -> NDArray[np.int32]: ...
    def fold(
        self,
        codes: NDArray[Any],
        states: NDArray[np.float64],
        distinct: NDArray[np.int32] | None,
        merge: int,
        first_tree: int,
        n_trees: int,
        tree_weights: NDArray[np.float64] | None,
        out_of_bag: tuple[int, float, NDArray[np.uint16] | None, NDArray[np.uint32] | None] | None,
        n_threads: int,
        merged: NDArray[np.float64],
    ) -> None: ...
    def path_most(self, codes: NDArray[Any], amounts: NDArray[np.float64], n_threads: int) -> NDArray[np.float64]: ...
    def smallest_change(
        self, codes: NDArray[Any], seconds: float, **arrays: Any
    ) -> tuple[NDArray[np.int32], int, float, float, bool]: ...
    def leaf_shares(self, covers: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def explain(
        self,
        codes: NDArray[Any],
        states: NDArray[np.float64],
        first_tree: int,
        n_trees: int,
        covers: NDArray[np.float64],
        background: NDArray[Any] | None,
        most: int,
        n_threads: int,
        values: NDArray[np.float64],
        pairs: NDArray[np.float64] | None,
    ) -> None: ...
    def permute(
        self,
        codes: NDArray[Any],
        labels: NDArray[np.uint16],
        worth: int,
        counted: bool,
        seed: int,
        bag_mean: float,
        features: NDArray[np.int64],
        start: NDArray[np.int64],
        key: int,
        n_repeats: int,
        n_threads: int,
        decrease: NDArray[np.float64],
        units: NDArray[np.uint32] | None = None,
    ) -> None: ...
    def permute_numbers(
        self,
        codes: NDArray[Any],
        targets: NDArray[np.float64],
        predicted: NDArray[np.float64],
        seed: int,
        bag_mean: float,
        features: NDArray[np.int64],
        start: NDArray[np.int64],
        key: int,
        n_repeats: int,
        n_threads: int,
        decrease: NDArray[np.float64],
        units: NDArray[np.uint32] | None = None,
    ) -> None: ...
    def gains(
        self,
        codes: NDArray[Any],
        labels: NDArray[np.uint16],
        seed: int,
        bag_mean: float,
        n_threads: int,
        gains: NDArray[np.float64],
        units: NDArray[np.uint32] | None = None,
    ) -> None: ...
    def gains_numbers(
        self,
        codes: NDArray[Any],
        targets: NDArray[np.float64],
        seed: int,
        bag_mean: float,
        n_threads: int,
        gains: NDArray[np.float64],
        units: NDArray[np.uint32] | None = None,
    ) -> None: ...
    def first_uses(self, depth: NDArray[np.int64], first: NDArray[np.float64]) -> None: ...
