"""Decision-tree ensembles that keep their evidence.

``__init__.pyi`` lists the public names. They are imported when first used, so that ``hedgerow --help`` does not wait
for scikit-learn.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__.remove("dask")  # ``from hedgerow import *`` must work without Dask
