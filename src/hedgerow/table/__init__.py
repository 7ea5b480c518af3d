"""Table: a table of any kind -> named columns of values.

========================  =======================================================================
`read_training_table`     any table -> `Table`, and the `Schema` that later tables must fit
`read_table`              a later table, and the schema -> `Table`
`check_table`             the same for an estimator, with scikit-learn's own errors and warnings
`remember_features`       schema -> ``n_features_in_`` and ``feature_names_in_`` of an estimator
`NamedColumns`            columns and their names -> a table, without a data frame
`UncertainTable`          a table, and what is known of its uncertain cells
========================  =======================================================================

One file per subject: `schema` (the types), `read` (the public functions), `arrays`, `sparse`, `frames` and `named`
(one per family of containers), `categories` (distinct values -> category numbers), `uncertain` and `possible`
(uncertain cells).
"""

from hedgerow.table.categories import MAX_CATEGORIES, values_of_one_type
from hedgerow.table.named import NamedColumns
from hedgerow.table.read import check_table, read_table, read_training_table, remember_features
from hedgerow.table.schema import Factors, Schema, Table
from hedgerow.table.uncertain import UncertainTable

__all__ = [
    "MAX_CATEGORIES",
    "Factors",
    "NamedColumns",
    "Schema",
    "Table",
    "UncertainTable",
    "check_table",
    "read_table",
    "read_training_table",
    "remember_features",
    "values_of_one_type",
]
