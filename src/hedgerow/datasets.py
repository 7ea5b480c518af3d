"""A door to `hedgerow.study.datasets`."""

from hedgerow.study.datasets import *  # noqa: F403
from hedgerow.study.datasets import __all__ as __all__
