"""A door to `hedgerow.target.criteria`."""

from hedgerow.target.criteria import *  # noqa: F403
from hedgerow.target.criteria import __all__ as __all__
