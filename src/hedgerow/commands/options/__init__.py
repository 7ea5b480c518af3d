"""Options: words after a command -> its options; a class for each command, a field for each option with its help.

Nothing here imports more than ``hedgerow --help`` needs. `shared` has what several commands take. `commands/declare`
makes of a class of options what typer understands.
"""
