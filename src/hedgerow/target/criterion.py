"""Criterion: what every criterion has, and arithmetic that several share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

Floats = NDArray[np.float64]


class Criterion(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no annotations
    """What a split should reduce. ``__init__`` only stores the parameters, as in scikit-learn's estimators.

    To add a criterion, derive from this class and write `impurity`. A line in `CRITERIA` gives it a name, which model
    files need. The impurity must not depend on the order of the classes, unless `ordered` says so.

    Attributes
    ----------
    name : str
        The short name under which `resolve_criterion` finds the criterion.
    compiled : bool
        Whether the core has a criterion of this name. Otherwise the core calls `impurity` for each side of a split that
        is new to it, which is slow, and splits only if there is a gain. A subclass does not inherit this attribute: it
        must set it again if it computes the same.
    in_sklearn : str or None
        The name of the same criterion in scikit-learn. A subclass does not inherit this attribute.
    counts_absent : bool
        Whether classes without rows change the impurity. If not, nodes of many classes take less time and memory. A
        subclass does not inherit this attribute.
    ordered : bool
        Whether the order of the classes matters.
    by_ratio : bool
        Whether features compete by gain divided by split information; only for criteria that are not compiled, and for
        "imprecise".
    """

    name: ClassVar[str]
    compiled: ClassVar[bool] = False
    in_sklearn: ClassVar[str | None] = None
    counts_absent: ClassVar[bool] = True
    ordered: ClassVar[bool] = False
    by_ratio: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Reset what says how impurity is computed unless the subclass sets it: its arithmetic may differ."""
        super().__init_subclass__(**options)
        cls.compiled = vars(cls).get("compiled", False)
        cls.in_sklearn = vars(cls).get("in_sklearn")
        cls.counts_absent = vars(cls).get("counts_absent", True)

    def impurity(self, counts: Floats) -> Floats:
        """Class counts of nodes (N, K) -> their impurities (N,)."""
        raise NotImplementedError(f"a criterion must define impurity, got none in {type(self).__name__}")

    def check(self) -> None:
        """Refuse parameters out of range."""

    def in_core(self, n_classes: int) -> dict[str, Any]:
        """What the compiled core must know of it."""
        known = {"name": self.name, "lam": 1.0, "caution": 0.0, "quantile": 0.0, "uncertainty": None}
        known |= {"ordered": bool(self.ordered), "by_ratio": bool(self.by_ratio)}
        return known if self.compiled else known | self.in_python(n_classes)

    def in_python(self, n_classes: int) -> dict[str, Any]:
        """K -> what the core must know to ask Python for the impurity of a side."""

        def uncertainty(counts: list[float]) -> float:  # of the classes that occur, or of all if they are ordered
            padded = np.zeros((1, n_classes))
            padded[0, : len(counts)] = counts
            return float(self.impurity(padded)[0])

        return {"name": "python", "uncertainty": uncertainty}

    @property
    def is_settled(self) -> bool:
        """Whether every parameter is a number; otherwise `fit` chooses one of `candidates`."""
        return True

    def candidates(self) -> list[Criterion]:
        """-> criteria without open parameters, from the one that splits least to the one that splits most."""
        return [self]


def shares_of(counts: Floats) -> Floats:
    """(N, K) -> (N, K), rows that sum to one; empty rows stay zero."""
    amount = counts.sum(axis=1, keepdims=True)
    return np.asarray(counts / np.where(amount > 0, amount, 1))


def entropy_of(share: Floats) -> Floats:
    """(N, K) -> (N,): entropy in bits."""
    return np.asarray(-(share * np.log2(np.where(share > 0, share, 1))).sum(axis=1))


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))


def check_caution(caution: Any) -> None:
    """Refuse a caution out of range."""
    if not (is_number(caution) and caution >= 0):
        raise ValueError(f"caution must be a number >= 0, got {caution!r}; 0 trusts the counts fully")
