"""The shape of a preset's settings in a team file: ``claude-code: {model: …}``."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from rolewall._validate import Strict
from rolewall.roles.placeholders import checked_word

__all__ = ["PresetFile"]

Word = Annotated[str, AfterValidator(checked_word)]


class PresetFile(Strict):
    """``model`` is the name that the endpoint knows; ``program`` a path or a name to look for
    in the box in place of the preset's own; ``args`` are added to its command line."""

    model: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\s\x00]+$")]
    program: Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(checked_word)] | (
        None
    ) = None
    args: Annotated[list[Word], Field(max_length=200)] = Field(default_factory=list)
