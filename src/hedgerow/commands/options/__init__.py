"""Options: what a command can be asked, a class for each; a field is the option, its default and its help in one place.

Nothing here imports more than ``hedgerow --help`` needs. `shared` has what several commands take. `commands/declare`
makes of a class of options what typer understands.
"""
