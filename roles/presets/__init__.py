"""Coding agents that the user has installed, each run in its role's box through the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rolewall.roles.agents import PresetName
from rolewall.roles.presets.claude_code import CLAUDE_CODE
from rolewall.roles.presets.codex import CODEX
from rolewall.roles.presets.frame import Preset, Printed, Start, Told
from rolewall.roles.presets.mini_swe_agent import MINI_SWE_AGENT
from rolewall.roles.presets.opencode import OPENCODE
from rolewall.roles.presets.own import asked_for
from rolewall.roles.presets.player import THEN, PresetPlayer

__all__ = ["PRESETS", "THEN", "Preset", "PresetPlayer", "Printed", "Start", "Told", "asked_for"]

# By the names that a team file uses.
PRESETS: Mapping[PresetName, Preset] = MappingProxyType(
    {preset.name: preset for preset in (CLAUDE_CODE, CODEX, OPENCODE, MINI_SWE_AGENT)}
)
