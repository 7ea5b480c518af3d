"""Registry: the name of a data set -> its shape, classes, checksum and origin."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files


class DatasetError(Exception):
    """A data set is not known, not found, or not what it should be."""


class UnreachableError(DatasetError):
    """A data set must be downloaded, but its server does not answer."""


@dataclass(frozen=True)
class DatasetInfo:
    """Facts about a data set that are known before its file is opened.

    Attributes
    ----------
    name, file : str
        Short name, and the name of its prepared file.
    sha256 : str
        Checksum of the prepared file.
    task : {"classification", "regression"}
    rows, features, missing : int
        Shape, and how many feature cells are empty.
    classes : dict of str to int
        Rows of each class; empty for regression.
    positive : str or None
        The class whose share the papers give, for two classes.
    nominal : tuple of str
        Columns that hold categories; the others hold numbers.
    openml, url : int or None, str or None
        Where to download it: its number at OpenML, or the address of a file.
    licence : str
    """

    name: str
    file: str
    sha256: str
    task: str
    rows: int
    features: int
    missing: int = 0
    classes: dict[str, int] = field(default_factory=dict)
    positive: str | None = None
    nominal: tuple[str, ...] = ()
    openml: int | None = None
    url: str | None = None
    licence: str = ""

    @property
    def origin(self) -> str | None:
        """Where a download comes from, in words."""
        return f"OpenML {self.openml}" if self.openml is not None else self.url


def known_datasets() -> tuple[str, ...]:
    """Names of all data sets.

    Examples
    --------
    >>> "sonar" in known_datasets()
    True
    """
    return tuple(_registry())


def describe_dataset(name: str) -> DatasetInfo:
    """Facts about a data set.

    Parameters
    ----------
    name : str
        One of `known_datasets`.

    Returns
    -------
    About

    Examples
    --------
    >>> about = describe_dataset("sonar")
    >>> about.rows, about.features, about.classes
    (208, 60, {'Mine': 111, 'Rock': 97})
    """
    known = _registry()
    if name not in known:
        close = ", ".join(other for other in known if name[:3] == other[:3]) or ", ".join(known)
        raise DatasetError(f"name must be that of a known data set, got {name!r}; similar names: {close}")
    return known[name]


@cache
def _registry() -> dict[str, DatasetInfo]:
    """Name -> facts, in the order of the file."""
    text = files("hedgerow.datasets").joinpath("registry.json").read_text(encoding="utf-8")
    return {
        name: DatasetInfo(name=name, **{**entry, "nominal": tuple(entry.get("nominal", ()))})
        for name, entry in json.loads(text).items()
    }
