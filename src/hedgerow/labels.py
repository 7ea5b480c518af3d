"""A door to `hedgerow.target.uncertain`."""

from hedgerow.target.uncertain import *  # noqa: F403
from hedgerow.target.uncertain import __all__ as __all__
