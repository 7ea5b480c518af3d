"""Tables of any container as named columns of values.

========================  =======================================================================
`read_training_table`     a `Table`, and the `Schema` that later tables must match
`read_table`              a later `Table`, read with the schema
`check_table`             the same for an estimator, with scikit-learn's own errors and warnings
`remember_features`       set ``n_features_in_`` and ``feature_names_in_`` of an estimator
`NamedColumns`            a table made of columns and names, without a data frame
`UncertainTable`          a table with uncertain cells
========================  =======================================================================

Modules: `schema` (types), `read` (public functions), `arrays`, `sparse`, `frames` and `named` (one for each family of
containers), `categories` (category indices), `uncertain` (uncertain cells), `bins`, `binned` and `codebook` (bin
indices), `output` (data frames for results) and `sums` (exact sums).
"""

from hedgerow.table.categories import MAX_CATEGORIES, values_of_one_type
from hedgerow.table.frames import NamedColumns
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
