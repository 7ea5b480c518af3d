"""A door to `hedgerow.explain.plot`."""

from hedgerow.explain.plot import *  # noqa: F403
from hedgerow.explain.plot import __all__ as __all__
