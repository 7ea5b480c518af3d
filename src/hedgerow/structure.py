"""A door to `hedgerow.explain.structure`."""

from hedgerow.explain.structure import *  # noqa: F403
from hedgerow.explain.structure import __all__ as __all__
