"""Files: what `hedgerow inspect` and `hedgerow verify` can be asked."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.commands.options.shared import Model, Talking


@dataclass(frozen=True, kw_only=True)
class FileOptions(Talking):
    """What a command about a model file was asked."""

    model: Model
