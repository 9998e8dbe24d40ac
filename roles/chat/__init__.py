"""The ``chat`` agent: a tool loop of our own over any endpoint that speaks OpenAI's chat."""

from __future__ import annotations

from rolewall.roles.chat.endpoint import require_llm
from rolewall.roles.chat.player import ChatPlayer

__all__ = ["ChatPlayer", "require_llm"]
