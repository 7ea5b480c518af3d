"""Asked: the arguments of a report, checked; and the parts of its page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hedgerow.explain.judged import Groups
from hedgerow.explain.report.pack import cut
from hedgerow.judge.judgement import group_rows


@dataclass(frozen=True, eq=False)
class ReportRequest:
    """The arguments of `make_report` that both kinds of pages need; see there."""

    names: list[str] | None
    max_cases: int
    cases: str
    seconds: float
    train: Any
    y_train: Any
    first: int
    immutable: Iterable[int | str] | None
    labels: Mapping[str, Mapping[str, str]] | None
    coverage: float | None
    by: Groups
    costs: Any
    progress: Callable[[int, int], None]

    def called(self, row: int) -> str:
        """The name of a row, or its number."""
        return str(row + self.first) if self.names is None else self.names[row]

    def check(self) -> None:
        """Refuse what cannot be meant."""
        if not (isinstance(self.max_cases, int | np.integer) and self.max_cases >= 1):
            raise ValueError(f"max_cases must be a whole number >= 1, got {self.max_cases!r}; 1000 is usual")
        if self.cases not in ("some", "all"):
            raise ValueError(
                f"cases must be 'some' or 'all', got {self.cases!r}; 'all' explains every undecided row of the page"
            )
        if not self.seconds >= 0:
            raise ValueError(f"seconds must be a number >= 0, got {self.seconds!r}; 0 means no search")


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a page: its template and scripts, the figures it shows, the same as plain Python, and its data."""

    template: str
    scripts: tuple[str, ...]
    figures: Any
    plain: dict[str, Any]
    data: dict[str, Any]
    context: dict[str, Any] = field(default_factory=dict)


def checked_groups(by: Mapping[str, Any] | None, n_rows: int) -> Groups:
    """Column -> its values (n,), or the rows (n,) of each of its groups -> the rows of groups."""
    found = {}
    for name, given in (by or {}).items():
        groups = given if isinstance(given, Mapping) else group_rows(name, np.asarray(given))
        found[name] = {str(group): np.asarray(rows, dtype=bool) for group, rows in groups.items()}
        for rows in found[name].values():
            if rows.shape != (n_rows,):
                raise ValueError(
                    f"by must have a value for each of the {n_rows} rows, got shape {rows.shape} for {name!r}; pass"
                    " those of X"
                )
    return found


def checked_names(names: Any, n_rows: int) -> list[str] | None:
    """Names (n,) or None -> text or None."""
    if names is None:
        return None
    called = [cut(name) for name in np.asarray(names).tolist()]
    if len(called) != n_rows:
        raise ValueError(f"names must have one name for each of the {n_rows} rows, got {len(called)}; pass those of X")
    return called
