"""The version of the installed package."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("hedgerow")
except PackageNotFoundError:  # sources that are not installed
    __version__ = "0+unknown"
