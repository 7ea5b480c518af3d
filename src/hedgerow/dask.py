"""A door to `hedgerow.cluster`."""

from hedgerow.cluster import *  # noqa: F403
from hedgerow.cluster import __all__ as __all__
