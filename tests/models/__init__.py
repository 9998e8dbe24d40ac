"""A model that says what a test wrote down, over the protocols that real endpoints speak."""

from __future__ import annotations

from tests.models.scripted import Heard, Say, ScriptedModel

__all__ = ["Heard", "Say", "ScriptedModel"]
