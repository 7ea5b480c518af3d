"""Decision-tree ensembles that know when they do not know.

``__init__.pyi`` lists the public names. A name is imported when it is first used, so that ``hedgerow --help`` does not
wait for scikit-learn.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__.remove("dask")  # ``from hedgerow import *`` must work without Dask
