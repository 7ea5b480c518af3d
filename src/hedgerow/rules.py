"""Rules: the combination rules under one public name."""

from hedgerow.belief.rules import *  # noqa: F403
from hedgerow.belief.rules import __all__ as __all__
