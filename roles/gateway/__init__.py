"""The only way from a role's box to a model, and what it costs."""

from __future__ import annotations

from rolewall.roles.gateway.gateway import Gateway, OpenDoor
from rolewall.roles.gateway.keys import key_notes, keys_of
from rolewall.roles.gateway.purse import Purse
from rolewall.roles.gateway.tape import Tape, read_tape
from rolewall.roles.gateway.using import ModelUse

__all__ = [
    "Gateway",
    "ModelUse",
    "OpenDoor",
    "Purse",
    "Tape",
    "key_notes",
    "keys_of",
    "read_tape",
]
