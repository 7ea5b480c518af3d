"""Commands: words in a terminal -> files and tables, one module per command.

=============  ==============================================================================================
`fit`          a table with labels -> a model file, and how well it does out of bag
`predict`      a model file and a table -> label, set, bounds and uncertainty of each row
`evaluate`     a model file and a table with labels -> metrics of labels and sets
`explain`      a model file, a table and some of its rows -> why they are what they are
`report`       a model file and a table -> one HTML page with metrics, undecided cases and sliders
`inspect`      a model file -> what it says of itself, without reading its trees
`verify`       a model file -> whether all of it is sound
=============  ==============================================================================================

What they share: `sheet` (a file's columns -> numbers, categories, labels; what is wrong, by line and column),
`delimited` and `parquet` (bytes -> sheet), `match` (a sheet and a model -> the table it expects), `source` (a path or
``-`` -> bytes or a model), `output` (answers -> CSV, JSON lines, Parquet), `talk` (what people read), `outcome` (what
went wrong -> one sentence and an exit code). `hedgerow.commands.cli` only declares the options.
"""
