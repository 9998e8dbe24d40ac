"""How long an endpoint is waited for."""

from __future__ import annotations

import os
from collections.abc import Mapping

from rolewall.errors import InputError

__all__ = ["silence_seconds"]

VARIABLE = "ROLEWALL_MODEL_SECONDS"
SILENCE_SECONDS = 600.0


def silence_seconds(environment: Mapping[str, str] = os.environ) -> float:
    """How long an endpoint may say nothing.

    Raises:
        InputError: the variable holds no such number.
    """
    text = environment.get(VARIABLE, "")
    if not text:
        return SILENCE_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 3600:
        raise InputError("not a number of seconds", place=VARIABLE, got=text, expected="1 to 3600")
    return seconds
