"""Outliers, maps, clusters and imputation from proximities.

====================  ==================================================================================================
`outlier_scores`      distance of each row from the others of its class
`proximity_map`       rows as points in the plane, far apart if they seldom share a leaf
`cluster_rows`        clusters of rows that share leaves
`ProximityImputer`    imputation of missing values from rows in the same leaves
====================  ==================================================================================================
"""

from hedgerow.structure.impute import ProximityImputer
from hedgerow.structure.outliers import outlier_scores
from hedgerow.structure.spectrum import cluster_rows, proximity_map

__all__ = ["ProximityImputer", "cluster_rows", "outlier_scores", "proximity_map"]
