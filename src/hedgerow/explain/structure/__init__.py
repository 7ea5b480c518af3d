"""Structure: which rows share the leaves of a forest -> outliers, maps, clusters, and values for gaps.

====================  ==================================================================================================
`outlier_scores`      how far each row lies from the others of its class
`proximity_map`       rows -> points of the plane, far apart where they seldom share a leaf
`cluster_rows`        rows -> clusters of those that share leaves
`ProximityImputer`    gaps -> what rows in the same leaves have there
====================  ==================================================================================================
"""

from hedgerow.explain.structure.impute import ProximityImputer
from hedgerow.explain.structure.outliers import outlier_scores
from hedgerow.explain.structure.spectrum import cluster_rows, proximity_map

__all__ = ["ProximityImputer", "cluster_rows", "outlier_scores", "proximity_map"]
