"""A door to `hedgerow.study.theory`."""

from hedgerow.study.theory import *  # noqa: F403
from hedgerow.study.theory import __all__ as __all__
