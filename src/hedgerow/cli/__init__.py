"""Commands: words in a terminal -> files and tables, one module per command.

=============  ==============================================================================================
`fit`          a table with labels -> a model file, and how well it does out of bag
`tune`         the same, with the best of several rules, cautions and decisions
`compare`      a table with labels -> how hedgerow and other learners do on rows they have not learned from
`predict`      a model file and a table -> label, set, bounds and uncertainty of each row
`evaluate`     a model file and a table with labels -> metrics of labels and sets
`explain`      a model file, a table and some of its rows -> why they are undecided and what would settle them
`report`       a model file and a table -> one HTML page with metrics, undecided cases and sliders
`inspect`      a model file -> features, classes, parameters and sizes, without reading its trees
`verify`       a model file -> whether all of it is sound
=============  ==============================================================================================

They share `paths` (what is read and written -> refused if something would be lost), `sheet` (columns of a file ->
numbers, categories, labels; errors by line and column), `delimited` and `parquet` (bytes -> sheet), `match` (a sheet
and a model -> the table the model expects), `source` (a path or ``-`` -> bytes or a model), `output` (answers -> CSV,
JSON lines, Parquet), `talk` (figures and messages -> text for people), `outcome` (an error -> one sentence and an
exit code). `options` has a class for each command, with all its options; `cli` lists the commands.
"""
