"""Registry of data sets."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files


class DatasetError(Exception):
    """A data set is unknown, missing or damaged."""


class UnreachableError(DatasetError):
    """The server of a data set cannot be reached."""


@dataclass(frozen=True)
class DatasetInfo:
    """Metadata of a data set.

    Attributes
    ----------
    name, file : str
        Short name, and name of the prepared file.
    sha256 : str
        Checksum of the prepared file.
    task : {"classification", "regression"}
    rows, features, missing : int
        Shape, and number of empty feature cells.
    classes : dict of str to int
        Rows per class; empty for regression.
    positive : str or None
        Class whose share the papers report, for two classes.
    nominal : tuple of str
        Categorical columns; the others are numeric.
    openml, url : int or None, str or None
        Origin of a download: its number at OpenML, or the address of a file.
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
        """Origin of a download, as text."""
        return f"OpenML {self.openml}" if self.openml is not None else self.url


def known_datasets() -> tuple[str, ...]:
    """Return the names of all data sets.

    Examples
    --------
    >>> "sonar" in known_datasets()
    True
    """
    return tuple(_registry())


def describe_dataset(name: str) -> DatasetInfo:
    """Return metadata of a data set.

    Parameters
    ----------
    name : str
        One of `known_datasets`.

    Returns
    -------
    DatasetInfo

    Examples
    --------
    >>> info = describe_dataset("sonar")
    >>> info.rows, info.features, info.classes
    (208, 60, {'Mine': 111, 'Rock': 97})
    """
    known = _registry()
    if name not in known:
        close = ", ".join(other for other in known if name[:3] == other[:3]) or ", ".join(known)
        raise DatasetError(f"name must be a known data set, got {name!r}. Similar names: {close}.")
    return known[name]


@cache
def _registry() -> dict[str, DatasetInfo]:
    """Return metadata by name, in the order of the file."""
    text = files("hedgerow.datasets").joinpath("registry.json").read_text(encoding="utf-8")
    return {
        name: DatasetInfo(name=name, **{**entry, "nominal": tuple(entry.get("nominal", ()))})
        for name, entry in json.loads(text).items()
    }
