"""Files: words after `hedgerow inspect` and `hedgerow verify` -> the options of the command."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.commands.options.shared import Model, Talking


@dataclass(frozen=True, kw_only=True)
class FileOptions(Talking):
    """The options of a command about a model file."""

    model: Model
